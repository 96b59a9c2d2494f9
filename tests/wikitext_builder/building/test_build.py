"""The build: the same input gives the same bytes, whatever happens meanwhile."""

import contextlib
import hashlib
import json
import os
import random
import resource
import shutil
import signal
import subprocess
import sys
import time
import zipfile
from dataclasses import replace
from pathlib import Path

import pytest

from tests.conftest import ROOT, WITHOUT_PRIVILEGES
from wikitext_builder.article import Page
from wikitext_builder.building import shards
from wikitext_builder.building.build import BuildReport, carry_out
from wikitext_builder.building.plan import Plan
from wikitext_builder.dataset.manifest import read_articles
from wikitext_builder.dataset.recipes import RECIPES, Recipe
from wikitext_builder.dataset.verify import verify
from wikitext_builder.errors import BuilderError
from wikitext_builder.extraction.page import extract
from wikitext_builder.pages.reading import StoredTemplates
from wikitext_builder.pages.store import Store
from wikitext_builder.runners.processes import ProcessPool

RECIPE = Recipe(name="tiny", train_articles=None, valid_articles=3, test_articles=3)
WORDS = [
    "the",
    "of",
    "and",
    "a",
    "river",
    "rises",
    "{{convert|5|km}}",
    "north-east",
    "about",
    "1,234.5",
    "it's",
    "[[link|old]]",
    "''town''",
    "by",
]


def page(number: int) -> Page:
    generator = random.Random(number)
    paragraphs = [" ".join(generator.choices(WORDS, k=40)) + f" name{number % 7}." for _ in range(4)]
    body = "\n\n== History ==\n".join(["\n\n".join(paragraphs[:2]), "\n\n".join(paragraphs[2:])])
    return Page(
        title=f"Title {number}",
        page_id=number,
        revision_id=1000 + number,
        timestamp="2016-01-01T00:00:00Z",
        wikitext=f"'''Title {number}''' {body}\n\n== References ==\n{{{{reflist}}}}",
    )


PAGES = [page(number) for number in range(1, 101)]


def store_of(path: Path, pages: list[Page]) -> Path:
    with Store.create(path) as store:
        store.add("en", pages, origin="test")
    return path


def plan_of(store: Path, out: Path, *, recipe: Recipe = RECIPE, work_url: str = "") -> Plan:
    with Store.open(store) as opened:
        revisions = opened.revisions("en")
    return Plan(recipe=recipe, store=store, out=out, revisions=revisions, work_url=work_url)


def digests(directory: Path) -> dict[str, str]:
    files = sorted(path for path in directory.rglob("*") if path.is_file())
    return {str(path.relative_to(directory)): hashlib.sha256(path.read_bytes()).hexdigest() for path in files}


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path, BuildReport]:
    """A store, the dataset that one undisturbed process makes of it, and its report."""
    folder = tmp_path_factory.mktemp("built")
    store = store_of(folder / "pages.store", PAGES)
    return store, folder / "out", carry_out(plan_of(store, folder / "out"))


def test_a_dataset_is_what_it_says(built: tuple[Path, Path, BuildReport]) -> None:
    _, out, report = built
    assert not [check for check in verify(out) if not check.passed]
    assert {name: counts.articles for name, counts in report.manifest.splits.items()} == {
        "train": 94,
        "valid": 3,
        "test": 3,
    }
    text = (out / "wiki.train.tokens").read_text()
    assert " 5 kilometres ( 3 @.@ 1 mi ) " in text
    assert " north @-@ east " in text
    assert "References" not in text
    assert not list(out.parent.glob(".*"))


def test_the_number_of_workers_does_not_matter(built, tmp_path: Path) -> None:
    store, out, _ = built
    with ProcessPool(2) as runner:
        carry_out(plan_of(store, tmp_path / "out"), runner=runner)
    assert digests(tmp_path / "out") == digests(out)


def test_the_order_of_pages_does_not_matter(built, tmp_path: Path) -> None:
    shuffled = PAGES.copy()
    random.Random(1).shuffle(shuffled)
    carry_out(plan_of(store_of(tmp_path / "pages.store", shuffled), tmp_path / "out"))
    assert digests(tmp_path / "out") == digests(built[1])


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


def test_another_seed_gives_another_split(built, tmp_path: Path) -> None:
    carry_out(plan_of(built[0], tmp_path / "out", recipe=replace(RECIPE, seed="another")))
    assert digests(tmp_path / "out")["wiki.test.raw"] != digests(built[1])["wiki.test.raw"]


