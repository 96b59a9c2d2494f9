"""An endpoint of completions: a real server on this machine with a real model, honest or hostile."""

import base64
import gzip
import importlib
import json
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import lm_benchmarks as lb
import pytest
import torch
from lm_benchmarks.adapters import completions
from lm_benchmarks.choices import HarnessError, UnreachableError
from lm_benchmarks.cli import commands
from lm_benchmarks.measuring.select import last_of_models
from lm_benchmarks.records import read_results

from tests.command import invoke
from tests.lm_benchmarks.conventions.conftest import write_dataset

pytest.importorskip("transformers", reason="needs the package transformers")


class Server(ThreadingHTTPServer):
    """Scores prompts of ids with a model of `transformers`, one answer at a time."""

    daemon_threads = True

    def __init__(self, folder):
        super().__init__(("127.0.0.1", 0), Handler)
        transformers = importlib.import_module("transformers")
        self.tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
        self.model = transformers.AutoModelForCausalLM.from_pretrained(folder).eval()
        self.lock = threading.Lock()
        self.faults: list[Any] = []  # each for one request; None: honest
        self.asked = 0
        self.keys: list[str | None] = []
        self.paths: list[str] = []
        self.url = f"http://127.0.0.1:{self.server_address[1]}/v1"
        threading.Thread(target=self.serve_forever, daemon=True).start()

    def handle_error(self, request, client_address):
        """A client that hung up is no error of the server's."""

    @torch.no_grad()
    def scores(self, prompt):
        logits = self.model(torch.tensor([prompt])).logits[0].double().log_softmax(-1)
        own = [float(logits[place, piece]) for place, piece in enumerate(prompt[1:])]
        added = int(logits[-1].argmax())
        tokens = [self.tokenizer.decode([piece]) for piece in [*prompt, added]]
        offsets = [sum(map(len, tokens[:place])) for place in range(len(tokens))]
        values = [None, *own, float(logits[-1, added])]
        return {"tokens": tokens, "token_logprobs": values, "text_offset": offsets}


class Handler(BaseHTTPRequestHandler):
    server: Server

    def do_GET(self):
        self.answer(200, {"data": [{"id": "tiny", "max_model_len": 200}]})

    def do_POST(self):
        self.server.paths.append(self.path)
        question = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        assert question["echo"] is True
        assert (question["max_tokens"], question["temperature"], question["model"]) == (1, 0, "tiny")
        with self.server.lock:
            self.server.asked += 1
            self.server.keys.append(self.headers["Authorization"])
            fault = self.server.faults.pop(0) if self.server.faults else None
            found = self.server.scores(question["prompt"])
        if fault is not None:
            fault(self, found)
        else:
            self.answer(200, {"choices": [{"logprobs": found}]})

    def answer(self, status, content, **headers):
        body = content if isinstance(content, bytes) else json.dumps(content).encode()
        self.send_response(status)
        for name, value in {"Content-Length": len(body), **headers}.items():
            self.send_header(name.replace("_", "-"), str(value))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_arguments):
        pass


def says(status, content=b"busy", **headers):
    return lambda handler, _found: handler.answer(status, content, **headers)


def changed(change):
    def fault(handler, found):
        handler.answer(200, {"choices": [{"logprobs": change(found)}]})

    return fault


def hangs(handler, _found):
    time.sleep(3)
    handler.answer(200, b"{}")


def drips(handler, _found):
    handler.send_response(200)
    handler.send_header("Content-Length", "60000")
    handler.end_headers()
    for _ in range(40):  # longer than anybody's patience here
        handler.wfile.write(b" ")
        time.sleep(0.25)


def breaks_off(handler, _found):
    handler.answer(200, b"{", Content_Length=60_000)
    handler.close_connection = True


def breaks_packed(handler, _found):
    handler.answer(200, gzip.compress(b"{}")[:-9] + b"?" * 9, Content_Encoding="gzip")


def dies(handler, _found):
    handler.connection.close()


