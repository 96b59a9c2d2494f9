"""Updates in one place of memory, as CUDA graphs replay them: the same numbers as without, and no waiting.

What only a GPU can show is in the tests that are skipped without one; the rest runs on tape, see `tape`.
"""

import gc
import inspect
import json
import math
import sys
from contextlib import contextmanager, nullcontext
from dataclasses import fields
from typing import Any, cast

import pytest
import torch
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves

import ps_models as pm
from ps_models.configs import make_configs, make_model
from ps_models.data.batching import to_rows
from ps_models.data.dataset import Text
from ps_models.devices import choose_device
from ps_models.errors import ModelError
from ps_models.evaluation.evaluate import token_nats
from ps_models.invariants import check_language_model
from ps_models.language_model import LanguageModel
from ps_models.layers.recurrence import lstm_steps
from ps_models.models import MODELS
from ps_models.models.lstm import LSTMLayer
from ps_models.training.checkpoint import LAST, read_checkpoint
from ps_models.training.config import TrainingConfig
from ps_models.training.cuda_graphs import (
    WARM_UP,
    CudaGraphs,
    RecordedScores,
    RecordedUpdates,
    choose_recorder,
)
from ps_models.training.distributed import ONE_PROCESS, World
from ps_models.training.logs import EPOCHS, UPDATES
from ps_models.training.loop import Pace, StoppedError
from ps_models.training.optimizers import load_optimizer, make_optimizer
from ps_models.training.update import Training
from tests.ps_models.tape import Tape
from tests.ps_models.tiny import SETTINGS, make_dataset

RECURRENT = ["zoneout_cell=0.2", "type_dropout=0.2", "recurrent_dropout=0.2"]
TRANSFORMER = ["layers=1", "heads=2", "inner_size=12", "window=4", "attention_dropout=0.2"]
SMALLER = {  # with all that is drawn at random
    "awd-lstm": ["layers=2", "embedding_size=4"],
    "lstm": ["layers=1", *RECURRENT],
    "pointer-sentinel-awd-lstm": ["layers=2", "embedding_size=4", "window=4"],
    "pointer-sentinel-lstm": ["layers=1", "window=4", *RECURRENT, "per_gate=yes"],
    "pointer-sentinel-transformer": [*TRANSFORMER, "pointer_window=4"],
    "rhn": ["depth=3"],
    "rnn": ["dropout=0.3"],
    "rnn-lda": ["topics=3", "document_lines=2", "lda_passes=3", "dropout=0.3"],
    "sum-product-network": ["context=3", "powers=3"],
    "transformer": TRANSFORMER,
}
CAPTURABLE = [name for name, (_, model) in MODELS.items() if getattr(model, "capturable", False)]
TINY = {name: SMALLER.get(name, []) for name in CAPTURABLE}
on_gpu = pytest.mark.skipif(not torch.cuda.is_available(), reason="no GPU here")


@pytest.fixture(scope="module")
def dataset(tmp_path_factory):
    return make_dataset(tmp_path_factory.mktemp("graphs"))


@pytest.fixture(autouse=True)
def products():
    """As they were: precisions are of the whole process."""
    yield
    torch.set_float32_matmul_precision("highest")
    torch.backends.cudnn.allow_tf32 = True


@pytest.fixture
def tape(monkeypatch):
    """What runs record with; their optimizers do what they do on a GPU."""
    monkeypatch.setattr("ps_models.training.optimizers._on_gpu", lambda _: True)
    for optimizer in ("adam", "asgd"):  # not by name: torch.optim hides its modules
        hidden = sys.modules[f"torch.optim.{optimizer}"]
        monkeypatch.setattr(hidden, "_get_capturable_supported_devices", lambda **_: ["cpu"])
    for module in ("torch.optim.optimizer", "torch.utils._foreach_utils"):
        monkeypatch.setattr(sys.modules[module], "_get_foreach_kernels_supported_devices", lambda: ["cpu"])
    return Tape()


@pytest.fixture
def assert_replays_change_nothing(dataset, tmp_path, monkeypatch, tape):
    """Train in the ordinary way and on tape, and compare."""

    def both(model, more, stops=()):
        ordinary, taped = tmp_path / "ordinary", tmp_path / "taped"
        pm.train(model, dataset, ordinary, settings=more, device="cpu")
        monkeypatch.setattr("ps_models.training_run.choose_recorder", lambda *_: tape)
        for stop in stops:
            with pytest.raises(StoppedError, match=f"after update {stop};"):
                pm.train(model, dataset, taped, settings=more, device="cpu", pace=Pace(max_updates=stop))
        pm.train(model, dataset, taped, settings=more, device="cpu")
        assert_same_run(ordinary, taped)
        assert tape.replays > 10

    return both


