"""Text in other languages, with the name of the language if the template shows it; pronunciations."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Mapping

from wikitext_builder.extraction.macros import lookup, read_table
from wikitext_builder.extraction.macros.call import Call, Macro, changed, macro, series
from wikitext_builder.extraction.markers import GONE

# English names of languages by their codes, as {{lang-…}} shows them; and those of Module:Lang by tags.
LANGUAGES = read_table("languages")
LANGUAGE_NAMES: dict[str, str] = {code: name for code, name, _today in LANGUAGES}
NAMES_TODAY = {code.lower(): today or name for code, name, today in LANGUAGES}
TAG = re.compile("([a-z]{2,3})(?:-[A-Z][a-z]{3})?(?:-(?:[A-Z]{2}|[0-9]{3}))?", re.IGNORECASE)
ZH_LABELS = lookup("zh label")
NAMED = lookup("language template")
OWN = {"Lang-zh", "Lang-rus"}  # not named by their code alone
LETTERS = {greek: unicodedata.normalize("NFD", latin) for greek, latin in lookup("greek letter").items()}
LETTER = re.compile("([^\u0300-\u036f])([\u0300-\u036f]*)")


ACUTE, GRAVE, CIRCUMFLEX, MACRON, DIAERESIS = "\u0301", "\u0300", "\u0342", "\u0304", "\u0308"
SMOOTH, ROUGH, IOTA = "\u0313", "\u0314", "\u0345"


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


@macro("Ety")
def etymology(call: Call) -> str | None:
    """`from Greek ἄλλος, meaning 'other', and τρόπος, meaning 'manner'`: words and glosses alternate."""
    values = [*call.positional(), ""]
    name = {"gre": "Greek", "la": "Latin", "gr": "Greek"}.get(values[0], LANGUAGE_NAMES.get(values[0]))
    if name is None:
        return None
    rest = [*values[1:], ""]
    words = []
    for word, gloss in zip(rest[::3] if len(rest) > 3 else rest[:1], rest[1::3], strict=False):
        meaning = f"meaning '{gloss}'" if gloss else ""
        words.append(", ".join(piece for piece in (word, meaning) if piece))
    shown = ", and ".join(word for word in words if word)
    return f"from {name}, {shown}" if not rest[0] else f"from {name} {shown}".strip()


@macro("Hebrew Name", "Hebrew Name 2")
def hebrew_name(call: Call) -> str | None:
    """`Hebrew: אַחְאָב, Modern Aẖ'av Tiberian ʼAḥʼāḇ ; "Brother of the father"`; the second has two of each."""
    forms = 2 if call.name.endswith("2") else 1
    *values, meaning = call.numbered(3 * forms + 1)
    names = (values[start : start + forms] for start in range(0, 3 * forms, forms))
    hebrew, modern, tiberian = (" / ".join(dict.fromkeys(filter(None, one))) for one in names)
    labelled = f"Hebrew: {hebrew}" + (f", Modern {modern}" if modern else "")
    labelled += f" Tiberian {tiberian}" if tiberian else ""
    return f"{labelled}; {meaning}" if meaning else labelled


def labelled(labels: Mapping[str, str]) -> Macro:
    """Arguments, each after its label: `Korean: 한국; Hanja: 韓國`, `traditional Chinese: 道; Hangul: 도`."""

    def macro(call: Call) -> str | None:
        pieces = [f"{label}: {call.get(key)}" for key, label in labels.items() if call.get(key)]
        return "; ".join(pieces) or None

    return macro


macro("Korean")(labelled(lookup("korean label")))
macro("CJKV")(labelled(lookup("cjkv label")))


@macro(*(f"{code.capitalize()} icon" for code in LANGUAGE_NAMES if len(code) == 2), "Language icon")
def language_icon(call: Call) -> str | None:
    """`(German)`: the language of a linked page, by the name of the template or the argument."""
    code = call.get("1") or call.name.partition(" ")[0].lower()
    return f"({LANGUAGE_NAMES.get(code, code)})"


@macro("In lang")
def in_languages(call: Call) -> str | None:
    """`(in German and French)`."""
    names = [LANGUAGE_NAMES.get(code, code) for code in call.given()]
    return f"(in {series(names)})" if names else None


@macro("Grc-tr")
def romanized(call: Call) -> str | None:
    """`Ártemis` of `Ἄρτεμις`; None with a chi or a single upsilon, which are written in more than one way."""
    letters = LETTER.findall(unicodedata.normalize("NFD", call.get("1")))
    latin: list[str] = []
    for place, (letter, marks) in enumerate(letters):
        before = letters[place - 1][0].lower() if place else ""
        after = letters[place + 1][0] if place + 1 < len(letters) else ""
        second = before in set("αεηο") and letter in "ιυ" and DIAERESIS not in marks
        written = _written(letter.lower(), second=second, nasal=after in set("γκξχ"))
        if written is None or IOTA in marks:
            return None
        if CIRCUMFLEX in marks:
            written = written.replace(MACRON, "")
        written += marks.replace(SMOOTH, "").replace(ROUGH, "").replace(CIRCUMFLEX, "\u0302")
        latin.append(written.capitalize() if letter.isupper() else written)
        if ROUGH in marks and letter in "ρΡ":
            latin[-1] += "h"
        elif ROUGH in marks:
            first = -2 if second else -1  # of a diphthong
            latin[first] = "H" + latin[first].lower() if latin[first][0].isupper() else "h" + latin[first]
    return unicodedata.normalize("NFC", "".join(latin)) or None


def _written(letter: str, *, second: bool, nasal: bool) -> str | None:
    if letter == "υ":
        return "u" if second else None
    if letter == "γ" and nasal:
        return "n"
    return LETTERS.get(letter, None if letter.isalpha() else letter)


# --- pronunciations: IPA, and respelling for English readers

LABELS = lookup("ipa label")
SOUNDS = lookup("ipa sound")
SOUND_FILE = re.compile(r"\.(?:ogg|oga|wav|mp3|flac)$", re.IGNORECASE)
OWN_IPA = {"IPA-all", "IPA-en", "IPA-eng", "IPA-hns", "IPA-ur", "IPA-lzz"}  # not named by their code alone
OLD_CODES = {"tu": "tr"}  # in names of templates; not a code of a language
PLACES_OF_IPA = lookup("ipa place")
HINDUSTANI = lookup("hindustani label")
DELIMITERS = frozenset(["--", "[-", "-]", "//", "/-", "-/"])  # before and after; - is none


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


@macro("IPA-hns")
def ipa_hindustani(call: Call) -> str | None:
    """`Urdu: [paːkɪstaːn]`: Hindi and Urdu in one template."""
    label = HINDUSTANI.get(call.arguments.get("2", "?").strip(), "Hindustani pronunciation: ")
    return f"{label}&#91;{call.get('1')}&#93;" if call.get("1") else None


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


def spelled(sounds: Mapping[str, str]) -> Macro:
    """A pronunciation from letters of a language: `[kɔˈʐɨpski]`; None if a letter is not known."""

    def macro(call: Call) -> str | None:
        values = call.positional()
        mark = values[0] if values else ""
        audio = mark.endswith("AUD")  # then a file follows
        mark = mark.removesuffix("AUD")
        before, after = (one.strip("-") for one in mark) if mark in DELIMITERS else "[]"
        rest = values[2 if audio else mark in DELIMITERS :]
        shown = [sounds.get(value, None if value.isascii() else value) for value in rest]
        return None if not shown or None in shown else f"{before}{''.join(map(str, shown))}{after}"

    return macro


macro("IPAc-pl")(spelled(lookup("ipa polish")))
macro("IPAc-fr")(spelled(lookup("ipa french")))


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
