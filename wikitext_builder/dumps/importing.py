"""Imports dumps into a store: articles, or those of them that are Good or Featured."""

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
BATCH = 500  # pages per transaction, at most
BATCH_CHARACTERS = 2**24  # of kept wikitext and HTML per transaction, after which no page is added


@dataclass(frozen=True, slots=True, kw_only=True)
class ImportReport:
    """What an import did; `pages` is the sum of all counts of pages."""

    files: int = 0
    pages: int = 0
    kept: int = 0  # new in the store
    already_there: int = 0  # kept by an earlier import or fetch
    templates: int = 0  # templates that are new in the store
    templates_there: int = 0  # templates that an earlier import kept
    rendered: int = 0  # HTML of pages, of a snapshot, that is new in the store
    rendered_there: int = 0
    skipped: dict[str, int] = field(default_factory=dict)  # by kind: redirect, unmarked, …
    rejected: dict[str, int] = field(default_factory=dict)  # by reason; the store notes each
    finished_before: int = 0  # files that were imported before: they are not read again, nor counted
    language: str = ""  # code of the Wikipedia
    missing: tuple[str, ...] | None = None  # titles that `include` names and no file has; None: it names none

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
                known = [{*titles} for titles in (mine, theirs) if titles is not None]
                sums[row.name] = tuple(sorted(set.intersection(*known))) if known else None
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
        language: Code of the Wikipedia that the dumps come from; None: the one that the first of them names.
        keep: `all` keeps every article, `marked` those whose own wikitext has the mark of Good or Featured.
        as_of: For dumps with history: take the newest revisions up to this date or time.
        include: What each article must be, such as `words:300-`, `lock:FILE` or `created-since:DATE`.
        exclude: What no article may be, such as `stubs`, `lock:FILE` or `titles:FILE`.
        workers: Processes for several files; None: one per core.
        progress: Called with the number of bytes read or, of several files, of files.

    Raises:
        BuilderError: An argument is wrong, or a dump or the store cannot be used. Pages before a damaged
            place of a dump are kept.

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
    parse_rules(include, exclude, wiki, FILTERS)  # what is wrong is an error at once
    import_one = partial(
        _import_file,
        store=Path(store),
        language=wiki,
        keep=keep,
        as_of=date,
        include=include,
        exclude=exclude,
    )
    workers, report = min(workers or cores(), len(dumps)), ImportReport(language=wiki.code)
    with Store.create(Path(store)) as opened:  # a store that it makes stays until all files end
        if language is None and (held := opened.languages()) and wiki.code not in held:
            raise BuilderError(
                f"{paths[0]}: holds pages of the Wikipedia {wiki.code!r}, {store} those of {', '.join(held)};"
                f" take another --store, or --language {wiki.code} to keep both in one"
            )
        if workers < 2:
            for path in paths:
                report += import_one(path, threads=THREADS, progress=progress)
            return report
        with ProcessPool(workers) as pool:
            for number, result in enumerate(pool.map(partial(import_one, threads=0), paths), 1):
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
    choice = hashlib.sha256(repr((language, keep, as_of, rules)).encode()).hexdigest()[:16]
    key = f"import {language.code} {choice} {storable(path.name)}"
    if path.is_file() and (sha256 := store.note(key)) and sha256 == file_sha256(path):
        return ImportReport(files=1, finished_before=1)
    dump, report = Dump(path, as_of=as_of, threads=threads), ImportReport(files=1)
    total = path.stat().st_size if path.is_file() else None
    named = [rule.filter.titles for rule in rules if rule.include and isinstance(rule.filter, Named)]
    missing = {*frozenset.intersection(*named)} if named else set()
    for batch in _batches(dump, language, keep, rules):
        _expect_language(dump, language)
        if batch.seen:
            store.expect_wiki(language.code, dump.site.dbname, storable(path), dumped=True)
            note_names(store, with_names(language, dump.site.names))
        report += _write(batch, store, language, storable(path.name))
        missing -= batch.titles
        note = f"{dump.count} pages, {report.kept + report.already_there} kept"
        progress("import", dump.bytes_taken, total, note)
    store.set_note(key, dump.sha256)
    return report + ImportReport(missing=tuple(sorted(missing)) if named else None)


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
    """What goes into the store together."""

    pages: list[Page] = field(default_factory=list)
    templates: list[tuple[str, Page]] = field(default_factory=list)  # each with its name
    redirects: dict[str, tuple[str, str]] = field(default_factory=dict)  # of templates: where to, and when
    html: dict[int, str] = field(default_factory=dict)  # by revision id
    items: dict[int, str] = field(default_factory=dict)  # by page id
    created: dict[int, str] = field(default_factory=dict)  # by page id, if a rule asked for it
    titles: set[str] = field(default_factory=set)  # of all pages, kept or not
    skipped: Counter[str] = field(default_factory=Counter)  # by kind
    rejected: list[Rejected] = field(default_factory=list)
    seen: int = 0
    characters: int = 0


