"""Opens models by specification: a built-in name, a checkpoint, a file, a program, or the user's code."""

from __future__ import annotations

import hashlib
import inspect
import shlex
import sys
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, Final, cast

import torch
from torch import nn

import ps_models as pm
from lm_benchmarks.adapters.command import Command, program_name
from lm_benchmarks.adapters.completions import Endpoint
from lm_benchmarks.adapters.gguf import GgufModel
from lm_benchmarks.adapters.ngrams import ArpaFile, KenlmFile, NGramFile, NGrams
from lm_benchmarks.adapters.piece_model import PieceModel
from lm_benchmarks.adapters.transformers import load_causal_model
from lm_benchmarks.choices import HarnessError, checked
from lm_benchmarks.measuring.loaded_model import (
    Inputs,
    LoadedModel,
    Maker,
    of_piece_model,
    source_hash,
    user_code,
    user_function,
)
from lm_benchmarks.measuring.passages import vocabulary_of
from lm_benchmarks.records import portable, training_of
from ps_models.dataset import Text, read_texts
from ps_models.devices import choose_device
from ps_models.models.add_ons import GRID, MonteCarloDropout, cache_grid, tuned_neural_cache
from ps_models.models.baselines import BASELINES, NGram
from ps_models.models.interpolation import UnigramCache, interpolate
from ps_models.models.stream import StreamModel
from ps_models.signature import hashed_name, signature_value
from ps_models.training.checkpoint import Checkpoint, check_vocabulary
from wikitext_builder.dataset.load import Dataset
from wikitext_builder.dataset.load import load as load_dataset
from wikitext_builder.dataset.manifest import read_tokens
from wikitext_builder.dataset.vocabulary import Vocabulary
from wikitext_builder.errors import did_you_mean, without_secrets
from wikitext_builder.files import file_sha256
from wikitext_builder.tables import one_line


def make_inputs(data: str | Path, split: str, **options: Any) -> Inputs:
    """Find a dataset and a device. Without a train file, the words of the split are the vocabulary."""
    chosen = checked(options)
    dataset = load_dataset(Path(data))
    return Inputs(
        dataset=dataset,
        vocabulary=vocabulary_of(dataset, split),
        device=choose_device(chosen["device"]),
        options=chosen,
        **{name: chosen[name] for name in ("seed", "window", "stride")},
    )


def open_model(specification: str, inputs: Inputs) -> LoadedModel:
    """Open a model by one of the forms that `models` lists. Its name has one line, as records need."""
    loaded = _opened(specification, inputs)
    return replace(loaded, name=one_line(loaded.name))


def _opened(specification: str, inputs: Inputs) -> LoadedModel:
    kind, colon, rest = specification.partition(":")
    if specification in NAMES:
        return NAMES[specification][1](specification, inputs)
    if colon and kind in KINDS:
        return KINDS[kind][1](rest, inputs)
    if Path(specification).exists():
        return _checkpoint(specification, inputs)
    if colon and kind.replace(".", "").isidentifier() and rest.isidentifier():
        return _user_model(kind, rest, inputs)
    raise HarnessError(
        f"{specification}: no such model{did_you_mean(specification, NAMES)}; expected one of"
        f" {', '.join(NAMES)}; a checkpoint;"
        f" {', '.join(f'{name}:…' for name in KINDS)}; or module:function; run"
        " `lm-benchmarks list` for what each one is"
    )


def can_remember(specification: str) -> bool:
    """Return True if a model can run code that is not ours; a checkpoint's class may be the user's."""
    kind, _, rest = specification.partition(":")
    if kind == "mix":
        return any(can_remember(member.strip()) for member in rest.split(","))
    return kind == "command" or not (specification in NAMES or kind in KINDS)


def models() -> dict[str, str]:
    """Describe each model, by the form of its specification.

    >>> models()["kn-5"]
    'modified interpolated Kneser-Ney, order 5, estimated on train'
    """
    return {
        **{name: about for name, (about, _) in NAMES.items()},
        "PATH": "a checkpoint that `ps-models train` wrote, or the folder of its run",
        **{f"{name}:": about for name, (about, _) in KINDS.items()},
        "MODULE:FUNCTION": "a function of yours: it takes lm_benchmarks.Inputs and returns a model",
    }


