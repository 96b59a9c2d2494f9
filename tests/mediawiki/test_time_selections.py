"""Selections by time, against a real MediaWiki whose pages have histories made for them: each trap counts."""

from collections import Counter
from pathlib import Path

import pytest
import requests

import wikitext_builder as wb
from tests.mediawiki import histories
from tests.mediawiki.asking import ask, child, fetch_pages, lock_text, stored, titles, wait_for
from tests.mediawiki.histories import BOT_PAGE, RIVERS, SINCE
from tests.mediawiki.wiki import Wiki
from wikitext_builder.errors import BuilderError
from wikitext_builder.pages.fetch import PagesReport
from wikitext_builder.pages.reading import status_of
from wikitext_builder.pages.selections import parse_selection, parse_wishes
from wikitext_builder.pages.store import Store
from wikitext_builder.wiki.languages import LANGUAGES

EN = LANGUAGES["en"]


def split(table: dict[str, str]) -> tuple[dict[str, str], dict[str, str]]:
    """What is selected, with its date, and what is not, with the reason."""
    chosen = {title: what for title, what in table.items() if what[0] != "!"}
    return chosen, {title: what[1:] for title, what in table.items() if title not in chosen}


SUMMER = f"{SINCE}..2020-08-31"
WITH_RIVERS = {**histories.PAGES["created since"], **dict.fromkeys(RIVERS, histories.SERIES_DAY)}
CREATED, NOT_CREATED = split(WITH_RIVERS)
PROMOTED, NOT_PROMOTED = split(histories.PAGES["promoted since"])
PERSONS = {title for title in CREATED if title not in (*RIVERS, BOT_PAGE)}


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
    *select: str,
    include: tuple[str, ...] = (),
    exclude: tuple[str, ...] = (),
    as_of: str = "",
    parallel: int = 1,
    waits: list[float] | None = None,
) -> PagesReport:
    """Fetch what texts select."""
    selections = [parse_selection(text, EN) for text in select]
    wishes = parse_wishes(include, exclude, EN)
    with ask(api, waits, parallel=parallel) as wikipedia:
        return fetch_pages(store, wikipedia, selections, wishes=wishes, as_of=as_of)


def dates(store: Store, what: str) -> dict[str, str]:
    return {one.title: getattr(one, what)[:10] for one in store.revisions("en")}


def reasons(store: Store) -> dict[str, str]:
    return {one.title: one.reason for one in store.rejected("en")}


def kept(store: Store) -> set[str]:
    return {one.title for one in store.revisions("en")}


# --- created


def test_created_since_takes_what_is_new_and_names_every_trap(wiki: Wiki, tmp_path: Path) -> None:
    with stored(tmp_path) as store:
        report = selected(wiki.api, store, f"created-since:{SUMMER}")
        assert dates(store, "created") == CREATED
        assert reasons(store) == NOT_CREATED
        assert report.rejected == dict(sorted(Counter(NOT_CREATED.values()).items()))
        assert status_of(store, "en").rejected == report.rejected
        # siteinfo, the begin of the log, three logs, today's titles, one batch, two logs of histories; and
        # the first revision of each page that is an article
        first = len(CREATED) + len(NOT_CREATED) - 5
        assert report.requests == 9 + first
        again = selected(wiki.api, store, f"created-since:{SUMMER}")
        assert (again.fetched, again.requests) == (0, 1)


def test_the_end_of_a_span_leaves_out_what_came_later(wiki: Wiki, tmp_path: Path) -> None:
    with stored(tmp_path) as store:
        selected(wiki.api, store, "created-since:2020-07-06..2020-07-10")
        assert dates(store, "created") == {"Copied silently": "2020-07-09"}
        selected(wiki.api, store, "titles:" + str(titles(tmp_path, "In August").path),
                 include=("created-since:2020-07-06..2020-07-10",))  # fmt: skip
        assert reasons(store)["In August"] == "created-later"


def test_a_date_before_the_log_of_creations_is_an_error(wiki: Wiki, tmp_path: Path) -> None:
    with (
        stored(tmp_path) as store,
        pytest.raises(BuilderError, match=r"begins at 2020-03-01.*--include created"),
    ):
        selected(wiki.api, store, "created-since:2019-01-01")


