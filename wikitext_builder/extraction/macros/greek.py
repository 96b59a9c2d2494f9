"""Ancient Greek in Latin letters, as `{{grc-tr}}` writes it."""

from __future__ import annotations

import re
import unicodedata

from wikitext_builder.extraction.macros.call import Call, Macro

GREEK = "α β γ δ ε ζ η θ ι κ λ μ ν ξ ο π ρ σ ς τ φ ψ ω"
LATIN = "a b g d e z ē th i k l m n x o p r s s t ph ps ō"
LETTERS = dict(zip(GREEK.split(), unicodedata.normalize("NFD", LATIN).split(), strict=True))
LETTER = re.compile("([^\u0300-\u036f])([\u0300-\u036f]*)")
ACUTE, GRAVE, CIRCUMFLEX, MACRON, DIAERESIS = "\u0301", "\u0300", "\u0342", "\u0304", "\u0308"
SMOOTH, ROUGH, IOTA = "\u0313", "\u0314", "\u0345"


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


GREEK_MACROS: dict[str, Macro] = dict.fromkeys(("Grc-tr", "Grc-transl"), romanized)
