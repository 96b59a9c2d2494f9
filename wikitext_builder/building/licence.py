"""The licence of a dataset, by the dates of its revisions, and what it asks of a user."""

from __future__ import annotations

from collections.abc import Iterable
from importlib.resources import files
from pathlib import Path
from typing import Final

from jinja2 import Environment, StrictUndefined

from wikitext_builder.building.plan import Plan
from wikitext_builder.store.attribution import ATTRIBUTION

LICENCE: Final = "LICENSE"
# Terms of Use of the Wikimedia Foundation of this day, https://foundation.wikimedia.org/wiki/Policy:Terms_of_Use;
# announced in https://signpost.news/2023-06-19/News_and_notes.
SINCE_4: Final = "2023-06-07"  # revisions of that day and later are under CC BY-SA 4.0, older ones under 3.0
ADDRESS: Final = "https://creativecommons.org/licenses/by-sa/{}/"
GFDL: Final = "https://www.gnu.org/licenses/fdl-1.3.html"
NOTE: Final = (
    "The text is by the editors of the wiki; titles, revisions and addresses of all articles are in"
    f" {ATTRIBUTION}, and {LICENCE} says under which licence it is, what was changed and what to keep."
)


def licences_of(days: Iterable[str]) -> tuple[str, ...]:
    """The versions of CC BY-SA of revisions, by their days; that of today if there is none."""
    return tuple(sorted({"4.0" if day >= SINCE_4 else "3.0" for day in days})) or ("4.0",)


def write_licence(directory: Path, plan: Plan, days: Iterable[str]) -> None:
    """Write the licence of a dataset with revisions of some days."""
    text = render(
        "licence.txt.jinja",
        name=plan.recipe.name,
        index=plan.language.index,
        versions=licences_of(days),
        address=ADDRESS,
        gfdl=GFDL,
    )
    (directory / LICENCE).write_text(text, encoding="utf-8", newline="\n")


def render(template: str, **values: object) -> str:
    """A text of this room's templates; they are Markdown or plain text."""
    environment = Environment(trim_blocks=True, keep_trailing_newline=True, undefined=StrictUndefined)  # noqa: S701
    text = (files("wikitext_builder.building") / template).read_text(encoding="utf-8")
    return environment.from_string(text).render(values)
