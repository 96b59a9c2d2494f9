"""The documentation says what is so: examples run, links lead somewhere, the commands' page is fresh.

Examples are fenced as `console` (a command after `$ `, then its output), `python`, or `sh`: commands alone,
which GitHub's button copies. A comment right above a fence says `prints` (the output of the `sh` before it),
`network` (checked against the commands; tests/mediawiki/test_documents.py runs some of them), `in .ci/run`
(CI runs the same commands), `as in NAME` (that document runs them, and this one goes on in its folder), `not
run: REASON`, or `file: NAME`: the text becomes this file. In shown output `…` on a line of its own is for any
lines, and a number for any number: extraction may improve without a change to the documents.
"""

import ast
import importlib.util
import os
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import zip_longest
from pathlib import Path
from typing import Any, cast

import click
import pytest

from ps_models.configs import PRESETS
from tests.code_figures import FOLDERS, documented_in, modules
from tests.command import COMMANDS, PROGRAMS, forked, run_program
from tests.conftest import SOURCES, data
from wikitext_builder.hashing import file_sha256

ROOT = Path(__file__).resolve().parents[1]
DOCS = ROOT / "docs"
DOCUMENTS = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted(DOCS.rglob("*.md"))]
SAMPLE = Path("wikitext_builder/sample/sample.xml")
RECORDS = Path("benchmarks/results")

TINY = cast("dict[str, object]", PRESETS["pointer-sentinel-lstm"]["tiny"].training)
SHOWN = [path for path, command in COMMANDS.items() if not command.hidden]
FENCE = re.compile(
    r"(?:^<!-- (?P<note>[^\n]*?) -->\n)?^```(?P<kind>\w*)\n(?P<text>.*?)^```$", re.MULTILINE | re.DOTALL
)
LINK = re.compile(r"\[[^\]\n]*\]\(([^()\s]+)\)")
CODE = re.compile(r"`([^`\n]+)`")
SHELL = ("console", "sh")
IN_CI, AS_IN, PRINTS = "in .ci/run", "as in ", "prints"
FILE = "file: "  # a comment above a fence: its text is written to this file
NAMED_FILE = re.compile(r"(?:docs|tests|wikitext_builder|ps_models|benchmarks)/[\w./-]+\.\w+")


@dataclass(frozen=True)
class Fence:
    """A fenced block, and the comment above it."""

    kind: str
    text: str
    note: str
    prints: str = "…\n"  # of `sh`


