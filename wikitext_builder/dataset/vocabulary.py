"""Defines the vocabulary of a dataset: the frequent words of train; `<unk>` replaces all others."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import chain
from pathlib import Path

from wikitext_builder.errors import BuilderError

UNK = "<unk>"  # any word that is not in the vocabulary
EOS = "<eos>"  # the end of a line, even of a blank one


@dataclass(frozen=True)
class Vocabulary:
    """Tokens and their ids: `<unk>` and `<eos>` first, then the most frequent first.

    >>> vocabulary = Vocabulary.of_counts(Counter({"the": 5, "cat": 3, "dodo": 2}), min_count=3)
    >>> vocabulary.tokens
    ('<unk>', '<eos>', 'the', 'cat')
    >>> vocabulary.encode(["the", "dodo"])
    [2, 0]
    """

    tokens: tuple[str, ...]
    ids: Mapping[str, int] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "ids", {token: index for index, token in enumerate(self.tokens)})

    @classmethod
    def of_counts(cls, counts: Mapping[str, int], *, min_count: int = 3) -> Vocabulary:
        """Return the vocabulary of raw train, from the count of each token, without `<eos>`.

        A type must occur at least `min_count` times: 3 in the paper, section 4.3.
        """
        frequent = [
            token for token, count in counts.items() if count >= min_count and token not in (UNK, EOS)
        ]
        return cls((UNK, EOS, *sorted(frequent, key=lambda token: (-counts[token], token))))

    @classmethod
    def of_file(cls, train: Path) -> Vocabulary:
        """Return the vocabulary of a train file whose rare words are replaced already."""
        counts = Counter(chain.from_iterable(read_token_lines(train)))
        return cls.of_counts(counts, min_count=1)

    def __len__(self) -> int:
        return len(self.tokens)

    def __contains__(self, token: str) -> bool:
        return token in self.ids

    def encode(self, tokens: Iterable[str]) -> list[int]:
        """Return the ids of tokens; unknown tokens get the id of `<unk>`, 0."""
        ids = self.ids
        return [ids.get(token, 0) for token in tokens]

    def decode(self, ids: Iterable[int]) -> list[str]:
        """Return the tokens of ids; IndexError: an id is not in the vocabulary."""
        return [self.tokens[index] for index in ids]

    def without_rare(self, line: str) -> str:
        """Replace each token of a line that is not in the vocabulary by `<unk>`."""
        ids = self.ids
        return " ".join([token if token in ids else UNK for token in line.split()])


def read_token_lines(path: Path) -> Iterator[list[str]]:
    """Yield the tokens of each line of a file: WikiText, or any text with tokens separated by spaces.

    `<eos>` stands for the end of a line: in a file it would count twice.
    """
    try:
        with path.open(encoding="utf-8-sig", newline="\n") as file:  # some editors begin a file with U+FEFF
            for number, line in enumerate(file, start=1):
                tokens = line.split()
                if EOS in line and EOS in tokens:
                    raise BuilderError(
                        f"{path}, line {number}: {EOS} as a token; expected a text without it, because each"
                        " line ends in one: remove it"
                    )
                yield tokens
    except (OSError, UnicodeDecodeError) as error:
        raise BuilderError(f"{path}: {error}; expected a token file in UTF-8") from error
