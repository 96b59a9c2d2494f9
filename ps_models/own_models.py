"""Users' models: a class in their file or module is trained and opened like one of ours.

The class takes a frozen dataclass, its configuration, and satisfies the invariants of trained models. A
checkpoint has its name and the sha256 of its source; the folder of the run has copies of a file and of its
presets. Code is imported only if the user has named its file on a command line, or has allowed it once:
`trust` keeps the sha256.
"""

from __future__ import annotations

import copy
import hashlib
import importlib
import inspect
import logging
import re
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, nullcontext, suppress
from dataclasses import fields, replace
from importlib.machinery import PathFinder
from pathlib import Path
from types import ModuleType
from typing import Any, Final, cast, get_type_hints

import click
import torch
from torch import nn

from ps_models.configs import ModelKind, Preset, kind_of, make_model, presets_of
from ps_models.errors import ModelError
from ps_models.hyperparameters import TrainingConfig
from ps_models.invariants import BrokenLawError, check_language_model, check_trainable
from ps_models.models import MODELS
from ps_models.training.checkpoint import Checkpoint
from wikitext_builder.files import file_sha256

LOG = logging.getLogger(__name__)
OWN: Final = re.compile(r"(?P<where>.+\.py|[\w.]+):(?P<name>\w+)")
EXPECTED: Final = (
    "expected a torch.nn.Module with __init__(self, config: CONFIG), where CONFIG is a frozen dataclass with"
    " vocab_size, and with initial_state and loss (`loss = pm.loss_of_scores` does); docs/own-model.md shows"
    " one"
)
WORDS: Final = 100  # that sums are tried over before a training
_allowed_now: Final[set[str]] = set()


def named_kind(model: str) -> ModelKind:
    """A model by our name, or by that of a user's class: `my_model.py:GPT` or `my_package.models:GPT`."""
    if not (match := OWN.fullmatch(model)):
        return kind_of(model)
    where = match["where"]
    source = Path(where) if where.endswith(".py") else _of_module(where)
    if source is None or not source.is_file():
        raise ModelError(f"{model}: there is no {where}; expected a file or a module with a class of yours")
    trust(source)
    return _kind(match["name"], where, source, file_sha256(source), beside=True)


def list_models(model: str | None = None) -> dict[str, Mapping[str, Preset]]:
    """Return the presets of each trainable model by name, or those of one, which may be a class of yours.

    >>> "small" in list_models()["pointer-sentinel-lstm"]
    True
    """
    kinds = map(named_kind, MODELS if model is None else [model])
    return {kind.name: kind.presets for kind in kinds}


def saved_kind(checkpoint: Checkpoint, folder: Path) -> ModelKind:
    """The model of a checkpoint; of a user's file the copy in the run's folder, else the one here."""
    wanted = checkpoint.source_sha256
    if wanted is None:
        return kind_of(checkpoint.model)
    where, _, name = checkpoint.model.rpartition(":")
    if not OWN.fullmatch(checkpoint.model) or Path(where).name != where:
        raise ModelError(f"{checkpoint.model!r:.80}: expected the name of a file or module, and of a class")
    places = [folder / where, Path(where)] if where.endswith(".py") else [_of_module(where)]
    found = {path: file_sha256(path) for path in places if path and path.is_file()}
    same = [path for path, digest in found.items() if digest == wanted]
    if not same:
        states = "; ".join(f"{path} has {digest[:12]}" for path, digest in found.items())
        raise ModelError(
            f"{checkpoint.model}: its source has changed since the training: sha256 {wanted[:12]} then,"
            f" {states} now; restore it, or train again"
            if found
            else f"{checkpoint.model}: no {where} beside the checkpoint or here; copy it there"
        )
    for path in found.keys() - same:
        LOG.warning("%s has changed since the training: the code of then is used, %s", path, same[0])
    if wanted not in _allowed():
        raise ModelError(
            f"{checkpoint.model}: opening it runs {same[0]} (sha256 {wanted[:12]}), which you have not"
            f" trusted: read it, then give --trust {same[0]} once, before the name of the command"
        )
    return _kind(name, where, same[0], wanted)


def trust(path: str | Path) -> None:
    """Allow the code of a file, as it is now, to be imported when a checkpoint names it.

    Raises:
        ModelError: There is no such file.
    """
    path = Path(path)
    if not path.is_file():
        raise ModelError(f"{path}: no such file; expected Python code that a model is made of")
    if (digest := file_sha256(path)) in _allowed():
        return
    _allowed_now.add(digest)
    try:
        _trusted().parent.mkdir(parents=True, exist_ok=True)
        with _trusted().open("a", encoding="utf-8") as file:
            file.write(f"{digest}  {path.name!r}\n")
    except OSError as error:
        LOG.warning("%s: cannot be written (%s), so %s is trusted only for this run", _trusted(), error, path)


def _trusted() -> Path:
    return Path(click.get_app_dir("wikitext-builder")) / "trusted"


def _allowed() -> set[str]:
    try:
        text = _trusted().read_text(encoding="utf-8", errors="replace")
        return {line[:64] for line in text.splitlines()} | _allowed_now
    except OSError:  # nothing was allowed before, or it cannot be read
        return _allowed_now


def keep_source(kind: ModelKind, folder: Path) -> None:
    """Copy the file of a user's model and its presets into the folder of its run; a module stays."""
    copy = folder / kind.name.rpartition(":")[0]
    if kind.source is None or copy.suffix != ".py":
        return
    if copy.exists() and file_sha256(copy) != kind.source_sha256:
        raise ModelError(f"{copy}: is not {kind.source}, which is kept beside checkpoints; use another --out")
    for ending in (".py", ".toml"):
        source, kept = kind.source.with_suffix(ending), copy.with_suffix(ending)
        if source.exists() and not kept.exists():
            with kept.open("xb") as file:  # not through a link to nowhere
                file.write(source.read_bytes())


