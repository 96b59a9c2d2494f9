"""A function of the user that fails is one error, with the user's own traceback and none of our frames."""

import re

import pytest
from lm_benchmarks.choices import HarnessError
from lm_benchmarks.measuring.checks import check, raise_if_broken
from lm_benchmarks.measuring.measure import measure
from lm_benchmarks.measuring.models import open_model
from lm_benchmarks.measuring.run import Protocol, measure_loaded

from tests.lm_benchmarks.results import error_of

FAILS = """
import torch
from lm_benchmarks import HarnessError, LoadedModel

class Fails:
    def __init__(self, call):
        self.call = call

    def initial_state(self, batch_size):
        return torch.zeros(batch_size, 1)

    def __call__(self, tokens, state):
        return self.call(tokens, state)

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

class Reads(torch.nn.Module):
    def __init__(self, words):
        super().__init__()
        self.embed, self.out = torch.nn.Embedding(words, 16), torch.nn.Linear(16, words)

    def initial_state(self, batch_size):
        return torch.zeros(batch_size)

    def forward(self, tokens, state):
        scores = self.out(self.embed(tokens)).log_softmax(-1)
        return scores.gather(2, tokens[..., None])[..., 0], state

class ReadsAndCopies(Reads):
    def __init__(self, words):
        super().__init__(words)
        self.out.weight = self.embed.weight

class ReadsInCalls(Reads):
    def next_log_probs(self, state):
        return self.out(torch.zeros(len(state), 16)).log_softmax(-1)

def raises(error):
    raise error

def scores(tokens):
    return {}["oops"]

def reads_little(tokens, state):
    if tokens.shape[1] > 100:
        raise RuntimeError("too long for me")
    return torch.zeros(tokens.shape), state

def listed(inputs):
    model = late(inputs)
    model.initial_state = lambda batch_size: [torch.zeros(batch_size)]
    return model

def opened(inputs, identity="mine", **facts):
    same = {"name": "mine", "model": late(inputs), "vocabulary": inputs.vocabulary}
    return LoadedModel(identity=identity, facts=facts, **same)

reads = lambda inputs: Reads(len(inputs.vocabulary)).eval()
reads_and_copies = lambda inputs: ReadsAndCopies(len(inputs.vocabulary)).eval()
reads_in_calls = lambda inputs: ReadsInCalls(len(inputs.vocabulary)).eval()
late = lambda inputs: Fails(lambda *_: raises(RuntimeError("while scoring")))
oops = lambda inputs: Fails(lambda tokens, state: (scores(tokens), state))
too_long = lambda inputs: Fails(reads_little)
no_state = lambda inputs: Fails(lambda tokens, state: torch.zeros(tokens.shape))
three = lambda inputs: Fails(lambda tokens, state: (torch.zeros(tokens.shape), state, state))
layers_first = lambda inputs: LayersFirst(len(inputs.vocabulary), 1)
as_many_layers_as_texts = lambda inputs: LayersFirst(len(inputs.vocabulary), 2)
layers_first_after_tokens = lambda inputs: LayersFirst(len(inputs.vocabulary), 1, fixed_start=True)
at_once = lambda inputs: [][3]
of_nothing = lambda: late(None)
with_a_field_of_ours = lambda inputs: opened(inputs, context="mine")
with_a_name_that_is_none = lambda inputs: opened(inputs, **{"learning-rate": 1})
with_blanks = lambda inputs: opened(inputs, identity="my model")
on_purpose = lambda inputs: raises(HarnessError("my own words"))
"""


@pytest.fixture
def module(tmp_path, monkeypatch, request):
    name = f"mine_{abs(hash(request.node.name))}"
    for ending, code in (("", FAILS), ("_broken", "import no_such_package\n"), ("_wrong", "1 / 0\n")):
        (tmp_path / f"{name}{ending}.py").write_text(code)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.chdir(tmp_path)
    return name


def message_of(error):
    first, *trace = str(error).splitlines()
    assert not [line for line in trace if "lm_benchmarks" in line or "<frozen" in line]
    return first, "\n".join(trace)


def test_a_model_that_fails_while_it_scores(module, inputs):
    loaded = open_model(f"{module}:late", inputs)
    first, trace = message_of(error_of(measure_loaded, loaded, inputs, Protocol(check=False)))
    assert first == f"{module}:late failed: RuntimeError: while scoring"
    assert 'RuntimeError("while scoring")' in trace


