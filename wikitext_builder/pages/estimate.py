"""What a fetch would ask for, and how long that would take."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from wikitext_builder.pages.expansions import names_to_ask
from wikitext_builder.pages.rules import ASKS
from wikitext_builder.pages.selections import Choice
from wikitext_builder.pages.store import Store, Wanted
from wikitext_builder.wiki.client import Wikipedia


@dataclass(frozen=True, slots=True, kw_only=True)
class FetchPlan:
    """Numbers of requests of a fetch, after those that find its pages."""

    pages: int
    html: int  # if it was asked for
    conditions: int  # about: a page that is rejected early needs fewer, `promoted-since` more
    expansions: int  # at most: pages without unknown template calls need none
    redirects: int  # of names of templates, of pages in the store; new pages add one per 50 names
    seconds_per_request: float  # by the pace, or by the answers so far if these are slower

    @property
    def seconds(self) -> tuple[float, float]:
        """The shortest and the longest time that it takes."""
        least = self.pages + self.html + self.conditions + self.redirects
        return least * self.seconds_per_request, (least + self.expansions) * self.seconds_per_request


def to_ask(store: Store, language: str, choice: Choice) -> list[Wanted]:
    """Return the pages of a choice that a fetch would ask for."""
    query = "SELECT title, as_of, revision_id FROM wanted WHERE language = ? AND settled"
    settled = set(store.records(Wanted, query, (language,)))
    if (store.note(f"{language} conditions") or "") != choice.shown:  # see `Store.ask_again`
        rejected = {(one.title, one.revision_id) for one in store.rejected(language)}
        settled = {one for one in settled if (one.title, one.revision_id) not in rejected}
    return [one for one in choice.selected.wanted if one not in settled]


def plan_of(
    store: Store,
    wikipedia: Wikipedia,
    choice: Choice,
    *,
    todo: Sequence[Wanted],
    batches: int,
    here: Sequence[int],
    expand: bool,
    renew: bool,
    rendered: bool,
) -> FetchPlan:
    """Count the requests of a fetch of `todo`, in `batches`, and for what the revisions `here` still lack."""
    code = wikipedia.language.code
    dear = sum(rule.condition.cost >= ASKS for rule in choice.rules)
    query = "SELECT DISTINCT revision_id FROM expansions WHERE language = ?"
    expanded = {number for (number,) in store.read(query, (code,))}
    with_html = store.rendered_sha1s(code)
    return FetchPlan(
        pages=batches,
        html=len(todo) + sum(number not in with_html for number in here) if rendered else 0,
        conditions=dear * len(todo) + sum(one in choice.unless for one in todo),
        expansions=len(todo) + sum(number not in expanded for number in here) if expand else 0,
        redirects=len(names_to_ask(store, wikipedia.language, here, renew=renew)) if expand else 0,
        seconds_per_request=wikipedia.seconds_per_request,
    )
