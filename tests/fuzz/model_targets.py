"""Targets: checkpoints, logs, records, n-gram files, and answers of models of other programs."""

from __future__ import annotations

import copy
import io
import json
import math
import subprocess
import tempfile
from collections.abc import Iterator, Mapping
from dataclasses import asdict
from functools import cache, partial
from pathlib import Path
from typing import Any, Final
from urllib.parse import urlsplit

import requests
import torch
from lm_benchmarks.adapters.command import _end, _Process
from lm_benchmarks.adapters.completions import Endpoint
from lm_benchmarks.adapters.ngrams import ArpaFile
from lm_benchmarks.conventions import Window
from lm_benchmarks.records import from_json, read_curve, read_results, to_line
from lm_benchmarks.reporting.report import make_report, report_text
from requests.adapters import HTTPAdapter
from safetensors.torch import save_file
from torch import Tensor
from urllib3 import HTTPResponse

import ps_models
from ps_models.configs import config_of, make_model
from ps_models.dataset import to_rows
from ps_models.devices import ONE_PROCESS
from ps_models.hyperparameters import TrainingConfig
from ps_models.models.lstm import LSTMConfig
from ps_models.training import checkpoint as checkpoints
from ps_models.training.checkpoint import Checkpoint, read_checkpoint, save_checkpoint
from ps_models.training.logs import EPOCHS
from ps_models.training.loop import _restored
from ps_models.training.update import Training
from tests.fuzz.target import HERE, Target, target, text_of, written
from tests.lm_benchmarks.results import RESULT
from wikitext_builder.dataset.vocabulary import Vocabulary
from wikitext_builder.errors import ToolkitError

WORDS: Final = Vocabulary(("<unk>", "<eos>", "the"))
CONFIG: Final = asdict(LSTMConfig(vocab_size=3, hidden_size=2, layers=1))
HOSTILE: Final[tuple[object, ...]] = (
    *(None, -1, 10**25, 1e308, math.nan, "x", [], {}, [[1]], True),
    torch.zeros(3),
    b"x",
)


def _results(content: bytes) -> str:
    results = read_results(written("results.jsonl", content))
    for result in results:
        assert from_json(to_line(result)) == result
    return f"{results}"


def _curve(content: bytes) -> str:
    return f"{read_curve(written(f'run/{EPOCHS}', content).parent)}"


def _log(content: bytes) -> str:
    """The log of a run in a report, as `report --log` takes it."""
    report = make_report("t", [], logs=[written(f"log/{EPOCHS}", content).parent])
    return report_text(report, ".csv") + report_text(report, ".html")


def _arpa(content: bytes) -> str:
    model = ArpaFile(written("a.arpa", content))
    return f"{model.order} {'the' in model and model.log10(('<s>', 'the'), 'the')}"


def _checkpoint(content: bytes) -> str:
    found = read_checkpoint(written("a.safetensors", content), training=True)
    return f"{found.model} {found.config} {found.vocabulary.tokens} {found.digest} {found.training}"


def _config(content: bytes) -> str:
    """A checkpoint whose hashes are right, with a configuration, facts and words of a stranger."""
    model, config, facts, words = (content.split(b"\n", 3) + [b""] * 3)[:4]
    path = _sealed(text_of(model), text_of(config), text_of(facts), words)
    return f"{ps_models.load(path, device='cpu').model}"


def _training(content: bytes) -> str:
    """The training part of a checkpoint: JSON, or a whole one with a value replaced."""
    kind, part = content[:1], content[1:]
    tensors: dict[str, Tensor] = {}
    as_json = checkpoints._without_tensors(_snapshot(), checkpoints.TRAINING, tensors)
    if kind != b"\1":
        snapshot = copy.deepcopy(_snapshot())
        places = [*_places(snapshot)]
        holder, key = places[int.from_bytes(content[1:2], "big") % len(places)]
        holder[key] = HOSTILE[int.from_bytes(content[2:3], "big") % len(HOSTILE)]
        as_json = checkpoints._without_tensors(snapshot, checkpoints.TRAINING, tensors)
    text = text_of(part) if kind == b"\1" else json.dumps(as_json, default=str)
    path = _sealed("lstm", json.dumps(CONFIG), "{}", b"<unk>\n<eos>\nthe", text, tensors)
    found = read_checkpoint(path, training=True).training
    assert found is not None
    return f"{_restored(_tiny(), found)}"


