"""`python -m ps_models` runs `ps-models`."""

from ps_models.cli import main

if __name__ == "__main__":
    main()
