"""An OAuth 2 token: read from a file or the environment, and sent to the wiki that it is for."""

from __future__ import annotations

import os
import re
from pathlib import Path

from requests import PreparedRequest
from requests.auth import AuthBase

from wikitext_builder.errors import BuilderError

VARIABLE = "WIKITEXT_BUILDER_TOKEN"
FORM = re.compile(r"[A-Za-z0-9._~+/-]{20,}=*")  # RFC 6750, 2.1; Wikimedia's have some hundred characters


class Token(AuthBase):
    """A token, whose text no repr has.

    >>> Token("eyJ0eXAiOiJKV1QiLCJh")
    Token()
    """

    def __init__(self, text: str) -> None:
        self._text = text

    def __repr__(self) -> str:
        return "Token()"

    def __call__(self, request: PreparedRequest) -> PreparedRequest:
        """Name the account of a request."""
        request.headers["Authorization"] = f"Bearer {self._text}"
        return request


def read_token(file: str | Path | None, *, trusted: bool) -> Token | None:
    """Return the token of a file; without a file that of the environment, if there is one.

    Args:
        file: A text file with the token and nothing else.
        trusted: The wiki is one that the variable is meant for. A file names its wiki by the same command.
    """
    if file is None:
        source, text = VARIABLE, os.environ.get(VARIABLE, "") if trusted else ""
        if not text:
            return None
    else:
        source = f"--token-file {file}"
        try:
            text = Path(file).read_text(encoding="ascii", errors="replace")
        except OSError as error:
            raise BuilderError(f"{source}: {error.strerror or error}; give a file with a token") from error
    if not FORM.fullmatch(text.strip()):  # the error does not quote it: a part may be a token
        raise BuilderError(
            f"{source}: expected one OAuth 2 access token and nothing else (20 or more of the characters"
            f" A-Z a-z 0-9 . _ ~ + / -), found something else of {len(text):,} characters"
        )
    return Token(text.strip())
