"""How a checkpoint was trained: the preset of a run is the one whose settings it has."""

import json
import math
from dataclasses import asdict

import pytest
from lm_benchmarks.errors import HarnessError
from lm_benchmarks.record_versions import of_line, to_line
from lm_benchmarks.records import Epoch, Trained, losses_of, read_curve, training_of

from ps_models.configs import make_configs
from ps_models.training.checkpoint import BEST, Checkpoint
from wikitext_builder.dataset.vocabulary import Vocabulary

WORDS = Vocabulary(("<unk>", "<eos>", "the"))


def checkpoint(model, preset, *settings):
    config, training = make_configs(model, preset, settings, len(WORDS))
    facts = {"preset": preset, "training": asdict(training), "data": "ptb"}
    stored = json.loads(json.dumps(asdict(config)))
    return Checkpoint(model=model, config=stored, weights={}, vocabulary=WORDS, facts=facts)


@pytest.fixture
def folder(tmp_path):
    (tmp_path / BEST).touch()  # only its place is needed: the log would be beside it
    return tmp_path


@pytest.mark.parametrize(
    "line",
    [
        "1,1,2.0,3.0,1e300",
        "1,1,2.0,3.0,nan",
        "1,1,2.0,3.0,-1",
        f"1{'0' * 400},1,2.0,3.0,1",
        f'1,1,2.0,3.0,"{"x" * 140_000}',
    ],
    ids=["too long", "nan", "before the start", "too many", "a field without an end"],
)
def test_a_log_with_impossible_numbers_is_an_error(tmp_path, line):
    head = "epoch,updates,train_perplexity,valid_perplexity,training_seconds\n"
    (tmp_path / "epochs.csv").write_text(head + line + "\n")
    with pytest.raises(HarnessError, match="expected the log of a run"):
        read_curve(tmp_path)


TIED = [
    *(
        f"{kind}_dropout={rate}"
        for kind, rate in (("type", 0.15), ("input", 0.4), ("layer", 0.4), ("output", 0.45))
    ),
    *(
        "tied=yes",
        "recurrent_dropout=0.2",
        "zoneout=0",
        "batch_size=32",
        "stride=70",
        "weight_decay=0.02",
        "decayed=all",
    ),
    *("decay_after=16", "decay=0.82", "epochs=34"),
]


@pytest.mark.parametrize("model", ["lstm", "pointer-sentinel-lstm"])
def test_a_run_with_the_settings_of_another_preset_is_a_run_of_that_preset(model, folder):
    named = {"lstm": "zoneout-medium-light", "pointer-sentinel-lstm": "medium-light"}[model]
    how = training_of(checkpoint(model, named, *TIED, "precision=bf16", "seed=3"), folder, None)
    assert how.recipe == f"{model}/medium-tied"
    assert set(how.settings) == {"precision=bf16", "seed=3"}
    assert "--preset medium-tied" in how.command


@pytest.mark.parametrize("setting", ["hidden_size=201", "seed=2"])
def test_a_run_keeps_the_preset_that_it_names_and_says_what_differs(setting, folder):
    how = training_of(checkpoint("lstm", "small", setting), folder, None)
    assert (how.recipe, how.settings) == ("lstm/small", (setting,))


def test_the_sessions_of_a_run_are_in_its_record(folder):
    with_sessions = checkpoint("lstm", "small")
    with_sessions.facts["sessions"] = ["wikitext-builder 0.1.0 abc", 7]
    how = training_of(with_sessions, folder, None)
    assert how.sessions == ("wikitext-builder 0.1.0 abc",)
    stored = json.loads(to_line(how))
    assert of_line(json.dumps(stored), Trained, "a training") == how
    with pytest.raises(ValueError, match="sessions"):
        of_line(json.dumps({**stored, "sessions": "abc"}), Trained, "a training")


def test_a_perplexity_that_is_none_is_no_loss():
    curve = [
        Epoch(epoch=1, updates=1, train_perplexity=None, valid_perplexity=value, seconds=1.0)
        for value in (math.e, None, 0.0, -3.0)
    ]
    assert losses_of(curve) == [1.0, math.inf, math.inf, math.inf]
