"""The build: the same input gives the same bytes, whatever happens meanwhile."""

import contextlib
import json
import os
import random
import re
import shutil
import signal
import sys
import time
import zipfile
from collections.abc import Callable
from dataclasses import replace
from itertools import count
from pathlib import Path
from typing import Any

import pytest

import wikitext_builder as wb
from tests.command import done, environment, forked, python
from tests.dumps import numbered_page
from tests.wikitext_builder.datasets import (
    LATER,
    PAGES,
    SPLITS,
    built,
    digests,
    faults,
    page,
    plan_of,
    sizes,
    store_of,
    verified,
)
from wikitext_builder.article import Page
from wikitext_builder.building.build import carry_out
from wikitext_builder.dataset.manifest import read_articles
from wikitext_builder.dataset.recipes import RECIPES
from wikitext_builder.errors import BuilderError
from wikitext_builder.extraction.page import extract
from wikitext_builder.files import ROOMS_NOT_HASHED, code_hash
from wikitext_builder.processes import ProcessPool, Serial
from wikitext_builder.progress import Progress
from wikitext_builder.store.reading import StoredTemplates
from wikitext_builder.store.store import Store

DEMO = RECIPES["demo"]


def test_a_dataset_is_what_it_says(small: Path) -> None:
    out = small / "demo"
    verified(out)
    assert sizes(out) == {"train": 94, "valid": 3, "test": 3}
    text = (out / "wiki.train.tokens").read_text()
    assert " 5 kilometres ( 3 @.@ 1 mi ) " in text
    assert " north @-@ east " in text
    assert "References" not in text
    rows = [line.split("\t") for line in (out / "attribution.tsv").read_text().splitlines()]
    assert rows[0] == ["split", "title", "page_id", "revision_id", "timestamp", "url"]
    assert sorted(int(row[2]) for row in rows[1:]) == [one.page_id for one in PAGES]
    assert all(row[5] == f"https://en.wikipedia.org/w/index.php?oldid={row[3]}" for row in rows[1:])
    assert not list(small.glob(".*"))


@pytest.mark.parametrize(
    ("workers", "changes", "umask"),
    [
        (1, {"PYTHONHASHSEED": "1", "LC_ALL": "POSIX", "PYTHONUTF8": "0", "TZ": "Asia/Kathmandu"}, 0o077),
        (2, {"PYTHONHASHSEED": "random", "LC_ALL": "tr_TR.UTF-8", "TZ": "America/St_Johns"}, 0o002),
    ],
)
def test_neither_machine_nor_order_decides_the_bytes(
    small: Path, tmp_path: Path, workers: int, changes: dict[str, str], umask: int
) -> None:
    with Store.create(tmp_path / "pages.store") as store:
        for one in random.Random(workers).sample(PAGES, len(PAGES)):
            store.add("en", [one], origin="one by one")
    given = ("build", "demo", "--store", "pages.store", "--out", "another name", "--workers", workers)
    done(*given, cwd=tmp_path, env=environment(**changes), umask=umask)
    assert digests(tmp_path / "another name") == digests(small / "demo")
    modes = {path.stat().st_mode & 0o777 for path in (tmp_path / "another name").rglob("*") if path.is_file()}
    assert modes == {0o666 & ~umask}


def test_what_a_store_holds_besides_does_not_matter(tmp_path: Path) -> None:
    """The pages of a lock file give the same bytes in every store."""
    call = "{{known to the wiki}}"
    pages = [replace(one, wikitext=f"{one.wikitext}\n\n{call} is it.") for one in PAGES[:12]]
    store, other = store_of(tmp_path / "a.store", pages), store_of(tmp_path / "b.store", PAGES[50:])
    plan = plan_of(store, tmp_path / "a")
    for path in (store, other):
        with Store.create(path) as opened:
            opened.add("en", pages, origin="test")
            opened.add_expansions("en", pages[0].revision_id, {call: "Here"})
    with Store.create(other) as opened:
        opened.add_expansions("en", PAGES[60].revision_id, {call: "There"}, {"{{other}}": "error"})
        opened.add_expansions("en", pages[1].revision_id, {}, {call: "error"})
    manifest = carry_out(plan).manifest
    assert carry_out(replace(plan, store=other, out=tmp_path / "b")).manifest == manifest
    assert digests(tmp_path / "a") == digests(tmp_path / "b")
    with Store.create(other) as opened:
        opened.add_expansions("en", pages[1].revision_id, {call: "Now"})
    assert carry_out(replace(plan, store=other, out=tmp_path / "c")).manifest.source != manifest.source


