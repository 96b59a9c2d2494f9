"""Options that several commands of the three command lines have, and types of their values."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Final, TypeVar, cast

import click

import wikitext_builder as wb
from wikitext_builder.hashing import code_hash

Decorated = TypeVar("Decorated", bound=Callable[..., Any])
FILE = click.Path(path_type=Path, dir_okay=False)
FOLDER = click.Path(path_type=Path, file_okay=False)
ANY = click.Path(path_type=Path, exists=True)


class WholeRange(click.IntRange):
    """Whole numbers from `least` to `most`, which help need not show: all libraries take that many."""

    def __init__(self, least: int, most: int = 2**31 - 1) -> None:
        super().__init__(min=least)
        self.most = most

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:  # noqa: ANN401 - as click
        """The number of a text."""
        number = super().convert(value, param, ctx)
        if number > self.most:
            self.fail(f"{number} is more than {self.most}.", param, ctx)
        return number


COUNT, WHOLE = WholeRange(1), WholeRange(0)
PARALLEL = WholeRange(1, 1024)  # threads or processes: torch starts as many, or ends the process
SEED = WholeRange(0, 2**63 - 1)  # what numpy and torch both take


class RealRange(click.FloatRange):
    """Real numbers in a range: "nan" is a float, but in no range, and "inf" only in those that end there."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:  # noqa: ANN401 - as click
        """The number of a text."""
        number = super().convert(value, param, ctx)
        if not math.isfinite(number) and number != self.max:
            self.fail(f"{value!r} is not a finite number.", param, ctx)
        return number


class RealOrOff(RealRange):
    """Real numbers in a range, or `off`, which is None."""

    name = "number or off"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:  # noqa: ANN401 - as click
        """The number of a text."""
        return None if value == "off" else super().convert(value, param, ctx)


class OutputFile(click.Path):
    """A file to write; a folder that is missing is an error before hours of work."""

    def __init__(self) -> None:
        super().__init__(path_type=Path, dir_okay=False, writable=True)

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:  # noqa: ANN401 - as click
        """The path of a text."""
        path = cast("Path", super().convert(value, param, ctx))
        if not path.parent.is_dir():
            self.fail(f"there is no folder '{path.parent}'; make it first, or choose another.", param, ctx)
        return path


OUTPUT_FILE: Final = OutputFile()
# Options that are often the same for a user can stand in a variable.
store_option = click.option(
    "--store",
    "store_path",
    type=FILE,
    required=True,
    envvar="WIKITEXT_STORE",
    show_envvar=True,
    help="Store of pages.",
)
language_option = click.option(
    "--language",
    default="en",
    envvar="WIKITEXT_LANGUAGE",
    show_envvar=True,
    help="Wikipedia's code, such as de or simple.",
)
stored_language_option = click.option(
    "--language",
    envvar="WIKITEXT_LANGUAGE",
    show_envvar=True,
    help="Wikipedia's code.  [default: the store's]",
)
json_option = click.option("--json", "as_json", is_flag=True, help="Print JSON.")
csv_option = click.option("--csv", "as_csv", is_flag=True, help="Print CSV.")


def filter_options(include: str, exclude: str) -> Callable[[Decorated], Decorated]:
    """The options `--include` and `--exclude`, with examples of what each takes."""

    def add(function: Decorated) -> Decorated:
        for option, about in (
            ("--exclude", f"Drop pages that match, such as {exclude}; repeatable."),
            ("--include", f"Keep only pages that match, such as {include}; repeatable."),
        ):
            function = click.option(option, multiple=True, help=about)(function)
        return function

    return add


def cite_option(program: Decorated) -> Decorated:
    """The option that prints BibTeX."""
    return _printing_option("--cite", "Print BibTeX and exit.", lambda _: wb.cite().rstrip())(program)


def version_option(program: Decorated) -> Decorated:
    """The option that prints the version, and a hash of the code."""
    return _printing_option(
        "--version",
        "Show the version and exit.",
        lambda name: f"{name}, version {wb.__version__}, code {code_hash()}",
    )(program)


def _printing_option(name: str, about: str, text: Callable[[str], str]) -> Callable[[Decorated], Decorated]:
    """An option that prints a text, made of the program's name, and ends the program."""

    def show(context: click.Context, _option: click.Parameter, asked: bool) -> None:
        if asked and not context.resilient_parsing:
            click.echo(text(str(context.find_root().info_name)))
            context.exit()

    return click.option(name, is_flag=True, is_eager=True, expose_value=False, callback=show, help=about)


def trust_option(trust: Callable[[Path], None]) -> Callable[[Any], Any]:
    """The option that trusts users' code: `trust` is called with each file."""

    def allow(_context: click.Context, _option: click.Parameter, paths: tuple[Path, ...]) -> None:
        for path in paths:
            trust(path)

    return click.option(
        "--trust",
        type=click.Path(path_type=Path),
        multiple=True,
        expose_value=False,
        callback=allow,
        help="Python file that checkpoints load their model from: trust it from now on; repeatable.",
    )


SECTIONS_HELP = (
    "What to remove with list sections, such as References. official: the heading and the section's own text"
    " (subsections stay); clean: the whole section, and empty sections."
)
INCOMPLETE_HELP = (
    "When a template's text is missing. cut: remove the smallest part that needs it (a clause, parentheses, a"
    " sentence, a list item); keep: leave the gap."
)


def listed(counts: Mapping[str, int]) -> str:
    """Counts by name in a line, the largest first.

    >>> listed({"redirect": 3, "unmarked": 1200}), listed({})
    ('1,200 unmarked, 3 redirect', 'none')
    """
    rows = sorted(counts.items(), key=lambda row: (-row[1], row[0]))
    return ", ".join(f"{count:,} {name}" for name, count in rows) or "none"
