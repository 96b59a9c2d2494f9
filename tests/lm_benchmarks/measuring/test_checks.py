"""Honest models keep the invariants; each cheat is found by the one that is meant for it.

What can be missed, and how often, is measured by benchmarks/cheating.py and stands in docs/comparing.md.
"""

import dataclasses
import importlib
import math
import re
from collections import Counter
from itertools import pairwise

import lm_benchmarks as lb
import pytest
import torch
from lm_benchmarks.adapters.piece_model import PieceModel
from lm_benchmarks.choices import HarnessError
from lm_benchmarks.cli import commands
from lm_benchmarks.conventions import Window
from lm_benchmarks.measuring.checks import (
    INVARIANTS,
    MAX_SUMMED_WORDS,
    Checks,
    Findings,
    check,
    raise_if_broken,
)
from lm_benchmarks.measuring.loaded_model import CERTAIN_PLACES, RANDOM_PLACES, WatchedReader
from lm_benchmarks.measuring.models import NAMES, open_model
from lm_benchmarks.records import CheckedPlaces
from msgspec.structs import replace

from ps_models.dataset import Text
from ps_models.devices import autocast
from ps_models.scoring import token_nats
from tests.command import invoke
from tests.lm_benchmarks import cheats
from tests.lm_benchmarks.cheats import loaded
from tests.lm_benchmarks.conventions.conftest import write_dataset
from tests.lm_benchmarks.results import error_of
from tests.lm_benchmarks.tiny_causal import make_causal_model
from wikitext_builder.dataset.vocabulary import Vocabulary
from wikitext_builder.errors import ToolkitError


def texts_of(stream, length=150):
    return [Text(part, 0) for part in torch.split(stream, length)]


def checked(inputs, stream, model, precision="fp32", **options):
    return Checks(loaded(model, inputs, **options), precision=precision).of_texts(texts_of(stream))


def measured(inputs, stream, model, *, context="carried", batch=1):
    """What is found in a run whose beginning was not checked."""
    checks, texts = Checks(loaded(model, inputs)), texts_of(stream)
    findings, watched = checks.of_beginning(stream[:1]), checks.watched(texts, context)
    nats = [scores for _, scores in token_nats(watched, texts, context=context, batch=batch)]
    return checks.of_run(findings, watched, nats)


@pytest.fixture(scope="module")
def long(inputs):
    """3,000 tokens: what only breaks later is out of reach of the laws at the beginning."""
    return torch.randint(len(inputs.vocabulary), (3000,), generator=torch.Generator().manual_seed(7))


@pytest.mark.parametrize("name", [*NAMES, "mix:unigram,kn-5"])
def test_models_of_ours_keep_the_laws(inputs, long, name):
    findings = Checks(open_model(name, inputs)).of_texts(texts_of(long))
    assert findings == dict.fromkeys(INVARIANTS, "")
    assert findings.tried == CheckedPlaces(
        seed=1, places=RANDOM_PLACES, unit="chunks", surest=2 * CERTAIN_PLACES
    )
    raise_if_broken(findings)


def test_cheats_are_found_at_the_beginning(inputs, stream):
    faults = []
    for law, kinds in {
        "future": (cheats.Peeks,),
        "sum": (cheats.TooMuch, cheats.FailsAtOnce, cheats.OneWordLess),
        "memory": (cheats.remembers,),
        "chunks": (cheats.Chunks,),
        "batch": (cheats.Batches,),
        "contract": (cheats.Fails, cheats.NotANumber),
    }.items():
        for place, kind in enumerate(kinds):
            findings = checked(inputs, stream, kind(len(inputs.vocabulary)))
            if not findings[law] or law not in error_of(raise_if_broken, findings):
                faults.append((law, place, findings))
    assert faults == []


