"""Text in other languages, with the name of the language if the template shows it."""

from __future__ import annotations

from wikitext_builder.extraction.listing import listed
from wikitext_builder.extraction.macros.call import Call, Macro, argument, first, text
from wikitext_builder.extraction.macros.language_names import LANGUAGE_NAMES
from wikitext_builder.extraction.markers import GONE


def lang(call: Call) -> str | None:
    """The text of `{{lang|code|text}}`."""
    return call.get("2", "text")


def named_language(name: str, value: str, call: Call) -> str | None:
    """`French: chat, translit. X, lit. 'cat'`."""
    shown = call.get("label") if "label" in call.arguments else name
    label = "" if call.get("links") == "none" or shown in {"none", "-"} else f"{shown}: "
    pieces = [value] if value else []
    if translit := call.get("translit", "2x"):
        pieces.append(translit)
    if literal := call.get("lit", "translation"):
        pieces.append(f"lit. '{literal}'")
    return label + ", ".join(pieces) if pieces else None


def lang_code_template(call: Call) -> str | None:
    """`{{lang-fr|chat}}`: the language from the name of the template."""
    code = call.name.partition("-")[2]
    name = LANGUAGE_NAMES.get(code)
    if name is None:
        return None
    result = named_language(name, call.get("1"), call)
    second, third = call.get("2"), call.get("3")
    if result is None:
        return GONE  # there is no text
    if second and not call.get("translit"):
        result += f", {second}"
    return f"{result}, {third}" if third else result


def langx(call: Call) -> str | None:
    """`{{langx|fr|chat}}`: the language from the first argument."""
    name = LANGUAGE_NAMES.get(call.get("1"))
    if name is None:
        return None
    result = named_language(name, call.get("2", "text"), call)
    return f"{result}, {call.get('3')}" if result and call.get("3") else result


def transliteration(call: Call) -> str | None:
    """The text of `{{transl|language|text}}` or `{{transl|language|standard|text}}`."""
    words = call.arguments.get("3", call.arguments.get("2"))
    return words.strip() if words is not None else None


def nihongo(call: Call) -> str | None:
    """`English (日本語, Rōmaji, extra)`; the English name, or else the rōmaji, comes first."""
    english, kanji, romaji, extra, extra2 = (call.get(str(n)) for n in range(1, 6))
    extra, extra2 = call.get("extra", "4"), call.get("extra2", "5")
    first_name = english or romaji
    inside = ", ".join(value for value in (kanji, romaji if english else "", extra) if value)
    result = f"{first_name} ({inside})" if inside and first_name else first_name or inside
    return f"{result} {extra2}".strip()


def nihongo_romaji_first(call: Call) -> str | None:
    """`Rōmaji (日本語, English)` of nihongo3."""
    english, kanji, romaji, extra = (call.get(str(n)) for n in range(1, 5))
    inside = ", ".join(value for value in (kanji, english, extra) if value)
    return f"{romaji or english} ({inside})" if inside else romaji


def nihongo_bare(call: Call) -> str | None:
    """`English (日本語, rōmaji)` of nihongo4."""
    english, kanji, romaji, extra = (call.get(str(n)) for n in range(1, 5))
    inside = ", ".join(value for value in (kanji, romaji, extra) if value)
    return f"{english} ({inside})" if inside and english else english or inside


# Parameters of {{zh}} in the order of the template, with their labels.
ZH_LABELS = {
    "c": "Chinese", "t": "traditional Chinese", "s": "simplified Chinese", "hp": "Hanyu Pinyin",
    "p": "pinyin", "tp": "Tongyong Pinyin", "w": "Wade–Giles", "j": "Jyutping", "cy": "Cantonese Yale",
    "sl": "Sidney Lau", "poj": "Pe̍h-ōe-jī", "tl": "Tâi-lô", "zhu": "Zhuyin Fuhao", "l": "literally",
}  # fmt: skip


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


# Codes in names of old templates that are not codes of languages, and long codes.
OLD_CODES = {
    "ell": "Greek", "gr": "Greek", "cz": "Czech", "brh": "Brahui", "ady": "Adyghe", "lzz": "Laz",
    "hbo": "Biblical Hebrew", "sa2": "Sanskrit", "he-n": "Hebrew", "jp": "Japanese", "per": "Persian",
    "dk": "Danish", "ukr": "Ukrainian", "heb": "Hebrew", "ru-Latn": "Russian",
}  # fmt: skip


