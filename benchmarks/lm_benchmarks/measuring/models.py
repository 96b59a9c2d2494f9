"""Models by what the user calls them: a name of ours, a checkpoint, a file, a program, code of their own."""

from __future__ import annotations

import importlib
import shlex
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Final, cast

import torch
from torch import Tensor, nn

from lm_benchmarks.adapters.arpa import ArpaFile
from lm_benchmarks.adapters.command import PATIENCE, Command
from lm_benchmarks.adapters.kenlm import KenlmFile
from lm_benchmarks.adapters.ngrams import NGramFile, NGrams
from lm_benchmarks.adapters.transformers import CausalModel, load_causal_model
from lm_benchmarks.records.trained import Trained, trained
from ps_models.data.dataset import Text, read_stream, read_texts
from ps_models.evaluation.signature import signature_value
from ps_models.experiment import load_model
from ps_models.language_model import LanguageModel, Recurrent
from ps_models.models.baselines import BASELINES
from ps_models.models.interpolation import interpolate
from ps_models.models.monte_carlo import Maskable, MonteCarloDropout
from ps_models.models.ngram import NGram
from ps_models.models.tuned_neural_cache import tuned_neural_cache
from ps_models.models.unigram_cache import UnigramCache
from ps_models.training.checkpoint import Checkpoint, check_vocabulary
from wikitext_builder.dataset.load import Dataset
from wikitext_builder.dataset.vocabulary import Vocabulary
from wikitext_builder.errors import BuilderError
from wikitext_builder.hashing import file_sha256


@dataclass(frozen=True, kw_only=True)
class Inputs:
    """What a model is made from: the user's function gets it too."""

    dataset: Dataset
    vocabulary: Vocabulary  # of train; where there is no train file, of the part that is scored
    device: torch.device = field(default_factory=lambda: torch.device("cpu"))
    seed: int = 1
    window: int | None = None  # pieces that a causal model reads at once; its own limit if None
    stride: int | None = None  # pieces a block; half of a window if None
    unknown_word: str | None = None  # how a file of n-grams spells <unk>
    patience: float = PATIENCE  # seconds for a program to answer
    samples: int = 10  # of the masks of Monte Carlo dropout


@dataclass(frozen=True, kw_only=True)
class Opened:
    """A model that is ready to score."""

    name: str  # in tables
    identity: str  # in signatures: what tells it from others of its name
    model: LanguageModel[Any]
    vocabulary: Vocabulary
    open_vocabulary: bool = False  # its words sum to less than one: others have probability too
    parameters: int | None = None
    facts: Mapping[str, object] = field(default_factory=dict)  # what else decides its numbers, for signatures
    pieces: Callable[[Tensor], int] = len  # how many predictions of its own some tokens are
    text_nats: Callable[[str], tuple[float, int]] | None = None  # for models that read plain text
    recipe: str = ""  # what of ours it is, as lm_benchmarks.reporting.rows calls it
    trained: tuple[Trained, ...] = ()  # how each checkpoint in it was trained


Maker = Callable[[str, Inputs], Opened]


def open_model(specification: str, inputs: Inputs) -> Opened:
    """A model by what the user calls it.

    Args:
        specification: A name in NAMES, `KIND:what` with a kind of KINDS, the path of a checkpoint, or
            `module:function`, a function of the user's that is given `Inputs` and returns a `LanguageModel`.
        inputs: The dataset and more.

    Raises:
        BuilderError: There is no such model, or it is not for this dataset.
    """
    kind, colon, rest = specification.partition(":")
    if specification in NAMES:
        return NAMES[specification][1](specification, inputs)
    if colon and kind in KINDS:
        return KINDS[kind][1](rest, inputs)
    if Path(specification).exists():
        return _checkpoint(specification, inputs)
    if colon and kind.replace(".", "").isidentifier() and rest.isidentifier():
        return _users(kind, rest, inputs)
    raise BuilderError(
        f"{specification}: no such model; expected one of {', '.join(NAMES)}; a checkpoint;"
        f" {', '.join(f'{name}:…' for name in KINDS)}; or module:function. See `lm-benchmarks list`"
    )


def _checkpoint(specification: str, inputs: Inputs) -> Opened:
    path = Path(specification)
    model, found = load_model(path, str(inputs.device))
    is_folder = inputs.dataset.layout != "file"
    if "train" in inputs.dataset.files and is_folder:
        check_vocabulary(found, inputs.vocabulary, inputs.dataset.name)
    how = trained(found, path, _train_tokens(found, inputs.dataset) if is_folder else None)
    preset = found.facts.get("preset")
    facts = {"preset": preset} if preset else {}
    return Opened(
        name=f"{found.model} {preset}" if preset else found.model,
        identity=found.name,
        model=model,  # type: ignore[arg-type] # a module meets the protocol by its forward
        vocabulary=found.vocabulary,
        parameters=sum(parameter.numel() for parameter in model.parameters()),
        facts={**facts, "seed": found.facts.get("training", {}).get("seed", "unknown")},
        recipe=how.recipe,
        trained=(how,),
    )


