"""contamination: a model that has read half of the past is found; one that has read none of it is not."""

import json
import math
from dataclasses import replace
from xml.etree import ElementTree

import lm_benchmarks as lb
import pytest
from click.testing import CliRunner
from hypothesis import given, settings
from hypothesis import strategies as st
from lm_benchmarks.cli import commands
from lm_benchmarks.errors import HarnessError
from lm_benchmarks.measuring.contamination import (
    by_month,
    difference_of,
    largest_step,
    months_of,
    said_unmatched,
)
from lm_benchmarks.measuring.matching import Measured, match
from lm_benchmarks.measuring.models import make_inputs, open_model
from lm_benchmarks.metrics import METRICS, Sums

import wikitext_builder as wb
from tests.dumps import numbered_page
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
        dated = [replace(one, timestamp=f"{month}-05T00:00:00Z") for month in months]
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


def test_what_was_read_is_found_and_what_was_not_is_not(studies, tmp_path):
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
    assert dirty.step[0] == "2024-01"
    assert dirty.step[1] > 0.2
    svg = ElementTree.parse(lb.draw_months(dirty, tmp_path / "plot.svg")).getroot()
    assert svg.tag == "{http://www.w3.org/2000/svg}svg"
    texts = {one.text for one in svg.iter("{http://www.w3.org/2000/svg}text")}
    assert {"month", "2020", "2021", "2022", "2023", "2024"} <= texts
    clean = lb.contamination("kn-5", before=studies["clean"][0], after=studies["clean"][1], check=False)
    assert not clean.is_found
    assert abs(clean.differences[0].difference) < dirty.differences[0].difference / 2


def test_a_reference_is_subtracted(studies):
    before, after = studies["dirty"]
    same = lb.contamination("kn-5", before=before, after=after, check=False, reference="kn-5")
    assert (same.differences[0].difference, same.differences[0].interval) == (0, (0, 0))
    assert not same.is_found
    assert lb.contamination("kn-5", before=before, after=after, check=False, reference="unigram").is_found


def test_the_command(studies):
    before, after = studies["dirty"]
    words = ["contamination", "kn-5", "--before", str(before), "--after", str(after), "-q"]
    done = CliRunner().invoke(commands, [*words, "--json"], catch_exceptions=False)
    found = json.loads(done.stdout)
    assert found["is_found"]
    assert found["articles"] == [10, 10]
    text = CliRunner().invoke(commands, words, catch_exceptions=False).stdout
    assert "The model finds the earlier articles clearly easier: it has probably read them." in text
    assert "matched by words, length; without a partner: none" in text
    assert "categories and quality not known on both sides" in text
    assert "largest step by month of the revision" in text


def test_models_that_differ_and_too_few_articles_are_refused(studies, tmp_path):
    with pytest.raises(HarnessError, match="not the same on both sides"):
        lb.contamination("kn-5", before=studies["clean"][0], after=studies["dirty"][1], check=False)
    few = tmp_path / "few"
    dataset = wb.load(studies["clean"][0])
    for split in ("train", "test"):
        written(few, split, [one.lines for one in dataset.articles(split)][:4])
    with pytest.raises(HarnessError, match="4 pairs"):
        lb.contamination("kn-5", before=few, after=few, check=False)
    for wrong in ({"level": -0.5}, {"level": math.nan}, {"resamples": 0}, {"seed": -1}):
        with pytest.raises(HarnessError, match="expected a level between 0 and 1"):
            lb.contamination("kn-5", before=few, after=few, **wrong)


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


def test_the_largest_step_is_where_the_level_changes():
    levels = {"2023-01": 1.0, "2023-02": 1.1, "2023-03": 0.9, "2023-04": 2.0, "2023-05": 2.1}
    some = [article("a", nats=100 * level * 0.6931471805599453, month=m) for m, level in levels.items()]
    months = by_month([*some[::-1], article("undated")])
    assert [(month, count) for month, count, _ in months] == [(month, 1) for month in levels]
    step = largest_step(months)
    assert step is not None
    assert step[0] == "2023-04"
    assert step[1] == pytest.approx(1.05)
    assert largest_step(months[:1]) is None


def test_a_model_of_pieces_is_the_same_model_on_two_sets_of_other_words(studies, tmp_path):
    pytest.importorskip("transformers", reason="a model of transformers")
    first, second = tmp_path / "first", tmp_path / "second"
    for folder, whole in zip((first, second), studies["clean"], strict=True):  # no train: their own words
        written(folder, "test", [one.lines[:9] for one in wb.load(whole).articles("test")])
    model = make_causal_model(tmp_path / "causal", first / "wiki.test.tokens")
    found = lb.contamination(f"transformers:{model}", before=first, after=second, check=False, resamples=100)
    assert found.pairs
    other = make_causal_model(tmp_path / "other", first / "wiki.test.tokens", pieces=320)
    names = [
        open_model(f"transformers:{one}", make_inputs(data, "test")).identity
        for one, data in ((model, first), (model, second), (other, first))
    ]
    assert names[0] == names[1] != names[2]