def name_of(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


def fences(path: Path) -> list[Fence]:
    found = FENCE.finditer(path.read_text(encoding="utf-8"))
    every = [Fence(match["kind"], match["text"], match["note"] or "") for match in found]
    pairs = zip_longest(every, every[1:])
    return [
        replace(one, prints=next_.text) if next_ and next_.note == PRINTS else one for one, next_ in pairs
    ]


def commands(fence: Fence) -> Iterator[tuple[str, str]]:
    """Each command of a block with the output that is shown for it alone."""
    if fence.kind == "sh":
        yield from ((command, "…\n") for command in fence.text.splitlines())
        return
    assert fence.text.startswith("$ "), fence.text
    for part in re.split(r"^\$ ", fence.text, flags=re.MULTILINE)[1:]:
        command, _, output = part.partition("\n")
        yield command, output


# --- commands


def script(name: str) -> Any:
    """A module of the folder docs/, which is not a package."""
    spec = importlib.util.spec_from_file_location(name, DOCS / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_page_of_commands_is_fresh() -> None:
    assert (DOCS / "cli.md").read_text(encoding="utf-8") == script("generate_cli").render(), (
        "run python docs/generate_cli.py"
    )


@pytest.mark.parametrize("path", SHOWN)
def test_every_command_and_option_is_documented(path: str) -> None:
    page = (DOCS / "cli.md").read_text(encoding="utf-8")
    section = page.split(f"## `{path}`\n", 1)[1].split("\n## ", 1)[0]
    for option in COMMANDS[path].params:
        if isinstance(option, click.Option):
            assert option.help, f"{path}: {option.name} has no help"
            for text in (*option.opts, *option.secondary_opts):
                assert re.search(rf"{re.escape(text)}[ ,`]", section), text


@pytest.mark.parametrize(
    "name",
    [path.split()[-1] for path in SHOWN if len(path.split()) == 2 and path.startswith("wikitext-builder")],
)
def test_every_command_is_in_the_changelog(name: str) -> None:
    assert re.search(rf"`{name}\b", (DOCS / "changelog.md").read_text(encoding="utf-8"))


def check_command(words: list[str], program: str = "wikitext-builder") -> None:
    """Whether a command line names commands, options and choices that there are."""
    command = COMMANDS[program]
    while isinstance(command, click.Group):
        assert words, "a command is missing"
        name, *words = words
        assert name in command.commands, f"there is no command {name}"
        command = command.commands[name]
    settings = COMMANDS[program].context_settings  # a command keeps its first help option
    context = click.Context(command, **settings)
    values, rest, _ = command.make_parser(context).parse_args(args=list(words))
    assert not rest, f"{rest} belongs to nothing"
    for parameter in command.params:
        value = values.get(parameter.name or "")
        given = isinstance(value, str | tuple | list)  # what is not given is None or a mark of click's own
        assert given or not parameter.required, f"{parameter.name} is missing"
        if given and isinstance(parameter.type, click.Choice):
            parameter.type.convert(value, parameter, context)


UNRUN = [
    pytest.param(command, id=f"{name_of(path)}: {command[:60]}")
    for path in DOCUMENTS
    for fence in fences(path)
    if fence.kind in SHELL and fence.note == "network"
    for command, _ in commands(fence)
]


@pytest.mark.parametrize("command", UNRUN)
def test_examples_of_the_network_name_real_commands(command: str) -> None:
    lexer = shlex.shlex(command, posix=True, punctuation_chars="|>")
    lexer.whitespace_split = True
    words = list(lexer)
    end = next((at for at, word in enumerate(words) if set(word) <= set("|>")), len(words))
    assert words[0] == "wikitext-builder"
    check_command(words[1:end])


def test_the_check_of_examples_finds_what_is_wrong() -> None:
    wrong_ones = (
        "fetsch --store a",
        "fetch --store a --as-off 2016",
        "fetch --limit 3",
        "verify",
        "build wikitext-3 --store a --out b",
        "build demo more --store a --out b",
    )
    for wrong in wrong_ones:
        with pytest.raises((AssertionError, click.UsageError)):
            check_command(wrong.split())


# --- examples


def test_every_fence_is_of_a_known_kind() -> None:
    for path in DOCUMENTS:
        text = path.read_text(encoding="utf-8")
        assert text.count("\n```") == 2 * len(fences(path)), path
        for fence in fences(path):
            known = fence.kind in (*SHELL, "python", "text", "bibtex") or fence.note.startswith(FILE)
            assert known, (path, fence)
            assert fence.note in ("", "network", IN_CI, PRINTS) or fence.note.startswith(
                ("not run: ", AS_IN, FILE)
            )


def test_what_ci_runs_itself_and_what_another_document_shows_is_there() -> None:
    lines = (ROOT / ".ci" / "run").read_text(encoding="utf-8").splitlines()
    ci = [re.sub(r"^beside \w+ ", "", line) for line in lines]  # what runs beside something else
    for path in DOCUMENTS:
        for fence in fences(path):
            if fence.note == IN_CI:
                assert {command for command, _ in commands(fence)} <= set(ci), path
            elif fence.note.startswith(AS_IN):
                there = [one for one in runnable(ROOT / fence.note.removeprefix(AS_IN)) if one.kind in SHELL]
                ran = {command: f"{shown}{one.prints}" for one in there for command, shown in commands(one)}
                for command, shown in commands(fence):
                    assert shown in ran[command] or shown == "…\n", path


def runnable(path: Path) -> list[Fence]:
    return [
        fence
        for fence in fences(path)
        if fence.note.startswith(FILE) or (fence.kind in (*SHELL, "python") and not fence.note)
    ]


def plain(text: str) -> str:
    """Output without what may change: numbers, widths, spaces at the ends of lines."""
    text = re.sub(r"\d[\d.,]*\d|\d", "#", text)
    lines = (" ".join(re.sub("--+", "--", line).split()) for line in text.splitlines())
    return "".join(f"{line}\n" for line in lines)


def assert_shown(shown: str, output: str) -> None:
    """Whether output is what a document shows."""
    pattern = "".join(
        r"(?:.*\n)*" if line == "…" else f"{re.escape(line)}\n" for line in plain(shown).splitlines()
    )
    assert re.fullmatch(pattern, plain(output)), f"shown:\n{shown}\nreally:\n{output}"


def test_shown_output_is_compared() -> None:
    assert_shown("a  1,234 b\n…\n", "a 5 b\nmore\n\nlines\n")
    with pytest.raises(AssertionError):
        assert_shown("a 1\n", "a 1\nand more\n")
    with pytest.raises(AssertionError):
        assert_shown("", "something\n")


@pytest.fixture
def place(tmp_path: Path) -> Path:
    """A folder with the bundled sample, the examples and the records, as in a clone."""
    (tmp_path / SAMPLE).parent.mkdir(parents=True)
    shutil.copy(ROOT / SAMPLE, tmp_path / SAMPLE)
    shutil.copytree(ROOT / RECORDS, tmp_path / RECORDS)
    shutil.copytree(DOCS / "examples", tmp_path / "docs" / "examples")
    return tmp_path


def offline(place: Path) -> dict[str, str]:
    folders = {"HF_HOME": str(place / "hf"), "XDG_CONFIG_HOME": str(place / "config")}
    return {**folders, "HF_HUB_OFFLINE": "1", "HF_DATASETS_OFFLINE": "1"}


def run(command: str, place: Path) -> subprocess.CompletedProcess[str]:
    """A command line: one of ours in a fork, any other in a shell."""
    words = shlex.split(command)
    if words[0] in PROGRAMS and not set(command) & set("|>$"):
        return run_program(*words, place=place, **offline(place))
    programs = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    return subprocess.run(
        ["bash", "-c", command],
        cwd=place,
        env={**os.environ, **offline(place), "PATH": programs, "PYTHONPATH": SOURCES},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
        timeout=600,
    )


def run_python(program: str, place: Path) -> subprocess.CompletedProcess[str]:
    """A program as `python -c` runs it."""
    return forked(lambda: exec(program, {"__name__": "__main__"}), place, **offline(place))


def check_example(command: str, shown: str, place: Path) -> str:
    """Runs a command, compares what is shown for it, and returns its output."""
    done = run(command, place)
    if shown.startswith("wikitext-builder: "):
        assert done.returncode == 1
        assert_shown(shown, done.stderr)
    else:
        assert done.returncode == 0, f"{command}\n{done.stderr}"
        assert_shown(shown, done.stdout)
    return done.stdout


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
    # Numbers are not compared; after six of its ten epochs the model is better than KN-5, as the README says.
    monkeypatch.setitem(TINY, "epochs", 6)
    for fence in (fence for path in paths for fence in runnable(path)):
        if fence.note.startswith(FILE):
            (place / Path(fence.note.removeprefix(FILE)).name).write_text(fence.text, encoding="utf-8")
        elif fence.kind == "python":
            if "import load_dataset" in fence.text:
                pytest.importorskip("datasets", reason="an example reads with the datasets library")
            if "import lm_benchmarks" in fence.text or "import ps_models" in fence.text:
                pytest.importorskip("torch", reason="an example measures models")
            if "import transformers" in fence.text:
                library = pytest.importorskip(
                    "transformers", reason="an example makes a model of this library"
                )
                # Imported here, and not in each copy of this process.
                assert library.GPT2LMHeadModel
                assert library.AutoModelForCausalLM
                assert library.AutoTokenizer
            done = run_python(fence.text, place)
            assert done.returncode == 0, f"{fence.text}\n{done.stderr}"
        else:
            printed = ""
            for command, shown in commands(fence):
                if command.startswith(("ps-models", "lm-benchmarks")):
                    pytest.importorskip("torch", reason="an example measures models")
                printed += check_example(command, shown, place)
            assert_shown(fence.prints, printed)


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
        there = (path.parent / file).resolve() if file else path
        assert there.exists(), target
        assert there == ROOT or ROOT in there.parents, f"{target} leads out of the project"
        assert not anchor or anchor in anchors(there), target
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
        todo += [one for one in paths if one.suffix == ".md" and one not in reached]
    assert set(DOCUMENTS) <= reached


def tracked() -> set[str]:
    """The files of the project."""
    if not (ROOT / ".git").exists():
        pytest.skip("not a git checkout, so what belongs to the project is not known")
    names = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, check=True).stdout
    return {name for name in os.fsdecode(names).split("\0") if (ROOT / name).is_file()}


def test_no_file_names_a_path_of_the_machine_it_was_written_on() -> None:
    ours = re.compile(
        rb"(?<![\w.<])/(?:" + b"|".join((b"wor" + b"k", b"roo" + b"t", b"hom" + b"e")) + rb")/\w"
    )
    for path in map(ROOT.joinpath, tracked()):
        if path.suffix != ".xml":
            found = ours.search(path.read_bytes())
            assert found is None, f"{path}: {found}"


def reasons_in(node: ast.AST, *, in_table: bool) -> list[ast.expr]:
    """What can be a reason: of an error, of a reject, or in a table of faults: reason, condition, detail."""
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
        str(one.value)
        for path in (ROOT / "wikitext_builder").rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        for one in reasons_in(node, in_table=path.stem in ("page_history", "snapshot", "xml_dump"))
        if isinstance(one, ast.Constant)
    }
    assert {"too-large", "hidden", "missing", "invalid-title", "no-title"} <= reasons
    assert [reason for reason in sorted(reasons) if f"`{reason}`" not in page] == []


