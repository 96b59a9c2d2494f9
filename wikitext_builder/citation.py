"""Returns BibTeX: the works to cite, from `references.bib`, and the entry of a dataset built here."""

from __future__ import annotations

import re
from importlib.resources import files
from string import Template
from typing import Final

from wikitext_builder.dataset.manifest import Manifest

ENTRY: Final = Template(
    "@misc{$key,\n  title  = {$title},\n  author = {{Wikipedia contributors}},\n$year  note   = {$note}\n}"
)


def cite() -> str:
    """Return BibTeX for this software, the paper, and the works behind official datasets and models.

    Comments say which datasets and models each work is behind.
    """
    return (files("wikitext_builder") / "references.bib").read_text(encoding="utf-8")


def dataset_entry(manifest: Manifest, newest: str) -> str:
    """Return the BibTeX entry of a dataset built here; `newest` is the time of its newest revision, or ""."""
    recipe, version = manifest.recipe, _plain(manifest.versions.get("wikitext-builder", "unknown"))
    language, source = _plain(recipe.language), _plain(manifest.source)[:8]
    signature = f"recipe:{recipe.name}|language:{language}|source:{source}|version:{version}"
    articles = sum(counts.articles for counts in manifest.splits.values())
    return ENTRY.substitute(
        key=f"{recipe.name}-{source}",
        title=_tex(f"{{{recipe.name}}}: {articles} articles of the {language} Wikipedia"),
        year=f"  year   = {{{_plain(newest)[:4]}}},\n" if newest else "",
        note=_tex(
            f"Made by WikiText Builder, {signature}; attribution.tsv leads to the authors of each article"
        ),
    )


def _tex(text: str) -> str:
    """Escape text for BibTeX; braces are left to the caller."""
    for character in "&%$#_":
        text = text.replace(character, f"\\{character}")
    return text.replace("~", r"\textasciitilde{}").replace("|", r"\textbar{}")


def _plain(text: str) -> str:
    """Replace characters that have a meaning in BibTeX, in a value of a manifest."""
    return re.sub(r"[^\w.+-]+", "-", text, flags=re.ASCII)
