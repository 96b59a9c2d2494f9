"""An endpoint of completions: a real server on this machine with a real model, honest or hostile."""

import base64
import gzip
import importlib
import itertools
import json
import math
import re
import shutil
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
from tests.lm_benchmarks.results import error_of
from tests.lm_benchmarks.tiny_causal import make_sentence_model

AutoTokenizer: Any = pytest.importorskip(
    "transformers", reason="needs the package transformers"
).AutoTokenizer


def spelled_in_parts(tokenizer, pieces):
    """The text of all pieces in parts, as vLLM gives it since July 2026."""
    texts = [tokenizer.decode(pieces[:end]) for end in range(len(pieces) + 1)]
    return [after[len(before) :] for before, after in itertools.pairwise(texts)]


SPELLINGS: dict[str, Any] = {
    "parts": spelled_in_parts,
    "vocabulary": lambda tokenizer, pieces: tokenizer.convert_ids_to_tokens(pieces),  # vLLM 0.8.3
    "single": lambda tokenizer, pieces: [tokenizer.decode([piece]) for piece in pieces],
    "ids": lambda _tokenizer, pieces: [f"token_id:{piece}" for piece in pieces],
}


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
        self.spelling = "single"
        self.way_of_ids = "told"  # whether it does what it is asked for: told, deaf or refusing
        self.keys: list[str | None] = []
        self.paths: list[str] = []
        self.url = f"http://127.0.0.1:{self.server_address[1]}/v1"
        threading.Thread(target=self.serve_forever, daemon=True).start()

    def handle_error(self, request, client_address):
        """A client that hung up is no error of the server's."""

    @torch.no_grad()
    def scores(self, prompt, as_ids=True):
        logits = self.model(torch.tensor([prompt])).logits[0].double().log_softmax(-1)
        own = [float(logits[place, piece]) for place, piece in enumerate(prompt[1:])]
        added = int(logits[-1].argmax())
        is_asked = self.spelling == "ids" and not (as_ids or self.way_of_ids == "deaf")
        spell = SPELLINGS["single" if is_asked else self.spelling]
        tokens = spell(self.tokenizer, [*prompt, added])
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
            as_ids = question.get("return_tokens_as_token_ids", True)
            if not as_ids and self.server.way_of_ids == "refusing":
                fault = says(400, b"Extra inputs are not permitted")
            found = self.server.scores(question["prompt"], as_ids)
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


def scores(change):
    """An answer whose log-probabilities are changed."""
    return lambda handler, found: handler.answer(
        200, {"choices": [{"logprobs": {"token_logprobs": change(found["token_logprobs"])}}]}
    )


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
    server.faults, server.spelling, server.way_of_ids = [], "single", "told"
    monkeypatch.setattr(completions, "FIRST_WAIT_SECONDS", 0.01)
    monkeypatch.setattr(completions, "MAX_ANSWER_BYTES", 2_000_000)
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)


@pytest.fixture(scope="module")
def dataset(tmp_path_factory):
    return write_dataset(tmp_path_factory.mktemp("data") / "tiny", 60)


def measured(server, dataset, llama, *, model="", **options):
    options = {"convention": "gptq", "check": False, "tokenizer": str(llama), **options}
    (found,) = lb.measure(model or f"completions:{server.url}", dataset, **options)
    return found


def test_numbers_are_those_of_the_model_itself(server, dataset, llama):
    names = ["paper", "lm-eval", "gptq", "hf-stride", "bits-per-byte"]
    options: dict[str, Any] = {"conventions": names, "tokenizer": str(llama), "longest": 102}
    served = lb.measure_conventions(f"completions:{server.url}", dataset, **options)
    own = lb.measure_conventions(f"transformers:{llama}", dataset, conventions=names, window=100)
    assert served[2].result
    assert served[2].result.signature["windows"] == "100"
    assert [one.number for one in served] == pytest.approx([one.number for one in own], rel=1e-6)


def test_the_signature_says_what_is_known(server, dataset, llama):
    found = measured(server, dataset, llama, check=True)
    signature = found.signature
    assert signature["model"].startswith("tiny+")
    assert (signature["served"], signature["weights"], signature["dtype"]) == ("tiny", "unseen", "unknown")
    assert signature["windows"] == "198"
    assert (found.broken, found.tried.unit) == ((), "windows")
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
    """What ~/.netrc has does not replace it, and one that no header holds is refused and not shown."""
    (tmp_path / "netrc").write_text("machine 127.0.0.1 login me password of-netrc\n")
    monkeypatch.setenv("NETRC", str(tmp_path / "netrc"))
    login = "Basic " + base64.b64encode("me:p@sß".encode()).decode()
    for key, address, sent in (
        ("secret-key", server.url, "Bearer secret-key"),
        ("secret-key\n", server.url, "Bearer secret-key"),  # as `cat` of a file gives it
        ("", server.url, None),
        ("", server.url.replace("://", "://me:p@s%C3%9F@"), login),
    ):
        monkeypatch.setenv("OPENAI_API_KEY", key)
        measured(
            server, dataset, llama, model=f"completions:{address}", results=tmp_path / "r.jsonl", resume=False
        )
        assert set(server.keys[-3:]) == {sent}
    assert "secret-key" not in (tmp_path / "r.jsonl").read_text()
    for key in ("secret\nkey", "secret…key"):
        monkeypatch.setenv("OPENAI_API_KEY", key)
        with pytest.raises(HarnessError, match="OPENAI_API_KEY has characters") as error:
            measured(server, dataset, llama)
        assert "secret" not in str(error.value)


