"""Sports: seasons, scores and results as sentences have them."""

from __future__ import annotations

from wikitext_builder.extract.macros.call import Call, Macro, first


def winning_percentage(call: Call) -> str | None:
    """`.625` of wins and losses."""
    wins, losses, ties = (call.get(name) or "0" for name in ("1", "2", "3"))
    if not (wins.isdecimal() and losses.isdecimal() and ties.isdecimal()) or not int(wins) + int(
        losses
    ) + int(ties):
        return None
    return f"{(int(wins) + int(ties) / 2) / (int(wins) + int(losses) + int(ties)):.3f}".lstrip("0") or ".000"


def season(league: str) -> Macro:
    """`1999 Arizona Cardinals season`-like links show the year, or what they are told to."""
    del league
    return lambda call: call.get("2", "1")


SPORTS: dict[str, Macro] = {
    "Winning percentage": winning_percentage,
    "Winpct": winning_percentage,
    "AFL AH": first,
    "AthAbbr": first,
    "Cardinals NFL season": season("NFL"),
    "NFL playoff year": first,
    "Retired number": first,
    "Penshootout": lambda call: "",
    "Pso": lambda call: "",
    "Aet": lambda _call: "(a.e.t.)",
    "Score": lambda call: "–".join(call.positional()[:2]),
    "Sky": lambda _call: "",
}
