"""A self-contained HTML file in which you browse a text: point at a word to see how it was predicted."""

from __future__ import annotations

import base64
import hashlib
import html
import json
from collections.abc import Sequence
from importlib.resources import files
from typing import Any

from ps_models.explanation.predictions import Prediction
from wikitext_builder.dataset.vocabulary import Vocabulary

DIGITS = 5  # of a probability that is shown


def page(title: str, summary: str, predictions: Sequence[Prediction], vocabulary: Vocabulary) -> str:
    """The HTML. It loads nothing, and its content security policy forbids it to.

    Args:
        title: Of the file.
        summary: A line about what is shown: the model, the text, the score and its signature.
        predictions: In the order of the text.
        vocabulary: The words of the ids.
    """
    style, script = _resource("explain.css"), _resource("explain.js")
    policy = (
        f"default-src 'none'; script-src '{_hash(script)}'; style-src '{_hash(style)}';"
        " base-uri 'none'; form-action 'none'"
    )
    fields = {
        "POLICY": html.escape(policy, quote=True),
        "TITLE": html.escape(title),
        "SUMMARY": html.escape(summary),
        "STYLE": style,
        "SCRIPT": script,
        "DATA": _json(_data(predictions, vocabulary)),
    }
    text = _resource("explain.html")
    pieces = text.split("@")  # fields are at odd places; the content of a field is not searched again
    return "".join(fields[piece] if index % 2 else piece for index, piece in enumerate(pieces))


def _data(predictions: Sequence[Prediction], vocabulary: Vocabulary) -> dict[str, Any]:
    """Each word once; predictions refer to words by their places."""
    used: dict[int, int] = {}

    def place(word: int) -> int:
        return used.setdefault(word, len(used))

    def shares(pairs: Sequence[tuple[int, float]]) -> list[list[float]]:
        return [[place(word), _short(share)] for word, share in pairs]

    entries = [
        {
            "w": place(prediction.word),
            "p": _short(prediction.probability) or prediction.probability,
            "gate": None if prediction.gate is None else _short(prediction.gate),
            "mixture": shares(prediction.mixture),
            "vocabulary": shares(prediction.vocabulary),
            "pointer": shares(prediction.pointer),
            "attention": [[back, _short(share)] for back, share in prediction.attention],
            "window": len(prediction.window),
        }
        for prediction in predictions
    ]
    # The windows of the first words also hold words from before the text that is shown.
    before = [place(word) for word in predictions[0].window] if predictions else []
    return {"words": [vocabulary.tokens[word] for word in used], "before": before, "predictions": entries}


def _short(value: float) -> float:
    return float(f"{value:.{DIGITS}g}")


def _json(value: object) -> str:
    """JSON that ends no element and opens no comment, whatever the words are."""
    return (
        json.dumps(value, ensure_ascii=True, separators=(",", ":"))
        .replace("<", "\\u003c")
        .replace("&", "\\u0026")
    )


def _hash(content: str) -> str:
    return "sha256-" + base64.b64encode(hashlib.sha256(content.encode()).digest()).decode()


def _resource(name: str) -> str:
    return files("ps_models.explanation").joinpath(name).read_text(encoding="utf-8")
