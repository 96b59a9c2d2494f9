"""How much the commands print besides their results: `--quiet`, nothing, `--verbose`.

The library logs with Python's `logging`, under the names of the packages; a program that uses it decides what
becomes of that. The commands decide here, for all three command lines.
"""

from __future__ import annotations

import logging

import click

PACKAGES = ("wikitext_builder", "ps_models", "lm_benchmarks")


class _Lines(logging.Handler):
    """Prints each record as a line on stderr, above the bars if there are some."""

    def emit(self, record: logging.LogRecord) -> None:
        """Print a record."""
        click.echo(self.format(record), err=True)


def set_volume(verbose: bool | None) -> None:
    """Say how much is printed on stderr.

    Args:
        verbose: True: also what is logged, such as each request. False: no progress, only errors. None:
            progress.
    """
    level = {True: logging.INFO, None: logging.WARNING, False: logging.ERROR}[verbose]
    for name in PACKAGES:
        logger = logging.getLogger(name)
        logger.setLevel(level)
        if not logger.handlers:
            logger.addHandler(_Lines())


def is_quiet() -> bool:
    """Whether only results and errors are printed."""
    return not logging.getLogger(PACKAGES[0]).isEnabledFor(logging.WARNING)
