"""Whether two results measure the same thing, so that they can be compared, and what helps if they do not."""

from __future__ import annotations

from collections.abc import Collection
from typing import Final

from lm_benchmarks.choices import COMPARE_ONLY, MUST_AGREE, SAME
from lm_benchmarks.errors import HarnessError
from lm_benchmarks.records.result import Result

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
            reasons.append(f"different tokens were scored ({first.total.tokens} and {second.total.tokens})")
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
    if len(first.articles) != len(second.articles):
        raise HarnessError(
            f"{first.model} and {second.model} have {len(first.articles)} and {len(second.articles)}"
            " passages; expected the same ones: measure both with the same --data, --split and --convention"
        )


def remedy(first: Result, second: Result, allow: Collection[str]) -> str:
    """The options with which two results can be compared: those of `run`, or `--allow`."""
    unlike = (one for one in UNLIKE if first.signature.get(one) != second.signature.get(one))
    fields = [field for field in unlike if field not in allow]
    if not fields:
        return f"Measure both with the same {'--convention paper' if _in_windows(first) else '--data'}"
    same = " and ".join(dict.fromkeys(SAME[field] for field in fields if field in SAME))
    whole = not why_unlike(first, second, {*allow, *fields}) and len(first.articles) == len(second.articles)
    remedies = [f"Measure both with the same {same}"] if same else []
    if "convention" in fields:
        remedies.append('choose one that has it already, as in "MODEL[convention=paper]"')
    if whole:
        asked = " ".join(f"--allow {field}" for field in (*allow, *fields))
        remedies.append(f"compare them as they are with {asked}")
    text = ", or ".join(remedies) or "Choose other results"
    return text[0].upper() + text[1:]
