"""What the three command lines are made of: programs that list their commands by stage, and their errors."""

from __future__ import annotations

import os
import sys
import tomllib
from contextlib import suppress
from io import StringIO, TextIOWrapper
from pathlib import Path
from typing import Any

import click

from wikitext_builder.errors import RejectedError, ToolkitError, is_short_memory, without_secrets
from wikitext_builder.progress import set_verbosity


class Program(click.Group):
    """A group that lists its commands by stage, with summaries and examples from a file.

    It and all its commands have --verbose and --quiet.
    """

    def __init__(self, *arguments: Any, about: Path | None = None, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self.about = tomllib.loads(about.read_text(encoding="utf-8")) if about else {}
        self.params.append(_verbosity_option())
        if about:
            self.add_command(_completion(self))

    def add_command(self, cmd: click.Command, name: str | None = None) -> None:
        """Add a command, with its summary and its example."""
        if not isinstance(cmd, Program):
            cmd.params.append(_verbosity_option())
        if about := self.about.get(name or cmd.name or ""):
            cmd.short_help = about["summary"]
            cmd.epilog = f"Example:\n\n\b\n  $ {about['example']}"
        super().add_command(cmd, name)

    def list_commands(self, ctx: click.Context) -> list[str]:
        """The names of the commands, in the order of the file."""
        return list(self.about) or super().list_commands(ctx)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """The commands by stage."""
        if not self.about:
            super().format_commands(ctx, formatter)
        for stage in dict.fromkeys(about["stage"] for about in self.about.values()):
            with formatter.section(stage):
                rows = [(name, about) for name, about in self.about.items() if about["stage"] == stage]
                formatter.write_dl([(name, about["summary"]) for name, about in rows])


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
