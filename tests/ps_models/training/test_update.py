"""An update never waits for its device, whose numbers are read late; compiled, it gives the same numbers."""

import importlib
import math
import shutil
from contextlib import nullcontext
from copy import deepcopy
from dataclasses import replace
from typing import Any

import pytest
import torch
from torch import nn
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves

import ps_models as pm
from ps_models.configs import make_configs, make_model
from ps_models.dataset import to_rows
from ps_models.devices import ONE_PROCESS, DistributedContext
from ps_models.errors import ModelError
from ps_models.hyperparameters import TrainingConfig
from ps_models.layers.softmax import Softmax
from ps_models.models import MODELS
from ps_models.models.lstm import LSTMLayer
from ps_models.training.checkpoint import LAST, read_checkpoint
from ps_models.training.logs import EPOCHS, UPDATES
from ps_models.training.loop import MAX_UNREAD_UPDATES, RunLimits, StoppedError
from ps_models.training.update import ChunkLoss, Training, gradient_norm
from tests.ps_models.tiny import QUIET, SETTINGS, make_dataset

RECURRENT = ("type_dropout=0.2", "recurrent_dropout=0.2")
TRANSFORMER = ("layers=1", "heads=2", "inner_size=12", "window=4")
TINY = {  # with all that is drawn at random
    "awd-lstm": ("layers=2", "embedding_size=4"),
    "char-cnn": ("layers=1", "character_size=3", "widths=1,2", "features=4,4", "word_length=6"),
    "lstm": ("layers=1", *RECURRENT),
    "pointer-sentinel-awd-lstm": ("layers=2", "embedding_size=4", "window=4"),
    "pointer-sentinel-lstm": ("layers=1", "window=4", *RECURRENT, "per_gate=yes"),
    "pointer-sentinel-transformer": (*TRANSFORMER, "pointer_window=4"),
    "rhn": ("depth=3",),
    "rnn": ("dropout=0.3",),
    "rnn-lda": ("topics=3", "document_lines=2", "lda_passes=3", "dropout=0.3"),
    "sum-product-network": ("context=3", "powers=3"),
    "transformer": TRANSFORMER,
}


SAMPLING = sorted(TINY.keys() - {"sum-product-network"})
SAMPLED = [*((one, ("sampled=5",)) for one in SAMPLING), ("lstm", ("cutoffs=5,9",))]


@pytest.fixture(autouse=True)
def products():
    """As they were: precisions are of the whole process."""
    yield
    torch.set_float32_matmul_precision("highest")
    torch.backends.cudnn.allow_tf32 = True


def training(model, config, device="cpu", more=(), **options):
    """A run in progress on random words."""
    torch.manual_seed(1)
    made = make_model(model, make_configs(model, None, ("hidden_size=8", *more), 20)[0]).to(device).train()
    rows = to_rows(torch.randint(20, (60,)), config.batch_size)
    options |= {"vocab_size": 20, "device": torch.device(device), "world": ONE_PROCESS}
    return Training(made, rows, config, **options)


class Watched(TorchDispatchMode):
    """Sees tensors that are made on another device than the model's, or meet there.

    The device is "meta", which computes nothing, so that to wait for a number is an error. What is computed
    from the CPU's tensors alone is none of its business: the rows of all processes stay there.
    """

    def __init__(self):
        super().__init__()
        self.elsewhere = []

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        result = func(*args, **(kwargs or {}))
        given, made = ({one.device.type for one in tensors(part)} for part in ((args, kwargs), result))
        if given != {"cpu"} and "cpu" in given | made:
            self.elsewhere.append(func.overloadpacket.__name__)
        return result


def tensors(tree):
    return [leaf for leaf in tree_leaves(tree) if isinstance(leaf, torch.Tensor)]


@pytest.fixture
def no_autocast_of_meta(monkeypatch):
    """Torch knows of none, not even that it is off."""
    importlib.import_module("torch._dynamo")  # now: it lists torch's functions, and would list these instead
    autocast, enabled = torch.autocast, torch.is_autocast_enabled
    monkeypatch.setattr(
        torch, "autocast", lambda kind, *a, **k: nullcontext() if kind == "meta" else autocast(kind, *a, **k)
    )
    monkeypatch.setattr(torch, "is_autocast_enabled", lambda kind: kind != "meta" and enabled(kind))


