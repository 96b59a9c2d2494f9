"""The documentation says what is so: examples run, links lead somewhere, every public name is documented."""

import ast
import re
import shlex
import shutil
from pathlib import Path
from typing import cast

import click
import pytest

from docs.code_figures import FOLDERS, documented_in, modules
from ps_models.configs import PRESETS
from tests.command import COMMANDS
from tests.conftest import ROOT, data
from tests.documents import (
    AS_IN,
    DOCS,
    DOCUMENTS,
    FENCE,
    FILE,
    GENERATED_PAGE,
    IN_CI,
    LINK,
    PRINTS,
    SHELL,
    assert_output,
    check_command,
    check_example,
    commands,
    docs_module,
    fences,
    name_of,
    run_python,
    runnable,
    tracked,
)
from wikitext_builder.files import file_sha256

SAMPLE = Path("wikitext_builder/sample/sample.xml")
RECORDS = Path("benchmarks/results")
TINY = cast("dict[str, object]", PRESETS["pointer-sentinel-lstm"]["tiny"].training)
CODE = re.compile(r"`([^`\n]+)`")
NAMED_FILE = re.compile(r"(?:docs|tests|wikitext_builder|ps_models|benchmarks)/[\w./-]+\.\w+")


# --- commands


def test_every_command_and_option_is_documented() -> None:
    page = docs_module("site_pages").commands_page()
    faults = []
    for path, command in COMMANDS.items():
        if command.hidden:
            continue
        section = page.split(f"## `{path}`\n", 1)[1].split("\n## ", 1)[0]
        for option in command.params:
            if isinstance(option, click.Option):
                names = (*option.opts, *option.secondary_opts)
                faults += [
                    (path, name) for name in names if not re.search(rf"{re.escape(name)}[ ,`]", section)
                ]
                faults += [] if option.help else [(path, f"{option.name} has no help")]
    assert faults == []


def test_examples_of_the_network_name_real_commands() -> None:
    lines = [
        command
        for path in DOCUMENTS
        for fence in fences(path)
        if fence.kind in SHELL and fence.note == "network"
        for command, _ in commands(fence)
    ]
    assert len(lines) > 10
    for line in lines:
        lexer = shlex.shlex(line, posix=True, punctuation_chars="|>")
        lexer.whitespace_split = True
        words = list(lexer)
        end = next((at for at, word in enumerate(words) if set(word) <= set("|>")), len(words))
        assert words[0] == "wikitext-builder", line
        check_command(words[1:end])


@pytest.mark.parametrize(
    "wrong",
    [
        "fetsch --store a",
        "fetch --store a --as-off 2016",
        "fetch --limit 3",
        "verify",
        "build demo more --store a --out b",
    ],
)
def test_the_check_of_examples_finds_what_is_wrong(wrong: str) -> None:
    with pytest.raises((AssertionError, click.UsageError)):
        check_command(wrong.split())


# --- examples


def test_every_fence_is_of_a_known_kind() -> None:
    for path in DOCUMENTS:
        text = path.read_text(encoding="utf-8")
        assert text.count("\n```") == 2 * len(fences(path)), path
        for fence in fences(path):
            kinds = (*SHELL, "python", "text", "bibtex")
            assert fence.kind in kinds or fence.note.startswith(FILE), (path, fence)
            notes = ("not run: ", AS_IN, FILE)
            assert fence.note in ("", "network", IN_CI, PRINTS) or fence.note.startswith(notes), (path, fence)


def test_what_ci_runs_itself_and_what_another_document_shows_is_there() -> None:
    lines = (ROOT / ".ci" / "run").read_text(encoding="utf-8").splitlines()
    ci = [re.sub(r"^beside \w+ ", "", line) for line in lines]  # what runs beside something else
    for path in DOCUMENTS:
        for fence in fences(path):
            if fence.note == IN_CI:
                assert {command for command, _ in commands(fence)} <= set(ci), path
            elif fence.note.startswith(AS_IN):
                blocks = [
                    block for block in runnable(ROOT / fence.note.removeprefix(AS_IN)) if block.kind in SHELL
                ]
                outputs = {
                    command: f"{output}{block.prints}"
                    for block in blocks
                    for command, output in commands(block)
                }
                for command, output in commands(fence):
                    assert output in outputs[command] or output == "…\n", path


