"""Options for loading a model, the loaded model, and errors in the user's code."""

from __future__ import annotations

import hashlib
import importlib
import inspect
import traceback
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import TracebackType
from typing import Any, Final

import torch
from torch import Tensor

import lm_benchmarks
import ps_models
from lm_benchmarks.adapters.piece_model import PieceModel
from lm_benchmarks.choices import DEFAULTS
from lm_benchmarks.errors import HarnessError
from lm_benchmarks.records import Trained
from ps_models.evaluation.signature import signature_value
from ps_models.language_model import LanguageModel
from ps_models.own_models import importing_from
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

    def renamed(self, name: str) -> LoadedModel:
        """The model under a name that the user gives it; its identity keeps the hash."""
        known = self.identity.rpartition("+")[2] if self.identity.count("+") == 1 else ""
        own = known or hashlib.sha256(self.identity.encode()).hexdigest()[:8]
        return replace(self, name=name, identity=f"{signature_value(name)}+{own}")

    def pieces(self, tokens: Tensor) -> int:
        """The number of predictions that it makes for some tokens."""
        return self.model.piece_count(tokens) if isinstance(self.model, PieceModel) else len(tokens)

    def said_unknown(self, read: Tensor, written: Tensor) -> str:
        """How much of a text, (time,), is its `<unk>`, as KenLM says it: much of it makes a low perplexity.

        `read` is in the model's own vocabulary, `written` in the words of the dataset.
        """
        words = len(self.words or self.vocabulary)
        lost = int(((read == self.vocabulary.ids[UNK]) & (written != self.vocabulary.ids[UNK])).sum())
        return (
            f"{self.name} has {words - len(self.vocabulary):,} of the {words:,} words of the dataset only as"
            f" its {UNK}: {lost:,} of {len(written):,} tokens"
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
