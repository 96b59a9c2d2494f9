"""The Japanese Wikipedia.

Readings, ruby and links to other Wikipedias: from the tests of wp2txt, read on 2026-11-21, and short names of
languages (`Lang-en-short`) from articles quoted on GitHub. The others are from memory, not verified.
"""

from __future__ import annotations

import re
from dataclasses import replace

from wikitext_builder.extraction.listing import listed
from wikitext_builder.extraction.macros.call import Call, Macro, argument, around, first, joined, text
from wikitext_builder.extraction.macros.convert.conversions import CONVERSIONS
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
    named,
    numbers,
    of_languages,
    paragraph,
    plural,
    quantity,
    quoted,
    removed,
    sound,
)
from wikitext_builder.extraction.markers import GONE

NAMES = language_names("ja") | named("el=ギリシア語; grc=古代ギリシア語; ko=朝鮮語; sa=サンスクリット")
SHORT = named(
    """
ar=阿; de=独; el=希; en=英; es=西; fr=仏; he=希伯来; it=伊; ko=朝; la=羅; nl=蘭; pl=波; pt=葡;
ru=露; sv=瑞; tr=土; zh=中
"""
)


def with_reading(call: Call) -> str | None:
    """`漢字（かんじ）`, or `物理学（ぶつりがく、英: physics）` with more after the reading."""
    word, *readings = [value for value in call.positional() if value] or [""]
    return f"{word}（{'、'.join(readings)}）" if readings else word or None


def age_at_death(call: Call) -> str | None:
    """`（54歳没）` of the years, months and days of birth and death."""
    numbers = [int(value) for value in call.positional()[:6] if re.fullmatch(r"[0-9]{1,4}", value)]
    if len(numbers) != 6:
        return None
    age = numbers[3] - numbers[0] - (tuple(numbers[4:]) < tuple(numbers[1:3]))
    return f"（{age}歳没）"


def coordinates_in_words(call: Call) -> str | None:
    """`北緯35度23分28秒 東経136度43分20秒`."""
    shown = located("北緯", "南緯", "東経", "西経", form="{letter}{angle}")(call)
    return shown.translate(str.maketrans("°′″", "度分秒")) if shown else shown


def converted(call: Call) -> str | None:
    """A measure with symbols of units, which are those of English, but not with their names."""
    return CONVERSIONS["Convert"](replace(call, name="Convert", arguments={**call.arguments, "abbr": "on"}))


# Codes whose template marks a word of the language: `{{en|word}}`.
CODES = (
    "ar",
    "de",
    "el",
    "en",
    "es",
    "fr",
    "he",
    "hi",
    "id",
    "it",
    "ko",
    "la",
    "nl",
    "pl",
    "pt",
    "ru",
    "th",
    "zh",
)

MACROS: dict[str, Macro] = {
    **languages(NAMES, "{name}: {text}"),
    **languages(SHORT, "{name}: {text}", template="Lang-{code}-short"),
    "Lang": argument("2"),
    **dict.fromkeys(listed("ルビ; 読み仮名; 読み; Ruby; ふりがな; 読み仮名 ruby不使用"), with_reading),
    **dict.fromkeys(listed("仮リンク; Ill2"), argument("label", "1")),
    **dict.fromkeys(
        listed("要出典範囲; 要検証範囲; 独自研究範囲; 信頼性要検証範囲; いつ範囲; 誰範囲; 要説明範囲; Ilq"),
        first,
    ),
    **dict.fromkeys(
        listed("JIS2004フォント; 補助漢字フォント; CP932フォント; JIS90フォント; Unicode; Nowrap; 小文字"),
        first,
    ),
    **dict.fromkeys(listed("Quotation; Cquote; Quote; 引用"), paragraph("1")),
    "鉤括弧": quoted("「", "」"),
    **dict.fromkeys(listed("IPA; IPA2"), BRACKETED),
    **of_languages("IPA-{code}", NAMES, BRACKETED),
    "Ipa": first,
    **dict.fromkeys([code.capitalize() for code in CODES], first),
    "Audio": sound,
    **dict.fromkeys(listed("Convert; Cvt"), converted),
    **dict.fromkeys(
        listed("Enlink; Interlang; JR西路線記号; JR東路線記号; Ja Exp Route Sign; 座標一覧"), text(GONE)
    ),
    "ISBN2": around("ISBN ", ""),
    "没年齢": age_at_death,
    **dict.fromkeys(listed("Col; 表2列; 表3列; 段組; Ul"), columns()),
    **dict.fromkeys(listed("Flag; Flagcountry; Flagu; 国旗"), flagged("ja")),
    **dict.fromkeys(listed("Coord; ウィキ座標度分秒"), coordinates_in_words),
    **dict.fromkeys(listed("Inline-block; PDFlink"), first),
    "Fontsize": argument("2"),
    "Hlist-comma": joined("、"),
    "Col-list": columns("2"),
    **countries("ja"),
    **{
        code: text(name)
        for code, name in (
            ("PRC", "中華人民共和国"),
            ("CHN", "中華人民共和国"),
            ("ROC", "中華民国"),
            ("KOR", "大韓民国"),
            ("PRK", "朝鮮民主主義人民共和国"),
        )
    },
    **dict.fromkeys(listed("Formatnum; 数値"), quantity(group=",", point=".")),
    "円": around("", "円"),
    "Visible anchor": first,
    "Vanchor": first,
    "旧字体": first,
    "ウィキ座標": text(""),
}
REMOVED = removed(
    """
Infobox*; 基礎情報*; 要*; 出典の明記*; 独自研究*; 参照方法*; 複数の問題*; 脚注ヘルプ; Reflist; Refnest;
Refn; R; Sfn; Efn; Harv*; Main; See; See also; Otheruses*; Redirect*; 混同; 関連項目*; Cite*; Citation;
ウィキプロジェクト*; ポータル*; Portal*; Commons*; Wiktionary*; Wikisource*; Wikinews*; 良質な記事;
秀逸な記事; Normdaten; Authority control; DEFAULTSORT*; デフォルトソート*; スタブ; Stub*; 誰; いつ; どこ;
誰2; Anchors; Anchor; 生物分類表; 節スタブ; 特筆性; 暴力的; ウィキ座標2段度分秒; Flagicon;
Multiple image; Sister; 政党*; 大統領; サッカー選手; 俳優; 画像*; 告知; 出典皆無; 正確性; 観点;
百科事典的でない; Seealso; 衆議院*; 参議院*; 日本の都道府県内自治体位置図; Vertical images list;
最新の出来事*; 別人; 世界の市; Aimai; 地域区分表*; ウィキポータルリンク; *の放送; Law; After float;
特殊文字; 更新; Pathnav*; 体育館; 試聴; Flexbox*; 人口統計; Demography; Communefra
"""
)
DATA = data("自治体面積; 自治体人口; Population; 推計人口")
TEMPLATES = LocalTemplates(
    macros=MACROS,
    removed=REMOVED,
    data=DATA,
    functions={**numbers(group=",", point="."), **plural(lambda _number: 0)},
)