@pytest.fixture(scope="module")
def server(llama):
    with Server(llama) as running:
        yield running
        running.shutdown()


@pytest.fixture(autouse=True)
def honest(server, monkeypatch):
    server.faults = []
    monkeypatch.setattr(completions, "WAIT", 0.01)
    monkeypatch.setattr(completions, "LONGEST", 2_000_000)
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)


@pytest.fixture(scope="module")
def dataset(tmp_path_factory):
    return write_dataset(tmp_path_factory.mktemp("data") / "tiny", 60)


def measured(server, dataset, llama, **options):
    options = {"convention": "gptq", "check": False, "tokenizer": str(llama), **options}
    (found,) = lb.measure(f"completions:{server.url}", dataset, **options)
    return found


def test_numbers_are_those_of_the_model_itself(server, dataset, llama):
    names = ["paper", "lm-eval", "gptq", "hf-stride", "bits-per-byte"]
    options: dict[str, Any] = {"conventions": names, "tokenizer": str(llama), "longest": 102}
    served = lb.measure_conventions(f"completions:{server.url}", dataset, **options)
    assert served[2].result is not None
    assert served[2].result.signature["windows"] == "100"
    for one in served:
        assert one.result is not None
        (own,) = lb.measure(
            f"transformers:{llama}", dataset, convention=one.convention.name, window=100, check=False
        )
        expected = own.number if one.convention.rule and own.number else own.total.nats
        found = one.result.number if one.convention.rule and own.number else one.result.total.nats
        assert found == pytest.approx(expected, rel=1e-6), one.convention.name


def test_the_signature_says_what_is_known(server, dataset, llama):
    found = measured(server, dataset, llama, check=True)
    signature = found.signature
    assert signature["model"].startswith("tiny+")
    assert (signature["served"], signature["weights"], signature["dtype"]) == ("tiny", "unseen", "unknown")
    assert signature["windows"] == "198"
    assert found.checks is not None
    assert not found.broken
    assert found.tried is not None
    assert found.tried.unit == "windows"
    assert server.url not in str(signature)


def test_another_server_with_a_model_of_the_same_name_is_measured_itself(server, dataset, llama, tmp_path):
    path, numbers = tmp_path / "r.jsonl", []
    with Server(llama) as other:
        with torch.no_grad():
            other.model.lm_head.weight.mul_(3)
        for one in (server, other, other):
            other.asked = 0
            (found,) = lb.measure_conventions(
                f"completions:{one.url}", dataset, conventions=["gptq"], tokenizer=str(llama), results=path
            )
            numbers.append(found.number)
        assert other.asked == 1  # the line that tries the protocol
        other.shutdown()
    assert numbers[0] != numbers[1] == numbers[2]
    page = lb.report(path, tmp_path / "r.csv").read_text(encoding="utf-8")
    assert len(page.splitlines()) == 3  # a model each
    assert len({one.model for one in read_results(path)}) == 1
    assert len(last_of_models(read_results(path))) == 2


def test_a_key_is_sent_and_not_stored(server, dataset, llama, tmp_path, monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "secret-key")
    measured(server, dataset, llama, results=tmp_path / "r.jsonl")
    assert set(server.keys[-3:]) == {"Bearer secret-key"}
    assert "secret-key" not in (tmp_path / "r.jsonl").read_text()


SECRETS = ("me", "p@ss", "p%40ss", "hidden-key")


