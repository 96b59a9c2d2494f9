"""Writes reports and the table of all rows to files."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Final

from lm_benchmarks.choices import TITLE
from lm_benchmarks.errors import HarnessError
from lm_benchmarks.records.result import read_results
from lm_benchmarks.reporting.formats import comma_separated, latex, markdown
from lm_benchmarks.reporting.page import page
from lm_benchmarks.reporting.published import PUBLISHED
from lm_benchmarks.reporting.report import Report, make_report
from lm_benchmarks.reporting.rows_page import read_records, rows_csv, rows_page
from wikitext_builder.dataset.load import load as load_dataset

FORMATS: Final[dict[str, Callable[[Report], str]]] = {
    ".md": markdown,
    ".tex": latex,
    ".csv": comma_separated,
    ".html": page,
}


def report(
    results: str | Path | Sequence[str | Path],
    out: str | Path,
    *,
    title: str = TITLE,
    data: str | Path | None = None,
    published: bool = True,
    logs: Sequence[str | Path] = (),
) -> Path:
    """Write a report: tables, charts and signatures of all results.

    For example, `report("results.jsonl", "report.html")`.

    Args:
        results: Files of JSON lines that `measure` wrote.
        out: The report. Its ending decides the format: `.md`, `.tex`, `.csv` or `.html`.
        title: Of the report.
        data: A dataset whose word frequencies are drawn.
        published: Also show published numbers, beside results on the official files of Penn Treebank and
            WikiText-2.
        logs: Folders of training runs to draw, besides those in the results.

    Returns:
        The path of the report.

    Raises:
        ToolkitError: The ending is unknown, or a file cannot be read or written.
    """
    target = Path(out)
    if target.suffix not in FORMATS:
        raise HarnessError(f"{out}: unknown kind of report; expected an ending of {', '.join(FORMATS)}")
    paths = [results] if isinstance(results, str | Path) else results
    made = make_report(
        title,
        [result for path in paths for result in read_results(Path(path))],
        published=PUBLISHED if published else (),
        logs=[Path(log) for log in logs],
        dataset=None if data is None else load_dataset(Path(data)),
    )
    return _write(target, FORMATS[target.suffix](made))


def rows(folder: str | Path, out: str | Path) -> Path:
    """Write the table of all rows: published, small size, full size, our training.

    Args:
        folder: With the records: `ptb.jsonl` and `wikitext-2.jsonl` of `measure`. Nothing else is read.
        out: The page, in Markdown. If it ends in `.csv`: the numbers alone.

    Returns:
        The path of the page.

    Raises:
        HarnessError: A file cannot be read or written.
    """
    make = rows_csv if Path(out).suffix == ".csv" else rows_page
    return _write(Path(out), make(read_records(Path(folder))))


def _write(out: Path, text: str) -> Path:
    try:
        out.write_text(text, encoding="utf-8")
    except OSError as error:
        raise HarnessError(f"{out}: {error.strerror}; expected a file to write the report to") from error
    return out
