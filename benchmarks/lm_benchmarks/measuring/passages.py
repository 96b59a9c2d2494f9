"""Splits as passages that are scored separately, groups of their tokens, and windows of conventions.

`lm_eval_task` writes a split for lm-evaluation-harness, which then measures what `convention=lm-eval` does.
The scores of windows that several conventions share are cached while a command runs, so they are read once.
"""

from __future__ import annotations

import hashlib
import json
import math
from array import array
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from importlib.resources import files
from itertools import islice
from pathlib import Path
from typing import Final, NamedTuple

from torch import Tensor

from lm_benchmarks import lm_eval
from lm_benchmarks.choices import GROUPINGS, LM_EVAL, PAPER, HarnessError
from lm_benchmarks.conventions import Convention, Lengths, Prepared, Reader, Rule, Scored, Tokenizer, Window
from lm_benchmarks.conventions.rules import CONVENTIONS
from lm_benchmarks.lm_eval import read_text
from lm_benchmarks.metrics import Sums, lines_of
from lm_benchmarks.records import TokenGroup
from ps_models.dataset import Text, read_texts, text_of_lines
from ps_models.scoring import decades, span
from ps_models.signature import hashed_name, signature_value
from wikitext_builder.dataset.load import Dataset
from wikitext_builder.dataset.load import load as load_dataset
from wikitext_builder.dataset.vocabulary import Vocabulary
from wikitext_builder.progress import Progress
from wikitext_builder.tables import one_line

BLOCK_LINES: Final = 100  # per passage of a file without articles


@dataclass(frozen=True, slots=True, kw_only=True)
class Passage:
    """An article, a page, or a block of lines of a file without articles."""

    text: Text
    page: str = ""  # its text in the file; only if pages are counted
    title: str = ""  # of the article


def read_passages(
    dataset: Dataset, split: str, vocabulary: Vocabulary, *, convention: str = PAPER, context: str = "carried"
) -> tuple[str, list[Passage]]:
    """Return the kind of passage, as signatures name it, and all passages of a split, in order.

    A file without articles is cut into blocks of lines, so that differences can have intervals. If
    passages start without context it is not cut, because that would be a different text.
    """
    if convention != PAPER:
        pages = lm_eval.read_pages(dataset.file(split))
        return "page", [
            Passage(text=_encoded(page, vocabulary), page=page, title=lm_eval.title_of(page))
            for page in pages
        ]
    texts = list(read_texts(dataset, split, vocabulary))
    if len(texts) == 1 and context == "carried":
        return f"{BLOCK_LINES}-lines", [Passage(text=text) for text in _blocks(texts[0], vocabulary)]
    titles = [one_line(article.title) for article in dataset.articles(split) if article.lines]
    pairs = zip(texts, titles, strict=True)
    return "article", [Passage(text=text, title=title) for text, title in pairs]


def vocabulary_of(dataset: Dataset, split: str) -> Vocabulary:
    """Return the words of a dataset's train file, or of the split itself if there is no train file."""
    return Vocabulary.of_file(dataset.file("train" if "train" in dataset.files else split))


def _encoded(page: str, vocabulary: Vocabulary) -> Text:
    return text_of_lines(tuple(map(str.strip, page.removesuffix("\n").split("\n"))), vocabulary)


def _blocks(text: Text, vocabulary: Vocabulary) -> Iterator[Text]:
    lines = tuple(lines_of(text.tokens, vocabulary))
    for start in range(0, len(lines), BLOCK_LINES):
        yield text_of_lines(lines[start : start + BLOCK_LINES], vocabulary)


PARTS: Final = 20  # equally long parts of a text, whose sums are stored for error bars


