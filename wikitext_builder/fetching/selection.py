"""Which pages: the members of a category, the links of a list page, a file of titles, a lock file."""

from __future__ import annotations

import html
import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from wikitext_builder.errors import BuilderError
from wikitext_builder.progress import Progress, no_progress
from wikitext_builder.store.lock import read_lock
from wikitext_builder.store.store import Rejected, Revision, Store, Wanted
from wikitext_builder.store.titles import read_titles
from wikitext_builder.wiki.client import Wikipedia
from wikitext_builder.wiki.languages import Language
from wikitext_builder.wiki.responses import ApiError, Site, continuation, expected_parts
from wikitext_builder.wiki.titles import tidy_title, title_fault

DONE = "done"  # where a listing stands that has ended
LINK = re.compile(r"\[\[([^\[\]{}|<>\n]+)(?:\||\]\])")
TRANSCLUSION = re.compile(r"\{\{([^{}|<>\n\[\]]+)(?:\||\}\})")
NO_LINKS = re.compile(r"<!--.*?(?:-->|\Z)|<nowiki>.*?(?:</nowiki>|\Z)", re.DOTALL | re.IGNORECASE)
PAGE_AT = re.compile(r"(.+)@([1-9]\d*)")


@dataclass(frozen=True, slots=True, kw_only=True)
class Category:
    """The articles in a category, as it is today."""

    name: str  # without its namespace


@dataclass(frozen=True, slots=True, kw_only=True)
class ListPage:
    """The articles that a page's own wikitext links to, at a revision or at the fetch's date."""

    title: str
    revision_id: int = 0  # 0: the date decides


@dataclass(frozen=True, slots=True, kw_only=True)
class TitlesFile:
    """A text file with a title a line."""

    path: Path


@dataclass(frozen=True, slots=True, kw_only=True)
class LockFile:
    """Exactly the revisions of a lock file."""

    path: Path


Selection = Category | ListPage | TitlesFile | LockFile


@dataclass(frozen=True, slots=True, kw_only=True)
class Selected:
    """What selections come to."""

    wanted: tuple[Wanted, ...]  # in the order of titles
    locked: dict[int, Revision]  # what a lock file says of its revisions
    rejected: tuple[Rejected, ...]


def parse_selection(text: str, language: Language) -> Selection:
    """The selection that a value of `--select` names.

    It is `good`, `featured`, `category:NAME`, `list:PAGE[@REVISION]`, `titles:FILE` or `lock:FILE`.

    >>> from wikitext_builder.wiki.languages import LANGUAGES
    >>> parse_selection("good", LANGUAGES["en"])
    Category(name='Good articles')
    >>> parse_selection("list:Wikipedia:Featured articles@715000000", LANGUAGES["en"])
    ListPage(title='Wikipedia:Featured articles', revision_id=715000000)
    """
    kind, colon, value = text.partition(":")
    value = value.strip()
    if not colon and kind in ("good", "featured"):
        name = language.good_category if kind == "good" else language.featured_category
        if name is None:
            raise BuilderError(
                f"--select {kind}: the {language.code} Wikipedia has no such category; name one"
            )
        return Category(name=name)
    if value and kind == "category":
        return Category(name=_checked_title(text, _without_namespace(value, language)))
    if value and kind == "list":
        at = PAGE_AT.fullmatch(value)
        title = _checked_title(text, at[1] if at else value)
        return ListPage(title=title, revision_id=int(at[2]) if at else 0)
    if value and kind == "titles":
        return TitlesFile(path=Path(value))
    if value and kind == "lock":
        return LockFile(path=Path(value))
    raise BuilderError(
        f"--select {text!r}: expected good, featured, category:NAME, list:PAGE, list:PAGE@REVISION,"
        " titles:FILE or lock:FILE"
    )


def _without_namespace(name: str, language: Language) -> str:
    prefix, colon, rest = name.partition(":")
    spaces = {space.lower() for space in ("Category", *language.category_namespaces)}
    return rest.strip() if colon and prefix.strip().lower() in spaces else name


def _checked_title(text: str, name: str) -> str:
    title = tidy_title(name)
    if fault := title_fault(title):
        raise BuilderError(f"--select {text!r}: no page can have this title, {fault}")
    return title


def default_selections(language: Language) -> tuple[Selection, ...]:
    """Good and Featured articles, those of them that a language has."""
    names = (language.good_category, language.featured_category)
    found = tuple(Category(name=name) for name in names if name is not None)
    if not found:
        raise BuilderError(
            f"no category of Good articles is known for {language.code}; say --select category:NAME"
        )
    return found


def select(
    store: Store,
    wikipedia: Wikipedia,
    selections: Sequence[Selection],
    *,
    as_of: str = "",
    limit: int | None = None,
    progress: Progress = no_progress,
) -> Selected:
    """All that selections ask for, once each, in the order of titles (by code point) and revision ids.

    A listing of the API is noted in the store part by part: one that was killed goes on, one that has ended
    is not asked again. `limit` takes the first of the whole order, so that a larger one only adds.

    Raises:
        BuilderError: Nothing is selected, or a selection cannot be read.
    """
    wanted: set[Wanted] = set()
    locked: dict[int, Revision] = {}
    rejected: list[Rejected] = []
    for selection in selections:
        if isinstance(selection, LockFile):
            for one in read_lock(selection.path, language=wikipedia.language.code):
                locked[one.revision_id] = one
                wanted.add(Wanted(title=one.title, revision_id=one.revision_id))
        else:
            titles, refused = _titles(store, wikipedia, selection, as_of, progress)
            wanted.update(Wanted(title=title, as_of=as_of) for title in titles)
            rejected += refused
    if not wanted and not rejected:
        raise BuilderError("nothing is selected; check the names after --select")
    chosen = sorted(wanted)[:limit]
    return Selected(wanted=tuple(chosen), locked=locked, rejected=tuple(rejected))


