"""The recipe `live`: a test set alone, of pages whose dates the store knows."""

import json
from pathlib import Path
from typing import Any

import pytest

import wikitext_builder as wb
from tests.command import done
from tests.conftest import ROOT
from tests.dumps import numbered_page
from tests.wikitext_builder.building.test_build import store_of
from wikitext_builder.building import stages
from wikitext_builder.dataset.recipes import rank_for_test
from wikitext_builder.errors import BuilderError
from wikitext_builder.pages.lock import read_attribution
from wikitext_builder.pages.store import Dates, Store, add_dates
from wikitext_builder.text_overlap.result import Overlap

SAMPLE = ROOT / "wikitext_builder" / "sample" / "sample.xml"


@pytest.fixture(scope="module")
def dated(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A store whose pages were written one per day of October and November."""
    store = tmp_path_factory.mktemp("dated") / "a.store"
    wb.import_dump(store, SAMPLE)
    with Store.create(store) as opened:
        pages = [one.page_id for one in opened.revisions("en")]
        days = [f"2026-{10 + number // 14}-{1 + number % 14:02}" for number in range(len(pages))]
        dates = {page: Dates(created=f"{day}T12:00:00Z") for page, day in zip(pages, days, strict=True)}
        add_dates(opened, "en", dates)
        add_dates(opened, "en", {pages[0]: Dates(promoted="2026-11-01T00:00:00Z")})  # the other one stays
        assert opened.revisions("en")[0].created == "2026-10-01T12:00:00Z"
    return store


def test_a_month_is_a_test_set_alone(dated: Path, tmp_path: Path) -> None:
    report = wb.build(
        "live", dated, tmp_path / "oct", include="created-since:2026-10-01..2026-10-31", workers=1
    )
    counts = report.manifest.splits
    assert [counts[name].articles for name in ("train", "valid", "test")] == [0, 0, 14]
    assert report.warnings == ()
    assert counts["test"].unknown == 0
    assert report.manifest.vocabulary == counts["test"].types + 2
    raw, tokens = (tmp_path / "oct" / f"wiki.test.{kind}" for kind in ("raw", "tokens"))
    assert raw.read_text(encoding="utf-8").split() == tokens.read_text(encoding="utf-8").split()
    names = {path.relative_to(tmp_path / "oct").as_posix() for path in (tmp_path / "oct").rglob("*.*")}
    assert not [name for name in names if "train" in name or "valid" in name]
    assert not [check for check in wb.verify(tmp_path / "oct") if check.passed is False]
    assert [article.title for article in wb.load(tmp_path / "oct").articles("test")]
    articles = (tmp_path / "oct" / "articles" / "test.jsonl").read_text(encoding="utf-8").splitlines()
    assert len(articles) == 14
    assert all("categories" in json.loads(line) for line in articles)
    card = (tmp_path / "oct" / "README.md").read_text(encoding="utf-8")
    assert "were written from 2026-10-01 to 2026-10-14: a model whose training data" in card
    assert "split: train" not in card
    assert "build live --store" in card


def test_the_lock_file_gives_the_same_bytes_and_two_months_differ(dated: Path, tmp_path: Path) -> None:
    for name, month in (("oct", "2026-10-01..2026-10-31"), ("nov", "2026-11-01..2026-11-30")):
        wb.build("live", dated, tmp_path / name, include=f"created-since:{month}", workers=1)
    for name in ("oct", "nov"):
        plain = tmp_path / f"{name}.store"  # a store without dates: the lock file has them
        wb.import_dump(plain, SAMPLE)
        again = tmp_path / f"{name}-again"
        wb.build("live", plain, again, lock=tmp_path / name / "titles.lock", workers=1)
        assert (again / "manifest.json").read_bytes() == (tmp_path / name / "manifest.json").read_bytes()
    months = [(tmp_path / name / "titles.lock").read_text(encoding="utf-8") for name in ("oct", "nov")]
    titles = [{line.split("\t")[0] for line in text.splitlines()[2:]} for text in months]
    assert not titles[0] & titles[1]


def test_a_series_of_months_is_one_call_and_resumes(dated: Path, tmp_path: Path) -> None:
    out = tmp_path / "series"
    first = wb.build_months("live", dated, out, months="2026-09..2026-11", workers=1)
    assert {name: one and one.manifest.splits["test"].articles for name, one in first.items()} == {
        "2026-09": None,
        "2026-10": 14,
        "2026-11": 14,
    }
    assert sorted(path.name for path in out.iterdir()) == ["2026-10", "2026-11"]
    again = wb.build_months("live", dated, out, months="2026-10", workers=1)
    assert [one.already_built for one in again.values() if one] == [True]
    promoted = wb.build_months("live", dated, tmp_path / "p", months="2026-11", by="promoted", workers=1)
    assert [one.manifest.splits["test"].articles for one in promoted.values() if one] == [1]
    for months, by, words in (
        ("2026-13", "created", "is not a range of months"),
        ("2026-10..2026-09", "created", "is not a range of months"),
        ("2026-01", "created", "no page was created in 2026-01"),
        ("2026-10", "read", "expected created or promoted"),
    ):
        with pytest.raises(BuilderError, match=words):
            wb.build_months("live", dated, tmp_path / "x", months=months, by=by, workers=1)


@pytest.fixture(scope="module")
def short(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A store of short pages of different lengths; every fifth has no text."""
    pages = [
        numbered_page(
            number, "== A heading ==" if number % 5 == 0 else f"{number} words. " * (3 + number % 7)
        )
        for number in range(1, 61)
    ]
    return store_of(tmp_path_factory.mktemp("short") / "a.store", pages)


@pytest.mark.parametrize("wanted", [1, 100, 617])
def test_a_number_of_words_takes_whole_articles_until_it_has_them(
    short: Path, tmp_path: Path, wanted: int
) -> None:
    out, same, again = tmp_path / "out", tmp_path / "same", tmp_path / "again"
    counts = wb.build("live", short, out, test_words=wanted, workers=1).manifest.splits["test"]
    text = (out / "wiki.test.tokens").read_text(encoding="utf-8").split()
    assert len(text) == counts.tokens - counts.lines >= wanted
    assert f"--test-words {wanted}" in (out / "README.md").read_text(encoding="utf-8")
    # as many articles as that, and no more: without the last one there are too few words
    wb.build("live", short, same, test_articles=counts.articles, workers=1)
    for name in (
        "wiki.test.tokens",
        "articles/test.jsonl",
        "rejected.jsonl",
        "attribution.tsv",
        "titles.lock",
    ):
        assert (same / name).read_bytes() == (out / name).read_bytes()
    last = max((one.page_id for one in read_attribution(out)), key=lambda one: rank_for_test(one, "wikitext"))
    lengths = {
        one.title: sum(len(line.split()) for line in one.lines) for one in wb.load(out).articles("test")
    }
    assert sum(lengths.values()) - lengths[f"Page {last}"] < wanted
    wb.build("live", short, again, lock=out / "titles.lock", test_words=wanted, workers=1)
    assert (again / "manifest.json").read_bytes() == (out / "manifest.json").read_bytes()


def test_rounds_of_counting_words_do_not_decide_what_is_taken(
    short: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    manifests = set()
    for articles in (1, 7, 256):
        monkeypatch.setattr(stages, "ROUND", articles)
        report = wb.build("live", short, tmp_path / f"{articles}", test_words=300, workers=1)
        assert report.rejected.keys() == {"no-text"}
        manifests.add((tmp_path / f"{articles}" / "manifest.json").read_bytes())
    assert len(manifests) == 1


def test_too_few_words_are_an_error(short: Path, tmp_path: Path) -> None:
    with pytest.raises(BuilderError, match=r"48 articles have [\d,]+ words; --test-words expects 5,000:"):
        wb.build("live", short, tmp_path / "x", test_words=5_000, workers=1)
    assert not (tmp_path / "x").exists()
    for recipe, options, words in (
        ("live", {"test_articles": 3}, "instead of --test-articles"),
        ("demo", {}, "it is for live"),
        ("live", {"test_titles": titles_file(tmp_path, "Page 1")}, "use one of the two"),
    ):
        with pytest.raises(BuilderError, match=words):
            wb.build(recipe, short, tmp_path / "x", test_words=100, workers=1, **options)
    with pytest.raises(BuilderError, match="--test-words: 0; expected at least 1"):
        wb.build("live", short, tmp_path / "x", test_words=0, workers=1)


def titles_file(folder: Path, *titles: str) -> Path:
    path = folder / "titles.txt"
    path.write_text("".join(f"{title}\n" for title in titles), encoding="utf-8")
    return path


@pytest.fixture
def compared(short: Path, tmp_path: Path) -> Path:
    """A set that was compared with a text when it was built."""
    (tmp_path / "other.txt").write_text("4 words. 4 words. 4 words. 4 words. 4 words. " * 3, encoding="utf-8")
    out = tmp_path / "compared"
    report = wb.build("live", short, out, against=tmp_path / "other.txt", workers=1)
    assert report.overlap is not None
    assert report.overlap == wb.overlap(out, against=tmp_path / "other.txt")
    assert report.overlap.splits[0].shared[8] > 0
    return out


def test_a_set_that_was_compared_has_the_manifest_of_one_that_was_not(
    short: Path, compared: Path, tmp_path: Path
) -> None:
    """It can be built again from its lock file without the other text."""
    again = tmp_path / "again"
    wb.build("live", short, again, lock=compared / "titles.lock", workers=1)
    assert (again / "manifest.json").read_bytes() == (compared / "manifest.json").read_bytes()
    names = [{path.name for path in folder.iterdir()} for folder in (compared, again)]
    assert names[0] - names[1] == {"overlap.csv", "overlap.json"}
    card, plain = ((folder / "README.md").read_text(encoding="utf-8") for folder in (compared, again))
    assert card.startswith(plain)
    assert f"Compared with `{tmp_path / 'other.txt'}`" in card.removeprefix(plain)
    assert not [check for check in wb.verify(compared) if check.passed is False]


@pytest.mark.parametrize("name", ["overlap.csv", "overlap.json", "README.md"])
def test_a_damaged_overlap_is_found_and_the_same_call_repairs_it(
    short: Path, compared: Path, tmp_path: Path, name: str
) -> None:
    def built() -> Overlap | None:
        return wb.build("live", short, compared, against=[tmp_path / "other.txt"], workers=1).overlap

    files = {path: path.read_bytes() for path in compared.glob("*.*")}
    assert built() is None  # what is there already is not compared again
    path = compared / name
    begin, heading, section = files[path].partition(b"\n## Overlap with other text\n")
    damages = [begin[:-9], begin.replace(b"8", b"9"), b""]
    if name == "README.md":  # the part that the build wrote stays
        damages = [begin, begin + heading, begin + heading + section.replace(b"8", b"9")]
    for damage in damages:
        path.write_bytes(damage)
        assert any(check.passed is False and "overlap" in check.name for check in wb.verify(compared))
        assert built() is not None
        assert {path: path.read_bytes() for path in compared.glob("*.*")} == files
    if name != "README.md":
        path.unlink()
        assert any(check.passed is False and "overlap" in check.name for check in wb.verify(compared))
    (tmp_path / "other.txt").write_text("Other words.", encoding="utf-8")
    assert built() is not None
    assert path.read_bytes() != files[path]
    assert not [check for check in wb.verify(compared) if check.passed is False]


def test_other_text_that_is_missing_is_an_error_before_the_build(short: Path, tmp_path: Path) -> None:
    with pytest.raises(BuilderError, match="absent: is no file"):
        wb.build("live", short, tmp_path / "out", against=tmp_path / "absent", workers=1)
    assert not (tmp_path / "out").exists()


def test_other_text_that_holds_the_set_itself_is_refused(short: Path, tmp_path: Path) -> None:
    (tmp_path / "other.txt").write_text("Other words.", encoding="utf-8")
    for _ in range(2):  # before the set is there, and when it is
        with pytest.raises(BuilderError, match=r"is or holds .*out, all of which would stand in it"):
            wb.build("live", short, tmp_path / "out", against=tmp_path, workers=1)
        wb.build("live", short, tmp_path / "out", workers=1)


def test_an_overlap_of_other_settings_is_replaced(short: Path, compared: Path, tmp_path: Path) -> None:
    other = tmp_path / "other.txt"
    done("overlap", compared, "--against", other, "--words", "5", "--card")
    report = wb.build("live", short, compared, against=other, workers=1)
    assert report.overlap is not None
    assert report.overlap.lengths == (8, 13)


def test_a_month_whose_pages_are_all_rejected_does_not_end_the_series(short: Path, tmp_path: Path) -> None:
    (tmp_path / "a.store").write_bytes(short.read_bytes())
    with Store.create(tmp_path / "a.store") as opened:  # page 5 has no text
        add_dates(
            opened, "en", {5: Dates(created="2026-10-05T00:00:00Z"), 7: Dates(created="2026-11-07T00:00:00Z")}
        )
    variants: list[dict[str, Any]] = [{}, {"test_words": 3}]
    for options in variants:
        out = tmp_path / f"series{len(options)}"
        found = wb.build_months(
            "live", tmp_path / "a.store", out, months="2026-10..2026-11", workers=1, **options
        )
        assert [report is not None for report in found.values()] == [False, True]


def test_a_series_of_months_is_compared_month_by_month(dated: Path, tmp_path: Path) -> None:
    months = ("--months", "2026-10..2026-11", "--against", SAMPLE, "--workers", "1")
    said = done("build", "live", "--store", dated, "--out", tmp_path / "series", *months)
    assert said.count("wikitext-live against ") == 2
    for month in ("2026-10", "2026-11"):
        rows = (tmp_path / "series" / month / "overlap.csv").read_text(encoding="utf-8").splitlines()
        assert len(rows) == 15


def test_what_a_test_set_alone_cannot_be_is_an_error(dated: Path, tmp_path: Path) -> None:
    with pytest.raises(BuilderError, match="no pages of 'en' to build from"):
        wb.build("live", dated, tmp_path / "a", include="created-since:2027-01-01", workers=1)
    (tmp_path / "titles.txt").write_text("Octopus\n", encoding="utf-8")
    with pytest.raises(BuilderError, match="--valid-titles: wikitext-live has no valid"):
        wb.build("live", dated, tmp_path / "a", valid_titles=tmp_path / "titles.txt", workers=1)


def test_a_card_without_dates_promises_nothing(tmp_path: Path) -> None:
    wb.import_dump(tmp_path / "a.store", SAMPLE)
    wb.build("live", tmp_path / "a.store", tmp_path / "out", test_articles=5, workers=1)
    card = (tmp_path / "out" / "README.md").read_text(encoding="utf-8")
    assert "Since when its pages exist is not known for all of them." in card
