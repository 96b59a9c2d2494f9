"""Variables: the names of the page, and its date."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from wikitext_builder.errors import RejectedError
from wikitext_builder.extraction.macros.local import LOCAL
from wikitext_builder.extraction.macros.php_strings import encoded
from wikitext_builder.extraction.macros.times import formatted_time, revision_time

if TYPE_CHECKING:
    from wikitext_builder.extraction.expansion.expander import Expander

Variable = Callable[["Expander"], str]


def _title(expander: Expander) -> str:
    return expander.page.title


def _always(value: str) -> Variable:
    return lambda _expander: value


def _english(expander: Expander, value: str) -> str:
    """A name of the English Wikipedia; those of the others are not known."""
    if expander.language in LOCAL:
        raise RejectedError("function", f"the name of {value} in {expander.language}")
    return value


def _time(pattern: str) -> Variable:
    return lambda e: formatted_time(pattern, revision_time(e.page.timestamp), e.language)


_NAMES = ("PAGENAME", "FULLPAGENAME", "BASEPAGENAME", "SUBPAGENAME", "ROOTPAGENAME", "ARTICLEPAGENAME",
          "SUBJECTPAGENAME")  # fmt: skip
_TIMES = {"YEAR": "Y", "MONTH": "m", "MONTH1": "n", "MONTH2": "m", "MONTHNAME": "F", "MONTHNAMEGEN": "F",
          "MONTHABBREV": "M", "DAY": "j", "DAY2": "d", "DOW": "w", "DAYNAME": "l", "TIME": "H:i", "HOUR": "H",
          "TIMESTAMP": "YmdHis"}  # fmt: skip

# Case matters: `{{pagename}}` is a template.
VARIABLES: dict[str, Variable] = {
    **dict.fromkeys(_NAMES, _title),
    **{f"{name}E": lambda e: encoded(e.page.title, "WIKI") for name in _NAMES},
    "TALKPAGENAME": lambda e: f"{_english(e, 'Talk')}:{e.page.title}",
    "TALKSPACE": lambda e: _english(e, "Talk"),
    **dict.fromkeys(("NAMESPACE", "NAMESPACEE", "ARTICLESPACE", "SUBJECTSPACE"), _always("")),
    "NAMESPACENUMBER": _always("0"),
    "PAGEID": lambda e: str(e.page.page_id),
    "REVISIONID": lambda e: str(e.page.revision_id),
    "SITENAME": lambda e: _english(e, "Wikipedia"),
    "SERVER": lambda e: f"//{e.language}.wikipedia.org",
    "SERVERNAME": lambda e: f"{e.language}.wikipedia.org",
    "SCRIPTPATH": _always("/w"),
    **dict.fromkeys(("CONTENTLANGUAGE", "CONTENTLANG", "PAGELANGUAGE"), lambda e: e.language),
    "!": _always("|"),
    "=": _always("="),
    **{f"{when}{name}": _time(letters) for when in ("CURRENT", "LOCAL") for name, letters in _TIMES.items()},
    **{f"REVISION{name}": _time(_TIMES[name]) for name in ("YEAR", "MONTH", "MONTH1", "DAY", "DAY2")},
    "REVISIONTIMESTAMP": _time("YmdHis"),
}
