"""Which wiki the pages of a store are of."""

from __future__ import annotations

from wikitext_builder.errors import BuilderError
from wikitext_builder.pages.store import Store


def expect_wiki(store: Store, language: str, name: str, origin: str, *, dumped: bool = False) -> None:
    """Note which wiki the pages of a language come from, and refuse those of another one.

    Args:
        store: Where the pages are.
        language: Code of the Wikipedia.
        name: Of a dump that of its database, empty if it names none. An API adds the prefix of the tables, if
            there is one: `wiki-x_` for the database `wiki`.
        origin: The API's address or the dump's path.
        dumped: Whether it is a dump.

    Raises:
        BuilderError: The store has pages of another wiki; its revision ids mean other texts.
    """
    if not name:
        return
    wiki, database = store.wiki(language), store.note(f"{language} database") or ""
    known = database if dumped else wiki
    database, wiki = (name, wiki) if dumped else (database, name)
    fits = not (wiki and database) or wiki == database or wiki.startswith(f"{database}-")
    if (known and known != name) or not fits:
        there = known or (wiki if dumped else database)
        raise BuilderError(
            f"{store.path}: holds pages of the wiki {there!r}, but {origin} is of {name!r};"
            " use another `store`"
        )
    if not known:
        store.set_note(f"{language} {'database' if dumped else 'wiki'}", name)
