"""Where template calls stand, and whether a reader sees text of those that are removed from sentences."""

import json
from collections import Counter

import pytest
from click.testing import CliRunner
from extraction_eval.__main__ import evaluate
from extraction_eval.calls import (
    CallPlaces,
    RenderedCall,
    compare_calls,
    expand_with,
    read_calls,
    visible_text,
    weighted_share,
)
from extraction_eval.measure import measure, measure_pages, read_page_files

from tests.cases import each
from tests.conftest import data
from tests.wikitext_builder.extraction.pages import page
from wikitext_builder.article import Page
from wikitext_builder.errors import BuilderError
from wikitext_builder.extraction.macros import registry as names_of_removed
from wikitext_builder.extraction.macros.call import template_name
from wikitext_builder.pages.reading import StoredPage, StoredTemplates
from wikitext_builder.pages.store import Store
from wikitext_builder.pages.xml_dump import read_pages


def rendered(texts):
    """Calls with what a wiki shows for them."""
    return [RenderedCall(wikitext=call, text=text, page="A") for call, text in texts.items()]


def placed(wikitext):
    places = CallPlaces()
    places.add(page(wikitext), "en")
    return dict(places.text), dict(places.removed), dict(places.alone), dict(places.references)


@each("extraction_eval", "wikitext, text, removed, alone, references", "placed")
def test_calls_are_counted_where_they_stand(wikitext, text, removed, alone, references):
    cited = ["Cite web", "X"] if references else []
    expected = (text, removed, alone, cited)
    assert placed(wikitext) == tuple(dict(Counter(names)) for names in expected)


def test_one_reference_template_does_not_dominate():
    """Cause: the weights once counted a thousand citations in references, beside ten calls in sentences."""
    places = CallPlaces()
    places.add(page("a<ref>{{cite web|title=T}}</ref> " * 1000 + "{{nowrap|b}} " * 10), "en")
    found = compare_calls(
        rendered({"{{cite web|title=T}}": "another style", "{{nowrap|b}}": "b"}), places=places
    )
    assert {one.name: (one.kind, one.weight) for one in found} == {
        "Cite web": ("citation", 0),
        "Nowrap": ("text", 10),
    }
    assert weighted_share(found) == 1.0


def test_a_removed_call_with_text_in_sentences_is_wrong():
    places = CallPlaces()
    places.add(page("It is {{cite quote|so}} here.\n\n{{See also|B}}\n{{clear}}\nIt{{dubious}} is."), "en")
    shown = {"{{cite quote|so}}": "so", "{{dubious}}": "[dubious – discuss]", "{{See also|B}}": "See also: B"}
    calls = rendered(shown)
    assert [one.equal for one in compare_calls(calls)] == [1, 1, 1]  # without pages nobody knows
    found = {one.name: one for one in compare_calls(calls, places=places)}
    assert {name: (one.kind, one.equal) for name, one in found.items()} == {
        "Cite quote": ("removed", 0),
        "Dubious": ("removed", 1),
        "See also": ("removed", 1),
    }
    assert found["Cite quote"].differences == [("{{cite quote|so}}", "", "so")]


@each("extraction_eval", "wikitext, text", "visible")
def test_what_a_reader_sees_of_an_expanded_call(wikitext, text):
    assert visible_text(wikitext, page(""), "en") == text


def test_removed_calls_are_checked_with_the_templates_of_a_store(tmp_path):
    path = tmp_path / "a.store"
    with Store.create(path) as store:
        text = "It is {{fix|a}} so.{{cn}} {{fix|b}}, {{fix|c}}, {{fix|d}}, {{fix|e}}.\n\n{{clear}}"
        store.add("en", [page(text)], origin="test")
    with Store.create(path) as store:
        templates = [("Fix", page("'''{{{1}}}'''", number=2)), ("Cn", page("<sup class=noprint>[x]</sup>"))]
        StoredTemplates(store).add(templates)
    first, second = measure(store=path).removed
    assert (first.name, first.calls, first.checked, first.seen) == ("Fix", 5, 3, 3)
    assert (first.wikitext, first.text) == ("{{fix|c}}", "c")
    assert (second.name, second.calls, second.checked, second.seen) == ("Cn", 1, 1, 0)
    shown = CliRunner().invoke(evaluate, ["--store", str(path)]).stdout
    assert "template calls: 0 in running text, 0 in references, 7 elsewhere" in shown
    assert "removed from sentences: 6 calls of 2 templates; 4 checked, 3 have text" in shown
    assert "{{fix|c}}: c" in shown
    record = json.loads(CliRunner().invoke(evaluate, ["--store", str(path), "--json"]).stdout)
    assert record["calls"] == {"text": 0, "removed": 6, "alone": 1, "references": 0, "all": 7}
    assert record["removed"][0]["text"] == "c"


