"""What is published: the wheel and the source archive that are built from this folder."""

import importlib.util
import re
import shutil
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import ROOT
from tests.documents import LINK, docs_module, tracked

PACKAGES = {  # package: its folder
    "wikitext_builder": "wikitext_builder",
    "ps_models": "ps_models",
    "lm_benchmarks": "benchmarks/lm_benchmarks",
}
ADDRESS = "https://example.org/someone/wikitext-builder"


def build(folder: Path, out: Path, *options: str) -> Path:
    """Build what the options say; with the hatchling that is installed, so that nothing is downloaded."""
    command = [sys.executable, "-m", "build", "--no-isolation", "--outdir", str(out), *options, str(folder)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-2000:]
    (made,) = out.iterdir()
    return made


@pytest.fixture(scope="module")
def archive(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The source archive."""
    for name in ("build", "hatchling"):
        if importlib.util.find_spec(name) is None:
            pytest.skip(f"needs the package {name}, which is in the extra `test`")
    return build(ROOT, tmp_path_factory.mktemp("sdist"), "--sdist")


@pytest.fixture(scope="module")
def unpacked(archive: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("unpacked")
    with tarfile.open(archive) as file:
        file.extractall(folder, filter="data")
    (inside,) = folder.iterdir()
    return inside


@pytest.fixture(scope="module")
def wheel(archive: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build(ROOT, tmp_path_factory.mktemp("wheel"), "--wheel")


@pytest.fixture
def hook() -> Any:
    pytest.importorskip("hatchling", reason="the hook is one of hatchling")
    return docs_module("package_metadata")


def test_the_wheel_holds_the_three_packages_and_nothing_else(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as file:
        names = {name for name in file.namelist() if ".dist-info/" not in name}
    expected = {
        f"{package}/{name.removeprefix(f'{folder}/')}"
        for name in tracked()
        for package, folder in PACKAGES.items()
        if name.startswith(f"{folder}/")
    }
    assert names == expected
    assert {f"{package}/py.typed" for package in PACKAGES} <= names
    assert {"wikitext_builder/sample/sample.xml", "wikitext_builder/building/card.md.jinja"} <= names
    kinds = {Path(name).suffix for name in names}
    templates = {".html", ".jinja", ".latex", ".markdown", ".md", ".tex", ".text", ".txt", ".yaml"}
    assert kinds <= templates | {".bib", ".css", ".js", ".py", ".toml", ".tsv", ".typed", ".xml"}


def test_the_source_archive_holds_no_tests_caches_or_data(unpacked: Path) -> None:
    files = {path.relative_to(unpacked).as_posix() for path in unpacked.rglob("*") if path.is_file()}
    assert files - {"PKG-INFO"} <= tracked()
    assert not [
        name for name in files if name.startswith(("tests/", "benchmarks/results/", "benchmarks/speed/"))
    ]
    assert {"LICENSE", "README.md", "CITATION.cff", "pyproject.toml", "constraints.txt"} <= files


def test_the_source_archive_builds_the_same_wheel(unpacked: Path, wheel: Path, tmp_path: Path) -> None:
    assert build(unpacked, tmp_path, "--wheel").read_bytes() == wheel.read_bytes()


def test_the_metadata_are_valid_and_the_readme_needs_no_other_file(wheel: Path, hook: Any) -> None:
    """As an index reads them; its own rules are in `packaging`."""
    metadata = pytest.importorskip("packaging.metadata", reason="reads metadata as an index does")
    classifiers = pytest.importorskip("trove_classifiers", reason="knows the classifiers").classifiers
    with zipfile.ZipFile(wheel) as file:
        (name,) = (name for name in file.namelist() if name.endswith("/METADATA"))
        found = metadata.Metadata.from_email(file.read(name), validate=True)
    assert set(found.classifiers) <= classifiers
    assert (found.author, found.license_expression) == ("The WikiText Builder authors", "Apache-2.0")
    assert found.description_content_type == "text/markdown"
    text = hook.FENCE.sub("", found.description)
    assert "# WikiText Builder" in text
    assert [target for target in LINK.findall(text) if not target.startswith(("https://", "#"))] == []
    urls: dict[str, str] = found.project_urls or {}
    assert set(urls) in (set(), {"Homepage", "Documentation", "Changelog", "Issues"})
    cff = (ROOT / "CITATION.cff").read_text(encoding="utf-8")
    written = re.findall(r"^repository-code: (\S+)$", cff, flags=re.MULTILINE)
    assert written == ([urls["Homepage"]] if urls else []), "CITATION.cff and pyproject.toml differ"


@pytest.mark.parametrize("address", ["", ADDRESS])
def test_the_readme_is_a_page_as_an_index_makes_it(hook: Any, address: str) -> None:
    renderer = pytest.importorskip("readme_renderer.markdown", reason="an index renders with it")
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    text = hook.alone(readme, address)
    assert hook.FENCE.findall(text) == hook.FENCE.findall(readme)
    links = LINK.findall(hook.FENCE.sub("", text))
    assert [link for link in links if not link.startswith(("https://", "#"))] == []
    page = renderer.render(text)
    assert page.count("<h2") == len(re.findall("^## ", readme, re.MULTILINE))
    assert page.count("<table") == len(re.findall(r"^\|[-:|]+\|$", readme, re.MULTILINE))
    assert "&lt;!--" not in page


def test_links_of_a_readme(hook: Any) -> None:
    readme = (
        "![z](docs/z.svg)\n\n*Z.*\n\n[a](docs/a.md#b), [c](#d), [e](https://e.org)\n```text\n[f](g)\n```\n"
    )
    assert hook.alone(readme, "") == "a, [c](#d), [e](https://e.org)\n```text\n[f](g)\n```\n"
    assert hook.alone(readme, ADDRESS) == (
        f"![z]({ADDRESS}/raw/main/docs/z.svg)\n\n*Z.*\n\n[a]({ADDRESS}/blob/main/docs/a.md#b), [c](#d),"
        " [e](https://e.org)\n```text\n[f](g)\n```\n"
    )
    assert hook.addresses("") == {}
    assert hook.addresses(ADDRESS)["Homepage"] == ADDRESS


# --- the container file


def instructions() -> list[tuple[str, str]]:
    """The instructions of docs/Containerfile with their arguments, in order."""
    text = (ROOT / "docs" / "Containerfile").read_text(encoding="utf-8")
    lines = [line for line in text.splitlines() if line and not line.startswith("#")]
    return [(line.split(" ", 1)[0], line.split(" ", 1)[1]) for line in lines]


def test_the_container_file_builds_the_same_wheel_from_what_it_copies(wheel: Path, tmp_path: Path) -> None:
    source = tmp_path / "source"
    for name, rest in instructions():
        if name == "COPY" and not rest.startswith("--from"):
            *files, target = rest.split()
            for file in map(ROOT.joinpath, files):
                there = source / target if file.is_dir() else source / target / file.name
                there.parent.mkdir(parents=True, exist_ok=True)
                (shutil.copytree if file.is_dir() else shutil.copy)(file, there)
    assert build(source, tmp_path / "dist", "--wheel").read_bytes() == wheel.read_bytes()


def test_the_container_has_no_root_and_pinned_versions() -> None:
    found = instructions()
    assert [rest for name, rest in found if name == "USER"] == ["builder"]
    assert [name for name, _ in found].index("USER") > max(
        place for place, (name, _) in enumerate(found) if name == "RUN"
    )
    installs = [rest for name, rest in found if name == "RUN" and "pip" in rest]
    assert len(installs) == 2
    assert all("constraints.txt" in line for line in installs)
    bases = {rest.split()[0] for name, rest in found if name == "FROM"}
    (version,) = re.findall(r"docker\.io/library/python:(3\.\d+)-slim", " ".join(bases))
    assert f"Programming Language :: Python :: {version}" in (ROOT / "pyproject.toml").read_text()
