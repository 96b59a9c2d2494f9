"""Templates of the other Wikipedias: one file per language with what differs from the English names.

Names and texts are those of 2016, written on 2026-11-20 from knowledge of the articles; no copy of the
templates was available, so they are not verified. A name that is in no file is read as the English template,
because many names are the same; if that is unknown too, the call is left out.

To add a language, write `CODE.py` with its `TEMPLATES` here, and its names in `wiki/languages.py`.
"""

from __future__ import annotations

from importlib import import_module
from pkgutil import iter_modules

from wikitext_builder.extraction.macros.local.table import LocalTemplates
from wikitext_builder.wiki.languages import LANGUAGES

LOCAL: dict[str, LocalTemplates] = {
    module.name: import_module(f"{__name__}.{module.name}").TEMPLATES
    for module in iter_modules(__path__)
    if module.name in LANGUAGES
}
