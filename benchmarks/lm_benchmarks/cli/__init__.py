"""The command `lm-benchmarks`: measure language models, compare them, report on them."""

from __future__ import annotations

from pathlib import Path

import click

import ps_models as pm
from lm_benchmarks.cli import measuring, showing
from lm_benchmarks.cli.options import PROGRAM
from ps_models.cli import SETTINGS, threads_option
from wikitext_builder.cli.command_line import Program, cite_option, run, trust_option, version_option


@click.group(PROGRAM, cls=Program, about=Path(__file__).with_name("commands.toml"), context_settings=SETTINGS)
@cite_option
@version_option
@threads_option
@trust_option(lambda path: pm.trust(path))
def commands(threads: int | None) -> None:
    """Measure language models so that you can compare the numbers and trust them.

    DATA is a dataset built by wikitext-builder, a folder in the layout of WikiText or the Penn Treebank, or a
    file. MODEL is a built-in model, a ps-models checkpoint, a file, a program, or your own function,
    `module:function`, which takes lm_benchmarks.Inputs and returns a language model; `list` shows them all.
    """
    del threads  # `ModelCommand` sets them, after the help


for _command in (*measuring.COMMANDS, *showing.COMMANDS):
    commands.add_command(_command)


def main() -> None:
    """Run `lm-benchmarks`."""
    run(commands)
