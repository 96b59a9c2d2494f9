"""What a dataset says about itself: its card, the authors of its articles, what was rejected and left out."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from importlib.resources import files
from pathlib import Path

from wikitext_builder.article import Article
from wikitext_builder.dataset.manifest import SplitCounts
from wikitext_builder.dataset.recipes import Recipe
from wikitext_builder.store.store import Rejected

ATTRIBUTION = "attribution.tsv"
REJECTED = "rejected.jsonl"
LEFT_OUT = "left_out.tsv"
COLUMNS = ("split", "title", "page_id", "revision_id", "timestamp", "url")


def attribution_head() -> str:
    """The first line of `attribution.tsv`."""
    return "\t".join(COLUMNS) + "\n"


def attribution_line(article: Article, split: str, language: str) -> str:
    """Where an article comes from; the page history at this address names its authors."""
    url = f"https://{language}.wikipedia.org/w/index.php?oldid={article.revision_id}"
    fields = (split, article.title, article.page_id, article.revision_id, article.timestamp, url)
    return "\t".join(" ".join(str(value).split()) for value in fields) + "\n"


def write_rejected(directory: Path, rejected: Sequence[Rejected]) -> None:
    """Write the pages that were not used, one line of JSON per page."""
    ordered = sorted(rejected, key=lambda one: (one.title, one.revision_id))
    lines = [json.dumps(asdict(one), ensure_ascii=False, sort_keys=True) + "\n" for one in ordered]
    (directory / REJECTED).write_text("".join(lines), encoding="utf-8", newline="\n")


def write_left_out(directory: Path, left_out: Counter[str]) -> None:
    """Write how many calls of each template have no text in the dataset, the most frequent first."""
    rows = sorted(left_out.items(), key=lambda row: (-row[1], row[0]))
    lines = ["calls\ttemplate\n", *(f"{count}\t{' '.join(name.split())}\n" for name, count in rows)]
    (directory / LEFT_OUT).write_text("".join(lines), encoding="utf-8", newline="\n")


def write_card(directory: Path, recipe: Recipe, splits: Mapping[str, SplitCounts], vocabulary: int) -> None:
    """Write the dataset card, README.md, whose head the `datasets` library reads."""
    template = (files("wikitext_builder.building") / "card.md").read_text(encoding="utf-8")
    config = {kind: "\n".join(_data_files(kind)) for kind in ("tokens", "raw")}
    text = template.format(
        name=recipe.name,
        language=recipe.language,
        sections=recipe.sections,
        min_count=recipe.min_count,
        seed=recipe.seed,
        tokens_files=config["tokens"],
        raw_files=config["raw"],
        statistics=_statistics(splits, vocabulary),
        size=_size_category(sum(counts.lines for counts in splits.values())),
    )
    (directory / "README.md").write_text(text, encoding="utf-8", newline="\n")


def _data_files(kind: str) -> list[str]:
    return [
        line
        for split, files_of in (("train", "train"), ("validation", "valid"), ("test", "test"))
        for line in (f"  - split: {split}", f"    path: parquet/{kind}/{files_of}-*.parquet")
    ]


def _statistics(splits: Mapping[str, SplitCounts], vocabulary: int) -> str:
    def row(label: str, values: list[str]) -> str:
        return f"| {label} | {' | '.join(values)} |"

    counts = list(splits.values())
    rates = [f"{100 * c.unknown / c.tokens:.2f} %" if c.tokens else "–" for c in counts]
    return "\n".join(
        [
            row("", list(splits)),
            "|---" * (len(counts) + 1) + "|",
            row("Articles", [f"{c.articles:,}" for c in counts]),
            row("Tokens, with one `<eos>` a line", [f"{c.tokens:,}" for c in counts]),
            row("Lines", [f"{c.lines:,}" for c in counts]),
            row("Types before rare words became `<unk>`", [f"{c.types:,}" for c in counts]),
            row("`<unk>` among the tokens", rates),
            row("Vocabulary, `<unk>` and `<eos>` included", [f"{vocabulary:,}", "", ""]),
        ]
    )


def _size_category(lines: int) -> str:
    """The dataset hub's name for a number of rows."""
    steps = ((1_000, "n<1K"), (10_000, "1K<n<10K"), (100_000, "10K<n<100K"), (1_000_000, "100K<n<1M"))
    return next((name for limit, name in steps if lines < limit), "1M<n<10M")
