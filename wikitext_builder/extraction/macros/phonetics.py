"""Pronunciations: IPA, and respelling for English readers."""

from __future__ import annotations

import re
from collections.abc import Mapping

from wikitext_builder.extraction.listing import listed
from wikitext_builder.extraction.macros.call import Call, Macro, around
from wikitext_builder.extraction.macros.language_names import LANGUAGE_NAMES
from wikitext_builder.extraction.markers import GONE

# What {{IPAc-en}} shows for arguments that are not sounds: as Module:IPAc-en/pronunciation of 2015, but with
# the words of 2016 for `pron` and `local`, and with the labels that came later.
LABELS = {
    "lang": "English", "pron": "pronounced", "local": "locally", "uk": "UK", "us": "US",
    "usalso": "US also", "usuk": "US and UK", "alsouk": "also UK", "alsous": "also US",
    "uklang": "UK English", "uslang": "US English", "also": "also", "dc": "District of Columbia",
    "aus": "AU", "ca": "CA", "ie": "IE", "nz": "NZ", "za": "ZA", "ipa": "IPA", "english": "English",
    "audio": "", "small": "", "icon": "", "wpn": "",
}  # fmt: skip
# Aliases of sounds, from Module:IPAc-en/phonemes of 2015-06-19; vowels before r have the length marks of the
# module of 2016.
_ALIASES = """
(d)=ᵈ; dy=dj; dʲ=dj; D=ð; dh=ð; J=dʒ; dZ=dʒ; dzh=dʒ; ʤ=dʒ; g=ɡ; y=j; ɫ=l; ly=lj; lʲ=lj; ny=nj;
nʲ=nj; N=ŋ; ng=ŋ; ŋg=ŋɡ; ngg=ŋɡ; Ng=ŋɡ; T=θ; th=θ; thy=θj; thj=θj; θʲ=θj; ɹ=r; ɻ=r; sy=sj; sʲ=sj;
S=ʃ; sh=ʃ; (t)=ᵗ; ty=tj; tʲ=tj; C=tʃ; ch=tʃ; tS=tʃ; ʧ=tʃ; ʍ=hw; wh=hw; zy=zj; zʲ=zj; Z=ʒ; zh=ʒ;
kh=x; ?=ʔ; A:=ɑː; ah=ɑː; aa=ɑː; ɑ:=ɑː; ä=ɑː; â=ɑː; ar=ɑːr; ɑɹ=ɑːr; är=ɑːr; âr=ɑːr; aːr=ɑːr;
a:r=ɑːr; ɑ:r=ɑːr; ɑːr=ɑːr; Q=ɒ; ŏ=ɒ; Q:=ɒː; ɑ̃=ɒ̃; ɒ~=ɒ̃; ɑ~=ɒ̃; ã=ɒ̃; a~=ɒ̃; Q~=ɒ̃; ŏr=ɒr; Qr=ɒr;
ae=æ; &=æ; {=æ; a:=aː; ai=aɪ; aI=aɪ; ye=aɪ; eye=aɪ; ī=aɪ; aɪr=aɪər; aIr=aɪər; īr=aɪər; aɪə=aɪər;
yr=aɪər; au=aʊ; aU=aʊ; ow=aʊ; aʊr=aʊər; aUr=aʊər; aʊə=aʊər; aur=aʊər; E=ɛ; ĕ=ɛ; Er=ɛr; ĕr=ɛr;
err=ɛr; ei=eɪ; eI=eɪ; ay=eɪ; ā=eɪ; eː=eɪ; e:=eɪ; aer=ær; &r=ær; æɹ=ær; ăr=ær; arr=ær; eir=ɛər;
eIr=ɛər; e@r=ɛər; E@r=ɛər; air=ɛər; ɛɪɹ=ɛər; eɪr=ɛər; eːr=ɛər; e:r=ɛər; ɛəɹ=ɛər; ār=ɛər; ɛə=ɛər;
I=ɪ; ĭ=ɪ; ĭr=ɪr; irr=ɪr; i:=iː; ee=iː; ē=iː; i:r=ɪər; iːr=ɪər; I@r=ɪər; i@r=ɪər; eer=ɪər; ɪəɹ=ɪər;
iːɹ=ɪər; ēr=ɪər; ɪə=ɪər; (i)=ⁱ; (ɪ)=ⁱ; (ə)=ᵊ; (@)=ᵊ; (j)=ʲ; (y)=ʲ; ʸ=ʲ; O=ɔː; O:=ɔː; aw=ɔː; ɔ:=ɔː;
ô=ɔː; Or=ɔːr; awr=ɔːr; ɔɹ=ɔːr; ôr=ɔːr; ɔ(r)=ɔːr; oj=ɔɪ; ɔj=ɔɪ; oi=ɔɪ; oɪ=ɔɪ; ɔi=ɔɪ; OI=ɔɪ; oy=ɔɪ;
ɔɪr=ɔɪər; oyr=ɔɪər; ɔɪə=ɔɪər; o:=oʊ; oː=oʊ; ou=oʊ; oU=oʊ; @u=oʊ; @U=oʊ; oh=oʊ; oe=oʊ; əʊ=oʊ;
əu=oʊ; ɔʊ=oʊ; ɔu=oʊ; ō=oʊ; oUr=ɔər; ohr=ɔər; ɔəɹ=ɔər; ɔʊɹ=ɔər; oʊɹ=ɔər; oʊr=ɔər; oːr=ɔər; o:r=ɔər;
ōr=ɔər; ɔə=ɔər; ɔə(r)=ɔər; U=ʊ; uu=ʊ; ŏŏ=ʊ; uur=ʊr; Ur=ʊr; ŏŏr=ʊr; u:=uː; oo=uː; ōō=uː; u:r=ʊər;
uːr=ʊər; u@r=ʊər; U@r=ʊər; oor=ʊər; ʊəɹ=ʊər; ōōr=ʊər; ʊə=ʊər; ju:=juː; yu:=juː; yew=juː; ew=juː;
ū=juː; yoo=juː; ūr=jʊər; yoor=jʊər; ju:r=jʊər; juːr=jʊər; jʊə=jʊər; V=ʌ; ŭ=ʌ; urr=ʌr; Vr=ʌr;
ʌɹ=ʌr; ŭr=ʌr; 3=ɜːr; 3:=ɜːr; ɝː=ɜːr; ɝ=ɜːr; ɜː=ɜːr; ɜ:=ɜːr; ɜ=ɜːr; 3r=ɜːr; 3:r=ɜːr; @:r=ɜːr;
@:=ɜːr; ɜɹ=ɜːr; ûr=ɜːr; ɜ(r)=ɜːr; schwa=ə; @=ə; ɚ=ər; @r=ər; əɹ=ər; ə(r)=ər; @n=ən; ᵊn=ən; n̩=ən;
o-=ɵ; ou-=ɵ; oʊ-=ɵ; @m=əm; ᵊm=əm; m̩=əm; i-=ɨ; I-=ɨ; ɪ-=ɨ; u-=ʉ; U-=ʉ; ʊ-=ʉ; ju-=jʉ; yu-=jʉ;
jU-=jʉ; yU-=jʉ; jʊ-=jʉ; @l=əl; ᵊl=əl; əɫ=əl; l̩=əl; ·=.; –=-
"""
SOUNDS = {
    **dict(pair.split("=") for pair in listed(_ALIASES)),
    "ɜr": "ɜːr",
    "ɑr": "ɑːr",
    "ɔr": "ɔːr",
    "er": "ər",
    "or": "ɔːr",
    "ir": "ɪər",
    "ur": "ʊər",
    "ɔːr": "ɔːr",
    "tʃ": "tʃ",
    "alpha": "ɑː",
    "'": "ˈ",
    ",": "ˌ",
    ",_": ", ",
    "_": " ",
    "and": "/ & /",
}


