"""A dataset of only what is new: the paragraphs that do not occur in other text.

A paragraph is new if less than a fifth of its shortest n-grams occurs in the other text. So a moved or
lightly edited paragraph is not new; nor is one that is too short to have an n-gram. See
docs/notes.md for error rates.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final, Unpack

from wikitext_builder.article import heading_level
from wikitext_builder.dataset.load import WIKITEXT
from wikitext_builder.dataset.manifest import OVERLAP, file_line
from wikitext_builder.errors import BuilderError
from wikitext_builder.pages.lock import ATTRIBUTION, ATTRIBUTION_HEAD
from wikitext_builder.progress import Progress, no_progress
from wikitext_builder.text_overlap.overlap import Against, Comparison
from wikitext_builder.text_overlap.result import ArticleOverlap, Overlap
from wikitext_builder.text_overlap.sources import (
    OverlapOptions,
)

SHARE: Final = 0.2  # of a paragraph's n-grams: with this or more it is not new


@dataclass(frozen=True, slots=True, kw_only=True)
class Kept:
    """What of a split is new."""

    split: str
    articles: int
    paragraphs: int
    words: int  # tokens of the paragraphs


@dataclass(frozen=True, slots=True, kw_only=True)
class NewLines:
    """What is new of a dataset, and how the whole of it overlaps with the other text."""

    overlap: Overlap
    share: float
    kept: tuple[Kept, ...]  # by split


def new_lines(
    dataset: str | Path,
    out: str | Path,
    *,
    against: Against | None = None,
    share: float = SHARE,
    progress: Progress = no_progress,
    **options: Unpack[OverlapOptions],
) -> NewLines:
    """Write the new paragraphs of a dataset to a folder in the layout of WikiText.

    Headings and articles stay if a paragraph below them does. `overlap.json` in the folder has the overlap of
    the whole dataset.

    Args:
        dataset: A dataset in the layout of WikiText.
        out: The folder to create.
        against: See `overlap`; for example the store of earlier revisions, with `as_of`.
        share: A paragraph is new if less than this fraction of its shortest n-grams occurs in the other text.
        progress: Called with the number of characters compared.
        options: See `OverlapOptions`.

    Raises:
        BuilderError: As for `overlap`; or `out` exists, or nothing is new.
    """
    out = Path(out)
    if out.exists() or out.is_symlink() or not out.name:  # also a link to nothing
        raise BuilderError(f"--new-lines-only: {out} exists already; name a new folder")
    if not 0 < share <= 1:
        raise BuilderError(f"--share: {share}; expected more than 0, at most 1")
    comparison = Comparison(dataset, against, progress, **options)
    if comparison.dataset.layout != WIKITEXT:
        raise BuilderError(f"{dataset}: has no articles; expected a folder with wiki.test.tokens or the like")
    out.parent.mkdir(parents=True, exist_ok=True)
    # A name of its own: two of these may run at once, and `.NAME.partial` is the unfinished work of a build.
    with TemporaryDirectory(prefix=f".{out.name}.", suffix=".partial", dir=out.parent) as folder:
        work = Path(folder) / "dataset"
        work.mkdir()
        found = _write(comparison, work, share)
        work.rename(out)
    return found


def _write(comparison: Comparison, work: Path, share: float) -> NewLines:
    """Write what is new, article by article."""
    dataset, articles = comparison.dataset, list[ArticleOverlap]()
    tokens = {split: dataset.articles(split) for split in comparison.splits}
    counts = {split: Counter[str]() for split in comparison.splits}
    for one in comparison.articles():
        articles.append(one.overlap)
        split, article = one.text.split, one.text.article
        same = next(tokens[split], None)
        if same is None or len(same.lines) != len(article.lines):
            raise dataset.unfit(f"the raw and the tokens file of {split} have different lines")
        new = [found is not None and found < share for found in one.shares]
        if not any(new):
            continue
        for kind, lines in (("raw", article.lines), ("tokens", same.lines)):
            if kind == "tokens" or dataset.has_raw(split):
                kept = "".join(map(file_line, only_new(lines, article.lines, new)))
                _append(work / f"wiki.{split}.{kind}", kept)
        if one.text.source:
            _append(work / ATTRIBUTION, one.text.source.line())
        texts = [text for text, is_new in zip(article.paragraphs, new, strict=True) if is_new]
        counts[split].update(articles=1, paragraphs=len(texts), words=sum(len(t.split()) for t in texts))
    if not any(one["articles"] for one in counts.values()):
        raise BuilderError(f"{dataset.path}: none of its paragraphs is new; nothing was written")
    overlap = comparison.result(articles)
    _append(work / OVERLAP, json.dumps(asdict(overlap), indent=1) + "\n")
    names = ("articles", "paragraphs", "words")
    kept_of = (Kept(split=split, **{name: one[name] for name in names}) for split, one in counts.items())
    return NewLines(overlap=overlap, share=share, kept=tuple(kept_of))


def only_new(lines: Sequence[str], raw: Sequence[str], new: Sequence[bool]) -> list[str]:
    """The lines of an article with only its new paragraphs, and the headings above them.

    `raw` has the same lines: those that are neither blank nor a heading are its paragraphs.

    >>> lines = ["", "= T =", "", "old", "", "= = A = =", "", "", "= = B = =", "", "new", ""]
    >>> only_new(lines, lines, [False, True])
    ['', '= T =', '', '', '= = B = =', '', 'new', '']
    """
    kept: list[list[str]] = [[""]]
    flags = list(new)
    below = 0  # the level of what was kept last: of a paragraph, deeper than any heading
    for line, plain in zip(reversed(lines), reversed(raw), strict=True):
        level = heading_level(plain)
        if plain and not level and flags.pop():
            kept.append([line])
            below = len(lines)
        elif level and level < below:
            kept.append(["", line, ""])
            below = level
    return [line for part in reversed(kept) for line in part]


def _append(path: Path, text: str) -> None:
    with path.open("a", encoding="utf-8", newline="\n") as file:
        if path.name == ATTRIBUTION and not file.tell():
            file.write(ATTRIBUTION_HEAD)
        file.write(text)
