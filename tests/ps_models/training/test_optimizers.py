"""The paper's schedule on hand-worked validation curves; averaging starts when NT-ASGD says so."""

import copy
import inspect
import json
import math
from dataclasses import asdict, replace

import pytest
import torch
from torch import nn

from ps_models.configs import make_configs, make_model
from ps_models.errors import ModelError
from ps_models.hyperparameters import Schedule, TrainingConfig, averaging_starts, finished, learning_rate
from ps_models.training.optimizers import OPTIMIZERS, UNUSABLE, load_optimizer, make_optimizers
from tests.ps_models.training.test_update import TINY

NAN = float("nan")


RATES: tuple[tuple[Schedule, list[float], float], ...] = (  # by a schedule, after these losses
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
)
ENDS: tuple[tuple[list[float], bool], ...] = (
    ([], False),
    ([5.0, 5.1, 5.2], False),
    ([5.0, 5.1, 5.2, 5.3], True),  # three epochs without improvement
    ([5.0, 5.1, 4.9, 5.2, 5.3], False),
    ([NAN, NAN, NAN, NAN], True),
    ([1 / n for n in range(1, 65)], True),  # 64 epochs
)
AVERAGES = (  # from an interval on
    ([5.0, 4.0, 4.5], 1, False),  # better than the only epoch before the last one
    ([5.0, 4.0, 4.5, 4.4], 1, True),
    ([5.0, 4.0, 3.9, 3.8, 3.7, 3.6, 4.9], 5, False),
    ([5.0, 4.0, 3.9, 3.8, 3.7, 3.6, 5.1], 5, True),  # t = 6 > n, worse than the best of logs[0 : t - n]
    ([5.0, 6.0, 7.0, 8.0, 9.0, 9.9], 5, False),  # t = n
    ([5.0, 6.0, 7.0], 0, False),
)


def test_rate_end_and_averaging_follow_validation_as_in_the_papers():
    """Halving and the end as in the pointer sentinel's, averaging as in algorithm 1 of NT-ASGD's."""
    rates = {name: TrainingConfig(schedule=name, decay=0.5, decay_after=2) for name, _, _ in RATES}
    faults = [
        *(row for row in RATES if learning_rate(rates[row[0]], row[1]) != row[2]),
        *(row for row in ENDS if finished(TrainingConfig(), row[0]) is not row[1]),
        *(r for r in AVERAGES if averaging_starts(TrainingConfig(averaging_interval=r[1]), r[0]) is not r[2]),
    ]
    assert faults == []


VOCAB_SIZE = 9


def trained(name, steps=3, **settings):
    """A layer after some steps, with its optimizers and configuration."""
    torch.manual_seed(1)
    model, config = nn.Linear(3, 3), TrainingConfig(optimizer=name, learning_rate=0.01, **settings)
    optimizers = make_optimizers(model, config, VOCAB_SIZE)
    for _ in range(steps):
        step(model, optimizers)
    return model, config, optimizers


def step(model, optimizers):
    model.zero_grad()
    model(torch.ones(3)).square().sum().backward()
    for optimizer in optimizers:
        optimizer.step()


def test_all_classes_of_torch_are_tried():
    classes = {name.lower() for name, kind in vars(torch.optim).items() if inspect.isclass(kind)}
    assert classes == {*OPTIMIZERS, *UNUSABLE}


@pytest.mark.parametrize("name", OPTIMIZERS)
def test_a_saved_state_continues_as_if_it_had_not_been_saved(name):
    model, config, optimizers = trained(name)
    restored = copy.deepcopy(model)
    new_optimizers = make_optimizers(restored, config, VOCAB_SIZE)
    for new_optimizer, optimizer in zip(new_optimizers, optimizers, strict=True):
        load_optimizer(new_optimizer, copy.deepcopy(optimizer.state_dict()), config)
    for _ in range(3):
        step(model, optimizers)
        step(restored, new_optimizers)
    assert torch.equal(model.weight, restored.weight)
    assert torch.equal(model.bias, restored.bias)


