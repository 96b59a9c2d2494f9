"""Code of the user: if it fails, one error with the user's own traceback."""

from __future__ import annotations

import importlib
import inspect
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import TracebackType
from typing import Any, Final

from lm_benchmarks.errors import HarnessError
from wikitext_builder.errors import ToolkitError
from wikitext_builder.hashing import file_sha256

OURS: Final = Path(__file__).resolve().parents[1]


def user_function(module: str, name: str) -> Callable[..., Any]:
    """A function by the name of its module and its own.

    Raises:
        HarnessError: There is no such module or function, or the module fails as it is imported.
    """
    with user_code(f"{module}:{name}"):
        try:
            found = importlib.import_module(module)
        except ModuleNotFoundError as error:
            if error.name is None or not f"{module}.".startswith(f"{error.name}."):
                raise  # the module is there, but it imports one that is not
            raise HarnessError(
                f"{module}:{name}: {error}; expected a function that Python can import from here"
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
    """Turn whatever the user's code raises into one error that ends in the user's traceback.

    Args:
        name: `module:function`; with "" no error changes.

    Raises:
        HarnessError: The code raised an exception.
    """
    try:
        yield
    except ToolkitError:
        raise
    except Exception as error:
        if not name:
            raise
        trace = "".join(traceback.format_exception(type(error), error, _users_frames(error.__traceback__)))
        raise HarnessError(f"{name} failed: {type(error).__name__}: {error}\n{trace.rstrip()}") from error


def _users_frames(trace: TracebackType | None) -> TracebackType | None:
    """A traceback from the first frame of the user's code on."""
    while trace is not None and _is_ours(trace.tb_frame.f_code.co_filename):
        trace = trace.tb_next
    return trace


def _is_ours(file: str) -> bool:
    """Whether code is ours, or the machinery that imports modules."""
    importer = Path(importlib.__file__ or "").parent
    return file.startswith("<frozen") or Path(file).is_relative_to(OURS) or Path(file).parent == importer
