"""Marks in a text for what is not text: control characters, which trimmed wikitext does not contain."""

from __future__ import annotations

import re

FORMULA = "\x01"  # a formula
GONE = "\x02"  # something was removed from running text here
UNKNOWN_START, UNKNOWN_END = "\x03", "\x04"  # around the number of an unknown template call
BREAK = "\x05"  # a line break that does not end the block, such as <br>
BLOCK = "\x07"  # a picture or a box was removed here: it closes the paragraph wherever it stands
BOX = "\x08"  # a template was removed here: it closes the paragraph if nothing else stands in its line
SEAM = "\x06"  # separates apostrophes where a tag or a link was between them
UNKNOWN = re.compile(f"{UNKNOWN_START}(\\d+){UNKNOWN_END}")
ALONE = re.compile(f"(?:{UNKNOWN.pattern}|[\\s{GONE}{BLOCK}{BOX}])+")


class LeftOut:
    """The unknown template calls of one page; the number of each marks its place."""

    def __init__(self) -> None:
        self.sources: list[str] = []

    def mark(self, source: str) -> str:
        """The mark to leave in place of the call."""
        self.sources.append(source)
        return f"{UNKNOWN_START}{len(self.sources) - 1}{UNKNOWN_END}"

    def calls_in(self, text: str, *, alone: bool) -> list[str]:
        """The wikitext of the calls marked in a text, in order.

        A call that is `alone` in its block and has only named arguments is nearly always a box of links
        (`{{Greek religion|state=collapsed}}`) and not part of a sentence: it does not count.
        """
        if UNKNOWN_START not in text:
            return []
        sources = [self.sources[int(number)] for number in UNKNOWN.findall(text)]
        if alone and ALONE.fullmatch(text):
            return [source for source in sources if any("=" not in part for part in source.split("|")[1:])]
        return sources
