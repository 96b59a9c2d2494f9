"""The bundled sample is a valid export, and has each kind of markup that extraction must know."""

import hashlib
import re
from urllib.parse import urlsplit
from xml.etree.ElementTree import Element, parse

import pytest

from tests.conftest import ROOT
from wikitext_builder.article import Page
from wikitext_builder.pages.xml_dump import Dump, read_pages
from wikitext_builder.sample import SAMPLE_DUMP
from wikitext_builder.wiki.languages import LANGUAGES

EXPORT = "{http://www.mediawiki.org/xml/export-0.11/}"
ENGLISH = LANGUAGES["en"]

# What wikitext of 2016 is made of; each must occur in a marked article.
MARKUP = {
    "infobox": r"\{\{(?:Infobox|Taxobox)",
    "template within an infobox": r"\| *\w+ = .*\{\{",
    "named reference": r"<ref name=[^/>]+>",
    "reference used again": r"<ref name=[^>]+/>",
    "book": r"<ref[^>]*>\{\{cite book *\|",
    "journal": r"\{\{cite journal *\|",
    "short footnote": r"\{\{sfn\|",
    "explanatory footnote": r"\{\{efn\|",
    "list of notes": r"\{\{notelist\}\}",
    "conversion": r"\{\{convert\|\d+\|",
    "conversion of a range": r"\{\{convert\|\d+\|(?:to|-|and|by)\|\d+\|",
    "conversion as an adjective": r"\{\{convert\|[^}]*adj=on",
    "conversion with a word between": r"\{\{convert\|[^}]*adj=mid",
    "conversion abbreviated": r"\{\{convert\|[^}]*abbr=on",
    "conversion in American spelling": r"\{\{convert\|[^}]*sp=us",
    "conversion to two units": r"\{\{convert\|[^}|]*\|[^}|]*\|[^}|]+ [^}|]+\|",
    "conversion turned round": r"\{\{convert\|[^}]*order=flip",
    "conversion with the short name": r"\{\{cvt\|",
    "foreign words": r"\{\{lang\|ja\|",
    "foreign words with the language's name": r"\{\{lang-ru\|",
    "romanization": r"\{\{transl\|",
    "Japanese": r"\{\{nihongo\|",
    "Chinese": r"\{\{zh\|",
    "foreign pronunciation": r"\{\{IPA-de\|",
    "English pronunciation": r"\{\{IPAc-en\|",
    "respelling": r"\{\{respell\|",
    "circa": r"\{\{circa\|",
    "as of": r"\{\{as of\|\d{4}",
    "birth date": r"\{\{birth date\|",
    "death date and age": r"\{\{death date and age\|",
    "abbreviation": r"\{\{abbr\|",
    "no line break": r"\{\{nowrap\|",
    "fraction": r"\{\{frac\|\d\|",
    "fraction with a whole part": r"\{\{frac\|\d+\|\d\|",
    "number with a unit": r"\{\{val\|\d",
    "number with an exponent": r"\{\{val\|[^}]*e=",
    "coordinates of the article": r"\{\{coord\|[^}]*display=inline,title",
    "coordinates in a sentence": r"\(\{\{coord\|[^}]*\}\}\)",
    "formula in a sentence": r"\w <math>[^<]*</math>,? \w",
    "formula on a line of its own": r"\n[: ]*<math>",
    "chemical formula": r"\{\{chem\|",
    "subscript": r"<sub>",
    "superscript": r"<sup>",
    "quotation template": r"\{\{quote\|",
    "quotation element": r"<blockquote>",
    "bulleted list": r"\n\* ",
    "numbered list": r"\n# ",
    "definition list": r"\n; ?[^\n]+\n?: ?",
    "table": r"\n\{\| class=\"wikitable",
    "conversion within a table": r"\n\|[^\n]*\|\|[^\n]*\{\{convert",
    "gallery": r"<gallery",
    "picture whose caption has links": r"\[\[File:[^\]\n]*\|thumb[^\]\n]*\[\[",
    "hatnote: main": r"\{\{main\|",
    "hatnote: see also": r"\{\{see also\|",
    "comment": r"<!--",
    "nowiki": r"<nowiki>",
    "citation needed": r"\{\{citation needed\|date=",
    "no table of contents": r"__NOTOC__",
    "sort key": r"\{\{DEFAULTSORT:",
    "category": r"\[\[Category:",
    "link to another Wikipedia": r"\[\[de:",
    "link to a web page": r"\[http://[^ \]]+ [^\]]+\]",
    "no-break space": r"&nbsp;",
    "en dash as an entity": r"&ndash;",
    "line break": r"<br ?/?>",
    "number with a decimal point and a thousands separator": r"\d,\d{3}\.\d",
    "abbreviation with dots": r"U\.[SNK]\.",
    "hyphenated word": r"[a-z]-[a-z]",
    "link with another text": r"\[\[[^\]|:]+\|[^\]]+\]\]",
    "link with letters glued on": r"\[\[[^\]]+\]\][a-z]",
    "link whose qualifier was dropped": r"\[\[(\w+) \([^)]+\)\|\1\]\]",
    "bold italics": r"'''''\w",
    "heading of level 2": r"\n== ?[^=\n]+ ?==\n",
    "heading of level 3": r"\n=== ?[^=\n]+ ?===\n",
    "heading of level 4": r"\n==== ?[^=\n]+ ?====\n",
    "heading of level 5": r"\n===== ?[^=\n]+ ?=====\n",
    "section: See also": r"\n== ?See also ?==",
    "section: References": r"\n== ?References ?==",
    "section: Notes": r"\n== ?Notes ?==",
    "section: Further reading": r"\n== ?Further reading ?==",
    "section: External links": r"\n== ?External links ?==",
    "Cyrillic": r"[а-я]{3}",
    "Greek": r"[α-ω]{3}",
    "Chinese characters": r"[一-鿿]{2}",
    "kana": r"[ぁ-ゖァ-ヺ]",
    "Icelandic letters": r"[þð]",
    "Arabic": r"[ا-ي]{3}",
}

