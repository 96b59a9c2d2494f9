"""Conditions without a wiki: how they are written, what they take, and in `import` and `build`."""

import re
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest

import wikitext_builder as wb
from tests.cases import cases
from tests.conftest import ROOT
from tests.dumps import numbered_page
from wikitext_builder.article import Page
from wikitext_builder.errors import BuilderError
from wikitext_builder.fetching.page_filters import (
    FILTERS,
    REVISION_FILTERS,
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


def reason(
    include: Texts = (),
    exclude: Texts = (),
    *,
    page: Page = PAGE,
    language: Language = EN,
    first_of: FirstOf = KNOWN,
) -> str:
    """Why conditions reject a page; empty if they take it."""
    fault = first_fault(rules_of(include, exclude, language), page, first_of)
    return fault[0] if fault else ""


def test_a_page_is_so_or_not() -> None:
    assert len(PAGE.wikitext.encode()) == 66
    faults: list[tuple[str, ...]] = []
    for case in cases("fetching", "a page is so or not"):
        whys = (reason(case["text"]), reason((), case["text"]))
        if whys != (case["include"], case["exclude"]):
            faults.append((case["text"], *whys))
    for case in cases("fetching", "a summary that names the page of the text"):
        why = reason("created-since:2020-01-01", first_of=created(summary=case["summary"]))
        if why != ("split" if case["copied"] else ""):
            faults.append((case["summary"][:80], why))
        if classifier(LANGUAGES["de"]).copied_from(case["summary"]):  # no words are known
            faults.append((case["summary"][:80], "de"))
    assert faults == []
    unknown = created(timestamp="")
    assert reason("created-since:2020-01-01", first_of=unknown) == "creation-unknown"
    assert reason((), "created-since:2020-01-01", first_of=unknown) == "creation-unknown"


def test_stubs_of_each_wikipedia_and_named_templates() -> None:
    faults = []
    for case in cases("fetching", "stubs of each wikipedia"):
        for text, expected in ((case["stubs"], ""), (case["others"], "within-stubs")):
            for call in re.findall(r"(?:<!-- )?\{\{.*?\}\}(?: -->)?", text):
                page = replace(PAGE, wikitext=f"Text. {call}")
                if reason("stubs", page=page, language=LANGUAGES[case["code"]]) != expected:
                    faults.append((case["code"], call))
    river = replace(PAGE, wikitext="Un río. {{Plantilla:esbozo|ríos}}")
    for case in cases("fetching", "templates can be named"):
        names = case["names"]
        fault = first_fault(rules_of(f"template:{names}", (), LANGUAGES["es"]), river, KNOWN)
        missing = ("within-template", f"it calls none of the templates {names}")
        if fault != (None if case["called"] else missing):
            faults.append((names, str(fault)))
    assert faults == []
    assert rules_of("stubs") == rules_of(["stubs"])  # arguments can be one text


def test_cheap_rules_go_first_so_that_a_wiki_is_not_asked() -> None:
    def asked(page_id: int) -> FirstRevision:
        raise AssertionError(page_id)

    rules = rules_of(["created-since:2030-01-01", "words:1000-", "bytes:1000-"])
    assert first_fault(rules, PAGE, asked) == ("too-short", "66 bytes, fewer than 1,000")


def test_what_is_wrong_is_an_error_that_says_what_is_right() -> None:
    faults = []
    for case in cases("fetching", "what is wrong is an error that says what is right"):
        with pytest.raises(BuilderError) as raised:
            rules_of(case["text"])
        message = str(raised.value)
        if not (message.startswith(f"--include {case['text']}") and re.search(case["words"], message)):
            faults.append(message)
    assert faults == []
    with pytest.raises(BuilderError, match="no page has 300 or more and 100 or fewer"):
        rules_of("words:300-100")
    with pytest.raises(BuilderError, match=r"known for the de Wikipedia.*template:NAME"):
        rules_of((), "stubs", LANGUAGES["de"])


def test_spans_have_both_days() -> None:
    span = parse_span("2026-01-01..2026-01-31")
    moments = ("2025-12-31T23:59:59Z", "2026-01-01T00:00:00Z", "2026-01-31T23:59:59Z", "2026-02-01T00:00:00Z")
    assert [span.has(moment) for moment in moments] == [False, True, True, False]
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


def write_lock(path: Path, revisions: Sequence[Revision], language: Language = EN) -> None:
    path.write_text("".join(lock_lines(revisions, language)), encoding="utf-8", newline="")


def test_dates_in_a_lock_file_are_read_back(tmp_path: Path) -> None:
    path = tmp_path / "a.lock"
    for revisions, columns in (([*DATED, revision(3)], 6), ([revision(3)], 5)):
        write_lock(path, revisions)
        assert len(path.read_text(encoding="utf-8").splitlines()[1].split("\t")) == columns
        rows = read_lock(path, language="en")
        assert [(row, row.created) for row in rows] == [(row, row.created) for row in revisions]
    text = path.read_text(encoding="utf-8").replace("sha1\n", "sha1\tcreated\n")
    path.write_text(text.replace("a" * 40, "a" * 40 + "\tsoon"), encoding="utf-8")
    with pytest.raises(BuilderError, match="'soon' is not a created"):
        read_lock(path, language="en")


def test_a_build_takes_what_is_included_and_not_excluded(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("titles.txt").write_text("Page 3\n", encoding="utf-8")
    Path("small.txt").write_text("page_3\n", encoding="utf-8")  # MediaWiki takes it for the same title
    write_lock(Path("some.lock"), [revision(1)])
    faults = []
    for case in cases("fetching", "a build takes what is included and not excluded"):
        rows = chosen([*DATED, revision(3)], case["include"], case["exclude"], "en")
        if [row.page_id for row in rows] != case["pages"]:
            faults.append((case, rows))
    assert faults == []


def test_a_lock_file_knows_a_page_that_was_moved_and_its_wiki(tmp_path: Path) -> None:
    path, other = tmp_path / "a.lock", replace(EN, index="https://wiki.example/index.php")
    write_lock(path, [revision(1)])
    condition = parse_kind("exclude", f"lock:{path}", EN, REVISION_FILTERS)
    moved = replace(revision(1), title="Another", revision_id=5)
    same_title = replace(revision(1), page_id=9, revision_id=5)
    whys = [condition.why_not(row, KNOWN) for row in (moved, same_title, DATED[1])]
    assert [why is None for why in whys] == [True, True, False]
    write_lock(path, [revision(1)], other)
    assert parse_kind("exclude", f"lock:{path}", other, REVISION_FILTERS).why_not(revision(1), KNOWN) is None
    with pytest.raises(BuilderError, match=r"expected pages of en\.wikipedia.*, found those of wiki\.ex"):
        parse_kind("exclude", f"lock:{path}", EN, REVISION_FILTERS)
    # A fetch or an import does not know yet that it is of another wiki than Wikipedia.
    assert reason((), f"lock:{path}") == ""


def test_builds_from_the_same_pages_leave_out_a_lock_file_or_another_dataset(tmp_path: Path) -> None:
    store, first, second = tmp_path / "a.store", tmp_path / "first", tmp_path / "second"
    wb.import_dump(store, SAMPLE)
    whole = wb.lock(store).splitlines(keepends=True)
    (tmp_path / "some.lock").write_text("".join([*whole[:2], *whole[2:8]]), encoding="utf-8", newline="")
    wb.build("demo", store, tmp_path / "out", exclude=f"lock:{tmp_path / 'some.lock'}", workers=1)
    left = (tmp_path / "out" / "titles.lock").read_text(encoding="utf-8").splitlines(keepends=True)
    assert left[1:] == [whole[1], *whole[8:]]
    with pytest.raises(BuilderError, match="no pages of 'en' to build from"):
        wb.build("demo", store, tmp_path / "none", include="created-since:2020-01-01", workers=1)

    wb.build("live", store, first, test_articles=10, workers=1)
    with pytest.raises(BuilderError, match=r"leave none of its 28\. .* `dataset:FOLDER` names those"):
        wb.build("live", store, second, exclude=f"lock:{first / 'titles.lock'}", workers=1)
    wb.build("live", store, second, exclude=f"dataset:{first}", workers=1)
    used, others = ({row.page_id for row in read_attribution(folder)} for folder in (first, second))
    assert (len(used), len(others), used & others) == (10, 18, set())
    with pytest.raises(BuilderError, match=r"expected pages of de\.wiki.*, found those of en\.wiki"):
        parse_kind("exclude", f"dataset:{first}", LANGUAGES["de"], REVISION_FILTERS)
    with pytest.raises(BuilderError, match="expected the attribution of a dataset"):
        parse_kind("exclude", f"dataset:{tmp_path}", EN, REVISION_FILTERS)


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