def test_secrets_of_an_address_reach_no_record_no_error_and_no_log(
    server, dataset, llama, tmp_path, monkeypatch, caplog
):
    caplog.set_level("DEBUG", "lm_benchmarks")
    address = server.url.replace("://", "://me:p@ss@") + "?api-key=hidden-key"
    model = f"completions:{address}"
    found = measured(server, dataset, llama, model=model, command=["x", model], results=tmp_path / "r.jsonl")
    assert server.paths[-1] == "/v1/completions?api-key=hidden-key"  # which the server gets
    assert found.specification == f"completions:{server.url}"
    assert measured(server, dataset, llama).signature == found.signature  # which has no trace of the key
    texts = [(tmp_path / "r.jsonl").read_text(), caplog.text]
    monkeypatch.setattr(completions, "RETRIES", 1)
    gone = address.replace(f":{server.server_address[1]}/", ":9/")
    page = b"no page /v1/completions?api-key=hidden-key" + b" " * 130 + address.encode()
    folder = str(llama)
    for wrong, tokenizer, message in (
        (gone, folder, "no answer"),
        (gone.replace("hidden", "1|hidden"), folder, "no answer"),  # which the request encodes
        (address.replace("http", "httq"), folder, "not a server address"),
        ("http://me:p@ss@[::1?k=hidden-key", folder, "not a server address"),
        ("http://me:p@ss\udcff@127.0.0.1:9/v1?k=hidden-key", folder, "no answer|not a server"),
        (address, folder, "404: no page /v1/completions  "),
        (address, None, "needs --tokenizer"),
    ):
        server.faults = [says(404, page)]
        with pytest.raises(HarnessError, match=message) as error:
            measured(server, dataset, llama, model=f"completions:{wrong}", tokenizer=tokenizer)
        texts.append(str(error.value))
    secrets = ("me:", "p@ss", "p%40ss", "hidden-key")
    assert [text for text in texts if any(secret in text for secret in secrets)] == []


@pytest.mark.parametrize(
    "fault",
    [says(429), says(429, Retry_After=1), says(503), says(500, b"\xff" * 9), hangs, dies],
    ids=["429", "retry-after", "503", "500", "hangs", "dies"],
)
def test_what_passes_is_tried_again(server, dataset, llama, fault):
    server.asked = 0
    honest = measured(server, dataset, llama)
    asked, server.asked = server.asked, 0
    server.faults = [None, fault, fault]
    assert measured(server, dataset, llama, patience=2).number == honest.number
    assert server.asked >= asked + 2
    assert not server.faults


@pytest.mark.parametrize("fault", [drips, breaks_off, breaks_packed])
def test_an_answer_that_does_not_end_is_an_error(server, dataset, llama, fault):
    server.faults = [None, fault]
    with pytest.raises(UnreachableError, match=r"no answer .*; run the same command later to resume"):
        measured(server, dataset, llama, patience=1)


HOSTILE = [
    (says(401, b"no key"), "status 401: no key; expected status 200"),
    (says(302, b"", Location="http://127.0.0.1:1/"), "status 302"),
    (says(200, b"<html>"), "expected JSON"),
    (scores(lambda values: [math.nan] * len(values)), "a log-probability nan"),
    (says(200, {"choices": []}), "IndexError"),
    (says(200, {"choices": [{"logprobs": None}]}), "prompt: `logprobs` is null; expected .*, such as vLLM$"),
    (says(200, {"choices": [{"logprobs": {"content": [{}]}}]}), "no log-probabilities of the prompt"),
    (says(200, {"choices": [{"logprobs": [3]}]}), "AttributeError.*expected completions with `echo`"),
    (scores(lambda values: None), "no log-probabilities of the prompt"),
    (scores(lambda values: [-1.0]), "no log-probabilities of the prompt"),
    (scores(lambda values: values[:3]), "3 log-probabilities for"),
    (says(200, [1]), "TypeError"),
    (scores(lambda values: values[:-2]), "log-probabilities for"),
    (scores(lambda values: values * 2), "log-probabilities for"),
    (scores(lambda values: [None] * len(values)), "a log-probability None"),
    (scores(lambda values: [0.5] * len(values)), "above 0"),
    (scores(lambda values: ["-1"] * len(values)), "a log-probability '-1'"),
    (says(429, Retry_After="86400"), r"asks to retry in \d+,\d00 s"),
    (says(200, b" " * 3_000_000), "more than 2000000 bytes"),
]


