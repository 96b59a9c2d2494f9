"""RemovedCheck: whether a reader sees text of the calls that extraction removes from sentences on purpose."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from wikitext_builder.article import Page
from wikitext_builder.errors import RejectedError
from wikitext_builder.extraction.expansion.expander import Expander, Templates
from wikitext_builder.extraction.names import call_name
from wikitext_builder.extraction.page import extract
from wikitext_builder.pages.expansions import PageCalls, expand_calls
from wikitext_builder.wiki.client import Wikipedia

CHECKS = 3  # calls of each template that are expanded
# Marks of references and of editors, which are small and raised: `[1]`, `: 35`, `[citation needed]`.
RAISED = re.compile(
    r"<sup\b[^<>]*\b(?:reference|noprint|Inline-Template)\b[^<>]*>(?:(?!</?sup).)*</sup>",
    re.IGNORECASE | re.DOTALL,
)
MARK = re.compile(r"\[[^\[\]]{1,60}\]|:.{1,60}")

Expand = Callable[
    [Page, Sequence[str]], Mapping[str, str]
]  # wikitext that calls stand for, where it is known


@dataclass(slots=True)
class RemovedTemplate:
    """A template that gives no text on purpose, and stands in sentences."""

    name: str
    calls: int = 0  # in sentences
    checked: int = 0  # calls whose text is known, at most three
    seen: int = 0  # those of them whose text a reader sees
    wikitext: str = ""  # an example of these, and its text
    text: str = ""


@dataclass(slots=True)
class RemovedCheck:
    """Checks removed calls over pages, one page at a time."""

    expand: Expand
    language: str
    _found: dict[str, RemovedTemplate] = field(default_factory=dict)

    def add(self, page: Page, calls: Sequence[str]) -> None:
        """Count the removed calls in sentences of one page, and check some."""
        names = {call: call_name(call) for call in calls}
        for name, count in Counter(names[call] for call in calls).items():
            self._found.setdefault(name, RemovedTemplate(name)).calls += count
        asked = [call for call, name in names.items() if self._found[name].checked < CHECKS]
        for call, wikitext in (self.expand(page, asked) if asked else {}).items():
            one = self._found[names[call]]
            if one.checked < CHECKS:
                one.checked += 1
                if text := visible_text(wikitext, page, self.language):
                    one.seen += 1
                    one.wikitext, one.text = call, text

    def result(self) -> tuple[RemovedTemplate, ...]:
        """All templates, those with text that a reader sees first, then the most frequent."""
        found = [replace(one) for one in self._found.values()]
        return tuple(sorted(found, key=lambda one: (-one.seen, -one.calls, one.name)))


def visible_text(wikitext: str, page: Page, language: str) -> str:
    """The text in a sentence that an expanded call shows; empty for marks of references and editors.

    >>> page = Page(title="A", page_id=1, revision_id=1, timestamp="", wikitext="")
    >>> visible_text("<sup class='reference'>: 35</sup>", page, "en"), visible_text("'''Ox'''", page, "en")
    ('', 'Ox')
    """
    try:
        article = extract(replace(page, wikitext=RAISED.sub("", wikitext)), language=language)
    except RejectedError:
        return ""
    text = " ".join(line for line in article.lines[3:] if line)
    return "" if MARK.fullmatch(text) else text


def expand_with(templates: Templates | None, wikipedia: Wikipedia | None, language: str) -> Expand:
    """What expands calls: the templates of a store first, then a wiki."""

    def texts(page: Page, calls: Sequence[str]) -> Iterator[tuple[str, str]]:
        known: dict[str, str] = {}
        if templates is not None:
            known, _ = Expander(page, templates, language=language).expanded(calls)
            yield from known.items()
        if wikipedia is not None:
            rest = tuple(call for call in calls if call not in known)
            yield from expand_calls(wikipedia, PageCalls(page=page, calls=rest)).texts.items()

    return lambda page, calls: dict(texts(page, calls))
