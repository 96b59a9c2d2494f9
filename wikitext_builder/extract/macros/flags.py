"""Flags: the country's name where the template shows one, nothing where it shows a picture only."""

from __future__ import annotations

from wikitext_builder.extract.listing import listed
from wikitext_builder.extract.macros.call import Call, Macro

# ISO 3166 and Olympic codes that flag templates take for a name, and templates that are called by them.
COUNTRIES = {
    "AFG": "Afghanistan", "ALB": "Albania", "ALG": "Algeria", "AND": "Andorra", "ANG": "Angola",
    "ARG": "Argentina", "ARM": "Armenia", "AUS": "Australia", "AUT": "Austria", "AZE": "Azerbaijan",
    "BAH": "Bahamas", "BAN": "Bangladesh", "BAR": "Barbados", "BEL": "Belgium", "BGD": "Bangladesh",
    "BGR": "Bulgaria", "BHU": "Bhutan", "BIH": "Bosnia and Herzegovina", "BLR": "Belarus", "BOL": "Bolivia",
    "BOT": "Botswana", "BRA": "Brazil", "BRN": "Bahrain", "BTN": "Bhutan", "BUL": "Bulgaria",
    "CAM": "Cambodia", "CAN": "Canada", "CHE": "Switzerland", "CHI": "Chile", "CHL": "Chile",
    "CHN": "China", "CIV": "Ivory Coast", "CMR": "Cameroon", "COL": "Colombia", "CRC": "Costa Rica",
    "CRO": "Croatia", "CUB": "Cuba", "CYP": "Cyprus", "CZE": "Czech Republic", "DEN": "Denmark",
    "DEU": "Germany", "DNK": "Denmark", "DOM": "Dominican Republic", "DZA": "Algeria", "ECU": "Ecuador",
    "EGY": "Egypt", "ENG": "England", "ESP": "Spain", "EST": "Estonia", "ETH": "Ethiopia",
    "EU": "European Union", "FIJ": "Fiji", "FIN": "Finland", "FRA": "France", "FRG": "West Germany",
    "GBR": "United Kingdom", "GDR": "East Germany", "GEO": "Georgia", "GER": "Germany", "GHA": "Ghana",
    "GRC": "Greece", "GRE": "Greece", "GUA": "Guatemala", "HAI": "Haiti", "HKG": "Hong Kong",
    "HON": "Honduras", "HRV": "Croatia", "HUN": "Hungary", "IDN": "Indonesia", "INA": "Indonesia",
    "IND": "India", "IRE": "Ireland", "IRI": "Iran", "IRL": "Ireland", "IRN": "Iran", "IRQ": "Iraq",
    "ISL": "Iceland", "ISR": "Israel", "ITA": "Italy", "JAM": "Jamaica", "JOR": "Jordan", "JPN": "Japan",
    "KAZ": "Kazakhstan", "KEN": "Kenya", "KGZ": "Kyrgyzstan", "KOR": "South Korea", "KSA": "Saudi Arabia",
    "KUW": "Kuwait", "LAT": "Latvia", "LBN": "Lebanon", "LIB": "Lebanon", "LIE": "Liechtenstein",
    "LKA": "Sri Lanka", "LTU": "Lithuania", "LUX": "Luxembourg", "LVA": "Latvia", "MAR": "Morocco",
    "MAS": "Malaysia", "MDA": "Moldova", "MDV": "Maldives", "MEX": "Mexico", "MGL": "Mongolia",
    "MKD": "Macedonia", "MLT": "Malta", "MMR": "Myanmar", "MNE": "Montenegro", "MON": "Monaco",
    "MUS": "Mauritius", "MYS": "Malaysia", "NED": "Netherlands", "NEP": "Nepal", "NGA": "Nigeria",
    "NGR": "Nigeria", "NIR": "Northern Ireland", "NLD": "Netherlands", "NOR": "Norway", "NPL": "Nepal",
    "NZ": "New Zealand", "NZL": "New Zealand", "OMN": "Oman", "PAK": "Pakistan", "PAN": "Panama",
    "PAR": "Paraguay", "PER": "Peru", "PHI": "Philippines", "PHL": "Philippines", "POL": "Poland",
    "POR": "Portugal", "PRC": "China", "PRK": "North Korea", "PRT": "Portugal", "PUR": "Puerto Rico",
    "QAT": "Qatar", "ROC": "Republic of China", "ROM": "Romania", "ROU": "Romania", "RSA": "South Africa",
    "RUS": "Russia", "SAU": "Saudi Arabia", "SCG": "Serbia and Montenegro", "SCO": "Scotland",
    "SEN": "Senegal", "SIN": "Singapore", "SGP": "Singapore", "SLO": "Slovenia", "SLV": "El Salvador",
    "SMR": "San Marino", "SRB": "Serbia", "SRI": "Sri Lanka", "SUI": "Switzerland", "SVK": "Slovakia",
    "SVN": "Slovenia", "SWE": "Sweden", "SYR": "Syria", "TCH": "Czechoslovakia", "THA": "Thailand",
    "TJK": "Tajikistan", "TKM": "Turkmenistan", "TPE": "Chinese Taipei", "TRI": "Trinidad and Tobago",
    "TUN": "Tunisia", "TUR": "Turkey", "TWN": "Taiwan", "UAE": "United Arab Emirates", "UGA": "Uganda",
    "UK": "United Kingdom", "UKGBI": "United Kingdom", "UKR": "Ukraine", "URS": "Soviet Union",
    "URU": "Uruguay", "US": "United States", "USA": "United States", "USSR": "Soviet Union",
    "UZB": "Uzbekistan", "VEN": "Venezuela", "VIE": "Vietnam", "VNM": "Vietnam", "WAL": "Wales",
    "YEM": "Yemen", "YUG": "Yugoslavia", "ZAF": "South Africa", "ZAM": "Zambia", "ZIM": "Zimbabwe",
}  # fmt: skip
# Codes that are words or templates of another meaning too.
AMBIGUOUS = frozenset(
    listed("AND; BAR; CAM; CAN; CHE; DEN; ECU; FIN; GEO; HON; MAR; MON; PAN; PAR; PER; ROM; SIN; WAL")
)


