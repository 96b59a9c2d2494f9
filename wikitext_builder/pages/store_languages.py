"""The languages of a store, each with what its wiki says of itself."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace

from wikitext_builder.errors import BuilderError
from wikitext_builder.pages.store import LATEST, Store
from wikitext_builder.wiki.languages import Language, language_of
from wikitext_builder.wiki.names import names_said, with_names

KEEP_NEWEST = """
INSERT INTO template_redirects VALUES (?, ?, ?, ?) ON CONFLICT (language, name)
DO UPDATE SET target = excluded.target, timestamp = excluded.timestamp
WHERE excluded.timestamp >= template_redirects.timestamp
"""


def note_names(store: Store, language: Language) -> Language:
    """Keep in a store what a wiki says of itself, beside what it said before; return all of it."""
    known = with_names(_noted(store, language.code), names_said(language))
    if said := names_said(known):
        store.set_note(f"{language.code} names", json.dumps(said, ensure_ascii=False))
    return known


def stored_language(store: Store, code: str, *, as_of: str = "") -> Language:
    """A language with what the store knows of its wiki, and of the redirects between its templates."""
    language, redirects = _noted(store, code), redirects_of(store, code, as_of=as_of)
    if not redirects:
        return language
    from wikitext_builder.extraction.templates import known_redirects

    return replace(language, redirects=known_redirects(redirects, language))


def _noted(store: Store, code: str) -> Language:
    """A language with what the store knows of its wiki."""
    known = language_of(code)
    try:
        return with_names(known, json.loads(store.note(f"{known.code} names") or "{}"))
    except (ValueError, AttributeError, TypeError) as error:
        raise BuilderError(f"{store.path}: the names of {known.code} are damaged: {error}") from error


def redirects_of(store: Store, code: str, *, as_of: str = "") -> dict[str, str]:
    """Names of templates that the wiki was asked for or a dump had, each with where it leads, or itself.

    What is known of an earlier time than a template's newest revision up to `as_of` counts no more: a newer
    redirect would have taken its place. Nor does what is known of a later time, if there is such a revision.
    """
    query = (
        "SELECT name, target FROM template_redirects AS known WHERE language = ? AND NOT EXISTS"
        " (SELECT 1 FROM templates WHERE language = known.language AND name = known.name AND timestamp <= ?"
        "  AND (timestamp > known.timestamp OR known.timestamp > ?)) ORDER BY name"
    )
    date = as_of or LATEST
    return dict(store.read(query, (language_of(code).code, date, date)))


def add_redirects(store: Store, code: str, redirects: Mapping[str, tuple[str, str]]) -> None:
    """Keep where names of templates lead, each with the time, ISO 8601 in UTC, of which it is known.

    What is of an earlier time than what the store has changes nothing: dumps come in any order.
    """
    if redirects:
        rows = [(code, name, *where) for name, where in redirects.items()]
        store.write(KEEP_NEWEST, rows)


def language_in(store: Store, given: str | None) -> str:
    """The code of a store's language: the given one, or the only one that the store holds."""
    if given is not None:
        return language_of(given).code
    held = store.languages()
    if len(held) > 1:
        raise BuilderError(f"{store.path}: holds pages of {', '.join(held)}; choose one with --language")
    return held[0] if held else "en"
