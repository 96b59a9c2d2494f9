"""Flags: the name of the country if the template shows it, nothing if it shows only a picture."""

from __future__ import annotations

from wikitext_builder.extraction.listing import listed
from wikitext_builder.extraction.macros.call import Call, Macro

# ISO 3166 and Olympic codes that flag templates take as a name, and templates named after them.
COUNTRIES = {
    "ABW": "Aruba", "AFG": "Afghanistan", "AGO": "Angola", "AHO": "Netherlands Antilles",
    "AIA": "Anguilla", "ALA": "Åland", "ALB": "Albania", "ALG": "Algeria", "AND": "Andorra",
    "ANG": "Angola", "ANT": "Antigua and Barbuda", "ANZ": "Australasia", "ARE": "United Arab Emirates",
    "ARG": "Argentina", "ARM": "Armenia", "ARU": "Aruba", "ASA": "American Samoa",
    "ASM": "American Samoa", "ATA": "Antarctica", "ATF": "French Southern and Antarctic Lands",
    "ATG": "Antigua and Barbuda", "AUS": "Australia", "AUT": "Austria", "AZE": "Azerbaijan",
    "BAH": "Bahamas", "BAN": "Bangladesh", "BAR": "Barbados", "BDI": "Burundi", "BEL": "Belgium",
    "BEN": "Benin", "BER": "Bermuda", "BES": "Caribbean Netherlands", "BFA": "Burkina Faso",
    "BGD": "Bangladesh", "BGR": "Bulgaria", "BHR": "Bahrain", "BHS": "Bahamas", "BHU": "Bhutan",
    "BIH": "Bosnia and Herzegovina", "BIZ": "Belize", "BLM": "Saint Barthélemy", "BLR": "Belarus",
    "BLZ": "Belize", "BMU": "Bermuda", "BOH": "Bohemia", "BOL": "Bolivia", "BOT": "Botswana",
    "BRA": "Brazil", "BRB": "Barbados", "BRN": "Brunei", "BRU": "Brunei", "BTN": "Bhutan",
    "BUL": "Bulgaria", "BUR": "Burkina Faso", "BVI": "British Virgin Islands", "BVT": "Bouvet Island",
    "BWA": "Botswana", "CAF": "Central African Republic", "CAM": "Cambodia", "CAN": "Canada",
    "CAY": "Cayman Islands", "CCK": "Cocos (Keeling) Islands", "CGO": "Republic of the Congo",
    "CHA": "Chad", "CHE": "Switzerland", "CHI": "Chile", "CHL": "Chile", "CHN": "China",
    "CIV": "Ivory Coast", "CMR": "Cameroon", "COD": "Democratic Republic of the Congo",
    "COG": "Republic of the Congo", "COK": "Cook Islands", "COL": "Colombia", "COM": "Comoros",
    "CPV": "Cape Verde", "CRC": "Costa Rica", "CRI": "Costa Rica", "CRO": "Croatia", "CUB": "Cuba",
    "CUW": "Curaçao", "CXR": "Christmas Island", "CYM": "Cayman Islands", "CYP": "Cyprus",
    "CZE": "Czech Republic", "DEN": "Denmark", "DEU": "Germany", "DJI": "Djibouti", "DMA": "Dominica",
    "DNK": "Denmark", "DOM": "Dominican Republic", "DRC": "Democratic Republic of the Congo",
    "DZA": "Algeria", "ECU": "Ecuador", "EGY": "Egypt", "ENG": "England", "ERI": "Eritrea",
    "ESA": "El Salvador", "ESH": "Western Sahara", "ESP": "Spain", "EST": "Estonia", "ETH": "Ethiopia",
    "EU": "European Union", "EUA": "United Team of Germany", "EUN": "Unified Team", "FIJ": "Fiji",
    "FIN": "Finland", "FJI": "Fiji", "FLK": "Falkland Islands", "FRA": "France", "FRG": "West Germany",
    "FRO": "Faroe Islands", "FSM": "Federated States of Micronesia", "GAB": "Gabon", "GAM": "The Gambia",
    "GBR": "United Kingdom", "GBS": "Guinea-Bissau", "GDR": "East Germany", "GEO": "Georgia",
    "GEQ": "Equatorial Guinea", "GER": "Germany", "GGY": "Guernsey", "GHA": "Ghana", "GIB": "Gibraltar",
    "GIN": "Guinea", "GLP": "Guadeloupe", "GMB": "The Gambia", "GNB": "Guinea-Bissau",
    "GNQ": "Equatorial Guinea", "GRC": "Greece", "GRD": "Grenada", "GRE": "Greece", "GRL": "Greenland",
    "GRN": "Grenada", "GTM": "Guatemala", "GUA": "Guatemala", "GUF": "French Guiana", "GUI": "Guinea",
    "GUM": "Guam", "GUY": "Guyana", "HAI": "Haiti", "HKG": "Hong Kong",
    "HMD": "Heard Island and McDonald Islands", "HND": "Honduras", "HON": "Honduras", "HRV": "Croatia",
    "HTI": "Haiti", "HUN": "Hungary", "IDN": "Indonesia", "IMN": "Isle of Man", "INA": "Indonesia",
    "IND": "India", "IOA": "Independent Olympic Athletes", "IOT": "British Indian Ocean Territory",
    "IRE": "Ireland", "IRI": "Iran", "IRL": "Ireland", "IRN": "Iran", "IRQ": "Iraq", "ISL": "Iceland",
    "ISR": "Israel", "ISV": "United States Virgin Islands", "ITA": "Italy",
    "IVB": "British Virgin Islands", "JAM": "Jamaica", "JEY": "Jersey", "JOR": "Jordan", "JPN": "Japan",
    "KAZ": "Kazakhstan", "KEN": "Kenya", "KGZ": "Kyrgyzstan", "KHM": "Cambodia", "KIR": "Kiribati",
    "KNA": "Saint Kitts and Nevis", "KOR": "South Korea", "KOS": "Kosovo", "KSA": "Saudi Arabia",
    "KUW": "Kuwait", "KWT": "Kuwait", "LAO": "Laos", "LAT": "Latvia", "LBA": "Libya", "LBN": "Lebanon",
    "LBR": "Liberia", "LBY": "Libya", "LCA": "Saint Lucia", "LES": "Lesotho", "LIB": "Lebanon",
    "LIE": "Liechtenstein", "LKA": "Sri Lanka", "LSO": "Lesotho", "LTU": "Lithuania", "LUX": "Luxembourg",
    "LVA": "Latvia", "MAC": "Macau", "MAD": "Madagascar", "MAF": "Saint Martin", "MAR": "Morocco",
    "MAS": "Malaysia", "MAW": "Malawi", "MCO": "Monaco", "MDA": "Moldova", "MDG": "Madagascar",
    "MDV": "Maldives", "MEX": "Mexico", "MGL": "Mongolia", "MHL": "Marshall Islands", "MKD": "Macedonia",
    "MLI": "Mali", "MLT": "Malta", "MMR": "Myanmar", "MNE": "Montenegro", "MNG": "Mongolia",
    "MNP": "Northern Mariana Islands", "MON": "Monaco", "MOZ": "Mozambique", "MRI": "Mauritius",
    "MRT": "Mauritania", "MSR": "Montserrat", "MTN": "Mauritania", "MTQ": "Martinique",
    "MUS": "Mauritius", "MWI": "Malawi", "MYA": "Myanmar", "MYS": "Malaysia", "MYT": "Mayotte",
    "NAM": "Namibia", "NCA": "Nicaragua", "NCL": "New Caledonia", "NED": "Netherlands", "NEP": "Nepal",
    "NER": "Niger", "NFK": "Norfolk Island", "NGA": "Nigeria", "NGR": "Nigeria", "NIC": "Nicaragua",
    "NIG": "Niger", "NIR": "Northern Ireland", "NIU": "Niue", "NLD": "Netherlands", "NOR": "Norway",
    "NPL": "Nepal", "NRU": "Nauru", "NZ": "New Zealand", "NZL": "New Zealand", "OMN": "Oman",
    "PAK": "Pakistan", "PAN": "Panama", "PAR": "Paraguay", "PCN": "Pitcairn Islands", "PER": "Peru",
    "PHI": "Philippines", "PHL": "Philippines", "PLE": "Palestine", "PLW": "Palau",
    "PNG": "Papua New Guinea", "POL": "Poland", "POR": "Portugal", "PRC": "China", "PRI": "Puerto Rico",
    "PRK": "North Korea", "PRT": "Portugal", "PRY": "Paraguay", "PSE": "Palestine", "PUR": "Puerto Rico",
    "PYF": "French Polynesia", "QAT": "Qatar", "REU": "Réunion", "RHO": "Rhodesia",
    "ROC": "Republic of China", "ROM": "Romania", "ROU": "Romania", "RSA": "South Africa",
    "RUS": "Russia", "RWA": "Rwanda", "SAM": "Samoa", "SAU": "Saudi Arabia",
    "SCG": "Serbia and Montenegro", "SCO": "Scotland", "SDN": "Sudan", "SEN": "Senegal",
    "SEY": "Seychelles", "SGP": "Singapore", "SGS": "South Georgia and the South Sandwich Islands",
    "SHN": "Saint Helena", "SIN": "Singapore", "SJM": "Svalbard and Jan Mayen",
    "SKN": "Saint Kitts and Nevis", "SLB": "Solomon Islands", "SLE": "Sierra Leone", "SLO": "Slovenia",
    "SLV": "El Salvador", "SMR": "San Marino", "SOL": "Solomon Islands", "SOM": "Somalia",
    "SPM": "Saint Pierre and Miquelon", "SRB": "Serbia", "SRI": "Sri Lanka", "SSD": "South Sudan",
    "STP": "São Tomé and Príncipe", "SUD": "Sudan", "SUI": "Switzerland", "SUR": "Suriname",
    "SVK": "Slovakia", "SVN": "Slovenia", "SWE": "Sweden", "SWZ": "Swaziland", "SXM": "Sint Maarten",
    "SYC": "Seychelles", "SYR": "Syria", "TAN": "Tanzania", "TCA": "Turks and Caicos Islands",
    "TCD": "Chad", "TCH": "Czechoslovakia", "TGA": "Tonga", "TGO": "Togo", "THA": "Thailand",
    "TJK": "Tajikistan", "TKL": "Tokelau", "TKM": "Turkmenistan", "TLS": "Timor-Leste", "TOG": "Togo",
    "TON": "Tonga", "TPE": "Chinese Taipei", "TRI": "Trinidad and Tobago", "TTO": "Trinidad and Tobago",
    "TUN": "Tunisia", "TUR": "Turkey", "TUV": "Tuvalu", "TWN": "Taiwan", "TZA": "Tanzania",
    "UAE": "United Arab Emirates", "UGA": "Uganda", "UK": "United Kingdom", "UKGBI": "United Kingdom",
    "UKR": "Ukraine", "UMI": "United States Minor Outlying Islands", "UN": "United Nations",
    "URS": "Soviet Union", "URU": "Uruguay", "URY": "Uruguay", "US": "United States",
    "USA": "United States", "USSR": "Soviet Union", "UZB": "Uzbekistan", "VAN": "Vanuatu",
    "VAT": "Vatican City", "VCT": "Saint Vincent and the Grenadines", "VEN": "Venezuela",
    "VGB": "British Virgin Islands", "VIE": "Vietnam", "VIN": "Saint Vincent and the Grenadines",
    "VIR": "United States Virgin Islands", "VNM": "Vietnam", "VUT": "Vanuatu", "WAL": "Wales",
    "WLF": "Wallis and Futuna", "WSM": "Samoa", "YEM": "Yemen", "YUG": "Yugoslavia",
    "ZAF": "South Africa", "ZAI": "Zaire", "ZAM": "Zambia", "ZIM": "Zimbabwe", "ZMB": "Zambia",
    "ZWE": "Zimbabwe",
}  # fmt: skip
# Codes of the Olympic Committee that are those of other countries in ISO 3166.
OLYMPIC = {"BRN": "Bahrain", "LIB": "Lebanon", "MAL": "Malaysia", "MON": "Monaco", "SLO": "Slovenia"}


