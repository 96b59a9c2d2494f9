"""Stock exchanges: the symbol of a company, `NYSE: IBM`."""

from __future__ import annotations

from wikitext_builder.extraction.listing import listed
from wikitext_builder.extraction.macros.call import Call, Macro

# Templates of the category "Ticker symbol templates" that show their own name before the symbol, and those
# that show a different name. From their list in wtf_wikipedia 10 and their documentation, read on 2026-11-21.
OWN_NAME = listed(
    """
ADX; AIM; AMEX; ASX; BCBA; BCS; BIST; BIT; BMAD; BMV; BSE; BVB; BVC; BVL; CSE; DFM; DSE; Euronext; FWB; GTSM;
IDX; JASDAQ; JSE; KRX; LSE; LuxSE; MCX; MYX; NAG; NASDAQ; NEEQ; NSE; NYSE; NYSE Arca; NZX; OMX; OSE; OTC Pink;
OTCBB; OTCQB; OTCQX; PSE; PSX; SEHK; SGX; SSE; SWX; SZSE; TASE; TSX; TWSE; TYO; WBAG; WSE
"""
)
OTHER_NAMES = {
    "Bombay Stock Exchange": "BSE", "EuronextParis": "Euronext", "Hkex": "SEHK", "HKEX": "SEHK",
    "Hong Kong Stock Exchange": "SEHK", "London Stock Exchange": "LSE", "Lse": "LSE", "Nasdaq": "NASDAQ",
    "National Stock Exchange of India": "NSE", "New York Stock Exchange": "NYSE", "Nyse": "NYSE",
    "Pakistan Stock Exchange": "PSX", "Philippine Stock Exchange": "PSE", "SIX": "SIX",
    "Singapore Exchange": "SGX", "Tokyo Stock Exchange": "TYO", "Toronto Stock Exchange": "TSX",
    "Tsx": "TSX", "Tyo": "TYO",
}  # fmt: skip


def listing(name: str) -> Macro:
    """`NYSE: BRK.A, BRK.B`: the exchange and the symbols of up to three classes of stock."""

    def macro(call: Call) -> str:
        signs = ", ".join(sign for sign in call.positional()[:3] if sign)
        return f"{name}: {signs}" if signs else name

    return macro


MARKETS: dict[str, Macro] = {
    **{name: listing(name) for name in OWN_NAME},
    **{template: listing(name) for template, name in OTHER_NAMES.items()},
    **dict.fromkeys(("ISIN", "Isin"), lambda call: f"ISIN {call.get('1', 'id')}".strip()),
}