def _train_tokens(checkpoint: Checkpoint, dataset: Dataset) -> int | None:
    """Tokens of the text that a checkpoint was trained on, where this is that text."""
    if "train" not in dataset.files:
        return None
    if file_sha256(dataset.file("train")) != checkpoint.facts.get("train_sha256"):
        return None
    return len(read_stream(dataset, "train", checkpoint.vocabulary))


def _monte_carlo(specification: str, inputs: Inputs) -> Opened:
    """A checkpoint with its dropout on, as the mean over samples of its masks."""
    inner = _checkpoint(specification, inputs)
    generator = torch.Generator(inputs.device).manual_seed(inputs.seed)
    try:
        model = MonteCarloDropout(cast("Maskable[Any]", inner.model), inputs.samples, generator)
    except (ValueError, AttributeError) as error:
        raise BuilderError(
            f"mc:{specification}: {error}; expected a model that keeps its dropout's masks for a whole text"
        ) from error
    facts = {**inner.facts, "dropout_samples": inputs.samples, "dropout_seed": inputs.seed}
    return replace(inner, name=f"{inner.name}, MC", model=model, recipe=f"mc:{inner.recipe}", facts=facts)


def _neural_cache(specification: str, inputs: Inputs) -> Opened:
    """A checkpoint with a neural cache that is tuned on valid."""
    inner = _checkpoint(specification, inputs)
    if not hasattr(inner.model, "scores_and_hidden"):
        raise BuilderError(
            f"cache:{specification}: {inner.name} tells no outputs; expected a recurrent model, such as lstm"
        )
    recurrent = cast("Recurrent[Any]", inner.model)
    model = tuned_neural_cache(recurrent, _valid(inputs), device=inputs.device)
    config = model.config
    facts = {
        **inner.facts,
        "cache": f"{config.window}.{config.theta:g}.{config.weight:.4f}",
        "tuned": f"valid+{file_sha256(inputs.dataset.file('valid'))[:8]}",
    }
    return replace(
        inner, name=f"{inner.name} + neural cache", model=model, recipe=f"cache:{inner.recipe}", facts=facts
    )


def _users(module: str, name: str, inputs: Inputs) -> Opened:
    try:
        function = getattr(importlib.import_module(module), name)
    except (ImportError, AttributeError) as error:
        raise BuilderError(
            f"{module}:{name}: {error}; expected a function that Python can import from here"
        ) from error
    torch.manual_seed(inputs.seed)
    model = function(inputs)
    if isinstance(model, Opened):
        return model
    if not callable(model) or not callable(getattr(model, "initial_state", None)):
        raise BuilderError(
            f"{module}:{name} gave {type(model).__name__}; expected a LanguageModel:"
            " initial_state(batch_size), and a call with tokens and state"
        )
    parameters = None
    if isinstance(model, nn.Module):
        parameters = sum(parameter.numel() for parameter in model.parameters())
    return Opened(
        name=f"{module}:{name}",
        identity=signature_value(f"{module}.{name}"),
        model=model,
        vocabulary=inputs.vocabulary,
        parameters=parameters,
        facts={"seed": inputs.seed},
    )


def _baseline(name: str, inputs: Inputs) -> Opened:
    """A model that only counts, made anew from train, and from valid where something in it is tuned."""
    _expect_folder(inputs)
    model = BASELINES[name](inputs.dataset, inputs.vocabulary)
    facts: dict[str, object] = {}
    if isinstance(model, UnigramCache):
        config = model.config
        facts["cache"] = f"{config.window}.{config.decay:g}.{config.weight:.4f}"
        facts["tuned"] = f"valid+{file_sha256(inputs.dataset.file('valid'))[:8]}"
    return Opened(
        name=ABOUT.get(name, (name, name))[0],
        identity=f"{name}+{file_sha256(inputs.dataset.file('train'))[:8]}",
        model=model,
        vocabulary=inputs.vocabulary,
        parameters=_table_size(model),
        facts=facts,
        recipe=name,
    )


def _table_size(model: object) -> int | None:
    """Probabilities that a model that counts keeps; a cache adds none."""
    if isinstance(model, UnigramCache):
        return _table_size(model.model)
    return model.parameter_count() if isinstance(model, NGram) else None


