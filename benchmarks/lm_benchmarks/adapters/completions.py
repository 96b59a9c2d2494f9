"""Models behind an endpoint for completions with log-probabilities, such as OpenAI's and vLLM's.

The protocol: `POST URL/completions` with `model`, `prompt` (the ids of pieces), `echo` true, `logprobs` 1,
`max_tokens` 1 and `temperature` 0. The answer has `choices[0].logprobs.token_logprobs`: natural
log-probabilities, null for the first piece, one per piece of the prompt and one for the piece that the server
adds. `tokens` of the first answer are checked if present. `GET URL/models` names the models and, as
`max_model_len`, how many pieces they read.

The tokenizer is loaded by `transformers`. The weights are not seen: a number is only as good as the server's
answers. A key is read from OPENAI_API_KEY and never stored.
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

PARALLEL_REQUESTS: Final = 4
RETRIES: Final = 5
FIRST_WAIT_SECONDS: Final = 0.5  # doubles with each attempt
MAX_WAIT_SECONDS: Final = 120.0  # that the server may ask for
MAX_ANSWER_BYTES: Final = 1 << 26
TRANSIENT_STATUSES: Final = (408, 429, 500, 502, 503, 504)
ADDRESS_ERRORS: Final = (
    requests.exceptions.MissingSchema,
    requests.exceptions.InvalidSchema,
    requests.exceptions.InvalidURL,
)
EXPECTED_ADDRESS: Final = "not a server address; expected http://HOST:PORT/v1"
ROUNDING: Final = 1e-3  # nats above 0 that a score may have
PROBE_TEXT: Final = "The end of the line, and the start of another."


class Endpoint(PieceModel):
    """A model that runs on a server; see `PieceModel`."""

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
        """Ask a server for its models, and score a line to check that it follows the protocol.

        `url` is without `/completions`: http://localhost:8000/v1. `served_model` is the server's name for the
        model (None: its only one), `longest` the number of pieces of its context (None: what it reports).
        """
        self.url = without_secrets(url).rstrip("/")
        if tokenizer is None:
            raise HarnessError(
                f"completions:{self.url} needs --tokenizer: the folder of the model's tokenizer, or its name"
            )
        try:
            self._address = urlsplit(url)
            login = [part.encode() for part in get_auth_from_url(url)]
        except ValueError:  # the error may quote the whole address
            raise HarnessError(f"{self.url}: {EXPECTED_ADDRESS}") from None
        self._patience = patience
        self._session = requests.Session()
        retry = _Retry(
            RETRIES,
            allowed_methods=None,
            status_forcelist=TRANSIENT_STATUSES,
            backoff_factor=FIRST_WAIT_SECONDS,
            raise_on_status=False,
        )
        for scheme in ("http://", "https://"):
            self._session.mount(scheme, HTTPAdapter(max_retries=retry))
        login_auth = HTTPBasicAuth(*login) if any(login) else None
        # Without any `auth`, requests sends the credentials in ~/.netrc.
        self._session.auth = login_auth or (lambda request: request)
        if key := os.environ.get("OPENAI_API_KEY", "").strip():
            # Checked here, because the library's error would quote the header.
            if not (key.isascii() and key.isprintable()):
                raise HarnessError(
                    "OPENAI_API_KEY has characters that a header cannot hold; set the key again"
                )
            self._session.headers["Authorization"] = f"Bearer {key}"
        served_models = self._models() if served_model is None or longest is None else {}
        if served_model is None and len(served_models) != 1:
            raise HarnessError(
                f"{self.url}: {len(served_models)} models ({', '.join(served_models)[:200]}); choose one with"
                " --served-model"
            )
        self.served = served_model or next(iter(served_models))
        context_length = served_models.get(self.served) if longest is None else longest
        # The server also reads the last target, and the piece that it adds.
        reads = None if context_length is None else context_length - 2
        if reads is None and windows.get("window") is None:
            raise HarnessError(
                f"{self.url} does not report the context length of {self.served}; give it with --longest"
            )
        super().__init__(load_tokenizer(tokenizer), vocabulary, longest=reads, **windows)
        self._probe()

    @property
    def digest(self) -> str:
        """sha256 of the model's name, its server's address and the tokenizer; the weights are not seen."""
        identity = (self.served, self.url, str(rules_of(self._tokenizer)))
        return hashlib.sha256("\n".join(identity).encode(errors="surrogateescape")).hexdigest()

    @property
    def implementation(self) -> dict[str, object]:
        """The facts of the implementation that decide digits, for signatures."""
        return {"dtype": "unknown", "weights": "unseen", "served": self.served}

    def target_log_probs(self, windows: Sequence[Window]) -> Iterator[Tensor]:
        """Natural log-probabilities of the targets of each window, in float64, in order."""
        threads = ThreadPoolExecutor(PARALLEL_REQUESTS)
        try:
            yield from threads.map(self._scored, windows)
        finally:
            threads.shutdown(cancel_futures=True)

    def _scored(self, window: Window) -> Tensor:
        pieces = [*window.inputs, window.targets[-1]]
        scores = self._logprobs(pieces)["token_logprobs"][len(pieces) - len(window.targets) : len(pieces)]
        return torch.tensor(scores, dtype=torch.float64)

    def _logprobs(self, pieces: list[int], **options: bool) -> dict[str, Any]:
        request = {"model": self.served, "prompt": pieces, "echo": True, "logprobs": 1, **options}
        answer = self._ask("/completions", {**request, "max_tokens": 1, "temperature": 0})
        try:
            log_probs = answer["choices"][0]["logprobs"]
            # Some servers score only the piece that they add.
            if log_probs is None or len(log_probs.get("token_logprobs") or ()) < 2:
                raise HarnessError(
                    f"{self.url} returns no log-probabilities of the prompt: `logprobs` is"
                    f" {json.dumps(log_probs):.60}; expected a server that gives them with `echo` and"
                    " `logprobs`, such as vLLM"
                )
            return checked(log_probs, len(pieces))
        except (KeyError, IndexError, TypeError, ValueError, AttributeError, OverflowError) as error:
            raise HarnessError(
                f"{self.url}: {type(error).__name__}: {error}; expected completions with `echo` and"
                " `logprobs` for a prompt of ids"
            ) from error

    def _probe(self) -> None:
        """Score a line, and check that the server reads its pieces as the tokenizer means them.

        If vLLM names tokens by their ids, which fit any tokenizer, it is asked for their text.
        """
        pieces = self._tokenizer.encode(PROBE_TEXT, add_special_tokens=False)
        tokens = self._logprobs(pieces).get("tokens")
        if tokens and str(tokens[0]).startswith("token_id:"):
            with suppress(HarnessError):  # some versions reject unknown options
                tokens = self._logprobs(pieces, return_tokens_as_token_ids=False).get("tokens")
        if tokens is not None and not _is_spelling(tokens, pieces, self._tokenizer):
            raise HarnessError(
                f"{self.url} decodes the tokens of {PROBE_TEXT!r} as {''.join(map(str, tokens))[:80]!r};"
                f" --tokenizer does not fit {self.served}"
            )

    def _models(self) -> dict[str, int | None]:
        """Return the names of models, and how many pieces they read."""
        answer = self._ask("/models", None)
        try:
            models = {str(model["id"]): model.get("max_model_len") for model in answer["data"]}
        except (KeyError, TypeError, AttributeError) as error:
            raise HarnessError(
                f"{self.url}/models: {str(answer)[:80]!r}; expected a list of models"
            ) from error
        return {name: size if isinstance(size, int) and size > 1 else None for name, size in models.items()}

    def _ask(self, path: str, body: dict[str, Any] | None) -> Any:  # noqa: ANN401 - as JSON gives it
        """Return the server's answer, with retries while it is busy."""
        method = "GET" if body is None else "POST"
        address = self._address._replace(path=self._address.path.rstrip("/") + path).geturl()
        limits: dict[str, Any] = {"timeout": self._patience, "stream": True, "allow_redirects": False}
        try:
            with self._session.request(method, address, json=body, **limits) as reply:
                status, content = reply.status_code, self._body(reply)
        except ADDRESS_ERRORS:  # the error quotes the whole address
            raise HarnessError(f"{self.url}: {EXPECTED_ADDRESS}") from None
        except (requests.RequestException, urllib3.exceptions.HTTPError, OSError) as error:
            reason = _public(f"{type(error).__name__}: {error}")[:300]
            raise UnreachableError(
                f"{self.url}{path}: no answer ({reason}); run the same command later to resume"
            ) from None
        if status != requests.codes.ok:
            kind, expected = HarnessError, "expected status 200"
            if status in TRANSIENT_STATUSES:
                kind, expected = UnreachableError, f"{RETRIES} times; run the same command later to resume"
            message = _public(content.decode(errors="replace"))[:200]
            raise kind(f"{self.url}{path}: status {status}: {message}; {expected}")
        try:
            return json.loads(content)
        except (ValueError, RecursionError) as error:
            raise HarnessError(f"{self.url}{path}: {error}; expected JSON") from error

    def _body(self, reply: requests.Response) -> bytes:
        deadline, content = monotonic() + self._patience, bytearray()
        while part := reply.raw.read1(1 << 16, decode_content=True):
            content += part
            if len(content) > MAX_ANSWER_BYTES:
                raise HarnessError(f"{self.url}: an answer of more than {MAX_ANSWER_BYTES} bytes")
            if monotonic() > deadline:
                raise TimeoutError(f"the answer is not complete after {self._patience:g} s")
        return bytes(content)


