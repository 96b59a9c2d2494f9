"""Pronunciations: IPA, and respelling for English readers."""

from __future__ import annotations

from wikitext_builder.extract.listing import listed
from wikitext_builder.extract.macros.call import Call, Macro, around
from wikitext_builder.extract.macros.language_names import LANGUAGE_NAMES
from wikitext_builder.extract.markers import GONE

# What {{IPAc-en}} shows for its arguments that are not sounds, from Module:IPAc-en/pronunciation of 2015.
LABELS = {
    "lang": "English", "pron": "pronounced", "local": "locally", "uk": "UK", "us": "US",
    "usalso": "US also", "usuk": "US and UK", "alsouk": "also UK", "alsous": "also US",
    "uklang": "UK English", "uslang": "US English", "also": "also", "dc": "District of Columbia",
    "audio": "", "small": "", "i": "", "icon": "", "wpn": "",
}  # fmt: skip
# Letters that it takes for sounds, from Module:IPAc-en/phonemes: only those whose sound is written otherwise.
SOUNDS = {
    "'": "ˈ", ",": "ˌ", "-": "", ".": ".", "_": " ", " ": " ", "g": "ɡ", "r": "r", "y": "j", "sh": "ʃ",
    "zh": "ʒ", "ch": "tʃ", "tS": "tʃ", "dZ": "dʒ", "j\\": "ʝ", "th": "θ", "dh": "ð", "ng": "ŋ", "N": "ŋ",
    "S": "ʃ", "Z": "ʒ", "T": "θ", "D": "ð", "@": "ə", "V": "ʌ", "I": "ɪ", "E": "ɛ", "U": "ʊ", "{": "æ",
    "Q": "ɒ", "A:": "ɑː", "O:": "ɔː", "i:": "iː", "u:": "uː", "3:": "ɜːr", "er": "ər", "ai": "aɪ",
    "au": "aʊ", "oi": "ɔɪ", "ei": "eɪ", "oU": "oʊ", "ou": "oʊ", "ae": "æ", "tʃ": "tʃ", "dʒ": "dʒ",
    "alpha": "ɑː", "ar": "ɑːr", "or": "ɔːr", "ee": "iː", "oo": "uː", "ʧ": "tʃ", "ʤ": "dʒ", "hw": "hw",
    "O": "ɒ", "3r": "ɜːr", "eir": "ɛər", "ir": "ɪər", "ur": "ʊər", "aɪər": "aɪər", "aʊər": "aʊər",
}  # fmt: skip


def ipa(call: Call) -> str | None:
    """The transcription of `{{IPA|…}}`, as it is."""
    values = call.positional()
    if len(values) > 1 and values[0] in LANGUAGE_NAMES and values[1]:  # the form of today: language first
        return f"{LANGUAGE_NAMES[values[0]]}: &#91;{values[1]}&#93;"
    return values[0] if values else None


def ipa_of_language(call: Call) -> str | None:
    """`German: [bɛʁˈliːn]`: the language by the template's name."""
    name = LANGUAGE_NAMES.get(call.name.partition("-")[2])
    if name is None or not call.get("1"):
        return None
    transcription = f"&#91;{call.get('1')}&#93;"
    label = call.get("2").lower()
    if "2" not in call.arguments:
        return f"{name} pronunciation: {transcription}"
    known = {
        "lang": f"{name}: ",
        "pron": "pronounced ",
        "": "",
        "local": "locally ",
        "ipa": "IPA: ",
        "generic": "",
    }
    return known.get(label, f"{name} pronunciation: ") + transcription


def ipa_english(call: Call) -> str | None:
    """`/bɜːrˈlɪn/`, with the words for where it is said so."""
    labels: list[str] = []
    sounds: list[str] = []
    for raw in _all_positional(call):
        value = raw.strip()
        if value.lower() in LABELS:
            labels.append(LABELS[value.lower()])
        elif value:
            sounds.append(SOUNDS.get(value, value))
    label = " ".join(word for word in labels if word)
    prefix = f"{label} " if label else ""
    return f"{prefix}/{''.join(sounds)}/" if sounds else None


def _all_positional(call: Call) -> list[str]:
    return call.positional()


def respelled(call: Call) -> str | None:
    """`BUR-lin`."""
    return "-".join(value for value in call.positional() if value).replace("-_-", " ").replace("_", " ")


def audio(call: Call) -> str | None:
    """The word that the sound is of; nothing where the link says only that one can listen."""
    label = call.get("2")
    return GONE if label.lower() in {"", "listen", "pronunciation", "pronounced", "play", "audio"} else label


PHONETICS: dict[str, Macro] = {
    **dict.fromkeys(listed("IPA; IPA-all; IPA text; IPA2; IPA3; IPAtext"), ipa),
    **dict.fromkeys(listed("IPA link; IPAlink; IPA-link; IPA-alink"), lambda call: call.get("2", "1")),
    **dict.fromkeys(listed("IPAblink; IPA-blink; IPA blink"), around("&#91;", "&#93;", "2", "1")),
    **dict.fromkeys(listed("IPAslink; IPA slink"), around("/", "/", "2", "1")),
    "IPAc-en": ipa_english,
    "IPA-en": ipa,
    "IPA-eng": ipa,
    "IPAEng": around("/", "/"),
    "IPAen": around("/", "/"),
    "IPA-all": around("&#91;", "&#93;"),
    "Pron-en": around("/", "/"),
    "Pronounced": around("/", "/"),
    **{f"IPA-{code}": ipa_of_language for code in LANGUAGE_NAMES if code != "en"},
    "IPA-hns": lambda call: f"Hindustani pronunciation: &#91;{call.get('1')}&#93;",
    "IPA-sh": lambda call: f"Serbo-Croatian pronunciation: &#91;{call.get('1')}&#93;",
    "IPAc-cmn": lambda _call: None,
    **dict.fromkeys(listed("Respell; Pronunciation respelling; Pron respell"), respelled),
    "USdict": respelled,
    "Pronunciation-": respelled,
    "Audio-IPA": lambda call: call.get("2"),
    "Audio": audio,
    "AudioIPA": lambda call: call.get("2"),
    "IPA audio link": lambda call: call.get("2"),
}
