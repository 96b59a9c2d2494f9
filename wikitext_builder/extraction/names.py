"""The one rule for the name of a template, which counts, lookups and comparisons share."""

from __future__ import annotations

import re
from functools import lru_cache

from wikitext_builder.extraction.macros.parser_functions import PARSER_FUNCTIONS
from wikitext_builder.wiki.languages import LANGUAGES

LONGEST_KEY = 300  # characters; a title has 255 bytes at most, and a longer name is not worth its memory
COMMENT = re.compile(r"<!--.*?(?:-->|\Z)", re.DOTALL)  # without an end it runs to the end, as in MediaWiki
MODIFIERS = re.compile(r"(?:(?:safesubst|subst|msgnw|msg|raw) ?: ?)+", re.IGNORECASE)
_NAMESPACES = sorted({name for one in LANGUAGES.values() for name in one.template_namespaces})
NAMESPACE = re.compile(rf"(?:: ?)?(?:{'|'.join(map(re.escape, _NAMESPACES))}) ?: ?", re.IGNORECASE)


def template_name(name: str) -> str:
    """The name of a template, from what stands before the first bar of a call, or from its title.

    It has no namespace, no `subst:`, no comments, single spaces and a capital first letter. A colon in front
    stays: `{{:Tokyo}}` transcludes the article, not a template.

    >>> template_name("Template:birth_date and  age"), template_name("subst:Vorlage:lang-de<!-- x -->")
    ('Birth date and age', 'Lang-de')
    >>> template_name(": tokyo"), template_name("Wikipedia:Help")
    (':Tokyo', 'Wikipedia:Help')
    """
    return (_template_name if len(name) <= LONGEST_KEY else _template_name.__wrapped__)(name)


@lru_cache(maxsize=2**14)
def _template_name(name: str) -> str:
    if "<!--" in name:
        name = COMMENT.sub("", name)
    name = " ".join(name.replace("_", " ").split())
    start = 0
    if ":" in name:
        for prefix in (MODIFIERS, NAMESPACE):
            if match := prefix.match(name, start):
                start = match.end()
        name = name[start:]
        if name.startswith(":") and name != ":":
            return ":" + _with_capital(name[1:].lstrip())
    return _with_capital(name)


def _with_capital(name: str) -> str:
    return name[:1].upper() + name[1:]


def call_name(call: str) -> str:
    """The name of the template or the parser function in the wikitext of a call.

    >>> call_name("{{Template:inflation|US}}"), call_name("{{#if:a|b}}"), call_name("{{formatnum:5}}")
    ('Inflation', '#if:', 'formatnum:')
    """
    if "<!--" in call:
        call = COMMENT.sub("", call)
    name = template_name(call.strip().removeprefix("{{").split("|", 1)[0].removesuffix("}}"))
    function = name.partition(":")[0].strip().lower() if ":" in name else ""
    return f"{function}:" if function.startswith("#") or function in PARSER_FUNCTIONS else name
