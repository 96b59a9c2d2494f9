"""The paper's schedule on hand-worked validation curves; averaging starts when NT-ASGD says so."""

import copy
import inspect
import json
import math
from dataclasses import asdict, replace

import pytest
import torch
from torch import nn

from ps_models.configs import make_configs
from ps_models.errors import ModelError
from ps_models.hyperparameters import TrainingConfig, finished, learning_rate
from ps_models.training.optimizers import (
    OPTIMIZERS,
    UNUSABLE,
    averaged_weights,
    load_optimizer,
    make_optimizer,
    options_of,
    set_learning_rate,
    start_averaging,
)

NAN = float("nan")


@pytest.mark.parametrize(
    ("schedule", "losses", "expected"),
    [
        ("halve-when-worse", [], 1.0),
        ("halve-when-worse", [5.0, 4.0, 4.0], 1.0),  # not worse
        ("halve-when-worse", [5.0, 4.0, 4.5, 4.4], 0.5),  # better than the one before, though not the best
        ("halve-when-worse", [5.0, 5.1, 5.2, 5.3], 0.125),
        ("halve-when-worse", [5.0, NAN], 0.5),
        ("divide-unless-best", [5.0, 4.0, 4.5, 4.4], 0.25),
        ("decay-after", [5.0], 1.0),
        ("decay-after", [5.0, 4.0], 0.5),
        ("decay-after", [5.0, 4.0, 3.0], 0.25),
        ("decay-unless-one-better", [5.0, 5.1], 1.0),  # Kim's code begins with the third
        ("decay-unless-one-better", [5.0, 4.9, 4.8], 1.0),  # perplexity 134.3 → 121.5
        ("decay-unless-one-better", [5.0, 4.5, 4.49], 0.5),  # 90.0 → 89.1
        ("decay-unless-one-better", [5.0, 4.5, 4.49, 4.48, 4.4], 0.25),  # 88.2, then 81.5
        ("decay-unless-one-better", [5.0, 800.0, 900.0], 0.5),  # both are infinite
        ("constant", [5.0, 6.0], 1.0),
    ],
)
def test_learning_rate_follows_validation(schedule, losses, expected):
    config = TrainingConfig(schedule=schedule, decay=0.5, decay_after=2)
    assert learning_rate(config, losses) == expected


@pytest.mark.parametrize(
    ("losses", "expected"),
    [
        ([], False),
        ([5.0, 5.1, 5.2], False),
        ([5.0, 5.1, 5.2, 5.3], True),  # three epochs without improvement
        ([5.0, 5.1, 4.9, 5.2, 5.3], False),
        ([NAN, NAN, NAN, NAN], True),
        ([1 / n for n in range(1, 65)], True),  # 64 epochs
    ],
)
def test_training_ends_as_in_the_paper(losses, expected):
    assert finished(TrainingConfig(), losses) is expected


def test_averaging_begins_when_validation_gets_worse_and_averages_from_then_on():
    model = nn.Linear(2, 1, bias=False)
    config = TrainingConfig(optimizer="asgd", averaging_interval=0, learning_rate=0.1)
    optimizer = make_optimizer(model, config)
    visited = []

    def step() -> None:
        optimizer.zero_grad()
        (model.weight * torch.randn(1, 2)).sum().backward()
        optimizer.step()
        visited.append(model.weight.detach().clone())

    for _ in range(3):
        step()
    assert not start_averaging(optimizer, [5.0, 4.0], config)
    assert averaged_weights(optimizer) == {}
    assert start_averaging(optimizer, [5.0, 4.0, 4.5], config)
    for _ in range(4):
        step()
    assert not start_averaging(optimizer, [5.0, 4.0, 4.5, 4.6], config)  # it does not start again
    (average,) = averaged_weights(optimizer).values()
    torch.testing.assert_close(average, torch.stack(visited[3:]).mean(dim=0))


@pytest.mark.parametrize(
    ("losses", "interval", "expected"),
    [
        ([5.0, 4.0, 4.5], 0, True),
        ([5.0, 4.0, 4.5], 1, False),  # better than the only epoch before the last one
        ([5.0, 4.0, 4.5, 4.4], 1, True),
        ([5.0, 4.0, 3.9, 3.8, 3.7, 3.6, 4.9], 5, False),
        ([5.0, 4.0, 3.9, 3.8, 3.7, 3.6, 5.1], 5, True),  # t = 6 > n, worse than the best of logs[0 : t - n]
        ([5.0, 6.0, 7.0, 8.0, 9.0, 9.9], 5, False),  # t = n
    ],
)
def test_averaging_is_triggered_as_in_algorithm_1_of_its_paper(losses, interval, expected):
    model = nn.Linear(2, 1)
    config = TrainingConfig(optimizer="asgd", averaging_interval=interval)
    optimizer = make_optimizer(model, config)
    model(torch.ones(2)).sum().backward()
    optimizer.step()
    assert start_averaging(optimizer, losses, config) is expected


