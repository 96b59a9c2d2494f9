"""`python -m lm_benchmarks` is `lm-benchmarks`."""

from __future__ import annotations

from lm_benchmarks.cli import main

if __name__ == "__main__":
    main()
