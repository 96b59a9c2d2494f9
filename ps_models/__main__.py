"""`python -m ps_models` is `ps-models`."""

from wikitext_builder.programs import ps_models

if __name__ == "__main__":
    ps_models()
