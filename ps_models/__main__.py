"""`python -m ps_models` is `ps-models`."""

from ps_models.cli import main

if __name__ == "__main__":
    main()
