"""Every preset makes a model and a schedule; settings are parsed by type."""

import re
from dataclasses import replace

import pytest
import torch

from ps_models.configs import PRESETS, config_of, kind_of, make_configs, make_model, presets_of
from ps_models.errors import ModelError
from ps_models.hyperparameters import learning_rate
from ps_models.models import MODELS
from tests.cases import cases

SIZES = cases("parameters", "models")  # of the papers' formulas
ALL = [(model, preset) for model, presets in PRESETS.items() for preset in presets]


@pytest.mark.parametrize(("model", "preset"), ALL)
def test_every_preset_is_a_model_with_a_schedule(model, preset):
    config, training = make_configs(model, preset, [], vocab_size=300_000)  # more than any cutoff
    assert isinstance(config, MODELS[model][0])
    assert training.epochs > 0
    with torch.device("meta"):
        if getattr(config, "initial_gate", None) is None:
            make_model(model, config)


def test_every_model_has_presets():
    assert PRESETS.keys() == MODELS.keys()


def test_a_preset_with_a_setting_that_no_model_has_names_its_file(tmp_path, monkeypatch):
    (tmp_path / "shared.toml").write_text("[parts.small]\nhidden_size = 9\ncutoffs = [5, 7]\n")
    table = '[tiny]\nabout = "tiny"\nmodel.use = ["small"]\n'
    (tmp_path / "lstm.toml").write_text(table)
    monkeypatch.setattr("ps_models.configs.FOLDER", tmp_path)
    path, config = tmp_path / "lstm.toml", MODELS["lstm"][0]
    assert presets_of(path, config)["tiny"].model == {"hidden_size": 9, "cutoffs": (5, 7)}
    path.write_text(table + "training.wings = 2\n")
    with pytest.raises(ModelError, match=r"lstm\.toml: tiny has wings; expected a field of its training"):
        presets_of(path, config)


def test_the_papers_model_and_schedule_are_the_defaults():
    config, training = make_configs("pointer-sentinel-lstm", "medium-k1", [], vocab_size=10_000)
    assert (config.hidden_size, config.layers, config.window) == (650, 2, 100)
    assert (training.batch_size, training.stride, training.bptt) == (32, 1, 100)
    assert (training.clip, training.epochs, training.patience) == (1.0, 64, 3)
    assert (config.zoneout, config.input_dropout, config.output_dropout) == (0.5, 0.5, 0.5)


@pytest.mark.parametrize(
    ("model", "preset"), [("pointer-sentinel-lstm", "medium"), ("lstm", "zoneout-medium")]
)
def test_medium_is_the_papers_model_trained_in_segments(model, preset):
    config, training = make_configs(model, preset, [], vocab_size=10_000)
    assert (config.hidden_size, config.zoneout) == (650, 0.5)
    assert (config.input_dropout, config.layer_dropout, config.output_dropout) == (0.5, 0.5, 0.5)
    assert (training.batch_size, training.stride, training.bptt, training.clip) == (20, 35, 1, 10.0)


def test_schedules_are_the_published_ones():
    model, training = make_configs("rnn-lda", "mikolov", [], vocab_size=10_000)
    assert make_configs("rnn-lda", "mikolov-short", [], vocab_size=10_000)[0] == replace(model, dropout=0.4)
    assert (training.batch_size, training.stride, training.lookback) == (1, 10, 4)
    _, training = make_configs("sum-product-network", "cheng", [], vocab_size=10_000)
    assert (training.batch_size, training.stride, training.learning_rate) == (100, 1, 0.05)


def test_the_learning_rate_of_highways_is_that_of_the_authors_code():
    """0.2 / 1.02 ** max(epoch - 20, 0), epochs counted from 1."""
    _, training = make_configs("rhn", "variational", [], 10_000)
    rates = [learning_rate(training, [5.0] * done) for done in (0, 19, 20, 29)]
    assert rates == pytest.approx([0.2, 0.2, 0.2 / 1.02, 0.2 / 1.02**10])


def test_settings_are_parsed_by_type_and_go_where_they_belong():
    settings = [
        "hidden_size=12",
        "tied=yes",
        "cutoffs=5,9",
        "initial_gate=none",
        "learning_rate=1e-2",
        "optimizer=adamw",
    ]
    config, training = make_configs("pointer-sentinel-lstm", None, settings, vocab_size=50)
    assert (config.hidden_size, config.tied, config.cutoffs, config.initial_gate) == (12, True, (5, 9), None)
    assert (training.learning_rate, training.optimizer) == (0.01, "adamw")


