"""Headings and paragraphs of wikitext whose templates, links, tables and tags are already replaced."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from wikitext_builder.extraction.links import replace_external_links
from wikitext_builder.extraction.listing import listed
from wikitext_builder.extraction.markers import BLOCK, BOX, BREAK, GONE
from wikitext_builder.extraction.quotes import remove_quotes

HEADING = re.compile(r"(={1,6})(.+?)(={1,6})[ \t\x02]*")
LIST_MARKS = re.compile(r"[*#:;]+[ \t]*")
OWN_LINE = ("*", "#", ":", ";", " ", "----")
NO_TEXT = f" \t{GONE}{BLOCK}{BOX}"
FIRST_OF_OWN_LINE = frozenset("=*#:; -")
TERM = re.compile(r" ?: | :")
# Behaviour switches of the other Wikipedias, from `languages/messages/` of MediaWiki 1.39.
LOCAL_SWITCHES = listed(
    """
KEIN_INHALTSVERZEICHNIS; KEININHALTSVERZEICHNIS; KEINE_GALERIE; KEINEGALERIE;
INHALTSVERZEICHNIS_ERZWINGEN; INHALTSVERZEICHNIS; ABSCHNITTE_NICHT_BEARBEITEN; KEINE_TITELKONVERTIERUNG;
KEINE_INHALTSKONVERTIERUNG; INDEXIEREN; INDIZIEREN; NICHT_INDEXIEREN; KEIN_INDEX; NICHT_INDIZIEREN;
NEUER_ABSCHNITTSLINK; PLUS_LINK; KEIN_NEUER_ABSCHNITTSLINK; KEIN_PLUS_LINK; PERMANENTE_WEITERLEITUNG;
VERSTECKTE_KATEGORIE; WARTUNGSKATEGORIE; AUCUNSOMMAIRE; AUCUNETDM; AUCUNEGALERIE; FORCERSOMMAIRE;
FORCERTDM; SOMMAIRE; TDM; SECTIONNONEDITABLE; SANSCONVERSIONTITRE; SANSCT; SANSCONVERSIONCONTENU; SANSCC;
AUCUNINDEX; LIENNOUVELLESECTION; AUCUNLIENNOUVELLESECTION; REDIRECTIONSTATIQUE; CATCACHEE; GEENINHOUD;
GEEN_GALERIJ; INHOUD_DWINGEN; FORCEERINHOUD; INHOUD; NIETBEWERKBARESECTIE; GEENPAGINANAAMCONVERSIE;
GEENTITELCONVERSIE; GEENTC; GEENINHOUDCONVERSIE; GEENIC; GEENINDEX; NIEUWESECTIELINK;
NIEUWESECTIEKOPPELING; GEENNIEUWKOPJEKOPPELING; GEENNIEUWESECTIELINK; GEENNIEUWKOPJEVERWIJZING;
STATISCHEDOORVERWIJZING; STATISCHEREDIRECT; VERBORGENCAT; INDICE; NOINDICE; SIN_TDC; NOTDC; SIN_GALERÍA;
NOGALERÍA; NOGALERIA; FORZAR_TDC; FORZARTDC; FORZARTOC; TDC; NO_EDITAR_SECCIÓN; NOEDITARSECCIÓN;
NOEDITARSECCION; NOCONVERTIRTITULO; NOCONVERTIRTÍTULO; NOCT; NOCONVERTIRCONTENIDO; NOCC; INDEXAR;
NOINDEXAR; VINCULARANUEVASECCION; ENLACECREARSECCIÓN; NOVINCULARANUEVASECCION; SINENLACECREARSECCIÓN;
REDIRECCIÓNESTÁTICA; REDIRECCIONESTATICA; CATEGORÍAOCULTA; БЕЗ_ОГЛАВЛЕНИЯ; БЕЗ_ОГЛ; БЕЗ_ГАЛЕРЕИ;
ОБЯЗАТЕЛЬНОЕ_ОГЛАВЛЕНИЕ; ОБЯЗ_ОГЛ; ОГЛАВЛЕНИЕ; ОГЛ; БЕЗ_РЕДАКТИРОВАНИЯ_РАЗДЕЛА;
БЕЗ_ПРЕОБРАЗОВАНИЯ_ЗАГОЛОВКА; БЕЗ_ПРЕОБРАЗОВАНИЯ_ТЕКСТА; ИНДЕКС; БЕЗ_ИНДЕКСА; ССЫЛКА_НА_НОВЫЙ_РАЗДЕЛ;
БЕЗ_ССЫЛКИ_НА_НОВЫЙ_РАЗДЕЛ; СТАТИЧЕСКОЕ_ПЕРЕНАПРАВЛЕНИЕ; СКРЫТАЯ_КАТЕГОРИЯ; 目次非表示; ギャラリー非表示;
目次強制; 目次; 節編集非表示; セクション編集非表示; タイトル変換無効; タイトルコンバート拒否;
タイトル非表示; 内容変換無効; 内容変換抑制; インデックス; インデックス拒否; 新しい節リンク;
新しいセクションリンク; 新セクションリンク; 新しい節リンク非表示; 新しいセクションリンク非表示;
新セクションリンク非表示; 静的転送; 二重転送解消無効; 二重転送修正無効; カテゴリ非表示; カテ非表示;
非表示カテ; 隠しカテゴリ; BEZSPISU; BEZGALERII; ZESPISEM; WYMUŚSPIS; SPIS; BEZEDYCJISEKCJI; INDEKSUJ;
NIEINDEKSUJ; LINKNOWEJSEKCJI; KATEGORIAUKRYTA; SEMTDC; SEMSUMÁRIO; SEMGALERIA; FORCARTDC; FORCARSUMARIO;
FORÇARTDC; FORÇARSUMÁRIO; SUMÁRIO; SUMARIO; NÃOEDITARSEÇÃO; SEMEDITARSEÇÃO; NAOEDITARSECAO;
SEMEDITARSECAO; SEMCONVERTERTITULO; SEMCONVERTERTÍTULO; SEMCT; SEMCONVERTERCONTEUDO; SEMCONVERTERCONTEÚDO;
SEMCC; NAOINDEXAR; NÃOINDEXAR; LINKDENOVASECAO; LINKDENOVASEÇÃO; LIGACAODENOVASECAO; LIGAÇÃODENOVASEÇÃO;
SEMLINKDENOVASECAO; SEMLINKDENOVASEÇÃO; SEMLIGACAODENOVASECAO; SEMLIGAÇÃODENOVASEÇÃO;
REDIRECIONAMENTOESTATICO; REDIRECIONAMENTOESTÁTICO; CATEGORIAOCULTA; CATOCULTA; INGENINNEHÅLLSFÖRTECKNING;
INGETGALLERI; ALLTIDINNEHÅLLSFÖRTECKNING; INNEHÅLLSFÖRTECKNING; INTEREDIGERASEKTION; INDEXERA;
INTEINDEXERA; NYTTAVSNITTLÄNK; STATISKOMDIRIGERING; DOLDKAT; 无目录; 无图库; 强显目录; 目录; 无编辑段落;
无段落编辑; 不转换标题; 不转换内容; 索引; 无索引; 新段落链接; 无新段落链接; 静态重定向; 隐藏分类; 無目錄;
無圖庫; 強制目錄; 目錄; 無段落編輯; 不轉換標題; 不轉換內容; 靜態重新導向; 隱藏分類
"""
)
MAGIC_WORDS = re.compile(
    r"(?i:__(?:NO|FORCE)?TOC__|__NO(?:GALLERY|EDITSECTION|TITLECONVERT|TC|CONTENTCONVERT|CC)__)|"
    r"__(?:NOINDEX|NOGLOBAL|NEWSECTIONLINK|NONEWSECTIONLINK|INDEX|STATICREDIRECT|HIDDENCAT|DISAMBIG|"
    r"EXPECTUNUSEDCATEGORY|END|START)__|"
    rf"[_＿]{{2}}(?:{'|'.join(LOCAL_SWITCHES)})[_＿]{{2}}"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Block:
    """A heading or a paragraph (level 0)."""

    text: str
    level: int = 0


def split_blocks(text: str) -> list[Block]:
    r"""The headings and paragraphs of a text, in order.

    >>> [(block.level, block.text) for block in split_blocks("a\nb\n\n== ''C'' ==\n* d\n;e: f")]
    [(0, 'a b'), (2, 'C'), (0, 'd'), (0, 'e'), (0, 'f')]
    """
    if "__" in text or "＿＿" in text:
        text = MAGIC_WORDS.sub("", text)
    lines = replace_external_links(text).split("\n")
    return list(_paragraphs(_set_apart(lines) if BLOCK in text or BOX in text else lines))


def _set_apart(lines: list[str]) -> Iterator[str]:
    """The lines, with blank ones around those that contain a block, and at its place.

    As in MediaWiki's `BlockLevelPass`: a line with a `<div>`, `<figure>` or `<table>` in it closes the
    paragraph before it, and the line after it begins a new one. Items and headings stay on one line.
    """
    for line in lines:
        if BLOCK not in line and BOX not in line:
            yield line
        elif not line.strip(NO_TEXT):
            yield ""
        elif BLOCK in line and (line[0] not in FIRST_OF_OWN_LINE or _joins_neighbours(line)):
            for piece in remove_quotes(line).replace(BOX, GONE).split(BLOCK):
                yield from ("", piece)
            yield ""
        else:
            yield line.replace(BLOCK, GONE).replace(BOX, GONE)


def _paragraphs(lines: Iterable[str]) -> Iterator[Block]:
    """Neighbouring lines of text are one paragraph; each list item and each indented line is one."""
    pending: list[str] = []
    for line in lines:
        blank = not line or line.isspace()
        if not blank and (line[0] not in FIRST_OF_OWN_LINE or _joins_neighbours(line)):
            pending.append(remove_quotes(line))
            continue
        if pending:
            yield from _broken(" ".join(pending))
            pending = []
        if not blank:
            yield from _own_line_blocks(line)
    yield from _broken(" ".join(pending))


def _joins_neighbours(line: str) -> bool:
    if line.startswith("="):
        return HEADING.fullmatch(line) is None
    return not line.startswith(OWN_LINE)


def _broken(line: str) -> Iterator[Block]:
    for piece in line.split(BREAK):
        if text := piece.strip().lstrip(": "):  # verses indented inside <poem>
            yield Block(text=text)


def _own_line_blocks(line: str) -> Iterator[Block]:
    """The blocks of a line that stands alone: a heading, a list item, an indented line."""
    if line.startswith("=") and (match := HEADING.fullmatch(line)):
        yield _heading(match)
    elif match := LIST_MARKS.match(line):
        item = remove_quotes(line[match.end() :])
        for term in _term_and_definition(item) if ";" in match[0] else [item]:
            yield from _broken(term)
    elif line.startswith(" "):
        yield from _broken(remove_quotes(line))
    elif line.startswith("----"):
        yield from _broken(remove_quotes(line.lstrip("-")))


def _term_and_definition(item: str) -> list[str]:
    """The two parts of `; term: definition`; a term alone loses its colon."""
    parts = TERM.split(item, maxsplit=1)
    return parts if len(parts) > 1 else [item.rstrip(": ")]


def _heading(match: re.Match[str]) -> Block:
    """A heading at level 2 or deeper; level 1 is for the title only.

    If one side has more equals signs than the other, the extra ones are text, as in MediaWiki.
    """
    level = min(len(match[1]), len(match[3]))
    text = match[1][level:] + match[2] + match[3][level:]
    return Block(text=remove_quotes(text).replace(BREAK, " ").strip(), level=max(level, 2))
