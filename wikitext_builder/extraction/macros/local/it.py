"""The Italian Wikipedia.

From memory, not verified: no source for the text of these templates was found.
"""

from __future__ import annotations

from wikitext_builder.extraction.listing import listed
from wikitext_builder.extraction.macros.call import Call, Macro, argument, around, first, text
from wikitext_builder.extraction.macros.local.table import (
    LocalTemplates,
    dated,
    languages,
    named,
    paragraph,
    quantity,
    quoted,
    removed,
)

NAMES = named(
    """
ar=arabo; bg=bulgaro; ca=catalano; cs=ceco; da=danese; de=tedesco; el=greco; en=inglese;
es=spagnolo; fa=persiano; fi=finlandese; fr=francese; grc=greco antico; he=ebraico; hr=croato;
hu=ungherese; it=italiano; ja=giapponese; ko=coreano; la=latino; nl=olandese; no=norvegese;
pl=polacco; pt=portoghese; ro=rumeno; ru=russo; sa=sanscrito; sl=sloveno; sr=serbo; sv=svedese;
tr=turco; uk=ucraino; zh=cinese
"""
)
MONTHS = listed(
    "gennaio; febbraio; marzo; aprile; maggio; giugno; luglio; agosto; settembre; ottobre; novembre; dicembre"
)


def biography(call: Call) -> str | None:
    """`Dante Alighieri (Firenze, 1265 – Ravenna, 1321) è stato un poeta italiano`: the lead of a life."""
    name = (
        call.get("PreData", "Nome") if not call.get("Nome") else f"{call.get('Nome')} {call.get('Cognome')}"
    )
    work = [
        call.get("Attività"),
        call.get("Attività2"),
        call.get("Attività3"),
        call.get("AttivitàAltre").lstrip(", "),
    ]
    done = [value for value in work if value]
    if not name.strip() or not done:
        return None
    title = f"{call.get('Titolo')} {name}".strip()
    works = ", ".join(done[:-1]) + (" e " if len(done) > 1 else "") + done[-1]
    woman = call.get("Sesso").upper() == "F"
    verb = ("è stata" if woman else "è stato") if call.get("AnnoMorte") else "è"
    one = _article(done[0], woman=woman)
    nation = call.get("Nazionalità") + call.get("PostNazionalità")
    return f"{title}{_life(call)} {verb} {one}{works} {nation}".replace(" ,", ",").strip()


def _article(word: str, *, woman: bool) -> str:
    vowel = word[:1].lower() in "aeiou"
    if woman:
        return "un'" if vowel else "una "
    hard = word[:1].lower() in "zxy" or word[:2].lower() in {"gn", "ps", "pn"}
    impure = word[:1].lower() == "s" and word[1:2].lower() not in "aeiou"
    return "uno " if hard or impure else "un "


def _life(call: Call) -> str:
    birth = ", ".join(
        piece
        for piece in (
            call.get("LuogoNascita"),
            f"{call.get('GiornoMeseNascita')} {call.get('AnnoNascita')}".strip(),
        )
        if piece
    )
    death = ", ".join(
        piece
        for piece in (
            call.get("LuogoMorte"),
            f"{call.get('GiornoMeseMorte')} {call.get('AnnoMorte')}".strip(),
        )
        if piece
    )
    return f" ({' – '.join(piece for piece in (birth, death) if piece)})" if birth or death else ""


def measure(call: Call) -> str | None:
    """`10 km` of `{{M|10|k|m}}`: value, prefix and unit, or value and unit."""
    values = call.positional()
    value, unit = (values or [""])[0], "".join(values[1:3])
    exponent = f" × 10{call.get('e').replace('-', '−')}" if call.get("e") else ""
    return f"{value}{exponent} {call.get('ul', 'u') or unit}".strip() if value else None


MACROS: dict[str, Macro] = {
    **languages(NAMES, "in {name}: {text}"),
    **languages(NAMES, "in {name}: {text}", template="Lingua-{code}"),
    "Lang": argument("2"),
    "Bio": biography,
    "M": measure,
    "Data": dated(MONTHS, "{day} {month} {year}"),
    **dict.fromkeys(listed("Formatnum; Unità"), quantity(group=" ", point=",", least=5)),
    **dict.fromkeys(listed("Citazione; Quote"), paragraph("1", "testo")),
    "Virgolette": quoted("«", "»"),
    **dict.fromkeys(
        listed(
            "Senza fonte; Chiarire; Tutto attaccato; TA; Nowrap; Maiuscoletto; Unicode; Citazione necessaria"
        ),
        first,
    ),
    **dict.fromkeys(listed("IPA; AFI"), around("/", "/")),
    "Simbolo": text(""),
    "Abbr": first,
    "AC": text("a.C."),
    "DC": text("d.C."),
    "Tooltip": first,
    "Euro": text("€"),
    "Segnale": first,
}
REMOVED = removed(
    """
Vedi anche; Torna a; Nota disambigua; Disambigua; Cita; Cita libro; Cita web; Cita news;
Cita pubblicazione; Cita video; Cita testo; S; Stub*; Portale*; Controllo di autorità;
Interprogetto*; Infobox*; Carica pubblica; Sportivo; Artista musicale; Album; Film; Fumetto*;
Libro; Divisione amministrativa; Città; Stato; Edificio*; Immagine multipla; Immagine grande; NN;
F; P; W; C; E; A; R; T; U; Organizzare*; Vetrina*; Voce di qualità; Collegamenti esterni; Dmoz;
En; De; Fr; Es; Ru; Ja; Nota; Note; Tassobox; Bandiera; Thumb*; Clear; Avvisounicode;
Box successione*; Navbox*; Coord; Finestra*; Calendario; Legenda*; Cassetto*; MultiCol; ColBreak;
EndMultiCol; Div col; Div col end; Treccani
"""
)
TEMPLATES = LocalTemplates(macros=MACROS, removed=REMOVED)
