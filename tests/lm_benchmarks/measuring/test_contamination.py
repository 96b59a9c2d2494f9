"""contamination: a model that has read half of the past is found; one that has read none of it is not."""

import json
import math
import shutil
from dataclasses import replace
from itertools import combinations
from statistics import stdev
from xml.etree import ElementTree

import lm_benchmarks as lb
import numpy as np
import pytest
from click.testing import CliRunner
from hypothesis import given, settings
from hypothesis import strategies as st
from lm_benchmarks.cli import commands
from lm_benchmarks.errors import HarnessError
from lm_benchmarks.measuring import articles as by_months
from lm_benchmarks.measuring.articles import Measured, match
from lm_benchmarks.measuring.contamination import chance_of_easier, difference_of, said_unmatched
from lm_benchmarks.measuring.models import make_inputs, open_model
from lm_benchmarks.metrics import METRICS, Sums
from lm_benchmarks.reporting.charts import figure_of, place_of

import wikitext_builder as wb
from tests.command import invoke
from tests.dumps import numbered_page
from tests.lm_benchmarks.adapters.test_ngrams import arpa
from tests.lm_benchmarks.tiny_causal import make_causal_model
from wikitext_builder.article import Article
from wikitext_builder.dataset.manifest import file_line
from wikitext_builder.pages.lock import ATTRIBUTION_HEAD, Attribution
from wikitext_builder.pages.store import Dates, Store, add_dates
from wikitext_builder.sample import SAMPLE_DUMP

BITS = METRICS["bits-per-byte"]


def written(folder, split, articles, months=()):
    folder.mkdir(exist_ok=True)
    text = "".join(file_line(line) for lines in articles for line in lines)
    (folder / f"wiki.{split}.tokens").write_text(text, encoding="utf-8", newline="\n")
    if months:
        one = Article(title="T", page_id=1, revision_id=1, timestamp="", lines=())
        dated = [
            replace(one, page_id=100 * int(month.replace("-", "")) + n, timestamp=f"{month}-05T00:00:00Z")
            for n, month in enumerate(months)
        ]
        rows = [Attribution.of(each, split, "en").line() for each in dated]
        (folder / "attribution.tsv").write_text(
            ATTRIBUTION_HEAD + "".join(rows), encoding="utf-8", newline="\n"
        )


@pytest.fixture(scope="module")
def studies(tmp_path_factory):
    """Before and after of 10 articles each; the train file has none or half of the articles of before.

    A 5-gram model is trained on the train file, which both sides share: it is the same model on both.
    """
    folder = tmp_path_factory.mktemp("studies")
    wb.import_dump(folder / "pages.store", SAMPLE_DUMP)
    wb.build("demo", folder / "pages.store", folder / "demo", workers=1, min_count=1)
    dataset = wb.load(folder / "demo")
    articles = [one.lines for split in dataset.files for one in dataset.articles(split)]
    sides, made = {"before": articles[8:18], "after": articles[18:28]}, {}
    for name, known in (("clean", 0), ("dirty", 5)):
        for side, some in sides.items():
            months = [f"20{20 if side == 'before' else 24}-{n % 3 + 1:02}" for n in range(10)]
            written(folder / f"{name}-{side}", "train", articles[: 8 + known])
            written(folder / f"{name}-{side}", "test", some, months)
        made[name] = (folder / f"{name}-before", folder / f"{name}-after")
    return made


