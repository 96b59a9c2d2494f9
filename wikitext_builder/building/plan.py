"""Plans a build: its recipe, revisions, given splits, and the digest of all that decides its bytes."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from importlib.metadata import version
from pathlib import Path
from typing import Any, TypedDict, Unpack

import msgspec

from wikitext_builder import __version__
from wikitext_builder.dataset.manifest import (
    Manifest,
    compared_files,
    read_manifest,
    read_manifest_file,
    unnamed_files,
)
from wikitext_builder.dataset.recipes import RECIPES, Recipe
from wikitext_builder.errors import BuilderError
from wikitext_builder.fetching.page_filters import chosen, titles_in
from wikitext_builder.files import code_hash, lines_sha256
from wikitext_builder.store.lock import language_in_lock, lock_language, read_lock
from wikitext_builder.store.reading import language_in, stored_language, templates_in
from wikitext_builder.store.schema import Revision
from wikitext_builder.store.store import Store
from wikitext_builder.wiki.dates import parse_date
from wikitext_builder.wiki.languages import Language, reported_names

# All other `BuildOptions` are fields of a recipe.
PAGE_OPTIONS = ("as_of", "lock", "include", "exclude", "valid_titles", "test_titles")
DECIDING_PACKAGES = ("pyarrow", "regex", "sacremoses")  # their versions decide bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """What to build, from which pages, and into which folder."""

    recipe: Recipe
    language: Language  # of the pages, with the names that the wiki reports
    store: Path
    out: Path
    revisions: Sequence[Revision]  # to choose from, one per page; a page with `html` is made from HTML
    as_of: str = ""  # take templates as of this time; empty: the newest ones
    older: int = 0  # revisions that are not used, because their pages have newer ones
    other_html: int = 0  # pages whose HTML differs from the lock file's, or is missing
    given: Mapping[str, frozenset[int]] = field(default_factory=dict)  # page ids of splits that are not drawn

    def __post_init__(self) -> None:
        """Refuse a path that cannot be the name of a new folder."""
        if self.out.name in ("", "..") or (self.out.is_symlink() and not self.out.exists()):
            raise BuilderError(f"--out: {self.out} cannot be the name of a new folder; give another name")

    @property
    def work(self) -> Path:
        """The folder in which the dataset grows until it is complete."""
        return self.out.with_name(f".{self.out.name}.partial")


class BuildOptions(TypedDict, total=False):
    """Options of a build besides recipe, store and folder; None is the same as absent."""

    language: str | None
    """Code of the Wikipedia; default: that of the lock file, the store or a `Recipe`."""
    as_of: str | None
    """Use the store's newest revisions and templates on or before this date, such as 2016-08-31."""
    lock: str | Path | None
    """Use exactly the revisions in this lock file; `as_of` then counts for templates only."""
    include: str | Sequence[str]
    """Keep only matching pages: `lock:FILE`, `titles:FILE`, `created-since:DATE` and the like."""
    exclude: str | Sequence[str]
    """Drop matching pages."""
    valid_titles: str | Path | None
    """File with the titles for valid, one per line."""
    test_titles: str | Path | None
    """File with the titles for test, one per line."""
    name: str | None
    """Name of the dataset, as in `NAME-v1.zip`; default: the recipe's, with the language unless English."""
    train_articles: int | None
    """Maximum number; like all that follow, it overrides the recipe's value."""
    valid_articles: int | None
    """Articles in valid."""
    test_articles: int | None
    """Articles in test."""
    test_words: int | None
    """Only for `live`: add articles until this many words is reached."""
    min_count: int | None
    """Rarer words in train become `<unk>`."""
    sections: str | None
    """official or clean: how much of a list section to remove."""
    incomplete: str | None
    """cut or keep: what to do where a template's text is missing."""
    source: str | None
    """rendered: a page's HTML where the store has it, else its wikitext; or wikitext."""
    seed: str | None
    """Seed for the split."""
    articles: bool | None
    """Also export whole articles as plain text, in Parquet files."""


