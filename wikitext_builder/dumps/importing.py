"""Imports dumps into a store: all articles, or those that are Good or Featured."""

from __future__ import annotations

import hashlib
import logging
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass, field, fields
from functools import partial
from pathlib import Path
from typing import Any, Literal, get_args

from wikitext_builder.article import Page
from wikitext_builder.dumps.decompress import THREADS
from wikitext_builder.dumps.snapshot import DumpedPage
from wikitext_builder.dumps.xml_dump import Dump
from wikitext_builder.errors import BuilderError, RejectedError
from wikitext_builder.extraction.expander import redirect_target
from wikitext_builder.extraction.macros import NAMESPACE, template_name
from wikitext_builder.fetching.page_filters import (
    ASKS_WIKI,
    FILTERS,
    Filter,
    FirstRevision,
    Named,
    Rule,
    Texts,
    first_fault,
    parse_rules,
)
from wikitext_builder.files import file_sha256
from wikitext_builder.processes import ProcessPool, cores
from wikitext_builder.progress import Progress, no_progress
from wikitext_builder.store.reading import StoredTemplates, note_names
from wikitext_builder.store.schema import Rejected, storable
from wikitext_builder.store.store import Store
from wikitext_builder.wiki.classify import Classifier, classifier, title_fault
from wikitext_builder.wiki.dates import parse_date
from wikitext_builder.wiki.languages import CODES, Language, language_of, with_names

LOG = logging.getLogger(__name__)
Keep = Literal["marked", "all"]
TEMPLATE, MODULE = 10, 828  # namespaces
BATCH_PAGES = 500  # per transaction, at most
BATCH_CHARACTERS = 2**24  # of kept wikitext and HTML, after which a transaction ends


@dataclass(frozen=True, slots=True, kw_only=True)
class ImportReport:
    """What an import did; `pages` is the sum of all counts of pages."""

    files: int = 0
    pages: int = 0
    kept: int = 0  # new in the store
    already_there: int = 0  # stored by an earlier import or fetch
    templates: int = 0  # new in the store
    templates_there: int = 0  # stored by an earlier import
    rendered: int = 0  # pages whose HTML is new in the store
    rendered_there: int = 0
    skipped: dict[str, int] = field(default_factory=dict)  # by kind: redirect, unmarked, …
    rejected: dict[str, int] = field(default_factory=dict)  # by reason; the store lists each page
    finished_before: int = 0  # files that were imported before, which are neither read again nor counted
    language: str = ""  # code of the Wikipedia
    missing: tuple[str, ...] | None = (
        None  # titles that `include` names and no file has; None if it names none
    )

    def __add__(self, other: ImportReport) -> ImportReport:
        """Add the counts of another import."""
        sums: dict[str, Any] = {}
        for row in fields(self):
            mine, theirs = getattr(self, row.name), getattr(other, row.name)
            if isinstance(mine, int):
                sums[row.name] = mine + theirs
            elif isinstance(mine, str):
                sums[row.name] = mine or theirs
            elif row.name == "missing":
                missing = [{*titles} for titles in (mine, theirs) if titles is not None]
                sums[row.name] = tuple(sorted(set.intersection(*missing))) if missing else None
            else:
                sums[row.name] = dict(sorted((Counter(mine) + Counter(theirs)).items()))
        return ImportReport(**sums)