def test_what_was_read_is_found_and_what_was_not_is_not(studies):
    before, after = studies["dirty"]
    dirty = lb.contamination("kn-5", before=before, after=after, check=False)
    assert dirty.is_found
    assert [one.metric for one in dirty.differences] == ["bits-per-byte", "bits-per-word"]
    for one in dirty.differences:
        assert one.difference == pytest.approx(one.after - one.before)
        assert one.interval[0] < one.difference < one.interval[1]
    assert len(dirty.pairs) == 10
    assert (dirty.matched_by, dirty.dated) == (("words", "length"), "revision")
    assert dirty.step is not None
    assert (dirty.step.month, dirty.step.last) == ("2024-01", "2020-03")
    assert dirty.step.rise > 0.2
    assert dirty.verdict.startswith(
        "The model has probably read some of the earlier articles: they are easier"
    )
    assert {(one.side, one.created, one.revision[:4]) for one in dirty.rows} == {
        ("before", "", "2020"),
        ("after", "", "2024"),
    }
    assert sum(one.partner != "" for one in dirty.rows) == 20
    clean = lb.contamination("kn-5", before=studies["clean"][0], after=studies["clean"][1], check=False)
    assert not clean.is_found
    assert clean.verdict.startswith(
        "No sign that the model has read the earlier articles: they are not easier"
    )
    assert clean.step is None  # a "largest step" is always there, and was always reported
    assert abs(clean.differences[0].difference) < dirty.differences[0].difference / 2


def test_an_article_on_both_sides_is_refused(studies):
    before, _ = studies["clean"]
    with pytest.raises(HarnessError, match=r"10 articles of test are on both sides, such as T; .* --exclude"):
        lb.contamination("kn-5", before=before, after=before, check=False)


def test_wikis_on_one_host_have_their_own_page_ids(studies, tmp_path):
    before, after = (shutil.copytree(studies["clean"][0], tmp_path / name) for name in ("before", "after"))
    for folder, wiki in ((before, "one"), (after, "two")):
        text = (folder / "attribution.tsv").read_text(encoding="utf-8")
        text = text.replace("en.wikipedia.org/w/", f"[x/{wiki}/")  # as damaged as an address can be
        (folder / "attribution.tsv").write_text(text, encoding="utf-8")
    assert len(lb.contamination("kn-5", before=before, after=after, check=False).rows) == 20


def test_a_reference_is_subtracted(studies):
    before, after = studies["dirty"]
    same = lb.contamination("kn-5", before=before, after=after, check=False, reference="kn-5")
    assert (same.differences[0].difference, same.differences[0].interval) == (0, (0, 0))
    assert not same.is_found
    assert "compared with kn-5" in same.verdict
    assert {one.difference.value for one in same.months if one.difference} == {0}
    assert same.step is None
    assert lb.contamination("kn-5", before=before, after=after, check=False, reference="unigram").is_found


def test_the_command(studies, tmp_path):
    before, after = studies["dirty"]
    words = ["contamination", "kn-5", "--before", str(before), "--after", str(after), "-q"]
    found = json.loads(invoke(commands, *words, "--json"))
    assert found["is_found"]
    assert found["articles"] == [10, 10]
    text = invoke(commands, *words)
    assert "The model has probably read some of the earlier articles" in text
    assert "matched by words, length; without a partner: none" in text
    assert "categories and quality not known on both sides" in text
    assert f"in {100 * found['chance']:.2g}% of 10,000 permutations across both sides" in text
    assert "step by month of the revision" in text
    assert "at 2024-01 (after 2020-03, the last month before it with articles)" in text
    plot, table = tmp_path / "plot.png", tmp_path / "articles.csv"
    invoke(commands, *words, "--plot", plot, "--csv", table)
    assert plot.read_bytes().startswith(b"\x89PNG")
    head, *lines = table.read_text(encoding="utf-8").splitlines()
    assert head.startswith("side,title,created,promoted,revision,partner,tokens,bytes,bits_per_byte")
    assert len(lines) == 20
    refused = CliRunner().invoke(commands, [*words, "--plot", str(tmp_path / "plot.txt")])
    assert isinstance(refused.exception, HarnessError)  # before it measures


def test_a_file_of_n_grams_that_lacks_most_words_is_a_model(studies, tmp_path, caplog):
    """It ended, after all tokens, in "the probabilities of 28,152 words sum to 100.39"."""
    caplog.set_level("WARNING", logger="lm_benchmarks")
    (tmp_path / "few.arpa").write_text(arpa(["the", "of", "and"]), encoding="utf-8")
    before, after = studies["dirty"]
    found = lb.contamination(f"arpa:{tmp_path / 'few.arpa'}", before=before, after=after, resamples=100)
    assert len(found.pairs) == 10
    assert caplog.text.count("words of the dataset only as its <unk>") == 2


