"""The command that trains and measures a whole table: reproduce."""

from __future__ import annotations

import json
import math
from typing import Any, Final

import click

import lm_benchmarks as lb
from lm_benchmarks.choices import SIZES
from lm_benchmarks.cli.options import ANY_PATH, EXISTING, ModelCommand, json_option
from wikitext_builder.cli.options import SEED, RealRange
from wikitext_builder.progress import shown_progress


@click.command(cls=ModelCommand)
@click.option("--table", type=click.Choice(["ptb", "wikitext-2"]), required=True, help="Which table.")
@click.option("--data", type=EXISTING, required=True, help="The dataset: the official files.")
@click.option("--out", type=ANY_PATH, required=True, help="Folder for runs, records and the page.")
@click.option("--size", type=click.Choice(list(SIZES)), default="own", help="Which size of each row.")
@click.option("--rows", multiple=True, metavar="NAME", help="Only this row; repeatable.")
@click.option("--seed", "seeds", type=SEED, multiple=True, default=(1,), help="Of trainings; repeatable.")
@click.option("--set", "settings", multiple=True, metavar="KEY=VALUE", help="For all trainings; repeatable.")
@click.option("--workers", default=1, type=click.IntRange(min=1), help="Trainings at the same time.")
@click.option("--budget", "hours", default=math.inf, type=RealRange(0), help="Stop after these hours.")
@click.option("--dry-run", is_flag=True, help="Only measure speeds and print the plan.")
@json_option
@click.pass_context
def reproduce(context: click.Context, /, *, as_json: bool, **options: Any) -> None:
    """Train and measure the rows of a published table, in a queue that resumes.

    Prints the plan: what is done, and the hours that are left, from speeds measured here in seconds. Then it
    trains each row, chooses by valid, and measures it once. Ctrl-C saves and stops, and the same command
    continues. The folder gets report.html, which shows how far the table is, and the records for `rows`.
    """
    threads = context.find_root().params["threads"]
    with shown_progress() as progress:
        planned = lb.reproduce(**{**options, "dry_run": True}, threads=threads, progress=progress)
    if not as_json:
        click.echo(planned.text)
    if not options["dry_run"]:
        with shown_progress() as progress:
            planned = lb.reproduce(**options, threads=threads, progress=progress)
        if not as_json:
            click.echo(planned.text)
    if as_json:
        click.echo(json.dumps(planned.fields()))


COMMANDS: Final = (reproduce,)
