"""Options for loading a model, the loaded model, errors in the user's code, and watched models.

Watched models sample random places of a run, from which `Continued` and `WindowModel` continue: `checks`
checks the invariants of `LanguageModel` there after the run.
"""

from __future__ import annotations

import heapq
import importlib
import inspect
import traceback
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import zip_longest
from pathlib import Path
from types import TracebackType
from typing import Any, Final, NamedTuple

import numpy as np
import torch
from torch import Tensor

import lm_benchmarks
import ps_models
from lm_benchmarks.adapters.piece_model import PieceModel
from lm_benchmarks.choices import DEFAULTS, HarnessError
from lm_benchmarks.conventions import Tokenizer, Window
from lm_benchmarks.records import MissingWords, Trained
from ps_models.language_model import LanguageModel, map_state
from ps_models.own_models import importing_from
from ps_models.signature import signature_value
from wikitext_builder.dataset.load import Dataset
from wikitext_builder.dataset.vocabulary import UNK, Vocabulary
from wikitext_builder.errors import ToolkitError
from wikitext_builder.files import file_sha256


@dataclass(frozen=True, kw_only=True)
class Inputs:
    """Options for loading a model; a user's function is called with them."""

    dataset: Dataset
    vocabulary: Vocabulary  # of train; without a train file, of the split that is scored
    device: torch.device = field(default_factory=lambda: torch.device("cpu"))
    seed: int = 1
    window: int | None = None  # pieces that a causal model reads per call, words of a neural cache
    stride: int | None = None  # pieces per block; None: half of the window
    options: Mapping[str, Any] = field(default_factory=lambda: DEFAULTS)  # options of adapters


@dataclass(frozen=True, kw_only=True)
class LoadedModel:
    """A model that is ready to score."""

    name: str  # in tables
    identity: str  # in signatures: distinguishes it from other models of the same name
    model: LanguageModel[Any]
    vocabulary: Vocabulary
    words: Vocabulary | None = None  # the dataset's, if `vocabulary` lacks words, which are then <unk>
    open_vocabulary: bool = False  # True: other words have probability too, so these sum to less than one
    parameters: int | None = None
    facts: Mapping[str, object] = field(default_factory=dict)  # further fields of its signature
    reader: PieceModel | None = None  # subword models: reads the windows of any convention
    recipe: str = ""  # which of our models it is, see lm_benchmarks.reporting.published
    trained: tuple[Trained, ...] = ()  # how each checkpoint in it was trained
    user_source: str = ""  # `module:function`, if the code is the user's
    is_program: bool = False  # True: it is a program of the user's
    reread: int = 0  # the greatest number of earlier tokens that a call may read again

    @property
    def is_identified(self) -> bool:
        """True if the identity shows what the model computes; the user's code can change behind it."""
        return not (self.user_source or self.is_program)

    def pieces(self, tokens: Tensor) -> int:
        """Return the number of predictions that the model makes for `tokens`."""
        return self.model.piece_count(tokens) if isinstance(self.model, PieceModel) else len(tokens)

    def missing(self, read: Tensor, written: Tensor) -> MissingWords | None:
        """Return the words of a text, (time,), that only the dataset has; None if the model has all words.

        `read` is the text in the model's vocabulary, `written` in the dataset's.
        """
        if self.words is None:
            return None
        lost = (read == self.vocabulary.ids[UNK]) & (written != self.words.ids[UNK])
        return MissingWords(
            words=len(self.words) - len(self.vocabulary),
            of_words=len(self.words),
            tokens=int(lost.sum()),
            of_tokens=len(written),
        )


Maker = Callable[[str, Inputs], LoadedModel]


def of_piece_model(name: str, model: PieceModel, vocabulary: Vocabulary) -> LoadedModel:
    """Make a loaded model of a subword model."""
    return LoadedModel(
        name=name,
        identity=f"{signature_value(name)}+{model.digest[:8]}",
        model=model,
        vocabulary=vocabulary,
        open_vocabulary=True,
        parameters=model.parameters,
        facts={"window": model.window, "stride": model.stride, **model.implementation},
        reader=model,
        reread=model.window,
    )


CALLING_CODE: Final = tuple(
    Path(module.__path__[0]).resolve() for module in (lm_benchmarks, ps_models, torch)
)
"""Folders of the code that calls the user's."""


def user_function(module: str, name: str) -> Callable[..., Any]:
    """Import a function by the names of its module and itself."""
    with user_code(f"{module}:{name}"):
        try:
            with importing_from(Path()):
                imported = importlib.import_module(module)
        except ModuleNotFoundError as error:
            if error.name is None or not f"{module}.".startswith(f"{error.name}."):
                raise  # the module exists, but imports one that does not
            file = module.endswith(".py") and Path(module).is_file()
            hint = f"; expected {module.removesuffix('.py')}:{name}, without .py" if file else ""
            raise HarnessError(
                f"{module}:{name}: {error}{hint or '; expected a function that Python can import from here'}"
            ) from error
    function = getattr(imported, name, None)
    if not callable(function):
        raise HarnessError(
            f"{module}:{name}: {module} has no function {name}; expected a function that Python can import"
        )
    return function  # type: ignore[no-any-return] # any callable


