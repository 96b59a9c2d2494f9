"""What the three command lines share: how a program runs, and how it prints errors of the library."""

from __future__ import annotations

import os
import sys
from contextlib import suppress
from io import TextIOWrapper
from typing import Any

import click

from wikitext_builder.errors import RejectedError, ToolkitError, is_short_memory
from wikitext_builder.progress import set_verbosity


class Program(click.Group):
    """A group that lists its commands in the order of the work.

    It and all its commands have --verbose and --quiet.
    """

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self.params.append(_verbosity_option())

    def add_command(self, cmd: click.Command, name: str | None = None) -> None:
        """Add a command, and the options that all have."""
        if not isinstance(cmd, Program):
            cmd.params.append(_verbosity_option())
        super().add_command(cmd, name)

    def list_commands(self, ctx: click.Context) -> list[str]:
        """The names of the commands."""
        del ctx
        return list(self.commands)


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
        sys.stdout.flush()
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
        _discard_output()
        sys.exit(141)
    except (MemoryError, RuntimeError) as error:
        if not is_short_memory(error):
            raise
        advice = "use fewer processes or a larger machine, and run it again to resume"
        _fail(name, f"memory ran out{f' ({error})' if str(error) else ''}; {advice}", 1)
    except OSError as error:  # stdout on a full disk, for example
        if error.filename is None:
            _discard_output()
        _fail(name, f"{error.filename or 'output'}: {error.strerror or error}", 1)
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
