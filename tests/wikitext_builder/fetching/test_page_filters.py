"""Conditions without a wiki: how they are written, what they take, and in `import` and `build`."""

import re
from dataclasses import replace
from pathlib import Path

import pytest

import wikitext_builder as wb
from tests.cases import each
from tests.conftest import ROOT
from tests.dumps import numbered_page
from wikitext_builder.errors import BuilderError
from wikitext_builder.fetching.page_filters import (
    FILTERS,
    STORED,
    Filter,
    FirstOf,
    FirstRevision,
    Rule,
    Texts,
    chosen,
    first_fault,
    parse_kind,
    parse_rules,
)
from wikitext_builder.store.lock import lock_lines, read_attribution, read_lock
from wikitext_builder.store.reading import status_of
from wikitext_builder.store.schema import Rejected, Revision, Wanted
from wikitext_builder.store.store import Store
from wikitext_builder.wiki.classify import classifier
from wikitext_builder.wiki.dates import parse_span
from wikitext_builder.wiki.languages import LANGUAGES, Language

EN = LANGUAGES["en"]
SAMPLE = ROOT / "wikitext_builder" / "sample" / "sample.xml"
PAGE = numbered_page(7, "'''Tea''' is a drink of leaves.<ref>A long note about leaves</ref>", "Tea")


def created(timestamp: str = "2026-01-15T00:00:00Z", summary: str = "") -> FirstOf:
    return lambda _page_id: FirstRevision(timestamp=timestamp, summary=summary)


def rules_of(include: Texts, exclude: Texts = (), language: Language = EN) -> tuple[Rule[Filter], ...]:
    return parse_rules(include, exclude, language, FILTERS)


KNOWN = created()


def reason(include: str = "", exclude: str = "", *, first_of: FirstOf = KNOWN) -> str:
    rules = rules_of([include] if include else [], [exclude] if exclude else [])
    found = first_fault(rules, PAGE, first_of)
    return found[0] if found else ""


@each("fetching", "text, include, exclude", "a page is so or not")
def test_a_page_is_so_or_not(text: str, include: str, exclude: str) -> None:
    assert len(PAGE.wikitext.encode()) == 66
    assert (reason(include=text), reason(exclude=text)) == (include, exclude)


def test_a_first_revision_that_is_not_known_is_not_new() -> None:
    assert reason(include="created-since:2020-01-01", first_of=created(timestamp="")) == "creation-unknown"
    assert reason(exclude="created-since:2020-01-01", first_of=created(timestamp="")) == "creation-unknown"


def test_a_range_without_a_number_in_it_is_refused() -> None:
    with pytest.raises(BuilderError, match="no page has 300 or more and 100 or fewer"):
        parse_kind("include", "words:300-100", EN, FILTERS)


@each("fetching", "summary, copied", "a summary that names the page of the text")
def test_a_summary_that_names_the_page_of_the_text(summary: str, copied: bool) -> None:
    first_of = created(summary=summary)
    assert reason(include="created-since:2020-01-01", first_of=first_of) == ("split" if copied else "")
    assert classifier(LANGUAGES["de"]).copied_from(summary) == ""  # no words are known


def test_cheap_rules_go_first_so_that_a_wiki_is_not_asked() -> None:
    def asked(page_id: int) -> FirstRevision:
        raise AssertionError(page_id)

    rules = rules_of(["created-since:2030-01-01", "words:1000-", "bytes:1000-"])
    assert first_fault(rules, PAGE, asked) == ("too-short", "66 bytes, fewer than 1,000")


@each("fetching", "text, words", "what is wrong is an error that says what is right")
def test_what_is_wrong_is_an_error_that_says_what_is_right(text: str, words: str) -> None:
    with pytest.raises(BuilderError, match=words) as raised:
        rules_of(text)
    assert str(raised.value).startswith(f"--include {text}")


def test_a_language_without_known_stubs_says_so() -> None:
    with pytest.raises(BuilderError, match=r"known for the de Wikipedia.*template:NAME"):
        rules_of((), "stubs", LANGUAGES["de"])


