"""Options for loading a model, the loaded model, errors in the user's code, and models in a run.

These keep random samples of the run, and continue what was read there: `checks` checks the invariants of
`LanguageModel` on both afterwards.
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
    options: Mapping[str, Any] = field(default_factory=lambda: DEFAULTS)  # of the adapters


@dataclass(frozen=True, kw_only=True)
class LoadedModel:
    """A model that is ready to score."""

    name: str  # in tables
    identity: str  # in signatures: distinguishes it from other models of the same name
    model: LanguageModel[Any]
    vocabulary: Vocabulary
    words: Vocabulary | None = None  # of the dataset, if `vocabulary` lacks some: these are <unk>
    open_vocabulary: bool = False  # its words sum to less than one: other words have probability too
    parameters: int | None = None
    facts: Mapping[str, object] = field(default_factory=dict)  # what else decides its numbers, for signatures
    reader: PieceModel | None = None  # for models of pieces: reads the windows of any convention
    recipe: str = ""  # which model of ours it is, in the words of lm_benchmarks.reporting.rows
    trained: tuple[Trained, ...] = ()  # how each checkpoint in it was trained
    users: str = ""  # `module:function`, if the code is the user's
    is_program: bool = False  # or it is a program of the user's
    reread: int = 0  # tokens before a call that the model may read again to score it, at most

    @property
    def is_identified(self) -> bool:
        """Whether the identity shows what the model computes; the user's code can change behind it."""
        return not (self.users or self.is_program)

    def pieces(self, tokens: Tensor) -> int:
        """The number of predictions that it makes for some tokens."""
        return self.model.piece_count(tokens) if isinstance(self.model, PieceModel) else len(tokens)

    def missing(self, read: Tensor, written: Tensor) -> MissingWords | None:
        """What of a text, (time,), is its `<unk>` though the dataset has the words; None if it has all.

        `read` is in the model's own vocabulary, `written` in the words of the dataset.
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
    """A model of pieces, ready to score."""
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


BETWEEN: Final = tuple(Path(module.__path__[0]).resolve() for module in (lm_benchmarks, ps_models, torch))
"""Where the code stands that calls the user's."""


def user_function(module: str, name: str) -> Callable[..., Any]:
    """A function by the name of its module and its own."""
    with user_code(f"{module}:{name}"):
        try:
            with importing_from(Path()):
                found = importlib.import_module(module)
        except ModuleNotFoundError as error:
            if error.name is None or not f"{module}.".startswith(f"{error.name}."):
                raise  # the module is there, but it imports one that is not
            file = module.endswith(".py") and Path(module).is_file()
            hint = f"; expected {module.removesuffix('.py')}:{name}, without .py" if file else ""
            raise HarnessError(
                f"{module}:{name}: {error}{hint or '; expected a function that Python can import from here'}"
            ) from error
    function = getattr(found, name, None)
    if not callable(function):
        raise HarnessError(
            f"{module}:{name}: {module} has no function {name}; expected a function that Python can import"
        )
    return function  # type: ignore[no-any-return] # anything that can be called


def source_hash(function: Callable[..., Any]) -> str:
    """sha256 over the file that defines a function; `unknown` if there is no such file."""
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
        trace = _formatted(error, _users_frames(error.__traceback__) or error.__traceback__)
        raise HarnessError(f"{name} failed: {type(error).__name__}: {error}\n{trace}") from error


def users_trace(error: BaseException) -> str:
    """The traceback of an error, starting in the user's code; "" if it does not get there."""
    frames = _users_frames(error.__traceback__)
    return _formatted(error, frames) if frames else ""


def users_line(error: BaseException) -> str:
    """The last line of the user's code in an error, such as `mine.py, line 3`; "" if none."""
    frames = traceback.extract_tb(_users_frames(error.__traceback__))
    users = [frame for frame in frames if not _is_between(frame.filename)]
    return f"{Path(users[-1].filename).name}, line {users[-1].lineno}" if users else ""