def settings(model, *more):
    shared = [setting for setting in SETTINGS if not setting.startswith("layers=")]
    return (*shared, *TINY[model], *more)


def losses(folder):
    records = map(json.loads, (folder / UPDATES).read_text().splitlines())
    return [(record["update"], record["loss"], record["gradient_norm"]) for record in records]


def epochs(folder):
    return [line.rsplit(",", 1)[0] for line in (folder / EPOCHS).read_text().splitlines()]


def assert_near_run(one, other, tolerance):
    """For numbers that differ from run to run on a GPU, see `TOLERANCE`."""
    pairs = [torch.tensor(losses(folder), dtype=torch.float64) for folder in (one, other)]
    torch.testing.assert_close(*pairs, rtol=tolerance, atol=tolerance)
    assert len(epochs(one)) == len(epochs(other))


def assert_same_run(one, other):
    assert losses(one) == losses(other)
    assert epochs(one) == epochs(other)
    for name in ("best.safetensors", LAST):
        assert read_checkpoint(one / name).digest == read_checkpoint(other / name).digest


# --- the same numbers as without


@pytest.mark.parametrize(
    "chunks",
    [
        ("stride=1", "bptt=6", "epochs=1"),
        ("stride=3", "bptt=6", "optimizer=adamw", "learning_rate=0.01"),
        ("stride=6", "bptt=6"),
        ("stride=6", "bptt=1"),
    ],
)
@pytest.mark.parametrize("model", TINY)
def test_replayed_updates_are_those_of_an_ordinary_run(assert_replays_change_nothing, model, chunks):
    assert_replays_change_nothing(model, settings(model, *chunks))


@pytest.mark.parametrize(
    "more",
    [
        ("random_strides=yes", "stride=5"),
        ("precision=bf16",),
        ("loss=token", "schedule=decay-after", "epochs=3"),
        ("optimizer=asgd", "averaging_interval=1", "epochs=5", "patience=0"),
    ],
)
def test_replayed_updates_are_those_of_an_ordinary_run_in_any_setting(assert_replays_change_nothing, more):
    assert_replays_change_nothing("pointer-sentinel-lstm", settings("pointer-sentinel-lstm", *more))


@pytest.mark.parametrize("model", TINY)
def test_replayed_updates_are_the_ordinary_ones_in_bfloat16(model):
    """Also of a weight that is used at every step: its gradient is summed in the type that it is cast to."""
    config = TrainingConfig(batch_size=4, stride=3, bptt=6, precision="bf16", learning_rate=0.3)
    ordinary, taped = (training(model, config, recorder=recorder) for recorder in (None, Tape()))
    assert an_epoch(ordinary) == an_epoch(taped)
    assert taped.recorded.replays > 10


@pytest.mark.parametrize("model", TINY)
def test_a_replayed_run_that_was_stopped_goes_on_to_the_same_result(assert_replays_change_nothing, model):
    more = settings(model, "optimizer=adamw", "learning_rate=0.01")
    assert_replays_change_nothing(model, more, stops=[2, 29, 57])


def test_a_number_that_is_nan_is_reported_late_but_never_saved(dataset, tmp_path, monkeypatch, tape):
    more = settings("lstm", "learning_rate=1e37", "clip=0", "stride=2")
    with pytest.raises(ModelError, match="the gradient is") as ordinary:
        pm.train("lstm", dataset, tmp_path / "ordinary", settings=more, device="cpu")
    monkeypatch.setattr("ps_models.training_run.choose_recorder", lambda *_: tape)
    for save_seconds in (0.0, 1000.0):
        out = tmp_path / f"{save_seconds}"
        with pytest.raises(ModelError, match="the gradient is") as replayed:
            pm.train("lstm", dataset, out, settings=more, device="cpu", pace=Pace(save_seconds=save_seconds))
        assert str(replayed.value) == str(ordinary.value)
        assert (out / LAST).exists() == (save_seconds == 0)
        if (out / LAST).exists():
            assert all(weight.isfinite().all() for weight in read_checkpoint(out / LAST).weights.values())


# --- recordings


