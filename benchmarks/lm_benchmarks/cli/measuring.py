"""Commands that run models: list, run, check, first-updates."""

from __future__ import annotations

import json
import re
import shlex
import sys
import time
from contextlib import nullcontext
from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final

import click

from lm_benchmarks.cli.options import ANY_PATH, EXISTING, PROGRAM, json_option, model_options, split_option
from lm_benchmarks.measuring.check import check_model, raise_if_broken
from lm_benchmarks.measuring.first_updates import append_first_updates, first_updates
from lm_benchmarks.measuring.models import KINDS, NAMES, Inputs, open_model
from lm_benchmarks.measuring.passages import CONVENTIONS, PAPER, read_passages, vocabulary_of
from lm_benchmarks.measuring.run import Protocol, measure
from lm_benchmarks.metrics import METRICS
from lm_benchmarks.records.result import Result, append_result
from ps_models.choices import PRECISIONS
from ps_models.devices import choose_device
from ps_models.evaluation.evaluate import CONTEXTS
from ps_models.models import MODELS
from wikitext_builder.dataset.load import load as load_dataset
from wikitext_builder.dataset.split import SPLITS
from wikitext_builder.progress import shown_progress


@click.command("list")
@json_option
def list_models(*, as_json: bool) -> None:
    """Models, metrics and conventions."""
    if as_json:
        names = {name: about for name, (about, _) in NAMES.items()}
        kinds = {f"{name}:": about for name, (about, _) in KINDS.items()}
        metrics = {name: [metric.numerator, metric.denominator] for name, metric in METRICS.items()}
        click.echo(json.dumps({"models": names | kinds, "metrics": metrics, "conventions": CONVENTIONS}))
        return
    click.echo("Models")
    for name, (about, _) in NAMES.items():
        click.echo(f"  {name:<18} {about}")
    click.echo(f"  {'PATH':<18} a checkpoint that `ps-models train` wrote, or the folder of its run")
    for name, (about, _) in KINDS.items():
        click.echo(f"  {name + ':…':<18} {about}")
    inputs = f"{Inputs.__module__}.{Inputs.__qualname__}"
    click.echo(f"  {'MODULE:FUNCTION':<18} a function of yours: takes {inputs}, returns a model")
    click.echo("Metrics")
    for name, metric in METRICS.items():
        click.echo(f"  {name:<24} {metric.numerator} / {metric.denominator}")


@click.command()
@click.argument("models", nargs=-1, required=True, metavar="MODEL...")
@click.option("--data", type=EXISTING, required=True, help="The dataset.")
@click.option("--results", type=ANY_PATH, help="File of JSON lines to add the results to.")
@click.option(
    "--split",
    "splits",
    type=click.Choice(SPLITS),
    multiple=True,
    default=("test",),
    help="Part of the dataset; repeatable.",
)
@click.option(
    "--convention", type=click.Choice(list(CONVENTIONS)), default=PAPER, help="What is counted, and how."
)
@click.option(
    "--context", type=click.Choice(CONTEXTS), default="carried", help="What goes before an article."
)
@click.option("--precision", type=click.Choice(PRECISIONS), default="fp32", help="Arithmetic.")
@click.option("--chunk", default=256, type=click.IntRange(min=1), help="Tokens at once; decides no number.")
@click.option("--batch", default=16, type=click.IntRange(min=1), help="Articles at once; decides no number.")
@click.option("--check/--no-check", default=True, help="Try before whether the model keeps the laws.")
@click.option("--groups/--no-groups", default=True, help="Tell by frequency, place and so on.")
@model_options
@json_option
def run(
    *,
    models: tuple[str, ...],
    data: Path,
    splits: tuple[str, ...],
    results: Path | None,
    as_json: bool,
    **options: Any,  # noqa: ANN401
) -> None:
    """Measure each MODEL on parts of DATA."""
    protocol_names = Protocol.__dataclass_fields__.keys() & options.keys()
    chosen = {name: options.pop(name) for name in protocol_names}
    command = shlex.join([PROGRAM, *map(portable, sys.argv[1:])])
    inputs = _inputs(data, splits[0], options)
    for model in models:
        opened = open_model(model, inputs)
        for split in splits:
            with shown_progress() as progress:
                found = measure(
                    opened,
                    inputs,
                    Protocol(**chosen, split=split, command=command),
                    clock=time.monotonic,
                    now=_now,
                    progress=progress,
                )
            if results is not None:
                append_result(results, found)
            _print_result(found, as_json=as_json)


