"""Models behind an endpoint of completions with log-probabilities, as OpenAI's and vLLM's.

The protocol: `POST URL/completions` with `model`, `prompt` (the ids of pieces), `echo` true, `logprobs` 1,
`max_tokens` 1 and `temperature` 0. The answer has `choices[0].logprobs.token_logprobs`: natural
log-probabilities, null for the first piece, one per piece of the prompt and one for the piece that the server
adds. `tokens` of the first answer are checked if they are there. `GET URL/models` names the models and, as
`max_model_len`, how many pieces they read.

The tokenizer is one of `transformers`. The weights are not seen: a number says only what the server said.
A key is taken from OPENAI_API_KEY and never stored.
"""

from __future__ import annotations

import hashlib
import json
import math
import os
import re
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from time import monotonic
from typing import Any, Final
from urllib.parse import urlsplit

import requests
import torch
import urllib3
from requests.adapters import HTTPAdapter
from requests.auth import HTTPBasicAuth
from requests.utils import get_auth_from_url
from torch import Tensor

from lm_benchmarks.adapters.piece_model import PieceModel, rules_of
from lm_benchmarks.adapters.transformers import load_tokenizer
from lm_benchmarks.choices import HarnessError, UnreachableError
from lm_benchmarks.conventions import Window
from wikitext_builder.dataset.vocabulary import Vocabulary
from wikitext_builder.errors import without_secrets

PARALLEL: Final = 4  # requests at once
RETRIES: Final = 5
WAIT: Final = 0.5  # seconds; doubles with each attempt
LONGEST_WAIT: Final = 120.0  # seconds that the server may ask for
LONGEST: Final = 1 << 26  # bytes of an answer
AGAIN: Final = (408, 429, 500, 502, 503, 504)  # states that can pass
WRONG: Final = (
    requests.exceptions.MissingSchema,
    requests.exceptions.InvalidSchema,
    requests.exceptions.InvalidURL,
)
EXPECTED: Final = "no address of a server; expected http://HOST:PORT/v1"
ROUNDING: Final = 1e-3  # nats above 0 that a score may have
PROBE: Final = "The end of the line, and the start of another."


