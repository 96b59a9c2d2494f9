"""Which stored result is meant by a name, and which two can be compared; what helps if they cannot."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Sequence
from difflib import get_close_matches
from pathlib import Path, PurePath
from typing import Final

from lm_benchmarks.choices import COMPARE_ONLY, MUST_AGREE, SAME
from lm_benchmarks.errors import HarnessError
from lm_benchmarks.records import Result, Trained, portable

FIELDS: Final = re.compile(r"(?P<name>.+)\[(?P<fields>\s*[a-z_0-9]+=[^\]]*)\]", re.DOTALL)
SHOWN: Final = 60  # characters of a name in an error
LISTED: Final = 5  # models in an error, those with the nearest names


def find_runs(results: Sequence[Result], name: str, split: str, path: Path) -> list[Result]:
    """The last result of a model on a split, or those of one recipe with several seeds, in their order.

    The name is what the model was called when it was measured (for a checkpoint also its folder), or its name
    in tables or in signatures. Upper and lower case are the same. `name[key=value,…]` chooses by fields of
    the signature. A result on a single file is of every split. The path is for errors.
    """
    name, fields = _chosen(name)
    wanted = _spellings(name)
    on_split = [result for result in results if result.signature["split"] in (split, "file")]
    found = [result for result in on_split if wanted & names_of(result)]
    if not found:
        others = {one.signature["split"]: None for one in results if wanted & names_of(one)}
        hint = f". Choose {' or '.join(f'--split {other}' for other in others)}" if others else ""
        raise HarnessError(
            f"{path}: no result of {name} on {split}; there are {_nearest(results, name)}{hint}"
        )
    if fields:
        fitting = [one for one in found if fields.items() <= dict(one.signature).items()]
        if not fitting:
            signatures = "; ".join(dict.fromkeys(str(one.signature) for one in found))
            asked = ",".join(f"{key}={value}" for key, value in fields.items())
            raise HarnessError(f"{path}: no result of {name} has {asked}; there are {signatures}")
        found = fitting
    last = {identity_of(result): result for result in found}
    if len(last) > 1 and not _differ_by_seed(last.values()):
        raise HarnessError(
            f"{path}: {name} on {split} fits several models: {_listed(found)}; use a name that fits one,"
            f' such as "{name}[model={found[-1].signature["model"]}]".'
            " Seeds of one recipe count together if nothing else differs and their logs say that all ended"
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


def _chosen(name: str) -> tuple[str, dict[str, str]]:
    """A name, and the fields of a signature that are given after it in brackets."""
    match = FIELDS.fullmatch(name)
    if not match:
        return name, {}
    pairs = (field.partition("=") for field in match["fields"].split(","))
    return match["name"], {key.strip(): value.strip() for key, _, value in pairs}


def names_of(result: Result) -> set[str]:
    """Every name by which a result can be found, in lower case."""
    given = result.specification
    names = {result.model, result.signature["model"]}
    if given:
        names |= _spellings(given)
        path = PurePath(given)
        names.add(
            (path.parent if path.suffix == ".safetensors" else path).name if ":" not in given else given
        )
    return {name.casefold() for name in names if name}


def _spellings(name: str) -> set[str]:
    """A name as it was given, without this machine's folders, and as a tidy path."""
    return {spelled.casefold() for spelled in (name, portable(name), str(PurePath(portable(name))))}


def identity_of(result: Result) -> tuple[str, str]:
    """What distinguishes models: a result measured again has the same."""
    return result.model, result.signature["model"]


def _nearest(results: Sequence[Result], name: str) -> str:
    """The models whose names are nearest to one that finds none, and how many others there are."""
    named = {spelled: identity_of(result) for result in results for spelled in names_of(result)}
    near = get_close_matches(portable(name).casefold(), named, n=len(named), cutoff=0.0)
    models = list(dict.fromkeys(named[one] for one in near))
    shown = _listed(one for model in models[:LISTED] for one in results if identity_of(one) == model)
    return f"{shown}, and {len(models) - LISTED} more" if len(models) > LISTED else shown


def _listed(results: Iterable[Result]) -> str:
    """Models with the splits that they were measured on, and other names that find them."""
    splits: dict[tuple[str, str], dict[str, None]] = {}
    for result in results:
        line = " ".join(result.specification.split())  # a command can have several
        short = line if len(line) <= SHOWN else line[: SHOWN - 1] + "…"
        known = dict.fromkeys((short, result.signature["model"]))
        also = ", ".join(name for name in known if name and name.casefold() != result.model.casefold())
        splits.setdefault((result.model, also), {})[result.signature["split"]] = None
    lines = (
        f"{model} ({', '.join(on)}{f'; also {also}' if also else ''})" for (model, also), on in splits.items()
    )
    return ", ".join(lines)


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
        raise HarnessError(
            f"{first.model} and {second.model} cannot be compared: {'; '.join(reasons)}. "
            + remedy(first, second, allow)
        )


def remedy(first: Result, second: Result, allow: Collection[str]) -> str:
    """The options with which two results can be compared: those of `run`, or `--allow`."""
    unlike = (one for one in UNLIKE if first.signature.get(one) != second.signature.get(one))
    fields = [field for field in unlike if field not in allow]
    if not fields:
        return f"Measure both with the same {'--convention paper' if _in_windows(first) else '--data'}"
    same = " and ".join(dict.fromkeys(SAME[field] for field in fields if field in SAME))
    remedies = [f"Measure both with the same {same}"] if same else []
    if "convention" in fields:
        remedies.append('choose one that has it already, as in "MODEL[convention=paper]"')
    if not why_unlike(first, second, {*allow, *fields}):
        asked = " ".join(f"--allow {field}" for field in (*allow, *fields))
        remedies.append(f"compare them as they are with {asked}")
    text = ", or ".join(remedies) or "Choose other results"
    return text[0].upper() + text[1:]
