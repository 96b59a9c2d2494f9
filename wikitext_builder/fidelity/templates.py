"""Template calls with the text that Wikipedia rendered for them, and how often ours is the same."""

from __future__ import annotations

import bz2
import json
import re
import unicodedata
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from wikitext_builder.article import Page
from wikitext_builder.errors import BuilderError
from wikitext_builder.extraction.macros import MACROS
from wikitext_builder.extraction.macros.removed import is_removed
from wikitext_builder.extraction.page import extract
from wikitext_builder.extraction.templates import template_name

CALL = re.compile(r"\{\{\s*([^{}|\n#:]{1,100}?)\s*(?=[|}\n])")
INVOKED = re.compile(r"\{\{\s*#invoke:\s*([^{}|]*?)\s*[|}]")
PIECE = "(a piece of a page)"  # what stands for a name where one call is not all of the wikitext
BRACES = re.compile(r"\{\{|\}\}")
OF_THE_TITLE = "Coordinates:"  # such coordinates stand beside the title, and in no line
INVISIBLE = re.compile("[\u200b-\u200d\u2060\ufeff\u00ad]")
# What stands in rendered text for editors, listeners and references, and in no line of ours.
FOR_EDITORS = re.compile(r"\[update\]|\(listen\)|\[[\w ]+ needed\]|\[\d{1,3}\]")


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    """A template call and what Wikipedia rendered for it."""

    wikitext: str
    text: str
    page: str


@dataclass(slots=True, kw_only=True)
class TemplateShare:
    """How many calls of one template give the text that is expected."""

    name: str
    kind: str  # text (a macro), removed (nothing is expected of it) or unknown
    calls: int = 0
    equal: int = 0
    weight: int = (
        0  # how often the template stands in the pages; the number of calls where no pages are given
    )
    differences: list[tuple[str, str, str]] = field(default_factory=list)  # wikitext, ours, theirs


def read_calls(path: Path) -> Iterator[Call]:
    """The calls of a file of JSON lines, which may be compressed with bzip2.

    Raises:
        BuilderError: The file cannot be read, or a line is no JSON with `wikitext` and `text`.
    """
    try:
        data = path.read_bytes()
        lines = (bz2.decompress(data) if path.suffix == ".bz2" else data).decode().splitlines()
        for record in map(json.loads, lines):
            text, wikitext = str(record["text"]), str(record["wikitext"])
            yield Call(wikitext=wikitext, text=text, page=str(record.get("page", "")))
    except (OSError, EOFError, ValueError, KeyError, TypeError) as error:
        raise BuilderError(
            f"{path}: {type(error).__name__}: {error}; expected JSON lines with wikitext, text and page,"
            " plain or .bz2"
        ) from error


def template_counts(pages: Iterable[Page]) -> Counter[str]:
    """How often each template is called in pages.

    >>> text = "{{convert|1|m}} {{Convert |2|m}}"
    >>> page = Page(title="A", page_id=1, revision_id=1, timestamp="", wikitext=text)
    >>> template_counts([page])
    Counter({'Convert': 2})
    """
    return Counter(template_name(name) for page in pages for name in CALL.findall(page.wikitext))


def shares(
    calls: Iterable[Call], *, language: str = "en", weights: Counter[str] | None = None
) -> list[TemplateShare]:
    """How many calls give what Wikipedia rendered, by template, the most frequent first.

    White space is folded. Of boxes, navigation and citations nothing is expected, whatever was rendered.
    """
    found: dict[str, TemplateShare] = {}
    for call in calls:
        name = _name(call.wikitext.strip())
        share = found.setdefault(name, TemplateShare(name=name, kind=_kind(name)))
        ours = text_of(call, language)
        gone = share.kind == "removed" or call.text.startswith(OF_THE_TITLE)
        expected = "" if gone else folded(call.text)
        share.calls += 1
        share.equal += ours == expected
        if ours != expected:
            share.differences.append((call.wikitext, ours, expected))
    for share in found.values():
        share.weight = share.calls if weights is None else weights[share.name]
    return sorted(found.values(), key=lambda one: (-one.weight, one.name))


def text_of(call: Call, language: str = "en") -> str:
    """What our macros make of a call, in one line."""
    page = Page(
        title=call.page or "A",
        page_id=1,
        revision_id=1,
        timestamp="2022-01-01T00:00:00Z",
        wikitext=call.wikitext,
    )
    return folded(" ".join(line for line in extract(page, language=language).lines[3:] if line))


def folded(text: str) -> str:
    """Text in single spaces, without invisible characters and marks for editors.

    >>> folded("10\u00a0km\u200b [update]")
    '10 km'
    """
    visible = FOR_EDITORS.sub("", INVISIBLE.sub("", unicodedata.normalize("NFC", text)))
    return " ".join(visible.split())


def _name(wikitext: str) -> str:
    if not _is_one_call(wikitext):
        return PIECE
    if match := INVOKED.match(wikitext):
        return f"#invoke:{match[1]}"
    match = CALL.match(wikitext)
    return template_name(match[1]) if match else PIECE


def _is_one_call(wikitext: str) -> bool:
    """Whether the braces that open the text are closed at its end, and not before."""
    depth = 0
    for braces in BRACES.finditer(wikitext):
        depth += 1 if braces[0] == "{{" else -1
        if depth <= 0:
            return depth == 0 and braces.end() == len(wikitext)
    return False


def _kind(name: str) -> str:
    name = template_name(name.removeprefix("#invoke:"))
    if name in MACROS:
        return "text"
    return "removed" if is_removed(name) else "unknown"


def weighted_share(found: Iterable[TemplateShare]) -> float:
    """Share of equal calls, each template counting as often as its weight says."""
    found = [one for one in found if one.weight]
    total = sum(one.weight for one in found)
    return sum(one.weight * one.equal / one.calls for one in found) / total if total else 1.0