class Endpoint(PieceModel):
    """A model that a server runs; see `PieceModel`."""

    def __init__(
        self,
        url: str,
        vocabulary: Vocabulary,
        *,
        tokenizer: str | None,
        served_model: str | None = None,
        longest: int | None = None,
        patience: float,
        **windows: int | None,
    ) -> None:
        """Ask a server what it has, and score a line to see whether it keeps the protocol.

        `url` is without `/completions`: http://localhost:8000/v1. `served_model` is what the server calls
        the model (None: the only one), `longest` how many pieces it holds at once (None: what it says).
        """
        self.url = without_secrets(url).rstrip("/")
        if tokenizer is None:
            raise HarnessError(
                f"completions:{self.url} needs --tokenizer: the folder of the model's tokenizer, or its name"
            )
        try:
            self._address = urlsplit(url)
            login = [part.encode() for part in get_auth_from_url(url)]
        except ValueError:  # its words may quote the whole address
            raise HarnessError(f"{self.url}: {EXPECTED}") from None
        self._patience = patience
        self._session = requests.Session()
        retry = _Retry(
            RETRIES, allowed_methods=None, status_forcelist=AGAIN, backoff_factor=WAIT, raise_on_status=False
        )
        for scheme in ("http://", "https://"):
            self._session.mount(scheme, HTTPAdapter(max_retries=retry))
        own = HTTPBasicAuth(*login) if any(login) else None
        self._session.auth = own or (lambda request: request)  # else requests sends what ~/.netrc has
        if key := os.environ.get("OPENAI_API_KEY", "").strip():
            if not (key.isascii() and key.isprintable()):  # and not in an error that quotes the header
                raise HarnessError(
                    "OPENAI_API_KEY has characters that a header cannot hold; set the key again"
                )
            self._session.headers["Authorization"] = f"Bearer {key}"
        known = self._models() if served_model is None or longest is None else {}
        if served_model is None and len(known) != 1:
            raise HarnessError(
                f"{self.url}: {len(known)} models ({', '.join(known)[:200]}); choose one with --served-model"
            )
        self.served = served_model or next(iter(known))
        told = known.get(self.served) if longest is None else longest
        reads = None if told is None else told - 2  # it also reads the last target and the piece that it adds
        if reads is None and windows.get("window") is None:
            raise HarnessError(
                f"{self.url} does not report the context length of {self.served}; give it with --longest"
            )
        super().__init__(load_tokenizer(tokenizer), vocabulary, longest=reads, **windows)
        self._probe()

    @property
    def digest(self) -> str:
        """sha256 of the model's name, its server's address and the tokenizer: the weights are not seen."""
        known = (self.served, self.url, str(rules_of(self._tokenizer)))
        return hashlib.sha256("\n".join(known).encode(errors="surrogateescape")).hexdigest()

    @property
    def implementation(self) -> dict[str, object]:
        """What of the implementation decides digits, for signatures."""
        return {"dtype": "unknown", "weights": "unseen", "served": self.served}

    def target_log_probs(self, windows: Sequence[Window]) -> Iterator[Tensor]:
        """Natural log-probabilities of the targets of each window, in float64, in order."""
        threads = ThreadPoolExecutor(PARALLEL)
        try:
            yield from threads.map(self._scored, windows)
        finally:
            threads.shutdown(cancel_futures=True)

    def _scored(self, window: Window) -> Tensor:
        pieces = [*window.inputs, window.targets[-1]]
        found = self._logprobs(pieces)["token_logprobs"][len(pieces) - len(window.targets) : len(pieces)]
        return torch.tensor(found, dtype=torch.float64)

    def _logprobs(self, pieces: list[int], **more: bool) -> dict[str, Any]:
        question = {"model": self.served, "prompt": pieces, "echo": True, "logprobs": 1, **more}
        answer = self._ask("/completions", {**question, "max_tokens": 1, "temperature": 0})
        try:
            found = answer["choices"][0]["logprobs"]
            if found is None or len(found.get("token_logprobs") or ()) < 2:  # or of the added piece alone
                raise HarnessError(
                    f"{self.url} returns no log-probabilities of the prompt: `logprobs` is"
                    f" {json.dumps(found):.60}; expected a server that gives them with `echo` and `logprobs`,"
                    " such as vLLM"
                )
            return checked(found, len(pieces))
        except (KeyError, IndexError, TypeError, ValueError, AttributeError, OverflowError) as error:
            raise HarnessError(
                f"{self.url}: {type(error).__name__}: {error}; expected completions with `echo` and"
                " `logprobs` for a prompt of ids"
            ) from error

    def _probe(self) -> None:
        """Score a line; the server must read its pieces as the tokenizer means them.

        vLLM is asked for the text of tokens if it names them by their ids, which any tokenizer has.
        """
        pieces = self._tokenizer.encode(PROBE, add_special_tokens=False)
        tokens = self._logprobs(pieces).get("tokens")
        if tokens and str(tokens[0]).startswith("token_id:"):  # nothing of the server's tokenizer
            with suppress(HarnessError):  # some versions refuse options that they do not know
                tokens = self._logprobs(pieces, return_tokens_as_token_ids=False).get("tokens")
        if tokens is not None and not _is_spelling(tokens, pieces, self._tokenizer):
            raise HarnessError(
                f"{self.url} decodes the tokens of {PROBE!r} as {''.join(map(str, tokens))[:80]!r};"
                f" --tokenizer does not fit {self.served}"
            )

    def _models(self) -> dict[str, int | None]:
        """The names of models, and how many pieces each reads."""
        answer = self._ask("/models", None)
        try:
            found = {str(one["id"]): one.get("max_model_len") for one in answer["data"]}
        except (KeyError, TypeError, AttributeError) as error:
            raise HarnessError(
                f"{self.url}/models: {str(answer)[:80]!r}; expected a list of models"
            ) from error
        return {name: size if isinstance(size, int) and size > 1 else None for name, size in found.items()}

    def _ask(self, path: str, question: dict[str, Any] | None) -> Any:  # noqa: ANN401 - as JSON gives it
        """The answer of the server, which is asked again while it is busy."""
        method = "GET" if question is None else "POST"
        address = self._address._replace(path=self._address.path.rstrip("/") + path).geturl()
        limits: dict[str, Any] = {"timeout": self._patience, "stream": True, "allow_redirects": False}
        try:
            with self._session.request(method, address, json=question, **limits) as reply:
                status, content = reply.status_code, self._body(reply)
        except WRONG:  # its own words quote the whole address
            raise HarnessError(f"{self.url}: {EXPECTED}") from None
        except (requests.RequestException, urllib3.exceptions.HTTPError, OSError) as error:
            why = _public(f"{type(error).__name__}: {error}")[:300]
            raise UnreachableError(
                f"{self.url}{path}: no answer ({why}); run the same command later to resume"
            ) from None
        if status != requests.codes.ok:
            kind, expected = HarnessError, "expected status 200"
            if status in AGAIN:
                kind, expected = UnreachableError, f"{RETRIES} times; run the same command later to resume"
            said = _public(content.decode(errors="replace"))[:200]
            raise kind(f"{self.url}{path}: status {status}: {said}; {expected}")
        try:
            return json.loads(content)
        except (ValueError, RecursionError) as error:
            raise HarnessError(f"{self.url}{path}: {error}; expected JSON") from error

    def _body(self, reply: requests.Response) -> bytes:
        deadline, content = monotonic() + self._patience, bytearray()
        while part := reply.raw.read1(1 << 16, decode_content=True):
            content += part
            if len(content) > LONGEST:
                raise HarnessError(f"{self.url}: an answer of more than {LONGEST} bytes")
            if monotonic() > deadline:
                raise TimeoutError(f"the answer is not complete after {self._patience:g} s")
        return bytes(content)


