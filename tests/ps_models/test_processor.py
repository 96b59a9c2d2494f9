"""Small work gets few threads; freed memory is kept for the next tensor; a slow precision is named."""

import platform
import subprocess
import sys

import pytest
import torch

import ps_models as pm
from ps_models.models.lstm import LSTM, LSTMConfig
from ps_models.models.transformer import Transformer, TransformerConfig
from ps_models.processor import fitted_threads, use_processor
from ps_models.scoring import evaluating
from ps_models.training.update import Training
from tests.ps_models.tiny import SETTINGS, make_dataset

# In a process of its own: the setting is for good.
SCRIPT = """
import resource
import torch
from ps_models.processor import use_processor

def pages_that_were_cleared():
    before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
    for _ in range(16):
        torch.ones(16 * 2**20)  # 64 MiB each, freed at once
    return resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before

ordinary = pages_that_were_cleared()
use_processor(threads=1)
print(ordinary, pages_that_were_cleared(), torch.get_num_threads())
"""


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="only glibc can be set to keep its memory")
def test_large_tensors_take_the_memory_of_those_before_them():
    done = subprocess.run([sys.executable, "-c", SCRIPT], capture_output=True, text=True, check=True)
    ordinary, kept, threads = map(int, done.stdout.split())
    assert ordinary > 16 * 1000
    assert kept < ordinary / 2  # the first few find no place that fits them
    assert threads == 1


@pytest.fixture
def eight_threads():
    before = torch.get_num_threads()
    torch.set_num_threads(8)
    yield
    use_processor(before)


def lstm(hidden_size):
    return LSTM(LSTMConfig(vocab_size=10_000, hidden_size=hidden_size, layers=1))


def threads_of(model, rows=1):
    with fitted_threads(model, rows):
        return torch.get_num_threads()


@pytest.mark.usefixtures("eight_threads")
def test_small_work_gets_one_thread_and_large_work_all():
    use_processor()
    torch.set_num_threads(8)
    small = lstm(64)  # 1.3 million weights
    assert [threads_of(small, rows) for rows in (1, 16, 80, 1000)] == [1, 1, 2, 8]
    assert torch.get_num_threads() == 8, "afterwards as before"
    with evaluating(small):
        assert torch.get_num_threads() == 1
    assert threads_of(torch.nn.Sequential(torch.nn.GRU(8, 8))) == 1, "a model of the user's"
    torch.set_num_threads(1)
    assert threads_of(small, 1000) == 1, "not more than torch would take"


@pytest.mark.usefixtures("eight_threads")
def test_the_users_number_and_models_that_read_whole_segments_stay():
    transformer = Transformer(TransformerConfig(vocab_size=50, hidden_size=8, heads=2, layers=1))
    for model in (transformer, torch.nn.Linear(2, 2), object()):
        assert threads_of(model) == 8
    use_processor(3)
    assert threads_of(lstm(8)) == 3


@pytest.mark.usefixtures("eight_threads")
def test_a_training_uses_the_threads_of_its_size(tmp_path, monkeypatch):
    use_processor()
    torch.set_num_threads(8)
    seen = []
    step = Training.update

    def update(self, *arguments):
        seen.append(torch.get_num_threads())
        return step(self, *arguments)

    monkeypatch.setattr(Training, "update", update)
    pm.train("lstm", make_dataset(tmp_path), tmp_path / "out", settings=(*SETTINGS, "epochs=1"), device="cpu")
    assert set(seen) == {1}
    assert torch.get_num_threads() == 8