def test_recent_takes_what_the_log_names_and_proves_nothing(wiki: Wiki, tmp_path: Path) -> None:
    with stored(tmp_path) as store:
        report = selected(wiki.api, store, f"recent:{SUMMER}")
        assert kept(store) == {*CREATED, "Got a past", "Merged into", "Split off"} - {"Fresh draft"}
        whys = {"missing", "redirect", "other-namespace", "list", "disambiguation"}
        assert set(reasons(store).values()) == whys
        assert report.requests == 5


# --- promoted


def test_promoted_since_does_not_believe_the_category_alone(wiki: Wiki, tmp_path: Path) -> None:
    with stored(tmp_path) as store:
        report = selected(wiki.api, store, f"promoted-since:{SINCE}")
        assert dates(store, "promoted") == PROMOTED
        assert reasons(store) == NOT_PROMOTED
        assert report.rejected == dict(sorted(Counter(NOT_PROMOTED.values()).items()))
        # siteinfo, two listings, one batch; per page its text at the date and a month before, and at most two
        # of its talk page
        assert report.requests <= 4 + 3 * len(PROMOTED | NOT_PROMOTED)


def test_a_promotion_after_the_span_is_not_counted(wiki: Wiki, tmp_path: Path) -> None:
    with stored(tmp_path) as store:
        selected(wiki.api, store, f"promoted-since:{SUMMER}")
        assert reasons(store) == {**NOT_PROMOTED, "Promoted in September": "promoted-later"}


def test_any_selection_can_be_asked_whether_it_was_promoted_since(wiki: Wiki, tmp_path: Path) -> None:
    file = titles(tmp_path, *histories.PROMOTIONS)
    with stored(tmp_path) as store:
        selected(wiki.api, store, f"titles:{file.path}", include=(f"promoted-since:{SINCE}",))
        assert dates(store, "promoted") == PROMOTED
        others = {
            "Demoted": "not-promoted",
            "Never promoted": "not-promoted",
            "Promoted long ago": "promoted-earlier",
        }
        assert reasons(store) == {**NOT_PROMOTED, **others}


# --- conditions


ALL = set(CREATED)
RECENT = {"By the same user on another day", BOT_PAGE, "In August"}


OTHERS = len(ALL) - 1


@pytest.mark.parametrize(
    ("include", "exclude", "titles_kept", "reason"),
    [
        ("words:100-", "", {"New article"}, {"too-short": OTHERS}),
        ("words:-100", "", ALL - {"New article"}, {"too-long": 1}),
        ("bytes:0-70", "", ALL - {"New article", "New stub", "Copied silently"}, {"too-long": 3}),
        ("", "stubs", ALL - {"New stub"}, {"without-stubs": 1}),
        ("stubs", "", {"New stub"}, {"within-stubs": OTHERS}),
        ("", "series", PERSONS, {"without-series": len(RIVERS) + 1}),
        ("recent:2020-07-15", "", RECENT, {"within-recent": len(ALL) - 3}),
        ("", f"recent:{SUMMER}", {"Fresh draft"}, {"without-recent": OTHERS}),
        ("", "created-since:2020-07-01", {"Fresh draft"}, {"without-created-since": OTHERS}),
        ("quality:B, GA", "", {"New article", "In August"}, {"within-quality": len(ALL) - 2}),
    ],
    ids=lambda value: value if isinstance(value, str) else "",  # of a set: another each time
)
def test_conditions_filter_what_is_selected(
    wiki: Wiki,
    tmp_path: Path,
    include: str,
    exclude: str,
    titles_kept: set[str],
    reason: dict[str, int],
) -> None:
    wiki.set(ASSESSMENTS)
    file = titles(tmp_path, *CREATED)
    with stored(tmp_path) as store:
        within, without = ((one,) if one else () for one in (include, exclude))
        report = selected(wiki.api, store, f"titles:{file.path}", include=within, exclude=without)
        assert kept(store) == titles_kept
        counted = Counter(one.reason for one in store.rejected("en") if one.title in CREATED)
        assert dict(counted) == reason
        assert report.fetched == len(titles_kept)


