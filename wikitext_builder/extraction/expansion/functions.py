"""Parser functions in templates: those that choose between arguments, and those that change a text."""

from __future__ import annotations

import re
from collections.abc import Callable

from wikitext_builder.errors import RejectedError
from wikitext_builder.extraction.expansion.arguments import Arguments
from wikitext_builder.extraction.listing import listed
from wikitext_builder.extraction.macros.call import Call
from wikitext_builder.extraction.macros.local import LOCAL
from wikitext_builder.extraction.macros.local.table import NO_TEMPLATES
from wikitext_builder.extraction.macros.parser_functions import MODULES_WITHOUT_TEXT
from wikitext_builder.extraction.macros.php_strings import (
    ERROR,
    encoded,
    equal,
    error,
    expression,
    formatted_number,
    is_one,
    padded,
    title_parts,
    with_first,
)
from wikitext_builder.extraction.macros.times import formatted_time, parsed_time, revision_time
from wikitext_builder.extraction.names import NAMESPACE
from wikitext_builder.wiki.titles import title_fault

Function = Callable[[Arguments], str]
TAG = re.compile(r"[\w-]+")
QUOTED = re.compile(r"\A[\"'](.*)[\"']\Z", re.DOTALL)  # a value of an attribute
STYLE = re.compile(r"<[^<>]*>|''+")
NAMESPACES = {
    0: "", 1: "Talk", 2: "User", 3: "User talk", 4: "Wikipedia", 5: "Wikipedia talk", 6: "File",
    7: "File talk", 8: "MediaWiki", 9: "MediaWiki talk", 10: "Template", 11: "Template talk", 12: "Help",
    13: "Help talk", 14: "Category", 15: "Category talk", 100: "Portal", 101: "Portal talk", 828: "Module",
    829: "Module talk",
}  # fmt: skip


def if_(a: Arguments) -> str:
    """The second argument if the first is not empty, else the third."""
    return a.text(1) if a.first else a.text(2)


def if_equal(a: Arguments) -> str:
    """The third argument if the first two are equal, else the fourth."""
    return a.text(2) if equal(a.first, a.text(1)) else a.text(3)


def if_error(a: Arguments) -> str:
    """The second argument if the first shows an error, else the third, or the first if there is no third."""
    if ERROR.search(a.first):
        return a.text(1)
    return a.text(2) if len(a) > 2 else a.first


def if_expression(a: Arguments) -> str:
    """The second argument if the first evaluates to a number other than 0, else the third."""
    value = expression(a.first)
    if ERROR.search(value):
        return value
    return a.text(1) if value and float(value) else a.text(2)


def if_exists(a: Arguments) -> str:
    """The second argument if a template is there. Other pages that a template checks for usually exist."""
    is_template = NAMESPACE.match(a.first)
    there = not title_fault(a.first) and (not is_template or a.expander.exists(a.first))
    return a.text(1) if there else a.text(2)


def switch(a: Arguments) -> str:
    """The value of the first case that equals the first argument, else the default."""
    found = default_follows = False
    last: str | None = None  # the last case, if it has no equals sign
    default = None
    for part in a.parts:
        name = part.name
        if name is None:
            last = a.of(part.value)
            found = found or equal(last, a.first)
            default_follows = default_follows or last == "#default"
            continue
        last = None
        case = "" if found else a.of(name)
        if found or equal(case, a.first):
            return a.of(part.value)
        if default_follows or case == "#default":
            default, default_follows = part.value, False
    if last is not None:
        return last
    return a.of(default) if default is not None else ""


def tag(a: Arguments) -> str:
    """An extension tag, which a later step reads."""
    name = a.first.lower()
    if not TAG.fullmatch(name):
        return error("Unknown extension tag")
    attributes = ""
    for part in a.parts[1:]:
        if part.name is not None:
            value = QUOTED.sub(r"\1", a.of(part.value)).replace('"', "&quot;")
            attributes += f' {a.of(part.name)}="{value}"'
    content = a.expander.text(a.parts[0].pieces, a.frame) if a.parts else ""
    return f"<{name}{attributes}>{content}</{name}>"


def time(a: Arguments) -> str:
    """A time, by default that of the revision."""
    now = revision_time(a.expander.page.timestamp)
    moment = parsed_time(a.text(1), now) if a.text(1) else now
    if moment is None:
        raise RejectedError("function", f"#time of {a.text(1)!r}")
    return formatted_time(a.first, moment, a.text(2) or a.expander.language)


def plural(a: Arguments) -> str:
    """The form for a number; in English the second argument for one, else the third, or the last one."""
    form = local(a, "plural")
    return a.text(1 if is_one(a.first) or len(a) < 3 else 2) if form is None else form


def format_number(a: Arguments) -> str:
    """A number with separators, as the language writes it."""
    shown = local(a, "formatnum")
    return formatted_number(a.first, a.text(1)) if shown is None else shown


