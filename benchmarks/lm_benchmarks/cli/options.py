"""What the commands share: options, progress bars, and the settings of the processor."""

from __future__ import annotations

import os
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from typing import Any, Final, TypeVar, cast

import click

from lm_benchmarks.choices import DTYPES, PATIENCE, SAMPLES
from ps_models.errors import needed_packages
from wikitext_builder.article import SPLITS
from wikitext_builder.cli.options import SEED, RealRange
from wikitext_builder.progress import Progress, shown_progress

EXISTING: Final = click.Path(exists=True, path_type=Path)
ANY_PATH: Final = click.Path(path_type=Path)
PROGRAM: Final = "lm-benchmarks"
Decorated = TypeVar("Decorated", bound=Callable[..., Any])


class _OutputFile(click.Path):
    """A file to write or to append to. One that cannot be written is refused before hours of work."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:  # noqa: ANN401 - as click
        """The path of a text."""
        path = cast("Path", super().convert(value, param, ctx))
        folder = Path(os.path.realpath(path)).parent  # a link may lead elsewhere
        try:
            is_there, is_new = folder.is_dir(), not path.exists()
        except OSError as error:
            self.fail(f"'{str(path)[:80]}': {error.strerror}; choose another name.", param, ctx)
        if not is_there:
            self.fail(f"there is no folder '{folder}'; make it first, or choose another.", param, ctx)
        if is_new and not os.access(folder, os.W_OK | os.X_OK):
            self.fail(f"the folder '{folder}' cannot be written to; choose another.", param, ctx)
        return path


OUTPUT_FILE: Final = _OutputFile(path_type=Path, dir_okay=False, writable=True)


class ModelCommand(click.Command):
    """A command that runs models: it sets up the processor. Its help needs no torch."""

    def invoke(self, ctx: click.Context) -> Any:  # noqa: ANN401 - what a command returns
        """Run the command with the threads that the program was given."""
        with needed_packages():
            from ps_models.processor import use_processor
        use_processor(ctx.find_root().params["threads"])
        return super().invoke(ctx)


class Bars:
    """Progress bars that appear with the first report and can be closed to print below them."""

    def __init__(self) -> None:
        self._open = ExitStack()
        self._report: Progress | None = None

    def __call__(self, stage: str, done: int, total: int | None, note: str = "") -> None:
        """Report; see `Progress`."""
        if self._report is None:
            self._report = self._open.enter_context(shown_progress())
        self._report(stage, done, total, note)

    def __enter__(self) -> Bars:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def close(self) -> None:
        """End the bars; the next report starts new ones."""
        self._open.close()
        self._report = None


CAUSAL: Final[list[Callable[[Any], Any]]] = [
    click.option("--device", default="auto", help="auto, cpu, cuda or cuda:1."),
    click.option("--dtype", type=click.Choice(DTYPES), help="transformers: weights; gguf: cache."),
    click.option("--attention", help="transformers: eager, sdpa, flash_attention_2, …"),
    click.option("--tokenizer", help="completions: folder or name of the model's tokenizer."),
    click.option("--served-model", help="completions: what the server calls the model."),
    click.option("--longest", type=click.IntRange(min=2), help="gguf, completions: pieces at once."),
]


def causal_options(command: Decorated) -> Decorated:
    """What a causal model may need to be loaded."""
    for option in reversed(CAUSAL):
        command = option(command)
    return command


def model_options(command: Decorated) -> Decorated:
    """What a model may need to be loaded."""
    options: list[Callable[[Decorated], Decorated]] = [
        *CAUSAL,
        click.option("--seed", default=1, type=SEED, help="For models that draw random numbers."),
        click.option(
            "--window", type=click.IntRange(min=1), help="Models of pieces: read per call; cache: its words."
        ),
        click.option("--stride", type=click.IntRange(min=1), help="Models of pieces: scored per call."),
        click.option("--unknown-word", help="arpa, kenlm: how the file spells <unk>."),
        click.option(
            "--patience",
            default=PATIENCE,
            type=RealRange(0, min_open=True),
            help="command, completions: seconds to wait.",
        ),
        click.option("--samples", default=SAMPLES, type=click.IntRange(min=1), help="mc: number of masks."),
    ]
    for option in reversed(options):
        command = option(command)
    return command


def json_option(command: Decorated) -> Decorated:
    """For programs."""
    option: Callable[[Decorated], Decorated] = click.option(
        "--json", "as_json", is_flag=True, help="Print JSON."
    )
    return option(command)


def split_option(command: Decorated) -> Decorated:
    """Which split of the dataset."""
    option: Callable[[Decorated], Decorated] = click.option(
        "--split", type=click.Choice(SPLITS), default="test", help="Split of the dataset."
    )
    return option(command)
