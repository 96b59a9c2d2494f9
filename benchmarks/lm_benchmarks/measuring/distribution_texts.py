"""Two models side by side over a text: how their distributions differ at each position.

Word models are compared over the words of a dataset, with carried context. Subword models with the same
tokenizer are compared in windows like llama.cpp's `--kl-divergence`, of which the second half counts. Only a
block of positions is in memory at once.

A model with `all_log_probs` gives the probabilities of all words in a block in one call. One with
`next_log_probs` reads word by word, and its states are joined to a batch. Any other model scores every word
as the next one, if that is affordable.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import Any, Final

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from lm_benchmarks.adapters.piece_model import PieceModel
from lm_benchmarks.choices import CHUNK
from lm_benchmarks.conventions.convention import Window
from lm_benchmarks.conventions.rules import REGISTRY, file_without_last_newline, second_halves
from lm_benchmarks.errors import HarnessError
from lm_benchmarks.lm_eval import pages_of, raw_file, read_text, title_of
from lm_benchmarks.measuring.chance import Numbers
from lm_benchmarks.measuring.invariant_checks import Checks, raise_if_broken
from lm_benchmarks.measuring.loaded_model import Inputs, LoadedModel, user_code
from lm_benchmarks.measuring.passages import label_order, read_passages
from lm_benchmarks.measuring.run_samples import WatchedReader, try_windows
from ps_models.evaluation.evaluate import evaluating
from ps_models.evaluation.frequency import decades, span, train_counts
from ps_models.evaluation.signature import hashed_name
from ps_models.invariants import SUMS, Trial, copies
from ps_models.language_model import AnyState, Distributed, join_states, tensors_of
from wikitext_builder.progress import Progress, no_progress

NUMBERS: Final = 2**23  # tokens x words of a block: 64 MB in float64, a few times per model
MOST: Final = 10**8  # predictions of a model that scores words one by one: some minutes, or hours on a server
TOLERANCE: Final = 1e-3  # nats that a score may differ from the same one among those of all words


def rows_of(vocab_size: int) -> int:
    """Tokens per block."""
    return max(1, min(CHUNK, NUMBERS // vocab_size))


def expect_affordable(loaded: LoadedModel, tokens: int, device: torch.device) -> None:
    """Check what the probabilities of all words cost."""
    if _gives_all(loaded, device):
        return
    size = len(loaded.vocabulary)
    cost = tokens * size * (1 + min(loaded.reread, tokens // 2))
    if cost > MOST:
        raise HarnessError(
            f"{loaded.name} has no next_log_probs, so each of {size:,} words is scored after each of"
            f" {tokens:,} tokens: {cost:.1e} predictions; expected {MOST:.0e} at most. Give the model"
            " next_log_probs (docs/own-model.md), or take fewer --tokens. Models of pieces are compared piece"
            " by piece if both are `transformers:…` or `gguf:…`"
        )


def distributions(loaded: LoadedModel, stream: Tensor, device: torch.device, rows: int) -> Iterator[Tensor]:
    """Natural log-probabilities of all words in place of each token, in blocks of (tokens, words).

    The stream, (time,), starts at the beginning of a text; `rows` are the tokens per block.
    """
    model = loaded.model
    whole, gives_all = isinstance(model, Distributed), _gives_all(loaded, device)
    with torch.no_grad(), user_code(loaded.users), evaluating(model):
        state = model.initial_state(1)
    for number, tokens in enumerate(torch.split(stream.to(device), rows)):
        with torch.no_grad(), user_code(loaded.users), evaluating(model):
            if isinstance(model, Distributed) and whole:
                batch, after = model.all_log_probs(tokens[None], state)
                table = batch[0]
            else:
                table, after = _step_by_step(loaded, tokens, state, all_at_once=gives_all)
            if not number:
                _expect_same(loaded, model(tokens[None], state)[0][0], table, tokens)
            state = after
        yield table


def _gives_all(loaded: LoadedModel, device: torch.device) -> bool:
    """Whether the model gives the scores of all words in one call."""
    if isinstance(loaded.model, Distributed):
        return True
    with torch.no_grad(), user_code(loaded.users), evaluating(loaded.model):
        trial = _trial(loaded, torch.zeros(1, dtype=torch.int64, device=device))
        return trial.every_score(loaded.model.initial_state(1)) is not None


def _trial(loaded: LoadedModel, tokens: Tensor) -> Trial:
    size = len(loaded.vocabulary)
    return Trial(model=loaded.model, tokens=tokens[None], vocab_size=size, tolerance=TOLERANCE)


def _step_by_step(
    loaded: LoadedModel, tokens: Tensor, state: AnyState, *, all_at_once: bool
) -> tuple[Tensor, AnyState]:
    """The scores of all words before each token, (tokens, words), and the state after the last one."""
    model: Any = loaded.model
    trial, words = _trial(loaded, tokens), torch.arange(len(loaded.vocabulary), device=tokens.device)
    rows, waiting = list[Tensor](), list[AnyState]()
    for token in tokens:
        if not all_at_once:
            rows.append(trial.next_scores(state, words)[None].to(tokens.device))
        elif waiting and (_kind(state) != _kind(waiting[0]) or len(waiting) == copies(state)):
            rows.append(model.next_log_probs(join_states(waiting)).to(tokens.device))
            waiting.clear()
        waiting += [state] if all_at_once else []
        _, state = model(token.reshape(1, 1), state)
    if waiting:
        rows.append(model.next_log_probs(join_states(waiting)).to(tokens.device))
    return torch.cat(rows), state


def _kind(state: AnyState) -> list[tuple[torch.Size, torch.device]]:
    """What states have in common if they can be joined; those that grow cannot."""
    return [(one.shape, one.device) for one in tensors_of(state)]


def _expect_same(loaded: LoadedModel, scores: Tensor, table: Tensor, tokens: Tensor) -> None:
    """Refuse scores of all words that are not those of the text."""
    expected = (len(tokens), len(loaded.vocabulary))
    if table.shape != expected:
        raise HarnessError(
            f"{loaded.name}: the scores of all words have the shape {tuple(table.shape)}; expected"
            f" {expected}, (tokens, words)"
        )
    right = table.gather(1, tokens.to(table.device)[:, None])[:, 0]
    worst = (right - scores.to(table.device)).abs().max()
    if not worst <= TOLERANCE:
        raise HarnessError(
            f"{loaded.name}: scores of the text differ by up to {float(worst):.3g} nats from those among all"
            f" words; expected the same. `lm-benchmarks check` checks the invariants"
        )


def normalized(name: str, table: Tensor, *, is_open: bool, seen: int) -> tuple[Tensor, Tensor]:
    """Log-probabilities in float64 that sum to one, and the logarithm of what they summed to, (tokens,).

    If the vocabulary is open, words outside it have probability too: those in it may sum to less than one.
    """
    exact = table.double()
    totals = exact.logsumexp(-1)
    lowest = 0.0 if is_open else 1 - SUMS
    sums = totals.exp()
    wrong = ~((sums >= lowest) & (sums > 0) & (sums <= 1 + SUMS))  # also NaN
    if wrong.any():
        row = int(wrong.nonzero()[0])
        raise HarnessError(
            f"{name}: the probabilities of {table.shape[1]:,} words sum to {float(sums[row]):.6f} at token"
            f" {seen + row}; expected {'at most ' if is_open else ''}1: what does not sum to one has no"
            " divergence"
        )
    return exact - totals[:, None], totals


def compared(first: Tensor, second: Tensor, targets: Sequence[int] | Tensor) -> Tensor:
    """What two normalized distributions, p and q, are to each other at each token.

    Returns (4, tokens): KL(p || q); log p and log q of the word of the text; 1 if the best word is the same.
    """
    terms = first.exp()
    terms = torch.where(terms > 0, terms * (first - second), 0.0)  # 0 log 0 = 0
    right = torch.as_tensor(targets, device=first.device)[:, None]
    same = first.argmax(-1) == second.argmax(-1)
    return torch.stack(
        [
            terms.sum(-1).clamp(min=0),  # rounding alone makes it negative
            first.gather(1, right)[:, 0],
            second.gather(1, right)[:, 0],
            same.double(),
        ]
    )


LLAMA_CPP: Final = "llama.cpp"
LEAST: Final = 4  # pieces of a window
TRIED: Final = 8  # windows on which the laws are tried
UNCHECKED: Final = "--no-check compares it anyway"
ROWS: Final = 64  # targets of a window at once: 65 MB for 128,000 pieces
Ints = npt.NDArray[np.int64]
Grouping = tuple[Ints, Mapping[int, str]]  # a code per position, and the label of each code in order


@dataclass(frozen=True, kw_only=True)
class ComparedText:
    """What two models gave at all positions, and where these are."""

    values: Numbers  # (4, positions), as `compared` gives them
    passages: Ints  # the number of the passage of each position
    groupings: Mapping[str, Grouping]
    fields: Mapping[str, Any]  # what was read, for the result


def read_words(
    pair: Sequence[LoadedModel],
    inputs: Inputs,
    split: str,
    *,
    tokens: int | None = None,
    check: bool = True,
    progress: Progress = no_progress,
) -> ComparedText:
    """Compare two models word by word, after checking invariants on the beginning of the text."""
    one, other = pair
    if one.vocabulary.tokens != other.vocabulary.tokens:
        raise HarnessError(
            f"{one.name} predicts {len(one.vocabulary):,} words and {other.name} {len(other.vocabulary):,},"
            " not the same ones; expected one vocabulary. Train both models on the same dataset"
        )
    unit, passages = read_passages(inputs.dataset, split, one.vocabulary)
    stream = torch.cat([passage.text.tokens for passage in passages])[:tokens]
    for each in pair:
        expect_affordable(each, len(stream), inputs.device)
    for each in pair if check else ():
        laws = Checks(each, device=inputs.device, seed=inputs.seed, progress=progress)
        raise_if_broken(laws.of_beginning(laws.of_fresh(stream)), f"That is {each.name}; {UNCHECKED}")
    values, outside = _compared_stream(pair, stream, inputs.device, progress)
    sizes = [len(passage.text.tokens) for passage in passages]
    numbers = np.repeat(np.arange(len(sizes)), sizes)[: len(stream)]
    groupings: dict[str, Grouping] = {}
    if (counts := train_counts(inputs.dataset, one.vocabulary)) is not None:
        groupings["frequency"] = _by_label(decades(one.vocabulary, counts), stream.numpy())
    if not unit.endswith("lines"):
        groupings["position"] = _by_decade(_places(numbers))
        groupings["article"] = numbers, {at: passage.title for at, passage in enumerate(passages)}
    return ComparedText(
        values=values,
        passages=numbers,
        groupings=groupings,
        fields={
            "data": hashed_name(inputs.dataset.name, inputs.dataset.file(split)),
            "unit": "words",
            "vocabulary": len(one.vocabulary),
            "passage": unit,
            "window": None,
            "outside": outside,
        },
    )


def _compared_stream(
    pair: Sequence[LoadedModel], stream: Tensor, device: torch.device, progress: Progress
) -> tuple[Numbers, tuple[float, float]]:
    """What `compared` gives for all tokens, and the mean probability outside an open vocabulary of each."""
    rows = rows_of(len(pair[0].vocabulary))
    both = [distributions(each, stream, device, rows) for each in pair]
    found, lost, done = list[Tensor](), torch.zeros(2, dtype=torch.float64), 0
    for *tables, targets in zip(*both, torch.split(stream, rows), strict=True):
        parts = [
            normalized(each.name, table.to(device), is_open=each.open_vocabulary, seen=done)
            for each, table in zip(pair, tables, strict=True)
        ]
        found.append(_finite(compared(parts[0][0], parts[1][0], targets), pair, done))
        lost += torch.stack([-total.expm1().sum() for _, total in parts]).cpu()
        done += len(targets)
        progress("measure", done, len(stream), f"{pair[0].name}, {pair[1].name}")
    means = (lost / len(stream)).tolist()
    outside = [mean * each.open_vocabulary for mean, each in zip(means, pair, strict=True)]
    return torch.cat(found, dim=1).numpy(), (outside[0], outside[1])


def read_pieces(
    pair: Sequence[LoadedModel],
    readers: Sequence[PieceModel],
    inputs: Inputs,
    split: str,
    *,
    tokens: int | None = None,
    check: bool = True,
    progress: Progress = no_progress,
) -> ComparedText:
    """Compare two models piece by piece, after checking invariants on the first windows.

    Of `tokens`, whole windows are read, at least one.
    """
    path = raw_file(inputs.dataset, split)
    (text,) = file_without_last_newline(read_text(path))
    length, every = _windows(pair, readers, inputs, text.text)
    windows = every[: None if tokens is None else max(1, tokens // length)]
    for each, reader in zip(pair, readers, strict=True) if check else ():
        watched, laws = WatchedReader(reader, seed=inputs.seed), Checks(each)
        watched.window_nats(windows[:TRIED])
        broken, _ = try_windows(watched, reader, tolerance=laws.largest_tolerance, seed=inputs.seed)
        raise_if_broken(broken, f"That is {each.name}; {UNCHECKED}")
    found, size = list[Tensor](), 0
    for done, window in enumerate(windows):
        values, size = _compared_window(pair, readers, window, inputs.device)
        found.append(_finite(values, pair, done * length))
        progress("measure windows", done + 1, len(windows), f"windows of {length} pieces")
    scored = np.concatenate([at * length + np.arange(length // 2 + 1, length) for at in range(len(windows))])
    passage, numbers = "window", scored // length
    groupings: dict[str, Grouping] = {}
    if known := [reader.text_pieces for reader in readers if reader.text_pieces.knows_places]:
        article_of, titles = _articles(text.text, known[0].cut(text.text, marks=True).ends)
        passage, numbers = "article", article_of[scored]
        groupings = {"position": _by_decade(_places(article_of)[scored]), "article": (numbers, titles)}
    fields = {"unit": "pieces", "vocabulary": size, "passage": passage, "window": length}
    return ComparedText(
        values=torch.cat(found, dim=1).numpy(),
        passages=numbers,
        groupings=groupings,
        fields={"data": hashed_name(inputs.dataset.name, path), **fields, "outside": (0.0, 0.0)},
    )


def _windows(
    pair: Sequence[LoadedModel], readers: Sequence[PieceModel], inputs: Inputs, text: str
) -> tuple[int, list[Window]]:
    """How long windows are, and those of both models, which must be the same."""
    if inputs.stride is not None:
        raise HarnessError(f"--stride {inputs.stride}: windows do not overlap here; leave out the stride")
    limits = [reader.longest for reader in readers if reader.longest is not None]
    lengths = REGISTRY[LLAMA_CPP].lengths(min(limits, default=None), inputs.window)
    if lengths.window < LEAST or (limits and lengths.window > min(limits)):
        most = f" to {min(limits)}, what both models can read" if limits else " or more"
        raise HarnessError(f"window {lengths.window}; expected {LEAST}{most}")
    first, second = (list(second_halves(text, reader.text_pieces, lengths)) for reader in readers)
    if _pieces(first) != _pieces(second):
        raise HarnessError(
            f"{pair[0].name} and {pair[1].name} tokenize the text differently; expected models with the same"
            " tokenizer"
        )
    return lengths.window, first


def _pieces(windows: Sequence[Window]) -> list[tuple[tuple[int, ...], tuple[int, ...]]]:
    return [(tuple(one.inputs), tuple(one.targets)) for one in windows]


def _compared_window(
    pair: Sequence[LoadedModel], readers: Sequence[PieceModel], window: Window, device: torch.device
) -> tuple[Tensor, int]:
    """What `compared` gives for the targets of a window, and how many pieces there are to choose from."""
    targets = torch.tensor(tuple(window.targets))
    found, size, done = list[Tensor](), 0, 0
    blocks = (reader.all_log_probs_of(window, ROWS) for reader in readers)
    for first, second in zip(*blocks, strict=True):
        if first.shape != second.shape:
            raise HarnessError(
                f"{pair[0].name} predicts {first.shape[1]:,} pieces and {pair[1].name} {second.shape[1]:,};"
                " expected models with the same vocabulary"
            )
        size, rows = first.shape[1], targets[done : done + len(first)]
        found.append(compared(first.to(device), second.to(device), rows))
        done += len(first)
    return torch.cat(found, dim=1), size


def _finite(values: Tensor, pair: Sequence[LoadedModel], seen: int) -> Tensor:
    """The values, on the CPU; an infinite divergence is refused."""
    values = values.cpu()
    if not values.isfinite().all():
        row = seen + int((~values.isfinite()).any(dim=0).nonzero()[0])
        raise HarnessError(
            f"{pair[0].name} or {pair[1].name} gives a word a probability of 0 at token {row}, so the"
            " divergence is infinite; expected probabilities above 0"
        )
    return values


def _places(numbers: Ints) -> Ints:
    """The position of each token in its passage; passages follow each other."""
    return np.arange(len(numbers)) - np.searchsorted(numbers, numbers)


def _by_decade(numbers: Ints) -> Grouping:
    known, places = np.unique(numbers, return_inverse=True)
    return _by_label([span(number) for number in known.tolist()], places)


def _by_label(labels: Sequence[str], items: Ints) -> Grouping:
    order = sorted(set(labels), key=label_order)
    codes = {label: code for code, label in enumerate(order)}
    return np.array([codes[label] for label in labels])[items], dict(enumerate(order))


def _articles(text: str, ends: Sequence[int]) -> tuple[Ints, dict[int, str]]:
    """The article of each piece, and all titles; `ends` are the pieces' ends in bytes."""
    pages = list(pages_of(text))
    first = len(text[: text.index(pages[0])].encode())  # blank lines before the first title
    starts = list(accumulate([first, *(len(page.encode()) + 1 for page in pages[:-1])]))
    found = np.searchsorted(np.array(starts), np.array(ends) - 1, side="right") - 1
    return np.maximum(found, 0), {number: title_of(page) for number, page in enumerate(pages)}
