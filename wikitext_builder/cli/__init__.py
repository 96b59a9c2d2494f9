"""The command line: parse, one library call, print. Data goes to stdout, progress to stderr."""

from __future__ import annotations

import os
import sys
from io import TextIOWrapper

import click

from wikitext_builder import __version__
from wikitext_builder.cli import datasets, fidelity, pages
from wikitext_builder.errors import RejectedError, ToolkitError

STOPPED = "stopped; fetch, import and build go on from here when run again"


class _InOrder(click.Group):
    """Shows commands in the order of the work, not of the alphabet."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """The names of the commands."""
        del ctx
        return list(self.commands)


@click.group(
    cls=_InOrder,
    context_settings={"help_option_names": ["-h", "--help"], "show_default": True, "max_content_width": 100},
)
@click.version_option(__version__)
def cli() -> None:
    """Regenerate the WikiText datasets from Wikipedia.

    fetch (or import) → build → verify, stats, plot. Every run may be stopped at any time: the same command
    then goes on where it stopped.
    """


for _command in (*pages.COMMANDS, *datasets.COMMANDS, *fidelity.COMMANDS):
    cli.add_command(_command)


def main() -> None:
    """Run the command line; what a user can mend is told in one paragraph, with exit status 1."""
    for stream in (sys.stdout, sys.stderr):  # the format is UTF-8 whatever the machine's locale says
        if isinstance(stream, TextIOWrapper):
            stream.reconfigure(encoding="utf-8", newline="\n")
    try:
        cli(prog_name="wikitext-builder", standalone_mode=False)
    except click.exceptions.Exit as stop:
        sys.exit(stop.exit_code)
    except click.ClickException as error:
        error.show()
        sys.exit(error.exit_code)
    except (ToolkitError, RejectedError) as error:
        _fail(str(error), 1)
    except (KeyboardInterrupt, click.Abort):
        _fail(STOPPED, 130)
    except (BrokenPipeError, SystemExit):  # click makes the second of the first, and of nothing else here
        # The reader of our stdout has gone: `| head` is no error. Who asks gets the shell's number for it.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(141)
    except OSError as error:  # stdout on a full disk, say
        _fail(f"{error.filename or 'output'}: {error.strerror or error}", 1)


def _fail(message: str, status: int) -> None:
    click.echo(f"wikitext-builder: {message}", err=True)
    sys.exit(status)
