"""The suffix of an array's name is its shape: within a function each letter stands for one size.

When a function of a layer or a model returns, jaxtyping compares the shapes of its arrays with their names,
also of sizes such as H, and of fields and buffers of the module's own classes.
"""

import ast
import re
import sys
from contextlib import contextmanager
from functools import cache
from pathlib import Path

import numpy as np
import pytest
import torch

import ps_models
from ps_models.dataset import Text
from ps_models.layers.recurrence import lstm_steps
from ps_models.models.add_ons import cache_grid, tuned_neural_cache
from ps_models.models.baselines import NGram, NGramConfig
from ps_models.models.interpolation import UnigramCache, UnigramCacheConfig, interpolate, tuned_cache
from ps_models.models.lstm import LSTMLayer
from tests.ps_models.test_invariants import ADD_ONS, TRAINABLE, V, rnn_lda

jaxtyping = pytest.importorskip("jaxtyping", reason="needs the package jaxtyping, of the extra `test`")

FOLDERS = [Path(ps_models.__file__).parent / name for name in ("layers", "models")]
SUFFIXED = re.compile(r"[a-z]\w*_[A-Z][A-Z0-9]*")


@cache
def shape_of(name, kind):
    """A jaxtyping of arrays with the shape that a name ends in: `_BT1` is (B, T, 1)."""
    return jaxtyping.Shaped[kind, " ".join(name.rpartition("_")[2])]


def arrays(variables, module):
    """Arrays whose names have a suffix, also within objects of the module; for a size H an array (H,)."""
    for name, value in variables.items():
        if isinstance(value, torch.Tensor | np.ndarray) and SUFFIXED.fullmatch(name):
            yield name, value
        elif isinstance(value, int) and re.fullmatch("[A-Z]", name):
            yield f"size_{name}", np.broadcast_to(np.int8(0), value)
        elif type(value).__module__ == module and hasattr(value, "_fields"):
            yield from arrays(value._asdict(), module)
        elif type(value).__module__ == module and isinstance(value, torch.nn.Module):
            yield from arrays(dict(value.named_buffers(recurse=False)), module)


@contextmanager
def shapes_checked():
    """Yields the names that were checked, and those whose arrays have another shape."""
    names, faults, seen = set[tuple[str, str]](), set[str](), set[object]()

    def check(frame, event, _):
        path = Path(frame.f_code.co_filename)
        if event != "return" or path.parent not in FOLDERS:
            return
        named = dict(arrays(frame.f_locals, frame.f_globals["__name__"]))
        shapes = {name: tuple(array.shape) for name, array in named.items()}
        if (case := (frame.f_code, *shapes.items())) in seen:
            return
        seen.add(case)
        names.update((path.name, name) for name in named)
        with jaxtyping.jaxtyped("context"):
            for name, array in named.items():
                kind = torch.Tensor if isinstance(array, torch.Tensor) else np.ndarray
                if not isinstance(array, shape_of(name, kind)):
                    faults.add(f"{path.name}: {frame.f_code.co_qualname}: {name} of {shapes}")

    sys.setprofile(check)
    try:
        yield names, faults
    finally:
        sys.setprofile(None)


def run_in_evaluation(model):
    _, state = model(torch.randint(V, (2, 9)), model.initial_state(2))
    if hasattr(model, "next_log_probs"):
        model.next_log_probs(state)


def run_models_that_train():
    tokens = torch.randint(V, (2, 9))
    for model in (make() for make in TRAINABLE.values()):
        for scored, advance in ((9, 9), (4, 3)):
            model.loss(tokens, model.initial_state(2), scored, advance)[0].sum().backward()
        run_in_evaluation(model.eval())
        if hasattr(model, "inspect"):
            model.inspect(tokens, model.initial_state(2))
    rnn_lda().prepare(torch.randint(V, (200,)), range(V), seed=1)


def run_add_ons_and_mixtures():
    stream = torch.randint(V, (200,))
    texts, lstm = [Text(stream, 999)], TRAINABLE["lstm"]().eval()
    ngram = NGram.of_text(NGramConfig(vocab_size=V, order=3), stream)
    mixture, cached = interpolate([ngram, lstm], texts), UnigramCache(lstm, UnigramCacheConfig(window=7))
    for model in (ngram, mixture, cached, *(make() for make in ADD_ONS.values())):
        run_in_evaluation(model)
    tuned_cache(ngram, texts, [UnigramCacheConfig(window=7), UnigramCacheConfig(window=5)])
    tuned_neural_cache(lstm, texts, grid=cache_grid([5, 7]))


def run_other_arithmetic_and_gradients():
    start = torch.randn(3, 4, requires_grad=True), torch.randn(3, 4, requires_grad=True)
    LSTMLayer(5, 4).by_torch(torch.randn(6, 3, 5), start, 2)
    steps = lstm_steps(torch.randn(6, 3, 16), *start, torch.randn(16, 4))
    torch.cat(steps).sum().backward()
    lstm, tokens = TRAINABLE["lstm-tied"](), torch.randint(V, (2, 9))
    with torch.autocast("cpu", torch.bfloat16):
        lstm.loss(tokens, lstm.initial_state(2))[0].sum().backward()


def test_names_in_layers_and_models_end_in_the_shapes_of_their_arrays():
    with shapes_checked() as (checked, faults):
        run_models_that_train()
        run_add_ons_and_mixtures()
        run_other_arithmetic_and_gradients()
    assert not faults, "\n".join(sorted(faults))
    nodes = [
        (path.name, getattr(node, "id", None) or getattr(node, "arg", None))
        for path in (path for folder in FOLDERS for path in folder.glob("*.py"))
        for node in ast.walk(ast.parse(path.read_text()))
    ]
    names = {(path, name) for path, name in nodes if isinstance(name, str) and SUFFIXED.fullmatch(name)}
    assert names - checked == set()
