"""Differences with intervals: chance gives no clear difference; results of different things are refused."""

import dataclasses
import math
import re
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from lm_benchmarks.choices import COMPARE_ONLY, MUST_AGREE, HarnessError
from lm_benchmarks.measuring.compare import (
    Chance,
    chance_of,
    combined,
    compare,
    compare_results,
    compare_runs,
    degrees_of_freedom,
    sums_of_passages,
)
from lm_benchmarks.measuring.select import why_unlike
from lm_benchmarks.metrics import METRICS, Metric, Sums
from lm_benchmarks.records import Result, append_record
from msgspec.structs import replace

from ps_models.signature import Signature

FIELDS = {
    "data": "ptb+1f",
    "split": "test",
    "convention": "paper",
    "passage": "article",
    "text": "tokens",
    "vocabulary": "10+ab",
    "eos": "yes",
    "context": "carried",
}


def made(nats, tokens, **fields):
    articles = tuple(
        Sums(nats=float(n), tokens=int(t), text_bytes=int(5 * t)) for n, t in zip(nats, tokens, strict=True)
    )
    signature = Signature(**(FIELDS | {"model": "m"} | fields))
    return Result(model=signature["model"], signature=signature, articles=articles)


def sample(generator, articles=60, gain=0.0, noise=0.05):
    tokens = generator.integers(500, 8000, articles)
    hardness = generator.normal(4.6, 0.3, articles)
    first = made(tokens * hardness, tokens, model="first")
    second = made(tokens * (hardness - gain + generator.normal(0, noise, articles)), tokens, model="second")
    return first, second


def test_the_numbers_are_those_of_the_whole_text():
    first, second = sample(np.random.default_rng(0), gain=0.1)
    found = compare_results(first, second)
    assert found.first == first.total.score.perplexity
    assert found.difference == second.total.score.perplexity - first.total.score.perplexity
    assert found.interval is not None
    assert found.interval[0] < found.difference < found.interval[1] < 0
    assert found.is_clear
    assert found.p_one_sided is not None
    assert 0 < found.p_one_sided < 1e-9
    assert (found.first_model, found.second_model) == ("first", "second")


def test_laws_that_a_model_breaks_stand_beside_its_number():
    first, second = sample(np.random.default_rng(0))
    broken = {"sums": "a sum of 1.1", "future": ""}, {"sums": "", "future": "a word that comes later"}
    found = compare_results(
        *(replace(one, checks=checks) for one, checks in zip((first, second), broken, strict=True))
    )
    assert (found.first_broken, found.second_broken) == (("sums",), ("future",))


def test_sides_can_be_changed():
    first, second = sample(np.random.default_rng(0), gain=0.02)
    found, other = compare_results(first, second), compare_results(second, first)
    assert found.interval is not None
    assert other.interval == pytest.approx((-found.interval[1], -found.interval[0]), rel=1e-9)
    assert other.p_one_sided == pytest.approx(found.p_one_sided, rel=1e-9)
    assert other.degrees == found.degrees


def test_a_model_and_itself_do_not_differ():
    first, _ = sample(np.random.default_rng(0))
    found = compare_results(first, first)
    assert found.difference == 0
    assert (found.interval, found.is_clear, found.p_one_sided) == ((0, 0), False, 0.5)


@pytest.mark.parametrize(
    ("arithmetic", "rounding"),
    [
        ({}, 1e-5),
        ({"precision": "fp32"}, 1e-5),
        ({"precision": "tf32"}, 1e-4),
        ({"precision": "bf16"}, 1e-3),
        ({"precision": "fp32", "dtype": "bfloat16"}, 1e-3),
        ({"precision": "fp32", "dtype": "float32"}, 1e-5),
    ],
)
def test_rounding_is_not_clear(arithmetic, rounding):
    """Each article a little lower: the interval is without zero, but arithmetic alone can do that."""
    first, _ = sample(np.random.default_rng(0))
    tokens = first.total.tokens
    for factor, clear in ((0.1, False), (0.99, False), (1.01, True), (3, True)):
        share = 1 + math.log1p(-factor * rounding) * tokens / first.total.nats  # of the nats
        lower = tuple(replace(article, nats=article.nats * share) for article in first.articles)
        found = compare_results(
            *(
                replace(one, signature=Signature(**first.signature, **arithmetic))
                for one in (first, replace(first, articles=lower))
            )
        )
        assert found.interval is not None
        assert found.interval[1] < 0
        assert (found.is_clear, found.is_rounding) == (clear, not clear)