def test_hostile_answers_are_errors(server, dataset, llama):
    faults = []
    for fault, message in HOSTILE:
        server.faults = [None, fault]
        try:
            faults.append((message, measured(server, dataset, llama)))
        except HarnessError as error:
            if not re.search(message, str(error)):
                faults.append((message, str(error)))
    assert faults == []


def test_a_server_that_stays_busy_is_resumed(server, dataset, llama, tmp_path):
    honest = measured(server, dataset, llama, window=30)
    options: dict[str, Any] = {"conventions": ["hf-stride", "gptq"], "tokenizer": str(llama), "longest": 32}
    options |= {"results": tmp_path / "r.jsonl"}
    server.faults = [None] * 15 + [says(503)] * 100
    with pytest.raises(UnreachableError, match="503: busy; 5 times; run the same command later"):
        lb.measure_conventions(f"completions:{server.url}", dataset, **options)
    server.faults = []
    found = lb.measure_conventions(f"completions:{server.url}", dataset, **options)
    assert found[0].number == pytest.approx(honest.number)


def test_what_does_not_fit_is_said(server, dataset, llama):
    with pytest.raises(HarnessError, match="expected http://HOST:PORT/v1"):
        measured(server, dataset, llama, model="completions:localhost")
    with pytest.raises(HarnessError, match="does not report the context length"):
        measured(server, dataset, llama, served_model="other")
    with pytest.raises(UnreachableError, match=r"no answer .*run the same command later to resume"):
        measured(server, dataset, llama, model="completions:http://127.0.0.1:1/v1")


@pytest.fixture(scope="module")
def sentence_server(tmp_path_factory, dataset):
    """A server whose tokenizer is like SentencePiece's, and the folder of its model."""
    folder = make_sentence_model(
        tmp_path_factory.mktemp("sentence"), dataset / "wiki.test.tokens", window=200
    )
    with Server(folder) as running:
        yield running, folder
        running.shutdown()


@pytest.mark.parametrize("way_of_ids", ["told", "deaf", "refusing"])
def test_tokens_are_spelled_in_any_way_and_another_tokenizer_is_found_out(
    server, sentence_server, dataset, llama, tmp_path, way_of_ids
):
    """A tokenizer of another family, and one of the same size; ids alone do not say which one it is."""
    turned = shutil.copytree(llama, tmp_path / "turned")
    other = json.loads((llama / "tokenizer.json").read_text())
    vocabulary = other["model"]["vocab"]
    vocabulary["e"], vocabulary["o"] = vocabulary["o"], vocabulary["e"]
    (turned / "tokenizer.json").write_text(json.dumps(other))
    sentences, sentence = sentence_server
    sentences.way_of_ids = server.way_of_ids = way_of_ids
    faults = []
    for running, folder, others in ((server, llama, (turned, sentence)), (sentences, sentence, (llama,))):
        (own,) = lb.measure(f"transformers:{folder}", dataset, convention="gptq", check=False, window=198)
        for running.spelling in SPELLINGS:
            found = measured(running, dataset, folder, longest=200).number
            if found != pytest.approx(own.number, rel=1e-6):
                faults.append((folder.name, running.spelling, found))
            for wrong in others if running.spelling != "ids" or way_of_ids == "told" else ():
                why = error_of(measured, running, dataset, wrong, longest=200)
                if "--tokenizer does not fit tiny" not in why:
                    faults.append((running.spelling, wrong.name, why))
    assert faults == []


def test_tokens_that_are_no_texts_are_an_error(server, dataset, llama):
    found = server.scores(AutoTokenizer.from_pretrained(llama).encode(completions.PROBE_TEXT)[1:])
    for tokens, message in ((3, "TypeError: tokens 3; expected completions"), ([3, None], "does not fit")):
        server.faults = [says(200, {"choices": [{"logprobs": {**found, "tokens": tokens}}]})]
        with pytest.raises(HarnessError, match=message):
            measured(server, dataset, llama)


def test_the_command(server, dataset, llama):
    words = ["run", f"completions:{server.url}", "--data", str(dataset), "--convention", "gptq"]
    words += ["--tokenizer", str(llama), "--served-model", "tiny", "--longest", "66"]
    assert "windows:64" in invoke(commands, *words)
