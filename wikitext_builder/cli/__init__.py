"""Runs the command line: parse, one library call, print. Data goes to stdout, progress to stderr."""

from __future__ import annotations

from pathlib import Path

import click

from wikitext_builder.cli import analysis, datasets, pages
from wikitext_builder.cli.command_line import Program, cite_option, run, version_option

STOPPED = "stopped; run the same command again to resume it"


@click.group(
    "wikitext-builder",
    cls=Program,
    about=Path(__file__).with_name("commands.toml"),
    context_settings={"help_option_names": ["-h", "--help"], "show_default": True, "max_content_width": 100},
)
@cite_option
@version_option
def cli() -> None:
    """Regenerate the WikiText datasets from Wikipedia.

    fetch (or import) → build → verify, stats, plot. You can stop any command: run it again to resume.
    """


for _command in (datasets.demo, *pages.COMMANDS, *datasets.COMMANDS, *analysis.COMMANDS):
    cli.add_command(_command)


def main() -> None:
    """Run `wikitext-builder`."""
    run(cli, stopped=STOPPED)