def make_plan(recipe: str | Path | Recipe, store: Path, out: Path, **options: Unpack[BuildOptions]) -> Plan:
    """Decide what to build: the recipe, the revisions, and the given articles of valid and test."""
    changes = {
        name: value for name, value in options.items() if name not in PAGE_OPTIONS and value is not None
    }
    manifest = _manifest_of(recipe)
    changed = _changed(manifest.recipe if manifest else _recipe_of(recipe), changes)
    as_of = parse_date(options.get("as_of")) or (manifest.as_of if manifest else "")
    lock = Path(given_lock) if (given_lock := options.get("lock")) else None
    with Store.open(store) as opened:
        if isinstance(recipe, str) and manifest is None:
            code = options.get("language") or (lock_language(lock) if lock else "")
            changed = replace(changed, language=language_in(opened, code or None))
            if not options.get("name") and changed.language != "en":
                changed = replace(changed, name=f"{changed.name}-{changed.language}")
        language = stored_language(opened, changed.language, as_of=as_of)
        stored = _locked(opened, lock, changed.language) if lock else _newest(opened, changed.language, as_of)
        html: dict[int, str] = dict(opened.rendered_sha1s(changed.language)) if lock else {}
        older = 0 if lock else opened.revision_count(changed.language, as_of=as_of or None) - len(stored)
    if lock:  # the same lock file gives the same bytes, with any store
        language = language_in_lock(lock, language)
    revisions = chosen(stored, options.get("include") or (), options.get("exclude") or (), language)
    other_html = 0
    if changed.source == "wikitext":
        revisions = _with_html(revisions, {})
    elif lock:
        other_html = sum(
            bool(revision.html) and revision.html != html.get(revision.revision_id) for revision in revisions
        )
        revisions = _with_html(revisions, html)
    if not revisions:
        raise BuilderError(f"{store}: no pages of {changed.language!r} to build from; {_advice(len(stored))}")
    given = {split: frozenset(ids) for split, ids in manifest.given.items()} if manifest else {}
    for split in ("valid", "test"):
        if path := options.get(f"{split}_titles"):
            _check_titles_option(split, changed, options)
            given[split] = _page_ids(Path(str(path)), revisions, stored)
    if both := given.get("valid", frozenset()) & given.get("test", frozenset()):
        raise BuilderError(
            f"--valid-titles and --test-titles: both name {len(both)} of the articles; an article belongs to"
            " one split"
        )
    return Plan(
        recipe=changed,
        language=language,
        store=store,
        out=out,
        revisions=revisions,
        as_of=as_of,
        older=older,
        other_html=other_html,
        given=given,
    )


def _manifest_of(recipe: str | Path | Recipe) -> Manifest | None:
    """Return the manifest of a dataset to build again, if `recipe` is its path."""
    if isinstance(recipe, Recipe) or recipe in RECIPES or not Path(recipe).is_file():
        return None
    return read_manifest_file(Path(recipe))


def _recipe_of(recipe: str | Path | Recipe) -> Recipe:
    if isinstance(recipe, Recipe):
        return recipe
    if str(recipe) not in RECIPES:
        raise BuilderError(
            f"RECIPE: {str(recipe)!r}; expected {', '.join(RECIPES)}, or the manifest.json of a dataset"
        )
    return RECIPES[str(recipe)]


def _changed(recipe: Recipe, changes: Mapping[str, Any]) -> Recipe:
    if unknown := changes.keys() - {field.name for field in fields(Recipe)}:
        raise BuilderError(f"a recipe has no {', '.join(sorted(unknown))}")
    return replace(recipe, **changes)


def _newest(store: Store, language: str, as_of: str) -> Sequence[Revision]:
    """Return the newest revision of each page on or before a date."""
    revisions = store.revisions(language, as_of=as_of or None)
    if not revisions and store.revision_count(language):
        raise BuilderError(
            f"{store.path}: all its revisions of {language!r} are newer than {as_of};"
            f" `wikitext-builder fetch --as-of {as_of}` gets those of that date"
        )
    return revisions


def _locked(store: Store, lock: Path, language: str) -> Sequence[Revision]:
    """Return the revisions of a lock file, all of which must be in the store."""
    revisions = read_lock(lock, language=language)
    if not revisions:
        raise BuilderError(f"{lock}: names no revision; expected at least one to build from")
    if len({revision.page_id for revision in revisions}) < len(revisions):
        raise BuilderError(
            f"{lock}: names several revisions of a page; expected one per page; remove all but one"
        )
    if absent := [revision for revision in revisions if not store.has(language, revision)]:
        raise BuilderError(
            f"{lock}: {len(absent)} of its {len(revisions)} revisions are not in {store.path}, or differ,"
            f" such as {absent[0].revision_id} of {absent[0].title!r}; `wikitext-builder fetch"
            f" --select lock:{lock}` gets them"
        )
    return revisions