def named_as(name: str) -> Macro:
    """The text of a template whose name does not contain the code of the language."""
    return lambda call: named_language(name, call.get("1"), call)


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


def hebrew_name(call: Call) -> str | None:
    """`Hebrew: אַחְאָב, Modern Aẖ'av Tiberian ʼAḥʼāḇ ; "Brother of the father"`."""
    hebrew, modern, tiberian, meaning = (call.get(str(number)) for number in range(1, 5))
    return _hebrew([hebrew], [modern], [tiberian], meaning)


def hebrew_name_2(call: Call) -> str | None:
    """The same with two forms of each."""
    values = [call.get(str(number)) for number in range(1, 8)]
    return _hebrew(values[:2], values[2:4], values[4:6], values[6])


def _hebrew(hebrew: list[str], modern: list[str], tiberian: list[str], meaning: str) -> str:
    shown = [
        " / ".join(dict.fromkeys(form for form in forms if form)) for forms in (hebrew, modern, tiberian)
    ]
    labelled = f"Hebrew: {shown[0]}"
    labelled += f", Modern {shown[1]}" if shown[1] else ""
    labelled += f" Tiberian {shown[2]}" if shown[2] else ""
    return f"{labelled}; {meaning}" if meaning else labelled


def korean(call: Call) -> str | None:
    """`Korean: 한국; Hanja: 韓國; RR: …; MR: …`."""
    labels = {"hangul": "Korean", "hanja": "Hanja", "rr": "RR", "mr": "MR", "lk": ""}
    pieces = [f"{label}: {call.get(key)}" for key, label in labels.items() if label and call.get(key)]
    return "; ".join(pieces) or None


def literally(call: Call) -> str | None:
    """`lit. 'cat'`."""
    values = [f"'{value}'" for value in call.positional() if value]
    return f"lit. {' or '.join(values)}" if values else "lit."


# Parameters of {{CJKV}} with their labels, in the order of the template.
CJKV_LABELS = {
    "c": "Chinese", "t": "traditional Chinese", "s": "simplified Chinese", "p": "pinyin", "w": "Wade–Giles",
    "j": "Japanese", "kanji": "Kanji", "kana": "Kana", "r": "Rōmaji", "k": "Korean", "hangul": "Hangul",
    "hanja": "Hanja", "rr": "Revised Romanization", "mr": "McCune–Reischauer", "v": "Vietnamese",
    "q": "Quốc ngữ", "hn": "Hán-Nôm", "l": "literally",
}  # fmt: skip


def cjkv(call: Call) -> str | None:
    """`traditional Chinese: 道; Hangul: 도`: the same word in the languages that write it alike."""
    return (
        "; ".join(f"{label}: {call.get(key)}" for key, label in CJKV_LABELS.items() if call.get(key)) or None
    )


def burmese_name(call: Call) -> str:
    """A name in Burmese letters and in Latin ones: `Burmese: …; MLCTS: …`."""
    pairs = (("Burmese", call.get("MY", "1")), ("MLCTS", call.get("MLCTS", "2")))
    return "; ".join(f"{name}: {value}" for name, value in pairs if value)


def language_icon(call: Call) -> str | None:
    """`(German)`: the language of a linked page, by the name of the template or the argument."""
    code = call.get("1") or call.name.partition(" ")[0].lower()
    return f"({LANGUAGE_NAMES.get(code, code)})"


def in_languages(call: Call) -> str | None:
    """`(in German and French)`."""
    names = [LANGUAGE_NAMES.get(code, code) for code in call.positional() if code]
    return f"(in {' and '.join(filter(None, (', '.join(names[:-1]), names[-1])))})" if names else None


def native_name(call: Call) -> str | None:
    """`Roma (Italian)`: a name and its language."""
    name = LANGUAGE_NAMES.get(call.get("1"))
    bare = call.get("paren", "icon") in {"omit", "off", "no"} or call.get("parensize") == "none"
    return call.get("2") if bare or not name else f"{call.get('2')} ({name})"