def training(model, config, device="cpu", recorder=None, *, tokens=241, more=()):
    """A run in progress on random words; 241 tokens leave three of four rows shorter by one."""
    torch.manual_seed(1)
    words = [setting for setting in settings(model) if setting.split("=")[0] not in _training_names()]
    model_config, _ = make_configs(model, None, (*words, *more), 20)
    made = make_model(model, model_config).to(device).train()
    rows = to_rows(torch.randint(20, (tokens,)), config.batch_size)
    return Training(made, rows, config, device=torch.device(device), world=ONE_PROCESS, recorder=recorder)


def without_chance(model):
    """Settings that leave nothing to be drawn."""
    names = [field.name for field in fields(MODELS[model][0])]
    return tuple(f"{name}=0" for name in names if "dropout" in name or "zoneout" in name)


def an_epoch(run):
    torch.manual_seed(2)
    return run.read([(run.update(chunk, targets), targets) for chunk, targets in run.chunks()])


def _training_names():
    return TrainingConfig.__dataclass_fields__


@pytest.mark.parametrize(("stride", "replayed"), [(1, 61 - 5 - 3 - 1), (2, 31 - 3 - 3 - 1), (61, 0)])
def test_shapes_that_come_often_are_recorded_and_only_those(stride, replayed):
    """Not the first chunks, which look back less far, nor three to warm up, nor the last, of shorter rows."""
    config = TrainingConfig(batch_size=4, stride=stride, bptt=6)
    run = training("lstm", config, recorder=Tape())
    for epoch in range(5):
        before = run.recorded.replays
        updates = [(run.update(chunk, targets), targets) for chunk, targets in run.chunks()]
        run.read(updates)
        run.next_epoch()
        # Once it is known which shape is frequent, one ordinary update of it is enough in an epoch.
        assert run.recorded.replays - before == (replayed + 2 * (epoch > 0) if replayed else 0)


def test_another_learning_rate_is_not_replayed_with_the_one_before():
    config = TrainingConfig(batch_size=4, stride=2, bptt=6, learning_rate=0.1)
    runs = [training("lstm", config, recorder=recorder) for recorder in (None, Tape())]
    found = []
    for run in runs:
        torch.manual_seed(2)
        updates = []
        for number, (chunk, targets) in enumerate(run.chunks()):
            run.optimizer.param_groups[0]["lr"] = 0.1 if number < 15 else 0.7
            updates.append((run.update(chunk, targets), targets))
        found.append(run.read(updates))
    assert found[0] == found[1]
    assert runs[1].recorded.replays > 15


def test_a_failed_recording_gives_one_warning_and_training_continues():
    class Refusing(Tape):
        def record(self, work):
            raise RuntimeError("operation not permitted when stream is capturing\nand so on")

    config = TrainingConfig(batch_size=4, stride=2, bptt=6)
    runs = [training("lstm", config, recorder=recorder) for recorder in (None, Refusing())]
    ordinary = an_epoch(runs[0])
    with pytest.warns(UserWarning, match="graphs are off.*: operation not permitted") as warned:
        found = an_epoch(runs[1])
    assert len(warned) == 1
    assert found == ordinary
    assert runs[1].recorded.refused == "operation not permitted when stream is capturing"


def test_a_refusal_tells_the_first_reason_and_where_in_this_package_it_was():
    """Torch says last that an earlier error spoiled the recording."""
    config = TrainingConfig(batch_size=4, stride=2, bptt=6)

    class Refusing(Tape):
        def record(self, work):
            try:
                run.optimizer.step = self.wait
                work()
            except RuntimeError:
                raise RuntimeError("operation failed due to a previous error during capture")  # noqa: B904
            finally:
                del run.optimizer.step

        def wait(self):
            raise RuntimeError("operation not permitted")

    run = training("lstm", config, recorder=Refusing())
    where = r"operation not permitted \(training/update\.py:\d+\)$"
    with pytest.warns(UserWarning, match=rf"graphs are off.*: {where}"):
        an_epoch(run)


