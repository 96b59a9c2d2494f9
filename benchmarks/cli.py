"""The command `lm-benchmarks`: measure language models, compare them, report on them."""

from __future__ import annotations

import json
import re
import shlex
import sys
import time
from collections.abc import Callable
from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final, TypeVar

import click

from benchmarks.check import check_model, raise_if_broken
from benchmarks.compare import MUST_AGREE, RESAMPLES, compare
from benchmarks.first_updates import append_first_updates, first_updates
from benchmarks.formats import latex, markdown
from benchmarks.metrics import METRICS
from benchmarks.models import KINDS, NAMES, Inputs, open_model
from benchmarks.overlap import WORDS, find_overlap, totals
from benchmarks.page import page
from benchmarks.passages import CONVENTIONS, PAPER, read_passages, vocabulary_of
from benchmarks.published import PUBLISHED
from benchmarks.report import Report, make_report
from benchmarks.result import Result, append_result, read_results
from benchmarks.rows_page import read_records, rows_page
from benchmarks.run import Protocol, measure
from ps_models.evaluation import CONTEXTS
from ps_models.experiment import choose_device
from ps_models.models import MODELS
from ps_models.optimizers import PRECISIONS
from ps_models.text import SPLITS, find_dataset
from wikitext_builder.errors import BuilderError
from wikitext_builder.progress import shown_progress

SETTINGS: Final = {"help_option_names": ["-h", "--help"], "show_default": True}
EXISTING: Final = click.Path(exists=True, path_type=Path)
ANY_PATH: Final = click.Path(path_type=Path)
FORMATS: Final[dict[str, Callable[[Report], str]]] = {".md": markdown, ".tex": latex, ".html": page}
PROGRAM: Final = "lm-benchmarks"
Command = TypeVar("Command", bound=Callable[..., Any])


@click.group(context_settings=SETTINGS)
@click.version_option(package_name="wikitext-builder")
def commands() -> None:
    """Measure language models so that the numbers can be compared, and believed.

    DATA is a dataset that wikitext-builder made, a folder in WikiText's or Penn Treebank's layout, or a file.
    MODEL is a name of ours, a checkpoint of ps-models, a file, a program, or `module:function`, a function of
    yours that is given the dataset and returns a language model: `lm-benchmarks list`.
    """


def model_options(command: Command) -> Command:
    """What a model may need to be opened."""
    options: list[Callable[[Command], Command]] = [
        click.option("--device", default="auto", help="auto, cpu, cuda or cuda:1."),
        click.option("--seed", default=1, help="For models that draw."),
        click.option("--window", type=click.IntRange(min=1), help="transformers: pieces read at once."),
        click.option("--stride", type=click.IntRange(min=1), help="transformers: pieces scored a window."),
        click.option("--unknown-word", help="arpa, kenlm: how the file spells <unk>."),
        click.option("--patience", default=60.0, help="command: seconds for an answer."),
        click.option("--samples", default=10, type=click.IntRange(min=1), help="mc: samples of the masks."),
    ]
    for option in reversed(options):
        command = option(command)
    return command


def json_option(command: Command) -> Command:
    """For programs."""
    option: Callable[[Command], Command] = click.option("--json", "as_json", is_flag=True, help="Print JSON.")
    return option(command)


def split_option(command: Command) -> Command:
    """Which part of the dataset."""
    option: Callable[[Command], Command] = click.option(
        "--split", type=click.Choice(SPLITS), default="test", help="Part of the dataset."
    )
    return option(command)


@commands.command("list")
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
    click.echo(
        f"  {'MODULE:FUNCTION':<18} a function of yours: is given benchmarks.models.Inputs, returns a model"
    )
    click.echo("Metrics")
    for name, metric in METRICS.items():
        click.echo(f"  {name:<24} {metric.numerator} / {metric.denominator}")


@commands.command()
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


@commands.command()
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


