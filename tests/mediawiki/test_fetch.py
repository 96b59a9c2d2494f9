"""Pages from a real MediaWiki: what is fetched, what is rejected and why, and with how many requests."""

from collections import Counter
from pathlib import Path

import pytest

from tests.cases import cases
from tests.mediawiki import exports
from tests.mediawiki.asking import DATE, FEATURED, GOOD, ask, fetch_pages, fetched, lock_text, stored, titles
from tests.mediawiki.wiki import Wiki, page_properties
from wikitext_builder.errors import BuilderError
from wikitext_builder.fetching.selections import Category, ListPage, LockFile
from wikitext_builder.store.reading import status_of
from wikitext_builder.store.schema import sha1_of
from wikitext_builder.store.store import Store
from wikitext_builder.wiki.classify import title_fault
from wikitext_builder.wiki.client import Wikipedia
from wikitext_builder.wiki.languages import LANGUAGES

MARKS = [*exports.CORE.values(), "Good"]  # of `Was a redirect`
MEMBERS = exports.ARTICLES + MARKS.count("Good")
STARRED = exports.BIG + MARKS.count("Featured")


def revision_ids(wikipedia: Wikipedia, title: str) -> list[int]:
    """All revisions of a page, oldest first."""
    parts = wikipedia.query({"prop": "revisions", "titles": title, "rvlimit": "max", "rvdir": "newer",
                             "rvprop": "ids", "rvslots": "main"})  # fmt: skip
    return [revision.revision_id for part in parts for revision in part.query.pages[0].revisions]


def reasons(store: Store) -> dict[str, str]:
    return {one.title: one.reason for one in store.rejected("en")}


