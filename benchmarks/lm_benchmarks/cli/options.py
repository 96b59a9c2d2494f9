"""What commands share: options, progress bars, and the settings of the processor."""

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
RESULT_OPTIONS: Final = {"run": "results", "conventions": "results"}  # by command


class ModelCommand(click.Command):
    """A command that runs models: it sets up the processor, and says after Ctrl-C what was stored.

    Its help does not import torch.
    """

    def invoke(self, ctx: click.Context) -> Any:  # noqa: ANN401 - what a command returns
        """Run the command with the threads that the program was given."""
        with needed_packages():
            from ps_models.processor import use_processor
        use_processor(ctx.find_root().params["threads"])
        try:
            return super().invoke(ctx)
        except KeyboardInterrupt:
            advice = "nothing was stored: run the same command again"
            if option := RESULT_OPTIONS.get(self.name or ""):
                restarts = ctx.params.get("resume") is False
                again = "run it again without --no-resume" if restarts else "run the same command again"
                resume = f"finished results are in {ctx.params[option]}: {again} to resume"
                advice = resume if ctx.params[option] else f"{advice}, with --{option} FILE to resume later"
            raise KeyboardInterrupt(f"stopped; {advice}") from None


class Bars(ExitStack):
    """Progress bars that appear with the first report and can be closed to print below them."""

    _report: Progress | None = None

    def __call__(self, stage: str, done: int, total: int | None, note: str = "") -> None:
        """Report progress; see `Progress`."""
        if self._report is None:
            self._report = self.enter_context(show_progress())
        self._report(stage, done, total, note)

    def close(self) -> None:
        """End the bars; the next report starts new ones."""
        super().close()
        self._report = None


def model_options(command: Decorated, *, windows: bool = True) -> Decorated:
    """Add the options that load a model, with its windows unless the command chooses them itself."""
    for name, option in reversed(list(OPTIONS.items())):
        if windows or option.windows:
            flag = f"--{name.replace('_', '-')}"
            command = click.option(flag, default=option.default, type=_type(option), help=option.help)(
                command
            )
    return command


window_model_options: Final = partial(model_options, windows=False)

level_option: Final = click.option(
    "--level", default=CONFIDENCE_LEVEL, type=RealRange(0.5, 0.9999), help="Confidence level."
)


def data_option(about: str) -> Callable[[Decorated], Decorated]:
    """Make the option for a command's dataset, which an environment variable can also set."""
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
