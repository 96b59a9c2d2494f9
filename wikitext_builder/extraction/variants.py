"""Chinese text written in more than one script: `-{zh-hans:A; zh-hant:B}-`."""

from __future__ import annotations

import re

VARIANT = re.compile(r"-\{([^{}]{0,500})\}-")
# A semicolon ends a rule only before the next one: it also ends entities.
BETWEEN_RULES = re.compile(r";\s*(?=(?:[^;]{0,200}=>\s*)?zh(?:-\w+)?\s*:|\Z)", re.IGNORECASE)
CODE = re.compile(r"zh(?:-\w+)?", re.IGNORECASE)
PREFERRED = ("zh-hans", "zh-cn", "zh", "zh-hant", "zh-tw", "zh-hk")  # simplified first, as most articles are


def choose_variant(text: str) -> str:
    """The text with one script chosen where it gives several; rules that show nothing are removed.

    >>> choose_variant("-{zh-hans:计算机; zh-hant:電腦}-、-{只}-、-{H|zh-cn:a;zh-tw:b}-")
    '计算机、只、'
    """
    return VARIANT.sub(_chosen, text) if "-{" in text else text


def _chosen(match: re.Match[str]) -> str:
    flags, bar, rules = match[1].rpartition("|")
    if bar and {"H", "T", "-"} & {flag.strip() for flag in flags.split(";")}:
        return ""
    pairs = [rule.partition(":") for rule in BETWEEN_RULES.split(rules)]
    named = {name.rpartition("=>")[2].strip().lower(): value.strip() for name, colon, value in pairs if colon}
    codes = [name for name in named if CODE.fullmatch(name)]
    return next((named[name] for name in (*PREFERRED, *codes) if name in named), rules.strip())
