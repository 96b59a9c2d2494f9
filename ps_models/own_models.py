"""Finds, checks and keeps users' models: a class in their file or module is trained and opened like ours.

The class takes a frozen dataclass, its configuration, and satisfies the invariants of trained models. A
checkpoint has its name and the sha256 of its source; the run's folder has copies of the file and of its
presets. Code is imported only if the user named its file on a command line or trusted it once: `trust` keeps
its sha256.
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
USER_CLASS: Final = re.compile(r"(?P<origin>.+\.py|[\w.]+):(?P<name>\w+)")
EXPECTED_CLASS: Final = (
    "expected a torch.nn.Module with __init__(self, config: CONFIG), where CONFIG is a frozen dataclass with"
    " vocab_size, and with initial_state and loss (`loss = pm.loss_of_scores` does); docs/own-model.md shows"
    " one"
)
TEST_WORDS: Final = 100  # of the small models whose probabilities are summed before a training
_trusted_now: Final[set[str]] = set()


def named_kind(model: str) -> ModelKind:
    """Return a model of `MODELS`, or a user's class, `my_model.py:GPT` or `my_package.models:GPT`."""
    if not (match := USER_CLASS.fullmatch(model)):
        return kind_of(model)
    origin = match["origin"]
    source = Path(origin) if origin.endswith(".py") else _module_file(origin)
    if source is None or not source.is_file():
        raise ModelError(f"{model}: {origin} not found; expected a file or a module that defines the class")
    trust(source)
    return _user_kind(match["name"], origin, source, file_sha256(source), beside=True)


def list_models(model: str | None = None) -> dict[str, Mapping[str, Preset]]:
    """Return the presets of each trainable model by name, or of one model, which may be your own class.

    >>> "small" in list_models()["pointer-sentinel-lstm"]
    True
    """
    kinds = map(named_kind, MODELS if model is None else [model])
    return {kind.name: kind.presets for kind in kinds}


def saved_kind(checkpoint: Checkpoint, folder: Path) -> ModelKind:
    """Return the model of a checkpoint; a user's file is the copy in the run's folder, or the one here."""
    wanted = checkpoint.source_sha256
    if wanted is None:
        return kind_of(checkpoint.model)
    origin, _, name = checkpoint.model.rpartition(":")
    if not USER_CLASS.fullmatch(checkpoint.model) or Path(origin).name != origin:
        raise ModelError(f"{checkpoint.model!r:.80}: expected the name of a file or module, and of a class")
    places = [folder / origin, Path(origin)] if origin.endswith(".py") else [_module_file(origin)]
    digests = {path: file_sha256(path) for path in places if path and path.is_file()}
    unchanged = [path for path, digest in digests.items() if digest == wanted]
    if not digests:
        raise ModelError(f"{checkpoint.model}: no {origin} beside the checkpoint or here; copy it there")
    if not unchanged:
        states = "; ".join(f"{path} has {digest[:12]}" for path, digest in digests.items())
        raise ModelError(
            f"{checkpoint.model}: its source has changed since the training: expected sha256 {wanted[:12]},"
            f" but {states}; restore it, or train again"
        )
    for path in digests.keys() - unchanged:
        LOG.warning("%s has changed since the training; its unchanged copy is used: %s", path, unchanged[0])
    if wanted not in _trusted_digests():
        raise ModelError(
            f"{checkpoint.model}: opening it runs {unchanged[0]} (sha256 {wanted[:12]}), which you have not"
            f" trusted: read it, then give --trust {unchanged[0]} once, before the name of the command"
        )
    return _user_kind(name, origin, unchanged[0], wanted)


def trust(path: str | Path) -> None:
    """Allow the code of a file, as it is now, to be imported when a checkpoint names it.

    Raises:
        ModelError: There is no such file.
    """
    path = Path(path)
    if not path.is_file():
        raise ModelError(f"{path}: no such file; expected Python code that defines a model")
    if (digest := file_sha256(path)) in _trusted_digests():
        return
    _trusted_now.add(digest)
    try:
        _trust_file().parent.mkdir(parents=True, exist_ok=True)
        with _trust_file().open("a", encoding="utf-8") as file:
            file.write(f"{digest}  {path.name!r}\n")
    except OSError as error:
        LOG.warning(
            "%s: cannot be written (%s), so %s is trusted only for this run", _trust_file(), error, path
        )


def _trust_file() -> Path:
    return Path(click.get_app_dir("wikitext-builder")) / "trusted"


def _trusted_digests() -> set[str]:
    try:
        text = _trust_file().read_text(encoding="utf-8", errors="replace")
        return {line[:64] for line in text.splitlines()} | _trusted_now
    except OSError:  # nothing was trusted before, or the file cannot be read
        return _trusted_now


def copy_source(kind: ModelKind, folder: Path) -> None:
    """Copy the file of a user's model and its presets into the folder of its run; modules are not copied."""
    target = folder / kind.name.rpartition(":")[0]
    if kind.source is None or target.suffix != ".py":
        return
    if target.exists() and file_sha256(target) != kind.source_sha256:
        raise ModelError(f"{target}: differs from {kind.source}, which a run copies there; use another --out")
    for suffix in (".py", ".toml"):
        source, copied = kind.source.with_suffix(suffix), target.with_suffix(suffix)
        if source.exists() and not copied.exists():
            with copied.open("xb") as file:  # fails at a dangling link instead of writing through it
                file.write(source.read_bytes())


