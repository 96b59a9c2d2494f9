"""Links to sites outside Wikipedia: the title of what is there, and the name of the site."""

from __future__ import annotations

from wikitext_builder.extraction.listing import listed
from wikitext_builder.extraction.macros.call import Call, Macro, argument


def at_site(site: str, *names: str, before: str = "") -> Macro:
    """`Title at the site`: the title is an argument, or the title of the page without its parentheses."""

    def macro(call: Call) -> str:
        title = call.get(*names) or call.page.title.partition(" (")[0]
        return f"{before}{title} {site}"

    return macro


def imdb(call: Call) -> str | None:
    """`Title at the Internet Movie Database`; `on IMDb` since 2017."""
    site = "on IMDb" if call.page.timestamp >= "2017" else "at the Internet Movie Database"
    return at_site(site, "2", "title", "name")(call)


def google_books(call: Call) -> str | None:
    """`Title, p. 5, at Google Books`, or the text of the call."""
    if call.get("plainurl").lower() in {"y", "yes"}:
        return None
    title = call.get("2", "title") or call.page.title
    page = f", p. {call.get('page')}," if call.get("page") else ""
    return call.get("text") or f"{title}{page} at Google Books"


def youtube(call: Call) -> str | None:
    """`Title on YouTube`; `Title's channel on YouTube`."""
    kinds = ((("user", "u", "channel"), "'s channel"), (("s", "show", "sid", "showid"), " show"))
    for names, kind in kinds:
        if call.get(*names):
            return f"{call.get('title', '1') or call.page.title}{kind} on YouTube"
    return f"{call.get('title', '2') or 'Video'} on YouTube"


def official(call: Call) -> str | None:
    """`Official website`, or the name that the call gives; perhaps also one for telephones."""
    mobile = " (Mobile)" if call.get("mobile") else ""
    return (call.get("2", "name") or "Official website") + mobile


SITES: dict[str, Macro] = {
    # From the documentation of the templates, read on 2026-11-22.
    **dict.fromkeys(
        listed("IMDb title; IMDb name; IMDb episode; IMDb character; IMDb company; Imdb title; Imdb name"),
        imdb,
    ),
    **dict.fromkeys(listed("Google books; Google Books; Google book"), google_books),
    **dict.fromkeys(
        listed("Gutenberg; Gutenberg book"), at_site("at Project Gutenberg", "name", "title", "2")
    ),
    "Gutenberg author": at_site("at Project Gutenberg", "name", "2", before="Works by "),
    "Librivox book": at_site("public domain audiobook at LibriVox", "dtitle", "title", "stitle"),
    "Librivox author": at_site("at LibriVox (public domain audiobooks)", "name", "2", before="Works by "),
    "Internet Archive author": at_site("at Internet Archive", "name", "sname", before="Works by or about "),
    **dict.fromkeys(listed("YouTube; Youtube"), youtube),
    "Official website": official,
    **dict.fromkeys(listed("OEIS link; ICD9"), argument("1")),
    "ICD10": lambda call: call.get("1") + call.get("2") + (f".{call.get('3')}" if call.get("3") else ""),
    "Cite IEP": lambda call: f'"{call.get("2") or call.page.title}". Internet Encyclopedia of Philosophy.',
    "OMIM": lambda call: f"Online Mendelian Inheritance in Man (OMIM): {call.get('1')}",
}