def test_every_model_is_tried():
    assert MODELS.keys() == TINY.keys()


OPTIMIZERS = {
    *(
        preset.training.get("optimizer", "sgd")
        for kind in pm.list_models().values()
        for preset in kind.values()
    ),
    "muon",
}
WATCHED = [  # a model, its settings, and those of its training
    *((model, (), {}) for model in TINY),
    *((model, more, {}) for model, more in SAMPLED),
    *(("pointer-sentinel-lstm", (), {"optimizer": name, "ema": 0.9}) for name in sorted(OPTIMIZERS)),
    *(("rhn", (), {"optimizer": name, "averaging_interval": 1}) for name in sorted(OPTIMIZERS)),
]


@pytest.mark.usefixtures("no_autocast_of_meta")
@pytest.mark.parametrize(("model", "more", "options"), WATCHED)
def test_an_update_neither_waits_for_its_device_nor_makes_a_tensor_elsewhere(model, more, options):
    config = TrainingConfig(batch_size=4, stride=3, bptt=6, weight_decay=0.01, **options)
    run, watched = training(model, config, device="meta", more=(*TINY[model], *more)), Watched()
    run.position = replace(run.position, losses=(4.0, 5.0, 6.0))  # the mean of the weights begins
    for watching in (nullcontext(), watched):  # without, too: torch avoids to wait where it is watched
        with watching:
            run.next_epoch()
            for chunk, targets in run.chunks():
                run.update(chunk, targets)
    assert watched.elsewhere == []
    assert bool(run.averaged) is any(name in options for name in ("ema", "averaging_interval"))


@pytest.mark.parametrize("model", SAMPLING)
def test_a_sampled_softmax_teaches_few_words_at_once_and_scores_as_all_words_do(model):
    scores, taught, tokens = [], [], torch.arange(6).view(1, 6)
    for sampled in (0, 5):
        torch.manual_seed(1)
        settings = ("hidden_size=8", *TINY[model], f"sampled={sampled}")
        made: Any = make_model(model, make_configs(model, None, settings, 200)[0])
        scores.append(made.eval()(tokens, made.initial_state(1))[0])
        made.train().loss(tokens, made.initial_state(1))[0].sum().backward()
        softmax: Any = next(part for part in made.modules() if isinstance(part, Softmax))
        taught.append(int(softmax.weight.grad.any(dim=1).sum()))
    assert torch.equal(*scores)
    assert taught[0] == 200
    assert taught[1] < 50


@pytest.mark.parametrize("save_seconds", [0.0, 1000.0])
def test_a_number_that_is_nan_is_reported_late_but_never_saved(tmp_path, monkeypatch, save_seconds):
    monkeypatch.setattr(Training, "reads_at_once", False)  # as on a GPU
    settings = (*SETTINGS, *RECURRENT, "learning_rate=1e38", "clip=0", "stride=2")
    out = tmp_path / "out"
    with pytest.raises(ModelError, match="the gradient is"):
        pm.train(
            *("lstm", make_dataset(tmp_path), out),
            settings=settings,
            device="cpu",
            limits=RunLimits(save_seconds=save_seconds),
        )
    assert (out / LAST).exists() == (save_seconds == 0)
    if (out / LAST).exists():
        assert all(weight.isfinite().all() for weight in read_checkpoint(out / LAST).weights.values())


@pytest.mark.parametrize("micro_batch", [0, 1, 3])
@pytest.mark.parametrize("loss", ["token", "row"])
def test_an_update_adds_the_pointer_loss_of_its_targets_alone(loss, micro_batch):
    """Not that of the padding of shorter rows; the reported nats are the mixture's."""
    config = TrainingConfig(batch_size=7, stride=4, bptt=3, clip=0, loss=loss, micro_batch=micro_batch)
    more = ("layers=1", "window=4", *QUIET, "pointer_loss=0.5")
    run = training("pointer-sentinel-lstm", config, more=more)
    *_, before, (chunk, targets) = run.chunks()
    run.update(*before)
    assert sum(chunk.shorter) == 3
    nats, penalty, _ = run.model.loss_and_penalty(chunk.tokens, run.state, chunk.scored, chunk.advance)
    rows = [len(row) - short for row, short in zip(nats, chunk.shorter, strict=True)]
    both, mixture = (
        [row[:end] for row, end in zip(losses, rows, strict=True)] for losses in (nats + penalty, nats)
    )
    objective = torch.cat(both).sum() / (targets if loss == "token" else 7)
    expected = torch.autograd.grad(objective, list(run.model.parameters()))
    reported, _ = run.update(chunk, targets)
    torch.testing.assert_close(reported, torch.cat(mixture).sum().double())
    for weight, grad in zip(run.model.parameters(), expected, strict=True):
        torch.testing.assert_close(weight.grad, grad)


