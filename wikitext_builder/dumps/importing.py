"""From a dump into the store: which of its pages are articles, and which of them are Good or Featured."""

from __future__ import annotations

import hashlib
import json
import re
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import asdict, dataclass, field
from functools import cache
from pathlib import Path
from typing import Any, Literal

from wikitext_builder.article import Page
from wikitext_builder.dumps.decompress import THREADS
from wikitext_builder.dumps.reader import Dump, DumpedPage
from wikitext_builder.errors import BuilderError
from wikitext_builder.hashing import file_sha256
from wikitext_builder.progress import Progress, no_progress
from wikitext_builder.store.store import Rejected, Store
from wikitext_builder.wiki.languages import Language, is_list_title
from wikitext_builder.wiki.titles import is_redirect, title_fault

Keep = Literal["marked", "all"]
BATCH = 500  # pages read between two transactions
BATCH_CHARACTERS = 2**24  # of kept wikitext between two transactions, at most

COMMENT_OR_VERBATIM = re.compile(
    r"<!--|<(nowiki|pre|syntaxhighlight|source|math)(?:\s[^<>]*)?>", re.IGNORECASE
)
COMMENT_IN_NAME = re.compile(r"\{\{[^{}|]{0,200}<!--")
DISAMBIGUATION_SWITCH = "__DISAMBIG__"  # of the extension Disambiguator; no language here has another word


@dataclass(frozen=True, slots=True, kw_only=True)
class ImportReport:
    """What became of the pages of a dump; `kept + already_there + skipped + rejected` are all of them."""

    pages: int
    kept: int  # new in the store
    already_there: int  # kept by an earlier import or fetch
    skipped: dict[str, int] = field(default_factory=dict)  # by kind: redirect, unmarked, …
    rejected: dict[str, int] = field(default_factory=dict)  # by reason; each stands in the store too
    xml_bytes: int
    seconds: float
    finished_before: bool = False  # this very file was imported before and was not read again

    @property
    def megabytes_per_second(self) -> float | None:
        """Of XML, a million bytes each; None where none was read, because the import was done before."""
        return None if self.finished_before or not self.seconds else self.xml_bytes / 1e6 / self.seconds


# --- what a page is


def without_comments_and_verbatim(wikitext: str) -> str:
    """The wikitext less comments and what stands in `<nowiki>` and its like, in one pass.

    >>> without_comments_and_verbatim("a<!-- {{good article}} -->b<nowiki>{{x}}</nowiki>c<nowiki />d")
    'abcd'

    A comment without end goes to the end of the text; a tag without end is plain text, as in MediaWiki.
    """
    kept: list[str] = []
    position = 0
    unclosed: set[str] = set()
    while opening := COMMENT_OR_VERBATIM.search(wikitext, position):
        kept.append(wikitext[position : opening.start()])
        name = (opening[1] or "").lower()
        position = opening.end()
        if opening[0].endswith("/>"):
            continue
        if not name:
            end = wikitext.find("-->", position)
            position = end + len("-->") if end >= 0 else len(wikitext)
        elif name in unclosed or not (closing := _closing(name).search(wikitext, position)):
            unclosed.add(name)
            kept.append(opening[0])
        else:
            position = closing.end()
    return "".join((*kept, wikitext[position:]))


@cache
def _closing(name: str) -> re.Pattern[str]:
    return re.compile(rf"</{name}\s*>", re.IGNORECASE)


def template_call(names: Iterable[str], namespaces: Iterable[str] = ("Template",)) -> re.Pattern[str]:
    """A pattern for the beginning of a call of any of these templates.

    The case of a first letter, underscores for spaces and the namespace's name make no difference.

    >>> bool(template_call(["Good article"]).search("{{good_article}}"))
    True
    >>> bool(template_call(["Good article"]).search("{{Good articles}}"))
    False
    """
    any_of = "|".join(_name_pattern(name) for name in names) or r"(?!)"
    namespace = "|".join(re.escape(name) for name in namespaces)
    return re.compile(rf"\{{\{{[\s_]*(?:(?i:{namespace})[\s_]*:[\s_]*)?(?:{any_of})[\s_]*(?:\||\}}\}})")


