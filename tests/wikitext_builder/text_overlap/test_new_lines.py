"""new_lines: what stood in an earlier revision goes, also moved or lightly edited; what is new stays."""

import json
import random
import shutil
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

import wikitext_builder as wb
from tests.command import done
from tests.conftest import data
from tests.wikitext_builder.datasets import SPLITS, build, store_of
from wikitext_builder.article import Page, heading_level
from wikitext_builder.dataset.manifest import file_line
from wikitext_builder.errors import BuilderError
from wikitext_builder.pages.xml_dump import read_pages
from wikitext_builder.text_overlap.new_lines import only_new
from wikitext_builder.text_overlap.words import words_of
from wikitext_builder.tokens.tokenizer import tokenize_article

STARTS, ENDS = ("ka", "lo", "mi", "nu", "re", "so"), ("ba", "di", "fu", "ge", "hon", "pal")
WORDS = [start + end for start in STARTS for end in ENDS]
THEN, NOW = "2020-01-01T00:00:00Z", "2024-01-01T00:00:00Z"


def paragraph(generator: random.Random) -> list[str]:
    return [generator.choice(WORDS) for _ in range(60)]


def edited(words: list[str], generator: random.Random) -> list[str]:
    """Every twentieth word, on average, is another one or gone."""
    kept = [generator.choice(WORDS) if generator.random() < 0.04 else word for word in words]
    return [word for word in kept if generator.random() >= 0.01]


def page(number: int, revision: int, when: str, sections: dict[str, list[list[str]]]) -> Page:
    text = "\n".join(
        line for name, paragraphs in sections.items() for line in (f"== {name} ==", *map(joined, paragraphs))
    )
    return Page(title=f"Page {number}", page_id=number, revision_id=revision, timestamp=when, wikitext=text)


def joined(words: list[str]) -> str:
    return " ".join(words) + ".\n"


@dataclass(frozen=True)
class Histories:
    """A store of now, one of then, the dataset of now, and the first words of each paragraph that is new."""

    now: Path
    then: Path
    dataset: Path
    marks: set[str]


@pytest.fixture(scope="module")
def histories(tmp_path_factory: pytest.TempPathFactory) -> Histories:
    generator, old, new, marks = random.Random(5), list[Page](), list[Page](), set()
    for number in range(1, 41):
        a, b, c, d = (paragraph(generator) for _ in range(4))
        old.append(page(number, number, THEN, {"First": [a, b], "Second": [c]}))
        elsewhere = edited(paragraph(random.Random(5)), generator)  # the first paragraph of page 1
        sections = {"First": [edited(b, generator)], "New": [d], "Moved": [elsewhere, a[:30] + c[30:]]}
        new.append(page(number, 1000 + number, NOW, sections))
        marks.add(" ".join(d[:8]))
    new.append(replace(old[3], revision_id=5000, timestamp=NOW, title="Copy of page 4", page_id=500))
    folder = tmp_path_factory.mktemp("histories")
    now, then = store_of(folder / "now.store", new), store_of(folder / "then.store", old)
    build("demo", now, folder / "set", min_count=1)
    return Histories(now, then, folder / "set", marks)


def test_only_new_paragraphs_stay(histories: Histories, tmp_path: Path) -> None:
    found = wb.new_lines(histories.dataset, tmp_path / "new", against=histories.then)
    dataset = wb.load(tmp_path / "new")
    articles = [one for split in dataset.files for one in dataset.articles(split, raw=True)]
    kept = [line for one in articles for line in one.paragraphs]
    assert {" ".join(line.split()[:8]) for line in kept} == histories.marks
    assert len(kept) == sum(one.paragraphs for one in found.kept) == 40
    headings = {line for split in dataset.files for line in dataset.lines(split) if heading_level(line) == 2}
    assert headings == {"= = New = ="}
    attribution = (tmp_path / "new" / "attribution.tsv").read_text(encoding="utf-8").splitlines()
    assert len(attribution) == 41
    assert "Copy of page 4" not in "".join(attribution)
    checks = wb.verify(tmp_path / "new")
    assert [check.passed for check in checks if "grammar" in check.name] == [True] * 3
    assert [check for check in checks if check.name.startswith("overlap") or check.passed is False] == []
    report = json.loads((tmp_path / "new" / "overlap.json").read_text(encoding="utf-8"))
    assert [one["split"] for one in report["splits"]] == [*SPLITS]


def test_a_split_without_articles_takes_nobodys_attribution(histories: Histories, tmp_path: Path) -> None:
    report = build("demo", histories.now, tmp_path / "set", min_count=1, valid_articles=0)
    assert report.warnings == ()
    assert list(wb.load(tmp_path / "set").articles("valid")) == []
    wb.new_lines(tmp_path / "set", tmp_path / "new", against=histories.then)
    new = wb.load(tmp_path / "new")
    titles = [(split, one.title) for split in ("train", "test") for one in new.articles(split, raw=True)]
    rows = (tmp_path / "new" / "attribution.tsv").read_text(encoding="utf-8").splitlines()[1:]
    assert len(rows) == len(titles) == 40
    assert {tuple(row.split("\t")[:2]) for row in rows} == set(titles)


