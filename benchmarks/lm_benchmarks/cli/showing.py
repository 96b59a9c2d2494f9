"""Commands that compare and show results: compare, power, report, lm-eval-task, reproduce."""

from __future__ import annotations

import json
import math
import shlex
import textwrap
from dataclasses import asdict
from typing import Any, Final

import click

import lm_benchmarks as lb
from lm_benchmarks.choices import COMPARE_ONLY, MIN_DEGREES, MUST_AGREE, REPORT_TITLE, SIZES, TARGET_POWER
from lm_benchmarks.cli.options import ModelCommand, data_option, level_option
from lm_benchmarks.metrics import METRICS
from ps_models.cli import split_option
from wikitext_builder.cli.command_line import (
    ANY,
    FOLDER,
    OUTPUT_FILE,
    SEED,
    RealRange,
    csv_option,
    json_option,
)
from wikitext_builder.tables import aligned, csv_text, one_line

LISTED: Final = 10  # models: of more, a terminal does not list the pairs


@click.command(cls=ModelCommand)
@click.argument("results", type=ANY)
@click.argument("models", nargs=-1, metavar="FIRST SECOND")
@click.option(
    "--data", default="", allow_from_autoenv=False, help="Name of the dataset, if RESULTS has several."
)
@click.option("--all", "every", is_flag=True, help="Compare all models, or the named ones, pairwise.")
@split_option("test")
@click.option("--metric", type=click.Choice(list(METRICS)), default="perplexity", help="Metric to compare.")
@level_option
@click.option(
    "--allow",
    multiple=True,
    type=click.Choice([*MUST_AGREE, *COMPARE_ONLY]),
    help="Allow this signature field to differ; repeatable.",
)
@json_option
@csv_option
def compare(*, models: tuple[str, ...], every: bool, as_json: bool, as_csv: bool, **options: Any) -> None:
    """Compare two models in the file RESULTS: how SECOND differs from FIRST, with an interval.

    FIRST and SECOND are names from `run`, tables or signatures, or the beginning of one that fits no other
    model. Of several results of a model, the last one counts. Runs with different seeds all count, and
    widen the interval.

    With --all, compares every pair of models in the file, or of those named. The p-values are adjusted for
    the number of pairs (Holm), and each model has an interval of ranks.
    """
    if every:
        _show_all(lb.compare_all(models=models, **options), as_json=as_json, as_csv=as_csv)
    elif len(models) != 2:
        raise click.UsageError(
            f"Expected FIRST and SECOND, found {len(models)} models; --all compares any number."
        )
    else:
        found = lb.compare(first=models[0], second=models[1], **options)
        _show_two(found, as_json=as_json, as_csv=as_csv)


def _fields(found: lb.ModelDifference) -> dict[str, object]:
    low, high = found.interval or (None, None)
    fields = {name: value for name, value in asdict(found).items() if name != "interval"}
    return {**fields, "difference": found.difference, "low": low, "high": high, "clear": found.is_clear}


def _show_two(found: lb.ModelDifference, *, as_json: bool, as_csv: bool) -> None:
    if as_json:
        click.echo(json.dumps({**asdict(found), "difference": found.difference, "clear": found.is_clear}))
        return
    if as_csv:
        click.echo(csv_text([_fields(found)]), nl=False)
        return
    for model, value, runs, broken in (
        (found.first_model, found.first, found.first_runs, found.first_broken),
        (found.second_model, found.second, found.second_runs, found.second_broken),
    ):
        seeds = f"  {len(runs)} seeds: {', '.join(f'{run:.4f}' for run in runs)}" if len(runs) > 1 else ""
        mark = f"  BREAKS: {', '.join(broken)}" if broken else ""
        click.echo(f"{found.metric} {value:.4f}  {one_line(model)}{seeds}{one_line(mark)}")
    rounding = "  (no more than rounding: not clear)" if found.is_rounding else ""
    click.echo(f"difference {found.difference:+.4f}, second minus first{rounding}")
    if found.interval is None:
        click.echo(f"{found.passages} passages: {found.no_interval}")
        return
    low, high = found.interval
    click.echo(
        f"{100 * found.level:.4g}% interval {low:+.4f} to {high:+.4f}: {found.passages} passages, Student's t"
        f" with {found.degrees:.1f} degrees of freedom, one-sided p {found.p_one_sided:.2g}"
    )
    if low <= 0 <= high:
        click.echo("not clear: chance alone could give either sign")
    if found.alone:
        click.echo(f"{one_line(found.alone)} has one seed: the interval leaves out how much seeds vary")


