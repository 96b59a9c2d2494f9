"""The command `ps-models`: train language models, evaluate them, look inside them."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import Any, TypeVar

import click
import torch

from ps_models import MODELS
from ps_models.evaluation import CONTEXTS
from ps_models.experiment import evaluate_checkpoint, train_model
from ps_models.optimizers import PRECISIONS
from ps_models.presets import PRESETS
from ps_models.processes import torchrun_processes
from ps_models.text import SPLITS
from wikitext_builder.errors import BuilderError
from wikitext_builder.progress import no_progress, shown_progress

SETTINGS = {"help_option_names": ["-h", "--help"], "show_default": True}
EXISTING = click.Path(exists=True, path_type=Path)
ANY_PATH = click.Path(path_type=Path)
Command = TypeVar("Command", bound=Callable[..., Any])


@click.group(context_settings=SETTINGS)
@click.version_option(package_name="wikitext-builder")
@click.option("--threads", type=click.IntRange(min=1), help="CPU threads; torch decides if not given.")
def commands(threads: int | None) -> None:
    """Train the pointer sentinel-LSTM and its baselines, evaluate them, look inside them.

    DATA is a dataset that wikitext-builder made, a folder in WikiText's or Penn Treebank's layout, or a file.
    CHECKPOINT is a file, or the folder of a run, whose best one is taken.
    """
    if threads is not None:
        torch.set_num_threads(threads)


def device_option(command: Command) -> Command:
    """Where it runs."""
    option: Callable[[Command], Command] = click.option(
        "--device", default="auto", help="auto, cpu, cuda or cuda:1."
    )
    return option(command)


def json_option(command: Command) -> Command:
    """For programs."""
    option: Callable[[Command], Command] = click.option("--json", "as_json", is_flag=True, help="Print JSON.")
    return option(command)


@commands.command("list")
@json_option
def list_models(*, as_json: bool) -> None:
    """The models and their presets."""
    if as_json:
        click.echo(
            json.dumps(
                {model: {name: asdict(p) for name, p in PRESETS.get(model, {}).items()} for model in MODELS}
            )
        )
        return
    for model in MODELS:
        click.echo(model)
        for name, preset in PRESETS.get(model, {}).items():
            click.echo(f"  {name:<16} {preset.about}")


@commands.command()
@click.argument("model", type=click.Choice(list(MODELS)), metavar="MODEL")
@click.argument("data", type=EXISTING)
@click.option("--out", type=ANY_PATH, required=True, help="Folder for checkpoints and logs.")
@click.option("--preset", help="Hyperparameters by name: `ps-models list`; else the model's defaults.")
@click.option("--set", "settings", multiple=True, metavar="KEY=VALUE", help="One hyperparameter; repeatable.")
@click.option("--resume", is_flag=True, help="Go on where the run in --out stopped; begin if there is none.")
@click.option("--save-minutes", default=5.0, help="Between two checkpoints within an epoch.")
@click.option("--log-every", default=1, type=click.IntRange(min=1), help="Updates a line of the log.")
@click.option("--max-updates", type=click.IntRange(min=1), help="Stop there, saved, to go on later.")
@click.option("--tensorboard", "log_events", is_flag=True, help="Also write TensorBoard's events.")
@device_option
def train(*, model: str, data: Path, out: Path, save_minutes: float, **options: Any) -> None:  # noqa: ANN401
    """Train MODEL on DATA; under torchrun, on several GPUs.

    In --out: last.safetensors (to go on from), best.safetensors (to use), updates.jsonl, epochs.csv.
    Ctrl-C saves; the same command with --resume goes on, to the same result as without the stop.
    """
    with torchrun_processes() as processes, shown_progress() as shown:
        position = train_model(
            model,
            data,
            out,
            processes=processes,
            progress=shown if processes.rank == 0 else no_progress,
            save_seconds=save_minutes * 60,
            **options,
        )
    if processes.rank == 0:
        best = position.best_perplexity
        click.echo(
            f"{out}: {position.epoch} epochs, {position.update} updates, perplexity {best:.2f} on valid"
        )


@commands.command()
@click.argument("checkpoint", type=EXISTING)
@click.argument("data", type=EXISTING)
@click.option("--split", type=click.Choice(SPLITS), default="test", help="Part of the dataset.")
@click.option(
    "--context", type=click.Choice(CONTEXTS), default="carried", help="What goes before an article."
)
@click.option("--precision", type=click.Choice(PRECISIONS), default="fp32", help="Arithmetic.")
@device_option
@json_option
def evaluate(*, checkpoint: Path, data: Path, as_json: bool, **options: Any) -> None:  # noqa: ANN401
    """Perplexity of CHECKPOINT on a part of DATA, each token once, with the signature of the number."""
    with shown_progress() as progress:
        found = evaluate_checkpoint(checkpoint, data, progress=progress, **options)
    score = found.score
    if as_json:
        articles = [asdict(article) for article in found.scores]
        fields = {"perplexity": score.perplexity, **asdict(score), "signature": str(found.signature)}
        click.echo(json.dumps({**fields, "articles": articles}))
        return
    counts = f"{score.nats:.1f} nats, {score.tokens} tokens, {len(found.scores)} texts"
    click.echo(f"perplexity {score.perplexity:.2f} ({counts})")
    click.echo(found.signature)


def main() -> None:
    """Run `ps-models`; an error is one line and status 1, wrong usage status 2."""
    try:
        commands()
    except BuilderError as error:
        click.echo(f"ps-models: {error}", err=True)
        sys.exit(1)


if __name__ == "__main__":
    main()
