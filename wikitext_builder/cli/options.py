"""What the three command lines share: how a program runs and prints errors of the library, and options."""

from __future__ import annotations

import math
import os
import sys
import tomllib
from collections.abc import Callable, Mapping
from contextlib import suppress
from functools import wraps
from io import StringIO, TextIOWrapper
from pathlib import Path
from typing import Any, Final, TypeVar, cast

import click

import wikitext_builder as wb
from wikitext_builder.addresses import without_secrets
from wikitext_builder.errors import BuilderError, RejectedError, ToolkitError, is_short_memory
from wikitext_builder.hashing import code_hash, commit
from wikitext_builder.progress import set_verbosity
from wikitext_builder.wiki.languages import language_of

# Options that are always the same for a user: each can stand in the file of settings, or in a variable.
SETTINGS: Final = ("store", "contact", "language", "data", "threads")

HINT: Final = (
    f"{', '.join(SETTINGS[:-1])} and {SETTINGS[-1]}, where they are always the same, can stand in"
    " ~/.config/wikitext-builder/config.toml, or in variables such as WIKITEXT_STORE."
)


def _settings() -> dict[str, Any]:
    """What the user's file of settings says; nothing if there is none."""
    path = Path(click.get_app_dir("wikitext-builder")) / "config.toml"
    try:
        found = tomllib.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return {}
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise BuilderError(f'{path}: {error}; expected lines such as store = "wikipedia.store"') from error
    for name, value in found.items():
        if name not in SETTINGS or not isinstance(value, str | int if name == "threads" else str):
            raise BuilderError(f"{path}: found {name}; expected a text or a number for {', '.join(SETTINGS)}")
    return found


