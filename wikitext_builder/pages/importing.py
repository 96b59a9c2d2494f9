"""Imports dumps into a store: articles, or those of them that are Good or Featured."""

from __future__ import annotations

import hashlib
import json
import logging
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import partial
from itertools import chain
from pathlib import Path
from typing import Any, Literal, get_args

from wikitext_builder.article import Page
from wikitext_builder.errors import BuilderError, RejectedError
from wikitext_builder.extraction.macros.call import NAMESPACE, template_name
from wikitext_builder.extraction.nodes import redirect_target
from wikitext_builder.hashing import file_sha256
from wikitext_builder.pages.database import storable
from wikitext_builder.pages.decompress import THREADS
from wikitext_builder.pages.dumped import DumpedPage
from wikitext_builder.pages.page_filters import parse_rules
from wikitext_builder.pages.parts import Part, each_part, parts_in
from wikitext_builder.pages.reading import StoredTemplates
from wikitext_builder.pages.rules import First, Past, Rule, Texts, first_fault
from wikitext_builder.pages.store import Dates, Rejected, Store, add_dates, add_items, expect_wiki
from wikitext_builder.pages.store_languages import add_redirects, note_names
from wikitext_builder.pages.xml_dump import Dump
from wikitext_builder.progress import Progress, no_progress
from wikitext_builder.runners.processes import cores
from wikitext_builder.wiki.classify import Classifier, classifier, title_fault
from wikitext_builder.wiki.dates import parse_date
from wikitext_builder.wiki.languages import Language, language_of
from wikitext_builder.wiki.names import with_names

LOG = logging.getLogger(__name__)
Keep = Literal["marked", "all"]
TEMPLATE, MODULE = 10, 828  # namespaces
# What an import notes of its language: in this order, which stores of earlier versions know.
LANGUAGE_FIELDS = (
    "code", "good_category", "featured_category", "good_marks", "featured_marks", "disambiguation_marks",
    "list_title_prefixes", "list_title_suffixes", "file_namespaces", "category_namespaces",
    "template_namespaces", "redirect_words", "removed_sections", "stub_marks",
)  # fmt: skip
# Fields of `ImportReport`: what is new, and what was there.
NEW_AND_THERE = (("kept", "already_there"), ("templates", "templates_there"), ("rendered", "rendered_there"))
SUMS = ("pages", "xml_bytes", "rendered_otherwise", *chain(*NEW_AND_THERE))  # of parts
NOT_NOTED = ("seconds", "finished_before", "parts", "other_files", "missing_parts")
BATCH = 500  # pages per transaction, at most
BATCH_CHARACTERS = 2**24  # of kept wikitext and HTML per transaction, after which no page is added


@dataclass(frozen=True, slots=True, kw_only=True)
class ImportReport:
    """What an import did; `pages` is the sum of all counts of pages."""

    pages: int = 0
    kept: int = 0  # new in the store
    already_there: int = 0  # kept by an earlier import or fetch
    templates: int = 0  # templates that are new in the store
    templates_there: int = 0  # templates that an earlier import kept
    rendered: int = 0  # HTML of pages, of a snapshot, that is new in the store
    rendered_there: int = 0
    rendered_otherwise: int = 0  # of these: the store has and keeps another HTML of the same revision
    skipped: dict[str, int] = field(default_factory=dict)  # by kind: redirect, unmarked, …
    rejected: dict[str, int] = field(default_factory=dict)  # by reason; the store notes each
    xml_bytes: int = 0  # of XML or, of a snapshot, of JSON
    seconds: float = 0
    finished_before: bool = False  # this file was imported before and was not read again
    parts: int = 1  # files
    other_files: tuple[str, ...] = ()  # of a folder, that are no parts
    missing_parts: tuple[str, ...] = ()  # that SHA256SUMS names

    def __add__(self, other: ImportReport) -> ImportReport:
        """Both, with the time and the files of the first."""
        sums: dict[str, Any] = {name: getattr(self, name) + getattr(other, name) for name in SUMS}
        for name in ("skipped", "rejected"):
            total = Counter(getattr(self, name)) + Counter(getattr(other, name))
            sums[name] = dict(sorted(total.items()))
        return replace(self, **sums)

    @property
    def megabytes_per_second(self) -> float | None:
        """Millions of bytes of XML or JSON per second; None if this file was imported before."""
        return None if self.finished_before or not self.seconds else self.xml_bytes / 1e6 / self.seconds