@pytest.mark.parametrize(
    ("name", "settings"),
    [
        ("sgd", ("momentum=0.9", "nesterov=yes")),
        ("Adam", ("amsgrad=yes", "betas=0.8,0.9")),
        ("muon", ("momentum=0.9", "nesterov=no", "betas=0.8,0.9")),  # betas are AdamW's
    ],
)
def test_options_of_an_optimizer_are_set_and_saved_as_json(name, settings):
    _, config = make_configs("lstm", None, [f"optimizer={name}", *settings], 9)
    optimizers = make_optimizers(nn.Linear(2, 2), config, VOCAB_SIZE)
    assert config.optimizer_options
    groups = [optimizer.param_groups[0] for optimizer in optimizers]
    used = {name: group[name] for group in groups for name in config.optimizer_options if name in group}
    assert json.loads(json.dumps(used)) == config.optimizer_options
    assert config.optimizer == name.lower()
    assert TrainingConfig(**json.loads(json.dumps(asdict(config)))) == config


REFUSED = (
    ({"optimizer": "muons"}, "optimizer=muons: expected "),
    ({"optimizer_options": {"nesterov": True}}, "sgd nesterov=True: Nesterov momentum requires"),
    ({"optimizer": "adam", "optimizer_options": {"betas": [0.9]}}, r"adam betas=\[0.9\]: list index"),
    ({"optimizer": "rprop", "weight_decay": 0.1}, "weight_decay=0.1: Rprop has none"),
)


@pytest.mark.parametrize(("settings", "message"), REFUSED)
def test_what_an_optimizer_refuses_is_an_error_of_ours(settings, message):
    with pytest.raises(ModelError, match=message):
        make_optimizers(nn.Linear(2, 2), TrainingConfig(**settings), VOCAB_SIZE)


STATE, GROUP = ("state", 0), ("param_groups", 0)


@pytest.mark.parametrize(
    ("place", "change", "found"),
    [
        # A fused step on a CPU would read and write beyond the end of a tensor that is too small.
        (STATE, {"exp_avg": torch.zeros(1)}, r"shape \(1,\)"),
        (STATE, {"exp_avg": torch.zeros(())}, r"shape \(\)"),
        (STATE, {"step": torch.zeros(2, 2)}, r"shape \(2, 2\)"),
        (STATE, {"exp_avg": torch.zeros(3, 3).to_sparse()}, "sparse"),
        (STATE, {"exp_avg": torch.zeros(3, 3, dtype=torch.int64)}, "int64"),
        (STATE, {"step": 1.0}, "float"),
        (STATE, {"step": None}, "NoneType"),
        (STATE, {"ax": torch.zeros(3, 3)}, "'ax'"),
        (STATE[:1], {7: {}}, "7"),
        (GROUP, {"lr": "high"}, "high"),
        (GROUP, {"lr": math.nan}, "a learning rate that is not finite"),
    ],
)
def test_a_state_that_is_not_of_this_optimizer_is_refused(place, change, found):
    model, config, (optimizer,) = trained("adamw")
    part = saved = optimizer.state_dict()
    for key in place:
        part = part[key]
    part |= change
    with pytest.raises((KeyError, ValueError), match=found):
        load_optimizer(make_optimizers(model, config, VOCAB_SIZE)[0], saved, config)


def test_a_repeated_number_in_a_state_has_memory_of_its_own():
    """It has the right shape, and a fused step would read beyond its one number."""
    model, config, (optimizer,) = trained("adamw")
    saved = optimizer.state_dict()
    saved["state"][0]["exp_avg"] = torch.zeros(1).expand(3, 3)
    load_optimizer(optimizer, saved, config)
    assert optimizer.state[model.weight]["exp_avg"].is_contiguous()
    assert optimizer.state[model.weight]["exp_avg"].untyped_storage().nbytes() == 4 * 3 * 3


def test_options_are_those_of_the_settings_whatever_a_checkpoint_says():
    """Also where steps are counted: a run from a GPU resumes on a CPU."""
    model, config, (optimizer,) = trained("adamw", weight_decay=0.5, decayed="all")
    saved = optimizer.state_dict()
    saved["param_groups"][0] |= {"weight_decay": 7.0, "maximize": True, "capturable": True, "lr": 0.25}
    load_optimizer(optimizer, saved, config)
    (group,) = optimizer.param_groups
    assert (group["weight_decay"], group["maximize"], group["capturable"]) == (0.5, False, False)
    assert group["lr"] == 0.25
    assert optimizer.state[model.weight]["step"] == 3