def _formatted(error: BaseException, frames: TracebackType | None) -> str:
    return "".join(traceback.format_exception(type(error), error, frames)).rstrip()


def _users_frames(trace: TracebackType | None) -> TracebackType | None:
    """A traceback, starting in the user's code; None if it does not get there."""
    while trace is not None and _is_between(trace.tb_frame.f_code.co_filename):
        trace = trace.tb_next
    return trace


def _is_between(file: str) -> bool:
    """Whether a file is ours, torch's, or Python's own, such as its import system and `functools`."""
    path = Path(file)
    importer = Path(importlib.__file__ or "").parent
    pythons = path.parent in (importer, importer.parent)
    return file.startswith("<frozen") or pythons or any(map(path.is_relative_to, BETWEEN))


PLACES: Final = 20  # tokens or windows that are chosen: a break at 14 % of all is found in 95 %
SUREST: Final = 3  # tokens with the highest scores, and as many that are most likely for so rare a word
SURE: Final = 1e-6  # nats: a token that costs less has probability one
Model = LanguageModel[Any]


class Place(NamedTuple):
    """A token of a run, and the state at the start of the call that scored it."""

    stream: int  # texts that carry context are one stream
    token: int  # number in the stream
    is_random: bool  # else it is one of the most certain
    read: int  # tokens of the stream before the state
    state: Any


class WatchedModel:
    """A model that scores as the one it stands for, and keeps places of a run.

    These are tokens chosen at random, all with the same chance, and those that the model was most certain of.
    """

    def __init__(self, model: Model, streams: Sequence[Tensor], *, deepest: int, seed: int) -> None:
        """Watch a model; no place is later in its stream than the token number `deepest`."""
        self.streams, self.certain = streams, 0  # tokens of probability one
        self._model, self._deepest, self._generator = model, deepest, np.random.default_rng(seed)
        self._heaps = tuple(list[tuple[float, Place]]() for _ in range(3))
        self._first, self._rows, self._read = 0, 0, 0  # streams before the batch, in it, and their tokens

    @property
    def places(self) -> list[Place]:
        """The most certain places and random ones, in turn."""
        turns = zip_longest(*(sorted(heap, reverse=True) for heap in self._heaps))
        return [entry[1] for turn in turns for entry in turn if entry is not None]

    def initial_state(self, batch_size: int) -> Any:  # noqa: ANN401 - each model has its own state
        """The start of `batch_size` texts."""
        self._first, self._rows, self._read = self._first + self._rows, batch_size, 0
        return self._model.initial_state(batch_size)

    def __call__(self, tokens: Tensor, state: Any) -> tuple[Tensor, Any]:  # noqa: ANN401
        """Score tokens; see `LanguageModel`."""
        scores, after = self._model(tokens, state)
        if scores.shape == tokens.shape:  # else the run ends with an error
            self._watch(tokens.cpu(), scores.detach().cpu().double(), state)
        self._read += tokens.shape[1]
        return scores, after

    def _watch(self, tokens: Tensor, scores: Tensor, state: Any) -> None:  # noqa: ANN401
        numbers = torch.arange(self._read, self._read + scores.shape[1])
        streams = self.streams[self._first : self._first + self._rows]
        is_token = numbers < torch.tensor([len(stream) for stream in streams])[:, None]  # else padding
        self.certain += int((is_token & (scores > -SURE)).sum())
        chance = torch.from_numpy(self._generator.random(tuple(scores.shape)))
        surest = scores + 1e-9 * chance  # among equal ones chance decides
        gains = surest + (tokens + 1).log()  # a word of rank r is as likely as 1 / r
        counts = (SUREST, SUREST, PLACES)
        for heap, most, keys in zip(self._heaps, counts, (surest, gains, chance), strict=True):
            keys = keys.masked_fill(~is_token | (numbers > self._deepest), -torch.inf).flatten()
            highest = keys.topk(min(most, len(keys)))
            for key, number in zip(highest.values.tolist(), highest.indices.tolist(), strict=True):
                if key > (heap[0][0] if len(heap) == most else -torch.inf):
                    row, column = divmod(number, scores.shape[1])
                    read, kind = self._read, heap is self._heaps[-1]
                    place = Place(self._first + row, read + column, kind, read, _row(state, row))
                    (heapq.heapreplace if len(heap) == most else heapq.heappush)(heap, (key, place))