def _titles(
    store: Store, wikipedia: Wikipedia, selection: Selection, as_of: str, progress: Progress
) -> tuple[list[str], list[Rejected]]:
    if isinstance(selection, Category):
        return category_members(store, wikipedia, selection, progress), []
    if isinstance(selection, ListPage):
        return list_links(store, wikipedia, selection, as_of), []
    assert isinstance(selection, TitlesFile)  # noqa: S101 - lock files have no titles only
    return read_titles(selection.path)


# --- categories


def category_members(
    store: Store, wikipedia: Wikipedia, category: Category, progress: Progress = no_progress
) -> list[str]:
    """The titles of the articles in a category, in their order."""
    listing = f"{wikipedia.language.code} category {category.name}"
    position = store.progress(listing)
    try:
        _list_members(store, wikipedia, category, listing, position, progress)
    except ApiError as error:
        if error.code != "badcontinue" or position is None:
            raise
        _list_members(store, wikipedia, category, listing, None, progress)  # the wiki has forgotten our place
    titles = store.listed(listing)
    if not titles:
        raise BuilderError(
            f"Category:{category.name} of {wikipedia.api} has no articles or does not exist; check its name"
        )
    return titles


def _list_members(
    store: Store,
    wikipedia: Wikipedia,
    category: Category,
    listing: str,
    position: str | None,
    progress: Progress,
) -> None:
    if position == DONE:
        return
    parameters = {
        "list": "categorymembers",
        "cmtitle": f"Category:{category.name}",
        "cmnamespace": "0",
        "cmtype": "page",
        "cmprop": "title",
        "cmlimit": "max",
    }
    stage = f"listing {category.name}"
    count = len(store.listed(listing))
    wikipedia.on_wait = lambda why: progress(stage, count, None, why)
    for answer in wikipedia.query(parameters, json.loads(position) if position else None):
        token = continuation(wikipedia.api, answer)
        with expected_parts(wikipedia.api):
            members = [str(one["title"]) for one in answer["query"]["categorymembers"] if one["ns"] == 0]
            "".join(members).encode()  # a lone surrogate is a ValueError
        store.note_listing(listing, members, json.dumps(token) if token else DONE)
        count += len(members)
        progress(stage, count, None if token else count)


# --- list pages


def list_links(store: Store, wikipedia: Wikipedia, page: ListPage, as_of: str) -> list[str]:
    """The titles of the articles that a page links to, at a revision, at a date or now."""
    at = f"@{page.revision_id}" if page.revision_id else as_of
    listing = f"{wikipedia.language.code} list {page.title} {at}"
    if store.progress(listing) != DONE:
        titles = linked_titles(_list_text(wikipedia, page, as_of), wikipedia.site())
        store.note_listing(listing, titles, DONE)
    return store.listed(listing)


def _list_text(wikipedia: Wikipedia, page: ListPage, as_of: str) -> str:
    if page.revision_id:
        found = wikipedia.find({"revids": str(page.revision_id)})
    else:
        dated = {"rvstart": as_of, "rvdir": "older", "rvlimit": "1"} if as_of else {}
        found = wikipedia.find({"titles": page.title, "redirects": "1", **dated})
    for one in found.pages.values():
        for revision in one.revisions:
            if revision.text is None:
                raise BuilderError(
                    f"{page.title}: the text of revision {revision.revision_id} is hidden; name another"
                )
            if page.revision_id and tidy_title(page.title).casefold() != one.title.casefold():
                raise BuilderError(
                    f"revision {page.revision_id} is of {one.title!r}, not of {page.title!r}; name that page"
                )
            _check_links(one.title, revision.text, wikipedia.site())
            return revision.text
    when = (
        f"revision {page.revision_id}"
        if page.revision_id
        else f"revision of {as_of}"
        if as_of
        else "such page"
    )
    raise BuilderError(f"{page.title}: there is no {when} at {wikipedia.api}; check the title and the date")


def _check_links(title: str, text: str, site: Site) -> None:
    if linked_titles(text, site):
        return
    inner = sorted({name.strip() for name in TRANSCLUSION.findall(text) if "/" in name})
    advice = f"; it transcludes {', '.join(inner[:20])}: name these, each as list:PAGE" if inner else ""
    raise BuilderError(f"{title}: its own wikitext links to no article{advice}")


def linked_titles(wikitext: str, site: Site) -> list[str]:
    """The titles in namespace 0 that a text links to, each once, in their order."""
    targets = LINK.findall(NO_LINKS.sub("", wikitext))
    return sorted({title for target in targets if (title := _link_title(target, site))})


def _link_title(target: str, site: Site) -> str:
    title = tidy_title(html.unescape(target).partition("#")[0])
    prefix, colon, _ = title.partition(":")
    if title_fault(title) or title.startswith((":", "/")):
        return ""
    if colon and site.namespaces.get(prefix.strip().lower(), 0) != 0:
        return ""
    return title[0].upper() + title[1:] if site.capital_first and len(title[0].upper()) == 1 else title