def test_open_and_closed_vocabularies_are_compared_only_if_allowed():
    first, second = sample(np.random.default_rng(0), gain=0.1)
    first, second = (
        replace(one, signature=Signature(**one.signature, words=words))
        for one, words in ((first, "closed"), (second, "open"))
    )
    with pytest.raises(HarnessError, match=r"an open and a closed vocabulary: .*\(words: closed and open\)"):
        compare_results(first, second)
    with pytest.raises(HarnessError, match=r", or compare them as they are with --allow words$"):
        compare_results(first, second)
    assert compare_results(first, second, allow=["words"]).is_clear
    older, _ = sample(np.random.default_rng(0))
    assert "(words: - and open)" in why_unlike(older, second)[0]


def number(articles: Sequence[Sums], metric: Metric) -> float:
    found = metric.of(
        Sums(
            nats=sum(one.nats for one in articles),
            tokens=sum(one.tokens for one in articles),
            text_bytes=sum(one.text_bytes for one in articles),
        )
    )
    assert found is not None
    return found


@pytest.mark.parametrize("metric", ["perplexity", "bits-per-byte"])
def test_each_article_is_left_out_of_both_models(metric):
    """Compared with a loop that leaves out articles one by one and sums the others again."""
    first, second = sample(np.random.default_rng(3), articles=12, gain=0.01)
    without = []
    for left in range(12):
        one, other = (
            number([*result.articles[:left], *result.articles[left + 1 :]], METRICS[metric])
            for result in (first, second)
        )
        without.append(other - one)
    sums = [sums_of_passages(one.articles, METRICS[metric])[None] for one in (first, second)]
    chance, why = chance_of(sums, METRICS[metric])
    assert chance is not None
    assert why == ""
    assert chance.variance == pytest.approx(11 / 12 * 12 * np.var(without), rel=1e-9)
    tokens = np.array([one.tokens for one in first.articles], float)
    assert chance.degrees == pytest.approx(degrees_of_freedom(tokens), rel=1e-12)
    found = compare_results(first, second, metric=metric, level=0.9)
    assert found.interval == chance.interval(found.difference, 0.9)
    assert (found.p_one_sided, found.degrees) == (chance.p_one_sided(found.difference), chance.degrees)


def test_articles_have_the_weight_of_both_models():
    """Where the models counted other tokens, as may be allowed, the mean of both decides the degrees."""
    first = made([90.0] * 6, [10, 10, 10, 10, 10, 60], eos="yes")
    second = made([80.0] * 6, [10, 10, 10, 10, 60, 10], eos="no")
    found = compare_results(first, second, allow=["eos"])
    assert found.degrees == pytest.approx(degrees_of_freedom(np.array([10.0, 10, 10, 10, 35, 35])))


@pytest.mark.parametrize("field", MUST_AGREE)
def test_unlike_data_are_refused_and_the_reason_is_told(field):
    first, _ = sample(np.random.default_rng(0))
    other = replace(first, signature=Signature(**{**first.signature, field: "other"}))
    with pytest.raises(HarnessError, match=rf"cannot be compared: (a )?different .*\({field}: ") as error:
        compare_results(first, other)
    assert str(error.value).endswith(
        f". Measure both in the same way, or compare them as they are with --allow {field}"
    )
    assert MUST_AGREE[field] in why_unlike(first, other)[0]
    assert compare_results(first, other, allow=[field]).difference == 0


