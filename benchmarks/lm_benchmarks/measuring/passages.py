"""A part of a dataset in the passages that are scored one by one, and how they are counted."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Final

import torch
from torch import Tensor

from lm_benchmarks.measuring import lm_eval
from lm_benchmarks.metrics import Tally
from ps_models.data.dataset import Text, read_texts
from wikitext_builder.dataset.files import read_lines
from wikitext_builder.dataset.load import Dataset
from wikitext_builder.dataset.vocabulary import EOS, UNK, Vocabulary
from wikitext_builder.errors import BuilderError
from wikitext_builder.tokens.detokenizer import detokenize_line

PAPER: Final = "paper"
CONVENTIONS: Final = {PAPER: PAPER, "lm-eval": lm_eval.CONVENTION}  # name: how signatures call it
BLOCK: Final = 100  # lines of a passage where a file has no articles


@dataclass(frozen=True, slots=True, kw_only=True)
class Passage:
    """An article, a page, or a block of lines of a file that has none."""

    text: Text
    page: str = ""  # as it lies in the file; only where pages are counted


def read_passages(
    dataset: Dataset, split: str, vocabulary: Vocabulary, *, convention: str = PAPER, context: str = "carried"
) -> tuple[str, list[Passage]]:
    """What a passage is, in a word for signatures, and all passages of a part, in order.

    A file without articles is cut into blocks of lines, so that differences can be told from chance. It is
    not cut where each passage begins anew: it would be another text.

    Raises:
        BuilderError: The part is missing, empty or not of the format, or there is no such convention.
    """
    if convention not in CONVENTIONS:
        raise BuilderError(f"convention {convention!r}; expected {' or '.join(CONVENTIONS)}")
    if convention != PAPER:
        pages = lm_eval.read_pages(dataset.file(split))
        return "page", [Passage(text=_encoded(page, vocabulary), page=page) for page in pages]
    texts = list(read_texts(dataset, split, vocabulary))
    if len(texts) == 1 and context == "carried":
        return f"{BLOCK}-lines", [Passage(text=text) for text in _blocks(texts[0], vocabulary)]
    return "article", [Passage(text=text) for text in texts]


def raw_file(dataset: Dataset, split: str) -> Path:
    """The file of a part before rare words became `<unk>`, which lm-evaluation-harness reads.

    Raises:
        BuilderError: There is none beside the file of tokens.
    """
    path = dataset.file(split)
    raw = path if path.suffix == ".raw" else path.with_suffix(".raw")
    if not raw.is_file():
        raise BuilderError(f"{raw}: not found; lm-evaluation-harness' convention needs the raw file")
    return raw


def tally(passage: Passage, nats: Tensor, pieces: int, vocabulary: Vocabulary) -> Tally:
    """The sums of a passage.

    Args:
        passage: What was scored.
        nats: -log p of each of its tokens.
        pieces: What the model itself predicted one by one.
        vocabulary: Of the ids.
    """
    tokens = passage.text.tokens
    eos, unknown = tokens == vocabulary.ids[EOS], tokens == vocabulary.ids[UNK]
    return Tally(
        nats=float(nats.sum()),
        eos_nats=float(nats[eos].sum()),
        unknown_nats=float(nats[unknown].sum()),
        tokens=len(tokens),
        eos=int(eos.sum()),
        unknown=int(unknown.sum()),
        pieces=pieces,
        bytes=passage.text.bytes,
        text_bytes=_untokenized_bytes(tokens, vocabulary),
        page_words=lm_eval.word_count(passage.page) if passage.page else 0,
        page_bytes=len(passage.page.encode()),
    )


def page_tally(page: str, nats: float, pieces: int) -> Tally:
    """The sums of a page that was scored as untokenized text."""
    return Tally(
        nats=nats,
        pieces=pieces,
        text_bytes=len(lm_eval.untokenized(page).encode()),
        page_words=lm_eval.word_count(page),
        page_bytes=len(page.encode()),
    )


def vocabulary_of(dataset: Dataset, split: str) -> Vocabulary:
    """The words of a dataset's train file; where there is none, those of the part itself."""
    return Vocabulary.of_file(dataset.file("train" if "train" in dataset.files else split))


def train_counts(dataset: Dataset, vocabulary: Vocabulary) -> Tensor | None:
    """How often each word of the vocabulary is in train, (vocabulary,); None where there is no train file."""
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
        yield Text(tokens, sum(len(line.encode()) + 1 for line in _lines(tokens, vocabulary)))


def _lines(tokens: Tensor, vocabulary: Vocabulary) -> Iterable[str]:
    words: list[str] = []
    for token in vocabulary.decode(tokens.tolist()):
        if token == EOS:
            yield " ".join(words)
            words = []
        else:
            words.append(token)


def _untokenized_bytes(tokens: Tensor, vocabulary: Vocabulary) -> int:
    return sum(len(detokenize_line(line).encode()) + 1 for line in _lines(tokens, vocabulary))
