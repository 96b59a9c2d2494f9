"""Small pages, their stores and datasets, and what tests ask of a dataset."""

import hashlib
import random
from pathlib import Path
from typing import Any

import wikitext_builder as wb
from tests.dumps import numbered_page
from wikitext_builder.article import Page
from wikitext_builder.building.build import BuildReport, carry_out
from wikitext_builder.building.plan import Plan
from wikitext_builder.dataset.manifest import read_articles
from wikitext_builder.dataset.recipes import RECIPES, Recipe
from wikitext_builder.processes import Runner, Serial
from wikitext_builder.progress import Progress, no_progress
from wikitext_builder.store.store import Store
from wikitext_builder.wiki.languages import language_of

SPLITS = ("train", "valid", "test")
WORDS = ["the", "of", "and", "a", "river", "rises", "{{convert|5|km}}", "north-east", "about", "1,234.5"]
WORDS += ["it's", "[[link|old]]", "''town''", "by"]
LATER = "2020-01-01T00:00:00Z"


def page(number: int) -> Page:
    """A page of four paragraphs of random words."""
    generator = random.Random(number)
    paragraphs = [" ".join(generator.choices(WORDS, k=40)) + f" name{number % 7}." for _ in range(4)]
    body = "\n\n== History ==\n".join(["\n\n".join(paragraphs[:2]), "\n\n".join(paragraphs[2:])])
    wikitext = f"'''Title {number}''' {body}\n\n== References ==\n{{{{reflist}}}}"
    return numbered_page(number, wikitext, f"Title {number}", timestamp="2016-01-01T00:00:00Z")


PAGES = [page(number) for number in range(1, 101)]


def store_of(path: Path, pages: list[Page], *, copy: Path | None = None) -> Path:
    """A store of these pages, and of what another one has."""
    if copy:
        path.write_bytes(copy.read_bytes())
    with Store.create(path) as store:
        store.add("en", pages, origin="test")
    return path


def plan_of(store: Path, out: Path, *, recipe: Recipe = RECIPES["demo"], **fields: Any) -> Plan:
    """The plan to make a dataset of all pages of a store."""
    with Store.open(store) as opened:
        revisions = opened.revisions("en")
    language = language_of(recipe.language)
    return Plan(recipe=recipe, language=language, store=store, out=out, revisions=revisions, **fields)


def built(
    store: Path, out: Path, *, runner: Runner | None = None, progress: Progress = no_progress, **fields: Any
) -> BuildReport:
    """Makes the dataset of all pages of a store."""
    return carry_out(plan_of(store, out, **fields), progress, runner=runner or Serial())


def build(recipe: str | Path | Recipe, store: Path, out: Path, **options: Any) -> BuildReport:
    """`wb.build` in this process."""
    return wb.build(recipe, store, out, workers=1, **options)


def digests(directory: Path) -> dict[str, str]:
    """The hash of each file."""
    files = sorted(path for path in directory.rglob("*") if path.is_file())
    return {str(path.relative_to(directory)): hashlib.sha256(path.read_bytes()).hexdigest() for path in files}


def articles(dataset: Path, kind: str = "raw") -> dict[str, tuple[str, ...]]:
    """The lines of each article by its tokenized title."""
    paths = sorted(dataset.glob(f"wiki.*.{kind}"))
    found = [article for path in paths for article in read_articles(path)]
    by_title = {article[1].removeprefix("= ").removesuffix(" ="): article for article in found}
    assert len(by_title) == len(found)
    return by_title


def sizes(dataset: Path) -> dict[str, int]:
    """The number of articles of each split, as the manifest says."""
    manifest = wb.load(dataset).manifest
    assert manifest
    return {name: counts.articles for name, counts in manifest.splits.items()}


def faults(dataset: Path) -> list[str]:
    """The names of the checks that failed."""
    return [check.name for check in wb.verify(dataset) if check.passed is False]


def verified(dataset: Path) -> None:
    """Every check of a dataset that was built here is made, and passes."""
    checks = wb.verify(dataset)
    assert checks
    assert not [check for check in checks if check.passed is not True]


def titles_file(path: Path, *titles: str) -> Path:
    """A file with a title per line."""
    path.write_text("".join(f"{title}\n" for title in titles), encoding="utf-8")
    return path
