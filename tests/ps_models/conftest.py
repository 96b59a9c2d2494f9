"""Small models: more threads only wait for each other, and one gives the same sums on any machine."""

import pytest
import torch


@pytest.fixture(autouse=True, scope="session")
def one_thread():
    torch.set_num_threads(1)
