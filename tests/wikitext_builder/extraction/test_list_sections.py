"""Sections of lists by their content, where no table names them: of wikitext and of HTML."""

import pytest

from wikitext_builder.article import Page
from wikitext_builder.extraction.page import extract
from wikitext_builder.extraction.rendered import extract_rendered

Section = tuple[str, list[str], str]

PROSE = "El te és una beguda que es fa amb fulles seques i aigua calenta, i que es beu a tot el món. " * 3
HISTORY = ("Història", [PROSE], "")
WORKS = ("Obres", ["Primera obra (1901)", "Segona obra (1905)"], "*")
SEE = ("Vegeu també", ["Cafè", "Aigua mineral"], "*")
BOOK = "Serra, Joan. El te al món: una història. Barcelona, 1999, amb il·lustracions"
SOURCES = ("Bibliografia", [BOOK, "Puig, Anna. ISBN 123"], "*")
EMPTY: Section = ("Referències", [], "")
DATES = ("Cronologia", ["1650 El te arriba", "1700 Es beu a tot arreu"], "*")
DEATH = "{} – Joan Serra, pintor i escriptor català del segle XIX (n. 1801)"
DEATHS = ("Morts", [DEATH.format(1850), DEATH.format(1864)], "*")
PARAGRAPHS = ("Enllaços", ["Hi ha una pàgina. ISBN 123"], "")


def wikitext(sections: list[Section]) -> str:
    parts = [
        f"== {name} ==\n" + "\n".join(f"{mark} {one}".strip() for one in own) for name, own, mark in sections
    ]
    return "\n".join([PROSE, *parts])


def html(sections: list[Section]) -> str:
    pieces = [f"<p>{PROSE}</p>"]
    for name, own, mark in sections:
        items = "".join(f"<li>{one}</li>" if mark else f"<p>{one}</p>" for one in own)
        pieces += [f"<h2>{name}</h2>", f"<ul>{items}</ul>" if mark else items]
    return "".join(pieces)


@pytest.mark.parametrize(
    ("sections", "kept"),
    [
        ([HISTORY, SEE, SOURCES, EMPTY], ["Història"]),
        ([HISTORY, WORKS, EMPTY], ["Història", "Obres"]),
        ([HISTORY, DATES], ["Història", "Cronologia"]),
        ([SOURCES, HISTORY, EMPTY], ["Bibliografia", "Història"]),  # only the last ones
        ([HISTORY, DEATHS, EMPTY], ["Història", "Morts"]),
        ([HISTORY, PARAGRAPHS], ["Història", "Enllaços"]),
        ([HISTORY], ["Història"]),
        ([], []),
    ],
)
@pytest.mark.parametrize("mode", ["official", "clean"])
def test_the_last_sections_go_as_far_as_they_are_lists(
    sections: list[Section], kept: list[str], mode: str
) -> None:
    page = Page(title="Te", page_id=1, revision_id=1, timestamp="", wikitext=wikitext(sections))
    article = extract(page, language="ca", sections=mode)
    headings = [line.strip("= ") for line in article.lines if line.startswith("== ")]
    assert headings == kept
    assert extract_rendered(html(sections), page, language="ca", sections=mode).lines == article.lines


def test_a_page_of_lists_stays() -> None:
    page = "Te.\n" + "\n".join(f"== {name} ==\n" + "* Verd\n" * 9 for name in "ABC")
    assert "== A ==" in extract(page, title="Tes", language="ca").lines


def test_a_section_with_more_words_of_prose_than_of_items_stays() -> None:
    text = f"{PROSE * 3}\n== Llegat ==\n{PROSE}\n* Cafè\n* Aigua mineral"
    assert "== Llegat ==" in extract(text, title="Te", language="ca").lines


def test_where_a_table_has_names_they_decide() -> None:
    text = wikitext([HISTORY, SEE, SOURCES])
    assert "== Vegeu també ==" in extract(text, title="Te").lines