WRONG_SETTINGS = (
    ("lstm", "hidden=12", "key=value with a key of .*hidden_size"),
    ("lstm", "hidden_size", "key=value"),
    ("lstm", "hidden_size=12.5", "expected int, got str"),
    ("lstm", "tied=maybe", "yes or no"),
    ("lstm", "vocab_size=12", "key=value"),
    ("lstm", "schedule=linear", "^schedule=linear: expected halve-when-worse, .*, cosine$"),
    ("lstm", "epochs=0", "^epochs=0: expected int >= 1$"),
    ("lstm", "eos=50", "^eos=50: expected the id of one of the 50 words$"),
    ("lstm", "eos=-1", "int >= 0"),
    ("lstm", "init=-1", "float >= 0"),
    ("lstm", "zoneout=nan", "float >= 0"),
    ("lstm", "layer_dropout=1", "float < 1"),
    ("lstm", "learning_rate=inf", "float <= "),
    ("lstm", "cutoffs=5,0", "cutoffs=5,0: expected int >= 1"),
    ("lstm", "seed=99999999999999999999", "int <= 9223372036854775807"),
    ("lstm", "decay_after=3", "it has no effect; use schedule=decay-after"),
    ("lstm", "ema=0.9 averaging_interval=2", r"^ema=0\.9 with averaging_interval=2: one average is kept"),
    ("lstm", "optimizer=adagrads", "expected adadelta, adafactor, adagrad, adam, .*sgd$"),
    ("lstm", "optimizer=LBFGS", "optimizer=lbfgs: expected"),
    ("lstm", "optimizer=asgd", "optimizer=asgd: expected"),
    ("lstm", "momentum=x optimizer=sgd", "momentum=x: expected float"),
    ("lstm", "optimizer=sgd nesterov=maybe", "nesterov=maybe: expected yes or no"),
    ("lstm", "optimizer=adam betas=0.9,x", "betas=0.9,x: expected float"),
    ("lstm", "optimizer=adam betas=0.9", "betas=0.9: expected array of length >= 2"),
    ("lstm", "optimizer=adam momentum=0.9", "momentum: no such setting; .* amsgrad, "),
    ("lstm", "optimizer=sgd foreach=yes", "foreach: no such setting"),
    ("pointer-sentinel-lstm", "initial_gate=0.0", r"^initial_gate=0\.0: expected"),
    ("pointer-sentinel-lstm", "initial_gate=1.0", r"^initial_gate=1\.0: expected"),
    ("pointer-sentinel-lstm", "window=0", "^window=0: expected"),
    *(
        ("pointer-sentinel-lstm", f"{name}={'9' * 30}", rf"{name}=9+: expected int <= \d+")
        for name in ("hidden_size", "window", "stride", "cutoffs")
    ),
    (
        "pointer-sentinel-lstm",
        "pointer_rate=0.04 optimizer=adamw",
        r"=0\.04 with .*=adamw.*use pointer_rate=1",
    ),
    ("pointer-sentinel-lstm", "pointer_rate=0.04 optimizer=muon", "=muon.*use pointer_rate=1"),
    ("transformer", "hidden_size=12 heads=5", "heads=5"),
)


def test_a_wrong_setting_is_an_error():
    faults = []
    for model, settings, expected in WRONG_SETTINGS:
        with pytest.raises(ModelError) as refused:
            make_model(model, make_configs(model, None, settings.split(), vocab_size=50)[0])
        if not re.search(expected, str(refused.value)):
            faults.append(f"{model} {settings}: {refused.value}")
    assert faults == []


def test_a_model_too_large_for_the_memory_is_an_error():
    config, _ = make_configs("lstm", None, ["hidden_size=2000000000"], vocab_size=50)
    with pytest.raises(ModelError, match=r"^lstm cannot be made: .*memory"):
        make_model(kind_of("lstm"), config)


def test_unknown_names_are_errors():
    with pytest.raises(ModelError, match=r"no such model; expected one of .*lstm"):
        make_configs("gpt", None, [], vocab_size=50)
    with pytest.raises(ModelError, match="no such preset of lstm; its presets are small"):
        make_configs("lstm", "huge", [], vocab_size=50)
    fields = vars(make_configs("lstm", None, [], vocab_size=50)[0])
    for other in ({**fields, "wings": 2}, {name: fields[name] for name in fields if name != "zoneout"}):
        with pytest.raises(ModelError, match=r"has no (wings|zoneout); use the version that wrote"):
            config_of("lstm", other)


def test_a_configuration_comes_back_from_json():
    config, _ = make_configs("lstm", "gal-large", ["cutoffs=5,9"], vocab_size=50)
    fields = {**vars(config), "cutoffs": list(config.cutoffs)}
    assert config_of("lstm", fields) == config


def name_of(case):
    parts = [case["model"], case.get("preset"), *case.get("settings", []), str(case["vocabulary"])]
    return "-".join(filter(None, parts))


@pytest.mark.parametrize("case", SIZES, ids=name_of)
def test_the_number_of_parameters_is_the_published_one(case):
    settings = case.get("settings", [])
    config, _ = make_configs(case["model"], case.get("preset"), settings, vocab_size=case["vocabulary"])
    with torch.device("meta"):
        model = make_model(case["model"], config)
    expected = eval(case["count"], {"__builtins__": {}})  # a sum of products
    assert sum(parameter.numel() for parameter in model.parameters()) == expected
    assert expected / 1e6 == pytest.approx(case["millions"], abs=0.01)
