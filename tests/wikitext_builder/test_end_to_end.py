"""The whole way on real input: from a dump or a wiki to a dataset, on the real command line."""

import json
import random
import re
import time
from dataclasses import replace
from pathlib import Path

import pytest

from tests.cases import each
from tests.command import done, environment, kill, run, start
from tests.conftest import data
from tests.wikitext_builder.building.test_build import digests
from wikitext_builder.article import Page
from wikitext_builder.dataset.manifest import read_articles
from wikitext_builder.pages.store import Store
from wikitext_builder.sample import SAMPLE_DUMP

RESIDUE = re.compile(
    r"\{\{|\}\}|\[\[|\]\]|\||''|</?(?:ref|span|div|br|sup|sub|small|nowiki|gallery|math)\b|&[a-z]+;|&#"
    r"|\( \)|\( [,;]|, ,|, \."  # what dropped templates leave; the official files have none of it
)
REMOVED = {"References", "See also", "External links", "Further reading", "Notes", "Bibliography"}


def articles(dataset: Path, kind: str = "raw") -> dict[str, tuple[str, ...]]:
    """The lines of each article by its tokenized title."""
    paths = sorted(dataset.glob(f"wiki.*.{kind}"))
    found = [article for path in paths for article in read_articles(path)]
    by_title = {article[1].removeprefix("= ").removesuffix(" ="): article for article in found}
    assert len(by_title) == len(found)
    return by_title


def verified(dataset: Path) -> None:
    """Every check of a dataset that was built here is made, and passes."""
    checks = json.loads(done("verify", dataset, "--json"))
    assert checks
    assert not [check for check in checks if check["passed"] is not True]


