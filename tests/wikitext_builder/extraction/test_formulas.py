"""Formulas keep their LaTeX in plain text, whatever stands around them, and are `<formula>` in lines."""

from hypothesis import given
from hypothesis import strategies as st

from tests.cases import each
from tests.wikitext_builder.extraction.pages import page
from tests.wikitext_builder.extraction.test_rendered import article
from wikitext_builder.extraction.markers import FORMULA, formula, latex_of, with_latex, without_latex
from wikitext_builder.extraction.markup import own_categories
from wikitext_builder.extraction.page import extract

MATH = r'<math alttext="{\displaystyle E=mc^{2}}"><mi>E</mi></math>'


def plain(wikitext: str, sections: str = "clean") -> list[str]:
    return [line for line in extract(page(wikitext), sections=sections).plain_lines[3:] if line]


@each("extract/formulas", "wikitext, lines", "plain")
def test_plain_lines(wikitext: str, lines: list[str]) -> None:
    assert plain(wikitext) == lines
    assert plain(wikitext, "official") == lines


@given(st.text(st.characters(exclude_categories=["Cs", "Cc"])))
def test_a_mark_gives_its_latex_back(latex: str) -> None:
    shown = "".join(filter(str.isprintable, " ".join(latex.split()))).strip()
    mark = formula(latex)
    assert latex_of(mark) == shown
    assert without_latex(f"a {mark}!") == "a <formula>!"
    assert with_latex(f"a {mark}!") == (f"a ${shown}$!" if shown else "a <formula>!")
    assert not any(char.isalnum() or char.isspace() or char.isascii() for char in mark.removeprefix(FORMULA))


@each("extract/formulas", "page_html, line", "rendered")
def test_rendered_formulas_have_the_latex_of_their_other_text(page_html: str, line: str) -> None:
    assert [one for one in article(page_html, sections="clean").plain_lines[3:] if one] == [line]


@each("extract/formulas", "wikitext, language, names", "categories")
def test_categories_of_the_page_itself(wikitext: str, language: str, names: list[str]) -> None:
    assert own_categories(wikitext, language) == tuple(names)


def test_many_openers_of_categories_take_linear_time() -> None:
    assert own_categories("[[Category:" * 300_000) == ()
