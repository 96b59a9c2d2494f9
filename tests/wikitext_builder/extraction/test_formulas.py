"""Formulas keep their LaTeX in plain text, whatever stands around them, and are `<formula>` in lines."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.wikitext_builder.extraction.pages import page
from tests.wikitext_builder.extraction.test_rendered import article
from wikitext_builder.extraction.links import own_categories
from wikitext_builder.extraction.markers import FORMULA, formula, latex_of, with_latex, without_latex
from wikitext_builder.extraction.page import extract

MATH = r'<math alttext="{\displaystyle E=mc^{2}}"><mi>E</mi></math>'


def plain(wikitext: str, sections: str = "clean") -> list[str]:
    return [line for line in extract(page(wikitext), sections=sections).plain_lines[3:] if line]


@pytest.mark.parametrize(
    ("wikitext", "lines"),
    [
        ("where <math>x</math>, as <math>y\n+ z</math> is", ["where $x$, as $y + z$ is"]),
        ("<math>{{a}} [[c]] ''d'' &lt; <!-- e --></math>.", ["${{a}} [[c]] ''d'' &lt; <!-- e -->$."]),
        ("a <ce>H2O</ce> b <chem>CO2</chem>", [r"a $\ce{H2O}$ b $\ce{CO2}$"]),
        ("a<math display='block'>x</math>b", ["a", "$x$", "b"]),
        ("a <math></math> b", ["a <formula> b"]),
        (r"{{math|\alpha <math>x</math>}} is", [r"$\alpha x$ is"]),
        ("{{nowrap|so <math>x|y=z</math>}} it is", ["so $x|y=z$ it is"]),
        ("[[Sum|the <math>x</math>]]", ["the $x$"]),
        ("* <math>1</math>\n* <math>2</math>", ["$1$", "$2$"]),
        ("literal &lt;formula&gt; and <math>x</math>", ["literal <formula> and $x$"]),
        ("let {{tmath|x_0}} be {{tmath|1=E = mc^2}}", ["let $x_0$ be $E = mc^2$"]),
        ("<math>x</math>\U0010ff0a\U0010ff41 next", ["$x$ next"]),
        ("\U0010ff41\U0010ff42 kept", ["kept"]),
    ],
)  # fmt: skip
def test_plain_lines(wikitext: str, lines: list[str]) -> None:
    assert plain(wikitext) == lines
    assert plain(wikitext, "official") == lines


def test_official_lines_are_cut_and_plain_lines_are_not() -> None:
    found = extract(page("where <math>x</math>, is"), sections="official")
    assert found.lines[3:-1] == ("where", "<formula>,", "is")
    assert found.plain_lines[3:-1] == ("where $x$, is",)
    assert found.formulas == ("x",)


@given(st.text(st.characters(exclude_categories=["Cs", "Cc"])))
def test_a_mark_gives_its_latex_back(latex: str) -> None:
    shown = "".join(filter(str.isprintable, " ".join(latex.split()))).strip()
    mark = formula(latex)
    assert latex_of(mark) == shown
    assert without_latex(f"a {mark}!") == "a <formula>!"
    assert with_latex(f"a {mark}!") == (f"a ${shown}$!" if shown else "a <formula>!")
    assert not any(char.isalnum() or char.isspace() or char.isascii() for char in mark.removeprefix(FORMULA))


@pytest.mark.parametrize(
    ("page_html", "line"),
    [
        (f'<p>so <span class="mwe-math-element">{MATH}</span>.</p>', "so $E=mc^{2}$."),
        ('<p>so <img class="mwe-math-fallback-image-inline" alt="x\\,\\!"/>.</p>', "so $x\\,\\!$."),
        ('<p>so <img class="tex" alt="x"/> and <img alt="y"/> z</p>', "so $x$ and z"),
        (f'<div class="mwe-math-element"><div>{MATH}</div><img alt="other"/></div>', "$E=mc^{2}$"),
        ('<p>so <span class="mwe-math-element"><math><mi>E</mi></math></span>.</p>', "so <formula>."),
    ],
)  # fmt: skip
def test_rendered_formulas_have_the_latex_of_their_other_text(page_html: str, line: str) -> None:
    assert [one for one in article(page_html, sections="clean").plain_lines[3:] if one] == [line]


@pytest.mark.parametrize(
    ("wikitext", "language", "names"),
    [
        ("[[Category:A]] text [[category : b_c |key]]", "en", ("A", "B c")),
        ("[[Kategorie:A]] [[Category:B]] [[Kategorie:A|x]]", "de", ("A", "B")),
        ("[[Kategorie:A]]", "en", ()),
        ("[[:Category:A]] <nowiki>[[Category:B]]</nowiki> <!-- [[Category:C]] -->", "en", ()),
        ("[[Category:{{PAGENAME}}]] [[Category:]] [[Category:a", "en", ()),
        ("{{box|[[Category:In a call]]}}", "en", ("In a call",)),
    ],
)
def test_categories_of_the_page_itself(wikitext: str, language: str, names: tuple[str, ...]) -> None:
    assert own_categories(wikitext, language) == names


def test_many_openers_of_categories_take_linear_time() -> None:
    assert own_categories("[[Category:" * 300_000) == ()