@pytest.mark.parametrize("name", ["sgd", "asgd"])
def test_a_learning_rate_holds_for_the_next_step(name):
    """Also where the optimizer keeps a rate of its own from step to step, as torch's ASGD does."""
    weight = nn.Parameter(torch.zeros(1))
    model = nn.ParameterList([weight])
    optimizer = make_optimizer(model, TrainingConfig(optimizer=name, learning_rate=2.0))
    steps = []
    for rate in (2.0, 0.5, 3.0, 2.0):
        before = weight.item()
        weight.grad = torch.ones(1)
        set_learning_rate(optimizer, rate)
        optimizer.step()
        steps.append(before - weight.item())
    assert steps == [2.0, 0.5, 3.0, 2.0]


def trained(name, steps=3, **settings):
    """A layer after some steps, with its optimizer and configuration."""
    torch.manual_seed(1)
    model, config = nn.Linear(3, 3), TrainingConfig(optimizer=name, learning_rate=0.01, **settings)
    optimizer = make_optimizer(model, config)
    for _ in range(steps):
        step(model, optimizer)
    return model, config, optimizer


def step(model, optimizer):
    optimizer.zero_grad()
    model(torch.ones(3)).square().sum().backward()
    optimizer.step()


OF_TORCH = "adadelta adafactor adagrad adam adamax nadam radam rmsprop rprop"
USABLE = [*OPTIMIZERS, *OF_TORCH.split()]


def test_all_classes_of_torch_are_tried():
    classes = {name.lower() for name, kind in vars(torch.optim).items() if inspect.isclass(kind)}
    assert classes == {*USABLE, *UNUSABLE}
    assert "alpha" not in options_of("asgd")  # nothing would read it


@pytest.mark.parametrize("name", USABLE)
def test_a_saved_state_continues_as_if_it_had_not_been_saved(name):
    model, config, optimizer = trained(name)
    restored = copy.deepcopy(model)
    other = make_optimizer(restored, config)
    load_optimizer(other, copy.deepcopy(optimizer.state_dict()), config)
    for _ in range(3):
        step(model, optimizer)
        step(restored, other)
    assert torch.equal(model.weight, restored.weight)


@pytest.mark.parametrize(
    ("name", "options"), [("sgd", {"momentum": 0.9, "nesterov": True}), ("Adam", {"amsgrad": True})]
)
def test_options_of_an_optimizer_are_set_and_saved_as_json(name, options):
    _, config, optimizer = trained(name, optimizer_options=options)
    assert optimizer.param_groups[0].items() >= options.items()
    assert config.optimizer == name.lower()
    betas = TrainingConfig(optimizer="adam", optimizer_options={"betas": (0.8, 0.9)})
    assert TrainingConfig(**json.loads(json.dumps(asdict(betas)))) == betas


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        (["optimizer=adagrads"], "expected adadelta, adafactor, adagrad, adam, .*sgd$"),
        (["optimizer=LBFGS"], "optimizer=lbfgs: expected"),
        (["momentum=x", "optimizer=sgd"], "momentum=x: expected a number"),
        (["optimizer=sgd", "nesterov=maybe"], "nesterov=maybe: expected yes or no"),
        (["optimizer=adam", "betas=0.9,x"], "betas=0.9,x: expected two numbers separated by a comma"),
        (["optimizer=adam", "betas=0.9"], "betas=0.9: expected two numbers separated by a comma"),
        (["optimizer=adam", "momentum=0.9"], "momentum: no such setting; .* amsgrad, "),
        (["optimizer=sgd", "foreach=yes"], "foreach: no such setting"),
    ],
)
def test_a_wrong_optimizer_or_option_is_refused(settings, message):
    with pytest.raises(ModelError, match=message):
        make_configs("lstm", None, settings, 9)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"optimizer": "muon"}, "optimizer=muon: expected "),
        (
            {"optimizer_options": {"nesterov": True}},
            "optimizer=sgd nesterov=True: Nesterov momentum requires",
        ),
        ({"optimizer": "adam", "optimizer_options": {"betas": [0.9]}}, r"adam betas=\(0.9,\): tuple index"),
        ({"optimizer": "rprop", "weight_decay": 0.1}, "weight_decay=0.1: Rprop has none"),
    ],
)
def test_what_an_optimizer_refuses_is_an_error_of_ours(settings, message):
    with pytest.raises(ModelError, match=message):
        make_optimizer(nn.Linear(2, 2), TrainingConfig(**settings))


