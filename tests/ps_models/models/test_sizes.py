"""Models have as many weights as the papers' formulas: `tests/cases/parameters.json` has them in numbers."""

import pytest
import torch

from ps_models.configs import make_configs, make_model
from tests.cases import cases

SIZES = cases("parameters", "models")


def name_of(case):
    parts = [case["model"], case.get("preset"), *case.get("settings", []), str(case["vocabulary"])]
    return "-".join(filter(None, parts))


@pytest.mark.parametrize("case", SIZES, ids=name_of)
def test_the_number_of_parameters_is_the_published_one(case):
    settings = case.get("settings", [])
    config, _ = make_configs(case["model"], case.get("preset"), settings, vocab_size=case["vocabulary"])
    with torch.device("meta"):
        model = make_model(case["model"], config)
    expected = eval(case["count"], {"__builtins__": {}})  # a sum of products
    assert sum(parameter.numel() for parameter in model.parameters()) == expected
    assert expected / 1e6 == pytest.approx(case["millions"], abs=0.01)