def test_a_function_or_an_import_that_fails(module, inputs):
    for ending, message, line in (
        (":at_once", "IndexError: list index out of range", "[][3]"),
        ("_broken:model", "ModuleNotFoundError: No module named 'no_such_package'", "import no_such_package"),
        ("_wrong:model", "ZeroDivisionError: division by zero", "1 / 0"),
    ):
        with pytest.raises(HarnessError) as error:
            open_model(f"{module}{ending}", inputs)
        first, trace = message_of(error.value)
        assert first == f"{module}{ending} failed: {message}"
        assert trace.startswith("Traceback (most recent call last):")
        assert line in trace
        assert type(error.value.__cause__).__name__ == message.partition(":")[0]


def test_what_is_refused_before_it_is_measured_is_told_what_is_expected(module, inputs):
    """Functions of another kind, and what no signature holds; an error that the user raises is as it is."""

    def measured(name):
        measure_loaded(open_model(name, inputs), inputs, Protocol())

    faults = []
    for name, message in (
        (f"{module}.py:late", rf"; expected {module}:late, without \.py$"),
        (f"{module}:of_nothing", r":of_nothing: .*; expected a function of one argument, `Inputs`$"),
        (f"{module}:on_purpose", r"^my own words$"),
        (f"{module}:with_a_field_of_ours", "multiple values for keyword argument 'context'"),
        (f"{module}:with_a_name_that_is_none", "learning-rate"),
        (f"{module}:with_blanks", "my model"),
    ):
        why = error_of(measured, name)
        if not re.search(message, why):
            faults.append((name, why))
    assert faults == []


def test_other_code_is_another_model_in_signatures(module, inputs, tmp_path):
    before = open_model(f"{module}:late", inputs).identity
    assert before.startswith(f"{module}.late+")
    path = tmp_path / f"{module}.py"
    path.write_text(path.read_text() + "# changed\n")
    assert open_model(f"{module}:late", inputs).identity != before


def test_an_error_while_the_laws_are_tried_shows_the_users_lines(module, data):
    findings = check(f"{module}:oops", data)
    assert re.fullmatch(rf"KeyError: 'oops' \({module}.py, line \d+\)", findings["contract"])
    for error in (error_of(raise_if_broken, findings), error_of(measure, f"{module}:oops", data)):
        first, trace = message_of(error)
        assert "contract: KeyError: 'oops'" in first
        assert trace.count("Traceback") == 1
        assert f'{module}.py", line ' in trace
        assert 'return {}["oops"]' in trace
        assert trace.endswith("KeyError: 'oops'")
        assert "ps_models" not in trace


def test_broken_contracts_are_told_with_what_is_expected_and_no_frame_of_python_between_ours(module, data):
    findings = check(f"{module}:too_long", data)
    assert re.fullmatch(rf"RuntimeError: too long for me \({module}.py, line \d+\)", findings["sum"])
    assert not [trace for trace in findings.traces if "functools" in trace or "ps_models" in trace]
    for function, returned in (("no_state", "a Tensor"), ("three", "a tuple of Tensor, Tensor, Tensor")):
        contract = check(f"{module}:{function}", data)["contract"]
        assert contract.startswith(f"a call returned {returned}; expected a tuple of the scores, a Tensor")


def test_a_state_whose_batch_is_not_first_is_refused_first_with_the_rule(module, data):
    rule, faults = "the first dimension of each tensor of a state is the batch", []
    for function, what in (
        ("layers_first", "initial_state(2) returned a tensor of shape (1, 2, 8), expected (2, …)"),
        ("as_many_layers_as_texts", "initial_state(3) returned a tensor of shape (2, 3, 8)"),
        ("layers_first_after_tokens", "a call with 2 texts returned a tensor of shape (1, 2, 8)"),
        ("listed", "a state is a tensor, None or a tuple of states, but this one has list"),
    ):
        for trying in (check, measure):
            why = error_of(trying, f"{module}:{function}", data)
            if not (why.startswith("state: ") and what in why and (rule in why or function == "listed")):
                faults.append((function, trying, why))
    assert faults == []


@pytest.mark.parametrize("function", ["reads", "reads_and_copies", "reads_in_calls"])
def test_a_model_that_reads_the_word_that_it_predicts_is_told_so_in_one_line(module, data, function):
    why = error_of(measure, f"{module}:{function}", data)
    assert re.match(r"the model violates 1 of 6 invariants; sum: .* the word that it predicts, or", why)
    assert why.count("the word that it predicts") == 1
    assert "\n" not in why