class _Retry(urllib3.Retry):
    """Retries any request that failed, but does not wait for hours."""

    def get_retry_after(self, response: urllib3.BaseHTTPResponse) -> float | None:
        """Return the seconds that the server asks to wait."""
        seconds = super().get_retry_after(response)
        if seconds is not None and seconds > MAX_WAIT_SECONDS:
            raise TimeoutError(f"the server asks to retry in {seconds:,.0f} s")
        return seconds


def _is_spelling(tokens: list[Any], pieces: Sequence[int], tokenizer: Any) -> bool:  # noqa: ANN401
    """Return True if the tokens of an answer are PROBE_TEXT, in any of the spellings of vLLM's versions.

    They are parts of the text, or single tokens: as in the vocabulary (`Ġthat`, `▁that`), decoded, or ids.
    """
    read = tokens[: len(pieces)]
    if "".join(map(str, read)).strip() == PROBE_TEXT:
        return True
    spellings = (
        (tokenizer.convert_ids_to_tokens(piece), tokenizer.decode([piece]), f"token_id:{piece}")
        for piece in pieces
    )
    return len(read) == len(pieces) and all(
        token in allowed for token, allowed in zip(read, spellings, strict=True)
    )


def checked(log_probs: dict[str, Any], pieces: int) -> dict[str, Any]:
    """Return the log-probabilities of an answer, `logprobs` of a choice; raise if they are malformed."""
    scores = log_probs["token_logprobs"]
    if len(scores) not in (pieces, pieces + 1):
        raise ValueError(f"{len(scores)} log-probabilities for {pieces} pieces")
    if not isinstance(log_probs.get("tokens", []), list | None):
        raise TypeError(f"tokens {log_probs['tokens']!r:.40}")
    for score in scores[1:pieces]:
        if isinstance(score, bool) or not isinstance(score, int | float) or not math.isfinite(score):
            raise ValueError(f"a log-probability {score!r}")
        if score > ROUNDING:
            raise ValueError(f"a log-probability of {score}, above 0")
    return log_probs


def _public(text: str) -> str:
    """Remove the secrets of an address, which connection errors and error pages quote.

    >>> _public("url: /v1/models?api-key=1%7CSECRET (refused)")
    'url: /v1/models (refused)'
    """
    return re.sub(r"\?\S*", "", without_secrets(text))
