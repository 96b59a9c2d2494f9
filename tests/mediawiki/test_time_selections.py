"""Selections by time, against a real MediaWiki whose pages have histories made for them: each trap counts."""

from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import pytest
import requests

import wikitext_builder as wb
from tests.mediawiki import histories
from tests.mediawiki.asking import (
    StoppedError,
    ask,
    fetch_pages,
    interrupted_at,
    lock_text,
    stored,
    titles,
)
from tests.mediawiki.histories import SINCE
from tests.mediawiki.wiki import Wiki
from wikitext_builder.errors import BuilderError
from wikitext_builder.fetching.fetch import PagesReport
from wikitext_builder.fetching.selections import parse_conditions, parse_selections
from wikitext_builder.progress import Progress, no_progress
from wikitext_builder.store.reading import status_of
from wikitext_builder.store.store import Store
from wikitext_builder.wiki.languages import LANGUAGES

EN = LANGUAGES["en"]
SUMMER = f"{SINCE}..2020-08-31"
WHOLE = f"created-since:{SUMMER}"
# What is selected, with its date, and what is not, with the reason.
CREATED = {title: day for title, day in histories.PAGES["created since"].items() if day[0] != "!"}
NOT_CREATED = {title: why[1:] for title, why in histories.PAGES["created since"].items() if why[0] == "!"}


def selected(
    api: str,
    store: Store,
    select: str,
    *,
    include: Sequence[str] = (),
    exclude: Sequence[str] = (),
    parallel: int = 1,
    progress: Progress = no_progress,
) -> PagesReport:
    """Fetch what texts select."""
    selections, conditions = parse_selections(select, EN), parse_conditions(include, exclude, EN)
    with ask(api, parallel=parallel) as wikipedia:
        return fetch_pages(store, wikipedia, selections, conditions=conditions, progress=progress)


def dates(store: Store) -> dict[str, str]:
    return {revision.title: revision.created[:10] for revision in store.revisions("en")}


def reasons(store: Store) -> dict[str, str]:
    return {page.title: page.reason for page in store.rejected("en")}


def kept(store: Store) -> set[str]:
    return {revision.title for revision in store.revisions("en")}