def _write(batch: _Batch, store: Store, language: Language, origin: str) -> ImportReport:
    """Store a batch and count what is new."""
    kept = store.add(language.code, batch.pages, origin=origin, rejected=batch.rejected)
    store.add_dates(language.code, batch.created)
    store.add_items(language.code, batch.items)
    rendered = store.add_missing_rendered(language.code, batch.html)
    store.add_template_redirects(language.code, batch.redirects)
    templates = StoredTemplates(store, language.code).add(batch.templates)
    return ImportReport(
        pages=batch.seen,
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
    """Yield the pages that are kept or rejected; those before an error are yielded before it is raised."""
    batch, classify, is_known = _Batch(), classifier(language), False
    dated = any(rule.filter.cost >= ASKS_WIKI for rule in rules)
    try:
        for dumped in dump.pages():
            # The first records of a snapshot can be malformed, and then say no language.
            if not is_known and (is_known := bool(dump.site.language)):
                classify = classifier(with_names(language, dump.site.names))
            kind = why_skipped(dumped, classify, keep=keep) or _why_excluded(dumped, rules)
            _sort_into(batch, dumped, kind)
            if dated and not kind and dumped.namespace == 0 and isinstance(dumped.content, Page):
                batch.created[dumped.content.page_id] = dumped.created
            if batch.seen >= BATCH or batch.characters >= BATCH_CHARACTERS:
                yield batch
                batch = _Batch()
    except BuilderError:
        yield batch
        raise
    yield batch


def why_skipped(dumped: DumpedPage, classify: Classifier, *, keep: Keep) -> str:
    """Return why a page is skipped, as a word to count by; empty if it is kept or rejected."""
    content = dumped.content
    if dumped.namespace == TEMPLATE and isinstance(content, Page) and not title_fault(content.title):
        return ""
    if dumped.namespace != 0:
        return "module" if dumped.namespace == MODULE else "not-an-article"
    if isinstance(content, Rejected):
        # Of a dump made long after the date most pages are so: one row for each would make the store large.
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
    marks, used = {*language.good_marks, *language.featured_marks}, dumped.templates
    return any(name.partition(":")[2] in marks for name in used) or any(
        name in language.categories or name.partition(":")[2] in language.categories
        for name in dumped.categories
    )


def _why_excluded(dumped: DumpedPage, rules: Sequence[Rule[Filter]]) -> str:
    """Return why an article is not what the rules ask for, as a word to count by; empty if it is."""
    if dumped.namespace != 0 or isinstance(dumped.content, Rejected):
        return ""
    try:
        fault = first_fault(rules, dumped.content, lambda _page_id: FirstRevision(timestamp=dumped.created))
    except RejectedError as error:  # its text cannot be read
        return error.reason
    return fault[0] if fault else ""


def _sort_into(batch: _Batch, dumped: DumpedPage, kind: str) -> None:
    batch.seen += 1
    content = dumped.content
    batch.titles.add(content.title)
    if not kind and isinstance(content, Page) and (fault := title_fault(content.title)):
        # It could not be in a lock file.
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
            if dumped.html:
                batch.html[content.revision_id] = dumped.html


def _sort_template(batch: _Batch, page: Page) -> None:
    namespace, _, title = page.title.partition(":")
    name, target = template_name(title), redirect_target(page.wikitext) or ""
    batch.templates.append((name, page))
    prefix, _, target_title = target.partition(":")
    if prefix.lower() == namespace.lower() or NAMESPACE.match(target):  # else it leads to no template
        batch.redirects[name] = template_name(target_title), page.timestamp