@pytest.mark.parametrize("open_vocabulary", [False, True])
def test_cheats_that_begin_later_are_found_in_the_run(inputs, long, open_vocabulary):
    faults = []
    for name, law, perplexity in (
        ("SureLater", "sum", 3),
        ("TooMuchLater", "sum", 7),
        ("PeeksLater", "future", None),
        ("ChunksLater", "chunks", None),
        ("FailsLater", "sum", None),
    ):
        model = getattr(cheats, name)(len(inputs.vocabulary))
        findings = checked(inputs, long, model, open_vocabulary=open_vocabulary)
        if not re.search(r", at token [\d,]+$", findings[law]):
            faults.append((name, findings))
        if perplexity:
            ((_, nats),) = token_nats(model, [Text(long, 0)])
            assert float(nats.mean().exp()) < perplexity
        if law == "sum" and checked(inputs, long[:30], model, open_vocabulary=open_vocabulary)["sum"]:
            faults.append((name, "at the beginning"))
    assert faults == []


@pytest.mark.parametrize("context", ["carried", "article"])
def test_cheats_are_found_in_a_run_alone(inputs, long, context):
    """Without the laws at the beginning: what is learned of earlier articles, what a batch changes."""
    size = len(inputs.vocabulary)
    expected = [(cheats.Recalls, "memory"), (cheats.Peeks, "future"), (cheats.TooMuch, "sum")]
    expected += [(cheats.Batches, "memory")] if context == "article" else []
    for kind, law in expected:
        findings = measured(inputs, long, kind(size), context=context, batch=4)
        assert findings[law], (kind, findings)
    findings = measured(inputs, long, cheats.Uniform(size), context=context, batch=4)
    assert findings == dict.fromkeys(INVARIANTS, "")


def test_what_a_model_remembers_of_a_whole_run_is_found(inputs, long):
    """Scores of the run are not those that the articles have after it."""
    assert re.fullmatch(
        r"scores differ by up to 0\.05 nats when they are scored again after 3,000 tokens, at token [\d,]+",
        measured(inputs, long, cheats.hoards(len(inputs.vocabulary)))["memory"],
    )


def test_a_model_that_reads_all_again_is_checked_where_it_costs_little(inputs):
    checks = Checks(loaded(cheats.Uniform(len(inputs.vocabulary)), inputs, reread=10**9))
    stream = torch.zeros(400_000).long()
    for context, most in (("carried", RANDOM_PLACES - 1), ("article", RANDOM_PLACES)):
        texts = texts_of(stream)
        watched = checks.watched(texts, context)
        nats = [scores for _, scores in token_nats(watched, texts, context=context, chunk=2000)]
        findings = checks.of_run(Findings(), watched, nats)
        assert max(place.token for place in watched.places) < 20_000
        assert findings.tried is not None
        assert 1 <= findings.tried.places <= most


