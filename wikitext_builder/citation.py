"""BibTeX of this software, the paper, datasets and models.

The published works are in `references.bib`, each once; `references.tsv` has those of each dataset and model.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from importlib.metadata import PackageNotFoundError, metadata
from importlib.resources import files
from pathlib import Path
from string import Template
from typing import Final

from wikitext_builder import __version__
from wikitext_builder.dataset.load import Dataset, load
from wikitext_builder.dataset.manifest import Manifest
from wikitext_builder.hashing import file_sha256
from wikitext_builder.pages.lock import read_attribution

PAPER: Final = "merity2016pointer"
ENTRY: Final = re.compile(r"^@\w+\{(?P<key>[^,]+),.*?^\}$", re.MULTILINE | re.DOTALL)
MISC: Final = Template(
    "@misc{$key,\n  title  = {$title},\n  author = {{$author}},\n$more  note   = {$note}\n}"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Cited:
    """Something to cite."""

    about: str  # what it is, in one line, with its signature
    keys: tuple[str, ...] = ()  # of `references.bib`
    entry: str = ""  # an entry of its own


def cite(*paths: str | Path) -> str:
    """Return BibTeX for this software, the paper, and datasets.

    Args:
        paths: Datasets, built here, official or other.

    Raises:
        BuilderError: A path is not a dataset.
    """
    return bibtex(cited_dataset(load(path)) for path in paths)


def bibtex(cited: Iterable[Cited]) -> str:
    """The entries, each once, after this software and the paper. Comments say what each is cited for."""
    every = [Cited(about=f"WikiText Builder {__version__}, and WikiText", keys=(PAPER,), entry=_software())]
    every += cited
    known = references()
    entries = [one.entry for one in every if one.entry] + [known[key] for one in every for key in one.keys]
    comments = (
        f"% {' '.join(one.about.split())}" + (f"; cite {', '.join(one.keys)}" if one.keys else "")
        for one in every
    )
    return "\n\n".join(["\n".join(dict.fromkeys(comments)), *dict.fromkeys(entries)]) + "\n"


def references() -> dict[str, str]:
    """The published works by their keys, as BibTeX."""
    text = (files("wikitext_builder") / "references.bib").read_text(encoding="utf-8")
    return {match["key"]: match[0] for match in ENTRY.finditer(text)}


@cache
def sources() -> dict[str, dict[str, tuple[str, ...]]]:
    """The rows of `references.tsv`: keys by kind (dataset, model, preset, around) and name."""
    found: dict[str, dict[str, tuple[str, ...]]] = {}
    for line in (files("wikitext_builder") / "references.tsv").read_text(encoding="utf-8").splitlines()[2:]:
        kind, name, keys = line.split("\t")
        found.setdefault(kind, {})[name] = tuple(keys.split())
    return found


def sources_of(recipe: str) -> tuple[str, ...]:
    """The keys of a model's recipe, such as `lstm/gal-large`, `cache-100:lstm` or `mix:rnn-lda/small,kn-5`.

    >>> sources_of("cache-100:lstm/zaremba-small")
    ('grave2016improving', 'hochreiter1997long', 'zaremba2014recurrent')
    """
    known = sources()
    kind, colon, rest = recipe.partition(":")
    if colon:
        keys = [*known["around"].get(kind.partition("-")[0], ())]
        keys += (key for part in rest.split(",") for key in sources_of(part))
    else:
        model, _, preset = recipe.partition("/")
        keys = [*known["model"].get(model, ())]
        keys += (key for part in preset.split("-") for key in known["preset"].get(part, ()))
    return tuple(dict.fromkeys(keys))


def cited_dataset(dataset: Dataset) -> Cited:
    """The source of a dataset, with a signature that says which one it is."""
    manifest = dataset.manifest
    if manifest is None:
        split, path = next(iter(dataset.files.items()))
        keys = sources()["dataset"].get(dataset.title, ())
        return Cited(about=f"{dataset.title}: {split}+{file_sha256(path)[:8]}", keys=keys)
    newest = max((one.timestamp for one in read_attribution(dataset.path)), default="")
    return cited_manifest(manifest, newest)


def cited_manifest(manifest: Manifest, newest: str) -> Cited:
    """The source of a dataset that was built here; `newest` is the time of its last revision, or empty."""
    recipe, version = manifest.recipe, manifest.versions.get("wikitext-builder", "unknown")
    language, source = _plain(recipe.language), _plain(manifest.source)[:8]
    about = f"recipe:{recipe.name}|language:{language}|source:{source}|version:{_plain(version)}"
    articles = sum(counts.articles for counts in manifest.splits.values())
    entry = MISC.substitute(
        key=f"{recipe.name}-{source}",
        title=_tex(f"{{{recipe.name}}}: {articles} articles of the {language} Wikipedia"),
        author="Wikipedia contributors",
        more=f"  year   = {{{_plain(newest)[:4]}}},\n" if newest else "",
        note=_tex(f"Made by WikiText Builder, {about}; attribution.tsv leads to the authors of each article"),
    )
    return Cited(about=f"{recipe.name}: {about}", entry=entry)


def _software() -> str:
    """The entry of this software, with its address if the installed package's metadata has one."""
    try:
        lines: list[str] = metadata("wikitext-builder").get_all("Project-URL") or []
    except PackageNotFoundError:
        lines = []
    entry = MISC.substitute(
        key="wikitext-builder",
        title="{WikiText Builder}",
        author="The WikiText Builder authors",
        more="",
        note=f"Version {__version__}, Apache License 2.0",
    )
    url = dict(line.split(", ", 1) for line in lines).get("Homepage", "")
    return entry.replace("\n}", f",\n  url    = {{{url}}}\n}}") if url else entry


def _tex(text: str) -> str:
    """Text of names, numbers and signatures; braces are the caller's own."""
    for character in "&%$#_":
        text = text.replace(character, f"\\{character}")
    return text.replace("~", r"\textasciitilde{}").replace("|", r"\textbar{}")


def _plain(text: str) -> str:
    """A value of a manifest without what means something to BibTeX."""
    return re.sub(r"[^\w.+-]+", "-", text, flags=re.ASCII)
