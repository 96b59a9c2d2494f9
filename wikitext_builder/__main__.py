"""`python -m wikitext_builder` is the command `wikitext-builder`."""

from wikitext_builder.cli import main

if __name__ == "__main__":
    main()