def import_dump(
    store: str | Path,
    dump: str | Path,
    *,
    language: str = "en",
    keep: Keep = "marked",
    as_of: str | None = None,
    include: Texts = (),
    exclude: Texts = (),
    workers: int | None = None,
    progress: Progress = no_progress,
) -> ImportReport:
    """Import the articles of an XML dump or an HTML snapshot into a store; call it again to resume.

    Args:
        store: Path of the store, which is created if missing.
        dump: A file of XML or JSON lines, plain or compressed with bzip2, gzip or Zstandard; or a folder of
            such files, whose SHA256SUMS is checked.
        language: Code of the Wikipedia that the dump comes from.
        keep: `all` keeps every article, `marked` those whose own wikitext has the mark of Good or Featured.
        as_of: For dumps with history: take the newest revisions up to this date or time.
        include: What each article must be, such as `words:300-`, `lock:FILE` or `created-since:DATE`.
        exclude: What no article may be, such as `stubs`, `lock:FILE` or `titles:FILE`.
        workers: Processes for the parts of a folder; None: one per core.
        progress: Called with the number of bytes read.

    Raises:
        BuilderError: An argument is wrong, or the dump or the store cannot be used. Pages before a damaged
            place of the dump are kept.

    Example:
        >>> import wikitext_builder as wb
        >>> wb.import_dump("pages.store", "enwiki-pages-articles.xml.bz2")  # doctest: +SKIP
    """
    wiki, date = language_of(language), parse_date(as_of)
    if keep not in get_args(Keep):
        raise BuilderError(f"`keep={keep}` is unknown; use one of {', '.join(get_args(Keep))}")
    if keep == "marked" and not wiki.good_marks + wiki.featured_marks:
        raise BuilderError(
            f"no marks of Good or Featured articles are known for the {wiki.code} Wikipedia; use --all, with"
            " --include titles:FILE for some of its articles"
        )
    parse_rules(include, exclude, wiki)  # what is wrong is an error at once
    how: dict[str, Any] = {"keep": keep, "as_of": date, "include": include, "exclude": exclude}
    part: Callable[..., ImportReport] = partial(_import_part, store=Path(store), language=wiki, **how)
    if not Path(dump).is_dir():
        return part(Part(path=Path(dump)), progress=progress)
    return _import_folder(part, Path(store), Path(dump), workers=workers or cores(), progress=progress)


def _import_part(
    part: Part,
    *,
    store: Path,
    language: Language,
    include: Sequence[str],
    exclude: Sequence[str],
    progress: Progress = no_progress,
    **how: Any,
) -> ImportReport:
    part.check()
    rules = parse_rules(include, exclude, language)
    with Store.create(store) as opened:
        return import_into(opened, part.path, language=language, rules=rules, progress=progress, **how)


def _import_folder(
    import_part: Callable[..., ImportReport], store: Path, folder: Path, *, workers: int, progress: Progress
) -> ImportReport:
    """Import all parts in a folder, each of them in one process, and add up what they report."""
    started, found = time.monotonic(), parts_in(folder)
    import_part = partial(import_part, threads=0 if min(workers, len(found.parts)) > 1 else THREADS)
    with Store.create(store):  # a store that it makes stays until all parts end
        reports = list(each_part(import_part, found.parts, workers=workers, progress=progress))
    return replace(
        sum(reports, ImportReport()),
        seconds=time.monotonic() - started,
        finished_before=all(one.finished_before for one in reports),
        parts=len(found.parts),
        other_files=found.other_files,
        missing_parts=found.missing,
    )


def import_into(
    store: Store,
    path: Path,
    *,
    language: Language,
    keep: Keep = "marked",
    as_of: str = "",
    rules: Sequence[Rule] = (),
    progress: Progress = no_progress,
    threads: int = THREADS,
) -> ImportReport:
    """Import a dump into a store that is open for writing, see `import_dump`; `as_of` is ISO 8601 in UTC."""
    started = time.monotonic()
    key = _progress_key(path, language, keep, as_of, rules)
    if (before := _finished_before(store, key, path)) is not None:
        return ImportReport(**before, seconds=time.monotonic() - started, finished_before=True)
    dump, report = Dump(path, as_of=as_of, threads=threads), ImportReport()
    templates = StoredTemplates(store, language.code)
    total = path.stat().st_size if path.is_file() else None
    for batch in _batches(dump, language, keep, rules):
        _expect_language(dump, language, store)
        if batch.seen:
            expect_wiki(store, language.code, dump.site.dbname, storable(path), dumped=True)
            note_names(store, with_names(language, dump.site.names))
        kept = store.add(language.code, batch.pages, origin=storable(path.name), rejected=batch.rejected)
        add_dates(store, language.code, batch.dates)
        add_items(store, language.code, batch.items)
        rendered, otherwise = store.add_missing_rendered(language.code, batch.html)
        add_redirects(store, language.code, batch.redirects)
        added = templates.add(batch.templates)
        report += ImportReport(
            kept=kept,
            already_there=len(batch.pages) - kept,
            rendered=rendered,
            rendered_there=len(batch.html) - rendered,
            rendered_otherwise=otherwise,
            templates=added,
            templates_there=len(batch.templates) - added,
            skipped=batch.skipped,
            rejected=Counter(one.reason for one in batch.rejected),
        )
        note = f"{dump.count} pages, {report.kept + report.already_there} kept"
        progress("import", dump.bytes_taken, total, note)
    report = replace(report, pages=dump.count, xml_bytes=dump.xml_bytes, seconds=time.monotonic() - started)
    later = {name: value for name, value in asdict(report).items() if name not in NOT_NOTED}
    for new, there in NEW_AND_THERE:  # the next import of the same file finds all that was kept
        later[new], later[there] = 0, later[new] + later[there]
    store.set_note(key, json.dumps({"sha256": dump.sha256, **later}))
    return report


