"""A function of the user that fails is one error, with the user's own traceback and none of our frames."""

import re

import pytest
from lm_benchmarks.choices import HarnessError
from lm_benchmarks.measuring.checks import check, raise_if_broken
from lm_benchmarks.measuring.measure import measure
from lm_benchmarks.measuring.models import open_model
from lm_benchmarks.measuring.run import Protocol, measure_loaded

FAILS = """
import torch

class Late:
    def initial_state(self, batch_size):
        return torch.zeros(batch_size, 1)

    def __call__(self, tokens, state):
        raise RuntimeError("while scoring")

class Oops(Late):
    def __call__(self, tokens, state):
        return self.scores(tokens), state

    def scores(self, tokens):
        return {}["oops"]

class TooLong(Late):
    def __call__(self, tokens, state):
        if tokens.shape[1] > 100:
            raise RuntimeError("too long for me")
        return torch.zeros(tokens.shape), state

class Returns(Late):
    def __init__(self, wrong):
        self.wrong = wrong

    def __call__(self, tokens, state):
        return self.wrong(torch.zeros(tokens.shape), state)

class LayersFirst(torch.nn.Module):
    def __init__(self, words, layers, fixed_start=False):
        super().__init__()
        self.gru = torch.nn.GRU(4, 8, num_layers=layers, batch_first=True)
        self.embed, self.out = torch.nn.Embedding(words, 4), torch.nn.Linear(8, words)
        self.fixed_start = fixed_start

    def initial_state(self, batch_size):
        sizes = (batch_size, self.gru.num_layers) if self.fixed_start else (self.gru.num_layers, batch_size)
        return torch.zeros(*sizes, 8), torch.zeros(batch_size, dtype=torch.int64)

    def forward(self, tokens, state):
        hidden, last = state
        if self.fixed_start and not hidden.any():
            hidden = hidden.transpose(0, 1).contiguous()
        read = torch.cat([last[:, None], tokens[:, :-1]], dim=1)
        outputs, hidden = self.gru(self.embed(read), hidden)
        scores = self.out(outputs).log_softmax(-1).gather(2, tokens[..., None])[..., 0]
        return scores, (hidden, tokens[:, -1])

def oops(inputs):
    return Oops()

def too_long(inputs):
    return TooLong()

def no_state(inputs):
    return Returns(lambda scores, state: scores)

def three(inputs):
    return Returns(lambda scores, state: (scores, state, state))

def layers_first(inputs):
    return LayersFirst(len(inputs.vocabulary), 1)

def as_many_layers_as_texts(inputs):
    return LayersFirst(len(inputs.vocabulary), 2)

def layers_first_after_tokens(inputs):
    return LayersFirst(len(inputs.vocabulary), 1, fixed_start=True)

def listed(inputs):
    model = Late()
    model.initial_state = lambda batch_size: [torch.zeros(batch_size)]
    return model

def at_once(inputs):
    return [][3]

def of_nothing():
    return Late()

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


def test_the_name_of_a_file_and_a_function_of_nothing_are_told_what_is_expected(
    module, inputs, tmp_path, monkeypatch
):
    """An error that the user raises for the user is as it is."""
    monkeypatch.chdir(tmp_path)
    for name, message in (
        (f"{module}.py:late", rf"; expected {module}:late, without \.py$"),
        (
            f"{module}:of_nothing",
            r":of_nothing: .*; expected a function of one argument, `Inputs`$",
        ),
        (f"{module}:on_purpose", r"^my own words$"),
    ):
        with pytest.raises(HarnessError, match=message):
            open_model(name, inputs)


def test_other_code_is_another_model_in_signatures(module, inputs, tmp_path):
    before = open_model(f"{module}:late", inputs).identity
    assert before.startswith(f"{module}.late+")
    path = tmp_path / f"{module}.py"
    path.write_text(path.read_text() + "# changed\n")
    assert open_model(f"{module}:late", inputs).identity != before


@pytest.mark.parametrize(
    ("function", "message"),
    [
        ("with_a_field_of_ours", "multiple values for keyword argument 'context'"),
        ("with_a_name_that_is_none", "learning-rate"),
        ("with_blanks", "my model"),
    ],
)
def test_what_no_signature_holds_is_refused_before_it_is_measured(module, inputs, function, message):
    loaded = open_model(f"{module}:{function}", inputs)
    with pytest.raises(HarnessError, match=message):
        measure_loaded(loaded, inputs, Protocol())


@pytest.mark.parametrize("trying", [check, measure])
def test_an_error_while_the_laws_are_tried_shows_the_users_lines(module, data, trying):
    if trying is check:
        findings = check(f"{module}:oops", data)
        assert re.fullmatch(rf"KeyError: 'oops' \({module}.py, line \d+\)", findings["contract"])
    with pytest.raises(HarnessError) as error:
        raise_if_broken(findings) if trying is check else measure(f"{module}:oops", data)
    first, trace = message_of(error)
    assert "contract: KeyError: 'oops'" in first
    assert trace.count("Traceback") == 1
    assert f'{module}.py", line ' in trace
    assert 'return {}["oops"]' in trace
    assert trace.endswith("KeyError: 'oops'")
    assert "ps_models" not in trace


def test_a_trace_has_no_frame_of_python_between_ours(module, data):
    findings = check(f"{module}:too_long", data)
    assert re.fullmatch(rf"RuntimeError: too long for me \({module}.py, line \d+\)", findings["chunks"])
    assert not [trace for trace in findings.traces if "functools" in trace or "ps_models" in trace]


@pytest.mark.parametrize(
    ("function", "found"),
    [
        ("no_state", "a Tensor"),
        ("three", "a tuple of Tensor, Tensor, Tensor"),
    ],
)
def test_a_call_that_returns_something_else_is_told_what_is_expected(module, data, function, found):
    contract = check(f"{module}:{function}", data)["contract"]
    assert contract.startswith(f"a call returned {found}; expected a tuple of the scores, a Tensor")


@pytest.mark.parametrize(
    ("function", "what"),
    [
        ("layers_first", r"initial_state\(2\) returned a tensor of shape \(1, 2, 8\), expected \(2, …\)"),
        ("as_many_layers_as_texts", r"initial_state\(3\) returned a tensor of shape \(2, 3, 8\)"),
        ("layers_first_after_tokens", r"a call with 2 texts returned a tensor of shape \(1, 2, 8\)"),
        ("listed", "a state is a tensor, None or a tuple of states, but this one has list"),
    ],
)
def test_a_state_whose_batch_is_not_first_is_refused_first_with_the_rule(module, data, function, what):
    for trying in (check, measure):
        with pytest.raises(HarnessError, match=what) as error:
            trying(f"{module}:{function}", data)
        assert str(error.value).startswith("state: ")
        if function != "listed":
            assert "the first dimension of each tensor of a state is the batch" in str(error.value)