def test_a_name_in_the_list_of_removed_that_is_wrong_is_seen(monkeypatch):
    """A real fault: `{{nq}}`, which shows its text, was once in the list."""
    monkeypatch.setattr(names_of_removed, "REMOVED", names_of_removed.REMOVED | {"Quoted text"})
    names_of_removed._is_removed.cache_clear()
    one = StoredPage(page=page("He said {{quoted text|yes}} then."))
    found = measure_pages([one], expand=lambda _page, calls: dict.fromkeys(calls, "“yes”"))
    names_of_removed._is_removed.cache_clear()
    assert [(one.name, one.seen, one.text) for one in found.removed] == [("Quoted text", 1, "“yes”")]


def test_removed_names_of_real_pages_show_nothing_in_sentences():
    """Of the shared pages of April 2016, with the real templates, and with what Wikipedia rendered."""
    templates = {
        template_name(one.content.title): one.content.wikitext
        for one in read_pages(data("pages/templates.xml.bz2"))
        if isinstance(one.content, Page)
    }
    pages = read_page_files([data("pages/pages-2016-04.xml.bz2")])
    calls = read_calls(data("template_expansions.jsonl.bz2"))
    found = measure_pages(pages, expand=expand_with(templates, None, "en"), calls=calls)
    assert sum(one.checked for one in found.removed) >= 2
    assert [(one.name, one.wikitext, one.text) for one in found.removed if one.seen] == []
    removed = [one for one in found.calls if one.kind == "removed" and one.weight]
    assert sum(one.calls for one in removed) > 100
    assert [one.differences for one in removed if one.equal < one.calls] == []


def test_braces_before_many_spaces_take_linear_time() -> None:
    """Of 800 it once took 0.4 seconds, of 1,600 two."""
    places = CallPlaces()
    places.add(page("{{" + " " * 300_000 + "x{"), "en")
    assert not places.all
    places.add(page("{{" + " " * 300_000 + "x}}"), "en")
    assert places.all == {"X": 1}


@each("extraction_eval", "calls, name, kind, equal", "kinds of calls")
def test_calls_are_judged_by_kind(calls, name, kind, equal):
    (found,) = compare_calls([RenderedCall(wikitext=call, text=text, page="A") for call, text in calls])
    assert (found.name, found.kind, found.calls, found.equal) == (name, kind, len(calls), equal)


def test_frequency_weighs():
    places = CallPlaces(text=Counter({"Convert": 1, "Nowrap": 3}))
    found = compare_calls(rendered({"{{convert|10|km}}": "wrong", "{{nowrap|a}}": "a"}), places=places)
    assert [one.name for one in found] == ["Nowrap", "Convert"]
    assert weighted_share(found) == 0.75


def test_a_file_of_calls_that_is_none_is_an_error(tmp_path):
    for name, content in (("a.jsonl", b'{"text": 1}\n'), ("b.jsonl.bz2", b"not bzip2"), ("c.jsonl", b"\xff")):
        (tmp_path / name).write_bytes(content)
        with pytest.raises(BuilderError, match=name):
            list(read_calls(tmp_path / name))


def test_real_calls_in_running_text_are_ours():
    found = compare_calls(read_calls(data("template_expansions.jsonl.bz2")))
    # The style of citations has changed since 2016: tests/wikitext_builder/extraction/test_real_pages.py.
    text = [one for one in found if one.kind == "text"]
    assert sum(one.equal for one in text) / sum(one.calls for one in text) >= 0.98
