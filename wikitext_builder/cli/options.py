"""What several commands share: options, and how counts are printed."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import click

from wikitext_builder.wiki.languages import LANGUAGES

FILE = click.Path(path_type=Path, dir_okay=False)
FOLDER = click.Path(path_type=Path, file_okay=False)
DUMP = click.Path(path_type=Path, exists=True, dir_okay=False)

store_option = click.option("--store", "store_path", type=FILE, required=True, help="Store of fetched pages.")
language_option = click.option(
    "--language", type=click.Choice(sorted(LANGUAGES)), default="en", help="Code of the Wikipedia."
)
json_option = click.option("--json", "as_json", is_flag=True, help="Print JSON, for programs and logs.")


class SelectOption(click.Option):
    """An option whose help names all kinds of selections, which are imported only to show it."""

    def get_help_record(self, ctx: click.Context) -> tuple[str, str] | None:
        """The option and its help, with `{kinds}` replaced."""
        from wikitext_builder.fetching.selection import KINDS

        record = super().get_help_record(ctx)
        kinds = ", ".join(kind.form for kind in KINDS.values())
        return record and (record[0], record[1].format(kinds=kinds))


def listed(counts: Mapping[str, int]) -> str:
    """Counts by name in a line, the largest first.

    >>> listed({"redirect": 3, "unmarked": 1200}), listed({})
    ('1,200 unmarked, 3 redirect', 'none')
    """
    rows = sorted(counts.items(), key=lambda row: (-row[1], row[0]))
    return ", ".join(f"{count:,} {name}" for name, count in rows) or "none"