class Program(click.Group):
    """A group that lists its commands by stage, with summaries and examples from a file.

    It and all its commands have --verbose and --quiet. The user's settings are the defaults of its options.
    """

    def __init__(self, *arguments: Any, about: Path | None = None, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self.about = tomllib.loads(about.read_text(encoding="utf-8")) if about else {}
        self._settle(self)
        if about:
            self.epilog = HINT
            self.add_command(_completion(self))

    def _settle(self, command: click.Command) -> None:
        """Add what all commands have: --verbose and --quiet, and variables for settings."""
        command.params.append(_verbosity_option())
        for option in command.params:
            if (setting := _setting(option)) and isinstance(option, click.Option):
                option.envvar, option.show_envvar = f"WIKITEXT_{setting.upper()}", True

    def add_command(self, cmd: click.Command, name: str | None = None) -> None:
        """Add a command, with its summary and its example."""
        if not isinstance(cmd, Program):
            self._settle(cmd)
        if about := self.about.get(name or cmd.name or ""):
            cmd.short_help = about["summary"]
            cmd.epilog = f"Example:\n\n\b\n  $ {about['example']}"
        super().add_command(cmd, name)

    def make_context(self, *arguments: Any, **extra: Any) -> click.Context:
        """The context of a call, in which the user's settings are defaults."""
        if self.about:
            found = _settings()
            extra["default_map"] = _defaults(self, found) | {
                name: _defaults(command, found) for name, command in self.commands.items()
            }
        return super().make_context(*arguments, **extra)

    def list_commands(self, ctx: click.Context) -> list[str]:
        """The names of the commands, in the order of the file."""
        del ctx
        places = {name: place for place, name in enumerate(self.about)}
        return sorted(self.commands, key=lambda name: places.get(name, len(places)))

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """The commands by stage."""
        if not self.about:
            super().format_commands(ctx, formatter)
        for stage in dict.fromkeys(about["stage"] for about in self.about.values()):
            with formatter.section(stage):
                own = ((name, about) for name, about in self.about.items() if about["stage"] == stage)
                formatter.write_dl([(name, about["summary"]) for name, about in own])


def _setting(option: click.Parameter) -> str | None:
    """The setting that an option takes, by its name on the command line."""
    return next((name for name in SETTINGS if f"--{name}" in option.opts), None)


def _defaults(command: click.Command, found: Mapping[str, Any]) -> dict[str, Any]:
    """The user's settings for a command, by the names of its parameters."""
    settings = ((option.name, _setting(option)) for option in command.params)
    return {name: found[setting] for name, setting in settings if name and setting and setting in found}


def _completion(program: click.Group) -> click.Command:
    """The command that prints what a shell needs to complete names of a program."""

    @click.command()
    @click.argument("shell", type=click.Choice(("bash", "zsh", "fish")))
    def completion(shell: str) -> None:
        """Print code that completes commands, options and choices, for your shell's startup file."""
        from click.shell_completion import get_completion_class

        name = program.name or ""
        kind = get_completion_class(shell)
        if kind is not None:  # click knows all three
            click.echo(kind(program, {}, name, f"_{name.replace('-', '_')}_COMPLETE".upper()).source())

    return completion


def _verbosity_option() -> click.Option:
    return click.Option(
        ["-v/-q", "--verbose/--quiet"],
        default=None,
        expose_value=False,
        callback=_set,
        help="-v: log every step, such as each request; -q: only results and errors.",
    )


def _set(context: click.Context, _option: click.Parameter, verbose: bool | None) -> None:
    if verbose is not None or context.parent is None:  # else what was said before the command's name counts
        set_verbosity(verbose)


def run(program: click.Command, *, stopped: str = "stopped") -> None:
    """Run a command line; an error that the user can mend is one paragraph, with exit status 1.

    Ctrl-C prints `stopped`, or what its `KeyboardInterrupt` says.
    """
    name = program.name or ""
    for stream in (sys.stdout, sys.stderr):  # the format is UTF-8 whatever the machine's locale says
        if isinstance(stream, TextIOWrapper):
            # A name of a file that is not UTF-8 is shown, not the end of hours of work.
            stream.reconfigure(encoding="utf-8", errors="backslashreplace", newline="\n")
    try:
        status = program(prog_name=name, standalone_mode=False)
        sys.stdout.flush()
    except click.ClickException as error:
        error.show(shown := StringIO())
        click.echo(without_secrets(shown.getvalue()), err=True, nl=False)
        sys.exit(error.exit_code)
    except (ToolkitError, RejectedError) as error:
        _fail(name, str(error), 1)
    except (KeyboardInterrupt, click.Abort) as error:
        _fail(name, str(error.__cause__ or error) or stopped, 130)
    except (BrokenPipeError, SystemExit) as error:  # click raises the second for the first
        if isinstance(error, SystemExit) and not error.code:  # … and when it has completed a word
            raise
        # The reader of stdout is gone, as with `| head`: not an error. 141 is the shell's status for it.
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
    if status:  # of `click.exceptions.Exit`; commands return None
        sys.exit(status)


def _discard_output() -> None:
    """Throw away what stdout still holds: Python would try to write it at exit, and fail again."""
    with suppress(OSError):  # stdout can be an object without a file
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _fail(name: str, message: str, status: int) -> None:
    """Print an error and exit; control characters, which can come from a stranger's file, are spelled out."""
    shown = "".join(c if c.isprintable() or c == "\n" else ascii(c)[1:-1] for c in message)
    click.echo(f"{name}: {shown}", err=True)
    sys.exit(status)


Decorated = TypeVar("Decorated", bound=Callable[..., Any])
FILE = click.Path(path_type=Path, dir_okay=False)
FOLDER = click.Path(path_type=Path, file_okay=False)
ANY = click.Path(path_type=Path, exists=True)
COUNT, WHOLE = click.IntRange(min=1), click.IntRange(min=0)
SEED = click.IntRange(0, 2**63 - 1)  # what numpy and torch both take


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


class RealRange(click.FloatRange):
    """Real numbers in a range: "nan" is a float, but in no range."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:  # noqa: ANN401 - as click
        """The number of a text."""
        number = super().convert(value, param, ctx)
        if math.isnan(number):
            self.fail(f"{value!r} is not a number.", param, ctx)
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
        if (path := store or store_path) is None:
            raise click.UsageError("Missing argument 'STORE'.", click.get_current_context())
        return function(*arguments, store_path=path, **options)

    return command


class LanguageCode(click.ParamType[str]):
    """The code of a Wikipedia."""

    name = "code"

    def convert(self, value: Any, _param: click.Parameter | None, _ctx: click.Context | None) -> str:  # noqa: ANN401 - as click
        """The code; an unknown one is refused with the nearest ones."""
        return language_of(str(value)).code


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
    """The option that prints the version, and which code it is: a version has many commits."""

    def show(context: click.Context, _option: click.Parameter, asked: bool) -> None:
        if asked and not context.resilient_parsing:
            of = f", commit {found}" if (found := commit()) else ""
            click.echo(f"{context.find_root().info_name}, version {wb.__version__}, code {code_hash()}{of}")
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
