"""Lists: one item per line if the page shows one per line, otherwise with separators."""

from __future__ import annotations

import re

from wikitext_builder.extraction.listing import listed
from wikitext_builder.extraction.macros.call import Call, Macro

ITEM = re.compile(r"\n[*#:]+\s*")


def one_per_line(call: Call) -> str | None:
    """Each item on a line of its own."""
    items = [value for value in call.positional() if value]
    if len(items) == 1 and items[0].startswith(("*", "#", ":")):
        return "\n" + items[0] + "\n"
    return "".join(f"\n* {item}" for item in items) + "\n" if items else ""


def in_columns(call: Call) -> str | None:
    """A list in columns: the last argument; the number of columns may precede it."""
    values = [value for value in call.positional() if value]
    return f"\n{values[-1]}\n" if values else ""


def on_one_line(separator: str) -> Macro:
    """The items on one line."""

    def macro(call: Call) -> str:
        items = [value for value in call.positional() if value]
        if len(items) == 1 and items[0].startswith("*"):
            items = [item.strip() for item in ITEM.split("\n" + items[0]) if item.strip()]
        return separator.join(items)

    return macro


def words(call: Call) -> str | None:
    """`a, b, and c`."""
    items = [value for value in call.positional() if value]
    if len(items) < 3:
        return " and ".join(items)
    return f"{', '.join(items[:-1])} and {items[-1]}"


def collapsible(call: Call) -> str | None:
    """The title and the items of a collapsible list."""
    title = call.get("title")
    return (f"\n\n{title}" if title else "") + (one_per_line(call) or "")


def names_and_authors(call: Call) -> str | None:
    """`Genus species Linnaeus, 1758`, one per line: names and authors alternate."""
    values = call.positional()
    pairs = zip(values[::2], [*values[1::2], ""], strict=False)
    return "".join(f"\n* {name} {author}" for name, author in pairs if name) + "\n"


LISTS: dict[str, Macro] = {
    **dict.fromkeys(listed("Species list; Specieslist; Linked species list; Taxon list"), names_and_authors),
    **dict.fromkeys(
        listed(
            """
Plainlist; Plain list; Unbulleted list; Ubl; Ublist; Ubt; Unbullet; Vunblist; Bulleted list;
Blist; Bulletlist; Ordered list; Olist; Unordered list; Numbered list; Bulleted; Nblist; Ubil;
Indented plainlist; Ubli; Unbulletedlist; Nonbulleted list; Div col content; Glossary
"""
        ),
        one_per_line,
    ),
    **dict.fromkeys(
        listed("Hlist; Flatlist; Flat list; Flowlist; Horizontal list"),
        one_per_line,  # the dots between items come from the style, not from the text
    ),
    **dict.fromkeys(
        listed(
            """
Comma separated entries; Cslist; Comma-separated list; Comma separated list; Csv; Comma list
"""
        ),
        on_one_line(", "),
    ),
    **dict.fromkeys(listed("Br separated entries; Brlist"), on_one_line("<br>")),
    "Enum": words,
    **dict.fromkeys(
        listed("Office-table; Election table; Award table; Awards table"), lambda _call: "{|"
    ),  # rows follow in the page
    # They end a table that another template or the page began.
    **dict.fromkeys(listed("End; End box; Endbox; S-end; Starbox end; Table end"), lambda _call: "|}"),
    "Collapsible list": collapsible,
    **dict.fromkeys(listed("Columns-list; Columnslist; Columns list; Collist; Colist; Cmn"), in_columns),
    **dict.fromkeys(
        listed(
            """
Endplainlist; End plainlist; Endflatlist; End flatlist; Startplainlist; Startflatlist; Glossary
end; End hlist
"""
        ),
        lambda _call: "\n",
    ),
}