def _mixed(line: str, inputs: Inputs) -> Opened:
    """Models parted by commas, interpolated with weights that are tuned on valid by EM."""
    parts = [open_model(part.strip(), inputs) for part in line.split(",") if part.strip()]
    words = {part.vocabulary.tokens for part in parts}
    if len(words) != 1:
        raise BuilderError(f"mix:{line}: {len(words)} vocabularies; expected models over the same words")
    mixture = interpolate([part.model for part in parts], _valid(inputs))
    counts = [part.parameters for part in parts]
    return Opened(
        name=" + ".join(part.name for part in parts),
        identity=signature_value(".".join(part.identity for part in parts)),
        model=mixture,
        vocabulary=parts[0].vocabulary,
        open_vocabulary=any(part.open_vocabulary for part in parts),
        parameters=None if None in counts else sum(count or 0 for count in counts),
        facts={
            "weights": "_".join(f"{weight:.4f}" for weight in mixture.weights),
            "tuned": f"valid+{file_sha256(inputs.dataset.file('valid'))[:8]}",
        },
        recipe="mix:" + ",".join(part.recipe for part in parts) if all(part.recipe for part in parts) else "",
        trained=tuple(how for part in parts for how in part.trained),
    )


def _valid(inputs: Inputs) -> list[Text]:
    _expect_folder(inputs)
    return list(read_texts(inputs.dataset, "valid", inputs.vocabulary))


def _expect_folder(inputs: Inputs) -> None:
    """A single file is all parts of its dataset: what is estimated on it would be measured on it too."""
    if inputs.dataset.layout == "file":
        raise BuilderError(
            f"{inputs.dataset.name}: a single file; expected a folder with train and valid files, so that"
            " nothing is measured on what it was estimated on"
        )


def _of_grams(path: str, grams: NGrams, kind: str, inputs: Inputs) -> Opened:
    model = NGramFile(grams, inputs.vocabulary, unknown=inputs.unknown_word)
    file = Path(path)
    return Opened(
        name=file.name,
        identity=f"{kind}+{file_sha256(file)[:8]}",
        model=model,
        vocabulary=inputs.vocabulary,
        open_vocabulary=True,
        facts={"lines": "joined" if model.joined else "apart", "unknown_to_file": model.missing},
    )


def _arpa(path: str, inputs: Inputs) -> Opened:
    return _of_grams(path, ArpaFile(Path(path)), "arpa", inputs)


def _kenlm(path: str, inputs: Inputs) -> Opened:
    return _of_grams(path, KenlmFile(Path(path)), "kenlm", inputs)


def _command(line: str, inputs: Inputs) -> Opened:
    try:
        words = shlex.split(line)
    except ValueError as error:
        raise BuilderError(f"command:{line}: {error}; expected words as a shell would part them") from error
    if not words:
        raise BuilderError("command: names no program; expected command:PROGRAM ARGUMENTS")
    return Opened(
        name=words[0] if len(words) == 1 else f"{Path(words[0]).name} {words[1]}"[:40],
        identity=signature_value(f"command.{line}")[:60],
        model=Command(words, inputs.vocabulary, patience=inputs.patience),
        vocabulary=inputs.vocabulary,
    )


def _transformers(name: str, inputs: Inputs) -> Opened:
    model = load_causal_model(
        name, inputs.vocabulary, window=inputs.window, stride=inputs.stride, device=inputs.device
    )
    return of_causal_model(Path(name).name, model, inputs.vocabulary)


def of_causal_model(name: str, model: CausalModel, vocabulary: Vocabulary) -> Opened:
    """A causal model of `transformers` under a name."""
    return Opened(
        name=name,
        identity=f"{signature_value(name)}+{model.digest[:8]}",
        model=model,
        vocabulary=vocabulary,
        open_vocabulary=True,
        parameters=model.parameters,
        facts={"window": model.window, "stride": model.stride, "unknown_to_tokenizer": model.unknown_words},
        pieces=model.piece_count,
        text_nats=model.text_nats,
    )


ABOUT: Final = {  # baseline: its name in tables, and what it is
    "unigram": ("unigram", "the share of each word in train"),
    "kn-5": ("KN-5", "modified interpolated Kneser-Ney, order 5, estimated on train"),
    "kn-5+cache": ("KN-5 + cache", "kn-5 with a unigram cache that is tuned on valid"),
}

NAMES: Final[dict[str, tuple[str, Maker]]] = {
    name: (ABOUT.get(name, (name, name))[1], _baseline) for name in BASELINES
}

KINDS: Final[dict[str, tuple[str, Maker]]] = {
    "arpa": ("FILE: n-grams in the ARPA format, read by our own reader", _arpa),
    "kenlm": ("FILE: n-grams in KenLM's formats, by its package kenlm", _kenlm),
    "transformers": ("FOLDER or NAME: a causal model of the package transformers", _transformers),
    "command": ("PROGRAM ARGUMENTS: tokens on its stdin, log-probabilities on its stdout", _command),
    "mc": ("CHECKPOINT: its dropout on, the mean over --samples of its masks", _monte_carlo),
    "cache": ("CHECKPOINT: with a neural cache, tuned on valid", _neural_cache),
    "mix": ("MODEL,MODEL,…: interpolated, the weights tuned on valid by EM", _mixed),
}
