"""Any program as a language model: it reads tokens on stdin and prints log-probabilities.

The protocol, one line at a time, in UTF-8:

- A line of tokens separated by spaces, with `<unk>` and `<eos>`: the text continues. The program answers with
  one line of natural log-probabilities separated by spaces, one per token, each given all earlier tokens of
  this text. It then flushes its output.
- A blank line: a new text starts. No answer.

The program should end when its input ends. If it fails, the error shows its status and the last lines that it
printed on stderr.
"""

from __future__ import annotations

import math
import os
import re
import select
import subprocess
import tempfile
import weakref
from collections.abc import Sequence
from pathlib import Path, PurePath
from time import monotonic
from typing import Final

import torch
from torch import Tensor

from lm_benchmarks.choices import DEFAULTS, HarnessError
from wikitext_builder.dataset.vocabulary import Vocabulary
from wikitext_builder.errors import without_secrets
from wikitext_builder.tables import one_line

LINE: Final = 256  # tokens per line at most: a pipe usually holds more, so neither side waits for the other
LONGEST: Final = 1 << 20  # bytes of an answer
COMPLAINTS: Final = 5  # last lines of stderr in an error
NAME: Final = 40  # characters of a program's name
GRACE: Final = 2.0  # seconds that the program has to end after its input ends


def program_name(words: Sequence[str], data: Path) -> str:
    """What to call a program in tables: its name, its script if it has one, and its options.

    Options that come before a script are those of the program that runs it. Folders and files of the dataset
    are left out.

    >>> program_name("awk -W interactive -f unigram.awk ptb/ptb.train.txt -".split(), Path("ptb"))
    'awk unigram.awk'
    """
    rest = list(words[1:])
    scripts = (place for place, word in enumerate(rest) if re.fullmatch(r"[^-].*\.[A-Za-z]\w*", word))
    words_of_it = (word for word in rest[next(scripts, 0) :] if word != "-")
    own = [word for word in words_of_it if not Path(word).absolute().is_relative_to(data.absolute())]
    name = " ".join(PurePath(word).name or word for word in (words[0], *own))
    return one_line(name if len(name) <= NAME else name[: NAME - 1] + "…")


class Command:
    """A program that scores tokens. The state is the text so far, (batch, time).

    The program starts when it is first needed. If the state is what it read last, the text continues; else a
    new text starts and the program reads the state again.
    """

    def __init__(
        self, words: Sequence[str], vocabulary: Vocabulary, *, patience: float = DEFAULTS["patience"]
    ) -> None:
        self._words = tuple(words)
        self._vocabulary = vocabulary
        self._patience = patience
        self._process: _Process | None = None
        self._read = torch.empty(0, dtype=torch.int64)  # what the program has read of the current text

    def initial_state(self, batch_size: int) -> Tensor:
        """The start of a text."""
        return torch.empty(batch_size, 0, dtype=torch.int64)

    def __call__(self, tokens: Tensor, state: Tensor) -> tuple[Tensor, Tensor]:
        """Score tokens (batch, time), in float64; see `LanguageModel`."""
        try:
            rows = [self._row(row, past) for row, past in zip(tokens.cpu(), state.cpu(), strict=True)]
        except HarnessError:
            self._process = None  # it has ended; whoever asks again starts another one
            raise
        scores = torch.tensor(rows, dtype=torch.float64).reshape(tokens.shape)
        return scores.to(tokens.device), torch.cat([state, tokens.to(state.device)], dim=1)

    def _row(self, tokens: Tensor, past: Tensor) -> list[float]:
        if self._process is None:
            self._process = _Process(self._words, self._patience)
            self._read = torch.empty(0, dtype=torch.int64)
        if not torch.equal(self._read, past):
            self._process.send("")
            self._read = past[:0]
            self._ask(past)
        return self._ask(tokens)

    def _ask(self, tokens: Tensor) -> list[float]:
        assert self._process is not None  # noqa: S101 - for mypy: _row has started it
        answers: list[float] = []
        for part in torch.split(tokens, LINE) if len(tokens) else ():
            self._process.send(" ".join(self._vocabulary.decode(part.tolist())))
            answers += self._process.numbers(len(part))
            self._read = torch.cat([self._read, part])
        return answers


class _Process:
    """A running program; its failures are errors of ours."""

    def __init__(self, words: Sequence[str], patience: float) -> None:
        self._name = without_secrets(" ".join(words))[:80]
        self._patience = patience
        self._rest = b""
        self._complaints = tempfile.TemporaryFile()  # noqa: SIM115 - lives as long as the process
        try:
            self._process = subprocess.Popen(  # noqa: S603 - the user's own command
                words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self._complaints, bufsize=0
            )
        except (OSError, ValueError) as error:  # ValueError: a null byte in a word
            why = error.strerror if isinstance(error, OSError) else error
            raise HarnessError(f"command {self._name!r}: {why}; expected a program") from error
        assert self._process.stdin and self._process.stdout  # noqa: S101, PT018 - for mypy: they are pipes
        self._stdin, self._stdout = self._process.stdin.fileno(), self._process.stdout.fileno()
        os.set_blocking(self._stdin, False)  # it may never read
        weakref.finalize(self, _end, self._process)

    def send(self, line: str) -> None:
        left, deadline = line.encode() + b"\n", monotonic() + self._patience
        while left:
            if not select.select([], [self._stdin], [], max(0.0, deadline - monotonic()))[1]:
                raise self._failed(f"did not read its input in {self._patience:g} s")
            try:
                left = left[os.write(self._stdin, left) :]
            except OSError as error:
                raise self._failed("ended before it read everything") from error

    def numbers(self, count: int) -> list[float]:
        line = self._line()
        try:
            values = [float(word) for word in line.split()]
        except ValueError:
            values = []
        if len(values) != count or not all(math.isfinite(value) for value in values):
            said = f"{line[:60]!r}" + (f" … ({len(line.split())} words)" if len(line) > 60 else "")
            blank = "" if line.strip() else "; a blank line starts a text and has no answer"
            raise self._failed(f"answered {said}, expected {count} finite natural log-probabilities{blank}")
        return values

    def _line(self) -> str:
        deadline = monotonic() + self._patience
        while b"\n" not in self._rest:
            if not select.select([self._stdout], [], [], max(0.0, deadline - monotonic()))[0]:
                raise self._failed(f"did not answer in {self._patience:g} s; does it flush after each line?")
            if not (content := os.read(self._stdout, 1 << 16)):
                raise self._failed("ended without an answer")
            self._rest += content
            if len(self._rest) > LONGEST:
                raise self._failed(f"printed more than {LONGEST} bytes without a line of numbers")
        line, _, self._rest = self._rest.partition(b"\n")
        return line.decode(errors="replace")

    def _failed(self, what: str) -> HarnessError:
        _end(self._process)
        self._complaints.seek(0)
        lines = self._complaints.read().decode(errors="replace").strip().splitlines()
        last = " | ".join(without_secrets(line)[:200] for line in lines[-COMPLAINTS:])
        printed = f"; it printed: {last}" if last else ""
        return HarnessError(f"command {self._name!r} {what} (status {self._process.returncode}){printed}")


def _end(process: subprocess.Popen[bytes]) -> None:
    """Wait for a program to end, then kill it."""
    for pipe in (process.stdin, process.stdout):
        if pipe is not None:
            pipe.close()
    try:
        process.wait(GRACE)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
