"""What the commands share: options, progress bars, and the settings of the processor."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ExitStack
from functools import partial
from typing import Any, Final

import click

from lm_benchmarks.choices import CONFIDENCE_LEVEL, OPTIONS, ModelOption
from ps_models.errors import needed_packages
from wikitext_builder.cli.command_line import ANY, Decorated, RealRange, WholeRange
from wikitext_builder.progress import Progress, show_progress

PROGRAM: Final = "lm-benchmarks"
KEPT_IN: Final = {"run": "results", "conventions": "results"}  # options, by command


class ModelCommand(click.Command):
    """A command that runs models: it sets up the processor, and says after Ctrl-C what is kept.

    Its help needs no torch.
    """

    def invoke(self, ctx: click.Context) -> Any:  # noqa: ANN401 - what a command returns
        """Run the command with the threads that the program was given."""
        with needed_packages():
            from ps_models.processor import use_processor
        use_processor(ctx.find_root().params["threads"])
        try:
            return super().invoke(ctx)
        except KeyboardInterrupt:
            said = "nothing was kept: run the same command again"
            if option := KEPT_IN.get(self.name or ""):
                anew = ctx.params.get("resume") is False
                again = "run it again without --no-resume" if anew else "run the same command again"
                kept = f"what is finished is in {ctx.params[option]}: {again} to resume"
                said = kept if ctx.params[option] else f"{said}, with --{option} FILE to resume next time"
            raise KeyboardInterrupt(f"stopped; {said}") from None


class Bars(ExitStack):
    """Progress bars that appear with the first report and can be closed to print below them."""

    _report: Progress | None = None

    def __call__(self, stage: str, done: int, total: int | None, note: str = "") -> None:
        """Report; see `Progress`."""
        if self._report is None:
            self._report = self.enter_context(show_progress())
        self._report(stage, done, total, note)

    def close(self) -> None:
        """End the bars; the next report starts new ones."""
        super().close()
        self._report = None


def model_options(command: Decorated, *, windows: bool = True) -> Decorated:
    """What a model may need to be loaded, with its windows if the command does not choose them itself."""
    for name, option in reversed(list(OPTIONS.items())):
        if windows or option.windows:
            words = f"--{name.replace('_', '-')}"
            command = click.option(words, default=option.default, type=_type(option), help=option.help)(
                command
            )
    return command


window_model_options: Final = partial(model_options, windows=False)

level_option: Final = click.option(
    "--level", default=CONFIDENCE_LEVEL, type=RealRange(0.5, 0.9999), help="Confidence level."
)


def data_option(about: str) -> Callable[[Decorated], Decorated]:
    """The dataset of a command, which can also stand in a variable."""
    return click.option(
        "--data", type=ANY, required=True, envvar="WIKITEXT_DATA", show_envvar=True, help=about
    )


check_option: Final = click.option("--check/--no-check", default=True, help="Check the invariants of models.")


def _type(option: ModelOption) -> click.ParamType[Any]:
    if option.choices:
        return click.Choice(option.choices)
    if option.kind is float:
        return RealRange(option.above, option.maximum, min_open=True)
    if option.kind is int:
        return WholeRange(option.minimum or 0, option.maximum)
    return click.STRING