@commands.command("compare")
@click.argument("results", type=EXISTING)
@click.argument("first")
@click.argument("second")
@split_option
@click.option("--metric", type=click.Choice(list(METRICS)), default="perplexity", help="Which number.")
@click.option("--level", default=0.95, type=click.FloatRange(0.5, 0.9999), help="Of the interval.")
@click.option("--resamples", default=RESAMPLES, type=click.IntRange(min=100), help="Draws of the bootstrap.")
@click.option("--seed", default=1, help="Of the draws.")
@click.option(
    "--allow", multiple=True, type=click.Choice(list(MUST_AGREE)), help="What may differ; repeatable."
)
@json_option
def compare_results(
    *,
    results: Path,
    first: str,
    second: str,
    split: str,
    allow: tuple[str, ...],
    as_json: bool,
    **options: Any,  # noqa: ANN401
) -> None:
    """How model SECOND differs from model FIRST, both in the file RESULTS, with what chance may do."""
    read = read_results(results)
    pair = [_result(read, name, split, results) for name in (first, second)]
    found = compare(*pair, allowed=allow, **options)
    if as_json:
        click.echo(json.dumps({**asdict(found), "difference": found.difference}))
        return
    for result, value in zip(pair, (found.first, found.second), strict=True):
        mark = f"  BREAKS: {', '.join(result.broken)}" if result.broken else ""
        click.echo(f"{found.metric} {value:.4f}  {result.model}{mark}")
    click.echo(f"difference {found.difference:+.4f}")
    if found.interval is None or found.better is None:
        click.echo(f"{found.passages} passages: too few for an interval")
        return
    low, high = found.interval
    click.echo(
        f"{found.level:.0%} interval {low:+.4f} to {high:+.4f}; {second} is lower in {found.better:.1%} of"
        f" {found.resamples} draws of {found.passages} passages"
    )


@commands.command()
@click.argument("results", type=EXISTING, nargs=-1, required=True)
@click.option("--out", type=ANY_PATH, required=True, help=f"The report: {', '.join(FORMATS)}.")
@click.option("--title", default="Language models measured", help="Of the report.")
@click.option("--data", type=EXISTING, help="Dataset whose word frequencies are drawn.")
@click.option("--published/--no-published", "with_published", default=True, help="Also what papers say.")
@click.option(
    "--log", "logs", type=EXISTING, multiple=True, help="Run of ps-models train to draw; repeatable."
)
def report(
    *,
    results: tuple[Path, ...],
    out: Path,
    title: str,
    data: Path | None,
    with_published: bool,
    logs: tuple[Path, ...],
) -> None:
    """Tables, charts and signatures of all RESULTS.

    Published numbers stand beside measured ones on the official files of Penn Treebank and WikiText-2.
    """
    if out.suffix not in FORMATS:
        raise BuilderError(f"{out}: no report of this kind; expected an ending of {', '.join(FORMATS)}")
    read = [result for path in results for result in read_results(path)]
    dataset = None if data is None else find_dataset(data)
    published = PUBLISHED if with_published else ()
    made = make_report(title, read, published=published, logs=logs, dataset=dataset)
    _write(out, FORMATS[out.suffix](made))


@commands.command("first-updates")
@click.argument("model", type=click.Choice(list(MODELS)), metavar="MODEL")
@click.option("--data", type=EXISTING, required=True, help="The dataset.")
@click.option("--preset", help="Hyperparameters by name: `ps-models list`; else the model's defaults.")
@click.option("--set", "settings", multiple=True, metavar="KEY=VALUE", help="One hyperparameter; repeatable.")
@click.option("--updates", default=100, type=click.IntRange(min=1), help="How many.")
@click.option("--device", default="auto", help="auto, cpu, cuda or cuda:1.")
@click.option("--results", type=ANY_PATH, help="File of JSON lines to add the record to.")
@json_option
def begin(*, model: str, data: Path, results: Path | None, as_json: bool, **options: Any) -> None:  # noqa: ANN401
    """Train MODEL on DATA for a few updates: whether it can be trained, and how fast. Nothing is kept."""
    with shown_progress() as progress, TemporaryDirectory() as folder:
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


