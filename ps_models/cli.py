"""The command `ps-models`: train language models, evaluate them, look inside them."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import Any, TypeVar, cast

import click
import torch

from ps_models.choices import PRECISIONS
from ps_models.errors import ModelError
from ps_models.evaluation.evaluate import CONTEXTS
from ps_models.evaluation.generate import generate as generated
from ps_models.experiment import evaluate_checkpoint, load_model, train_model
from ps_models.explanation.checkpoints import compare_checkpoints, comparison_fields, explain_checkpoint
from ps_models.explanation.figure import FORMATS as PICTURES
from ps_models.explanation.figure import save_picture
from ps_models.explanation.frequency import save_figure
from ps_models.explanation.page import page
from ps_models.language_model import Generative
from ps_models.models import MODELS
from ps_models.models.neural_cache import NeuralCacheConfig
from ps_models.presets import PRESETS
from ps_models.processor import use_processor
from ps_models.training.distributed import torchrun_processes
from ps_models.training.loop import Pace
from wikitext_builder.cli.run import Program, run
from wikitext_builder.dataset.split import SPLITS
from wikitext_builder.dataset.vocabulary import EOS
from wikitext_builder.progress import no_progress, shown_progress

SETTINGS = {"help_option_names": ["-h", "--help"], "show_default": True}
PAGES = (".html", ".htm")
EXISTING = click.Path(exists=True, path_type=Path)
ANY_PATH = click.Path(path_type=Path)
Command = TypeVar("Command", bound=Callable[..., Any])


@click.group("ps-models", cls=Program, context_settings=SETTINGS)
@click.version_option(package_name="wikitext-builder")
@click.option("--threads", type=click.IntRange(min=1), help="CPU threads; torch decides if not given.")
def commands(threads: int | None) -> None:
    """Train the pointer sentinel-LSTM and its baselines, evaluate them, look inside them.

    DATA is a dataset that wikitext-builder made, a folder in WikiText's or Penn Treebank's layout, or a file.
    CHECKPOINT is a file, or the folder of a run, whose best one is taken.
    """
    use_processor(threads)


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
    width = max(len(name) for presets in PRESETS.values() for name in presets)
    for model in MODELS:
        click.echo(model)
        for name, preset in PRESETS.get(model, {}).items():
            click.echo(f"  {name:<{width}} {preset.about}")


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
@click.option(
    "--max-minutes", type=click.FloatRange(min=0), help="Stop after so many, saved, to go on later."
)
@click.option(
    "--cuda-graphs/--no-cuda-graphs",
    default=False,
    help="Replay updates as graphs on one GPU, which has not been tried on a GPU yet.",
)
@click.option("--tensorboard", "log_events", is_flag=True, help="Also write TensorBoard's events.")
@device_option
def train(
    *,
    model: str,
    data: Path,
    out: Path,
    save_minutes: float,
    log_every: int,
    max_updates: int | None,
    max_minutes: float | None,
    **options: Any,
) -> None:
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
            pace=Pace(
                save_seconds=save_minutes * 60,
                log_every=log_every,
                max_updates=max_updates,
                max_seconds=None if max_minutes is None else max_minutes * 60,
            ),
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
@click.option(
    "--cache", "window", type=click.IntRange(min=1), help="Mix with a neural cache of so many words."
)
@click.option(
    "--cache-theta", "theta", type=float, help="Flatness of the cache; 0: word frequencies.  [default: 1.0]"
)
@click.option("--cache-weight", "weight", type=float, help="Share of the cache.  [default: 0.1]")
@click.option(
    "--samples",
    default=0,
    type=click.IntRange(min=0),
    help="Average over so many masks of Monte Carlo dropout.",
)
@device_option
@json_option
def evaluate(
    *,
    checkpoint: Path,
    data: Path,
    window: int | None,
    theta: float | None,
    weight: float | None,
    as_json: bool,
    **options: Any,
) -> None:
    """Perplexity of CHECKPOINT on a part of DATA, each token once, with the signature of the number."""
    given = {"window": window, "theta": theta, "weight": weight}
    cache_fields: dict[str, Any] = {name: value for name, value in given.items() if value is not None}
    if window is None and cache_fields:
        raise click.UsageError(
            "--cache-theta and --cache-weight are of a cache; give --cache, its words, too"
        )
    cache = NeuralCacheConfig(**cache_fields) if cache_fields else None
    with shown_progress() as progress:
        found = evaluate_checkpoint(checkpoint, data, progress=progress, cache=cache, **options)
    score = found.score
    if as_json:
        articles = [asdict(article) for article in found.scores]
        fields = {"perplexity": score.perplexity, **asdict(score), "signature": str(found.signature)}
        click.echo(json.dumps({**fields, "articles": articles}))
        return
    counts = f"{score.nats:.1f} nats, {score.tokens} tokens, {len(found.scores)} texts"
    click.echo(f"perplexity {score.perplexity:.2f} ({counts})")
    click.echo(found.signature)


@commands.command()
@click.argument("checkpoint", type=EXISTING)
@click.option("--words", default=100, type=click.IntRange(min=0), help="How many to draw.")
@click.option("--prompt", default="", help="Tokens that come before, parted by spaces.")
@click.option(
    "--temperature", default=1.0, type=click.FloatRange(min=0), help="0: always the likeliest word."
)
@click.option(
    "--seed", default=1, type=click.IntRange(0, 2**63 - 1), help="The same seed gives the same words."
)
@click.option("--unknown/--no-unknown", default=True, help="Whether <unk> may be drawn.")
@device_option
def generate(*, checkpoint: Path, prompt: str, seed: int, device: str, **options: Any) -> None:
    """Text that CHECKPOINT makes up, a line of it at each <eos>."""
    model, found = load_model(checkpoint, device)
    drawn = generated(
        cast("Generative[Any]", model),
        found.vocabulary,
        generator=torch.Generator().manual_seed(seed),
        prompt=prompt.split(),
        device=next(model.parameters()).device,
        **options,
    )
    for word in drawn:
        click.echo("\n" if word == EOS else f"{word} ", nl=False)
    click.echo()


@commands.command()
@click.argument("checkpoint", type=EXISTING)
@click.argument("data", type=EXISTING)
@click.option(
    "--out", type=ANY_PATH, required=True, help="The page, .html; or, with --words 1, .png, .svg, .pdf."
)
@click.option("--split", type=click.Choice(SPLITS), default="valid", help="Part of the dataset.")
@click.option("--start", default=0, type=click.IntRange(min=0), help="First token, the part's first being 0.")
@click.option("--words", default=500, type=click.IntRange(min=1), help="How many.")
@device_option
def explain(*, checkpoint: Path, data: Path, out: Path, split: str, start: int, **options: Any) -> None:
    """How CHECKPOINT predicts each word of DATA: a page to browse, or a picture of one prediction."""
    if out.suffix.lower() not in (*PAGES, *PICTURES):
        raise ModelError(f"{out}: expected a name that ends in {', '.join((*PAGES, *PICTURES))}")
    found = explain_checkpoint(checkpoint, data, split=split, start=start, **options)
    if out.suffix.lower() in PICTURES:
        save_picture(out, found.predictions[0], found.vocabulary)
    else:
        title = f"{found.signature['model']} on {data.name}, {split}"
        summary = f"{len(found.predictions)} words from {start} on, perplexity {found.score.perplexity:.1f}"
        text = page(title, f"{summary}. {found.signature}", found.predictions, found.vocabulary)
        out.write_text(text, encoding="utf-8")
    click.echo(out)


@commands.command("compare-by-frequency")
@click.argument("first", type=EXISTING)
@click.argument("second", type=EXISTING)
@click.argument("data", type=EXISTING)
@click.option("--split", type=click.Choice(SPLITS), default="test", help="Part of the dataset.")
@click.option("--buckets", "number", default=10, type=click.IntRange(min=1), help="How many.")
@click.option(
    "--equal", type=click.Choice(["types", "tokens"]), default="types", help="What each has as many of."
)
@click.option("--figure", type=ANY_PATH, help="Also draw it: .png, .svg or .pdf.")
@device_option
@json_option
def compare_by_frequency(*, data: Path, figure: Path | None, as_json: bool, **options: Any) -> None:
    """Mean difference in log perplexity, checkpoint SECOND minus FIRST, by word frequency in train.

    Of a pointer sentinel-LSTM as SECOND also the mean gate, and how far back its pointer points.
    """
    found = compare_checkpoints(data=data, **options)
    if figure is not None:
        save_figure(figure, found.buckets, found.pointer)
    if as_json:
        click.echo(json.dumps(comparison_fields(found)))
        return
    click.echo("count in train     types   tokens  difference   gate")
    for bucket in found.buckets:
        difference = "-" if bucket.difference is None else f"{bucket.difference:+.4f}"
        gate = "-" if bucket.gate is None else f"{bucket.gate:.3f}"
        span = f"{bucket.least}-{bucket.most}"
        click.echo(f"{span:<16} {bucket.types:>7} {bucket.tokens:>8} {difference:>11} {gate:>6}")
    if found.pointer is not None:
        click.echo(f"pointer: half of its attention within {found.pointer.half} words")
    for score, signature in zip(found.scores, found.signatures, strict=True):
        click.echo(f"perplexity {score.perplexity:.2f}  {signature}")


def main() -> None:
    """Run `ps-models`; an error is one line and status 1, wrong usage status 2."""
    run(commands)


if __name__ == "__main__":
    main()
