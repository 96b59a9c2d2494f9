"""Classes of the user's, the examples and broken ones: from a file to a training, back from a checkpoint."""

import importlib.util
import json
import os
import py_compile
import re
import shutil
import sys
from dataclasses import replace
from typing import Any

import pytest
import torch
from click.testing import CliRunner
from lm_benchmarks.cli import commands as harness
from lm_benchmarks.records import training_of

import ps_models as pm
from ps_models import own_models
from ps_models.cli import commands
from ps_models.configs import make_configs
from ps_models.invariants import (
    BrokenLawError,
    Trial,
    check_language_model,
    check_trainable,
)
from ps_models.models.interpolation import Interpolation
from ps_models.own_models import named_kind
from tests.command import invoke
from tests.conftest import ROOT
from tests.ps_models.tiny import assert_resumes, make_dataset, train

EXAMPLES = ROOT / "docs" / "examples"
CLASSES = {"gpt.py:GPT": "window=5", "min_lstm.py:MinLSTM": "layers=3"}
TRIAL: Any = {"tokens": torch.zeros(1, 3, dtype=torch.int64), "vocab_size": 5, "tolerance": 1e-4}
SETTINGS = ("width=8", "epochs=2", "batch_size=4", "stride=6", "optimizer=adamw", "learning_rate=0.01")
OWN = """
from dataclasses import dataclass
import torch
from torch import nn
import ps_models as pm

@dataclass(frozen=True)
class Size:
    vocab_size: int
    width: int = 1
    bonus: float = 0.0

class Unigram(nn.Module):
    def __init__(self, config: Size) -> None:
        super().__init__()
        self.config, self.weights = config, nn.Parameter(torch.zeros(config.vocab_size))

    def initial_state(self, batch_size):
        return torch.zeros(batch_size)

    def forward(self, tokens, state):
        return self.weights.log_softmax(0)[tokens] + self.config.bonus, state

    loss = pm.loss_of_scores

class Masked(Unigram):  # with an infinite buffer and a counter, and without a `config`
    def __init__(self, config: Size) -> None:
        super().__init__(config)
        del self.config
        self.register_buffer("mask", torch.full((3, 3), -torch.inf).triu(1))

    def initial_state(self, batch_size):
        return torch.zeros(batch_size, dtype=torch.int64)

    def forward(self, tokens, state):
        return self.weights.log_softmax(0)[tokens], state + 1000 * tokens.shape[1]

class WithoutAttribute(Masked):
    def next_log_probs(self, state):
        return self.missing

class OneWordLess(Masked):
    def next_log_probs(self, state):
        return self.weights.log_softmax(0)[1:].expand(len(state), -1)

@dataclass(frozen=True)
class Sized:
    vocab_size: int
    width: int

class WithoutDefault(Unigram):
    def __init__(self, config: Sized) -> None:
        super().__init__(config)

class Double(nn.Module):
    def __init__(self, config: Size) -> None:
        raise RuntimeError("my own words")

    initial_state = loss = None

@dataclass(frozen=True)
class Both:
    vocab_size: int
    epochs: int = 1

class WithEpochs(Unigram):
    def __init__(self, config: Both) -> None:
        super().__init__(config)

class WithoutLoss(nn.Module):
    initial_state = Unigram.initial_state

@dataclass(frozen=True)
class Wordless:
    width: int = 4

class WithoutWords(Unigram):
    def __init__(self, config: Wordless) -> None:
        super().__init__(config)

class WithoutConfig(Unigram):
    def __init__(self, config) -> None:
        super().__init__(config)
"""


@pytest.fixture(scope="module")
def dataset(tmp_path_factory):
    return make_dataset(tmp_path_factory.mktemp("data"))


