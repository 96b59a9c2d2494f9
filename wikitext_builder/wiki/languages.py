"""What differs between the Wikipedias: names of categories, marks, namespaces and removed sections.

Sources, all read on 2026-11-20:

- Namespaces and redirect words: `languages/messages/Messages*.php` of MediaWiki 1.39.17 with fallbacks.
- Featured and Good: pywikibot's `featured.py` in its versions from 2007 to 2014 (categories of both, the
  template of Featured for every language here), and the table in Wikimedia's research tool for exemplary
  articles (categories after later moves). If neither has the template of Good, the row names another
  proof, or says "not verified".
- Disambiguation: `disambig_templates.js` of wtf_wikipedia, `languageConstants.properties` of WikiTailor.
- Removed sections: pywikibot's `noreferences.py` of 2019, WikiTailor as above. Names of sections differ
  between articles; these are the usual ones, not all.
- Stubs: `Variables.cs` of AutoWikiBrowser (ru, sv, zh), scripts on GitHub that write them or look for them
  (fr, nl, pt); it and ja: names that their macros remove. On the others none is in use, or none is known.
- Titles of lists: the usual form on each Wikipedia; we found no table of them, so none is verified.
"""

from __future__ import annotations

from dataclasses import dataclass

from wikitext_builder.errors import BuilderError


@dataclass(frozen=True, slots=True, kw_only=True)
class Language:
    """The local names of one Wikipedia.

    Names of templates, categories and namespaces have a capital first letter, and spaces in place of
    underscores. Bring a name into this form before you look it up.
    """

    code: str  # of the Wikipedia: en of en.wikipedia.org
    good_category: str | None  # without its namespace: Good articles
    featured_category: str | None
    good_marks: tuple[str, ...]  # templates in an article's own wikitext that mark it as Good
    featured_marks: tuple[str, ...]
    disambiguation_marks: tuple[str, ...]
    list_title_prefixes: tuple[str, ...]  # a title that begins like this is a list: "List of "
    list_title_suffixes: tuple[str, ...] = ()  # in languages where the word for a list comes last
    file_namespaces: tuple[str, ...]  # all names of the namespace of pictures: File, Image and the local ones
    category_namespaces: tuple[str, ...]
    template_namespaces: tuple[str, ...]
    redirect_words: tuple[str, ...]  # after the #: REDIRECT and the local ones
    removed_sections: tuple[str, ...]  # exact headings of the sections that are mostly lists
    stub_marks: tuple[str, ...] = ()  # templates of articles that are too short; * is for any characters

    @property
    def categories(self) -> tuple[str, ...]:
        """Of Good and of Featured articles, as far as there are such."""
        return tuple(name for name in (self.good_category, self.featured_category) if name is not None)


def _split(names: str) -> tuple[str, ...]:
    return tuple(names.split("; "))


_ENGLISH_DISAMBIGUATION = (
    "Disambiguation", "Disambig", "Dab", "Disamb", "Hndis", "Human name disambiguation", "Geodis",
    "Place name disambiguation", "Airport disambiguation", "Biology disambiguation",
    "Call sign disambiguation", "Caselaw disambiguation", "Chinese title disambiguation",
    "Disambiguation cleanup", "Genus disambiguation", "Hospital disambiguation",
    "Human name disambiguation cleanup", "Letter-number combination disambiguation",
    "Letter-NumberCombDisambig", "Mathematical disambiguation", "Military unit disambiguation",
    "Music disambiguation", "Number disambiguation", "Numberdis", "Opus number disambiguation",
    "Phonetics disambiguation", "Road disambiguation", "School disambiguation",
    "Species Latin name abbreviation disambiguation", "Species Latin name disambiguation",
    "Station disambiguation", "Synagogue disambiguation", "Taxonomic authority disambiguation",
    "Taxonomy disambiguation",
)  # fmt: skip

