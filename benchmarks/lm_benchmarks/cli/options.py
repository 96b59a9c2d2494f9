"""Options that commands share, and what they say of files."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, Final, TypeVar

import click

from wikitext_builder.dataset.split import SPLITS

EXISTING: Final = click.Path(exists=True, path_type=Path)
ANY_PATH: Final = click.Path(path_type=Path)
PROGRAM: Final = "lm-benchmarks"
Command = TypeVar("Command", bound=Callable[..., Any])


def model_options(command: Command) -> Command:
    """What a model may need to be opened."""
    options: list[Callable[[Command], Command]] = [
        click.option("--device", default="auto", help="auto, cpu, cuda or cuda:1."),
        click.option("--seed", default=1, help="For models that draw."),
        click.option("--window", type=click.IntRange(min=1), help="transformers: pieces read at once."),
        click.option("--stride", type=click.IntRange(min=1), help="transformers: pieces scored a window."),
        click.option("--unknown-word", help="arpa, kenlm: how the file spells <unk>."),
        click.option("--patience", default=60.0, help="command: seconds for an answer."),
        click.option("--samples", default=10, type=click.IntRange(min=1), help="mc: samples of the masks."),
    ]
    for option in reversed(options):
        command = option(command)
    return command


def json_option(command: Command) -> Command:
    """For programs."""
    option: Callable[[Command], Command] = click.option("--json", "as_json", is_flag=True, help="Print JSON.")
    return option(command)


def split_option(command: Command) -> Command:
    """Which part of the dataset."""
    option: Callable[[Command], Command] = click.option(
        "--split", type=click.Choice(SPLITS), default="test", help="Part of the dataset."
    )
    return option(command)
