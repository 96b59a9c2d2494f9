"""The Spanish Wikipedia.

Centuries: from a test of a Spanish corpus on GitHub; their use also in the tests of a spelling bot of this
Wikipedia, read on 2026-11-21. The others are from memory, not verified.
"""

from __future__ import annotations

from wikitext_builder.extraction.listing import listed
from wikitext_builder.extraction.macros.call import Call, Macro, argument, around, first, text
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
    sound,
    transcription,
)

NAMES = language_names("es") | {"nah": "náhuatl"}
MONTHS = listed(
    "enero; febrero; marzo; abril; mayo; junio; julio; agosto; septiembre; octubre; noviembre; diciembre"
)


def century(call: Call) -> str | None:
    """`siglo XIX a. C.`: number, era, and the word before it if the call asks for it.

    Without the third argument the number is alone, and `S` gives a capital: the wiki's `expandtemplates` gave
    this to a test on GitHub: `{{siglo|XVII}}`, `{{Siglo|XIX||S}}`.
    """
    number, era, word = call.get("1"), call.get("2"), call.get("3").lower()
    before = {"s": "siglo ", "S": "Siglo ", "a": "s. "}.get(call.get("3"), "siglo " if word else "")
    eras = {"a": " a. C.", "d": " d. C.", "ac": " a. C.", "dc": " d. C."}
    return (
        f"{before}{number}{eras.get(era.lower().replace('.', '').replace(' ', ''), '')}" if number else None
    )


MACROS: dict[str, Macro] = {
    **languages(NAMES, "en {name}, {text}"),
    "Lang": argument("2"),
    "Fecha": dated(MONTHS, "{day} de {month} de {year}"),
    "Siglo": century,
    **dict.fromkeys(listed("Unidad; Formatnum; Num"), quantity(group=" ", point=",", least=5)),
    **dict.fromkeys(listed("Cita; Cita2; Bloquecita; Quote"), paragraph("1", "texto")),
    **dict.fromkeys(listed("Comillas; Entrecomillado"), quoted("«", "»")),
    **dict.fromkeys(
        listed("Nowrap; Versalita; May; Unicode; Subrayado; Tachado; Color2; Cita requerida2"),
        first,
    ),
    "Esd": lambda call: call.get("1") or "&nbsp;",
    **dict.fromkeys(listed("AFI; IPA"), transcription("/", "/")),
    **of_languages("IPA-{code}", NAMES, BRACKETED),
    **of_languages("AFI-{code}", NAMES, BRACKETED),
    "Audio": sound,
    "Bandera2": flagged("es"),
    "Coord": located("N", "S", "E", "O"),
    **dict.fromkeys(listed("Columnas; Lista de columnas"), columns("1", "contenido")),
    **countries("es"),
    "Enlace interlingüístico": argument("2", "1"),
    "Ill": argument("4", "2"),
    "Título": around("Título: ", ""),
    "Abreviatura": first,
    "AC": text("a. C."),
    "A. C.": text("a. C."),
    "D. C.": text("d. C."),
    "Esp": text("España"),
}
REMOVED = removed(
    """
Ficha*; AP; VT; Artículo principal; Véase también; VT2; Otros usos*; Redirige aquí; Distinguir;
Desambiguación; Cita requerida; Cita web; Cita libro; Cita publicación; Cita noticia; Cita*ensayo; Obra
citada; Enlace roto; Referencias; Listaref; Refn; Harvnp; Harvsp; Sfn; Control de autoridades; Portal;
Commons*; Wikiquote; Wikcionario; Wikisource; Wikinoticias; Wikiviajes; Proyectos hermanos; Artículo
bueno; Artículo destacado; Esbozo*; Miniesbozo*; Bandera; Geodatos*; Referencias adicionales; Traducido*;
Sucesión*; Cronología*; Mapa de localización*; Imagen múltiple; Galería; ORDENAR*; Orden; En; De; Fr; It;
Pt; Ru; Ja; Clade*; Imagen en marco; Título en cursiva; Ppt; No neutralidad; Fusionar*; Wikificar*;
Aclarar; Quién; Cuándo; Dónde; Cuál; Según quién; Demostrar; Discutido; Pendiente; Desactualizado;
Barras; Gráfico*; Actualizar; Mejorar redacción; Problemas artículo
"""
)
DATA = data("Población; Dato; Datos")
TEMPLATES = LocalTemplates(
    macros=MACROS, removed=REMOVED, data=DATA, functions=numbers(group=" ", point=",", least=5)
)
