"""What `make docs` does beyond mkdocs: pages that are no files, links, and the check of docstrings.

GitHub shows the same files, so links are written for it. In the site, README.md and CONTRIBUTING.md are pages
too, the API reference is made from the packages, and a link to a file that is no page becomes plain text
(`tests/test_docs.py` checks that the file exists).
"""

from __future__ import annotations

import importlib
import posixpath
import re
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tests.code_figures import documented_in, modules

if TYPE_CHECKING:
    from mkdocs.config.defaults import MkDocsConfig
    from mkdocs.structure.files import Files
    from mkdocs.structure.pages import Page

ROOT = Path(__file__).resolve().parents[1]
PACKAGES = {  # package: its folder
    "wikitext_builder": ROOT / "wikitext_builder",
    "ps_models": ROOT / "ps_models",
    "lm_benchmarks": ROOT / "benchmarks" / "lm_benchmarks",
}
INDEX = ("README.md", "index.md")  # the page of a folder itself, which comes first
OUTSIDE = {"README.md": "index.md", "CONTRIBUTING.md": "contributing.md"}  # file of the repository: its page
FENCE = re.compile(r"^```.*?^```$", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"(!?)\[([^\]\n]*)\]\(([^()\s]+)\)")
ROW = re.compile(r"^\|.*$", re.MULTILINE)  # of a table
CODE = re.compile(r"(`+)[^`](?:.*?[^`])?\1(?!`)")

API_HEAD = """# Python

Each package has a public API: the names that `import PACKAGE` provides. All other public names are listed by
room, for contributors; they may change without notice.

- [wikitext_builder](wikitext_builder.md): datasets
- [ps_models](ps_models.md): language models
- [lm_benchmarks](lm_benchmarks.md): measurements and comparisons
"""


# --- pages


def on_config(config: MkDocsConfig) -> MkDocsConfig:
    """Puts the pages of a folder into the navigation."""
    config.nav = [_entry(one) for one in config.nav or []]
    return config


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Adds the pages that are made here; raises if a public name has no docstring."""
    from mkdocs.exceptions import PluginError
    from mkdocs.structure.files import File

    if missing := [*undocumented(), *_undocumented_at_front_doors()]:
        raise PluginError("no docstring: " + ", ".join(missing))
    for source, page in OUTSIDE.items():
        text = (ROOT / source).read_text(encoding="utf-8")
        files.append(File.generated(config, page, content=text))
    for page, text in api_pages().items():
        files.append(File.generated(config, page, content=text))
    return files


def on_page_markdown(markdown: str, page: Page, **_: object) -> str:
    """Makes GitHub's Markdown the site's."""
    uri = page.file.src_uri
    return for_site(markdown, next((file for file, made in OUTSIDE.items() if made == uri), f"docs/{uri}"))


def _entry(entry: dict[str, Any]) -> dict[str, Any]:
    """An entry of the navigation with folders replaced by their pages."""
    ((title, value),) = entry.items()
    if isinstance(value, list):
        return {title: [_entry(one) for one in value]}
    if not value.endswith("/"):
        return entry
    pages = sorted(api_pages() if value == "api/" else (f"{value}{one}" for one in _names(value)))
    return {title: sorted(pages, key=lambda page: posixpath.basename(page) not in INDEX)}


def _names(folder: str) -> list[str]:
    return [path.name for path in (ROOT / "docs" / folder).glob("*.md")]


# --- links


def for_site(markdown: str, source: str) -> str:
    """Markdown of the file `source` of the repository as the site shows it.

    Links to files that are not pages become plain text. A `|` in code in a table loses the backslash, which
    only GitHub needs.
    """
    parts = FENCE.split(markdown)
    fences = FENCE.findall(markdown)
    shown = [_tables(LINK.sub(lambda link: _link(link, source), part)) for part in parts]
    return "".join(text for pair in zip(shown, [*fences, ""], strict=True) for text in pair)


def _link(link: re.Match[str], source: str) -> str:
    bang, text, target = link.groups()
    file, mark, anchor = target.partition("#")
    if not file or "://" in target:
        return link[0]
    there = posixpath.normpath(posixpath.join(posixpath.dirname(source), file))
    if there in OUTSIDE:
        there = f"docs/{OUTSIDE[there]}"
    elif not there.startswith("docs/") or there.endswith(".py"):
        return text
    page = f"docs/{OUTSIDE.get(source, source.removeprefix('docs/'))}"
    return f"{bang}[{text}]({posixpath.relpath(there, posixpath.dirname(page))}{mark}{anchor})"


def _tables(markdown: str) -> str:
    return ROW.sub(lambda row: CODE.sub(lambda code: code[0].replace(r"\|", "|"), row[0]), markdown)


# --- the API reference


def api_pages() -> dict[str, str]:
    """The pages of the API reference: one per package and one per room."""
    pages = {"api/index.md": API_HEAD}
    for package, folder in PACKAGES.items():
        rooms = list(_rooms(folder))
        pages[f"api/{package}.md"] = _front_door(package, rooms)
        pages |= {f"api/{package}.{room}.md": _room(package, room, folder) for room in rooms}
    return pages


def names_of(package: str) -> list[str]:
    """The names that the front door of a package gives, without `__version__`."""
    names = getattr(importlib.import_module(package), "__all__", ())
    return [name for name in names if not name.startswith("__")]


def undocumented() -> list[str]:
    """The public names of the packages that have no docstring."""
    return [
        name
        for folder in PACKAGES.values()
        for path in modules(folder)
        for name, docstring in documented_in(path)
        if not docstring
    ]


def _undocumented_at_front_doors() -> Iterator[str]:
    """The names of the front doors that have no docstring, where they are defined; constants too."""
    import griffe

    loader = griffe.GriffeLoader(search_paths=[folder.parent for folder in PACKAGES.values()])
    for package in PACKAGES:
        loaded = loader.load(package)
        for name in names_of(package):
            found = loaded[name]
            if not (found.final_target if found.is_alias else found).docstring:
                yield f"{package}.{name}"


def _front_door(package: str, rooms: list[str]) -> str:
    """What `import package` gives, in the order of its `__all__`."""
    lines = [f"# {package}", "", *_entry_of(package, members="false", show_root_heading="false")]
    for name in names_of(package):
        lines += _entry_of(f"{package}.{name}")
    lines += ["## Rooms", "", *(f"- [{package}.{room}]({package}.{room}.md)" for room in rooms)]
    return "\n".join(lines) + "\n"


def _room(package: str, room: str, folder: Path) -> str:
    """All public names of a room, module by module."""
    place = folder / room
    inside = [place.with_suffix(".py")] if not place.is_dir() else modules(place)
    lines = [f"# {package}.{room}", ""]
    for path in inside:
        name = ".".join((package, *path.relative_to(folder).with_suffix("").parts))
        lines += _entry_of(
            name.removesuffix(".__init__"), show_root_full_path="true", show_submodules="false"
        )
    return "\n".join(lines) + "\n"


def _rooms(folder: Path) -> Iterator[str]:
    """The folders and modules right under a package."""
    for path in sorted(folder.iterdir()):
        if (path / "__init__.py").exists() or (path.suffix == ".py" and not path.stem.startswith("_")):
            yield path.stem


def _entry_of(name: str, **options: str) -> list[str]:
    given = [f"      {option}: {value}" for option, value in options.items()]
    return [f"::: {name}", *(["    options:"] if given else []), *given, ""]
