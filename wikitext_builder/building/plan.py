"""What a build is made of, and the folder in which a dataset grows until it is complete."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, fields, replace
from importlib.metadata import version
from pathlib import Path
from typing import Any, TypedDict, Unpack
from unicodedata import unidata_version

import msgspec

from wikitext_builder import __version__
from wikitext_builder.dataset.manifest import Manifest, compared_files, read_manifest, unnamed_files
from wikitext_builder.dataset.recipes import RECIPES, Recipe
from wikitext_builder.errors import BuilderError
from wikitext_builder.fetching.page_filters import chosen, titles_in
from wikitext_builder.hashing import code_hash, lines_sha256
from wikitext_builder.store.lock import language_in_lock, read_lock
from wikitext_builder.store.reading import language_in, stored_language, templates_in
from wikitext_builder.store.rows import Rejected, Revision
from wikitext_builder.store.store import Store
from wikitext_builder.wiki.dates import parse_date
from wikitext_builder.wiki.languages import Language, language_of
from wikitext_builder.wiki.names import names_said

LEFT_OUT = "left_out.tsv"
REJECTED = "rejected.jsonl"
NO_TEXT = "no-text"  # the reason of a rejection that a template could change
LONGEST_NAME = 255  # bytes, on the file systems of Linux and macOS
# The others of `BuildOptions` are fields of a recipe.
PAGE_OPTIONS = ("as_of", "lock", "include", "exclude", "valid_titles", "test_titles")
DECIDING_PACKAGES = ("pyarrow", "regex", "sacremoses")  # their versions decide bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """What to build, from what, and into which folder."""

    recipe: Recipe
    store: Path
    out: Path
    revisions: Sequence[Revision]  # to choose from, one per page
    as_of: str = ""  # take templates up to this time; empty: the newest ones
    found: int = 0  # pages from which `include` and `exclude` took these
    older: int = 0  # revisions that are not used, because newer ones of the same pages are
    given_valid: frozenset[int] = frozenset()  # page ids of valid, instead of a choice
    given_test: frozenset[int] = frozenset()
    names: Language | None = None  # with what the wiki says of itself; None: nothing
    work_url: str = ""  # where a cluster's workers leave their results; empty: in `work`, on a shared disk

    def __post_init__(self) -> None:
        """Refuse a path that cannot be the name of a new folder."""
        if self.out.name in ("", ".."):
            raise BuilderError(f"--out: {self.out} is not a name of a new folder; name one")
        if len(os.fsencode(self.work.name)) > LONGEST_NAME:
            most = LONGEST_NAME - len(self.work.name) + len(self.out.name)
            raise BuilderError(f"--out: {self.out.name[:40]}… has more than {most} bytes; name a shorter one")
        if self.out.is_symlink() and not self.out.exists():
            raise BuilderError(f"--out: {self.out} is a link to nothing; remove it, or name another folder")

    @property
    def language(self) -> Language:
        """The Wikipedia that the pages come from."""
        return self.names or language_of(self.recipe.language)

    @property
    def work(self) -> Path:
        """The folder in which the dataset grows until it is complete."""
        return self.out.with_name(f".{self.out.name}.partial")


class BuildOptions(TypedDict, total=False):
    """Options of a build besides recipe, store and folder; None is the same as absent."""

    language: str | None
    """Code of the Wikipedia; default: the one that the store holds, or the language of a `Recipe`."""
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
    """wikitext, or rendered: a page's HTML if the store has it, else its wikitext."""
    seed: str | None
    """Seed for the split."""
    articles: str | Sequence[str] | None
    """Also export whole articles as plain text: parquet, jsonl or both."""


def make_plan(
    recipe: str | Recipe, store: Path, out: Path, *, work_url: str = "", **options: Unpack[BuildOptions]
) -> Plan:
    """Decide what to build: the recipe, the revisions, and the given articles of valid and test."""
    as_of, lock = options.get("as_of"), options.get("lock")
    valid_titles, test_titles = options.get("valid_titles"), options.get("test_titles")
    changes = {name: value for name, value in options.items() if name not in PAGE_OPTIONS}
    is_named, recipe = isinstance(recipe, str), _changed(recipe, changes)
    with Store.open(store) as opened:
        if is_named:
            recipe = replace(recipe, language=language_in(opened, options.get("language")))
        language = stored_language(opened, recipe.language, as_of=parse_date(as_of))
    found, older = _chosen_revisions(store, recipe.language, as_of, lock)
    if lock:  # the same lock file gives the same bytes
        language = language_in_lock(Path(lock), language)
    revisions = chosen(found, options.get("include") or (), options.get("exclude") or (), language)
    given_valid, given_test = (_page_ids(titles, revisions, found) for titles in (valid_titles, test_titles))
    if given_valid and "valid" not in recipe.splits:
        raise BuilderError(f"--valid-titles: {recipe.name} has no valid; use another recipe")
    if given_test and "test" not in recipe.splits:
        raise BuilderError(f"--test-titles: {recipe.name} has no test; ask for --test-articles")
    for name, given in (("valid", given_valid), ("test", given_test)):
        sizes = (one for one in (f"{name}_articles", f"{name}_words") if options.get(one) is not None)
        if given and (size := next(sizes, "")):
            raise BuilderError(f"--{name}-titles and --{size.replace('_', '-')}: use one of the two")
    if given_test and recipe.test_words:
        raise BuilderError(f"--test-titles: {recipe.name} has a number of words; use another recipe")
    if given_valid & given_test:
        raise BuilderError(
            f"{len(given_valid & given_test)} titles are both in {valid_titles} and in {test_titles};"
            " an article belongs to one split"
        )
    return Plan(
        recipe=recipe,
        names=language,
        store=store,
        out=out,
        revisions=revisions,
        as_of=parse_date(as_of),
        older=older,
        found=len(found),
        given_valid=given_valid,
        given_test=given_test,
        work_url=work_url,
    )