@pytest.fixture(scope="module")
def summer(running: Wiki, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A store with what was created in the summer, to be read."""
    folder = tmp_path_factory.mktemp("summer")
    with stored(folder) as store:
        report = selected(running.api, store, WHOLE)
        assert dates(store) == CREATED
        assert reasons(store) == NOT_CREATED
        assert report.rejected == dict(sorted(Counter(NOT_CREATED.values()).items()))
        assert status_of(store, "en").rejected == report.rejected
        # siteinfo, the begin of the log, two logs, today's titles and one batch; and the first revision of
        # each page but five, which are no articles
        assert report.requests == 6 + len(CREATED) + len(NOT_CREATED) - 5
        again = selected(running.api, store, WHOLE)
        assert (again.fetched, again.requests) == (0, 1)
    return folder / "a.store"


def test_spans_and_the_log_decide_what_is_taken(wiki: Wiki, tmp_path: Path) -> None:
    span, file = "created-since:2020-07-06..2020-07-10", titles(tmp_path, "In August").path
    with stored(tmp_path) as store:
        words = r"begins at 2020-03-01.*--include created"
        with pytest.raises(BuilderError, match=words):
            selected(wiki.api, store, "created-since:2019-01-01")
        selected(wiki.api, store, span)
        assert dates(store) == {"Copied silently": "2020-07-09"}
        selected(wiki.api, store, f"titles:{file}", include=[span])
        assert reasons(store)["In August"] == "created-later"
    (tmp_path / "recent").mkdir()
    with stored(tmp_path / "recent") as store:  # what the log names, without a proof
        report = selected(wiki.api, store, f"recent:{SUMMER}")
        assert kept(store) == {*CREATED, "Merged into", "Split off"} - {"Fresh draft"}
        whys = {"missing", "redirect", "other-namespace", "list", "disambiguation"}
        assert set(reasons(store).values()) == whys
        assert report.requests == 5


def test_conditions_filter_what_is_selected(wiki: Wiki, tmp_path: Path) -> None:
    file, everything = titles(tmp_path, *CREATED), set(CREATED)
    others = len(CREATED) - 1
    faults = []
    for number, (include, exclude, expected, why) in enumerate(
        (
            ("words:100-", "", {"New article"}, {"too-short": others}),
            ("words:-100", "", everything - {"New article"}, {"too-long": 1}),
            ("bytes:0-70", "", everything - {"New article", "New stub", "Copied silently"}, {"too-long": 3}),
            ("", "stubs", everything - {"New stub"}, {"without-stubs": 1}),
            ("stubs", "", {"New stub"}, {"within-stubs": others}),
            ("recent:2020-07-15", "", {"In August"}, {"within-recent": others}),
            ("", f"recent:{SUMMER}", {"Fresh draft"}, {"without-recent": others}),
            ("", "created-since:2020-07-01", {"Fresh draft"}, {"without-created-since": others}),
        )
    ):
        (tmp_path / str(number)).mkdir()
        with stored(tmp_path / str(number)) as store:
            report = selected(
                wiki.api, store, f"titles:{file.path}", include=include.split(), exclude=exclude.split()
            )
            counted = Counter(page.reason for page in store.rejected("en") if page.title in CREATED)
            result = (kept(store), dict(counted), report.fetched)
        if result != (expected, why, len(expected)):
            faults.append((include, exclude, result))
    assert faults == []


def test_a_lock_file_is_left_out_also_if_a_page_was_moved_since(
    wiki: Wiki, summer: Path, tmp_path: Path
) -> None:
    with Store.open(summer) as store:
        locked = lock_text(store)
    moved = [line.replace("Moved article", "Working title") for line in locked.splitlines(keepends=True)
             if line.startswith(("#", "title\t", "Moved article", "New article"))]  # fmt: skip
    (tmp_path / "old.lock").write_text("".join(moved), encoding="utf-8", newline="")
    with stored(tmp_path) as store:
        report = selected(wiki.api, store, f"recent:{SUMMER}", exclude=[f"lock:{tmp_path / 'old.lock'}"])
        assert not kept(store) & {"Moved article", "New article"}
        assert report.rejected["without-lock"] == 2


def test_what_is_rejected_comes_by_other_conditions_or_another_selection(wiki: Wiki, tmp_path: Path) -> None:
    older = {"Merged into", "Old draft", "Split off"}
    by_title = f"titles:{titles(tmp_path, *older, 'Deleted soon').path}"
    with stored(tmp_path) as store:
        assert selected(wiki.api, store, WHOLE, include=["words:100-"]).fetched == 1
        same = selected(wiki.api, store, WHOLE, include=["words:100-"])
        assert (same.fetched, same.requests) == (0, 1)
        assert selected(wiki.api, store, WHOLE).fetched == len(CREATED) - 1
        assert reasons(store) == NOT_CREATED
        assert selected(wiki.api, store, by_title).fetched == len(older)
        assert older <= kept(store)
        assert reasons(store).keys() == NOT_CREATED.keys() - older
        again = selected(wiki.api, store, by_title)
        assert (again.fetched, again.requests) == (0, 1)


def test_live_sets_of_two_spans_come_from_one_store_and_again_from_their_locks(
    wiki: Wiki, summer: Path, tmp_path: Path
) -> None:
    for part in ("2020-06-01..2020-07-10", "2020-07-11..2020-08-31"):
        first, _, last = part.partition("..")
        out = tmp_path / first
        wb.build("live", summer, out, include=f"created-since:{part}", workers=1)
        rows = [line.split("\t") for line in (out / "titles.lock").read_text("utf-8").splitlines()[2:]]
        expected = {title: when for title, when in CREATED.items() if first <= when <= last}
        assert {row[0]: row[5][:10] for row in rows} == expected
        days = sorted(expected.values())
        assert f"from {days[0]} to {days[-1]}" in (out / "README.md").read_text(encoding="utf-8")
        (tmp_path / f"theirs {first}").mkdir()
        with stored(tmp_path / f"theirs {first}") as store:
            selected(wiki.api, store, f"lock:{out / 'titles.lock'}")
            assert dates(store) == expected
        theirs, again = tmp_path / f"theirs {first}" / "a.store", tmp_path / f"again {first}"
        wb.build("live", theirs, again, lock=out / "titles.lock", workers=1)
        assert (again / "manifest.json").read_bytes() == (out / "manifest.json").read_bytes()


@pytest.mark.parametrize(
    ("stage", "least"),
    [("listing-log-create-since-2020-06-01", 5), ("finding-new-pages", 1), ("fetching", 0)],
)
def test_a_stopped_selection_resumes(
    wiki: Wiki, summer: Path, tmp_path: Path, stage: str, least: int
) -> None:
    with Store.open(summer) as store:
        whole = lock_text(store)
    stop = interrupted_at(stage, least)
    with stored(tmp_path) as store:
        with pytest.raises(StoppedError):
            selected(wiki.api, store, WHOLE, progress=stop)
        assert len(store.revisions("en")) < len(CREATED)
        selected(wiki.api, store, WHOLE, parallel=3)
        assert lock_text(store) == whole
        assert reasons(store) == NOT_CREATED


def test_a_dump_with_history_has_first_revisions(wiki: Wiki, tmp_path: Path) -> None:
    """The wiki's own export of all revisions, as dumps with history are made."""
    names, include = [*CREATED, "Merged into"], f"created-since:{SUMMER}"
    expected = {  # export: what is kept, and what is not
        "history": (set(CREATED), {"created-earlier": 1}),
        # pages of one revision; and it cannot see that older ones were merged before that one
        "curonly": ({*CREATED, "Merged into"} - {"Moved article", "Fresh draft"}, {"creation-unknown": 2}),
    }
    for kind, (there, skipped) in expected.items():
        (tmp_path / f"{kind}.xml").write_text(exported(wiki, names, **{kind: "1"}), encoding="utf-8")
        path = tmp_path / f"{kind}.store"
        report = wb.import_dump(path, tmp_path / f"{kind}.xml", keep="all", include=include)
        assert report.skipped == skipped
        with Store.open(path) as store:
            assert kept(store) == there
            assert all(day == CREATED.get(title, day) for title, day in dates(store).items())


def exported(wiki: Wiki, names: list[str], **which: str) -> str:
    """Pages by Special:Export."""
    form = {"pages": "\n".join(names), "wpDownload": "1", "action": "submit", **which}
    text = requests.post(wiki.api.replace("api.php", "index.php?title=Special:Export"), data=form).text
    assert text.startswith("<mediawiki")
    return text