@pytest.fixture(autouse=True)
def here(tmp_path, monkeypatch):
    """A folder with the files, and a user who has allowed none."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "home"))
    monkeypatch.setattr(own_models, "_trusted_now", set())
    (tmp_path / "own.py").write_text(OWN)
    for path in (*EXAMPLES.glob("*.py"), *EXAMPLES.glob("*.toml")):
        shutil.copy(path, tmp_path)
    return tmp_path


def not_imported(monkeypatch):
    """As in a new process."""
    for name in [name for name in sys.modules if name.startswith(("own_", "helper"))]:
        monkeypatch.delitem(sys.modules, name)


def refusal(do, *arguments):
    """What an error says."""
    with pytest.raises(pm.ModelError) as refused:
        do(*arguments)
    return str(refused.value)


@pytest.mark.parametrize("model", CLASSES)
def test_the_examples_keep_all_laws_in_double_precision(model):
    kind = named_kind(model)
    torch.manual_seed(1)
    made: Any = kind.make(make_configs(kind, None, ["width=8", CLASSES[model]], 20)[0])
    made = made.double().eval()
    for weight in made.parameters():
        weight.data += torch.randn_like(weight) * 0.3
    check_language_model(made, 20, tolerance=1e-5)  # of the sums that the examples make in float32
    check_trainable(made, 20, tolerance=1e-5)


@pytest.mark.parametrize("model", CLASSES)
def test_an_example_goes_from_a_file_to_the_report_and_resumes_exactly(model, dataset, here):
    settings = (*SETTINGS, CLASSES[model], "dropout=0.1")
    end = assert_resumes(model, dataset, here, settings, 5, -3)
    source = str(end.source_sha256)
    assert (end.model, source) == (model, named_kind(model).source_sha256)
    assert (here / "whole" / model.partition(":")[0]).is_file()
    evaluated = json.loads(invoke(commands, "evaluate", "whole", dataset, "--json"))
    assert 1 < evaluated["perplexity"] < 40
    assert f"|code:{source[:8]}" in evaluated["signature"]
    assert invoke(commands, "generate", "whole", "--words", 9)
    invoke(harness, "run", "whole", "unigram", "--data", dataset, "--results", "r.jsonl")
    measured = json.loads((here / "r.jsonl").read_text().splitlines()[0])
    name = model.partition(":")[2]
    assert measured["model"] == name
    assert measured["trained"][0]["command"].split()[:4] == ["ps-models", "train", model, "tiny"]
    assert CLASSES[model] in measured["trained"][0]["settings"]
    assert not any(measured["checks"].values())
    assert invoke(harness, "compare", "r.jsonl", "unigram", name)
    invoke(harness, "report", "r.jsonl", "--out", "report.md")
    assert f"| {name} |" in (here / "report.md").read_text()


def test_presets_of_a_file_lie_beside_it(dataset, here):
    settings = ["epochs=1", "width=48"]
    pm.train("gpt.py:GPT", dataset, here / "run", preset="tiny", settings=settings, device="cpu")
    checkpoint = pm.load(here / "run").checkpoint
    assert (checkpoint.config["window"], checkpoint.config["width"]) == (16, 48)
    assert (here / "run" / "gpt.toml").read_bytes() == (here / "gpt.toml").read_bytes()
    record = training_of(checkpoint, here / "run", None)
    assert (record.recipe, record.settings) == ("gpt.py:GPT/tiny", ("epochs=1", "width=48"))
    listed = invoke(commands, "list", "gpt.py:GPT")
    assert re.match(r"gpt\.py:GPT\n  tiny +for a try in seconds\n  small ", listed)
    assert invoke(commands, "list", "own.py:Unigram") == "own.py:Unigram\n"
    with pytest.raises(pm.ModelError, match=r"no such preset of gpt.py:GPT; its presets are tiny, small"):
        pm.train("gpt.py:GPT", dataset, here / "run", preset="huge")
    with pytest.raises(pm.ModelError, match=r"width has no default; give --set width=VALUE, or a preset"):
        train(dataset, here / "run", model="own.py:WithoutDefault")


WRONG_PRESETS = {
    "tiny": r".*expected a table for each preset",
    "[tiny]\nmodel.wings = 2": "tiny has wings; expected a field of its model",
    "[tiny]\nmodel.vocab_size = 2": "tiny has vocab_size; expected a field of its model",
    "[tiny]\ntraining.epochs = 1.5": r"tiny epochs=1\.5: expected int",
    "[tiny]\nmodel.width = true": "tiny width=True: expected int, got bool",
    "[tiny]\ntrainings.epochs = 1": "tiny: .*unknown field `trainings`; expected about, model and training",
    "[tiny]\ntraining = 3": r"tiny: .*got `int` - at `\$\.training`; expected about",
    "version = 1": "version: Expected `object`, got `int`; expected about",
    "parts = 1": "parts: Expected `object`, got `int`",
    '[tiny]\nmodel.use = ["nothing"]': "tiny uses nothing; expected one of segments, .*",
    "[tiny]\nmodel.use = 3": "tiny: Expected `array`, got `int`",
    '[parts.a]\nuse = ["a"]\n[tiny]\nmodel.use = ["a"]': "tiny maximum recursion depth",
    '[tiny]\ntraining.optimizer = "best"': "tiny optimizer=best: expected adadelta",
    '[tiny]\ntraining = {optimizer = "adamw", momentum = 0.9}': "tiny has momentum; expected a field",
}


def test_a_file_of_presets_is_checked_when_it_is_read(here):
    faults = []
    for text, expected in WRONG_PRESETS.items():
        (here / "own.toml").write_text(text)
        message = refusal(named_kind, "own.py:Unigram")
        faults += [] if re.match(rf"own\.toml: {expected}", message) else [(text, message)]
    assert faults == []


def test_a_preset_has_options_of_its_optimizer(here):
    (here / "own.toml").write_text(
        '[tiny]\nmodel.bonus = 1\ntraining = {optimizer = "RMSprop", momentum = 0.9, centered = true}\n'
    )
    kind = named_kind("own.py:Unigram")
    model, training = make_configs(kind, "tiny", ["alpha=0.5"], 9)
    assert isinstance(model.bonus, float)
    assert training.optimizer_options == {"momentum": 0.9, "centered": True, "alpha": 0.5}
    assert make_configs(kind, "tiny", ["optimizer=sgd"], 9)[1].optimizer_options == {"momentum": 0.9}
    assert make_configs(kind, "tiny", ["optimizer=adamw"], 9)[1].optimizer_options == {}


def test_infinite_buffers_and_counters_in_a_state_are_the_users_own(dataset, here):
    assert_resumes("own.py:Masked", dataset, here, ("epochs=2", "batch_size=4", "stride=6"), 5)
    assert dict(pm.load(here / "parts").model.named_buffers())["mask"].isinf().any()


def test_what_predicts_no_words_at_once_is_told_so(dataset, here):
    train(dataset, here / "run", "epochs=1", model="own.py:Masked")
    message = r"Masked has no next_log_probs, which scores all words; docs/own-model\.md shows one"
    with pytest.raises(pm.ModelError, match=message):
        list(pm.generate("run", words=2))
    with pytest.raises(pm.ModelError, match=message):
        pm.explain("run", dataset, out=here / "page.html", words=3)


def test_all_words_are_predicted_or_it_is_known_that_they_are_not():
    def every_score(name, state):
        kind = named_kind(f"own.py:{name}")
        made: Any = kind.make(kind.config(vocab_size=5))
        model = Interpolation([made, made], (0.5, 0.5)) if isinstance(state, tuple) else made
        return Trial(model=model, **TRIAL).every_score(state)

    with pytest.raises(AttributeError, match="missing"):  # of the method's own, which is there
        every_score("WithoutAttribute", torch.zeros(1))
    with pytest.raises(BrokenLawError, match=r"`next_log_probs` .* has shape \(4,\); expected \(5,\)"):
        every_score("OneWordLess", torch.zeros(1))
    assert every_score("Masked", (torch.zeros(1),) * 2) is None


def test_a_module_is_found_from_the_folder_where_the_user_is(dataset, here, monkeypatch):
    package = here / "mine"
    package.mkdir()
    (package / "__init__.py").write_text("")
    (here / "own.py").rename(package / "own.py")
    monkeypatch.syspath_prepend("")
    train(dataset, here / "run", "epochs=1", model="mine.own:Unigram")
    source = pm.load(here / "run").kind.source
    assert source is not None
    assert source.resolve() == package / "own.py"
    assert not (here / "run" / "own.py").exists()
    with pytest.raises(pm.ModelError, match=r"mine\.other not found"):
        named_kind("mine.other:Unigram")


NOT_TRAINABLE = {
    "nowhere.py:GPT": r"nowhere\.py not found; expected a file or a module",
    "own.py:Nothing": r"own\.py:Nothing: found NoneType None; expected a torch\.nn\.Module with",
    "own.py:Size": r"found type .*Size.*; expected a torch\.nn\.Module",
    "own.py:WithoutConfig": r"takes no annotated configuration; .*__init__\(self, config",
    "own.py:WithoutWords": r"own\.py:WithoutWords: Wordless has no vocab_size; expected",
    "own.py:WithoutLoss": r"own\.py:WithoutLoss: it has no loss; expected",
    "own.py:WithEpochs": r"its configuration has epochs, as the training's does; rename",
    "gpt.py:Block": r"it has no initial_state and no loss; expected",
    "gpt": r"no such model; expected one of awd-lstm, .*, or your own class, such as my_model\.py:GPT",
}


def test_what_cannot_be_trained_is_told_what_is_expected():
    messages = {model: refusal(named_kind, model) for model in NOT_TRAINABLE}
    faults = [message for model, message in messages.items() if not re.search(NOT_TRAINABLE[model], message)]
    assert faults == []


def test_a_model_that_breaks_a_law_is_not_trained(dataset, here):
    with pytest.raises(
        pm.ModelError, match=r"own\.py:Unigram violates an invariant of language models: sum: .*; nothing was"
    ):
        train(dataset, here / "run", "bonus=0.01", model="own.py:Unigram")
    assert not list((here / "run").glob("*.safetensors"))


@pytest.mark.parametrize("knows_all", [True, False])
def test_a_model_that_reads_the_word_it_scores_is_not_trained(here, knows_all):
    """Of more words than are tried before a training; with fresh weights they are nearly as likely as any."""
    source = (here / "min_lstm.py").read_text()
    shifted = "torch.cat([word[:, None], tokens[:, :-1]], dim=1)"
    assert shifted in source
    source = source if knows_all else source.replace("next_log_probs", "next")
    (here / "min_lstm.py").write_text(source.replace(shifted, "tokens"))
    words = "".join(f" w{number} w{number} w{number}" for number in range(3 * own_models.TEST_WORDS))
    (here / "wide").mkdir()
    for split in ("train", "valid", "test"):
        (here / "wide" / f"wiki.{split}.tokens").write_text(f" \n = Words = \n \n{words} <unk> \n")
    with pytest.raises(
        pm.ModelError,
        match=r"min_lstm\.py:MinLSTM violates .*: sum: .* reads the word .*; nothing was trained",
    ):
        train(here / "wide", here / "run", "width=8", model="min_lstm.py:MinLSTM")


def test_what_the_users_code_raises_stays_as_it_is(dataset, here):
    with pytest.raises(RuntimeError, match="my own words"):
        train(dataset, here / "run", model="own.py:Double")
    (here / "own.py").write_text("1 / 0\n")
    with pytest.raises(ZeroDivisionError):
        named_kind("own.py:Unigram")
    with pytest.raises(ZeroDivisionError):  # also again
        named_kind("own.py:Unigram")


def test_a_file_that_cannot_import_is_named(dataset, here, monkeypatch):
    (here / "helper.py").write_text("")
    (here / "own.py").write_text(f"import helper\n{OWN}")
    train(dataset, here / "run", "epochs=1", model="own.py:Unigram")
    (here / "helper.py").unlink()
    not_imported(monkeypatch)
    message = r"run/own\.py: No module named 'helper'; expected its imports to be installed"
    with pytest.raises(pm.ModelError, match=message):
        pm.load("run")


def test_what_python_once_compiled_is_not_run(here):
    """A file in `__pycache__` of the same time and size ran in its place, under the hash of the source."""
    path = here / "own.py"
    forged = OWN.replace("bonus: float = 0.0", "bonus: float = 9.0")
    assert len(forged) == len(OWN)
    path.write_text(forged)
    py_compile.compile(str(path), importlib.util.cache_from_source(str(path)))
    before = path.stat()
    path.write_text(OWN)
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))
    assert named_kind("own.py:Unigram").config(vocab_size=3).bonus == 0


def test_files_in_a_strangers_folder_are_not_imported(dataset, here, monkeypatch):
    """The file that the user trusts may look for another one that it can do without."""
    (here / "own.py").write_text(f"try:\n    import fast_kernel\nexcept ImportError:\n    pass\n{OWN}")
    train(dataset, here / "run", "epochs=1", model="own.py:Unigram")
    (here / "run" / "fast_kernel.py").write_text("open('imported', 'w')\n")
    not_imported(monkeypatch)
    assert pm.load("run").kind.name == "own.py:Unigram"
    assert not (here / "imported").exists()


def test_a_model_that_looks_ahead_only_when_trained_is_not_trained(dataset, here):
    """Its path from the next word begins at zero."""
    (here / "own.py").write_text(
        OWN
        + """
