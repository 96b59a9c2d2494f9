"""The description of a dataset that programs read, `croissant.json`, in the format Croissant 1.1.

`croissant.toml` has the terms of the format. No day is of the build: the same input gives the same bytes.
"""

from __future__ import annotations

import json
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from importlib.resources import files
from pathlib import Path
from typing import Any, Final
from urllib.parse import urlsplit

from wikitext_builder.building.exports import LINES, TABLES
from wikitext_builder.building.licence import ADDRESS, GFDL, licences_of
from wikitext_builder.building.plan import Plan
from wikitext_builder.citation import dataset_entry
from wikitext_builder.dataset.manifest import CARD, CROISSANT, Manifest
from wikitext_builder.dataset.plain import ARTICLES

SPLIT: Final = "splits/name"  # the field that says which split a record is of
# A path names its split. mlcroissant applies this to what it found again, so it also matches the split alone.
SPLIT_OF_PATH: Final = r"(?:.*[/.])?(train|valid|test)(?:[-.].*)?"


def write_croissant(directory: Path, plan: Plan, manifest: Manifest, days: Sequence[str]) -> None:
    """Write the description of a dataset whose other files are there; `days` are of its revisions, sorted.

    Its address is that of the wiki, because no build knows where the dataset will be published. It leaves out
    the card.
    """
    terms = tomllib.loads((files("wikitext_builder.building") / "croissant.toml").read_text("utf-8"))
    index, host = plan.language.index_address, urlsplit(plan.language.index_address).netloc
    articles = sum(one.articles for one in manifest.splits.values())
    sets = dict(_sets(plan))

    def media_type(path: str) -> str:
        return str(terms["media_types"].get(path.rpartition(".")[2], "text/plain"))

    described = {
        "@context": terms["context"],
        "@type": "sc:Dataset",
        "conformsTo": "http://mlcommons.org/croissant/1.1",
        "name": plan.recipe.name,
        "description": f"{articles:,} articles of {host} for word-level language modelling, in the format of"
        f" WikiText, made by WikiText Builder. {CARD} says more.",
        "url": index.removesuffix("w/index.php"),
        "license": [*map(ADDRESS.format, licences_of(days)), GFDL],
        "creator": {"@type": "sc:Organization", "name": f"The editors of {host}"},
        "citeAs": dataset_entry(manifest, days[-1]),
        "version": f"1.0.0+{manifest.source[:8]}",
        "datePublished": days[-1],  # of its newest revision
        "temporalCoverage": f"{days[0]}/{days[-1]}",
        "inLanguage": plan.language.text_language,
        "distribution": [
            *(
                _node("FileObject", path, contentUrl=path, encodingFormat=media_type(path))
                | {"contentSize": f"{entry.bytes} B", "sha256": entry.sha256}
                for path, entry in manifest.files.items()
                if path != CARD
            ),
            *(
                _node("FileSet", f"{name}-files", encodingFormat=media_type(pattern), includes=pattern)
                for name, (pattern, _) in sets.items()
            ),
        ],
        "recordSet": [
            _node("RecordSet", "splits", dataType="cr:Split", key={"@id": SPLIT})
            | {"field": [_node("Field", name, dataType=one) for name, one in terms["splits"].items()]}
            | {"data": [{SPLIT: name, "splits/url": terms["uses"][name]} for name in plan.recipe.splits]},
            *(
                _node("RecordSet", name, field=list(_fields(name, columns, terms)))
                for name, (_, columns) in sets.items()
            ),
        ],
    }
    text = json.dumps(described, indent=1, ensure_ascii=False)
    (directory / CROISSANT).write_text(text + "\n", encoding="utf-8", newline="\n")


def _sets(plan: Plan) -> Iterator[tuple[str, tuple[str, Mapping[str, str]]]]:
    """The sets of records: the name of each, its files and its columns; a text file is one record."""
    name = plan.recipe.name
    for kind, config in zip(LINES, (f"{name}-v1", f"{name}-raw-v1"), strict=True):
        yield config, (f"{TABLES[kind].folder}/*.parquet", TABLES[kind].types)
        yield f"{config}-text", (f"wiki.*.{kind}", {"content": "text"})
    if plan.recipe.articles:
        yield f"{name}-articles-v1", (f"{ARTICLES}/*.parquet", TABLES[ARTICLES].types)


def _fields(name: str, columns: Mapping[str, str], terms: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """The fields of a set of records: the split, and each column."""
    source = {"fileSet": {"@id": f"{name}-files"}}
    of_split = source | {"extract": {"fileProperty": "fullpath"}, "transform": {"regex": SPLIT_OF_PATH}}
    split = _node("Field", f"{name}/split", source=of_split, references={"field": {"@id": SPLIT}})
    yield split | terms["kinds"]["text"]
    for column, kind in columns.items():
        found = source | {"extract": {"fileProperty" if column == "content" else "column": column}}
        field = _node("Field", f"{name}/{column}", source=found) | terms["kinds"][kind]
        if kind == "sections":
            field["subField"] = [
                _node("Field", f"{name}/{column}/{part}", source=found | {"transform": {"jsonPath": part}})
                | terms["kinds"][kind_of_part]
                for part, kind_of_part in terms["sections"].items()
            ]
        yield field


def _node(kind: str, name: str, **properties: Any) -> dict[str, Any]:
    return {"@type": f"cr:{kind}", "@id": name, "name": name, **properties}