# Hosts that the sample may name: reserved examples, and sites that real articles cite.
HOSTS = {
    "news.bbc.co.uk",
    "nssdc.gsfc.nasa.gov",
    "pubs.usgs.gov",
    "saturn.jpl.nasa.gov",
    "whc.unesco.org",
    "www.atoptics.co.uk",
    "www.city.kyoto.lg.jp",
    "www.eulerarchive.org",
    "www.example.org",
    "www.extension.org",
    "www.fao.org",
    "www.fide.com",
    "www.fujisan-climb.jp",
    "www.gsi.go.jp",
    "www.gutenberg-museum.de",
    "www.gutenberg.org",
    "www.ico.org",
    "www.jma.go.jp",
    "www.missionjuno.swri.edu",
    "www.nobelprize.org",
    "www.penguinworld.example.org",
    "www.reykjavik.is",
    "www.statice.is",
    "www.toureiffel.paris",
    "www.uci.ch",
    "www.unc.edu",
}


@pytest.fixture(scope="module")
def elements() -> list[Element]:
    root = parse(SAMPLE_DUMP).getroot()
    assert root is not None
    assert root.get("version") == "0.11"
    return root.findall(f"{EXPORT}page")


@pytest.fixture(scope="module")
def marked() -> list[Page]:
    """The Good and Featured articles among the articles."""
    pages = [page.content for page in read_pages(SAMPLE_DUMP) if page.namespace == 0 and not page.redirect]
    assert all(isinstance(page, Page) for page in pages), "none is damaged"
    return [page for page in pages if isinstance(page, Page) and (is_good(page) or is_featured(page))]


def has_template(names: tuple[str, ...], wikitext: str) -> bool:
    return any(re.search(rf"\{{\{{\s*(?i:{re.escape(name)})\s*\}}\}}", wikitext) for name in names)


def is_good(page: Page) -> bool:
    return has_template(ENGLISH.good_marks, page.wikitext)


def is_featured(page: Page) -> bool:
    return has_template(ENGLISH.featured_marks, page.wikitext)


def text_of(element: Element, path: str) -> str:
    found = element.find("/".join(EXPORT + name for name in path.split("/")))
    assert found is not None, path
    return found.text or ""