def _show_all(found: lb.Ranking, *, as_json: bool, as_csv: bool) -> None:
    """Print the ranks, and the pairs if they are not too many for a reader."""
    if as_json:
        click.echo(json.dumps(asdict(found)))
        return
    if as_csv:
        rows = [
            {
                "first_ranks": found.models[pair.first - 1].ranks,
                "second_ranks": found.models[pair.second - 1].ranks,
                **_fields(pair.difference),
                "p": pair.p,
                "p_adjusted": pair.p_adjusted,
                "sure": pair.is_sure,
            }
            for pair in found.pairs
        ]
        click.echo(csv_text(rows), nl=False)
        return
    ranks = [("", "ranks", found.metric, "model")]
    for place, one in enumerate(found.models, start=1):
        seeds = f" ({one.seeds} seeds)" if one.seeds > 1 else ""
        ranks.append((str(place), one.ranks, f"{one.value:,.4f}", one_line(one.model) + seeds))
    click.echo("\n".join(aligned(ranks, left=(3,))))
    click.echo()
    sure = [pair.is_sure for pair in found.pairs]
    if len(found.models) <= LISTED:
        click.echo("\n".join(aligned(_pair_lines(found), left=())))
    said = [
        f"{found.split}: {found.passages} passages, {len(found.pairs)} pairs, {sum(sure)} of them sure:",
        f"p, adjusted for all pairs (Holm), is below {1 - found.level:.4g}.",
        f"Ranks and sure pairs are all correct in at least {100 * found.level:.4g}% of cases.",
    ]
    if reasons := dict.fromkeys(filter(None, (pair.difference.no_interval for pair in found.pairs))):
        said[1:] = [f"{found.passages} passages: {reason}." for reason in reasons]
    if len({min(one.seeds, 2) for one in found.models}) > 1:
        said.append("Some models have one seed: their intervals leave out how much seeds vary.")
    if len(found.models) > LISTED:
        said.append("See --csv or --json for the pairs, or name fewer models.")
    click.echo(textwrap.fill(" ".join(said), 80))
    for model, why in found.left_out:
        click.echo(f"left out: {one_line(model)}: {one_line(why)}")


def _pair_lines(found: lb.Ranking) -> list[tuple[str, ...]]:
    lines: list[tuple[str, ...]] = [
        ("pair", "difference", f"{100 * found.level:.4g}% interval", "p", "adjusted", "")
    ]
    for pair in found.pairs:
        one, interval = pair.difference, "none"
        if one.interval is not None:
            interval = f"{one.interval[0]:+.4f} to {one.interval[1]:+.4f}"
        ps = ("-" if p is None else f"{p:.2g}" for p in (pair.p, pair.p_adjusted))
        sure = "" if pair.is_sure else "not sure"
        lines.append((f"{pair.first}, {pair.second}", f"{one.difference:+.4f}", interval, *ps, sure))
    return lines


@click.command(cls=ModelCommand)
@click.argument("data", type=ANY)
@click.option("--difference", required=True, help="Improvement to detect: 1% of perplexity, or 0.5 points.")
@click.option(
    "--perplexity", type=RealRange(1, min_open=True), help="Their approximate perplexity; needed for points."
)
@split_option("test")
@level_option
@json_option
def power(*, as_json: bool, **options: Any) -> None:
    """Estimate which differences the test set DATA can show, before measuring anything.

    The answer depends on how evenly one model is better than the other, so it is given for three kinds of
    pairs. If the true difference is the one called detectable, the interval of `compare` excludes zero on
    80 % of test sets.
    """
    found = lb.power(**options)
    if as_json:
        click.echo(json.dumps(asdict(found)))
        return
    _show_power(found)


