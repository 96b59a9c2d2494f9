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

MAX_LISTED_MODELS: Final = 10  # of more, a terminal does not list the pairs


@click.command(cls=ModelCommand)
@click.argument("results", type=ANY)
@click.argument("models", nargs=-1, metavar="FIRST SECOND")
@click.option(
    "--data", default="", allow_from_autoenv=False, help="Name of the dataset, if RESULTS has several."
)
@click.option("--all", "is_all", is_flag=True, help="Compare all models, or the named ones, pairwise.")
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
def compare(*, models: tuple[str, ...], is_all: bool, as_json: bool, as_csv: bool, **options: Any) -> None:
    """Compare two models in the file RESULTS: how SECOND differs from FIRST, with an interval.

    FIRST and SECOND are names from `run`, tables or signatures, or a prefix that fits no other model. If a
    model has several results, the last one counts. Runs with different seeds all count, and widen the
    interval.

    With --all, compares every pair of models in the file, or of those named. The p-values are adjusted for
    the number of pairs (Holm), and each model has an interval of ranks.
    """
    if is_all:
        _show_all(lb.compare_all(models=models, **options), as_json=as_json, as_csv=as_csv)
    elif len(models) != 2:
        raise click.UsageError(
            f"Expected FIRST and SECOND, found {len(models)} models; --all compares any number."
        )
    else:
        comparison = lb.compare(first=models[0], second=models[1], **options)
        _show_two(comparison, as_json=as_json, as_csv=as_csv)


def _fields(comparison: lb.ModelDifference) -> dict[str, object]:
    low, high = comparison.interval or (None, None)
    fields = {name: value for name, value in asdict(comparison).items() if name != "interval"}
    return {**fields, **_derived(comparison), "low": low, "high": high}


def _derived(comparison: lb.ModelDifference) -> dict[str, object]:
    return {"difference": comparison.difference, "significant": comparison.is_significant}


def _show_two(comparison: lb.ModelDifference, *, as_json: bool, as_csv: bool) -> None:
    if as_json:
        click.echo(json.dumps({**asdict(comparison), **_derived(comparison)}))
        return
    if as_csv:
        click.echo(csv_text([_fields(comparison)]), nl=False)
        return
    for model, value, runs, broken in (
        (comparison.first_model, comparison.first, comparison.first_runs, comparison.first_broken),
        (comparison.second_model, comparison.second, comparison.second_runs, comparison.second_broken),
    ):
        seeds = f"  {len(runs)} seeds: {', '.join(f'{run:.4f}' for run in runs)}" if len(runs) > 1 else ""
        mark = f"  BREAKS: {', '.join(broken)}" if broken else ""
        click.echo(f"{comparison.metric} {value:.4f}  {one_line(model)}{seeds}{one_line(mark)}")
    rounding = "  (no more than rounding: not significant)" if comparison.is_rounding else ""
    click.echo(f"difference {comparison.difference:+.4f}, second minus first{rounding}")
    if comparison.interval is None:
        click.echo(f"{comparison.passages} passages: {comparison.no_interval}")
        return
    low, high = comparison.interval
    click.echo(
        f"{100 * comparison.level:.4g}% interval {low:+.4f} to {high:+.4f}: {comparison.passages} passages,"
        f" Student's t with {comparison.degrees:.1f} degrees of freedom, one-sided p"
        f" {comparison.p_one_sided:.2g}"
    )
    if low <= 0 <= high:
        click.echo("not significant: the interval includes zero")
    if comparison.single_run_model:
        click.echo(
            f"{one_line(comparison.single_run_model)} has one seed: the interval omits how much seeds vary"
        )