def test_seed_and_size_decide_the_split(small: Path, tmp_path: Path) -> None:
    """Valid and test of a smaller dataset are those of the larger one."""
    store, out = small / "pages.store", small / "demo"
    built(store, tmp_path / "seed", recipe=replace(DEMO, seed="another"))
    assert digests(tmp_path / "seed")["wiki.test.raw"] != digests(out)["wiki.test.raw"]
    built(store, tmp_path / "few", recipe=replace(DEMO, train_articles=20))
    for name in ("wiki.valid.raw", "wiki.test.raw"):
        assert (tmp_path / "few" / name).read_bytes() == (out / name).read_bytes()
    train = [list(read_articles(folder / "wiki.train.raw")) for folder in (tmp_path / "few", out)]
    assert train[0] == train[1][:20]


# --- faults


def at_report(number: int, action: Callable[[], object]) -> Progress:
    """A progress that does something at one of its reports: of 10, some in each stage."""
    numbers = count(1)

    def progress(stage: str, done: int, total: int | None, note: str = "") -> None:
        if next(numbers) == number:
            action()

    return progress


def die() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def children() -> set[str]:
    """The processes that this one started."""
    return set(Path(f"/proc/{os.getpid()}/task/{os.getpid()}/children").read_text().split())


def killed(store: Path, out: Path, report: int, *, cwd: Path | None = None) -> None:
    """A build in a process of its own that is killed at a report of its progress."""
    plan = plan_of(store, out)
    end = forked(lambda: carry_out(plan, at_report(report, die)), cwd or out.parent)
    assert end.returncode == -signal.SIGKILL, end.stderr


def test_what_else_lies_in_the_working_folder_stays_and_leftovers_of_another_build_are_not_used(
    small: Path, tmp_path: Path
) -> None:
    work, store, out = tmp_path / ".out.partial", small / "pages.store", tmp_path / "out"
    killed(store, out, 2)
    (work / "photos").mkdir()
    others = (work / "notes", work / "photos" / "shards")
    for path in others:
        path.write_text("dear")
    report = built(store, out, recipe=replace(DEMO, sections="clean"))
    assert (report.shards_found, report.manifest.recipe.sections) == (0, "clean")
    assert digests(out) != digests(small / "demo")
    shutil.rmtree(out)
    built(store, out)
    assert digests(out) == digests(small / "demo")
    assert {path.name for path in work.iterdir()} == {"notes", "photos"}
    assert [path.read_text() for path in others] == ["dear", "dear"]


def test_a_dataset_says_its_licences(tmp_path: Path) -> None:
    dates = {True: "2023-06-06T23:59:59Z", False: "2023-06-07T00:00:00Z"}
    pages = [replace(one, timestamp=dates[number % 2 == 0]) for number, one in enumerate(PAGES)]
    for name, some, versions in (("both", pages, ["3.0", "4.0"]), ("old", PAGES, ["3.0"])):
        out = tmp_path / name
        built(store_of(tmp_path / f"{name}.store", some), out)
        text, card = ((out / file).read_text() for file in ("LICENSE", "README.md"))
        assert re.findall(r"creativecommons\.org/licenses/by-sa/([0-9.]+)/", text) == versions
        assert re.findall(r"- cc-by-sa-([0-9.]+)\n", card) == versions