def _show_power(found: lb.Power) -> None:
    asked = _said_difference(found.difference, found.perplexity)
    click.echo(
        f"{found.data} {found.split}: {found.passages} passages, {found.tokens:,} tokens; asked: {asked}"
    )
    lines = [("models", "spread", "power", "detectable")]
    for pair in found.kinds:
        size = "none" if pair.detectable is None else _said_difference(pair.detectable, found.perplexity)
        lines.append((pair.kind, f"{pair.spread:.3f}", f"{pair.power:.0%}", size))
    click.echo("\n".join(aligned(lines)))
    click.echo(
        f"power: how often a {100 * found.level:.4g}% interval excludes zero at this difference\n"
        f"detectable: with a power of {TARGET_POWER:.0%}\n"
        f"spread: of the difference over passages, in nats per token (standard deviation).\n"
        f"  Of pairs of models in this project's records whose perplexities are within 10%\n"
        f"  of each other, a tenth vary less than alike, half less than usual, nine tenths\n"
        f"  less than unlike"
    )
    if found.degrees < MIN_DEGREES:
        click.echo("few passages, or few long ones: skewed differences are detected less often than stated")


def _said_difference(nats: float, perplexity: float | None) -> str:
    """A difference, rounded up: what is detectable must have its power."""
    fraction = -math.expm1(-nats)
    points = "" if perplexity is None else f" ({_rounded_up(perplexity * fraction)} of {perplexity:g})"
    return f"{_rounded_up(100 * fraction)}%{points}"


def _rounded_up(number: float) -> str:
    """Two digits, not less than the number."""
    places = 1 - math.floor(math.log10(number))
    up = math.ceil(number * 10.0**places - 1e-6) / 10.0**places
    return f"{up:,.{max(places, 0)}f}"


@click.command(cls=ModelCommand)
@click.argument("results", type=ANY, nargs=-1, required=True)
@click.option("--out", type=OUTPUT_FILE, required=True, help="Report to write: .md, .tex, .csv or .html.")
@click.option("--title", default=REPORT_TITLE, help="Report title.")
@click.option("--published/--no-published", default=True, help="Include published numbers.")
@click.option("--log", "logs", type=ANY, multiple=True, help="Training run of ps-models to plot; repeatable.")
@click.option("--columns", metavar="A,B,…", default="", help="Table columns to show, by their printed names.")
@click.option("--sort", metavar="COLUMN", default="", help="Sort ascending; -COLUMN: descending.")
@click.option("--figures", type=FOLDER, help="Also save each chart in this folder, as .png, .svg and .pdf.")
def report(columns: str, **options: Any) -> None:
    """Write a report of all RESULTS with tables, charts and signatures, best model first.

    For the official Penn Treebank and WikiText-2 files, published numbers are shown beside the results.
    """
    click.echo(lb.report(**options, columns=[name for one in columns.split(",") if (name := one.strip())]))


@click.command("lm-eval-task", cls=ModelCommand)
@click.argument("data", type=ANY)
@click.option("--out", type=FOLDER, required=True, help="Folder for tasks; the new task is a subfolder.")
@split_option("test")
def task(**options: Any) -> None:
    """Write an lm-evaluation-harness task for a split of DATA, and print the command that runs it.

    It gives the same numbers as `lm-benchmarks run transformers:MODEL --convention lm-eval`.
    """
    folder = lb.lm_eval_task(**options)
    words = ["lm_eval", "--model", "hf", "--model_args", "pretrained=MODEL", "--tasks", folder.name]
    click.echo(shlex.join([*words, "--include_path", str(folder.parent)]))


@click.command(cls=ModelCommand)
@click.option("--table", type=click.Choice(["ptb", "wikitext-2"]), required=True, help="Table to reproduce.")
@data_option("Folder with the official dataset files.")
@click.option("--out", type=FOLDER, required=True, help="Folder for runs and results.")
@click.option("--size", type=click.Choice(list(SIZES)), default="own", help="Model size for each row.")
@click.option("--rows", multiple=True, metavar="NAME", help="Train only this row; repeatable.")
@click.option("--seed", "seeds", type=SEED, multiple=True, default=(1,), help="Training seed; repeatable.")
@click.option("--set", "settings", multiple=True, metavar="KEY=VALUE", help="For all runs; repeatable.")
def reproduce(**options: Any) -> None:
    """Print the commands that train and measure the rows of a published table, in order.

    A shell runs them: `lm-benchmarks reproduce --table ptb --data ptb --out runs | sh`. They resume what was
    stopped and skip what is done, so the same line continues after any stop.
    """
    for line in lb.reproduce(**options):
        click.echo(line)


COMMANDS: Final = (compare, power, report, task, reproduce)
