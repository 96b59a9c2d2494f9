"""What a dataset says to programs is true, and mlcroissant accepts it and reads the texts by it, offline."""

import json
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from tests.test_citation import entries
from tests.wikitext_builder.datasets import PAGES, SPLITS, build, store_of, verified
from wikitext_builder.dataset.load import load, read_plain_articles
from wikitext_builder.dataset.manifest import CARD, CROISSANT

PAGE = PAGES[0].wikitext + "[[Category:Rivers]] [[Category:Towns]]"
BOTH = [replace(PAGES[0], timestamp="2023-06-07T01:00:00Z", wikitext=PAGE), *PAGES[1:]]
COLUMNS = ("title", "page_id", "timestamp", "categories", "quality")


@pytest.fixture(scope="module")
def dataset(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("croissant")
    build("demo", store_of(folder / "pages.store", BOTH), folder / "demo", articles=True)
    return folder / "demo"


def described(dataset: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((dataset / CROISSANT).read_text("utf-8"))
    return found


def test_it_says_what_manifest_card_and_citation_say(dataset: Path) -> None:
    verified(dataset)
    found, manifest = described(dataset), load(dataset).manifest
    assert manifest
    articles = sum(split.articles for split in manifest.splits.values())
    files = [one for one in found["distribution"] if one["@type"] == "cr:FileObject"]
    assert {one["contentUrl"]: (one["sha256"], one["contentSize"]) for one in files} == {
        name: (entry.sha256, f"{entry.bytes} B")
        for name, entry in manifest.files.items()
        if name not in (CARD, CROISSANT)
    }
    assert CROISSANT in manifest.files
    assert found["license"] == [
        "https://creativecommons.org/licenses/by-sa/3.0/",
        "https://creativecommons.org/licenses/by-sa/4.0/",
        "https://www.gnu.org/licenses/fdl-1.3.html",
    ]
    assert entries(found["citeAs"]) == {
        f"wikitext-demo-{manifest.source[:8]}": {
            "title": f"{{wikitext-demo}}: {articles} articles of the en Wikipedia",
            "author": "{Wikipedia contributors}",
            "year": "2023",
            "note": found["citeAs"].partition("note   = {")[2].removesuffix("}\n}"),
        }
    }
    assert f"source:{manifest.source[:8]}" in found["citeAs"]
    assert found["url"] == "https://en.wikipedia.org/"
    assert found["datePublished"] == "2023-06-07"
    assert found["temporalCoverage"] == "2016-01-01/2023-06-07"
    assert found["version"] == f"1.0.0+{manifest.source[:8]}"


def test_a_test_set_has_one_split(tmp_path: Path) -> None:
    build("live", store_of(tmp_path / "pages.store", PAGES), tmp_path / "live", test_words=700)
    assert [row["splits/name"] for row in described(tmp_path / "live")["recordSet"][0]["data"]] == ["test"]


@pytest.mark.slow
def test_mlcroissant_accepts_it_and_reads_the_texts(dataset: Path) -> None:
    mlcroissant = pytest.importorskip("mlcroissant", reason="needs the package mlcroissant")
    program = "from mlcroissant.scripts.cli import main; main()"
    words = [sys.executable, "-c", program, "validate", "--jsonld", str(dataset / CROISSANT)]
    said = subprocess.run(words, capture_output=True, text=True, check=False)
    assert said.returncode == 0, said.stderr
    read = mlcroissant.Dataset(dataset / CROISSANT)
    assert not read.metadata.issues.errors
    assert not read.metadata.issues.warnings

    def rows(name: str, *columns: str) -> list[list[Any]]:
        return sorted(
            [_plain(row[f"{name}/{column}"]) for column in ("split", *columns)] for row in read.records(name)
        )

    name = read.metadata.name
    for kind, config in (("tokens", f"{name}-v1"), ("raw", f"{name}-raw-v1")):
        texts = {split: (dataset / f"wiki.{split}.{kind}").read_text("utf-8") for split in SPLITS}
        assert rows(f"{config}-text", "content") == sorted([split, text] for split, text in texts.items())
        lines = [
            [split, text]
            for split in SPLITS
            for text in pq.read_table(dataset / f"parquet/{kind}/{split}-00000-of-00001.parquet")["text"]
            .to_pandas()
            .tolist()
        ]
        assert rows(config, "text") == sorted(lines)
    articles = [
        _plain([split, *(getattr(one, column) for column in COLUMNS), [part.text for part in one.sections]])
        for split in SPLITS
        for one in read_plain_articles(dataset, split)
    ]
    found = rows(f"{name}-articles-v1", *COLUMNS, "sections")
    for row in found:
        row[-1] = [part[f"{name}-articles-v1/sections/text"] for part in row[-1]]
    assert found == sorted(articles)


def _plain(value: Any) -> Any:
    """Text for bytes, which mlcroissant gives."""
    if isinstance(value, dict):
        return {key: _plain(one) for key, one in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(one) for one in value]
    return value.decode() if isinstance(value, bytes) else value
