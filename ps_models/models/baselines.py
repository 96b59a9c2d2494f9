"""The baselines that only count, by name: each is computed from a dataset when it is used, and not saved."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ps_models.data.dataset import read_stream, read_texts
from ps_models.language_model import LanguageModel
from ps_models.models.ngram import NGram, NGramConfig
from ps_models.models.unigram import Unigram
from ps_models.models.unigram_cache import UnigramCache, tuned_cache
from wikitext_builder.dataset.load import Dataset
from wikitext_builder.dataset.vocabulary import Vocabulary


def unigram(dataset: Dataset, vocabulary: Vocabulary) -> Unigram:
    """The frequencies of train."""
    return Unigram.of_text(len(vocabulary), read_stream(dataset, "train", vocabulary))


def kn_5(dataset: Dataset, vocabulary: Vocabulary) -> NGram:
    """The 5-grams of train."""
    config = NGramConfig(vocab_size=len(vocabulary))
    return NGram.of_text(config, read_stream(dataset, "train", vocabulary))


def kn_5_cache(dataset: Dataset, vocabulary: Vocabulary) -> UnigramCache[Any]:
    """The 5-grams of train with a cache that is tuned on valid."""
    texts = list(read_texts(dataset, "valid", vocabulary))
    return tuned_cache(kn_5(dataset, vocabulary), texts)


BASELINES: dict[str, Callable[[Dataset, Vocabulary], LanguageModel[Any]]] = {
    "unigram": unigram,
    "kn-5": kn_5,
    "kn-5+cache": kn_5_cache,
}
