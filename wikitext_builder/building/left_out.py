"""Calls of templates that have no text in a dataset: counted by template, and listed in `left_out.tsv`."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import zip_longest
from pathlib import Path
from typing import Final

from wikitext_builder.article import Article
from wikitext_builder.extraction.macros.parser_functions import call_name

LEFT_OUT: Final = "left_out.tsv"
COLUMNS: Final = ("calls", "template", "pages", "examples", "went")
EXAMPLES: Final = 5  # titles per template: enough to look it up, and few enough for any number of pages


@dataclass(frozen=True, slots=True, kw_only=True)
class LeftOutCalls:
    """The calls of one template that have no text in the dataset."""

    calls: int
    pages: int  # how many have such a call
    examples: tuple[str, ...]  # titles of the first of them in the order of the dataset
    reasons: Mapping[str, int] = field(default_factory=dict)  # why the store's templates do not give it
    cuts: Mapping[str, int] = field(default_factory=dict)  # what went with them

    def __add__(self, later: LeftOutCalls) -> LeftOutCalls:
        """The calls of these pages and of later ones."""
        return LeftOutCalls(
            calls=self.calls + later.calls,
            pages=self.pages + later.pages,
            examples=(*self.examples, *later.examples)[:EXAMPLES],
            reasons=dict(Counter(self.reasons) + Counter(later.reasons)),
            cuts=dict(Counter(self.cuts) + Counter(later.cuts)),
        )


def left_out_of(article: Article) -> dict[str, LeftOutCalls]:
    """The calls that an article leaves out, by template."""
    by_name: dict[str, list[tuple[str, str]]] = {}
    for call, reason, cut in zip_longest(article.left_out, article.reasons, article.cuts, fillvalue=""):
        by_name.setdefault(call_name(call), []).append((reason, cut))
    return {
        name: LeftOutCalls(
            calls=len(calls),
            pages=1,
            examples=(article.title,),
            reasons=dict(Counter(reason for reason, _ in calls if reason)),
            cuts=dict(Counter(cut for _, cut in calls if cut)),
        )
        for name, calls in by_name.items()
    }


def add_left_out(total: dict[str, LeftOutCalls], later: Mapping[str, LeftOutCalls]) -> None:
    """Add the calls of later pages to those of earlier ones."""
    for name, calls in later.items():
        total[name] = total[name] + calls if name in total else calls


def reasons_of(left_out: Mapping[str, LeftOutCalls]) -> dict[str, int]:
    """The number of calls for each reason; empty if the store has no templates."""
    return dict(sum((Counter(calls.reasons) for calls in left_out.values()), Counter[str]()).most_common())


def write_left_out(directory: Path, left_out: Mapping[str, LeftOutCalls]) -> None:
    """Write which templates have calls without a text, the most frequent first, their pages, what went.

    No title contains a bar, so ` | ` separates the examples.
    """
    lines = ["\t".join(COLUMNS) + "\n"]
    for name, calls in sorted(left_out.items(), key=lambda row: (-row[1].calls, row[0])):
        went = " | ".join(f"{what} {count}" for what, count in sorted(calls.cuts.items()))
        cells = (calls.calls, name, calls.pages, " | ".join(calls.examples), went)
        lines.append("\t".join(" ".join(str(cell).split()) for cell in cells) + "\n")
    (directory / LEFT_OUT).write_text("".join(lines), encoding="utf-8", newline="\n")