def test_titles_do_not_become_rare_words(small: Path, tmp_path: Path) -> None:
    with pytest.raises(BuilderError, match="--min-count: 100000; train has `=` less often"):
        built(small / "pages.store", tmp_path / "out", recipe=replace(DEMO, min_count=100_000))


def test_a_damaged_shard_is_named(small: Path, tmp_path: Path) -> None:
    killed(small / "pages.store", tmp_path / "out", 4)
    shards = {path: path.read_bytes()[:-3] for path in (tmp_path / ".out.partial").glob("*/shards/*")}
    assert shards
    for start in (b"", b"{}\n", b'{"pages": "all"}\n', b"[[[\n"):
        for path, content in shards.items():
            path.write_bytes(start + content)
        with pytest.raises(BuilderError, match=r"damaged \(.*; remove the folder .*shards and build again"):
            built(small / "pages.store", tmp_path / "out")
    shutil.rmtree(next((tmp_path / ".out.partial").glob("*/shards")))
    built(small / "pages.store", tmp_path / "out")
    assert digests(tmp_path / "out") == digests(small / "demo")


def test_other_code_is_another_dataset(small: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    store, out = small / "pages.store", tmp_path / "out"
    versions = built(store, out).manifest.versions
    assert {*versions} == {"code", "pyarrow", "regex", "sacremoses", "wikitext-builder"}  # not Unicode
    code = versions["code"]
    assert code == code_hash()
    assert f"(code `{code}`" in (out / "README.md").read_text()
    monkeypatch.setattr("wikitext_builder.building.plan.code_hash", lambda: "f" * 64)
    with pytest.raises(BuilderError, match="another dataset, of other options, pages, templates or code"):
        built(store, out)


def test_all_that_a_build_imports_is_part_of_its_code() -> None:
    imports = "wikitext_builder.building.build, wikitext_builder.extraction.page"
    modules = python(f"import sys, {imports}; print(*sys.modules)").stdout.split()
    rooms = {name.split(".")[1] for name in modules if name.startswith("wikitext_builder.")}
    assert {"building", "extraction", "tokens"} <= rooms
    assert not rooms & {*ROOMS_NOT_HASHED}


@pytest.mark.parametrize("report", [1, 4, 5, 7, 10])
def test_a_killed_build_leaves_no_dataset_and_is_finished_from_another_folder(
    small: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, report: int
) -> None:
    killed(small / "pages.store", Path("in/out"), report, cwd=tmp_path)
    assert not (tmp_path / "in" / "out").exists()
    (tmp_path / "in").rename(tmp_path / "moved")
    monkeypatch.chdir(tmp_path / "moved")
    assert built(small / "pages.store", Path("out")).shards_found >= 1
    assert digests(tmp_path / "moved" / "out") == digests(small / "demo")


def is_running(pid: str) -> bool:
    with contextlib.suppress(FileNotFoundError, ProcessLookupError):
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    return False


def test_workers_end_when_the_build_is_killed(small: Path, tmp_path: Path) -> None:
    def build() -> None:
        def report() -> None:
            sys.stdout.write(" ".join(children()))
            sys.stdout.flush()
            die()  # not its group: its workers must end by themselves

        with ProcessPool(2) as runner:
            built(small / "pages.store", tmp_path / "out", runner=runner, progress=at_report(1, report))

    workers = forked(build, tmp_path).stdout.split()
    assert len(workers) >= 2
    deadline = time.monotonic() + 30
    while any(is_running(worker) for worker in workers):
        assert time.monotonic() < deadline
        time.sleep(0.1)


def test_a_killed_worker_does_no_harm(small: Path, tmp_path: Path) -> None:
    before, dead = children(), set[str]()

    def kill_one() -> None:
        started = [Path(f"/proc/{pid}/cmdline") for pid in children() - before]
        workers = [path.parent.name for path in started if b"spawn_main" in path.read_bytes()]
        os.kill(int(workers[0]), signal.SIGKILL)
        dead.add(workers[0])

    with ProcessPool(2) as runner:
        built(small / "pages.store", tmp_path / "out", runner=runner, progress=at_report(1, kill_one))
    assert dead
    assert digests(tmp_path / "out") == digests(small / "demo")


def test_pages_that_cannot_be_used_are_written_out_and_replaced(
    small: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    victims = {article[1] for article in read_articles(small / "demo" / "wiki.test.raw")}

    def broken(one: Page, **options: Any) -> object:
        if f"= {one.title} =" in victims:
            raise ZeroDivisionError("a bug")
        return extract(one, **options)

    monkeypatch.setattr("wikitext_builder.building.extracting.extract", broken)
    out, empty = tmp_path / "out", replace(page(200), wikitext="{{stub}}\n== References ==")
    report = built(store_of(tmp_path / "pages.store", [*PAGES, empty]), out)
    assert report.rejected == {"extraction-failed": 3, "no-text": 1}
    rejected = [json.loads(line) for line in (out / "rejected.jsonl").read_text().splitlines()]
    assert {f"= {one['title']} =" for one in rejected} == victims | {"= Title 200 ="}
    assert "ZeroDivisionError: a bug" in rejected[0]["detail"]
    assert sizes(out) == {"train": 91, "valid": 3, "test": 3}
    assert not faults(out)


def test_memory_that_runs_out_rejects_no_page(
    small: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    left = iter([None] * 20)

    def hungry(one: Page, **options: Any) -> object:
        if next(left, one):
            raise MemoryError
        return extract(one, **options)

    with monkeypatch.context() as patch:
        patch.setattr("wikitext_builder.building.extracting.extract", hungry)
        with pytest.raises(MemoryError):
            built(small / "pages.store", tmp_path / "out")
    assert not (tmp_path / "out").exists()
    built(small / "pages.store", tmp_path / "out")
    assert digests(tmp_path / "out") == digests(small / "demo")


def test_what_is_built_is_not_built_again_and_nothing_else_is_overwritten(
    small: Path, tmp_path: Path
) -> None:
    store, out, mine = small / "pages.store", small / "demo", tmp_path / "mine"
    before = digests(out)
    assert built(store, out).already_built
    mine.mkdir()
    for thesis in (mine / "thesis.txt", tmp_path / "file"):
        thesis.write_text("years of work")
    cases = {
        out: "another dataset",
        mine: "not a dataset of ours",
        tmp_path / "file": "not a dataset of ours",
    }
    for path, words in cases.items():
        with pytest.raises(BuilderError, match=words):
            built(store, path, recipe=replace(DEMO, min_count=3))
    assert digests(out) == before
    assert (mine / "thesis.txt").read_text() == (tmp_path / "file").read_text() == "years of work"


# --- exports


def test_the_archives_hold_the_files_in_the_original_layout(small: Path) -> None:
    out = small / "demo"
    for folder, kind in (("wikitext-demo", "tokens"), ("wikitext-demo-raw", "raw")):
        with zipfile.ZipFile(out / f"{folder}-v1.zip") as opened:
            texts = [f"{folder}/wiki.{split}.{kind}" for split in SPLITS]
            assert opened.namelist() == [*texts, f"{folder}/attribution.tsv", f"{folder}/LICENSE"]
            for name in opened.namelist():
                assert opened.read(name) == (out / Path(name).name).read_bytes()


def test_the_datasets_library_reads_a_dataset(
    small: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    from datasets import get_dataset_config_names, load_dataset

    out = str(small / "demo")
    assert get_dataset_config_names(out) == ["wikitext-demo-v1", "wikitext-demo-raw-v1"]
    for config, kind in ((None, "tokens"), ("wikitext-demo-raw-v1", "raw")):
        loaded = load_dataset(out, config, cache_dir=str(tmp_path))
        assert set(loaded) == {"train", "validation", "test"}
        for split, name in zip(loaded, SPLITS, strict=True):
            lines = Path(out, f"wiki.{name}.{kind}").read_text().split("\n")[:-1]
            assert loaded[split]["text"] == [f"{line}\n" if line != " " else "" for line in lines]
    wb.build("demo", small / "pages.store", tmp_path / "two", valid_articles=0, workers=1)
    loaded = load_dataset(str(tmp_path / "two"), cache_dir=str(tmp_path))
    assert set(loaded) == {"train", "test"}  # it refuses a dataset that names an empty split


# --- templates of dumps

TEMPLATES = {
    "Leagues": "{{#expr:{{{1}}}*3}} {{unit|{{{1}}}}}",
    "Unit": "{{#ifexpr:{{{1}}}=1|league|leagues}}",
    "Price": "{{#invoke:Price|main}}",
}


def with_templates(path: Path, **texts: str) -> Path:
    """A store whose pages call templates that no macro knows, and some of these templates."""
    calls = "{{leagues|2}} ({{price|3}}, {{nowhere}})"
    store_of(path, [replace(one, wikitext=f"It is {calls} away. {one.wikitext}") for one in PAGES[:40]])
    for number, (name, text) in enumerate(texts.items(), 1):
        add_template(path, name, number, f"201{number}-01-01T00:00:00Z", text)
    return path


def add_template(store: Path, name: str, revision: int, timestamp: str, text: str) -> None:
    with Store.create(store) as opened:
        StoredTemplates(opened).add([(name, numbered_page(revision, text, name, timestamp=timestamp))])


def test_templates_of_the_store_fill_calls_and_reasons_are_counted(tmp_path: Path) -> None:
    store = with_templates(tmp_path / "a.store", **TEMPLATES)
    report = built(store, tmp_path / "out")
    assert report.left_out == {"Price": 40, "Nowhere": 40}
    assert report.left_out_reasons == {"lua": 40, "no-template": 40}
    assert report.expanded == 40
    text = (tmp_path / "out" / "wiki.train.raw").read_text()
    assert text.count("It is 6 leagues away") == 34
    rows = (tmp_path / "out" / "left_out.tsv").read_text().splitlines()
    assert rows[0].endswith("\twent\twords")
    assert [row.split("\t")[-2:] for row in rows[1:]] == [["clause 40", "0"], ["clause 40", "0"]]
    # those after the date are not used: Unit and Price are of later years
    dated = built(store, tmp_path / "dated", as_of="2011-06-01T00:00:00Z")
    assert dated.left_out_reasons == {"no-template": 120}


def test_another_text_of_a_template_is_another_dataset(tmp_path: Path) -> None:
    store = with_templates(tmp_path / "a.store", **TEMPLATES)
    built(store, tmp_path / "out")
    with ProcessPool(2) as runner:  # they give the same bytes
        built(store, tmp_path / "two", runner=runner)
    assert digests(tmp_path / "out") == digests(tmp_path / "two")
    add_template(store, "Unit", 9, LATER, "miles")
    with pytest.raises(BuilderError, match="holds another dataset"):
        built(store, tmp_path / "out")
    assert built(store, tmp_path / "out", as_of="2019-01-01T00:00:00Z").already_built


def test_templates_that_come_during_a_build_do_not_get_into_half_of_it(tmp_path: Path) -> None:
    store = with_templates(tmp_path / "a.store", **TEMPLATES)

    class Beside(Serial):
        def map(self, function, tasks, *shared):
            for task in tasks:
                yield function(task, *shared)
                add_template(store, "Unit", 9, LATER, "miles")

    with pytest.raises(BuilderError, match="another program changed its templates"):
        built(store, tmp_path / "out", runner=Beside())
    assert not (tmp_path / "out").exists()
    built(store, tmp_path / "out")
    assert "6 miles away" in (tmp_path / "out" / "wiki.train.raw").read_text()
    assert "leagues" not in (tmp_path / "out" / "wiki.train.raw").read_text()
