"""The command `ps-models`: train language models, evaluate them, look inside them.

Each command is one call of `ps_models`, and prints the result. Nothing here imports torch before a command
runs: help and version are quick, also where it is missing.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import Any

import click

import ps_models as pm
from ps_models.evaluation.signature import CONTEXTS
from ps_models.hyperparameters import PRECISIONS
from ps_models.processor import use_processor
from wikitext_builder.article import SPLITS
from wikitext_builder.cli.options import (
    ANY,
    COUNT,
    SEED,
    WHOLE,
    Program,
    RealRange,
    add_cite_option,
    run,
    trust_option,
    version_option,
)
from wikitext_builder.dataset.vocabulary import EOS
from wikitext_builder.errors import nearest
from wikitext_builder.pictures import ENDINGS
from wikitext_builder.progress import shown_progress

SETTINGS = {"help_option_names": ["-h", "--help"], "show_default": True}
NEW = click.Path(path_type=Path)
device_option = click.option("--device", default="auto", help="auto, cpu, cuda or cuda:1.")
json_option = click.option("--json", "as_json", is_flag=True, help="Print JSON.")


@click.group(
    "ps-models", cls=Program, about=Path(__file__).with_name("commands.toml"), context_settings=SETTINGS
)
@version_option
@click.option("--threads", type=COUNT, show_default="by size of the model", help="CPU threads.")
@trust_option(lambda path: pm.trust(path))
def commands(threads: int | None) -> None:
    """Train the pointer sentinel-LSTM and its baselines, evaluate them, look inside them.

    DATA is a dataset that wikitext-builder made, a folder in the layout of WikiText or Penn Treebank, or a
    file. CHECKPOINT is a file, or the folder of a run: then its best checkpoint.
    """
    use_processor(threads)


add_cite_option(commands, lambda path: pm.cite(path), "a checkpoint or a dataset")


def model_name(context: click.Context, parameter: click.Parameter, value: str) -> str:
    """The name of a model, if there is one; models are imported only when a command names one."""
    if ":" not in value and value not in (names := pm.list_models()):
        known = f"{', '.join(names)}, nor a class of yours as my_model.py:GPT"
        raise click.BadParameter(
            f"{value!r} is not one of {known}{nearest(value, names)}", context, parameter
        )
    return value


def no_cuda_graphs(context: click.Context, parameter: click.Parameter, value: bool) -> None:
    """An option of version 0.1."""
    if value:
        raise click.BadParameter("torch's own graphs replace it: use --compile.", context, parameter)


def passage_start(context: click.Context, parameter: click.Parameter, value: str) -> int | str:
    """A number of a token, or `best`."""
    if value != "best" and not (value.isascii() and value.isdecimal()):
        raise click.BadParameter(f"{value!r}: expected a number from 0, or best.", context, parameter)
    return value if value == "best" else int(value)


def split_option(default: str) -> Callable[[Any], Any]:
    """The split that a command reads."""
    return click.option("--split", type=click.Choice(SPLITS), default=default, help="Split of the dataset.")


@commands.command("list")
@json_option
def list_models(*, as_json: bool) -> None:
    """The models and their presets."""
    models = pm.list_models()
    if as_json:
        found = {model: {name: asdict(p) for name, p in presets.items()} for model, presets in models.items()}
        click.echo(json.dumps(found))
        return
    width = max(len(name) for presets in models.values() for name in presets)
    for model, presets in models.items():
        click.echo(model)
        for name, preset in presets.items():
            click.echo(f"  {name:<{width}} {preset.about}")


@commands.command()
@click.argument("model", callback=model_name, metavar="MODEL")
@click.argument("data", type=ANY)
@click.option("--out", type=NEW, required=True, help="Folder for checkpoints and logs.")
@click.option("--preset", help="Hyperparameters by name, see `ps-models list`; else the model's defaults.")
@click.option("--set", "settings", multiple=True, metavar="KEY=VALUE", help="One hyperparameter; repeatable.")
@click.option("--resume", is_flag=True, expose_value=False, help="Not needed: the same command resumes.")
@click.option(
    "--save-minutes",
    default=5.0,
    type=RealRange(min=0),
    help="Minutes between two checkpoints within an epoch.",
)
@click.option("--log-every", default=1, type=COUNT, help="Updates per line of the log.")
@click.option("--max-updates", type=COUNT, help="Save and stop after this many updates.")
@click.option("--max-minutes", type=RealRange(min=0), help="Save and stop after this many minutes from now.")
@click.option("--compile", is_flag=True, help="Compile updates by torch.compile; on a GPU with CUDA graphs.")
@click.option("--cuda-graphs/--no-cuda-graphs", expose_value=False, callback=no_cuda_graphs, hidden=True)
@click.option("--tensorboard", "log_events", is_flag=True, help="As --log-to tensorboard.")
@click.option(
    "--log-to",
    type=click.Choice(("tensorboard", "wandb", "mlflow")),
    multiple=True,
    help="Also hand the numbers on to this tracker, if it is installed; repeatable.",
)
@click.option("--processes", default=1, type=COUNT, help="Processes that train as one, each on its own GPU.")
@device_option
def train(
    *,
    save_minutes: float,
    log_every: int,
    max_updates: int | None,
    max_minutes: float | None,
    processes: int,
    **options: Any,
) -> None:
    """Train MODEL on DATA.

    MODEL is a name of `ps-models list`, or a class of yours: my_model.py:GPT, or my_package.models:GPT.
    Files in --out: last.safetensors (to resume), best.safetensors (to use), updates.jsonl, epochs.csv.
    Ctrl-C saves and stops. The same command resumes, also after a kill, to the same result as without a stop.
    """
    if processes > 1 and "RANK" not in os.environ:
        from ps_models.training.processes import run_processes

        raise click.exceptions.Exit(run_processes(sys.argv[1:], processes))
    limits = pm.RunLimits(
        save_seconds=save_minutes * 60,
        log_every=log_every,
        max_updates=max_updates,
        max_seconds=None if max_minutes is None else max_minutes * 60,
    )
    try:
        with shown_progress() as progress:
            found = pm.train(**options, limits=limits, progress=progress)
    except pm.StoppedError:
        if os.environ.get("RANK", "0") == "0":
            raise
        raise click.exceptions.Exit(1) from None  # the first process says it
    if found.rank == 0:
        counts = f"{found.epochs} epochs, {found.updates} updates"
        already = "is trained already: " if found.trained_before else ""
        click.echo(f"{found.folder}: {already}{counts}, perplexity {found.perplexity:.2f} on valid")


@commands.command()
@click.argument("model", type=ANY, metavar="CHECKPOINT")
@click.argument("data", type=ANY)
@split_option("test")
@click.option(
    "--context", type=click.Choice(CONTEXTS), default="carried", help="What comes before an article."
)
@click.option("--precision", type=click.Choice(PRECISIONS), default="fp32", help="Arithmetic.")
@click.option("--cache", "window", type=COUNT, help="Mix with a neural cache of this many words.")
@click.option(
    "--cache-theta", "theta", type=float, help="Flatness of the cache; 0: word frequencies.  [default: 1.0]"
)
@click.option("--cache-weight", "weight", type=float, help="Weight of the cache.  [default: 0.1]")
@click.option("--samples", default=0, type=WHOLE, help="Average over this many masks of Monte Carlo dropout.")
@device_option
@json_option
def evaluate(
    *, window: int | None, theta: float | None, weight: float | None, as_json: bool, **options: Any
) -> None:
    """Perplexity of CHECKPOINT on a split of DATA, each token once, with the signature of the number."""
    given = {"window": window, "theta": theta, "weight": weight}
    fields: dict[str, Any] = {name: value for name, value in given.items() if value is not None}
    if window is None and fields:
        raise click.UsageError("--cache-theta and --cache-weight need --cache, the number of its words")
    cache = pm.NeuralCacheConfig(**fields) if fields else None
    with shown_progress() as progress:
        found = pm.evaluate(**options, cache=cache, progress=progress)
    score = found.score
    if as_json:
        articles = [asdict(article) for article in found.scores]
        numbers = {"perplexity": score.perplexity, **asdict(score), "signature": str(found.signature)}
        click.echo(json.dumps({**numbers, "articles": articles}))
        return
    counts = f"{score.nats:.1f} nats, {score.tokens} tokens, {len(found.scores)} texts"
    click.echo(f"perplexity {score.perplexity:.2f} ({counts})")
    click.echo(found.signature)


@commands.command()
@click.argument("model", type=ANY, metavar="CHECKPOINT")
@click.option("--words", default=100, type=WHOLE, help="How many words to draw.")
@click.option("--prompt", default="", help="Tokens that come before, separated by spaces.")
@click.option("--temperature", default=1.0, type=RealRange(min=0), help="0: always the likeliest word.")
@click.option("--seed", default=1, type=SEED, help="The same seed gives the same words.")
@click.option("--unknown/--no-unknown", default=True, help="Whether <unk> may be drawn.")
@device_option
def generate(**options: Any) -> None:
    """Text that CHECKPOINT generates; each <eos> ends a line."""
    for word in pm.generate(**options):
        click.echo("\n" if word == EOS else f"{word} ", nl=False)
    click.echo()


@commands.command()
@click.argument("model", type=ANY, metavar="CHECKPOINT")
@click.argument("data", type=ANY)
@click.option("--out", type=NEW, required=True, help=f"The page, .html; or a picture, {ENDINGS}.")
@split_option("valid")
@click.option(
    "--start",
    default="0",
    callback=passage_start,
    metavar="N|best",
    help="First token of the split, from 0; best: where the pointer helped most (reads the whole split).",
)
@click.option(
    "--words",
    type=COUNT,
    help="How many words.  [default: 500; for a picture up to the end of the sentence]",
)
@device_option
def explain(*, out: Path, **options: Any) -> None:
    """How CHECKPOINT predicts each word of DATA: a page to browse, or a picture.

    The picture shows a sentence with its window; with --words 1 the distributions of one word.
    """
    with shown_progress() as progress:
        pm.explain(out=out, progress=progress, **options)
    click.echo(out)


@commands.command()
@click.argument("model", type=ANY, metavar="CHECKPOINT")
@click.option("--out", type=NEW, required=True, help="Folder to make.")
def export(**options: Any) -> None:
    """Write a Transformer, CHECKPOINT, as a folder that the library `transformers` loads."""
    click.echo(pm.export(**options))


@commands.command("compare-by-frequency")
@click.argument("first", type=ANY)
@click.argument("second", type=ANY)
@click.argument("data", type=ANY)
@split_option("test")
@click.option("--buckets", default=10, type=COUNT, help="How many groups of words, at most.")
@click.option(
    "--equal",
    type=click.Choice(("types", "tokens")),
    default="types",
    help="All groups have about equally many types (different words), or tokens of train.",
)
@click.option("--figure", type=NEW, help=f"Also draw it: {ENDINGS}.")
@device_option
@json_option
def compare_by_frequency(*, as_json: bool, **options: Any) -> None:
    """Mean difference in log perplexity, checkpoint SECOND minus FIRST, by word frequency in train.

    Negative: SECOND is better. Words that occur equally often are in one group, so there can be fewer groups.
    If SECOND is a pointer sentinel-LSTM, also the mean gate, and how far back its pointer points.
    """
    found = pm.compare(**options)
    if as_json:
        click.echo(json.dumps(found.fields()))
        return
    first, second = found.names
    for place, name, score in zip(("first", "second"), found.names, found.scores, strict=True):
        click.echo(f"{place + ':':<7} {name}, perplexity {score.perplexity:.2f}")
    click.echo(f"difference: nats per token, {second} minus {first}")
    click.echo(f"  negative: {second} is better; positive: {first} is better")
    click.echo("count in train     types   tokens  difference   gate")
    for bucket in found.buckets:
        difference = "-" if bucket.difference is None else f"{bucket.difference:+.4f}"
        gate = "-" if bucket.gate is None else f"{bucket.gate:.3f}"
        click.echo(f"{bucket.label:<16} {bucket.types:>7} {bucket.tokens:>8} {difference:>11} {gate:>6}")
    if found.pointer is not None:
        click.echo(f"pointer: half of its attention within {found.pointer.half} words")
    for score, signature in zip(found.scores, found.signatures, strict=True):
        click.echo(f"perplexity {score.perplexity:.2f}  {signature}")


def main() -> None:
    """Run `ps-models`; an error is one line and status 1, wrong usage status 2."""
    sys.path.insert(0, "")  # for modules in the folder in which the user is
    run(commands)
