"""The Polish Wikipedia.

`{{w języku}}` and `{{ang.}}`: named in notes of editors on GitHub, read on 2026-11-21. The others are from
memory, not verified.
"""

from __future__ import annotations

from functools import partial

from wikitext_builder.extraction.listing import listed
from wikitext_builder.extraction.macros.call import Macro, argument, around, first, text
from wikitext_builder.extraction.macros.local.table import (
    BRACKETED,
    LocalTemplates,
    by_code,
    columns,
    countries,
    data,
    dated,
    flagged,
    languages,
    located,
    named,
    numbers,
    of_languages,
    paragraph,
    plural,
    quantity,
    quoted,
    removed,
    slavic_form,
    sound,
)

NAMES = named(
    """
ar=arab.; be=biał.; bg=bułg.; cs=czes.; da=duń.; de=niem.; el=gr.; en=ang.; eo=esperanto;
es=hiszp.; fa=pers.; fi=fiń.; fr=fr.; grc=stgr.; he=hebr.; hu=węg.; it=wł.; ja=jap.; ko=kor.;
la=łac.; lt=lit.; nl=niderl.; no=norw.; pl=pol.; pt=port.; ro=rum.; ru=ros.; sa=sanskr.; sk=słow.;
sr=serb.; sv=szw.; tr=tur.; uk=ukr.; zh=chiń.
"""
)
MONTHS = listed(
    """
stycznia; lutego; marca; kwietnia; maja; czerwca; lipca; sierpnia; września; października; listopada;
grudnia
"""
)

MACROS: dict[str, Macro] = {
    **languages(NAMES, "{name} {text}"),
    **dict.fromkeys(listed("W języku; J; Język"), by_code(NAMES, "{name} {text}")),
    "Lang": argument("2"),
    "Data": dated(MONTHS, "{day} {month} {year}"),
    **dict.fromkeys(listed("Formatnum; Liczba; Unit; Jednostka"), quantity(group=" ", point=",", least=5)),
    **dict.fromkeys(listed("Cytat; CytatD; Cytat blok; CytatP"), paragraph("1", "treść")),
    "Cudzysłów": quoted("„", "”"),
    **dict.fromkeys(
        listed("Nowrap; Małe; Mało; Unicode; Fakt2; Kapitaliki; Skrót; Tooltip; Bez linku"), first
    ),
    **dict.fromkeys(listed("IPA; IPA3; IPA2"), BRACKETED),
    **of_languages("IPA-{code}", NAMES, BRACKETED),
    "Audio": sound,
    "Coord": located("N", "S", "E", "W"),
    "Fakt": first,
    **dict.fromkeys(listed("Układ wielokolumnowy; Kolumny"), columns("1", "zawartość")),
    "Państwo": flagged("pl"),
    **countries("pl"),
    "Frac": lambda call: "⁄".join(call.positional()[:2]) or None,
    "Link-interwiki": argument("tekst", "2", "1"),
    "Ill": argument("4", "2"),
    "Nazwa w języku": argument("2"),
    "Ok.": around("ok. ", ""),
    "P.n.e.": text("p.n.e."),
    "N.e.": text("n.e."),
    "Wiek": lambda call: f"{call.get('1')} wiek" if call.get("1") else None,
    "Zł": around("", " zł"),
    "Flaga kraju": flagged("pl"),
}
REMOVED = removed(
    """
Infobox*; Osobny artykuł; Zobacz też*; Inne znaczenia; Disambig*; Ujednoznacznienie*; Odn; Odn2; R; U;
Uwaga; Uwagi; Przypisy*; Przypis; Bibliografia*; Cytuj*; Kto; Kiedy; Gdzie; Kontrola autorytatywna;
Siostrzane projekty*; Commons*; Wikicytaty*; Wikisłownik*; Wikiźródła*; Wikinews*; Portal; Dobry artykuł;
Medal; Artykuł na medal; Dopracować*; Źródła*; Stub*; Zalążek*; Nawigacja*; Flaga; Mapa lokalizacyjna*;
Spis treści; Refn; Refs; Grafika rozwinięta; Wiele grafik; Galeria; Odmiana*; Herb*; Sortuj*; SORTUJ*;
*infobox
"""
)
DATA = data("Ludność; Liczba ludności; Dane")
TEMPLATES = LocalTemplates(
    macros=MACROS,
    removed=REMOVED,
    data=DATA,
    functions={**numbers(group=" ", point=",", least=5), **plural(partial(slavic_form, only_one=True))},
)