def test_other_tokens_are_refused_whatever_the_signatures_say():
    first, _ = sample(np.random.default_rng(0))
    other = replace(first, articles=(*first.articles[:-1], Sums(nats=1.0, tokens=1)))
    for allow in ((), ("context",), ("words",)):
        with pytest.raises(HarnessError, match="different tokens were scored"):
            compare_results(first, other, allow=allow)
    ended = replace(other, signature=Signature(**{**first.signature, "eos": "no"}))
    assert compare_results(first, ended, allow=["eos"]).second != compare_results(first, first).second
    fewer = replace(ended, articles=first.articles[:-1])
    with pytest.raises(
        HarnessError, match=r"60 and 59 passages; expected the same ones. Measure both in the same way"
    ):
        compare_results(first, fewer, allow=["eos"])


@pytest.mark.parametrize("field", [*MUST_AGREE, *COMPARE_ONLY])
def test_what_changes_the_text_may_change_its_tokens_if_allowed(field):
    first, _ = sample(np.random.default_rng(0))
    other = replace(
        first,
        articles=(*first.articles[:-1], Sums(nats=1.0, tokens=1)),
        signature=Signature(**{**first.signature, field: "other"}),
    )
    if field in ("vocabulary", "context", "words"):
        with pytest.raises(HarnessError, match="different tokens were scored"):
            compare_results(first, other, allow=[field])
    else:
        assert compare_results(first, other, allow=[field]).difference != 0


def test_all_reasons_are_given_at_once():
    first, _ = sample(np.random.default_rng(0))
    other = replace(first, signature=Signature(**(FIELDS | {"model": "m", "split": "valid", "eos": "no"})))
    with pytest.raises(HarnessError) as error:
        compare_results(first, other)
    assert str(error.value) == (
        f"first and first cannot be compared: {MUST_AGREE['split']} (split: test and valid);"
        f" {MUST_AGREE['eos']} (eos: yes and no). Measure both in the same way, or compare"
        " them as they are with --allow split --allow eos"
    )


def test_fewer_than_five_passages_have_no_interval():
    first, second = sample(np.random.default_rng(0), articles=5, gain=0.1)
    assert compare_results(first, second).interval is not None
    assert compare_results(first, second).no_interval == ""
    found = compare_results(*(replace(one, articles=one.articles[:4]) for one in (first, second)))
    assert (found.interval, found.p_one_sided, found.degrees) == (None, None, None)
    assert found.no_interval == "too few for an interval"
    assert not found.is_clear


def test_other_metrics():
    first, second = sample(np.random.default_rng(0), gain=0.1)
    found = compare_results(first, second, metric="bits-per-byte")
    assert found.second == pytest.approx(second.total.nats / math.log(2) / second.total.text_bytes)
    assert found.is_clear
    with pytest.raises(HarnessError, match="not counted; choose --metric perplexity or --metric "):
        compare_results(first, second, metric="bits-per-file-byte")
    with pytest.raises(HarnessError, match=re.escape(f"expected one of {', '.join(METRICS)}")):
        compare_results(first, second, metric="accuracy")


def test_results_of_a_file_are_compared_as_results_are(tmp_path):
    path, (first, second) = tmp_path / "results.jsonl", sample(np.random.default_rng(0), gain=0.1)
    second = replace(second, signature=Signature(**second.signature, words="open"))
    for one in (first, second):
        append_record(path, one)
        valid = replace(one, signature=Signature(**{**one.signature, "split": "valid"}))
        append_record(path, replace(valid, articles=one.articles[:30]))
    chosen: dict[str, Any] = {"metric": "bits-per-byte", "level": 0.5}
    chosen["allow"] = ["words"]
    assert compare(path, "first", "second", **chosen) == compare_results(first, second, **chosen)
    assert compare(str(path), "first", "first") == compare_results(first, first)
    assert compare(path, "first", "second", split="valid", allow=["words"]).passages == 30
    with pytest.raises(HarnessError, match="an open and a closed vocabulary"):
        compare(path, "first", "second")
    with pytest.raises(HarnessError, match=rf"^{re.escape(str(path))}: no result of third on test"):
        compare(path, "first", "third")


