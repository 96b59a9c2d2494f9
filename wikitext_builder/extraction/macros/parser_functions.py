"""Evaluates parser functions and variables of MediaWiki: one table for running text and templates.

Arguments are expanded only when a function asks for them. What depends on a wiki or another page is refused.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from urllib.parse import quote

from wikitext_builder.article import Page
from wikitext_builder.errors import RejectedError
from wikitext_builder.extraction.macros import COMMENT, php, template_name, words
from wikitext_builder.extraction.macros.dates import parsed_time
from wikitext_builder.extraction.trim import CONTROLS
from wikitext_builder.wiki.classify import title_fault
from wikitext_builder.wiki.languages import LANGUAGES, Language, with_first

MODULES_WITHOUT_TEXT = re.compile(
    "cit|sfn|footnote|infobox|navbox|sidebar|hatnote|portal|authority|protection|message box|location map|"
    "chart|official website|weather|side box|pp|redirect|about|main|unsubst|check for",
    re.IGNORECASE,
)
TAG = re.compile(r"[\w-]+")
INTEGER = re.compile(r"[-+]?[0-9]{1,4}")
QUOTED = re.compile(r"\A[\"'](.*)[\"']\Z", re.DOTALL)  # a value of an attribute


@dataclass(frozen=True, slots=True)
class Argument:
    """An argument after a bar, which is expanded when it is asked for."""

    text: Callable[[], str]  # the whole
    value: Callable[[], str]  # after its first equals sign
    name: Callable[[], str] | None  # before that; None without one


@dataclass(frozen=True, slots=True, kw_only=True)
class Context:
    """What functions know of the page and its wiki."""

    page: Page
    language: Language = LANGUAGES["en"]
    exists: Callable[[str], bool] = lambda _title: True  # True for pages that a page or a template checks for
    skips_boxes: bool = True  # a module of boxes gives no text

    def english(self, value: str) -> str:
        """Return a name or a number as the English Wikipedia writes it; how others do is unknown."""
        if not self.language.is_english:
            raise RejectedError("function", f"{value} in {self.language.code}")
        return value


@dataclass(frozen=True, slots=True)
class Arguments:
    """The arguments of one call: the text after the colon, and those after each bar."""

    context: Context
    name: str  # of the function, in lower case
    first: str
    rest: Sequence[Argument]

    def __len__(self) -> int:
        return 1 + len(self.rest)

    def text(self, index: int) -> str:
        """Return an argument without outer spaces; empty if it is absent."""
        if index == 0:
            return self.first
        return php.trimmed(self.rest[index - 1].text()) if index <= len(self.rest) else ""


Function = Callable[[Arguments], str]
Variable = Callable[[Context], str]


def if_error(a: Arguments) -> str:
    """Return the second argument if the first shows an error, else the third, or the first without one."""
    if php.ERROR.search(a.first):
        return a.text(1)
    return a.text(2) if len(a) > 2 else a.first


def if_expression(a: Arguments) -> str:
    """Return the second argument if the first evaluates to a number other than 0, else the third."""
    value = php.expression(a.first)
    if php.ERROR.search(value):
        return value
    return a.text(1) if value and float(value) else a.text(2)


def switch(a: Arguments) -> str:
    """Return the value of the first case that equals the first argument, else the default."""
    found = default_follows = False
    last: str | None = None  # the last case, if it has no equals sign
    default: Argument | None = None
    for argument in a.rest:
        if argument.name is None:
            last = php.trimmed(argument.text())
            found = found or php.equal(last, a.first)
            default_follows = default_follows or last == "#default"
            continue
        last = None
        name = "" if found else php.trimmed(argument.name())
        if found or php.equal(name, a.first):
            return php.trimmed(argument.value())
        if default_follows or name == "#default":
            default, default_follows = argument, False
    if last is not None:
        return last
    return php.trimmed(default.value()) if default is not None else ""


def tag(a: Arguments) -> str:
    """Return an extension tag, which a later step reads."""
    name = a.first.lower()
    if not TAG.fullmatch(name):
        return php.error("Unknown extension tag")
    attributes = ""
    for argument in a.rest[1:]:
        if argument.name is not None:
            value = QUOTED.sub(r"\1", php.trimmed(argument.value())).replace('"', "&quot;")
            attributes += f' {php.trimmed(argument.name())}="{value}"'
    content = a.rest[0].text() if a.rest else ""
    return f"<{name}{attributes}>{content}</{name}>"


def time(a: Arguments) -> str:
    """Return a time, by default that of the revision."""
    now = php.revision_time(a.context.page.timestamp)
    moment = parsed_time(a.text(1), now) if a.text(1) else now
    if moment is None:
        raise RejectedError("function", f"#time of {a.text(1)!r}")
    return php.formatted_time(a.first, moment, a.text(2) or a.context.language.text_language)


def plural(a: Arguments) -> str:
    """Return the form of a word for a number; the rules of other languages are not known."""
    a.context.english(f"plural of {a.first!r}")
    number = php.formatted_number(a.first, "R").removeprefix("-")  # also with commas or decimals
    return a.text(1 if php.equal(number, "1") or len(a) < 3 else 2)


def format_number(a: Arguments) -> str:
    """Return a number with the separators of the wiki, or without them (`R`)."""
    language, mode = a.context.language, a.text(1)
    style = php.ENGLISH if language.is_english or mode == "NOSEP" else php.separators().get(language.code)
    if style is None or CONTROLS.search(a.first):  # a mark of an unknown call has a number
        return unknown(a)
    return php.formatted_number(a.first, mode, style)


def title_parts(a: Arguments) -> str:
    """Return some parts of a title between slashes: how many, from which on; below zero, from the end."""
    parts = page_name(a).split("/")
    count, first = (int(text) if INTEGER.fullmatch(text) else 0 for text in (a.text(1), a.text(2)))
    parts = parts[first - 1 if first > 0 else first :] if first else parts
    return "/".join(parts[: count or None])


def address(a: Arguments) -> str:
    """Return a part of an address. No reader sees it: it only has to be one."""
    if CONTROLS.search(a.first):  # a mark, such as that of an unknown call
        raise RejectedError("function", "an address of unknown text")
    return quote(a.first.replace(" ", "_"), safe="")


def page_name(a: Arguments) -> str:
    """Return the title of another article; those of other namespaces need a wiki's names of namespaces."""
    if ":" in a.first:
        raise RejectedError("function", f"the name of {a.first!r}")
    return with_first(a.first.replace("_", " "), upper=True)