def base_36(number: int) -> str:
    digits = ""
    while number:
        number, digit = divmod(number, 36)
        digits = "0123456789abcdefghijklmnopqrstuvwxyz"[digit] + digits
    return digits.rjust(31, "0")


def test_it_stands_beside_its_module() -> None:
    assert SAMPLE_DUMP.is_file()
    assert SAMPLE_DUMP.parent == ROOT / "wikitext_builder" / "sample"


def test_it_says_it_is_in_english() -> None:
    dump = Dump(SAMPLE_DUMP)
    list(dump.pages())
    assert dump.site.language == "en"
    assert dump.site.namespaces["Template"] == 10


def test_there_are_enough_good_and_featured_articles(marked: list[Page]) -> None:
    assert len(marked) >= 24
    assert sum(map(is_good, marked)) >= 10
    assert sum(map(is_featured, marked)) >= 10
    assert not any(is_good(page) and is_featured(page) for page in marked)


def test_ids_and_titles_are_unique(elements: list[Element]) -> None:
    for path in ("title", "id", "revision/id"):
        values = [text_of(element, path) for element in elements]
        assert len(set(values)) == len(values), path


def test_revisions_are_of_2016_or_before(elements: list[Element]) -> None:
    assert all(text_of(element, "revision/timestamp") < "2017-01-01" for element in elements)


def test_sha1_and_bytes_are_right(elements: list[Element]) -> None:
    for element in elements:
        wikitext = text_of(element, "revision/text").encode()
        sha1 = base_36(int(hashlib.sha1(wikitext).hexdigest(), 16))
        attributes = element.find(f"{EXPORT}revision/{EXPORT}text")
        assert attributes is not None
        title = text_of(element, "title")
        assert (title, text_of(element, "revision/sha1")) == (title, sha1)
        assert (title, attributes.get("sha1")) == (title, sha1)
        assert (title, attributes.get("bytes")) == (title, str(len(wikitext)))


@pytest.mark.parametrize("construct", MARKUP)
def test_each_kind_of_markup_occurs(construct: str, marked: list[Page]) -> None:
    pattern = re.compile(MARKUP[construct], re.IGNORECASE)
    assert any(pattern.search(page.wikitext) for page in marked), MARKUP[construct]


def test_braces_and_brackets_are_paired(marked: list[Page]) -> None:
    formula = re.compile(r"<(math|nowiki)[^>]*>.*?</\1>", re.DOTALL)
    for page in marked:
        wikitext = formula.sub("", page.wikitext).replace("{{=}}", "").replace("{{!}}", "")
        assert (page.title, wikitext.count("[[")) == (page.title, wikitext.count("]]"))
        assert (page.title, wikitext.count("{")) == (page.title, wikitext.count("}"))


def test_no_web_page_is_named_but_sources(marked: list[Page]) -> None:
    urls = [url for page in marked for url in re.findall(r"https?://[^\s|\]}<]+", page.wikitext)]
    assert urls
    assert {urlsplit(url).hostname for url in urls} == HOSTS


def test_articles_are_of_an_article_s_length(marked: list[Page]) -> None:
    assert {page.title for page in marked if len(page.wikitext) < 6000} == set()


def test_pages_that_a_build_leaves_out_are_there(elements: list[Element], marked: list[Page]) -> None:
    articles = [element for element in elements if text_of(element, "ns") == "0"]
    texts = {text_of(element, "title"): text_of(element, "revision/text") for element in articles}
    redirects = [element for element in articles if element.find(f"{EXPORT}redirect") is not None]
    assert len(redirects) == 1
    assert text_of(redirects[0], "revision/text").startswith("#REDIRECT [[")
    assert any(title.startswith(ENGLISH.list_title_prefixes) for title in texts)
    assert any(re.search(r"\{\{disambig", text) for text in texts.values())
    assert {text_of(element, "ns") for element in elements} == {"0", "1", "10"}
    assert "Samovar" in texts, "an article that is neither Good nor Featured"
    assert "Samovar" not in {page.title for page in marked}
