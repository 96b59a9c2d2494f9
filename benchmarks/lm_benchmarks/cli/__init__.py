"""The command `lm-benchmarks`: measure language models, compare them, report on them."""

from __future__ import annotations

import sys
from typing import Final

import click

from lm_benchmarks.cli import measuring, showing
from lm_benchmarks.cli.options import PROGRAM
from ps_models.processor import use_processor
from wikitext_builder.cli.run import Program, run

SETTINGS: Final = {"help_option_names": ["-h", "--help"], "show_default": True}


@click.group(PROGRAM, cls=Program, context_settings=SETTINGS)
@click.version_option(package_name="wikitext-builder")
@click.option("--threads", type=click.IntRange(min=1), help="CPU threads; torch decides if not given.")
def commands(threads: int | None) -> None:
    """Measure language models so that the numbers can be compared, and believed.

    DATA is a dataset that wikitext-builder made, a folder in WikiText's or Penn Treebank's layout, or a file.
    MODEL is a name of ours, a checkpoint of ps-models, a file, a program, or `module:function`, a function of
    yours that is given the dataset and returns a language model: `lm-benchmarks list`.
    """
    use_processor(threads)


for _command in (*measuring.COMMANDS, *showing.COMMANDS):
    commands.add_command(_command)


def main() -> None:
    """Run `lm-benchmarks`; an error is one line and status 1, wrong usage status 2."""
    sys.path.insert(0, "")  # the user's own modules lie where the user is
    run(commands)