def country(call: Call) -> str | None:
    """The full name of the country, or the name in the call."""
    name = call.get("name", "1")
    return call.get("name") or COUNTRIES.get(name, name)


def olympic_country(call: Call) -> str | None:
    """The country of a code of the Olympic Committee."""
    return call.get("name") or OLYMPIC.get(call.get("1")) or country(call)


def country_after_age(call: Call) -> str | None:
    """The country of `{{fbu|21|ENG}}`."""
    code = call.get("2")
    return call.get("name") or COUNTRIES.get(code, code)


def country_of_template(call: Call) -> str | None:
    """The country whose code is the name of the template."""
    return call.get("name") or COUNTRIES.get(call.name)


def player(call: Call) -> str | None:
    """`Name (ENG)`, as in lists of players."""
    return f"{call.get('2')} ({call.get('1')})" if call.get("2") else call.get("1")


def medalist(call: Call) -> str | None:
    """`Name (GER)`: a winner and the country."""
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
Navy; Army; Air force; Naval; Country; Flagteam; Flagof; Rl; Rl-rt; Rut; Ru-rt;
Fbw-rt; Nfa; Bkw; Bbw; Ihw; Vbw; Hbw; Futsal
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
    # {{PSE}} is a stock exchange.
    **{code: country_of_template for code in COUNTRIES if code != "PSE"},
    **dict.fromkeys(listed("FlagIOC; FlagCGF; FlagIOCteam; FlagIOC2; FlagPASO"), olympic_country),
    **dict.fromkeys(listed("Fbu; Fbwu; Ruu; Nftu; Bbu; Hbu; Vbu; Ihu; Cru"), country_after_age),
    "Nfp": player,
}
