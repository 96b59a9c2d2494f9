"""The commands: what they print, what they write, how they fail."""

import functools
import json
import subprocess
import sys

import pytest
from click.testing import CliRunner

import ps_models
from ps_models.cli import commands, main
from ps_models.errors import ModelError
from ps_models.signature import Signature
from tests.command import invoke
from tests.ps_models.tiny import SETTINGS, make_dataset, settings_of

TRAINED = tuple(part for setting in SETTINGS for part in ("--set", setting))


run = functools.partial(invoke, commands)


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    """A dataset and two runs on it."""
    folder = tmp_path_factory.mktemp("runs")
    dataset = make_dataset(folder)
    for model, out in (("lstm", "plain"), ("pointer-sentinel-lstm", "pointer")):
        options = [part for setting in settings_of(model) for part in ("--set", setting)]
        printed = run("train", model, dataset, "--out", folder / out, "--device", "cpu", *options)
        assert "2 epochs" in printed
    return dataset, folder / "plain", folder / "pointer"


def test_list_names_models_and_presets():
    assert "pointer-sentinel-lstm\n  small" in run("list")
    assert "zaremba-medium" in json.loads(run("list", "--json"))["lstm"]


def test_evaluate_prints_the_perplexity_with_its_signature(trained):
    dataset, _, pointer = trained
    first, second = run("evaluate", pointer, dataset).splitlines()
    signature = Signature.parse(second)
    assert signature["split"] == "test"
    assert signature["model"].startswith("pointer-sentinel-lstm+")
    fields = json.loads(run("evaluate", pointer, dataset, "--json"))
    assert first.startswith(f"perplexity {fields['perplexity']:.2f} ")
    assert sum(article["tokens"] for article in fields["articles"]) == fields["tokens"]
    assert Signature.parse(fields["signature"]) == signature
    other = json.loads(run("evaluate", pointer, dataset, "--json", "--context", "article"))
    assert other["nats"] != fields["nats"]
    assert Signature.parse(other["signature"])["context"] == "article"


def test_generate_prints_words(trained):
    _, _, pointer = trained
    printed = run("generate", pointer, "--words", 30, "--seed", 4)
    assert printed == run("generate", pointer, "--words", 30, "--seed", 4)
    assert len(printed.split()) > 10
    coldest = run("generate", pointer, "--words", 30, "--temperature", "1e-320")
    assert coldest == run("generate", pointer, "--words", 30, "--temperature", 0)


def test_a_word_that_a_model_does_not_have_is_no_prompt(trained):
    with pytest.raises(ModelError, match="--prompt: the model has no word 'Zyzzyva'; write <unk>"):
        run("generate", trained[2], "--prompt", "<unk> Zyzzyva")


def test_a_strangers_words_do_not_steer_the_terminal(trained, monkeypatch):
    monkeypatch.setattr(ps_models, "generate", lambda **_: iter(["a\x1b[2J", "<eos>", "b\u202e"]))
    assert run("generate", trained[2]) == "a\\x1b[2J \nb\\u202e \n"


def test_explain_writes_pages_and_pictures(trained, tmp_path):
    dataset, plain, pointer = trained
    for run_folder in (plain, pointer):
        run("explain", run_folder, dataset, "--out", tmp_path / "page.html", "--words", 50)
        assert "Content-Security-Policy" in (tmp_path / "page.html").read_text()
        run("explain", run_folder, dataset, "--out", tmp_path / "one.svg", "--words", 1, "--start", 20)
        assert (tmp_path / "one.svg").read_text().startswith("<?xml")


def test_compare_by_frequency_prints_buckets(trained, tmp_path):
    dataset, plain, pointer = trained
    options = ("--buckets", 3, "--figure", tmp_path / "figure.png")
    fields = json.loads(run("compare-by-frequency", plain, pointer, dataset, "--json", *options))
    tokens = json.loads(run("evaluate", plain, dataset, "--json"))["tokens"]
    assert sum(bucket["tokens"] for bucket in fields["buckets"]) == tokens
    assert len(fields["attention_by_words_back"]) == 4  # the window
    assert (tmp_path / "figure.png").exists()
    assert (fields["first"], fields["second"]) == ("lstm", "pointer-sentinel-lstm")
    text = run("compare-by-frequency", plain, pointer, dataset, "--buckets", 3)
    assert "pointer: half of its attention" in text
    for said in (
        "first:  lstm, perplexity",
        "second: pointer-sentinel-lstm, perplexity",
        "negative: pointer-sentinel-lstm is better; positive: lstm is better",
    ):
        assert said in text
    assert "pointer" not in run("compare-by-frequency", plain, plain, dataset, "--buckets", 3)


CLASH = "other settings (clip 1.0 → 7.0); give the same ones to resume it, or use another --out"
ERRORS = {  # of a command, and what its message contains
    "list lstn": "lstn: no such model; did you mean 'lstm'?",
    "train rnn {data} --out {plain}": "a different model (model lstm → rnn",
    f"train lstm {{data}} --out {{plain}} {' '.join(TRAINED)} --set clip=7": CLASH,
    "train lstm {data} --out {new} --set eos=99999": "expected the id of one of the ",
    "train lstm {file} --out {new}": "expected a folder with train and valid",
    "evaluate {file} {data}": "not a valid checkpoint",
    "evaluate {plain} {other}": "use the dataset that the model was trained on",
    "evaluate {plain} {data} --device cuda:7": "use cpu",
    "evaluate {plain} {data} --device meta": "use cpu",
    "explain {plain} {data} --out {new}.html --start 99999": "expected a start below",
    "explain {plain} {data} --out {new}.jpg": "a name that ends in .html, .htm, .png",
    "compare-by-frequency {plain} {plain} {file}": "expected a folder with a train file",
}


@pytest.fixture(scope="module")
def names(trained, tmp_path_factory):
    """Folders and files by the names in ERRORS."""
    (dataset, plain, _), folder = trained, tmp_path_factory.mktemp("errors")
    (folder / "other").mkdir()
    (folder / "other" / "train.txt").write_text(" another text \n")
    found = {name: folder / name for name in ("new", "other")}
    return {**found, "data": dataset, "plain": plain, "file": dataset / "wiki.test.tokens"}


@pytest.mark.parametrize(("command", "message"), ERRORS.items())
def test_errors_are_one_line_and_status_1(names, monkeypatch, capsys, command, message):
    monkeypatch.setattr(sys, "argv", ["ps-models", *command.format(**names).split()])
    with pytest.raises(SystemExit) as ended:
        main()
    assert ended.value.code == 1
    (line,) = [line for line in capsys.readouterr().err.splitlines() if line.startswith("ps-models: ")]
    assert message in line


def test_wrong_usage_is_status_2_and_help_is_short():
    run("train", "gpt", status=2)
    run("evaluate", status=2)
    run("generate", ".", "--seed", 2**63, status=2)
    lost = ("--out", "nowhere/a.html"), ("--figure", "nowhere/a.pdf")  # after the scores were computed
    for arguments in (("explain", ".", ".", *lost[0]), ("compare-by-frequency", ".", ".", ".", *lost[1])):
        refused = CliRunner().invoke(commands, arguments)
        assert (refused.exit_code, "there is no folder" in refused.output) == (2, True)
    result = subprocess.run(
        [sys.executable, "-m", "ps_models", "-h"], capture_output=True, text=True, check=True
    )
    assert "compare-by-frequency" in result.stdout
