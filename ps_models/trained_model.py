"""Loads a trained model from its checkpoint, evaluates it, scores a text with it, generates text."""

from __future__ import annotations

import logging
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any, cast

import torch
from torch import nn
from torch.overrides import TorchFunctionMode

from ps_models.configs import ModelKind, config_of, make_model
from ps_models.dataset import read_texts, text_of_lines, vocabulary_hash
from ps_models.devices import autocast, choose_device, use_products
from ps_models.errors import ModelError
from ps_models.language_model import LanguageModel, generative
from ps_models.own_models import saved_kind
from ps_models.scoring import evaluating, lazily_evaluating, score_texts, token_nats
from ps_models.signature import Score, Signature, hashed_name, signature_value
from ps_models.training.checkpoint import (
    Checkpoint,
    check_shapes,
    check_vocabulary,
    checkpoint_file,
    load_weights,
    read_checkpoint,
)
from wikitext_builder.dataset.load import SINGLE_FILE, Dataset
from wikitext_builder.dataset.load import load as load_dataset
from wikitext_builder.dataset.vocabulary import UNK, Vocabulary
from wikitext_builder.progress import Progress, no_progress

LOG = logging.getLogger(__name__)


@dataclass(frozen=True, kw_only=True)
class TrainedModel:
    """A trained model in evaluation mode, and its checkpoint."""

    model: nn.Module
    checkpoint: Checkpoint
    kind: ModelKind

    @property
    def vocabulary(self) -> Vocabulary:
        """The words that it predicts."""
        return self.checkpoint.vocabulary

    @property
    def device(self) -> torch.device:
        """The device that holds its weights."""
        return next(self.model.parameters()).device


class _WithoutNormalDraws(TorchFunctionMode):
    """Skips normal draws: on `meta` torch would import its compiler for them, which takes a second."""

    def __torch_function__(self, func: Any, types: object, args: Any = (), kwargs: Any = None) -> object:  # noqa: ANN401 - as torch
        keywords = kwargs or {}
        return keywords["tensor"] if func is nn.init.normal_ else func(*args, **keywords)


Source = TrainedModel | str | Path  # a model, a checkpoint or the folder of a run


def load(path: str | Path, *, device: str = "auto") -> TrainedModel:
    """Load a trained model.

    >>> import ps_models as pm
    >>> lstm = pm.load("runs/lstm")  # doctest: +SKIP
    >>> pm.score(lstm, "the cat sat").perplexity  # doctest: +SKIP

    Args:
        path: A checkpoint, or a run's folder, whose best checkpoint is used.
        device: auto, cpu, cuda or cuda:1.

    Raises:
        ModelError: The checkpoint is missing, damaged or written by another version.
    """
    file = checkpoint_file(Path(path))
    checkpoint = read_checkpoint(file)
    kind = saved_kind(checkpoint, file.parent)
    config = config_of(kind, checkpoint.config)
    if not kind.source:
        # A model on `meta` takes no memory: a stranger's configuration can ask for any size.
        with torch.device("meta"), _WithoutNormalDraws():
            check_shapes(make_model(kind, config), checkpoint.weights)
    use_products("fp32")  # for calls that set no precision
    model = make_model(kind, config)
    load_weights(model, checkpoint.weights)
    LOG.info("loaded %s: %s, update %s", path, checkpoint.name, checkpoint.facts.get("update", "unknown"))
    return TrainedModel(model=model.to(choose_device(device)).eval(), checkpoint=checkpoint, kind=kind)


def loaded_model(source: Source, device: str) -> TrainedModel:
    """Return a model, loaded if it is given by its path; a loaded model stays on its device."""
    return source if isinstance(source, TrainedModel) else load(source, device=device)


def open_data(data: str | Path, checkpoint: Checkpoint) -> Dataset:
    """Open a dataset for a trained model; if it has a train file, its vocabulary must be the model's."""
    dataset = load_dataset(data)
    if dataset.layout != SINGLE_FILE and "train" in dataset.files:
        check_vocabulary(checkpoint, dataset.vocabulary, str(data))
    return dataset


