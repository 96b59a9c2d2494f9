"""Renders the HTML pages of all three programs: one template, style sheet and script, nothing to load."""

import base64
import hashlib
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Final

from jinja2 import Environment, FileSystemLoader, StrictUndefined, select_autoescape
from markupsafe import Markup

from wikitext_builder.tables import spelled_out

PAGE_ENDINGS: Final = (".html", ".htm")
MAX_PAGE_BYTES: Final = 1_000_000  # a phone shows such a page at once, and a mail can carry it


def render(template: Path, /, *filters: Callable[..., str], **values: object) -> str:
    """Return the text of a template, which may extend `page.html` and import `table.html`.

    Values are escaped as HTML, and so are characters that control a terminal or the direction of text.
    """
    return _environment(template.parent, filters).get_template(template.name).render(values)


@cache
def _environment(folder: Path, filters: tuple[Callable[..., str], ...]) -> Environment:
    loader = FileSystemLoader([folder, Path(__file__).parent])
    environment = Environment(
        loader=loader,
        autoescape=select_autoescape(["html"]),
        undefined=StrictUndefined,
        finalize=lambda value: spelled_out(value) if type(value) is str else value,  # not if escaped already
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    environment.filters |= {function.__name__: function for function in filters}
    environment.policies["json.dumps_kwargs"] = {"separators": (",", ":")}
    environment.globals |= {
        "source": lambda name: Markup(loader.get_source(environment, name)[0]),  # noqa: S704 - our own files
        "sha256": lambda text: base64.b64encode(hashlib.sha256(text.encode()).digest()).decode(),
        "kind": "",  # class of the body, for a page's own style
        "own_script": "",  # file of a page's own script
    }
    return environment