def _name_pattern(name: str) -> str:
    first, rest = name[0], name[1:]
    letters = "".join(sorted({first.lower(), first.upper()})) if len(first.upper()) == 1 else first
    return f"[{re.escape(letters)}]" + r"[ _]+".join(re.escape(word) for word in rest.split(" "))


class ArticleTest:
    """Whether a page of one Wikipedia is an article, and whether its own text marks it Good or Featured."""

    def __init__(self, language: Language) -> None:
        self.language = language
        self._mark = template_call(
            (*language.good_marks, *language.featured_marks), language.template_namespaces
        )
        self._disambiguation = template_call(language.disambiguation_marks, language.template_namespaces)

    def kind(self, dumped: DumpedPage, *, keep: Keep) -> str:
        """Why a page is skipped, as a word to count by; empty when it is kept or rejected."""
        content = dumped.content
        if dumped.namespace != 0:
            return "not-an-article"
        if isinstance(content, Rejected):
            # Most pages of a dump made long after the date are so: a row for each would swell the store.
            return content.reason if content.reason == "no-revision" else ""
        if dumped.redirect or is_redirect(content.wikitext, self.language):
            return "redirect"
        if is_list_title(self.language, content.title):
            return "list"
        if self.is_disambiguation(content.wikitext):
            return "disambiguation"
        return "" if keep == "all" or self.is_marked(content.wikitext) else "unmarked"

    def is_marked(self, wikitext: str) -> bool:
        """Whether a call of the mark's template stands in the text itself, outside comments and nowiki."""
        return _occurs(self._mark, wikitext)

    def is_disambiguation(self, wikitext: str) -> bool:
        """Whether the text says that it is a disambiguation page."""
        switch = DISAMBIGUATION_SWITCH in wikitext
        if switch and DISAMBIGUATION_SWITCH in without_comments_and_verbatim(wikitext):
            return True
        return _occurs(self._disambiguation, wikitext)


def _occurs(pattern: re.Pattern[str], wikitext: str) -> bool:
    """Whether a pattern is in the clean text; most texts need not be cleaned to know that it is not."""
    if not pattern.search(wikitext) and not COMMENT_IN_NAME.search(wikitext):
        return False
    return bool(pattern.search(without_comments_and_verbatim(wikitext)))


# --- from the dump into the store


def import_dump(
    store: Store,
    path: Path,
    *,
    language: Language,
    keep: Keep = "marked",
    as_of: str = "",
    progress: Progress = no_progress,
    clock: Callable[[], float] = time.monotonic,
    threads: int = THREADS,
) -> ImportReport:
    """Keep the articles of a dump; killed and run again, nothing is there twice and nothing is lost.

    Args:
        store: Opened by `Store.create`.
        path: An XML export or dump, compressed or not.
        language: Which Wikipedia it is of; a dump of another one is refused.
        keep: Only the articles that bear the Good or Featured mark in their own wikitext, or all.
        as_of: ISO 8601 in UTC: of a dump with history the newest revision not after it; empty: the newest.
        progress: Hears how many bytes of the file were read.
        clock: Seconds, for the rate in the report.
        threads: Those that unpack a multistream dump, see `decompressed`.

    Raises:
        BuilderError: See `Dump.pages`; what stood before a damaged spot is kept.
    """
    started = clock()
    key = _progress_key(path, language, keep, as_of)
    if (before := _finished_before(store, key, path)) is not None:
        return ImportReport(**before, seconds=clock() - started, finished_before=True)
    dump = Dump(path, as_of=as_of, threads=threads)
    counts = _Counts()
    total = path.stat().st_size if path.is_file() else None
    for batch in _batches(dump, ArticleTest(language), keep, counts):
        added = store.add(language.code, batch.pages, source=path.name, rejected=batch.rejected)
        counts.kept += added
        counts.already_there += len(batch.pages) - added
        note = f"bytes, {dump.count} pages, {counts.kept + counts.already_there} kept"
        progress("import", dump.bytes_taken, total, note)
    report = counts.report(dump, seconds=clock() - started)
    store.note_progress(key, json.dumps({"sha256": dump.sha256, **counts.as_imported(dump)}))
    return report


