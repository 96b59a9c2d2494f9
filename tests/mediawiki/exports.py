"""The pages of the test wiki as XML exports, made for the tests: random words, the same each time."""

import random
from pathlib import Path
from xml.sax.saxutils import escape

from tests.cases import cases, read

Revisions = list[tuple[str, str]]  # timestamp and text, oldest first

ARTICLES = 260  # Good articles of one short revision each
EARLY = 40  # of them sort before the talk pages, so that both answers of the listing have some
TALKS = 505  # talk pages in the same category: more than one answer of a listing can hold
BIG = 34  # Featured articles of 300 kB: more than one answer can hold
WORDS = "the of and in to was is for as on with by he that at from"

PAGES = read("wiki_pages")
CORE: dict[str, str] = PAGES["core"]  # title → mark; revisions in 2015, 2016 (two) and 2020
YEARS = ("2015-03-01T10:00:00Z", "2016-06-15T12:30:00Z", "2016-08-31T23:59:59Z", "2020-01-02T03:04:05Z")
FORMATS = {"wikitext": "text/x-wiki", "json": "application/json", "Scribunto": "text/plain"}


def page(title: str, revisions: Revisions, *, namespace: int = 0, model: str = "wikitext") -> str:
    """One page of an export."""
    text_format = FORMATS[model]
    rows = "".join(
        f"<revision><timestamp>{when}</timestamp><contributor><username>Editor</username></contributor>"
        f"<model>{model}</model><format>{text_format}</format>"
        f'<text xml:space="preserve">{escape(text)}</text></revision>\n'
        for when, text in revisions
    )
    return f"<page><title>{escape(title)}</title><ns>{namespace}</ns>\n{rows}</page>\n"


def one(title: str, text: str, *, namespace: int = 0, model: str = "wikitext") -> str:
    """A page of one revision."""
    return page(title, [("2014-05-01T00:00:00Z", text)], namespace=namespace, model=model)


def export(*pages: str) -> str:
    """A whole export."""
    head = '<mediawiki xmlns="http://www.mediawiki.org/xml/export-0.11/" version="0.11" xml:lang="en">\n'
    return f"{head}{''.join(pages)}</mediawiki>\n"


def prose(rng: random.Random, size: int) -> str:
    """Random words, at least `size` characters in all."""
    text = ""
    while len(text) < size:
        text += " ".join(rng.choices(WORDS.split(), k=200)).capitalize() + ".\n\n"
    return text


def article(title: str, mark: str) -> str:
    """A page with some markup that a fetch must not touch."""
    return (
        f"{{{{{mark} article}}}}\n'''{title}''' is a subject.<ref name=\"a\">A note & more</ref>\n\n"
        "== History ==\nIt is {{distance|12}} of {{nowhere|x}}, in {{wrapped|a|''b''}}.\n\n[[Category:C]]\n"
    )


def templates() -> list[str]:
    """Marks, templates that a macro cannot know, and those that fail."""
    mark = "<includeonly>{{{{#ifeq:{{{{NAMESPACE}}}}||[[Category:{0} articles]]}}}}</includeonly>"
    lua = "local p = {}\nfunction p.f() error('boom') end\nreturn p\n"
    return [
        one("Template:Good article", mark.format("Good"), namespace=10),
        one("Template:Featured article", mark.format("Featured"), namespace=10),
        *(one(f"Template:{name}", text, namespace=10) for name, text in PAGES["templates"].items()),
        one("Module:Broken", lua, namespace=828, model="Scribunto"),
    ]


def core() -> list[str]:
    """Titles of all kinds with a history, redirects, and pages that cannot be used."""
    pages = []
    for title, mark in CORE.items():
        text = article(title, mark)
        texts = (f"'''{title}''' begins.", text.partition("== History")[0], text, f"{text}\nAdded in 2020.\n")
        pages.append(page(title, list(zip(YEARS, texts, strict=True))))
    pages += [one(title, f"#REDIRECT [[{target}]]") for title, target in PAGES["redirects"].items()]
    pages += [
        page(
            "Was a redirect", [(YEARS[0], "#REDIRECT [[AT&T]]"), (YEARS[3], "{{Good article}} An article.")]
        ),
        page("Hidden old text", [(when, f"Text {n} of a page.") for n, when in enumerate(YEARS)]),
        one("To be deleted", "This page goes."),
        one("Mercury", "* [[Mercury (planet)]]\n{{disambiguation}}\n"),
        one("List of cities", "* [[Łódź]]\n"),
        one("Data of cities", '{"cities": ["Łódź"]}', model="json"),
        one("Decomposed", "Cafe\u0301 in two code points"),  # the API composes it, its sha1 does not
        one("Too large", "too large " * 450_000),
        one("Talk:AT&T", "{{Good article}} A talk page.", namespace=1),
        one("Category:Good articles", "Good ones.", namespace=14),
        one("Templates in use", TEMPLATES_IN_USE),
        *(one(f"Tokyo {case['language']}", case["article"]) for case in cases("wiki", "languages")),
        page(
            "Wikipedia:Good articles/Cities", list(zip(YEARS, PAGES["list texts"], strict=True)), namespace=4
        ),
        one("Wikipedia:Good articles", "{{Wikipedia:Good articles/Cities}} {{/Bands}}", namespace=4),
    ]
    return pages


TEMPLATES_IN_USE = (
    "It is {{distance|3}} away, {{distance|4}} at most, {{wrapped|a|b}}. {{nowhere|x}}, {{loop}} fail,"
    " {{#invoke:Broken|f}} too; {{empty}} is nothing and {{bullets|x|y}} two lines. {{unclosed}} takes all."
)


def members() -> list[str]:
    """Hundreds of Good articles, and talk pages in the same category."""
    rng = random.Random(1)
    names = [f"{'0 early' if n < EARLY else 'Member'} {n:03}" for n in range(ARTICLES)]
    pages = [one(name, f"{{{{Good article}}}}\n'''{name}''' " + prose(rng, 400)) for name in names]
    both = "[[Category:Good articles]] [[Category:Mostly talk]]"
    pages += [one(f"Talk:A {n:03}", f"Of no interest. {both}", namespace=1) for n in range(TALKS)]
    return [*pages, *(one(f"Zz {n}", "At last an article. [[Category:Mostly talk]]") for n in range(5))]


def big() -> list[str]:
    """Long Featured articles."""
    rng = random.Random(2)
    return [one(f"Big {n:02}", "{{Featured article}}\n" + prose(rng, 300_000)) for n in range(BIG)]


def write_exports(folder: Path, files: dict[str, list[str]]) -> list[Path]:
    """Write exports into a folder; the order of importing is that of the list."""
    for name, pages in files.items():
        (folder / f"{name}.xml").write_text(export(*pages), encoding="utf-8")
    return [folder / f"{name}.xml" for name in files]


def files() -> dict[str, list[str]]:
    """All of these pages, by the names of their exports."""
    return {"templates": templates(), "core": core(), "members": members(), "big": big()}