def _checkpoint(specification: str, inputs: Inputs) -> LoadedModel:
    path = Path(specification)
    loaded = pm.load(path, device=str(inputs.device))
    model, checkpoint = loaded.model, loaded.checkpoint
    is_folder = inputs.dataset.layout != "file"
    if "train" in inputs.dataset.files and is_folder:
        check_vocabulary(checkpoint, inputs.vocabulary, inputs.dataset.name)
    trained = training_of(checkpoint, path, _train_tokens(checkpoint, inputs.dataset) if is_folder else None)
    preset = trained.recipe.partition("/")[2]
    facts = {"preset": signature_value(preset)} if preset else {}
    facts |= {"code": checkpoint.source_sha256[:8]} if checkpoint.source_sha256 else {}
    return LoadedModel(
        name=f"{checkpoint.model.rpartition(':')[2]} {preset}".strip(),  # of a user's model the class
        identity=checkpoint.name,
        model=model,  # type: ignore[arg-type] # a module meets the protocol by its forward
        vocabulary=checkpoint.vocabulary,
        parameters=sum(weights.numel() for weights in model.parameters()),
        facts={**facts, "seed": checkpoint.seed},
        recipe=trained.recipe,
        trained=(trained,),
    )


def _train_tokens(checkpoint: Checkpoint, dataset: Dataset) -> int | None:
    """Count the tokens that a checkpoint was trained on; None if it was trained on a different text."""
    train_sha256 = file_sha256(dataset.file("train")) if "train" in dataset.files else ""
    is_same_text = train_sha256 and train_sha256 == checkpoint.facts.get("train_sha256")
    return sum(1 for _ in read_tokens(dataset.file("train"))) if is_same_text else None


def _monte_carlo(specification: str, inputs: Inputs) -> LoadedModel:
    """Open a checkpoint with dropout: the mean over several masks."""
    inner = _checkpoint(specification, inputs)
    samples = inputs.options["samples"]
    generator = torch.Generator(inputs.device).manual_seed(inputs.seed)
    try:
        model = MonteCarloDropout(inner.model, samples, generator)
    except (ValueError, AttributeError) as error:
        raise HarnessError(
            f"mc:{specification}: {error}; expected a model that keeps its dropout masks for a whole text"
        ) from error
    facts = {**inner.facts, "dropout_samples": samples, "dropout_seed": inputs.seed}
    return replace(inner, name=f"{inner.name}, MC", model=model, recipe=f"mc:{inner.recipe}", facts=facts)


def _neural_cache(specification: str, inputs: Inputs) -> LoadedModel:
    """Open a checkpoint with a neural cache that is tuned on valid, including its window unless given."""
    inner = _checkpoint(specification, inputs)
    if not hasattr(inner.model, "scores_and_hidden"):
        raise HarnessError(
            f"cache:{specification}: {inner.name} has no outputs to keep; expected a recurrent model, such as"
            " lstm"
        )
    recurrent = cast("StreamModel[Any]", inner.model)
    grid = GRID if inputs.window is None else cache_grid([inputs.window])
    model = tuned_neural_cache(recurrent, _valid(inputs, inner.vocabulary), grid=grid, device=inputs.device)
    config = model.config
    facts = {
        **inner.facts,
        "cache": f"{config.window}.{config.theta:g}.{config.weight:.4f}",
        "tuned": _tuned(inputs),
    }
    kind, name = "cache", f"{inner.name} + neural cache"
    if inputs.window is not None:  # the published model has a tuned window, so this is not it
        kind, name = f"cache-{config.window}", f"{name} of {config.window}"
    return replace(inner, name=name, model=model, recipe=f"{kind}:{inner.recipe}", facts=facts)


