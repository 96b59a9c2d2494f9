"""An overlap as text and as rows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from wikitext_builder.tables import aligned, spelled_out
from wikitext_builder.text_overlap.overlap import ArticleOverlap, Overlap


def as_text(overlap: Overlap, *, most: int = 10) -> str:
    """The sums per split, the articles with the largest share, and what was not read."""
    by_split: dict[str, list[ArticleOverlap]] = {}
    for article in overlap.articles:
        by_split.setdefault(article.split, []).append(article)
    head = ["", "articles", "(near)", "paragraphs", "(near)", *(f"{n}-grams" for n in overlap.lengths)]
    table = aligned([head, *(_row(articles, overlap.lengths) for articles in by_split.values())])
    lines = [f"{overlap.dataset} against {', '.join(overlap.against)}", "", *table]
    first = overlap.lengths[0]
    articles = sorted(overlap.articles, key=lambda article: (-article.share(first), article.split))[:most]
    if shared := [article for article in articles if article.shared[first]]:
        lines += ["", f"articles with most {first}-grams in the other text"]
        lines += [f"  {article.share(first):7.2%}  {article.title} ({article.split})" for article in shared]
    if overlap.unread:
        lines += ["", unread_text(overlap)]
    return spelled_out("\n".join(lines)) + "\n"  # titles and names can be a stranger's


def unread_text(overlap: Overlap) -> str:
    """What of the other text was not compared."""
    lines = [f"  {text.path}: {text.reason}, {text.detail}" for text in overlap.unread]
    return "\n".join(["not read, or not to the end", *lines])


def _row(articles: Sequence[ArticleOverlap], lengths: Sequence[int]) -> list[str]:
    """The sums over the articles of a split."""
    counts = [len(articles), sum(article.is_near_duplicate for article in articles)]
    counts += [sum(article.paragraphs for article in articles)]
    counts += [sum(article.near_duplicates for article in articles)]
    ngrams = {n: sum(article.ngrams[n] for article in articles) for n in lengths}
    shares = [sum(article.shared[n] for article in articles) / (ngrams[n] or 1) for n in lengths]
    return [articles[0].split, *(f"{count:,}" for count in counts), *(f"{share:.2%}" for share in shares)]


def as_rows(overlap: Overlap) -> list[Mapping[str, object]]:
    """A row per article, for CSV."""
    return [
        {
            "split": article.split,
            "title": article.title,
            "words": article.words,
            "paragraphs": article.paragraphs,
            "near_duplicates": article.near_duplicates,
            **{f"ngrams_{n}": count for n, count in article.ngrams.items()},
            **{f"shared_{n}": count for n, count in article.shared.items()},
        }
        for article in overlap.articles
    ]
