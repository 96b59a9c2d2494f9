"""`--cite` of the three command lines: BibTeX of what a number or a dataset comes from."""

import re
import shutil
from pathlib import Path

import lm_benchmarks as lb
import pytest
from lm_benchmarks.reporting.published import ROWS

import ps_models as pm
import wikitext_builder as wb
from ps_models.models.baselines import BASELINES
from ps_models.own_models import list_models
from tests.command import PROGRAMS, run_program
from tests.conftest import ROOT
from tests.ps_models.tiny import make_dataset, settings_of
from wikitext_builder.citation import PAPER, references, sources, sources_of
from wikitext_builder.dataset.load import OFFICIAL_NAMES
from wikitext_builder.sample import SAMPLE_DUMP

KEY = re.compile(r"^@\w+\{([^,\s]+),$", re.MULTILINE)


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("cited")
    wb.import_dump(folder / "pages.store", SAMPLE_DUMP)
    wb.build("demo", folder / "pages.store", folder / "demo", workers=1)
    return folder / "demo"


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


def test_every_published_work_is_a_whole_entry() -> None:
    works = entries((ROOT / "wikitext_builder" / "references.bib").read_text(encoding="utf-8"))
    assert works.keys() == references().keys()
    for key, fields in works.items():
        assert {"title", "author", "year"} <= fields.keys(), key
        first = fields["author"].partition(",")[0].lower()
        assert key.startswith(f"{first}{fields['year']}"), key


def test_every_key_has_a_work_and_every_work_is_cited() -> None:
    cited = {PAPER}
    for kind in sources().values():
        cited |= {key for keys in kind.values() for key in keys}
    assert cited == references().keys()
    assert sources()["dataset"].keys() == set(OFFICIAL_NAMES.values())


def test_every_model_has_sources() -> None:
    assert sources()["model"].keys() == {*list_models(), *BASELINES}
    recipes = {recipe for row in ROWS for recipe in (row.small, row.full, *row.full_on.values()) if recipe}
    for recipe in recipes:
        assert sources_of(recipe) or recipe == "unigram", recipe
    assert sources_of("mix:rnn-lda/mikolov,kn-5+cache") == (
        "mikolov2012context",
        "blei2003latent",
        "kneser1995improved",
        "chen1998empirical",
        "kuhn1990cache",
    )
    assert "krueger2016zoneout" not in sources_of("lstm/zaremba-medium")


@pytest.mark.parametrize("name", PROGRAMS)
def test_each_program_cites_this_software_and_the_paper(name: str) -> None:
    done = run_program(name, "--cite")
    assert done.returncode == 0, done.stderr
    assert entries(done.stdout).keys() == {"wikitext-builder", PAPER}
    assert done.stdout == wb.cite()


def test_the_software_is_that_of_citation_cff() -> None:
    yaml = pytest.importorskip("yaml", reason="reads CITATION.cff")
    cff = yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))
    found = entries(wb.cite())
    assert found["wikitext-builder"]["title"] == f"{{{cff['title']}}}"
    assert found["wikitext-builder"]["author"] == f"{{{cff['authors'][0]['name']}}}"
    assert str(cff["version"]) in found["wikitext-builder"]["note"]
    paper = cff["references"][0]
    assert (paper["title"], str(paper["year"])) == (found[PAPER]["title"], found[PAPER]["year"])
    assert references()[PAPER] in (ROOT / "README.md").read_text(encoding="utf-8")


def test_a_dataset_is_cited_with_its_signature(built: Path) -> None:
    """A dataset that was built here: how many articles of which Wikipedia, and the recipe."""
    manifest = wb.load(built).manifest
    assert manifest is not None
    text = wb.cite(built)
    key = f"{manifest.recipe.name}-{manifest.source[:8]}"
    found = entries(text)
    assert found.keys() == {"wikitext-builder", PAPER, key}
    assert "28 articles of the en Wikipedia" in found[key]["title"]
    assert f"source:{manifest.source[:8]}" in text
    assert entries(run_program("wikitext-builder", "--cite", built).stdout) == found


def test_a_damaged_manifest_makes_no_other_bibtex(built: Path, tmp_path: Path) -> None:
    path = shutil.copytree(built, tmp_path / "demo") / "manifest.json"
    path.write_text(path.read_text(encoding="utf-8").replace('"language": "en"', '"language": "}\\n@x{%"'))
    assert len(entries(wb.cite(path.parent))) == 3


def test_a_path_without_a_dataset_is_an_error(tmp_path: Path) -> None:
    done = run_program("wikitext-builder", "--cite", tmp_path)
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.startswith(f"wikitext-builder: {tmp_path}: no token file")


def test_results_are_cited_with_the_works_of_their_models(tmp_path: Path) -> None:
    data = make_dataset(tmp_path).rename(tmp_path / "ptb")  # as the folder of the Penn Treebank is called
    pm.train("lstm", data, tmp_path / "run", settings=settings_of("lstm", "epochs=1"), device="cpu")
    models = [str(tmp_path / "run"), "kn-5+cache"]
    results = lb.measure(models, data, results=tmp_path / "all.jsonl", check=False, device="cpu")
    text = run_program("lm-benchmarks", "--cite", tmp_path / "all.jsonl").stdout
    assert entries(text).keys() == {
        "wikitext-builder",
        PAPER,
        "hochreiter1997long",
        "kneser1995improved",
        "chen1998empirical",
        "kuhn1990cache",
        "marcus1993building",
        "mikolov2010recurrent",
    }
    for result in results:
        assert f"% {result.model}: {result.signature}; cite " in text
    run = pm.cite(tmp_path / "run")
    assert entries(run).keys() == {"wikitext-builder", PAPER, "hochreiter1997long"}
    assert f"model:{results[0].signature['model']}" in run