STATE, GROUP = ("state", 0), ("param_groups", 0)


@pytest.mark.parametrize(
    ("place", "change", "found"),
    [
        # A fused step on a CPU would read and write beyond the end of a tensor that is too small.
        (STATE, {"exp_avg": torch.zeros(1)}, r"exp_avg of weight 0 has shape \(1,\)"),
        (STATE, {"exp_avg": torch.zeros(())}, r"exp_avg of weight 0 has shape \(\)"),
        (STATE, {"step": torch.zeros(2, 2)}, r"step of weight 0 has shape \(2, 2\)"),
        (STATE, {"exp_avg": torch.zeros(3, 3).to_sparse()}, "exp_avg .*sparse"),
        (STATE, {"exp_avg": torch.zeros(3, 3, dtype=torch.int64)}, "int64"),
        (STATE, {"step": 1.0}, "step of weight 0 has float"),
        (STATE, {"step": None}, r"has \['exp_avg', 'exp_avg_sq'\] of weight 0"),
        (STATE, {"ax": torch.zeros(3, 3)}, "'ax'"),
        (STATE[:1], {7: {}}, "weight 7 of 2"),
        (GROUP, {"lr": "high"}, "'lr': 'high'"),
        (GROUP, {"lr": math.nan}, "'lr': nan"),
    ],
)
def test_a_state_that_is_not_of_this_optimizer_is_refused(place, change, found):
    model, config, optimizer = trained("adamw")
    part = saved = optimizer.state_dict()
    for key in place:
        part = part[key]
    part |= change
    if None in change.values():
        del part["step"]
    with pytest.raises(ValueError, match=found):
        load_optimizer(make_optimizer(model, config), saved, config)


def test_a_repeated_number_in_a_state_has_memory_of_its_own():
    """It has the right shape, and a fused step would read beyond its one number."""
    model, config, optimizer = trained("adamw")
    saved = optimizer.state_dict()
    saved["state"][0]["exp_avg"] = torch.zeros(1).expand(3, 3)
    load_optimizer(optimizer, saved, config)
    assert optimizer.state[model.weight]["exp_avg"].is_contiguous()
    assert optimizer.state[model.weight]["exp_avg"].untyped_storage().nbytes() == 4 * 3 * 3


def test_options_are_those_of_the_settings_whatever_a_checkpoint_says():
    """Also where steps are counted: a run from a GPU of version 0.1 resumes on a CPU."""
    model, config, optimizer = trained("adamw", weight_decay=0.5, decayed="all")
    saved = optimizer.state_dict()
    saved["param_groups"][0] |= {"weight_decay": 7.0, "maximize": True, "capturable": True, "lr": 0.25}
    load_optimizer(optimizer, saved, config)
    (group,) = optimizer.param_groups
    assert (group["weight_decay"], group["maximize"], group["capturable"]) == (0.5, False, False)
    assert group["lr"] == 0.25
    assert optimizer.state[model.weight]["step"] == 3


def test_a_momentum_that_has_not_begun_is_none_in_older_checkpoints():
    model, config, optimizer = trained("sgd")
    saved = {"state": {0: {"momentum_buffer": None}}, "param_groups": optimizer.state_dict()["param_groups"]}
    load_optimizer(optimizer, saved, config)
    step(model, optimizer)


def test_only_matrices_decay_unless_all_are_asked_for():
    class Small(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.words, self.linear = torch.nn.Embedding(5, 3), torch.nn.Linear(3, 5)
            self.tied = torch.nn.Linear(3, 5, bias=False)
            self.tied.weight = self.words.weight

    model = Small()
    before = {name: weight.detach().clone() for name, weight in model.named_parameters()}
    config = TrainingConfig(optimizer="adamw", learning_rate=0.1, weight_decay=0.5)
    for decayed, wanted in (("matrices", {"linear.weight"}), ("all", {*before})):
        model.load_state_dict(before, strict=False)
        optimizer = make_optimizer(model, replace(config, decayed=decayed))
        for weight in model.parameters():
            weight.grad = torch.zeros_like(weight)
        optimizer.step()
        changed = {name for name, weight in model.named_parameters() if not torch.equal(weight, before[name])}
        assert changed == wanted