def check_laws(kind: ModelKind, model: nn.Module, config: Any, words: int) -> None:  # noqa: ANN401 - the user's
    """Check the invariants of a user's model with fresh weights, in seconds.

    Sums over few of many words are far below one, whatever the model does. One call of `next_log_probs` has
    all; else a model of few words is tried, or if it cannot be made, the sum of all words one by one.
    """
    tried, few = cast("Any", _stirred(model)), min(words, WORDS)
    whole = hasattr(tried, "next_log_probs") or few == words
    try:
        check_language_model(tried, words if whole else few, open_vocabulary=not whole)
        check_trainable(tried, few)
        if not whole:
            _check_whole_sums(kind, tried, config, words)
    except BrokenLawError as error:
        raise ModelError(
            f"{kind.name} violates an invariant of language models: {error}; nothing was trained"
        ) from None


def _stirred(model: nn.Module) -> nn.Module:
    """A copy with other weights: fresh ones can be zero where a trained model looks ahead."""
    stirred = copy.deepcopy(model).eval()
    with torch.no_grad():
        for parameter in stirred.parameters():
            parameter.add_(torch.randn_like(parameter), alpha=0.1)
    return stirred


def _check_whole_sums(kind: ModelKind, model: Any, config: Any, words: int) -> None:  # noqa: ANN401 - the user's
    with suppress(ModelError, RuntimeError, ValueError, IndexError):  # its class may need more words
        small = _stirred(make_model(kind, replace(config, vocab_size=WORDS)))
        return check_language_model(cast("Any", small), WORDS)
    return check_language_model(model, words)


def _of_module(name: str) -> Path | None:
    """The file of a module, which is found without importing anything, its packages neither."""
    spec, places = None, None
    for part in name.split("."):
        if (spec := PathFinder.find_spec(part, places)) is None:
            return None
        places = spec.submodule_search_locations
    return Path(spec.origin) if spec and spec.origin else None


def _kind(name: str, where: str, source: Path, digest: str, *, beside: bool = False) -> ModelKind:
    """The class of that name, imported from a file of that hash or as a module.

    `beside`: the file may import others beside it; those in a stranger's folder are not run.
    """
    full = f"{Path(where).name}:{name}"
    try:
        own_file = where.endswith(".py")
        module: Any = _imported(source, digest, beside) if own_file else importlib.import_module(where)
    except ImportError as error:
        raise ModelError(
            f"{source}: {error}; expected one file, or what it imports installed or beside it"
        ) from error
    made: Any = getattr(module, name, None)
    if missing := _missing(made):
        raise ModelError(f"{full}: {missing}; {EXPECTED}")
    config: Any = _taken(made)
    own, others = ({one.name for one in fields(each)} for each in (config, TrainingConfig))
    if both := sorted(own & others):
        raise ModelError(
            f"{full}: its configuration has {', '.join(both)}, as every training configuration does; rename"
        )
    return ModelKind(
        name=full,
        config=config,
        make=made,
        presets=presets_of(source.with_suffix(".toml"), config),
        source=source,
        source_sha256=digest,
    )


def _missing(made: Any) -> str | None:  # noqa: ANN401 - whatever has the name
    """What a class lacks to be trained."""
    if not (isinstance(made, type) and issubclass(made, nn.Module)):
        return f"found {type(made).__name__} {getattr(made, '__qualname__', made)!s:.80}"
    if methods := [name for name in ("initial_state", "loss") if not hasattr(made, name)]:
        return f"it has no {' and no '.join(methods)}"
    config: Any = _taken(made)
    if not getattr(getattr(config, "__dataclass_params__", None), "frozen", False):
        return f"its __init__ takes {getattr(config, '__name__', 'no annotated configuration')}"
    has_words = "vocab_size" in {one.name for one in fields(config)}
    return None if has_words else f"{config.__name__} has no vocab_size"


def _taken(made: type) -> object:
    """The annotation of the first argument of a class; None if there is none."""
    names = list(inspect.signature(made.__init__).parameters)[1:2]  # type: ignore[misc]
    return get_type_hints(made.__init__).get(names[0]) if names else None  # type: ignore[misc]


def _imported(source: Path, digest: str, beside: bool) -> Any:  # noqa: ANN401 - a module
    """A file as a module. Files of one name and other contents are other modules.

    What Python once compiled and keeps in `__pycache__` is not taken: it can be of another content.
    """
    name = f"{source.stem}_{digest[:16]}"
    if name in sys.modules:
        return sys.modules[name]
    content = source.read_bytes()
    if hashlib.sha256(content).hexdigest() != digest:
        raise ModelError(f"{source}: changes while it is read; run the same again")
    module = ModuleType(name)
    module.__file__, sys.modules[name] = str(source), module  # a dataclass looks for its module
    try:
        with importing_from(source.parent) if beside else nullcontext():
            exec(compile(content, str(source), "exec"), module.__dict__)  # noqa: S102 - the user named or trusts it
    except BaseException:
        del sys.modules[name]
        raise
    return module


@contextmanager
def importing_from(folder: Path) -> Iterator[None]:
    """Let Python import modules of a folder, after all installed ones.

    The folder in which the user is can be a stranger's dataset: its modules count only while a file or a
    module is imported that the user named, and never replace an installed module.
    """
    place = str(folder.resolve())
    is_new = place not in sys.path
    if is_new:
        sys.path.append(place)
    try:
        yield
    finally:
        if is_new and place in sys.path:
            sys.path.remove(place)