# --- docstrings


@pytest.mark.parametrize("package", FOLDERS)
def test_every_public_name_has_a_docstring(package: str) -> None:
    paths = modules(ROOT / package)
    assert paths
    for path in paths:
        for name, docstring in documented_in(path):
            assert docstring, f"{name} has no docstring"
            assert docstring.splitlines()[0].strip(), f"{name}: its first line says nothing"


def test_the_site_turns_links_into_its_own() -> None:
    hooks = script("site_hooks")
    readme = "[a](docs/format.md#lines), [b](wikitext_builder), ![c](docs/notes/c.svg), [d](#e)"
    assert hooks.for_site(readme, "README.md") == ("[a](format.md#lines), b, ![c](notes/c.svg), [d](#e)")
    page = "[a](../README.md) [b](../tests/test_docs.py) [c](https://c.org)\n```text\n[d](../e)\n```\n"
    assert hooks.for_site(page, "docs/format.md") == (
        "[a](index.md) b [c](https://c.org)\n```text\n[d](../e)\n```\n"
    )
    assert hooks.for_site(r"| `a \| b` | a \| b |", "docs/cli.md") == r"| `a | b` | a \| b |"


def test_the_site_shows_examples_as_code_and_comments_of_attributes() -> None:
    pytest.importorskip("griffe", reason="needs the docs extra")
    docstrings = script("docstrings")
    shown = docstrings.fenced("Adds.\n\n>>> 1 + 1\n2\n\nMore.")
    assert shown == "Adds.\n\n```pycon\n>>> 1 + 1\n2\n```\n\nMore."
    assert docstrings.comment_behind("a: str = '#1'  # in `b` # c") == "In `b` # c."
    assert docstrings.comment_behind("a: str = 'it#s'\nb = 1  # c") == ""
    assert docstrings.comment_behind("a = 1  # noqa: A001 - b") == ""


def test_every_name_of_a_front_door_has_an_entry() -> None:
    hooks = script("site_hooks")
    pages = hooks.api_pages()
    for package in hooks.PACKAGES:
        entries = set(re.findall(r"^::: ([\w.]+)$", pages[f"api/{package}.md"], flags=re.MULTILINE))
        assert entries == {package, *(f"{package}.{name}" for name in hooks.names_of(package))}
    entries = {name for page in pages.values() for name in re.findall(r"^::: ([\w.]+)$", page, re.MULTILINE)}
    for package, folder in hooks.PACKAGES.items():
        for path in modules(folder):
            name = ".".join((package, *path.relative_to(folder).with_suffix("").parts))
            assert path.stem.startswith("__main") or name.removesuffix(".__init__") in entries
