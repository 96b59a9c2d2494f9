"""measure: how faithful extraction is over many pages, against what MediaWiki renders and official lines."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from wikitext_builder.article import Article, Page
from wikitext_builder.dataset.files import read_articles
from wikitext_builder.dumps.reader import read_pages
from wikitext_builder.errors import BuilderError, RejectedError
from wikitext_builder.extraction.page import extract
from wikitext_builder.extraction.rendered import extract_rendered
from wikitext_builder.fetching.html import Rendering, render_page
from wikitext_builder.fidelity.compare import Comparison, Summary, compare, summary_of
from wikitext_builder.fidelity.residue import Residue, ResidueCount
from wikitext_builder.fidelity.templates import template_counts
from wikitext_builder.progress import Progress, no_progress
from wikitext_builder.store.pages import StoredPage, stored_pages
from wikitext_builder.store.store import Store
from wikitext_builder.tokens.tokenizer import tokenize_article
from wikitext_builder.wiki.client import Wikipedia

DUMPS = (".xml", ".bz2", ".gz", ".zst")
WIKITEXT = (".wiki", ".wikitext")  # one page a file; its name up to the first dot is the title


@dataclass(frozen=True, slots=True, kw_only=True)
class Fidelity:
    """What was measured."""

    pages: int
    tokens: int
    rejected: Mapping[str, int]  # pages by reason, of the wiki or of extraction
    left_out: Mapping[str, int]  # template calls without a text, by name
    residue: tuple[Residue, ...]
    rendered: tuple[Comparison, ...]
    official: tuple[Comparison, ...]
    templates: Counter[str]

    def summaries(self) -> dict[str, Summary]:
        """The figures of each comparison that was made."""
        both = {"rendered": self.rendered, "official": self.official}
        return {name: summary_of(found) for name, found in both.items() if found}


def measure(
    sources: Iterable[StoredPage],
    *,
    language: str = "en",
    sections: str = "official",
    render: Callable[[Page], Rendering] | None = None,
    official: Mapping[str, tuple[str, ...]] | None = None,
    progress: Progress = no_progress,
) -> Fidelity:
    """Extract pages and compare their lines.

    Args:
        sources: The pages; those with HTML are compared with its lines.
        language: Code of the Wikipedia.
        sections: Which sections go, see `extract`.
        render: Asks a wiki for the HTML of a page that has none here; None asks nobody.
        official: Lines of official articles by tokenized title, see `official_articles`.
        progress: Called after each page.
    """
    residue, templates = ResidueCount(), Counter[str]()
    rejected, left_out = Counter[str](), Counter[str]()
    rendered, theirs = list[Comparison](), list[Comparison]()
    pages = 0
    for pages, one in enumerate(sources, start=1):
        templates += template_counts([one.page])
        try:
            plain = _extract(one, language, sections)
            tokenized = tokenize_article(plain, language=language)
            residue.add(plain, tokenized)
            left_out.update(call.strip("{} \n").partition("|")[0].strip() for call in plain.left_out)
            if official is not None and (lines := official.get(tokenized.lines[1])):
                theirs.append(compare(plain.title, tokenized.lines, lines))
            if one.html is not None or render:
                rendered.append(against_rendering(one, render, language, sections))
        except RejectedError as error:
            rejected[error.reason] += 1
        progress("measuring", pages, None, f"{rejected.total()} rejected" if rejected else "")
    progress("measuring", pages, pages)
    return Fidelity(
        pages=pages,
        tokens=residue.tokens,
        rejected=dict(sorted(rejected.items())),
        left_out=dict(left_out.most_common()),
        residue=residue.result(),
        rendered=tuple(rendered),
        official=tuple(theirs),
        templates=templates,
    )


def against_rendering(
    one: StoredPage, render: Callable[[Page], Rendering] | None, language: str, sections: str
) -> Comparison:
    """The comparison of a page's two ways to lines; a wiki is asked where the HTML is not here."""
    page, html = one.page, one.html
    if html is None:
        if render is None:
            raise RejectedError("not-rendered", f"{page.title!r} has no HTML; ask a wiki for it by --api")
        rendering = render(page)
        page, html = rendering.page, rendering.html
    plain = _extract(StoredPage(page=page, expansions=one.expansions), language, sections)
    theirs = extract_rendered(
        html,
        title=page.title,
        page_id=page.page_id,
        revision_id=page.revision_id,
        timestamp=page.timestamp,
        language=language,
        sections=sections,
    )
    lines = tokenize_article(plain, language=language).lines
    return compare(page.title, lines, tokenize_article(theirs, language=language).lines)


def _extract(one: StoredPage, language: str, sections: str) -> Article:
    return extract(one.page, language=language, sections=sections, expansions=one.expansions)


def renderer(wikipedia: Wikipedia | None) -> Callable[[Page], Rendering] | None:
    """What asks a wiki for a page's HTML; None where there is no wiki."""
    return None if wikipedia is None else lambda page: render_page(wikipedia, page)


# --- where pages come from


def sources_of_files(paths: Iterable[Path]) -> Iterator[StoredPage]:
    """The pages of XML exports and of files of wikitext, of folders too, in the order of names.

    Raises:
        BuilderError: A file is none of these.
    """
    for path in paths:
        files = sorted(one for one in path.iterdir() if _is_pages(one)) if path.is_dir() else [path]
        for file in files:
            if file.suffix in WIKITEXT:
                yield StoredPage(page=_page_of_file(file))
            elif file.suffix in DUMPS:
                for dumped in read_pages(file):
                    if isinstance(dumped.content, Page) and dumped.namespace == 0:
                        yield StoredPage(page=dumped.content)
            else:
                expected = ", ".join(DUMPS + WIKITEXT)
                raise BuilderError(f"{file}: expected a file of pages: {expected}")


def _is_pages(path: Path) -> bool:
    return path.suffix in WIKITEXT or ".xml" in path.suffixes


def _page_of_file(path: Path) -> Page:
    try:
        wikitext = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise BuilderError(f"{path}: {error}; expected wikitext in UTF-8") from error
    title = path.name.partition(".")[0].replace("_", " ")
    return Page(title=title, page_id=0, revision_id=0, timestamp="", wikitext=wikitext)


def sources_of_store(store: Store, language: str) -> Iterator[StoredPage]:
    """The newest revision of each page of a store, with its expansions and its HTML where it has them."""
    numbers = [one.revision_id for one in store.revisions(language)]
    yield from stored_pages(store, language, numbers, html=True)


def official_articles(path: Path) -> dict[str, tuple[str, ...]]:
    """The articles of a WikiText file by their title line, `= Title =`."""
    return {lines[1]: lines for lines in read_articles(path)}
