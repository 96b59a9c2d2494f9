"""A precision that is slow on a processor is said to be so."""

import logging

import pytest
import torch

import ps_models as pm
from ps_models import devices
from tests.ps_models.tiny import SETTINGS, make_dataset


@pytest.fixture(autouse=True)
def new_process(caplog):
    caplog.set_level(logging.WARNING, logger="ps_models")  # whatever a command of another test has set
    devices._warn_once.cache_clear()
    yield
    devices._warn_once.cache_clear()


@pytest.fixture
def tiny_dataset(tmp_path):
    return make_dataset(tmp_path)


@pytest.fixture
def hundred_times_slower(monkeypatch):
    monkeypatch.setattr(devices, "product_seconds", {torch.float32: 0.001, torch.bfloat16: 0.1}.get)


WARNING = (
    "precision=bf16: a product takes 100 times as long as in single precision on this processor;"
    " precision=fp32 is faster here"
)


@pytest.mark.usefixtures("hundred_times_slower")
def test_training_and_evaluation_warn_once_of_a_slow_precision(tiny_dataset, tmp_path, caplog):
    settings = (*SETTINGS, "epochs=1", "precision=bf16")
    pm.train("lstm", tiny_dataset, tmp_path / "out", settings=settings, device="cpu")
    assert caplog.messages == [WARNING]
    pm.evaluate(tmp_path / "out", tiny_dataset, device="cpu", precision="bf16")
    assert caplog.messages == [WARNING]


@pytest.mark.usefixtures("hundred_times_slower")
def test_evaluation_alone_warns_too(tiny_dataset, tmp_path, caplog):
    pm.train("lstm", tiny_dataset, tmp_path / "out", settings=(*SETTINGS, "epochs=1"), device="cpu")
    pm.evaluate(tmp_path / "out", tiny_dataset, device="cpu")
    assert not caplog.messages
    pm.evaluate(tmp_path / "out", tiny_dataset, device="cpu", precision="bf16")
    assert caplog.messages == [WARNING]


def test_a_fast_precision_is_used_without_a_word(monkeypatch, caplog):
    monkeypatch.setattr(devices, "product_seconds", {torch.float32: 0.002, torch.bfloat16: 0.001}.get)
    devices.warn_if_slow(torch.device("cpu"), "bf16")
    assert not caplog.messages


def test_a_gpu_is_not_measured(monkeypatch, caplog):
    monkeypatch.setattr(devices, "product_seconds", None)
    devices.warn_if_slow(torch.device("cuda"), "bf16")
    assert not caplog.messages


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_a_product_takes_some_time(dtype):
    assert 0 < devices.product_seconds(dtype) < 60


def test_a_processor_is_measured_once():
    for _ in range(2):
        devices.warn_if_slow(torch.device("cpu"), "bf16")
    assert devices._warn_once.cache_info().misses == 1