def test_output_is_compared() -> None:
    assert_output("a  1,234 b\n…\n", "a 5 b\nmore\n\nlines\n")
    with pytest.raises(AssertionError):
        assert_output("a 1\n", "a 1\nand more\n")
    with pytest.raises(AssertionError):
        assert_output("", "something\n")


@pytest.fixture
def place(tmp_path: Path) -> Path:
    """A folder with the bundled sample, the examples and the records, as in a clone."""
    (tmp_path / SAMPLE).parent.mkdir(parents=True)
    shutil.copy(ROOT / SAMPLE, tmp_path / SAMPLE)
    shutil.copytree(ROOT / RECORDS, tmp_path / RECORDS)
    shutil.copytree(DOCS / "examples", tmp_path / "docs" / "examples")
    return tmp_path


def named_before(path: Path) -> set[Path]:
    """The documents whose examples a document does not repeat."""
    return {ROOT / fence.note.removeprefix(AS_IN) for fence in fences(path) if fence.note.startswith(AS_IN)}


RUNNABLE = [path for path in DOCUMENTS if runnable(path)]
BEFORE = {path: named_before(path) for path in RUNNABLE}
# Documents whose examples run in one folder, in order: one, and those that go on where it ends.
ORDERS = [
    [path, *(other for other in RUNNABLE if path in BEFORE[other])] for path in RUNNABLE if not BEFORE[path]
]


def test_no_document_goes_on_after_one_that_goes_on_itself() -> None:
    assert sorted(path for order in ORDERS for path in order) == sorted(RUNNABLE)


