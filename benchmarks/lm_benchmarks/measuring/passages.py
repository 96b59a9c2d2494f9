"""A split of a dataset as the passages that are scored one by one, and how they are counted."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Final

import torch
from torch import Tensor

from lm_benchmarks import lm_eval
from lm_benchmarks.choices import CONVENTIONS, PAPER
from lm_benchmarks.errors import HarnessError
from lm_benchmarks.metrics import lines_of
from ps_models.data.dataset import Text, read_texts
from wikitext_builder.dataset.files import read_lines
from wikitext_builder.dataset.load import Dataset
from wikitext_builder.dataset.vocabulary import EOS, Vocabulary

BLOCK: Final = 100  # lines per passage of a file without articles


@dataclass(frozen=True, slots=True, kw_only=True)
class Passage:
    """An article, a page, or a block of lines of a file without articles."""

    text: Text
    page: str = ""  # as it is in the file; only if pages are counted


def read_passages(
    dataset: Dataset, split: str, vocabulary: Vocabulary, *, convention: str = PAPER, context: str = "carried"
) -> tuple[str, list[Passage]]:
    """What a passage is, in a word for signatures, and all passages of a split, in order.

    A file without articles is cut into blocks of lines, so that an interval can be given for a difference. If
    each passage starts without context it is not cut: it would be a different text.

    Raises:
        HarnessError: The split is missing, empty or not of the format, or there is no such convention.
    """
    if convention not in CONVENTIONS:
        raise HarnessError(f"convention {convention!r}; expected {' or '.join(CONVENTIONS)}")
    if convention != PAPER:
        pages = lm_eval.read_pages(dataset.file(split))
        return "page", [Passage(text=_encoded(page, vocabulary), page=page) for page in pages]
    texts = list(read_texts(dataset, split, vocabulary))
    if len(texts) == 1 and context == "carried":
        return f"{BLOCK}-lines", [Passage(text=text) for text in _blocks(texts[0], vocabulary)]
    return "article", [Passage(text=text) for text in texts]


def raw_file(dataset: Dataset, split: str) -> Path:
    """The file of a split with its rare words, which most tools read.

    Raises:
        HarnessError: There is no such file beside the file of tokens.
    """
    path = dataset.file(split)
    raw = path if path.suffix == ".raw" else path.with_suffix(".raw")
    if not raw.is_file():
        raise HarnessError(f"{raw}: not found; the convention needs the raw file")
    return raw


def vocabulary_of(dataset: Dataset, split: str) -> Vocabulary:
    """The words of a dataset's train file, or of the split itself if there is no train file."""
    return Vocabulary.of_file(dataset.file("train" if "train" in dataset.files else split))


def train_counts(dataset: Dataset, vocabulary: Vocabulary) -> Tensor | None:
    """The count of each word in train, (vocabulary,); None if there is no train file."""
    if dataset.layout == "file" or "train" not in dataset.files:
        return None
    counts: Counter[str] = Counter()
    for line in read_lines(dataset.file("train")):
        counts.update(line.split())
        counts[EOS] += 1
    total = torch.zeros(len(vocabulary), dtype=torch.int64)
    for word, count in counts.items():
        total[vocabulary.ids.get(word, 0)] += count
    return total


def _encoded(page: str, vocabulary: Vocabulary) -> Text:
    lines = page.removesuffix("\n").split("\n")
    tokens = [token for line in lines for token in (*line.split(), EOS)]
    return Text(
        torch.tensor(vocabulary.encode(tokens)), sum(len(line.strip().encode()) + 1 for line in lines)
    )


def _blocks(text: Text, vocabulary: Vocabulary) -> Iterator[Text]:
    ends = (text.tokens == vocabulary.ids[EOS]).nonzero()[:, 0] + 1
    cuts = [0, *ends[BLOCK - 1 :: BLOCK].tolist()]
    if cuts[-1] != len(text.tokens):
        cuts.append(len(text.tokens))
    sizes = [end - begin for begin, end in pairwise(cuts)]
    for tokens in torch.split(text.tokens, sizes):
        yield Text(tokens, sum(len(line.encode()) + 1 for line in lines_of(tokens, vocabulary)))
