"""What to cite, as BibTeX: this software, the paper, a dataset; and the form in which models are cited too.

The published works are in `references.bib`, each once. `ps_models.citation` and `lm_benchmarks.citation` say
which of them a model or a result comes from.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, metadata
from importlib.resources import files
from pathlib import Path
from typing import Final

from wikitext_builder import __version__
from wikitext_builder.dataset.load import Dataset, load
from wikitext_builder.hashing import file_sha256
from wikitext_builder.pages.attribution import read_attribution

PAPER: Final = "merity2016pointer"
OFFICIAL: Final = {  # title of a dataset that was not built here: its sources
    "WikiText-2": (PAPER,),
    "WikiText-103": (PAPER,),
    "Penn Treebank": ("marcus1993building", "mikolov2010recurrent"),
}
ENTRY: Final = re.compile(r"^@\w+\{(?P<key>[^,]+),.*?^\}$", re.MULTILINE | re.DOTALL)


@dataclass(frozen=True, slots=True, kw_only=True)
class Cited:
    """Something to cite."""

    about: str  # what it is, in one line, with its signature
    keys: tuple[str, ...] = ()  # of `references.bib`
    entry: str = ""  # an entry of its own


def cite(*paths: str | Path) -> str:
    """BibTeX of this software, of the paper, and of datasets.

    Args:
        paths: Datasets: built here, official, or any other.

    Raises:
        BuilderError: A path is not a dataset.
    """
    return bibtex(cited_dataset(load(path)) for path in paths)


def bibtex(cited: Iterable[Cited]) -> str:
    """The entries, each once, after this software and the paper. Comments say what each is cited for."""
    software = Cited(about=f"WikiText Builder {__version__}, and WikiText", keys=(PAPER,), entry=_software())
    every = [software, *cited]
    known = references()
    entries = [one.entry for one in every if one.entry] + [known[key] for one in every for key in one.keys]
    comments = "\n".join(dict.fromkeys(map(_comment, every)))
    return "\n\n".join([comments, *dict.fromkeys(entries)]) + "\n"


def references() -> dict[str, str]:
    """The published works by their keys, as BibTeX."""
    text = (files("wikitext_builder") / "references.bib").read_text(encoding="utf-8")
    return {match["key"]: match[0] for match in ENTRY.finditer(text)}


def cited_dataset(dataset: Dataset) -> Cited:
    """The source of a dataset, with a signature that says which one it is.

    Raises:
        BuilderError: Its manifest or its attribution is damaged.
    """
    manifest = dataset.manifest
    if manifest is None:
        split, path = next(iter(dataset.files.items()))
        keys = OFFICIAL.get(dataset.title, ())
        return Cited(about=f"{dataset.title}: {split}+{file_sha256(path)[:8]}", keys=keys)
    recipe, version = manifest.recipe, manifest.versions.get("wikitext-builder", "unknown")
    language, source = _plain(recipe.language), _plain(manifest.source)[:8]
    about = f"recipe:{recipe.name}|language:{language}|source:{source}|version:{_plain(version)}"
    newest = max((one.timestamp for one in read_attribution(dataset.path)), default="")
    articles = sum(counts.articles for counts in manifest.splits.values())
    fields = {
        "title": f"{{{recipe.name}}}: {articles} articles of the {language} Wikipedia",
        "author": "{Wikipedia contributors}",
        **({"year": _plain(newest)[:4]} if newest else {}),
        "note": f"Made by WikiText Builder, {about}; attribution.tsv leads to the authors of each article",
    }
    return Cited(about=f"{recipe.name}: {about}", entry=_entry(f"{recipe.name}-{source}", fields))


def _software() -> str:
    fields = {
        "title": "{WikiText Builder}",
        "author": "{The WikiText Builder authors}",
        "note": f"Version {__version__}, Apache License 2.0",
    }
    return _entry("wikitext-builder", fields | ({"url": url} if (url := homepage()) else {}))


def homepage() -> str:
    """The address of the project, from the metadata of the installed package; "" if it has none."""
    try:
        lines: list[str] = metadata("wikitext-builder").get_all("Project-URL") or []
    except PackageNotFoundError:
        return ""
    return dict(line.split(", ", 1) for line in lines).get("Homepage", "")


def _entry(key: str, fields: dict[str, str]) -> str:
    """An entry of the kind that every style of BibTeX has."""
    width = max(map(len, fields))
    lines = [
        f"  {name:<{width}} = {{{value if name == 'url' else _tex(value)}}}" for name, value in fields.items()
    ]
    return f"@misc{{{key},\n" + ",\n".join(lines) + "\n}"


def _tex(text: str) -> str:
    """Text of names, numbers and signatures; braces are the caller's own."""
    for character in "&%$#_":
        text = text.replace(character, f"\\{character}")
    return text.replace("~", r"\textasciitilde{}").replace("|", r"\textbar{}")


def _plain(text: str) -> str:
    """A value of a manifest without what means something to BibTeX."""
    return re.sub(r"[^\w.+-]+", "-", text, flags=re.ASCII)


def _comment(one: Cited) -> str:
    return f"% {' '.join(one.about.split())}" + (f"; cite {', '.join(one.keys)}" if one.keys else "")
