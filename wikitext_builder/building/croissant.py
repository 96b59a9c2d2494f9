"""The description of a dataset that programs read, `croissant.json`, in the format Croissant 1.1.

https://docs.mlcommons.org/croissant/docs/croissant-spec-1.1.html, with the terms as `mlcroissant` reads them.
No day in it is that of the build: the same input gives the same bytes.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path, PurePosixPath
from typing import Any, Final
from urllib.parse import urlsplit

from wikitext_builder.building.exports import LINES, TABLES
from wikitext_builder.building.licence import ADDRESS, GFDL, licences_in
from wikitext_builder.building.plan import Plan
from wikitext_builder.citation import cited_manifest
from wikitext_builder.dataset.manifest import CARD, CROISSANT, Manifest
from wikitext_builder.dataset.plain import ARTICLES
from wikitext_builder.pages.lock import read_attribution

TERMS: Final = """arrayShape citeAs column containedIn equivalentProperty extract field fileObject
fileProperty fileSet format includes isArray isLiveDataset jsonPath key md5 parentField path recordSet
references regex repeated replace samplingRate separator source subField transform"""
CONTEXT: Final = {
    "@language": "en",
    "@vocab": "https://schema.org/",
    "sc": "https://schema.org/",
    "cr": "http://mlcommons.org/croissant/",
    "rai": "http://mlcommons.org/croissant/RAI/",
    "dct": "http://purl.org/dc/terms/",
    "conformsTo": "dct:conformsTo",
    "data": {"@id": "cr:data", "@type": "@json"},
    "dataType": {"@id": "cr:dataType", "@type": "@vocab"},
    "examples": {"@id": "cr:examples", "@type": "@json"},
    **{term: f"cr:{term}" for term in TERMS.split()},
}
PARQUET, TEXT = "application/x-parquet", "text/plain"
MEDIA_TYPES: Final = {  # by suffix; other files are plain text
    ".parquet": PARQUET,
    ".zip": "application/zip",
    ".jsonl": "application/jsonlines",
    ".tsv": "text/tab-separated-values",
}
PARTS_OF_SECTIONS: Final = {"heading": "sc:Text", "level": "sc:Integer", "text": "sc:Text"}
SPLIT: Final = "splits/name"  # the field that says which split a record is of
USES: Final = {"train": "cr:TrainingSplit", "valid": "cr:ValidationSplit", "test": "cr:TestSplit"}
# A path names its split. mlcroissant applies this to what it found again, so it also matches the split alone.
SPLIT_OF_PATH: Final = r"(?:.*[/.])?(train|valid|test)(?:[-.].*)?"

Node = dict[str, Any]


def write_croissant(directory: Path, plan: Plan, manifest: Manifest) -> None:
    """Write the description of a dataset whose other files are there already.

    Its address is that of the wiki, because no build knows where the dataset will be published. It leaves out
    the card, to which `overlap` may add a section later.
    """
    index, name = plan.language.index_address, plan.recipe.name
    host = urlsplit(index).netloc
    days = sorted(one.timestamp[:10] for one in read_attribution(directory))
    articles = sum(one.articles for one in manifest.splits.values())
    sets = list(_sets(plan))
    described = {
        "@context": CONTEXT,
        "@type": "sc:Dataset",
        "conformsTo": "http://mlcommons.org/croissant/1.1",
        "name": name,
        "description": f"{articles:,} articles of {host} for word-level language modelling, in the format of"
        f" WikiText, made by WikiText Builder. {CARD} says more.",
        "url": index.removesuffix("w/index.php"),
        "license": [*map(ADDRESS.format, licences_in(directory)), GFDL],
        "creator": {"@type": "sc:Organization", "name": f"The editors of {host}"},
        "citeAs": cited_manifest(manifest, days[-1]).entry,
        "version": f"1.0.0+{manifest.source[:8]}",
        "datePublished": days[-1],  # of its newest revision
        "temporalCoverage": f"{days[0]}/{days[-1]}",
        "inLanguage": plan.language.text_language,
        "distribution": [
            *(
                _node("FileObject", path)
                | {"contentUrl": path, "contentSize": f"{entry.bytes} B", "sha256": entry.sha256}
                | {"encodingFormat": MEDIA_TYPES.get(PurePosixPath(path).suffix, TEXT)}
                for path, entry in manifest.files.items()
                if path != CARD
            ),
            *(
                _node("FileSet", f"{one}-files") | {"encodingFormat": media_type, "includes": pattern}
                for one, pattern, media_type, _ in sets
            ),
        ],
        "recordSet": [
            _node("RecordSet", "splits")
            | {"dataType": "cr:Split", "key": {"@id": SPLIT}}
            | {"field": [_field(SPLIT, "sc:Text"), _field("splits/url", "sc:URL")]}
            | {"data": [{SPLIT: split, "splits/url": USES[split]} for split in plan.recipe.splits]},
            *(
                _node("RecordSet", one) | {"field": list(_fields(one, kind, types))}
                for one, _, kind, types in sets
            ),
        ],
    }
    text = json.dumps(described, indent=1, ensure_ascii=False)
    (directory / CROISSANT).write_text(text + "\n", encoding="utf-8", newline="\n")


def _sets(plan: Plan) -> Iterator[tuple[str, str, str, Mapping[str, str]]]:
    """The sets of records: the name of each, its files, their media type, and its columns."""
    name = plan.recipe.name
    for kind, config in zip(LINES, (f"{name}-v1", f"{name}-raw-v1"), strict=True):
        yield config, f"{TABLES[kind].folder}/*.parquet", PARQUET, TABLES[kind].types
        yield f"{config}-text", f"wiki.*.{kind}", TEXT, {"content": "text"}  # a file per record
    if "parquet" in plan.recipe.articles:
        yield f"{name}-articles-v1", f"{ARTICLES}/*.parquet", PARQUET, TABLES[ARTICLES].types


def _fields(name: str, media_type: str, columns: Mapping[str, str]) -> Iterator[Node]:
    """The fields of a set of records: the split, and each column."""
    files = {"fileSet": {"@id": f"{name}-files"}}
    of_split = files | {"extract": {"fileProperty": "fullpath"}, "transform": {"regex": SPLIT_OF_PATH}}
    yield _field(f"{name}/split", "sc:Text") | {"source": of_split, "references": {"field": {"@id": SPLIT}}}
    for column, kind in columns.items():
        source = files | {"extract": {"fileProperty" if media_type == TEXT else "column": column}}
        field = _field(f"{name}/{column}", "sc:Integer" if kind == "number" else "sc:Text")
        if kind in ("texts", "sections"):
            field |= {"isArray": True, "arrayShape": "-1"}
        if kind == "sections":
            field["subField"] = [
                _field(f"{name}/{column}/{part}", data_type)
                | {"source": source | {"transform": {"jsonPath": part}}}
                for part, data_type in PARTS_OF_SECTIONS.items()
            ]
        yield field | {"source": source}


def _field(name: str, data_type: str) -> Node:
    return _node("Field", name) | {"dataType": data_type}


def _node(kind: str, name: str) -> Node:
    return {"@type": f"cr:{kind}", "@id": name, "name": name}