class OneOfTwo(DistributedContext):
    """A process whose other one gives the same numbers, and that counts when it asks for them."""

    asked = 0

    def wrapped(self, loss):
        return loss

    def summed(self, values):
        OneOfTwo.asked += 1
        return [2 * value for value in values]

    def gathered(self, own):
        return [own, deepcopy(own)]


def test_several_processes_on_gpus_exchange_numbers_after_many_updates(tmp_path, monkeypatch):
    monkeypatch.setattr(Training, "reads_at_once", False)  # as on a GPU
    monkeypatch.setattr(OneOfTwo, "asked", 0)
    monkeypatch.setattr("ps_models.training_run.torchrun_context", lambda: nullcontext(OneOfTwo(size=2)))
    data, out = make_dataset(tmp_path), tmp_path / "out"
    limits = RunLimits(max_updates=200, save_seconds=0)
    with pytest.raises(StoppedError, match="after update 200;"):
        pm.train("lstm", data, out, settings=(*SETTINGS, "epochs=99"), device="cpu", limits=limits)
    epochs = len((out / EPOCHS).read_text().splitlines()) - 1
    assert OneOfTwo.asked <= 200 / MAX_UNREAD_UPDATES + 2 * epochs + 2  # at the ends of epochs, and for valid
    assert len((out / UPDATES).read_text().splitlines()) == 200


@pytest.mark.parametrize(("precision", "wanted"), [("fp32", False), ("bf16", False), ("tf32", True)])
def test_products_are_rounded_to_tf32_only_where_it_is_asked_for(precision, wanted):
    training("lstm", TrainingConfig(batch_size=4, precision=precision))
    assert torch.backends.cudnn.allow_tf32 == wanted
    assert torch.get_float32_matmul_precision() == ("high" if wanted else "highest")


def test_a_layer_by_torch_is_near_the_same_in_bfloat16():
    torch.manual_seed(1)
    layer = LSTMLayer(8, 8)
    for parameter in layer.parameters():
        torch.nn.init.uniform_(parameter, -0.3, 0.3)
    inputs, start = torch.randn(6, 2, 8), tuple(torch.zeros(2, 2, 8))
    exact, _ = layer.by_torch(inputs, start, 3)
    with torch.autocast("cpu", torch.bfloat16):
        near, (h, c) = layer.by_torch(inputs, start, 3)
    assert near.dtype == h.dtype == c.dtype == torch.float32
    torch.testing.assert_close(near, exact, rtol=0.05, atol=0.02)


# --- compiled

SHORT = TrainingConfig(batch_size=4, stride=2, bptt=2)


def losses_and_gradients(model, compiled):
    """Of two updates with dropout and zoneout."""
    run = training(model, SHORT, more=TINY[model])
    loss, found = compiled(ChunkLoss(run.model)), []
    torch.manual_seed(2)
    chunks = [chunk for chunk, _ in run.chunks() if chunk.advance == chunk.scored and not any(chunk.shorter)]
    for chunk in chunks[:2]:
        run.model.zero_grad()
        nats, penalty, run.state = loss(chunk, run.state)
        (nats / 4 + penalty).backward()
        found.append([nats.detach(), *(weight.grad.clone() for weight in run.model.parameters())])
    return found


