"""Sports: seasons, scores and results in sentences."""

from __future__ import annotations

import re

from wikitext_builder.extraction.listing import listed
from wikitext_builder.extraction.macros.call import Call, Macro, argument, first


def winning_percentage(call: Call) -> str | None:
    """`.625` of wins and losses."""
    games = [call.get(name) or "0" for name in ("1", "2", "3")]
    if not all(re.fullmatch(r"[0-9]{1,6}", count) for count in games):
        return None
    wins, losses, ties = map(int, games)
    if not wins + losses + ties:
        return None
    return f"{(wins + ties / 2) / (wins + losses + ties):.3f}".removeprefix("0")


def win_loss_record(call: Call) -> str | None:
    """`542–733–39`: wins, losses and draws of `{{win-loss record|w=542|l=733|d=39}}`."""
    values = [call.get("w"), call.get("l"), call.get("d", "t"), call.get("otl")]
    return "–".join(value for value in values if value) or None


def winter_season(call: Call) -> str | None:
    """`1987–88`, its first or its last year, and the words after it."""
    year, part = call.get("1"), call.get("2", "type")
    if not re.fullmatch(r"[0-9]{4}", year):
        return year or None
    last = str(int(year) + 1)
    season = f"{year}–{last if last.endswith('00') else last[2:]}"
    shown = {"start": year, "end": last}.get(part, season)
    return f"{shown} {call.get('app')}".strip()


def season_of_team(call: Call) -> str | None:
    """`2010 Alabama Crimson Tide`, or the title that the call gives."""
    return call.get("title", "text") or f"{call.get('year')} {call.get('team', 'school')}".strip() or None


def grand_prix(call: Call) -> str | None:
    """`1999 Monaco Grand Prix` of `{{F1 GP|1999|Monaco}}`."""
    return f"{call.get('1')} {call.get('2')} Grand Prix" if call.get("2") else call.get("1") or None


SPORTS: dict[str, Macro] = {
    # Seasons: the year is the label of the link.
    **dict.fromkeys(
        listed(
            """
F1; F2; F3; Wnbay; CFL Year; Cfly; AFL Year; Alcsy; Nlcsy; Aldsy; Nldsy; Ncaabb Year
"""
        ),
        first,
    ),
    **dict.fromkeys(listed("F1 GP; F1GP"), grand_prix),
    **dict.fromkeys(listed("Cbb link; CFB link; CBB link"), season_of_team),
    **dict.fromkeys(("NBA Year", "Nbay", "NHL Year", "Nhly"), winter_season),
    "Winning percentage": winning_percentage,
    "Winpct": winning_percentage,
    "AFL AH": first,
    "AthAbbr": first,
    "Cardinals NFL season": argument("2", "1"),
    "NFL playoff year": first,
    "Retired number": first,
    "Win-loss record": win_loss_record,
    "Win–loss record": win_loss_record,
    "WinLossRecord": win_loss_record,
    "Penshootout": lambda _call: "",
    "Pso": lambda _call: "",
    "Aet": lambda _call: "(a.e.t.)",
    "Score": lambda call: "–".join(call.positional()[:2]),
}
