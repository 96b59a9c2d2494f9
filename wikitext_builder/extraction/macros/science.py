"""Chemistry, mathematics, physics and biology."""

from __future__ import annotations

import re

from wikitext_builder.extraction.listing import listed
from wikitext_builder.extraction.macros.call import Call, Macro, argument, around, first, text
from wikitext_builder.extraction.markers import formula

ELEMENTS = dict(
    pair.split("=")
    for pair in listed(
        """
hydrogen=H; helium=He; lithium=Li; beryllium=Be; boron=B; carbon=C; nitrogen=N; oxygen=O;
fluorine=F; neon=Ne; sodium=Na; magnesium=Mg; aluminium=Al; silicon=Si; phosphorus=P; sulfur=S;
chlorine=Cl; argon=Ar; potassium=K; calcium=Ca; scandium=Sc; titanium=Ti; vanadium=V; chromium=Cr;
manganese=Mn; iron=Fe; cobalt=Co; nickel=Ni; copper=Cu; zinc=Zn; gallium=Ga; germanium=Ge;
arsenic=As; selenium=Se; bromine=Br; krypton=Kr; rubidium=Rb; strontium=Sr; yttrium=Y;
zirconium=Zr; niobium=Nb; molybdenum=Mo; technetium=Tc; ruthenium=Ru; rhodium=Rh; palladium=Pd;
silver=Ag; cadmium=Cd; indium=In; tin=Sn; antimony=Sb; tellurium=Te; iodine=I; xenon=Xe;
caesium=Cs; barium=Ba; lanthanum=La; cerium=Ce; gold=Au; mercury=Hg; thallium=Tl; lead=Pb;
bismuth=Bi; polonium=Po; astatine=At; radon=Rn; francium=Fr; radium=Ra; actinium=Ac; thorium=Th;
protactinium=Pa; uranium=U; neptunium=Np; plutonium=Pu; americium=Am; curium=Cm; berkelium=Bk;
californium=Cf; tungsten=W; platinum=Pt; iridium=Ir; osmium=Os; rhenium=Re; tantalum=Ta;
hafnium=Hf; praseodymium=Pr; neodymium=Nd; promethium=Pm; samarium=Sm; europium=Eu; gadolinium=Gd;
terbium=Tb; dysprosium=Dy; holmium=Ho; erbium=Er; thulium=Tm; ytterbium=Yb; lutetium=Lu;
einsteinium=Es; fermium=Fm; mendelevium=Md; nobelium=No; lawrencium=Lr; rutherfordium=Rf; dubnium=Db;
seaborgium=Sg; bohrium=Bh; hassium=Hs; meitnerium=Mt; darmstadtium=Ds; roentgenium=Rg; copernicium=Cn;
nihonium=Nh; flerovium=Fl; moscovium=Mc; livermorium=Lv; tennessine=Ts; oganesson=Og
"""
    )
)


CHARGE = re.compile(r"\(?([0-9]*)-\)?")
# In one text, as in {{chem2|SO4(2-)}}: a charge in parentheses or at the end of a formula, arrows, isotopes.
CHARGE_IN_PARENTHESES = re.compile(r"\(([0-9]*[-+−])\)")
CHARGE_AT_END = re.compile(r"(?<=[\w)\]])-(?=$|[ ,;])")
REACTIONS = {"<=>": "⇌", "<->": "↔", "->": "→", "<-": "←", "*": "·", "\\s": "–", "\\d": "=", "\\t": "≡"}
ISOTOPES = str.maketrans("", "", "^_{}")


def chemical(call: Call) -> str | None:
    """`SO42−` of `{{chem|SO|4|2-}}`: without spaces, as in the official files; a charge has a minus sign."""
    values = [CHARGE.sub(r"\1−", value) if CHARGE.fullmatch(value) else value for value in call.positional()]
    return "".join(values) or None


def chemical_text(call: Call) -> str | None:
    """`SO42−` of `{{chem2|SO4(2-)}}`."""
    values = call.positional()
    if len(values) > 1:
        return chemical(call)
    shown = CHARGE_AT_END.sub("−", CHARGE_IN_PARENTHESES.sub(r"\1", "".join(values)))
    for mark, sign in REACTIONS.items():
        shown = shown.replace(mark, sign)
    return shown.translate(ISOTOPES) or None


def chemical_formula(call: Call) -> str | None:
    """`C2H6O` of counts named by element, or of alternating symbols and counts."""
    return "".join(
        f"{key}{value if value != '1' else ''}"
        for key, value in call.arguments.items()
        if not key.isdecimal()
    ) or chemical(call)


def nuclide(call: Call) -> str | None:
    """`14C` of an element and a mass number."""
    values = call.positional()
    if len(values) < 2:
        return values[0] if values else None
    name, mass = (values[0], values[1]) if not values[0].isdecimal() else (values[1], values[0])
    return f"{mass}{ELEMENTS.get(name.lower(), name)}"