def import_dump(
    store: str | Path,
    *dumps: str | Path,
    language: str | None = None,
    keep: Keep = "marked",
    as_of: str | None = None,
    include: Texts = (),
    exclude: Texts = (),
    workers: int | None = None,
    progress: Progress = no_progress,
) -> ImportReport:
    """Import the articles of XML dumps or HTML snapshots into a store; call it again to resume.

    Args:
        store: Path of the store, which is created if missing.
        dumps: Files of XML or JSON lines, plain or compressed with bzip2, gzip or Zstandard.
        language: Code of the Wikipedia of the dumps; None: the one that the first dump names.
        keep: `all` keeps every article, `marked` those whose own wikitext has the mark of Good or Featured.
        as_of: For dumps with history: take the newest revisions on or before this date or time.
        include: Keep only matching articles, such as `words:300-`, `lock:FILE` or `created-since:DATE`.
        exclude: Drop matching articles, such as `stubs`, `lock:FILE` or `titles:FILE`.
        workers: Processes for several files; None: one per core.
        progress: Called with the number of bytes read or, for several files, of files.

    Raises:
        BuilderError: An argument is invalid, or a dump or the store cannot be used. Pages before a damaged
            place of a dump are stored.

    Example:
        >>> import wikitext_builder as wb
        >>> wb.import_dump("pages.store", "enwiki-pages-articles.xml.bz2")  # doctest: +SKIP
    """
    paths, date = [Path(dump) for dump in dumps], parse_date(as_of)
    wiki = language_of(language or (_language_in(paths[0]) if paths else "en"))
    if keep not in get_args(Keep):
        raise BuilderError(f"`keep={keep}` is unknown; use one of {', '.join(get_args(Keep))}")
    if keep == "marked" and not wiki.good_marks + wiki.featured_marks:
        raise BuilderError(
            f"no marks of Good or Featured articles are known for the {wiki.code} Wikipedia; use --all, with"
            " --include titles:FILE for some of its articles"
        )
    parse_rules(include, exclude, wiki, FILTERS)  # reports errors before any work
    import_file = partial(
        _import_file,
        store=Path(store),
        language=wiki,
        keep=keep,
        as_of=date,
        include=include,
        exclude=exclude,
    )
    workers, report = min(workers or cores(), len(dumps)), ImportReport(language=wiki.code)
    with Store.create(Path(store)) as opened:  # a new store exists until all files are done
        if language is None and (codes := opened.languages()) and wiki.code not in codes:
            raise BuilderError(
                f"{paths[0]}: holds pages of the Wikipedia {wiki.code!r}, {store} those of"
                f" {', '.join(codes)};"
                f" take another --store, or --language {wiki.code} to keep both in one"
            )
        if workers < 2:
            for path in paths:
                report += import_file(path, threads=THREADS, progress=progress)
            return report
        with ProcessPool(workers) as pool:
            for number, result in enumerate(pool.map(partial(import_file, threads=0), paths), 1):
                report += result
                progress("files", number, len(paths))
        return report


def _import_file(
    path: Path,
    *,
    store: Path,
    language: Language,
    include: Texts,
    exclude: Texts,
    progress: Progress = no_progress,
    **options: Any,
) -> ImportReport:
    rules = parse_rules(include, exclude, language, FILTERS)
    with Store.create(store) as opened:
        return import_into(opened, path, language=language, rules=rules, progress=progress, **options)


def import_into(
    store: Store,
    path: Path,
    *,
    language: Language,
    keep: Keep = "marked",
    as_of: str = "",
    rules: Sequence[Rule[Filter]] = (),
    progress: Progress = no_progress,
    threads: int = THREADS,
) -> ImportReport:
    """Import a dump into a store that is open for writing, see `import_dump`; `as_of` is ISO 8601 in UTC."""
    settings = hashlib.sha256(repr((language, keep, as_of, rules)).encode()).hexdigest()[:16]
    key = f"import {language.code} {settings} {storable(path.name)}"
    if path.is_file() and (sha256 := store.note(key)) and sha256 == file_sha256(path):
        return ImportReport(files=1, finished_before=1)
    dump, report = Dump(path, as_of=as_of, threads=threads), ImportReport(files=1)
    total = path.stat().st_size if path.is_file() else None
    named_titles = [rule.filter.titles for rule in rules if rule.include and isinstance(rule.filter, Named)]
    missing = {*frozenset.intersection(*named_titles)} if named_titles else set()
    for batch in _batches(dump, language, keep, rules):
        _expect_language(dump, language)
        if batch.pages_read:
            store.expect_wiki(language.code, dump.site.dbname, storable(path), dumped=True)
            note_names(store, with_names(language, dump.site.names))
        report += _write(batch, store, language, storable(path.name))
        missing -= batch.titles
        note = f"{dump.count} pages, {report.kept + report.already_there} kept"
        progress("import", dump.bytes_taken, total, note)
    store.set_note(key, dump.sha256)
    return report + ImportReport(missing=tuple(sorted(missing)) if named_titles else None)