def check_fresh_model(kind: ModelKind, model: nn.Module, config: Any, words: int) -> None:  # noqa: ANN401 - the user's
    """Check the invariants of a user's model with fresh weights, in seconds.

    The probabilities of a few of many words sum to far below one, whatever the model does. A model with
    `next_log_probs` gives all words in one call. Any other one is checked with a small vocabulary, or if it
    cannot be made so, with all words, one after the other.
    """
    perturbed, few_words = cast("Any", _perturbed(model)), min(words, TEST_WORDS)
    all_words = hasattr(perturbed, "next_log_probs") or few_words == words
    try:
        check_language_model(perturbed, words if all_words else few_words, open_vocabulary=not all_words)
        check_trainable(perturbed, few_words)
        if not all_words:
            _check_sums(kind, perturbed, config, words)
    except BrokenLawError as error:
        raise ModelError(
            f"{kind.name} violates an invariant of language models: {error}; nothing was trained"
        ) from None


def _perturbed(model: nn.Module) -> nn.Module:
    """Copy a model with other weights: fresh ones can be zero where a trained model looks ahead."""
    perturbed = copy.deepcopy(model).eval()
    with torch.no_grad():
        for parameter in perturbed.parameters():
            parameter.add_(torch.randn_like(parameter), alpha=0.1)
    return perturbed


def _check_sums(kind: ModelKind, model: Any, config: Any, words: int) -> None:  # noqa: ANN401 - the user's
    with suppress(ModelError, RuntimeError, ValueError, IndexError):  # its class may need more words
        small = _perturbed(make_model(kind, replace(config, vocab_size=TEST_WORDS)))
        return check_language_model(cast("Any", small), TEST_WORDS)
    return check_language_model(model, words)


def _module_file(name: str) -> Path | None:
    """Return the file of a module, found without importing anything, not even its packages."""
    spec, places = None, None
    for part in name.split("."):
        if (spec := PathFinder.find_spec(part, places)) is None:
            return None
        places = spec.submodule_search_locations
    return Path(spec.origin) if spec and spec.origin else None


def _user_kind(name: str, origin: str, source: Path, digest: str, *, beside: bool = False) -> ModelKind:
    """Return the class of that name, imported from a file with that hash or as a module.

    `beside`: the file may import modules beside it; those in a stranger's folder are not run.
    """
    full_name = f"{Path(origin).name}:{name}"
    try:
        is_file = origin.endswith(".py")
        module: Any = _import_file(source, digest, beside) if is_file else importlib.import_module(origin)
    except ImportError as error:
        raise ModelError(f"{source}: {error}; expected its imports to be installed, or beside it") from error
    model_class: Any = getattr(module, name, None)
    if reason := _why_unusable(model_class):
        raise ModelError(f"{full_name}: {reason}; {EXPECTED_CLASS}")
    config: Any = _config_class(model_class)
    names, training_names = ({field.name for field in fields(kind)} for kind in (config, TrainingConfig))
    if both := sorted(names & training_names):
        raise ModelError(
            f"{full_name}: its configuration has {', '.join(both)}, as the training's does; rename them"
        )
    return ModelKind(
        name=full_name,
        config=config,
        make=model_class,
        presets=presets_of(source.with_suffix(".toml"), config),
        source=source,
        source_sha256=digest,
    )


def _why_unusable(value: Any) -> str | None:  # noqa: ANN401 - whatever has the name
    """Return why the value of a name is not a class that can be trained; None if it is."""
    if not (isinstance(value, type) and issubclass(value, nn.Module)):
        return f"found {type(value).__name__} {getattr(value, '__qualname__', value)!s:.80}"
    if missing := [name for name in ("initial_state", "loss") if not hasattr(value, name)]:
        return f"it has no {' and no '.join(missing)}"
    config: Any = _config_class(value)
    if not getattr(getattr(config, "__dataclass_params__", None), "frozen", False):
        return f"its __init__ takes {getattr(config, '__name__', 'no annotated configuration')}"
    has_size = "vocab_size" in {field.name for field in fields(config)}
    return None if has_size else f"{config.__name__} has no vocab_size"


def _config_class(model_class: type) -> object:
    """Return the annotation of the first argument of a class; None if it has none."""
    names = list(inspect.signature(model_class.__init__).parameters)[1:2]  # type: ignore[misc]
    return get_type_hints(model_class.__init__).get(names[0]) if names else None  # type: ignore[misc]


def _import_file(source: Path, digest: str, beside: bool) -> Any:  # noqa: ANN401 - a module
    """Import a file as a module; files of the same name with different contents are different modules.

    Compiled code in `__pycache__` is ignored: it can be of another content.
    """
    name = f"{source.stem}_{digest[:16]}"
    if name in sys.modules:
        return sys.modules[name]
    content = source.read_bytes()
    if hashlib.sha256(content).hexdigest() != digest:
        raise ModelError(f"{source}: changed while it was read; run the command again")
    module = ModuleType(name)
    module.__file__, sys.modules[name] = str(source), module  # a dataclass looks up its module there
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

    The current folder can be a stranger's dataset: its modules can be imported only while a file or a module
    is imported that the user named, and they never replace an installed module.
    """
    entry = str(folder.resolve())
    is_new = entry not in sys.path
    if is_new:
        sys.path.append(entry)
    try:
        yield
    finally:
        if is_new and entry in sys.path:
            sys.path.remove(entry)