@dataclass(frozen=True, kw_only=True)
class Evaluation:
    """The scores of a text, one per article, and the signature of everything that decides them."""

    scores: list[Score]
    signature: Signature

    @property
    def score(self) -> Score:
        """The score of the whole text."""
        return sum(self.scores, Score())


def evaluate(
    model: Source,
    data: str | Path,
    *,
    split: str = "test",
    context: str = "carried",
    precision: str = "fp32",
    device: str = "auto",
    progress: Progress = no_progress,
) -> Evaluation:
    """Score a split of a dataset with a trained model, each token once.

    >>> import ps_models as pm
    >>> evaluation = pm.evaluate("runs/lstm", "data/wikitext-2")  # doctest: +SKIP
    >>> evaluation.score.perplexity  # doctest: +SKIP

    Args:
        model: A checkpoint, a run's folder, or what `load` returned.
        data: The dataset.
        split: train, valid or test.
        context: Context before each article: `carried`, all earlier articles; `article`, none.
        precision: fp32, tf32 or bf16.
        device: Where to load a checkpoint: auto, cpu, cuda or cuda:1.
        progress: Called with the number of tokens done.

    Raises:
        BuilderError: The dataset is missing or damaged.
        ModelError: The checkpoint is missing or damaged, or does not fit the data or the arguments.
    """
    trained = loaded_model(model, device)
    dataset = open_data(data, trained.checkpoint)
    texts = list(read_texts(dataset, split, trained.vocabulary))
    with autocast(trained.device, precision), evaluating(trained.model):
        scores = score_texts(
            cast("LanguageModel[Any]", trained.model),
            texts,
            context=context,
            device=trained.device,
            progress=progress,
            total=sum(len(text.tokens) for text in texts),
        )
    signature = checkpoint_signature(trained.checkpoint, dataset, split, context, precision)
    return Evaluation(scores=scores, signature=signature)


def checkpoint_signature(
    checkpoint: Checkpoint, dataset: Dataset, split: str, context: str, precision: str
) -> Signature:
    """Make the signature of a score: data, split, vocabulary, weights, arithmetic, versions."""
    extra = {"code": checkpoint.source_sha256[:8]} if checkpoint.source_sha256 else {}
    return Signature(
        data=hashed_name(dataset.name, dataset.file(split)),
        split=split if dataset.layout != SINGLE_FILE else SINGLE_FILE,
        vocabulary=f"{len(checkpoint.vocabulary)}+{vocabulary_hash(checkpoint.vocabulary)[:8]}",
        eos="yes",
        context=context,
        model=checkpoint.name,
        seed=checkpoint.seed,
        precision=precision,
        **extra,
        torch=signature_value(torch.__version__),
        version=version("wikitext-builder"),
    )


@dataclass(frozen=True, kw_only=True)
class TextScore:
    """The log-probability of each token of a text.

    Attributes:
        tokens: The tokens that the model reads: `<unk>` for words outside its vocabulary, `<eos>` at the end
            of each line.
        log_probs: Natural logarithms, one per token.
        score: Their sum; scores of disjoint texts add up.
    """

    tokens: tuple[str, ...]
    log_probs: tuple[float, ...]
    score: Score

    @property
    def perplexity(self) -> float:
        """The perplexity of the whole text."""
        return self.score.perplexity


def score(model: Source, text: str, *, device: str = "auto") -> TextScore:
    """Score a text with a trained model, without context before its first token.

    >>> import ps_models as pm
    >>> scored = pm.score("runs/lstm", "the cat sat")  # doctest: +SKIP
    >>> scored.tokens, scored.perplexity  # doctest: +SKIP

    Args:
        model: A checkpoint, a run's folder, or what `load` returned.
        text: Lines of tokens separated by spaces; `wikitext_builder.tokenize` makes tokens from raw text.
        device: Where to load a checkpoint: auto, cpu, cuda or cuda:1.

    Raises:
        ModelError: The text is empty, or the checkpoint is missing or damaged.
    """
    if not text.strip():
        raise ModelError("`text`: it has no tokens; expected words separated by spaces")
    try:
        text.encode()
    except UnicodeEncodeError as error:
        raise ModelError(f"`text`: {error}; expected text that UTF-8 can hold") from error
    trained = loaded_model(model, device)
    lines = tuple(" ".join(line.split()) for line in text.removesuffix("\n").split("\n"))
    encoded = text_of_lines(lines, trained.vocabulary)
    ((_, nats),) = token_nats(cast("LanguageModel[Any]", trained.model), [encoded], device=trained.device)
    return TextScore(
        tokens=tuple(trained.vocabulary.decode(encoded.tokens.tolist())),
        log_probs=tuple((-nats).tolist()),
        score=Score(float(nats.sum()), len(nats), encoded.bytes),
    )


