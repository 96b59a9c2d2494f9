"""What values a hyperparameter can have: its field in a configuration says so, and `Config` checks it.

>>> @dataclass(frozen=True, kw_only=True)
... class Sizes(Config):
...     hidden_size: Size = 650
>>> Sizes(hidden_size=0)
Traceback (most recent call last):
    ...
ps_models.errors.ModelError: hidden_size=0: expected 1 or more
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Annotated, Any, Final, get_args, get_type_hints

from ps_models.errors import ModelError

PRECISIONS: Final = ("fp32", "tf32", "bf16")  # of arithmetic


@dataclass(frozen=True, slots=True, kw_only=True)
class Range:
    """Numbers from `least` to below `end`.

    Attributes:
        least: The least number; with `above` the number that all are greater than.
        above: `least` itself is not in the range.
        end: A number, or the name of the field that holds it.
        through: `end` itself is in the range.
    """

    least: float = 0.0
    above: bool = False
    end: float | str = math.inf
    through: bool = False

    def expected(self, value: Any, config: Config) -> str:  # noqa: ANN401 - Python does not check it
        """What is expected in place of a value; "" if the value is in the range.

        >>> Range(end=1.0).expected(1.0, Config()), Range(end=1.0).expected(0.5, Config())
        ('0 or more, and less than 1', '')
        """
        if not isinstance(value, int | float):
            return "a number"
        end = self.end if isinstance(self.end, int | float) else getattr(config, self.end)
        if (value > self.least if self.above else value >= self.least) and (
            value <= end if self.through else value < end
        ):
            return ""
        least = f"more than {self.least:g}" if self.above else f"{self.least:g} or more"
        if end < math.inf:
            name = f"{self.end}=" if isinstance(self.end, str) else ""
            return f"{least}, and {'at most' if self.through else 'less than'} {name}{end:g}"
        return least if isinstance(value, int) else f"{least}, and finite"


@dataclass(frozen=True, slots=True)
class OneOf:
    """One of some names, such as the keys of a registry."""

    names: Iterable[str]

    def expected(self, value: Any, config: Config) -> str:  # noqa: ANN401 - Python does not check it
        """What is expected in place of a value; "" if the value is one of the names."""
        del config
        return "" if value in self.names else ", ".join(self.names)


Size = Annotated[int, Range(least=1)]
Count = Annotated[int, Range()]
Window = Annotated[int, Range(least=1, end=2**16, through=True)]  # states are as long, and no weights say so
Rate = Annotated[float, Range(end=1.0)]
Amount = Annotated[float, Range()]
Finite = Annotated[float, Range(least=-math.inf, above=True)]
Positive = Annotated[float, Range(above=True)]
Share = Annotated[float, Range(above=True, end=1.0)]
WordId = Annotated[int, Range(end="vocab_size")]


@dataclass(frozen=True, kw_only=True)
class Config:
    """A configuration whose fields say what values they can have; see the module.

    Raises:
        ModelError: A value is out of its range.
    """

    def __post_init__(self) -> None:
        own: type = type(self)
        for name, limit in _limits(own):
            value = getattr(self, name)
            if value is not None and (expected := limit.expected(value, self)):
                raise ModelError(f"{name}={value}: expected {expected}")

    @classmethod
    def completed(cls, fields: Mapping[str, Any]) -> dict[str, Any]:
        """The fields of a checkpoint, with what fields that did not exist when it was written stood for.

        A configuration overrides it if that differs from a default of today.
        """
        return dict(fields)


@cache
def _limits(config_class: type) -> tuple[tuple[str, Range | OneOf], ...]:
    """The fields of a configuration that have a limit, each with it."""
    hints = get_type_hints(config_class, include_extras=True)
    kinds = ((name, kind) for name, hint in hints.items() for kind in (hint, *get_args(hint)))
    found = ((name, part) for name, kind in kinds for part in getattr(kind, "__metadata__", ()))
    return tuple((name, part) for name, part in found if isinstance(part, Range | OneOf))