def test_models_that_differ_and_too_few_articles_are_refused(studies, tmp_path):
    with pytest.raises(HarnessError, match="not the same on both sides"):
        lb.contamination("kn-5", before=studies["clean"][0], after=studies["dirty"][1], check=False)
    few = tmp_path / "few"
    dataset = wb.load(studies["clean"][0])
    for split in ("train", "test"):
        written(few, split, [one.lines for one in dataset.articles(split)][:4])
    with pytest.raises(HarnessError, match="4 pairs"):
        lb.contamination("kn-5", before=few, after=few, check=False)
    for level in (-0.5, math.nan):
        with pytest.raises(HarnessError, match="expected one between 0 and 1"):
            lb.contamination("kn-5", before=few, after=few, level=level)
    for resamples, seed in ((0, 1), (1, -1)):
        with pytest.raises(HarnessError, match="expected 1 resample or more, and a seed of 0 or more"):
            lb.contamination("kn-5", before=few, after=few, resamples=resamples, seed=seed)


def article(words, nats=1.0, size=100, month="", quality=None, categories=""):
    sums, known = Sums(nats=nats, tokens=size // 5, text_bytes=size), frozenset(categories.split())
    about = {"month": month, "quality": quality, "categories": known}
    return Measured(title=words, sums=sums, words=frozenset(words.split()), **about)


def test_articles_are_matched_by_topic_then_by_length():
    before = [article("the tea cup"), article("the ship sea", size=100), article("the ship sea", size=1000)]
    after = [article("the ship boat", size=900), article("the tea pot"), article("the ship port", size=120)]
    found = match(before, after)
    assert sorted(found.pairs) == [(0, 1), (1, 2), (2, 0)]
    assert (found.by, found.unmatched) == (("words", "length"), ({}, {}))
    assert len(match(before, after[:1]).pairs) == 1


def test_categories_give_the_topic_too():
    """The words alone would pair each article with the other one."""
    before = [article("a b c x", categories="rivers peru"), article("d e f y", categories="ships wrecks")]
    after = [article("a b c z", categories="ships lost"), article("d e f w", categories="rivers chile")]
    assert sorted(match(before, after).pairs) == [(0, 0), (1, 1)]
    same = [replace(one, words=frozenset("wxyz")) for one in (*before, *after)]
    found = match(same[:2], same[2:])
    assert sorted(found.pairs) == [(0, 1), (1, 0)]
    assert found.by == ("words", "categories", "length")
    none = [replace(one, categories=frozenset()) for one in after]
    assert match(before, none).by == ("words", "length")


def test_what_has_no_partner_is_counted_with_the_reason():
    good = [article(f"tea {n}", quality="good", size=100 * 2**n) for n in range(4)]
    plain = [article(f"tea {n}", quality="", size=100) for n in range(3)]
    found = match([*good, *plain], [article("tea", quality="featured"), *good[:2], *plain[:1]])
    assert found.by == ("words", "quality", "length")
    assert sorted(found.pairs) == [(0, 1), (1, 2), (4, 3)]
    assert found.unmatched == ({"taken": 3, "length": 1}, {"quality": 1})
    assert said_unmatched(found.unmatched) == "4 of before: 1 length, 3 taken; 1 of after: 1 quality"
    unknown = [replace(one, quality=None) for one in good]
    assert match(good, unknown).by == ("words", "length")  # one side does not know it
    assert match(unknown, plain).unmatched == ({"length": 2}, {"taken": 1})


qualities = st.sampled_from(["", "good", "featured"])
described = st.builds(
    article,
    st.text("abc ", min_size=1),
    size=st.integers(5, 400),
    quality=qualities,
    categories=st.text("xy "),
)


@settings(max_examples=40)
@given(st.lists(described, min_size=1, max_size=9), st.lists(described, min_size=1, max_size=9))
def test_pairs_are_alike_and_all_others_are_counted(before, after):
    found = match(before, after)
    for one, other in found.pairs:
        assert before[one].quality == after[other].quality
        sizes = before[one].sums.text_bytes, after[other].sums.text_bytes
        assert max(sizes) <= 2 * min(sizes)
    for side, articles in enumerate((before, after)):
        used = {pair[side] for pair in found.pairs}
        assert len(used) == len(found.pairs)
        assert len(used) + sum(found.unmatched[side].values()) == len(articles)
    # no two that were left could have been a pair
    left = [
        [one for n, one in enumerate(articles) if n not in {pair[side] for pair in found.pairs}]
        for side, articles in enumerate((before, after))
    ]
    assert not all(left) or not match(*left).pairs


def months_of(sides, split, by=""):
    return by_months.months_of([by_months.dates_of(side, split) for side in sides], by)


def test_months_are_those_of_creation_if_they_are_known(tmp_path):
    pages = [replace(page, page_id=n, revision_id=n, title=f"Page {n}")
             for n, page in enumerate([numbered_page(1, "Some words. " * 9)] * 6, start=1)]  # fmt: skip
    with Store.create(tmp_path / "a.store") as store:
        store.add("en", pages, origin="test")
        created = {n: Dates(created=f"2021-0{n}-02T00:00:00Z") for n in range(1, 7)}
        add_dates(store, "en", created)
        add_dates(store, "en", {n: Dates(promoted="2022-05-02T00:00:00Z") for n in range(1, 4)})
    sides = []
    for name in ("before", "after"):
        wb.build("live", tmp_path / "a.store", tmp_path / name, workers=1)
        sides.append(wb.load(tmp_path / name))
    titles = [one.title for one in sides[0].articles("test")]
    by, (months, same) = months_of(sides, "test")
    assert (by, months, same) == ("created", [f"2021-0{title[-1]}" for title in titles], months)
    assert months_of(sides, "test", "revision")[1][0] == ["2016-04"] * 6
    promoted = months_of(sides, "test", "promoted")[1][0]
    assert sorted(promoted) == [*[""] * 3, *["2022-05"] * 3]  # those without this date are left out
    (tmp_path / "after" / "titles.lock").unlink()
    assert months_of(sides, "test")[0] == "revision"  # it is known for both sides
    with pytest.raises(HarnessError, match="no article has this date"):
        months_of(sides[1:], "test", "created")
    with pytest.raises(HarnessError, match="expected created, promoted, revision"):
        months_of(sides, "test", "read")
    path = tmp_path / "after" / "attribution.tsv"
    rows = path.read_text(encoding="utf-8")
    path.write_text(rows.replace("2016-04", "unknown"), encoding="utf-8")
    assert months_of(sides[1:], "test") == ("", [[""] * 6])
    path.write_text("".join(rows.splitlines(keepends=True)[:-1]), encoding="utf-8")
    with pytest.raises(HarnessError, match="has 5 articles of test, and the dataset 6"):
        months_of(sides, "test")
    path.unlink()
    assert months_of(sides, "test") == ("", [[""] * 6] * 2)


def test_the_difference_is_of_sums_and_chance_is_of_both_sides():
    pairs = [(article("a", nats=n), article("b", nats=n + 7)) for n in (10.0, 20.0, 40.0, 30.0, 5.0)]
    found = difference_of("x", BITS, pairs)
    expected = 7 / 100 / 0.6931471805599453
    assert found.difference == pytest.approx(expected)
    assert found.interval[0] < 0 < found.interval[1]  # all pairs differ by the same, but the articles do not
    assert difference_of("x", BITS, pairs, pairs).interval == (0, 0)
    # equal lengths: Welch's interval of two samples with equal variances, by hand: t of 8 degrees is 2.306004
    moved = 2.306004 * stdev([10, 20, 40, 30, 5]) * (2 / 5) ** 0.5 / 100 / math.log(2)
    assert list(found.interval) == pytest.approx([expected - moved, expected + moved], rel=1e-6)


def test_a_reference_is_subtracted_article_by_article():
    """What the reference finds as hard as the model does is no chance any more."""
    old, new = [30.0, 10, 20, 50, 40], [25.0, 35, 55, 15, 45]
    gains = [1.0, 2, 3, 4, 9]
    control = [(article("a", nats=a), article("b", nats=b)) for a, b in zip(old, new, strict=True)]
    harder = [article("b", nats=b + gain) for b, gain in zip(new, gains, strict=True)]
    pairs = [(one, other) for (one, _), other in zip(control, harder, strict=True)]
    found = difference_of("x", BITS, pairs, control)
    assert found.before == pytest.approx(150 / 500 / math.log(2))
    assert found.after == pytest.approx(194 / 500 / math.log(2))
    assert found.difference == pytest.approx(19 / 500 / math.log(2))
    moved = 2.776445 * stdev(gains) / 5**0.5 / 100 / math.log(2)
    assert found.interval[1] - found.difference == pytest.approx(moved, rel=1e-6)


def bits(*levels):
    """Articles of 100 bytes with so many bits per byte."""
    return [article("a", nats=100 * level * math.log(2)) for level in levels]


def pairs_with(before, after):
    return list(zip(bits(*before), bits(*after), strict=True))


def test_chance_is_that_of_all_ways_to_put_the_articles_on_two_sides():
    """Ten articles: each of the 252 ways, by a loop."""
    before, after = [1.0, 1.3, 2.2, 1.1, 1.6], [1.5, 1.4, 2.5, 1.9, 1.2]
    logs = [math.log(level) for level in before + after]
    found = sum(logs[5:]) - sum(logs[:5])
    differences = [sum(logs) - 2 * sum(some) for some in combinations(logs, 5)]
    exact = sum(one >= found - 1e-9 for one in differences) / len(differences)
    chance, least = chance_of_easier(pairs_with(before, after), resamples=20_000)
    assert chance == pytest.approx(exact, abs=0.01)
    needed = np.quantile(differences, 0.975) / 5
    assert least == pytest.approx(sum(before) / 5 * (math.exp(needed) - 1), rel=0.05)
    other, _ = chance_of_easier(pairs_with(after, before), resamples=20_000)
    assert other == pytest.approx(1 - exact, abs=0.02)
    assert chance_of_easier(pairs_with(before, after)) == chance_of_easier(pairs_with(before, after))


def test_a_reference_that_finds_the_same_easy_leaves_nothing():
    before, after = [1.0, 1.1, 0.9, 1.2, 1.05, 0.95], [2.0, 2.1, 1.9, 2.2, 2.05, 1.95]
    pairs = pairs_with(before, after)
    assert chance_of_easier(pairs)[0] < 0.005
    assert chance_of_easier(pairs, pairs) == (1, 0)
    same = pairs_with([3 * one for one in before], [3 * one for one in after])
    assert chance_of_easier(pairs, same)[0] == 1  # of each article the same fraction
    harder = pairs_with([3.0] * 6, [3.0] * 6)
    assert chance_of_easier(pairs, harder)[0] == chance_of_easier(pairs)[0]


def test_a_model_that_needs_no_bits_at_all_has_a_verdict():
    assert chance_of_easier(pairs_with([0.0] * 5, [1.0] * 5))[0] < 0.02
    assert chance_of_easier(pairs_with([1.0] * 5, [0.0] * 5))[0] == 1


def drawn_study(generator, read):
    """15 pairs of articles of which some of before were read: as of a model that recites much of them."""
    before, after = 2 * np.exp(generator.normal(0, 0.1, (2, 15)))
    before[:read] *= 0.3
    sizes = np.exp(generator.normal(8, 0.6, 15)).astype(int)
    return [
        [article("a", nats=level * size * math.log(2), size=int(size)) for level in levels]
        for *levels, size in zip(before, after, sizes, strict=True)
    ]


def test_a_few_articles_that_were_read_are_found_and_none_is_no_more_often_than_said():
    """They widen the interval as much as they move it: by the interval alone hardly any is found."""
    generator = np.random.default_rng(5)
    found = {read: [drawn_study(generator, read) for _ in range(400)] for read in (0, 4)}
    verdicts = {
        read: np.mean([chance_of_easier(some, resamples=399)[0] <= 0.025 for some in studies])
        for read, studies in found.items()
    }
    assert verdicts[0] <= 0.04  # 2.5 %, give or take 1.6 %
    assert verdicts[4] > 0.6
    intervals = [difference_of("x", BITS, some).interval[0] > 0 for some in found[4][:100]]
    assert np.mean(intervals) < verdicts[4] - 0.2


def test_the_verdict_is_that_of_the_permutations(studies):
    before, after = studies["dirty"]
    found = lb.contamination("kn-5", before=before, after=after, check=False)
    assert found.chance <= 0.025
    assert replace(found, chance=0.0251).is_found is False
    assert replace(found, chance=0.04, level=0.9).is_found
    assert f"below about {found.least:.2g} bits per byte" in replace(found, chance=0.3).verdict


def test_an_article_with_nearly_all_of_the_text_is_refused():
    pairs = [(article("a", size=size), article("b")) for size in (100, 100, 100, 100, 100_000)]
    with pytest.raises(
        HarnessError, match=r"^5 pairs of articles: one has 100% of the text.*; use larger datasets$"
    ):
        difference_of("x", BITS, pairs)


def some(month, *levels):
    return [article("a", nats=100 * level * math.log(2), month=month) for level in levels]


STEPPED = {"2023-01": 1.0, "2023-02": 1.1, "2023-04": 0.9, "2026-01": 2.0, "2026-02": 2.1}


def test_the_step_is_where_the_level_changes():
    articles = [one for month, level in STEPPED.items() for one in some(month, level, level)]
    months = by_months.by_month([*articles[::-1], article("undated")])
    assert [(one.month, one.articles) for one in months] == [(month, 2) for month in STEPPED]
    step = by_months.find_step(articles)
    assert step is not None
    assert (step.month, step.last) == ("2026-01", "2023-04")
    assert (step.before, step.after, step.rise) == pytest.approx((1.0, 2.05, 1.05))
    assert step.chance < 0.05
    assert by_months.find_step(articles[:2]) is None


def test_the_step_is_that_of_a_loop_over_all_months():
    rng = np.random.default_rng(1)
    articles = [one for month, n in (("2023-01", 3), ("2023-02", 5), ("2024-01", 4), ("2024-02", 2))
                for one in some(month, *rng.normal(1 if n > 3 else 2, 0.1, n))]  # fmt: skip
    months, best = by_months.by_month(articles), []
    for at in range(1, len(months)):
        parts = [[one for one in part for _ in range(one.articles)] for part in (months[:at], months[at:])]
        means = [sum(one.model.value for one in part) / len(part) for part in parts]
        squares = sum(
            (one.model.value - m) ** 2 for part, m in zip(parts, means, strict=True) for one in part
        )
        if means[1] > means[0]:
            best.append((squares, months[at].month, *means))
    found = by_months.find_step(articles, level=1e-9)
    assert found is not None
    assert found.month == min(best)[1]
    assert (found.before, found.after) == pytest.approx(min(best)[2:])


def test_without_a_step_one_is_rarely_found():
    """200 sets of 24 months without a step: at most a tenth has one, where 5 % are expected."""
    rng = np.random.default_rng(7)
    names = [f"{year}-{month:02}" for year in (2022, 2023) for month in range(1, 13)]
    found = 0
    for _ in range(200):
        articles = [one for name in names for one in some(name, *rng.normal(1, 0.2, 3))]
        found += by_months.find_step(articles, resamples=199) is not None
    assert found <= 20


def test_intervals_of_months_cover_as_often_as_they_say():
    rng, covered = np.random.default_rng(3), 0
    for _ in range(400):
        (month,) = by_months.by_month(some("2023-01", *rng.normal(1, 0.2, 6)))
        assert month.model.interval is not None
        covered += month.model.interval[0] <= 1 <= month.model.interval[1]
    assert 0.92 <= covered / 400 <= 0.98
    (few,) = by_months.by_month(some("2023-01", 1.0, 2.0, 3.0, 4.0))
    assert few.model.interval is None


def test_a_difference_to_a_reference_has_the_interval_of_its_own_articles():
    """Articles differ, and both models see it: their difference is known much better than either."""
    rng = np.random.default_rng(6)
    hard = rng.normal(2, 0.5, 20)
    model, reference = some("2023-01", *hard), some("2023-01", *hard + rng.normal(0.1, 0.01, 20))
    (month,) = by_months.by_month(model, reference)
    assert month.difference is not None
    assert month.difference.value == pytest.approx(-0.1, abs=0.01)
    low, high = month.difference.interval or (0, 0)
    assert low < -0.1 < high
    wide = month.model.interval or (0, 0)
    assert high - low < (wide[1] - wide[0]) / 10


def test_the_picture_has_gaps_and_names_and_the_step_where_the_text_says(studies, tmp_path):
    before, after = studies["dirty"]
    found = lb.contamination("kn-5", before=before, after=after, check=False)
    axes = drawn(found)
    line = next(one for one in axes[0].lines if len(one.get_xdata()) > 4)
    x, y = (np.asarray(one, float) for one in (line.get_xdata(), line.get_ydata()))
    assert set(x[np.isfinite(y)]) == {place_of(one.month) for one in found.months}
    assert np.isnan(y[3])  # no line crosses 2020-03 to 2024-01
    levels = [np.asarray(one.get_xdata(), float) for one in axes[0].lines if one.get_linewidth() == 2]
    assert max(one.max() - one.min() for one in levels) == 1
    step = [one for one in axes[0].lines if one.get_linestyle() == ":"]
    assert [list(one.get_xdata()) for one in step] == [[place_of("2024-01") - 0.5] * 2]
    assert [bar.get_height() for bar in axes[-1].patches][-6:] == [one.articles for one in found.months]
    svg = ElementTree.parse(lb.draw_months(found, tmp_path / "plot.svg")).getroot()
    texts = " ".join(one.text or "" for one in svg.iter("{http://www.w3.org/2000/svg}text"))
    for said in ("kn-5", "The model has probably read", "no articles", "step at 2024-01", "2022", "articles"):
        assert said in texts
    assert len(axes) == 2
    other = lb.contamination("kn-5", before=before, after=after, check=False, reference="unigram")
    assert len(drawn(other)) == 3
    clean = lb.contamination("kn-5", before=studies["clean"][0], after=studies["clean"][1], check=False)
    assert not [one for one in drawn(clean)[0].lines if one.get_linestyle() == ":"]
    with pytest.raises(HarnessError, match="no month is known"):
        lb.draw_months(replace(found, months=()), tmp_path / "plot.svg")


def drawn(found):
    """The panels of the picture."""
    return figure_of(found).axes


def test_a_model_of_pieces_is_the_same_model_on_two_sets_of_other_words(studies, tmp_path):
    pytest.importorskip("transformers", reason="a model of transformers")
    first, second = tmp_path / "first", tmp_path / "second"
    for folder, whole in zip((first, second), studies["clean"], strict=True):  # no train: their own words
        written(folder, "test", [one.lines[:9] for one in wb.load(whole).articles("test")])
    model = make_causal_model(tmp_path / "causal", first / "wiki.test.tokens")
    found = lb.contamination(f"transformers:{model}", before=first, after=second, check=False)
    assert found.pairs
    other = make_causal_model(tmp_path / "other", first / "wiki.test.tokens", pieces=320)
    names = [
        open_model(f"transformers:{one}", make_inputs(data, "test")).identity
        for one, data in ((model, first), (model, second), (other, first))
    ]
    assert names[0] == names[1] != names[2]
