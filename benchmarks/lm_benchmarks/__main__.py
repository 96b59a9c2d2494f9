"""`python -m lm_benchmarks` runs `lm-benchmarks`."""

from lm_benchmarks.cli import main

if __name__ == "__main__":
    main()
