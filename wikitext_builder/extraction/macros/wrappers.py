"""Templates that only change the style of a text, and quotations."""

from __future__ import annotations

import re

from wikitext_builder.extraction.listing import listed
from wikitext_builder.extraction.macros.call import Call, Macro, argument, around, first, joined, text
from wikitext_builder.extraction.markers import GONE

YEAR = re.compile(r"\b\d{4}\b")
ENDS_OF_MARRIAGES = {
    "div": "div.",
    "d": "d.",
    "wid": "wid.",
    "sep": "sep.",
    "ann": "ann.",
    "his": "d.",
    "her": "d.",
}


def last(call: Call) -> str | None:
    """The last numbered argument, for templates with the text after a colour or a size."""
    values = call.positional()
    return values[-1] if values else ""


def second(call: Call) -> str | None:
    """The second argument."""
    return call.get("2")


def second_or_first(call: Call) -> str | None:
    """The second argument or the first: a link with an optional label."""
    return call.get("2", "1")


def block(*names: str) -> Macro:
    """A quotation in a block of its own. The official files have no lines with its author and source."""
    return lambda call: f"\n\n{call.get(*names)}\n\n"


QUOTED = ("text", "quote", "1", "Text")  # the names that the text of a quotation can have


def quote(call: Call) -> str | None:
    """A quotation in a block. Its first line is a paragraph, and its last one if an author follows.

    The author is not shown, as in the official files.
    """
    signed = any(map(call.get, ("sign", "cite", "author", "by", "2", "source", "ts", "3")))
    end = "<div></div>" if signed else ""
    return f"<blockquote>{call.get(*QUOTED)}{end}\n</blockquote>"


def poem(call: Call) -> str | None:
    """A quotation in verses, each on a line of its own."""
    return f"\n\n<poem>{call.get('1', 'text', 'quote')}</poem>\n\n"


def interlanguage(call: Call) -> str | None:
    """The label of a link to an article of another Wikipedia."""
    if label := call.get("lt", "display"):
        return label
    values = call.positional()
    if call.name == "Link-interwiki":
        return call.get("en", "1")
    # In an older order the language code comes first.
    if len(values) > 1 and len(values[0]) == 2 and values[0].islower() and not values[1].islower():
        return values[2] if len(values) > 2 and values[2] else values[1]
    return values[0] if values else None


def verse(call: Call) -> str | None:
    """A verse and its translation, on a line each."""
    lines = [call.get("1", "lang1"), call.get("2", "lang2")]
    return "\n\n" + "\n\n".join(line.replace("\n", "<br>") for line in lines if line) + "\n\n"


def interlinear(call: Call) -> str | None:
    """A sentence, its gloss and its translation, on a line each."""
    return "\n\n" + "\n\n".join(value for value in call.positional() if value) + "\n\n"


def marriage(call: Call) -> str | None:
    """`Jane Doe (m. 1990; div. 2000)`: only the years of the dates."""
    spouse, start, end = call.get("1"), _year(call.get("2")), _year(call.get("3"))
    reason = call.get("end", "reason").lower()
    reason = "wid" if reason in {"w", "w."} else reason
    if not start or not end:
        return f"{spouse} (m. {start})" if start else spouse
    ended = next((short for word, short in ENDS_OF_MARRIAGES.items() if reason.startswith(word)), "")
    return f"{spouse} (m. {start}; {ended} {end})" if ended else f"{spouse} (m. {start}–{end})"


def _year(value: str) -> str:
    years = YEAR.findall(value)
    return years[-1] if years else value


def sic(call: Call) -> str | None:
    """The error as written, and `[sic]` unless the call hides it; a question mark comes before the error."""
    doubted = call.arguments.get("1", "?") == "?"
    words = "".join(call.arguments.get(number, "") for number in (("2", "3") if doubted else ("1", "2")))
    mark = "?" if doubted and "1" in call.arguments else ""
    return words if call.get("hide") else f"{words} &#91;sic{mark}&#93;".strip()


