"""A program on a pipe: a real one, that does right, dies, hangs or prints nonsense."""

import math
import re
import shlex
import sys
from dataclasses import replace

import pytest
import torch
from lm_benchmarks.adapters.command import Command
from lm_benchmarks.choices import HarnessError
from lm_benchmarks.measuring.checks import INVARIANTS, Checks
from lm_benchmarks.measuring.models import open_model

from ps_models.dataset import Text
from ps_models.scoring import token_nats
from wikitext_builder.dataset.vocabulary import Vocabulary

UNIFORM = """
import math, sys
for line in sys.stdin:
    if line.strip():
        print(*[-math.log({size})] * len(line.split()), flush=True)
"""
# Mixes the uniform distribution with the words of the text so far, evenly: what it has read matters.
CACHE = """
import math, sys
seen = []
for line in sys.stdin:
    if not line.strip():
        seen = []
        continue
    scores = []
    for word in line.split():
        cache = seen.count(word) / len(seen) if seen else 1 / {size}
        scores.append(math.log(0.5 / {size} + 0.5 * cache))
        seen.append(word)
    print(*scores, flush=True)
"""


def opened(inputs, program, **options):
    code = program.format(size=len(inputs.vocabulary))
    return open_model(
        f"command:{shlex.join([sys.executable, '-c', code])}",
        replace(inputs, options={**inputs.options, **options}),
    )


def scored(model, tokens, **options):
    return torch.cat([nats for _, nats in token_nats(model.model, [Text(t, 0) for t in tokens], **options)])


@pytest.mark.parametrize("program", [UNIFORM, CACHE])
def test_it_keeps_the_laws(inputs, stream, program):
    assert Checks(opened(inputs, program)).of_texts([Text(stream[:100], 0)]) == dict.fromkeys(INVARIANTS, "")


def test_each_command_is_a_model_of_its_own_in_signatures(inputs):
    """However long the path of the program is, before the option that changes the number."""
    long = "/".join(["a" * 20] * 5)
    first, second = (open_model(f"command:cat {long} --order {order}", inputs) for order in (3, 5))
    assert first.identity != second.identity
    assert first.identity == open_model(f"command:cat {long} --order 3", inputs).identity
    assert len(first.identity) <= 60


def test_a_program_that_was_edited_is_another_model_in_signatures(inputs, tmp_path):
    script = tmp_path / "model.py"
    identities = []
    for text in ("print(1)", "print(2)", "print(1)"):
        script.write_text(text)
        identities.append(open_model(f"command:cat {script} {'x' * 300}", inputs).identity)
    assert identities[0] == identities[2] != identities[1]


def test_a_long_text_is_read_once(inputs, stream, monkeypatch):
    long = stream.repeat(3)
    model = opened(inputs, UNIFORM)
    assert float(scored(model, [long]).mean()) == pytest.approx(math.log(len(inputs.vocabulary)))
    sent, send = list[str](), model.model._process.send

    def noted(line):
        sent.append(line)
        send(line)

    monkeypatch.setattr(model.model._process, "send", noted)
    scored(model, [long], chunk=64)
    assert sent[0] == ""  # the text before has ended
    assert sum(len(line.split()) for line in sent) == len(long)


def test_texts_side_by_side_are_the_texts_alone(inputs, stream):
    texts = torch.split(stream[:90], 30)
    model = opened(inputs, CACHE)
    together = scored(model, texts, context="article", batch=3, chunk=7)
    assert together.tolist() == pytest.approx(scored(model, texts, context="article", batch=1).tolist())
    assert together.tolist() != pytest.approx(scored(model, texts).tolist())


@pytest.mark.parametrize(
    ("program", "message"),
    [
        ("import sys; sys.exit('no weights found')", "(status 1).*it printed: no weights found"),
        ("import sys; input(); sys.exit(3)", r"ended without an answer \(status 3\)"),
        ("input(); print('hello', flush=True); input()", "answered 'hello', expected 50 finite"),
        ("input(); print(-1.0, flush=True); input()", "answered '-1.0', expected 50"),
        ("print(*[-1.0] * 49, flush=True); input(); input()", r"-1.0 ' … \(49 words\), expected 50"),
        ("print(flush=True); input(); input()", "answered '', expected 50 .*; a blank line starts a text"),
        ("n = len(input().split()); print(*['nan'] * n, flush=True); input()", "expected 50 finite"),
        ("import time; time.sleep(60)", "did not answer in 0.5 s; does it flush"),
        (
            "out = open(1, 'w', buffering=9999)\nwhile True: print(-1, input(), file=out)",
            "did not answer in 0.5 s",
        ),
        ("while True: print('x' * 1000, end='')", "more than 1048576 bytes"),
    ],
)
def test_each_failure_is_reported(inputs, stream, program, message):
    model = opened(
        inputs, program.replace("{", "{{").replace("}", "}}"), patience=0.5 if "0.5" in message else 20
    )
    with pytest.raises(HarnessError, match=message):
        scored(model, [stream[:50]])


DIES = """
import sys
for number, line in enumerate(sys.stdin):
    if number == 3:
        sys.stderr.write("loading\\n" * 9 + "Traceback\\n  line 4\\nMemoryError: no room\\n")
        sys.exit(7)
    if line.strip():
        print(*[-1.0] * len(line.split()), flush=True)
"""


def test_a_program_that_dies_is_one_error_with_its_last_lines(inputs, stream):
    model = opened(inputs, DIES)
    last = "it printed: loading | loading | Traceback |   line 4 | MemoryError: no room"
    for _ in range(2):  # it starts again, and fails in the same words
        with pytest.raises(HarnessError, match=rf"\(status 7\); {re.escape(last)}$"):
            Checks(model).of_texts([Text(stream, 0)])


def test_a_program_that_does_not_read_is_an_error_after_the_patience() -> None:
    words = Vocabulary(("<unk>", "<eos>", "a" * 5_000))  # one line is more than a pipe holds
    deaf = Command([sys.executable, "-c", "import time; time.sleep(60)"], words, patience=0.5)
    tokens = torch.full((1, 256), 2)
    with pytest.raises(HarnessError, match=r"did not read its input in 0\.5 s"):
        deaf(tokens, deaf.initial_state(1))


def test_no_such_program(inputs, stream):
    with pytest.raises(HarnessError, match="No such file"):
        scored(open_model("command:no-such-program-here", inputs), [stream[:5]])
    for line in ("", "a 'b"):
        with pytest.raises(HarnessError, match="expected"):
            open_model(f"command:{line}", inputs)


def test_the_program_ends_with_the_model(inputs, stream):
    model = opened(inputs, UNIFORM)
    scored(model, [stream[:5]])
    process = model.model._process._process
    del model
    assert process.wait(5) is not None
