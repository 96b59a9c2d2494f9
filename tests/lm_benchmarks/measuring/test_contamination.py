"""contamination: a model that has read half of the past is found; one that has read none of it is not."""

import json
import math
import re
import shutil
from dataclasses import replace
from itertools import combinations

import lm_benchmarks as lb
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from lm_benchmarks.cli import commands
from lm_benchmarks.measuring.contamination import ScoredArticle, chance_of_easier, nearest_pairs
from lm_benchmarks.measuring.models import make_inputs, open_model
from lm_benchmarks.metrics import Sums

import wikitext_builder as wb
from tests.command import invoke
from tests.lm_benchmarks.adapters.test_ngrams import arpa
from tests.lm_benchmarks.results import error_of
from tests.lm_benchmarks.tiny_causal import make_causal_model
from wikitext_builder.article import Article
from wikitext_builder.dataset.manifest import file_line
from wikitext_builder.sample import SAMPLE_DUMP
from wikitext_builder.store.lock import ATTRIBUTION_HEAD, Attribution


def written(folder, split, articles, first_page=0):
    """The text file of a split, with the page of each article if their first number is given."""
    folder.mkdir(exist_ok=True)
    text = "".join(file_line(line) for lines in articles for line in lines)
    (folder / f"wiki.{split}.tokens").write_text(text, encoding="utf-8", newline="\n")
    if first_page:
        page = Article(title="T", page_id=1, revision_id=1, timestamp="2020-01-05T00:00:00Z", lines=())
        pages = [replace(page, page_id=first_page + number) for number in range(len(articles))]
        rows = "".join(Attribution.of(page, split, "en").line() for page in pages)
        (folder / "attribution.tsv").write_text(ATTRIBUTION_HEAD + rows, encoding="utf-8", newline="\n")


@pytest.fixture(scope="module")
def studies(tmp_path_factory):
    """Before and after of 10 articles each; the train file has none or half of the articles of before.

    A 5-gram model is trained on the train file, which both sides share: it is the same model on both.
    """
    folder = tmp_path_factory.mktemp("studies")
    wb.import_dump(folder / "pages.store", SAMPLE_DUMP)
    wb.build("demo", folder / "pages.store", folder / "demo", workers=1, min_count=1)
    dataset = wb.load(folder / "demo")
    articles = [article.lines for split in dataset.files for article in dataset.articles(split)]
    sides, studies = {"before": articles[8:18], "after": articles[18:28]}, {}
    for name, read in (("clean", 0), ("dirty", 5)):
        for first_page, (side, test) in zip((100, 200), sides.items(), strict=True):
            written(folder / f"{name}-{side}", "train", articles[: 8 + read])
            written(folder / f"{name}-{side}", "test", test, first_page)
        studies[name] = (folder / f"{name}-before", folder / f"{name}-after")
    return studies


def measured(study, **options):
    before, after = study
    return lb.contamination("kn-5", before=before, after=after, check=False, **options)


def test_what_was_read_is_found_and_what_was_not_is_not(studies):
    dirty, clean = measured(studies["dirty"]), measured(studies["clean"])
    assert (dirty.is_found, dirty.articles, len(dirty.pairs), clean.is_found) == (True, (10, 10), 10, False)
    assert dirty.chance <= 0.025
    has_read = "The model has probably read some of the earlier articles: they are easier"
    assert dirty.verdict.startswith(has_read)
    no_sign = "No sign that the model has read the earlier articles: they are not easier"
    assert clean.verdict.startswith(no_sign)
    assert abs(clean.difference) < dirty.difference / 2
    assert replace(dirty, chance=0.0251).is_found is False
    assert replace(dirty, chance=0.04, level=0.9).is_found
    assert f"below about {dirty.detectable:.2g} bits per byte" in replace(dirty, chance=0.3).verdict


def test_wikis_on_one_host_have_their_own_page_ids(studies, tmp_path):
    before, after = (shutil.copytree(studies["clean"][0], tmp_path / name) for name in ("before", "after"))
    for folder, wiki in ((before, "one"), (after, "two")):
        text = (folder / "attribution.tsv").read_text(encoding="utf-8")
        text = text.replace("en.wikipedia.org/w/", f"[x/{wiki}/")  # as damaged as an address can be
        (folder / "attribution.tsv").write_text(text, encoding="utf-8")
    assert len(measured((before, after)).pairs) == 10


def test_a_reference_is_subtracted(studies):
    same = measured(studies["dirty"], reference="kn-5")
    assert (same.before, same.after, same.difference, same.is_found) == (0, 0, 0, False)
    assert "compared with kn-5" in same.verdict
    assert measured(studies["dirty"], reference="unigram").is_found


def test_the_command(studies):
    before, after = studies["dirty"]
    words = ("contamination", "kn-5", "--before", before, "--after", after, "-q")
    printed = json.loads(invoke(commands, *words, "--json"))
    assert (printed["is_found"], printed["articles"]) == (True, [10, 10])
    text = invoke(commands, *words)
    assert f"before {printed['before']:.4f}, after {printed['after']:.4f}" in text
    assert "The model has probably read some of the earlier articles" in text
    assert f"in {100 * printed['chance']:.2g}% of 10,000 permutations across both sides" in text


def test_a_file_of_n_grams_that_lacks_most_words_is_a_model(studies, tmp_path, caplog):
    """It ended, after all tokens, in "the probabilities of 28,152 words sum to 100.39"."""
    caplog.set_level("WARNING", logger="lm_benchmarks")
    (tmp_path / "few.arpa").write_text(arpa(["the", "of", "and"]), encoding="utf-8")
    before, after = studies["dirty"]
    found = lb.contamination(f"arpa:{tmp_path / 'few.arpa'}", before=before, after=after, resamples=100)
    assert len(found.pairs) == 10
    assert caplog.text.count("words of the dataset as <unk>") == 2


