"""The languages of a store, each with what its wiki says of itself."""

from __future__ import annotations

import json

from wikitext_builder.errors import BuilderError
from wikitext_builder.pages.store import Store
from wikitext_builder.wiki.languages import Language, language_of
from wikitext_builder.wiki.names import names_said, with_names


def note_names(store: Store, language: Language) -> Language:
    """Keep in a store what a wiki says of itself, beside what it said before; return all of it."""
    known = with_names(stored_language(store, language.code), names_said(language))
    if said := names_said(known):
        store.set_note(f"{language.code} names", json.dumps(said, ensure_ascii=False))
    return known


def stored_language(store: Store, code: str) -> Language:
    """A language with what the store knows of its wiki.

    Raises:
        BuilderError: The code is unknown, or the store is damaged.
    """
    known = language_of(code)
    try:
        return with_names(known, json.loads(store.note(f"{known.code} names") or "{}"))
    except (ValueError, AttributeError, TypeError) as error:
        raise BuilderError(f"{store.path}: the names of {known.code} are damaged: {error}") from error


def language_in(store: Store, given: str | None) -> str:
    """The code of a store's language: the given one, or the only one that the store holds.

    Raises:
        BuilderError: None is given, and the store holds several.
    """
    if given is not None:
        return language_of(given).code
    held = store.languages()
    if len(held) > 1:
        raise BuilderError(f"{store.path}: holds pages of {', '.join(held)}; choose one with --language")
    return held[0] if held else "en"
