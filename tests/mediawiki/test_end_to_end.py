"""Real pages of April 2016 in a real MediaWiki: fetched and built, they give the same as their dump."""

import json
import shutil
from collections import Counter
from pathlib import Path

import pytest

from tests.command import done
from tests.conftest import data
from tests.mediawiki.wiki import Wiki
from tests.wikitext_builder.datasets import articles
from wikitext_builder.dumps.xml_dump import read_pages

pytestmark = pytest.mark.slow

FOLDER = "pages"


@pytest.fixture(scope="module")
def april() -> Path:
    """The dump of 62 pages of WikiText's own time."""
    return data(f"{FOLDER}/pages-2016-04.xml.bz2")


@pytest.fixture(scope="module")
def fetched(real: Wiki, april: Path, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, list[str]]:
    """The store of a fetch without expansion, and the arguments of that fetch without its store."""
    folder = tmp_path_factory.mktemp("fetched")
    titles = "".join(f"{page.content.title}\n" for page in read_pages(april))
    (folder / "titles.txt").write_text(titles, encoding="utf-8")
    given = ["fetch", "--api", real.api, "--select", f"titles:{folder / 'titles.txt'}"]
    report = json.loads(done(*given, "--no-expand", "--json", "--store", folder / "pages.store"))["fetch"]
    assert (report["fetched"], report["rejected"]) == (56, {"disambiguation": 4, "list": 2})
    return folder / "pages.store", given


def built(store: Path, out: Path, *options: object) -> Path:
    done("build", "demo", "--store", store, "--out", out, "--workers", 1, *options)
    return out


@pytest.fixture(scope="module")
def whole(fetched: tuple[Path, list[str]], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The dataset of what was fetched."""
    return built(fetched[0], tmp_path_factory.mktemp("whole") / "out")


def left_out(dataset: Path) -> Counter[str]:
    rows = [line.split("\t") for line in (dataset / "left_out.tsv").read_text("utf-8").splitlines()[1:]]
    return Counter({row[1]: int(row[0]) for row in rows})


def test_the_wiki_and_the_dump_give_the_same_lines(whole: Path, april: Path, tmp_path: Path) -> None:
    done("import", "--all", april, "--store", tmp_path / "imported.store")
    by_fetch = articles(whole)
    by_import = articles(built(tmp_path / "imported.store", tmp_path / "by import"))
    assert by_fetch.keys() == by_import.keys()
    assert len(by_fetch) == 56
    assert [title for title in by_fetch if by_fetch[title] != by_import[title]] == []


def test_the_wiki_expands_what_macros_do_not_know(
    fetched: tuple[Path, list[str]], whole: Path, tmp_path: Path
) -> None:
    store, given = fetched
    before = left_out(whole)
    shutil.copy(store, tmp_path / "expanded.store")
    target = ("--store", tmp_path / "expanded.store", "--json")
    report = json.loads(done(*given, *target))["expand"]
    assert report["pages"] == 56, "each is looked at, though our macros may know all their calls"
    after = left_out(built(tmp_path / "expanded.store", tmp_path / "with"))
    assert after <= before
    assert before.total() - after.total() == report["expanded"]
    assert json.loads(done(*given, *target))["expand"]["expanded"] == 0, "the second time nothing is asked"
