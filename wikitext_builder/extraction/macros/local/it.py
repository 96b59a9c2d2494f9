"""The Italian Wikipedia.

From memory, not verified: no source for the text of these templates was found.
"""

from __future__ import annotations

from wikitext_builder.extraction.listing import listed
from wikitext_builder.extraction.macros.call import Call, Macro, argument, first, text
from wikitext_builder.extraction.macros.local.names import language_names
from wikitext_builder.extraction.macros.local.table import (
    BRACKETED,
    LocalTemplates,
    columns,
    countries,
    data,
    dated,
    flagged,
    languages,
    located,
    numbers,
    of_languages,
    paragraph,
    quantity,
    quoted,
    removed,
    transcription,
)
from wikitext_builder.extraction.markers import GONE

NAMES = language_names("it")
MONTHS = listed(
    "gennaio; febbraio; marzo; aprile; maggio; giugno; luglio; agosto; settembre; ottobre; novembre; dicembre"
)


def biography(call: Call) -> str | None:
    """`Dante Alighieri (Firenze, 1265 – Ravenna, 1321) è stato un poeta italiano.`: the lead of a life."""
    name = " ".join(filter(None, (call.get("Titolo"), call.get("Nome"), call.get("Cognome"))))
    after = call.get("PostCognome")
    name += f"{'' if after[:1] == ',' else ' ' if after[:1] == '(' else ', '}{after}" if after else ""
    said = call.get("FineIncipit") or _profession(call)
    if not call.get("Nome") or not said:
        return None
    point = "" if call.get("Punto").lower() == "no" or said.endswith(".") else "."
    return f"{name}{_life(call)} {said}{point}".replace(" ,", ",")


def _profession(call: Call) -> str:
    """`è stato un poeta, scrittore e politico italiano`."""
    done = [call.get(name) for name in ("Attività", "Attività2", "Attività3") if call.get(name)]
    if not done:
        return ""
    others = call.get("AttivitàAltre")
    works = ", ".join(done) if others else " e ".join(filter(None, (", ".join(done[:-1]), done[-1])))
    works += f"{'' if others[:1] == ',' else ' '}{others}" if others else ""
    woman = call.get("Sesso").upper() == "F"
    verb = ("è stata" if woman else "è stato") if call.get("AnnoMorte") else "è"
    nation = f"{call.get('Nazionalità')}{call.get('PostNazionalità')}"
    return f"{verb} {_article(done[0], woman=woman)}{works} {nation}".strip()


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
    dates = " – ".join(piece for piece in (birth, death) if piece)
    inside = "; ".join(piece for piece in (call.get("PreData"), dates) if piece)
    return f" ({inside})" if inside else ""


def twin_town(call: Call) -> str | None:
    """`Parigi, dal 1987`: a flag of the country, the town and the year."""
    town, year = call.get("2").rpartition("|")[2], call.get("3")  # `Galway (città){{!}}Galway`
    return f"{town}, dal {year}" if town and year else town or None


def russian(call: Call) -> str | None:
    """`in russo: Москва, traslitterato: Moskva`."""
    after = f", traslitterato: {call.get('2')}" if call.get("2") else ""
    return f"in russo: {call.get('1')}{after}" if call.get("1") else None


def flag_with_name(call: Call) -> str | None:
    """The country of `{{Bandiera|FRA|nome}}`; without the second argument a flag alone."""
    return flagged("it")(call) if call.get("2") == "nome" else ""


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
    **dict.fromkeys(listed("IPA; AFI"), transcription("/", "/")),
    **dict.fromkeys(listed("IPA2; AFI2"), BRACKETED),
    **of_languages("IPA-{code}", NAMES, BRACKETED),
    "Link audio": text(GONE),
    "Gemellaggio": twin_town,
    "Russo": russian,
    "M s.l.m.": text("m s.l.m."),
    "Bandiera": flag_with_name,
    "Coord": located("N", "S", "E", "O"),
    "Exp": lambda call: f"{call.get('1')} × 10{call.get('2')}" if call.get("2") else None,
    **dict.fromkeys(listed("Colonne; Lista colonne"), columns("1")),
    **countries("it"),
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
Vedi anche; Nd; Campagnabox*; Disclaimer; S sezione; S comuni; Organo governativo; Regione geografica;
Ripartizione linguistica; BoxArrotondato; Torna a; Nota disambigua; Disambigua; Cita; Cita libro;
Cita web; Cita news; Cita pubblicazione; Cita video; Cita testo; S; Stub*; Portale*;
Controllo di autorità; Interprogetto*; Infobox*; Carica pubblica; Sportivo; Artista musicale; Album;
Film; Fumetto*; Libro; Divisione amministrativa; Città; Stato; Edificio*; Immagine multipla;
Immagine grande; NN; F; P; W; C; E; A; R; T; U; Organizzare*; Vetrina*; Voce di qualità;
Collegamenti esterni; Dmoz; En; De; Fr; Es; Ru; Ja; Nota; Note; Tassobox; Thumb*; Clear; Avvisounicode;
Box successione*; Navbox*; Canzone; Onorificenze; EtichettaUE; Clima*; ComuniAmmin*; Catena montuosa;
Metabolismo; Comune*; Tmp; Grafico*; Galleria; Azienda; Da correggere; Attore; Calciatore; Videogioco;
Fiction TV; Programma; Università; Aeroporto; Stadio; Squadra*; Software; Lingua; Isola; Lago; Montagna;
Fiume; Nave; Linea*; Stazione*; Militare; Monarca; Santo; Papa; Wrestler; Sito*; Museo; Singolo; Tracce;
Composizione; Corpo celeste; Minerale; Finestra*; Calendario; Legenda*; Cassetto*; MultiCol; ColBreak;
EndMultiCol; Div col; Div col end; Treccani
"""
)
DATA = data("Popolazione; Dato; Dati")
TEMPLATES = LocalTemplates(
    macros=MACROS, removed=REMOVED, data=DATA, functions=numbers(group=" ", point=",", least=5)
)
