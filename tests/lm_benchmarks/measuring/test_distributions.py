"""Distributions of two models of words: the numbers are those of loops in plain Python, and laws hold."""

import csv
import io
import json
import math
import random
from collections import Counter
from dataclasses import replace
from functools import partial
from typing import Any

import lm_benchmarks as lb
import pytest
import torch
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st
from lm_benchmarks.cli import commands
from lm_benchmarks.errors import HarnessError
from lm_benchmarks.measuring import distribution_texts
from lm_benchmarks.measuring.chance import Chance, degrees_of_freedom
from lm_benchmarks.measuring.distribution_texts import compared, normalized
from lm_benchmarks.measuring.models import make_inputs, open_model
from lm_benchmarks.reporting import charts

from ps_models.language_model import map_state
from tests.command import invoke
from tests.lm_benchmarks.cheats import Uniform, maker
from tests.ps_models.tiny import _article, train
from wikitext_builder.dataset.vocabulary import EOS, UNK

HERE = "tests.lm_benchmarks.measuring.test_distributions"


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    """Six articles of test, so that there are intervals."""
    generator, folder = random.Random(7), tmp_path_factory.mktemp("data") / "tiny"
    folder.mkdir()
    for split, count in (("train", 40), ("valid", 3), ("test", 6)):
        text = "".join(_article(generator, number) for number in range(count))
        (folder / f"wiki.{split}.tokens").write_text(text.replace("name7", "<unk>"), encoding="utf-8")
    return folder


@pytest.fixture(scope="module")
def trained(data, tmp_path_factory):
    """A pointer's run, which gives all words of a chunk at once."""
    folder = tmp_path_factory.mktemp("run") / "pointer"
    train(data, folder, "hidden_size=8", "layers=1", "epochs=1", "window=4", model="pointer-sentinel-lstm")
    return str(folder)


def words_of(article, vocabulary):
    """The words of an article; those that train lacks are <unk>."""
    words = [one for line in article.lines for one in (*line.split(), EOS)]
    return [word if word in vocabulary else UNK for word in words]


class Loop:
    """Each number again, position by position, from the scores of words alone."""

    def __init__(self, data, *specifications):
        inputs = make_inputs(data, "test", device="cpu")
        self.vocabulary = inputs.vocabulary
        texts = [words_of(article, self.vocabulary) for article in inputs.dataset.articles("test")]
        self.counts = Counter[str]()
        for line in inputs.dataset.file("train").read_text().splitlines():
            for word in (*line.split(), EOS):
                self.counts[word] += 1
        self.titles = [article.title for article in inputs.dataset.articles("test")]
        probs = [self.probs(open_model(one, inputs).model, texts) for one in specifications]
        self.places = []
        for at, (article, position, word) in enumerate(
            (number, position, word)
            for number, text in enumerate(texts)
            for position, word in enumerate(text)
        ):
            p, q = probs[0][at], probs[1][at]
            own = self.vocabulary.ids[word]
            self.places.append(
                {
                    "article": article,
                    "position": position,
                    "word": word,
                    "kl": math.fsum(a * math.log(a / b) for a, b in zip(p, q, strict=True) if a),
                    "delta": q[own] - p[own],
                    "same": p.index(max(p)) == q.index(max(q)),
                    "nats": (-math.log(p[own]), -math.log(q[own])),
                }
            )

    def probs(self, model, texts):
        """p of every word at each token: one call per word."""
        if isinstance(model, torch.nn.Module):
            model.eval()
        found, size = [], len(self.vocabulary)
        with torch.no_grad():
            state = model.initial_state(1)
            for word in (word for text in texts for word in text):
                rows = map_state(lambda tensor: tensor.repeat_interleave(size, 0), state)
                scores, _ = model(torch.arange(size)[:, None], rows)
                exact = [math.exp(one) for one in scores[:, 0].tolist()]
                found.append([one / math.fsum(exact) for one in exact])
                _, state = model(torch.tensor([[self.vocabulary.ids[word]]]), state)
        return found

    def label(self, by, place):
        if by == "article":
            return self.titles[place["article"]]
        number = place["position"] if by == "position" else self.counts[place["word"]]
        if by == "frequency" and place["word"] in (UNK, EOS):
            return place["word"]
        low = 10 ** (len(str(number)) - 1)
        return f"{low:,}-{10 * low - 1:,}" if number else "0"

    def of(self, by, label):
        return [one for one in self.places if by == "all" or self.label(by, one) == label]