class Pools:
    """What torch.cuda 2.11 does with pools and streams, which only a GPU has.

    Its c10/cuda/CUDACachingAllocator.cpp, aten/src/ATen/cuda/CUDAGraph.cpp and torch/cuda/graphs.py: a pool
    that no graph uses any longer is an error; a recording that failed does not end or leave its stream.
    """

    def __init__(self, monkeypatch):
        self.users, self.underway, self.current = {}, [], "main"
        self.generator, pools = Generator(), iter(range(1, 100))
        for name, value in {
            "Stream": lambda _: "side",
            "graph_pool_handle": lambda: (0, next(pools)),
            "CUDAGraph": lambda: Graph(self),
            "graph": self.graph,
            "stream": self.stream,
            "default_generators": (self.generator,),
        }.items():
            monkeypatch.setattr(torch.cuda, name, value)
        monkeypatch.setattr(torch._C, "_cuda_endAllocateToPool", self.end, raising=False)
        self.recorder = CudaGraphs(torch.device("cuda", 0))

    @contextmanager
    def stream(self, stream):
        before, self.current = self.current, stream
        try:
            yield
        finally:
            self.current = before

    @contextmanager
    def graph(self, graph, pool, stream):
        assert not self.underway, "captures_underway.empty() INTERNAL ASSERT FAILED"
        assert self.users.get(pool) != 0, "use_count > 0 INTERNAL ASSERT FAILED"
        self.users[pool] = self.users.get(pool, 0) + 1
        self.underway.append(pool)
        before, self.current = self.current, stream
        try:
            yield
        except RuntimeError:
            raise RuntimeError("operation failed due to a previous error during capture")  # noqa: B904
        self.current, graph.pool = before, pool
        self.end(0, pool)

    def end(self, device, pool):
        assert device == 0
        if pool not in self.underway:
            raise RuntimeError("endAllocatePool: not currently recording to mempool_id")
        self.underway.remove(pool)


class Generator:
    """Of random numbers, of which only the state is asked."""

    def __init__(self):
        self.restored = []

    def clone_state(self):
        return "as it was"

    def graphsafe_set_state(self, state):
        self.restored.append(state)


class Graph:
    """One that is counted."""

    def __init__(self, pools):
        self.pools, self.pool = pools, None

    def replay(self):
        pass

    def __del__(self):
        if self.pool is not None:
            self.pools.users[self.pool] -= 1


def test_work_is_recorded_again_after_all_that_was_recorded_is_forgotten(monkeypatch):
    pools = Pools(monkeypatch)
    for _ in range(3):  # epochs
        recorded = [pools.recorder.record(list) for _ in range(2)]
        assert len(pools.users) == 1
        del recorded
        assert list(pools.users.values()) == [1]


def test_a_failed_recording_does_not_hinder_the_next_one(monkeypatch):
    pools = Pools(monkeypatch)

    def waits():
        assert pools.current == "side"
        raise RuntimeError("operation not permitted")

    for _ in range(2):
        pools.recorder.record(list)
        with pytest.raises(RuntimeError, match="previous error"):
            pools.recorder.record(waits)
        assert pools.current == "main"
    pools.recorder.record(list)
    assert pools.generator.restored == ["as it was"] * 2


def test_no_garbage_is_collected_while_work_is_recorded(monkeypatch):
    """It may hold a graph, and to destroy one spoils the recording."""
    pools, seen = Pools(monkeypatch), []
    pools.recorder.record(lambda: seen.append(gc.isenabled()))
    assert seen == [False]
    assert gc.isenabled()


def test_numbers_of_an_update_stay_when_the_next_one_is_replayed():
    state = (torch.zeros(4),)
    updates = RecordedUpdates(
        lambda chunk, state, _: (chunk.tokens[0, :2].double(), (state[0] + 1,)), state, Tape()
    )
    rows = to_rows(torch.arange(400), 4)
    numbers = [updates(chunk, 8, ()) for chunk in rows.chunks(ends=range(2, 101, 2), lookback=0)]
    assert [pair.tolist() for pair in numbers] == [[2 * n, 2 * n + 1] for n in range(50)]
    assert updates.state[0].tolist() == [50.0] * 4
    assert state[0].tolist() == [0.0] * 4


def test_replayed_scores_are_the_models_and_obey_its_laws():
    torch.manual_seed(1)
    config, _ = make_configs("pointer-sentinel-lstm", None, ("hidden_size=8", "window=5"), 20)
    model = cast("LanguageModel[Any]", make_model("pointer-sentinel-lstm", config).eval())
    recorded = RecordedScores(model, Tape())
    text = Text(torch.randint(20, (203,)), bytes=1)
    wanted, found = (next(iter(token_nats(scores, [text], chunk=10)))[1] for scores in (model, recorded))
    assert torch.equal(wanted, found)
    assert recorded.replays == 20 - WARM_UP
    check_language_model(recorded, vocab_size=20)
    assert recorded.replays > 20