def _with_html(revisions: Sequence[Revision], html: Mapping[int, str]) -> Sequence[Revision]:
    """Replace the HTML of revisions that name one by `html`; all other pages are made from wikitext."""
    return [
        replace(revision, html=html.get(revision.revision_id, "")) if revision.html else revision
        for revision in revisions
    ]


def _advice(pages: int) -> str:
    """Return what to do if none of the store's pages is left."""
    if not pages:
        return "`wikitext-builder status` shows what the store has"
    return (
        f"--include and --exclude leave none of its {pages:,}. A lock file in a dataset names all pages from"
        " which the dataset was chosen; `dataset:FOLDER` names those that it has"
    )


def _check_titles_option(split: str, recipe: Recipe, options: BuildOptions) -> None:
    """Refuse titles for a split that the recipe does not have, or whose size is given too."""
    option = f"--{split}-titles"
    if split not in recipe.splits:
        raise BuilderError(f"{option}: {recipe.name} has no {split}; ask for --{split}-articles")
    words = recipe.test_words if split == "test" else None
    if words is not None or options.get(f"{split}_articles") is not None:
        size = f"--{split}-articles" if words is None else "--test-words"
        raise BuilderError(f"{option} and {size}: use one of the two")


def _page_ids(path: Path, revisions: Sequence[Revision], stored: Sequence[Revision]) -> frozenset[int]:
    """Return the page ids of a file of titles, from the revisions that were chosen from all stored ones."""
    titles = titles_in(path)
    if not titles:
        raise BuilderError(f"{path}: names no article; write one title per line")
    by_title = {revision.title: revision.page_id for revision in revisions if revision.title in titles}
    if absent := sorted(titles - by_title.keys()):
        is_excluded = any(revision.title == absent[0] for revision in stored)
        reason = "left out by --include or --exclude" if is_excluded else "not in the store"
        raise BuilderError(f"{path}: {len(absent)} of its titles are missing: {absent[0]!r} is {reason}")
    return frozenset(by_title.values())


# --- inputs that decide the bytes


def versions_of(plan: Plan) -> dict[str, str]:
    """Return the versions of our code and of the packages that decide the bytes of a dataset.

    The version of Unicode, which Python's version decides, is not among them: the texts decide.
    """
    packages = (*DECIDING_PACKAGES, *(["lxml"] if any(revision.html for revision in plan.revisions) else []))
    versions = {name: version(name) for name in packages}
    return versions | {"wikitext-builder": __version__, "code": code_hash()}


def source_of(plan: Plan) -> str:
    """Return the SHA-256 of everything that decides the bytes of a plan's dataset."""
    with Store.open(plan.store) as store:
        return lines_sha256(_source_lines(plan, store))


def _source_lines(plan: Plan, store: Store) -> Iterator[str]:
    language = plan.recipe.language
    yield msgspec.json.encode(plan.recipe).decode()
    yield json.dumps(versions_of(plan), sort_keys=True)
    for revision in sorted(plan.revisions, key=lambda revision: revision.page_id):
        yield msgspec.json.encode(revision).decode()
    for split, page_ids in sorted(plan.given.items()):
        yield f"{split} {sorted(page_ids)}"
    from_wikitext = {revision.revision_id for revision in plan.revisions if not revision.html}
    yield store.expansions_digest(language, from_wikitext)
    if plan.recipe.articles:
        exported = {revision.page_id for revision in plan.revisions}
        for page_id, item in store.items(language):
            if page_id in exported:
                yield f"{page_id} {item}"
    if names := reported_names(plan.language):
        yield f"names {json.dumps(names, ensure_ascii=False)}"
    if from_wikitext and (templates := templates_in(store, language, as_of=plan.as_of)):
        yield f"templates {templates.digest()}"


def existing_dataset(out: Path, source: str) -> Manifest | None:
    """Return the manifest of exactly this dataset in `out`; None if `out` does not exist."""
    if not out.exists():
        return None
    manifest = read_manifest(out) if out.is_dir() else None
    if manifest is None:
        raise BuilderError(f"{out}: holds something that is not a dataset of ours; name another folder")
    if manifest.source != source:
        raise BuilderError(
            f"{out}: holds another dataset, of other options, pages, templates or code (its manifest.json has"
            " them); name another folder, or remove this one"
        )
    is_changed = any(entry != expected for _, expected, entry in compared_files(out, manifest))
    if is_changed or unnamed_files(out, manifest):
        raise BuilderError(
            f"{out}: holds this dataset, but its files were changed; `wikitext-builder verify` says which."
            " Remove the folder and build again"
        )
    return manifest