def _changed(recipe: str | Recipe, changes: Mapping[str, Any]) -> Recipe:
    if isinstance(recipe, str):
        if recipe not in RECIPES:
            raise BuilderError(f"RECIPE: {recipe!r}; expected a Recipe or one of {', '.join(RECIPES)}")
        recipe = RECIPES[recipe]
    if unknown := changes.keys() - {field.name for field in fields(Recipe)}:
        raise BuilderError(f"a recipe has no {', '.join(sorted(unknown))}")
    given = {name: value for name, value in changes.items() if value is not None}
    if isinstance(given.get("articles"), str):
        given["articles"] = (given["articles"],)
    return replace(recipe, **given)


def _chosen_revisions(
    store_path: Path, language: str, as_of: str | None, lock: str | Path | None
) -> tuple[Sequence[Revision], int]:
    """What to build from, and how many older revisions are not used."""
    with Store.open(store_path) as store:
        if lock is None:
            date = parse_date(as_of) if as_of else None
            revisions = store.revisions(language, as_of=date)
            if as_of and not revisions and store.revision_count(language):
                raise BuilderError(
                    f"{store_path}: all its revisions of {language!r} are newer than {as_of};"
                    f" `wikitext-builder fetch --as-of {as_of}` gets those of that date"
                )
            return revisions, store.revision_count(language, as_of=date) - len(revisions)
        wanted = read_lock(Path(lock), language=language)
        if not wanted:
            raise BuilderError(f"{lock}: names no revision; expected at least one to build from")
        if len({one.page_id for one in wanted}) < len(wanted):
            raise BuilderError(
                f"{lock}: names several revisions of a page; expected one per page: remove the others"
            )
        absent = [revision for revision in wanted if not store.has(language, revision)]
    if absent:
        raise BuilderError(
            f"{lock}: {len(absent)} of its {len(wanted)} revisions are not in {store_path}, or differ there,"
            f" such as {absent[0].revision_id} of {absent[0].title!r}; `wikitext-builder fetch"
            f" --select lock:{lock}` gets them"
        )
    return wanted, 0


def _page_ids(
    titles: str | Path | None, revisions: Sequence[Revision], found: Sequence[Revision]
) -> frozenset[int]:
    """The page ids of a file of titles; none without a file. The revisions were chosen from all `found`."""
    if titles is None:
        return frozenset()
    wanted = titles_in(Path(titles))
    if not wanted:
        raise BuilderError(f"{titles}: names no article; write one title per line")
    by_title = {one.title: one.page_id for one in revisions if one.title in wanted}
    if absent := sorted(wanted - by_title.keys()):
        excluded = any(one.title == absent[0] for one in found)
        why = "left out by --include or --exclude" if excluded else "not in the store"
        raise BuilderError(f"{titles}: {len(absent)} of its titles are not there: {absent[0]!r} is {why}")
    return frozenset(by_title.values())


@dataclass(frozen=True, slots=True)
class Identity:
    """Everything that decides the bytes of a dataset."""

    recipe: Recipe
    source: str  # sha256 over revisions, given articles, expansions, HTML and items
    versions: dict[str, str]
    templates: str = ""  # sha256 over the store's templates; empty if it has none

    def digest(self) -> str:
        """A short hash of it, for the names of folders."""
        return lines_sha256([repr(sorted(asdict(self).items()))])[:24]


def identity_of(plan: Plan) -> Identity:
    """The identity of the dataset that a plan makes."""
    if not plan.revisions:
        why = "`wikitext-builder status` says what is there"
        if plan.found:
            why = (
                f"--include and --exclude leave none of its {plan.found:,}. A lock file in a dataset names"
                " all pages that it was chosen from; `dataset:FOLDER` names those that it has"
            )
        raise BuilderError(f"{plan.store}: no pages of {plan.recipe.language!r} to build from; {why}")
    with Store.open(plan.store) as store:
        found_templates = templates_in(store, plan.recipe.language, as_of=plan.as_of)
        templates = found_templates.digest() if found_templates else ""
        source = lines_sha256(_source_lines(plan, store))
    versions = {name: version(name) for name in DECIDING_PACKAGES}
    if plan.recipe.source == "rendered":
        versions["lxml"] = version("lxml")
    versions |= {"wikitext-builder": __version__, "code": code_hash(), "unicode": unidata_version}
    return Identity(plan.recipe, source, versions, templates)