def local(a: Arguments, name: str) -> str | None:
    """What a function gives on the Wikipedia of the page, if it is not as in English."""
    function = LOCAL.get(a.expander.language, NO_TEMPLATES).functions.get(name)
    texts = [a.first, *(a.text(number) for number in range(1, len(a)))]
    arguments = {str(number): text for number, text in enumerate(texts, 1)}
    return function(Call(name=name, arguments=arguments, page=a.expander.page)) if function else None


def namespace_name(a: Arguments) -> str:
    """The name of a namespace by its number or name; those of other languages are not known."""
    if a.expander.language in LOCAL and a.first not in {"", "0"}:
        raise RejectedError("function", f"ns:{a.first} in {a.expander.language}")
    if a.first.isdecimal() and len(a.first) < 5 and int(a.first) in NAMESPACES:
        return NAMESPACES[int(a.first)]
    wanted = a.first.replace("_", " ").lower()
    for name in NAMESPACES.values():
        if name.lower() == wanted:
            return name
    raise RejectedError("function", f"ns:{a.first}")


def address(a: Arguments) -> str:
    """The address of a page."""
    title, host = encoded(with_first(a.first, upper=True), "WIKI"), f"//{a.expander.language}.wikipedia.org"
    return f"{host}/w/index.php?title={title}&{a.text(1)}" if a.text(1) else f"{host}/wiki/{title}"


def page_name(a: Arguments) -> str:
    """The title of another article; those of other namespaces need a wiki's names of namespaces."""
    if ":" in a.first:
        raise RejectedError("function", f"the name of {a.first!r}")
    return with_first(a.first.replace("_", " "), upper=True)


def namespace(a: Arguments) -> str:
    """The namespace of an article, which has no name."""
    return page_name(a)[:0]


def invoke(a: Arguments) -> str:
    """Nothing for a module of citations or boxes, as for their templates.

    Raises:
        RejectedError: It is another module.
    """
    if a.expander.macros is not None and MODULES_WITHOUT_TEXT.match(a.first):
        return ""
    raise RejectedError("lua", f"Module:{a.first}")


def nothing(_a: Arguments) -> str:
    """No text."""
    return ""


FUNCTIONS: dict[str, Function] = {
    "#if": if_,
    "#ifeq": if_equal,
    "#iferror": if_error,
    "#ifexpr": if_expression,
    "#ifexist": if_exists,
    "#switch": switch,
    "#expr": lambda a: expression(a.first),
    "#tag": tag,
    "#time": time,
    "#timel": time,
    "#titleparts": lambda a: title_parts(a.first, a.text(1), a.text(2)),
    "#invoke": invoke,
    "#dateformat": lambda a: a.first,
    "#formatdate": lambda a: a.first,
    "lc": lambda a: a.first.lower(),
    "uc": lambda a: a.first.upper(),
    "lcfirst": lambda a: with_first(a.first, upper=False),
    "ucfirst": lambda a: with_first(a.first, upper=True),
    "formatnum": format_number,
    "plural": plural,
    "padleft": lambda a: padded(a.first, a.text(1), a.text(2) if len(a) > 2 else "0") + a.first,
    "padright": lambda a: a.first + padded(a.first, a.text(1), a.text(2) if len(a) > 2 else "0"),
    "ns": namespace_name,
    "urlencode": lambda a: encoded(a.first, a.text(1)),
    "anchorencode": lambda a: STYLE.sub("", a.first).replace(" ", "_"),
    "fullurl": address,
    "localurl": lambda a: address(a).removeprefix(f"//{a.expander.language}.wikipedia.org"),
    "canonicalurl": lambda a: f"https:{address(a)}",
    **dict.fromkeys(listed("pagename; fullpagename; basepagename; subpagename; rootpagename"), page_name),
    **dict.fromkeys(
        listed("pagenamee; fullpagenamee; basepagenamee"), lambda a: encoded(page_name(a), "WIKI")
    ),
    **dict.fromkeys(listed("namespace; namespacee; subjectspace; articlespace"), namespace),
    **dict.fromkeys(
        listed(
            """
defaultsort; defaultsortkey; defaultcategorysort; displaytitle; protectionlevel; protectionexpiry;
cascadingsources; noexternallanglinks; #coordinates; #seo; #related; #babel; #assessment
"""
        ),
        nothing,
    ),
}

# They depend on the wiki or on other pages.
UNKNOWN_FUNCTIONS = frozenset(
    listed(
        """
int; nse; gender; grammar; bidi; special; speciale; filepath; numberingroup; numberofarticles;
numberofpages; numberofusers; numberoffiles; numberofedits; numberofadmins; numberofactiveusers;
pagesincategory; pagesincat; pagesinnamespace; pagesinns; pagesize; pageid; revisionid; revisionday;
revisionday2; revisionmonth; revisionmonth1; revisionyear; revisiontimestamp; revisionuser; localurle;
fullurle; canonicalurle; talkpagename; talkpagenamee; talkspace; talkspacee; subjectspacee;
subpagenamee; rootpagenamee; namespacenumber
"""
    )
)