def test_secrets_of_an_address_reach_no_record_no_error_and_no_log(
    server, dataset, llama, tmp_path, monkeypatch, caplog
):
    caplog.set_level("DEBUG", "lm_benchmarks")
    address = server.url.replace("://", "://me:p@ss@") + "?api-key=hidden-key"
    options = {"convention": "gptq", "check": False, "tokenizer": str(llama), "results": tmp_path / "r.jsonl"}
    model = f"completions:{address}"
    (found,) = lb.measure(model, dataset, command=["x", model], **options)
    assert server.paths[-1] == "/v1/completions?api-key=hidden-key"  # which the server gets
    assert found.specification == f"completions:{server.url}"
    (again,) = lb.measure(f"completions:{server.url}", dataset, **{**options, "results": None})
    assert again.signature == found.signature  # which has no trace of the key
    texts = [(tmp_path / "r.jsonl").read_text(), caplog.text]
    monkeypatch.setattr(completions, "RETRIES", 1)
    gone = address.replace(f":{server.server_address[1]}/", ":9/")
    for wrong in (
        gone,
        gone.replace("hidden", "1|hidden"),  # which the request encodes
        address.replace("http", "httq"),
        "http://me:p@ss@[::1?k=hidden-key",
        "http://me:p@ss\udcff@127.0.0.1:9/v1?k=hidden-key",
    ):
        with pytest.raises(HarnessError) as error:
            lb.measure(f"completions:{wrong}", dataset, **{**options, "results": None})
        texts.append(str(error.value))
    server.faults = [says(404, b"no page /v1/completions?api-key=hidden-key" + b" " * 130 + address.encode())]
    with pytest.raises(HarnessError, match="404: no page /v1/completions  ") as error:
        lb.measure(model, dataset, **{**options, "results": None})
    texts.append(str(error.value))
    with pytest.raises(HarnessError) as error:
        lb.measure(f"completions:{address}", dataset, convention="gptq")
    texts.append(str(error.value))
    for text in texts:
        assert not [secret for secret in ("me:", *SECRETS[1:]) if secret in text], text


def test_what_netrc_has_does_not_replace_the_key(server, dataset, llama, tmp_path, monkeypatch):
    (tmp_path / "netrc").write_text("machine 127.0.0.1 login me password of-netrc\n")
    monkeypatch.setenv("NETRC", str(tmp_path / "netrc"))
    monkeypatch.setenv("OPENAI_API_KEY", "secret-key")
    measured(server, dataset, llama)
    assert server.keys[-1] == "Bearer secret-key"
    monkeypatch.delenv("OPENAI_API_KEY")
    measured(server, dataset, llama)
    assert server.keys[-1] is None
    address = server.url.replace("://", "://me:p@s%C3%9F@")
    lb.measure(f"completions:{address}", dataset, convention="gptq", check=False, tokenizer=str(llama))
    assert server.keys[-1] == "Basic " + base64.b64encode("me:p@sß".encode()).decode()


def test_a_key_that_no_header_holds_is_refused_and_not_shown(server, dataset, llama, monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "secret-key\n")  # as `cat` of a file gives it
    measured(server, dataset, llama)
    assert set(server.keys[-3:]) == {"Bearer secret-key"}
    for key in ("secret\nkey", "secret…key"):
        monkeypatch.setenv("OPENAI_API_KEY", key)
        with pytest.raises(HarnessError, match="OPENAI_API_KEY has characters") as error:
            measured(server, dataset, llama)
        assert "secret" not in str(error.value)


@pytest.mark.parametrize(
    "fault",
    [
        *(says(429), says(429, Retry_After=1), says(503), says(500, b"\xff" * 9), hangs, dies),
    ],
    ids=["429", "retry-after", "503", "500", "hangs", "dies"],
)
def test_what_passes_is_tried_again(server, dataset, llama, fault):
    server.asked = 0
    honest = measured(server, dataset, llama)
    asked, server.asked = server.asked, 0
    server.faults = [None, fault, fault]
    found = measured(server, dataset, llama, patience=2)
    assert found.number == honest.number
    assert server.asked >= asked + 2
    assert not server.faults


@pytest.mark.parametrize("fault", [drips, breaks_off, breaks_packed])
def test_an_answer_that_does_not_end_is_an_error(server, dataset, llama, fault):
    server.faults = [None, fault]
    with pytest.raises(UnreachableError, match=r"no answer .*; run the same command later to resume"):
        measured(server, dataset, llama, patience=1)