def _show_all(ranking: lb.Ranking, *, as_json: bool, as_csv: bool) -> None:
    """Print the ranks, and the pairs if they are not too many for a reader."""
    if as_json:
        click.echo(json.dumps(asdict(ranking)))
        return
    if as_csv:
        rows = [
            {
                "first_ranks": ranking.models[pair.first - 1].ranks,
                "second_ranks": ranking.models[pair.second - 1].ranks,
                **_fields(pair.difference),
                "p": pair.p,
                "p_adjusted": pair.p_adjusted,
                "significant_adjusted": pair.is_significant,
            }
            for pair in ranking.pairs
        ]
        click.echo(csv_text(rows), nl=False)
        return
    ranks = [("", "ranks", ranking.metric, "model")]
    for place, model in enumerate(ranking.models, start=1):
        seeds = f" ({model.seeds} seeds)" if model.seeds > 1 else ""
        ranks.append((str(place), model.ranks, f"{model.value:,.4f}", one_line(model.model) + seeds))
    click.echo("\n".join(aligned(ranks, left=(3,))))
    click.echo()
    significant = sum(pair.is_significant for pair in ranking.pairs)
    if len(ranking.models) <= MAX_LISTED_MODELS:
        click.echo("\n".join(aligned(_pair_lines(ranking), left=())))
    notes = [
        f"{ranking.split}: {ranking.passages} passages, {len(ranking.pairs)} pairs,",
        f"{significant} of them significant:",
        f"p, adjusted for all pairs (Holm), is below {1 - ranking.level:.4g}.",
        f"Ranks and significant pairs are all correct in at least {100 * ranking.level:.4g}% of cases.",
    ]
    if reasons := dict.fromkeys(filter(None, (pair.difference.no_interval for pair in ranking.pairs))):
        notes[2:] = [f"{ranking.passages} passages: {reason}." for reason in reasons]
    if len({min(model.seeds, 2) for model in ranking.models}) > 1:
        notes.append("Some models have one seed: their intervals omit how much seeds vary.")
    if len(ranking.models) > MAX_LISTED_MODELS:
        notes.append("See --csv or --json for the pairs, or name fewer models.")
    click.echo(textwrap.fill(" ".join(notes), 80))
    for name, reason in ranking.left_out:
        click.echo(f"left out: {one_line(name)}: {one_line(reason)}")


def _pair_lines(ranking: lb.Ranking) -> list[tuple[str, ...]]:
    lines: list[tuple[str, ...]] = [
        ("pair", "difference", f"{100 * ranking.level:.4g}% interval", "p", "adjusted", "")
    ]
    for pair in ranking.pairs:
        compared, interval = pair.difference, "none"
        if compared.interval is not None:
            interval = f"{compared.interval[0]:+.4f} to {compared.interval[1]:+.4f}"
        ps = ("-" if p is None else f"{p:.2g}" for p in (pair.p, pair.p_adjusted))
        mark = "" if pair.is_significant else "not significant"
        lines.append((f"{pair.first}, {pair.second}", f"{compared.difference:+.4f}", interval, *ps, mark))
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
    pairs. If the true difference is the detectable one, the interval of `compare` excludes zero on
    80 % of test sets.
    """
    estimate = lb.power(**options)
    if as_json:
        click.echo(json.dumps(asdict(estimate)))
        return
    _show_power(estimate)


def _show_power(estimate: lb.Power) -> None:
    difference = _difference_text(estimate.difference, estimate.perplexity)
    click.echo(
        f"{estimate.data} {estimate.split}: {estimate.passages} passages, {estimate.tokens:,} tokens;"
        f" difference: {difference}"
    )
    lines = [("models", "spread", "power", "detectable")]
    for pair in estimate.kinds:
        size = "none" if pair.detectable is None else _difference_text(pair.detectable, estimate.perplexity)
        lines.append((pair.kind, f"{pair.spread:.3f}", f"{pair.power:.0%}", size))
    click.echo("\n".join(aligned(lines)))
    click.echo(
        f"power: how often a {100 * estimate.level:.4g}% interval excludes zero at this difference\n"
        f"detectable: with a power of {TARGET_POWER:.0%}\n"
        f"spread: of the difference over passages, in nats per token (standard deviation).\n"
        f"  Of pairs of models in this project's records whose perplexities are within 10%\n"
        f"  of each other, a tenth vary less than alike, half less than usual, nine tenths\n"
        f"  less than unlike"
    )
    if estimate.degrees < MIN_DEGREES:
        click.echo(
            "With so few (or so unequal) passages, skewed differences are detected less often than stated"
        )


def _difference_text(nats: float, perplexity: float | None) -> str:
    """Return a difference as text, rounded up, so that a detectable one has its power."""
    fraction = -math.expm1(-nats)
    points = "" if perplexity is None else f" ({_rounded_up(perplexity * fraction)} of {perplexity:g})"
    return f"{_rounded_up(100 * fraction)}%{points}"


def _rounded_up(number: float) -> str:
    """Round a number up to two digits."""
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
    click.echo(
        lb.report(**options, columns=[name for column in columns.split(",") if (name := column.strip())])
    )


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