def quantile(values, share):
    """Linear between the two nearest, as in llama.cpp."""
    ordered, at = sorted(values), share * (len(values) - 1)
    low = int(at)
    high = min(low + 1, len(values) - 1)
    return ordered[low] + (at - low) * (ordered[high] - ordered[low])


def assert_group(group, places, level, within=1e-9):
    deltas = [one["delta"] for one in places]
    assert group.positions == len(places)
    assert group.passages == len({one["article"] for one in places})
    for estimate, values, final in (
        (group.divergence, [one["kl"] for one in places], float),
        (group.same_best, [float(one["same"]) for one in places], float),
        (group.delta, deltas, float),
        (group.delta_rms, [one**2 for one in deltas], math.sqrt),
    ):
        value = final(math.fsum(values) / len(values))
        assert estimate.value == pytest.approx(value, abs=within)
        if group.passages < 5:
            assert estimate.interval is None
            assert "too few" in group.no_interval
            continue
        articles = sorted({one["article"] for one in places})
        without = []
        for left in articles:
            kept = [v for v, one in zip(values, places, strict=True) if one["article"] != left]
            without.append(final(math.fsum(kept) / len(kept)))
        mean = sum(without) / len(without)
        variance = (len(without) - 1) / len(without) * sum((one - mean) ** 2 for one in without)
        sizes = torch.tensor([sum(one["article"] == article for one in places) for article in articles])
        low, high = Chance(variance, degrees_of_freedom(sizes.double().numpy())).interval(value, level)
        assert estimate.interval == pytest.approx((low, high), abs=10 * within)
    for found, share in ((group.delta_low, 0.01), (group.delta_median, 0.5), (group.delta_high, 0.99)):
        assert found == pytest.approx(quantile(deltas, share), abs=within)
    for found, side in ((group.first_nats, 0), (group.second_nats, 1)):
        assert found == pytest.approx(sum(one["nats"][side] for one in places) / len(places), abs=within)


@pytest.mark.parametrize(("second", "within"), [("unigram", 1e-9), ("trained", 1e-6)])  # float64, float32
def test_each_number_is_that_of_a_loop(data, trained, second, within):
    pair = "kn-5", trained if second == "trained" else second
    found = lb.compare_distributions(*pair, data, device="cpu", level=0.9)
    loop = Loop(data, *pair)
    assert {group.by for group in found.groups} == {"all", "frequency", "position", "article"}
    for group in found.groups:
        assert_group(group, loop.of(group.by, group.label), 0.9, within)
    labels = [group.label for group in found.groups if group.by == "frequency"]
    assert labels[-2:] == [EOS, UNK]
    assert (found.unit, found.passage, found.window, found.outside) == ("words", "article", None, (0.0, 0.0))
    assert found.vocabulary == len(loop.vocabulary)


def test_a_model_is_no_different_from_itself(data, trained):
    found = lb.compare_distributions(trained, trained, data, device="cpu")
    for group in found.groups:
        assert group.divergence.value == group.delta.value == group.delta_rms.value == 0
        assert (group.delta_low, group.delta_median, group.delta_high) == (0, 0, 0)
        assert group.same_best.value == 1
        assert group.first_nats == group.second_nats
    assert f"({trained})" in found.first_model


def test_parts_sum_to_the_whole_and_blocks_do_not_matter(data, trained, monkeypatch):
    found = lb.compare_distributions(trained, "kn-5", data, device="cpu", check=False)
    for by in ("frequency", "position", "article"):
        groups = [group for group in found.groups if group.by == by]
        assert sum(group.positions for group in groups) == found.whole.positions
        for name in ("divergence", "delta", "same_best"):
            parts = math.fsum(getattr(group, name).value * group.positions for group in groups)
            whole = getattr(found.whole, name).value * found.whole.positions
            assert parts == pytest.approx(whole, abs=1e-9)
    for rows in (1, 7):
        monkeypatch.setattr(distribution_texts, "rows_of", lambda size, rows=rows: rows)
        again = lb.compare_distributions(trained, "kn-5", data, device="cpu", check=False)
        for one, other in zip(found.groups, again.groups, strict=True):
            assert one.positions == other.positions
            assert one.divergence.value == pytest.approx(other.divergence.value, abs=1e-6)  # float32
            assert one.delta_low == pytest.approx(other.delta_low, abs=1e-6)