def generate(
    model: Source,
    *,
    words: int = 100,
    prompt: str = "",
    temperature: float = 1.0,
    seed: int = 1,
    unknown: bool = True,
    device: str = "auto",
) -> Iterator[str]:
    """Draw words from a trained model, one by one; `<eos>` ends a line.

    >>> import ps_models as pm
    >>> " ".join(pm.generate("runs/lstm", words=4, prompt="the cat"))  # doctest: +SKIP

    Args:
        model: A checkpoint, a run's folder, or what `load` returned.
        words: Number of words to draw.
        prompt: Tokens to start from, separated by spaces.
        temperature: 1 draws from the model's probabilities; lower values draw likely words even more often;
            0 always takes the most likely word.
        seed: The same seed gives the same words.
        unknown: Allow `<unk>` to be drawn.
        device: Where to load a checkpoint: auto, cpu, cuda or cuda:1.

    Raises:
        ModelError: The checkpoint is missing or damaged, the prompt has a word outside the vocabulary, or the
            temperature is negative or not finite.
    """
    if words < 0:
        raise ModelError(f"--words {words}: expected 0 or more")
    trained = loaded_model(model, device)
    if missing := [word for word in prompt.split() if word not in trained.vocabulary]:
        raise ModelError(f"--prompt: the model has no word {missing[0]!r}; write {UNK} in its place")
    return draw_words(
        generative(trained.model),
        trained.vocabulary,
        generator=torch.Generator().manual_seed(seed),
        prompt=prompt.split(),
        words=words,
        temperature=temperature,
        unknown=unknown,
        device=trained.device,
    )


def draw_words(
    model: Any,  # noqa: ANN401 - any with `next_log_probs`
    vocabulary: Vocabulary,
    *,
    generator: torch.Generator,
    prompt: Sequence[str] = (),
    words: int = 100,
    temperature: float = 1.0,
    unknown: bool = True,
    device: torch.device | str = "cpu",
) -> Iterator[str]:
    """Draw words from a model's probabilities of the next word; arguments as in `generate`.

    The generator draws on the CPU, so the same seed gives the same words.
    """
    if not 0 <= temperature < math.inf:
        raise ModelError(f"--temperature {temperature}: expected 0 or more, and finite")

    def generated() -> Iterator[str]:
        with torch.no_grad():
            state = model.initial_state(1)
            if prompt:
                _, state = model(torch.tensor([vocabulary.encode(prompt)], device=device), state)
        for _ in range(words):
            with torch.no_grad():  # not around `yield`: the caller may train the model
                log_probs = model.next_log_probs(state)[0].double().cpu()
                if not unknown and UNK in vocabulary:
                    log_probs[vocabulary.ids[UNK]] = -torch.inf
                word = _draw(log_probs, temperature, generator)
                _, state = model(torch.tensor([[word]], device=device), state)
            yield vocabulary.tokens[word]

    yield from lazily_evaluating(model, generated())


def _draw(log_probs: torch.Tensor, temperature: float, generator: torch.Generator) -> int:
    if log_probs.isnan().any():
        raise ModelError("the model's probabilities are NaN: its weights are damaged; use another checkpoint")
    if temperature == 0:
        return int(log_probs.argmax())
    shifted = log_probs - log_probs.max()  # otherwise a low temperature makes all of them infinite
    return int(torch.multinomial((shifted / temperature).softmax(dim=-1), 1, generator=generator))