@each("fetching", "code, stubs, others", "stubs of each wikipedia")
def test_stubs_of_each_wikipedia(code: str, stubs: str, others: str) -> None:
    rules = rules_of("stubs", (), LANGUAGES[code])
    for text, expected in ((stubs, ""), (others, "within-stubs")):
        for call in re.findall(r"(?:<!-- )?\{\{.*?\}\}(?: -->)?", text):
            found = first_fault(rules, replace(PAGE, wikitext=f"Text. {call}"), created())
            assert (found[0] if found else "") == expected, call


def test_arguments_can_be_one_text() -> None:
    assert rules_of("stubs") == rules_of(["stubs"])


@each("fetching", "names, called", "templates can be named")
def test_templates_can_be_named(names: str, called: bool) -> None:
    page = replace(PAGE, wikitext="Un río. {{Plantilla:esbozo|ríos}}")
    rules = rules_of(f"template:{names}", (), LANGUAGES["es"])
    found = first_fault(rules, page, created())
    assert (found is None) == called
    if found:
        assert found == ("within-template", f"it calls none of the templates {names}")


def test_spans_have_both_days() -> None:
    span = parse_span("2026-01-01..2026-01-31")
    moments = ("2025-12-31T23:59:59Z", "2026-01-01T00:00:00Z", "2026-01-31T23:59:59Z", "2026-02-01T00:00:00Z")
    assert [span.has(one) for one in moments] == [False, True, True, False]
    assert not span.has("")


# --- stores, lock files, builds


def revision(number: int, created: str = "") -> Revision:
    return Revision(
        title=f"Page {number}",
        page_id=number,
        revision_id=1000 + number,
        timestamp="2026-04-16T17:15:34Z",
        sha1="a" * 40,
        created=created,
    )


DATED = [revision(1, "2026-01-05T00:00:00Z"), revision(2, "2026-02-05T00:00:00Z")]


def test_dates_in_a_lock_file_are_read_back(tmp_path: Path) -> None:
    path = tmp_path / "a.lock"
    for revisions, columns in (([*DATED, revision(3)], 6), ([revision(3)], 5)):
        with path.open("w", encoding="utf-8", newline="") as file:
            file.writelines(lock_lines(revisions, EN))
        assert len(path.read_text(encoding="utf-8").splitlines()[1].split("\t")) == columns
        found = read_lock(path, language="en")
        assert [(row, row.created) for row in found] == [(row, row.created) for row in revisions]
    text = path.read_text(encoding="utf-8").replace("sha1\n", "sha1\tcreated\n")
    path.write_text(text.replace("a" * 40, "a" * 40 + "\tsoon"), encoding="utf-8")
    with pytest.raises(BuilderError, match="'soon' is not a created"):
        read_lock(path, language="en")