def harvard_reference(form: str, *, colon: bool = False) -> Macro:
    """Authors, a year and pages in a form: `{names} ({year})` gives `Smith & Jones (1990, p. 5)`."""

    def macro(call: Call) -> str | None:
        values = [value for value in call.positional() if value]
        if not values:
            return None
        *authors, year = values if len(values) > 1 else [values[0], ""]
        names = " & ".join(filter(None, (", ".join(authors[:-1]), authors[-1])))
        names = f"{authors[0]} et al." if len(authors) > 3 else names
        page, pages = call.get("p", "page"), call.get("pp", "pages").replace("-", "–")
        label = "" if colon else "p. " if page else "pp. "
        places = filter(None, (f"{label}{page or pages}" if page or pages else "", call.get("loc", "at")))
        for place in places:
            year += f"{':' if colon and year and ':' not in year else ', '}{place}"
        shown = form.format(names=names, year=year).replace("()", "").strip()
        return shown + call.get("ps")

    return macro


def harvard(call: Call) -> str | None:
    """`Wanda Szmielew (1955)` if the call asks for text; otherwise a citation, which is removed."""
    if "txt" not in call.arguments.values() and not call.get("txt"):
        return GONE
    return f"{call.get('first')} {call.get('last')} ({call.get('year')})".strip()


_QUOTE = block(*QUOTED)

