"""Text drawn from models, as datasets whose portrait can be compared with that of real text.

    python -m benchmarks.generated_text DATASET OUT kn-5 kn-5+cache runs/lstm runs/lstm+cache

A model is a baseline or the folder of a run; `+cache` mixes a unigram cache into a run, with the settings
that are best for KN-5 on valid. `STREAMS` texts are drawn beside each other, each from the start.
"""

from __future__ import annotations

import sys
import time
from pathlib import Path
from typing import Any, cast

import torch

import ps_models as pm
from ps_models.models.baselines import BASELINES
from ps_models.models.unigram_cache import UnigramCache
from wikitext_builder.dataset.load import Dataset, load
from wikitext_builder.dataset.vocabulary import EOS

STREAMS, WORDS, SEED = 32, 2048, 1


def draw(model: Any, words: tuple[str, ...]) -> str:  # noqa: ANN401 - any generative model
    """Texts in lines, one after the other."""
    random = torch.Generator().manual_seed(SEED)
    state, drawn = model.initial_state(STREAMS), list[torch.Tensor]()
    with torch.inference_mode():
        for _ in range(WORDS):
            shares = model.next_log_probs(state).exp().float()
            drawn.append(torch.multinomial(shares, 1, generator=random))
            _, state = model(drawn[-1], state)
    tokens = (words[word] for word in torch.cat(drawn, dim=1).flatten().tolist())
    return "".join("\n" if token == EOS else f" {token}" for token in tokens) + "\n"


def model_of(name: str, dataset: Dataset) -> Any:  # noqa: ANN401 - any generative model
    """A baseline, or a trained model with or without a cache."""
    if name in BASELINES:
        return BASELINES[name].make(dataset, dataset.vocabulary)
    trained = pm.load(name.removesuffix("+cache"), device="cpu").model
    if not name.endswith("+cache"):
        return trained
    tuned = BASELINES["kn-5+cache"].make(dataset, dataset.vocabulary)
    return UnigramCache(cast("Any", trained), cast("UnigramCache[Any]", tuned).config)


def main() -> None:
    """Write a folder with `train.txt` per model."""
    dataset, out = load(sys.argv[1]), Path(sys.argv[2])
    for name in sys.argv[3:]:
        begun = time.perf_counter()
        folder = out / Path(name).name
        folder.mkdir(parents=True, exist_ok=True)
        text = draw(model_of(name, dataset), dataset.vocabulary.tokens)
        (folder / "train.txt").write_text(text, encoding="utf-8")
        sys.stdout.write(f"{folder}: {time.perf_counter() - begun:.0f} s\n")


if __name__ == "__main__":
    main()
