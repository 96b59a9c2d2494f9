"""How many threads each model and preset is worth, for updates and for evaluation: is the rule right?

    python benchmarks/speed/threads.py [MODEL …] [--preset P] [--vocabulary V] [--threads 1,2,4] [--seconds S]

Prints tokens per second of wall time by the number of threads, on random words. The number that
`ps_models.processor.threads_for` chooses has a star; `lost` is what the choice costs against the best number.
The numbers of threads take turns, so that other programs disturb all of them. Run it on an idle machine; to
see what a busy one does, run it twice at once, or with `taskset -c 0`.
"""

from __future__ import annotations

import argparse
import os
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import click
import torch

from ps_models.configs import ModelKind, make_configs, make_model
from ps_models.data.dataset import to_rows
from ps_models.evaluation.evaluate import CHUNK
from ps_models.hyperparameters import TrainingConfig
from ps_models.language_model import Prepared
from ps_models.own_models import list_models
from ps_models.processor import threads_for, use_processor
from ps_models.training.update import ONE_PROCESS, Training
from wikitext_builder.dataset.vocabulary import Vocabulary

WORDS = 200_000  # of text
CPU = torch.device("cpu")


@dataclass(frozen=True, kw_only=True)
class Work:
    """What one line of the table repeats."""

    run: Callable[[], int]  # once; returns the number of tokens
    weights: int
    rows: int


def set_up(
    kind: ModelKind | str,
    config: Any,  # noqa: ANN401 - each model has its own
    training: TrainingConfig,
    text: torch.Tensor,
    words: Vocabulary,
    device: torch.device = CPU,
    *,
    compiled: bool = False,
) -> tuple[Any, Training]:
    """A model with fresh weights, prepared, and its training on a text."""
    torch.manual_seed(1)
    made: Any = make_model(kind, config).train()
    if isinstance(made, Prepared):
        made.prepare(text, words, 1)
    rows = to_rows(text, training.batch_size)
    made.to(device)
    return made, Training(made, rows, training, device=device, world=ONE_PROCESS, compiled=compiled)


def works(model: str, preset: str | None, vocabulary: int) -> Iterator[tuple[str, Work]]:
    """The updates of a preset, and its evaluation."""
    config, training = make_configs(model, preset, (), vocabulary)
    text = torch.randint(vocabulary, (WORDS,), generator=torch.Generator().manual_seed(1))
    words = Vocabulary(tuple(f"w{number}" for number in range(vocabulary)))
    made, run = set_up(model, config, training, text, words)
    weights = sum(one.numel() for one in made.parameters())
    chunks = run.chunks()

    def update() -> int:
        chunk, targets = next(chunks)
        made.train()
        run.update(chunk, targets)
        return targets

    def evaluate() -> int:
        made.eval()
        with torch.no_grad():
            made(text[None, :CHUNK], made.initial_state(1))
        return CHUNK

    yield "train", Work(run=update, weights=weights, rows=training.batch_size)
    yield "evaluate", Work(run=evaluate, weights=weights, rows=1)


def speeds(work: Work, threads: Sequence[int], seconds: float) -> dict[int, float]:
    """Tokens per second by number of threads, each for some seconds, in two rounds."""
    tokens, spent = dict.fromkeys(threads, 0), dict.fromkeys(threads, 0.0)
    work.run()
    for _ in range(2):
        for number in threads:
            torch.set_num_threads(number)
            end = time.monotonic() + seconds / 2
            while True:
                start = time.monotonic()
                tokens[number] += work.run()
                spent[number] += time.monotonic() - start
                if time.monotonic() >= end:
                    break
    return {number: tokens[number] / spent[number] for number in threads}


def line(name: str, work: Work, found: dict[int, float]) -> str:
    """One line of the table."""
    chosen = threads_for(work.weights, work.rows, max(found))
    chosen = max(number for number in found if number <= chosen)
    shown = "".join(f"{speed:>11,.0f}{'*' if number == chosen else ' '}" for number, speed in found.items())
    lost = 1 - found[chosen] / max(found.values())
    return f"{name:<46}{work.weights * work.rows / 1e6:>10,.1f}{shown}{lost:>7.0%}"


def main(words: Sequence[str] | None = None) -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("models", nargs="*", default=list(list_models()))
    parser.add_argument("--preset", help="only this one")
    parser.add_argument("--vocabulary", type=int, default=10_000)
    parser.add_argument("--threads", help="separated by commas; default: 1, 2, 4 … cores")
    parser.add_argument("--seconds", type=float, default=4.0, help="for each number of threads")
    options = parser.parse_args(words)
    use_processor(1)
    cores = len(os.sched_getaffinity(0))
    powers = [2**power for power in range(8) if 2**power <= cores]
    threads = [int(one) for one in options.threads.split(",")] if options.threads else powers
    head = "".join(f"{number:>11} " for number in threads)
    click.echo(f"{'tokens/s by threads':<46}{'M a step':>10}{head}{'lost':>7}")
    for model in options.models:
        for preset in [options.preset] if options.preset else list_models()[model]:
            for what, work in works(model, preset, options.vocabulary):
                name = f"{what} {model} {preset}"
                click.echo(line(name, work, speeds(work, threads, options.seconds)))


if __name__ == "__main__":
    main()
