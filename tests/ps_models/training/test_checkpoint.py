"""A checkpoint is whole, or an error says what was found and what to do."""

import json
import math
import os
import random
from dataclasses import asdict, replace
from typing import Any

import pytest
import torch
from safetensors.torch import save_file
from torch import nn

from ps_models.errors import ModelError
from ps_models.models.lstm import LSTMConfig
from ps_models.trained_model import load
from ps_models.training.checkpoint import (
    BEST,
    LAST,
    Checkpoint,
    check_vocabulary,
    checkpoint_file,
    load_weights,
    read_checkpoint,
    remove_unfinished,
    save_checkpoint,
    weights_of,
)
from tests.command import small_files
from wikitext_builder.dataset.vocabulary import Vocabulary

CONFIG = asdict(LSTMConfig(vocab_size=5))
WORDS = Vocabulary(("<unk>", "<eos>", "the", "naïve", "\u2028"))


class Tied(nn.Module):
    def __init__(self):
        super().__init__()
        self.embedding = nn.Embedding(5, 3)
        self.output = nn.Linear(3, 5)
        self.output.weight = self.embedding.weight
        self.register_buffer("steps", torch.tensor(7))


@pytest.fixture
def saved(tmp_path):
    checkpoint = Checkpoint(
        model="lstm",
        config={"vocab_size": 5, "cutoffs": []},
        weights=weights_of(Tied()),
        vocabulary=WORDS,
        facts={"data": "tiny"},
        training={"position": {"update": 3}, "rng": torch.get_rng_state()},
    )
    return save_checkpoint(tmp_path / LAST, checkpoint), tmp_path / LAST


def test_what_is_written_is_read(saved):
    written, path = saved
    read = read_checkpoint(path, training=True)
    assert read.weights.keys() == written.weights.keys() == {"embedding.weight", "output.bias", "steps"}
    assert all(torch.equal(read.weights[name], written.weights[name]) for name in read.weights)
    assert (read.vocabulary, read.config, read.facts) == (written.vocabulary, written.config, written.facts)
    assert read.training is not None
    assert read.training["position"] == {"update": 3}
    assert read.digest == written.digest
    model = Tied()
    load_weights(model, read.weights)
    assert torch.equal(model.output.weight, written.weights["embedding.weight"])
    assert read_checkpoint(path).training is None
    assert list(path.parent.iterdir()) == [path]  # no other file is left


def test_only_what_a_save_of_ours_left_is_removed(tmp_path):
    ours, foreign = f".{LAST}.{'0f' * 8}.part", f".{LAST}.part"
    for name in (ours, foreign, "home"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "letters").touch()
    link = tmp_path / f".{BEST}.{'ab' * 8}.part"
    link.symlink_to("home")
    remove_unfinished(tmp_path)
    assert {path.name for path in tmp_path.iterdir()} == {foreign, "home", link.name}
    assert (link / "letters").exists()


def test_a_cut_or_changed_file_is_refused(saved):
    _, path = saved
    whole = path.read_bytes()
    for length in (0, 5, len(whole) // 2, len(whole) - 1):
        path.write_bytes(whole[:length])
        with pytest.raises(ModelError, match="not a valid checkpoint"):
            read_checkpoint(path)
    generator = random.Random(1)
    for _ in range(60):
        position = generator.randrange(len(whole))
        path.write_bytes(
            whole[:position] + bytes([whole[position] ^ 1 << generator.randrange(8)]) + whole[position + 1 :]
        )
        with pytest.raises(ModelError, match=r"not a (valid )?checkpoint"):
            read_checkpoint(path, training=True)


def test_foreign_files_are_refused(tmp_path):
    save_file({"weight": torch.zeros(2)}, tmp_path / "other.safetensors")
    with pytest.raises(ModelError, match="not a checkpoint of ps-models"):
        read_checkpoint(tmp_path / "other.safetensors")
    torch.save({"weight": torch.zeros(2)}, tmp_path / "pickle.pt")
    with pytest.raises(ModelError, match="not a valid checkpoint"):
        read_checkpoint(tmp_path / "pickle.pt")
    tensor = {"dtype": "F32", "shape": [0, 2**63], "data_offsets": [0, 0]}  # no integer holds it
    header = json.dumps({"__metadata__": {"format": "x"}, "w": tensor})
    (tmp_path / "x.safetensors").write_bytes(len(header).to_bytes(8, "little") + header.encode())
    with pytest.raises(ModelError, match="not a valid checkpoint"):
        read_checkpoint(tmp_path / "x.safetensors")
    with pytest.raises(ModelError, match="no checkpoint; expected a file or a folder"):
        read_checkpoint(tmp_path)


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"config": {"vocab_size": 6}}, "5 words, but its model has 6"),
        ({"config": {}}, "vocab_size"),
        ({"config": []}, "Expected `object`, got `array`"),
        ({"facts": [1]}, "Expected `object`, got `array`"),
        ({"facts": {"epoch": "x"}}, "Expected `int`, got `str`"),
        ({"facts": {"preset": 7}}, "Expected `str | null`, got `int`"),
        ({"facts": {"settings": []}}, "Expected `object`, got `array`"),
        ({"facts": {"training": [1]}}, "Expected `object`, got `array`"),
        ({"training": [1]}, "Expected `object | null`, got `array`"),
        *(({"training": {"rng": {"tensor": name}}}, "") for name in ("training.wings", "[]", "7", "null")),
        *(
            (
                {"vocabulary": Vocabulary(words)},
                "expected a vocabulary of <unk>, <eos> and other words, without repetition",
            )
            for words in (
                ("<unk>", "a", "b", "c", "d"),
                ("<eos>", "<unk>", "a", "b", "c"),
                ("<unk>", "<eos>", "a", "a", "b"),
                ("<unk>", "<eos>", "a", "b c", "d"),
                ("<unk>", "<eos>", "a", "", "b"),
            )
        ),
    ],
)
def test_a_file_that_contradicts_itself_is_refused(saved, changed, message):
    written, path = saved
    save_checkpoint(path, replace(written, **changed))
    with pytest.raises(ModelError, match=f"not a valid checkpoint .*{message}"):
        read_checkpoint(path, training=True)


