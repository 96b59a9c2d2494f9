"""Sentinel characters for non-text elements: control characters, which trimmed wikitext does not contain."""

from __future__ import annotations

import re

FORMULA = "\x01"  # a formula; its LaTeX follows in characters that no other text has, see `formula`
GONE = "\x02"  # something was removed from running text here
UNKNOWN_START, UNKNOWN_END = "\x03", "\x04"  # around the number of an unknown template call
BREAK = "\x05"  # a line break that does not end the block, such as <br>
BLOCK = "\x07"  # a picture or a box was removed here: it closes the paragraph wherever it stands
BOX = "\x08"  # a template was removed here: it closes the paragraph if nothing else stands in its line
MARGIN = "\x0e"  # a link that shows in the margin of the page, such as a category; only links.py gives it
SEAM = "\x06"  # separates apostrophes where a tag, a link or a template was between them
UNKNOWN = re.compile(f"{UNKNOWN_START}(\\d+){UNKNOWN_END}")
FORMULA_MARK = re.compile(f"{FORMULA}(?:[\U0010ff00-\U0010fffd]*\U0010ffff)?")  # with its LaTeX, if known
SHOWN_FORMULA = "<formula>"  # what the official files have in its place
# A list item that is citations alone is a source.
CITATIONS = re.compile(f"(?:{UNKNOWN.pattern}|[\\s.,;{GONE}{BLOCK}{BOX}])+")
CITATION = re.compile(r"\{\{\s*(?:[Cc]ite|[Cc]itation\s*[|}])")
ALONE = re.compile(f"(?:{UNKNOWN.pattern}|[\\s{GONE}{BLOCK}{BOX}])+")


def add_seams(text: str) -> str:
    """Return the text with marks that keep its apostrophes apart from those around it."""
    before = SEAM if text.startswith("'") else ""
    return f"{before}{text}{SEAM}" if text.endswith("'") else before + text


def formula(latex: str) -> str:
    """Return the mark of a formula. It hides the LaTeX from all that reads wikitext.

    Each byte is a character of a private plane, and another one ends it. `polish` removes these characters
    from all other text.

    >>> with_latex(formula("x^{2}"))
    '$x^{2}$'
    """
    latex = " ".join(FORMULA_MARK.sub(lambda mark: latex_of(mark[0]), latex).split())
    return f"{FORMULA}{''.join(chr(0x10FF00 + byte) for byte in latex.encode(errors='ignore'))}\U0010ffff"


def latex_of(mark: str) -> str:
    """Return the LaTeX of the mark of a formula; empty if it is not known."""
    latex = bytes(ord(one) - 0x10FF00 for one in mark[1:-1]).decode(errors="ignore")
    return "".join(filter(str.isprintable, latex)).strip()


def with_latex(text: str) -> str:
    """Return the text with formulas as LaTeX between dollar signs; `<formula>` if the LaTeX is unknown."""
    if FORMULA not in text:
        return text
    return FORMULA_MARK.sub(
        lambda mark: f"${latex}$" if (latex := latex_of(mark[0])) else SHOWN_FORMULA, text
    )


def without_latex(text: str) -> str:
    """Return the text with `<formula>` for each formula, as in the official files."""
    return FORMULA_MARK.sub(SHOWN_FORMULA, text) if FORMULA in text else text


class LeftOut:
    """The unknown template calls of one page; the number of each marks its place."""

    def __init__(self) -> None:
        self.sources: list[str] = []
        self.errors: set[str] = set()  # those in place of which the wiki shows an error

    def mark(self, source: str) -> str:
        """Return the mark to leave in place of the call."""
        self.sources.append(source)
        return f"{UNKNOWN_START}{len(self.sources) - 1}{UNKNOWN_END}"

    def is_source(self, item: str) -> bool:
        """Return True if a list item is citations alone: it belongs to a list of sources."""
        if not CITATIONS.fullmatch(item):
            return False
        return all(CITATION.match(self.sources[int(number)]) for number in UNKNOWN.findall(item))

    def calls_in(self, text: str, *, alone: bool) -> list[str]:
        """Return the wikitext of the calls marked in a text, in order.

        A call that is `alone` in its paragraph and has only named arguments is nearly always a box of links
        (`{{Greek religion|state=collapsed}}`) and not part of a sentence: it does not count. In an item of a
        list it does: there it is a source.
        """
        sources = [self.sources[int(number)] for number in UNKNOWN.findall(text)]
        if alone and ALONE.fullmatch(text):
            return [source for source in sources if any("=" not in part for part in source.split("|")[1:])]
        return sources