@click.command()
@click.argument("model")
@click.option("--data", type=EXISTING, required=True, help="The text that the laws are tried on.")
@split_option
@model_options
@json_option
def check(*, model: str, data: Path, split: str, as_json: bool, **options: Any) -> None:  # noqa: ANN401
    """Try whether MODEL keeps the laws of a language model: status 1 if it breaks one."""
    inputs = _inputs(data, split, options)
    opened = open_model(model, inputs)
    _, passages = read_passages(inputs.dataset, split, opened.vocabulary)
    with shown_progress() as progress:
        findings = check_model(opened, passages[0].text.tokens, device=inputs.device, progress=progress)
    if as_json:
        click.echo(json.dumps(findings))
    else:
        for law, found in findings.items():
            click.echo(f"{law:<10} {found or 'kept'}")
    raise_if_broken(findings)


@click.command("first-updates")
@click.argument("model", type=click.Choice(list(MODELS)), metavar="MODEL")
@click.option("--data", type=EXISTING, required=True, help="The dataset.")
@click.option("--preset", help="Hyperparameters by name: `ps-models list`; else the model's defaults.")
@click.option("--set", "settings", multiple=True, metavar="KEY=VALUE", help="One hyperparameter; repeatable.")
@click.option("--updates", default=100, type=click.IntRange(min=1), help="How many.")
@click.option("--device", default="auto", help="auto, cpu, cuda or cuda:1.")
@click.option(
    "--out", type=ANY_PATH, help="Folder to keep the run in; one that stopped there goes on. Else it is lost."
)
@click.option("--results", type=ANY_PATH, help="File of JSON lines to add the record to.")
@json_option
def begin(
    *,
    model: str,
    data: Path,
    out: Path | None,
    results: Path | None,
    as_json: bool,
    **options: Any,  # noqa: ANN401 - those of `first_updates`
) -> None:
    """Train MODEL on DATA for a few updates: whether it can be trained, and how fast."""
    with shown_progress() as progress, nullcontext(out) if out else TemporaryDirectory() as folder:
        found = first_updates(model, data, Path(folder), now=_now, progress=progress, **options)
    if results is not None:
        append_first_updates(results, found)
    if as_json:
        click.echo(json.dumps(asdict(found)))
        return
    click.echo(
        f"{found.trained.recipe}: {found.parameters:,} parameters; loss {found.first_loss:.4f} to"
        f" {found.last_loss:.4f} in {len(found.losses)} updates of {found.tokens / len(found.losses):.0f}"
        f" tokens; {found.seconds:.1f} s, {found.tokens / found.seconds:,.0f} tokens/s"
    )


def _inputs(data: Path, split: str, options: dict[str, Any]) -> Inputs:
    dataset = load_dataset(data)
    device = choose_device(options.pop("device"))
    return Inputs(dataset=dataset, vocabulary=vocabulary_of(dataset, split), device=device, **options)


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")


def portable(argument: str) -> str:
    """An argument without the folders of this machine: other people run it elsewhere.

    >>> portable("mix:/data/runs/lstm-small,kn-5+cache"), portable("../shared/data/ptb")
    ('mix:lstm-small,kn-5+cache', '../shared/data/ptb')
    """
    return re.sub(r"(?<![^:,=\s])/(?:[^/,:\s]+/)+(?=[^/,:\s])", "", argument)


def _print_result(result: Result, *, as_json: bool) -> None:
    total = result.total
    numbers = {name: metric.of(total) for name, metric in METRICS.items()}
    known = {name: value for name, value in numbers.items() if value is not None}
    if as_json:
        fields = {"model": result.model, **known, **asdict(total), "signature": str(result.signature)}
        click.echo(json.dumps({**fields, "checks": result.checks, "seconds": result.seconds}))
        return
    click.echo(result.model)
    for name, value in known.items():
        click.echo(f"  {METRICS[name].label:<30} {value:>12.4f}  {METRICS[name].denominator}")
    for law, found in (result.checks or {}).items():
        if found:
            click.echo(f"  BREAKS {law}: {found}")
    click.echo(f"  {result.signature}")


COMMANDS: Final = (list_models, run, check, begin)
