"""Measures how close extraction is to what readers see, against what MediaWiki renders and official lines."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import ExitStack
from dataclasses import asdict, dataclass, field, replace
from functools import partial
from itertools import chain, islice
from pathlib import Path
from typing import Any

from extraction_eval.compare import ArticleComparison, compare, summarize, worst
from extraction_eval.lost import LostWords
from wikitext_builder.article import Article, Page
from wikitext_builder.dataset.manifest import read_articles
from wikitext_builder.dumps.xml_dump import read_pages
from wikitext_builder.errors import BuilderError, RejectedError
from wikitext_builder.extraction.expander import Templates
from wikitext_builder.extraction.macros import template_name
from wikitext_builder.extraction.macros.parser_functions import call_name
from wikitext_builder.extraction.markup import BLOCK_TAGS, INLINE_TAGS
from wikitext_builder.extraction.page import extract
from wikitext_builder.extraction.rendered import extract_rendered
from wikitext_builder.fetching.expansions import TEMPLATE_NAMESPACE, parse_page
from wikitext_builder.progress import Progress, no_progress
from wikitext_builder.store.reading import StoredPage, stored_pages, templates_in
from wikitext_builder.store.store import Store
from wikitext_builder.tokens.tokenizer import tokenize_article
from wikitext_builder.wiki.client import Wikipedia
from wikitext_builder.wiki.languages import language_of

DUMPS = (".xml", ".bz2", ".gz", ".zst")
WIKITEXT = (".wiki", ".wikitext")  # one page per file; the file's name up to the first dot is the title


# What removed templates and unread markup leave in lines, before tokenization.
RESIDUE = {
    "( )": re.compile(r"\( ?\)"),
    "( ,": re.compile(r"\( ?,"),
    "( ;": re.compile(r"\( ?;"),
    ", ,": re.compile(r", ?,"),
    ", .": re.compile(r", ?\.(?![\w.]| \.)"),  # neither a decimal nor the dots of an ellipsis
    "|": re.compile(r"\|"),
    "''": re.compile(r"''"),
    "[[": re.compile(r"\[\[|\]\]"),
    "{{": re.compile(r"\{\{|\}\}"),
    "thumb": re.compile(r"\bthumb\b(?=\||$)|\|thumb"),
    "px": re.compile(r"\b\d+px\b"),
    "entity": re.compile(r"&(?:#\d+|#x[\da-fA-F]+|[A-Za-z]\w{1,30});"),
    "tag": re.compile(
        rf"</?(?:{'|'.join(sorted(BLOCK_TAGS | INLINE_TAGS | {'br'}))})(?: [^<>]{{0,200}})?/?>", re.IGNORECASE
    ),
    "list marker": re.compile(r"^[*#:;]"),
    "File:": re.compile(r"\b(?:File|Image):(?=\S)"),
}
MAX_EXAMPLES = 5  # lines per pattern


@dataclass(slots=True)
class Residue:
    """The matches of a pattern in many articles."""

    pattern: str
    count: int = 0
    per_million: float = 0.0  # tokens
    titles: list[str] = field(default_factory=list)  # of the articles that have it, in the order of the input
    lines: list[str] = field(default_factory=list)  # examples


@dataclass(slots=True)
class ResidueCount:
    """Counts residue over articles.

    >>> lines = ("It ( ) is ''b.",)
    >>> article = Article(title="A", page_id=1, revision_id=1, timestamp="", lines=lines)
    >>> count = ResidueCount()
    >>> count.add(article, article)
    >>> [(residue.pattern, residue.count) for residue in count.result() if residue.count]
    [('( )', 1), ("''", 1)]
    """

    tokens: int = 0
    _residue: dict[str, Residue] = field(default_factory=lambda: {name: Residue(name) for name in RESIDUE})

    def add(self, plain: Article, tokenized: Article) -> None:
        """Add an article, given before and after tokenization."""
        for line, tokens in zip(plain.lines, tokenized.lines, strict=True):
            self.tokens += tokens.count(" ") + 1 if tokens else 0
            for name, count in count_residue(line):
                residue = self._residue[name]
                residue.count += count
                residue.titles += [plain.title] if plain.title not in residue.titles[-1:] else []
                residue.lines += [line] if len(residue.lines) < MAX_EXAMPLES else []

    def result(self) -> tuple[Residue, ...]:
        """Return all patterns with their matches, zeros included."""
        per_token = 1e6 / self.tokens if self.tokens else 0.0
        return tuple(replace(match, per_million=match.count * per_token) for match in self._residue.values())


def count_residue(line: str) -> Iterator[tuple[str, int]]:
    """Yield the patterns that match in a line of text, with the number of matches.

    >>> list(count_residue("It ( ) is ''b, ."))
    [('( )', 1), (', .', 1), ("''", 1)]
    """
    for name, pattern in RESIDUE.items():
        if count := len(pattern.findall(line)):
            yield name, count


@dataclass(frozen=True, slots=True, kw_only=True)
class Evaluation:
    """The result of an evaluation."""

    pages: int
    tokens: int
    rejected: Mapping[str, int]  # pages by reason, by the wiki or by extraction
    left_out: Mapping[str, int]  # template calls without a text, by name
    residue: tuple[Residue, ...]
    lost: LostWords  # plain words of the wikitext that do not come out
    rendered: tuple[ArticleComparison, ...]
    red_links: Mapping[str, int]  # templates that the HTML lacks, by name
    official: tuple[ArticleComparison, ...]

    def comparisons(self) -> dict[str, tuple[ArticleComparison, ...]]:
        """Return the comparisons that were made, by the name of the reference lines."""
        by_name = {"rendered": self.rendered, "official": self.official}
        return {name: comparisons for name, comparisons in by_name.items() if comparisons}

    def record(self, worst_count: int = 10) -> dict[str, Any]:
        """Return the report for JSON, with the `worst_count` worst differences per comparison."""
        return {
            "pages": self.pages,
            "tokens": self.tokens,
            "rejected": self.rejected,
            "left_out": self.left_out,
            "red_links": self.red_links,
            "residue": [asdict(residue) for residue in self.residue],
            "lost": self.lost.figures(worst_count),
            "comparisons": {
                name: {
                    "summary": summarize(comparisons),
                    "articles": [article.figures() for article in comparisons],
                    "worst": [
                        {"title": title} | part.figures() for title, part in worst(comparisons, worst_count)
                    ],
                }
                for name, comparisons in self.comparisons().items()
            },
        }


def measure(
    pages: str | Path | Iterable[str | Path] = (),
    *,
    store: str | Path | None = None,
    api: str = "",
    contact: str = "",
    official: str | Path | None = None,
    language: str = "en",
    sections: str = "official",
    limit: int | None = None,
    title: str = "",
    progress: Progress = no_progress,
) -> Evaluation:
    """Extract pages and compare their lines with rendered and official ones.

    The arguments are those of the command `python -m extraction_eval`; see its `--help`.

    Raises:
        BuilderError: The arguments name nothing to measure, or a file cannot be read.
    """
    files = [pages] if isinstance(pages, str | Path) else [*pages]
    if not (files or store):
        raise BuilderError("nothing to measure; name files of pages or a --store")
    with ExitStack() as stack:
        wikipedia = Wikipedia(api, language=language_of(language), contact=contact) if api else None
        render = partial(render_page, stack.enter_context(wikipedia)) if wikipedia else None
        open_store = stack.enter_context(Store.open(Path(store))) if store else None
        templates = templates_in(open_store, language) if open_store else None
        of_store = read_store_pages(open_store, language) if open_store else ()
        stored = chain(read_page_files(map(Path, files)), of_store)
        chosen = islice((page for page in stored if not title or page.page.title == title), limit)
        evaluation = measure_pages(
            chosen,
            language=language,
            sections=sections,
            templates=templates,
            render=render,
            official={lines[1]: lines for lines in read_articles(Path(official))} if official else None,
            progress=progress,
        )
    if title and not evaluation.pages:
        raise BuilderError(f"no page has the title {title!r}; expected a title as Wikipedia writes it")
    return evaluation


def measure_pages(
    pages: Iterable[StoredPage],
    *,
    language: str = "en",
    sections: str = "official",
    templates: Templates | None = None,
    render: Callable[[Page], tuple[str, frozenset[str]]] | None = None,
    official: Mapping[str, tuple[str, ...]] | None = None,
    progress: Progress = no_progress,
) -> Evaluation:
    """Extract pages and compare their lines with those of their HTML, or of what `render` returns.

    `templates` expand calls that have no macro. `official` are lines of official articles by tokenized
    title, `= Title =`.
    """
    residue, lost = ResidueCount(), LostWords()
    rejected, left_out, red_links, count = Counter[str](), Counter[str](), Counter[str](), 0
    rendered, theirs = list[ArticleComparison](), list[ArticleComparison]()
    read = partial(extract, language=language, sections=sections, templates=templates)
    read_html = partial(extract_rendered, language=language, sections=sections)
    for count, stored in enumerate(pages, start=1):
        page, expansions = stored.page, stored.expansions
        try:
            plain = read(page, expansions=expansions)
            tokenized = tokenize_article(plain, language=language)
            residue.add(plain, tokenized)
            # Text that is removed with a call on purpose is not lost.
            whole = read(page, expansions=expansions, incomplete="keep") if plain.left_out else plain
            lost.add(page, whole.lines, language)
            left_out.update(map(call_name, plain.left_out))
            if official is not None and (lines := official.get(tokenized.lines[1])):
                theirs.append(compare(plain.title, tokenized.lines, lines))
            html, missing = stored.html, frozenset[str]()
            if render and html is None:
                html, missing = render(page)
            if html is not None:
                holes, empty_macros = "keep" if missing else "cut", dict.fromkeys(missing, lambda _call: "")
                ours = read(page, expansions=expansions, macros=empty_macros, incomplete=holes)
                html_article = read_html(html, page, incomplete=holes)
                red_links.update(
                    name for name in map(call_name, html_article.left_out) if name not in missing
                )
                sides = [
                    tokenize_article(version, language=language).lines for version in (ours, html_article)
                ]
                rendered.append(compare(page.title, *sides))
        except RejectedError as error:
            rejected[error.reason] += 1
        progress("measuring", count, None, f"{rejected.total()} rejected" if rejected else "")
    progress("measuring", count, count)
    return Evaluation(
        pages=count,
        tokens=residue.tokens,
        rejected=dict(sorted(rejected.items())),
        left_out=dict(left_out.most_common()),
        red_links=dict(red_links.most_common()),
        residue=residue.result(),
        lost=lost,
        rendered=tuple(rendered),
        official=tuple(theirs),
    )


def render_page(wikipedia: Wikipedia, page: Page) -> tuple[str, frozenset[str]]:
    """Let the wiki render a page's wikitext, whether it has such a page or not.

    Returns the HTML, and the names of the templates that the wiki lacks: neither side has their text.
    """
    query = {"title": page.title, "text": page.wikitext, "contentmodel": "wikitext", "prop": "text|templates"}
    parsed = parse_page(wikipedia, query)
    absent = (page for page in parsed.templates if page.ns == TEMPLATE_NAMESPACE and not page.exists)
    return parsed.text, frozenset(template_name(page.title) for page in absent)


def read_page_files(paths: Iterable[Path]) -> Iterator[StoredPage]:
    """Yield the pages of XML exports and of files of wikitext; files of a folder are sorted by name."""
    for path in paths:
        inside = path.iterdir() if path.is_dir() else ()
        files = sorted(file for file in inside if file.suffix in WIKITEXT or ".xml" in file.suffixes)
        for file in files if path.is_dir() else [path]:
            if file.suffix in WIKITEXT:
                yield StoredPage(page=_page_of_file(file))
            elif file.suffix in DUMPS:
                for dumped in read_pages(file):
                    if isinstance(dumped.content, Page) and dumped.namespace == 0:
                        yield StoredPage(page=dumped.content)
            else:
                expected = ", ".join(DUMPS + WIKITEXT)
                raise BuilderError(f"{file}: expected a file of pages: {expected}")


def _page_of_file(path: Path) -> Page:
    try:
        wikitext = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise BuilderError(f"{path}: {error}; expected wikitext in UTF-8") from error
    title = path.name.partition(".")[0].replace("_", " ")
    return Page(title=title, page_id=0, revision_id=0, timestamp="", wikitext=wikitext)


def read_store_pages(store: Store, language: str) -> Iterator[StoredPage]:
    """Yield the newest revision of each page of a store, with its expansions and HTML if stored."""
    numbers = [revision.revision_id for revision in store.revisions(language)]
    yield from stored_pages(store, language, numbers, html=True)
