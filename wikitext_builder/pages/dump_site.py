"""The wiki that an export comes from."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from urllib.parse import urlsplit

WIKIPEDIA_HOST = re.compile(r"([a-z-]+)\.(?:m\.)?wikipedia\.org")
# https://meta.wikimedia.org/wiki/Wikimedia_projects: their exports have xml:lang="en" too
SISTER_HOST = re.compile(
    r"(?:.+\.)?(?:mediawiki|wiktionary|wiki(?:media|data|books|quote|source|news|versity|voyage|functions))\.org"
)
SISTER_DATABASE = re.compile(r"\w+wik(?:tionary|ibooks|iquote|isource|inews|iversity|ivoyage)")


@dataclass(slots=True, kw_only=True)
class DumpedSite:
    """What an export says about the wiki that it comes from."""

    xml_lang: str = ""
    dbname: str = ""  # enwiki; absent before export version 0.8
    base: str = ""  # https://en.wikipedia.org/wiki/Main_Page
    namespaces: dict[str, int] = field(default_factory=dict)

    @property
    def language(self) -> str:
        """The code of the Wikipedia: by its address, else its database, else the language of its texts.

        For a private wiki it is the language of its texts; for a sister project of Wikipedia the name of its
        database, which is not the code of any Wikipedia.

        >>> DumpedSite(base="https://simple.wikipedia.org/wiki/Main_Page", xml_lang="en").language
        'simple'
        >>> DumpedSite(dbname="zh_min_nanwiki").language
        'zh-min-nan'
        >>> DumpedSite(dbname="dewiktionary", xml_lang="de").language
        'dewiktionary'
        >>> DumpedSite(base="https://commons.wikimedia.org/", dbname="commonswiki", xml_lang="en").language
        'commonswiki'
        >>> DumpedSite(base="http://127.0.0.1:8080/", dbname="mywiki", xml_lang="fr").language
        'fr'
        """
        try:
            host = urlsplit(self.base).hostname or ""
        except ValueError:  # it is no address
            host = ""
        if wikipedia := WIKIPEDIA_HOST.fullmatch(host):
            return wikipedia[1]
        if SISTER_HOST.fullmatch(host) or SISTER_DATABASE.fullmatch(self.dbname):
            return self.dbname or host
        if not self.base and self.dbname.endswith("wiki") and self.dbname != "wiki":
            return self.dbname.removesuffix("wiki").replace("_", "-")
        return self.xml_lang
