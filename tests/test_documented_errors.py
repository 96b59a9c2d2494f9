"""Each error that a public function documents, and each documented exit status, is met once."""

import inspect
import os
import re
import signal
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import click
import lm_benchmarks as lb
import pytest
import torch

import ps_models as pm
import wikitext_builder as wb
from tests.command import PROGRAMS, forked
from tests.conftest import ROOT
from tests.documents import docs_module
from tests.ps_models.tiny import make_dataset, settings_of, train
from tests.wikitext_builder.datasets import PAGES, built, store_of
from wikitext_builder.errors import ToolkitError
from wikitext_builder.store.store import Store


class Place(NamedTuple):
    """What the rows need; everything is small."""

    folder: Path  # where nothing is yet, but `empty`, a folder, and `file`, a file
    store: Path  # of one language
    two: Path  # a store of two languages
    data: Path  # a dataset that was built here
    tiny: Path  # one in the layout of WikiText, without a manifest
    run: Path  # of an LSTM on `tiny`
    results: Path  # of two models on `tiny`

    def __truediv__(self, name: str) -> Path:
        return self.folder / name


class Broken:
    """A model whose probabilities do not sum to one."""

    def initial_state(self, batch_size: int) -> torch.Tensor:
        return torch.zeros(batch_size)

    def __call__(self, tokens: torch.Tensor, state: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        return torch.full(tokens.shape, -1.0), state

    def loss(
        self,
        tokens: torch.Tensor,
        state: torch.Tensor,
        scored: int | None = None,
        advance: int | None = None,
    ) -> tuple[torch.Tensor, torch.Tensor]:
        del scored, advance
        return torch.zeros(tokens.shape), state

    def next_log_probs(self, state: torch.Tensor) -> torch.Tensor:
        return torch.zeros(len(state), 9)


def cut(path: Path, copy: Path, keep: int = 100) -> Path:
    """A damaged copy of a file."""
    copy.parent.mkdir(parents=True, exist_ok=True)
    copy.write_bytes(path.read_bytes()[:keep])
    return copy


def damaged_set(at: Place) -> Path:
    """A dataset whose manifest cannot be read."""
    return cut(at.data / "manifest.json", at / "damaged" / "manifest.json").parent


def without_train(at: Place) -> Path:
    cut(at.tiny / "wiki.test.tokens", at / "part" / "wiki.test.tokens", 10**6)
    return at / "part"


def explained(at: Place) -> Any:
    return pm.explain(at.run, at.tiny, words=2)


def failing(at: Place) -> str:
    (at / "program.sh").write_text("#!/bin/sh\nexit 3\n")
    (at / "program.sh").chmod(0o755)
    return f"command:{at / 'program.sh'}"


def edited_task(at: Place) -> Path:
    (lb.lm_eval_task(at.data, at / "tasks") / "pages.py").write_text("mine")
    return at / "tasks"


Rows = dict[str, Callable[[Place], object]]
# By function and error; then by words of its docstring, which are the reason.
RAISED: dict[str, Rows] = {
    "wb.build BuilderError": {
        "no pages for the recipe": lambda at: wb.build("demo", at.store, at / "x", language="de"),
        "`out` holds something else": lambda at: wb.build("demo", at.store, at / "empty"),
        "a disk": lambda at: wb.build("demo", at.store, at / "file" / "x", workers=1),
    },
    "wb.detokenize BuilderError": {"unknown": lambda _: wb.detokenize("a", "xx-none")},
    "wb.extract RejectedError": {
        "`too-large`": lambda _: wb.extract("x" * 2**23, title="A"),
        "`redirect`": lambda _: wb.extract("#REDIRECT [[A]]", title="B"),
        "`malformed`": lambda _: wb.extract("a {{b " * 1500, title="A"),
        "`macro` if one of `macros` failed": lambda _: wb.extract(
            "{{A}}", title="A", macros={"A": lambda call: str(1 / (len(call.params) * 0))}
        ),
    },
    "wb.extract BuilderError": {
        "The language": lambda _: wb.extract("A", title="A", language="xx-none"),
        "`sections`": lambda _: wb.extract("A", title="A", sections="all"),
        "`incomplete`": lambda _: wb.extract("A", title="A", incomplete="all"),
        "no title": lambda _: wb.extract("A"),
        "not a function": lambda _: wb.extract("A", title="A", macros={"A": 1}),  # type: ignore[dict-item]
    },
    "wb.extract_rendered RejectedError": {
        "`redirect`": lambda _: wb.extract_rendered("A", replace(PAGES[0], wikitext="#REDIRECT [[B]]")),
        "`too-large`": lambda _: wb.extract_rendered("x" * 2**26, PAGES[0]),
        "`too-deep`": lambda _: wb.extract_rendered("<div>" * 5000, PAGES[0]),
    },
    "wb.extract_rendered BuilderError": {
        "The language": lambda _: wb.extract_rendered("A", PAGES[0], language="xx-none"),
        "`sections`": lambda _: wb.extract_rendered("A", PAGES[0], sections="all"),
        "`incomplete`": lambda _: wb.extract_rendered("A", PAGES[0], incomplete="all"),
    },
    "wb.fetch BuilderError": {
        "An argument": lambda at: wb.fetch(at / "a.store", parallel=0, contact="a@example.org"),
        "the wiki": lambda at: wb.fetch(
            at / "a.store", api="http://127.0.0.1:1/w/api.php", select="titles:x"
        ),
        "the store": lambda at: wb.fetch(at / "file", api="http://127.0.0.1:1/w/api.php", limit=1),
    },
    "wb.import_dump BuilderError": {
        "An argument": lambda at: wb.import_dump(at / "a.store", at / "file", language="xx-none"),
        "a dump": lambda at: wb.import_dump(at / "a.store", at / "file"),
        "the store": lambda at: wb.import_dump(at / "file", ROOT / "wikitext_builder/sample/sample.xml"),
    },
    "wb.load BuilderError": {"no dataset": lambda at: wb.load(at / "empty")},
    "wb.lock BuilderError": {
        "store does not exist": lambda at: wb.lock(at / "nowhere"),
        "no page to lock": lambda at: wb.lock(at.store, as_of="2001-01-01"),
    },
    "wb.open_templates BuilderError": {
        "store does not exist": lambda at: wb.open_templates(at / "nowhere").__enter__(),
    },
    "wb.overlap BuilderError": {
        "missing": lambda at: wb.overlap(at / "empty", against=at / "file"),
        "a path of `against` does not exist": lambda at: wb.overlap(at.tiny, against=at / "nowhere"),
        "none of the other text can be read": lambda at: wb.overlap(at.tiny, against=at.store),
    },
    "wb.describe BuilderError": {
        "dataset does not exist": lambda at: wb.describe(at / "empty", out=at / "x.html"),
        "another ending": lambda at: wb.describe(at.tiny, out=at / "x.doc"),
    },
    "wb.plot_statistic BuilderError": {
        "A dataset or": lambda at: wb.plot_statistic("heaps", at / "empty", out=at / "x.png"),
        "statistic does not exist": lambda at: wb.plot_statistic("heap", at.tiny, out=at / "x.png"),
        "no curve": lambda at: wb.plot_statistic("structure", at.tiny, out=at / "x.png"),
        "another ending": lambda at: wb.plot_statistic("heaps", at.tiny, out=at / "x.doc"),
    },
    "wb.plot_window BuilderError": {
        "A dataset or": lambda at: wb.plot_window(at / "empty", out=at / "x.png"),
        "split does not exist": lambda at: wb.plot_window(without_train(at), out=at / "x.png"),
        "another ending": lambda at: wb.plot_window(at.tiny, out=at / "x.doc"),
    },
    "wb.plot_zipf BuilderError": {
        "dataset does not exist": lambda at: wb.plot_zipf(at / "empty", out=at / "x.png"),
        "no train file": lambda at: wb.plot_zipf(without_train(at), out=at / "x.png"),
        "another ending": lambda at: wb.plot_zipf(at.tiny, out=at / "x.doc"),
    },
    "wb.read_page BuilderError": {
        "The store or": lambda at: wb.read_page(at / "nowhere", title="Title 1"),
        "page does not exist": lambda at: wb.read_page(at.store, title="Nobody"),
    },
    "wb.statistics BuilderError": {
        "A dataset or": lambda at: wb.statistics(at / "empty"),
        "or statistic": lambda at: wb.statistics(at.tiny, measures=["zip"]),
        "a name occurs twice": lambda at: wb.statistics(at.tiny, at.data, names=["a", "a"]),
    },
    "wb.status BuilderError": {"store does not exist": lambda at: wb.status(at / "nowhere")},
    "wb.store_language BuilderError": {
        "store does not exist": lambda at: wb.store_language(at / "nowhere"),
        "several languages": lambda at: wb.store_language(at.two),
    },
    "wb.verify BuilderError": {
        "no dataset": lambda at: wb.verify(at / "empty"),
        "manifest cannot be read": lambda at: wb.verify(damaged_set(at)),
    },
    "pm.Explanation.save ModelError": {
        "another ending": lambda at: explained(at).save(at / "x.doc"),
        "too many words": lambda at: replace(
            explained(at), predictions=explained(at).predictions * 10_000
        ).save(at / "x.html"),
    },
    "pm.Score.perplexity ZeroDivisionError": {"no tokens": lambda _: pm.Score(0.0, 0).perplexity},
    "pm.Score.bits_per_byte ZeroDivisionError": {
        "no bytes": lambda _: pm.Score(1.0, 1, bytes=0).bits_per_byte
    },
    "pm.Signature.parse ValueError": {"not a signature": lambda _: pm.Signature.parse("x")},
    "pm.check_language_model BrokenLawError": {"violates": lambda _: pm.check_language_model(Broken(), 9)},
    "pm.check_trainable BrokenLawError": {"violates": lambda _: pm.check_trainable(Broken(), 9)},
    "pm.compare ModelError": {
        "missing": lambda at: pm.compare(at / "empty", at.run, at.tiny),
        "unknown ending": lambda at: pm.compare(at.run, at.run, at.tiny, figure=at / "x.doc"),
    },
    "pm.evaluate ModelError": {
        "missing": lambda at: pm.evaluate(at / "empty", at.tiny),
        "damaged": lambda at: pm.evaluate(cut(at.run / "best.safetensors", at / "x.safetensors"), at.tiny),
        "the data": lambda at: pm.evaluate(at.run, at.data),
    },
    "pm.explain ModelError": {
        "missing": lambda at: pm.explain(at / "empty", at.tiny),
        "shorter than `start`": lambda at: pm.explain(at.run, at.tiny, start=10**6),
        "`out` has an unknown ending": lambda at: pm.explain(at.run, at.tiny, out=at / "x.doc"),
        "the model has no pointer": lambda at: pm.explain(at.run, at.tiny, start="best"),
    },
    "pm.generate ModelError": {
        "missing": lambda at: next(pm.generate(at / "empty")),
        "temperature": lambda at: next(pm.generate(at.run, temperature=-1.0)),
    },
    "pm.load ModelError": {
        "missing": lambda at: pm.load(at / "empty"),
        "damaged": lambda at: pm.load(cut(at.run / "best.safetensors", at / "x.safetensors")),
    },
    "pm.score ModelError": {
        "The text is empty": lambda at: pm.score(at.run, ""),
        "missing": lambda at: pm.score(at / "empty", "the cat"),
    },
    "pm.train ModelError": {
        "name or a setting is wrong": lambda at: pm.train("nobody", at.tiny, at / "run"),
        "other settings": lambda at: train(at.tiny, at.run, *settings_of("lstm", "hidden_size=9")),
    },
    "pm.train StoppedError": {
        "`limits` did": lambda at: train(
            at.tiny, at / "run", *settings_of("lstm"), limits=pm.RunLimits(max_updates=1)
        ),
    },
    "pm.trust ModelError": {"no such file": lambda at: pm.trust(at / "nowhere.py")},
    "lb.check HarnessError": {
        "missing": lambda at: lb.check("nobody", at.tiny),
        "its program fails": lambda at: lb.check(failing(at), at.tiny),
    },
    "lb.compare HarnessError": {
        "missing": lambda at: lb.compare(at.results, "kn-5", "nobody"),
        "cannot be compared": lambda at: lb.compare(at.results, "kn-5", "kn-5", metric="bits-per-letter"),
    },
    "lb.compare_all HarnessError": {
        "Fewer than two": lambda at: lb.compare_all(at.results, ["kn-5"]),
    },
    "lb.contamination HarnessError": {
        "too few articles": lambda at: lb.contamination("kn-5", before=at.tiny, after=at.tiny, check=False),
    },
    "lb.lm_eval_task ToolkitError": {
        "missing": lambda at: lb.lm_eval_task(at / "empty", at / "x"),
        "cannot be written": lambda at: lb.lm_eval_task(at.data, at / "file"),
        "edited task": lambda at: lb.lm_eval_task(at.data, edited_task(at)),
    },
    "lb.measure HarnessError": {
        "missing": lambda at: lb.measure("nobody", at.tiny),
        "fails": lambda at: lb.measure(failing(at), at.tiny),
    },
    "lb.measure_conventions HarnessError": {
        "cannot be loaded": lambda at: lb.measure_conventions("nobody", at.tiny),
        "no convention fits": lambda at: lb.measure_conventions("kn-5", at.tiny, conventions=["lm-eval-1"]),
    },
    "lb.power HarnessError": {
        "the difference is zero": lambda at: lb.power(at.tiny, difference=0.0, perplexity=60.0),
    },
    "lb.raise_if_broken HarnessError": {"violates": lambda _: lb.raise_if_broken({"sum": "is 2"})},
    "lb.read_results HarnessError": {
        "cannot be read": lambda at: lb.read_results(at / "nowhere"),
        "not a result": lambda at: lb.read_results(at / "file"),
    },
    "lb.report ToolkitError": {
        "The ending": lambda at: lb.report(at.results, at / "x.doc"),
        "a column": lambda at: lb.report(at.results, at / "x.md", columns=["nobody"]),
        "read": lambda at: lb.report(at / "nowhere", at / "x.md"),
        "written": lambda at: lb.report(at.results, at / "file" / "x.md"),
    },
    "lb.reproduce HarnessError": {
        "A row does not exist": lambda at: lb.reproduce("ptb", at.tiny, at / "x", rows=["nobody"]),
        "an argument cannot be used": lambda at: lb.reproduce("ptb", at.tiny, at / "a,b"),
    },
}


DATA: Rows = {  # the functions that read a dataset
    "pm.evaluate": lambda at: pm.evaluate(at.run, at / "empty"),
    "pm.explain": lambda at: pm.explain(at.run, at / "empty"),
    "pm.compare": lambda at: pm.compare(at.run, at.run, at / "empty"),
    "pm.train": lambda at: pm.train("lstm", at / "empty", at / "run"),
    "lb.check": lambda at: lb.check("kn-5", at / "empty"),
    "lb.measure": lambda at: lb.measure("kn-5", at / "empty"),
    "lb.power": lambda at: lb.power(at / "empty", difference=1.0, perplexity=60.0),
    "lb.contamination": lambda at: lb.contamination("kn-5", before=at / "empty", after=at.tiny),
    "lb.measure_conventions": lambda at: lb.measure_conventions("kn-5", at / "empty"),
}
RAISED |= {f"{name} BuilderError": {"dataset is missing": row} for name, row in DATA.items()}


def documented() -> Iterator[tuple[str, str]]:
    """Each function of a front door with an error that it documents, and the words about it."""
    for short, package in (("wb", wb), ("pm", pm), ("lb", lb)):
        for name in package.__all__:
            made = getattr(package, name)
            inside = vars(made) if inspect.isclass(made) else ()
            for path, one in [(name, made), *((f"{name}.{key}", getattr(made, key)) for key in inside)]:
                text = inspect.getdoc(one) if callable(one) or isinstance(one, property) else None
                if not (text and (section := re.search(r"^Raises:\n((?: {4}.*\n?)+)", text, re.MULTILINE))):
                    continue
                for error, why in re.findall(
                    r"^ {4}(\w+): ((?:.*\n?)(?: {8}.*\n?)*)", section[1], re.MULTILINE
                ):
                    yield f"{short}.{path} {error}", " ".join(why.split())


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Place:
    folder = tmp_path_factory.mktemp("made")
    store, tiny = store_of(folder / "pages.store", PAGES[:40]), make_dataset(folder)
    built(store, folder / "data")
    two = store_of(folder / "two.store", PAGES[:1])
    with Store.create(two) as opened:
        opened.add("de", PAGES[1:2], origin="test")
    train(tiny, folder / "run", *settings_of("lstm", "epochs=1"))
    lb.measure(["kn-5", "unigram"], tiny, results=folder / "results.jsonl")
    return Place(folder, store, two, folder / "data", tiny, folder / "run", folder / "results.jsonl")


def test_each_documented_error_has_rows_in_its_words() -> None:
    found = dict(documented())
    assert found.keys() == RAISED.keys()
    assert not [(key, why) for key, rows in RAISED.items() for why in rows if why not in found[key]]


def fault_of(key: str, row: Callable[[Place], object], at: Place) -> str:
    """What is wrong with the error of a row; empty if it is the documented one and says what happened."""
    error = key.split()[1]
    try:
        row(at)
    except Exception as raised:
        if error not in {kind.__name__ for kind in type(raised).__mro__}:
            return f"{type(raised).__name__}: {raised}"
        return f"says only {raised}" if isinstance(raised, ToolkitError) and len(str(raised)) <= 20 else ""
    return "no error"


@pytest.mark.parametrize("package", ["wb", "pm", "lb"])
def test_each_documented_error_is_raised(package: str, made: Place, tmp_path: Path) -> None:
    faults = []
    rows = [(key, why, row) for key in RAISED for why, row in RAISED[key].items()]
    for number, (key, why, row) in enumerate(rows):
        if key.startswith(f"{package}."):
            folder = tmp_path / str(number)
            (folder / "empty").mkdir(parents=True)
            (folder / "file").write_text("a file\n")
            if fault := fault_of(key, row, made._replace(folder=folder)):
                faults.append((key, why, fault))
    assert faults == []


# --- exit statuses


def interrupted() -> None:
    os.kill(os.getpid(), signal.SIGINT)
    time.sleep(60)


def ends(program: str, *words: str, before: Callable[[], object] = lambda: None) -> int:
    def do() -> None:
        signal.signal(signal.SIGINT, signal.default_int_handler)
        before()
        sys.argv = [program, *words]
        PROGRAMS[program][0]()

    return forked(do, ROOT).returncode


def close_output() -> None:
    reading, writing = os.pipe()
    os.close(reading)
    sys.stdout = os.fdopen(writing, "w")


def stop_in_command() -> None:
    click.Group.invoke = lambda *_: interrupted()  # type: ignore[method-assign]


FAILING = {
    "wikitext-builder": ("stats", "nowhere"),
    "ps-models": ("evaluate", "README.md", "README.md"),
    "lm-benchmarks": ("report", "README.md", "--out", "a.md"),
}
STATUSES: dict[int, Callable[[str], int]] = {
    0: lambda program: ends(program, "--version"),
    1: lambda program: ends(program, *FAILING[program]),
    2: lambda program: ends(program, "nonsense"),
    130: lambda program: ends(program, "list", before=stop_in_command),
    141: lambda program: ends(program, "--help", before=close_output),
}


def test_each_documented_exit_status_has_a_row() -> None:
    page = docs_module("site_pages").COMMANDS_HEAD
    table = page.partition("| exit status |")[2].partition("\n\n")[0]
    assert {int(status) for status in re.findall(r"^\| (\d+) \|", table, re.MULTILINE)} == STATUSES.keys()


@pytest.mark.parametrize("program", PROGRAMS)
@pytest.mark.parametrize("status", STATUSES)
def test_each_documented_exit_status_is_met(status: int, program: str) -> None:
    assert STATUSES[status](program) == status