WRAPPERS: dict[str, Macro] = {
    **dict.fromkeys(
        listed(
            """
Nowrap; Nobr; Nobreak; Nwr; Nw; J; Noitalic; Nobold; Normal; Noitalics; Small; Smaller; Smallsub;
Big; Larger; Large; Huge; Smallcaps; Sc; Smallcaps all; Aut; SmallCaps; Strong; Em; Bold;
Italics; Italic; Emph; Underline; U; Strike; Del; S; Ins; Overline; Mono; Monospace;
Code; Codett; Tt; Kbd; Samp; Var; Math variable; Proper
name; Typo; Allow wrap; Center; Centre; Right; Left; Align right; Sup; Sub;
Sup sub; Larger font; Bigger; Unicode; PIE; Polytonic; Serif; Sans-serif; Sans serif;
Highlight; Spell; Sm; Indent text; Vertical
text; Trim; Lc; Mbox text; DISPLAYTITLE; Anchored; Term; Tdes; Defn; Defn1; Wiktlnk; Nihongo nom;
Wrap; Normalwraplink; Nowraplinks; Fake header; Pslink; Lsjb; Ruby text; CSS text; Hilite;
Small caps; Smallcaps2; Uc; Text; Plain text; Delink; Nolink; Auto link; Justify; Float; Splitspan;
Crossref; Crossreference;
Midsize; Symb; Char; Double underline; Overarc; Xt; !xt; Mxt; Bxt; Centered; Center block;
Smalldiv; Bigdiv; Bold div; Monodiv; Strikethroughdiv; Finedetail; Nocaps; Under;
Gb; Blue; Red; Green; Orange; Grey; Gray; Purple; White; Brown;
Dim; Yellow text; Strikethrough; Nodeco
"""
        ),
        first,
    ),
    **dict.fromkeys(
        listed(
            """
Fontcolor; Font color; Fgcolor; Background color; Bg; Bgcolor; Text color; Colored
link; Font size; Colored text
"""
        ),
        last,
    ),
    **dict.fromkeys(
        listed(
            """
Color; Colour; Lang-text; Rtl-para; Font text; Align; Rtl-lang; Script-text; Lang-t
"""
        ),
        second,
    ),
    **dict.fromkeys(
        listed(
            """
Chessprobgloss; Chessgloss; Cuegloss; Wikt; Gli; Section; Glossary link internal; Glossary link;
Anglicise rank; Cricgloss; Sjmss; Wiktlink; Linkified; Wiktionary link; Keylink; Commons
link; Lpsref; Cue sports gloss; Chess glossary; Music term; Resize; Line-height
"""
        ),
        second_or_first,
    ),
    **dict.fromkeys(
        listed(
            """
Citation needed span; Cn span; Fact span; Cnspan; Reference necessary; Clarify span; Disputed span;
Dubious span; Weasel span; Or span; Update span; Page numbers needed span; Cns; Peacock span; When span;
Vague span; Who span; Original research span; Better source span; Failed verification span;
Citation needed-span; Cn-span; Fact-span; Clarify-span
"""
        ),
        argument("text", "1"),
    ),
    **dict.fromkeys(listed("Block indent; Blockindent"), block("1", "text")),
    "In5": text(" "),  # the argument is how many spaces
    "Font": lambda call: call.get("text") or last(call),
    "Su": lambda call: call.get("p") + call.get("b"),  # the upper text, then the lower one
    "Longitem": second_or_first,
    "Lower": lambda call: call.get("2") if "2" in call.arguments else call.get("1"),
    "Script": second_or_first,
    "Vanchor": first,
    "Visible anchor": argument("text", "1"),
    "Slink": lambda call: f"{call.get('1')} § {call.get('2')}".strip(),
    "Section link": lambda call: f"{call.get('1')} § {call.get('2')}".strip(),
    **dict.fromkeys(listed("H:title; Hover title; Hovertitle; Tip; Popup"), second),
    "Tooltip": first,
    **dict.fromkeys(
        listed(
            """
Quotation; Cquote; Bquote; Cquotetxt; Centered pull quote; Pull quote; Quotebox2; Quote frame;
Imagequote; Quotation2
"""
        ),
        _QUOTE,
    ),
    # Redirects to Quote.
    **dict.fromkeys(
        listed(
            """
Quote; Blockquote; Bq; Block quote; Quote block; Long quote; Longquote; Quoted; Quotes; QuoteBlock
"""
        ),
        quote,
    ),
    **dict.fromkeys(listed("Poemquote; Poem quote; Verse; Poem"), poem),
    **dict.fromkeys(["Verse translation", "Verse transl"], verse),
    **dict.fromkeys(
        listed(
            """
Interlanguage link multi; Interlanguage link; Ill; Ill2; Illm; Ill-WD; Ill-WD2; Link-interwiki; Iw2; Il
"""
        ),
        interlanguage,
    ),
    "Marriage": marriage,
    "Married": marriage,
    "Sic": sic,
    "Tq": first,
    "Qq": around("“", "”"),
    "Q": first,
    "Angbr": around("⟨", "⟩"),
    "Angbr IPA": around("⟨", "⟩"),
    "Angle bracket": around("⟨", "⟩"),
    "Angle brackets": around("⟨", "⟩"),
    "Angular bracket": around("⟨", "⟩"),
    "Grapheme": around("⟨", "⟩"),
    "Orthography": around("⟨", "⟩"),
    "Bra-ket": lambda call: f"⟨{call.get('1')}|{call.get('2')}⟩",
    "Bra": around("⟨", "|"),
    "Ket": around("|", "⟩"),
    "Langnf": lambda call: call.get("2"),
    "Interlinear": interlinear,
    **dict.fromkeys(listed("Selfref inline; Self-reference inline"), first),
    **dict.fromkeys(listed("Color box; Colorbox; Colour box; Legend inline; Legend-inline"), argument("2")),
    **dict.fromkeys(listed("Cl; Category link; Cat link"), lambda call: f"Category:{call.get('1')}"),
    "Nospam": joined("@"),
    "Gcl": second_or_first,
    "Bracket": around("&#91;", "&#93;"),
    "Brackets": around("&#91;", "&#93;"),
    "Brace": around("&#123;", "&#125;"),
    "Interp": around("&#91;", "&#93;"),
    **dict.fromkeys(listed("Harvtxt; Harvard citation text"), harvard_reference("{names} ({year})")),
    **dict.fromkeys(
        listed("Harvnb; Harvard citation no brackets; Harv nb"), harvard_reference("{names} {year}")
    ),
    **dict.fromkeys(listed("Harv; Harvard citation; Harvp; Harvsp"), harvard_reference("({names} {year})")),
    "Harvcoltxt": harvard_reference("{names} ({year})", colon=True),
    "Harvcol": harvard_reference("({names} {year})", colon=True),
    "Harvcolnb": harvard_reference("{names} {year}", colon=True),
    "Harvs": harvard,
    "Italics correction": first,
    "Pullquote": _QUOTE,
    "Open-closed": lambda call: f"({call.get('1')}&#93;",
    "Closed-open": lambda call: f"&#91;{call.get('1')})",
    "Closed-closed": lambda call: f"&#91;{call.get('1')}&#93;",
    "Open-open": lambda call: f"({call.get('1')})",
    "LORD": lambda _call: "LORD",
    "Lord": lambda _call: "Lord",
}