@pytest.mark.parametrize(
    ("interval", "rounding", "clear"),
    [
        ((-2.0, -0.5), 0.0, True),
        ((-2.0, 0.0), 0.0, False),
        ((0.0, 2.0), 0.0, False),
        ((math.nan, math.nan), 0.0, False),
        ((-2.0, -0.5), 1.0, False),
        ((-2.0, -0.5), 0.9, True),
    ],
)
def test_a_difference_is_clear_if_neither_zero_nor_rounding_reaches_it(interval, rounding, clear):
    found = compare_results(*sample(np.random.default_rng(0)))
    found = dataclasses.replace(found, first=9.0, second=8.0, interval=interval, rounding=rounding)
    assert found.is_clear == clear
    assert found.is_rounding == (rounding == 1.0)


def trained(generator, seeds, *, gain=0.0, spread=0.01, noise=0.0, articles=40):
    """Runs of a model: alike but for chance in training, which moves all articles of a run together."""
    tokens = np.random.default_rng(7).integers(500, 8000, articles)
    hardness = np.random.default_rng(8).normal(4.6, 0.3, articles)
    moved = generator.normal(-gain, spread, seeds)
    return [
        made(tokens * (hardness + one + generator.normal(0, noise, articles)), tokens, model=f"m{seed}")
        for seed, one in enumerate(moved)
    ]


def test_a_single_run_has_exactly_the_number_that_tables_show():
    generator = np.random.default_rng(0)
    for metric in ("perplexity", "bits-per-byte"):
        for _ in range(9):
            first, second = sample(generator)
            found = compare_results(first, second, metric=metric)
            assert [found.first, found.second] == [METRICS[metric].of(one.total) for one in (first, second)]
    certain = made([0.0] * 6, [10] * 6)
    assert compare_results(certain, certain, metric="bits-per-byte").first == 0


def test_runs_with_several_seeds_count_by_their_mean():
    generator = np.random.default_rng(0)
    first, second = trained(generator, 3), trained(generator, 2, gain=0.1)
    found = compare_runs(first, second)
    assert found.first_runs == tuple(run.total.score.perplexity for run in first)
    assert len(found.second_runs) == 2
    assert found.first == pytest.approx(math.prod(found.first_runs) ** (1 / 3), rel=1e-12)
    assert found.second < found.first
    assert compare_runs(first, second) == found
    assert found.alone == compare_runs(first[:1], second[:1]).alone == ""
    second = [replace(run, model="other") for run in second]
    assert compare_runs(first[:1], second).alone == first[0].model
    assert compare_runs(first, second[:1]).alone == "other"


@pytest.mark.parametrize(("seeds", "quantile"), [(2, 12.7062), (3, 4.302653), (5, 2.776445)])
def test_a_mean_over_seeds_moves_by_students_t(seeds, quantile):
    """Passages are alike, so that only seeds vary: the mean and t times its standard error."""
    first = made([460] * 9, [100] * 9)
    nats = np.array([4.5, 4.5003, 4.4999, 4.5002, 4.50005][:seeds])
    runs = [made([100 * one] * 9, [100] * 9, model=f"m{seed}") for seed, one in enumerate(nats)]
    found = compare_runs([first], runs)
    assert found.interval is not None
    moved = quantile * nats.std(ddof=1) / math.sqrt(seeds) * found.second  # d exp(x) = exp(x) dx
    ends = [one - found.difference for one in found.interval]
    assert ends == pytest.approx([-moved, moved], rel=1e-3)
    assert found.degrees == seeds - 1


def test_variances_of_passages_and_of_both_sides_seeds_add_up():
    generator = np.random.default_rng(4)
    first, second = trained(generator, 3, noise=0.01), trained(generator, 2, noise=0.01)
    metric = METRICS["bits-per-byte"]
    sums = [np.stack([sums_of_passages(run.articles, metric) for run in runs]) for runs in (first, second)]
    pooled = [runs.mean(axis=0)[None] for runs in sums]  # as one run each
    parts = [chance_of(pooled, metric)[0]]
    for runs in (first, second):
        numbers = np.array([metric.of(run.total) for run in runs])
        parts.append(Chance(numbers.var(ddof=1) / len(runs), len(runs) - 1))
    expected = combined([part for part in parts if part])
    found, _ = chance_of(sums, metric)
    assert found is not None
    assert found.variance == pytest.approx(expected.variance, rel=1e-9)
    assert found.degrees == expected.degrees


