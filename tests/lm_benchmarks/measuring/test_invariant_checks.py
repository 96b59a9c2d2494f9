"""Honest models keep the laws; each cheat is found by the law that is meant for it."""

import re
import sys
from dataclasses import replace

import msgspec
import pytest
import torch
from lm_benchmarks.errors import HarnessError
from lm_benchmarks.measuring.invariant_checks import (
    FEWEST,
    LAWS,
    WHOLE,
    Checks,
    raise_if_broken,
)
from lm_benchmarks.measuring.loaded_model import LoadedModel
from lm_benchmarks.measuring.models import NAMES, open_model
from lm_benchmarks.measuring.run_samples import FLOOR, PLACES, Watched
from lm_benchmarks.records import Tried

from ps_models.data.dataset import Text
from ps_models.devices import autocast
from ps_models.evaluation.evaluate import token_nats
from tests.lm_benchmarks import cheats
from wikitext_builder.dataset.vocabulary import Vocabulary


def checked(inputs, stream, model, **options):
    loaded = LoadedModel(name="x", identity="x", model=model, vocabulary=inputs.vocabulary, **options)
    return Checks(loaded).of_text(stream)


def tried_of(findings):
    assert findings.tried is not None
    return findings.tried


@pytest.mark.parametrize("name", [*NAMES, "mix:unigram,kn-5"])
def test_models_of_ours_keep_the_laws(inputs, stream, name):
    findings = Checks(open_model(name, inputs)).of_text(stream)
    assert findings == dict.fromkeys(LAWS, "")
    raise_if_broken(findings)


@pytest.mark.parametrize(
    ("cheat", "law"),
    [
        (cheats.Peeks, "future"),
        (cheats.TooMuch, "sum"),
        (cheats.FailsAtOnce, "sum"),
        (cheats.OneWordLess, "sum"),
        (cheats.Remembers, "memory"),
        (cheats.Chunks, "chunks"),
        (cheats.Batches, "batch"),
        (cheats.Fails, "contract"),
        (cheats.NotANumber, "contract"),
    ],
)
def test_cheats_are_found(inputs, stream, cheat, law):
    findings = checked(inputs, stream, cheat(len(inputs.vocabulary)))
    assert findings[law]
    with pytest.raises(HarnessError, match=law):
        raise_if_broken(findings)


@pytest.fixture(scope="module")
def long(inputs):
    """3,000 tokens: what only breaks later is out of reach of the laws at the beginning."""
    return torch.randint(len(inputs.vocabulary), (3000,), generator=torch.Generator().manual_seed(7))


@pytest.mark.parametrize(
    ("cheat", "law", "perplexity"),
    [
        (cheats.SureLater, "sum", 3),
        (cheats.TooMuchLater, "sum", 7),
        (cheats.PeeksLater, "future", None),
        (cheats.ChunksLater, "chunks", None),
        (cheats.FailsLater, "sum", None),
    ],
)
@pytest.mark.parametrize("open_vocabulary", [False, True])
def test_cheats_that_begin_later_are_found_in_the_run(inputs, long, cheat, law, perplexity, open_vocabulary):
    model = cheat(len(inputs.vocabulary))
    findings = checked(inputs, long, model, open_vocabulary=open_vocabulary)
    counts = re.search(r"so at (\d+) of (\d+) random places", findings[law])
    assert counts
    found, places = map(int, counts.groups())
    assert 0 < found <= places  # a place at which two trials find something counts once
    if perplexity:
        ((_, nats),) = token_nats(model, [Text(long, 0)])
        assert float(nats.mean().exp()) < perplexity
    if law == "sum":
        assert not checked(inputs, long[:30], model, open_vocabulary=open_vocabulary)["sum"]