def test_graphs_are_chosen_only_where_they_are_wanted_and_can_be(monkeypatch):
    lstm, adaptive = (make_model("lstm", make_configs("lstm", None, more, 20)[0]) for more in ((), CUT))
    cpu, gpu = torch.device("cpu"), torch.device("cuda")
    assert choose_recorder(False, lstm, cpu, ONE_PROCESS) is None
    assert choose_recorder(False, lstm, gpu, ONE_PROCESS) is None
    assert inspect.signature(pm.train).parameters["cuda_graphs"].default is False
    monkeypatch.setattr("ps_models.training.cuda_graphs.CudaGraphs", lambda device: f"graphs on {device}")
    chosen: object = choose_recorder(True, lstm, gpu, ONE_PROCESS)
    assert chosen == "graphs on cuda"
    for model, size in ((lstm, 2), (adaptive, 1), (torch.nn.Linear(1, 1), 1)):
        with pytest.raises(ModelError, match="train without --cuda-graphs"):
            choose_recorder(True, model, gpu, World(size=size))
    with pytest.raises(ModelError, match="a GPU, not the device cpu; train without --cuda-graphs"):
        choose_recorder(True, lstm, cpu, ONE_PROCESS)
    with pytest.raises(ModelError, match=r"one process, not 2 and a model.*LSTM does not claim"):
        choose_recorder(True, adaptive, gpu, World(size=2))


# --- nothing waits, nothing is on another device

CUT = ("cutoffs=5,10",)


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
        given, made = ({tensor.device.type for tensor in _tensors(part)} for part in ((args, kwargs), result))
        if given != {"cpu"} and "cpu" in given | made:
            self.elsewhere.append(func.overloadpacket.__name__)
        return result


def _tensors(tree):
    return [leaf for leaf in tree_leaves(tree) if isinstance(leaf, torch.Tensor)]


@pytest.fixture
def no_autocast_of_meta(monkeypatch):
    """Torch knows of none, not even that it is off."""
    autocast, enabled = torch.autocast, torch.is_autocast_enabled
    monkeypatch.setattr(
        torch, "autocast", lambda kind, *a, **k: nullcontext() if kind == "meta" else autocast(kind, *a, **k)
    )
    monkeypatch.setattr(torch, "is_autocast_enabled", lambda kind: kind != "meta" and enabled(kind))


@pytest.mark.usefixtures("no_autocast_of_meta")
@pytest.mark.parametrize("model", TINY)
def test_an_update_neither_waits_for_its_device_nor_makes_a_tensor_elsewhere(model):
    config = TrainingConfig(batch_size=4, stride=3, bptt=6, weight_decay=0.01)
    run, watched = training(model, config, device="meta", tokens=60), Watched()
    for watching in (nullcontext(), watched):  # without, too: torch avoids to wait where it is watched
        with watching:
            for chunk, targets in run.chunks():
                run.update(chunk, targets)
            run.next_epoch()
    assert run.model.capturable
    assert watched.elsewhere == []


def test_a_model_that_looks_at_its_words_waits_and_says_so(dataset, tmp_path, monkeypatch, tape):
    """The character-aware CNN asks which words are there, to make each one's letters once."""
    monkeypatch.setattr("ps_models.training_run.choose_recorder", lambda *_: tape)
    more = ("widths=1,3", "features=4,6", "word_length=7")
    with pytest.warns(UserWarning, match="graphs are off, updates are launched kernel by kernel: .*unique"):
        pm.train("char-cnn", dataset, tmp_path / "out", settings=(*SETTINGS, *more), device="cpu")
    assert not getattr(MODELS["char-cnn"][1], "capturable", False)
    assert set(SMALLER) <= set(CAPTURABLE)


@pytest.mark.usefixtures("no_autocast_of_meta")
@pytest.mark.parametrize("more", [CUT, ("sampled=5",)])
def test_a_softmax_of_a_size_that_depends_on_words_waits_for_its_device_and_says_so(more):
    run = training("lstm", TrainingConfig(batch_size=4), device="meta", more=more)
    chunk, targets = next(run.chunks())
    assert not run.model.capturable
    with pytest.raises((NotImplementedError, RuntimeError), match="meta"):
        run.update(chunk, targets)


