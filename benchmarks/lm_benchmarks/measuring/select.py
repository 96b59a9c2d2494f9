"""Which stored result is meant by a name, and which two can be compared."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from pathlib import Path, PurePath
from typing import Final

from msgspec.structs import replace

from lm_benchmarks.choices import CHARACTERS_LOST, COMPARE_ONLY, MUST_AGREE, NORMALIZES, HarnessError
from lm_benchmarks.records import Result, Trained, portable


def on_split(results: Iterable[Result], split: str, data: str = "") -> list[Result]:
    """The results on a split of a dataset, given by its name or folder, or of any dataset.

    A result on a single file is of every split. Signatures distinguish datasets of one name: `ptb+7f524b00`.
    """
    of_data = (
        result
        for result in results
        if not data or PurePath(data).name in (result.data[0], result.signature["data"])
    )
    return [result for result in of_data if result.signature["split"] in (split, "file")]


def find_runs(results: Sequence[Result], name: str, split: str, path: Path, data: str = "") -> list[Result]:
    """The last result of a model on a split, or those of one recipe with several seeds, in their order.

    The name is what the model was called when it was measured, its name in tables or in signatures, or its
    recipe; or a prefix of these that fits one model. Of a model that was measured on several datasets or by
    several conventions, the last of these count. The path is for errors.
    """
    there = on_split(results, split, data)
    named = list(zip(there, (result.model for result in with_distinct_names(there)), strict=True))
    wanted = name, portable(name)
    chosen = [(result, distinct) for result, distinct in named if {*wanted} & {distinct, *names_of(result)}]
    chosen = chosen or [
        (result, distinct)
        for result, distinct in named
        if any(text.startswith(wanted) for text in (distinct, *names_of(result)))
    ]
    if not chosen:
        models = ", ".join(sorted({distinct for _, distinct in named})) or "none"
        where = f"{split} of {data}" if data else split
        raise HarnessError(f"{path}: no result of {name} on {where}; there are {models}")
    last_place = {result.signature["model"]: _place(result) for result, _ in chosen}
    last = {
        identity_of(result): (result, distinct)
        for result, distinct in chosen
        if _place(result) == last_place[result.signature["model"]]
    }
    runs = [result for result, _ in last.values()]
    if len(runs) > 1 and not _differ_by_seed(runs):
        raise HarnessError(f"{path}: {name} on {split} fits several models: {_ways_to_choose(last.values())}")
    return sorted(runs, key=_seed)


def _place(result: Result) -> tuple[str, str]:
    """What a model can be measured on with windows of other lengths: the last of these counts."""
    return result.data[0], result.signature["convention"]


def _ways_to_choose(named: Collection[tuple[Result, str]]) -> str:
    """The option or the names that distinguish several models."""
    datasets = {result.data[0] for result, _ in named}
    if len(datasets) == 1 == len({result.signature["convention"] for result, _ in named}):
        datasets = {result.signature["data"] for result, _ in named}  # of one name, in several folders
    if len(datasets) > 1:
        return f"on {', '.join(sorted(datasets))}; choose a dataset with --data"
    listed = ", ".join(f"{distinct!r} ({result.signature['model']})" for result, distinct in named)
    return (
        f"{listed}; use a name that fits one. Runs that differ only in their seed are one model if all of"
        " them finished"
    )


def with_distinct_names(results: Iterable[Result]) -> list[Result]:
    """The results, each with the last name of its model; models of one name say by what they differ."""
    named = list(results)
    labels = {identity_of(result): result.model for result in named}
    named = [replace(result, model=labels[identity_of(result)]) for result in named]
    facts = [dict(identity_of(result)) for result in named]
    for field in dict.fromkeys((*APART, *(field for of_model in facts for field in of_model))):
        values: dict[tuple[str, ...], set[str]] = {}
        places = [(result.model, *_place(result)) for result in named]
        differing = [of_model.get(field, "unknown") for of_model in facts]
        for place, value in zip(places, differing, strict=True):
            values.setdefault(place, set()).add(value)
        label = APART.get(field, f"{field} ")
        named = [
            replace(result, model=f"{result.model}, {label}{value}") if len(values[place]) > 1 else result
            for result, place, value in zip(named, places, differing, strict=True)
        ]
    return named


def last_of_models(results: Iterable[Result], *, fields: Iterable[str] = ()) -> list[Result]:
    """The last result of each model, and of each seed; and, with `fields`, for each of their values."""
    names = list(fields)
    return list({(identity_of(one), *map(one.signature.get, names)): one for one in results}.values())


def runs_of_models(results: Iterable[Result]) -> list[list[Result]]:
    """The last result of each model. Seeds of one recipe are runs of one model, as in `find_runs`."""
    recipes: dict[object, list[Result]] = {}
    for result in last_of_models(results):
        recipes.setdefault(result.recipe or identity_of(result), []).append(result)
    models: list[list[Result]] = []
    for runs in recipes.values():
        models += [sorted(runs, key=_seed)] if _differ_by_seed(runs) else [[run] for run in runs]
    return models


def with_distinct_models(models: Sequence[Sequence[Result]]) -> list[list[Result]]:
    """The runs of several models, whose names are distinct, as in `with_distinct_names`."""
    names = [runs[0].model for runs in models]
    if len(set(names)) < len(names):
        names = [first.model for first in with_distinct_names(runs[0] for runs in models)]
    return [[replace(run, model=name) for run in runs] for runs, name in zip(models, names, strict=True)]


def _differ_by_seed(runs: Collection[Result]) -> bool:
    recipes, seeds = ({key(run) for run in runs} for key in (lambda run: run.recipe, _seed))
    if len(recipes) != 1 or "" in recipes or len(seeds) != len(runs):
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


UNLIKE: Final = {**MUST_AGREE, **COMPARE_ONLY}
OF_MEASUREMENT: Final = UNLIKE.keys() | {
    *("lines_cut_otherwise", "unknown_to_file", NORMALIZES),
    *("device", "torch", "llama_cpp_python", "version"),
}
"""Fields of a signature that say what was scored, where and by which software: not which model."""

APART: Final = {  # fields that models of one name often differ by, and how a name says it
    "seed": "seed ",
    "model": "",
    "window": "window ",
    "stride": "stride ",
    "windows": "windows of ",
    "windows_every": "every ",
    "precision": "",
    "dtype": "weights in ",
    "attention": "attention ",
    "dropout_samples": "masks ",
    "dropout_seed": "seed of masks ",
}


def identity_of(result: Result) -> tuple[tuple[str, str], ...]:
    """What distinguishes models: all of the signature that is about the model. A name is only a label."""
    return tuple(sorted(pair for pair in result.signature.items() if pair[0] not in OF_MEASUREMENT))


OTHER_TEXT: Final = {"data", "split", "convention", "passage", "text", "eos"}  # may score other tokens


def why_unlike(first: Result, second: Result, allow: Collection[str] = ()) -> list[str]:
    """The reasons why two results cannot be compared; none if they can."""
    reasons, allowed = [], set()
    for field, (one, other) in _unlike(first, second).items():
        if field in allow:
            allowed.add(field)
        else:
            reasons.append(f"{UNLIKE[field]} ({field}: {one} and {other})")
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


def _unlike(first: Result, second: Result) -> dict[str, tuple[str, str]]:
    """The fields in which two results are not alike, with their values."""
    found = {}
    for field in UNLIKE:
        absent = "0" if field == CHARACTERS_LOST else "-"
        one, other = (result.signature.get(field, absent) for result in (first, second))
        if one != other or (field == CHARACTERS_LOST and one != absent):
            found[field] = one, other
    return found


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
        fields = list(_unlike(first, second))
        ways = "Measure both in the same way"
        if not why_unlike(first, second, fields):
            ways += f", or compare them as they are with {' '.join(f'--allow {field}' for field in fields)}"
        raise HarnessError(
            f"{first.model} and {second.model} cannot be compared: {'; '.join(reasons)}. {ways}"
        )