# The extension PageAssessments, which Debian does not have: what its module of the API answers.
ASSESSMENTS = """
class LabAssessments extends ApiQueryBase {
    public function __construct( $query, $name ) { parent::__construct( $query, $name, 'pa' ); }
    public function getAllowedParams() { return [ 'limit' => [ ApiBase::PARAM_TYPE => 'string' ] ]; }
    public function execute() {
        $classes = [ 'New article' => 'B', 'In August' => 'GA', 'New stub' => 'Stub' ];
        foreach ( $this->getPageSet()->getGoodPages() as $id => $page ) {
            $title = str_replace( '_', ' ', $page->getDBkey() );
            if ( isset( $classes[$title] ) ) {
                $rated = [ 'Rivers' => [ 'class' => $classes[$title], 'importance' => 'Low' ] ];
                $this->getResult()->addValue( [ 'query', 'pages', $id ], 'pageassessments', $rated );
            }
        }
    }
}
$wgAPIPropModules['pageassessments'] = LabAssessments::class;
"""


def test_a_wiki_without_assessments_is_an_error(wiki: Wiki, tmp_path: Path) -> None:
    file = titles(tmp_path, "New article")
    with stored(tmp_path) as store, pytest.raises(BuilderError, match="has no assessments"):
        selected(wiki.api, store, f"titles:{file.path}", include=("quality:B",))


def test_a_lock_file_is_left_out_also_if_a_page_was_moved_since(
    wiki: Wiki, summer: Path, tmp_path: Path
) -> None:
    with Store.open(summer) as store:
        locked = lock_text(store)
    moved = [line.replace("Moved article", "Working title") for line in locked.splitlines(keepends=True)
             if line.startswith(("#", "title\t", "Moved article", "New article"))]  # fmt: skip
    (tmp_path / "old.lock").write_text("".join(moved), encoding="utf-8", newline="")
    with stored(tmp_path) as store:
        report = selected(wiki.api, store, f"recent:{SUMMER}", exclude=(f"lock:{tmp_path / 'old.lock'}",))
        assert not kept(store) & {"Moved article", "New article"}
        assert report.rejected["without-lock"] == 2


def test_other_conditions_ask_again_what_was_rejected(wiki: Wiki, tmp_path: Path) -> None:
    select = f"created-since:{SUMMER}"
    with stored(tmp_path) as store:
        assert selected(wiki.api, store, select, include=("words:100-",)).fetched == 1
        same = selected(wiki.api, store, select, include=("words:100-",))
        assert (same.fetched, same.requests) == (0, 1)
        assert selected(wiki.api, store, select).fetched == len(CREATED) - 1
        assert reasons(store) == NOT_CREATED


def test_a_page_that_one_selection_rejects_comes_by_another_without_its_condition(
    wiki: Wiki, tmp_path: Path
) -> None:
    older = {"Got a past", "Imported", "Merged into", "Old draft", "Split off"}
    select, file = f"created-since:{SUMMER}", titles(tmp_path, *older, "Deleted soon")
    with stored(tmp_path) as store:
        selected(wiki.api, store, select)
        assert reasons(store) == NOT_CREATED
        assert selected(wiki.api, store, select, f"titles:{file.path}").fetched == len(older)
        assert older <= kept(store)
        assert reasons(store).keys() == NOT_CREATED.keys() - older
        again = selected(wiki.api, store, select, f"titles:{file.path}")
        assert (again.fetched, again.requests) == (0, 1)


def test_at_a_date_the_text_of_that_date_counts(wiki: Wiki, tmp_path: Path) -> None:
    with stored(tmp_path) as store:
        select = f"promoted-since:{SUMMER}"
        selected(wiki.api, store, select, as_of="2020-08-31T23:59:59Z")
        assert dates(store, "promoted") == {
            title: when for title, when in PROMOTED.items() if "September" not in title
        }
        assert reasons(store)["Promoted in September"] == "no-mark"


# --- locks and builds


def test_dates_are_in_the_lock_file_and_come_back_with_it(wiki: Wiki, tmp_path: Path) -> None:
    with stored(tmp_path) as store:
        selected(wiki.api, store, f"created-since:{SUMMER}", f"promoted-since:{SINCE}")
        assert dates(store, "created").items() >= CREATED.items()
        text = lock_text(store)
    (tmp_path / "a.store").rename(tmp_path / "first.store")
    (tmp_path / "first.lock").write_text(text, encoding="utf-8", newline="")
    with stored(tmp_path) as store:
        selected(wiki.api, store, f"lock:{tmp_path / 'first.lock'}")
        assert lock_text(store) == text
    assert wb.lock(tmp_path / "first.store").splitlines()[1:] == text.splitlines()[1:]