def test_only_matrices_decay_unless_all_are_asked_for():
    class Small(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.words, self.linear = torch.nn.Embedding(5, 3), torch.nn.Linear(3, 5)
            self.tied = torch.nn.Linear(3, 5, bias=False)
            self.tied.weight = self.words.weight
            self.bias = torch.nn.Parameter(torch.ones(2, 3))  # of two layers

    model = Small()
    before = {name: weight.detach().clone() for name, weight in model.named_parameters()}
    config = TrainingConfig(optimizer="adamw", learning_rate=0.1, weight_decay=0.5)
    for chosen, wanted in ((config, {"linear.weight"}), (replace(config, decayed="all"), {*before})):
        model.load_state_dict(before, strict=False)
        (optimizer,) = make_optimizers(model, chosen, VOCAB_SIZE)
        for weight in model.parameters():
            weight.grad = torch.zeros_like(weight)
        optimizer.step()
        changed = {name for name, weight in model.named_parameters() if not torch.equal(weight, before[name])}
        assert changed == wanted


class UntiedModel(nn.Module):
    """A user's model, with a softmax of its own."""

    def __init__(self):
        super().__init__()
        self.words, self.hidden, self.output = nn.Embedding(20, 4), nn.Linear(4, 4), nn.Linear(4, 20)


LSTM_MATRICES = {"layers.0.weight_ih", "layers.0.weight_hh"}
HIDDEN = (  # a model, its settings, and the matrices that Muon has; AdamW has stacks of matrices
    ("awd-lstm", (), LSTM_MATRICES | {"layers.1.weight_ih", "layers.1.weight_hh"}),
    (
        "char-cnn",
        (),
        {f"lstm.{name}" for name in LSTM_MATRICES}
        | {f"words.highways.{layer}.{part}.weight" for layer in (0, 1) for part in ("transform", "gate")},
    ),
    ("lstm", (), LSTM_MATRICES),
    ("lstm", ("cutoffs=5,9",), LSTM_MATRICES),
    ("pointer-sentinel-lstm", (), {f"lstm.{name}" for name in LSTM_MATRICES} | {"query.weight"}),
    ("rhn", (), {"weight_input"}),
    ("rnn-lda", (), {"recurrent.weight", "topics.weight"}),
    (
        "transformer",
        (),
        {f"layers.0.{part}.weight" for part in ("query", "key_value", "output", "up", "down")},
    ),
    ("UntiedModel", (), {"hidden.weight"}),
)


@pytest.mark.parametrize(("name", "more", "hidden"), HIDDEN)
def test_muon_has_hidden_matrices_and_adamw_has_all_other_weights(name, more, hidden):
    if name == "UntiedModel":
        model: nn.Module = UntiedModel()
    else:
        model = make_model(name, make_configs(name, None, ("hidden_size=8", *TINY[name], *more), 20)[0])
    names = {weight: name for name, weight in model.named_parameters()}
    muon, adamw = (
        {names[weight] for group in optimizer.param_groups for weight in group["params"]}
        for optimizer in make_optimizers(model, TrainingConfig(optimizer="muon", weight_decay=0.1), 20)
    )
    assert muon == hidden
    assert adamw == {*names.values()} - hidden


def test_muon_is_refused_where_no_weight_is_a_hidden_matrix():
    model = make_model("sum-product-network", make_configs("sum-product-network", None, (), 20)[0])
    with pytest.raises(ModelError, match=r"optimizer=muon: .* but SumProductNetwork has none; use adamw"):
        make_optimizers(model, TrainingConfig(optimizer="muon"), 20)


@pytest.mark.parametrize("shape", [(40, 10), (10, 40)])
def test_a_step_of_muon_is_as_strong_in_all_directions_and_as_large_as_adamws(shape):
    """Its root mean square is 0.2 of the rate, whatever the shape; Liu et al. (2025), section 2.2."""
    torch.manual_seed(1)
    layer = nn.Linear(*shape[::-1])
    before = layer.weight.detach().clone()
    muon, _ = make_optimizers(layer, TrainingConfig(optimizer="muon", learning_rate=0.01), VOCAB_SIZE)
    left, _, right = torch.linalg.svd(torch.randn(shape), full_matrices=False)
    layer.weight.grad = left @ torch.logspace(-1, 0, 10).diag() @ right
    muon.step()
    moved = before - layer.weight.detach()
    assert moved.square().mean().sqrt().item() == pytest.approx(0.2 * 0.01, rel=0.2)
    strengths = torch.linalg.svdvals(moved)
    assert strengths.max() < 2 * strengths.min()  # those of the gradient differ tenfold