@pytest.mark.parametrize("lost", ["an article", "a line"])
def test_files_with_other_lines_are_an_error(histories: Histories, tmp_path: Path, lost: str) -> None:
    copy = Path(shutil.copytree(histories.dataset, tmp_path / "set"))
    tokens = copy / "wiki.train.tokens"
    lines = tokens.read_text("utf-8").splitlines(keepends=True)
    titles = [number for number, line in enumerate(lines) if heading_level(line.strip()) == 1]
    tokens.write_text("".join(lines[: titles[-1] - 1] if lost == "an article" else lines[:-2]), "utf-8")
    words = r"raw and the tokens file of train have different lines; see `.*verify"
    with pytest.raises(BuilderError, match=words):
        wb.new_lines(copy, tmp_path / "new", against=histories.then)
    assert not (tmp_path / "new").exists()


def test_an_attribution_with_other_articles_is_an_error(histories: Histories, tmp_path: Path) -> None:
    copy = Path(shutil.copytree(histories.dataset, tmp_path / "set"))
    head, first, *rest = (copy / "attribution.tsv").read_text("utf-8").splitlines(keepends=True)
    (copy / "attribution.tsv").write_text("".join([head, *rest]), "utf-8")
    words = rf"{first.split()[0]} and attribution\.tsv have different articles; see `.*verify"
    with pytest.raises(BuilderError, match=words):
        wb.new_lines(copy, tmp_path / "new", against=histories.then)
    assert not (tmp_path / "new").exists()


def test_revisions_after_the_date_do_not_count(histories: Histories, tmp_path: Path) -> None:
    now, dataset = histories.now, histories.dataset
    words = ("overlap", dataset, "--against", now, "--against", histories.then)
    printed = done(*words, "--as-of", "2022-01-01", "--new-lines-only", tmp_path / "new")
    assert "new in train: 34 articles, 34 paragraphs" in printed
    with pytest.raises(BuilderError, match="no text was found up to 2019-12-31"):
        wb.overlap(dataset, against=now, as_of="2019-12-31")
    (tmp_path / "other.txt").write_text("other text\n", encoding="utf-8")
    more = (*words, "--against", tmp_path / "other.txt")
    everything = done(*more, "--as-of", "2019-12-31", "--new-lines-only", tmp_path / "all", "--json")
    assert sum(one["paragraphs"] for one in json.loads(everything)["kept"]) == 163
    for path in dataset.glob("wiki.*"):
        assert (tmp_path / "all" / path.name).read_bytes() == path.read_bytes()
    with pytest.raises(BuilderError, match="none of its paragraphs is new"):
        wb.new_lines(dataset, tmp_path / "none", against=now)
    assert not (tmp_path / "none").exists()
    assert not list(tmp_path.glob(".*partial"))
    unfinished = tmp_path / ".again.partial" / "shards"  # of a build that was killed
    unfinished.mkdir(parents=True)
    wb.new_lines(dataset, tmp_path / "again", against=[now, tmp_path / "other.txt"], as_of="2019-12-31")
    assert unfinished.exists()


def test_bad_arguments(histories: Histories, tmp_path: Path) -> None:
    dataset, then = histories.dataset, histories.then
    with pytest.raises(BuilderError, match="exists already"):
        wb.new_lines(dataset, tmp_path, against=then)
    (tmp_path / "link").symlink_to(tmp_path / "nothing")
    with pytest.raises(BuilderError, match="link exists already"):
        wb.new_lines(dataset, tmp_path / "link", against=then)
    with pytest.raises(BuilderError, match="--share"):
        wb.new_lines(dataset, tmp_path / "x", against=then, share=0)
    with pytest.raises(BuilderError, match="has no articles"):
        wb.new_lines(dataset / "wiki.test.raw", tmp_path / "x", against=then)


def test_headings_stay_above_what_stays() -> None:
    lines = ["", "= T =", "", "a", "", "= = A = =", "", "", "= = = B = = =", "", "b", "", "= = C = =", ""]
    lines += ["c", ""]
    assert only_new(lines, lines, [True, True, True]) == lines
    assert only_new(lines, lines, [False, True, False]) == [*lines[:3], *lines[4:11], ""]
    assert only_new(lines, lines, [True, False, False]) == [*lines[:4], ""]


def test_real_revisions_of_articles(tmp_path: Path) -> None:
    """Articles of 2018 against their revisions of 2016: no old paragraph stays, and some new ones do."""
    old, new = (pages_of(when) for when in ("2016-04", "2018-06"))
    both = sorted(old.keys() & new.keys())
    assert both
    store = store_of(tmp_path / "then.store", [old[title] for title in both])
    articles = [tokenize_article(wb.extract(new[title])) for title in both]
    (tmp_path / "set").mkdir()
    text = "".join(file_line(line) for one in articles for line in one.lines)
    (tmp_path / "set" / "wiki.test.tokens").write_text(text, encoding="utf-8", newline="\n")
    before = {tuple(words_of(line)) for title in both for line in wb.extract(old[title]).lines}
    found = wb.new_lines(tmp_path / "set", tmp_path / "new", against=store)
    kept = [
        tuple(words_of(line)) for one in wb.load(tmp_path / "new").articles("test") for line in one.paragraphs
    ]
    assert 0 < len(kept) < 0.5 * found.overlap.splits[0].paragraphs
    assert not before & set(kept)


def pages_of(when: str) -> dict[str, Page]:
    pages = (one.content for one in read_pages(data(f"pages/pages-{when}.xml.bz2")))
    return {one.title: one for one in pages if isinstance(one, Page)}