OLD_CODES = {"tu": "tr"}  # in names of templates; not a code of a language


def ipa_anywhere(call: Call) -> str | None:
    """`[a]` or `pronounced [a]`."""
    label = {"pron": "pronounced ", "local": "locally ", "ipa": "IPA: "}.get(call.get("2").lower(), "")
    return f"{label}&#91;{call.get('1')}&#93;" if call.get("1") else None


def ipa(call: Call) -> str | None:
    """The transcription of `{{IPA|…}}`, unchanged."""
    values = call.positional()
    if len(values) > 1 and values[0] in LANGUAGE_NAMES and values[1]:  # today's form: language first
        return f"{LANGUAGE_NAMES[values[0]]}: &#91;{values[1]}&#93;"
    return values[0] if values else None


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


# Labels of {{IPA-hns}}; its other labels give "Hindustani pronunciation".
HINDUSTANI = {
    "": "", "IPA": "IPA: ", "lang": "Hindustani: ", "langhi": "Hindi: ", "langur": "Urdu: ",
    "pron": "pronounced ", "hi": "Hindi pronunciation: ", "ur": "Urdu pronunciation: ",
}  # fmt: skip


def ipa_hindustani(call: Call) -> str | None:
    """`Urdu: [paːkɪstaːn]`: Hindi and Urdu in one template."""
    label = HINDUSTANI.get(call.arguments.get("2", "?").strip(), "Hindustani pronunciation: ")
    return f"{label}&#91;{call.get('1')}&#93;" if call.get("1") else None


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


