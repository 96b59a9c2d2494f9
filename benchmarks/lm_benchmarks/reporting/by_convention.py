"""The table of a model's numbers by convention, in any format."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from lm_benchmarks.records.result import warnings_of
from lm_benchmarks.reporting.formats import Column, csv_table, exact, fixed, records, render, shown
from wikitext_builder.tables import one_line

if TYPE_CHECKING:
    from lm_benchmarks.measuring.measure import ByConvention


def _number_of(one: ByConvention) -> str:
    return fixed(one.number, ",.4f", "–") + " BROKEN" * bool(_broken(one))


def _window(one: ByConvention) -> str:
    rule, window = one.convention, "" if one.result is None else one.result.signature.get("windows", "")
    differs = window and rule.window is not None and window != str(rule.window)
    return f"{window} (the rule: {rule.window})" if differs else window


CONVENTION_COLUMNS: Final = (
    Column(key="convention", head="convention", value=lambda one: one.convention.name),
    Column(key="number", head="number", value=lambda one: one.number, show=_number_of),
    Column(
        key="bits_per_byte",
        head="bits per byte",
        value=lambda one: one.bits_per_byte,
        show=lambda one: fixed(one.bits_per_byte, ".4f", "–"),
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


def write_conventions(found: Sequence[ByConvention], form: str) -> str:
    """The table as `text`, `markdown`, `csv`, `latex`, `html` (a page that loads nothing) or `json`."""
    values = exact(CONVENTION_COLUMNS, found)
    if form == "json":
        return json.dumps(records(values), ensure_ascii=False) + "\n"
    if form == "csv":
        return csv_table(values.assign(known=values["known"].map("; ".join)))
    frame, made = shown(CONVENTION_COLUMNS, found), [one.result for one in found if one.result]
    # There is no number, or it means nothing: a stored result says which laws the model breaks.
    reasons = [(one.convention.name, why) for one in found for why in (one.why, _broken(one)) if why]
    reasons += [(one.convention.name, warning) for one in found for warning in _warnings(one)]
    return render(
        f"conventions.{form}",
        title=f"{made[0].model} by convention" if made else "Perplexity by convention",
        refresh=0,
        frame=frame,
        narrow=frame.iloc[:, :4],  # what fits a terminal
        reasons=[one_line(f"{name}: {why}") for name, why in reasons],
        signatures=[str(result.signature) for result in made],
    )


def _broken(one: ByConvention) -> str:
    checks = (one.result and one.result.checks) or {}
    return "; ".join(f"BREAKS {law}: {what}" for law, what in checks.items() if what)


def _warnings(one: ByConvention) -> list[str]:
    return warnings_of([one.result]) if one.result else []