@commands.command()
@click.argument("folder", type=EXISTING)
@click.option("--out", type=ANY_PATH, required=True, help="The page, in Markdown.")
def rows(*, folder: Path, out: Path) -> None:
    """The table of all rows: published | small size | full size, of the records in FOLDER, and nothing else.

    Results of `run` are read from ptb.jsonl and wikitext-2.jsonl, first-updates.jsonl is of `first-updates`.
    """
    _write(out, rows_page(*read_records(folder)))


@commands.command()
@click.argument("data", type=EXISTING)
@click.option("--words", default=WORDS, type=click.IntRange(min=1), help="n, of the n-grams.")
@click.option("--without-unknown", is_flag=True, help="Leave out n-grams with an <unk>.")
@click.option("--most", default=5, type=click.IntRange(min=0), help="Articles shown of each part.")
@json_option
def overlap(*, data: Path, words: int, without_unknown: bool, most: int, as_json: bool) -> None:
    """How much of valid and test of DATA stands in its train: duplicates, near duplicates, n-grams."""
    dataset = find_dataset(data)
    splits = [split for split in ("valid", "test") if split in dataset.files]
    with shown_progress() as progress:
        found = find_overlap(
            dataset, splits=splits, words=words, without_unknown=without_unknown, progress=progress
        )
    if as_json:
        articles = [
            {**asdict(one), "share": one.share, "is_near_duplicate": one.is_near_duplicate} for one in found
        ]
        click.echo(json.dumps({"parts": [asdict(part) for part in totals(found)], "articles": articles}))
        return
    for part in totals(found):
        share = part.shared / part.ngrams if part.ngrams else 0.0
        click.echo(
            f"{part.split}: {part.articles} articles, {part.duplicates} of them duplicates and"
            f" {part.near_duplicates} near duplicates of one in train; of {part.lines} long lines"
            f" {part.duplicate_lines} and of {part.ngrams} {words}-grams {share:.2%} are in train"
        )
        own = sorted((one for one in found if one.split == part.split), key=lambda one: -one.share)
        for one in own[:most]:
            click.echo(f"  {one.share:7.2%}  {one.title}  (nearest: {one.nearest or 'none'})")


def _inputs(data: Path, split: str, options: dict[str, Any]) -> Inputs:
    dataset = find_dataset(data)
    device = choose_device(options.pop("device"))
    return Inputs(dataset=dataset, vocabulary=vocabulary_of(dataset, split), device=device, **options)


def _write(out: Path, text: str) -> None:
    try:
        out.write_text(text, encoding="utf-8")
    except OSError as error:
        raise BuilderError(f"{out}: {error.strerror}; expected a file to write the report to") from error
    click.echo(out)


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")


def portable(argument: str) -> str:
    """An argument without the folders of this machine: other people run it elsewhere.

    >>> portable("mix:/data/runs/lstm-small,kn-5+cache"), portable("../shared/data/ptb")
    ('mix:lstm-small,kn-5+cache', '../shared/data/ptb')
    """
    return re.sub(r"(?<![^:,=\s])/(?:[^/,:\s]+/)+(?=[^/,:\s])", "", argument)


def _result(results: list[Result], name: str, split: str, path: Path) -> Result:
    """The last result of a model, by its name in tables or in signatures."""
    named = [result for result in results if name in (result.model, result.signature["model"])]
    found = [result for result in named if result.signature["split"] in (split, "file")]
    if not found:
        names = ", ".join(dict.fromkeys(f"{r.model} ({r.signature['split']})" for r in results))
        raise BuilderError(f"{path}: no result of {name} on {split}; there are {names}")
    return found[-1]


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


def main() -> None:
    """Run `lm-benchmarks`; an error is one line and status 1, wrong usage status 2."""
    sys.path.insert(0, "")  # the user's own modules lie where the user is
    try:
        commands()
    except BuilderError as error:
        click.echo(f"{PROGRAM}: {error}", err=True)
        sys.exit(1)


if __name__ == "__main__":
    main()