LANGUAGE_MACROS: dict[str, Macro] = {
    **{f"Lang-{code}": lang_code_template for code in LANGUAGE_NAMES},
    "Lang": lang,
    "Lang-x": langx,
    "Langx": langx,
    "Lang2": lang,
    "Lang2iso": lang,
    **dict.fromkeys(listed("Wikt-lang; Wiktlang"), lambda call: call.get("3", "2")),
    "MYname": burmese_name,
    "M": argument("3", "2"),
    "Langr": lang,
    "Lang-grc-gre": lambda call: named_language("Greek", call.get("1"), call),
    "Lang-rus": lambda call: _russian(call),
    **dict.fromkeys(listed("Transl; Transliteration; Tlit; Xlit; Translit"), transliteration),
    **dict.fromkeys(listed("Nihongo; Nihongo core"), nihongo),
    "Nihongo2": first,
    "Nihongo3": nihongo_romaji_first,
    "Nihongo4": nihongo_bare,
    "Nihongo krt": nihongo_romaji_first,
    "Nihongo foot": first,
    "Jpn": nihongo,
    "Ruby": lambda call: f"{call.get('1')} ({call.get('2')})",
    "Ruby-ja": lambda call: f"{call.get('1')} ({call.get('2')})",
    "Zh": zh,
    "Lang-zh": zh,
    **{f"Lang-{old}": named_as(name) for old, name in OLD_CODES.items()},
    "Ety": etymology,
    "Hebrew Name": hebrew_name,
    "Hebrew Name 1": hebrew_name,
    "Hebrew Name 2": hebrew_name_2,
    "Zh-cp": lambda call: f"Chinese: {call.get('c')}; pinyin: {call.get('p')}",
    "Zh-c": first,
    "Korean": korean,
    "Korean/auto": korean,
    "Ko-hhrm": korean,
    **dict.fromkeys(listed("Literal translation; Lit; Literal; Lit.; Literally"), literally),
    "Native name": native_name,
    "Native phrase": native_name,
    "Gloss": lambda call: f"'{call.get('1')}'",
    "Translation": lambda call: f"transl. {call.get('1')}",
    "Trans": lambda call: f"transl. {call.get('1')}",
    "Translit-": first,
    "Linktext": lambda call: "".join(call.positional()),
    "Lang-en-GB": lambda call: named_language("British English", call.get("1"), call),
    "Lang-en-US": lambda call: named_language("American English", call.get("1"), call),
    **dict.fromkeys(
        listed(
            """
IAST; IAST3; ISO 15919; Sans; ArabDIN; DIN; ALA-LC; Script/Arabic; Script/Hebrew; Script/Nastaliq;
Script/Greek; Script/Cyrillic; Hebrew; Hebr; Semxlit; Aleph; Nastaliq; Urdu; Script/Coptic;
Script/Armenian; Coptic; Script/Slavonic; Unicode fonts; Cuneiform; Phnx; Runic; GreekUnicode;
Greek; Asiantitle; Sanskrit; Arabic; Ar; Ivrit; Ethi; Armn; Tamil; ISOtranslit; Egyptian;
UniMongol; Nq; Mongolian; ManchuSibeUnicode; MongolUnicode; PersianText; Bold Persian
"""
        ),
        first,
    ),
    "CJKV": cjkv,
    **{f"{code.capitalize()} icon": language_icon for code in LANGUAGE_NAMES if len(code) == 2},
    **dict.fromkeys(listed("Language icon; Link language; Languageicon"), language_icon),
    **dict.fromkeys(listed("In lang; In language"), in_languages),
    "My": first,
    "Bo": first,
    "Okurigana": first,
    "Etymology-": text(""),
    "Lang-sh-Cyrl": lambda call: named_language("Serbo-Croatian Cyrillic", call.get("1"), call),
    "Lang-sh-Latn": lambda call: named_language("Serbo-Croatian Latin", call.get("1"), call),
    "Lang-sr-Cyrl": lambda call: named_language("Serbian Cyrillic", call.get("1"), call),
    "Lang-sr-Latn": lambda call: named_language("Serbian Latin", call.get("1"), call),
}


def _russian(call: Call) -> str | None:
    """`Russian: текст, tr. tekst; IPA: [ˈtʲekst]; …`."""
    pieces = [f"Russian: {call.get('1')}"]
    if call.get("2"):
        pieces[0] += f", tr. {call.get('2')}"
    if call.get("p"):
        pieces.append(f"IPA: &#91;{call.get('p')}&#93;")
    if call.get("3"):
        pieces.append(call.get("3"))
    return "; ".join(pieces)