@each("fetching", "include, exclude, pages", "a build takes what is included and not excluded")
def test_a_build_takes_what_is_included_and_not_excluded(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, include: str, exclude: str, pages: list[int]
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("titles.txt").write_text("Page 3\n", encoding="utf-8")
    Path("small.txt").write_text("page_3\n", encoding="utf-8")  # MediaWiki takes it for the same title
    with Path("some.lock").open("w", encoding="utf-8", newline="") as file:
        file.writelines(lock_lines([revision(1)], EN))
    found = chosen([*DATED, revision(3)], include, exclude, "en")
    assert [one.page_id for one in found] == pages


def test_a_lock_file_knows_a_page_that_was_moved(tmp_path: Path) -> None:
    path = tmp_path / "a.lock"
    with path.open("w", encoding="utf-8", newline="") as file:
        file.writelines(lock_lines([revision(1)], EN))
    condition = parse_kind("exclude", f"lock:{path}", EN, STORED)
    moved = Revision(title="Another", page_id=1, revision_id=5, timestamp="", sha1="")
    assert condition.why_not(moved, KNOWN) is None  # it is one of these pages
    same_title = Revision(title="Page 1", page_id=9, revision_id=5, timestamp="", sha1="")
    assert condition.why_not(same_title, KNOWN) is None
    assert condition.why_not(DATED[1], KNOWN) is not None


def test_a_lock_file_of_another_wiki_is_refused(tmp_path: Path) -> None:
    path, other = tmp_path / "a.lock", replace(EN, index="https://wiki.example/index.php")
    with path.open("w", encoding="utf-8", newline="") as file:
        file.writelines(lock_lines([revision(1)], other))
    assert parse_kind("exclude", f"lock:{path}", other, STORED).why_not(revision(1), KNOWN) is None
    with pytest.raises(BuilderError, match=r"expected pages of en\.wikipedia.*, found those of wiki\.ex"):
        parse_kind("exclude", f"lock:{path}", EN, STORED)
    # A fetch or an import does not know yet that it is of another wiki than Wikipedia.
    assert reason(exclude=f"lock:{path}") == ""


def test_a_build_from_the_bundled_sample_leaves_out_a_lock_file(tmp_path: Path) -> None:
    store = tmp_path / "a.store"
    wb.import_dump(store, SAMPLE)
    whole = wb.lock(store).splitlines(keepends=True)
    (tmp_path / "some.lock").write_text("".join([*whole[:2], *whole[2:8]]), encoding="utf-8", newline="")
    wb.build("demo", store, tmp_path / "out", exclude=f"lock:{tmp_path / 'some.lock'}", workers=1)
    left = (tmp_path / "out" / "titles.lock").read_text(encoding="utf-8").splitlines(keepends=True)
    assert left[1:] == [whole[1], *whole[8:]]
    with pytest.raises(BuilderError, match="no pages of 'en' to build from"):
        wb.build("demo", store, tmp_path / "none", include="created-since:2020-01-01", workers=1)


def test_a_second_set_from_the_same_pages_leaves_out_the_first(tmp_path: Path) -> None:
    store, first, second = tmp_path / "a.store", tmp_path / "first", tmp_path / "second"
    wb.import_dump(store, SAMPLE)
    wb.build("live", store, first, test_articles=10, workers=1)
    with pytest.raises(BuilderError, match=r"leave none of its 28\. .* `dataset:FOLDER` names those"):
        wb.build("live", store, second, exclude=f"lock:{first / 'titles.lock'}", workers=1)
    wb.build("live", store, second, exclude=f"dataset:{first}", workers=1)
    used, others = ({row.page_id for row in read_attribution(one)} for one in (first, second))
    assert (len(used), len(others), used & others) == (10, 18, set())
    with pytest.raises(BuilderError, match=r"expected pages of de\.wiki.*, found those of en\.wiki"):
        parse_kind("exclude", f"dataset:{first}", LANGUAGES["de"], STORED)
    with pytest.raises(BuilderError, match="expected the attribution of a dataset"):
        parse_kind("exclude", f"dataset:{tmp_path}", EN, STORED)


def test_other_conditions_make_a_rejected_page_missing_again(tmp_path: Path) -> None:
    wanted = [Wanted(title="A"), Wanted(title="B")]
    with Store.create(tmp_path / "a.store") as store:
        store.want("en", wanted)
        store.ask_again("en", "one")
        rejected = Rejected(title="A", reason="too-short", detail="")
        store.add("en", [], origin="x", settled=wanted, rejected=[rejected])
        store.ask_again("en", "one")
        assert store.missing("en") == []
        store.ask_again("en", "another")  # also of pages that are not selected now
        assert store.missing("en") == [Wanted(title="A")]
        assert status_of(store, "en").missing == 0  # it is rejected, until a run asks for it
        store.add("en", [numbered_page(1, "text", "C")], origin="x")
        store.want("en", [Wanted(title="C"), Wanted(title="C", as_of="2015-01-01T00:00:00Z")])
        assert status_of(store, "en").missing == 1  # an older one


def test_every_kind_is_documented() -> None:
    page = (ROOT / "docs" / "fetching.md").read_text(encoding="utf-8")
    for form in FILTERS:
        assert f"`{form.partition(':')[0]}" in page, form
