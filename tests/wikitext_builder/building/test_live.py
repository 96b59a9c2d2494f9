"""The recipe `live`: a test set alone, of pages whose dates the store knows."""

from pathlib import Path
from typing import Any

import pytest

import wikitext_builder as wb
from tests.cases import each
from tests.dumps import numbered_page
from tests.wikitext_builder.datasets import build, faults, sizes, store_of, titles_file
from wikitext_builder.building import extracting
from wikitext_builder.building.build import BuildReport
from wikitext_builder.building.splits import rank_for_test
from wikitext_builder.errors import BuilderError
from wikitext_builder.store.lock import read_attribution
from wikitext_builder.store.store import Store

MONTHS = {"oct": "2026-10-01..2026-10-31", "nov": "2026-11-01..2026-11-30"}


def text(path: Path) -> str:
    return path.read_text(encoding="utf-8")


def month(store: Path, out: Path) -> BuildReport:
    """The set of a month by the name of the folder."""
    return build("live", store, out, include=f"created-since:{MONTHS[out.name]}")


@pytest.fixture(scope="module")
def dated(sample: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A store whose pages were written one per day of October and November."""
    store = store_of(tmp_path_factory.mktemp("dated") / "a.store", [], copy=sample / "pages.store")
    with Store.create(store) as opened:
        pages = [one.page_id for one in opened.revisions("en")]
        days = [f"2026-{10 + number // 14}-{1 + number % 14:02}" for number in range(len(pages))]
        dates = {page: f"{day}T12:00:00Z" for page, day in zip(pages, days, strict=True)}
        opened.add_dates("en", dates)
        assert opened.revisions("en")[0].created == "2026-10-01T12:00:00Z"
    return store


def test_a_month_is_a_test_set_alone_and_its_lock_file_gives_the_same_bytes(
    sample: Path, dated: Path, tmp_path: Path
) -> None:
    titles = []
    for name in MONTHS:
        out, again = tmp_path / name, tmp_path / f"{name}-again"
        report = month(dated, out)
        counts = report.manifest.splits
        assert sizes(out) == {"train": 0, "valid": 0, "test": 14}
        assert (report.warnings, counts["test"].unknown) == ((), 0)
        assert report.manifest.vocabulary == counts["test"].types + 2
        assert text(out / "wiki.test.raw").split() == text(out / "wiki.test.tokens").split()
        files = {path.relative_to(out).as_posix() for path in out.rglob("*.*")}
        assert not [one for one in files if "train" in one or "valid" in one]
        assert not faults(out)
        assert [article.title for article in wb.load(out).articles("test")]
        assert len(list(wb.load(out).plain_articles("test"))) == 14
        card = text(out / "README.md")
        assert "split: train" not in card
        # a store without dates: the lock file has them
        build("live", sample / "pages.store", again, lock=out / "titles.lock")
        assert (again / "manifest.json").read_bytes() == (out / "manifest.json").read_bytes()
        titles.append({line.split("\t")[0] for line in text(out / "titles.lock").splitlines()[2:]})
    assert not titles[0] & titles[1]
    card = text(tmp_path / "oct" / "README.md")
    assert "were written from 2026-10-01 to 2026-10-14: a model whose training data" in card
    build("live", sample / "pages.store", tmp_path / "out", test_articles=5)  # promises nothing
    card = text(tmp_path / "out" / "README.md")
    assert "Not all creation dates of its pages are known." in card


@pytest.fixture(scope="module")
def short(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A store of short pages of different lengths; every fifth has no text."""
    pages = [
        numbered_page(n, "== A heading ==" if n % 5 == 0 else f"{n} words. " * (3 + n % 7))
        for n in range(1, 61)
    ]
    return store_of(tmp_path_factory.mktemp("short") / "a.store", pages)


@pytest.mark.parametrize("wanted", [1, 617])
def test_a_number_of_words_takes_whole_articles_until_it_has_them(
    short: Path, tmp_path: Path, wanted: int
) -> None:
    out, same, again = tmp_path / "out", tmp_path / "same", tmp_path / "again"
    counts = build("live", short, out, test_words=wanted).manifest.splits["test"]
    assert len(text(out / "wiki.test.tokens").split()) == counts.tokens - counts.lines >= wanted
    # as many articles as that, and no more: without the last one there are too few words
    build("live", short, same, test_articles=counts.articles)
    files = (
        "wiki.test.tokens",
        "articles/test-00000-of-00001.parquet",
        "rejected.jsonl",
        "attribution.tsv",
        "titles.lock",
    )
    for name in files:
        assert (same / name).read_bytes() == (out / name).read_bytes()
    last = max((one.page_id for one in read_attribution(out)), key=lambda one: rank_for_test(one, "wikitext"))
    lengths = {
        one.title: sum(len(line.split()) for line in one.lines) for one in wb.load(out).articles("test")
    }
    assert sum(lengths.values()) - lengths[f"Page {last}"] < wanted
    build("live", short, again, lock=out / "titles.lock", test_words=wanted)
    assert (again / "manifest.json").read_bytes() == (out / "manifest.json").read_bytes()


def test_rounds_of_counting_words_do_not_decide_what_is_taken(
    short: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    manifests = set()
    for articles in (1, 7, 256):
        monkeypatch.setattr(extracting, "MIN_ROUND_ARTICLES", articles)
        report = build("live", short, tmp_path / f"{articles}", test_words=300)
        assert report.rejected.keys() == {"no-text"}
        manifests.add((tmp_path / f"{articles}" / "manifest.json").read_bytes())
    assert len(manifests) == 1


@each("building", "recipe, options, words", "test sets that cannot be")
def test_what_a_test_set_alone_cannot_be_is_an_error(
    short: Path, tmp_path: Path, recipe: str, options: dict[str, Any], words: str
) -> None:
    titles = titles_file(tmp_path / "titles.txt", "Page 1")
    options = {name: titles if value == "titles.txt" else value for name, value in options.items()}
    with pytest.raises(BuilderError, match=words):
        build(recipe, short, tmp_path / "out", **options)
    assert not (tmp_path / "out").exists()
