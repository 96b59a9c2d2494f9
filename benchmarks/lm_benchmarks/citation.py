"""BibTeX of results: the works that their models come from, each with the signature of its number."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from lm_benchmarks.records.lines import one_line
from lm_benchmarks.records.result import read_results
from ps_models.citation import cited
from wikitext_builder.citation import Cited, bibtex, sources, sources_of
from wikitext_builder.dataset.load import OFFICIAL_NAMES


def cite(*paths: str | Path) -> str:
    """BibTeX of this software, of the paper, and of results, checkpoints and datasets.

    A comment for each result has its signature.

    Args:
        paths: Files of results that `measure` wrote, checkpoints, or datasets.

    Raises:
        ToolkitError: A path is none of them.
    """
    return bibtex(one for path in paths for one in _cited(Path(path)))


def _cited(path: Path) -> Iterator[Cited]:
    if path.suffix != ".jsonl":
        yield cited(path)
        return
    for result in read_results(path):
        # A model that is not ours has no keys: its user knows them. Nor has a dataset that is not official.
        title = OFFICIAL_NAMES.get(result.signature["data"].rpartition("+")[0], "")
        keys = (*sources_of(result.recipe), *sources()["dataset"].get(title, ()))
        yield Cited(about=f"{one_line(result.model)}: {result.signature}", keys=keys)