def source_hash(function: Callable[..., Any]) -> str:
    """Return the sha256 of the file that defines a function; `unknown` if there is no such file."""
    try:
        path = inspect.getsourcefile(inspect.unwrap(function))
        return file_sha256(Path(path)) if path else "unknown"
    except (TypeError, OSError):
        return "unknown"


@contextmanager
def user_code(name: str) -> Iterator[None]:
    """Turn any exception in the user's code into one error that ends in the user's traceback.

    `name` is `module:function`; with "" errors do not change.
    """
    try:
        yield
    except ToolkitError:
        raise
    except Exception as error:
        if not name:
            raise
        trace = _formatted(error, _user_frames(error.__traceback__) or error.__traceback__)
        raise HarnessError(f"{name} failed: {type(error).__name__}: {error}\n{trace}") from error


def users_trace(error: BaseException) -> str:
    """Return the traceback of an error, starting in the user's code; "" if it does not reach that code."""
    frames = _user_frames(error.__traceback__)
    return _formatted(error, frames) if frames else ""


def users_line(error: BaseException) -> str:
    """Return the last line of the user's code in an error, such as `mine.py, line 3`; "" if none."""
    frames = traceback.extract_tb(_user_frames(error.__traceback__))
    users = [frame for frame in frames if not _is_calling_code(frame.filename)]
    return f"{Path(users[-1].filename).name}, line {users[-1].lineno}" if users else ""


def _formatted(error: BaseException, frames: TracebackType | None) -> str:
    return "".join(traceback.format_exception(type(error), error, frames)).rstrip()


def _user_frames(trace: TracebackType | None) -> TracebackType | None:
    """Return a traceback, starting in the user's code; None if it does not reach that code."""
    while trace is not None and _is_calling_code(trace.tb_frame.f_code.co_filename):
        trace = trace.tb_next
    return trace


def _is_calling_code(file: str) -> bool:
    """Return True if a file belongs to us, torch, or Python, such as its import system and `functools`."""
    path = Path(file)
    importer = Path(importlib.__file__ or "").parent
    is_python = path.parent in (importer, importer.parent)
    return file.startswith("<frozen") or is_python or any(map(path.is_relative_to, CALLING_CODE))


RANDOM_PLACES: Final = 20  # tokens or windows: violations at 14 % of all are found with 95 % probability
CERTAIN_PLACES: Final = 3  # most likely tokens, and as many that are most likely for how rare they are
CERTAIN_NATS: Final = 1e-6  # a token that costs less has probability one
Model = LanguageModel[Any]


class Place(NamedTuple):
    """A token of a run, and the state at the start of the call that scored it."""

    stream: int  # texts that carry context are one stream
    token: int  # number in the stream
    is_random: bool  # False: it is one of the most certain tokens
    read: int  # tokens of the stream before the state
    state: Any


class WatchedModel:
    """A model that scores as the wrapped one, and samples places of a run.

    They are tokens chosen uniformly at random, and the tokens of which the model was most certain.
    """

    def __init__(self, model: Model, streams: Sequence[Tensor], *, deepest: int, seed: int) -> None:
        """Watch a model; no place is later in its stream than token number `deepest`."""
        self.streams, self.certain = streams, 0  # tokens of probability one
        self._model, self._deepest, self._generator = model, deepest, np.random.default_rng(seed)
        self._heaps = tuple(list[tuple[float, Place]]() for _ in range(3))
        self._first, self._rows, self._read = 0, 0, 0  # streams before the batch, in it, and their tokens

    @property
    def places(self) -> list[Place]:
        """The most certain places and random places, alternating."""
        turns = zip_longest(*(sorted(heap, reverse=True) for heap in self._heaps))
        return [entry[1] for turn in turns for entry in turn if entry is not None]

    def initial_state(self, batch_size: int) -> Any:  # noqa: ANN401 - each model has its own state
        """Return the start of `batch_size` texts."""
        self._first, self._rows, self._read = self._first + self._rows, batch_size, 0
        return self._model.initial_state(batch_size)

    def __call__(self, tokens: Tensor, state: Any) -> tuple[Tensor, Any]:  # noqa: ANN401
        """Score tokens; see `LanguageModel`."""
        scores, after = self._model(tokens, state)
        if scores.shape == tokens.shape:  # otherwise the run ends with an error
            self._watch(tokens.cpu(), scores.detach().cpu().double(), state)
        self._read += tokens.shape[1]
        return scores, after

    def _watch(self, tokens: Tensor, scores: Tensor, state: Any) -> None:  # noqa: ANN401
        numbers = torch.arange(self._read, self._read + scores.shape[1])
        streams = self.streams[self._first : self._first + self._rows]
        is_scored = numbers < torch.tensor([len(stream) for stream in streams])[:, None]  # else padding
        self.certain += int((is_scored & (scores > -CERTAIN_NATS)).sum())
        chance = torch.from_numpy(self._generator.random(tuple(scores.shape)))
        certainty = scores + 1e-9 * chance  # among equal ones chance decides
        gains = certainty + (tokens + 1).log()  # a word of rank r is as likely as 1 / r
        counts = (CERTAIN_PLACES, CERTAIN_PLACES, RANDOM_PLACES)
        for heap, capacity, keys in zip(self._heaps, counts, (certainty, gains, chance), strict=True):
            keys = keys.masked_fill(~is_scored | (numbers > self._deepest), -torch.inf).flatten()
            highest = keys.topk(min(capacity, len(keys)))
            for key, number in zip(highest.values.tolist(), highest.indices.tolist(), strict=True):
                if key > (heap[0][0] if len(heap) == capacity else -torch.inf):
                    row, column = divmod(number, scores.shape[1])
                    read, kind = self._read, heap is self._heaps[-1]
                    place = Place(self._first + row, read + column, kind, read, _row(state, row))
                    (heapq.heapreplace if len(heap) == capacity else heapq.heappush)(heap, (key, place))


