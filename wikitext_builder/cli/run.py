"""What the three command lines share: how a program runs, and how it prints errors of the library."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Mapping
from io import TextIOWrapper
from typing import Any

import click

from wikitext_builder.errors import RejectedError, ToolkitError, is_short_memory
from wikitext_builder.verbosity import set_volume

NAMED = re.compile(r"`(?P<name>[a-z_][a-z0-9_]*)(?:=(?P<value>[^`]*))?`")


class Program(click.Group):
    """A group that lists its commands in the order of the work and translates the library's errors.

    It and all its commands have --verbose and --quiet.
    """

    # Functions of the library whose command has another name. The program sets it; groups in it do not.
    functions: Mapping[str, str] = {}

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self.params.append(_volume_option())

    def add_command(self, cmd: click.Command, name: str | None = None) -> None:
        """Add a command, and the options that all have."""
        if not isinstance(cmd, Program):
            cmd.params.append(_volume_option())
        super().add_command(cmd, name)

    def list_commands(self, ctx: click.Context) -> list[str]:
        """The names of the commands."""
        del ctx
        return list(self.commands)

    def invoke(self, ctx: click.Context) -> Any:  # noqa: ANN401 - what a command returns
        """Run the command; the message of an error then names options where the library named arguments."""
        try:
            return super().invoke(ctx)
        except ToolkitError as error:
            command = self.commands.get(ctx.invoked_subcommand or "")
            error.args = (as_command_line(str(error), ctx, command), *error.args[1:])
            raise


def _volume_option() -> click.Option:
    return click.Option(
        ["-v/-q", "--verbose/--quiet"],
        default=None,
        expose_value=False,
        callback=_hear_volume,
        help="Also print each step, such as each request; or no progress, only results and errors.",
    )


def _hear_volume(context: click.Context, _option: click.Parameter, verbose: bool | None) -> None:
    if verbose is not None or context.parent is None:  # else what was said before the command's name counts
        set_volume(verbose)


def as_command_line(message: str, context: click.Context, command: click.Command | None) -> str:
    """A message of the library in the words of a command line.

    Names in backticks become options of the command, commands of the program, or options of its other
    commands, whichever is found first; other texts in backticks stay.

    Args:
        message: Such as "`as_of` and `lock`: take one of the two" or "fetch with `limit=5`".
        context: Of the group that has the command.
        command: The command that failed.
    """
    root = context.find_root()
    program = root.command
    commands = _commands(program, program.name or "") if isinstance(program, click.Group) else {}
    functions = {path.split(" ", 1)[-1].replace(" ", "_"): path for path in commands}
    if isinstance(program, Program):
        functions |= {name: f"{program.name} {path}" for name, path in program.functions.items()}
    own = _options(command) if command else {}
    others: dict[str, str] = {}
    for one in commands.values():
        others = _options(one) | others

    def spelled(match: re.Match[str]) -> str:
        name, value = match["name"], match["value"]
        if name in own or (name in others and (value is not None or name not in functions)):
            option = own.get(name) or others[name]
            return option if value is None else f"{option} {value}"
        return f"`{functions[name]}`" if name in functions and value is None else match[0]

    return NAMED.sub(spelled, message)


def _commands(group: click.Group, path: str) -> dict[str, click.Command]:
    """The commands of a program by what one types."""
    found: dict[str, click.Command] = {}
    for name, command in group.commands.items():
        found[f"{path} {name}"] = command
        if isinstance(command, click.Group):
            found |= _commands(command, f"{path} {name}")
    return found


def _options(command: click.Command) -> dict[str, str]:
    """What one types for each argument of the library: the name of a parameter, or the option's own."""
    found: dict[str, str] = {}
    for parameter in command.params:
        spelling = parameter.opts[0]
        if isinstance(parameter, click.Option):
            names = [option.lstrip("-").replace("-", "_") for option in parameter.opts]
        else:
            names, spelling = [], parameter.human_readable_name
        found |= dict.fromkeys([*names, parameter.name or ""], spelling)
    return found


def run(program: click.Command, *, stopped: str = "stopped") -> None:
    """Run a command line; an error that the user can mend is printed in one paragraph, with exit status 1.

    Args:
        program: A group that has the program's name.
        stopped: What Ctrl-C prints.
    """
    name = program.name or ""
    for stream in (sys.stdout, sys.stderr):  # the format is UTF-8 whatever the machine's locale says
        if isinstance(stream, TextIOWrapper):
            # A name of a file that is not UTF-8 is shown, not the end of hours of work.
            stream.reconfigure(encoding="utf-8", errors="backslashreplace", newline="\n")
    try:
        status = program(prog_name=name, standalone_mode=False)
    except click.ClickException as error:
        error.show()
        sys.exit(error.exit_code)
    except (ToolkitError, RejectedError) as error:
        _fail(name, str(error), 1)
    except (KeyboardInterrupt, click.Abort):
        _fail(name, stopped, 130)
    except (BrokenPipeError, SystemExit) as error:  # click raises the second for the first
        if isinstance(error, SystemExit) and not error.code:  # … and when it has completed a word
            raise
        # The reader of stdout is gone, as with `| head`: not an error. 141 is the shell's status for it.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(141)
    except (MemoryError, RuntimeError) as error:
        if not is_short_memory(error):
            raise
        advice = "use fewer processes or a larger machine, and run it again to resume"
        _fail(name, f"memory ran out{f' ({error})' if str(error) else ''}; {advice}", 1)
    except OSError as error:  # stdout on a full disk, for example
        _fail(name, f"{error.filename or 'output'}: {error.strerror or error}", 1)
    if status:  # of `click.exceptions.Exit`; commands return None
        sys.exit(status)


def _fail(name: str, message: str, status: int) -> None:
    """Print an error and exit; control characters, which can come from a stranger's file, are spelled out."""
    shown = "".join(c if c.isprintable() or c == "\n" else ascii(c)[1:-1] for c in message)
    click.echo(f"{name}: {shown}", err=True)
    sys.exit(status)