def test_the_small_dataset_has_the_valid_and_test_articles_of_the_large_one(built, tmp_path: Path) -> None:
    store, out, _ = built
    carry_out(plan_of(store, tmp_path / "out", recipe=replace(RECIPE, train_articles=20)))
    for name in ("wiki.valid.raw", "wiki.test.raw"):
        assert (tmp_path / "out" / name).read_bytes() == (out / name).read_bytes()
    small = list(read_articles(tmp_path / "out" / "wiki.train.raw"))
    assert small == list(read_articles(out / "wiki.train.raw"))[:20]


# --- faults

BUILD = """
import sys
import time
from itertools import count
from pathlib import Path
from tests.wikitext_builder.building.test_build import plan_of
from wikitext_builder.building.build import carry_out
from wikitext_builder.runners.processes import ProcessPool, Serial
if __name__ == "__main__":
    workers, hold, lines = int(sys.argv[3]), int(sys.argv[4]), count(1)
    def progress(stage, done, total, note=""):
        print(stage, done, flush=True)
        if next(lines) == hold:
            time.sleep(600)
    runner = ProcessPool(workers) if workers > 1 else Serial()
    carry_out(plan_of(Path(sys.argv[1]), Path(sys.argv[2])), progress, runner=runner)
"""


def started_build(
    store: Path,
    out: Path,
    tmp_path: Path,
    *,
    workers: int,
    hold: int = 0,
    before: tuple[str, ...] = (),
    **options,
) -> subprocess.Popen[str]:
    """A build in a process of its own; after line `hold` of its progress it waits to be killed."""
    script = tmp_path / "run_build.py"  # a file: spawned workers import the main module again
    script.write_text(BUILD)
    return subprocess.Popen(
        [*before, sys.executable, script, store, out, str(workers), str(hold)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        **options,
    )


@pytest.mark.parametrize("lines", [1, 3, 5, 6, 7, 10, 15, 21])  # of 22: in each of the stages
def test_a_killed_build_leaves_no_dataset_and_the_next_one_finishes_it(
    built, tmp_path: Path, lines: int
) -> None:
    store, out, _ = built
    child = started_build(store, tmp_path / "out", tmp_path, workers=1, hold=lines)
    assert child.stdout is not None
    seen = [child.stdout.readline() for _ in range(lines)]
    os.killpg(child.pid, signal.SIGKILL)
    child.wait()
    assert seen[-1]  # it was killed at work, not after
    assert not (tmp_path / "out").exists()
    assert (tmp_path / ".out.partial").exists()
    report = carry_out(plan_of(store, tmp_path / "out"))
    assert report.shards_found >= 1
    assert digests(tmp_path / "out") == digests(out)


def test_a_killed_build_is_resumed_from_another_folder(
    built, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store, out, _ = built
    child = started_build(store, Path("in/out"), tmp_path, workers=1, hold=10, cwd=tmp_path)
    assert child.stdout is not None
    assert all(child.stdout.readline() for _ in range(10))
    os.killpg(child.pid, signal.SIGKILL)
    child.wait()
    assert list((tmp_path / "in" / ".out.partial").rglob("*.batch.json"))
    (tmp_path / "in").rename(tmp_path / "moved")
    monkeypatch.chdir(tmp_path / "moved")
    assert carry_out(plan_of(store, Path("out"))).shards_found >= 1
    assert digests(tmp_path / "moved" / "out") == digests(out)


@pytest.mark.slow
@pytest.mark.parametrize("workers", [1, 2])
def test_a_build_killed_ten_times_at_random_moments_is_the_same(built, tmp_path: Path, workers: int) -> None:
    store, out, _ = built
    generator, ends = random.Random(workers), []
    for moment in (0.0, *(generator.uniform(0, 0.5) for _ in range(9))):
        shutil.rmtree(tmp_path / "out", ignore_errors=True)  # a fast machine may be done
        child = started_build(store, tmp_path / "out", tmp_path, workers=workers)
        assert child.stdout is not None
        child.stdout.readline()  # it is at work: the moments of its start are all alike
        time.sleep(moment)
        with contextlib.suppress(ProcessLookupError):  # it may be done
            os.killpg(child.pid, signal.SIGKILL)
        ends.append(child.wait())
    carry_out(plan_of(store, tmp_path / "out"))
    assert -signal.SIGKILL in ends
    assert digests(tmp_path / "out") == digests(out)


def test_workers_end_when_the_build_is_killed(built, tmp_path: Path) -> None:
    child = started_build(built[0], tmp_path / "out", tmp_path, workers=2, hold=1)
    assert child.stdout is not None
    child.stdout.readline()
    workers = Path(f"/proc/{child.pid}/task/{child.pid}/children").read_text().split()
    assert workers
    child.kill()  # not its group: its workers must end by themselves
    child.wait()
    deadline = time.monotonic() + 30
    while any(is_running(worker) for worker in workers):
        assert time.monotonic() < deadline
        time.sleep(0.1)


def is_running(pid: str) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except (FileNotFoundError, ProcessLookupError):
        return False


def test_a_killed_worker_does_no_harm(built, tmp_path: Path) -> None:
    store, out, _ = built
    child = started_build(store, tmp_path / "out", tmp_path, workers=2)
    killed = 0
    while child.poll() is None and not killed:
        workers = Path(f"/proc/{child.pid}/task/{child.pid}/children").read_text().split()
        for worker in workers:
            command = Path(f"/proc/{worker}/cmdline")
            if command.exists() and b"spawn_main" in command.read_bytes():
                time.sleep(0.4)  # it has begun to import, or to work
                os.kill(int(worker), signal.SIGKILL)
                killed += 1
                break
        time.sleep(0.01)  # the build needs the core
    _, errors = child.communicate()
    assert killed == 1
    assert child.returncode == 0, errors
    assert digests(tmp_path / "out") == digests(out)


def test_pages_that_cannot_be_used_are_written_out_and_replaced(built, tmp_path: Path, monkeypatch) -> None:
    victims = {article[1] for article in read_articles(built[1] / "wiki.test.raw")}
    real = extract

    def broken(page: Page, **options):
        if f"= {page.title} =" in victims:
            raise ZeroDivisionError("a bug")
        return real(page, **options)

    monkeypatch.setattr("wikitext_builder.building.shards.extract", broken)
    out = tmp_path / "out"
    store = store_of(
        tmp_path / "pages.store", [*PAGES, replace(page(200), wikitext="{{stub}}\n== References ==")]
    )
    report = carry_out(plan_of(store, out))
    assert report.rejected == {"extraction-failed": 3, "no-text": 1}
    rejected = [json.loads(line) for line in (out / "rejected.jsonl").read_text().splitlines()]
    assert {f"= {one['title']} =" for one in rejected} == victims | {"= Title 200 ="}
    assert "ZeroDivisionError: a bug" in rejected[0]["detail"]
    assert {name: counts.articles for name, counts in report.manifest.splits.items()} == {
        "train": 91,
        "valid": 3,
        "test": 3,
    }
    assert not [check for check in verify(out) if not check.passed]


def test_memory_that_runs_out_rejects_no_page(built, tmp_path: Path, monkeypatch) -> None:
    store, out, _ = built
    left = iter([None] * 20)
    real = extract

    def hungry(page: Page, **options):
        if next(left, page):
            raise MemoryError
        return real(page, **options)

    with monkeypatch.context() as patch:
        patch.setattr("wikitext_builder.building.shards.extract", hungry)
        with pytest.raises(MemoryError):
            carry_out(plan_of(store, tmp_path / "out"))
    assert not (tmp_path / "out").exists()
    carry_out(plan_of(store, tmp_path / "out"))
    assert digests(tmp_path / "out") == digests(out)


def test_two_builds_of_one_dataset_at_once_are_one_too_many(built, tmp_path: Path) -> None:
    plan = plan_of(built[0], tmp_path / "out")
    found: list[str] = []

    def second(stage: str, done: int, total: int | None, note: str = "") -> None:
        if not found:
            with pytest.raises(BuilderError) as error:
                carry_out(plan)
            found.append(str(error.value))

    carry_out(plan, second)
    assert "another build is running" in found[0]


def test_what_is_built_is_not_built_again_and_nothing_else_is_overwritten(built, tmp_path: Path) -> None:
    store, out, _ = built
    before = digests(out)
    assert carry_out(plan_of(store, out)).already_built
    with pytest.raises(BuilderError, match="another dataset"):
        carry_out(plan_of(store, out, recipe=replace(RECIPE, min_count=2)))
    assert digests(out) == before
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "thesis.txt").write_text("years of work")
    (tmp_path / "file").write_text("text")
    for name in ("mine", "file"):
        with pytest.raises(BuilderError, match="not a dataset of ours"):
            carry_out(plan_of(store, tmp_path / name))
    assert (tmp_path / "mine" / "thesis.txt").read_text() == "years of work"


def test_a_plan_without_pages_is_an_error(built, tmp_path: Path) -> None:
    with pytest.raises(BuilderError, match="no pages of 'de'"):
        carry_out(
            Plan(recipe=replace(RECIPE, language="de"), store=built[0], out=tmp_path / "out", revisions=[])
        )


def test_leftovers_of_another_build_are_not_used(built, tmp_path: Path) -> None:
    store, out, _ = built
    child = started_build(store, tmp_path / "out", tmp_path, workers=1, hold=1)
    assert child.stdout is not None
    child.stdout.readline()
    os.killpg(child.pid, signal.SIGKILL)
    child.wait()
    clean = replace(RECIPE, sections="clean")
    report = carry_out(plan_of(store, tmp_path / "out", recipe=clean))
    assert report.shards_found == 0
    assert report.manifest.recipe.sections == "clean"
    assert digests(tmp_path / "out") != digests(out)


# --- exports


def test_the_archives_hold_the_files_in_the_original_layout(built) -> None:
    _, out, _ = built
    for archive, folder, kind in (("tiny-v1", "tiny", "tokens"), ("tiny-raw-v1", "tiny-raw", "raw")):
        with zipfile.ZipFile(out / f"{archive}.zip") as opened:
            assert opened.namelist() == [
                f"{folder}/wiki.{split}.{kind}" for split in ("train", "valid", "test")
            ]
            for name in opened.namelist():
                assert opened.read(name) == (out / Path(name).name).read_bytes()


def test_the_datasets_library_reads_a_dataset(built, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    from datasets import get_dataset_config_names, load_dataset

    _, out, _ = built
    assert get_dataset_config_names(str(out)) == ["tiny-v1", "tiny-raw-v1"]
    for config, kind in ((None, "tokens"), ("tiny-raw-v1", "raw")):
        loaded = load_dataset(str(out), config, cache_dir=str(tmp_path))
        assert set(loaded) == {"train", "validation", "test"}
        for split, name in (("train", "train"), ("validation", "valid"), ("test", "test")):
            lines = (out / f"wiki.{name}.{kind}").read_text().split("\n")[:-1]
            assert loaded[split]["text"] == [f"{line}\n" if line != " " else "" for line in lines]


def test_everyone_is_attributed(built) -> None:
    rows = [line.split("\t") for line in (built[1] / "attribution.tsv").read_text().splitlines()]
    assert rows[0] == ["split", "title", "page_id", "revision_id", "timestamp", "url"]
    assert sorted(int(row[2]) for row in rows[1:]) == [one.page_id for one in PAGES]
    assert all(row[5] == f"https://en.wikipedia.org/w/index.php?oldid={row[3]}" for row in rows[1:])


def test_the_recipes_are_the_papers() -> None:
    # Table 1: 600 and 28,475 train articles (all that there were), 60 valid, 60 test; section 4.3: count 3
    for name, train in (("wikitext-2", 600), ("wikitext-103", None)):
        recipe = RECIPES[name]
        assert (recipe.train_articles, recipe.valid_articles, recipe.test_articles, recipe.min_count) == (
            train,
            60,
            60,
            3,
        )


# --- templates of dumps


def with_templates(path: Path, **texts: str) -> Path:
    """A store whose pages call templates that no macro knows, and some of these templates."""
    calls = "{{leagues|2}}, {{price|3}}, {{nowhere}}"
    store_of(path, [replace(one, wikitext=f"It is {calls} away. {one.wikitext}") for one in PAGES])
    with Store.create(path) as store:
        pages = [
            Page(title=name, page_id=n, revision_id=n, timestamp=f"201{n}-01-01T00:00:00Z", wikitext=text)
            for n, (name, text) in enumerate(texts.items(), 1)
        ]
        StoredTemplates(store).add((one.title, one) for one in pages)
    return path


TEMPLATES = {
    "Leagues": "{{#expr:{{{1}}}*3}} {{unit|{{{1}}}}}",
    "Unit": "{{#ifexpr:{{{1}}}=1|league|leagues}}",
    "Price": "{{#invoke:Price|main}}",
}


def test_templates_of_the_store_fill_calls_and_reasons_are_counted(tmp_path: Path) -> None:
    report = carry_out(plan_of(with_templates(tmp_path / "a.store", **TEMPLATES), tmp_path / "out"))
    assert report.left_out == {"Price": 100, "Nowhere": 100}
    assert report.left_out_reasons == {"lua": 100, "no-template": 100}
    assert report.expanded == 100
    text = (tmp_path / "out" / "wiki.train.raw").read_text()
    assert text.count("It is 6 leagues , away") + text.count("It is 6 leagues away") == 94
    without = carry_out(plan_of(with_templates(tmp_path / "b.store"), tmp_path / "without"))
    assert (without.left_out["Leagues"], without.left_out_reasons) == (100, {})


def test_templates_give_the_same_bytes_in_processes_and_on_machines_without_the_store(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(shards, "FILE_CHARACTERS", 40)  # several files of templates
    store = with_templates(tmp_path / "a.store", **TEMPLATES)
    carry_out(plan_of(store, tmp_path / "one"))
    with ProcessPool(2) as runner:
        carry_out(plan_of(store, tmp_path / "two"), runner=runner)
    carry_out(plan_of(store, tmp_path / "far", work_url=f"file://{tmp_path}/bucket"))
    assert digests(tmp_path / "one") == digests(tmp_path / "two") == digests(tmp_path / "far")
    assert not [path for path in (tmp_path / "bucket").rglob("*") if path.is_file()]


def test_another_text_of_a_template_is_another_dataset(tmp_path: Path) -> None:
    store = with_templates(tmp_path / "a.store", **TEMPLATES)
    carry_out(plan_of(store, tmp_path / "out"))
    with Store.create(store) as opened:
        newer = Page(title="", page_id=2, revision_id=9, timestamp="2020-01-01T00:00:00Z", wikitext="miles")
        StoredTemplates(opened).add([("Unit", newer)])
    with pytest.raises(BuilderError, match="other templates"):
        carry_out(plan_of(store, tmp_path / "out"))
    dated = replace(plan_of(store, tmp_path / "out"), as_of="2019-01-01T00:00:00Z")
    assert carry_out(dated).already_built


def test_templates_that_no_page_needs_change_nothing(tmp_path: Path) -> None:
    store = store_of(tmp_path / "a.store", PAGES)
    carry_out(plan_of(store, tmp_path / "without"))
    with Store.create(store) as opened:
        StoredTemplates(opened).add([("Unit", page(1))])
    assert carry_out(plan_of(store, tmp_path / "without")).already_built
    carry_out(plan_of(store, tmp_path / "with"))
    assert digests(tmp_path / "with") == digests(tmp_path / "without")


@pytest.mark.parametrize("filled", ["a call", "a page that was rejected"])
def test_templates_that_could_fill_something_are_another_dataset(tmp_path: Path, filled: str) -> None:
    """A page can have no other text than that of a call: see the reason `no-text`."""
    if filled == "a call":
        store = with_templates(tmp_path / "a.store")
    else:
        store = store_of(tmp_path / "a.store", [*PAGES, replace(page(101), wikitext="{{Unit}}")])
    rejected = carry_out(plan_of(store, tmp_path / "out")).rejected
    assert rejected == ({} if filled == "a call" else {"no-text": 1})
    with Store.create(store) as opened:
        StoredTemplates(opened).add([("Unit", page(1))])
    with pytest.raises(BuilderError, match="other templates"):
        carry_out(plan_of(store, tmp_path / "out"))


def test_templates_after_the_date_are_not_used(tmp_path: Path) -> None:
    store = with_templates(tmp_path / "a.store", **TEMPLATES)
    plan = replace(plan_of(store, tmp_path / "out"), as_of="2011-06-01T00:00:00Z")
    assert carry_out(plan).left_out_reasons == {"no-template": 300}  # Unit and Price are of later years


def limit_files() -> None:
    """Let no file grow over 50 kB: a writing process sees the same as on a full disk."""
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (50_000, 50_000))


def test_a_full_disk_says_so_and_the_next_build_resumes(built, tmp_path: Path) -> None:
    store, out, _ = built
    child = started_build(store, tmp_path / "out", tmp_path, workers=1, preexec_fn=limit_files)
    _, errors = child.communicate()
    assert child.returncode == 1
    assert "BuilderError" in errors
    assert "then run it again to resume" in " ".join(errors.split())
    assert not (tmp_path / "out").exists()
    carry_out(plan_of(store, tmp_path / "out"))
    assert digests(tmp_path / "out") == digests(out)


def test_a_folder_that_cannot_be_written_says_so(built, tmp_path: Path) -> None:
    folder = tmp_path / "readonly"
    folder.mkdir(mode=0o555)
    child = started_build(built[0], folder / "out", tmp_path, workers=1, before=WITHOUT_PRIVILEGES)
    _, errors = child.communicate()
    assert child.returncode == 1
    assert "BuilderError" in errors
    assert "Permission denied" in errors
