"""The Portuguese Wikipedia.

`{{fmtn}}`, `{{lang}}` and `{{carece de fontes}}`: named in tests of tools on GitHub, read on 2026-11-21. The
others are from memory, not verified.
"""

from __future__ import annotations

from wikitext_builder.extraction.listing import listed
from wikitext_builder.extraction.macros.call import Macro, argument, around, first, text
from wikitext_builder.extraction.macros.local.names import language_names
from wikitext_builder.extraction.macros.local.table import (
    BRACKETED,
    LocalTemplates,
    beside_the_title,
    columns,
    countries,
    data,
    dated,
    flagged,
    languages,
    numbers,
    of_languages,
    paragraph,
    quantity,
    quoted,
    removed,
    sound,
)

NAMES = language_names("pt") | {"grc": "grego clássico", "nl": "neerlandês"}
MONTHS = listed(
    "janeiro; fevereiro; março; abril; maio; junho; julho; agosto; setembro; outubro; novembro; dezembro"
)

MACROS: dict[str, Macro] = {
    **languages(NAMES, "em {name}: {text}"),
    "Lang": argument("2"),
    "Língua com nome": lambda call: f"em {call.get('2')}: {call.get('3')}" if call.get("3") else None,
    **dict.fromkeys(
        listed("Dtext; Data; Dni; Nascimento; Morte"), dated(MONTHS, "{day} de {month} de {year}")
    ),
    **dict.fromkeys(listed("Fmtn; Formatnum; Unid; Unidade"), quantity(group=" ", point=",", least=5)),
    **dict.fromkeys(listed("Séc; Século; AC século"), around("século ", "")),
    **dict.fromkeys(
        listed("Citação; Citação2; Quote; Quote1; Quote2; Quote3; Cquote"), paragraph("1", "texto")
    ),
    **dict.fromkeys(
        listed("Nowrap; Ntsh2; Versalete; Minúsculas; Unicode; Carece de fontes2; Nome traduzido"), first
    ),
    **dict.fromkeys(listed("AFI; IPA; API"), BRACKETED),
    **of_languages("IPA-{code}", NAMES, BRACKETED),
    "Audio": sound,
    **dict.fromkeys(listed("Coord; Coor dms; Coor dm; Coor d"), beside_the_title),
    **dict.fromkeys(listed("Div col content; Dividir em colunas"), columns("1", "conteúdo")),
    **dict.fromkeys(listed("Flag; Flagcountry; Bandeira2"), flagged("pt")),
    **countries("pt"),
    **{f"{code}n": macro for code, macro in countries("pt").items()},
    **dict.fromkeys([f"{code}b" for code in countries("pt")], text("")),
    **dict.fromkeys(listed("Ilc; Ligação interlíngua; Ilm"), argument("texto", "lt", "1")),
    "Ill": argument("4", "2"),
    "Aspas": quoted("“", "”"),
    "R$": around("R$ ", ""),
    "US$": around("US$ ", ""),
    "€": around("€ ", ""),
    "BR-R$": around("R$ ", ""),
    "AC": text("a.C."),
    "DC": text("d.C."),
    **{name: text(name) for name in listed("Km²; Km/h; M²; Hab./km²")},
}
REMOVED = removed(
    """
Info*; Artigo principal; Ver também; Vejatambém; Ver desambiguação; Desambiguação; Redirect*; Mais notas;
Citar*; Cite*; Referências; Refbegin; Refend; Harvnb; Harvy; Sfn; Refn; Notas; Nota; Carece de fontes;
Sem-fontes*; Sem fontes; Controle de autoridade; Portal*; Esboço*; Commons*; Wikiquote; Wikcionário;
Wikisource; Correlatos; Artigo bom; Artigo de qualidade; Artigo destacado; Bom interwiki; Título em
itálico; Título-em itálico; DEFAULTSORT*; Caixa de sucessão*; Navbox*; Link; Ligação inativa; Imagem
múltipla; Mapa de localização*; En; De; Fr; Es; It; Ru; Ja; Quem; Quando; Onde; Qual; Por quem;
Esclarecer; Ver fontes; Formatar*; Revisão*; Parcial; Contextualizar; Tradução*; Panorama*; Gráfico*
"""
)
TEMPLATES = LocalTemplates(
    macros=MACROS,
    removed=REMOVED,
    data=data("População; Dados"),
    functions=numbers(group=" ", point=",", least=5),
)