def _user_model(module: str, name: str, inputs: Inputs) -> LoadedModel:
    source = f"{module}:{name}"
    function = user_function(module, name)
    try:
        inspect.signature(function).bind(inputs)
    except TypeError as error:
        raise HarnessError(f"{source}: {error}; expected a function of one argument, `Inputs`") from error
    except ValueError:  # a built-in function without a signature
        pass
    torch.manual_seed(inputs.seed)
    with user_code(source):
        model = function(inputs)
    if isinstance(model, LoadedModel):
        return replace(model, user_source=source, facts={**model.facts, "code": source_hash(function)[:8]})
    if not callable(model) or not callable(getattr(model, "initial_state", None)):
        raise HarnessError(
            f"{source} returned {type(model).__name__}; expected a LanguageModel:"
            " initial_state(batch_size), and a call with tokens and state"
        )
    return LoadedModel(
        name=source,
        identity=f"{signature_value(f'{module}.{name}')}+{source_hash(function)[:8]}",
        model=model,
        vocabulary=inputs.vocabulary,
        parameters=sum(weights.numel() for weights in model.parameters())
        if isinstance(model, nn.Module)
        else None,
        facts={"seed": inputs.seed},
        user_source=source,
    )


def _baseline(name: str, inputs: Inputs) -> LoadedModel:
    """Make a model that only counts: estimated on train, and tuned on valid if it has a cache."""
    _expect_folder(inputs)
    model = BASELINES[name].make(inputs.dataset, inputs.vocabulary)
    facts: dict[str, object] = {}
    if isinstance(model, UnigramCache):
        config = model.config
        facts["cache"] = f"{config.window}.{config.decay:g}.{config.weight:.4f}"
        facts["tuned"] = _tuned(inputs)
    return LoadedModel(
        name=BASELINES[name].title,
        identity=hashed_name(name, inputs.dataset.file("train")),
        model=model,
        vocabulary=inputs.vocabulary,
        parameters=_table_size(model),
        facts=facts,
        recipe=name,
    )


def _table_size(model: object) -> int | None:
    """Count the probabilities that a counting model stores; a cache adds none."""
    if isinstance(model, UnigramCache):
        return _table_size(model.model)
    return model.parameter_count() if isinstance(model, NGram) else None


def _mixed(line: str, inputs: Inputs) -> LoadedModel:
    """Open models separated by commas and interpolate them; EM tunes the weights on valid."""
    members = [open_model(name.strip(), inputs) for name in line.split(",") if name.strip()]
    words = {member.vocabulary.tokens for member in members}
    if len(words) != 1:
        raise HarnessError(
            f"mix:{line}: {len(words)} vocabularies; expected models over the same words. A"
            " file of n-grams that lacks words reads them as <unk>: estimate it on train"
        )
    sources = ",".join(member.user_source for member in members if member.user_source)
    with user_code(sources):
        mixture = interpolate(
            [member.model for member in members], _valid(inputs, members[0].vocabulary), device=inputs.device
        )
    counts = [member.parameters for member in members]
    return LoadedModel(
        name=" + ".join(member.name for member in members),
        identity=signature_value(".".join(member.identity for member in members)),
        model=mixture,
        vocabulary=members[0].vocabulary,
        words=next((member.words for member in members if member.words is not None), None),
        open_vocabulary=any(member.open_vocabulary for member in members),
        is_program=any(member.is_program for member in members),
        reread=max(member.reread for member in members),
        parameters=None if None in counts else sum(count or 0 for count in counts),
        facts={
            **_united(members),
            "weights": "_".join(f"{weight:.4f}" for weight in mixture.weights),
            "tuned": _tuned(inputs),
        },
        recipe="mix:" + ",".join(member.recipe for member in members)
        if all(member.recipe for member in members)
        else "",
        trained=tuple(trained for member in members for trained in member.trained),
        user_source=sources,
    )


def _united(members: Sequence[LoadedModel]) -> dict[str, str]:
    """Combine the facts of all members; distinct values of a fact are joined."""
    keys = dict.fromkeys(key for member in members for key in member.facts)
    values = {key: [str(member.facts[key]) for member in members if key in member.facts] for key in keys}
    return {key: "_".join(dict.fromkeys(texts)) for key, texts in values.items()}


def _tuned(inputs: Inputs) -> str:
    """Return the text that a model was tuned on, as signatures name it."""
    return hashed_name("valid", inputs.dataset.file("valid"))


def _valid(inputs: Inputs, vocabulary: Vocabulary) -> list[Text]:
    _expect_folder(inputs)
    return list(read_texts(inputs.dataset, "valid", vocabulary))


