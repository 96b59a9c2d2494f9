"""Options that several commands of the three command lines have, and types of their values."""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Mapping
from functools import wraps
from pathlib import Path
from typing import Any, Final, TypeVar, cast

import click
from click.core import ParameterSource

import wikitext_builder as wb
from wikitext_builder.errors import BuilderError
from wikitext_builder.hashing import code_hash
from wikitext_builder.wiki.languages import language_of

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


class Output(click.Path):
    """What a command writes: nothing that it reads."""


class OutputFile(Output):
    """A file to write, or to append to. One that cannot be written is refused before hours of work."""

    def __init__(self, *, appends: bool = False) -> None:
        super().__init__(path_type=Path, dir_okay=False, writable=True)
        self.appends = appends

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
        if not is_new and self.appends and not path.is_file():
            self.fail(f"'{path}' is no regular file; choose another.", param, ctx)
        return path


OUTPUT_FILE: Final = OutputFile()
RECORDS_FILE: Final = OutputFile(appends=True)
OUTPUT_FOLDER: Final = Output(path_type=Path, file_okay=False)


class DependentOption(click.Option):
    """An option that does nothing without another one, and is refused then."""

    def __init__(self, *arguments: Any, needs: str, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self.needs = needs  # the name of the other one's parameter

    def expect_other(self, context: click.Context) -> None:
        """Refuse it if it is given without the other one; `context` has all parameters."""
        typed = context.get_parameter_source(self.name or "") is ParameterSource.COMMANDLINE
        if typed and not context.params[self.needs]:
            (other,) = (one for one in context.command.params if one.name == self.needs)
            told = f"does nothing without {other.opts[0]}: give both, or leave it out."
            raise click.BadParameter(told, context, self)


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


store_option = click.option("--store", "store_path", type=FILE, required=True, help="Store of pages.")


def store_argument(function: Callable[..., Any]) -> Callable[..., Any]:
    """The store as an argument, which people type, or as the option that other commands have."""

    @click.argument("store", metavar="[STORE]", required=False, type=FILE)
    @click.option("--store", "store_path", type=FILE, help="The store, if not given as STORE.")
    @wraps(function)
    def command(*arguments: Any, store: Path | None, store_path: Path | None, **options: Any) -> Any:  # noqa: ANN401 - as the command
        context = click.get_current_context()
        if store and context.get_parameter_source("store_path") is ParameterSource.COMMANDLINE:
            raise click.UsageError("STORE and --store are the same: give one.", context)
        if (path := store or store_path) is None:
            raise click.UsageError("Missing argument 'STORE'.", context)
        return function(*arguments, store_path=path, **options)

    return command


class LanguageCode(click.ParamType[str]):
    """The code of a Wikipedia."""

    name = "code"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:  # noqa: ANN401 - as click
        """The code; an unknown one is refused with the nearest ones."""
        try:
            return language_of(str(value)).code
        except BuilderError as error:
            self.fail(str(error), param, ctx)


language_option = click.option(
    "--language", type=LanguageCode(), default="en", help="Wikipedia's code, such as de or simple."
)
stored_language_option = click.option(
    "--language", type=LanguageCode(), help="Wikipedia's code.  [default: the store's]"
)


def _one_form(context: click.Context, option: click.Parameter, value: bool) -> bool:
    """Refuse --json with --csv."""
    if value and any(context.params.get(name) for name in ("as_json", "as_csv") if name != option.name):
        raise click.UsageError("--json and --csv exclude each other.", context)
    return value


json_option = click.option("--json", "as_json", is_flag=True, callback=_one_form, help="Print JSON.")
csv_option = click.option("--csv", "as_csv", is_flag=True, callback=_one_form, help="Print CSV.")


def _filters(include: str, exclude: str) -> Callable[[Decorated], Decorated]:
    """The options `--include` and `--exclude`, with examples of what each takes."""

    def add(function: Decorated) -> Decorated:
        for option, about in (
            ("--exclude", f"Drop pages that match, such as {exclude}; repeatable."),
            ("--include", f"Keep only pages that match, such as {include}; repeatable."),
        ):
            function = click.option(option, multiple=True, help=about)(function)
        return function

    return add


page_filters = _filters("words:300-, bytes:MIN-MAX or lock:FILE", "stubs, lock:FILE or titles:FILE")
stored_filters = _filters("lock:FILE or created-since:DATE", "dataset:FOLDER or titles:FILE")


def add_cite_option(program: click.Command, cite: Callable[[str], str], paths: str) -> None:
    """Add the option that prints BibTeX, of what `cite` has for a path, and ends the program."""

    def show(context: click.Context, _option: click.Parameter, path: str | None) -> None:
        if path is not None and not context.resilient_parsing:
            click.echo(cite(path) if path else wb.cite(), nl=False)
            context.exit()

    option = click.Option(
        ["--cite"],
        metavar="[PATH]",
        is_flag=False,
        flag_value="",  # without a path
        expose_value=False,
        is_eager=True,
        callback=show,
        help=f"Print BibTeX for this software, the paper, and PATH ({paths}), and exit.",
    )
    program.params.append(option)


def version_option(program: Callable[..., Any]) -> Callable[..., Any]:
    """The option that prints the version, and a hash of the code."""

    def show(context: click.Context, _option: click.Parameter, asked: bool) -> None:
        if asked and not context.resilient_parsing:
            click.echo(f"{context.find_root().info_name}, version {wb.__version__}, code {code_hash()}")
            context.exit()

    options: dict[str, Any] = {"is_flag": True, "is_eager": True, "expose_value": False, "callback": show}
    return click.option("--version", help="Show the version and exit.", **options)(program)


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


class SelectOption(click.Option):
    """An option whose help names all kinds of selections, which are imported only to show it."""

    def get_help_record(self, ctx: click.Context) -> tuple[str, str] | None:
        """The option and its help, with `{kinds}` replaced."""
        from wikitext_builder.pages.selections import SELECTIONS

        record = super().get_help_record(ctx)
        kinds = ", ".join(SELECTIONS)
        return record and (record[0], record[1].format(kinds=kinds))


def listed(counts: Mapping[str, int]) -> str:
    """Counts by name in a line, the largest first.

    >>> listed({"redirect": 3, "unmarked": 1200}), listed({})
    ('1,200 unmarked, 3 redirect', 'none')
    """
    rows = sorted(counts.items(), key=lambda row: (-row[1], row[0]))
    return ", ".join(f"{count:,} {name}" for name, count in rows) or "none"
