"""Models of `transformers` that read long windows, or have none: memory is bounded, scores are the same."""

import importlib.util
import json
import shutil
from typing import Any

import lm_benchmarks as lb
import pytest
import torch
from lm_benchmarks.adapters import transformers as adapter
from lm_benchmarks.adapters.piece_model import MAX_DEFAULT_WINDOW, WINDOW_WITHOUT_LIMIT
from lm_benchmarks.adapters.transformers import load_causal_model
from lm_benchmarks.choices import HarnessError
from lm_benchmarks.conventions import Window
from lm_benchmarks.measuring.checks import INVARIANTS

from tests.lm_benchmarks.tiny_llama import write_folder

transformers: Any = pytest.importorskip("transformers", reason="needs the package transformers")

LONG = 131_072  # of Llama 3.1


@pytest.fixture(scope="module")
def long_llama(tmp_path_factory):
    folder = write_folder(tmp_path_factory.mktemp("long"), adds_bos=True)
    config = json.loads((folder / "config.json").read_text())
    (folder / "config.json").write_text(json.dumps({**config, "max_position_embeddings": LONG}))
    return folder


@pytest.fixture(scope="module")
def mamba(tmp_path_factory, long_llama):
    """A recurrent model: its configuration has no window."""
    folder = tmp_path_factory.mktemp("mamba")
    tokenizer = transformers.AutoTokenizer.from_pretrained(long_llama)
    tokenizer.save_pretrained(folder)
    torch.manual_seed(3)
    sizes = {"hidden_size": 16, "num_hidden_layers": 1, "state_size": 4, "vocab_size": len(tokenizer)}
    config = transformers.MambaConfig(**sizes, bos_token_id=0, eos_token_id=1, initializer_range=0.5)
    transformers.MambaForCausalLM(config).save_pretrained(folder)
    return folder


@pytest.fixture(scope="module")
def raw(tmp_path_factory, data):
    """The dataset with a raw file."""
    folder = shutil.copytree(data, tmp_path_factory.mktemp("raw") / "tiny")
    shutil.copy(folder / "wiki.test.tokens", folder / "wiki.test.raw")
    return folder


def test_a_window_that_nobody_chose_is_not_the_whole_of_a_long_context(long_llama, data):
    (found,) = lb.measure(f"transformers:{long_llama}", data, check=False)
    assert (found.signature["window"], found.signature["stride"]) == (
        str(MAX_DEFAULT_WINDOW),
        str(MAX_DEFAULT_WINDOW // 2),
    )
    (chosen,) = lb.measure(f"transformers:{long_llama}", data, check=False, window=8192)
    assert chosen.signature["window"] == "8192"
    with pytest.raises(HarnessError, match=f"window 131073; expected 1 to {LONG}, what the model can read"):
        lb.measure(f"transformers:{long_llama}", data, window=LONG + 1)


def test_the_window_of_lm_eval_is_all_that_a_model_can_read(long_llama, llama, mamba, raw):
    for folder, window in ((long_llama, LONG), (llama, 512), (mamba, WINDOW_WITHOUT_LIMIT)):
        (found,) = lb.measure(f"transformers:{folder}", raw, convention="lm-eval", check=False)
        assert (found.signature["window"], found.signature.get("stride")) == (str(window), None)


def test_a_model_without_a_window_keeps_the_laws(mamba, data):
    (found,) = lb.measure(f"transformers:{mamba}", data)
    assert found.checks == dict.fromkeys(INVARIANTS, "")
    assert found.signature["window"] == str(WINDOW_WITHOUT_LIMIT)


@pytest.mark.parametrize("most", [1, 7, 40])
def test_a_window_with_many_targets_is_read_in_parts_and_scores_the_same(
    long_llama, inputs, monkeypatch, most
):
    model = load_causal_model(str(long_llama), inputs.vocabulary)
    pieces = torch.randint(len(model._tokenizer), (101,), generator=torch.Generator().manual_seed(1)).tolist()
    windows = [Window(pieces[:100], pieces[1:]), Window(pieces[:60], pieces[31:61]), Window(pieces[:3], [])]
    sizes: list[int] = []
    expected = list(model.target_log_probs(windows))
    model._module.lm_head.register_forward_hook(lambda *_: sizes.append(_[2].shape[0] * _[2].shape[1]))
    monkeypatch.setattr(adapter, "MAX_CALL_PIECES", 100)  # one window per call
    monkeypatch.setattr(adapter, "MAX_KEPT_LOGITS", most * len(model._tokenizer))
    found = list(model.target_log_probs(windows))
    assert max(sizes) <= most
    assert sum(sizes) >= 129
    for one, other in zip(found, expected, strict=True):
        torch.testing.assert_close(one, other, rtol=0, atol=1e-5)


def test_only_logits_that_are_scored_are_computed(long_llama, inputs):
    model = load_causal_model(str(long_llama), inputs.vocabulary)
    sizes: list[int] = []
    model._module.lm_head.register_forward_hook(lambda *_: sizes.append(_[2].shape[1]))
    list(model.target_log_probs([Window([0, 5, 6, 7], [8]), Window([0, 9, 9], [4, 4])]))
    model.next_log_probs_of([0, 5, 6, 7])
    assert sizes == [3, 1]  # the second window is shorter and has two targets


def test_layers_on_several_devices_need_accelerate(llama, inputs):
    """With one device there is nothing to spread, but the model is read in the same way."""
    if importlib.util.find_spec("accelerate") is None:
        with pytest.raises(HarnessError, match=r"expected a folder or a name|accelerate"):
            load_causal_model(str(llama), inputs.vocabulary, device_map="auto")
        return
    models = [load_causal_model(str(llama), inputs.vocabulary, device_map=how) for how in ("auto", None)]
    spread, plain = (next(model.target_log_probs([Window([0, 5, 6, 7], [8, 9])])) for model in models)
    assert torch.equal(spread, plain)
    assert models[0].digest == models[1].digest