# What {{IPAc-pl}} shows for Polish letters, from the table of Help:IPA/Polish of 2016; others stay.
_POLISH = """
a=a; ą=ɔ̃; b=b; c=t͡s; ć=t͡ɕ; cz=t͡ʂ; d=d; dz=d͡z; dź=d͡ʑ; dż=d͡ʐ; e=ɛ; e1=e; ę=ɛ̃; f=f; g=ɡ; h=x; ch=x; i=i;
j=j; k=k; l=l; ł=w; m=m; n=n; ń=ɲ; N=ŋ; o=ɔ; p=p; r=r; s=s; ś=ɕ; sz=ʂ; t=t; u=u; ó=u; w=v; y=ɨ; z=z; ź=ʑ;
ż=ʐ; rz=ʐ; '=ˈ; ,=ˌ; J=ʲ; I=i̯; U=u̯
"""
POLISH = dict(pair.split("=") for pair in listed(_POLISH)) | {"-": " "}
# Of {{IPAc-fr}} only these are known for certain: its documentation shows `qu|e|b|E|c` as [kebɛk].
FRENCH = {"qu": "k", "c": "k", "E": "ɛ", "r": "ʁ", "g": "ɡ", "N": "ŋ", "-": " ", "_": "‿", "'": "ˈ"}
FRENCH |= {letter: letter for letter in "aeiobdfklmnpstvz"}
DELIMITERS = {
    "--": ("", ""),
    "[-": ("[", ""),
    "-]": ("", "]"),
    "//": ("/", "/"),
    "/-": ("/", ""),
    "-/": ("", "/"),
}


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


def respelled(call: Call) -> str | None:
    """`BUR-lin`."""
    shown = "-".join(value for value in call.positional() if value)
    for mark, written in (("-,_-", ", "), ("-_-", " "), ("_", " "), ("-'-", "'"), ("'-", "'"), ("-'", "'")):
        shown = shown.replace(mark, written)
    return re.sub("-{2,}", "-", shown)


def audio(call: Call) -> str | None:
    """The word that the sound is for; a mark if the label only says that one can listen."""
    label = call.get("2")
    return GONE if label.lower() in {"", "listen", "pronunciation", "pronounced", "play", "audio"} else label


PHONETICS: dict[str, Macro] = {
    "IPAc-pl": spelled(POLISH),
    "IPAc-fr": spelled(FRENCH),
    **{f"IPA-{code}": ipa_of_language for code in LANGUAGE_NAMES if code != "en"},
    **dict.fromkeys(listed("IPA; IPA text; IPA2; IPA3; IPAtext"), ipa),
    **dict.fromkeys(listed("IPA link; IPAlink; IPA-link; IPA-alink"), lambda call: call.get("2", "1")),
    **dict.fromkeys(listed("IPAblink; IPA-blink; IPA blink"), around("&#91;", "&#93;", "2", "1")),
    **dict.fromkeys(listed("IPAslink; IPA slink"), around("/", "/", "2", "1")),
    "IPAc-en": ipa_english,
    "IPA-en": ipa,
    "IPA-eng": ipa,
    "IPAEng": around("/", "/"),
    "IPAen": around("/", "/"),
    "IPA-all": ipa_anywhere,
    "Pron-en": around("/", "/"),
    "Pronounced": around("/", "/"),
    "IPA-tu": ipa_of_language,
    "IPA-lzz": lambda call: f"IPA: &#91;{call.get('1')}&#93;",
    "IPA-esdia": around("locally &#91;", "&#93;"),
    **dict.fromkeys(["IPA-hns", "IPA-ur"], ipa_hindustani),  # one is a redirect to the other since 2009
    "IPAc-cmn": lambda _call: None,
    **dict.fromkeys(listed("Respell; Pronunciation respelling; Pron respell"), respelled),
    "USdict": respelled,
    "Pronunciation-": respelled,
    "Audio-IPA": lambda call: call.get("2"),
    "Audio": audio,
    "AudioIPA": lambda call: call.get("2"),
    "IPA audio link": lambda call: call.get("2"),
}
