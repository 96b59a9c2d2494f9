"""Rules: filters as users write them, `include` and `exclude`, and what they may ask about a page's past."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol, TypeVar

from wikitext_builder.article import Page
from wikitext_builder.errors import BuilderError
from wikitext_builder.wiki.languages import Language

UNKNOWN = "creation-unknown"  # a reason that is neither yes nor no: such a page is never taken
ASKS = 3  # the cost of a filter that asks a wiki
WhyNot = tuple[str, str] | None  # a reason and a sentence; None: the page is what it must be
Texts = str | Sequence[str]  # filters as users write them
Made = TypeVar("Made")


@dataclass(frozen=True, slots=True, kw_only=True)
class First:
    """The first revision of a page."""

    timestamp: str = ""  # ISO 8601 in UTC; empty: not known
    user: str = ""
    summary: str = ""
    size: int = 0  # bytes of its text


class Past:
    """What a source of pages knows about the past of a page; a dump knows no more than the first revision."""

    def first(self, page: Page) -> First:
        """The first revision of a page."""
        raise NotImplementedError

    def why_older(self, page: Page, since: str) -> str:  # noqa: ARG002
        """The reason to count by if its first revision is older than expected; empty if none is known."""
        return ""

    def promoted(self, page: Page, since: str) -> tuple[str, str]:
        """Since when the categories list a page (empty: they do not), and its text at a date."""
        raise NotImplementedError

    def text_at(self, title: str, moment: str) -> str:
        """The text of a page at a moment; empty if there was none."""
        raise NotImplementedError

    def series(self, first: First) -> str:
        """Why a page is one of a series that a program makes; empty if it is not."""
        raise NotImplementedError

    def classes(self, page: Page) -> frozenset[str]:
        """The classes that WikiProjects give a page, such as B or GA."""
        raise NotImplementedError


class Filter(Protocol):
    """What a page can be."""

    @property
    def cost(self) -> int:
        """Relative cost: 0 metadata, 1 scans the text, 2 runs extraction, `ASKS` asks a wiki."""
        ...

    def why_not(self, page: Page, past: Past) -> WhyNot:
        """Why a page is not so; None if it is. RejectedError: not known, so the page is not used at all."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Rule:
    """A filter of a user: each page must pass it, or none may."""

    text: str  # as the user wrote it
    condition: Filter
    include: bool  # False: exclude

    @property
    def reason(self) -> str:
        """The reason to count pages by that are in a set that none may be in, or the other way round."""
        return f"{'within' if self.include else 'without'}-{self.text.partition(':')[0]}"

    def why_not(self, page: Page, past: Past) -> WhyNot:
        """Why a page is not taken; None if it is."""
        found = self.condition.why_not(page, past)
        if self.include or (found and found[0] == UNKNOWN):
            return found and (found[0] or self.reason, found[1])
        return None if found else (self.reason, f"--exclude {self.text}")


def first_fault(rules: Iterable[Rule], page: Page, past: Past) -> WhyNot:
    """Why a page is not taken, by the first rule that says so, the cheap ones first; None if it is taken."""
    for rule in sorted(rules, key=lambda one: one.condition.cost):
        if found := rule.why_not(page, past):
            return found
    return None


# --- as users write them


# What makes selections or filters, by the form in which users write them: of `category:NAME` the maker gets
# the value, of `stubs` an empty one.
Makers = Mapping[str, Callable[[str, Language], Made]]


def parse_kind(argument: str, text: str, language: Language, makers: Makers[Made]) -> Made:
    """Return what a text in one of the forms of `makers` names; `argument` is for errors."""
    name, colon, value = text.partition(":")
    form, value = next((one for one in makers if one.partition(":")[0] == name), ""), value.strip()
    if not form or {bool(colon), bool(value)} != {":" in form}:
        *forms, last = makers
        raise BuilderError(f"--{argument} {text}: expected {', '.join(forms)} or {last}")
    try:
        return makers[form](value, language)
    except BuilderError as error:
        raise BuilderError(f"--{argument} {text}: {error}") from error


def parse_all(
    include: Texts, exclude: Texts, language: Language, makers: Makers[Made]
) -> list[tuple[str, Made, bool]]:
    """Return each text of two arguments, what it names, and True if it is of `include`."""
    given = ((name, [texts] if isinstance(texts, str) else texts, name == "include")
             for name, texts in (("include", include), ("exclude", exclude)))  # fmt: skip
    return [
        (text, parse_kind(name, text, language, makers), yes) for name, texts, yes in given for text in texts
    ]
