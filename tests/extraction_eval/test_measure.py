"""How close lines are: scores of lines, residue, stores and files of pages."""

import json
import random
import sqlite3
from collections import Counter
from dataclasses import replace
from itertools import pairwise

import pytest
from click.testing import CliRunner
from extraction_eval.__main__ import evaluate
from extraction_eval.compare import Score, compare, matching_runs, summarize, worst
from extraction_eval.measure import (
    RESIDUE,
    ResidueCount,
    measure,
    measure_pages,
    read_page_files,
    read_store_pages,
)
from hypothesis import given
from hypothesis import strategies as st

from tests.cases import cases, each, refusal
from tests.conftest import data
from tests.wikitext_builder.extraction.pages import page
from wikitext_builder.article import Article
from wikitext_builder.building.plan import Plan, source_of
from wikitext_builder.dataset.recipes import Recipe
from wikitext_builder.errors import BuilderError
from wikitext_builder.extraction.page import extract
from wikitext_builder.extraction.rendered import extract_rendered
from wikitext_builder.store.reading import StoredTemplates
from wikitext_builder.store.store import Store
from wikitext_builder.tokens.tokenizer import tokenize_article
from wikitext_builder.wiki.languages import language_of

LINE = st.lists(st.sampled_from(["a", "b", "c", "d", "e", "."]), min_size=1, max_size=8).map(" ".join)
LINES = st.lists(LINE, max_size=8)


# --- scores


@each("extraction_eval", "ours, theirs, score, breaks", "compared")
def test_words_and_breaks_are_counted(
    ours: list[str], theirs: list[str], score: list[int], breaks: list[int]
) -> None:
    found = compare("Tokyo", ours, theirs)
    counts = [[one.matched, one.ours, one.theirs] for one in (found.score, found.breaks)]
    assert counts == [score, breaks]
    parts = worst([found], 5)
    assert bool(parts) == (found.score.wrong + found.breaks.wrong > 0)
    assert all(title == "Tokyo" for title, _ in parts)
    assert sum(part.score.wrong for _, part in parts) == found.score.wrong


def test_precision_is_of_ours_and_recall_of_theirs():
    found = compare("Tokyo", ["It is long .", "More ."], ["It is 10 km long .", "More ."]).score
    assert (found.precision, found.recall) == (1, 0.75)
    assert compare("A", [], []).score.f1 == 1
    ((_, part),) = worst([compare("A", ["a b c d e f g h"], ["a b c d", "e f g h"])], 5)
    assert (part.ours, part.score.wrong, part.breaks.wrong) == (("a b c d e f g h",), 0, 1)


def test_glued_paragraphs_are_seen():
    """Cause: a line that shows nothing, such as a picture's, once glued the paragraphs around it."""
    rendered = "<p>It is old.</p><figure class='mw-halign-right'>c</figure><p>More of it.</p>"
    ours = extract("It is old.\n[[File:X.jpg|thumb|c]]\nMore of it.", title="A")
    theirs = extract_rendered(rendered, page("", "A")).lines
    assert compare("A", ours.lines, theirs).breaks == Score(matched=2, ours=2, theirs=2)
    glued = (*ours.lines[:3], " ".join(ours.lines[3:]))
    found = compare("A", glued, theirs)
    assert (found.score.f1, found.breaks.recall, found.breaks.precision) == (1, 0.5, 1)


def test_alike_lines_stand_beside_each_other():
    ours = ["one two three four five .", "six seven eight nine ten ."]
    theirs = ["quite another line here", "one two three four 5 .", "six seven eight nine 10 ."]
    parts = compare("Tokyo", ours, theirs).alignments
    assert [len(part.ours) for part in parts] == [0, 1, 1]
    assert [[*part.theirs] for part in parts] == [[line] for line in theirs]


@given(LINES, LINES)
def test_scores_are_bounded_symmetric_counts(ours, theirs):
    found = compare("A", ours, theirs)
    tokens = Counter(" ".join(ours).split()), Counter(" ".join(theirs).split())
    assert (found.score.ours, found.score.theirs) == (tokens[0].total(), tokens[1].total())
    assert 0 <= found.score.matched <= (tokens[0] & tokens[1]).total()
    assert 0 <= found.score.f1 <= 1
    assert 0 <= found.breaks.matched <= min(found.breaks.ours, found.breaks.theirs)
    assert found.breaks.ours <= max(len(ours) - 1, 0)
    assert [line for part in found.alignments for line in part.ours] == ours
    assert [line for part in found.alignments for line in part.theirs] == theirs


