"""Marks that stand in a text for what is not text: control characters, which trimmed wikitext cannot hold."""

from __future__ import annotations

import re

FORMULA = "\x01"  # a formula
GONE = "\x02"  # something was taken out of running text here
UNKNOWN_START, UNKNOWN_END = "\x03", "\x04"  # around the number of a template call that nobody knew
BREAK = "\x05"  # a line break that does not end the block, such as <br>
SEAM = "\x06"  # keeps apostrophes apart that a tag or a link stood between
UNKNOWN = re.compile(f"{UNKNOWN_START}(\\d+){UNKNOWN_END}")
ALONE = re.compile(f"(?:{UNKNOWN.pattern}|[\\s{GONE}])+")


class LeftOut:
    """The template calls of one page that nobody knew, each under the number that marks its place."""

    def __init__(self) -> None:
        self.sources: list[str] = []

    def mark(self, source: str) -> str:
        """The mark to leave where the call stood."""
        self.sources.append(source)
        return f"{UNKNOWN_START}{len(self.sources) - 1}{UNKNOWN_END}"

    def standing_in(self, text: str, *, alone: bool) -> list[str]:
        """The sources of the calls marked in a text, in order.

        A call that is `alone` in its block and has no argument but named ones is a box of links as good as
        always (`{{Greek religion|state=collapsed}}`), and no word of a sentence: it does not count.
        """
        if UNKNOWN_START not in text:
            return []
        sources = [self.sources[int(number)] for number in UNKNOWN.findall(text)]
        if alone and ALONE.fullmatch(text):
            return [source for source in sources if any("=" not in part for part in source.split("|")[1:])]
        return sources