def _language_in(path: Path) -> str:
    """Return the code of the language that a dump names before its first article; en if it names none."""
    dump = Dump(path, threads=0)
    if path.exists() and not path.is_file():  # a pipe, which can be read only once
        return "en"
    with closing(dump.pages()) as pages:
        next((page for page in pages if dump.site.language or isinstance(page.content, Page)), None)
    _expect_wikipedia(dump)
    return dump.site.language or "en"


def _expect_wikipedia(dump: Dump) -> None:
    if (code := dump.site.language) and code not in CODES.values():
        wiki = f"{dump.site.sitename or code} ({dump.site.base or code})"
        raise BuilderError(f"{dump.path}: holds pages of {wiki}; expected a dump of a Wikipedia")


def _expect_language(dump: Dump, language: Language) -> None:
    _expect_wikipedia(dump)
    if (code := dump.site.language) and code != language.code:
        raise BuilderError(
            f"{dump.path}: holds pages of the Wikipedia {code!r}, this import is for {language.code!r}; take"
            f" --language {code}"
        )


# --- batches


@dataclass(slots=True)
class _Batch:
    """Pages and templates that are stored in one transaction."""

    pages: list[Page] = field(default_factory=list)
    templates: list[tuple[str, Page]] = field(default_factory=list)  # with their names
    redirects: dict[str, tuple[str, str]] = field(default_factory=dict)  # of templates: target and time
    html: dict[int, str] = field(default_factory=dict)  # by revision id
    items: dict[int, str] = field(default_factory=dict)  # by page id
    created: dict[int, str] = field(default_factory=dict)  # by page id, if a rule needs it
    titles: set[str] = field(default_factory=set)  # of all pages, kept or not
    skipped: Counter[str] = field(default_factory=Counter)  # by kind
    rejected: list[Rejected] = field(default_factory=list)
    pages_read: int = 0
    characters: int = 0


def _write(batch: _Batch, store: Store, language: Language, origin: str) -> ImportReport:
    """Store a batch, and count the new pages, templates and HTML."""
    kept = store.add(language.code, batch.pages, origin=origin, rejected=batch.rejected)
    store.add_dates(language.code, batch.created)
    store.add_items(language.code, batch.items)
    rendered = store.add_missing_rendered(language.code, batch.html)
    store.add_template_redirects(language.code, batch.redirects)
    templates = StoredTemplates(store, language.code).add(batch.templates)
    return ImportReport(
        pages=batch.pages_read,
        kept=kept,
        already_there=len(batch.pages) - kept,
        rendered=rendered,
        rendered_there=len(batch.html) - rendered,
        templates=templates,
        templates_there=len(batch.templates) - templates,
        skipped=batch.skipped,
        rejected=Counter(rejected.reason for rejected in batch.rejected),
    )


def _batches(dump: Dump, language: Language, keep: Keep, rules: Sequence[Rule[Filter]]) -> Iterator[_Batch]:
    """Yield batches of pages; pages before an error are yielded before it is raised."""
    batch, classify, is_known = _Batch(), classifier(language), False
    needs_dates = any(rule.filter.cost >= ASKS_WIKI for rule in rules)
    try:
        for dumped in dump.pages():
            # The first records of a snapshot can be malformed, and then have no language.
            if not is_known and (is_known := bool(dump.site.language)):
                classify = classifier(with_names(language, dump.site.names))
            kind = why_skipped(dumped, classify, keep=keep) or _why_excluded(dumped, rules)
            _sort_into(batch, dumped, kind)
            if needs_dates and not kind and dumped.namespace == 0 and isinstance(dumped.content, Page):
                batch.created[dumped.content.page_id] = dumped.created
            if batch.pages_read >= BATCH_PAGES or batch.characters >= BATCH_CHARACTERS:
                yield batch
                batch = _Batch()
    except BuilderError:
        yield batch
        raise
    yield batch