@pytest.mark.parametrize("reread", [0, 20, sys.maxsize])
@pytest.mark.parametrize("name", ["unigram", "kn-5+cache"])
def test_models_of_ours_keep_the_laws_at_every_depth(inputs, long, name, reread):
    loaded = replace(open_model(name, inputs), reread=reread)
    findings = Checks(loaded).of_text(long)
    assert findings == dict.fromkeys(LAWS, "")
    tried = tried_of(findings)
    assert tried.tokens == 3000
    assert tried.predictions <= 1.1 * FLOOR
    assert tried.places == tried.whole
    if reread < sys.maxsize:
        assert tried.places == PLACES
    else:
        assert 3 <= tried.places < PLACES
    if reread < sys.maxsize:
        assert tried.deepest > 2500
    assert f"at {tried.places} random places (seed 1)" in str(tried)


def test_the_same_seed_tries_the_same_places(inputs, long):
    model = open_model("unigram", inputs)
    first, again, other = (tried_of(Checks(model, seed=seed).of_text(long)) for seed in (1, 1, 2))
    assert first == again
    assert other.deepest != first.deepest


def test_what_can_hide_is_a_fraction_of_the_places():
    tried = Tried(seed=1, tokens=9, places=50, whole=3, fewest=7, deepest=8, predictions=5)
    assert (1 - tried.hidden) ** 50 == pytest.approx(0.05)
    assert "under 5.8% of positions" in str(tried)
    assert "3 of the sums over the whole vocabulary, the others over 7 words or more" in str(tried)
    assert msgspec.structs.replace(tried, places=0).hidden == 1
    assert "sum over all words, except at 3 of the places; a model" in str(tried)
    assert "sum over all words; a model" in str(msgspec.structs.replace(tried, whole=0))


def test_a_sum_over_a_part_of_a_large_vocabulary_finds_too_much():
    """All its words once, whatever that costs; then as many as the budget allows."""
    size = 20_000
    vocabulary = Vocabulary(("<unk>", "<eos>", *(f"w{number}" for number in range(size - 2))))
    stream = torch.arange(3000) % 400
    for cheat, finds in ((cheats.Uniform, False), (cheats.SureLater, True)):
        loaded = LoadedModel(name="x", identity="x", model=cheat(size), vocabulary=vocabulary)
        findings = Checks(loaded).of_text(stream)
        assert bool(findings["sum"]) is finds
        tried = tried_of(findings)
        assert tried.whole == WHOLE
        assert tried.fewest == FEWEST
        assert tried.predictions < FLOOR + (0.2 + WHOLE) * size


def checks_of(inputs, model, precision="fp32"):
    return Checks(
        LoadedModel(name="x", identity="x", model=model, vocabulary=inputs.vocabulary), precision=precision
    )


def test_what_a_model_remembers_of_a_whole_run_is_found(inputs, long):
    """The beginning scores again, after the run, as when the model was opened."""
    model = cheats.Hoards(len(inputs.vocabulary))
    checks = checks_of(inputs, model)
    findings = checks.of_beginning(checks.of_fresh(long))
    model.begin = model.seen + 2_900  # near the end of the run
    watched = checks.watched()
    list(token_nats(watched, [Text(long, 0)]))
    found = checks.of_places(watched, findings)
    assert (
        found["memory"] == "scores differ by up to 0.05 nats when the text is scored again after 3,000 tokens"
    )


def found_in_bf16(inputs, model, stream):
    with autocast(torch.device("cpu"), "bf16"):
        return checks_of(inputs, model, "bf16").of_text(stream)


@pytest.mark.parametrize(("cheat", "law"), [(cheats.Overfull, "sum"), (cheats.Glimpses, "future")])
def test_a_low_precision_hides_no_cheat(inputs, long, cheat, law):
    findings = found_in_bf16(inputs, cheat(len(inputs.vocabulary)), long)
    assert findings.tolerance < 0.1
    assert findings[law]