def mathematics(call: Call) -> str | None:
    """The expression in text; a formula if it is LaTeX."""
    value = call.get("1")
    return formula(value) if "\\" in value else value


def particle(call: Call) -> str | None:
    """The symbol of a common particle."""
    return {
        "electron": "e−", "positron": "e+", "proton": "p", "proton+": "p+", "neutron": "n",
        "neutron0": "n0", "photon": "γ", "gamma": "γ", "muon": "μ−", "neutrino": "ν",
        "electron neutrino": "νe", "electron antineutrino": "νe", "antiproton": "p", "alpha": "α",
        "up antiquark": "u", "down antiquark": "d", "strange antiquark": "s", "charm antiquark": "c",
        "bottom antiquark": "b", "top antiquark": "t", "beta+": "β+", "beta-": "β−", "beta": "β",
        "electron+": "e+", "electron-": "e−", "muon+": "μ+", "muon-": "μ−", "antimuon": "μ+", "tau": "τ−",
        "tau-": "τ−", "tau+": "τ+", "antitau": "τ+", "muon neutrino": "νμ", "muon antineutrino": "νμ",
        "tau neutrino": "ντ", "tau antineutrino": "ντ", "antineutrino": "ν", "antineutron": "n",
        "gluon": "g", "higgs boson": "H", "graviton": "G", "antielectron": "e+", "deuteron": "d",
        "pion0": "π0", "kaon": "K", "kaon+": "K+", "kaon-": "K−", "kaon0": "K0", "antikaon0": "K0",
        "lambda": "Λ", "lambda0": "Λ0", "sigma": "Σ", "sigma+": "Σ+", "sigma0": "Σ0", "sigma-": "Σ−",
        "xi": "Ξ", "xi0": "Ξ0", "xi-": "Ξ−", "omega": "Ω", "omega-": "Ω−", "delta": "Δ", "delta++": "Δ++",
        "j/psi": "J/ψ", "upsilon": "ϒ", "w boson+-": "W±", "eta": "η", "rho": "ρ", "phi": "ϕ", "b": "B",
        "antiquark": "q", "antilambda0": "Λ0", "hadron": "h", "nucleon": "N", "majoron": "J",
        "pion": "π", "pion+": "π+", "pion-": "π−", "w boson": "W", "w boson+": "W+", "w boson-": "W−",
        "z boson": "Z", "quark": "q", "up quark": "u", "down quark": "d", "strange quark": "s",
        "charm quark": "c", "bottom quark": "b", "top quark": "t",
    }.get(call.get("1").lower())  # fmt: skip


def music_symbol(call: Call) -> str | None:
    """`♭` and other symbols in sentences."""
    signs = {
        "flat": "♭", "b": "♭", "sharp": "♯", "#": "♯", "natural": "♮", "n": "♮", "doubleflat": "𝄫",
        "double flat": "𝄫", "bb": "𝄫", "doublesharp": "𝄪", "double sharp": "𝄪", "##": "𝄪", "x": "𝄪",
        "trebleclef": "𝄞", "bassclef": "𝄢", "eighth note": "♪", "quarter note": "♩", "quarter": "♩",
        "eighth": "♪", "dim": "o", "diminished": "o", "half-dim": "ø", "ø": "ø", "maj7": "Δ", "aug": "+",
    }  # fmt: skip
    values = call.positional()
    shown = [signs.get(value.lower(), value) for value in values]
    if values and values[0].lower() in {"chord", "scale"}:
        return "".join(shown[1:])
    if values and values[0].lower() == "time" and len(values) > 2:
        return f"{values[1]}/{values[2]}"
    return "".join(shown)


def minor_planet(call: Call) -> str | None:
    """`2004 MN4`, and `(15760) 1992 QB1` with a number; from the documentation of {{mp}}."""
    values = [value for value in call.positional() if value]
    number = f"({values.pop(0)}) " if len(values) > 1 and values[0].isdecimal() else ""
    return number + "".join(values) or None


def chess_piece(call: Call) -> str | None:
    """A letter or symbol of chess notation."""
    return call.get("1")


def with_unit(symbol: str) -> Macro:
    """A number, if there is one, and the symbol of the mass or size of a celestial body."""
    return lambda call: f"{call.get('1')} {symbol}".strip()


def theorem(call: Call) -> str | None:
    """`Theorem (Name). The statement.`, a paragraph of its own."""
    kind = call.get("title") or ("Proof" if call.name.endswith("proof") else "Theorem")
    name, statement = call.get("name"), call.get("math_statement", "proof", "1")
    return f"\n\n{name or kind}. {statement}\n\n" if statement else None


def argument_or(symbol: str) -> Macro:
    """The first argument, or this text without one."""
    return lambda call: call.get("1") or symbol


