"""The French Wikipedia.

Names and texts of dates, centuries, units, ordinals, colours, languages and Japanese: from the tests of a
French dump reader on GitHub (`SaveFRTemplates`), read on 2026-11-21. The others are from memory, not
verified.
"""

from __future__ import annotations

import re
from dataclasses import replace

from wikitext_builder.extraction.listing import listed
from wikitext_builder.extraction.macros.call import Call, Macro, argument, around, first, text
from wikitext_builder.extraction.macros.local.names import country_names, language_names
from wikitext_builder.extraction.macros.local.table import (
    BRACKETED,
    LocalTemplates,
    beside_the_title,
    by_code,
    columns,
    countries,
    data,
    dated,
    flagged,
    grouped,
    languages,
    numbers,
    of_languages,
    paragraph,
    plural,
    quantity,
    quoted,
    removed,
    words,
)
from wikitext_builder.extraction.markers import GONE

NAMES = language_names("fr")
MONTHS = listed(
    "janvier; février; mars; avril; mai; juin; juillet; août; septembre; octobre; novembre; décembre"
)
ROMAN = listed(
    "I; II; III; IV; V; VI; VII; VIII; IX; X; XI; XII; XIII; XIV; XV; XVI; XVII; XVIII; XIX; XX; XXI"
)


def with_language(call: Call) -> str | None:
    """`en anglais : text` of `{{langue avec nom|en|anglais|text}}`."""
    return f"en {call.get('2')} : {call.get('3', 'texte')}" if call.get("3", "texte") else None


def century(after: str) -> Macro:
    """`XIXe siècle`: the number and the era."""

    def macro(call: Call) -> str | None:
        value = call.get("1").upper()
        ordinal = call.get("2") if call.get("2") in {"e", "er"} else "er" if value == "I" else "e"
        return f"{value}{ordinal} siècle{after}" if value else None

    return macro


def two_centuries(joint: str, after: str = "") -> Macro:
    """`XVIIIe et XIXe siècles` of `{{sp-|XVIII|e|et|XIX|e}}`, or with the template's own word between."""

    def macro(call: Call) -> str | None:
        values = [value for value in call.positional() if value]
        if len(values) == 5:
            return f"{values[0]}{values[1]} {values[2]} {values[3]}{values[4]} siècles{after}"
        if len(values) == 4:
            return f"{values[0]}{values[1]} {joint} {values[2]}{values[3]} siècles{after}"
        return None

    return macro


def japanese(call: Call) -> str | None:
    """`Tokyo (東京, Tōkyō, capitale)`."""
    inside = [value for value in (*call.positional()[1:3], call.get("extra", "4")) if value]
    return f"{call.get('1')} ({', '.join(inside)})" if inside else call.get("1")


def hour(call: Call) -> str | None:
    """`10 h 30`."""
    values = [value for value in call.positional()[:3] if value]
    marks = ["h", "min", "s"] if len(values) > 2 else ["h", ""]
    return " ".join(f"{value} {mark}" for value, mark in zip(values, marks, strict=False)).strip() or None


def dimensions(call: Call) -> str | None:
    """`10 × 20 cm` of `{{dunité|10|20|cm}}`."""
    values = call.positional()
    return f"{' × '.join(values[:-1])} {values[-1]}" if values and call.get("3") else None


def date(call: Call) -> str | None:
    """`29 septembre 2019` of `{{date|29|9|2019}}` or `{{date|29 9 2019}}`."""
    if match := WHOLE_DATE.fullmatch(call.get("1")):
        day, month, year = match.groups()
        call = replace(call, arguments={"1": day, "2": month, "3": year or ""})
    return DATED(call)


def euros(call: Call) -> str | None:
    """`77,80 €`."""
    return f"{grouped(call.get('1'), group=' ', point=',')} €".strip()


def twin_town(call: Call) -> str | None:
    """`Paris (France) depuis le 2 juillet 1987`."""
    town, country, year = call.get("1"), call.get("2"), call.get("année")
    day = f"le {call.get('jour')} ".replace("le 1 ", "le 1er ") if call.get("jour") else ""
    since = f" depuis {day if call.get('mois') else ''}{call.get('mois')} {year}" if year else ""
    return " ".join(f"{town}{f' ({country})' if country else ''}{since}".split()) or None


def ordinal(name: str) -> Macro:
    """`84e congrès` of `{{84e|congrès}}`."""
    return lambda call: f"{name} {call.get('1')}".strip()


WHOLE_DATE = re.compile(r"(\d{1,2})(?:er)? (\d{1,2}|[a-zéû]{3,9})(?: (\d{1,4}))?")
DATED = dated(MONTHS, "{day} {month} {year}", first_day="1er")
QUANTITY = quantity(group=" ", point=",")
ORDINALS = {f"{number}e": ordinal(f"{number}e") for number in range(2, 101)}
REIGNS = {f"{numeral}e": text(f"{numeral}e") for numeral in ROMAN[1:]}
# Templates whose name is their text: `{{IIe siècle}}`, `{{1er mars}}`.
SPANS = {
    name: text(name)
    for numeral in ROMAN
    for kind in ("siècle", "millénaire")
    for era in ("", " av. J.-C.")
    for name in [f"{numeral}{'er' if numeral == 'I' else 'e'} {kind}{era}"]
}
FIRST_DAYS = {f"1er {month}": text(f"1er {month}") for month in MONTHS}