LANGUAGES: dict[str, Language] = {
    "en": Language(
        code="en",
        good_category="Good articles",
        featured_category="Featured articles",
        good_marks=("Good article", "GA article"),  # the second not verified
        featured_marks=("Featured article", "FA article"),  # the second not verified
        disambiguation_marks=_ENGLISH_DISAMBIGUATION,
        list_title_prefixes=("List of ", "Lists of "),
        file_namespaces=("File", "Image"),
        category_namespaces=("Category",),
        template_namespaces=("Template",),
        redirect_words=("REDIRECT",),
        removed_sections=(  # the official files have none of these
            "See also",
            "References",
            "External links",
            "Notes",
            "Footnotes",
            "Bibliography",
            "Further reading",
            "Sources",
            "Citations",
            "Primary sources",  # "Online sources" and the like are there, also empty
            "Secondary sources",
            "Works cited",
        ),
        stub_marks=("Stub", "*-stub"),
    ),
    "de": Language(
        code="de",
        good_category="Wikipedia:Lesenswert",
        featured_category="Wikipedia:Exzellent",
        good_marks=(
            "Lesenswert",
        ),  # its call has a date and a revision: {{Lesenswert|1. August 2018|179607316}}
        featured_marks=("Exzellent",),
        disambiguation_marks=("Begriffsklärung",),
        list_title_prefixes=("Liste der ", "Liste des ", "Liste von ", "Liste aller "),
        file_namespaces=("Datei", "Bild", "File", "Image"),
        category_namespaces=("Kategorie", "Category"),
        template_namespaces=("Vorlage", "Template"),
        redirect_words=("WEITERLEITUNG", "REDIRECT"),
        removed_sections=(
            "Siehe auch",
            "Literatur",
            "Weblinks",
            "Weblink",
            "Einzelnachweise",
            "Anmerkungen",
            "Belege",
            "Endnoten",
            "Fußnoten",
            "Quellen",
            "Quellenangaben",
            "Quellennachweise",
            "Quellnachweis",
            "Anmerkungen und Einzelnachweise",  # in two lists of sections to skip on GitHub
        ),
    ),
    "fr": Language(
        code="fr",
        good_category="Bon article",
        featured_category="Article de qualité",
        good_marks=("Bon article",),  # named so in the README of wikiquality, a project on article classes
        featured_marks=("Article de qualité",),
        disambiguation_marks=("Homonymie",),  # without Homonyme, which can be at the head of an article
        list_title_prefixes=("Liste de ", "Liste des ", "Liste du ", "Liste d'", "Liste d’"),
        file_namespaces=("Fichier", "File", "Image"),
        category_namespaces=("Catégorie", "Category"),
        template_namespaces=("Modèle", "Template"),
        redirect_words=("REDIRECTION", "REDIRECT"),
        removed_sections=(
            "Voir aussi",
            "Articles connexes",
            "Bibliographie",
            "Liens externes",
            "Lien externe",
            "Notes et références",
            "Références",
            "Référence",
            "Notes",
            "Note",
            "Sources",
            "Source",
            "Annexes",  # not verified
            "Liens internes",
            "Liens",
        ),
        stub_marks=("Ébauche",),
    ),
    "es": Language(
        code="es",
        good_category="Wikipedia:Artículos buenos",
        featured_category="Wikipedia:Artículos destacados",
        good_marks=("Artículo bueno",),  # several quality scripts on GitHub search for this name
        featured_marks=("Artículo destacado",),
        disambiguation_marks=("Desambiguación", "Desambiguacion", "Desambig", "Disambig"),
        list_title_prefixes=("Lista de ", "Listas de ", "Anexo:"),  # Anexo is a namespace of its own today
        file_namespaces=("Archivo", "Imagen", "File", "Image"),
        category_namespaces=("Categoría", "Category"),
        template_namespaces=("Plantilla", "Template"),
        redirect_words=("REDIRECCIÓN", "REDIRECCION", "REDIRECT"),
        removed_sections=(
            "Véase también",
            "Referencias",
            "Notas",
            "Bibliografía",
            "Enlaces externos",
            "Notas y referencias",  # not verified
            "Lectura adicional",
            "Fuentes",
        ),
    ),
    "it": Language(
        code="it",
        good_category="Voci di qualità su it.wiki",
        featured_category="Voci in vetrina su it.wiki",
        good_marks=("Voce di qualità",),  # a quality script on GitHub searches for this name
        featured_marks=("Vetrina",),
        disambiguation_marks=("Disambigua",),  # Nota disambigua is a note at the head of an article
        list_title_prefixes=("Lista di ", "Lista dei ", "Lista degli ", "Lista delle ", "Lista d'"),
        file_namespaces=("File", "Immagine", "Image"),
        category_namespaces=("Categoria", "Category"),
        template_namespaces=("Template",),
        redirect_words=("RINVIA", "RINVIO", "RIMANDO", "REDIRECT"),
        removed_sections=(
            "Voci correlate",
            "Altri progetti",
            "Bibliografia",
            "Collegamenti esterni",
            "Vedi anche",
            "Note",
            "Riferimenti",
            "Fonti",
            "Annotazioni",  # not verified
            "Bibliografiche",  # under "Note"
            "Esplicative",
        ),
        stub_marks=("S",),
    ),
    "pt": Language(
        code="pt",
        good_category="!Artigos bons",
        featured_category="!Artigos destacados",
        good_marks=("Artigo bom",),  # not verified
        featured_marks=("Artigo destacado",),
        disambiguation_marks=("Desambiguação", "Desambig"),
        list_title_prefixes=("Lista de ", "Lista dos ", "Lista das ", "Lista do ", "Lista da ", "Anexo:"),
        file_namespaces=("Ficheiro", "Imagem", "Arquivo", "File", "Image"),
        category_namespaces=("Categoria", "Category"),
        template_namespaces=("Predefinição", "Template"),
        redirect_words=("REDIRECIONAMENTO", "REDIRECT"),
        removed_sections=(
            "Ver também",
            "Veja também",
            "Referências",
            "Notas",
            "Bibliografia",
            "Ligações externas",
            "Notas e referências",  # not verified
            "Leitura adicional",
            "Fontes",
        ),
        stub_marks=("Esboço", "Esboço-*"),
    ),
    "nl": Language(
        code="nl",
        good_category=None,  # this Wikipedia has no Good articles
        featured_category="Wikipedia:Etalage-artikelen",
        good_marks=(),
        featured_marks=("Etalage",),
        disambiguation_marks=("Doorverwijspagina", "Dp"),
        list_title_prefixes=("Lijst van ", "Lijst met "),
        file_namespaces=("Bestand", "Afbeelding", "File", "Image"),
        category_namespaces=("Categorie", "Category"),
        template_namespaces=("Sjabloon", "Template"),
        redirect_words=("DOORVERWIJZING", "REDIRECT"),
        removed_sections=(
            "Zie ook",
            "Literatuur",
            "Externe links",
            "Externe link",
            "Externe verwijzingen",
            "Externe verwijzing",
            "Voetnoten",
            "Voetnoot",
            "Referenties",
            "Noten",
            "Bronvermelding",
            "Bronnen",
            "Bibliografie",
            "Bronnen, noten en/of referenties",  # of the template Appendix; skipped by four tools on GitHub
        ),
        stub_marks=("Beginnetje",),
    ),
    "pl": Language(
        code="pl",
        good_category="Dobre artykuły",
        featured_category="Artykuły na Medal",
        # Not verified. The template "Dobry artykuł" fills a box of the main page, and marks nothing.
        good_marks=("Dobry Artykuł", "DobryArtykuł"),
        featured_marks=("Medal",),
        disambiguation_marks=("Ujednoznacznienie",),
        list_title_prefixes=(),  # "Lista …" with no preposition: Lista Schindlera, the film, has it too
        file_namespaces=("Plik", "Grafika", "File", "Image"),
        category_namespaces=("Kategoria", "Category"),
        template_namespaces=("Szablon", "Template"),
        redirect_words=("PATRZ", "PRZEKIERUJ", "TAM", "REDIRECT"),
        removed_sections=(
            "Zobacz też",
            "Przypisy",
            "Uwagi",
            "Bibliografia",
            "Źródła",
            "Linki zewnętrzne",
        ),
    ),
    "ru": Language(
        code="ru",
        good_category="Википедия:Хорошие статьи по алфавиту",
        featured_category="Википедия:Избранные статьи по алфавиту",
        good_marks=("Хорошая статья",),  # a script on GitHub searches a dump of 2015 for this name
        featured_marks=("Избранная статья",),
        disambiguation_marks=("Неоднозначность",),
        list_title_prefixes=(),  # "Список …" with no preposition: Список Шиндлера, the film, has it too
        file_namespaces=("Файл", "Изображение", "File", "Image"),
        category_namespaces=("Категория", "Category"),
        template_namespaces=("Шаблон", "Template"),
        redirect_words=("Перенаправление", "Перенапр", "REDIRECT"),  # in any case of letters
        removed_sections=(
            "Примечания",
            "Сноски",
            "Источники",
            "Литература",
            "Ссылки",
            "См. также",
            "Комментарии",  # not verified
            "Библиография",
        ),
        stub_marks=("Stub", "*-stub", "Заготовка", "*-заготовка"),
    ),
    "ja": Language(
        code="ja",
        good_category="良質な記事",
        featured_category="秀逸な記事",
        good_marks=("Good article",),
        featured_marks=("Featured article", "秀逸"),  # the second in 2007
        disambiguation_marks=("曖昧さ回避", "Aimai"),
        list_title_prefixes=(),
        list_title_suffixes=("一覧",),  # …の一覧
        file_namespaces=("ファイル", "画像", "File", "Image"),
        category_namespaces=("カテゴリ", "Category"),
        template_namespaces=("テンプレート", "Template"),
        redirect_words=("転送", "リダイレクト", "REDIRECT"),
        removed_sections=_split(  # not verified: 注釈・出典
            "脚注; 脚注欄; 脚注・出典; 出典; 注釈; 註; 参考文献; 関連項目; 外部リンク; 注釈・出典; "
            "出典・脚注; 脚註; 註釈; 関連文献"
        ),
        stub_marks=("Stub", "Substub", "*-stub"),
    ),
    "sv": Language(
        code="sv",
        good_category="Wikipedia:Bra artiklar",
        featured_category="Wikipedia:Utmärkta artiklar",
        good_marks=("Bra", "Bra artikel"),  # not verified
        featured_marks=("Utmärkt",),  # in an article in the tests of wikiforia
        disambiguation_marks=("Förgrening", "Förgreningssida", "Gren"),  # the last two not verified
        list_title_prefixes=("Lista över ", "Lista på "),
        file_namespaces=("Fil", "Bild", "File", "Image"),
        category_namespaces=("Kategori", "Category"),
        template_namespaces=("Mall", "Template"),
        redirect_words=("OMDIRIGERING", "REDIRECT"),
        removed_sections=_split(
            "Se även; Referenser; Källor; Noter; Fotnoter; Litteratur; Externa länkar; Vidare läsning; "
            "Källförteckning; Tryckta källor; Webbkällor"
        ),
        stub_marks=("Stub", "*stub", "Stub-*"),
    ),
    "zh": Language(  # traditional and simplified side by side: an article may be in either
        code="zh",
        good_category="優良條目",
        featured_category="典范条目",
        # cewbot, a bot of this Wikipedia, looks for the English names; the Chinese ones are not verified.
        good_marks=("Good article", "優良條目", "优良条目"),
        featured_marks=("Featured article", "典範條目", "典范条目", "特色條目", "特色条目"),
        disambiguation_marks=("消歧义", "消歧義", "Disambig"),  # the last two not verified
        list_title_prefixes=(),
        list_title_suffixes=("列表",),
        file_namespaces=("File", "Image", "文件", "檔案", "档案", "圖像", "图像", "圖片", "图片"),
        category_namespaces=("Category", "分類", "分类"),
        template_namespaces=("Template", "模板", "樣板", "样板"),
        redirect_words=("重定向", "重新導向", "REDIRECT"),
        removed_sections=_split(  # not verified: 註解, 延伸閱讀 and their twins
            "參考資料; 参考资料; 參考文獻; 参考文献; 資料來源; 资料来源; 外部链接; 外部連結; 外部连接; "
            "外部连结; 參見; 参见; 註釋; 註記; 参考书目; 參考書目; 参考网址; 參考網址; 注释; 註解; 注解; "
            "延伸閱讀; 延伸阅读"
        ),
        stub_marks=("小作品", "*小作品", "Stub", "*-stub"),
    ),
}


def language_of(code: str) -> Language:
    """Return the local names of one Wikipedia.

    Raises:
        BuilderError: The code is unknown; the error lists those that are known.
    """
    if code not in LANGUAGES:
        raise BuilderError(
            f"--language {code} is unknown; add it to languages.py or use one of {', '.join(LANGUAGES)}"
        )
    return LANGUAGES[code]