def fossil_range(call: Call) -> str | None:
    """`100–66 Ma`."""
    values = [value for value in call.positional()[:2] if value]
    return f"{'–'.join(values)} Ma" if values else None


SCIENCE: dict[str, Macro] = {
    **dict.fromkeys(listed("Chem; Formula"), chemical),
    "Chem2": chemical_text,
    "Chemical formula": chemical_formula,
    "Chem name": first,
    **dict.fromkeys(
        listed(
            """
Nuclide; SimpleNuclide; SimpleNuclide2; Nuclide2; Simple nuclide; SimpleNuclideL; NuclideLink;
ComplexNuclide; Isotope
"""
        ),
        nuclide,
    ),
    **dict.fromkeys(listed("Math; Bigmath; Bmath"), mathematics),
    "Tmath": lambda call: formula(call.get("1")),
    "Mvar": first,
    "Mathcal": first,
    "Radic": lambda call: f"{call.get('2')}√{call.get('1')}",
    "Sqrt": lambda call: f"√{call.get('1')}",
    "Abs": around("|", "|"),
    "Norm": around("‖", "‖"),
    "Floor": around("⌊", "⌋"),
    "Ceil": around("⌈", "⌉"),
    "Langle": text("⟨"),
    "Rangle": text("⟩"),
    "Intmath": lambda call: f"∫{call.get('3')}",
    "Underset": lambda call: f"{call.get('2')} {call.get('1')}".strip(),
    "Overset": lambda call: f"{call.get('1')} {call.get('2')}".strip(),
    "DentalFormula": lambda call: f"{call.get('upper')} {call.get('lower')}".strip(),
    "Overunderset": lambda call: " ".join(call.get(number) for number in "213" if call.get(number)),
    "Underoverset": lambda call: " ".join(call.get(number) for number in "312" if call.get(number)),
    "EquationRef": lambda call: f"({call.get('2', '1')})",
    "EquationNote": lambda call: call.get("2", "1"),
    "NumBlk": lambda call: f"\n\n{call.get('2')} {call.get('3')}\n\n",
    "Equation box 1": lambda call: f"\n\n{call.get('equation')}\n\n",
    "Subatomic particle": particle,
    "SubatomicParticle": particle,
    "Physics particle": lambda call: f"{call.get('1')}{call.get('TR')}",
    "Solar mass": with_unit("M☉"),
    "Solar luminosity": with_unit("L☉"),
    "Solar radius": with_unit("R☉"),
    "Earth mass": with_unit("M⊕"),
    "Earth radius": with_unit("R⊕"),
    "Jupiter mass": with_unit("MJ"),
    "Jupiter radius": with_unit("RJ"),
    "Lunar mass": with_unit("M☾"),
    "Eqm": text(" ⇌ "),
    "E-sp": lambda call: f" × 10{call.get('1').replace('-', '−')}",
    **dict.fromkeys(("Math theorem", "Math proof"), theorem),
    "PhysicsParticle": lambda call: f"{call.get('1')}{call.get('TR')}",
    # The numbers of risk and safety phrases, such as {{S36/37/39}}: the name of the template is its text.
    **{f"{kind}{number}": text(f"{kind}{number}") for kind in "RS" for number in range(1, 69)},
    **{name: text(name) for name in listed("S1/2; S36/37; S36/37/39; S36/39; S37/39; R20/21/22; R36/37/38")},
    # {{radium}} is the symbol of the element; with an argument, the name is a colour.
    **{name.capitalize(): argument_or(symbol) for name, symbol in ELEMENTS.items()},
    "Sols": around("", " L☉"),
    "Val/": first,
    "RA": lambda call: " ".join(
        f"{value}{mark}" for value, mark in zip(call.positional(), "hms", strict=False) if value
    ),
    "DEC": lambda call: " ".join(
        f"{value}{mark}" for value, mark in zip(call.positional(), "°′″", strict=False) if value
    ),
    "Dec": lambda call: " ".join(
        f"{value}{mark}" for value, mark in zip(call.positional(), "°′″", strict=False) if value
    ),
    **dict.fromkeys(listed("Mp; Mpl; Mpl-; Minor planet; Minor planet link"), minor_planet),
    **dict.fromkeys(listed("Music; Musical note; Music symbol"), music_symbol),
    "Sharp": text("♯"),
    "Flat": text("♭"),
    "Natural": text("♮"),
    "Chess": chess_piece,
    "Fossil range": fossil_range,
    "Fossilrange": fossil_range,
    "Geological range": fossil_range,
    "Snpedia": first,
    "SNP": first,
    "Species list-": first,
    "Taxon": first,
    "Au": first,
    "Btname": lambda call: " ".join(call.positional()[:2]),
    "Zoo auth": argument("1"),
    "Cardinal": first,
    "Pi": text("π"),
    "E (mathematical constant)": text("e"),
    "Hash": text("#"),
}