@given(LINES)
def test_a_copy_has_everything(lines):
    found = compare("A", lines, lines)
    count = max(len(lines) - 1, 0)
    assert (found.score.f1, found.breaks) == (1, Score(matched=count, ours=count, theirs=count))


@given(st.sets(st.integers(1, 11)), st.sets(st.integers(1, 11)), st.sets(st.integers(0, 11)))
def test_breaks_between_the_same_words_are_counted(ours, theirs, lost):
    """The oracle is arithmetic: twelve different words, broken at some places, some of them lost in ours."""

    def lines(breaks, words):
        edges = [0, *sorted(breaks), 12]
        found = [" ".join(f"w{n}" for n in range(a, b) if n in words) for a, b in pairwise(edges)]
        return [line for line in found if line]

    kept = set(range(12)) - lost
    both = {n for n in range(1, 12) if {n - 1, n} <= kept}
    expected = Score(matched=len(ours & theirs & both), ours=len(ours & both), theirs=len(theirs & both))
    assert compare("A", lines(ours, kept), lines(theirs, range(12))).breaks == expected


def test_long_texts_are_compared_in_bounded_time():
    ours = random.Random(1).choices([f"w{number}" for number in range(500)], k=20_000)
    theirs = [*ours[:9_000], "x", *ours[9_000:]]
    assert sum(run.size for run in matching_runs(ours, theirs)) >= 0.99 * len(ours)


def test_summaries_are_over_tokens_and_over_articles():
    found = [compare("A", ["a b c d"], ["a b c d"]) for _ in range(8)]
    found += [compare("B", ["a"], ["a b c"]), compare("C", ["a b"], ["a b c d e f"])]
    summary = summarize(found)
    assert (summary["articles"], summary["median_f1"], summary["tenth_percentile_f1"]) == (10, 1, 0.5)
    assert summary["recall"] == pytest.approx((32 + 1 + 2) / (32 + 3 + 6))


# --- residue


def found_in(line):
    """What a line has of each pattern."""
    article = Article(title="A", page_id=1, revision_id=1, timestamp="", lines=("", line))
    count = ResidueCount()
    count.add(article, tokenize_article(article))
    return {one.pattern: one for one in count.result() if one.count}


def test_each_pattern_finds_what_it_is_for():
    patterns = cases("extraction_eval", "residue")
    assert {case["pattern"] for case in patterns} == set(RESIDUE)
    for case in patterns:
        found = found_in(case["line"])[case["pattern"]]
        assert (found.count, found.titles, found.lines) == (1, ["A"], [case["line"]])
        assert found.per_million > 10_000


def test_text_that_only_looks_like_residue_is_none():
    assert [case for case in cases("extraction_eval", "no residue") if found_in(case["line"])] == []


# --- stores and files


@pytest.fixture
def store_path(tmp_path):
    path = tmp_path / "a.store"
    with Store.create(path) as store:
        pages = [page("It is {{convert|10|km}} long.\n\nMore.", "A", 1), page("Plain.", "B", 2)]
        store.add("en", pages, origin="test")
        store.add_rendered("en", 1, "<p>It is 10 kilometres (6.2&#160;mi) wide.</p><p>More.</p>")
        store.add_rendered("en", 2, "", "nosuchrevid")
    return path


def test_damaged_html_is_an_error(store_path):
    with sqlite3.connect(store_path) as connection:
        connection.execute("UPDATE rendered SET sha1 = 'x' WHERE revision_id = 1")
    with Store.open(store_path) as store:
        assert "revision 1 is damaged" in refusal(store.rendered, "en", 1)


def test_a_store_is_compared_with_the_html_that_it_has(store_path):
    with Store.open(store_path) as store:
        found = measure_pages(read_store_pages(store, "en"))
    (comparison,) = found.rendered
    assert (comparison.title, comparison.score.ours - comparison.score.matched) == ("A", 1)
    assert found.pages == 2


def test_red_links_of_html_are_a_warning(tmp_path):
    path = tmp_path / "a.store"
    with Store.create(path) as store:
        store.add("en", [page("It is {{convert|10|km}} long.", "A", 1)], origin="test")
        link = '<a class="new" title="Template:Convert (page does not exist)">Template:Convert</a>'
        store.add_rendered("en", 1, f"<p>It is {link} long.</p>")
    shown = CliRunner().invoke(evaluate, ["--store", str(path)]).stdout
    assert "red links in place of 1 template calls, whose text it lacks: 1 Convert" in shown


