"""A function of the user that fails is one error, with the user's own traceback and none of our frames."""

import pytest
from lm_benchmarks.errors import HarnessError
from lm_benchmarks.measuring.models import open_model
from lm_benchmarks.measuring.run import Protocol, measure_loaded

FAILS = """
import torch

class Late:
    def initial_state(self, batch_size):
        return torch.zeros(batch_size, 1)

    def __call__(self, tokens, state):
        raise RuntimeError("while scoring")

def at_once(inputs):
    return [][3]

def late(inputs):
    return Late()

def opened(inputs, identity="mine", **facts):
    from lm_benchmarks import LoadedModel
    same = {"name": "mine", "model": Late(), "vocabulary": inputs.vocabulary}
    return LoadedModel(identity=identity, facts=facts, **same)

def with_a_field_of_ours(inputs):
    return opened(inputs, context="mine")

def with_a_name_that_is_none(inputs):
    return opened(inputs, **{"learning-rate": 1})

def with_blanks(inputs):
    return opened(inputs, identity="my model")

def on_purpose(inputs):
    from lm_benchmarks import HarnessError
    raise HarnessError("my own words")
"""


@pytest.fixture
def module(tmp_path, monkeypatch, request):
    name = f"mine_{abs(hash(request.node.name))}"
    (tmp_path / f"{name}.py").write_text(FAILS)
    (tmp_path / f"{name}_broken.py").write_text("import no_such_package\n")
    (tmp_path / f"{name}_wrong.py").write_text("1 / 0\n")
    monkeypatch.syspath_prepend(tmp_path)
    return name


def message_of(error):
    first, *trace = str(error.value).splitlines()
    assert not [line for line in trace if "lm_benchmarks" in line or "<frozen" in line]
    return first, "\n".join(trace)


def test_a_model_that_fails_while_it_scores(module, inputs):
    loaded = open_model(f"{module}:late", inputs)
    with pytest.raises(HarnessError) as error:
        measure_loaded(loaded, inputs, Protocol(check=False))
    first, trace = message_of(error)
    assert first == f"{module}:late failed: RuntimeError: while scoring"
    assert 'raise RuntimeError("while scoring")' in trace


@pytest.mark.parametrize(
    ("ending", "message", "line"),
    [
        (":at_once", "IndexError: list index out of range", "return [][3]"),
        ("_broken:model", "ModuleNotFoundError: No module named 'no_such_package'", "import no_such_package"),
        ("_wrong:model", "ZeroDivisionError: division by zero", "1 / 0"),
    ],
)
def test_a_function_or_an_import_that_fails(module, inputs, ending, message, line):
    with pytest.raises(HarnessError) as error:
        open_model(f"{module}{ending}", inputs)
    first, trace = message_of(error)
    assert first == f"{module}{ending} failed: {message}"
    assert trace.startswith("Traceback (most recent call last):")
    assert line in trace
    assert type(error.value.__cause__).__name__ == message.partition(":")[0]


def test_an_error_that_the_user_raises_for_the_user_is_as_it_is(module, inputs):
    with pytest.raises(HarnessError, match=r"^my own words$"):
        open_model(f"{module}:on_purpose", inputs)


def test_other_code_is_another_model_in_signatures(module, inputs, tmp_path, monkeypatch):
    before = open_model(f"{module}:late", inputs).identity
    assert before.startswith(f"{module}.late+")
    path = tmp_path / f"{module}.py"
    path.write_text(path.read_text() + "# changed\n")
    assert open_model(f"{module}:late", inputs).identity != before


@pytest.mark.parametrize(
    ("function", "message"),
    [
        ("with_a_field_of_ours", "facts context; .* choose other names"),
        ("with_a_name_that_is_none", "learning-rate"),
        ("with_blanks", "my model"),
    ],
)
def test_what_no_signature_holds_is_refused_before_it_is_measured(module, inputs, function, message):
    with pytest.raises(HarnessError, match=message):
        open_model(f"{module}:{function}", inputs)
