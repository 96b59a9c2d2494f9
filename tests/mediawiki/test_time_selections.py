"""Selections by time, against a real MediaWiki whose pages have histories made for them: each trap counts."""

from collections import Counter
from pathlib import Path

import pytest
import requests

import wikitext_builder as wb
from tests.mediawiki import histories
from tests.mediawiki.asking import ask, child, fetch_pages, lock_text, stored, titles, wait_for
from tests.mediawiki.histories import SINCE
from tests.mediawiki.wiki import Wiki
from wikitext_builder.errors import BuilderError
from wikitext_builder.fetching.fetch import PagesReport
from wikitext_builder.fetching.selections import parse_conditions, parse_selections
from wikitext_builder.store.reading import status_of
from wikitext_builder.store.store import Store
from wikitext_builder.wiki.languages import LANGUAGES

EN = LANGUAGES["en"]
SUMMER = f"{SINCE}..2020-08-31"
# What is selected, with its date, and what is not, with the reason.
CREATED = {title: day for title, day in histories.PAGES["created since"].items() if day[0] != "!"}
NOT_CREATED = {title: why[1:] for title, why in histories.PAGES["created since"].items() if why[0] == "!"}


@pytest.fixture(scope="module")
def summer(running: Wiki, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A store with what was created in the summer; copy it to change it."""
    folder = tmp_path_factory.mktemp("summer")
    with stored(folder) as store:
        selected(running.api, store, f"created-since:{SUMMER}")
    return folder / "a.store"


def selected(
    api: str,
    store: Store,
    select: str,
    *,
    include: str = "",
    exclude: str = "",
    parallel: int = 1,
    waits: list[float] | None = None,
) -> PagesReport:
    """Fetch what texts select."""
    within, without = ((text,) if text else () for text in (include, exclude))
    conditions = parse_conditions(within, without, EN)
    with ask(api, waits, parallel=parallel) as wikipedia:
        return fetch_pages(store, wikipedia, parse_selections(select, EN), conditions=conditions)


def dates(store: Store) -> dict[str, str]:
    return {revision.title: revision.created[:10] for revision in store.revisions("en")}


def reasons(store: Store) -> dict[str, str]:
    return {page.title: page.reason for page in store.rejected("en")}


def kept(store: Store) -> set[str]:
    return {revision.title for revision in store.revisions("en")}


def test_created_since_takes_what_is_new_and_names_every_trap(wiki: Wiki, tmp_path: Path) -> None:
    with stored(tmp_path) as store:
        report = selected(wiki.api, store, f"created-since:{SUMMER}")
        assert dates(store) == CREATED
        assert reasons(store) == NOT_CREATED
        assert report.rejected == dict(sorted(Counter(NOT_CREATED.values()).items()))
        assert status_of(store, "en").rejected == report.rejected
        # siteinfo, the begin of the log, two logs, today's titles and one batch; and the first revision of
        # each page but five, which are no articles
        assert report.requests == 6 + len(CREATED) + len(NOT_CREATED) - 5
        again = selected(wiki.api, store, f"created-since:{SUMMER}")
        assert (again.fetched, again.requests) == (0, 1)


def test_the_end_of_a_span_leaves_out_what_came_later(wiki: Wiki, tmp_path: Path) -> None:
    span, file = "created-since:2020-07-06..2020-07-10", titles(tmp_path, "In August").path
    with stored(tmp_path) as store:
        selected(wiki.api, store, span)
        assert dates(store) == {"Copied silently": "2020-07-09"}
        selected(wiki.api, store, f"titles:{file}", include=span)
        assert reasons(store)["In August"] == "created-later"


def test_a_date_before_the_log_of_creations_is_an_error(wiki: Wiki, tmp_path: Path) -> None:
    words = r"begins at 2020-03-01.*--include created"
    with stored(tmp_path) as store, pytest.raises(BuilderError, match=words):
        selected(wiki.api, store, "created-since:2019-01-01")


def test_recent_takes_what_the_log_names_and_proves_nothing(wiki: Wiki, tmp_path: Path) -> None:
    with stored(tmp_path) as store:
        report = selected(wiki.api, store, f"recent:{SUMMER}")
        assert kept(store) == {*CREATED, "Merged into", "Split off"} - {"Fresh draft"}
        whys = {"missing", "redirect", "other-namespace", "list", "disambiguation"}
        assert set(reasons(store).values()) == whys
        assert report.requests == 5


ALL = set(CREATED)
OTHERS = len(ALL) - 1


@pytest.mark.parametrize(
    ("include", "exclude", "titles_kept", "reason"),
    [
        ("words:100-", "", {"New article"}, {"too-short": OTHERS}),
        ("words:-100", "", ALL - {"New article"}, {"too-long": 1}),
        ("bytes:0-70", "", ALL - {"New article", "New stub", "Copied silently"}, {"too-long": 3}),
        ("", "stubs", ALL - {"New stub"}, {"without-stubs": 1}),
        ("stubs", "", {"New stub"}, {"within-stubs": OTHERS}),
        ("recent:2020-07-15", "", {"In August"}, {"within-recent": OTHERS}),
        ("", f"recent:{SUMMER}", {"Fresh draft"}, {"without-recent": OTHERS}),
        ("", "created-since:2020-07-01", {"Fresh draft"}, {"without-created-since": OTHERS}),
    ],
    ids=lambda value: value if isinstance(value, str) else "",  # of a set: another each time
)
def test_conditions_filter_what_is_selected(
    wiki: Wiki, tmp_path: Path, include: str, exclude: str, titles_kept: set[str], reason: dict[str, int]
) -> None:
    file = titles(tmp_path, *CREATED)
    with stored(tmp_path) as store:
        report = selected(wiki.api, store, f"titles:{file.path}", include=include, exclude=exclude)
        assert kept(store) == titles_kept
        counted = Counter(page.reason for page in store.rejected("en") if page.title in CREATED)
        assert dict(counted) == reason
        assert report.fetched == len(titles_kept)


def test_a_lock_file_is_left_out_also_if_a_page_was_moved_since(
    wiki: Wiki, summer: Path, tmp_path: Path
) -> None:
    with Store.open(summer) as store:
        locked = lock_text(store)
    moved = [line.replace("Moved article", "Working title") for line in locked.splitlines(keepends=True)
             if line.startswith(("#", "title\t", "Moved article", "New article"))]  # fmt: skip
    (tmp_path / "old.lock").write_text("".join(moved), encoding="utf-8", newline="")
    with stored(tmp_path) as store:
        report = selected(wiki.api, store, f"recent:{SUMMER}", exclude=f"lock:{tmp_path / 'old.lock'}")
        assert not kept(store) & {"Moved article", "New article"}
        assert report.rejected["without-lock"] == 2


def test_other_conditions_ask_again_what_was_rejected(wiki: Wiki, tmp_path: Path) -> None:
    select = f"created-since:{SUMMER}"
    with stored(tmp_path) as store:
        assert selected(wiki.api, store, select, include="words:100-").fetched == 1
        same = selected(wiki.api, store, select, include="words:100-")
        assert (same.fetched, same.requests) == (0, 1)
        assert selected(wiki.api, store, select).fetched == len(CREATED) - 1
        assert reasons(store) == NOT_CREATED


def test_a_page_that_one_selection_rejects_comes_by_another(wiki: Wiki, tmp_path: Path) -> None:
    older = {"Merged into", "Old draft", "Split off"}
    select, file = f"created-since:{SUMMER}", titles(tmp_path, *older, "Deleted soon")
    with stored(tmp_path) as store:
        selected(wiki.api, store, select)
        assert reasons(store) == NOT_CREATED
        assert selected(wiki.api, store, f"titles:{file.path}").fetched == len(older)
        assert older <= kept(store)
        assert reasons(store).keys() == NOT_CREATED.keys() - older
        again = selected(wiki.api, store, f"titles:{file.path}")
        assert (again.fetched, again.requests) == (0, 1)


# --- locks and builds


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


# --- faults


@pytest.mark.parametrize("rule", [{"status": 503, "headers": {"Retry-After": "7"}}, {"cut_bytes": 30}])
def test_a_fault_that_passes_costs_a_wait_and_nothing_else(
    wiki: Wiki, tmp_path: Path, rule: dict[str, object]
) -> None:
    """Each kind of request fails twice; its waits show that each did."""
    waits, matches = list[float](), ["letype=create", "letype=move", "prop=info", "rvdir=newer"]
    wiki.fail(*({"match": match, "times": 2, **rule} for match in matches))
    with stored(tmp_path) as store:
        selected(wiki.api, store, f"created-since:{SUMMER}", waits=waits)
        assert (dates(store), reasons(store)) == (CREATED, NOT_CREATED)
    assert len(waits) == 2 * len(matches)


@pytest.mark.parametrize(
    ("stage", "least"),
    [("listing-log-create-since-2020-06-01", 5), ("finding-new-pages", 1), ("fetching", 0)],
)
def test_a_killed_selection_resumes(wiki: Wiki, summer: Path, tmp_path: Path, stage: str, least: int) -> None:
    with Store.open(summer) as store:
        whole = lock_text(store)
    wiki.fail({"match": "rvdir=newer|letype=move", "delay_ms": 300})
    process = child(wiki.api, tmp_path / "a.store", f"created-since:{SUMMER}")
    wait_for(process, stage, least)
    process.kill()
    process.communicate()
    wiki.heal()
    with stored(tmp_path) as store:
        assert len(store.revisions("en")) < len(CREATED)
        selected(wiki.api, store, f"created-since:{SUMMER}", parallel=3)
        assert lock_text(store) == whole
        assert reasons(store) == NOT_CREATED


# --- dumps


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