def test_live_sets_of_two_spans_come_from_one_store_and_again_from_their_locks(
    wiki: Wiki, summer: Path, tmp_path: Path
) -> None:
    for part in ("2020-06-01..2020-07-11", "2020-07-12..2020-08-31"):
        first, _, last = part.partition("..")
        out = tmp_path / first
        wb.build("live", summer, out, include=f"created-since:{part}", workers=1)
        lines = (out / "titles.lock").read_text(encoding="utf-8").splitlines()
        assert lines[1].split("\t")[5:] == ["created", "promoted"]
        expected = {title: when for title, when in CREATED.items() if first <= when <= last}
        assert {row[0]: row[5][:10] for row in (line.split("\t") for line in lines[2:])} == expected
        days = sorted(expected.values())
        assert f"from {days[0]} to {days[-1]}" in (out / "README.md").read_text(encoding="utf-8")
        (tmp_path / f"theirs {first}").mkdir()
        with stored(tmp_path / f"theirs {first}") as store:
            selected(wiki.api, store, f"lock:{out / 'titles.lock'}")
        theirs, again = tmp_path / f"theirs {first}" / "a.store", tmp_path / f"again {first}"
        wb.build("live", theirs, again, lock=out / "titles.lock", workers=1)
        assert (again / "manifest.json").read_bytes() == (out / "manifest.json").read_bytes()


# --- faults


BUSY, CUT = {"status": 503, "headers": {"Retry-After": "7"}}, {"cut_bytes": 30}
OF_CREATED = ["letype=create", "letype=merge", "prop=info", "rvdir=newer", "ucuser="]


@pytest.mark.parametrize(
    ("select", "matches", "rule", "found"),
    [
        (f"created-since:{SUMMER}", OF_CREATED, BUSY, PERSONS),
        (f"created-since:{SUMMER}", OF_CREATED, CUT, PERSONS),
        (f"promoted-since:{SINCE}", ["cmsort=timestamp", "clprop=timestamp"], CUT, PROMOTED.keys()),
    ],
    ids=["busy", "cut", "cut in the proof of a promotion"],
)
def test_a_fault_that_passes_costs_a_wait_and_nothing_else(
    wiki: Wiki, tmp_path: Path, select: str, matches: list[str], rule: dict[str, object], found: set[str]
) -> None:
    """Each kind of request fails twice; its waits show that each did."""
    waits: list[float] = []
    wiki.fail(*({"match": one, "times": 2, **rule} for one in matches))
    with stored(tmp_path) as store:
        exclude = ("series",) if "ucuser=" in matches else ()
        selected(wiki.api, store, select, exclude=exclude, waits=waits)
        assert kept(store) == found
        assert reasons(store).items() >= (NOT_CREATED if exclude else NOT_PROMOTED).items()
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
    names = [*CREATED, "Merged into", "Got a past", "Promoted"]
    (tmp_path / "history.xml").write_text(exported(wiki, names, history="1"), encoding="utf-8")
    (tmp_path / "newest.xml").write_text(exported(wiki, names, curonly="1"), encoding="utf-8")
    report = wb.import_dump(
        tmp_path / "a.store", tmp_path / "history.xml", keep="all", include=f"created-since:{SUMMER}"
    )
    with Store.open(tmp_path / "a.store") as store:
        assert dates(store, "created") == CREATED
    assert report.skipped == {"created-earlier": 3}
    newest = wb.import_dump(
        tmp_path / "b.store", tmp_path / "newest.xml", keep="all", include=f"created-since:{SUMMER}"
    )
    with Store.open(tmp_path / "b.store") as store:
        # pages of one revision; and it cannot see that older ones were merged before that one
        assert kept(store) == {*CREATED, "Merged into"} - {"Moved article", "Fresh draft"}
    assert newest.skipped == {"creation-unknown": 4}


def exported(wiki: Wiki, names: list[str], **which: str) -> str:
    """Pages by Special:Export."""
    form = {"pages": "\n".join(names), "wpDownload": "1", "action": "submit", **which}
    text = requests.post(wiki.api.replace("api.php", "index.php?title=Special:Export"), data=form).text
    assert text.startswith("<mediawiki")
    return text