def country(call: Call) -> str | None:
    """The country's name in full, or the name the call gives it."""
    name = call.get("name", "1")
    return call.get("name") or COUNTRIES.get(name, name)


def country_of_template(call: Call) -> str | None:
    """The country whose code the template is called by."""
    return call.get("name") or COUNTRIES.get(call.name)


def player(call: Call) -> str | None:
    """`Name (ENG)`, as lists of players have it."""
    return f"{call.get('2')} ({call.get('1')})" if call.get("2") else call.get("1")


def medalist(call: Call) -> str | None:
    """`Name (GER)`: who won for whom."""
    return f"{call.get('1')} ({call.get('2')})" if call.get("2") else call.get("1")


def nothing(_call: Call) -> str | None:
    """A flag alone."""
    return ""


FLAGS: dict[str, Macro] = {
    **dict.fromkeys(
        listed(
            """
Flag; Flagcountry; Flagu; Flag+link; Flaglink; Flagg; Flag2; Flagbig; Flag country; Flagmore;
FlagCountry; Flag entity; Fb; Fb-rt; Fbw; Nft; Nf; Ru; Ruw; Cr; Crw; Cr-rt; Bk; Bb; Ih; Vb; Hb;
Navy; Army; Air force; Naval; Country; Flagteam; Flagof
"""
        ),
        country,
    ),
    **dict.fromkeys(
        listed(
            """
Flagicon; Flagdeco; Flagicon image; Flag icon; Flagdeco image; Fbicon; Flagbox; Shipboxflag;
Flagsport; Flagicons; Flagiconmedia; Cricon; Ruicon; Flag icon image; Sky; Flags; Gold medal;
Silver medal; Bronze medal; Gold1; Silver2; Bronze3; Gold01; Silver02; Bronze03; Medal; Icon
"""
        ),
        nothing,
    ),
    **dict.fromkeys(
        ["Flagathlete", "FlagIOCathlete", "Flagmedalist", "FlagIOCmedalist", "FlagCGFathlete"], medalist
    ),
    **dict.fromkeys(["Flagperson", "Ft-"], medalist),
    **dict.fromkeys((code for code in COUNTRIES if code not in AMBIGUOUS), country_of_template),
    "FlagIOC": country,
    "FlagCGF": country,
    "FlagIOCteam": country,
    "FlagPASO": country,
    "Nfp": player,
}