MACROS: dict[str, Macro] = {
    **languages(NAMES, "en {name} : {text}"),
    **ORDINALS,
    **REIGNS,
    **SPANS,
    **FIRST_DAYS,
    "Lang": argument("2", "texte"),
    "Langue": argument("2", "texte"),
    "Langue avec nom": with_language,
    **dict.fromkeys(listed("Date; Date-; Date de naissance; Date de décès"), date),
    **dict.fromkeys(listed("S; S-; Siècle"), century("")),
    **dict.fromkeys(listed("-s; -s-; Av JC siècle"), century(" av. J.-C.")),
    **dict.fromkeys(listed("Sp; Sp-; Siècles"), two_centuries("–")),
    **dict.fromkeys(listed("-sp; -sp-"), two_centuries("–", " av. J.-C.")),
    **dict.fromkeys(listed("S2; S2-"), two_centuries("et")),
    **dict.fromkeys(listed("-s2; -s2-"), two_centuries("et", " av. J.-C.")),
    **dict.fromkeys(listed("Av JC; Avjc; Av. J.-C."), text("av. J.-C.")),
    **dict.fromkeys(listed("Ap JC; Apjc"), text("apr. J.-C.")),
    **dict.fromkeys(listed("Unité; Nombre; Nb; Num; Formatnum; Unité/2"), QUANTITY),
    "Heure": hour,
    **dict.fromkeys(listed("Numéro; N°; No; Numéro avec majuscule"), around("no ", "")),
    **dict.fromkeys(
        listed("Citation; Guil; Guillemets; Citation étrangère; Citation nécessaire"), quoted("« ", " »")
    ),
    **dict.fromkeys(
        listed("Citation bloc; Bloc citation; Vers; Début citation bloc"), paragraph("1", "texte")
    ),
    **dict.fromkeys(listed("Début citation; Fin citation; Fin citation bloc"), text("\n\n")),
    "Lien": argument("texte", "fr", "1", "trad"),
    "Incise": around("– ", " –"),
    "P.": around("p. ", ""),
    "P": around("p. ", ""),
    "Tiret": text("–"),
    **{
        name: ordinal(name)
        for name in listed(
            "1er; 1re; 2nd; 2nde; Ier; Ire; Mme; Mlle; M.; Mgr; Dr; Me; Mmes; MM.; Cie; St; Ste"
        )
    },
    **{name: text(name.lower()) for name in listed("Er; E; Re; Ème; Nd; Nde")},  # `{{1er}}` and `XII{{e}}`
    **dict.fromkeys(
        listed(
            "Exp; Ind; Latin; Grec; Petit; Grossir; Souligner; Police; Pc; Petites capitales; Rom; Rom-maj"
        ),
        first,
    ),
    **dict.fromkeys(
        listed("Référence nécessaire; Refnec; Référence souhaitée; Passage évasif; Précision"), first
    ),
    **dict.fromkeys(listed("Terme défini; Abréviation; Abréviation discrète; Abrd; Infobulle; Ancre"), first),
    "API": BRACKETED,
    **of_languages("API-{code}", NAMES, BRACKETED),
    "MSAPI": lambda call: "".join(call.positional()) or None,
    "Prononciation": lambda call: call.get("2") or GONE,
    "En langue": by_code(NAMES, "en {name} : {text}"),
    **dict.fromkeys(listed("Nobr; Nobr-; Nb-; Lnobr"), words),
    ",": text(GONE),
    "ISBN": lambda call: f"(ISBN {' et '.join(filter(None, call.positional()))})",
    "BNF": around("(BNF ", ")"),
    "Colonnes": columns("texte", "1", "contenu"),
    "Jumelage": twin_town,
    "Coord": beside_the_title,
    "Drapeau2": flagged("fr"),
    **{name: text(name) for name in country_names("fr").values()},
    **countries("fr"),
    "Japonais": japanese,
    **dict.fromkeys(listed("Tmp; Température"), quantity(group=" ", point=",")),
    **dict.fromkeys(listed("Rouge; Bleu; Vert; Jaune; Orange; Gris; Marron; Rose"), first),
    "Fraction": lambda call: "⁄".join(call.positional()[:2]) or None,
    **dict.fromkeys(listed("Euro; Euros"), euros),
    "Dunité": dimensions,
    "Souverain2": first,
    "Souverain-": first,
}
REMOVED = removed(
    """
Infobox*; Article détaillé; Articles détaillés; Article principal; Ébauche*; Portail*; Palette*; Sfn;
Sfn0; Note; Réf; Référence insuffisante; Références*; Réf?*; Ouvrage; Lien web; Article; Article
encyclopédique; Chapitre; Lien brisé; Commons*; Wikisource*; Wiktionnaire*; Liens; Bases; Bon article;
Article de qualité; Homonymie*; À sourcer; Sources*; Clr; Taxobox*; Légende*; Image*; Géolocalisation*;
Confusion; Titre mis en forme; Titre en italique; Patronyme; Paronyme*; Traduction/Référence; Catégorie*;
Admissibilité*; Loupe; Détails; Autre*; Article connexe; Voir*; Section*; Début de colonnes; Fin de
colonnes; Notes; Plume; Harvsp; Date de sortie; Pas clair; Quoi; Qui; Quand; Où; Lesquels; Pourquoi;
Comment; Référence; Référence à*; Non neutralité; Arbre*; Cadre*; Multimédia; Écouter; En; De; Es; It;
Fr; La; Nl; Pl; Ru; Ja; Zh
"""
)
DATA = data("Population; Dernière population; Données; Superficie; Wikidata")
TEMPLATES = LocalTemplates(
    macros=MACROS,
    removed=REMOVED,
    data=DATA,
    functions={**numbers(group=" ", point=","), **plural(lambda number: int(number > 1))},
)
