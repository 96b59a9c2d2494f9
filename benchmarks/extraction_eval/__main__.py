"""`python -m extraction_eval`, in the folder `benchmarks`."""

from extraction_eval.cli import main

if __name__ == "__main__":
    main()
