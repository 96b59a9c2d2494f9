"""Defines the command `ps-models`: train language models, evaluate them, look inside them.

Each command calls one function of `ps_models` and prints the result. Nothing here imports torch before a
command runs, so `--help` and `--version` are quick and work without it.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import Any

import click

import ps_models as pm
from ps_models.hyperparameters import PRECISIONS
from ps_models.processor import use_processor
from ps_models.signature import CONTEXTS
from wikitext_builder.article import SPLITS
from wikitext_builder.charts import PICTURE_ENDINGS
from wikitext_builder.cli.command_line import (
    ANY,
    COUNT,
    FOLDER,
    OUTPUT_FILE,
    PARALLEL,
    SEED,
    WHOLE,
    Program,
    RealRange,
    cite_option,
    json_option,
    run,
    trust_option,
    version_option,
)
from wikitext_builder.dataset.vocabulary import EOS
from wikitext_builder.progress import show_progress
from wikitext_builder.tables import spelled_out

SETTINGS = {"help_option_names": ["-h", "--help"], "show_default": True}
threads_option = click.option(
    "--threads",
    type=PARALLEL,
    show_default="by size of the model",
    envvar="WIKITEXT_THREADS",
    show_envvar=True,
    help="CPU threads.",
)
context_option = click.option(
    "--context", type=click.Choice(CONTEXTS), default="carried", help="Context before each article."
)
precision_option = click.option(
    "--precision", type=click.Choice(PRECISIONS), default="fp32", help="Precision."
)
device_option = click.option("--device", default="auto", help="auto, cpu, cuda or cuda:1.")


@click.group(
    "ps-models", cls=Program, about=Path(__file__).with_name("commands.toml"), context_settings=SETTINGS
)
@cite_option
@version_option
@threads_option
@trust_option(lambda path: pm.trust(path))
def commands(threads: int | None) -> None:
    """Train, evaluate and inspect the pointer sentinel-LSTM and its baselines.

    DATA is a dataset built by wikitext-builder, a folder in the layout of WikiText or the Penn Treebank, or
    a file. CHECKPOINT is a checkpoint file, or a run's folder, whose best checkpoint is used.
    """
    use_processor(threads)


def passage_start(context: click.Context, parameter: click.Parameter, value: str) -> int | str:
    """Parse the index of a token, or `best`."""
    if value != "best" and not (value.isascii() and value.isdecimal()):
        raise click.BadParameter(f"{value!r}: expected a number from 0, or best.", context, parameter)
    return value if value == "best" else int(value)


def split_option(default: str) -> Callable[[Any], Any]:
    """Make the option for the split that a command reads."""
    return click.option("--split", type=click.Choice(SPLITS), default=default, help="Split of the dataset.")


@commands.command("list")
@click.argument("model", required=False)
@json_option
def list_models(*, model: str | None, as_json: bool) -> None:
    """List the models and their presets, or the presets of MODEL, which may be your own class."""
    models = pm.list_models(model)
    if as_json:
        fields = {
            model: {name: asdict(preset) for name, preset in presets.items()}
            for model, presets in models.items()
        }
        click.echo(json.dumps(fields))
        return
    width = max((len(name) for presets in models.values() for name in presets), default=0)
    for model, presets in models.items():
        click.echo(model)
        for name, preset in presets.items():
            click.echo(f"  {name:<{width}} {preset.about}")


@commands.command()
@click.argument("model", metavar="MODEL")
@click.argument("data", type=ANY)
@click.option("--out", type=FOLDER, required=True, help="Folder for checkpoints and logs.")
@click.option("--preset", help="Named hyperparameters, see `ps-models list` (default: the model's own).")
@click.option("--set", "settings", multiple=True, metavar="KEY=VALUE", help="One hyperparameter; repeatable.")
@click.option(
    "--save-minutes",
    default=5.0,
    type=RealRange(min=0),
    help="Minutes between checkpoints within an epoch.",
)
@click.option("--log-every", default=1, type=COUNT, help="Updates per log line.")
@click.option("--max-updates", type=COUNT, help="Save and stop after this many updates.")
@click.option("--max-minutes", type=RealRange(min=0), help="Save and stop after this many minutes from now.")
@click.option("--compile", is_flag=True, help="Use torch.compile; on a GPU, with CUDA graphs.")
@click.option(
    "--log-to",
    type=click.Choice(("tensorboard",)),
    multiple=True,
    help="Also log to this tracker, if it is installed.",
)
@device_option
def train(
    *,
    save_minutes: float,
    log_every: int,
    max_updates: int | None,
    max_minutes: float | None,
    **options: Any,
) -> None:
    """Train MODEL on DATA.

    MODEL is a name from `ps-models list`, or your own class: my_model.py:GPT, or my_package.models:GPT.
    Writes to --out: last.safetensors (to resume), best.safetensors (to use), updates.jsonl, epochs.csv.
    Ctrl-C saves and stops. The same command resumes, even after a kill, with the result of an unbroken run.
    """
    limits = pm.RunLimits(
        save_seconds=save_minutes * 60,
        log_every=log_every,
        max_updates=max_updates,
        max_seconds=None if max_minutes is None else max_minutes * 60,
    )
    try:
        with show_progress() as progress:
            run = pm.train(**options, limits=limits, progress=progress)
    except pm.StoppedError:
        if os.environ.get("RANK", "0") == "0":
            raise
        raise click.exceptions.Exit(1) from None  # the first process prints the reason
    if run.rank == 0:
        early = f" (none of the last {run.patience} was better)" if run.epochs < run.planned else ""
        counts = f"{run.epochs} epochs{early}, {run.updates} updates"
        already = "already trained: " if run.trained_before else ""
        rows = f"{run.valid_rows} {'row' if run.valid_rows == 1 else 'rows'}"
        click.echo(f"{run.folder}: {already}{counts}, perplexity {run.perplexity:.2f} on valid in {rows}")


@commands.command()
@click.argument("model", type=ANY, metavar="CHECKPOINT")
@click.argument("data", type=ANY)
@split_option("test")
@context_option
@precision_option
@device_option
@json_option
def evaluate(*, as_json: bool, **options: Any) -> None:
    """Measure the perplexity of CHECKPOINT on a split of DATA, each token once, with a signature."""
    with show_progress() as progress:
        evaluation = pm.evaluate(**options, progress=progress)
    score = evaluation.score
    if as_json:
        articles = [asdict(article) for article in evaluation.scores]
        numbers = {"perplexity": score.perplexity, **asdict(score), "signature": str(evaluation.signature)}
        click.echo(json.dumps({**numbers, "articles": articles}))
        return
    counts = f"{score.nats:.1f} nats, {score.tokens} tokens, {len(evaluation.scores)} texts"
    click.echo(f"perplexity {score.perplexity:.2f} ({counts})")
    click.echo(evaluation.signature)


@commands.command()
@click.argument("model", type=ANY, metavar="CHECKPOINT")
@click.option("--words", default=100, type=WHOLE, help="Number of words to generate.")
@click.option("--prompt", default="", help="Tokens to start from, separated by spaces.")
@click.option("--temperature", default=1.0, type=RealRange(min=0), help="0: always the most likely word.")
@click.option("--seed", default=1, type=SEED, help="Random seed; the same seed gives the same words.")
@click.option("--unknown/--no-unknown", default=True, help="Allow <unk> to be generated.")
@device_option
def generate(**options: Any) -> None:
    """Generate text from CHECKPOINT; each <eos> ends a line."""
    for word in pm.generate(**options):
        click.echo("\n" if word == EOS else f"{spelled_out(word)} ", nl=False)
    click.echo()


@commands.command()
@click.argument("model", type=ANY, metavar="CHECKPOINT")
@click.argument("data", type=ANY)
@click.option("--out", type=OUTPUT_FILE, required=True, help=f"Page, .html, or picture, {PICTURE_ENDINGS}.")
@split_option("valid")
@click.option(
    "--start",
    default="0",
    callback=passage_start,
    metavar="N|best",
    help="Index of the first token, from 0; best: where the pointer helped most (reads the whole split).",
)
@click.option(
    "--words",
    type=COUNT,
    help="Number of words.  [default: 500; in a picture, to the end of the sentence]",
)
@device_option
def explain(*, out: Path, **options: Any) -> None:
    """Show how CHECKPOINT predicts each word of DATA, as a page to browse or a picture.

    The picture shows a sentence with its window.
    """
    with show_progress() as progress:
        pm.explain(out=out, progress=progress, **options)
    click.echo(out)


@commands.command("compare-by-frequency")
@click.argument("first", type=ANY)
@click.argument("second", type=ANY)
@click.argument("data", type=ANY)
@split_option("test")
@click.option("--buckets", default=10, type=COUNT, help="Maximum number of groups of words.")
@click.option("--figure", type=OUTPUT_FILE, help=f"Also draw the comparison: {PICTURE_ENDINGS}.")
@device_option
@json_option
def compare_by_frequency(*, as_json: bool, **options: Any) -> None:
    """Print the mean difference in log perplexity, SECOND minus FIRST, by word frequency in train.

    FIRST and SECOND are checkpoints. Negative: SECOND is better. Equally frequent words stay in one group,
    so there can be fewer. If SECOND is a pointer model, also prints its mean gate and pointer distance.
    """
    comparison = pm.compare(**options)
    if as_json:
        click.echo(json.dumps(comparison.fields()))
        return
    first, second = comparison.names
    for place, name, score in zip(("first", "second"), comparison.names, comparison.scores, strict=True):
        click.echo(f"{place + ':':<7} {name}, perplexity {score.perplexity:.2f}")
    click.echo(f"difference: nats per token, {second} minus {first}")
    click.echo(f"  negative: {second} is better; positive: {first} is better")
    click.echo("count in train     types   tokens  difference   gate")
    for bucket in comparison.buckets:
        difference = "-" if bucket.difference is None else f"{bucket.difference:+.4f}"
        gate = "-" if bucket.gate is None else f"{bucket.gate:.3f}"
        click.echo(f"{bucket.label:<16} {bucket.types:>7} {bucket.tokens:>8} {difference:>11} {gate:>6}")
    if comparison.pointer is not None:
        click.echo(f"pointer: half of its attention within {comparison.pointer.half} words")
    for score, signature in zip(comparison.scores, comparison.signatures, strict=True):
        click.echo(f"perplexity {score.perplexity:.2f}  {signature}")


def main() -> None:
    """Run `ps-models`; an error is one line and status 1, wrong usage status 2."""
    run(commands)