@dataclass(slots=True)
class _Batch:
    """What goes into the store in one transaction."""

    pages: list[Page] = field(default_factory=list)
    templates: list[tuple[str, Page]] = field(default_factory=list)  # each with its name
    redirects: dict[str, tuple[str, str]] = field(default_factory=dict)  # of templates: where to, and when
    html: dict[int, str] = field(default_factory=dict)  # by revision id
    items: dict[int, str] = field(default_factory=dict)  # by page id
    dates: dict[int, Dates] = field(default_factory=dict)  # by page id, if a rule asked for them
    skipped: Counter[str] = field(default_factory=Counter)  # by kind
    rejected: list[Rejected] = field(default_factory=list)
    seen: int = 0
    characters: int = 0


def _batches(dump: Dump, language: Language, keep: Keep, rules: Sequence[Rule]) -> Iterator[_Batch]:
    """Yield the pages that are kept or rejected; those before an error are yielded before it is raised."""
    batch, classify, is_known = _Batch(), classifier(language), False
    try:
        for dumped in dump.pages():
            # The first records of a snapshot can be malformed, and then say no language.
            if not is_known and (is_known := bool(dump.site.language)):
                classify = classifier(with_names(language, dump.site.names))
            past = _DumpPast(created=dumped.created)
            kind = why_skipped(dumped, classify, keep=keep) or _unruly(dumped, rules, past)
            _sort_into(batch, dumped, kind)
            if past.asked and not kind:
                batch.dates[past.asked] = Dates(created=dumped.created)
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
    """True if the templates or the categories that a snapshot has for a page are of Good or Featured ones."""
    marks, used = {*language.good_marks, *language.featured_marks}, dumped.templates
    return any(name.partition(":")[2] in marks for name in used) or any(
        name in language.categories or name.partition(":")[2] in language.categories
        for name in dumped.categories
    )


@dataclass(slots=True, kw_only=True)
class _DumpPast(Past):
    """What a dump knows of a page's past: its first revision, if the dump has it."""

    created: str
    asked: int = 0  # the page that somebody asked for

    def first(self, page: Page) -> First:
        self.asked = page.page_id
        return First(timestamp=self.created)


def _unruly(dumped: DumpedPage, rules: Sequence[Rule], past: _DumpPast) -> str:
    """Why an article is not what the rules ask for, as a word to count by; empty if it is."""
    if dumped.namespace != 0 or isinstance(dumped.content, Rejected):
        return ""
    try:
        found = first_fault(rules, dumped.content, past)
    except RejectedError as error:  # its text cannot be read
        return error.reason
    return found[0] if found else ""


def _sort_into(batch: _Batch, dumped: DumpedPage, kind: str) -> None:
    batch.seen += 1
    content = dumped.content
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
            name = template_name(content.title.partition(":")[2])
            batch.templates.append((name, content))
            target = redirect_target(content.wikitext) or ""
            here = target.partition(":")[0].lower() == content.title.partition(":")[0].lower()
            if here or NAMESPACE.match(target):  # else it leads to no template
                batch.redirects[name] = template_name(target.partition(":")[2]), content.timestamp
        else:
            batch.pages.append(content)
            if dumped.html:
                batch.html[content.revision_id] = dumped.html
            batch.items[content.page_id] = dumped.wikidata_id


def _expect_language(dump: Dump, language: Language, store: Store) -> None:
    found = dump.site.language
    if found and found != language.code:
        held = store.languages()
        beside = f", with a --store of its own: {store.path} holds {', '.join(held)}"
        raise BuilderError(
            f"{dump.path}: holds pages of the Wikipedia {found!r}, this import is for {language.code!r}; take"
            f" --language {found}{beside if held and found not in held else ''}"
        )


def _progress_key(path: Path, language: Language, keep: Keep, as_of: str, rules: Sequence[Rule]) -> str:
    """Name an import by all that decides its result except the content; of the language a digest."""
    shown = ", ".join(f"{name}={getattr(language, name)!r}" for name in LANGUAGE_FIELDS)
    table = hashlib.sha256(f"Language({shown})".encode()).hexdigest()[:12]
    return f"import with templates {language.code} {keep} {as_of} {table} {storable(path.name)}" + (
        f" {rules!r}" if rules else ""
    )


def _finished_before(store: Store, key: str, path: Path) -> dict[str, Any] | None:
    noted = store.note(key)
    if noted is None or not path.is_file():
        return None
    try:
        report: dict[str, Any] = json.loads(noted)
        sha256 = report.pop("sha256")
    except (ValueError, KeyError, AttributeError, TypeError):
        return None  # it is damaged: import again
    return report if sha256 == file_sha256(path) else None
