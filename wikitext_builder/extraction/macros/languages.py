"""Text in other languages, with the name of the language if the template shows it; pronunciations.

Also what joins or surrounds texts: names of ships and verses, references, lists.
"""

from __future__ import annotations

import re
import unicodedata

from wikitext_builder.extraction.macros import Call, Macro, changed, lookup, macro, read_table, series
from wikitext_builder.extraction.macros.php import at_most
from wikitext_builder.extraction.markers import GONE

# English names of languages by their codes, as {{lang-…}} shows them; and those of Module:Lang by tags.
LANGUAGES = read_table("languages")
LANGUAGE_NAMES: dict[str, str] = {code: name for code, name, _today in LANGUAGES}
NAMES_TODAY = {code.lower(): today or name for code, name, today in LANGUAGES}
TAG = re.compile("([a-z]{2,3})(?:-[A-Z][a-z]{3})?(?:-(?:[A-Z]{2}|[0-9]{3}))?", re.IGNORECASE)
ZH_LABELS = lookup("zh label")
NAMED = lookup("language template")
OWN = {"Lang-zh", "Lang-rus"}  # not named by their code alone


def language_name(tag: str) -> str | None:
    """Return the name of a language tag in Module:Lang, or that of the tag without a script or region.

    >>> language_name("fa-Latn"), language_name("en-GB"), language_name("grc-x-koine"), language_name("x-y")
    ('Persian', 'British English', 'Koinē Greek', None)
    """
    own = NAMES_TODAY.get(tag.lower())
    return own or ((parts := TAG.fullmatch(tag)) and NAMES_TODAY.get(parts[1].lower())) or None


def is_latin(value: str) -> bool:
    """Return True if all letters of a text are Latin."""
    names = [unicodedata.name(letter, "") for letter in value if letter.isalpha()]
    return bool(names) and all(name.startswith(("LATIN", "MODIFIER")) for name in names)


def named_language(name: str, call: Call, first: int = 1) -> str:
    """`Russian: Москва, romanized: Moskva, lit. 'Moscow'`, or without the word if the page is older."""
    value, second, third = (call.get(str(first + place)) for place in range(3))
    value, translit, literal = value or call.get("text"), call.get("translit"), call.get("lit", "translation")
    if first == 2 or changed(call, "romanized"):
        translit, literal, shown = second or translit, third or literal, call.get("label") or name
        translit = "" if is_latin(value) else translit
        label, romanized, lit = ("", "", "") if shown == "none" else (f"{shown}: ", "romanized: ", "lit. ")
        second = third = ""
    else:
        shown = call.get("label") if "label" in call.arguments else name
        label = "" if call.get("links") == "none" or shown in {"none", "-"} else f"{shown}: "
        translit, second = translit or call.get("2x"), "" if translit else second
        romanized, lit = "", "lit. "
    meaning = f"{lit}'{literal}'" if literal else ""
    pieces = [value, romanized + translit if translit else "", meaning, second, third]
    shown = ", ".join(filter(None, pieces))
    return label + shown if value or translit or literal else GONE  # there is no text


@macro(
    *NAMED,
    *(f"Lang-{code}" for code in LANGUAGE_NAMES if f"Lang-{code}" not in OWN | NAMED.keys()),
    reads="1|2|3|2x|label|links|lit|text|translation|translit",
)
def lang_code_template(call: Call) -> str | None:
    """`{{lang-fr|chat}}`: the language from the name of the template."""
    code = call.name.partition("-")[2]
    today = language_name(code) if changed(call, "romanized") else None
    return named_language(NAMED.get(call.name) or today or LANGUAGE_NAMES[code], call)


@macro("Langx", reads="1|2|3|4|code|label|lit|text|translation|translit")
def langx(call: Call) -> str | None:
    """`{{langx|fr|chat}}`: the language from the first argument, which may have a script or a region."""
    name = language_name(call.get("1", "code"))
    return named_language(name, call, 2) if name else None


@macro("Transl", reads="2|3", shared=True)
def transliteration(call: Call) -> str | None:
    """The text of `{{transl|language|text}}` or `{{transl|language|standard|text}}`."""
    words = call.arguments.get("3", call.arguments.get("2"))
    return words.strip() if words is not None else None