def test_blocks_are_small_if_there_are_many_words():
    assert distribution_texts.rows_of(267_735) == 31
    assert distribution_texts.rows_of(10_000) == 256
    assert distribution_texts.rows_of(10**9) == 1


def test_only_the_first_tokens(data):
    found = lb.compare_distributions("kn-5", "unigram", data, tokens=60, device="cpu")
    assert found.whole.positions == 60
    loop = Loop(data, "kn-5", "unigram")
    loop.places = loop.places[:60]
    for group in found.groups:
        assert_group(group, loop.of(group.by, group.label), 0.95)


def test_a_file_without_articles_has_blocks_of_lines(tmp_path):
    text = "".join(f" the cat saw a dog {number} \n" for number in range(700))
    (tmp_path / "words.txt").write_text(text)
    found = lb.compare_distributions(
        f"{HERE}:skewed", f"{HERE}:uniform", tmp_path / "words.txt", device="cpu"
    )
    assert (found.passage, found.split, found.whole.passages) == ("100-lines", "file", 7)
    assert [group.by for group in found.groups] == ["all"]
    assert found.whole.divergence.interval is not None


logits = st.lists(st.floats(-30, 30), min_size=5, max_size=5)


@given(st.lists(st.tuples(logits, logits, st.integers(0, 4)), min_size=1, max_size=6))
def test_a_divergence_is_never_negative_and_that_of_a_loop(rows):
    first, second = (torch.tensor([row[side] for row in rows], dtype=torch.float64) for side in (0, 1))
    targets = [row[2] for row in rows]
    both = [normalized("m", one.log_softmax(-1), is_open=False, seen=0)[0] for one in (first, second)]
    found = compared(both[0], both[1], targets)
    for row, (p_logits, q_logits, target) in enumerate(rows):
        p, q = (
            [
                math.exp(one - max(side)) / math.fsum(math.exp(each - max(side)) for each in side)
                for one in side
            ]
            for side in (p_logits, q_logits)
        )
        divergence = math.fsum(a * (math.log(a) - math.log(b)) for a, b in zip(p, q, strict=True))
        assert found[0, row] == pytest.approx(divergence, abs=1e-9)
        assert found[0, row] >= 0
        assert found[1:3, row].exp().tolist() == pytest.approx([p[target], q[target]], abs=1e-12)
    assert compared(both[0], both[0], targets)[0].tolist() == [0.0] * len(rows)


# ---- models of a user's, which give the scores of all words in different ways, or in wrong ones ----


class Bigram:
    """Scores one word after another only: the word before decides. Its state grows if it is asked to.

    All probabilities are multiplied by a factor.
    """

    def __init__(self, size, *, grows=False, seed=3, factor=1.0):
        table = torch.randn(size, size, generator=torch.Generator().manual_seed(seed)).double()
        self.table, self.grows = (2 * table).log_softmax(-1) + math.log(factor), grows

    def initial_state(self, batch_size):
        return torch.ones(batch_size, 1, dtype=torch.int64)

    def __call__(self, tokens, state):
        words = torch.cat([state, tokens], dim=1)
        scores = self.table[words[:, -tokens.shape[1] - 1 : -1], tokens]
        return scores, words if self.grows else words[:, -1:]


class Full(Bigram):
    def next_log_probs(self, state):
        return self.table[state[:, -1]]


class Whole(Full):
    def all_log_probs(self, tokens, state):
        words = torch.cat([state, tokens], dim=1)
        return self.table[words[:, :-1]], words[:, -1:]


class Shifted(Whole):
    """What it says of all words is that of the token before."""

    def all_log_probs(self, tokens, state):
        found, after = super().all_log_probs(tokens, state)
        return found.roll(1, dims=1), after


