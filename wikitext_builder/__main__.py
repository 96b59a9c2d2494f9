"""`python -m wikitext_builder` runs `wikitext-builder`."""

from wikitext_builder.programs import wikitext_builder

if __name__ == "__main__":
    wikitext_builder()
