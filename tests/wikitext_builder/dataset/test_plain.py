"""The export of whole articles: the same articles as in the raw files, in their order, as plain text."""

import os
import random
import shutil
import signal
from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import wikitext_builder as wb
from tests.command import forked
from tests.wikitext_builder.datasets import PAGES, SPLITS, build, digests, store_of, verified
from tests.wikitext_builder.extraction.pages import page, real_pages
from tests.wikitext_builder.extraction.test_page import WIKITEXT
from wikitext_builder.article import heading_level
from wikitext_builder.dataset.load import PlainArticle, Section
from wikitext_builder.errors import BuilderError, RejectedError
from wikitext_builder.extraction.markers import SHOWN_FORMULA
from wikitext_builder.extraction.page import extract
from wikitext_builder.extraction.polish import own_lines
from wikitext_builder.store.store import Store
from wikitext_builder.tokens.tokenizer import tokenize_article, tokenizer

FORMULA = (
    "{{good article}}A sum is <math>x_{1} +\n x_2</math>, or $5 of it ({{mystery|1}}); <ce>H2O</ce> flows."
    "\n\n<math display=block>\\frac{a}{b}</math>\n\n== <math>e^x</math> ==\n\n"
    "[[Category:Sums|*]] [[category:big_sums]]"
)
SUM = 2**40  # the id of a page
SOME = [
    *PAGES[:20],
    replace(PAGES[20], page_id=SUM, wikitext=f"{FORMULA}\n\n{PAGES[20].wikitext}", title="Sum"),
]


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return store_of(tmp_path_factory.mktemp("plain") / "pages.store", SOME)


@pytest.fixture(scope="module")
def built(store: Path) -> Path:
    build("demo", store, store.parent / "out", articles=True)
    return store.parent / "out"


@pytest.fixture(scope="module")
def without(store: Path) -> Path:
    """The same without articles."""
    build("demo", store, store.parent / "without")
    return store.parent / "without"


def exported(dataset: Path) -> list[PlainArticle]:
    loaded = wb.load(dataset)
    return [one for split in loaded.files for one in loaded.plain_articles(split)]


def raw_lines(article: PlainArticle, sections: str) -> tuple[str, ...]:
    """The lines of the raw file that a plain text becomes.

    Each formula becomes `<formula>`, on a line of its own in mode `official`, and each line is tokenized.
    """
    pieces, position = [], 0
    for latex in article.formulas:
        shown = f"${latex}$" if latex else SHOWN_FORMULA
        start = article.text.index(shown, position)
        pieces += [article.text[position:start], SHOWN_FORMULA]
        position = start + len(shown)
    lines = "".join([*pieces, article.text[position:]]).split("\n")
    if sections == "official":
        lines = [piece for one in lines for piece in ([one] if heading_level(one) else own_lines(one))]
    return tuple(tokenizer("en").tokenize_lines(["", *lines, ""]))


def follows_the_law(article: PlainArticle, lines: tuple[str, ...], sections: str) -> None:
    assert raw_lines(article, sections) == lines
    texts = [article.text.split("\n")[0].strip("= "), *(one.text for one in article.sections)]
    assert [one for one in article.text.split("\n") if one and not heading_level(one)] == [
        line for text in texts[1:] for line in text.split("\n") if line
    ]
    assert article.sections[0].level == 1
    headings = [one for one in article.text.split("\n") if heading_level(one)]
    assert headings == [f"{'=' * one.level} {one.heading} {'=' * one.level}" for one in article.sections]


@settings(max_examples=100)
@given(WIKITEXT, st.sampled_from(["official", "clean"]))
def test_any_plain_text_becomes_the_raw_lines_and_its_sections_are_all_of_it(
    wikitext: str, sections: str
) -> None:
    try:
        article = extract(page(wikitext), sections=sections)
    except RejectedError:
        return
    follows_the_law(PlainArticle.of(article, "en"), tokenize_article(article).lines, sections)


@pytest.mark.parametrize(("sections", "pages"), [("official", 150), ("clean", 20)])
def test_the_plain_text_of_real_pages_becomes_their_raw_lines(sections: str, pages: int) -> None:
    formulas = 0
    for one in random.Random(2).sample(real_pages("2016-12"), pages):
        article = extract(one, sections=sections)
        plain = PlainArticle.of(article, "en")
        follows_the_law(plain, tokenize_article(article).lines, sections)
        assert "<formula>" not in plain.text
        assert "" not in plain.formulas
        formulas += len(plain.formulas)
    assert formulas > pages


def test_articles_are_those_of_the_raw_files_in_their_order(built: Path) -> None:
    loaded = wb.load(built)
    for split in SPLITS:
        found = list(loaded.plain_articles(split))
        raw = list(loaded.articles(split, raw=True))
        assert [raw_lines(one, "official") for one in found] == [one.lines for one in raw]
    assert sorted(one.revision_id for one in exported(built)) == sorted(one.revision_id for one in SOME)
    verified(built)