def _source_lines(plan: Plan, store: Store) -> Iterator[str]:
    """Everything but recipe, templates and code that decides a dataset, whatever the order of its pages."""
    language = plan.recipe.language
    for one in sorted(plan.revisions, key=lambda revision: revision.page_id):
        yield msgspec.json.encode(one).decode()
    yield f"valid {sorted(plan.given_valid)}"
    yield f"test {sorted(plan.given_test)}"
    numbers = {revision.revision_id for revision in plan.revisions}
    yield store.expansions_digest(language, numbers)
    if plan.recipe.source == "rendered":
        for number, sha1 in store.rendered_sha1s(language):
            if sha1 and number in numbers:
                yield f"{number} {sha1}"
    if plan.recipe.articles:
        pages = {revision.page_id for revision in plan.revisions}
        for page_id, item in store.items(language):
            if page_id in pages:
                yield f"{page_id} {item}"
    if said := names_said(plan.language):
        yield f"names {json.dumps(said, ensure_ascii=False)}"


def settled(plan: Plan, identity: Identity, *, with_templates: bool) -> Identity:
    """The identity of what was built: without templates, if nothing needed them.

    A dataset of two states of the store is refused: another program can write templates or HTML meanwhile.
    """
    now = identity_of(plan)
    if not with_templates:
        identity, now = (replace(one, templates="") for one in (identity, now))
    if now != identity:
        raise BuilderError(
            f"{plan.store}: another program changed its templates, expansions or HTML while they were read;"
            " run the build again"
        )
    return identity


def built_already(out: Path, identity: Identity) -> Manifest | None:
    """The manifest in `out`, if exactly this dataset is there already; None if nothing is there."""
    if not out.exists():
        return None
    manifest = read_manifest(out) if out.is_dir() else None
    if manifest is None:
        raise BuilderError(f"{out}: holds something that is not a dataset of ours; name another folder")
    built = Identity(manifest.recipe, manifest.source, manifest.versions, manifest.templates)
    if replace(built, templates=identity.templates) == identity:
        _check_files(out, manifest)  # before one of them is read
        if not (manifest.templates or _misses_text(out)):
            return manifest  # whatever templates there are, it does not need them
    if built == identity:
        return manifest
    if (found := list(_differences(built, identity))) == ["other code"]:
        raise BuilderError(
            f"{out}: was built by code {built.versions.get('code', 'that is not known')}, and this is"
            f" {identity.versions['code']}, whose text may differ; name another folder, or remove this one"
        )
    raise BuilderError(
        f"{out}: holds another dataset ({', '.join(found)}); ask for the same, name another folder or remove"
        " this one"
    )


def _misses_text(out: Path) -> bool:
    """Whether a dataset names calls or pages without a text, which templates could give."""
    calls, pages = (path.read_bytes() if path.is_file() else b"" for path in (out / LEFT_OUT, out / REJECTED))
    try:
        reasons = [msgspec.json.decode(line, type=Rejected).reason for line in pages.splitlines()]
    except (ValueError, RecursionError) as error:
        raise BuilderError(f"{out / REJECTED}: {error}; remove the folder and build again") from error
    return calls.count(b"\n") > 1 or NO_TEXT in reasons


def _check_files(out: Path, manifest: Manifest) -> None:
    """Refuse a dataset whose files were changed since it was built, or that has others among them."""
    for name in unnamed_files(out, manifest):
        raise BuilderError(
            f"{out}: holds this dataset, but its manifest does not name {name}; remove that file, or the"
            " folder and build again"
        )
    for name, expected, there in compared_files(out, manifest):
        if there != expected:
            found = "differs from its manifest" if there else "is missing"
            raise BuilderError(
                f"{out}: holds this dataset, but {name} {found}; `wikitext-builder verify` says what is"
                " wrong; remove the folder and build again"
            )


def _as_typed(name: str, value: object) -> str:
    """A field of a recipe as one types it.

    >>> _as_typed("articles", ("jsonl", "parquet")), _as_typed("articles", ()), _as_typed("min_count", 2)
    ('--articles jsonl --articles parquet', 'no --articles', '--min-count 2')
    """
    option = f"--{name.replace('_', '-')}" if name != "name" else "the recipe"
    values = value if isinstance(value, tuple) else () if value is None else (value,)
    return " ".join(f"{option} {one}" for one in values) or f"no {option}"


def _differences(there: Identity, wanted: Identity) -> Iterator[str]:
    """How two datasets differ, in words; templates count only if nothing else differs."""
    if replace(there, templates=wanted.templates) == wanted:
        yield "other templates in the store"
    one, other = asdict(there.recipe), asdict(wanted.recipe)
    for name in one:
        if one[name] != other[name]:
            yield f"built with {_as_typed(name, one[name])}; this command has {_as_typed(name, other[name])}"
    one, other = there.versions, wanted.versions
    for name in sorted({*one, *other}):
        if one.get(name) != other.get(name):
            yield "other code" if name == "code" else f"{name} {one.get(name)}, not {other.get(name)}"
    if there.source != wanted.source:
        yield "other pages, given titles or texts of templates"