def test_an_optimizer_keeps_where_it_counts_steps_whatever_was_saved():
    """A run from a CPU can be resumed on a GPU, where steps are tensors on the device."""
    weight = torch.nn.Linear(2, 2)
    weight(torch.ones(1, 2)).sum().backward()
    optimizer = make_optimizer(weight, TrainingConfig(optimizer="adamw"))
    optimizer.step()
    saved = optimizer.state_dict()
    saved["param_groups"][0]["capturable"] = True
    load_optimizer(optimizer, saved)
    assert optimizer.param_groups[0]["capturable"] is False
    assert optimizer.state_dict()["state"][0]["step"] == 1


@pytest.mark.parametrize(("precision", "wanted"), [("fp32", False), ("bf16", False), ("tf32", True)])
def test_products_are_rounded_to_tf32_only_where_it_is_asked_for(precision, wanted):
    training("lstm", TrainingConfig(batch_size=4, precision=precision))
    assert torch.backends.cudnn.allow_tf32 == wanted
    assert torch.get_float32_matmul_precision() == ("high" if wanted else "highest")


@pytest.mark.parametrize("device", ["cpu", pytest.param("cuda", marks=on_gpu)])
def test_a_layer_by_torch_is_near_the_same_in_bfloat16(device):
    torch.manual_seed(1)
    layer = LSTMLayer(8, 8).to(device)
    for parameter in layer.parameters():
        torch.nn.init.uniform_(parameter, -0.3, 0.3)
    inputs, start = torch.randn(6, 2, 8, device=device), tuple(torch.zeros(2, 2, 8, device=device))
    exact, _ = layer.by_torch(inputs, start, 3)
    with torch.autocast(device, torch.bfloat16):
        near, (h, c) = layer.by_torch(inputs, start, 3)
    assert near.dtype == h.dtype == c.dtype == torch.float32
    torch.testing.assert_close(near, exact, rtol=0.05, atol=0.02)


def test_a_run_stops_after_its_time_and_goes_on(dataset, tmp_path):
    more = settings("lstm")
    pm.train("lstm", dataset, tmp_path / "whole", settings=more, device="cpu")
    with pytest.raises(StoppedError, match="after update 1;"):
        pm.train("lstm", dataset, tmp_path / "parts", settings=more, device="cpu", pace=Pace(max_seconds=0))
    pm.train(
        "lstm",
        dataset,
        tmp_path / "parts",
        settings=more,
        device="cpu",
        pace=Pace(max_seconds=999),
    )
    assert_same_run(tmp_path / "whole", tmp_path / "parts")


# --- on a GPU

# Two runs of these differ in the last bits whatever we do; all else is the same to the last bit, as long as
# the tests hold what they say. cuDNN's LSTM: pytorch.org/docs/2.12/cudnn_rnn_determinism.html. Attention:
# its gradient may be summed in no fixed order, says torch's alert "Memory Efficient attention defaults to a
# non-deterministic algorithm". Noise of 1e-6 in each gradient changed the losses of two epochs on a CPU by
# 1e-4 at most (the Transformer's; 2e-6 in the others).
TOLERANCE = {"awd-lstm": 1e-3, "transformer": 1e-3}
BY_CUDNN = ("zoneout=0", "zoneout_cell=0", "recurrent_dropout=0")
refused_is_an_error = pytest.mark.filterwarnings("error:CUDA graphs are off")


def compare_runs(one, other, model, chosen=()):
    tolerance = 1e-3 if set(BY_CUDNN) <= set(chosen) else TOLERANCE.get(model)
    if tolerance is None:
        assert_same_run(one, other)
    else:
        assert_near_run(one, other, 0.03 if "precision=bf16" in chosen else tolerance)


@on_gpu
@refused_is_an_error
@pytest.mark.parametrize(
    ("model", "chosen"),
    [
        *((model, ("stride=1", "bptt=6", "epochs=1")) for model in TINY),
        *((model, ("stride=6", "bptt=6")) for model in TINY),
        *((model, ("stride=6", "bptt=1")) for model in TINY),
        ("pointer-sentinel-lstm", ("optimizer=adamw", "learning_rate=0.01")),
        ("pointer-sentinel-lstm", ("optimizer=asgd", "averaging_interval=1", "epochs=4", "patience=0")),
        ("pointer-sentinel-lstm", ("precision=tf32",)),
        ("pointer-sentinel-lstm", ("precision=bf16",)),
        ("rnn", ("precision=bf16",)),
        ("lstm", BY_CUDNN),
        ("lstm", (*BY_CUDNN, "precision=bf16")),
    ],
)
def test_graphs_give_the_numbers_of_kernels_one_by_one(dataset, tmp_path, model, chosen):
    more = settings(model, *chosen)
    for graphs in (False, True):
        out = tmp_path / str(graphs)
        pm.train(model, dataset, out, settings=more, device="cuda", cuda_graphs=graphs)
    compare_runs(tmp_path / "False", tmp_path / "True", model, chosen)