def test_the_best_one_of_a_folder_is_used_and_cannot_be_resumed(saved):
    written, path = saved
    save_checkpoint(path.parent / BEST, replace(written, training=None))
    assert checkpoint_file(path.parent).name == BEST
    with pytest.raises(ModelError, match=r"has only weights .* use last"):
        read_checkpoint(path.parent, training=True)


def test_a_full_disk_leaves_the_checkpoint_before(saved):
    written, path = saved
    before = path.read_bytes()
    with small_files(100), pytest.raises(ModelError, match="cannot be written"):
        save_checkpoint(path, written)
    assert path.read_bytes() == before
    assert list(path.parent.iterdir()) == [path]


def test_another_vocabulary_is_refused(saved):
    written, _ = saved
    check_vocabulary(written, WORDS, "data")
    with pytest.raises(ModelError, match=r"data: its vocabulary \(5 words, .*use the dataset"):
        check_vocabulary(written, Vocabulary(("<unk>", "<eos>", "naïve", "the", "\u2028")), "data")


def test_weights_of_another_model_are_refused():
    own = weights_of(Tied())
    expected = r", expected has shape \(5, 3\) of float32"
    for other, found in [
        ({**own, "embedding.weight": torch.zeros(4, 3)}, r"has shape \(4, 3\) of float32"),
        ({**own, "embedding.weight": torch.zeros(5, 3).bfloat16()}, r"has shape \(5, 3\) of bfloat16"),
        ({name: weight for name, weight in own.items() if name != "embedding.weight"}, "is missing"),
    ]:
        with pytest.raises(ModelError, match=f"embedding.weight {found}{expected}"):
            load_weights(Tied(), other)


@pytest.mark.parametrize(
    ("config", "message"),
    [
        ({"hidden_size": 10**7, "layers": 1}, "do not fit the model"),  # 3 PB of weights take no memory
        ({"vocab_size": "\ud800"}, r"not a valid checkpoint"),
    ],
)
def test_a_configuration_that_is_not_of_the_weights_is_refused_at_once(saved, config, message):
    written, path = saved
    save_checkpoint(path, replace(written, config={**CONFIG, **config}))
    with pytest.raises(ModelError, match=message):
        load(path, device="cpu")


def test_a_training_part_is_read_as_it_was_whatever_is_in_it(saved):
    written, path = saved
    tree: dict[str, Any] = {
        "empty": torch.zeros(2, 0),
        "one": torch.tensor(3),
        "none": None,
        "deep": [{"rate": 1 / 3}, math.inf],
    }
    save_checkpoint(path, replace(written, training=tree))
    read = read_checkpoint(path, training=True).training
    assert read is not None
    assert (read["none"], read["deep"]) == (None, [{"rate": 1 / 3}, math.inf])
    for name in ("empty", "one"):
        assert read[name].shape == tree[name].shape
        assert torch.equal(read[name], tree[name])


def test_the_umask_decides_who_may_read(saved):
    written, path = saved
    modes = {}
    for umask in (0o077, 0o022, 0o002):
        before = os.umask(umask)
        try:
            save_checkpoint(path, written)
        finally:
            os.umask(before)
        modes[umask] = path.stat().st_mode & 0o777
    assert modes == {umask: 0o666 & ~umask for umask in modes}


def test_a_configuration_of_other_types_is_refused(saved):
    written, path = saved
    for field in ("hidden_size", "layers", "eos"):
        for value in (2.5, None, "x", True, [4], 10**30, 2**62):
            save_checkpoint(path, replace(written, config={**CONFIG, field: value}))
            with pytest.raises(ModelError, match=f"lstm: .*{field}.*; use the version that wrote"):
                load(path, device="cpu")


def test_a_seed_is_a_value_of_a_signature_whatever_a_stranger_wrote(saved):
    checkpoint = read_checkpoint(saved[1])
    seeds = [replace(checkpoint, facts={"training": {"seed": seed}}).seed for seed in (7, "x y")]
    assert [replace(checkpoint, facts={}).seed, *seeds] == ["unknown", "7", "x-y"]
