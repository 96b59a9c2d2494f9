"""Which wiki the pages of a store are of."""

from __future__ import annotations

from wikitext_builder.errors import BuilderError
from wikitext_builder.store.store import Store


def check_wiki(store: Store, language: str, name: str, origin: str, *, dumped: bool = False) -> None:
    """Note which wiki the pages of a language come from, and refuse those of another one.

    Args:
        store: Where the pages are.
        language: Code of the Wikipedia.
        name: Of a dump that of its database, empty if it names none. An API adds the prefix of the tables:
            `wiki-x_` of the database `wiki`.
        origin: The API's address or the dump's path.
        dumped: Whether it is a dump.

    Raises:
        BuilderError: The store has pages of another wiki; its revision ids mean other texts.
    """
    if not name:
        return
    wiki, database = store.wiki(language), store.note(f"{language} database") or ""
    same, other = (database, wiki) if dumped else (wiki, database)
    short, long = (name, other) if dumped else (other, name)
    if (same or name) != name or (other and long != short and not long.startswith(f"{short}-")):
        raise BuilderError(
            f"{store.path}: holds pages of the wiki {same or other!r}, but {origin} is of {name!r};"
            " use another `store`"
        )
    if not same:
        store.set_note(f"{language} {'database' if dumped else 'wiki'}", name)