def _sealed(
    model: str,
    config: str,
    facts: str,
    words: bytes,
    training: str = "",
    more: Mapping[str, Tensor] | None = None,
) -> Path:
    """A checkpoint with the hashes of what it holds."""
    weights = checkpoints.weights_of(_tiny().model)
    tensors = {checkpoints.WEIGHTS + name: tensor for name, tensor in weights.items()}
    tensors |= {"vocabulary": checkpoints._bytes_tensor(words or b"<unk>"), **(more or {})}
    header = {"format": checkpoints.FORMAT, "model": model, "config": config, "facts": facts}
    header |= {checkpoints.TRAINING: training} if training else {}
    header["digest"] = checkpoints.tensors_digest(weights)
    header["check"] = checkpoints._header_digest(header, tensors)
    path = HERE / "sealed.safetensors"
    save_file(tensors, path, header)
    return path


@cache
def _start() -> dict[str, Any]:
    torch.manual_seed(1)
    return make_model("lstm", config_of("lstm", CONFIG)).state_dict()


def _tiny() -> Training:
    """The smallest run, at its start."""
    model = make_model("lstm", config_of("lstm", CONFIG))
    model.load_state_dict(_start())
    rows = to_rows(torch.zeros(40, dtype=torch.int64), 2)
    return Training(
        *(model, rows, TrainingConfig(batch_size=2, epochs=1)),
        vocab_size=CONFIG["vocab_size"],
        device=torch.device("cpu"),
        world=ONE_PROCESS,
    )


@cache
def _snapshot() -> dict[str, Any]:
    return {**_tiny().snapshot(), "logs": {"updates.jsonl": 0, EPOCHS: 0}}


def _places(value: Any) -> Iterator[tuple[Any, Any]]:
    """Each place of a nested value: what holds it, and its key there."""
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, inner in [*items]:
        yield value, key
        yield from _places(inner)


def _whole() -> bytes:
    path = HERE / "seed.safetensors"
    weights, training = checkpoints.weights_of(_tiny().model), {"position": {"update": 1}}
    save_checkpoint(
        path, Checkpoint(model="lstm", config=CONFIG, weights=weights, vocabulary=WORDS, training=training)
    )
    return path.read_bytes()


class _Answering(Endpoint):
    """An endpoint whose server gives the bytes of an input."""

    def __init__(self, content: bytes) -> None:
        self.url, self.served, self._patience = "http://localhost", "a", 1.0
        self._address, self._session = urlsplit(self.url), requests.Session()
        self._session.mount("http://", _Server(content))


class _Server(HTTPAdapter):
    """Answers each request with the same bytes."""

    def __init__(self, content: bytes) -> None:
        super().__init__()
        self._content = content

    def send(self, *_: object, **__: object) -> requests.Response:
        """The answer."""
        reply = requests.Response()
        reply.status_code = 200
        reply.raw = HTTPResponse(io.BytesIO(self._content), preload_content=False)
        return reply


def _completions(content: bytes) -> str:
    scores = _Answering(content)._scored(Window(inputs=(5, 6), targets=(7,)))
    assert scores.shape == (1,)
    assert scores.isfinite().all()
    return f"{scores.tolist()}"


def _models(content: bytes) -> str:
    return f"{_Answering(content)._models()}"


def _command(content: bytes) -> str:
    """What a program prints: a line on stdout for three tokens, then lines on stderr."""
    line, _, complaints = content.partition(b"\n")
    process = _Process.__new__(_Process)
    process._name, process._patience, process._rest = "a", 1.0, line + b"\n"
    process._process = subprocess.Popen(["true"], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    with tempfile.TemporaryFile() as file:
        file.write(complaints)
        process._stderr = file
        try:
            numbers = process.numbers(3)
        finally:
            _end(process._process)
    assert len(numbers) == 3
    assert all(map(math.isfinite, numbers))
    return f"{numbers}"


SEED: Final = b"\n".join([b"lstm", json.dumps(CONFIG).encode(), b"{}", b"<unk>\n<eos>\nthe"])
# Any value of it is replaced by ours.
OPTION: Final = [key for _, key in _places(_snapshot())].index("maximize")
STATE: Final = json.dumps(checkpoints._without_tensors(_snapshot(), checkpoints.TRAINING, {})).encode()
_target: Final = partial(target, refuses=(ToolkitError,))
TARGETS: Final[dict[str, Target]] = {
    "results": _target("results", _results, f"{to_line(RESULT)}\n".encode()),
    "curve": _target("curve", _curve),
    "log": _target("curve", _log),
    "arpa": _target("arpa", _arpa),
    "checkpoint": _target("checkpoint", _checkpoint, _whole()),
    "config": _target("config", _config, SEED),
    "training": _target(
        "training", _training, b"\1" + STATE, *(bytes((2, OPTION, n)) for n in range(2)), longest=1 << 15
    ),
    "completions": _target("completions", _completions),
    "models": _target("models", _models),
    "command": _target("command", _command, words=(b"\xff",)),
}