@macro("Zh", reads="|".join(["1", "c", "s", "t", "first", "labels", *ZH_LABELS]))
def zh(call: Call) -> str | None:
    """`Chinese: 杜甫; pinyin: Dù Fǔ; literally: "…"`."""
    arguments = dict(call.arguments)
    if arguments.get("s") and arguments.get("s") == arguments.get("t"):
        arguments["c"] = arguments.pop("s")
        arguments.pop("t")
    order = ["s", "t"] if call.get("first") != "t" else ["t", "s"]
    keys = ["c", *order, *[key for key in ZH_LABELS if key not in {"c", "s", "t"}]]
    hidden = call.get("labels") == "no"
    pieces = []
    for key in keys:
        if value := arguments.get(key, "").strip():
            shown = f'"{value}"' if key == "l" else value
            pieces.append(shown if hidden else f"{ZH_LABELS[key]}: {shown}")
    if not pieces and call.get("1"):
        pieces = [call.get("1") if hidden else f"Chinese: {call.get('1')}"]
    return "; ".join(pieces) or GONE


@macro(
    *(f"{code.capitalize()} icon" for code in LANGUAGE_NAMES if len(code) == 2), "Language icon", reads="1"
)
def language_icon(call: Call) -> str | None:
    """`(German)`: the language of a linked page, by the name of the template or the argument."""
    code = call.get("1") or call.name.partition(" ")[0].lower()
    return f"({LANGUAGE_NAMES.get(code, code)})"


# --- pronunciations: IPA, and respelling for English readers

LABELS = lookup("ipa label")
SOUNDS = lookup("ipa sound")
SOUND_FILE = re.compile(r"\.(?:ogg|oga|wav|mp3|flac)$", re.IGNORECASE)
OWN_IPA = {"IPA-all", "IPA-en", "IPA-eng", "IPA-hns", "IPA-ur", "IPA-lzz"}  # not named by their code alone
OLD_CODES = {"tu": "tr"}  # in names of templates; not a code of a language
PLACES_OF_IPA = lookup("ipa place")


@macro("IPA text", reads="1|2|3|label", shared=True)
@macro("IPA", "IPA-en", reads="1|2|3|label")
def ipa(call: Call) -> str | None:
    """The transcription of `{{IPA|…}}`, unchanged; with a language first, as Module:IPA of 2023 shows it."""
    values = call.positional()
    name = language_name(values[0]) if len(values) > 1 and values[1] else None
    if name is None:
        return values[0] if values else None
    if (label := call.arguments.get("label")) is None:
        label = ipa_label(name, values[2].lower() if len(values) > 2 else None, default=None)
    return None if label is None else f"{label} &#91;{values[1]}&#93;".lstrip()


def ipa_label(name: str, place: str | None, default: str | None) -> str | None:
    """What stands before a pronunciation: `French pronunciation:`, `locally`, or else the default."""
    if place is None:
        return f"{name} pronunciation:"
    return {"lang": f"{name}:", "": "", "generic": "", **PLACES_OF_IPA}.get(place, default)


@macro(
    *(f"IPA-{code}" for code in [*LANGUAGE_NAMES, *OLD_CODES] if f"IPA-{code}" not in OWN_IPA), reads="1|2"
)
def ipa_of_language(call: Call) -> str | None:
    """`German: [bɛʁˈliːn]`: the language from the name of the template."""
    code = call.name.partition("-")[2]
    name = LANGUAGE_NAMES[OLD_CODES.get(code, code)]
    place = call.get("2").lower() if "2" in call.arguments else None
    label = ipa_label(name, place, f"{name} pronunciation:")
    return f"{label} &#91;{call.get('1')}&#93;".lstrip() if call.get("1") else None


@macro("IPAc-en", reads="*")
def ipa_english(call: Call) -> str | None:
    """`/bɜːrˈlɪn/`, with the words for where it is pronounced so."""
    labels: list[str] = []
    sounds: list[str] = []
    for raw in call.positional():
        value = raw.strip()
        if value.lower() in LABELS:
            labels.append(LABELS[value.lower()])
        elif value and not SOUND_FILE.search(value):  # in 2010 a file could come first
            sounds.append(SOUNDS.get(value, value))
    label = " ".join(word for word in labels if word)
    prefix = f"{label} " if label else ""
    return f"{prefix}/{''.join(sounds)}/" if sounds else None


@macro("Respell", "USdict", "Pronunciation-", reads="*")
def respelled(call: Call) -> str | None:
    """`BUR-lin`."""
    shown = "-".join(call.given())
    for mark, written in (("-,_-", ", "), ("-_-", " "), ("_", " "), ("-'-", "'"), ("'-", "'"), ("-'", "'")):
        shown = shown.replace(mark, written)
    return re.sub("-{2,}", "-", shown)


@macro("Audio", reads="2")
def audio(call: Call) -> str | None:
    """The word that the sound is for; a mark if the label only says that one can listen."""
    label = call.get("2")
    return GONE if label.lower() in {"", "listen", "pronunciation", "pronounced", "play", "audio"} else label


# --- names, references, lists


