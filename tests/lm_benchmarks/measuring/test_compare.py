"""Differences with intervals: chance gives no significant difference; different things are not compared."""

import dataclasses
import math
import re
from typing import Any

import numpy as np
import pytest
from lm_benchmarks.choices import CHARACTERS_LOST, COMPARE_ONLY, MUST_AGREE
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
from lm_benchmarks.metrics import METRICS, Sums
from lm_benchmarks.records import append_record
from msgspec.structs import replace

from tests.lm_benchmarks.results import error_of, made, signed


def sample(seed=0, articles=60, gain=0.0, noise=0.05):
    """Results of two models on the same articles."""
    generator = np.random.default_rng(seed)
    tokens = generator.integers(500, 8000, articles)
    hardness = generator.normal(4.6, 0.3, articles)
    first = made(tokens * hardness, tokens, model="first")
    second = made(tokens * (hardness - gain + generator.normal(0, noise, articles)), tokens, model="second")
    return first, second


def with_another_end(result):
    """Its last article has one token."""
    return replace(result, articles=(*result.articles[:-1], Sums(nats=1.0, tokens=1)))


def test_the_numbers_are_those_of_the_whole_text_and_sides_can_be_changed():
    first, second = sample(gain=0.1)
    found, other = compare_results(first, second), compare_results(second, first)
    assert found.first == first.total.score.perplexity
    assert found.difference == second.total.score.perplexity - first.total.score.perplexity
    assert found.interval is not None
    assert found.interval[0] < found.difference < found.interval[1] < 0
    assert found.is_significant
    assert found.p_one_sided is not None
    assert 0 < found.p_one_sided < 1e-9
    assert (found.first_model, found.second_model) == ("first", "second")
    assert other.interval == pytest.approx((-found.interval[1], -found.interval[0]), rel=1e-9)
    assert other.p_one_sided == pytest.approx(found.p_one_sided, rel=1e-9)
    assert other.degrees == found.degrees
    first = replace(first, checks={"sums": "a sum of 1.1", "future": ""})
    second = replace(second, checks={"sums": "", "future": "a word that comes later"})
    broken = compare_results(first, second)  # stands beside the number
    assert (broken.first_broken, broken.second_broken) == (("sums",), ("future",))
    same = compare_results(first, first)
    assert (same.difference, same.interval, same.is_significant, same.p_one_sided) == (0, (0, 0), False, 0.5)


def test_rounding_is_not_clear():
    """Each article a little lower: the interval is without zero, but arithmetic alone can do that."""
    first, _ = sample()
    faults = []
    for rounding, arithmetic in (
        (1e-5, {}),
        (1e-5, {"precision": "fp32"}),
        (1e-4, {"precision": "tf32"}),
        (1e-3, {"precision": "bf16"}),
        (1e-3, {"precision": "fp32", "dtype": "bfloat16"}),
        (1e-5, {"precision": "fp32", "dtype": "float32"}),
    ):
        for factor, significant in ((0.1, False), (0.99, False), (1.01, True), (3, True)):
            share = 1 + math.log1p(-factor * rounding) * first.total.tokens / first.total.nats  # of the nats
            lower = tuple(replace(article, nats=article.nats * share) for article in first.articles)
            sides = (signed(result, **arithmetic) for result in (first, replace(first, articles=lower)))
            found = compare_results(*sides)
            assert found.interval is not None
            if (found.interval[1] < 0, found.is_significant, found.is_rounding) != (
                True,
                significant,
                not significant,
            ):
                faults.append((arithmetic, factor, found))
    assert faults == []


@pytest.mark.parametrize("metric", ["perplexity", "bits-per-byte"])
def test_each_article_is_left_out_of_both_models(metric):
    """Compared with a loop that leaves out articles one by one and sums the others again."""
    first, second = sample(3, articles=12, gain=0.01)
    without = []
    for left in range(12):
        totals = (
            replace(result, articles=(*result.articles[:left], *result.articles[left + 1 :])).total
            for result in (first, second)
        )
        before, after = (METRICS[metric].of(total) or 0.0 for total in totals)
        without.append(after - before)
    sums = [sums_of_passages(result.articles, METRICS[metric])[None] for result in (first, second)]
    chance, why = chance_of(sums, METRICS[metric])
    assert chance is not None
    assert why == ""
    assert chance.variance == pytest.approx(11 / 12 * 12 * np.var(without), rel=1e-9)
    tokens = np.array([article.tokens for article in first.articles], float)
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


