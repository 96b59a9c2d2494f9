"""A report as one HTML page: tables that can be sorted, charts, and how each number was measured."""

from __future__ import annotations

import base64
import hashlib
import html
from collections.abc import Iterable, Sequence
from importlib.resources import files

from lm_benchmarks.metrics import METRICS
from lm_benchmarks.records.result import Result
from lm_benchmarks.reporting.formats import INTERVALS, LAWS, group_columns, group_legend, group_rows, notes
from lm_benchmarks.reporting.report import Grouping, Report, Section, grouping_chart
from lm_benchmarks.reporting.tables import ReportRow, Table, cells, columns


def page(report: Report) -> str:
    """One HTML page. It loads nothing, and its content policy forbids loading."""
    body = []
    if report.first is not None:
        body.append(_first_section(report.first))
    for table, groupings in zip(report.tables, report.groupings, strict=True):
        body += [_section(table), *map(_grouping_section, groupings)]
    body += [f"<section><h2>{html.escape(name)}</h2>{chart}</section>" for name, chart in report.charts]
    return document(report.title, [*body, _made(report)], refresh=report.refresh)


def document(title: str, body: Sequence[str], *, refresh: int = 0) -> str:
    """A page in the style of reports; with `refresh` it loads itself again after so many seconds."""
    style, script = _resource("report.css"), _resource("report.js")
    policy = (
        f"default-src 'none'; script-src '{_hash(script)}'; style-src '{_hash(style)}';"
        " base-uri 'none'; form-action 'none'"
    )
    again = f'<meta http-equiv="refresh" content="{refresh}">' if refresh else ""
    return "\n".join(
        [
            '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">',
            f'<meta http-equiv="Content-Security-Policy" content="{html.escape(policy, quote=True)}">',
            '<meta name="viewport" content="width=device-width, initial-scale=1">',
            again,
            f"<title>{html.escape(title)}</title>\n<style>{style}</style>\n</head>\n<body>",
            f"<h1>{html.escape(title)}</h1>",
            *body,
            f"<script>{script}</script>\n</body>\n</html>\n",
        ]
    )


def _first_section(section: Section) -> str:
    return (
        f"<section><h2>{html.escape(section.title)}</h2><p>{html.escape(section.text)}</p>"
        f"{html_table(section.head, section.rows, around='wide cards')}</section>"
    )


def _section(table: Table) -> str:
    head, rows = columns(table), [cells(table, row) for row in table.rows]
    drawn = html_table(head, rows, [_class(row) for row in table.rows], "wide cards")
    listed = "".join(f"<li>{html.escape(note)}</li>" for note in notes(table))
    return (
        f"<section><h2>{html.escape(table.data)}</h2><p>{html.escape(table.caption)}</p>"
        f"{drawn}{f'<ul>{listed}</ul>' if listed else ''}</section>"
    )


def _class(row: ReportRow) -> str:
    return "broken" if row.is_broken else ""


def _grouping_section(grouping: Grouping) -> str:
    few = ["few" if one else "" for one in grouping.few]
    return (
        f"<section><h3>By {html.escape(grouping.by)}</h3><p>{html.escape(group_legend(grouping))}</p>"
        f'<div class="pair">{grouping_chart(grouping)}'
        f"{html_table(group_columns(grouping), group_rows(grouping), few)}</div></section>"
    )


def html_table(
    head: Sequence[str],
    rows: Iterable[Sequence[str]],
    classes: Sequence[str] = (),
    around: str = "wide",
    words: frozenset[str] = frozenset({"laws"}),
) -> str:
    """A table that can be sorted by its headings. If it is too wide it scrolls, or shows a card per row.

    Columns named in `words` have text, which is aligned to the left.
    """
    heads = "".join(
        f'<th scope="col"{_aligned(name, words)}><button>{html.escape(name)}</button></th>' for name in head
    )
    lines = []
    for number, row in enumerate(rows):
        style = f' class="{classes[number]}"' if number < len(classes) and classes[number] else ""
        first = f'<th scope="row">{html.escape(row[0])}</th>'
        rest = "".join(
            f'<td{_aligned(name, words)} data-head="{html.escape(name)}">{html.escape(cell)}</td>'
            for name, cell in zip(head[1:], row[1:], strict=True)
        )
        lines.append(f"<tr{style}>{first}{rest}</tr>")
    return (
        f'<div class="{around}" tabindex="0"><table><thead><tr>{heads}</tr></thead>'
        f"<tbody>{''.join(lines)}</tbody></table></div>"
    )


def _aligned(column: str, words: frozenset[str]) -> str:
    return ' class="word"' if column in words else ""


def _made(report: Report) -> str:
    """How each number was measured, so that you can measure it again."""
    blocks = []
    for result in report.results:
        versions = ", ".join(f"{name} {number}" for name, number in result.versions.items())
        broken = "; ".join(f"{law}: {said}" for law, said in (result.checks or {}).items() if said)
        numbers = [
            f"{metric.label} {value:,.4f}"
            for metric in METRICS.values()
            if (value := metric.of(result.total)) is not None
        ]
        facts = [
            f"<p><code>{html.escape(str(result.signature))}</code></p>",
            f"<p>{html.escape(', '.join(numbers))}</p>",
            f"<p><code>{html.escape(result.command)}</code></p>" if result.command else "",
            f"<p>{html.escape(f'{result.seconds:.1f} s on {result.device}; {versions}')}</p>",
            f"<p>{html.escape(result.written)}</p>" if result.written else "",
            f"<p>{html.escape(str(result.tried))}</p>" if result.tried else "",
            f'<p class="broken">{html.escape(broken)}</p>' if broken else "",
        ]
        blocks.append(
            f"<details><summary>{html.escape(_summary(result))}</summary>{''.join(facts)}</details>"
        )
    return (
        f"<section><h2>How the numbers were measured</h2><p>{html.escape(f'{LAWS} {INTERVALS}')}</p>"
        f"{''.join(blocks)}</section>"
    )


def _summary(result: Result) -> str:
    return f"{result.model}, {result.signature['data'].rpartition('+')[0]} {result.signature['split']}"


def _hash(content: str) -> str:
    return "sha256-" + base64.b64encode(hashlib.sha256(content.encode()).digest()).decode()


def _resource(name: str) -> str:
    return files("lm_benchmarks.reporting").joinpath(name).read_text(encoding="utf-8")