def test_articles_and_then_their_lock_file_come_in_few_requests_and_nothing_twice(
    wiki: Wiki, tmp_path: Path
) -> None:
    with stored(tmp_path) as store:
        report = fetched(wiki.api, store, GOOD, FEATURED)
        assert (report.selected, report.fetched, report.present) == (MEMBERS + STARRED,) * 2 + (0,)
        assert report.rejected == {}
        assert report.warnings == ()
        # siteinfo, three parts of two listings, seven batches of 50, and one whose texts exceed 8 MiB
        assert report.requests <= 1 + 3 + 7 + 2
        pages = {
            page.title: page for page in store.pages("en", [r.revision_id for r in store.revisions("en")])
        }
        for title, mark in exports.CORE.items():
            assert pages[title].wikitext == f"{exports.article(title, mark)}\nAdded in 2020.\n"
            assert pages[title].timestamp == exports.YEARS[-1]
        assert {len(pages[f"Big {n:02}"].wikitext) > 300_000 for n in range(exports.BIG)} == {True}

        again = fetched(wiki.api, store, GOOD, FEATURED)
        assert (again.fetched, again.present, again.requests) == (0, MEMBERS + STARRED, 1)
        counts = status_of(store, "en")
        assert (counts.pages, counts.wanted, counts.missing) == (MEMBERS + STARRED, MEMBERS + STARRED, 0)
        assert counts.wiki == "wiki"

        fetched(wiki.api, store, titles(tmp_path, *exports.CORE), as_of=DATE)
        text = lock_text(store)
    lock, count = tmp_path / "titles.lock", text.count("\n") - 2
    lock.write_text(text, encoding="utf-8", newline="")
    (tmp_path / "locked").mkdir()
    with stored(tmp_path / "locked") as store:
        report = fetched(wiki.api, store, LockFile(path=lock))
        assert (report.fetched, report.rejected) == (count, {})
        assert report.requests <= 1 + -(-count // 50) + 2
        assert lock_text(store) == text


def test_items_of_wikidata_come_with_the_pages(wiki: Wiki, tmp_path: Path) -> None:
    """Wikibase keeps them as properties of pages; two of these are no items."""
    names = [title for title, mark in exports.CORE.items() if mark == "Good"][:3]
    rows = [(names[0], "Q1490"), (names[1], "Q0"), (names[2], "<b>Q5</b>")]
    properties = page_properties(wiki, [(title, "wikibase_item", item) for title, item in rows])
    with properties, stored(tmp_path) as store:
        fetched(wiki.api, store, titles(tmp_path, *names))
        (page_id,) = [row.page_id for row in store.revisions("en") if row.title == names[0]]
        assert dict(store.items("en")) == {page_id: "Q1490"}
        assert store.item("en", page_id) == "Q1490"


def test_an_empty_answer_with_a_continuation_is_not_the_end(wiki: Wiki, tmp_path: Path) -> None:
    with stored(tmp_path) as store, ask(wiki.api) as wikipedia:
        parts = list(wikipedia.query({"list": "categorymembers", "cmtitle": "Category:Mostly talk",
                                      "cmnamespace": "0", "cmtype": "page", "cmlimit": "max"}))  # fmt: skip
        assert [len(part.query.categorymembers or ()) for part in parts] == [0, 5]
        report = fetch_pages(store, wikipedia, [Category(name="Mostly talk")])
        assert report.fetched == 5


def test_a_limit_takes_the_first_titles_of_the_order(wiki: Wiki, tmp_path: Path) -> None:
    with stored(tmp_path) as store:
        assert fetched(wiki.api, store, GOOD, FEATURED, limit=12).fetched == 12
        first = sorted(r.title for r in store.revisions("en"))
        more = fetched(wiki.api, store, GOOD, FEATURED, limit=60)
        assert (more.present, more.fetched) == (12, 48)
        whole = sorted(r.title for r in store.revisions("en"))
    assert first == whole[:12]
    assert whole[:2] == ['"Heroes" (album)', "0 early 000"]


# The page that a title gives, or after a ! why there is none.
TITLES: dict[str, str] = {case["title"]: case["gives"] for case in cases("wiki", "titles")}


@pytest.mark.parametrize("as_of", ["", "2026-01-01T00:00:00Z"])
def test_every_title_gives_a_page_or_a_reason(wiki: Wiki, tmp_path: Path, as_of: str) -> None:
    with stored(tmp_path) as store:
        report = fetched(wiki.api, store, titles(tmp_path, *TITLES), as_of=as_of)
        assert store.missing("en") == []
        assert Counter(report.rejected) == Counter(w[1:] for w in TITLES.values() if w[0] == "!")
        found = store.redirects("en")
        assert found == {
            n: target for n, target in TITLES.items() if n.startswith(("Plain", "Double", "Section"))
        }
        assert {r.title for r in store.revisions("en")} == {w for w in TITLES.values() if w[0] != "!"}
        assert report.requests == (2 if not as_of else 1 + len(TITLES) - 3)


def test_a_revision_as_of_a_date_costs_one_request(wiki: Wiki, tmp_path: Path) -> None:
    faults = []
    for number, case in enumerate(cases("wiki", "a revision as of a date costs one request")):
        (tmp_path / str(number)).mkdir()
        with stored(tmp_path / str(number)) as store:
            report = fetched(wiki.api, store, titles(tmp_path, "AT&T"), as_of=case["as_of"])
            given = [row.timestamp for row in store.revisions("en")] + [
                f"!{why}" for why in reasons(store).values()
            ]
        if (given, report.requests) != ([case["expected"]], 2):
            faults.append((case["as_of"], given, report.requests))
    assert faults == []


def test_what_was_a_redirect_or_hidden_at_the_date_is_rejected(wiki: Wiki, tmp_path: Path) -> None:
    with stored(tmp_path) as store:
        fetched(wiki.api, store, titles(tmp_path, "Was a redirect", "Hidden old text"), as_of=DATE)
        assert reasons(store) == {"Was a redirect": "was-redirect", "Hidden old text": "hidden"}
        assert fetched(wiki.api, store, titles(tmp_path, "Was a redirect", "Hidden old text")).fetched == 2
        assert reasons(store) == {}, "a page that is here is not rejected any more"


def test_a_list_page_at_a_date_and_at_a_revision(wiki: Wiki, tmp_path: Path) -> None:
    page = ListPage(title="Wikipedia:Good articles/Cities")
    with stored(tmp_path) as store, ask(wiki.api) as wikipedia:
        ids = revision_ids(wikipedia, page.title)
        fetch_pages(store, wikipedia, [page], as_of="2016-07-01T00:00:00Z")
        assert {r.title for r in store.revisions("en")} == {"AT&T", "C++", "Łódź"}
        assert {r.timestamp for r in store.revisions("en")} == {exports.YEARS[1]}
        fetch_pages(store, wikipedia, [ListPage(title=page.title, revision_id=ids[2])])
        assert {r.title for r in store.revisions("en")} == {"AT&T", "C++", "Łódź", "東京", "😀"}
        report = fetch_pages(store, wikipedia, [page])
        assert report.rejected == {"missing": 1}
        before = wikipedia.requests
        fetch_pages(store, wikipedia, [page])
        assert wikipedia.requests == before, "a listing that has ended is not asked again"
        for wrong, words in (
            (ListPage(title="Wikipedia:Good articles"), "transcludes.*Good articles/Cities"),
            (ListPage(title="AT&T", revision_id=ids[2]), "is of 'Wikipedia:Good articles/Cities'"),
            (ListPage(title="Wikipedia:Good articles/Cities", revision_id=10**9), "no revision 1000000000"),
            (ListPage(title="Wikipedia:None"), "no such page"),
        ):
            with pytest.raises(BuilderError, match=words):
                fetch_pages(store, wikipedia, [wrong])


def test_a_lock_file_of_what_is_gone_or_changed_is_rejected_line_by_line(wiki: Wiki, tmp_path: Path) -> None:
    lock = tmp_path / "titles.lock"
    with ask(wiki.api) as wikipedia:
        ids = revision_ids(wikipedia, "Hidden old text")
    good, when = sha1_of("Text 0 of a page."), exports.YEARS[0]
    rows = zip(("Another name", "Changed", "Hidden", "Gone"), (*ids[:3], 10**9), strict=True)
    lines = [f"{title}\t77\t{number}\t{when}\t{good}\n" for title, number in rows]
    head = "# wikitext-builder lock 1; language en; wiki -\ntitle\tpage_id\trevision_id\ttimestamp\tsha1\n"
    lock.write_text(head + "".join(lines), encoding="utf-8", newline="")
    with stored(tmp_path) as store:
        fetched(wiki.api, store, LockFile(path=lock))
        expected = {"Changed": "sha1-mismatch", "Hidden": "hidden", "Gone": "missing-revision"}
        assert reasons(store) == expected
        kept = store.revisions("en")[0]
        assert (kept.title, kept.page_id, kept.revision_id) == ("Another name", 77, ids[0])


def test_a_wiki_or_a_category_that_is_not_the_expected_one_is_refused(wiki: Wiki, tmp_path: Path) -> None:
    with (
        ask(wiki.api, language=LANGUAGES["de"]) as wikipedia,
        pytest.raises(BuilderError, match="expected a wiki of the language 'de', found 'en'"),
    ):
        wikipedia.site()
    helps = "check its name, or name another as --select category:NAME"
    with stored(tmp_path) as store, pytest.raises(BuilderError, match=f"Category:Godo articles.*{helps}"):
        fetched(wiki.api, store, Category(name="Godo articles"))
    (tmp_path / "other").mkdir()
    with stored(tmp_path / "other") as store:
        store.expect_wiki("en", "enwiki", "test")
        with pytest.raises(BuilderError, match="use another --store"):
            fetched(wiki.api, store, GOOD)


def test_warnings_of_the_api_are_kept(wiki: Wiki) -> None:
    with ask(wiki.api) as wikipedia:
        wikipedia.request({"action": "query", "prop": "quux"})
        assert wikipedia.warnings == {'query: Unrecognized value for parameter "prop": quux'}


def test_titles_that_we_refuse_are_those_that_mediawiki_refuses(wiki: Wiki) -> None:
    # A bar separates titles for the API, and a fragment is cut off: these cannot be asked for.
    asked = [
        title
        for title in [case["title"] for case in cases("wiki", "texts that can be titles, and others")]
        if title.strip(" _") and not set(title) & set("|#\ud800")
    ]
    with ask(wiki.api) as wikipedia:
        found = wikipedia.find({"titles": "|".join(asked)})
    for title in asked:
        name = found.renamed.get(title, title)
        refused = bool(found.pages[name].invalid)
        assert refused == bool(title_fault(title)), title