def why_skipped(dumped: DumpedPage, classify: Classifier, *, keep: Keep) -> str:
    """Return why a page is skipped, as a word to count by; empty if the page is kept or rejected."""
    content = dumped.content
    if dumped.namespace == TEMPLATE and isinstance(content, Page) and not title_fault(content.title):
        return ""
    if dumped.namespace != 0:
        return "module" if dumped.namespace == MODULE else "not-an-article"
    if isinstance(content, Rejected):
        # Most pages of a dump made long after the date are like this, and would make the store large.
        return content.reason if content.reason == "no-revision" else ""
    if dumped.redirect or classify.is_redirect(content.wikitext):
        return "redirect"
    if classify.is_list(content.title):
        return "list"
    if classify.is_disambiguation(content.wikitext):
        return "disambiguation"
    is_kept = keep == "all" or classify.is_marked(content.wikitext) or _is_listed(dumped, classify.language)
    return "" if is_kept else "unmarked"


def _is_listed(dumped: DumpedPage, language: Language) -> bool:
    """Return True if a snapshot names templates or categories of Good or Featured articles for a page."""
    marks = {*language.good_marks, *language.featured_marks}
    return any(name.partition(":")[2] in marks for name in dumped.templates) or any(
        name in language.categories or name.partition(":")[2] in language.categories
        for name in dumped.categories
    )


def _why_excluded(dumped: DumpedPage, rules: Sequence[Rule[Filter]]) -> str:
    """Return why the rules exclude an article, as a word to count by; empty if they do not."""
    if dumped.namespace != 0 or isinstance(dumped.content, Rejected):
        return ""
    try:
        fault = first_fault(rules, dumped.content, lambda _page_id: FirstRevision(timestamp=dumped.created))
    except RejectedError as error:  # the text cannot be extracted
        return error.reason
    return fault[0] if fault else ""


def _sort_into(batch: _Batch, dumped: DumpedPage, kind: str) -> None:
    batch.pages_read += 1
    content = dumped.content
    batch.titles.add(content.title)
    if not kind and isinstance(content, Page) and (fault := title_fault(content.title)):
        # A lock file could not name the page.
        detail = f"no page can have the title {content.title!r}: {fault}"
        content = Rejected.of(content, "invalid-title", detail)
    if kind:
        LOG.info("skipped %s: %s", content.title, kind)
        batch.skipped[kind] += 1
    elif isinstance(content, Rejected):
        LOG.info("rejected %s: %s, %s", content.title, content.reason, content.detail)
        batch.rejected.append(content)
    else:
        batch.characters += len(content.wikitext) + len(dumped.html or "")
        if dumped.namespace == TEMPLATE:
            _sort_template(batch, content)
        else:
            batch.pages.append(content)
            batch.items[content.page_id] = dumped.wikidata_id
            if dumped.html and not dumped.html.isspace():
                batch.html[content.revision_id] = dumped.html


def _sort_template(batch: _Batch, page: Page) -> None:
    namespace, _, title = page.title.partition(":")
    name, target = template_name(title), redirect_target(page.wikitext) or ""
    batch.templates.append((name, page))
    prefix, _, target_title = target.partition(":")
    if prefix.lower() == namespace.lower() or NAMESPACE.match(
        target
    ):  # otherwise the target is not a template
        batch.redirects[name] = template_name(target_title), page.timestamp
