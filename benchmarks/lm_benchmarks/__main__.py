"""`python -m lm_benchmarks` is `lm-benchmarks`."""

from wikitext_builder.programs import lm_benchmarks

if __name__ == "__main__":
    lm_benchmarks()
