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

LINE_TOKENS: Final = 256  # at most; a pipe usually holds more, so neither side waits for the other
MAX_ANSWER_BYTES: Final = 1 << 20
STDERR_LINES: Final = 5  # the last ones, in an error
MAX_NAME_CHARACTERS: Final = 40
EXIT_SECONDS: Final = 2.0  # for the program to end after its input ends


def program_name(words: Sequence[str], data: Path) -> str:
    """Return what tables call a program: its name, its script if it has one, and its options.

    Options before a script belong to the program that runs it. Folders and files of the dataset are omitted.

    >>> program_name("awk -W interactive -f unigram.awk ptb/ptb.train.txt -".split(), Path("ptb"))
    'awk unigram.awk'
    """
    rest = list(words[1:])
    scripts = (index for index, word in enumerate(rest) if re.fullmatch(r"[^-].*\.[A-Za-z]\w*", word))
    from_script = (word for word in rest[next(scripts, 0) :] if word != "-")
    words_shown = [word for word in from_script if not Path(word).absolute().is_relative_to(data.absolute())]
    name = " ".join(PurePath(word).name or word for word in (words[0], *words_shown))
    return one_line(name if len(name) <= MAX_NAME_CHARACTERS else name[: MAX_NAME_CHARACTERS - 1] + "…")


class Command:
    """A program that scores tokens. The state is the text so far, (batch, time).

    The program starts when it is first needed. If the state is what it read last, the text continues.
    Otherwise a new text starts and the program reads the state again.
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
            self._process = None  # it has ended; the next call starts another one
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
        for part in torch.split(tokens, LINE_TOKENS) if len(tokens) else ():
            self._process.send(" ".join(self._vocabulary.decode(part.tolist())))
            answers += self._process.numbers(len(part))
            self._read = torch.cat([self._read, part])
        return answers


class _Process:
    """A running program, whose failures become HarnessErrors."""

    def __init__(self, words: Sequence[str], patience: float) -> None:
        self._name = without_secrets(" ".join(words))[:80]
        self._patience = patience
        self._rest = b""
        self._stderr = tempfile.TemporaryFile()  # noqa: SIM115 - lives as long as the process
        try:
            self._process = subprocess.Popen(  # noqa: S603 - the user's own command
                words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self._stderr, bufsize=0
            )
        except (OSError, ValueError) as error:  # ValueError: a null byte in a word
            why = error.strerror if isinstance(error, OSError) else error
            raise HarnessError(f"command {self._name!r}: {why}; expected a program") from error
        assert self._process.stdin and self._process.stdout  # noqa: S101, PT018 - for mypy: they are pipes
        self._stdin, self._stdout = self._process.stdin.fileno(), self._process.stdout.fileno()
        os.set_blocking(self._stdin, False)  # the program may never read
        weakref.finalize(self, _end, self._process)

    def send(self, line: str) -> None:
        unsent, deadline = line.encode() + b"\n", monotonic() + self._patience
        while unsent:
            if not select.select([], [self._stdin], [], max(0.0, deadline - monotonic()))[1]:
                raise self._failed(f"did not read its input in {self._patience:g} s")
            try:
                unsent = unsent[os.write(self._stdin, unsent) :]
            except OSError as error:
                raise self._failed("ended before it read everything") from error

    def numbers(self, count: int) -> list[float]:
        line = self._line()
        try:
            values = [float(word) for word in line.split()]
        except ValueError:
            values = []
        if len(values) != count or not all(math.isfinite(value) for value in values):
            answer = f"{line[:60]!r}" + (f" … ({len(line.split())} words)" if len(line) > 60 else "")
            blank = "" if line.strip() else "; a blank line starts a text and has no answer"
            raise self._failed(f"answered {answer}, expected {count} finite natural log-probabilities{blank}")
        return values

    def _line(self) -> str:
        deadline = monotonic() + self._patience
        while b"\n" not in self._rest:
            if not select.select([self._stdout], [], [], max(0.0, deadline - monotonic()))[0]:
                raise self._failed(f"did not answer in {self._patience:g} s; does it flush after each line?")
            if not (content := os.read(self._stdout, 1 << 16)):
                raise self._failed("ended without an answer")
            self._rest += content
            if len(self._rest) > MAX_ANSWER_BYTES:
                raise self._failed(f"printed more than {MAX_ANSWER_BYTES} bytes without a line of numbers")
        line, _, self._rest = self._rest.partition(b"\n")
        return line.decode(errors="replace")

    def _failed(self, failure: str) -> HarnessError:
        _end(self._process)
        self._stderr.seek(0)
        lines = self._stderr.read().decode(errors="replace").strip().splitlines()
        last = " | ".join(without_secrets(line)[:200] for line in lines[-STDERR_LINES:])
        printed = f"; it printed: {last}" if last else ""
        return HarnessError(f"command {self._name!r} {failure} (status {self._process.returncode}){printed}")


def _end(process: subprocess.Popen[bytes]) -> None:
    """Give a program time to end, then kill it."""
    for pipe in (process.stdin, process.stdout):
        if pipe is not None:
            pipe.close()
    try:
        process.wait(EXIT_SECONDS)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
