"""Mutants of what mutmut leaves out: constants, fields of classes, and functions with a decorator.

They are made by mutmut's own operators. Each is tried in a process of its own, with the tests of its module.
"""

from __future__ import annotations

import multiprocessing
import os
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from importlib import import_module
from importlib.util import find_spec, module_from_spec
from pathlib import Path

import libcst as cst
import pytest
from mutmut.mutation.mutators import mutation_operators

ROOT = Path(__file__).resolve().parents[2]
PATIENCE = 900  # seconds; other work on the machine must not count as an endless loop
TESTS = {  # of modules that more or other tests are of than those of their own name
    "wikitext_builder/tokens/tokenizer.py": ("tests/wikitext_builder/tokens",),
    "wikitext_builder/dataset/counts.py": ("tests/wikitext_builder/stats/test_statistics.py",),
    "ps_models/layers/window.py": ("tests/ps_models/models/test_pointer_sentinel.py",),
    "ps_models/models/pointer_sentinel.py": (
        "tests/ps_models/models/test_pointer_sentinel.py",
        "tests/ps_models/test_invariants.py",
    ),
    "ps_models/models/kneser_ney.py": ("tests/ps_models/models/test_ngram.py",),
    "ps_models/models/baselines.py": ("tests/ps_models/models/test_ngram.py",),
    "src/lm_benchmarks/measuring/compare.py": (
        "tests/lm_benchmarks/measuring/test_compare.py",
        "tests/lm_benchmarks/measuring/test_chance.py",
    ),
    "src/lm_benchmarks/measuring/select.py": ("tests/lm_benchmarks/measuring",),
}
UNCHANGED = (cst.Annotation, cst.Decorator, cst.Import, cst.ImportFrom)
TEXTS = ("label", "numerator", "denominator", "note", "title", "about")  # arguments that only people read


@dataclass(frozen=True)
class Outcome:
    """What became of a mutant."""

    path: str  # of the module
    mutant: str
    state: str  # in mutmut's words


class _LeftOut(cst.CSTVisitor):
    """Collects the changes where mutmut makes none: pairs of a node and what replaces it."""

    def __init__(self) -> None:
        super().__init__()
        self.changes: list[tuple[cst.CSTNode, cst.CSTNode]] = []

    def on_visit(self, node: cst.CSTNode) -> bool:
        if isinstance(node, UNCHANGED) or _is_mutmuts(node) or _is_text(node) or _is_type(node):
            return False
        for kind, operator in mutation_operators:
            if isinstance(node, kind):
                self.changes += [(node, changed) for changed in operator(node)]
        return True


def _is_mutmuts(node: cst.CSTNode) -> bool:
    """Returns True for a function that mutmut changes: without decorator, or only with one of these two."""
    if not isinstance(node, cst.FunctionDef):
        return False
    names = [one.decorator.value for one in node.decorators if isinstance(one.decorator, cst.Name)]
    return not node.decorators or names in (["classmethod"], ["staticmethod"])


def _is_text(node: cst.CSTNode) -> bool:
    return isinstance(node, cst.Arg) and node.keyword is not None and node.keyword.value in TEXTS


def _is_type(node: cst.CSTNode) -> bool:
    """Returns True for a name of a type, such as `Ints = NDArray[np.int64]`, which nothing reads in a run."""
    if not isinstance(node, cst.Assign) or not isinstance(node.targets[0].target, cst.Name):
        return False
    name = node.targets[0].target.value
    return name[:1].isupper() and not name.isupper()


def mutants(source: str) -> Iterator[tuple[str, str]]:
    """Each mutant of a module: the line that changed, and the whole module.

    >>> [text for _, text in mutants("LIMIT = 3")]
    ['LIMIT = None', 'LIMIT = 4']
    """
    module, left_out = cst.parse_module(source), _LeftOut()
    module.visit(left_out)
    before = source.splitlines()
    for node, changed in left_out.changes:
        text = module.deep_replace(node, changed).code
        pairs = zip(before, [*text.splitlines(), *before], strict=False)
        yield next(f"{old.strip()} -> {new.strip()}" for old, new in pairs if old != new), text


def _run(path: str, source: str, options: Sequence[str]) -> None:
    """In a process of its own: the tests of a module with another source. It ends with pytest's status."""
    silence = os.open(os.devnull, os.O_WRONLY)
    for stream in (1, 2):
        os.dup2(silence, stream)
    os.chdir(ROOT)
    sys.path[:0] = [str(ROOT), str(ROOT / "benchmarks")]
    name = path.removeprefix("src/").removesuffix(".py").replace("/", ".")
    package, _, last = name.rpartition(".")
    spec = find_spec(name)
    if spec is None:
        raise ModuleNotFoundError(name)
    module = sys.modules[name] = module_from_spec(spec)
    exec(compile(source, path, "exec", dont_inherit=True), module.__dict__)
    setattr(sys.modules[package], last, module)
    tests = TESTS.get(path, (f"tests/{package.replace('.', '/')}/test_{last}.py",))
    os._exit(pytest.main(["-xq", "-pno:cacheprovider", *tests, *options]))


def _state(path: str, source: str, options: Sequence[str]) -> str:
    process = multiprocessing.get_context("fork").Process(target=_run, args=(path, source, options))
    process.start()
    process.join(PATIENCE)
    if process.is_alive():
        process.kill()
        process.join()
        return "timeout"
    return "killed" if process.exitcode else "survived"


def outcomes(paths: Sequence[str], options: Sequence[str]) -> Iterator[Outcome]:
    """Try all mutants of modules.

    Args:
        paths: Of the modules, as in `[tool.mutmut]`.
        options: Of pytest.

    Raises:
        ValueError: The tests of a module fail as it is.
    """
    for library in ("torch", "pandas"):  # once, and not in each process
        import_module(library)
    for path in paths:
        source = Path(path).read_text(encoding="utf-8")
        changes = list(mutants(source))
        if changes and _state(path, source, options) != "survived":
            raise ValueError(f"{path}: its tests fail as it is; expected only mutants to fail")
        for change, mutant in changes:
            yield Outcome(path, change, _state(path, mutant, options))