def invoke(a: Arguments) -> str:
    """Nothing for a module of citations or boxes, as for their templates; the text of others is Lua's."""
    if a.context.skips_boxes and MODULES_WITHOUT_TEXT.match(a.first):
        return ""
    raise RejectedError("lua", f"Module:{a.first}")


def unknown(a: Arguments) -> str:
    """Refuse a function that depends on the wiki or on other pages."""
    raise RejectedError("function", f"the function {a.name} needs a wiki")


def _padding(a: Arguments) -> str:
    """Return what `padleft` and `padright` add."""
    padding = a.text(2) if len(a) > 2 else "0"
    missing = max(0, (php.at_most(500, a.text(1)) or 0) - len(a.first))  # MediaWiki's limit
    return (padding * missing)[:missing]


PARSER_FUNCTIONS: dict[str, Function] = {
    "#if": lambda a: a.text(1 if a.first else 2),
    "#ifeq": lambda a: a.text(2 if php.equal(a.first, a.text(1)) else 3),
    "#iferror": if_error,
    "#ifexpr": if_expression,
    # A page that can have this title may exist.
    "#ifexist": lambda a: a.text(1 if not title_fault(a.first) and a.context.exists(a.first) else 2),
    "#switch": switch,
    "#expr": lambda a: php.expression(a.first),
    "#tag": tag,
    "#time": time,
    "#timel": time,
    "#invoke": invoke,
    **dict.fromkeys(["#dateformat", "#formatdate", "nowrap"], lambda a: a.first),
    "lc": lambda a: a.first.lower(),
    "uc": lambda a: a.first.upper(),
    "lcfirst": lambda a: with_first(a.first, upper=False),
    "ucfirst": lambda a: with_first(a.first, upper=True),
    "formatnum": format_number,
    "plural": plural,
    "padleft": lambda a: _padding(a) + a.first,
    "padright": lambda a: a.first + _padding(a),
    "ns": lambda a: "" if a.first in {"", "0"} else unknown(a),
    "#titleparts": title_parts,
    **dict.fromkeys(["urlencode", "anchorencode"], address),
    **dict.fromkeys(
        ["fullurl", "localurl", "canonicalurl"],
        lambda a: f"https://{a.context.language.code}.wikipedia.org/wiki/{address(a)}",
    ),
    **dict.fromkeys(["pagename", "fullpagename", "basepagename", "subpagename", "rootpagename"], page_name),
    **dict.fromkeys(["pagenamee", "fullpagenamee", "basepagenamee"], address),
    **dict.fromkeys(["namespace", "namespacee", "subjectspace", "articlespace"], lambda a: page_name(a)[:0]),
    **dict.fromkeys(words("functions without text"), lambda _a: ""),
    **dict.fromkeys(words("functions of a wiki"), unknown),
}