@pytest.mark.filterwarnings("error")
def test_numbers_that_are_too_large_are_no_interval_and_no_traceback():
    tokens = [10] * 6
    first, second = made([10.0] * 6, tokens), made([10.0] * 5 + [21_000.0], tokens)
    found = compare_results(first, second)  # the variance is beyond exp(709)
    assert math.isfinite(found.second)
    assert (found.interval, found.p_one_sided, found.is_clear) == (None, None, False)
    assert found.no_interval == "numbers too large for an interval"
    both = made([10.0] + [8_498.0] * 5, tokens)  # without the first passage each number is beyond exp(709)
    assert compare_results(both, both).no_interval == "numbers too large for an interval"
    with pytest.raises(HarnessError, match="too large to represent; choose --metric bits-per-byte"):
        compare_results(first, made([8_000.0] * 6, tokens))


def test_chance_in_training_makes_no_clear_difference_but_one_run_of_each_often_does():
    generator = np.random.default_rng(1)
    pairs = [(trained(generator, 3), trained(generator, 3)) for _ in range(200)]
    clear = sum(compare_runs(*pair).is_clear for pair in pairs)
    alone = sum(compare_runs(first[:1], second[:1]).is_clear for first, second in pairs)
    assert clear <= 10  # 2.5 % and less, of 200
    assert alone > 150


def test_each_run_must_measure_the_same():
    first = trained(np.random.default_rng(0), 2)
    other = made([1.0] * 40, [10] * 40, model="m", data="ptb+2e")
    with pytest.raises(HarnessError, match="cannot be compared"):
        compare_runs([first[0], other], first)


WINDOWS = {
    "convention": "gptq",
    "passage": "window",
    "text": "file",
    "context": "window",
    "vocabulary": "none",
}


def in_windows(nats, pieces, file_bytes, **fields):
    """A result of windows: they count no tokens."""
    articles = tuple(
        Sums(nats=nats, pieces=count, file_bytes=size) for count, size in zip(pieces, file_bytes, strict=True)
    )
    return replace(made([], [], **WINDOWS, **fields), articles=articles)


def test_perplexities_of_other_pieces_are_refused_and_bits_per_byte_are_not():
    """Five hundred pieces a page with more nats in all have the lower perplexity per piece."""
    first, second = (in_windows(nats, [count] * 9, [600] * 9) for nats, count in ((400.0, 130), (450.0, 500)))
    per_piece = [METRICS["piece-perplexity"].of(one.total) or 0.0 for one in (first, second)]
    assert per_piece[1] < per_piece[0]
    names = f"{first.model} and {second.model}"
    with pytest.raises(
        HarnessError,
        match=f"^{names} have different tokenizers, so their perplexities per token cannot be compared;"
        " choose --metric bits-per-byte$",
    ):
        compare_results(first, second, metric="piece-perplexity")
    assert compare_results(first, second, metric="bits-per-file-byte").difference > 0
    assert compare_results(first, first, metric="piece-perplexity").difference == 0


def test_other_tokens_and_windows_are_told_apart_and_no_option_allows_them():
    first, _ = sample(np.random.default_rng(0))
    other = replace(first, articles=(*first.articles[:-1], Sums(nats=1.0, tokens=1)))
    turned = replace(first, articles=first.articles[::-1])
    read, cut = (in_windows(90.0, [32] * 9, [size] * 9) for size in (120, 131))
    total = f"({first.total.tokens} and {other.total.tokens})"
    ordered = f"({first.total.tokens}, but in passages of another order or length)"
    for one, two, why in (
        (first, other, f"different tokens were scored {total}"),
        (first, turned, f"different tokens were scored {ordered}"),
        (read, cut, "the windows of the two tokenizers stand for different parts of the text"),
    ):
        text = f"{one.model} and {two.model} cannot be compared: {why}. Measure both in the same way"
        with pytest.raises(HarnessError, match=f"^{re.escape(text)}$"):
            compare_results(one, two)
