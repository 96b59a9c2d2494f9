"""`fetch` without a wiki: waits in the progress, and the forms of `select` in the help."""

import click

from wikitext_builder.cli.pages import fetch as command
from wikitext_builder.pages.fetch import WaitingProgress, fetch
from wikitext_builder.pages.selections import SELECTIONS


def test_a_wait_repeats_the_last_report_with_its_reason() -> None:
    reports: list[tuple[object, ...]] = []
    progress = WaitingProgress(lambda *report: reports.append(report))
    progress.wait("waiting 1 s (before any stage)")
    progress("fetching", 50, 120, "1 rejected")
    progress.wait("waiting 5 s (busy)")
    assert reports == [
        ("connecting", 0, None, "waiting 1 s (before any stage)"),
        ("connecting", 1, 1),
        ("fetching", 50, 120, "1 rejected"),
        ("fetching", 50, 120, "waiting 5 s (busy)"),
    ]


def test_help_and_docstring_name_every_kind_of_selection() -> None:
    (option,) = (one for one in command.params if isinstance(one, click.Option) and one.name == "select")
    record = option.get_help_record(click.Context(command))
    assert record is not None
    for name, kind in SELECTIONS.items():
        assert kind.form in record[1]
        assert f"`{name}" in (fetch.__doc__ or "")
