"""What all tests of models share."""

import pytest
import torch


@pytest.fixture(autouse=True)
def seeded() -> None:
    """Each test draws the same numbers, whichever run before it."""
    torch.manual_seed(2)
