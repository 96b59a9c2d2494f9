"""The paper's schedule on hand-worked validation curves; averaging starts when NT-ASGD says so."""

import math

import pytest
import torch
from torch import nn

from ps_models import choices
from ps_models.errors import ModelError
from ps_models.training.config import TrainingConfig
from ps_models.training.optimizers import (
    OPTIMIZERS,
    averaged_weights,
    load_optimizer,
    make_optimizer,
    scaled_learning_rate,
    set_learning_rate,
    start_averaging,
)
from ps_models.training.schedules import finished, learning_rate

NAN = float("nan")


def test_each_optimizer_that_can_be_chosen_is_there():
    assert tuple(OPTIMIZERS) == choices.OPTIMIZERS


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


@pytest.mark.parametrize(
    ("setting", "message"),
    [
        ({"optimizer": "adagrad"}, "sgd, adamw, asgd"),
        ({"stride": 0}, "1 or more"),
        ({"epochs": 0}, "epochs=0: expected 1 or more"),
        ({"stride": "5"}, "expected a number"),
        ({"precision": "fp8"}, "bf16"),
    ],
)
def test_a_wrong_setting_is_refused_with_what_is_expected(setting, message):
    with pytest.raises(ModelError, match=message):
        TrainingConfig(**setting)


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
def test_a_scaled_learning_rate_holds_for_one_step(name):
    """Also where the optimizer keeps a rate of its own from step to step, as torch's ASGD does."""
    weight = nn.Parameter(torch.zeros(1))
    model = nn.ParameterList([weight])
    optimizer = make_optimizer(model, TrainingConfig(optimizer=name, learning_rate=2.0))
    steps = []
    for factor in (1.0, 0.25, 1.5, 1.0):
        before = weight.item()
        weight.grad = torch.ones(1)
        with scaled_learning_rate(optimizer, factor):
            optimizer.step()
        steps.append(before - weight.item())
    assert steps == [2.0, 0.5, 3.0, 2.0]
    set_learning_rate(optimizer, 8.0)
    before = weight.item()
    optimizer.step()
    assert before - weight.item() == 8.0


def stepped(size):
    """A layer and its optimizer after one step."""
    model, config = nn.Linear(size, size), TrainingConfig(optimizer="adamw")
    optimizer = make_optimizer(model, config)
    model(torch.ones(size)).sum().backward()
    optimizer.step()
    return model, config, optimizer


@pytest.mark.parametrize(("name", "shape"), [("exp_avg", (1,)), ("exp_avg", ()), ("step", (2, 2))])
def test_a_state_of_other_shapes_is_refused(name, shape):
    """A fused step on a CPU would read and write beyond its end."""
    model, config, optimizer = stepped(2)
    saved = optimizer.state_dict()
    saved["state"][0][name] = torch.zeros(shape)
    with pytest.raises(ModelError, match=rf"the checkpoint's {name} of weight 0 has shape"):
        load_optimizer(make_optimizer(model, config), saved)


@pytest.mark.parametrize(
    ("change", "found"),
    [
        (lambda saved: saved["state"][0].pop("step"), r"has \['exp_avg', 'exp_avg_sq'\] of weight 0"),
        (lambda saved: saved["state"][0].update(ax=torch.zeros(2, 2)), "'ax'"),
        (lambda saved: saved["state"].update({7: {}}), "of weight 7, expected .* of one of 2 weights"),
        (lambda saved: saved["state"][0].update(step=1.0), "step of weight 0 has float"),
        (lambda saved: saved["state"][0].update(exp_avg=torch.zeros(2, 2, dtype=torch.int64)), "int64"),
        (lambda saved: saved["param_groups"][0].update(lr="high"), r"lr, t0 = \['high'\]"),
        (lambda saved: saved["param_groups"][0].update(lr=math.nan), r"lr, t0 = \[nan\]"),
    ],
)
def test_a_state_that_is_not_of_this_optimizer_is_refused(change, found):
    model, config, optimizer = stepped(2)
    saved = optimizer.state_dict()
    load_optimizer(make_optimizer(model, config), saved)
    change(saved)
    with pytest.raises(ModelError, match=found):
        load_optimizer(make_optimizer(model, config), saved)


def test_a_repeated_number_in_a_state_has_memory_of_its_own():
    """It has the right shape, and a fused step would read beyond its one number."""
    model, _, optimizer = stepped(64)
    saved = optimizer.state_dict()
    saved["state"][0]["exp_avg"] = torch.zeros(1).expand(64, 64)
    load_optimizer(optimizer, saved)
    assert optimizer.state[model.weight]["exp_avg"].is_contiguous()
    assert optimizer.state[model.weight]["exp_avg"].untyped_storage().nbytes() == 4 * 64 * 64
    saved["state"][0]["exp_avg"] = torch.zeros(64, 64).to_sparse()
    with pytest.raises(ModelError, match="exp_avg of weight 0"):
        load_optimizer(optimizer, saved)


def test_options_are_those_of_the_settings_whatever_a_checkpoint_says():
    model, config = nn.Linear(2, 1), TrainingConfig(optimizer="adamw", weight_decay=0.5)
    saved = make_optimizer(model, config).state_dict()
    saved["param_groups"][0] |= {"weight_decay": 7.0, "maximize": True, "lr": 0.25}
    optimizer = make_optimizer(model, config)
    load_optimizer(optimizer, saved)
    (group,) = optimizer.param_groups
    assert (group["weight_decay"], group["maximize"], group["lr"]) == (0.5, False, 0.25)
