"""The shape of the answers of MediaWiki's API, as far as we read them: checked once, when an answer comes.

Fields that are not named here are not read. After the check no reader needs to expect another type, a number
that the store cannot hold, or text that is not Unicode. Texts of pages are the exception: they are checked
page by page, so that a bad one costs only its page.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Final

import msgspec
from msgspec import Meta, Struct

from wikitext_builder.errors import BuilderError

LARGEST: Final = 2**63 - 1  # that SQLite stores
Number = Annotated[int, Meta(ge=-LARGEST, le=LARGEST)]
Id = Annotated[int, Meta(ge=0, le=LARGEST)]
Text = Annotated[str, Meta(pattern=r"\A[^\ud800-\udfff]*\Z")]  # no lone surrogate
Digits = Annotated[str, Meta(pattern=r"\A\d{1,18}\Z")]
Time = Annotated[str, Meta(pattern=r"\A(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ)?\Z")]


class Warned(Struct):
    """A warning of a module."""

    module: Text = ""
    code: Text = ""
    text: Text = ""


class General(Struct):
    """What a wiki says about itself, of `meta=siteinfo`."""

    generator: Text
    wikiid: Text
    lang: Text
    case: Text = "first-letter"
    server: Text = ""


class Namespace(Struct):
    """A namespace of a wiki."""

    id: Number
    name: Text
    canonical: Text = ""


class Alias(Struct):
    """Another name of a namespace."""

    id: Number
    alias: Text


class Renamed(Struct, rename={"source": "from"}):
    """How MediaWiki spells a title, or where a redirect leads."""

    source: Text
    to: Text
    fromencoded: bool = False


class Titled(Struct):
    """A page of a list, or on another wiki."""

    title: Text
    ns: Number = 0
    exists: bool = False


class Moved(Struct):
    """Where an entry of the logs of moves and merges leads."""

    target_ns: Number = 0
    target_title: Text = ""
    dest_title: Text = ""


class Logged(Titled):
    """An entry of a log; of a hidden one only the kind is there."""

    title: Text = ""
    logpage: Id = 0
    timestamp: Time = ""
    params: Moved | list[Any] = msgspec.field(default_factory=Moved)  # PHP writes nothing as a list


class Listed(Titled):
    """A category of a page, since when it is there."""

    timestamp: Time = ""


class Named(Struct):
    """A user, with the groups if there is one of this name."""

    groups: list[Text] = msgspec.field(default_factory=list)


class Contributed(Struct):
    """An edit of a user."""

    size: Id = 0


class Assessed(Struct, rename={"grade": "class"}):
    """How a project of a wiki's editors rates a page."""

    grade: Text = ""


class Slot(Struct):
    """The main text of a revision."""

    content: Any = None  # a page without a text is rejected, not the answer
    contentmodel: Text = ""
    sha1: Text = ""
    texthidden: bool = False


class Slots(Struct):
    """The texts of a revision."""

    main: Slot = msgspec.field(default_factory=Slot)


class Revised(Struct):
    """A revision."""

    revid: Id
    timestamp: Time = ""
    sha1: Text = ""
    user: Text = ""
    comment: Text = ""
    size: Id = 0
    texthidden: bool = False
    slots: Slots = msgspec.field(default_factory=Slots)


class Reason(Struct):
    """Why a title is invalid."""

    text: Text


class Paged(Struct):
    """A page, with some of its revisions; one that was asked for by its id and is gone has no title."""

    title: Text = ""
    pageid: Id = 0
    ns: Number = 0
    missing: bool = False
    special: bool = False
    invalid: bool = False
    invalidreason: Text | Reason = ""
    pageprops: dict[str, Any] = msgspec.field(default_factory=dict)
    redirect: bool = False
    categories: list[Listed] = msgspec.field(default_factory=list)
    pageassessments: dict[Text, Assessed] = msgspec.field(default_factory=dict)
    revisions: list[Revised] = msgspec.field(default_factory=list)


class Query(Struct):
    """The part `query` of an answer."""

    general: General | None = None
    namespaces: dict[str, Namespace] | None = None
    namespacealiases: list[Alias] | None = None
    normalized: list[Renamed] = msgspec.field(default_factory=list)
    converted: list[Renamed] = msgspec.field(default_factory=list)
    redirects: list[Renamed] = msgspec.field(default_factory=list)
    interwiki: list[Titled] = msgspec.field(default_factory=list)
    badrevids: dict[Digits, Any] = msgspec.field(default_factory=dict)
    pages: list[Paged] = msgspec.field(default_factory=list)
    categorymembers: list[Titled] = msgspec.field(default_factory=list)
    logevents: list[Logged] = msgspec.field(default_factory=list)
    users: list[Named] = msgspec.field(default_factory=list)
    usercontribs: list[Contributed] = msgspec.field(default_factory=list)


class Expanded(Struct):
    """The part `expandtemplates` of an answer."""

    wikitext: str


class Parsed(Struct):
    """The part `parse` of an answer."""

    text: Text
    pageid: Id = 0
    revid: Id = 0
    templates: list[Titled] = msgspec.field(default_factory=list)


class Answer(Struct):
    """An answer of the API."""

    query: Query | None = None
    expandtemplates: Expanded | None = None
    parse: Parsed | None = None
    warnings: list[Warned] = msgspec.field(default_factory=list)
    continues: dict[Text, Text | Number] | None = msgspec.field(default=None, name="continue")


def check_answer(api: str, answer: Mapping[str, Any]) -> None:
    """Check an answer.

    Raises:
        BuilderError: It is not as MediaWiki's are; the message says where, what was found and what expected.
    """
    try:
        msgspec.convert(answer, Answer, strict=True)
    except (msgspec.ValidationError, UnicodeEncodeError) as error:
        raise BuilderError(
            f"{api}: answers with JSON, but not as MediaWiki does: {error}; check the address"
        ) from error