class _Retry(urllib3.Retry):
    """Repeats any request that did not get through, but does not wait for hours."""

    def get_retry_after(self, response: urllib3.BaseHTTPResponse) -> float | None:
        """The seconds that the server asks to wait."""
        seconds = super().get_retry_after(response)
        if seconds is not None and seconds > LONGEST_WAIT:
            raise TimeoutError(f"the server asks to retry in {seconds:,.0f} s")
        return seconds


def _is_spelling(tokens: list[Any], pieces: Sequence[int], tokenizer: Any) -> bool:  # noqa: ANN401
    """Whether the tokens of an answer are PROBE, in any of the ways in which versions of vLLM spell it.

    They are parts of the text, or single tokens: as in the vocabulary (`Ġthat`, `▁that`), decoded, or ids.
    """
    read = tokens[: len(pieces)]
    if "".join(map(str, read)).strip() == PROBE:
        return True
    spellings = (
        (tokenizer.convert_ids_to_tokens(piece), tokenizer.decode([piece]), f"token_id:{piece}")
        for piece in pieces
    )
    return len(read) == len(pieces) and all(
        token in ways for token, ways in zip(read, spellings, strict=True)
    )


def checked(found: dict[str, Any], pieces: int) -> dict[str, Any]:
    """The log-probabilities of an answer, `logprobs` of a choice, if they are what they must be."""
    scores = found["token_logprobs"]
    if len(scores) not in (pieces, pieces + 1):
        raise ValueError(f"{len(scores)} log-probabilities for {pieces} pieces")
    if not isinstance(found.get("tokens", []), list | None):
        raise TypeError(f"tokens {found['tokens']!r:.40}")
    for score in scores[1:pieces]:
        if isinstance(score, bool) or not isinstance(score, int | float) or not math.isfinite(score):
            raise ValueError(f"a log-probability {score!r}")
        if score > ROUNDING:
            raise ValueError(f"a log-probability of {score}, above 0")
    return found


def _public(text: str) -> str:
    """A text without the secrets of the address, which errors of connections and pages of servers quote.

    >>> _public("url: /v1/models?api-key=1%7CSECRET (refused)")
    'url: /v1/models (refused)'
    """
    return re.sub(r"\?\S*", "", without_secrets(text))