@macro("Ship", "USS", "GS", reads="1|2|3|4")
def ship(call: Call) -> str | None:
    """`USS Enterprise (CVN-65)`: the last argument chooses the parts; `{{ship}}` has a prefix first."""
    prefix = {"Ship": [], "GS": ["German submarine"]}.get(call.name, [call.name])
    return shown_parts(*prefix, *call.numbered(4 - len(prefix)))


def shown_parts(prefix: str, name: str, number: str, shown: str) -> str:
    """Return the parts chosen by a sum of 4 (prefix), 2 (name) and 1 (number); all by default.

    From copies of the documentation of {{USAT}} and {{SS}}, read on 2026-11-21.

    >>> [shown_parts("USS", "Hornet", "CV-12", shown) for shown in ("", "6", "3", "1")]
    ['USS Hornet (CV-12)', 'USS Hornet', 'Hornet (CV-12)', 'CV-12']
    """
    bits = int(shown) if shown in {"1", "2", "3", "5", "6"} else 7
    named = name if bits & 2 else ""
    numbered = number if bits & 1 else ""
    if named and numbered:
        numbered = f"({numbered})"
    return " ".join(part for part in (prefix if bits & 4 else "", named, numbered) if part)


@macro("Bibleverse", "Bibleref", "Bibleref2", "Bibleref2c", reads="*")
def bible(call: Call) -> str | None:
    """`1 Corinthians 13:1`: number, book and verses (which begin with a digit), or their label.

    Older calls have the number as an argument of its own. The translation and the label follow the verses.
    """
    values = call.positional()
    verses = next((place for place, value in enumerate(values) if place and value[:1].isdecimal()), 2)
    label = values[verses + 2 : verses + 3]
    return "".join(label) or " ".join(value for value in values[: verses + 1] if value)


@macro("Bibleverse-nb", "Bibleref2-nb", "Bibleref2c-nb", reads="*")
def bible_verses(call: Call) -> str | None:
    """`13:1`: the verses alone."""
    return next((value for value in call.positional()[1:3] if value[:1].isdecimal()), call.get("2"))


@macro("Nbsp", reads="1", shared=True)
def _spaces(call: Call) -> str:
    count = at_most(20, call.get("1"))
    return "&nbsp;" * (1 if count is None else count)


@macro("Interlanguage link", reads="*|lt|display", shared=True)
def interlanguage(call: Call) -> str | None:
    """The label of a link to an article of another Wikipedia."""
    if label := call.get("lt", "display"):
        return label
    values = call.positional()
    # In an older order the language code comes first.
    is_code = len(values) > 1 and len(values[0]) == 2 and values[0].islower() and not values[1].islower()
    return values[is_code] if values else None


@macro("Tag", reads="1|2|attribs|content|params", shared=True)
def tag(call: Call) -> str | None:
    """`<ref>...</ref>`, or the part of it that the first letter of the kind asks for."""
    name, kind = call.get("1"), call.get("2")[:1] or "p"
    start = " ".join(filter(None, (f"&lt;{name}", call.get("params", "attribs"))))
    inner = call.arguments.get("content", "..." if kind == "p" else "")
    ending = f"{inner}&lt;/{name}&gt;"
    shown = {"p": f"{start}&gt;{ending}", "o": f"{start}&gt;{inner}", "c": ending}
    return (shown | dict.fromkeys("esv", f"{start} /&gt;")).get(kind) if name else None


@macro("Sic", reads="1|2|3|hide", shared=True)
def sic(call: Call) -> str | None:
    """The error as written, and `[sic]` unless the call hides it; a question mark comes before the error."""
    doubted = call.arguments.get("1", "?") == "?"
    words = "".join(call.arguments.get(number, "") for number in (("2", "3") if doubted else ("1", "2")))
    mark = "?" if doubted and "1" in call.arguments else ""
    return words if call.get("hide") else f"{words} &#91;sic{mark}&#93;".strip()


HARVARD = "*|at|loc|p|page|pages|pp|ps"


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


@macro("Unbulleted list", reads="*|title", shared=True)
def one_per_line(call: Call) -> str | None:
    """Each item on a line of its own."""
    title, items = call.get("title"), call.given()
    if len(items) == 1 and items[0].startswith(("*", "#", ":")):
        return f"\n{title}\n{items[0]}\n"
    return "".join(f"\n* {item}" for item in ([title] if title else []) + items) + "\n" if items else ""


for _name, _form in (("txt", "{names} ({year})"), ("nb", "{names} {year}"), ("", "({names} {year})")):
    macro(f"Harv{_name}", reads=HARVARD, shared=True)(harvard_reference(_form))
    macro(f"Harvcol{_name}", reads=HARVARD, shared=True)(harvard_reference(_form, colon=True))