def test_rounding_in_a_low_precision_breaks_no_law_and_its_size_is_told(inputs, long):
    """A sine of 0.01 nats has a root mean square of 0.01 / √2; ten times that is the tolerance."""
    findings = found_in_bf16(inputs, cheats.Rounds(len(inputs.vocabulary)), long)
    assert {law: what for law, what in findings.items() if what} == {}
    assert tried_of(findings).tolerance == findings.tolerance == pytest.approx(0.1 / 2**0.5, rel=0.05)
    assert f"; scores may differ by {findings.tolerance:.2g} nats. Not ruled out" in str(findings.tried)
    exact = found_in_bf16(inputs, cheats.Uniform(len(inputs.vocabulary)), long)
    assert (exact.tolerance, tried_of(exact).tolerance) == (1e-3, 1e-3)
    assert (
        tried_of(checks_of(inputs, cheats.Uniform(len(inputs.vocabulary))).of_text(long[:50])).tolerance
        is None
    )


def test_texts_side_by_side_are_tried_without_what_fills_them(inputs, long):
    watched = Watched(cheats.Uniform(len(inputs.vocabulary)), seed=1)
    texts = [Text(long[:begin], 0) for begin in (700, 5, 40)]
    list(token_nats(watched, texts, context="article", batch=3, chunk=50))
    assert watched.tokens == 3 * 700
    for call in watched.calls():
        assert call.depth % 50 == 0
        assert call.tokens.shape[1] in (50, 100)
    shown = []
    size = len(inputs.vocabulary)
    opened = LoadedModel(name="x", identity="x", model=cheats.Uniform(size), vocabulary=inputs.vocabulary)
    checks = Checks(opened, progress=lambda *told: shown.append(told[:3]))
    findings = checks.of_places(watched, checks.of_beginning(checks.of_fresh(long[:9])))
    tried = tried_of(findings)
    assert shown[-PLACES - 1 :] == [("check places", number, PLACES) for number in range(PLACES + 1)]
    assert findings == dict.fromkeys(LAWS, "")
    assert 0 < tried.places < PLACES
    assert tried.deepest < 700


def test_an_error_comes_once_and_a_program_that_died_is_the_only_one(inputs, stream):
    findings = checked(inputs, stream, cheats.Fails(3))
    assert re.fullmatch(r"RuntimeError: out of <order> here \(cheats\.py, line \d+\)", findings["contract"])
    assert {findings[law] for law in LAWS if law != "contract"} == {"fails as in contract"}

    class Dead(cheats.Uniform):
        def changed(self, scores, tokens):
            raise HarnessError("it died")

    with pytest.raises(HarnessError, match=r"^it died$"):
        checked(inputs, stream, Dead(3))


def test_memory_that_runs_out_is_no_broken_law(inputs, stream):
    class Large(cheats.Uniform):
        def changed(self, scores, tokens):
            return torch.empty(2**60)

    with pytest.raises(RuntimeError, match="can't allocate memory"):
        checked(inputs, stream, Large(3))


def test_an_open_vocabulary_may_sum_to_less_but_not_to_more(inputs, stream):
    size = len(inputs.vocabulary)
    assert not checked(inputs, stream, cheats.Uniform(2 * size), open_vocabulary=True)["sum"]
    assert "0.5" in checked(inputs, stream, cheats.Uniform(2 * size))["sum"]
    assert "2.0" in checked(inputs, stream, cheats.TooMuch(size), open_vocabulary=True)["sum"]


def test_a_peek_only_at_what_is_far_away_is_found(inputs):
    """The contract's texts of a few tokens are too short to find it."""

    class PeeksFar(cheats.Uniform):
        def changed(self, scores, tokens):
            scores[:, :-100] += 0.1 * (tokens[:, 100:] == 1)
            return scores

    findings = checked(inputs, torch.arange(300) % len(inputs.vocabulary), PeeksFar(len(inputs.vocabulary)))
    assert not findings["contract"]
    assert findings["future"]
    assert findings["chunks"]