def _expect_folder(inputs: Inputs) -> None:
    """Reject a single file: it is every split, so a model would be measured on its own training text."""
    if inputs.dataset.layout == "file":
        raise HarnessError(
            f"{inputs.dataset.name}: a single file; expected a folder with train and valid files, so that"
            " no model is measured on the text that it was estimated on"
        )


def _ngram_model(kind: str, read: Callable[[Path], NGrams], path: str, inputs: Inputs) -> LoadedModel:
    unknown, file = inputs.options["unknown_word"], Path(path)
    model = NGramFile(read(file), inputs.vocabulary, unknown=unknown)
    return LoadedModel(
        name=file.name,
        identity=hashed_name(kind, file),
        model=model,
        vocabulary=model.vocabulary,
        words=inputs.vocabulary if model.missing else None,
        open_vocabulary=True,
        facts={
            "lines": "joined" if model.joined else "apart",
            "unknown_to_file": model.missing,
            **({} if unknown is None else {"unknown_word": unknown}),
        },
    )


def _hash_of_file(word: str) -> str:
    """Return the sha256 of a file that a word of a command names, such as its script; "" if none."""
    try:
        return file_sha256(Path(word)) if Path(word).is_file() else ""
    except OSError:  # a word too long for a file name, or a file that only the program can read
        return ""


def _command(line: str, inputs: Inputs) -> LoadedModel:
    public_line = portable(f"command:{line}")
    try:
        words = shlex.split(line)
    except ValueError as error:
        raise HarnessError(f"{public_line}: {error}; expected words as in a shell") from error
    if not words:
        raise HarnessError("command: no program; expected command:PROGRAM ARGUMENTS")
    identity = "\n".join([line, *map(_hash_of_file, words)])
    digest = hashlib.sha256(identity.encode(errors="surrogateescape")).hexdigest()[:8]
    return LoadedModel(
        name=program_name([*map(without_secrets, words)], inputs.dataset.path),
        identity=f"{signature_value(public_line.replace(':', '.', 1))[:51]}+{digest}",
        model=Command(words, inputs.vocabulary, patience=inputs.options["patience"]),
        vocabulary=inputs.vocabulary,
        is_program=True,
        reread=sys.maxsize,
    )


def _piece_model(
    make: Callable[..., PieceModel], names: Sequence[str], source: str, inputs: Inputs
) -> LoadedModel:
    """Open a subword model, with its windows and the named options."""
    options = {**inputs.options, "device": inputs.device, "window": inputs.window, "stride": inputs.stride}
    model = make(source, inputs.vocabulary, **{name: options[name] for name in ("window", "stride", *names)})
    name = model.served if isinstance(model, Endpoint) else Path(source).name
    return of_piece_model(name, model, inputs.vocabulary)


NAMES: Final[dict[str, tuple[str, Maker]]] = {
    name: (baseline.about, _baseline) for name, baseline in BASELINES.items()
}

KINDS: Final[dict[str, tuple[str, Maker]]] = {
    "arpa": (
        "FILE: n-grams in the ARPA format, read by our own reader",
        partial(_ngram_model, "arpa", ArpaFile),
    ),
    "kenlm": (
        "FILE: n-grams in KenLM's formats, by its package kenlm",
        partial(_ngram_model, "kenlm", KenlmFile),
    ),
    "transformers": (
        "FOLDER or NAME: a causal model of the package transformers",
        partial(_piece_model, load_causal_model, ("device", "device_map", "dtype", "attention")),
    ),
    "gguf": (
        "FILE: a model in llama.cpp's format, by the package llama-cpp-python",
        partial(_piece_model, GgufModel, ("longest", "dtype")),
    ),
    "completions": (
        "URL: an endpoint with log-probabilities, with --tokenizer",
        partial(_piece_model, Endpoint, ("tokenizer", "served_model", "longest", "patience")),
    ),
    "command": ("PROGRAM ARGUMENTS: tokens on its stdin, log-probabilities on its stdout", _command),
    "mc": ("CHECKPOINT: with dropout, the mean over --samples masks", _monte_carlo),
    "cache": ("CHECKPOINT: with a neural cache tuned on valid, of --window words if given", _neural_cache),
    "mix": ("MODEL,MODEL,…: interpolated, with weights that EM tunes on valid", _mixed),
}