def test_a_dataset_of_html_is_another_than_one_of_wikitext(store_path, tmp_path):
    def digest(source):
        with Store.open(store_path) as store:
            stored = store.revisions("en")
        revisions = [replace(one, html=one.html if source == "rendered" else "") for one in stored]
        recipe = Recipe(name="x", train_articles=None, source=source)
        language, out = language_of(recipe.language), tmp_path / "out"
        return source_of(
            Plan(recipe=recipe, language=language, store=store_path, out=out, revisions=revisions)
        )

    before = digest("wikitext"), digest("rendered")
    with Store.create(store_path) as store:
        store.add_rendered("en", 1, "<p>Other.</p>")
    assert before[0] == digest("wikitext")
    assert len({*before, digest("rendered")}) == 3
    assert "'pdf'" in refusal(Recipe, name="x", train_articles=None, source="pdf")


def test_files_of_wikitext_bear_their_titles(tmp_path):
    (tmp_path / "Michael_Jordan.2018-06-06.wiki").write_text("'''He''' is.", encoding="utf-8")
    (tmp_path / "notes.txt").write_text("x", encoding="utf-8")
    (source,) = read_page_files([tmp_path])
    assert (source.page.title, source.page.wikitext) == ("Michael Jordan", "'''He''' is.")
    assert "notes.txt" in refusal(list, read_page_files([tmp_path / "notes.txt"]))


# --- the command


def call(*arguments):
    result = CliRunner().invoke(evaluate, [*map(str, arguments)])
    if result.exception and not isinstance(result.exception, SystemExit | BuilderError):
        raise result.exception
    return result


def test_the_command_prints_figures_and_the_worst_lines(store_path):
    shown = call("--store", store_path).stdout
    for line in (
        "against rendered lines, 1 articles: precision 0.9412, recall 0.9412",
        "line breaks between the same words: precision 1.0000, recall 1.0000",
        "ours   It is 10 kilometres ( 6 @.@ 2 mi ) long .",
        "words between markup: 5; 0 do not come out, 0.0000 %; 0 runs of 8 words or more",
    ):
        assert line in shown
    record = json.loads(call("--store", store_path, "--json").stdout)
    rendered = record["comparisons"]["rendered"]
    assert (rendered["summary"]["articles"], rendered["articles"][0]["breaks"]["recall"]) == (1, 1)
    assert {one["pattern"] for one in record["residue"]} == set(RESIDUE)
    lost = {"words": 5, "lost": 0, "share": 0.0, "long_runs": 0, "pages": [], "runs": []}
    assert record["lost"] == lost


def test_official_lines_are_found_by_title(tmp_path):
    (tmp_path / "A.wiki").write_text("It is big.", encoding="utf-8")
    (tmp_path / "o.tokens").write_text(" \n = A = \n \n It is <unk> . \n \n", encoding="utf-8")
    shown = call(tmp_path / "A.wiki", "--official", tmp_path / "o.tokens").stdout
    assert "against official lines, 1 articles: precision 1.0000, recall 1.0000" in shown


def test_what_cannot_be_is_said(store_path):
    for case in cases("extraction_eval", "refused"):
        words = case["arguments"].replace("STORE", str(store_path)).split()
        assert case["said"] in str(call(*words).exception)


def test_official_articles_keep_their_sentences():
    """Recall of official lines in wikitext of a different date; edits explain what is missing, see docs."""
    wikitext, official = data("pairs/Protein.2014-03-13.wiki"), data("pairs/Protein.wt2.train.tokens")
    record = json.loads(call(wikitext, "--official", official, "--json").stdout)
    summary = record["comparisons"]["official"]["summary"]
    assert summary["recall"] >= 0.93
    assert summary["precision"] >= 0.99


def test_templates_of_the_store_fill_calls(tmp_path) -> None:
    path, one = tmp_path / "a.store", page("It lies {{leagues|3}} away, for {{price|5}}.")
    with Store.create(path) as store:
        store.add("en", [one], origin="test")
    assert measure(store=path).left_out == {"Leagues": 1, "Price": 1}
    with Store.create(path) as store:
        StoredTemplates(store).add([("Leagues", page("{{{1}}} leagues", number=2))])
    assert measure(store=path).left_out == {"Price": 1}