def test_unlike_data_are_refused_with_the_reason_unless_they_are_allowed():
    """What changes the text may change its tokens too, if it is allowed."""
    first, _ = sample()
    faults = []
    for field in (*MUST_AGREE, *COMPARE_ONLY):
        other = signed(first, **{field: "other"})
        ending = f". Measure both in the same way, or compare them as they are with --allow {field}"
        why = error_of(compare_results, first, other)
        cut = error_of(compare_results, first, with_another_end(other), allow=[field])
        same_tokens = field in ("vocabulary", "context", "words", CHARACTERS_LOST)
        if field in MUST_AGREE:
            named = re.search(rf"cannot be compared: (a )?different .*\({field}: ", why)
            if not (named and why.endswith(ending) and MUST_AGREE[field] in why_unlike(first, other)[0]):
                faults.append((field, why))
            if compare_results(first, other, allow=[field]).difference != 0:
                faults.append((field, "a difference"))
        if ("different tokens were scored" in cut) != same_tokens or bool(cut) != same_tokens:
            faults.append((field, cut))
    assert faults == []
    found = compare_results(first, with_another_end(signed(first, eos="no")), allow=["eos"])
    assert found.difference != 0


def test_equally_many_lost_characters_do_not_make_results_alike():
    first, second = sample()
    poor = [signed(result, characters_lost="7") for result in (first, second)]
    assert "(characters_lost: 7 and 7)" in why_unlike(*poor)[0]
    assert "(characters_lost: 0 and 7)" in why_unlike(first, poor[1])[0]
    assert (
        why_unlike(poor[0], poor[1], [CHARACTERS_LOST])
        == why_unlike(first, signed(second, characters_lost="0"))
        == []
    )


def test_reasons_are_given_at_once_in_one_sentence():
    first, second = sample(gain=0.1)
    closed, wide = signed(first, words="closed"), signed(second, words="open")
    assert compare_results(closed, wide, allow=["words"]).is_significant
    assert "(words: - and open)" in why_unlike(first, wide)[0]
    other = with_another_end(first)
    turned = replace(first, articles=first.articles[::-1])
    read, cut = (in_windows(90.0, [32] * 9, [size] * 9) for size in (120, 131))
    tokens, way = first.total.tokens, "Measure both in the same way"
    as_they_are = f"{way}, or compare them as they are with"
    different = "different tokens were scored"
    fewer = replace(signed(first, eos="no"), articles=first.articles[:-1])
    split, eos = (re.escape(MUST_AGREE[field]) for field in ("split", "eos"))
    both = rf"{split} \(split: test and valid\); {eos} \(eos: yes and no\)"
    faults = []
    for one, two, allow, expected in (
        (
            closed,
            wide,
            (),
            rf"an open and a closed vocabulary.*\(words: closed and open\)\. {as_they_are} --allow words",
        ),
        (first, other, (), rf"{different} \({tokens} and {other.total.tokens}\)\. {way}"),
        (first, other, ("context",), rf"{different} .*\. {way}"),
        (first, other, ("words",), rf"{different} .*\. {way}"),
        (
            first,
            turned,
            (),
            rf"{different} \({tokens}, but in passages of a different order or length\)\. {way}",
        ),
        (read, cut, (), rf"the windows of the two tokenizers stand for different parts of the text\. {way}"),
        (first, fewer, ("eos",), rf".*60 and 59 passages; expected the same ones\. {way}"),
        (
            first,
            signed(first, split="valid", eos="no"),
            (),
            rf"{both}\. {as_they_are} --allow split --allow eos",
        ),
    ):
        why = error_of(compare_results, one, two, allow=allow)
        if not re.fullmatch(f"{one.model} and {two.model} cannot be compared: {expected}", why):
            faults.append((expected, why))
    assert faults == []


def test_other_metrics():
    first, second = sample(gain=0.1)
    found = compare_results(first, second, metric="bits-per-byte")
    assert found.second == pytest.approx(second.total.nats / math.log(2) / second.total.text_bytes)
    assert found.is_significant
    missing = error_of(compare_results, first, second, metric="bits-per-file-byte")
    assert "not counted; choose --metric perplexity or --metric " in missing
    wrong = error_of(compare_results, first, second, metric="accuracy")
    assert f"expected one of {', '.join(METRICS)}" in wrong


def test_results_of_a_file_are_compared_as_results_are(tmp_path):
    path, (first, second) = tmp_path / "results.jsonl", sample(gain=0.1)
    second = signed(second, words="open")
    for result in (first, second):
        append_record(path, result)
        append_record(path, replace(signed(result, split="valid"), articles=result.articles[:30]))
    chosen: dict[str, Any] = {"metric": "bits-per-byte", "level": 0.5, "allow": ["words"]}
    assert compare(path, "first", "second", **chosen) == compare_results(first, second, **chosen)
    assert "first and first are one model, first; expected two" in error_of(compare, path, "first", "first")
    assert compare(path, "first", "second", split="valid", allow=["words"]).passages == 30
    assert "an open and a closed vocabulary" in error_of(compare, path, "first", "second")
    assert error_of(compare, path, "first", "third").startswith(f"{path}: no result of third on test")


