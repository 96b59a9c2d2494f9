"""An exported Transformer is the same model to the library `transformers`."""

from typing import Any

import pytest
import torch

import ps_models as pm
from ps_models.data.dataset import text_of_lines
from ps_models.errors import ModelError
from tests.ps_models.tiny import SETTINGS, make_dataset, train
from wikitext_builder.dataset.load import load

transformers = pytest.importorskip("transformers")
TRANSFORMER = ("heads=2", "inner_size=12", "window=4", "layers=3", "learning_rate=0.05", "init=0.4")


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    folder = tmp_path_factory.mktemp("export")
    train(make_dataset(folder), folder / "run", *SETTINGS, *TRANSFORMER, model="transformer")
    return folder / "run"


def test_an_exported_model_has_the_same_log_probabilities(run, tmp_path):
    ours: Any = pm.load(run, device="cpu")
    assert pm.export(run, tmp_path / "hf") == tmp_path / "hf"
    theirs = transformers.AutoModelForCausalLM.from_pretrained(tmp_path / "hf")
    tokenizer = transformers.AutoTokenizer.from_pretrained(tmp_path / "hf")
    lines = tuple(load(run.parent / "tiny").lines("test"))[:6]
    ids = text_of_lines((*lines, "a word_that_is_unknown"), ours.checkpoint.vocabulary).tokens
    assert tokenizer("\n".join([*lines, "a word_that_is_unknown", ""]))["input_ids"] == ids.tolist()
    with torch.no_grad():
        wanted, _ = ours.model(ids[None], ours.model.initial_state(1))
        read = torch.cat([torch.tensor([tokenizer.bos_token_id]), ids])[None, :-1]
        found = theirs(read).logits.log_softmax(-1)[0].gather(1, ids[:, None])[:, 0]
    assert len(ids) > 3 * 4  # farther than all windows reach
    torch.testing.assert_close(found, wanted[0], rtol=1e-5, atol=1e-5)


def test_what_cannot_be_exported_is_refused(run, tmp_path):
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "text").touch()
    with pytest.raises(ModelError, match="holds something else"):
        pm.export(run, tmp_path / "mine")
    data = make_dataset(tmp_path)
    train(data, tmp_path / "lstm", *SETTINGS)
    with pytest.raises(ModelError, match="lstm: transformers has no such model"):
        pm.export(tmp_path / "lstm", tmp_path / "new")
    train(data, tmp_path / "bias", *SETTINGS, *TRANSFORMER, "softmax_bias=yes", model="transformer")
    with pytest.raises(ModelError, match="softmax_bias=yes"):
        pm.export(tmp_path / "bias", tmp_path / "new")
    assert not (tmp_path / "new").exists()
