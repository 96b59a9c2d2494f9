"""Pronunciations: IPA, and respelling for English readers."""

from __future__ import annotations

import re
from collections.abc import Mapping

from wikitext_builder.extraction.macros.call import Call, Macro, macro
from wikitext_builder.extraction.macros.tables import LANGUAGE_NAMES, lookup
from wikitext_builder.extraction.markers import GONE

LABELS = lookup("ipa label")
SOUNDS = lookup("ipa sound")
OWN = {"IPA-all", "IPA-en", "IPA-eng", "IPA-hns", "IPA-ur", "IPA-lzz"}  # not named by their code alone
OLD_CODES = {"tu": "tr"}  # in names of templates; not a code of a language
# Labels of {{IPA-hns}}; its other labels give "Hindustani pronunciation".
HINDUSTANI = {
    "": "", "IPA": "IPA: ", "lang": "Hindustani: ", "langhi": "Hindi: ", "langur": "Urdu: ",
    "pron": "pronounced ", "hi": "Hindi pronunciation: ", "ur": "Urdu pronunciation: ",
}  # fmt: skip
DELIMITERS = {
    "--": ("", ""),
    "[-": ("[", ""),
    "-]": ("", "]"),
    "//": ("/", "/"),
    "/-": ("/", ""),
    "-/": ("", "/"),
}


@macro("IPA-all")
def ipa_anywhere(call: Call) -> str | None:
    """`[a]` or `pronounced [a]`."""
    label = {"pron": "pronounced ", "local": "locally ", "ipa": "IPA: "}.get(call.get("2").lower(), "")
    return f"{label}&#91;{call.get('1')}&#93;" if call.get("1") else None


@macro("IPA text", shared=True)
@macro("IPA", "IPA-en")
def ipa(call: Call) -> str | None:
    """The transcription of `{{IPA|…}}`, unchanged."""
    values = call.positional()
    if len(values) > 1 and values[0] in LANGUAGE_NAMES and values[1]:  # today's form: language first
        return f"{LANGUAGE_NAMES[values[0]]}: &#91;{values[1]}&#93;"
    return values[0] if values else None


@macro(*(f"IPA-{code}" for code in [*LANGUAGE_NAMES, *OLD_CODES] if f"IPA-{code}" not in OWN))
def ipa_of_language(call: Call) -> str | None:
    """`German: [bɛʁˈliːn]`: the language from the name of the template."""
    code = call.name.partition("-")[2]
    name = LANGUAGE_NAMES.get(OLD_CODES.get(code, code))
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
        elif value:
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
        before, after = DELIMITERS.get(mark, ("[", "]"))
        rest = values[2 if audio else mark in DELIMITERS :]
        shown = [sounds.get(value, None if value.isascii() else value) for value in rest]
        return None if not shown or None in shown else f"{before}{''.join(map(str, shown))}{after}"

    return macro


macro("IPAc-pl")(spelled(lookup("ipa polish")))
macro("IPAc-fr")(spelled(lookup("ipa french")))


@macro("Respell", "USdict", "Pronunciation-")
def respelled(call: Call) -> str | None:
    """`BUR-lin`."""
    shown = "-".join(value for value in call.positional() if value)
    for mark, written in (("-,_-", ", "), ("-_-", " "), ("_", " "), ("-'-", "'"), ("'-", "'"), ("-'", "'")):
        shown = shown.replace(mark, written)
    return re.sub("-{2,}", "-", shown)


@macro("Audio")
def audio(call: Call) -> str | None:
    """The word that the sound is for; a mark if the label only says that one can listen."""
    label = call.get("2")
    return GONE if label.lower() in {"", "listen", "pronunciation", "pronounced", "play", "audio"} else label


@macro("IPAc-cmn")
def unknown(_call: Call) -> str | None:
    """Mandarin: its table of sounds is not known."""
    return None
