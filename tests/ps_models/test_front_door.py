"""`import ps_models as pm`: without torch, clear errors; with it, what the README shows."""

import json
import math

import pytest
import torch

import ps_models as pm
from ps_models.training.checkpoint import read_checkpoint
from tests.command import python
from tests.ps_models.tiny import make_dataset
from wikitext_builder.dataset.vocabulary import EOS

WITHOUT_TORCH = "import sys; sys.modules['torch'] = None; "
NEEDING_TORCH = (
    ("list",),
    ("--threads", "2", "list"),
    ("train", "lstm", ".", "--out", "run"),
    ("evaluate", ".", "."),
    ("generate", "."),
    ("explain", ".", ".", "--out", "page.html"),
    ("compare-by-frequency", ".", ".", "."),
)
EACH = """
import contextlib, io, json
from ps_models.cli import main
for sys.argv[1:] in json.loads(sys.stdin.read()):
    with contextlib.redirect_stdout(io.StringIO()) as out, contextlib.redirect_stderr(io.StringIO()) as err:
        try:
            status = main() or 0
        except SystemExit as ended:
            status = ended.code or 0
    print(json.dumps([status, out.getvalue(), err.getvalue()]))
try: __import__("ps_models").train
except ImportError as error: print(json.dumps(str(error)))
"""


def test_without_torch_commands_say_what_to_install_and_help_is_there():
    helps = [(command, "--help") for command, *_ in NEEDING_TORCH if not command.startswith("-")]
    done = python(WITHOUT_TORCH + EACH, given=json.dumps([*helps, *NEEDING_TORCH]))
    *found, of_the_library = [json.loads(line) for line in done.stdout.splitlines()]
    for status, out, err in found[: len(helps)]:
        assert (status, err) == (0, "")
        assert "Usage: " in out
    message = "language models need torch, which is not installed: pip install 'wikitext-builder[models]'"
    assert found[len(helps) :] == [[1, "", f"ps-models: {message}\n"]] * len(NEEDING_TORCH)
    assert "wikitext-builder[models]" in of_the_library


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    """A dataset and a run on it."""
    folder = tmp_path_factory.mktemp("runs")
    dataset = make_dataset(folder)
    settings = {"hidden_size": 8, "layers": 1, "batch_size": 4, "stride": 6, "epochs": 1, "tied": True}
    return dataset, pm.train("lstm", str(dataset), str(folder / "run"), settings=settings, device="cpu")


def test_a_model_is_scored_without_torchs_compiler(run):
    code = f"import ps_models as pm, sys; pm.score({str(run[1].folder)!r}, 'a', device='cpu')"
    done = python(f"{code}; print('torch' in sys.modules, 'torch._dynamo' in sys.modules)")
    assert done.stdout == "True False\n", done.stderr


def test_settings_are_values_or_texts(run, tmp_path):
    dataset, trained = run
    texts = ["hidden_size=8", "layers=1", "batch_size=4", "stride=6", "epochs=1", "tied=yes"]
    again = pm.train("lstm", dataset, tmp_path, settings=texts, device="cpu")
    assert again.losses == trained.losses
    assert read_checkpoint(tmp_path).digest == read_checkpoint(trained.folder).digest
    for settings, message in (
        ({"hidden_size": 8.5}, "hidden_size=8.5: expected int, got float"),
        ({"cutoffs": (3, "x")}, "expected int, got str"),
        ({"wings": 2}, "wings: no such setting; expected key=value with a key of"),
    ):
        with pytest.raises(pm.ModelError, match=message):
            pm.train("lstm", dataset, tmp_path / "new", settings=settings, device="cpu")


def test_what_would_be_read_as_something_else_is_refused(run):
    dataset, trained = run
    for wrong in (
        lambda: pm.explain(trained.folder, dataset, words=0),
        lambda: pm.explain(trained.folder, dataset, words=-5),
        lambda: pm.generate(trained.folder, words=-3),
    ):
        with pytest.raises(pm.ModelError, match=r"--words -?\d: expected"):
            wrong()
    for model, setting in (("char-cnn", {"widths": (0,)}), ("rhn", {"transform_bias": math.inf})):
        with pytest.raises(pm.ModelError, match=f"{next(iter(setting))}=.*: expected"):
            pm.train(model, dataset, trained.folder / "new", settings=setting, device="cpu")


def test_a_text_scores_as_the_file_of_it(run, tmp_path):
    _, trained = run
    text = "the cat saw the zebra\n\na dog"
    found = pm.score(trained.folder, text, device="cpu")
    assert found.tokens == ("the", "cat", "saw", "the", "<unk>", EOS, EOS, "a", "dog", EOS)
    assert found.perplexity == pytest.approx(torch.tensor(found.log_probs).neg().mean().exp().item())
    (tmp_path / "text.txt").write_text("".join(f" {line} \n" if line else " \n" for line in text.split("\n")))
    whole = pm.evaluate(trained.folder, tmp_path / "text.txt", device="cpu").score
    assert whole == found.score
    assert pm.score(trained.folder, f" {text}  \n", device="cpu") == found
    with pytest.raises(pm.ModelError, match="it has no tokens"):
        pm.score(trained.folder, " \n")
    with pytest.raises(pm.ModelError, match="surrogates not allowed; expected text"):
        pm.score(trained.folder, "half a \ud800 character")


def test_a_loaded_model_is_as_good_as_its_path(run):
    dataset, trained = run
    model = pm.load(trained.folder, device="cpu")
    assert model.vocabulary.tokens[:2] == ("<unk>", EOS)
    assert pm.score(model, "the cat") == pm.score(trained.folder, "the cat", device="cpu")
    assert pm.evaluate(model, dataset).score == pm.evaluate(trained.folder, dataset, device="cpu").score
    words = [list(pm.generate(source, words=9, device="cpu")) for source in (model, trained.folder)]
    assert words[0] == words[1]
    explained = pm.explain(model, dataset, words=5)
    assert len(explained.predictions) == 5
    assert all(bucket.difference in (0.0, None) for bucket in pm.compare(model, model, dataset).buckets)
