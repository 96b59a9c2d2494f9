"""Which pages to ask for and which of them to keep: selections together, within and without others."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from wikitext_builder.article import Page
from wikitext_builder.errors import BuilderError, RejectedError
from wikitext_builder.pages.lookup import Lookup, Selected, Selection
from wikitext_builder.pages.page_filters import (
    ASKS,
    Condition,
    Kind,
    Named,
    Past,
    Rule,
    WhyNot,
    arguments,
    first_fault,
    parse_kind,
)
from wikitext_builder.pages.selections import KINDS
from wikitext_builder.pages.store import Rejected, Revision, Wanted
from wikitext_builder.pages.wiki_filters import WIKI_CONDITIONS
from wikitext_builder.wiki.languages import Language


@dataclass(frozen=True, slots=True, kw_only=True)
class Members:
    """A selection that others are compared with."""

    selection: Selection

    def found(self, lookup: Lookup) -> Named:
        """The condition to be one of its pages."""
        return Named.of(one.title for one in self.selection.find(lookup).wanted)


@dataclass(frozen=True, slots=True, kw_only=True)
class Wish:
    """What each page must be, or none may be, as a user wrote it: a condition, or another selection."""

    text: str
    within: bool
    choice: Condition | Members

    def rule(self, lookup: Lookup) -> Rule:
        """The rule; of a selection the titles that it finds."""
        found = self.choice.found(lookup) if isinstance(self.choice, Members) else self.choice
        return Rule(text=self.text, condition=found, within=self.within)


def parse_wishes(
    within: str | Sequence[str], without: str | Sequence[str], language: Language
) -> tuple[Wish, ...]:
    """Return what two arguments ask for: conditions first, and selections that are no condition.

    Raises:
        BuilderError: A text has none of the forms.
    """
    kinds: dict[str, Kind[Condition | Members]] = {}
    for name, kind in KINDS.items():
        kinds[name] = Kind(form=kind.form, make=_members_of(kind))
    kinds |= WIKI_CONDITIONS
    return tuple(
        Wish(text=text, choice=parse_kind(argument, text, language, kinds), within=argument == "within")
        for argument, text in arguments(within, without)
    )


def _members_of(kind: Kind[Selection]) -> Callable[[str, Language], Members]:
    return lambda value, language: Members(selection=kind.make(value, language))


@dataclass(frozen=True, slots=True, kw_only=True)
class Choice:
    """The pages to ask for, and what each of them must be when it is here."""

    selected: Selected
    rules: tuple[Rule, ...] = ()
    unless: Mapping[Wanted, tuple[Condition, ...]] = field(default_factory=dict)  # one of these must hold

    def check(self, wanted: Wanted, page: Page, past: Past) -> None:
        """Check a page that came; rules that need no request go first.

        Raises:
            RejectedError: It is not taken.
        """
        cheap = [rule for rule in self.rules if rule.condition.cost < ASKS]
        dear = [rule for rule in self.rules if rule.condition.cost >= ASKS]
        found = (
            first_fault(cheap, page, past) or self._unmet(wanted, page, past) or first_fault(dear, page, past)
        )
        if found:
            raise RejectedError(*found)

    def _unmet(self, wanted: Wanted, page: Page, past: Past) -> WhyNot:
        """Why the selections that found a page do not take it; None if one of them does."""
        found = None
        for condition in self.unless.get(wanted, ()):
            if (found := condition.why_not(page, past)) is None:
                break
        return found

    @property
    def shown(self) -> str:
        """All that decides, as a text: it differs if another choice may take another page."""
        conditions = {repr(one) for several in self.unless.values() for one in several}
        return repr((self.rules, sorted(conditions))) if self.rules or conditions else ""


def select_pages(
    lookup: Lookup,
    selections: Sequence[Selection],
    *,
    wishes: Sequence[Wish] = (),
    limit: int | None = None,
) -> Choice:
    """Return all pages of selections, each once, in the order of titles (by code point) and revision ids.

    Args:
        lookup: What selections find their pages with.
        selections: One or more.
        wishes: What else decides; a title that may not be taken is rejected here, without a request.
        limit: Take only the first ones of this order, so that a larger limit only adds pages.

    Raises:
        BuilderError: Nothing is selected, or a selection cannot be read.
    """
    conditions: dict[Wanted, tuple[Condition, ...] | None] = {}  # None: a selection takes it without one
    locked: dict[int, Revision] = {}
    rejected: list[Rejected] = []
    for selection in selections:
        found = selection.find(lookup)
        for one in found.wanted:
            before = conditions.get(one, ())
            if before is None or found.condition is None:
                conditions[one] = None
            else:
                conditions[one] = (*before, found.condition)
        locked |= found.locked
        rejected += found.rejected
    if not conditions and not rejected:
        raise BuilderError("nothing is selected; check the names in `select`")
    rules = tuple(wish.rule(lookup) for wish in wishes)
    excluded = [
        (rule, rule.condition.titles)
        for rule in rules
        if not rule.within and isinstance(rule.condition, Named)
    ]
    wanted = []
    for one in sorted(conditions)[:limit]:
        rule = next((rule for rule, titles in excluded if one.title in titles), None)
        if rule is None:
            wanted.append(one)
        else:
            detail = f"`without={rule.text}`"
            rejected.append(Rejected(title=one.title, reason=rule.reason, detail=detail))
    selected = Selected(wanted=tuple(wanted), locked=locked, rejected=tuple(rejected))
    return Choice(
        selected=selected,
        rules=rules,
        unless={one: several for one in wanted if (several := conditions[one])},
    )