def _row(state: Any, row: int) -> Any:  # noqa: ANN401
    return map_state(lambda tensor: tensor[row : row + 1].clone(), state)


class Continued:
    """A language model whose texts continue a text that it has read."""

    def __init__(self, model: Any, state: Any, between: Tensor) -> None:  # noqa: ANN401 - of any model
        """Continue a text after a state of one row and the tokens after it, (time,)."""
        self._model, self._state, self._between = model, state, between

    def initial_state(self, batch_size: int) -> Any:  # noqa: ANN401
        """Return the state after that text, for `batch_size` rows."""
        has_tokens = len(self._between)
        state = self._model(self._between[None], self._state)[1] if has_tokens else self._state
        return map_state(lambda tensor: tensor.repeat_interleave(batch_size, 0), state)

    def __call__(self, tokens: Tensor, state: Any) -> tuple[Tensor, Any]:  # noqa: ANN401
        """Score tokens; see `LanguageModel`."""
        scores, after = self._model(tokens, state)
        return scores, after

    def next_log_probs(self, state: Any) -> Tensor:  # noqa: ANN401
        """Return log-probabilities of all words; raise an AttributeError if the model has none."""
        log_probs: Tensor = self._model.next_log_probs(state)
        return log_probs


class WatchedReader:
    """A reader that scores as the wrapped one, and keeps a random sample of its windows."""

    def __init__(self, reader: PieceModel, *, seed: int) -> None:
        """Watch a reader; `seed` fixes the sample."""
        self.reader, self.longest = reader, reader.longest
        self.pieces = 0  # inputs of all windows
        self.sample: list[tuple[int, Window, float]] = []  # number, window and its nats
        self._generator, self._count = np.random.default_rng(seed), 0

    @property
    def text_pieces(self) -> Tokenizer:
        """The reader's tokenizer, for plain texts."""
        return self.reader.text_pieces

    def window_nats(self, windows: Sequence[Window]) -> list[float]:
        """Return -log p of the targets of each window."""
        all_nats = self.reader.window_nats(windows)
        for window, nats in zip(windows, all_nats, strict=True):
            index = len(self.sample)
            if index == RANDOM_PLACES:  # each window so far has the same chance to be in the sample
                index = int(self._generator.integers(self._count + 1))
            if window.targets and index < RANDOM_PLACES:
                self.sample[index : index + 1] = [(self._count, window, nats)]
            self.pieces += len(window.inputs)
            self._count += 1
        return all_nats


class WindowModel:
    """A subword model as a language model that continues a window: its state is what it has read of it."""

    def __init__(self, reader: PieceModel, pieces: Sequence[int], inputs: Sequence[int]) -> None:
        """Continue a window after `inputs`; words are indices of `pieces`."""
        self._reader, self._pieces, self._inputs = reader, torch.tensor(pieces), torch.tensor(inputs)

    def initial_state(self, batch_size: int) -> Tensor:
        """Return the pieces before the texts."""
        return self._inputs.repeat(batch_size, 1)

    def __call__(self, tokens: Tensor, state: Tensor) -> tuple[Tensor, Tensor]:
        """Score pieces; see `LanguageModel`."""
        after = torch.cat([state, self._pieces[tokens]], dim=1)
        windows = [Window(row[:-1], row[-tokens.shape[1] :]) for row in after.tolist()]
        return torch.stack(list(self._reader.target_log_probs(windows))), after

    def next_log_probs(self, state: Tensor) -> Tensor:
        """Return log-probabilities of all pieces; raise an AttributeError if the model has none."""
        rows_or_none = [self._reader.next_log_probs_of(row) for row in state.tolist()]
        rows = [row for row in rows_or_none if row is not None]
        if len(rows) < len(rows_or_none):
            raise AttributeError("the model gives no log-probabilities of all pieces", name="next_log_probs")
        return torch.stack(rows)
