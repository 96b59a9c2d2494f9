"""Parser functions and magic words that occur in articles."""

from __future__ import annotations

import re

from wikitext_builder.errors import RejectedError
from wikitext_builder.extraction.listing import listed
from wikitext_builder.extraction.macros.call import Call, Macro, first, text
from wikitext_builder.extraction.macros.citations import invoked
from wikitext_builder.extraction.macros.php_strings import (
    ERROR,
    equal,
    expression,
    formatted_number,
    is_one,
    padded,
    title_parts,
    with_first,
)
from wikitext_builder.extraction.macros.times import formatted_time, parsed_time, revision_time
from wikitext_builder.extraction.preprocessor import opaque_text

MODULES_WITHOUT_TEXT = re.compile(
    "cit|sfn|footnote|infobox|navbox|sidebar|hatnote|portal|authority|protection|message box|location map|"
    "chart|official website|weather|side box|pp|redirect|about|main|unsubst|check for",
    re.IGNORECASE,
)


def if_(call: Call) -> str:
    """The second argument if the first is not empty, else the third."""
    return call.get("2") if call.get("1") else call.get("3")


def if_equal(call: Call) -> str:
    """The third argument if the first two are equal as texts or numbers, else the fourth."""
    return call.get("3") if equal(call.get("1"), call.get("2")) else call.get("4")


def if_error(call: Call) -> str:
    """The first argument unless it is an error."""
    if ERROR.search(call.get("1")):
        return call.get("2")
    return call.get("3") if "3" in call.arguments else call.get("1")


def if_expression(call: Call) -> str:
    """The second argument if the first evaluates to a number other than 0, else the third."""
    value = value_of_expression(call)
    return call.get("2") if value and float(value) else call.get("3")


def if_exist(call: Call) -> str:
    """The second argument: a page that an article checks for usually exists."""
    return call.get("2")


def switch(call: Call) -> str:
    """The value of the first case that equals the first argument, else the default."""
    subject, cases = call.get("1"), list(call.arguments.values())[1:]
    default = ""
    found = default_follows = False
    for position, case in enumerate(cases):
        name, equals, value = case.partition("=")
        if equals and (found or equal(name, subject)):
            return value.strip()
        if equals and (default_follows or name.strip() == "#default"):
            default, default_follows = value.strip(), False
        elif not equals:
            found = found or equal(case, subject)
            default_follows = default_follows or case.strip() == "#default"
            default = case.strip() if position == len(cases) - 1 else default
    return default


def value_of_expression(call: Call) -> str:
    """The value of an expression; nothing if it is wrong, often because a template in it is not known."""
    value = expression(call.get("1"))
    return "" if ERROR.search(value) else value


def tag(call: Call) -> str:
    """An extension tag: references and the like give nothing, the others their content."""
    name, content = call.get("1").lower(), call.get("2")
    if name in {"math", "chem", "ce"}:
        return opaque_text(name, content)
    return content if name in {"nowiki", "poem", "pre"} else ""


def plural(call: Call) -> str:
    """The second argument for one, else the third, or the second if there is no third."""
    return call.get("2") if is_one(call.get("1")) else call.get("3") or call.get("2")


def padded_left(call: Call) -> str:
    """A text padded on the left, with zeros by default."""
    return padded(call.get("1"), call.get("2"), call.get("3") or "0") + call.get("1")


def padded_right(call: Call) -> str:
    """A text padded on the right, with zeros by default."""
    return call.get("1") + padded(call.get("1"), call.get("2"), call.get("3") or "0")


def time(call: Call) -> str | None:
    """A time, by default that of the revision; None if it cannot be read or written."""
    now = revision_time(call.page.timestamp)
    moment = parsed_time(call.get("2"), now) if call.get("2") else now
    try:
        return None if moment is None else formatted_time(call.get("1"), moment)
    except RejectedError:
        return None


def page_name(call: Call) -> str:
    """The title of the page."""
    return call.get("1") or call.page.title


def _now(letters: str) -> Macro:
    return lambda call: formatted_time(letters, revision_time(call.page.timestamp))


def invoke(call: Call) -> str | None:
    """The text of a citation, nothing for a module of boxes; the text of other modules is unknown."""
    if (citation := invoked(call)) is not None:
        return citation
    return "" if MODULES_WITHOUT_TEXT.match(call.get("1")) else None


def unknown(_call: Call) -> str | None:
    """Text of another page or of Wikidata: unknown."""
    return None


_NOTHING = text("")

PARSER_FUNCTIONS: dict[str, Macro] = {
    "#invoke": invoke,
    **dict.fromkeys(listed("#section; #lst; #lsth; #property; #statements; #language; int; ns"), unknown),
    **dict.fromkeys(listed("pagesincategory; pagesincat; numberofarticles; numberofusers"), unknown),
    "#if": if_,
    "#ifeq": if_equal,
    "#iferror": if_error,
    "#ifexpr": if_expression,
    "#ifexist": if_exist,
    "#switch": switch,
    "#expr": value_of_expression,
    "#tag": tag,
    "#time": time,
    "#dateformat": first,
    "#formatdate": first,
    "formatnum": lambda call: formatted_number(call.get("1"), call.get("2")),
    "lc": lambda call: call.get("1").lower(),
    "uc": lambda call: call.get("1").upper(),
    "lcfirst": lambda call: with_first(call.get("1"), upper=False),
    "ucfirst": lambda call: with_first(call.get("1"), upper=True),
    "plural": plural,
    "padleft": padded_left,
    "padright": padded_right,
    "urlencode": first,
    "anchorencode": first,
    "nowrap": first,
    "fullpagename": page_name,
    "pagename": page_name,
    "basepagename": page_name,
    "subpagename": page_name,
    "rootpagename": page_name,
    "namespace": _NOTHING,
    "sitename": text("Wikipedia"),
    "#titleparts": lambda call: title_parts(call.get("1"), call.get("2"), call.get("3")),
    "revisionyear": _now("Y"),
    "currentyear": _now("Y"),
    "currentmonth": _now("m"),
    "currentmonthname": _now("F"),
    "currentday": _now("j"),
    "currentday2": _now("d"),
    **dict.fromkeys(
        listed(
            """
defaultsort; defaultsortkey; defaultcategorysort; displaytitle;
#coordinates; #related; fullurl; localurl; canonicalurl; filepath; #babel;
noexternallanglinks; #seo; #widget; #vardefine; #assessment; #target; #ev; #categorytree;
#mapframe; #parserfunction
"""
        ),
        _NOTHING,
    ),
}