@pytest.mark.slow
@pytest.mark.timeout(1200)  # two documents train a model
@pytest.mark.parametrize("paths", ORDERS, ids=lambda paths: "+".join(map(name_of, paths)))
def test_examples_run_in_order(paths: list[Path], place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(TINY, "epochs", 2)  # numbers are not compared
    for fence in (fence for path in paths for fence in runnable(path)):
        if fence.note.startswith(FILE):
            (place / Path(fence.note.removeprefix(FILE)).name).write_text(fence.text, encoding="utf-8")
        elif fence.kind == "python":
            for library in ("datasets", "torch", "transformers"):
                if f"import {library}" in fence.text or f"from {library}" in fence.text:
                    pytest.importorskip(library)
            if "import transformers" in fence.text:  # imported here, and not in each copy of this process
                library = pytest.importorskip("transformers")
                assert library.GPT2LMHeadModel
                assert library.AutoModelForCausalLM
                assert library.AutoTokenizer
            done = run_python(fence.text, place)
            assert done.returncode == 0, f"{fence.text}\n{done.stderr}"
        else:
            printed = ""
            for command, output in commands(fence):
                printed += check_example(command, output, place)
            assert_output(fence.prints, printed)


# --- links and names


def anchors(path: Path) -> set[str]:
    """What can stand after `#` in a link to a document."""
    text = FENCE.sub("", path.read_text(encoding="utf-8"))
    headings = re.findall(r"^#+ (.*)$", text, flags=re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


OFFICIAL = re.findall(r"^([0-9a-f]{64})  (\S+)$", (DOCS / "installing.md").read_text("utf-8"), re.MULTILINE)


@pytest.mark.parametrize(("digest", "name"), OFFICIAL)
def test_hashes_of_official_files_are_theirs(digest: str, name: str) -> None:
    assert file_sha256(data(name)) == digest


@pytest.mark.parametrize("path", DOCUMENTS, ids=name_of)
def test_links_lead_somewhere(path: Path) -> None:
    text = FENCE.sub("", path.read_text(encoding="utf-8"))
    for target in LINK.findall(text):
        if target.startswith("https://"):
            continue
        file, _, anchor = target.partition("#")
        linked = (path.parent / file).resolve() if file else path
        assert linked.exists(), target
        assert linked == ROOT or ROOT in linked.parents, f"{target} leads out of the project"
        assert not anchor or anchor in anchors(linked), target
    for code in CODE.findall(text):
        if NAMED_FILE.fullmatch(code):
            assert (ROOT / code).exists(), code


def test_every_document_can_be_reached_from_the_readme() -> None:
    reached, todo = set[Path](), [ROOT / "README.md"]
    while todo:
        path = todo.pop()
        reached.add(path)
        targets = {target.partition("#")[0] for target in LINK.findall(path.read_text(encoding="utf-8"))}
        paths = {(path.parent / target).resolve() for target in targets if not target.startswith("https://")}
        todo += [linked for linked in paths if linked.suffix == ".md" and linked not in reached]
    assert set(DOCUMENTS) <= reached
    assert GENERATED_PAGE not in DOCUMENTS


def test_no_file_names_a_path_of_the_machine_it_was_written_on() -> None:
    ours = re.compile(
        rb"(?<![\w.<])/(?:" + b"|".join((b"wor" + b"k", b"roo" + b"t", b"hom" + b"e")) + rb")/\w"
    )
    for path in map(ROOT.joinpath, tracked()):
        if path.suffix != ".xml":
            match = ours.search(path.read_bytes())
            assert match is None, f"{path}: {match}"


def reasons_in(node: ast.AST, *, in_table: bool) -> list[ast.expr]:
    """What can be a reason: of an error, of a rejected page, or in a table of faults."""
    if isinstance(node, ast.Tuple) and in_table and len(node.elts) == 3:
        return node.elts[:1]
    if not isinstance(node, ast.Call):
        return []
    if ast.unparse(node.func) == "Rejected":
        return [keyword.value for keyword in node.keywords if keyword.arg == "reason"]
    place = {"RejectedError": 0, "Rejected.of": 1}.get(ast.unparse(node.func))
    return [] if place is None else node.args[place : place + 1]


def test_every_reason_of_rejection_is_documented() -> None:
    page = (DOCS / "errors.md").read_text(encoding="utf-8")
    reasons = {
        str(reason.value)
        for path in (ROOT / "wikitext_builder").rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        for reason in reasons_in(node, in_table=path.stem in ("lookup", "snapshot", "xml_dump"))
        if isinstance(reason, ast.Constant)
    }
    assert {"too-large", "hidden", "missing", "invalid-title", "no-title"} <= reasons
    assert [reason for reason in sorted(reasons) if f"`{reason}`" not in page] == []


# --- docstrings and the site


def test_every_public_name_has_a_docstring() -> None:
    names = [
        entry for package in FOLDERS for path in modules(ROOT / package) for entry in documented_in(path)
    ]
    assert len(names) > 1000
    assert [name for name, docstring in names if not docstring or not docstring.splitlines()[0].strip()] == []


def test_the_site_turns_links_into_its_own() -> None:
    hooks = docs_module("site_hooks")
    readme = "[a](docs/format.md#lines), [b](wikitext_builder), ![c](docs/c.svg), [d](#e)"
    assert hooks.for_site(readme, "README.md") == ("[a](format.md#lines), b, ![c](c.svg), [d](#e)")
    page = "[a](../README.md) [b](../tests/test_docs.py) [c](https://c.org)\n```text\n[d](../e)\n```\n"
    assert hooks.for_site(page, "docs/format.md") == (
        "[a](index.md) b [c](https://c.org)\n```text\n[d](../e)\n```\n"
    )
    assert hooks.for_site(r"| `a \| b` | a \| b |", "docs/cli.md") == r"| `a | b` | a \| b |"


def test_the_site_shows_examples_as_code_and_comments_of_attributes() -> None:
    pytest.importorskip("griffe", reason="needs the docs extra")
    docstrings = docs_module("docstrings")
    text = docstrings.fenced("Adds.\n\n>>> 1 + 1\n2\n\nMore.")
    assert text == "Adds.\n\n```pycon\n>>> 1 + 1\n2\n```\n\nMore."
    assert docstrings.comment_behind("a: str = '#1'  # in `b` # c") == "In `b` # c."
    assert docstrings.comment_behind("a: str = 'it#s'\nb = 1  # c") == ""
    assert docstrings.comment_behind("a = 1  # noqa: A001 - b") == ""


def test_every_name_of_a_front_door_has_an_entry() -> None:
    site_pages = docs_module("site_pages")
    pages = site_pages.api_pages()
    for package in site_pages.PACKAGES:
        entries = set(re.findall(r"^::: ([\w.]+)$", pages[f"api/{package}.md"], flags=re.MULTILINE))
        assert entries == {package, *(f"{package}.{name}" for name in site_pages.names_of(package))}


def test_every_statistic_is_in_a_table() -> None:
    from wikitext_builder.stats.portrait import statistics_of_portrait

    tables = docs_module("site_pages").statistics_tables()
    statistics = statistics_of_portrait()
    assert tables.count("\n| ") >= len(statistics)
    assert [key for key in statistics if f"({key})" not in tables] == []
