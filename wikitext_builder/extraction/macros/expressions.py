"""Evaluates `#expr`: numbers, brackets and the operators that articles use."""

from __future__ import annotations

import math
import operator
import re
from collections.abc import Callable

TOKEN = re.compile(r"\s*(\d+(?:\.\d*)?(?:[eE][-+]?\d+)?|\.\d+|<=|>=|!=|<>|[-+*/^()<>=]|[a-z]+)")
MAX_LENGTH = 500


def _rounded(value: float, decimals: int) -> float:
    """Round to this number of decimals, halves away from zero; more than 15 decimals change nothing."""
    if decimals > 15 or decimals < -300:
        return value if decimals > 0 else 0.0
    factor = 10.0**decimals
    return math.copysign(math.floor(abs(value) * factor + 0.5) / factor, value)


# Operator: (precedence, function). From MediaWiki's ParserFunctions, ExprParser.
OPERATORS: dict[str, tuple[int, Callable[[float, float], float]]] = {
    "or": (2, lambda a, b: float(bool(a) or bool(b))),
    "and": (3, lambda a, b: float(bool(a) and bool(b))),
    "=": (4, lambda a, b: float(a == b)),
    "!=": (4, lambda a, b: float(a != b)),
    "<>": (4, lambda a, b: float(a != b)),
    "<": (4, lambda a, b: float(a < b)),
    ">": (4, lambda a, b: float(a > b)),
    "<=": (4, lambda a, b: float(a <= b)),
    ">=": (4, lambda a, b: float(a >= b)),
    "round": (5, lambda a, b: _rounded(a, int(b))),
    "+": (6, operator.add),
    "-": (6, operator.sub),
    "*": (7, operator.mul),
    "/": (7, operator.truediv),
    "div": (7, operator.truediv),
    "fmod": (7, math.fmod),
    "mod": (7, lambda a, b: math.fmod(int(a), int(b))),
    "^": (8, operator.pow),
}
FUNCTIONS: dict[str, Callable[[float], float]] = {
    "floor": math.floor, "ceil": math.ceil, "trunc": math.trunc, "abs": abs, "sqrt": math.sqrt,
    "not": lambda a: float(not a), "ln": math.log, "exp": math.exp, "sin": math.sin, "cos": math.cos,
    "tan": math.tan, "asin": math.asin, "acos": math.acos, "atan": math.atan,
}  # fmt: skip
CONSTANTS = {"pi": math.pi, "e": math.e}


def evaluate(text: str) -> float | None:
    """Return the value of an expression, None if it is not one.

    >>> evaluate("2 + 3 * (4 - 1)"), evaluate("7 / 2 round 0"), evaluate("one"), evaluate("1/0")
    (11.0, 4.0, None, None)
    """
    text = text.replace("−", "-").replace("&minus;", "-").lower()
    tokens = TOKEN.findall(text) if len(text) <= MAX_LENGTH else []
    if not tokens or "".join(tokens) != "".join(text.split()):
        return None
    try:
        value, rest = _operation(tokens, 0, 0)
    except (ValueError, ArithmeticError, IndexError, TypeError, RecursionError):
        return None  # MediaWiki also shows an error for it
    return value if rest == len(tokens) and isinstance(value, float) and math.isfinite(value) else None


def _operation(tokens: list[str], position: int, strength: int) -> tuple[float, int]:
    value, position = _operand(tokens, position)
    while position < len(tokens) and tokens[position] in OPERATORS:
        binding, function = OPERATORS[tokens[position]]
        if binding <= strength:
            break
        other, position = _operation(tokens, position + 1, binding)
        value = float(function(value, other))
    return value, position


def _operand(tokens: list[str], position: int) -> tuple[float, int]:
    word = tokens[position]
    if word in {"-", "+"}:
        value, after = _operand(tokens, position + 1)
        return (-value if word == "-" else value), after
    if word == "(":
        value, after = _operation(tokens, position + 1, 0)
        if tokens[after] != ")":
            raise ValueError(f"expected a closing bracket, found {tokens[after]!r}")
        return value, after + 1
    if word in FUNCTIONS:
        value, after = _operand(tokens, position + 1)
        return float(FUNCTIONS[word](value)), after
    if word in CONSTANTS:
        return CONSTANTS[word], position + 1
    return float(word), position + 1
