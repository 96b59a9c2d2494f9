"""Template calls with the text that Wikipedia rendered for them, and how often ours is equal."""

from __future__ import annotations

import bz2
import json
import re
import unicodedata
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from extraction_eval.places import CallPlaces
from extraction_eval.removed import MARK
from wikitext_builder.article import Page
from wikitext_builder.errors import BuilderError
from wikitext_builder.extraction.macros import MACROS
from wikitext_builder.extraction.macros.citations import CITATIONS
from wikitext_builder.extraction.macros.removed import is_removed
from wikitext_builder.extraction.names import call_name, template_name
from wikitext_builder.extraction.page import extract

INVOKED = re.compile(r"\{\{\s*+#invoke:([^{}|]*)[|}]")
PIECE = "(a piece of a page)"  # in place of a name, if the wikitext is not one call
BRACES = re.compile(r"\{\{|\}\}")
OF_THE_TITLE = "Coordinates:"  # begins coordinates beside the title, which are in no line
INVISIBLE = re.compile("[\u200b-\u200d\u2060\ufeff\u00ad]")
# Rendered text for editors, listeners and references, which is in no line of ours.
FOR_EDITORS = re.compile(r"\[update\]|\(listen\)|\[[\w ]+ needed\]|\[\d{1,3}\]")


@dataclass(frozen=True, slots=True, kw_only=True)
class RenderedCall:
    """A template call and what Wikipedia rendered for it."""

    wikitext: str
    text: str
    page: str


@dataclass(slots=True, kw_only=True)
class TemplateShare:
    """How many calls of one template give the expected text."""

    name: str
    kind: str  # text or citation (a macro), removed (no text is expected, except in sentences) or unknown
    calls: int = 0
    equal: int = 0
    weight: int = 0  # calls in running text of the pages; without pages, the number of calls in the file
    differences: list[tuple[str, str, str]] = field(default_factory=list)  # wikitext, ours, theirs


def read_calls(path: Path) -> Iterator[RenderedCall]:
    """The calls of a file of JSON lines, plain or compressed with bzip2.

    Raises:
        BuilderError: The file cannot be read, or a line is not JSON with `wikitext` and `text`.
    """
    try:
        data = path.read_bytes()
        lines = (bz2.decompress(data) if path.suffix == ".bz2" else data).decode().splitlines()
        for record in map(json.loads, lines):
            text, wikitext = str(record["text"]), str(record["wikitext"])
            yield RenderedCall(wikitext=wikitext, text=text, page=str(record.get("page", "")))
    except (OSError, EOFError, ValueError, KeyError, TypeError) as error:
        raise BuilderError(
            f"{path}: {type(error).__name__}: {error}; expected JSON lines with wikitext, text and page,"
            " plain or .bz2"
        ) from error


def compare_calls(
    calls: Iterable[RenderedCall], *, language: str = "en", places: CallPlaces | None = None
) -> list[TemplateShare]:
    """How many calls give what Wikipedia rendered, by template, the most frequent first.

    White space is collapsed. Boxes, navigation and marks are expected to give no text; but if most calls of
    such a template stand in sentences of the pages, the text that a reader sees is expected.

    Args:
        calls: What Wikipedia rendered.
        language: Code of the Wikipedia.
        places: Where the calls of the pages stand; None counts each call of the file once.
    """
    found: dict[str, TemplateShare] = {}
    for call in calls:
        name = _name(call.wikitext.strip())
        share = found.setdefault(name, TemplateShare(name=name, kind=_kind(name)))
        ours, expected = _text_of(call, language), _collapse(call.text)
        gone = share.kind == "removed" and not _is_seen(expected, name, places)
        expected = "" if gone or call.text.startswith(OF_THE_TITLE) else expected
        share.calls += 1
        share.equal += ours == expected
        if ours != expected:
            share.differences.append((call.wikitext, ours, expected))
    for share in found.values():
        share.weight = _weight(share, places)
    return sorted(found.values(), key=lambda one: (-one.weight, one.name))


def _is_seen(text: str, name: str, places: CallPlaces | None) -> bool:
    return places is not None and places.stands_in_sentences(name) and not MARK.fullmatch(text)


def _weight(share: TemplateShare, places: CallPlaces | None) -> int:
    if places is None:
        return share.calls
    return (places.removed if share.kind == "removed" else places.text)[share.name]


def _text_of(call: RenderedCall, language: str) -> str:
    """The text of a call by our macros, on one line."""
    page = Page(
        title=call.page.replace("_", " ") or "A",
        page_id=1,
        revision_id=1,
        timestamp="2022-01-01T00:00:00Z",
        wikitext=call.wikitext,
    )
    return _collapse(" ".join(line for line in extract(page, language=language).lines[3:] if line))


def _collapse(text: str) -> str:
    """The text with single spaces, without invisible characters and marks for editors.

    >>> _collapse("10\u00a0km\u200b [update]")
    '10 km'
    """
    visible = FOR_EDITORS.sub("", INVISIBLE.sub("", unicodedata.normalize("NFC", text)))
    return " ".join(visible.split())


def _name(wikitext: str) -> str:
    if not _is_one_call(wikitext):
        return PIECE
    if match := INVOKED.match(wikitext):
        return f"#invoke:{match[1].strip()}"
    return call_name(wikitext)


def _is_one_call(wikitext: str) -> bool:
    """True if the text opens with braces that are closed at its end, and not before."""
    if not wikitext.startswith("{{"):
        return False
    depth = 0
    for braces in BRACES.finditer(wikitext):
        depth += 1 if braces[0] == "{{" else -1
        if depth <= 0:
            return depth == 0 and braces.end() == len(wikitext)
    return False


def _kind(name: str) -> str:
    name = template_name(name.removeprefix("#invoke:"))
    if name in MACROS:
        return "citation" if name in CITATIONS else "text"
    return "removed" if is_removed(name) else "unknown"


def weighted_share(found: Iterable[TemplateShare]) -> float:
    """The share of equal calls, with each template weighted by its `weight`."""
    found = [one for one in found if one.weight]
    total = sum(one.weight for one in found)
    return sum(one.weight * one.equal / one.calls for one in found) / total if total else 1.0