class Ahead(Unigram):
    def __init__(self, config: Size) -> None:
        super().__init__(config)
        self.alpha = nn.Parameter(torch.zeros(1))

    def forward(self, tokens, state):
        ahead = torch.cat([tokens[:, 1:], tokens[:, -1:]], dim=1)
        scores = self.weights + self.alpha * nn.functional.one_hot(ahead, self.config.vocab_size)
        return scores.log_softmax(-1).gather(-1, tokens[..., None])[..., 0], state

    def next_log_probs(self, state):
        return self.weights.log_softmax(0).expand(len(state), -1)
"""
    )
    with pytest.raises(pm.ModelError, match=r"own\.py:Ahead violates an invariant"):
        train(dataset, here / "run", model="own.py:Ahead")


def test_a_changed_source_is_named(dataset, here, caplog):
    train(dataset, here / "run", "epochs=1", model="own.py:Unigram")
    number = pm.evaluate("run", dataset).score
    (here / "own.py").write_text(f"{OWN}# changed\n")
    with pytest.raises(pm.ModelError, match=r"different model \(source_sha256 .*; use another --out"):
        train(dataset, here / "run", "epochs=2", model="own.py:Unigram")
    assert pm.evaluate("run", dataset).score == number
    assert "own.py has changed since the training; its unchanged copy is used: run/own.py" in caplog.text
    (here / "run" / "own.py").write_text("raise SystemExit\n")
    with pytest.raises(
        pm.ModelError, match=r"own\.py:Unigram: its source has changed since the training: expected sha256"
    ):
        pm.load("run")
    shutil.copytree(here / "run", here / "run2")
    (here / "run2" / "last.safetensors").unlink()
    with pytest.raises(pm.ModelError, match=r"run2/own\.py: differs from own\.py, which a run copies there"):
        train(dataset, here / "run2", "epochs=1", model="own.py:Unigram")
    for path in (here / "own.py", here / "run" / "own.py"):
        path.unlink()
    with pytest.raises(pm.ModelError, match=r"no own\.py beside the checkpoint or here; copy it there"):
        pm.load("run")


def test_code_that_was_neither_named_nor_allowed_is_not_imported(dataset, here, monkeypatch):
    (here / "own.py").write_text(f"open('imported', 'w')\n{OWN}")
    train(dataset, here / "run", "epochs=1", model="own.py:Unigram")
    (here / "imported").unlink()
    shutil.rmtree(here / "home")
    monkeypatch.setattr(own_models, "_trusted_now", set())
    not_imported(monkeypatch)
    for program, command in ((commands, "evaluate run {}"), (harness, "run run --data {}")):
        refused = CliRunner().invoke(program, command.format(dataset).split())
        assert "opening it runs run/own.py" in str(refused.exception)
        assert "--trust run/own.py once, before the name of the command" in str(refused.exception)
    assert not (here / "imported").exists()
    invoke(commands, "--trust", "run/own.py", "evaluate", "run", dataset)
    assert (here / "imported").exists()
    monkeypatch.setattr(own_models, "_trusted_now", set())
    invoke(harness, "run", "run", "--data", dataset)  # once is enough
    with pytest.raises(pm.ModelError, match=r"nothing\.py: no such file"):
        pm.trust("nothing.py")


def test_a_folder_that_cannot_be_written_allows_only_now(dataset, here, caplog):
    (here / "home").write_text("a file")
    train(dataset, here / "run", "epochs=1", model="own.py:Unigram")
    assert "cannot be written" in caplog.text
    assert pm.load("run").kind.name == "own.py:Unigram"


def test_a_checkpoint_names_no_path(dataset, here):
    train(dataset, here / "run", "epochs=1", model="own.py:Unigram")
    saved = pm.load("run").checkpoint
    for name in ("../own.py:Unigram", "/etc/own.py:Unigram", "own.py", "os.path:join:x"):
        message = refusal(own_models.saved_kind, replace(saved, model=name), here)
        assert "expected the name of a file or module, and of a class" in message, name
