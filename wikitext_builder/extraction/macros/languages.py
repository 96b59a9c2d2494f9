"""Text in other languages, with the name of the language if the template shows it; pronunciations."""

from __future__ import annotations

import re
import unicodedata

from wikitext_builder.extraction.macros import lookup, read_table
from wikitext_builder.extraction.macros.call import Call, changed, macro
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
    """The name of a language tag in Module:Lang; one with a script or a region may have no name of its own.

    >>> language_name("fa-Latn"), language_name("en-GB"), language_name("grc-x-koine"), language_name("x-y")
    ('Persian', 'British English', 'Koinē Greek', None)
    """
    own = NAMES_TODAY.get(tag.lower())
    return own or ((parts := TAG.fullmatch(tag)) and NAMES_TODAY.get(parts[1].lower())) or None


def is_latin(value: str) -> bool:
    """True if all letters of a text are Latin."""
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


@macro(*NAMED, *(f"Lang-{code}" for code in LANGUAGE_NAMES if f"Lang-{code}" not in OWN | NAMED.keys()))
def lang_code_template(call: Call) -> str | None:
    """`{{lang-fr|chat}}`: the language from the name of the template."""
    code = call.name.partition("-")[2]
    today = language_name(code) if changed(call, "romanized") else None
    return named_language(NAMED.get(call.name) or today or LANGUAGE_NAMES[code], call)


@macro("Langx")
def langx(call: Call) -> str | None:
    """`{{langx|fr|chat}}`: the language from the first argument, which may have a script or a region."""
    name = language_name(call.get("1", "code"))
    return named_language(name, call, 2) if name else None


@macro("Transl", shared=True)
def transliteration(call: Call) -> str | None:
    """The text of `{{transl|language|text}}` or `{{transl|language|standard|text}}`."""
    words = call.arguments.get("3", call.arguments.get("2"))
    return words.strip() if words is not None else None


@macro("Zh")
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


@macro(*(f"{code.capitalize()} icon" for code in LANGUAGE_NAMES if len(code) == 2), "Language icon")
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


@macro("IPA text", shared=True)
@macro("IPA", "IPA-en")
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


@macro(*(f"IPA-{code}" for code in [*LANGUAGE_NAMES, *OLD_CODES] if f"IPA-{code}" not in OWN_IPA))
def ipa_of_language(call: Call) -> str | None:
    """`German: [bɛʁˈliːn]`: the language from the name of the template."""
    code = call.name.partition("-")[2]
    name = LANGUAGE_NAMES[OLD_CODES.get(code, code)]
    place = call.get("2").lower() if "2" in call.arguments else None
    label = ipa_label(name, place, f"{name} pronunciation:")
    return f"{label} &#91;{call.get('1')}&#93;".lstrip() if call.get("1") else None


@macro("IPAc-en")
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


@macro("Respell", "USdict", "Pronunciation-")
def respelled(call: Call) -> str | None:
    """`BUR-lin`."""
    shown = "-".join(call.given())
    for mark, written in (("-,_-", ", "), ("-_-", " "), ("_", " "), ("-'-", "'"), ("'-", "'"), ("-'", "'")):
        shown = shown.replace(mark, written)
    return re.sub("-{2,}", "-", shown)


@macro("Audio")
def audio(call: Call) -> str | None:
    """The word that the sound is for; a mark if the label only says that one can listen."""
    label = call.get("2")
    return GONE if label.lower() in {"", "listen", "pronunciation", "pronounced", "play", "audio"} else label
