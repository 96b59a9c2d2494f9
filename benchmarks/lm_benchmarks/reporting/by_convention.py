"""The table of a model's numbers by convention, in several formats."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from typing import Final

from lm_benchmarks.measuring.measure import ByConvention
from lm_benchmarks.records.lines import one_line
from lm_benchmarks.reporting.formats import (
    WORDS,
    Column,
    csv_table,
    exact,
    latex_table,
    markdown_cell,
    markdown_table,
    records,
    render,
    shown,
    text_table,
)

SHOWN: Final = 4  # columns that fit a terminal


def _number(one: ByConvention) -> str:
    return ("–" if one.number is None else f"{one.number:,.4f}") + " BROKEN" * bool(_broken(one))


def _window(one: ByConvention) -> str:
    rule, window = one.convention, "" if one.result is None else one.result.signature.get("windows", "")
    differs = window and rule.window is not None and window != str(rule.window)
    return f"{window} (the rule: {rule.window})" if differs else window


COLUMNS: Final = (
    Column(key="convention", head="convention", value=lambda one: one.convention.name),
    Column(key="number", head="number", value=lambda one: one.number, show=_number),
    Column(
        key="bits_per_byte",
        head="bits per byte",
        value=lambda one: one.bits_per_byte,
        show=lambda one: "–" if one.bits_per_byte is None else f"{one.bits_per_byte:.4f}",
    ),
    Column(head="window", value=_window, words=True),
    Column(key="scored", head="what is scored", value=lambda one: one.convention.scored, words=True),
    Column(key="context", head="context", value=lambda one: one.convention.context, words=True),
    Column(key="normaliser", head="divided by", value=lambda one: one.convention.normaliser, words=True),
    Column(key="preparation", head="text", value=lambda one: one.convention.preparation, words=True),
    Column(key="source", value=lambda one: one.convention.source),
    Column(key="proof", value=lambda one: one.convention.proof),
    Column(
        key="known",
        head="known numbers",
        value=lambda one: list(one.convention.known),
        show=lambda one: "; ".join(one.convention.known),
        words=True,
    ),
    Column(key="signature", value=lambda one: str(one.result.signature) if one.result else None),
    Column(key="broken", value=lambda one: one.result.broken if one.result else ()),
    Column(key="why", value=lambda one: one.why),
)
"""The columns: each entry is a column of the table in all formats, and a field of CSV and JSON."""


def write_conventions(found: Sequence[ByConvention], form: str) -> str:
    """The table as `text`, `markdown`, `csv`, `latex`, `html` or `json`."""
    return WRITERS[form](found)


def _reasons(found: Sequence[ByConvention]) -> list[str]:
    """Why there is no number, or why it means nothing: a stored result says which laws the model breaks."""
    said = [(one, why) for one in found for why in (one.why, _broken(one)) if why]
    return [one_line(f"{one.convention.name}: {why}") for one, why in said]


def _broken(one: ByConvention) -> str:
    checks = (one.result and one.result.checks) or {}
    return "; ".join(f"BREAKS {law}: {what}" for law, what in checks.items() if what)


def _text(found: Sequence[ByConvention]) -> str:
    return text_table(shown(COLUMNS, found).iloc[:, :SHOWN]) + "".join(f"{one}\n" for one in _reasons(found))


def _markdown(found: Sequence[ByConvention]) -> str:
    frame = shown(COLUMNS, found)
    reasons = "".join(f"\n- {markdown_cell(reason)}" for reason in _reasons(found))
    return markdown_table(frame, frame.attrs[WORDS]) + "\n" + reasons + "\n" * bool(reasons)


def _csv(found: Sequence[ByConvention]) -> str:
    frame = exact(COLUMNS, found)
    return csv_table(frame.assign(known=frame["known"].map("; ".join)))


def _latex(found: Sequence[ByConvention]) -> str:
    signatures = [f"% {one.result.signature}\n" for one in found if one.result]
    table = latex_table(shown(COLUMNS, found).iloc[:, :SHOWN])
    return f"% Needs \\usepackage{{booktabs}}\n{''.join(signatures)}{table}\n"


def _html(found: Sequence[ByConvention]) -> str:
    """A page of its own: it loads nothing, and fits a phone."""
    made = [one.result for one in found if one.result]
    return render(
        "conventions.html",
        title=f"{made[0].model} by convention" if made else "Perplexity by convention",
        refresh=0,
        frame=shown(COLUMNS, found),
        reasons=_reasons(found),
        signatures=[str(result.signature) for result in made],
    )


def _json(found: Sequence[ByConvention]) -> str:
    return json.dumps(records(exact(COLUMNS, found)), ensure_ascii=False) + "\n"


WRITERS: Final[dict[str, Callable[[Sequence[ByConvention]], str]]] = {
    "text": _text,
    "markdown": _markdown,
    "csv": _csv,
    "latex": _latex,
    "html": _html,
    "json": _json,
}