@pytest.mark.parametrize(("context", "chunk"), [("carried", 7), ("carried", 9999), ("article", 64)])
def test_all_tokens_have_the_same_chance_to_be_places(inputs, context, chunk):
    """Also the far ends of texts, in each of their tokens: 400 places are spread evenly over 600 tokens."""
    lengths, counts = (90, 10, 500), Counter[tuple[int, int]]()
    texts = [Text(torch.zeros(length).long(), 0) for length in lengths]
    for seed in range(20):
        watched = Checks(loaded(cheats.Uniform(9), inputs), seed=seed).watched(texts, context)
        list(token_nats(watched, texts, context=context, chunk=chunk, batch=2))
        random = [place for place in watched.places if place.is_random]
        assert len({(place.stream, place.token) for place in random}) == RANDOM_PLACES
        assert all(place.read <= place.token < place.read + chunk for place in watched.places)
        counts.update((place.stream, place.token * 6 // 500) for place in random)
    assert sum(counts.values()) == 20 * RANDOM_PLACES
    last = sum(count for (stream, part), count in counts.items() if (stream, part) >= (max(counts)[0], 3))
    expected = 400 * (250 + 100 * (context == "carried")) / 600
    assert abs(last - expected) < 4 * math.sqrt(expected)


def test_the_same_seed_chooses_the_same_places(inputs, long):
    texts, found = texts_of(long, 9), []
    for seed in (1, 1, 2):
        watched = Checks(open_model("unigram", inputs), seed=seed).watched(texts, "carried")
        list(token_nats(watched, texts))
        found.append([place[:3] for place in watched.places])
    assert found[0] == found[1] != found[2]


def test_what_can_hide_is_a_fraction_of_the_places():
    tried = CheckedPlaces(seed=1, places=20, unit="chunks", surest=5, certain=1234)
    assert (1 - tried.hidden) ** 20 == pytest.approx(0.05)
    assert "in 20 random chunks of the run (seed 1), and sums before its 5 most certain tokens" in str(tried)
    assert "1,234 tokens have probability 1." in str(tried)
    assert "in fewer than 14% of all chunks" in str(tried)
    assert "first 320" not in str(replace(tried, unit="windows"))
    assert replace(tried, places=0).hidden == 1


def test_a_sum_over_a_part_of_a_large_vocabulary_finds_too_much(inputs):
    size = 10 * MAX_SUMMED_WORDS
    words = Vocabulary(("<unk>", "<eos>", *(f"w{number}" for number in range(size - 2))))
    large, stream = dataclasses.replace(inputs, vocabulary=words), torch.arange(3000) % 400
    assert not checked(large, stream, cheats.Uniform(size))["sum"]
    broken = checked(large, stream, cheats.SureLater(size))["sum"]
    assert broken.startswith(f"the probabilities of {MAX_SUMMED_WORDS // 2} words sum to ")


LARGE = 3 * MAX_SUMMED_WORDS  # words
EXCESSES = {
    "late in each article": lambda scores, state, words, draws: (
        scores + math.log(1.5) * (state % 2000 >= 1400)
    ),
    "late in the text": lambda scores, state, words, draws: scores + math.log(1.5) * (state >= 14_000),
    "of rare words": lambda scores, state, words, draws: (
        scores + math.log(2) * (words > 2000) * (state > 400)
    ),
    "nearly certain of some tokens": lambda scores, state, words, draws: torch.where(
        draws[state] > 0.02, scores, math.log(0.9)
    ),
    "certain of few tokens": lambda scores, state, words, draws: scores * (draws[state] > 0.001),
    "certain of the word that comes, but not if it is asked alone": lambda scores, state, words, draws: (
        scores * (draws[state] > 0.001) if words.shape[1] > 1 else scores
    ),
}


@pytest.mark.parametrize("name", EXCESSES)
@pytest.mark.parametrize("context", ["carried", "article"])
def test_an_excess_that_is_late_rare_or_in_few_tokens_is_found_with_each_seed(inputs, name, context):
    """Sums cover an eighth of the words and estimate the rest; chances of one in a thousand remain."""
    words = Vocabulary(("<unk>", "<eos>", *(f"w{number}" for number in range(LARGE - 2))))
    large = dataclasses.replace(inputs, vocabulary=words)
    generator = torch.Generator().manual_seed(5)
    stream = torch.randint(LARGE, (20_000,), generator=generator)
    draws = torch.rand(30_000, generator=generator)
    draws[:400] = 1
    texts = texts_of(stream, 2000)

    class Excessive(cheats.Uniform):
        def __call__(self, tokens, state):
            scores, after = super().__call__(tokens, state)
            places = state.long() + torch.arange(tokens.shape[1])
            return EXCESSES[name](scores, places, tokens, draws), after

    if name == "late in the text" and context == "article":
        return
    for kind, expected in ((Excessive, True), (cheats.Uniform, False)):
        missed = [
            seed
            for seed in range(8)
            if bool(found_with(large, texts, kind(LARGE), seed, context)["sum"]) != expected
        ]
        assert missed == []


def found_with(inputs, texts, model, seed, context):
    checks = Checks(loaded(model, inputs), seed=seed)
    watched = checks.watched(texts, context)
    nats = [scores for _, scores in token_nats(watched, texts, context=context)]
    return checks.of_run(Findings(), watched, nats)


def test_rounding_in_a_low_precision_breaks_no_law_but_a_wrong_sum_does(inputs, long):
    size = len(inputs.vocabulary)
    with autocast(torch.device("cpu"), "bf16"):
        assert not any(checked(inputs, long, cheats.Rounds(size), "bf16").values())
        assert checked(inputs, long, cheats.Overfull(size), "bf16")["sum"]


def test_an_error_comes_once_but_a_program_that_died_or_memory_that_ran_out_ends_the_checks(inputs, stream):
    findings = checked(inputs, stream, cheats.Fails(3))
    assert re.fullmatch(r"RuntimeError: out of <order> here \(cheats\.py, line \d+\)", findings["contract"])
    assert {findings[law] for law in INVARIANTS if law != "contract"} == {"fails as in contract"}

    def dies(scores, tokens):
        raise HarnessError("it died")

    assert error_of(checked, inputs, stream, cheats.cheat(dies)(3)) == "it died"
    with pytest.raises(RuntimeError, match="can't allocate memory"):
        checked(inputs, stream, cheats.cheat(lambda scores, tokens: torch.empty(2**60))(3))


def test_an_open_vocabulary_may_sum_to_less_but_not_to_more(inputs, stream):
    size = len(inputs.vocabulary)
    assert not checked(inputs, stream, cheats.Uniform(2 * size), open_vocabulary=True)["sum"]
    assert "0.5" in checked(inputs, stream, cheats.Uniform(2 * size))["sum"]
    assert "2.0" in checked(inputs, stream, cheats.TooMuch(size), open_vocabulary=True)["sum"]


def test_a_peek_only_at_what_is_far_away_is_found(inputs):
    """The contract's texts of a few tokens are too short to find it."""

    def peeks_far(scores, tokens):
        scores[:, :-100] += 0.1 * (tokens[:, 100:] == 1)
        return scores

    size = len(inputs.vocabulary)
    findings = checked(inputs, torch.arange(300) % size, cheats.cheat(peeks_far)(size))
    assert not findings["contract"]
    assert findings["future"]
    assert findings["chunks"]


def test_a_check_reads_as_many_tokens_as_it_says(data):
    reports: list[tuple[str, int, int | None]] = []
    findings = check("unigram", data, tokens=100, progress=lambda *report: reports.append(report[:3]))
    assert findings == dict.fromkeys(INVARIANTS, "")
    assert [(done, total) for stage, done, total in reports if stage == "read"][-1] == (100, 100)
    places = [done for stage, done, _ in reports if stage == "check places"]
    assert all(later == done + 1 for done, later in pairwise(places))


SIZE = 40
SEEN = list(range(SIZE)) * 30


class Bigram(PieceModel):
    """Honest: a piece is likely after the one before it. A cheat changes the scores of a window."""

    digest = ""

    def __init__(self, cheat=lambda scores, *_: scores, *, all_at_once=False):
        self.longest, self.cheat, self.all_at_once, self.calls = None, cheat, all_at_once, 0

    def target_log_probs(self, windows):
        self.calls += 1
        for window in windows:
            before = window.inputs[len(window.inputs) - len(window.targets) :]
            likely = torch.tensor(window.targets) == (torch.tensor(before) + 1) % SIZE
            scores = torch.where(likely, 0.5, 0.5 / (SIZE - 1)).double().log()
            yield self.cheat(scores, window, len(windows), self.calls)

    def next_log_probs_of(self, inputs):
        """Scores of all pieces."""
        scores = torch.full((SIZE,), 0.5 / (SIZE - 1)).double().log()
        scores[(inputs[-1] + 1) % SIZE] = math.log(0.5)
        return scores if self.all_at_once else None


def peeks(scores, window, *_):
    comes = [target + 2 in window.targets[place:] for place, target in enumerate(window.targets, start=1)]
    return scores + math.log(0.8) * torch.tensor(comes)


def is_far(scores, window):
    """Which scores are far into a window."""
    return torch.arange(len(scores)) + len(window.inputs) - len(window.targets) >= 9


def found_in_windows(inputs, reader):
    watched = WatchedReader(reader, seed=1)
    windows = [Window(SEEN[begin : begin + 19], SEEN[begin + 8 : begin + 20]) for begin in range(0, 900, 3)]
    for begin in range(0, len(windows), 64):
        watched.window_nats(windows[begin : begin + 64])
    return Checks(loaded(reader, inputs, reader=reader)).of_windows(watched)


def test_each_cheat_of_pieces_breaks_a_law_and_an_honest_model_none(inputs):
    for all_at_once in (False, True):
        findings = found_in_windows(inputs, Bigram(all_at_once=all_at_once))
        assert findings == dict.fromkeys(INVARIANTS, "")
        assert findings.tried == CheckedPlaces(seed=1, places=RANDOM_PLACES, unit="windows")
    faults = []
    for label, laws, cheat in (
        ("peeks", {"future"}, peeks),
        ("sums to e", {"sum"}, lambda scores, *_: scores + 1),
        ("sums to e late", {"sum"}, lambda scores, window, *_: scores + is_far(scores, window)),
        ("better with calls", {"memory"}, lambda scores, window, count, calls: scores * 0.999**calls),
        ("together", {"batch", "memory"}, lambda scores, window, count, calls: scores / (1 + count / 50)),
        ("better with targets", {"chunks"}, lambda scores, *_: scores + len(scores) / 50),
        ("better than all at once", {"sum"}, lambda scores, *_: scores * 0.9),
    ):
        findings = found_in_windows(inputs, Bigram(cheat, all_at_once=label == "better than all at once"))
        if not all(findings[law] for law in laws):
            faults.append((label, findings))
    assert faults == []


def test_a_run_in_windows_checks_them_and_a_model_that_reads_the_future_is_an_error(tmp_path):
    """BERT without its mask of later pieces, as a folder of `transformers` can hold it by mistake."""
    pytest.importorskip("transformers", reason="needs the package transformers")
    transformers = importlib.import_module("transformers")
    folder = write_dataset(tmp_path / "tiny", 60)
    model = make_causal_model(tmp_path / "model", folder / "wiki.test.raw")
    for convention in ("gptq", "hf-stride", "lm-eval"):
        (result,) = lb.measure(f"transformers:{model}", folder, convention=convention)
        assert result.checks == dict.fromkeys(INVARIANTS, "")
        assert result.tried is not None
        assert result.tried.places > 5
        assert result.tried.unit == "windows"
    sizes = {"hidden_size": 16, "num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 32}
    config = transformers.BertConfig(
        vocab_size=len(transformers.AutoTokenizer.from_pretrained(model)),
        max_position_embeddings=64,
        initializer_range=0.5,
        is_decoder=False,
        **sizes,
    )
    torch.manual_seed(1)
    transformers.BertLMHeadModel(config).save_pretrained(model)
    results = tmp_path / "r.jsonl"
    words = ("run", f"transformers:{model}", "--data", folder, "--convention", "gptq", "--results", results)
    with pytest.raises(ToolkitError, match=r"violates \d of 6 invariants; .*chunks: "):
        invoke(commands, *words)
    (result,) = lb.read_results(results)
    assert {"chunks", "future"} <= set(result.broken)
    for convention in ("gptq", "lm-eval"):
        (allowed,) = lb.measure(f"transformers:{model}", folder, convention=convention, allow_broken=True)
        assert {"chunks", "future"} <= set(allowed.broken)
