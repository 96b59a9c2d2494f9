"""The table of a model's numbers by convention, in several formats."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Final

from lm_benchmarks.measuring.measure import ByConvention
from lm_benchmarks.record_versions import one_line
from lm_benchmarks.reporting.formats import Column, csv_table, exact, records, render, shown

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
    """The table as `text`, `markdown`, `csv`, `latex`, `html` or `json`.

    The page in HTML loads nothing, and fits a phone.
    """
    values = exact(COLUMNS, found)
    if form == "json":
        return json.dumps(records(values), ensure_ascii=False) + "\n"
    if form == "csv":
        return csv_table(values.assign(known=values["known"].map("; ".join)))
    frame, made = shown(COLUMNS, found), [one.result for one in found if one.result]
    # There is no number, or it means nothing: a stored result says which laws the model breaks.
    reasons = [(one.convention.name, why) for one in found for why in (one.why, _broken(one)) if why]
    return render(
        f"conventions.{form}",
        title=f"{made[0].model} by convention" if made else "Perplexity by convention",
        refresh=0,
        frame=frame,
        narrow=frame.iloc[:, :SHOWN],
        reasons=[one_line(f"{name}: {why}") for name, why in reasons],
        signatures=[str(result.signature) for result in made],
    )


def _broken(one: ByConvention) -> str:
    checks = (one.result and one.result.checks) or {}
    return "; ".join(f"BREAKS {law}: {what}" for law, what in checks.items() if what)
