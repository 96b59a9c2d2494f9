"""What a convention is: the rule by which a tool computes its number of a text, in parts that can be tested.

A rule prepares the file, cuts it into windows, and computes a number from their scores (`rules.py`). Nothing
there reads a file or runs a model: the same functions serve every subword model, and a test can follow them
by hand.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple, Protocol

RAW: Final = "raw"


@dataclass(frozen=True, slots=True)
class Window:
    """What the model reads in one call, and what is scored at the end of it."""

    inputs: Sequence[int]
    targets: Sequence[int]  # the last one follows the last input
    text_bytes: int = 0  # UTF-8 of the text that the targets stand for
    weight: float = 1.0  # of the mean of its losses, if the tool weighs means


@dataclass(frozen=True, slots=True)
class Cut:
    """A text cut into pieces."""

    pieces: tuple[int, ...]
    ends: tuple[int, ...]  # UTF-8 bytes of the text up to the end of each piece; never decreasing

    def window(self, inputs: Sequence[int], begin: int, end: int, *, weight: float = 1.0) -> Window:
        """Make a window with pieces begin to end - 1 as targets; `inputs` are all before the last one."""
        before = self.ends[begin - 1] if begin else 0
        return Window(inputs, self.pieces[begin:end], self.ends[end - 1] - before, weight)


class Lengths(NamedTuple):
    """The lengths of windows."""

    window: int  # pieces
    stride: int | None  # pieces from one window to the next; None: the rule has no stride
    longest: int | None = None  # pieces that the model can read; None: any number


class Tokenizer(Protocol):
    """Cuts texts into pieces, and has the marks of its model."""

    bos: int | None  # the mark of a start; None: it has none
    begin: int  # `bos`, or the mark of an end if there is no `bos`
    begin_mark: str  # `begin` as text
    adds_bos: bool  # True: it puts `bos` before a text

    def cut(self, text: str, *, marks: bool) -> Cut:
        """Cut a text into pieces, with or without the marks that the tokenizer adds by itself."""


class Reader(Protocol):
    """A subword model that reads windows."""

    longest: int | None  # the greatest number of pieces that it can read at once; None: any number

    @property
    def text_pieces(self) -> Tokenizer:
        """Its tokenizer, for plain texts."""

    def window_nats(self, windows: Sequence[Window]) -> list[float]:
        """Return -log p of the targets of each window."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Prepared:
    """A text in the form that the tool gives to its tokenizer."""

    text: str
    file_bytes: int  # UTF-8 of the part of the file that it stands for
    words: int = 0  # the divisor, if the tool divides by words


@dataclass(frozen=True, slots=True, kw_only=True)
class Scored:
    """A window that a model has scored."""

    nats: float  # -log p of its targets
    pieces: int  # targets
    weight: float = 1.0  # see `Window`

    @property
    def mean(self) -> float:
        """The mean of its losses, in nats."""
        return self.nats / self.pieces


Windows = Callable[[str, Tokenizer, Lengths], Iterator[Window]]
Number = Callable[[Sequence[Scored], Sequence[Prepared]], float]


@dataclass(frozen=True, slots=True, kw_only=True)
class Rule:
    """How a number is computed from a file."""

    prepare: Callable[[str], Sequence[Prepared]]  # the file's text in the form for the tool's tokenizer
    windows: Windows  # cuts a text into windows
    number: Number  # computes the number from the scores of all windows


@dataclass(frozen=True, slots=True, kw_only=True)
class Convention:
    """How a tool computes its perplexity, with sources."""

    name: str
    signature: str  # its name in signatures, with the version or commit that was read
    scored: str  # what is scored
    context: str  # what the model sees before it
    normaliser: str  # what the sum is divided by
    preparation: str  # how the text is prepared
    source: str  # where the rule was read: repository, file, commit
    proof: str  # what shows that ours gives the same number
    published: tuple[str, ...] = ()  # numbers with their sources
    text: str = "file"  # the form of the text, as signatures name it
    passage: str = "window"  # the unit that intervals of differences sample, as signatures name it
    file: str = RAW  # the raw file; or `tokens`, the tokenized file
    window: int | None = None  # pieces; None: as many as the model can read
    stride: int | None = None  # pieces; None: the windows do not overlap
    can_stride: bool = False  # True: the tool has an option for overlapping windows
    rule: Rule | None = None  # None: text is scored word by word

    def lengths(self, longest: int | None, window: int | None = None, stride: int | None = None) -> Lengths:
        """Return the window lengths for a model that can read `longest` tokens; None: any number.

        The default window is the convention's, or the model's if that is shorter.
        """
        default = min(limit for limit in (self.window, longest, 2**31) if limit is not None)
        chosen = default if window is None else window
        step = self.stride if stride is None else stride
        return Lengths(chosen, None if step is None else min(step, chosen), longest)
