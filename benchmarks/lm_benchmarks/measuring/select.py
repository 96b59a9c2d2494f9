"""Finds stored results by a model's name, and says which results can be compared."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from pathlib import Path, PurePath
from typing import Final

from msgspec.structs import replace

from lm_benchmarks.choices import CHARACTERS_LOST, COMPARE_ONLY, MUST_AGREE, NORMALIZES, HarnessError
from lm_benchmarks.records import Result, Trained, portable


def on_split(results: Iterable[Result], split: str, data: str = "") -> list[Result]:
    """Return the results on a split of a dataset, given by its name or folder, or of any dataset.

    A result on a single file counts for every split. Signatures distinguish datasets of the same name, such
    as `ptb+7f524b00`.
    """
    of_data = (
        result
        for result in results
        if not data or PurePath(data).name in (result.data[0], result.signature["data"])
    )
    return [result for result in of_data if result.signature["split"] in (split, "file")]


def find_runs(results: Sequence[Result], name: str, split: str, path: Path, data: str = "") -> list[Result]:
    """Return the last result of a model on a split, or those of one recipe with several seeds, by seed.

    The name is the model's name when it was measured, in tables or in signatures, or its recipe; or a prefix
    of these that fits one model. If a model was measured on several datasets or by several conventions, the
    last of these counts. The path is for errors.
    """
    candidates = on_split(results, split, data)
    named = list(zip(candidates, (result.model for result in with_distinct_names(candidates)), strict=True))
    wordings = name, portable(name)
    chosen = [(result, distinct) for result, distinct in named if {*wordings} & {distinct, *names_of(result)}]
    chosen = chosen or [
        (result, distinct)
        for result, distinct in named
        if any(text.startswith(wordings) for text in (distinct, *names_of(result)))
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
    """Return what several results of a model can differ in, of which the last one counts."""
    return result.data[0], result.signature["convention"]


def _ways_to_choose(named: Collection[tuple[Result, str]]) -> str:
    """Say which option or names distinguish several models."""
    datasets = {result.data[0] for result, _ in named}
    if len(datasets) == 1 == len({result.signature["convention"] for result, _ in named}):
        datasets = {result.signature["data"] for result, _ in named}  # one name, several folders
    if len(datasets) > 1:
        return f"on {', '.join(sorted(datasets))}; choose a dataset with --data"
    listed = ", ".join(f"{distinct!r} ({result.signature['model']})" for result, distinct in named)
    return (
        f"{listed}; use a name that fits one. Runs that differ only in their seed are one model if all of"
        " them finished"
    )


def with_distinct_names(results: Iterable[Result]) -> list[Result]:
    """Return the results, with the last name of their model; models of the same name say how they differ."""
    named = list(results)
    labels = {identity_of(result): result.model for result in named}
    named = [replace(result, model=labels[identity_of(result)]) for result in named]
    facts = [dict(identity_of(result)) for result in named]
    for field in dict.fromkeys((*NAME_LABELS, *(field for of_model in facts for field in of_model))):
        values: dict[tuple[str, ...], set[str]] = {}
        places = [(result.model, *_place(result)) for result in named]
        differing = [of_model.get(field, "unknown") for of_model in facts]
        for place, value in zip(places, differing, strict=True):
            values.setdefault(place, set()).add(value)
        label = NAME_LABELS.get(field, f"{field} ")
        named = [
            replace(result, model=f"{result.model}, {label}{value}") if len(values[place]) > 1 else result
            for result, place, value in zip(named, places, differing, strict=True)
        ]
    return named


def last_of_models(results: Iterable[Result], *, fields: Iterable[str] = ()) -> list[Result]:
    """Return the last result of each model and seed; with `fields`, of each combination of their values."""
    names = list(fields)
    return list({(identity_of(run), *map(run.signature.get, names)): run for run in results}.values())


def runs_of_models(results: Iterable[Result]) -> list[list[Result]]:
    """Return the last result of each model. Seeds of one recipe are runs of one model, as in `find_runs`."""
    recipes: dict[object, list[Result]] = {}
    for result in last_of_models(results):
        recipes.setdefault(result.recipe or identity_of(result), []).append(result)
    models: list[list[Result]] = []
    for runs in recipes.values():
        models += [sorted(runs, key=_seed)] if _differ_by_seed(runs) else [[run] for run in runs]
    return models


def with_distinct_models(models: Sequence[Sequence[Result]]) -> list[list[Result]]:
    """Return the runs of several models with distinct names, as in `with_distinct_names`."""
    names = [runs[0].model for runs in models]
    if len(set(names)) < len(names):
        names = [first.model for first in with_distinct_names(runs[0] for runs in models)]
    return [[replace(run, model=name) for run in runs] for runs, name in zip(models, names, strict=True)]


def _differ_by_seed(runs: Collection[Result]) -> bool:
    recipes, seeds = ({key(run) for run in runs} for key in (lambda run: run.recipe, _seed))
    if len(recipes) != 1 or "" in recipes or len(seeds) != len(runs):
        return False
    protocols = {
        (
            run.changes,
            len(run.trained),
            *map(run.signature.get, ("precision", "code", "dropout_samples")),
        )
        for run in runs
    }
    first = next(iter(runs)).trained
    is_alike = all(_trained_alike(*pair) for run in runs for pair in zip(first, run.trained, strict=False))
    are_finished = all(training.is_finished for run in runs for training in run.trained)
    return len(protocols) == 1 and is_alike and are_finished


def _trained_alike(first: Trained, second: Trained) -> bool:
    """Return True if two trainings differ only in their seeds, as far as both records say."""
    pairs = ((first.model, second.model), (first.training, second.training))
    values = ((old[key], new[key]) for old, new in pairs for key in old.keys() & new.keys() - {"seed"})
    is_same = first.train_sha256 == second.train_sha256 and first.processes == second.processes
    return is_same and all(old == new for old, new in values)


def _seed(result: Result) -> int:
    seed = result.signature.get("seed", "")
    return int(seed) if seed.isascii() and seed.isdecimal() and len(seed) < 20 else -1


def names_of(result: Result) -> set[str]:
    """Return every name by which a result can be found."""
    return {result.model, result.signature["model"], result.specification, result.recipe} - {""}


REASONS_UNLIKE: Final = {**MUST_AGREE, **COMPARE_ONLY}
MEASUREMENT_FIELDS: Final = REASONS_UNLIKE.keys() | {
    *("lines_cut_otherwise", "unknown_to_file", NORMALIZES),
    *("device", "torch", "llama_cpp_python", "version"),
}
"""Fields of a signature that say what was scored, where and by which software, not by which model."""

NAME_LABELS: Final = {  # fields in which models of the same name often differ, and their text in names
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
    """Return what distinguishes models: the fields of a signature about the model. Names are only labels."""
    return tuple(sorted(pair for pair in result.signature.items() if pair[0] not in MEASUREMENT_FIELDS))


TEXT_FIELDS: Final = {"data", "split", "convention", "passage", "text", "eos"}  # may score other tokens


def why_unlike(first: Result, second: Result, allow: Collection[str] = ()) -> list[str]:
    """Return the reasons why two results cannot be compared; none if they can."""
    reasons, allowed = [], set()
    for field, (first_value, second_value) in _unlike(first, second).items():
        if field in allow:
            allowed.add(field)
        else:
            reasons.append(f"{REASONS_UNLIKE[field]} ({field}: {first_value} and {second_value})")
    if not reasons and not allowed & TEXT_FIELDS and _scored(first) != _scored(second):
        if _in_windows(first):
            reasons.append("the windows of the two tokenizers stand for different parts of the text")
        else:
            tokens = [first.total.tokens, second.total.tokens]
            counts = " and ".join(map(str, tokens))
            if tokens[0] == tokens[1]:
                counts = f"{tokens[0]}, but in passages of a different order or length"
            reasons.append(f"different tokens were scored ({counts})")
    counted = len(first.articles), len(second.articles)
    if not reasons and counted[0] != counted[1]:
        reasons.append(f"{counted[0]} and {counted[1]} passages; expected the same ones")
    return reasons


def _unlike(first: Result, second: Result) -> dict[str, tuple[str, str]]:
    """Return the fields that keep two results from being compared, with their values."""
    differing = {}
    for field in REASONS_UNLIKE:
        absent = "0" if field == CHARACTERS_LOST else "-"
        first_value, second_value = (result.signature.get(field, absent) for result in (first, second))
        if first_value != second_value or (field == CHARACTERS_LOST and first_value != absent):
            differing[field] = first_value, second_value
    return differing


def _scored(result: Result) -> list[tuple[int, ...]]:
    """Return the counts that identify each passage."""
    if _in_windows(result):
        return [(passage.file_bytes,) for passage in result.articles]
    return [(passage.tokens, passage.page_words) for passage in result.articles]


def _in_windows(result: Result) -> bool:
    return result.signature.get("context") == "window"


def expect_alike(first: Result, second: Result, allow: Collection[str] = ()) -> None:
    """Reject results that cannot be compared, with the options that help."""
    if reasons := why_unlike(first, second, allow):
        fields = list(_unlike(first, second))
        ways = "Measure both in the same way"
        if not why_unlike(first, second, fields):
            ways += f", or compare them as they are with {' '.join(f'--allow {field}' for field in fields)}"
        raise HarnessError(
            f"{first.model} and {second.model} cannot be compared: {'; '.join(reasons)}. {ways}"
        )
