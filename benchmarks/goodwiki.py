"""How many words our plain text shares with GoodWiki's Markdown of the same wikitext.

GoodWiki's repository (https://github.com/euirim/goodwiki) has both for 32 pages, in `tests/snapshots/e2e`.
Words are compared without order, case, formulas and marks, in NFKC, which is GoodWiki's form. Nothing is
asked of a wiki.

    git clone https://github.com/euirim/goodwiki
    python benchmarks/goodwiki.py goodwiki
"""

from __future__ import annotations

import re
import sys
import unicodedata
from collections import Counter
from pathlib import Path

import wikitext_builder as wb

WORD = re.compile(r"[^\W_]+")
SUPERSCRIPT = re.compile(r"</?su[bp]>")
FORMULA = re.compile(r"\$[^$\n]*[\\^_=][^$\n]*\$")  # and not sums of money


def words(text: str) -> Counter[str]:
    """The words of a text, or of Markdown, with their counts."""
    text = FORMULA.sub(" ", SUPERSCRIPT.sub("", unicodedata.normalize("NFKC", text)))
    return Counter(word.lower() for word in WORD.findall(text))


def main(repository: Path) -> None:
    """Print the counts of each page and of all pages."""
    pages = sorted(path.parent for path in repository.glob("tests/snapshots/e2e/*/raw.txt"))
    total = Counter[str]()
    for folder in pages:
        title = folder.name.replace("_", " ")
        article = wb.extract((folder / "raw.txt").read_text("utf-8"), title=title, sections="clean")
        ours = words("\n".join(article.plain_lines[3:]))
        theirs = words((folder / "markdown.md").read_text("utf-8"))
        here = {"ours": ours.total(), "theirs": theirs.total(), "both": (ours & theirs).total()}
        total.update(here)
        sys.stdout.write(f"{title:45} {here}\n")
    ours_of_theirs, theirs_of_ours = total["both"] / total["theirs"], total["both"] / total["ours"]
    shares = f"{ours_of_theirs:.1%} of theirs, {theirs_of_ours:.1%} of ours"
    sys.stdout.write(f"{len(pages)} pages {dict(total)}: {shares}\n")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