def call_name(call: str) -> str:
    """Return the name of the template or the parser function in the wikitext of a call.

    >>> call_name("{{Template:inflation|US}}"), call_name("{{#if:a|b}}"), call_name("{{formatnum:5}}")
    ('Inflation', '#if:', 'formatnum:')
    """
    if "<!--" in call:
        call = COMMENT.sub("", call)
    name = template_name(call.strip().removeprefix("{{").split("|", 1)[0].removesuffix("}}"))
    function = name.partition(":")[0].strip().lower() if ":" in name else ""
    return f"{function}:" if function.startswith("#") or function in PARSER_FUNCTIONS else name


def _time(pattern: str) -> Variable:
    return lambda c: php.formatted_time(
        pattern, php.revision_time(c.page.timestamp), c.language.text_language
    )


_TITLES = words("variables of the title")
_TIMES = {"YEAR": "Y", "MONTH": "m", "MONTH1": "n", "MONTH2": "m", "MONTHNAME": "F", "MONTHNAMEGEN": "F",
          "MONTHABBREV": "M", "DAY": "j", "DAY2": "d", "DOW": "w", "DAYNAME": "l", "TIME": "H:i", "HOUR": "H",
          "TIMESTAMP": "YmdHis"}  # fmt: skip

# Case matters: `{{pagename}}` is a template.
VARIABLES: dict[str, Variable] = {
    **dict.fromkeys(_TITLES, lambda c: c.page.title),
    **{f"{name}E": lambda c: quote(c.page.title.replace(" ", "_"), safe="") for name in _TITLES},
    "TALKPAGENAME": lambda c: f"{c.english('Talk')}:{c.page.title}",
    "TALKSPACE": lambda c: c.english("Talk"),
    **dict.fromkeys(["NAMESPACE", "NAMESPACEE", "ARTICLESPACE", "SUBJECTSPACE"], lambda _: ""),
    "NAMESPACENUMBER": lambda _: "0",
    "NOEXTERNALLANGLINKS": lambda _: "",
    "PAGEID": lambda c: str(c.page.page_id),
    "REVISIONID": lambda c: str(c.page.revision_id),
    "SITENAME": lambda c: c.language.wiki or c.english("Wikipedia"),
    "SERVER": lambda c: f"//{c.language.code}.wikipedia.org",
    "SERVERNAME": lambda c: f"{c.language.code}.wikipedia.org",
    "SCRIPTPATH": lambda _: "/w",
    **dict.fromkeys(["CONTENTLANGUAGE", "CONTENTLANG", "PAGELANGUAGE"], lambda c: c.language.code),
    "!": lambda _: "|",
    "=": lambda _: "=",
    **{f"{when}{name}": _time(letters) for when in ("CURRENT", "LOCAL") for name, letters in _TIMES.items()},
    **{f"REVISION{name}": _time(_TIMES[name]) for name in ("YEAR", "MONTH", "MONTH1", "DAY", "DAY2")},
    "REVISIONTIMESTAMP": _time("YmdHis"),
}