class Later(Whole):
    """Its probabilities sum to one at the beginning only."""

    read = 0

    def all_log_probs(self, tokens, state):
        found, after = super().all_log_probs(tokens, state)
        Later.read += tokens.shape[1]
        return found + 0.01 * (Later.read > 256), after


class Zero(Whole):
    """One word is impossible."""

    def __init__(self, size, **options):
        super().__init__(size, **options)
        self.table[:, size - 1] = -torch.inf
        self.table = self.table - self.table.logsumexp(-1, keepdim=True)


bigram, full, grows = maker(Bigram), maker(Full), maker(partial(Full, grows=True))
whole, shifted, later, zero, uniform = map(maker, (Whole, Shifted, Later, Zero, Uniform))
skewed, too_much, too_little = (
    maker(partial(Whole, **options)) for options in ({"seed": 4}, {"factor": 2.0}, {"factor": 0.5})
)


def open_words(inputs):
    """A tenth of the probability is of words that the vocabulary lacks."""
    loaded = open_model(f"{HERE}:whole", inputs)
    model = Whole(len(inputs.vocabulary), factor=0.9)
    return replace(loaded, model=model, open_vocabulary=True, users="")


def few_words(inputs):
    words = type(inputs.vocabulary)(inputs.vocabulary.tokens[:-1])
    loaded = open_model(f"{HERE}:whole", inputs)
    return replace(loaded, model=Whole(len(words)), vocabulary=words, users="")


@pytest.mark.parametrize("way", ["bigram", "full", "grows"])
def test_the_way_in_which_a_model_gives_all_words_does_not_matter(data, way, monkeypatch):
    monkeypatch.setattr(distribution_texts, "copies", lambda state: 3)  # states that are joined
    one = lb.compare_distributions(f"{HERE}:{way}", f"{HERE}:skewed", data, device="cpu")
    other = lb.compare_distributions(f"{HERE}:whole", f"{HERE}:skewed", data, device="cpu")
    assert one.whole.divergence.value > 1
    for ours, theirs in zip(one.groups, other.groups, strict=True):
        assert ours == theirs


def test_the_direction_is_from_the_first_to_the_second(data):
    there = lb.compare_distributions(f"{HERE}:whole", f"{HERE}:uniform", data, device="cpu")
    back = lb.compare_distributions(f"{HERE}:uniform", f"{HERE}:whole", data, device="cpu")
    assert there.whole.divergence.value != pytest.approx(back.whole.divergence.value, rel=0.01)
    assert there.whole.delta.value == pytest.approx(-back.whole.delta.value)
    table, inputs = Whole(there.vocabulary).table, make_inputs(data, "test", device="cpu")
    ids, articles = inputs.vocabulary.ids, inputs.dataset.articles("test")
    words = [EOS, *(word for one in articles for word in words_of(one, inputs.vocabulary))]
    entropies = [-float((table[ids[one]].exp() * table[ids[one]]).sum()) for one in words[:-1]]
    mean = sum(entropies) / len(entropies)  # a uniform q: log V less the entropy of p
    assert there.whole.divergence.value == pytest.approx(math.log(there.vocabulary) - mean)


def test_an_open_vocabulary_is_said_and_divided_out(data):
    found = lb.compare_distributions(f"{HERE}:open_words", f"{HERE}:whole", data, device="cpu")
    assert found.outside == pytest.approx((0.1, 0.0))
    assert found.whole.divergence.value == pytest.approx(0, abs=1e-12)
    assert found.whole.delta_rms.value == pytest.approx(0, abs=1e-12)
    assert found.whole.first_nats == pytest.approx(found.whole.second_nats)
    assert "10% and 0% of the probability is of words outside an open vocabulary" in found.text()


@pytest.mark.parametrize(
    ("model", "message"),
    [
        ("too_much", r"violates . of 6 invariants; .*sum to 2.*That is .*too_much; --no-check compares"),
        ("shifted", "scores of the text differ by up to .* nats from those among all words"),
        ("later", r"later: the probabilities of \d+ words sum to 1\.010050 at token 256; expected 1"),
        ("zero", "gives a word a probability of 0 at token 0, so the divergence is infinite"),
        ("few_words", r"predicts \d+ words and .* \d+, not the same ones; expected one vocabulary"),
    ],
)
def test_what_is_no_distribution_is_refused(data, model, message):
    Later.read = 0
    check = model != "zero"
    with pytest.raises(HarnessError, match=message):
        lb.compare_distributions(f"{HERE}:skewed", f"{HERE}:{model}", data, device="cpu", check=check)


