"""The bundled sample is a valid export, and has each kind of markup that extraction must know."""

import hashlib
import re
from functools import partial
from urllib.parse import urlsplit
from xml.etree.ElementTree import Element, parse

import pytest

from tests.conftest import ROOT
from tests.dumps import base_36
from wikitext_builder.article import Page
from wikitext_builder.dumps.xml_dump import Dump, read_pages
from wikitext_builder.sample import SAMPLE_DUMP
from wikitext_builder.wiki.languages import LANGUAGES

EXPORT = "{http://www.mediawiki.org/xml/export-0.11/}"
ENGLISH = LANGUAGES["en"]

CASES = ROOT / "tests" / "cases"
ROWS = (CASES / "sample_markup.tsv").read_text("utf-8").splitlines()[2:]
MARKUP = dict(row.split("\t") for row in ROWS)

# Hosts that the sample may name: reserved examples, and sites that real articles cite.
HOSTS = (CASES / "sample_hosts.txt").read_text("utf-8").split()


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


def has_template(names: tuple[str, ...], page: Page) -> bool:
    return any(re.search(rf"\{{\{{\s*(?i:{re.escape(name)})\s*\}}\}}", page.wikitext) for name in names)


is_good = partial(has_template, ENGLISH.good_marks)
is_featured = partial(has_template, ENGLISH.featured_marks)


def text_of(element: Element, path: str) -> str:
    found = element.find("/".join(EXPORT + name for name in path.split("/")))
    assert found is not None, path
    return found.text or ""


def test_it_stands_beside_its_module_and_says_it_is_in_english() -> None:
    assert SAMPLE_DUMP.parent == ROOT / "wikitext_builder" / "sample"
    dump = Dump(SAMPLE_DUMP)
    list(dump.pages())
    assert dump.site.language == "en"
    assert dump.site.namespaces["Template"] == 10


def test_there_are_enough_good_and_featured_articles(marked: list[Page]) -> None:
    assert len(marked) >= 24
    assert sum(map(is_good, marked)) >= 10
    assert sum(map(is_featured, marked)) >= 10
    assert not any(is_good(page) and is_featured(page) for page in marked)


def test_ids_are_unique_and_revisions_of_2016_or_before_with_their_hashes(elements: list[Element]) -> None:
    for path in ("title", "id", "revision/id"):
        values = [text_of(element, path) for element in elements]
        assert len(set(values)) == len(values), path
    for element in elements:
        assert text_of(element, "revision/timestamp") < "2017-01-01"
        wikitext = text_of(element, "revision/text").encode()
        sha1 = base_36(int(hashlib.sha1(wikitext).hexdigest(), 16))
        text = element.find(f"{EXPORT}revision/{EXPORT}text")
        assert text is not None
        found = (text_of(element, "revision/sha1"), text.get("sha1"), text.get("bytes"))
        assert found == (sha1, sha1, str(len(wikitext))), text_of(element, "title")


def test_each_kind_of_markup_occurs(marked: list[Page]) -> None:
    text = "\n".join(page.wikitext for page in marked)
    missing = [name for name, pattern in MARKUP.items() if not re.search(pattern, text, re.IGNORECASE)]
    assert missing == []


def test_braces_and_brackets_are_paired(marked: list[Page]) -> None:
    formula = re.compile(r"<(math|nowiki)[^>]*>.*?</\1>", re.DOTALL)
    faults = []
    for page in marked:
        wikitext = formula.sub("", page.wikitext).replace("{{=}}", "").replace("{{!}}", "")
        pairs = (("[[", "]]"), ("{", "}"))
        faults += [(page.title, a) for a, b in pairs if wikitext.count(a) != wikitext.count(b)]
    assert faults == []


def test_no_web_page_is_named_but_sources(marked: list[Page]) -> None:
    urls = [url for page in marked for url in re.findall(r"https?://[^\s|\]}<]+", page.wikitext)]
    assert urls
    assert {urlsplit(url).hostname for url in urls} == set(HOSTS)


def test_articles_are_of_an_article_s_length(marked: list[Page]) -> None:
    assert {page.title for page in marked if len(page.wikitext) < 6000} == set()