@pytest.mark.parametrize(
    ("fault", "message"),
    [
        (says(401, b"no key"), "status 401: no key; expected status 200"),
        (says(302, b"", Location="http://127.0.0.1:1/"), "status 302"),
        (says(200, b"<html>"), "expected JSON"),
        (says(200, b'{"choices": [{"logprobs": {"token_logprobs": [NaN]}}]}'), "the number NaN"),
        (says(200, {"choices": []}), "IndexError"),
        (says(200, {"choices": [{"logprobs": None}]}), "TypeError.*expected completions with `echo`"),
        (says(200, [1]), "TypeError"),
        (changed(lambda one: {"token_logprobs": one["token_logprobs"][:-2]}), "log-probabilities for"),
        (changed(lambda one: {**one, "token_logprobs": one["token_logprobs"] * 2}), "log-probabilities for"),
        (changed(lambda one: {"token_logprobs": [None] * len(one["tokens"])}), "a log-probability None"),
        (changed(lambda one: {"token_logprobs": [0.5] * len(one["tokens"])}), "above 0"),
        (changed(lambda one: {"token_logprobs": ["-1"] * len(one["tokens"])}), "a log-probability '-1'"),
        (says(429, Retry_After="86400"), r"asks to retry in \d+,\d00 s"),
        (says(200, b" " * 3_000_000), "more than 2000000 bytes"),
    ],
)
def test_hostile_answers_are_errors(server, dataset, llama, fault, message):
    server.faults = [None, fault]
    with pytest.raises(HarnessError, match=message):
        measured(server, dataset, llama)


def test_a_server_that_stays_busy_is_resumed(server, dataset, llama, tmp_path):
    path = tmp_path / "r.jsonl"
    honest = measured(server, dataset, llama, window=30)
    server.faults = [None] * 15 + [says(503)] * 100
    options: dict[str, Any] = {"conventions": ["hf-stride", "gptq"], "tokenizer": str(llama), "longest": 32}
    with pytest.raises(UnreachableError, match="503: busy; 5 times; run the same command later"):
        lb.measure_conventions(f"completions:{server.url}", dataset, results=path, **options)
    server.faults, server.asked = [], 0
    found = lb.measure_conventions(f"completions:{server.url}", dataset, results=path, **options)
    assert found[0].number == pytest.approx(honest.number)


def test_what_does_not_fit_is_said(server, dataset, llama):
    with pytest.raises(HarnessError, match="needs --tokenizer"):
        measured(server, dataset, llama, tokenizer=None)
    with pytest.raises(HarnessError, match="expected http://HOST:PORT/v1"):
        lb.measure("completions:localhost", dataset, convention="gptq", tokenizer=str(llama))
    with pytest.raises(HarnessError, match="does not report the context length"):
        measured(server, dataset, llama, served_model="other")
    with pytest.raises(UnreachableError, match=r"no answer .*run the same command later to resume"):
        lb.measure("completions:http://127.0.0.1:1/v1", dataset, convention="gptq", tokenizer=str(llama))


def test_another_tokenizer_is_found_out(server, dataset, llama, tmp_path):
    transformers = importlib.import_module("transformers")
    other = json.loads((llama / "tokenizer.json").read_text())
    vocabulary = other["model"]["vocab"]
    vocabulary["e"], vocabulary["o"] = vocabulary["o"], vocabulary["e"]
    for path in llama.iterdir():
        (tmp_path / path.name).write_bytes(path.read_bytes())
    (tmp_path / "tokenizer.json").write_text(json.dumps(other))
    assert transformers.AutoTokenizer.from_pretrained(tmp_path).encode("zoo")
    with pytest.raises(HarnessError, match="--tokenizer does not fit tiny"):
        measured(server, dataset, tmp_path)


def test_the_command(server, dataset, llama):
    words = ["run", f"completions:{server.url}", "--data", str(dataset), "--convention", "gptq"]
    words += ["--tokenizer", str(llama), "--served-model", "tiny", "--longest", "66"]
    assert "windows:64" in invoke(commands, *words)