@pytest.mark.parametrize(("model", "total"), [("too_much", "2.000000"), ("too_little", "0.500000")])
def test_sums_are_tested_even_without_the_laws(data, model, total):
    with pytest.raises(HarnessError, match=f"{model}: the probabilities of .* sum to {total} at token 0"):
        lb.compare_distributions(f"{HERE}:{model}", f"{HERE}:whole", data, device="cpu", check=False)


def test_what_costs_too_much_is_refused_before_anything_is_read(data, monkeypatch):
    monkeypatch.setattr(distribution_texts, "MOST", 1000)
    with pytest.raises(HarnessError, match=r"bigram has no next_log_probs, so each of .* fewer --tokens"):
        lb.compare_distributions(f"{HERE}:full", f"{HERE}:bigram", data, device="cpu")
    assert lb.compare_distributions(f"{HERE}:full", f"{HERE}:bigram", data, tokens=10, device="cpu")
    for options, message in (({"tokens": 0}, "--tokens 0; expected 1"), ({"level": 1.0}, "level 1.0")):
        with pytest.raises(HarnessError, match=message):
            lb.compare_distributions("kn-5", "unigram", data, **options)


def test_the_command_prints_text_csv_and_json(data):
    words = ["-q", "compare-distributions", "kn-5", "unigram", "--data", str(data), "--device", "cpu"]
    found = lb.compare_distributions("kn-5", "unigram", data, device="cpu")
    printed = partial(invoke, commands, *words)
    text = printed()
    assert "KL(first || second)" in text
    assert f"{found.whole.divergence.value:.4f}" in text
    assert "6 passages (article)" in text
    assert "Article" not in text
    rows = list(csv.DictReader(io.StringIO(printed("--csv"))))
    assert [row["by"] for row in rows] == [group.by for group in found.groups]
    assert float(rows[0]["divergence"]) == found.whole.divergence.value
    assert (
        float(rows[0]["divergence_from"]),
        float(rows[0]["divergence_to"]),
    ) == found.whole.divergence.interval
    assert rows[-1]["delta_from"] == ""
    read = json.loads(printed("--json"))
    assert read["groups"][0]["divergence"]["value"] == found.whole.divergence.value
    assert read["first_model"] == "KN-5"
    assert read["second_model"] == "unigram"


def test_a_loss_too_large_for_a_perplexity_is_infinite(data):
    found = lb.compare_distributions("unigram", "kn-5", data, tokens=50)
    whole = replace(found.whole, second_nats=800.0)
    assert "kn-5: perplexity inf" in replace(found, groups=(whole,), second_model="kn-5").text()


def test_the_picture_shows_what_the_groups_say(data, tmp_path):
    out = tmp_path / "kl.svg"
    words = ["-q", "compare-distributions", "kn-5", "unigram", "--data", str(data), "--plot", str(out)]
    invoke(commands, *words)
    found = lb.compare_distributions("kn-5", "unigram", data, device="cpu")
    panels: list[Any] = charts._divergences(found).axes
    for axes, by in zip(panels, ("frequency", "position"), strict=True):
        own = [group for group in found.groups if group.by == by]
        assert [bar.get_height() for bar in axes.patches] == [group.divergence.value for group in own]
        assert [label.get_text() for label in axes.get_xticklabels()] == [group.label for group in own]
        bars = [group for group in own if group.divergence.interval]
        assert len(axes.containers) == 1 + len(bars)
    assert "<svg" in out.read_text()
    refused = CliRunner().invoke(commands, [*words[:-1], str(tmp_path / "kl.txt")])
    assert "expected a name that ends in" in str(refused.exception)
    with pytest.raises(HarnessError, match="nothing to draw"):
        lb.draw_distributions(replace(found, groups=found.groups[:1]), out)
