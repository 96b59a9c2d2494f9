"""Statistics of a dataset, as in Table 1 of the paper.

Tokens are counted with one `<eos>` per line, blank lines included. The rate of out-of-vocabulary words is the
share of `<unk>` among these tokens: this denominator gives the paper's 2.6 % for WikiText-2 (54,625 of
2,088,628) and 4.8 % for the Penn Treebank (45,020 of 929,589); the words alone would give 2.7 % and 5.1 %.

The paper's three counts of the Penn Treebank are one higher than those of the files: words, plus lines, plus
one. You get the paper's counts if you split a file at its newlines and add `<eos>` to each piece, also to the
empty piece after the last newline. An `<eos>` before the first word would give the same; the files do not
show which it was. The paper's counts of WikiText are those of the files.
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
    """Return the paper's Table 1 for datasets: per dataset, a row for each split and one for all of them.

    `vocabulary` is the number of types of train, `<unk>` and `<eos>` included, and missing without train;
    `types` is that of the split itself. `articles` is missing if there are none. For the paper's datasets,
    the columns `paper_*` have its figures, and `note` says why one differs from ours.

    With `measures`, returns the portrait instead: a row per number with `corpus`, `split`, `statistic`, `x`
    (for curves), `value` and `unit`, as `docs/statistics.md` defines them. Further datasets are also compared
    with the first, in rows whose `corpus` names two.

    Args:
        directories: Datasets built here, or folders in the layout of WikiText or the Penn Treebank.
        names: Names for the datasets, in order; default: see `load_named`.
        measures: Statistics of the portrait, such as `zipf` and `heaps`; `["all"]`: all.
        raw: Measure the text before rare words became `<unk>`; only with `measures`.

    Raises:
        BuilderError: There is no dataset or statistic, a file cannot be read, or two datasets have one name.
    """
    import pandas as pd

    datasets = load_named(directories, names)
    if measures:
        from wikitext_builder.stats.portrait import portrait

        return portrait(datasets, measures, raw=raw)
    tables = [corpus_statistics(name, one.files, title=one.title) for name, one in datasets.items()]
    return pd.concat(tables, ignore_index=True)


def corpus_statistics(name: str, splits: Mapping[str, Path], *, title: str | None = None) -> pd.DataFrame:
    """The rows of `statistics` for a dataset, from the file of tokens of each split.

    Its title, such as WikiText-2, finds published figures; None: the name that the table calls it by.
    """
    import pandas as pd

    counted = {split: count(path) for split, path in splits.items()}
    totals = {split: found for split, (found, _) in counted.items()}
    vocabulary = totals["train"].types if "train" in totals else None
    types = len(set().union(*(counts for _, counts in counted.values())))
    totals[ALL] = replace(sum(totals.values(), EMPTY_COUNTS), types=types)
    published = PUBLISHED.get(title or name, {})
    rows, dtypes = [], dict[str, str]()
    for split, text in totals.items():
        ours = statistics_of(text, vocabulary)
        paper = published.get(split, {})
        note = published.get("note", "") if paper.get("tokens") == text.tokens + 1 else ""
        beside = {f"paper_{key}": paper.get(key) for key in PAPER}
        rows.append({"corpus": name, "split": split, **ours, **beside, "note": note})
    for key, one in STATISTICS.items():
        dtypes |= {key: one.dtype} | ({f"paper_{key}": one.dtype} if key in PAPER else {})
    return pd.DataFrame(rows).astype(dtypes)


def to_records(table: pd.DataFrame) -> list[dict[str, str | int | float | None]]:
    """The rows of `statistics` as dicts for JSON, with None for what is missing."""
    whole = table.astype(object)
    return [
        {str(key): value for key, value in record.items()}
        for record in whole.where(whole.notna(), None).to_dict("records")
    ]


def as_text(table: pd.DataFrame) -> str:
    """`statistics` as plain text: Table 1, datasets beside each other, the paper's figures below ours."""
    corpora = {str(name): rows for name, rows in table.groupby("corpus", sort=False)}
    splits = [[split.capitalize() for split in rows["split"]] for rows in corpora.values()]
    if len(corpora) == 1:
        rows = [[*corpora, *splits[0]]]
    else:
        names = ([name, *[""] * (len(own) - 1)] for name, own in zip(corpora, splits, strict=True))
        rows = [["", *chain(*names)], ["", *chain(*splits)]]
    heads = len(rows)
    for key, one in STATISTICS.items():
        lines = [(one.label, key, one.form)] if one.label else []
        if key in PAPER:
            lines.append(("  paper", f"paper_{key}", one.paper_form))
        for label, column, form in lines:
            values = (own[column].astype(object) for own in corpora.values())
            cells = [cell for own in values for cell in one.cells(own.where(own.notna(), None), form)]
            if label == one.label or {*cells} - {"-", ""}:
                rows.append([label, *cells])
    lined = aligned(rows)
    notes = table[table["note"] != ""].groupby(["corpus", "note"], sort=False)
    shown = "\n".join([*lined[:heads], "-" * max(map(len, lined)), *lined[heads:]])
    return "\n\n".join([shown, *(f"{corpus}: {note}." for (corpus, note), _ in notes)]) + "\n"