@pytest.mark.slow
def test_a_model_compiles_without_a_break_to_the_same_losses_and_gradients():
    """Traced as for a compiler, and computed by torch's own operators, with the same random numbers."""
    model = "pointer-sentinel-lstm"
    torch.compiler.reset()
    traced = losses_and_gradients(
        model, lambda loss: torch.compile(loss, backend="aot_eager", fullgraph=True, dynamic=False)
    )
    torch.testing.assert_close(traced, losses_and_gradients(model, lambda loss: loss), rtol=1e-5, atol=1e-6)


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("g++") is None, reason="torch.compile needs g++ on a CPU")
def test_a_compiled_run_gives_the_same_losses_and_resumes(tmp_path):
    """With torch's random numbers, compiled once; stopped and resumed it has the weights of one in one go."""
    from torch._inductor import config as inductor  # it takes seconds, and only this test needs it

    torch.compiler.reset()
    data, more = make_dataset(tmp_path), ("hidden_size=8", "batch_size=4", "stride=2", "bptt=1", "epochs=1")

    def train(name, **options):
        with inductor.patch(fallback_random=True), torch._dynamo.config.patch(error_on_recompile=True):
            pm.train("lstm", data, tmp_path / name, settings=(*more, *TINY["lstm"]), device="cpu", **options)

    train("plain")
    train("compiled", compile=True)
    with pytest.raises(StoppedError, match="after update 30;"):
        train("stopped", compile=True, limits=RunLimits(max_updates=30))
    train("stopped", compile=True)
    plain, compiled, stopped = (read_checkpoint(tmp_path / name) for name in ("plain", "compiled", "stopped"))
    torch.testing.assert_close(compiled.weights, plain.weights, rtol=1e-3, atol=1e-5)
    assert stopped.digest == compiled.digest


def test_the_norm_of_many_gradients_is_exact():
    """To 1e-6, where torch's norm of the whole is 1e-3 too small (on a CPU, torch 2.13)."""
    weights = [
        nn.Parameter(torch.empty(shape))
        for shape in ((20_000, 650), (1, 8_000_000), (8_000_000,), (3,), (0,), ())
    ]
    generator = torch.Generator().manual_seed(1)
    gradients = [torch.rand(weight.shape, generator=generator) * 1e-5 for weight in weights]
    for weight, gradient in zip(weights, gradients, strict=True):
        weight.grad = gradient
    exact = math.hypot(*(gradient.double().norm().item() for gradient in gradients))
    assert gradient_norm([*weights, nn.Parameter(torch.empty(2))]).item() == pytest.approx(exact, rel=1e-6)


@pytest.mark.parametrize("clip", [0.0, 0.01, 1e9])
def test_a_step_is_along_the_gradient_whose_norm_is_at_most_clip(clip):
    """With a rate of 1, plain SGD moves the weights by the clipped gradient."""
    run = training("lstm", TrainingConfig(batch_size=4, stride=9, bptt=1, clip=clip))
    before = torch.cat([weight.detach().flatten() for weight in run.model.parameters()])
    _, norm = run.update(*next(run.chunks())).tolist()
    after = torch.cat([weight.detach().flatten() for weight in run.model.parameters()])
    moved = (after - before).double().norm().item()
    assert norm > 0.05
    assert moved == pytest.approx(0.01 if clip == 0.01 else norm, rel=1e-4)


@pytest.mark.parametrize("ema", [0.0, 0.8])
def test_the_average_is_the_mean_of_all_weights_since_its_start_or_an_exponential_one(ema):
    config = TrainingConfig(batch_size=4, stride=3, bptt=1, ema=ema, averaging_interval=0 if ema else 1)
    run = training("rnn", config)
    wanted, visited = run.model.recurrent.weight.detach().clone(), []
    if not ema:
        run.position = replace(run.position, losses=(4.0, 5.0, 6.0))
        run.next_epoch()  # worse than the best before the last one
    for chunk, targets in run.chunks():
        run.update(chunk, targets)
        visited.append(run.model.recurrent.weight.detach().clone())
        wanted = ema * wanted + (1 - ema) * visited[-1] if ema else torch.stack(visited).mean(dim=0)
    assert len(visited) > 3
    torch.testing.assert_close(run.averages[run.model.recurrent.weight], wanted)
    run.next_epoch()
    assert run.averaged == len(visited)  # it does not start again


def test_compile_is_refused_where_it_cannot_be(tmp_path, monkeypatch):
    data = make_dataset(tmp_path)
    with pytest.raises(ModelError, match="--compile needs chunks of equal length"):
        pm.train("lstm", data, tmp_path / "a", settings=("random_strides=yes",), device="cpu", compile=True)

    def missing(*_):
        raise torch._dynamo.exc.TorchDynamoException("no g++")

    monkeypatch.setattr(torch, "compile", lambda *_, **__: missing)
    with pytest.raises(ModelError, match=r"cannot compile the model \(no g\+\+\); train without --compile"):
        pm.train("lstm", data, tmp_path / "b", settings=SETTINGS, device="cpu", compile=True)