@dataclass(slots=True)
class _Batch:
    """What goes into the store in one transaction."""

    pages: list[Page] = field(default_factory=list)
    rejected: list[Rejected] = field(default_factory=list)
    seen: int = 0
    characters: int = 0

    @property
    def is_full(self) -> bool:
        return self.seen >= BATCH or self.characters >= BATCH_CHARACTERS


@dataclass(slots=True)
class _Counts:
    kept: int = 0
    already_there: int = 0
    skipped: Counter[str] = field(default_factory=Counter)
    rejected: Counter[str] = field(default_factory=Counter)

    def report(self, dump: Dump, *, seconds: float) -> ImportReport:
        return ImportReport(
            pages=dump.count,
            kept=self.kept,
            already_there=self.already_there,
            skipped=dict(sorted(self.skipped.items())),
            rejected=dict(sorted(self.rejected.items())),
            xml_bytes=dump.xml_bytes,
            seconds=seconds,
        )

    def as_imported(self, dump: Dump) -> dict[str, Any]:
        """The report of the next import of the same file: all that was kept is there already."""
        later = asdict(self.report(dump, seconds=0)) | {"kept": 0}
        later["already_there"] = self.kept + self.already_there
        return {name: later[name] for name in later if name not in ("seconds", "finished_before")}


def _batches(dump: Dump, test: ArticleTest, keep: Keep, counts: _Counts) -> Iterator[_Batch]:
    """The pages that are kept or rejected; what came before an error comes out before it is raised."""
    batch = _Batch()
    broken: BuilderError | None = None
    try:
        for dumped in dump.pages():
            if dump.count == 1:
                _check_language(dump, test.language)
            _sort_into(batch, dumped, test.kind(dumped, keep=keep), counts)
            if batch.is_full:
                yield batch
                batch = _Batch()
    except BuilderError as error:
        broken = error
    yield batch
    if broken:
        raise broken


def _sort_into(batch: _Batch, dumped: DumpedPage, kind: str, counts: _Counts) -> None:
    batch.seen += 1
    content = dumped.content if kind else _with_possible_title(dumped.content)
    if kind:
        counts.skipped[kind] += 1
    elif isinstance(content, Rejected):
        counts.rejected[content.reason] += 1
        batch.rejected.append(content)
    else:
        batch.characters += len(content.wikitext)
        batch.pages.append(content)


def _with_possible_title(content: Page | Rejected) -> Page | Rejected:
    """The page, unless no page can bear its title: such a one could be in no lock file."""
    fault = title_fault(content.title)
    if not fault or isinstance(content, Rejected):
        return content
    return Rejected(
        title=content.title,
        page_id=content.page_id,
        revision_id=content.revision_id,
        reason="invalid-title",
        detail=f"no page can bear the title {content.title!r}: {fault}",
    )


def _check_language(dump: Dump, language: Language) -> None:
    found = dump.site.language
    if found and found != language.code:
        raise BuilderError(
            f"{dump.path}: a dump of {found!r}, but {language.code!r} was asked for; say --language {found}"
            " or take another dump"
        )


def _progress_key(path: Path, language: Language, keep: Keep, as_of: str) -> str:
    """Names an import by all that decides its outcome but the content; of the table a digest."""
    table = hashlib.sha256(repr(language).encode()).hexdigest()[:12]
    return f"import {language.code} {keep} {as_of} {table} {path.name}"


def _finished_before(store: Store, key: str, path: Path) -> dict[str, Any] | None:
    noted = store.progress(key)
    if noted is None or not path.is_file():
        return None
    report: dict[str, Any] = json.loads(noted)
    return report if report.pop("sha256") == file_sha256(path) else None
