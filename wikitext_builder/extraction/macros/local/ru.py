"""The Russian Wikipedia.

`{{нп5}}`: its order of arguments from bots of this Wikipedia on GitHub, read on 2026-11-21. The others are
from memory, not verified.
"""

from __future__ import annotations

from functools import partial

from wikitext_builder.extraction.listing import listed
from wikitext_builder.extraction.macros.call import Call, Macro, argument, around, first, text
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
ar=араб.; az=азерб.; be=белор.; bg=болг.; ca=кат.; cs=чеш.; da=дат.; de=нем.; el=греч.; en=англ.;
es=исп.; et=эст.; fa=перс.; fi=фин.; fr=фр.; grc=др.-греч.; he=ивр.; hu=венг.; hy=арм.; it=итал.;
ja=яп.; ka=груз.; kk=каз.; ko=кор.; la=лат.; lt=лит.; lv=латыш.; nl=нидерл.; no=норв.; pl=польск.;
pt=порт.; ro=рум.; ru=рус.; sa=санскр.; sr=серб.; sv=швед.; tr=тур.; tt=тат.; uk=укр.; vi=вьетн.;
zh=кит.
"""
)
MONTHS = listed(
    "января; февраля; марта; апреля; мая; июня; июля; августа; сентября; октября; ноября; декабря"
)


def red_link(call: Call) -> str | None:
    """The label of a link to an article of another Wikipedia: `{{нп5|цель|текст|язык|оригинал}}`."""
    return call.get("2", "текст", "1") or None


MACROS: dict[str, Macro] = {
    **languages(NAMES, "{name} {text}", meaning=" — «{meaning}»"),
    **languages(NAMES, "{text}", template="Lang-{code}2"),
    **dict.fromkeys(listed("Lang; Langi"), argument("2")),
    **dict.fromkeys(
        listed(
            "Нп; Нп1; Нп2; Нп3; Нп4; Нп5; Нп6; Не переведено; Не переведено 3; Не переведено 5; Iw; Ill; Iw2"
        ),
        red_link,
    ),
    **dict.fromkeys(
        listed(
            "Num; Nobr; S; Nowrap; Нобр; Comment; Abbr; Аббр; Unicode; Мелко; Smallcaps; Подсказка; Нет АИ 2"
        ),
        first,
    ),
    "Число": quantity(group=" ", point=",", least=5),
    "Formatnum": quantity(group=" ", point=",", least=5),
    "Дата": dated(MONTHS, "{day} {month} {year} года"),
    **dict.fromkeys(listed("Цитата; Врезка-цитата; Quote; Эпиграф"), paragraph("1", "текст")),
    **dict.fromkeys(listed("Начало цитаты; Конец цитаты"), text("\n\n")),
    "Кавычки": quoted("«", "»"),
    **dict.fromkeys(listed("МФА; IPA; МФА2"), BRACKETED),
    **of_languages("IPA-{code}", NAMES, BRACKETED),
    **dict.fromkeys(listed("Audio; Аудио"), sound),
    **dict.fromkeys(
        listed("Coord; Координаты"), located("с. ш.", "ю. ш.", "в. д.", "з. д.", form="{angle} {letter}")
    ),
    **dict.fromkeys(listed("Кол; Колонки; Столбцы; Разделить на столбцы"), columns("1", "текст")),
    **countries("ru"),
    **dict.fromkeys(listed("До н. э.; До н.э.; До нашей эры"), text("до н. э.")),
    **dict.fromkeys(listed("Н. э.; Н.э."), text("н. э.")),
    "Год": around("", " год"),
    **dict.fromkeys(listed("OldStyleDate; СС2; СС3; Старый стиль"), lambda call: _old_style(call)),
    **dict.fromkeys(listed("Флагификация; Флаг страны"), flagged("ru")),
    "Евро": text("€"),
    "Км": around("", " км"),
    "Тире": text("—"),
    **dict.fromkeys(listed("Ударение; '"), text("\u0301")),
    "Век": around("", " век"),
}


def _old_style(call: Call) -> str | None:
    """`1 (13) мая 1900`: the old day, and the new one in parentheses."""
    new, year, old = call.get("1"), call.get("2"), call.get("3")
    return f"{old} ({new}) {year}".strip() if old and new else None


REMOVED = removed(
    """
Карточка*; Основная статья; Main; Seealso; См. также*; Другие значения*; О; О другом; Значения;
Неоднозначность*; Перенаправление; Примечания; Книга; Статья; Публикация; Cite*; Sfn; Sfn0; Sfn-текст; R;
Ref*; Нет АИ; Уточнить; Где; Кто?; Когда?; Какой?; Чей?; Внешние ссылки*; ВС; Навигация; Нормативный
контроль; Библиоинформация; Родственные проекты; Викисклад; Commons*; Wikiquote; ЭСБЕ; БСЭ*; ВТ-*;
Хорошая статья; Избранная статья; Добротная статья; Заготовка*; Stub*; Rq; Портал*; Таксон; Персона*;
Учёный; Государственный деятель; Писатель; Политик; Музыкант; Фильм; НП-*; Достопримечательность;
Позиционная карта*; Кратное изображение; Фото*; Флаг; Герб; Навигационная*; Начало скрытого блока; Конец
скрытого блока; Проверить*; Переработать; Нейтральность*; Спорно; Дописать*; Обновить; Перевести; Не
путать; Переход; Врезка; Нет источник*; Якорь; Переписать*; TODO; НП; НП+*; Государство*; Соседние*;
Климат*; Карта; Панорама*; Double image; Викифицировать; Внутренние ссылки; Флаг *; Герб *; Население по
годам; Начало цитаты/*
"""
)
DATA = data("Население; Площадь; Численность")
TEMPLATES = LocalTemplates(
    macros=MACROS,
    removed=REMOVED,
    data=DATA,
    functions={**numbers(group=" ", point=",", least=5), **plural(partial(slavic_form, only_one=False))},
)
