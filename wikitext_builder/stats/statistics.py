"""Computes the statistics of Table 1 of the paper.

Tokens are counted with one `<eos>` per line, blank lines included. The rate of out-of-vocabulary words is the
share of `<unk>` among these tokens: this denominator gives the paper's 2.6 % for WikiText-2 (54,625 of
2,088,628) and 4.8 % for the Penn Treebank (45,020 of 929,589); the words alone would give 2.7 % and 5.1 %.

The paper's three counts of the Penn Treebank are one higher than those of the files: words, plus lines, plus
one. The paper's counts result if a file is split at its newlines and each piece gets an `<eos>`, also the
empty piece after the last newline. An `<eos>` before the first word would give the same counts; the files do
not show which one it was. The paper's counts of WikiText are those of the files.
"""

from __future__ import annotations

import tomllib
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from importlib.resources import files
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from wikitext_builder.dataset.counts import EMPTY_COUNTS, STATISTICS, count, statistics_of
from wikitext_builder.dataset.load import load_named
from wikitext_builder.tables import aligned

if TYPE_CHECKING:
    import pandas as pd

ALL: Final = "all"

PAPER: Final = ("articles", "tokens", "vocabulary", "oov_rate")  # statistics of Table 1


PUBLISHED: Final[Mapping[str, Mapping[str, Any]]] = tomllib.loads(
    (files("wikitext_builder.stats") / "table_1.toml").read_text("utf-8")
)


def statistics(
    *directories: str | Path, names: Sequence[str] = (), measures: Collection[str] = (), raw: bool = False
) -> pd.DataFrame:
    """Return the paper's Table 1 for datasets: per dataset, a row for each split and a row for all splits.

    `vocabulary` is the number of types of train, including `<unk>` and `<eos>`, and missing without train;
    `types` is the number of types of the split. `articles` is missing in a text without articles. For the
    paper's datasets, the columns `paper_*` have the published numbers, and `note` says why they differ from
    ours.

    With `measures`, returns the portrait instead: a row per number with `corpus`, `split`, `statistic`, `x`
    (for curves), `value` and `unit`, as `docs/statistics.md` defines them. Further datasets are also compared
    with the first, in rows whose `corpus` names both.

    Args:
        directories: Datasets built here, or folders in the layout of WikiText or the Penn Treebank.
        names: Names for the datasets, in order; default: see `load_named`.
        measures: Statistics of the portrait, such as `zipf` and `heaps`; `["all"]` for all.
        raw: Measure the text before rare words became `<unk>`; only with `measures`.

    Raises:
        BuilderError: A dataset or statistic does not exist, a file cannot be read, or a name occurs twice.
    """
    import pandas as pd

    datasets = load_named(directories, names)
    if measures:
        from wikitext_builder.stats.portrait import portrait

        return portrait(datasets, measures, raw=raw)
    tables = [corpus_statistics(name, data.files, title=data.title) for name, data in datasets.items()]
    return pd.concat(tables, ignore_index=True)


def corpus_statistics(name: str, splits: Mapping[str, Path], *, title: str | None = None) -> pd.DataFrame:
    """Return the rows of `statistics` for a dataset, from the token file of each split.

    Published numbers are looked up by `title`, such as WikiText-2, or by `name` without a title.
    """
    import pandas as pd

    counted = {split: count(path) for split, path in splits.items()}
    split_counts = {split: counts for split, (counts, _) in counted.items()}
    vocabulary = split_counts["train"].types if "train" in split_counts else None
    types = len(set().union(*(type_counts for _, type_counts in counted.values())))
    split_counts[ALL] = replace(sum(split_counts.values(), EMPTY_COUNTS), types=types)
    published = PUBLISHED.get(title or name, {})
    rows, dtypes = [], dict[str, str]()
    for split, counts in split_counts.items():
        ours = statistics_of(counts, vocabulary)
        paper = published.get(split, {})
        note = published.get("note", "") if paper.get("tokens") == counts.tokens + 1 else ""
        theirs = {f"paper_{key}": paper.get(key) for key in PAPER}
        rows.append({"corpus": name, "split": split, **ours, **theirs, "note": note})
    for key, statistic in STATISTICS.items():
        dtypes |= {key: statistic.dtype} | ({f"paper_{key}": statistic.dtype} if key in PAPER else {})
    return pd.DataFrame(rows).astype(dtypes)


def to_records(table: pd.DataFrame) -> list[dict[str, str | int | float | None]]:
    """Return the rows of `statistics` as dicts for JSON, with None for missing values."""
    objects = table.astype(object)
    return [
        {str(key): value for key, value in record.items()}
        for record in objects.where(objects.notna(), None).to_dict("records")
    ]


def as_text(table: pd.DataFrame) -> str:
    """Format `statistics` as plain text: Table 1, datasets side by side, the paper's numbers below ours."""
    corpora = {str(name): rows for name, rows in table.groupby("corpus", sort=False)}
    splits = [[split.capitalize() for split in rows["split"]] for rows in corpora.values()]
    if len(corpora) == 1:
        rows = [[*corpora, *splits[0]]]
    else:
        names = ([name, *[""] * (len(columns) - 1)] for name, columns in zip(corpora, splits, strict=True))
        rows = [["", *chain(*names)], ["", *chain(*splits)]]
    header_rows = len(rows)
    for key, statistic in STATISTICS.items():
        lines = [(statistic.label, key, statistic.form)] if statistic.label else []
        if key in PAPER:
            lines.append(("  paper", f"paper_{key}", statistic.paper_form))
        for label, column, form in lines:
            by_corpus = (corpus[column].astype(object) for corpus in corpora.values())
            objects = (values.where(values.notna(), None) for values in by_corpus)
            cells = [cell for values in objects for cell in statistic.cells(values, form)]
            if label == statistic.label or {*cells} - {"-", ""}:
                rows.append([label, *cells])
    text_lines = aligned(rows)
    rule = "-" * max(map(len, text_lines))
    text = "\n".join([*text_lines[:header_rows], rule, *text_lines[header_rows:]])
    notes = table[table["note"] != ""].groupby(["corpus", "note"], sort=False)
    return "\n\n".join([text, *(f"{corpus}: {note}." for (corpus, note), _ in notes)]) + "\n"