def groups_of(
    passages: Sequence[tuple[Sequence[int], Sequence[float]]],
    vocabulary: Vocabulary,
    counts: Tensor | None,
    *,
    articles: bool = True,
) -> tuple[TokenGroup, ...]:
    """Group the tokens of passages with their -log p, by frequency and by position.

    `counts` are those of words in train; without a train file there is no grouping by frequency.
    Positions are meaningful only if passages are articles.
    """
    sums: dict[tuple[str, str], list[list[float]]] = defaultdict(lambda: [[0, 0.0] for _ in range(PARTS)])
    total, done = sum(len(tokens) for tokens, _ in passages), 0
    frequency = None if counts is None else decades(vocabulary, counts)
    for tokens, scores in passages:
        for position, (token, nats) in enumerate(zip(tokens, scores, strict=True)):
            labels = {"position": span(position)} if articles else {}
            if frequency is not None:
                labels["frequency"] = frequency[token]
            for label in labels.items():
                part = sums[label][done * PARTS // total]
                part[0] += 1
                part[1] += nats
            done += 1
    groups = [
        TokenGroup(
            by=by,
            label=label,
            tokens=sum(int(count) for count, _ in parts),
            nats=math.fsum(nats for _, nats in parts),
            parts=tuple((int(count), nats) for count, nats in parts),
        )
        for (by, label), parts in sums.items()
    ]
    order = list(GROUPINGS)
    return tuple(sorted(groups, key=lambda group: (order.index(group.by), label_order(group.label))))


def label_order(label: str) -> tuple[int, str]:
    """Order the labels of a grouping: by number, then those without a number."""
    digits = label.split("-")[0].replace(",", "")
    return (int(digits), "") if digits.isdigit() else (10**18, label)


PAGES_FILE: Final = "pages.jsonl"


def lm_eval_task(data: str | Path, out: str | Path, *, split: str = "test") -> Path:
    """Write an lm-evaluation-harness task (0.4.13) for a split of a dataset; return its folder.

    For example, `lm_eval_task("wikitext-demo", "tasks")` writes `tasks/wikitext-demo-test`; then `lm_eval
    --model hf --model_args pretrained=MODEL --tasks wikitext-demo-test --include_path tasks` gives the
    numbers of `measure("transformers:MODEL", "wikitext-demo", convention="lm-eval")`.

    Args:
        data: The dataset, with its raw files.
        out: A folder of tasks, which is created if missing.
        split: `train`, `valid` or `test`. Its pages are copied into the task, so the task can be moved.

    Raises:
        ToolkitError: The dataset or its raw file is missing, the task cannot be written, or a different or
            edited task of this name exists.
    """
    dataset = load_dataset(Path(data))
    path = lm_eval.raw_file(dataset, split)
    name = signature_value(dataset.name)
    task = f"{name}-{split}"
    version = CONVENTIONS[LM_EVAL].rpartition(".")[2]
    signature = hashed_name(name, path)
    texts = files("lm_benchmarks.measuring")
    config, reader = (
        texts.joinpath(file_name).read_text(encoding="utf-8")
        for file_name in ("lm_eval_task.yaml", "lm_eval_pages.txt")
    )
    folder = Path(out) / task
    pages = (json.dumps({"page": page}, ensure_ascii=False) + "\n" for page in lm_eval.read_pages(path))
    texts_of = {
        PAGES_FILE: "".join(pages),
        "pages.py": reader,
        f"{task}.yaml": config.format(split=split, task=task, version=version, data=signature),
    }
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for name, text in texts_of.items():
            if (existing := folder / name).exists() and existing.read_bytes() != text.encode():
                problem = "is of another task of this name, or was edited"
                raise HarnessError(f"{existing}: {problem}; remove {folder}, or use another --out")
        for name, text in texts_of.items():
            (folder / name).write_bytes(text.encode())
    except OSError as error:
        raise HarnessError(f"{folder}: {error.strerror}; expected a folder to write the task to") from error
    return folder


class ScoreCache:
    """A reader that caches scores, so that windows shared by several conventions are read once."""

    def __init__(self, reader: Reader) -> None:
        """Cache the scores of a reader."""
        self.longest = reader.longest
        self.shared = 0  # windows whose score was cached
        self._reader = reader
        self._nats: dict[bytes, float] = {}  # by a digest of the window's pieces

    @property
    def text_pieces(self) -> Tokenizer:
        """The reader's tokenizer, for plain texts."""
        return self._reader.text_pieces

    def window_nats(self, windows: Sequence[Window]) -> list[float]:
        """Return -log p of the targets of each window."""
        keys = [_key(window) for window in windows]
        new = {key: window for key, window in zip(keys, windows, strict=True) if key not in self._nats}
        self.shared += len(windows) - len(new)
        self._nats |= dict(zip(new, self._reader.window_nats(list(new.values())), strict=True))
        return [self._nats[key] for key in keys]


def _key(window: Window) -> bytes:
    pieces = array("q", [len(window.inputs), *window.inputs, *window.targets])
    return hashlib.blake2b(pieces.tobytes(), digest_size=16).digest()


WINDOWS_PER_REPORT: Final = 64  # between two reports of progress


class Measured(NamedTuple):
    """The sums and the number of a convention of windows."""

    articles: tuple[Sums, ...]  # one per window
    number: float  # the tool's number


def measure_windows(
    convention: Convention,
    reader: Reader,
    path: Path,
    *,
    window: int | None,
    stride: int | None,
    progress: Progress,
) -> Measured:
    """Measure a model by a convention of windows.

    The default window is the convention's, or the model's if that is shorter.
    """
    rule = convention.rule
    assert rule is not None  # noqa: S101 - for mypy: the caller has checked
    lengths = _lengths(convention, reader, window, stride)
    texts = rule.prepare(read_text(path))
    cuts = partial(_windows, rule, texts, reader.text_pieces, lengths)
    total, remaining = sum(1 for _ in cuts()), cuts()
    if not total:
        raise HarnessError(
            f"{path.name}: nothing to score by {convention.name}'s convention, which drops a remainder"
            f" shorter than its window of {lengths.window} tokens. Choose a larger split, or a smaller"
            " --window"
        )
    scored, articles = list[Scored](), list[Sums]()
    while group := list(islice(remaining, WINDOWS_PER_REPORT)):  # bounds memory
        nats = reader.window_nats([cut for cut, _ in group])
        for score, (cut, share) in zip(nats, group, strict=True):
            pieces = len(cut.targets)
            scored.append(Scored(nats=score, pieces=pieces, weight=cut.weight))
            articles.append(Sums(nats=score, pieces=pieces, text_bytes=cut.text_bytes, file_bytes=share))
        progress("measure windows", len(scored), total, convention.name)
    return Measured(tuple(articles), rule.number(scored, texts))


def _lengths(convention: Convention, reader: Reader, window: int | None, stride: int | None) -> Lengths:
    if stride is not None and not convention.can_stride:
        raise HarnessError(
            f"--stride {stride} with --convention {convention.name}: its windows do not overlap; leave out"
            " the stride"
        )
    lengths = convention.lengths(reader.longest, window, stride)
    if lengths.window < 2:
        raise HarnessError(f"window {lengths.window}; {convention.name}'s convention needs at least 2")
    return lengths


def _windows(
    rule: Rule, texts: Sequence[Prepared], tokenizer: Tokenizer, lengths: Lengths
) -> Iterator[tuple[Window, int]]:
    """Yield the windows of all texts, with the bytes of the file that their targets stand for.

    A text's bytes of the file are divided among its windows as its own bytes are; the sum is exact.
    """
    for text in texts:
        size, seen, divided = len(text.text.encode()), 0, 0
        for window in rule.windows(text.text, tokenizer, lengths):
            if window.targets:
                seen += window.text_bytes
                share = round(text.file_bytes * seen / size) if size else 0
                yield window, share - divided
                divided = share


def window_fields(
    convention: Convention, reader: Reader, window: int | None, stride: int | None
) -> dict[str, str]:
    """Return what the windows of `measure_windows` add to a signature."""
    lengths, tokenizer = _lengths(convention, reader, window, stride), reader.text_pieces
    step = {} if lengths.stride is None else {"windows_every": str(lengths.stride)}
    return {
        "text": convention.text,
        "passage": convention.passage,
        "context": "window",
        "vocabulary": "none",
        "words": "open",
        "eos": "no",
        "windows": str(lengths.window),
        **step,
        "bos": "no" if tokenizer.bos is None else "added" if tokenizer.adds_bos else "not-added",
    }
