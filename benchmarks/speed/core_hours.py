"""What recorded trainings cost on one core, measured in turn: a chart of perplexity by core-hours, a table.

    python benchmarks/speed/core_hours.py RECORDS.jsonl DATA --out CHART.svg [--recipes small] [--rounds 3]

The seconds of a record depend on what else ran beside the training: here the same epoch took up to twice as
long. So each training is set up again, in fp32, and updates of all of them take turns for some rounds. Its
core-hours are its updates times the processor time of one, the median of the rounds. What a model prepares
before its training, such as topics, does not count.
"""

from __future__ import annotations

import argparse
import re
import statistics
import time
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Final

import click
from lm_benchmarks.records import Result, Trained, read_results
from speed.threads import WORDS, set_up
from torch import Tensor

from ps_models.configs import config_of
from ps_models.data.dataset import read_train
from ps_models.hyperparameters import TrainingConfig
from ps_models.own_models import OWN, named_kind
from ps_models.processor import use_processor
from wikitext_builder.charts import line_chart
from wikitext_builder.dataset.load import load
from wikitext_builder.dataset.vocabulary import Vocabulary

EXAMPLES: Final = Path(__file__).resolve().parents[2] / "docs" / "examples"
WARM_UP: Final = 3  # updates


def seconds_per_update(one: Trained, stream: Tensor, vocabulary: Vocabulary, seconds: float) -> float:
    """Processor seconds of an update, the mean over some seconds."""
    name = one.recipe.rpartition("/")[0]
    kind = named_kind(str(EXAMPLES / name) if OWN.fullmatch(name) else name)
    config = replace(TrainingConfig(**one.training), precision="fp32")
    _, run = set_up(kind, config_of(kind, one.model), config, stream, vocabulary)
    chunks = run.chunks()
    for chunk, targets in islice(chunks, WARM_UP):
        run.update(chunk, targets)
    started, updates = time.process_time(), 0
    for chunk, targets in chunks:
        run.update(chunk, targets)
        updates += 1
        if time.process_time() - started > seconds:
            break
    return (time.process_time() - started) / updates


def main(words: Sequence[str] | None = None) -> None:
    """Draw the chart and print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("records", type=Path)
    parser.add_argument("data", type=Path)
    parser.add_argument("--out", type=Path, required=True, help="the chart")
    parser.add_argument("--recipes", default="", help="only trainings whose recipe this expression finds")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--seconds", type=float, default=10.0, help="of a training in a round")
    options = parser.parse_args(words)
    use_processor(threads=1)
    results: dict[str, dict[str, Result]] = defaultdict(dict)
    for result in read_results(options.records):
        if len(result.trained) == 1 and re.search(options.recipes, result.trained[0].recipe):
            results[result.trained[0].recipe][result.signature["split"]] = result
    trained = {recipe: next(iter(found.values())).trained[0] for recipe, found in results.items()}
    dataset = load(options.data)
    vocabulary, stream = read_train(dataset, next(iter(trained.values())).train_sha256)
    timed = defaultdict(list)
    for _ in range(options.rounds):
        for recipe, one in trained.items():
            timed[recipe].append(seconds_per_update(one, stream[:WORDS], vocabulary, options.seconds))
    hours = {recipe: statistics.median(found) / 3600 for recipe, found in timed.items()}
    curves = {
        recipe: [(line.updates * hours[recipe], line.valid_perplexity or 0.0) for line in one.curve]
        for recipe, one in trained.items()
    }
    curves = dict(sorted(curves.items(), key=lambda pair: min(y for _, y in pair[1]), reverse=True))
    draw = partial(line_chart, x_label="core-hours of training", y_label="perplexity on valid")
    draw("perplexity on valid by core-hours", curves, log_x=True, log_y=True).save(options.out)
    click.echo(
        "| training | epochs | words/s | slowest, fastest round | core-hours | recorded | valid / test |"
    )
    click.echo("|---|---|---|---|---|---|---|")
    for recipe in reversed(curves):
        one = trained[recipe]
        per_update = (one.tokens or 0) / one.updates
        speeds = [
            per_update / found for found in (3600 * hours[recipe], max(timed[recipe]), min(timed[recipe]))
        ]
        numbers = " / ".join(
            f"{results[recipe][split].total.score.perplexity:.2f}" for split in ("valid", "test")
        )
        click.echo(
            f"| `{recipe}` | {one.epochs} | {speeds[0]:,.0f} | {speeds[1]:,.0f}, {speeds[2]:,.0f}"
            f" | {one.updates * hours[recipe]:.2f} | {(one.seconds or 0) / 3600:.2f} | {numbers} |"
        )


if __name__ == "__main__":
    main()
