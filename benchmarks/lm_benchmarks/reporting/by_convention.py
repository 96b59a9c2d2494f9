"""The table of a model's numbers by convention, in several formats."""

from __future__ import annotations

import html
import json
from collections.abc import Callable, Sequence
from typing import Any, Final

from lm_benchmarks.measuring.conventions import ByConvention
from lm_benchmarks.records.lines import one_line
from lm_benchmarks.reporting.formats import latex_cell, markdown_cell
from lm_benchmarks.reporting.page import document, html_table
from wikitext_builder.tables import csv_text

HEAD: Final = (
    "convention",
    "number",
    "bits per byte",
    "window",
    "what is scored",
    "context",
    "divided by",
    "text",
    "known numbers",
)
SHOWN: Final = 4  # columns that fit a terminal
TEXT: Final = frozenset(HEAD[3:])


def cells(one: ByConvention) -> list[str]:
    """A row, in the order of HEAD."""
    rule = one.convention
    known = "; ".join(rule.known)
    window = "" if one.result is None else one.result.signature.get("windows", "")
    if window and rule.window is not None and window != str(rule.window):
        window += f" (the rule: {rule.window})"
    return [
        rule.name,
        ("–" if one.number is None else f"{one.number:,.4f}") + " BROKEN" * bool(_broken(one)),
        "–" if one.bits_per_byte is None else f"{one.bits_per_byte:.4f}",
        window,
        rule.scored,
        rule.context,
        rule.normaliser,
        rule.preparation,
        known,
    ]


def write_conventions(found: Sequence[ByConvention], form: str) -> str:
    """The table as `text`, `markdown`, `csv`, `latex`, `html` or `json`."""
    return WRITERS[form](found)


def _rows(found: Sequence[ByConvention]) -> list[list[str]]:
    return [list(HEAD), *map(cells, found)]


def _reasons(found: Sequence[ByConvention]) -> list[str]:
    """Why there is no number, or why it means nothing: a stored result says which laws the model breaks."""
    said = [(one, why) for one in found for why in (one.why, _broken(one)) if why]
    return [one_line(f"{one.convention.name}: {why}") for one, why in said]


def _broken(one: ByConvention) -> str:
    checks = (one.result and one.result.checks) or {}
    return "; ".join(f"BREAKS {law}: {what}" for law, what in checks.items() if what)


def _text(found: Sequence[ByConvention]) -> str:
    rows = [row[:SHOWN] for row in _rows(found)]
    widths = [max(len(row[place]) for row in rows) for place in range(SHOWN)]
    lines = [
        "  ".join([name.ljust(widths[0]), number.rjust(widths[1]), bits.rjust(widths[2]), window]).rstrip()
        for name, number, bits, window in rows
    ]
    return "\n".join([*lines, *_reasons(found)]) + "\n"


def _markdown(found: Sequence[ByConvention]) -> str:
    head, *rows = _rows(found)
    marks = ["---", "---:", "---:", "---:", *["---"] * (len(head) - SHOWN)]
    lines = [" | ".join(map(markdown_cell, row)) for row in (head, *rows)]
    lines.insert(1, " | ".join(marks))
    reasons = [f"\n- {markdown_cell(reason)}" for reason in _reasons(found)]
    return "\n".join(f"| {line} |" for line in lines) + "\n" + "".join(reasons) + "\n" * bool(reasons)


def _csv(found: Sequence[ByConvention]) -> str:
    return csv_text({**record, "known": "; ".join(record["known"])} for record in _records(found))


def _latex(found: Sequence[ByConvention]) -> str:
    head, *rows = _rows(found)
    lines = [" & ".join(map(latex_cell, row[:SHOWN])) + r" \\" for row in (head, *rows)]
    signatures = [f"% {one.result.signature}" for one in found if one.result]
    return "\n".join(
        [
            "% Needs \\usepackage{booktabs}",
            *signatures,
            r"\begin{tabular}{lrrl}",
            r"\toprule",
            lines[0],
            r"\midrule",
            *lines[1:],
            r"\bottomrule",
            r"\end{tabular}",
            "",
        ]
    )


def _html(found: Sequence[ByConvention]) -> str:
    """A page of its own: it loads nothing, and fits a phone."""
    head, *rows = _rows(found)
    made = [one.result for one in found if one.result]
    title = f"{made[0].model} by convention" if made else "Perplexity by convention"
    reasons = "".join(f"<li>{html.escape(reason)}</li>" for reason in _reasons(found))
    signatures = "".join(f"<p><code>{html.escape(str(result.signature))}</code></p>" for result in made)
    return document(
        title,
        [
            f"<section>{html_table(head, rows, around='wide cards', words=TEXT)}",
            f"<ul>{reasons}</ul></section>" if reasons else "</section>",
            f"<details><summary>Signatures</summary>{signatures}</details>",
        ],
    )


def _json(found: Sequence[ByConvention]) -> str:
    return json.dumps(_records(found), ensure_ascii=False) + "\n"


def _records(found: Sequence[ByConvention]) -> list[dict[str, Any]]:
    """All that is known of each, not rounded."""
    return [
        {
            "convention": one.convention.name,
            "number": one.number,
            "bits_per_byte": one.bits_per_byte,
            "scored": one.convention.scored,
            "context": one.convention.context,
            "normaliser": one.convention.normaliser,
            "preparation": one.convention.preparation,
            "source": one.convention.source,
            "proof": one.convention.proof,
            "known": list(one.convention.known),
            "signature": str(one.result.signature) if one.result else None,
            "broken": one.result.broken if one.result else (),
            "why": one.why,
        }
        for one in found
    ]


WRITERS: Final[dict[str, Callable[[Sequence[ByConvention]], str]]] = {
    "text": _text,
    "markdown": _markdown,
    "csv": _csv,
    "latex": _latex,
    "html": _html,
    "json": _json,
}
