"""The Chinese Wikipedia.

Years of life, links to other Wikipedias and languages: from articles quoted on GitHub and the code of cewbot,
read on 2026-11-21. The others are from memory, not verified.
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
    flagged,
    languages,
    located,
    numbers,
    of_languages,
    paragraph,
    plural,
    quantity,
    quoted,
    removed,
    sound,
)

NAMES = language_names("zh") | {"ko": "朝鲜语", "zh": "汉语"}
OTHERS = (
    "en",
    "ja",
    "de",
    "fr",
    "es",
    "it",
    "ru",
    "ko",
    "pt",
    "nl",
    "vi",
    "la",
    "pl",
    "tr",
    "sv",
    "cs",
    "th",
)


def life(call: Call) -> str | None:
    """`1900年1月1日－1950年2月2日` of `{{bd|1900年|1月1日|1950年|2月2日}}`."""
    born, died = (call.get("1") + call.get("2"), call.get("3") + call.get("4"))
    return f"{born}－{died}" if born or died else None


def life_in_parentheses(call: Call) -> str | None:
    """The same in parentheses, as `{{BD}}` shows it."""
    dates = life(call)
    return f"（{dates}）" if dates else None


MACROS: dict[str, Macro] = {
    **languages(NAMES, "{name}：{text}"),
    "Lang": argument("2"),
    **dict.fromkeys(listed("Le; Link-en; Lj; Internal link helper/en"), argument("4", "3", "1")),
    **{f"Link-{code}": argument("3", "1") for code in OTHERS},
    **{f"Internal link helper/{code}": argument("3", "1") for code in OTHERS},
    **dict.fromkeys(listed("Tsl; Translink; Ilh"), argument("4", "3", "2")),
    # Articles write `（{{bd|…}}）` and `{{BD|…}}`: seen in quotations of both on GitHub.
    "Bd": life,
    "BD": life_in_parentheses,
    **dict.fromkeys(listed("来源请求; 來源請求; Fact; Cn"), first),
    **dict.fromkeys(
        listed("僻字; 拼音; Nowrap; Unicode; Zhu; 專名號; 书名号; 私名號; 小字; Notetext"), first
    ),
    **dict.fromkeys(listed("Cquote; Quote; 引用; Quotation"), paragraph("1", "text")),
    "引号": quoted("“", "”"),
    **dict.fromkeys(listed("IPA; IPA2; 国际音标; 國際音標"), BRACKETED),
    **of_languages("IPA-{code}", NAMES, BRACKETED),
    "Audio": sound,
    "Coord": located("N", "S", "E", "W"),
    **dict.fromkeys(listed("Div col content; 分栏; 分欄"), columns("1", "content")),
    **dict.fromkeys(listed("Flag; Flagcountry; Flagu"), flagged("zh")),
    **countries("zh"),
    "ROC": text("中華民國"),
    **dict.fromkeys(listed("Formatnum; 數值"), quantity(group=",", point=".")),
    "Jpn": lambda call: f"{call.get('2')}" or None,
    "CNY": around("￥", ""),
}
REMOVED = removed(
    """
NoteTA*; Infobox*; 信息框*; Main; 主条目; 主條目; See also; 參見; 参见; Otheruses*; Redirect*; 消歧义*;
Disambig*; Distinguish*; Reflist; Refn; R; Sfn; Efn; NoteFoot; NoteTag; Cite*; Citation; Fact2;
Dead link; Authority control; 规范控制; Portal*; Commons*; Wikisource*; Wiktionary*; Good article;
Featured article; 特色条目; 优良条目; Stub*; 小作品*; *小作品; Who; When; Where; Which; Clarify; 來源;
Unreferenced*; Refimprove; Navbox*; Flagicon; Multiple image; 繁简转换*; DEFAULTSORT*; 地名*; TA
"""
)
DATA = data("人口数据; 人口數據; 歷年人口")
TEMPLATES = LocalTemplates(
    macros=MACROS,
    removed=REMOVED,
    data=DATA,
    functions={**numbers(group=",", point="."), **plural(lambda _number: 0)},
)
