"""Templates around a text: its style, quotations, lists, notes on a word, and names of works' authors."""

from __future__ import annotations

import re

from wikitext_builder.extraction.macros.call import Call, Macro, macro, series
from wikitext_builder.extraction.macros.php import at_most

ITEM = re.compile(r"\n[*#:]+\s*")


@macro("Nbsp", shared=True)
def _spaces(call: Call) -> str:
    count = at_most(20, call.get("1"))
    return "&nbsp;" * (1 if count is None else count)


@macro("Interlanguage link", shared=True)
def interlanguage(call: Call) -> str | None:
    """The label of a link to an article of another Wikipedia."""
    if label := call.get("lt", "display"):
        return label
    values = call.positional()
    # In an older order the language code comes first.
    if len(values) > 1 and len(values[0]) == 2 and values[0].islower() and not values[1].islower():
        return values[2] if len(values) > 2 and values[2] else values[1]
    return values[0] if values else None


@macro("Tag", shared=True)
def tag(call: Call) -> str | None:
    """`<ref>...</ref>`, or the part of it that the first letter of the kind asks for."""
    name, kind = call.get("1"), call.get("2")[:1] or "p"
    start = " ".join(filter(None, (f"&lt;{name}", call.get("params", "attribs"))))
    inner = call.arguments.get("content", "..." if kind == "p" else "")
    ending = f"{inner}&lt;/{name}&gt;"
    shown = {"p": f"{start}&gt;{ending}", "o": f"{start}&gt;{inner}", "c": ending}
    return (shown | dict.fromkeys("esv", f"{start} /&gt;")).get(kind) if name else None


@macro("Sic", shared=True)
def sic(call: Call) -> str | None:
    """The error as written, and `[sic]` unless the call hides it; a question mark comes before the error."""
    doubted = call.arguments.get("1", "?") == "?"
    words = "".join(call.arguments.get(number, "") for number in (("2", "3") if doubted else ("1", "2")))
    mark = "?" if doubted and "1" in call.arguments else ""
    return words if call.get("hide") else f"{words} &#91;sic{mark}&#93;".strip()


def harvard_reference(form: str, *, colon: bool = False) -> Macro:
    """Authors, a year and pages in a form: `{names} ({year})` gives `Smith & Jones (1990, p. 5)`."""

    def macro(call: Call) -> str | None:
        values = call.given()
        if not values:
            return None
        *authors, year = values if len(values) > 1 else [values[0], ""]
        names = f"{authors[0]} et al." if len(authors) > 3 else series(authors, " & ")
        page, pages = call.get("p", "page"), call.get("pp", "pages").replace("-", "–")
        label = "" if colon else "p. " if page else "pp. "
        places = filter(None, (f"{label}{page or pages}" if page or pages else "", call.get("loc", "at")))
        for place in places:
            year += f"{':' if colon and year and ':' not in year else ', '}{place}"
        shown = form.format(names=names, year=year).replace("()", "").strip()
        return shown + call.get("ps")

    return macro


@macro("Unbulleted list", shared=True)
def one_per_line(call: Call) -> str | None:
    """Each item on a line of its own."""
    items = call.given()
    if len(items) == 1 and items[0].startswith(("*", "#", ":")):
        return "\n" + items[0] + "\n"
    return "".join(f"\n* {item}" for item in items) + "\n" if items else ""


def on_one_line(separator: str) -> Macro:
    """The items on one line."""

    def macro(call: Call) -> str:
        items = call.given()
        if len(items) == 1 and items[0].startswith("*"):
            items = [item.strip() for item in ITEM.split("\n" + items[0]) if item.strip()]
        return separator.join(items)

    return macro


for _name, _form in (("txt", "{names} ({year})"), ("nb", "{names} {year}"), ("", "({names} {year})")):
    macro(f"Harv{_name}", shared=True)(harvard_reference(_form))
    macro(f"Harvcol{_name}", shared=True)(harvard_reference(_form, colon=True))
_COMMAS = macro("Comma separated entries", shared=True)(on_one_line(", "))
_BREAKS = macro("Br separated entries", shared=True)(on_one_line("<br>"))
LISTS = frozenset([_COMMAS, _BREAKS])  # the mark of a list in front of their text makes one
