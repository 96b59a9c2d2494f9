"""The families of templates: how to make calls of them, and which differences are explained."""

from __future__ import annotations

import random
import re
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime

from tests.mediawiki.differential import convert, others

YEAR = datetime.now(UTC).year
Generator = Callable[[random.Random], str]


@dataclass(frozen=True, slots=True)
class Explained:
    """A difference that stays, and why: a call in which a pattern is found, and perhaps one in both texts."""

    why: str
    call: str
    texts: str = ""  # searched in our text, a line end, and the wiki's text
    without: str = ""  # what both texts are equal without

    def holds(self, call: str, ours: str | None, theirs: str) -> bool:
        """True if it explains the difference of a call."""
        both = f"{ours}\n{theirs}"
        if self.without and re.sub(self.without, "", ours or "") != re.sub(self.without, "", theirs):
            return False
        return re.search(self.call, call) is not None and re.search(self.texts, both, re.DOTALL) is not None


@dataclass(frozen=True, slots=True)
class Family:
    """Templates of one kind."""

    generate: Generator
    modules: str  # what runs on the wiki, with its date
    names: tuple[str, ...] = ()  # of the templates whose real calls are compared too
    explained: tuple[Explained, ...] = field(default=())
    dated: bool = False  # the texts depend on the day


FAMILIES = {
    "convert": Family(
        generate=convert.generated,
        modules="Module:Convert of 2014-09, its data of 2014-10 and its text of 2014-07",
        names=("Convert",),
        explained=(
            Explained("numbers in words need Module:ConvertNumeric, which is not at hand", r"spell="),
            Explained("cells of a table need a table around them", r"disp *= *table"),
            Explained("abbr=unit is of a later version", r"abbr=unit"),
            Explained("no space before /km2, as in later versions", r"", r"\d/"),
            Explained("a link has U.S. or imperial before some units", r"lk=", r"U\.?S\.?|imp"),
            Explained("the module shows minus zero as -00", r"-0", r"-00"),
            Explained("abbr=~ shows the symbol of an alias of mpg", r"abbr=~", r"mpg-U\.?S"),
            Explained("no number and no unit is asked for", r"abbr=values.*disp=u|disp=u.*abbr=values"),
            Explained("no words after the unit: two spaces", r"adj=mid", r" ,"),
            Explained(
                "the module counts the point of `0.25em` in its own HTML as a decimal point",
                r"comma=gaps",
                r"\.0{5}",
            ),
        ),
    ),
    "ages": Family(
        generate=others.GRAMMARS["ages"],
        modules="templates of 2013 to 2015",
        names=("Age", "Birth date and age", "As of", "Marriage"),
        explained=(
            Explained(
                "later versions do not shorten the year that ends a marriage", r"(?i)marriage", r"–\d\d\)"
            ),
            Explained("without a date, the year of today", r"(?i)marriage", rf"m\. {YEAR}\)"),
            Explained(
                "later versions shorten more reasons", r"(?i)marriage.*(?:end|reason)=", r"\b(?:d|ann|sep)\. "
            ),
        ),
        dated=True,
    ),
    "languages": Family(
        generate=others.GRAMMARS["languages"],
        modules="templates of 2009 to 2015",
        names=(
            "Lang",
            "Transl",
            "Native name",
            "Native phrase",
            "Lang-ur",
            "De icon",
            "Pt icon",
            "Nastaliq",
            "Link language",
        ),
        explained=(
            Explained("a name in italics within italics", r"(?i)native.*''"),
            Explained("a call without words", r"(?i)\{\{lang-ur", r"Urdu:\s*(?:b|$)"),
        ),
    ),
    "pronunciation": Family(
        generate=others.GRAMMARS["pronunciation"],
        modules="Module:IPAc-en of 2015-06",
        names=("IPA", "IPAc-en", "IPA-hns", "IPA-ur"),
        explained=(
            Explained("a link to hear the word", r"(?i)ipa-", r"listen"),
            Explained("no sounds", r"(?i)ipac-en", r"a (?:.* )?// b$"),
            Explained("length marks before r, as in the module of 2016", r"(?i)ipac-en", without="ː"),
            Explained(
                "the words of 2016 for pron and local",
                r"(?i)ipac-en.*\|\s*(?:pron|local)",
                without="ː|pronunciation:|pronounced|local(?:ly)?",
            ),
        ),
    ),
    "flags": Family(
        generate=others.GRAMMARS["flags"],
        modules="templates of 2013 to 2015",
        names=("Flag", "Flagicon"),
        explained=(Explained("Myanmar since 2015-08", r"Burma|MMR"),),
    ),
    "lists": Family(
        generate=others.GRAMMARS["lists"],
        modules="Module:List of 2013 to 2015",
        names=("Hlist", "Ubl", "Unbulleted list", "Refbegin", "Refend"),
    ),
    "citations": Family(
        generate=others.GRAMMARS["citations"],
        modules="Module:Citation/CS1 of 2015-04",
        names=("Cite book", "Cite journal", "Cite news", "Cite web", "Cite thesis"),
        explained=(
            Explained("names of languages need the CLDR extension", r"language\s*=", r"\(in "),
            Explained(
                "the module of 2015 writes two points after a linked name with a point",
                r"link|\[\[",
                r"\.\. ",
            ),
            Explained("an address as a number in brackets", r"\[http", r" \[\d+\]"),
            Explained("a link within the text of a link", r"link", r"\[\["),
            Explained("a mask that is not a number of one or two digits", r"mask\s*=\s*\d[\d.]{2}"),
            Explained("et al. without a name", r"etal", r"a et al\."),
            Explained("the fourth editor is et al. until 2015", r"editor4", r"et al"),
            Explained("a space ends an address", r"http\S* [a-z]", r""),
        ),
    ),
    "coordinates": Family(
        generate=others.GRAMMARS["coordinates"],
        modules="Module:Coordinates of 2014-09",
        names=("Coord",),
        explained=(Explained("minus zero", r"", r"-0(?:\.0+)?°"),),
    ),
    "text": Family(
        generate=others.GRAMMARS["text"],
        modules="templates of 2007 to 2015",
        names=(
            "Abbr",
            "Nowrap",
            "Small",
            "Nobold",
            "Sic",
            "Not a typo",
            "Color",
            "H:title",
            "Quote",
            "'",
            "Nbsp",
            "Spaces",
        ),
        explained=(
            Explained("brackets without a partner", r"\|[^\[]*\]\]", without=r"\]\]"),
            Explained("more spaces than MediaWiki allows on a page", r"\de6", r"Template:|#invoke"),
        ),
    ),
    "sites": Family(
        generate=others.GRAMMARS["sites"],
        modules="templates of 2013 to 2015",
        names=("URL", "Official website", "IMDb name", "YouTube"),
    ),
}
