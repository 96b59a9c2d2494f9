"""Provides programs, error handling and options for all three command lines."""

from __future__ import annotations

import math
import os
import sys
import tomllib
from collections.abc import Callable, Mapping
from contextlib import suppress
from io import StringIO, TextIOWrapper
from pathlib import Path
from typing import Any, Final, TypeVar, cast

import click

import wikitext_builder as wb
from wikitext_builder.errors import RejectedError, ToolkitError, is_short_memory, without_secrets
from wikitext_builder.files import code_hash
from wikitext_builder.progress import set_verbosity


class Program(click.Group):
    """A group that lists its commands by stage, with summaries and examples from a file.

    The group and all its commands have --verbose and --quiet.
    """

    def __init__(self, *arguments: Any, about: Path | None = None, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self.about = tomllib.loads(about.read_text(encoding="utf-8")) if about else {}
        self.params.append(_verbosity_option())
        if about:
            self.add_command(_completion(self))

    def add_command(self, cmd: click.Command, name: str | None = None) -> None:
        """Add a command with its summary and example."""
        if not isinstance(cmd, Program):
            cmd.params.append(_verbosity_option())
        if about := self.about.get(name or cmd.name or ""):
            cmd.short_help = about["summary"]
            cmd.epilog = f"Example:\n\n\b\n  $ {about['example']}"
        super().add_command(cmd, name)

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the names of the commands, in the order of the file."""
        return list(self.about) or super().list_commands(ctx)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the commands by stage."""
        if not self.about:
            super().format_commands(ctx, formatter)
        for stage in dict.fromkeys(about["stage"] for about in self.about.values()):
            with formatter.section(stage):
                rows = [(name, about) for name, about in self.about.items() if about["stage"] == stage]
                formatter.write_dl([(name, about["summary"]) for name, about in rows])


def _completion(program: click.Group) -> click.Command:
    """Return the command that prints a shell's code for completing names of a program."""

    @click.command()
    @click.argument("shell", type=click.Choice(("bash", "zsh", "fish")))
    def completion(shell: str) -> None:
        """Print code that completes commands, options and choices, for your shell's startup file."""
        from click.shell_completion import get_completion_class

        name = program.name or ""
        completion_class = get_completion_class(shell)
        if completion_class is not None:  # click knows all three
            click.echo(
                completion_class(program, {}, name, f"_{name.replace('-', '_')}_COMPLETE".upper()).source()
            )

    return completion


def _verbosity_option() -> click.Option:
    return click.Option(
        ["-v/-q", "--verbose/--quiet"],
        default=None,
        expose_value=False,
        callback=_apply_verbosity,
        help="-v: log every step, such as each request; -q: only results and errors.",
    )


def _apply_verbosity(context: click.Context, _option: click.Parameter, verbose: bool | None) -> None:
    if verbose is not None or context.parent is None:  # otherwise an option before the command's name counts
        set_verbosity(verbose)


def run(program: click.Command, *, stopped: str = "stopped") -> None:
    """Run a command line; an error that the user can correct is one paragraph, with exit status 1.

    Ctrl-C prints `stopped`, or the message of the `KeyboardInterrupt`.
    """
    name = program.name or ""
    for descriptor in ("stdin", "stdout", "stderr"):
        if getattr(sys, descriptor) is None:  # closed, as by `>&-`: a file would get its number
            setattr(sys, descriptor, Path(os.devnull).open("r" if descriptor == "stdin" else "w"))  # noqa: SIM115
    for stream in (sys.stdout, sys.stderr):  # output is UTF-8 in any locale
        if isinstance(stream, TextIOWrapper):
            # A file name that is not UTF-8 is escaped, and does not end hours of work.
            stream.reconfigure(encoding="utf-8", errors="backslashreplace", newline="\n")
    try:
        status = program(prog_name=name, standalone_mode=False)
        sys.stdout.flush()
    except click.ClickException as error:
        error.show(message := StringIO())
        click.echo(without_secrets(message.getvalue()), err=True, nl=False)
        sys.exit(error.exit_code)
    except (ToolkitError, RejectedError) as error:
        _fail(name, str(error), 1)
    except (KeyboardInterrupt, click.Abort) as error:
        _fail(name, str(error.__cause__ or error) or stopped, 130)
    except (BrokenPipeError, SystemExit) as error:  # click turns the first into the second
        if isinstance(error, SystemExit) and not error.code:  # click also exits after completing a word
            raise
        # The reader of stdout is gone, as with `| head`, which is not an error: 141 is the shell's status.
        _discard_output()
        sys.exit(141)
    except OSError as error:  # stdout on a full disk, for example
        if error.filename is None:
            _discard_output()
        _fail(name, f"{error.filename or 'output'}: {error.strerror or error}", 1)
    except Exception as error:
        if not is_short_memory(error):
            raise
        advice = "use fewer processes or a larger machine, and run it again to resume"
        _fail(name, f"memory ran out{f' ({error})' if str(error) else ''}; {advice}", 1)
    if status:  # from `click.exceptions.Exit`; commands return None
        sys.exit(status)


def _discard_output() -> None:
    """Discard the buffer of stdout, because Python would try to write it at exit, and fail again."""
    with suppress(OSError):  # stdout can be an object without a file
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _fail(name: str, message: str, status: int) -> None:
    """Print an error and exit; control characters, which can come from a stranger's file, are escaped."""
    printable = "".join(c if c.isprintable() or c == "\n" else ascii(c)[1:-1] for c in message)
    click.echo(f"{name}: {printable}", err=True)
    sys.exit(status)


# --- options, and types of their values


Decorated = TypeVar("Decorated", bound=Callable[..., Any])
FILE = click.Path(path_type=Path, dir_okay=False)
FOLDER = click.Path(path_type=Path, file_okay=False)
ANY = click.Path(path_type=Path, exists=True)


class WholeRange(click.IntRange):
    """Whole numbers from `minimum` to `maximum`; help does not show the maximum, which all libraries take."""

    def __init__(self, minimum: int, maximum: int = 2**31 - 1) -> None:
        super().__init__(min=minimum)
        self.maximum = maximum

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:  # noqa: ANN401 - as click
        """Convert a text to a number."""
        number = super().convert(value, param, ctx)
        if number > self.maximum:
            self.fail(f"{number} is more than {self.maximum}.", param, ctx)
        return number


COUNT, WHOLE = WholeRange(1), WholeRange(0)
PARALLEL = WholeRange(1, 1024)  # threads or processes, all of which torch starts
SEED = WholeRange(0, 2**63 - 1)  # accepted by both numpy and torch


class RealRange(click.FloatRange):
    """Real numbers in a range; "nan" is in no range, and "inf" only in a range that ends there."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:  # noqa: ANN401 - as click
        """Convert a text to a number."""
        number = super().convert(value, param, ctx)
        if not math.isfinite(number) and number != self.max:
            self.fail(f"{value!r} is not a finite number.", param, ctx)
        return number


class RealOrOff(RealRange):
    """Real numbers in a range, or `off`, which is None."""

    name = "number or off"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:  # noqa: ANN401 - as click
        """Convert a text to a number."""
        return None if value == "off" else super().convert(value, param, ctx)


class OutputFile(click.Path):
    """A file to write; a missing folder is an error before hours of work."""

    def __init__(self) -> None:
        super().__init__(path_type=Path, dir_okay=False, writable=True)

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:  # noqa: ANN401 - as click
        """Convert a text to a path."""
        path = cast("Path", super().convert(value, param, ctx))
        if not path.parent.is_dir():
            self.fail(f"there is no folder '{path.parent}'; create it first, or choose another.", param, ctx)
        return path


OUTPUT_FILE: Final = OutputFile()
# Options whose value is often the same for a user can be set by a variable.
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
    envvar="WIKITEXT_LANGUAGE",
    show_envvar=True,
    help="Wikipedia's code, such as de or simple.  [default: that of the dump or lock file, else en]",
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
    """Return the options `--include` and `--exclude`, with examples of conditions."""

    def add(function: Decorated) -> Decorated:
        for option, about in (
            ("--exclude", f"Drop pages that match, such as {exclude}; repeatable."),
            ("--include", f"Keep only pages that match, such as {include}; repeatable."),
        ):
            function = click.option(option, multiple=True, help=about)(function)
        return function

    return add


def cite_option(program: Decorated) -> Decorated:
    """Add the option that prints BibTeX."""
    return _printing_option("--cite", "Print BibTeX and exit.", lambda _: wb.cite().rstrip())(program)


def version_option(program: Decorated) -> Decorated:
    """Add the option that prints the version and a hash of the code."""
    return _printing_option(
        "--version",
        "Show the version and exit.",
        lambda name: f"{name}, version {wb.__version__}, code {code_hash()}",
    )(program)


def _printing_option(name: str, about: str, text: Callable[[str], str]) -> Callable[[Decorated], Decorated]:
    """Return an option that prints a text, made from the program's name, and exits."""

    def print_text(context: click.Context, _option: click.Parameter, is_given: bool) -> None:
        if is_given and not context.resilient_parsing:
            click.echo(text(str(context.find_root().info_name)))
            context.exit()

    return click.option(
        name, is_flag=True, is_eager=True, expose_value=False, callback=print_text, help=about
    )


def trust_option(trust: Callable[[Path], None]) -> Callable[[Any], Any]:
    """Return the option that trusts users' code, and calls `trust` with each file."""

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
    """Format counts by name as a line, the largest first.

    >>> listed({"redirect": 3, "unmarked": 1200}), listed({})
    ('1,200 unmarked, 3 redirect', 'none')
    """
    rows = sorted(counts.items(), key=lambda row: (-row[1], row[0]))
    return ", ".join(f"{count:,} {name}" for name, count in rows) or "none"
