"""What the three command lines are made of: programs, their commands, the user's settings, and errors."""

from __future__ import annotations

import os
import sys
import tomllib
from collections.abc import Callable, Mapping
from contextlib import suppress
from io import StringIO, TextIOWrapper
from itertools import permutations
from pathlib import Path
from typing import Any, Final

import click
from click.core import ParameterSource

from wikitext_builder.addresses import without_secrets
from wikitext_builder.cli.options import DependentOption, Output
from wikitext_builder.errors import BuilderError, RejectedError, ToolkitError, is_short_memory
from wikitext_builder.progress import set_verbosity

# Options that are always the same for a user: each can stand in the file of settings, or in a variable.
SETTINGS: Final = ("store", "contact", "language", "data", "threads")

HINT: Final = (
    f"{', '.join(SETTINGS[:-1])} and {SETTINGS[-1]}, where they are always the same, can stand in"
    " ~/.config/wikitext-builder/config.toml, or in variables such as WIKITEXT_STORE."
)


def _settings_file() -> Path:
    return Path(click.get_app_dir("wikitext-builder")) / "config.toml"


def _settings() -> dict[str, Any]:
    """What the user's file of settings says; nothing if there is none."""
    path = _settings_file()
    try:
        found = tomllib.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return {}
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise BuilderError(f'{path}: {error}; expected lines such as store = "wikipedia.store"') from error
    for name, value in found.items():
        kinds = (int, str) if name == "threads" else (str,)
        if name not in SETTINGS or type(value) not in kinds or value == "":
            wanted = ", ".join(SETTINGS)
            raise BuilderError(f"{path}: {name} = {value!r}; expected a text, or a number, for {wanted}")
    return found


class Command(click.Command):
    """A command whose arguments fit together: no text is empty, and no file is written over another."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Read the arguments; what is wrong of them is said before anything is done."""
        if not ctx.resilient_parsing:
            self._expect_sense(ctx, self.make_parser(ctx).parse_args(args=list(args))[0])
        try:
            rest = super().parse_args(ctx, args)
        except click.BadParameter as error:
            if error.param and (origin := _origin(ctx, error.param)):
                said = f"{error.message} It is said in {origin}."
                raise click.BadParameter(said, ctx, error.param) from None
            raise
        if not ctx.resilient_parsing:
            self._expect_sense(ctx, ctx.params)  # now with what the settings say
            for one in self.params:
                if isinstance(one, DependentOption):
                    one.expect_other(ctx)
        return rest

    def _expect_sense(self, ctx: click.Context, given: Mapping[str, Any]) -> None:
        """Refuse empty texts, often variables of a script that were not set, and one file for two things."""
        typed = [(one, given.get(one.name or "")) for one in self.params]
        texts = [
            (one, text)
            for one, found in typed
            for text in (found if isinstance(found, list | tuple) else (found,))
            if isinstance(text, str | Path)
        ]
        for one, text in texts:
            if text == "" and one.default != "":
                raise click.BadParameter("is empty; give a value, or leave it out.", ctx, one)
        paths = [(one, _place(Path(text))) for one, text in texts if isinstance(one.type, click.Path)]
        for (one, place), (other, same) in permutations(paths, 2):
            if isinstance(one.type, Output) and place is not None and place == same:
                both = f"{other.get_error_hint(ctx)} is the same file; give another."
                raise click.BadParameter(both, ctx, one)


def command(name: str | None = None) -> Callable[[Callable[..., Any]], Command]:
    """Make a command of a function."""
    return click.command(name, cls=Command)


def _origin(context: click.Context, parameter: click.Parameter) -> str:
    """Where a value is from that was not typed; "" if it was."""
    source = context.get_parameter_source(parameter.name or "")
    if source is ParameterSource.ENVIRONMENT:
        return f"the variable {parameter.envvar}"
    return str(_settings_file()) if source is ParameterSource.DEFAULT_MAP else ""


def _place(path: Path) -> object:
    """What a path leads to, whatever it is called; None: a device or a pipe, which two can write to."""
    try:
        found = path.stat()
    except OSError:
        return os.path.realpath(path)
    return (found.st_dev, found.st_ino) if path.is_file() or path.is_dir() else None


class Program(Command, click.Group):
    """A group that lists its commands by stage, with summaries and examples from a file.

    It and all its commands have --verbose and --quiet. The user's settings are the defaults of its options.
    """

    command_class = Command

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

    @command()
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
    for descriptor in ("stdin", "stdout", "stderr"):
        if getattr(sys, descriptor) is None:  # closed by the caller, as by `>&-`: a file would get its number
            setattr(sys, descriptor, Path(os.devnull).open("r" if descriptor == "stdin" else "w"))  # noqa: SIM115
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