def test_a_difference_is_clear_if_neither_zero_nor_rounding_reaches_it():
    found = dataclasses.replace(compare_results(*sample()), first=9.0, second=8.0)
    faults = []
    for interval, rounding, significant in (
        ((-2.0, -0.5), 0.0, True),
        ((-2.0, 0.0), 0.0, False),
        ((0.0, 2.0), 0.0, False),
        ((math.nan, math.nan), 0.0, False),
        ((-2.0, -0.5), 1.0, False),
        ((-2.0, -0.5), 0.9, True),
    ):
        case = dataclasses.replace(found, interval=interval, rounding=rounding)
        if (case.is_significant, case.is_rounding) != (significant, rounding == 1.0):
            faults.append((interval, rounding))
    assert faults == []


def trained(generator, seeds, *, gain=0.0, spread=0.01, noise=0.0, articles=40):
    """Runs of a model: alike but for chance in training, which moves all articles of a run together."""
    tokens = np.random.default_rng(7).integers(500, 8000, articles)
    hardness = np.random.default_rng(8).normal(4.6, 0.3, articles)
    moved = generator.normal(-gain, spread, seeds)
    return [
        made(tokens * (hardness + mean + generator.normal(0, noise, articles)), tokens, model=f"m{seed}")
        for seed, mean in enumerate(moved)
    ]


def test_a_single_run_has_exactly_the_number_that_tables_show():
    for metric in ("perplexity", "bits-per-byte"):
        for seed in range(9):
            sides = sample(seed)
            found = compare_results(*sides, metric=metric)
            assert [found.first, found.second] == [METRICS[metric].of(side.total) for side in sides]
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
    assert found.single_run_model == compare_runs(first[:1], second[:1]).single_run_model == ""
    second = [replace(run, model="other") for run in second]
    assert compare_runs(first[:1], second).single_run_model == first[0].model
    assert compare_runs(first, second[:1]).single_run_model == "other"
    other = made([1.0] * 40, [10] * 40, model="m", data="ptb+2e")  # each run must measure the same
    assert "cannot be compared" in error_of(compare_runs, [first[0], other], first)


@pytest.mark.parametrize(("seeds", "quantile"), [(2, 12.7062), (3, 4.302653), (5, 2.776445)])
def test_a_mean_over_seeds_moves_by_students_t(seeds, quantile):
    """Passages are alike, so that only seeds vary: the mean and t times its standard error."""
    first = made([460] * 9, [100] * 9)
    nats = np.array([4.5, 4.5003, 4.4999, 4.5002, 4.50005][:seeds])
    runs = [made([100 * mean] * 9, [100] * 9, model=f"m{seed}") for seed, mean in enumerate(nats)]
    found = compare_runs([first], runs)
    assert found.interval is not None
    moved = quantile * nats.std(ddof=1) / math.sqrt(seeds) * found.second  # d exp(x) = exp(x) dx
    ends = [end - found.difference for end in found.interval]
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
def test_of_too_few_passages_and_numbers_that_are_too_large_there_is_no_interval():
    for count, why in ((5, ""), (4, "too few for an interval")):
        few = compare_results(*sample(articles=count, gain=0.1))
        assert few.no_interval == why
        assert [value is None for value in (few.interval, few.p_one_sided, few.degrees)] == [bool(why)] * 3
        assert not (why and few.is_significant)
    tokens = [10] * 6
    first, second = made([10.0] * 6, tokens), made([10.0] * 5 + [21_000.0], tokens)
    found = compare_results(first, second)  # the variance is beyond exp(709)
    assert math.isfinite(found.second)
    assert (found.interval, found.p_one_sided, found.is_significant) == (None, None, False)
    assert found.no_interval == "numbers too large for an interval"
    both = made([10.0] + [8_498.0] * 5, tokens)  # without the first passage each number is beyond exp(709)
    assert compare_results(both, both).no_interval == "numbers too large for an interval"
    why = error_of(compare_results, first, made([8_000.0] * 6, tokens))
    assert "too large to represent; choose --metric bits-per-byte" in why


def in_windows(nats, pieces, file_bytes):
    """A result of windows: they count no tokens."""
    articles = tuple(
        Sums(nats=nats, pieces=count, file_bytes=size) for count, size in zip(pieces, file_bytes, strict=True)
    )
    read = {"passage": "window", "context": "window", "text": "file", "vocabulary": "none"}
    return replace(made([], [], convention="gptq", **read), articles=articles)


def test_perplexities_of_other_pieces_are_refused_and_bits_per_byte_are_not():
    """Five hundred pieces a page with more nats in all have the lower perplexity per piece."""
    first, second = (in_windows(nats, [count] * 9, [600] * 9) for nats, count in ((400.0, 130), (450.0, 500)))
    per_piece = [METRICS["piece-perplexity"].of(side.total) or 0.0 for side in (first, second)]
    assert per_piece[1] < per_piece[0]
    assert error_of(compare_results, first, second, metric="piece-perplexity") == (
        f"{first.model} and {second.model} have different tokenizers, so their perplexities per token cannot"
        " be compared; choose --metric bits-per-byte"
    )
    assert compare_results(first, second, metric="bits-per-file-byte").difference > 0
    assert compare_results(first, first, metric="piece-perplexity").difference == 0