@on_gpu
@refused_is_an_error
@pytest.mark.parametrize("stop", [2, 29, 57])
@pytest.mark.parametrize("model", TINY)
def test_a_run_on_a_gpu_that_was_stopped_goes_on_to_the_same_result(dataset, tmp_path, model, stop):
    more = settings(model, "optimizer=adamw", "learning_rate=0.01")
    pm.train(model, dataset, tmp_path / "whole", settings=more, device="cuda")
    with pytest.raises(StoppedError):
        pm.train(
            model, dataset, tmp_path / "parts", settings=more, device="cuda", pace=Pace(max_updates=stop)
        )
    pm.train(model, dataset, tmp_path / "parts", settings=more, device="cuda")
    compare_runs(tmp_path / "whole", tmp_path / "parts", model)


@on_gpu
@pytest.mark.parametrize("model", TINY)
def test_a_gpu_replays_graphs_and_learns_as_a_cpu_does(model):
    """Without dropout, whose random numbers differ."""
    config = TrainingConfig(batch_size=4, stride=3, bptt=6, learning_rate=0.3)
    found = []
    for device, recorder in (("cpu", None), ("cuda", CudaGraphs(choose_device("cuda")))):
        run = training(model, config, device=device, recorder=recorder, more=without_chance(model))
        found.append(an_epoch(run))
    assert run.recorded is not None
    assert run.recorded.refused is None
    assert run.recorded.replays > 10
    torch.testing.assert_close(torch.tensor(found[0]), torch.tensor(found[1]), rtol=1e-3, atol=1e-3)


def steps(device, per_gate):
    """Values and gradients of the recurrence, with zones and masks, drawn on the CPU."""
    generator = torch.Generator().manual_seed(1)

    def draw(*shape):
        return torch.randn(shape, generator=generator, dtype=torch.float64).to(device)

    given = [draw(5, 2, 12), draw(2, 3), draw(2, 3), draw(12, 3)]
    for tensor in given:
        tensor.requires_grad_()
    zone_h, zone_c = (draw(5, 2, 3).gt(0).double() for _ in range(2))
    mask = draw(*((4,) if per_gate else ()), 2, 3).gt(0).double()
    values = lstm_steps(given[0].clone(), *given[1:], zone_h=zone_h, zone_c=zone_c, mask=mask)
    total = sum((value * draw(*value.shape)).sum() for value in values)
    return [tensor.cpu() for tensor in (*values, *torch.autograd.grad(total, given))]


@on_gpu
@pytest.mark.parametrize("per_gate", [False, True])
def test_the_recurrence_on_a_gpu_is_that_of_a_cpu(per_gate):
    for one, other in zip(steps("cpu", per_gate), steps("cuda", per_gate), strict=True):
        torch.testing.assert_close(one, other, rtol=1e-10, atol=1e-10)


@on_gpu
def test_a_refused_graph_leaves_random_numbers_as_they_were():
    device = choose_device("cuda")
    recorder = CudaGraphs(device)
    torch.manual_seed(1)
    wanted = torch.rand(3, device=device)
    torch.manual_seed(1)

    def waits():
        assert not math.isnan(torch.rand(3, device=device).sum().item())

    with pytest.raises(RuntimeError):
        recorder.record(waits)
    assert torch.equal(torch.rand(3, device=device), wanted)


@on_gpu
def test_a_gpu_records_after_it_refused_and_after_all_was_forgotten():
    """What `Pools` says of torch, on a GPU."""
    device = choose_device("cuda")
    recorder, number = CudaGraphs(device), torch.zeros(1, device=device)
    before = torch.cuda.current_stream(device)
    for _ in range(3):
        with pytest.raises(RuntimeError):
            recorder.record(lambda: number.sum().item())
        assert torch.cuda.current_stream(device) == before
        for _ in range(2):
            recorder.record(lambda: number.add_(1))()
    torch.cuda.empty_cache()
    assert number.item() == 6