@pytest.fixture(scope="module")
def sample(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the store of the bundled sample and the dataset that the demo builds of it."""
    folder = tmp_path_factory.mktemp("sample")
    done("import", SAMPLE_DUMP, "--store", folder / "pages.store")
    done("build", "demo", "--store", folder / "pages.store", "--out", folder / "demo", "--workers", 1)
    return folder


def test_the_sample_becomes_a_dataset_that_is_what_it_says(sample: Path) -> None:
    verified(sample / "demo")
    assert len(articles(sample / "demo")) == 28
    assert (sample / "demo" / "rejected.jsonl").read_bytes() == b""


def test_no_markup_is_left_in_the_text_of_the_sample(sample: Path) -> None:
    lines = [line for article in articles(sample / "demo").values() for line in article]
    assert not [line for line in lines if RESIDUE.search(line.replace("<formula>", ""))]
    headings = {line.strip("= ") for line in lines if line.startswith("= =")}
    assert headings
    assert not headings & REMOVED


@each("commands", "sentence, title", "sentences of the sample")
def test_a_reader_finds_the_sentences_of_the_sample(sample: Path, sentence: str, title: str) -> None:
    """A build that drops or garbles templates does not give them."""
    assert sentence in "\n".join(articles(sample / "demo")[title.replace("-", " @-@ ")])


# --- the same bytes


@pytest.fixture(scope="module")
def swollen(sample: Path) -> tuple[list[Page], dict[str, str]]:
    """Pages for three shards, so that workers have work, and the digests of what one worker makes."""
    with Store.open(sample / "pages.store") as store:
        pages = list(store.pages("en", [one.revision_id for one in store.revisions("en")]))
    pages += [
        replace(
            page,
            page_id=page.page_id + more,
            revision_id=page.revision_id + more,
            title=f"{page.title} {more}",
        )
        for more in (1000, 2000)
        for page in pages
    ]
    with Store.create(sample / "swollen.store") as store:
        store.add("en", pages, origin="sample")
    out = sample / "swollen"
    done("build", "demo", "--store", sample / "swollen.store", "--out", out, "--workers", 1, cwd="/")
    return pages, digests(out)


@pytest.mark.parametrize(
    ("workers", "changes", "umask"),
    [
        pytest.param(1, {"PYTHONHASHSEED": "1", "LC_ALL": "C", "TZ": "Asia/Kathmandu"}, 0o077, id="one"),
        pytest.param(
            2,
            {"PYTHONHASHSEED": "2", "LC_ALL": "tr_TR.UTF-8", "TZ": "America/St_Johns"},
            0o002,
            marks=pytest.mark.slow,
            id="two",
        ),
        pytest.param(4, {"PYTHONHASHSEED": "random", "LC_ALL": "POSIX", "PYTHONUTF8": "0"}, 0o022, id="four"),
    ],
)
def test_neither_machine_nor_order_decides_the_bytes(
    swollen: tuple[list[Page], dict[str, str]],
    tmp_path: Path,
    workers: int,
    changes: dict[str, str],
    umask: int,
) -> None:
    pages, expected = swollen
    shuffled = random.Random(workers).sample(pages, len(pages))
    with Store.create(tmp_path / "pages.store") as store:
        for page in shuffled:
            store.add("en", [page], origin="one by one")
    given = ("build", "demo", "--store", "pages.store", "--out", "another name", "--workers", workers)
    done(*given, cwd=tmp_path, env=environment(**changes), umask=umask)
    assert digests(tmp_path / "another name") == expected


def test_a_lock_brings_the_same_dataset_from_a_store_with_other_pages(sample: Path, tmp_path: Path) -> None:
    lock = tmp_path / "titles.lock"
    lock.write_text(done("lock", "--store", sample / "pages.store"), encoding="utf-8")
    with Store.open(sample / "pages.store") as store:
        pages = list(store.pages("en", [one.revision_id for one in store.revisions("en")]))
    newer = [replace(one, revision_id=one.revision_id + 10**9, timestamp="2026-01-01T00:00:00Z",
                     wikitext="Quite '''another''' text.") for one in pages[:9]]  # fmt: skip
    extra = [replace(one, page_id=one.page_id + 5000, revision_id=one.revision_id + 5000,
                     title=f"{one.title} again") for one in pages]  # fmt: skip
    with Store.create(tmp_path / "other.store") as store:
        store.add("en", [*newer, *extra, *reversed(pages)], origin="elsewhere")
    given = ("build", "demo", "--store", tmp_path / "other.store", "--workers", 1)
    done(*given, "--out", tmp_path / "locked", "--lock", lock)
    assert digests(tmp_path / "locked") == digests(sample / "demo")
    done(*given, "--out", tmp_path / "newest")
    assert digests(tmp_path / "newest") != digests(sample / "demo")


# --- the official files


def test_the_official_wikitext_2_is_verified_and_counted() -> None:
    directory = data("wikitext-2")
    checks = json.loads(done("verify", directory, "--json"))
    assert not [check for check in checks if check["passed"] is False]
    assert [check["found"] for check in checks if check["name"] == "vocabulary"] == ["33,278 types"]
    table = {row["split"]: row for row in json.loads(done("stats", directory, "--json"))}
    # Table 1 of the paper
    assert [table[name]["tokens"] for name in ("train", "valid", "test")] == [2_088_628, 217_646, 245_569]
    assert [table[name]["articles"] for name in ("train", "valid", "test")] == [600, 60, 60]


# --- the real pages


@pytest.fixture(scope="module")
def imported(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A store with all articles among the 1,049 shared pages."""
    dumps = sorted(data("pages").glob("pages-*.xml.bz2"))
    store = tmp_path_factory.mktemp("real") / "pages.store"
    done("import", "--all", "--store", store, *dumps)
    return store


def memory_of_tree(pid: int) -> int:
    """Bytes that a process and its descendants hold, shared pages counted once."""
    found, total = [pid], 0
    for one in found:
        try:
            found += [int(child) for child in Path(f"/proc/{one}/task/{one}/children").read_text().split()]
            lines = Path(f"/proc/{one}/smaps_rollup").read_text().splitlines()
        except OSError:  # it has ended meanwhile
            continue
        total += 1024 * sum(int(line.split()[1]) for line in lines if line.startswith("Pss:"))
    return total


@pytest.mark.slow
def test_all_shared_pages_are_built_with_two_workers(imported: Path, tmp_path: Path) -> None:
    process = start("build", "wikitext-103", "--store", imported, "--out", tmp_path / "out", "--workers", 2)
    peak = 0
    while process.poll() is None:
        peak = max(peak, memory_of_tree(process.pid))
        time.sleep(0.2)
    assert process.stderr is not None
    assert process.returncode == 0, process.stderr.read()
    verified(tmp_path / "out")
    assert peak < 800 * 2**20
    lines = [line for article in articles(tmp_path / "out").values() for line in article]
    tags = [line for line in lines if re.search(r"\{\{|\[\[|<ref\b", line)]
    assert len(tags) <= len(lines) // 10_000, tags[:20]  # an article about markup may contain it


@pytest.mark.slow
@pytest.mark.parametrize("stages", [1, 2, 3])
def test_a_build_of_real_pages_that_is_killed_resumes(imported: Path, tmp_path: Path, stages: int) -> None:
    recipe = ("build", "wikitext-2", "--store", imported, "--train-articles", 80, "--workers", 2)
    process = start(*recipe, "--out", tmp_path / "killed")
    assert process.stderr is not None
    begun: set[str] = set()
    while len(begun) < stages:
        begun.add(process.stderr.readline().partition(":")[0])
    kill(process)
    assert not (tmp_path / "killed").exists()
    assert "shards are there already" in run(*recipe, "--out", tmp_path / "killed").stderr
    done(*recipe, "--out", tmp_path / "whole")
    assert digests(tmp_path / "killed") == digests(tmp_path / "whole")
    assert not list(tmp_path.glob(".*"))
