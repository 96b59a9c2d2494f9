"""Stations and lines: the label of a link to a station is its name without its kind."""

from __future__ import annotations

from wikitext_builder.extraction.listing import listed
from wikitext_builder.extraction.macros.call import Call, Macro, first


def station_of_system(call: Call) -> str | None:
    """The station of `{{stl|system|station}}`, without parentheses."""
    return call.get("2").partition(" (")[0] or None


TRANSPORT: dict[str, Macro] = {
    # From the documentation of {{stn}} and similar templates, and wtf_wikipedia 10, read on 2026-11-21.
    **dict.fromkeys(
        listed(
            """
Stn; Station; STN; Rws; Rwsa; RWS; Stnlnk; Stnlink; Metro; Tram; Ferry; Subway; LRT station; MRT station;
Bssrws; Rlws; Metrod; Tstop; Lrt station; Mrt station; Railway station
"""
        ),
        first,
    ),
    # Services of a subway by their letter or number.
    **dict.fromkeys(listed("NYCS; NYCS service; CTA; MBTA; LIRR; SIR"), first),
    **dict.fromkeys(listed("Stl; Station link; Stnlnk2"), station_of_system),
}
