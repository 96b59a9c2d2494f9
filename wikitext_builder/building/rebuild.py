"""What a dataset carries so that anyone can build it again: its lock file, given titles, and the commands."""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Iterator
from dataclasses import fields
from pathlib import Path
from typing import Final

from wikitext_builder.building.plan import Plan
from wikitext_builder.dataset.recipes import RECIPES, Recipe
from wikitext_builder.pages.attribution import LOCK
from wikitext_builder.pages.lock import write_lock

TITLES: Final = {"valid": "valid_titles.txt", "test": "test_titles.txt"}  # files of given titles, by split


def write_source(directory: Path, plan: Plan) -> None:
    """Write the lock file of all revisions that a build chose from, and the titles of given splits.

    The lock file does not name the wiki, so it has the same bytes from whatever store the revisions come.
    """
    with (directory / LOCK).open("w", encoding="utf-8", newline="") as file:
        write_lock(plan.revisions, file, language=plan.recipe.language)
    for split, page_ids in _given(plan):
        titles = sorted(one.title for one in plan.revisions if one.page_id in page_ids)
        text = "".join(f"{title}\n" for title in titles)
        (directory / TITLES[split]).write_text(text, encoding="utf-8", newline="\n")


def _given(plan: Plan) -> Iterator[tuple[str, frozenset[int]]]:
    """The page ids of the splits that were given and not chosen."""
    given = {"valid": plan.given_valid, "test": plan.given_test}
    yield from ((split, page_ids) for split, page_ids in given.items() if page_ids)


def rebuild_commands(plan: Plan) -> str:
    """The commands that fetch the revisions of a dataset and build it again, as Markdown.

    They are for the folder of the dataset, whose files they name.
    """
    recipe = plan.recipe
    fetch = ["fetch", "--store", "../pages.store", "--select", f"lock:{LOCK}", "--contact", "you@example.org"]
    fetch += ["--language", recipe.language] if recipe.language != "en" else []
    fetch += ["--rendered"] if recipe.source == "rendered" else []
    files = {"lock": LOCK} | {f"{split}_titles": TITLES[split] for split, _ in _given(plan)}
    if (base := _base(recipe)) is None:
        named = "".join(f", {name}={value!r}" for name, value in files.items())
        imports = "import wikitext_builder as wb\nfrom wikitext_builder.dataset.recipes import Recipe"
        call = f"wb.build({recipe!r}, '../pages.store', '../again'{named})"
        return f"{_console([fetch])}\n\n```python\n{imports}\n\n{call}\n```"
    options = [*_changes(recipe, RECIPES[base]), *files.items()]
    build = ["build", base, "--store", "../pages.store", "--out", "../again"]
    build += [part for name, value in options for part in (f"--{name.replace('_', '-')}", value)]
    return _console([fetch, build])


def _console(commands: Iterable[list[str]]) -> str:
    lines = (f"$ wikitext-builder {shlex.join(command)}" for command in commands)
    return "\n".join(["```console", *lines, "```"])


def _base(recipe: Recipe) -> str | None:
    """The command line's name of the recipe that this one is a variant of; None if there is none."""
    for name, base in RECIPES.items():
        unlimited = recipe.train_articles is None and base.train_articles is not None
        without = base.articles and not recipe.articles
        if base.name == recipe.name and not (unlimited or without):  # no option removes a limit or an export
            return name
    return None


def _changes(recipe: Recipe, base: Recipe) -> Iterator[tuple[str, str]]:
    """The fields that differ from a recipe's, as options of the command line."""
    for field in fields(Recipe):
        value = getattr(recipe, field.name)
        if value != getattr(base, field.name):
            values = value if isinstance(value, tuple) else (value,)
            yield from ((field.name, str(one)) for one in values)
