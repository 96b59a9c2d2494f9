"""A self-contained HTML file in which you browse a text: point at a word to see how it was predicted."""

from __future__ import annotations

import base64
import hashlib
import html
import json
from collections.abc import Sequence
from importlib.resources import files
from typing import Any

from ps_models.analysis.predictions import HELP_LEVELS, SURPRISE_LEVELS, Distribution, Prediction
from wikitext_builder.dataset.vocabulary import Vocabulary

DIGITS = 4  # of a probability that is shown
MOST_WORDS = 5000  # of a page: about 4 MB, and a browser stays quick


def page(
    title: str,
    summary: str,
    signature: str,
    predictions: Sequence[Prediction],
    vocabulary: Vocabulary,
    originals: Sequence[str] = (),
) -> str:
    """The HTML. It loads nothing, and its content security policy forbids it to.

    Args:
        title: Of the file.
        summary: A line about what is shown: the text and the score.
        signature: All that decides the score.
        predictions: One or more, in the order of the text.
        vocabulary: The words of the ids.
        originals: The words of the first window and of the text before rare ones became `<unk>`, or none.
    """
    style, script = _resource("explain.css"), _resource("explain.js")
    policy = (
        f"default-src 'none'; script-src '{_hash(script)}'; style-src '{_hash(style)}';"
        " base-uri 'none'; form-action 'none'"
    )
    fields = {
        "POLICY": html.escape(policy, quote=True),
        "KIND": "pointing" if any(one.gain is not None for one in predictions) else "plain",
        "TITLE": html.escape(title),
        "SUMMARY": html.escape(summary),
        "SIGNATURE": html.escape(signature),
        "STYLE": style,
        "SCRIPT": script,
        "DATA": _json(_data(predictions, vocabulary, originals)),
    }
    text = _resource("explain.html")
    pieces = text.split("@")  # fields are at odd places; the content of a field is not searched again
    return "".join(fields[piece] if index % 2 else piece for index, piece in enumerate(pieces))


def _data(
    predictions: Sequence[Prediction], vocabulary: Vocabulary, originals: Sequence[str]
) -> dict[str, Any]:
    """Each word once; predictions refer to words by their places."""
    used: dict[int, int] = {}

    def place(word: int) -> int:
        return used.setdefault(word, len(used))

    def part(found: Distribution | None) -> dict[str, Any] | None:
        if found is None:
            return None
        top = [[place(word), _short(share)] for word, share in found.top]
        return {"p": _short(found.probability), "rank": found.rank, "top": top}

    def named(words: Sequence[int], names: Sequence[str]) -> list[dict[str, Any]]:
        given = names or vocabulary.decode(words)
        return [
            {"word": place(word)} | ({"original": name} if name != vocabulary.tokens[word] else {})
            for word, name in zip(words, given, strict=True)
        ]

    entries = [
        {
            "mixture": part(prediction.mixture),
            "copied": [_short(share) for share in prediction.copied],
            "vocabulary": part(prediction.vocabulary),
            "pointer": part(prediction.pointer),
            "gate": None if prediction.gate is None else _short(prediction.gate),
            "gain": None if prediction.gain is None else _short(prediction.gain),
            "fromPointer": _short(prediction.from_pointer),
            "attention": [[back, _short(share)] for back, share in prediction.attention],
            "window": len(prediction.window),
        }
        for prediction in predictions
    ]
    # The windows of the first words also hold words from before the text that is shown.
    before = predictions[0].window
    own = named([prediction.word for prediction in predictions], originals[len(before) :])
    return {
        "before": named(before, originals[: len(before)]),
        "predictions": [name | entry for name, entry in zip(own, entries, strict=True)],
        "words": [vocabulary.tokens[word] for word in used],
        "types": len(vocabulary),
        "levels": {"factors": HELP_LEVELS, "nats": SURPRISE_LEVELS},
    }


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
    return files("ps_models.analysis").joinpath(name).read_text(encoding="utf-8")