def test_a_row_has_what_is_known_of_a_page(built: Path) -> None:
    (found,) = [one for one in exported(built) if one.title == "Sum"]
    assert (found.page_id, found.revision_id, found.timestamp) == (SUM, 1021, "2016-01-01T00:00:00Z")
    assert found.url == "https://en.wikipedia.org/w/index.php?oldid=1021"
    assert found.wikidata_id is None
    assert found.categories == ("Sums", "Big sums")
    assert found.quality == "good"
    assert found.formulas == ("x_{1} + x_2", r"\ce{H2O}", r"\frac{a}{b}", "e^x")
    assert found.left_out == ("Mystery",)
    assert [(one.level, one.heading) for one in found.sections] == [(1, "Sum"), (2, "$e^x$"), (2, "History")]
    lines = found.text.split("\n")
    assert lines[0] == "= Sum ="
    assert r"A sum is $x_{1} + x_2$, or $5 of it; $\ce{H2O}$ flows." in lines
    assert r"$\frac{a}{b}$" in lines
    assert "== $e^x$ ==" in lines
    assert not any(mark in found.text for mark in ("@-@", "@,@", "<unk>", "<formula>"))
    assert "north-east" in found.text


def test_rows_have_the_dates_and_items_that_the_store_knows(
    store: Path, built: Path, without: Path, tmp_path: Path
) -> None:
    own = store_of(tmp_path / "pages.store", [], copy=store)
    dates = {3: "2021-01-02T00:00:00Z", 4: "2021-02-02T00:00:00Z"}
    with Store.create(own) as opened:
        opened.add_items("en", {3: "Q42", SUM: "Q1490", 4: "", 999: "Q1"})
        opened.add_items("de", {5: "Q5"})
    build("demo", own, tmp_path / "b")  # without articles it does not matter
    assert digests(tmp_path / "b") == digests(without)
    with Store.create(own) as opened:
        opened.add_dates("en", dates)
    build("demo", own, tmp_path / "a", articles=True)
    rows = exported(tmp_path / "a")
    assert {row.page_id: row.wikidata_id for row in rows if row.wikidata_id} == {3: "Q42", SUM: "Q1490"}
    assert {row.page_id: row.created for row in rows if row.created} == dates
    assert {row.wikidata_id for row in rows if row.page_id not in (3, SUM)} == {None}
    sources = [wb.load(dataset).manifest for dataset in (tmp_path / "a", built)]
    assert len({manifest.source for manifest in sources if manifest}) == 2


def test_the_number_of_workers_and_the_other_files_do_not_matter(
    store: Path, built: Path, without: Path, tmp_path: Path
) -> None:
    wb.build("demo", store, tmp_path / "two", workers=2, articles=True)
    assert digests(tmp_path / "two") == digests(built)
    changed = {name for name, digest in digests(without).items() if digests(built)[name] != digest}
    assert changed == {"README.md", "croissant.json", "manifest.json"}
    assert "articles/" not in (without / "README.md").read_text("utf-8")


@pytest.mark.parametrize("stage", ["count", "export"])
def test_a_killed_build_resumes_with_its_articles(
    store: Path, built: Path, tmp_path: Path, stage: str
) -> None:
    def progress(name: str, *_: object, **__: object) -> None:
        if name == stage:
            os.kill(os.getpid(), signal.SIGKILL)

    make = partial(build, "demo", store, tmp_path / "out", articles=True)
    assert forked(lambda: make(progress=progress), tmp_path).returncode == -signal.SIGKILL
    make()
    assert digests(tmp_path / "out") == digests(built)


def test_a_dataset_without_articles_says_how_to_get_them(without: Path) -> None:
    with pytest.raises(BuilderError, match="build the dataset with --articles"):
        next(wb.load(without).plain_articles("train"))


def test_damaged_files_are_an_error(built: Path, tmp_path: Path) -> None:
    copy = Path(shutil.copytree(built, tmp_path / "out"))
    (path,) = (copy / "articles").glob("valid*")
    path.write_bytes(path.read_bytes()[:-9])
    with pytest.raises(BuilderError, match=r"articles of valid are damaged \(Arrow"):
        list(wb.load(copy).plain_articles("valid"))
    shutil.copy(copy / "parquet/tokens/valid-00000-of-00001.parquet", path)
    with pytest.raises(BuilderError, match=r"articles of valid are damaged \(Object missing required field"):
        list(wb.load(copy).plain_articles("valid"))


def test_other_libraries_read_them(built: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    import pandas as pd
    from datasets import load_dataset

    loaded = load_dataset(str(built), "wikitext-demo-articles-v1", cache_dir=str(tmp_path))
    for name, split in zip(loaded, SPLITS, strict=True):
        articles = list(wb.load(built).plain_articles(split))
        assert loaded[name]["text"] == [one.text for one in articles]
        table = pd.read_parquet(built / "articles" / f"{split}-00000-of-00001.parquet")
        assert list(table["text"]) == [one.text for one in articles]
        headings = [[section["heading"] for section in sections] for sections in table["sections"]]
        assert headings == [[section.heading for section in one.sections] for one in articles]


def test_a_section_is_what_stands_under_its_heading() -> None:
    article = extract(page("Lead.\n\nMore.\n== A ==\n=== B ===\nText."))
    assert PlainArticle.of(article, "en").sections == (
        Section(heading="Tokyo", level=1, text="Lead.\nMore."),
        Section(heading="A", level=2, text=""),
        Section(heading="B", level=3, text="Text."),
    )
