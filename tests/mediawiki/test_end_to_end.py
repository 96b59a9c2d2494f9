"""Real pages of April 2016 in a real MediaWiki: fetched and built, they give the same as their dump."""

import json
from collections import Counter
from pathlib import Path

import pytest

from tests.command import done
from tests.conftest import data
from tests.mediawiki.wiki import Wiki
from tests.wikitext_builder.datasets import articles
from wikitext_builder.dumps.xml_dump import read_pages

pytestmark = pytest.mark.slow


def built(store: Path, out: Path) -> Path:
    done("build", "demo", "--store", store, "--out", out, "--workers", 1)
    return out


def left_out(dataset: Path) -> Counter[str]:
    rows = [line.split("\t") for line in (dataset / "left_out.tsv").read_text("utf-8").splitlines()[1:]]
    return Counter({row[1]: int(row[0]) for row in rows})


def test_the_wiki_and_the_dump_give_the_same_lines_and_the_wiki_expands_the_rest(
    real: Wiki, tmp_path: Path
) -> None:
    april = data("pages/pages-2016-04.xml.bz2")  # 62 pages of WikiText's own time
    titles = "".join(f"{page.content.title}\n" for page in read_pages(april))
    (tmp_path / "titles.txt").write_text(titles, encoding="utf-8")
    store, imported = tmp_path / "pages.store", tmp_path / "imported.store"
    words = ("fetch", "--api", real.api, "--select", f"titles:{tmp_path / 'titles.txt'}", "--json")
    report = json.loads(done(*words, "--no-expand", "--store", store))["fetch"]
    assert (report["fetched"], report["rejected"]) == (56, {"disambiguation": 4, "list": 2})
    done("import", "--all", april, "--store", imported)
    by_fetch = articles(whole := built(store, tmp_path / "whole"))
    by_import = articles(built(imported, tmp_path / "by import"))
    assert by_fetch.keys() == by_import.keys()
    assert len(by_fetch) == 56
    assert [title for title in by_fetch if by_fetch[title] != by_import[title]] == []

    report = json.loads(done(*words, "--store", store))["expand"]
    assert report["pages"] == 56, "each is looked at, though our macros may know all their calls"
    before, after = left_out(whole), left_out(built(store, tmp_path / "with"))
    assert after <= before
    assert before.total() - after.total() == report["expanded"]
    again = json.loads(done(*words, "--store", store))["expand"]
    assert again["expanded"] == 0, "the second time nothing is asked"
