"""Which stored result is meant by a name, and which two can be compared."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from pathlib import Path, PurePath
from typing import Final

from lm_benchmarks.choices import COMPARE_ONLY, MUST_AGREE, HarnessError
from lm_benchmarks.records import Result, Trained, portable


def on_split(results: Iterable[Result], split: str, data: str = "") -> list[Result]:
    """The results on a split of a dataset, given by its name or folder, or of any dataset.

    A result on a single file is of every split.
    """
    of_data = (result for result in results if not data or result.data[0] == PurePath(data).name)
    return [result for result in of_data if result.signature["split"] in (split, "file")]


def find_runs(results: Sequence[Result], name: str, split: str, path: Path, data: str = "") -> list[Result]:
    """The last result of a model on a split, or those of one recipe with several seeds, in their order.

    The name is what the model was called when it was measured, its name in tables or in signatures, or its
    recipe; or a prefix of these that fits one model. The path is for errors.
    """
    there = on_split(results, split, data)
    wanted = {name, portable(name)}
    chosen = [result for result in there if wanted & names_of(result)]
    chosen = chosen or [
        result for result in there if any(known.startswith(tuple(wanted)) for known in names_of(result))
    ]
    last = {identity_of(result): result for result in chosen}
    if not last:
        models = ", ".join(sorted({result.model for result in there})) or "none"
        where = f"{split} of {data}" if data else split
        raise HarnessError(f"{path}: no result of {name} on {where}; there are {models}")
    if len(last) > 1 and not _differ_by_seed(last.values()):
        several = ", ".join(f"{model} ({identity})" for model, identity in last)
        raise HarnessError(
            f"{path}: {name} on {split} fits several models: {several}; use a name that fits one. Runs that"
            " differ only in their seed are one model if all of them finished"
        )
    return sorted(last.values(), key=_seed)


def last_of_models(results: Iterable[Result], *, fields: Iterable[str] = ()) -> list[Result]:
    """The last result of each model, and of each seed; and, with `fields`, for each of their values."""
    names = list(fields)
    return list({(identity_of(one), *map(one.signature.get, names)): one for one in results}.values())


def runs_of_models(results: Iterable[Result]) -> list[list[Result]]:
    """The last result of each model. Seeds of one recipe are runs of one model, as in `find_runs`."""
    recipes: dict[tuple[str, str], list[Result]] = {}
    for one in last_of_models(results):
        recipes.setdefault((one.recipe, one.model), []).append(one)
    found: list[list[Result]] = []
    for runs in recipes.values():
        found += [sorted(runs, key=_seed)] if _differ_by_seed(runs) else [[run] for run in runs]
    return found


def _differ_by_seed(runs: Collection[Result]) -> bool:
    recipes = {(result.recipe, result.model) for result in runs}
    if len(recipes) != 1 or "" in {*recipes.pop()} or len({_seed(run) for run in runs}) != len(runs):
        return False
    hows = {
        (
            run.changes,
            len(run.trained),
            *map(run.signature.get, ("precision", "code", "dropout_samples")),
        )
        for run in runs
    }
    first = next(iter(runs)).trained
    same = all(_trained_alike(*pair) for run in runs for pair in zip(first, run.trained, strict=False))
    return len(hows) == 1 and same and all(one.is_finished for run in runs for one in run.trained)


def _trained_alike(first: Trained, second: Trained) -> bool:
    """Whether two trainings differ in their seeds alone; what one record does not know is not asked."""
    pairs = ((first.model, second.model), (first.training, second.training))
    known = ((one[key], other[key]) for one, other in pairs for key in one.keys() & other.keys() - {"seed"})
    same = first.train_sha256 == second.train_sha256 and first.processes == second.processes
    return same and all(one == other for one, other in known)


def _seed(result: Result) -> int:
    seed = result.signature.get("seed", "")
    return int(seed) if seed.isascii() and seed.isdecimal() and len(seed) < 20 else -1


def names_of(result: Result) -> set[str]:
    """Every name by which a result can be found."""
    return {result.model, result.signature["model"], result.specification, result.recipe} - {""}


def identity_of(result: Result) -> tuple[str, str]:
    """What distinguishes models: a result measured again has the same."""
    return result.model, result.signature["model"]


UNLIKE: Final = {**MUST_AGREE, **COMPARE_ONLY}
OTHER_TEXT: Final = {"data", "split", "convention", "passage", "text", "eos"}  # may score other tokens


def why_unlike(first: Result, second: Result, allow: Collection[str] = ()) -> list[str]:
    """The reasons why two results cannot be compared; none if they can."""
    reasons, allowed = [], set()
    for field, why in UNLIKE.items():
        one, other = (result.signature.get(field, "-") for result in (first, second))
        if one != other and field in allow:
            allowed.add(field)
        elif one != other:
            reasons.append(f"{why} ({field}: {one} and {other})")
    if not reasons and not allowed & OTHER_TEXT and _scored(first) != _scored(second):
        if _in_windows(first):
            reasons.append("the windows of the two tokenizers stand for different parts of the text")
        else:
            tokens = [first.total.tokens, second.total.tokens]
            counts = " and ".join(map(str, tokens))
            if tokens[0] == tokens[1]:
                counts = f"{tokens[0]}, but in passages of another order or length"
            reasons.append(f"different tokens were scored ({counts})")
    counted = len(first.articles), len(second.articles)
    if not reasons and counted[0] != counted[1]:
        reasons.append(f"{counted[0]} and {counted[1]} passages; expected the same ones")
    return reasons


def _scored(result: Result) -> list[tuple[int, ...]]:
    """What each passage is, as far as it was counted."""
    if _in_windows(result):
        return [(one.file_bytes,) for one in result.articles]
    return [(one.tokens, one.page_words) for one in result.articles]


def _in_windows(result: Result) -> bool:
    return result.signature.get("context") == "window"


def expect_alike(first: Result, second: Result, allow: Collection[str] = ()) -> None:
    """Refuse results that cannot be compared, with the options that help."""
    if reasons := why_unlike(first, second, allow):
        fields = [field for field in UNLIKE if first.signature.get(field) != second.signature.get(field)]
        ways = "Measure both in the same way"
        if not why_unlike(first, second, fields):
            ways += f", or compare them as they are with {' '.join(f'--allow {field}' for field in fields)}"
        raise HarnessError(
            f"{first.model} and {second.model} cannot be compared: {'; '.join(reasons)}. {ways}"
        )