def _row(state: Any, row: int) -> Any:  # noqa: ANN401
    return map_state(lambda tensor: tensor[row : row + 1].clone(), state)


class Continued:
    """A language model whose texts continue one that it has read."""

    def __init__(self, model: Any, state: Any, between: Tensor) -> None:  # noqa: ANN401 - of any model
        """Continue a text after a state of one row and the tokens after it, (time,)."""
        self._model, self._state, self._between = model, state, between

    def initial_state(self, batch_size: int) -> Any:  # noqa: ANN401
        """The state after that text, for so many rows."""
        some = len(self._between)
        state = self._model(self._between[None], self._state)[1] if some else self._state
        return map_state(lambda tensor: tensor.repeat_interleave(batch_size, 0), state)

    def __call__(self, tokens: Tensor, state: Any) -> tuple[Tensor, Any]:  # noqa: ANN401
        """Score tokens; see `LanguageModel`."""
        scores, after = self._model(tokens, state)
        return scores, after

    def next_log_probs(self, state: Any) -> Tensor:  # noqa: ANN401
        """Log-probabilities of all words; an AttributeError if the model does not give them."""
        found: Tensor = self._model.next_log_probs(state)
        return found


class WatchedReader:
    """A reader that scores as the one it stands for, and keeps a random sample of its windows."""

    def __init__(self, reader: PieceModel, *, seed: int) -> None:
        """Watch a reader; `seed` fixes the sample."""
        self.reader, self.longest = reader, reader.longest
        self.pieces = 0  # of all windows
        self.sample: list[tuple[int, Window, float]] = []  # number, window and its nats
        self._generator, self._count = np.random.default_rng(seed), 0

    @property
    def text_pieces(self) -> Tokenizer:
        """How its tokenizer cuts plain texts."""
        return self.reader.text_pieces

    def window_nats(self, windows: Sequence[Window]) -> list[float]:
        """-log p of the targets of each window."""
        found = self.reader.window_nats(windows)
        for window, nats in zip(windows, found, strict=True):
            place = len(self.sample)
            if place == PLACES:  # each window so far has the same chance to be in the sample
                place = int(self._generator.integers(self._count + 1))
            if window.targets and place < PLACES:
                self.sample[place : place + 1] = [(self._count, window, nats)]
            self.pieces += len(window.inputs)
            self._count += 1
        return found


class WindowModel:
    """A model of pieces as a language model that continues a window: the state is what it has read of it."""

    def __init__(self, reader: PieceModel, pieces: Sequence[int], inputs: Sequence[int]) -> None:
        """Continue a window after some inputs; words are numbers of places in `pieces`."""
        self._reader, self._pieces, self._inputs = reader, torch.tensor(pieces), torch.tensor(inputs)

    def initial_state(self, batch_size: int) -> Tensor:
        """The pieces before the texts."""
        return self._inputs.repeat(batch_size, 1)

    def __call__(self, tokens: Tensor, state: Tensor) -> tuple[Tensor, Tensor]:
        """Score pieces; see `LanguageModel`."""
        after = torch.cat([state, self._pieces[tokens]], dim=1)
        windows = [Window(row[:-1], row[-tokens.shape[1] :]) for row in after.tolist()]
        return torch.stack(list(self._reader.target_log_probs(windows))), after

    def next_log_probs(self, state: Tensor) -> Tensor:
        """Log-probabilities of all pieces; an AttributeError if the model does not give them."""
        found = [self._reader.next_log_probs_of(row) for row in state.tolist()]
        rows = [row for row in found if row is not None]
        if len(rows) < len(found):
            raise AttributeError("the model gives no log-probabilities of all pieces", name="next_log_probs")
        return torch.stack(rows)
