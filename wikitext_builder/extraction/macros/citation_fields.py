"""The names and arguments of citation templates, from `Module:Citation/CS1` of 2015."""

from __future__ import annotations

import re

from wikitext_builder.extraction.macros import read_table
from wikitext_builder.extraction.macros.call import Call
from wikitext_builder.extraction.macros.php import whole_number

_TABLE = read_table("citations")


def _named(what: str) -> dict[str, list[str]]:
    return {name: values.split("|") for one, name, values in _TABLE if one == what}


KINDS = _named("kind")  # the names of templates by the kind of work
TYPES = {name: values[0] for name, values in _named("type").items()}
# What stands before each identifier, and the arguments that give it, in the order in which they are shown.
IDENTIFIERS = {name.replace("_", " "): values for name, values in _named("identifier").items()}
FIELDS = _named("field")
# The fields that an argument gives, or the part of a person's name, each with its rank.
FIELDS_OF: dict[str, list[tuple[str, int]]] = {}
for _field, _names in FIELDS.items():
    for _rank, _name in enumerate(_names):
        FIELDS_OF.setdefault(_name, []).append((_field, _rank))
LABEL_OF = {name: label for label, names in IDENTIFIERS.items() for name in names}
ROLES = ("author", "editor", "translator")
PART_OF = {
    name: (role, part, rank)
    for role in ROLES
    for part, names in enumerate(_named(role).values())
    for rank, name in enumerate(names)
}


RANGE = re.compile(r"\A(?:\d+(?=-\d+\Z)|[A-Za-z]+(?=-[A-Za-z]+\Z))-")
NUMBER = re.compile(r"[0-9]{1,3}")
ET_AL = re.compile(r",? {0,9}'{0,9}et al[.']*$", re.IGNORECASE)


class Arguments:
    """The arguments of one citation, sorted."""

    def __init__(self, call: Call) -> None:
        self.fields = dict.fromkeys(FIELDS, "")
        self.identifiers: dict[str, str] = {}
        # By role and number: the last name, the first name and the mask, each with the rank of its argument.
        self.persons: dict[str, dict[int, list[tuple[int, str]]]] = {role: {} for role in ROLES}
        ranks: dict[str, int] = {}
        for name, given in call.arguments.items():
            value = given.strip()
            if not value:
                continue
            for field, rank in FIELDS_OF.get(name, ()):
                if rank < ranks.get(field, 99):
                    self.fields[field], ranks[field] = value, rank
            if name in LABEL_OF:
                self.identifiers.setdefault(LABEL_OF[name], value)
            elif (found := _part_of(name)) is not None:
                role, part, rank, number = found
                parts = self.persons[role].setdefault(number, [(99, "")] * 3)
                parts[part] = min(parts[part], (rank, value))

    def names(self, role: str, *, vancouver: bool) -> tuple[list[tuple[str, str]], bool]:
        """The names with the gap after each, and True if there are more of them."""
        between = " " if vancouver else ", "
        found: list[tuple[str, str]] = []
        more, previous = False, 0
        for number, parts in sorted(self.persons[role].items()):
            if number > previous + 2:  # two names are missing: the list ends
                break
            previous = number
            last, first, mask = (value for _, value in parts)
            if not last:
                continue
            more = more or ET_AL.search(last) is not None or ET_AL.search(first) is not None
            last, first = ET_AL.sub("", last), ET_AL.sub("", first)
            if vancouver and not re.fullmatch("[A-Z]{1,2}", first):  # initials
                first = "".join(word[:1] for word in re.split(r"[\s-]+", first)[:2])
            dashes = whole_number(mask, digits=2)
            if mask:
                found.append(("—" * dashes, "; ") if dashes is not None else (mask, " "))
            elif last:
                found.append((f"{last}{between}{first}" if first else last, "; "))
        return found, more


def _part_of(name: str) -> tuple[str, int, int, int] | None:
    """The role, part, rank and number of an argument of a name: `editor2-first`; `last` is before `last1`."""
    number = NUMBER.search(name)
    form = f"{name}#" if number is None else f"{name[: number.start()]}#{name[number.end() :]}"
    if form not in PART_OF:
        return None
    role, part, rank = PART_OF[form]
    return role, part, 2 * rank + (number is not None), int(number[0]) if number else 1


def dashed(value: str) -> str:
    """A list with commas, which may have semicolons; a range of two numbers, or of two words, with a dash."""
    listed = re.sub(r"(&#?\w+;)|\s*[,;]\s*", lambda match: match[1] or ", ", value)
    return RANGE.sub(lambda start: start[0][:-1] + "–", listed)
