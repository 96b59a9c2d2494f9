"""An overlap as plain text, as rows for CSV, and as a section of a dataset's card."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from typing import Final

from wikitext_builder.dataset.manifest import OVERLAP, OVERLAP_BY_ARTICLE
from wikitext_builder.overlap.overlap import NEAR, ArticleOverlap, Overlap, SplitOverlap

NAMED: Final = 10  # files of the other text in a card


def as_text(found: Overlap, *, most: int = 10) -> str:
    """The totals, the articles with the largest share, and what was not read."""
    first = found.lengths[0]
    until = f", revisions up to {found.as_of}" if found.as_of else ""
    lines = [f"{found.dataset} against {', '.join(found.against)}{until}", "", *_table(_rows(found))]
    articles = sorted(found.articles, key=lambda one: (-share(one, first), -one.longest, one.split))
    if shared := [one for one in articles[:most] if one.longest or one.listed]:
        lines += ["", f"articles with most {first}-grams in the other text"]
        lines += [line for one in shared for line in _described(one, first)]
    if found.rejected:
        lines += ["", "not read"]
        lines += [f"  {one.source}: {one.reason} ({one.count:,}), {one.detail}" for one in found.rejected]
    return "\n".join(lines) + "\n"


def share(one: ArticleOverlap | SplitOverlap, length: int) -> float:
    """The fraction of the n-grams of this length that the other text has; 0 if there are none."""
    return one.shared[length] / one.ngrams[length] if one.ngrams[length] else 0.0


def _rows(found: Overlap) -> list[list[str]]:
    head = ["", "articles", "(near)", "paragraphs", "(same)", "(near)"]
    rows = [[*head, *(f"{n}-grams" for n in found.lengths), "longest", "listed"]]
    for one in found.splits:
        counts = [one.articles, one.near_duplicates, one.paragraphs]
        counts += [one.duplicate_paragraphs, one.near_duplicate_paragraphs]
        shares = [f"{share(one, n):.2%}" for n in found.lengths]
        rows.append([one.split, *(f"{n:,}" for n in counts), *shares, f"{one.longest:,}", f"{one.listed:,}"])
    return rows


def _table(rows: Sequence[Sequence[str]]) -> list[str]:
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return ["  ".join([row[0].ljust(widths[0]), *map(str.rjust, row[1:], widths[1:])]) for row in rows]


def _described(one: ArticleOverlap, length: int) -> Iterator[str]:
    listed = f"; a lock file has this {one.listed}" if one.listed else ""
    nearest = f"; nearest: {one.nearest}" if one.nearest else ""
    yield f"  {share(one, length):7.2%}  {one.title} ({one.split}){nearest}{listed}"
    if one.longest:
        yield f"           {one.longest:,} words in {one.stretch_in}: {one.stretch}"


def as_rows(found: Overlap) -> list[dict[str, object]]:
    """A row per article, for CSV."""
    return [dict(_flat(asdict(one))) for one in found.articles]


def _flat(fields: Mapping[str, object]) -> Iterator[tuple[str, object]]:
    for key, value in fields.items():
        if isinstance(value, Mapping):
            yield from ((f"{key}_{n}", count) for n, count in value.items())
        else:
            yield key, value


def as_markdown(found: Overlap) -> str:
    """The totals as a section of a card."""
    head, *rows = _rows(found)
    marks = ["---", *["---:"] * (len(head) - 1)]
    table = "\n".join(f"| {' | '.join(row)} |" for row in (head, marks, *rows))
    until = f", in revisions up to {found.as_of}" if found.as_of else ""
    unread = sum(one.count for one in found.rejected)
    names = [f"`{one}`" for one in found.against[:NAMED]]
    if len(found.against) > NAMED:
        names.append(f"{len(found.against) - NAMED:,} more")
    return (
        f"Compared with {', '.join(names)}{until}:"
        f" {found.characters:,} characters; {unread:,} parts of it could not be read.\n\n{table}\n\n"
        f"(near): articles, and paragraphs, of which at least {NEAR:.0%} of the {found.lengths[0]}-grams"
        " stand there; (same): word for word; longest: words of the longest common stretch. The figures of"
        f" each article are in `{OVERLAP_BY_ARTICLE}`, and all paths in `{OVERLAP}`.\n"
    )
