"""`python -m wikitext_builder` runs `wikitext-builder`."""

from wikitext_builder.cli import main

if __name__ == "__main__":
    main()
