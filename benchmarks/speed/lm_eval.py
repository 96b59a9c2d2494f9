"""One pass of a text by a model of pieces: our `lm-eval` convention beside lm-evaluation-harness itself.

    python benchmarks/speed/lm_eval.py DATASET --python PYTHON [--split valid] [--rounds N] [--batch 1,8]

DATASET has `wiki.SPLIT.raw` and `wiki.SPLIT.tokens`. PYTHON has lm-evaluation-harness (`pip install
'lm-eval[hf]'`, in a virtual environment of its own). A GPT-2 of 6 layers of 512 units, 1,024 positions and
random weights is made on the spot, with a tokenizer of 8,000 byte pairs trained on the same split. Both
programs then read it: ours by `lm-benchmarks run`, theirs by the task that `lm-benchmarks lm-eval-task`
writes. They take turns, with one thread each; whole commands are measured, so their start counts. The table
has the medians, and the word perplexity, which must agree.
"""

from __future__ import annotations

import importlib
import json
import math
import os
import statistics
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click
import lm_benchmarks as lb
import tokenizers
import torch
from speed.processes import Ran, head, row, run

END = "<|end|>"

transformers: Any = importlib.import_module("transformers")  # its classes have no types


Found = tuple[Ran, float]  # what a command took, and the perplexity per word of the raw pages


def make_model(text: Path, folder: Path) -> Path:
    """A random GPT-2 of real depth, and a tokenizer for the text."""
    bytes_pairs = tokenizers.ByteLevelBPETokenizer()
    bytes_pairs.train([str(text)], vocab_size=8_000, special_tokens=[END])
    fast = transformers.PreTrainedTokenizerFast(tokenizer_object=bytes_pairs._tokenizer, eos_token=END)
    torch.manual_seed(1)
    sizes = {"n_positions": 1024, "n_embd": 512, "n_layer": 6, "n_head": 8}
    config = transformers.GPT2Config(vocab_size=len(fast), bos_token_id=0, eos_token_id=0, **sizes)
    transformers.GPT2LMHeadModel(config).save_pretrained(folder)
    fast.save_pretrained(folder)
    return folder


def run_alone(command: Sequence[str]) -> Ran:
    """Run a command with one thread."""
    one = dict.fromkeys(("OMP_NUM_THREADS", "MKL_NUM_THREADS", "RAYON_NUM_THREADS"), "1")
    offline = {"PYTHONPATH": "", "HF_HUB_OFFLINE": "1", "TOKENIZERS_PARALLELISM": "false"}
    return run(command, environment=os.environ | one | offline)


def ours(model: Path, raw: Path, split: str, out: Path) -> Found:
    """Our command."""
    results = out / "results.jsonl"
    words = ["run", f"transformers:{model}", "--data", str(raw), "--split", split, "--convention", "lm-eval"]
    program = [sys.executable, "-m", "lm_benchmarks", "--threads", "1"]
    ran = run_alone([*program, *words, "--no-check", "--results", str(results)])
    (found,) = lb.read_results(results)
    return ran, math.exp(found.total.nats / found.total.page_words)


def theirs(python: str, model: Path, task: Path, batch: int, out: Path) -> Found:
    """The program of lm-evaluation-harness."""
    words = ["--model", "hf", "--model_args", f"pretrained={model}", "--device", "cpu"]
    words += ["--batch_size", str(batch)]
    where = ["--tasks", task.name, "--include_path", str(task.parent), "--output_path", str(out)]
    ran = run_alone([python, "-m", "lm_eval", *words, *where])
    (file,) = out.rglob("results_*.json")
    return ran, json.loads(file.read_text())["results"][task.name]["word_perplexity,none"]


@click.command()
@click.argument("raw", type=click.Path(path_type=Path, exists=True, file_okay=False))
@click.option("--python", required=True, help="A Python that has lm-evaluation-harness.")
@click.option("--split", default="test", show_default=True)
@click.option("--rounds", default=3, show_default=True)
@click.option("--batch", default="1,8", show_default=True, help="Its batch sizes, separated by commas.")
def main(raw: Path, python: str, split: str, rounds: int, batch: str) -> None:
    """Print the table."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        model = make_model(raw / f"wiki.{split}.raw", folder / "model")
        task = lb.lm_eval_task(raw, folder / "tasks", split=split)
        ran: dict[str, list[Found]] = {}
        for number in range(rounds):
            for size in map(int, batch.split(",")):
                found = theirs(python, model, task, size, folder / f"theirs-{number}-{size}")
                ran.setdefault(f"lm-evaluation-harness, batch {size}", []).append(found)
            (folder / f"ours-{number}").mkdir()
            ran.setdefault("lm-benchmarks run", []).append(ours(model, raw, split, folder / f"ours-{number}"))
    head(["command", "wall s", "processor s", "each round", "word perplexity"])
    for title, runs in ran.items():
        wall = statistics.median(one.seconds for one, _ in runs)
        processor = statistics.median(one.processor_seconds for one, _ in runs)
        every = ", ".join(f"{one.processor_seconds:.1f}" for one, _ in runs)
        row(title, f"{wall:.1f}", f"{processor:.1f}", every, f"{runs[0][1]:,.4f}")


if __name__ == "__main__":
    main()
