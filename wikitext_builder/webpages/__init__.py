"""HTML pages of all three programs: one template, one style sheet, one script, and nothing is loaded."""

import base64
import hashlib
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Final

from jinja2 import Environment, FileSystemLoader, StrictUndefined, select_autoescape
from markupsafe import Markup

from wikitext_builder.tables import spelled_out

ENDINGS: Final = (".html", ".htm")
LIMIT: Final = 1_000_000  # bytes of a page: a phone shows it at once, and a mail carries it


def render(template: Path, /, *filters: Callable[..., str], **values: object) -> str:
    """The text of a template, which may extend `page.html` and import `table.html`.

    HTML escapes values. Characters that steer a terminal or turn the direction of text are spelled out.
    """
    return _environment(template.parent, filters).get_template(template.name).render(values)


@cache
def _environment(folder: Path, filters: tuple[Callable[..., str], ...]) -> Environment:
    loader = FileSystemLoader([folder, Path(__file__).parent])
    made = Environment(
        loader=loader,
        autoescape=select_autoescape(["html"]),
        undefined=StrictUndefined,
        finalize=lambda value: spelled_out(value) if type(value) is str else value,  # not of what is escaped
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    made.filters |= {each.__name__: each for each in filters}
    made.policies["json.dumps_kwargs"] = {"separators": (",", ":")}
    made.globals |= {
        "source": lambda name: Markup(loader.get_source(made, name)[0]),  # noqa: S704 - our own files
        "sha256": lambda text: base64.b64encode(hashlib.sha256(text.encode()).digest()).decode(),
        "kind": "",  # class of the body, for a page's own style
        "own_script": "",  # file of a page's own script
    }
    return made
