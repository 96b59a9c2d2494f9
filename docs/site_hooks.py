"""What `make docs` does beyond mkdocs: generated pages, links, and the check of docstrings.

GitHub shows the same files, so links are written for it. In the site, README.md and CONTRIBUTING.md are pages
too, and a link to a file that is not a page becomes plain text (`tests/test_docs.py` checks that the file
exists).
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from docs.code_figures import documented_in, modules
from docs.site_pages import PACKAGES, api_pages, commands_page, names_of, statistics_tables

if TYPE_CHECKING:
    from mkdocs.config.defaults import MkDocsConfig
    from mkdocs.structure.files import Files
    from mkdocs.structure.pages import Page

ROOT = Path(__file__).resolve().parents[1]
FOLDERS = {package: ROOT / package for package in ("wikitext_builder", "ps_models")}
FOLDERS["lm_benchmarks"] = ROOT / "benchmarks" / "lm_benchmarks"
OUTSIDE = {"README.md": "index.md", "CONTRIBUTING.md": "contributing.md"}  # file of the repository: its page
BOOSTS = {
    "api/": 0.3,
    "cli.md": 0.5,
    "notes.md": 0.5,
    "rows.md": 0.5,
    "decisions.md": 0.5,
    "changelog.md": 0.5,
}
"""How much pages count in searches, by the beginning of their paths; all others count 2."""
FENCE = re.compile(r"^```.*?^```$", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"(!?)\[([^\]\n]*)\]\(([^()\s]+)\)")
ROW = re.compile(r"^\|.*$", re.MULTILINE)  # of a table
CODE = re.compile(r"(`+)[^`](?:.*?[^`])?\1(?!`)")


# --- pages


def on_config(config: MkDocsConfig) -> MkDocsConfig:
    """Put the pages of the API into the navigation."""
    config.nav = [_with_api(entry) for entry in config.nav or []]
    return config


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the generated pages; raise if a public name has no docstring."""
    from mkdocs.exceptions import PluginError
    from mkdocs.structure.files import File

    if missing := [*undocumented(), *_undocumented_at_front_doors()]:
        raise PluginError("no docstring: " + ", ".join(missing))
    pages = {page: (ROOT / source).read_text(encoding="utf-8") for source, page in OUTSIDE.items()}
    for path, text in {**pages, "cli.md": commands_page(), **api_pages()}.items():
        files.append(File.generated(config, path, content=text))
    return files


def on_page_content(html: str, page: Page, **_: object) -> str:
    """Let the search find guides before references, which repeat every word, and guides before notes."""
    uri = page.file.src_uri
    page.meta["search"] = {
        "boost": next((boost for prefix, boost in BOOSTS.items() if uri.startswith(prefix)), 2)
    }
    return html


def on_page_markdown(markdown: str, page: Page, **_: object) -> str:
    """Turn GitHub's Markdown into the site's."""
    uri = page.file.src_uri
    if uri == "statistics.md":
        markdown += statistics_tables()
    return for_site(markdown, next((file for file, made in OUTSIDE.items() if made == uri), f"docs/{uri}"))


def _with_api(entry: dict[str, Any]) -> dict[str, Any]:
    ((title, value),) = entry.items()
    if isinstance(value, list):
        return {title: [_with_api(child) for child in value]}
    return {title: list(api_pages())} if value == "api/" else entry


# --- links


def for_site(markdown: str, source: str) -> str:
    """Return Markdown of the file `source` of the repository as the site shows it.

    Links to files that are not pages become plain text. A `|` in code in a table loses the backslash, which
    only GitHub needs.
    """
    parts = FENCE.split(markdown)
    fences = FENCE.findall(markdown)
    changed = [_tables(LINK.sub(lambda link: _link(link, source), part)) for part in parts]
    return "".join(text for pair in zip(changed, [*fences, ""], strict=True) for text in pair)


def _link(link: re.Match[str], source: str) -> str:
    bang, text, target = link.groups()
    file, mark, anchor = target.partition("#")
    if not file or "://" in target:
        return link[0]
    path = posixpath.normpath(posixpath.join(posixpath.dirname(source), file))
    if path in OUTSIDE:
        path = f"docs/{OUTSIDE[path]}"
    elif not path.startswith("docs/") or path.endswith(".py"):
        return text
    page = f"docs/{OUTSIDE.get(source, source.removeprefix('docs/'))}"
    return f"{bang}[{text}]({posixpath.relpath(path, posixpath.dirname(page))}{mark}{anchor})"


def _tables(markdown: str) -> str:
    return ROW.sub(lambda row: CODE.sub(lambda code: code[0].replace(r"\|", "|"), row[0]), markdown)


# --- docstrings


def undocumented() -> list[str]:
    """Return the public names of the packages that have no docstring."""
    return [
        name
        for folder in FOLDERS.values()
        for path in modules(folder)
        for name, docstring in documented_in(path)
        if not docstring
    ]


def _undocumented_at_front_doors() -> Iterator[str]:
    """Yield the names of the front doors that have no docstring where they are defined; constants too."""
    import griffe

    loader = griffe.GriffeLoader(search_paths=[folder.parent for folder in FOLDERS.values()])
    for package in PACKAGES:
        loaded = loader.load(package)
        for name in names_of(package):
            member = loaded[name]
            if not (member.final_target if member.is_alias else member).docstring:
                yield f"{package}.{name}"