def test_what_is_no_study_is_refused(studies, tmp_path):
    before, after = studies["clean"]
    few, dataset = tmp_path / "few", wb.load(before)
    for split in ("train", "test"):
        written(few, split, [article.lines for article in dataset.articles(split)][:4])
    twice = r"10 articles of test are on both sides, such as T; .* --exclude"
    faults = []
    for message, study, options in (
        (twice, (before, before), {}),
        ("not the same on both sides", (before, studies["dirty"][1]), {}),
        ("4 pairs", (few, few), {}),
        ("expected a number between 0 and 1", (before, after), {"level": -0.5}),
        ("expected a number between 0 and 1", (before, after), {"level": math.nan}),
    ):
        why = error_of(measured, study, **options)
        if not re.search(message, why):
            faults.append((message, why))
    assert faults == []


def article(words, nats=1.0, size=100):
    sums = Sums(nats=nats, tokens=size // 5, text_bytes=size)
    return ScoredArticle(title=words, sums=sums, words=frozenset(words.split()))


def test_articles_are_paired_by_topic_then_by_length():
    before = [article("the tea cup"), article("the ship sea", size=100), article("the ship sea", size=1000)]
    after = [article("the ship boat", size=900), article("the tea pot"), article("the ship port", size=120)]
    assert sorted(nearest_pairs(before, after)) == [(0, 1), (1, 2), (2, 0)]
    assert nearest_pairs(before, after[:1]) == [(2, 0)]
    assert nearest_pairs(before[:1], after[:1]) == []


described = st.builds(article, st.text("abc ", min_size=1), size=st.integers(5, 400))


@settings(max_examples=40)
@given(st.lists(described, min_size=1, max_size=9), st.lists(described, min_size=1, max_size=9))
def test_articles_of_a_pair_are_about_as_long_and_none_is_left_that_has_a_partner(before, after):
    pairs = nearest_pairs(before, after)
    for old, new in pairs:
        sizes = before[old].sums.text_bytes, after[new].sums.text_bytes
        assert max(sizes) <= 2 * min(sizes)
    used = [{pair[side] for pair in pairs} for side in (0, 1)]
    assert len(used[0]) == len(used[1]) == len(pairs)
    left = [
        [article for number, article in enumerate(articles) if number not in taken]
        for articles, taken in zip((before, after), used, strict=True)
    ]
    assert not all(left) or not nearest_pairs(*left)


def pairs_with(before, after):
    """Pairs of articles of 100 bytes with so many bits per byte."""
    sides = [[article("a", nats=100 * level * math.log(2)) for level in levels] for levels in (before, after)]
    return list(zip(*sides, strict=True))


def test_chance_is_that_of_all_ways_to_put_the_articles_on_two_sides():
    """Ten articles: each of the 252 ways, by a loop."""
    before, after = [1.0, 1.3, 2.2, 1.1, 1.6], [1.5, 1.4, 2.5, 1.9, 1.2]
    logs = [math.log(level) for level in before + after]
    found = sum(logs[5:]) - sum(logs[:5])
    differences = [sum(logs) - 2 * sum(some) for some in combinations(logs, 5)]
    exact = sum(difference >= found - 1e-9 for difference in differences) / len(differences)
    chance, least = chance_of_easier(pairs_with(before, after), resamples=20_000)
    assert chance == pytest.approx(exact)
    needed = np.quantile(differences, 0.975) / 5
    assert least == pytest.approx(sum(before) / 5 * (math.exp(needed) - 1), rel=0.05)
    drawn, _ = chance_of_easier(pairs_with(before, after), resamples=200)
    assert drawn == pytest.approx(exact, abs=0.1)
    assert chance_of_easier(pairs_with(before, after), resamples=200)[0] == drawn


def test_a_reference_that_finds_the_same_easy_leaves_nothing_and_no_bits_are_a_number_too():
    before, after = [1.0, 1.1, 0.9, 1.2, 1.05, 0.95], [2.0, 2.1, 1.9, 2.2, 2.05, 1.95]
    pairs = pairs_with(before, after)
    assert chance_of_easier(pairs)[0] < 0.005
    assert chance_of_easier(pairs, pairs) == (1, 0)
    same = pairs_with([3 * level for level in before], [3 * level for level in after])
    assert chance_of_easier(pairs, same)[0] == 1  # of each article the same fraction
    harder = pairs_with([3.0] * 6, [3.0] * 6)
    assert chance_of_easier(pairs, harder)[0] == chance_of_easier(pairs)[0]
    assert chance_of_easier(pairs_with([0.0] * 5, [1.0] * 5))[0] < 0.02  # of a model that needs no bits
    assert chance_of_easier(pairs_with([1.0] * 5, [0.0] * 5))[0] == 1


def test_a_model_of_pieces_is_the_same_model_on_two_sets_of_other_words(studies, tmp_path):
    pytest.importorskip("transformers", reason="a model of transformers")
    first, second = tmp_path / "first", tmp_path / "second"
    for folder, whole in zip((first, second), studies["clean"], strict=True):  # no train: their own words
        written(folder, "test", [article.lines[:9] for article in wb.load(whole).articles("test")])
    model = make_causal_model(tmp_path / "causal", first / "wiki.test.tokens")
    found = lb.contamination(f"transformers:{model}", before=first, after=second, check=False)
    assert found.pairs
    other = make_causal_model(tmp_path / "other", first / "wiki.test.tokens", pieces=320)
    names = [
        open_model(f"transformers:{folder}", make_inputs(data, "test")).identity
        for folder, data in ((model, first), (model, second), (other, first))
    ]
    assert names[0] == names[1] != names[2]
