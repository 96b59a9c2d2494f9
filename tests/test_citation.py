"""`--cite` of the three command lines: BibTeX of this software, the paper, and the works behind models."""

import re

import pytest

import wikitext_builder as wb
from ps_models.models.baselines import BASELINES
from ps_models.own_models import list_models
from tests.command import PROGRAMS, run_program
from tests.conftest import ROOT
from wikitext_builder.dataset.load import OFFICIAL_NAMES

KEY = re.compile(r"^@\w+\{([^,\s]+),$", re.MULTILINE)
PAPER = "merity2016pointer"


def entries(text: str) -> dict[str, dict[str, str]]:
    """Reads BibTeX: the fields of each entry. Anything but entries, comments and blank lines is an error."""
    found: dict[str, dict[str, str]] = {}
    rest = re.sub(r"^%.*\n", "", text, flags=re.MULTILINE)
    for block in filter(None, rest.strip().split("\n\n")):
        head, *lines, end = block.split("\n")
        match = KEY.fullmatch(head)
        assert match, head
        assert end == "}"
        assert match[1] not in found, match[1]
        fields = [re.fullmatch(r"  (\w+) += \{(.*)\}(,?)", line) for line in lines]
        assert all(fields), block
        assert [field[3] for field in fields if field] == [*[","] * (len(lines) - 1), ""]
        found[match[1]] = {field[1]: field[2] for field in fields if field}
        for value in found[match[1]].values():
            depth = 0
            for character in re.sub(r"\\.", "", value):
                depth += {"{": 1, "}": -1}.get(character, 0)
                assert depth >= 0, value
            assert depth == 0, value
    return found


def test_each_program_prints_whole_entries() -> None:
    for name in PROGRAMS:
        assert run_program(name, "--cite").stdout == wb.cite()
    software, *works = entries(wb.cite()).items()
    assert software[0] == "wikitext-builder"
    assert works[0][0] == PAPER
    for key, fields in works:
        assert {"title", "author", "year"} <= fields.keys(), key
        first = fields["author"].partition(",")[0].lower()
        assert key.startswith(f"{first}{fields['year']}"), key


def test_every_model_and_official_dataset_has_a_work() -> None:
    comments = re.findall(r"^% (.*)\n@", wb.cite(), re.MULTILINE)
    assert len(comments) == len(entries(wb.cite())) - 1
    named = {name for comment in comments for name in comment.split(", ")}
    assert {*list_models(), *BASELINES, *OFFICIAL_NAMES.values()} - named == {"unigram"}


def test_the_software_is_that_of_citation_cff() -> None:
    yaml = pytest.importorskip("yaml", reason="reads CITATION.cff")
    cff = yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))
    found = entries(wb.cite())
    assert found["wikitext-builder"]["title"] == f"{{{cff['title']}}}"
    assert found["wikitext-builder"]["author"] == f"{{{cff['authors'][0]['name']}}}"
    assert f"Version {wb.__version__}," in found["wikitext-builder"]["note"]
    assert str(cff["version"]) == wb.__version__
    paper = cff["references"][0]
    assert (paper["title"], str(paper["year"])) == (found[PAPER]["title"], found[PAPER]["year"])
