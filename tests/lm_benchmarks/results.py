"""Results of imagined models, for tests of what is made of results."""

import re

from lm_benchmarks.choices import HarnessError
from lm_benchmarks.metrics import Sums
from lm_benchmarks.records import CheckedPlaces, Epoch, Result, TokenGroup, Trained
from lm_benchmarks.reporting.published import FILES, OFFICIAL
from msgspec.structs import replace

from ps_models.signature import Signature

RESULT = Result(
    model="a <b> | model\nof 2 lines",
    signature=Signature(
        data="ptb+1f",
        split="test",
        convention="paper",
        passage="article",
        text="tokens",
        vocabulary="10+ab",
        eos="yes",
        context="carried",
        model="m",
    ),
    articles=(Sums(nats=12.5, eos_nats=0.5, tokens=4, eos=1, pieces=7, bytes=20, text_bytes=18),) * 3,
    groups=(
        TokenGroup(by="line", label="0", tokens=3, nats=2.0),
        TokenGroup(by="line", label="1-9", tokens=3, nats=2.5, parts=((1, 2.0), (2, 0.5))),
    ),
    checks={"future": "", "sum": "too much"},
    parameters=12,
    seconds=0.25,
    device="cpu",
    versions={"python": "3"},
    command="lm-benchmarks run 'x y'",
    written="2026-01-01T00:00:00+00:00",
    recipe="mix:lstm/small,kn-5",
    tried=CheckedPlaces(seed=1, places=20, unit="chunks"),
    trained=(
        Trained(
            recipe="lstm/small",
            command="ps-models train lstm ptb --preset small --out RUN",
            settings=("epochs=2",),
            model={"hidden_size": 2, "zoneout": 0.1},
            training={"seed": 1, "loss": "token"},
            data="ptb",
            train_sha256="ab",
            epochs=2,
            updates=7,
            tokens=None,
            seconds=1.5,
            curve=(Epoch(epoch=1, updates=4, train_perplexity=None, valid_perplexity=9.5, seconds=0.5),),
        ),
    ),
)


def signed(result, **fields):
    """A result with other fields in its signature."""
    return replace(result, signature=Signature(**{**result.signature, **fields}))


def made(nats, tokens, **fields):
    """A result of articles of so many nats and tokens each; fields are those of its signature."""
    articles = tuple(
        Sums(nats=float(n), tokens=int(t), text_bytes=int(5 * t)) for n, t in zip(nats, tokens, strict=True)
    )
    signature = signed(RESULT, **fields).signature
    return Result(model=signature["model"], signature=signature, articles=articles)


def error_of(call, *arguments, **options) -> str:
    """What is said by the HarnessError that a call ends with; nothing if it ends well."""
    try:
        call(*arguments, **options)
    except HarnessError as error:
        return str(error)
    return ""


def result(model, nats, split="test", **changes):
    """A result of six articles of WikiText-2, of so many nats per token."""
    signature = Signature(
        data=f"wikitext-2+{FILES['wikitext-2'].get(split, '1f')}",
        split=split,
        convention="paper",
        text="tokens",
        passage="article",
        context="carried",
        vocabulary=OFFICIAL["wikitext-2"],
        words="closed",
        eos="yes",
        model=re.sub(r"\W", "-", model, flags=re.ASCII),
    )
    tallies = tuple(
        Sums(nats=nats * tokens, tokens=tokens, text_bytes=5 * tokens, eos=1)
        for tokens in (800, 1200, 950, 400, 2000, 777)
    )
    groups = (
        TokenGroup(by="frequency", label="1-9", tokens=100, nats=nats * 150),
        TokenGroup(
            by="frequency",
            label="<unk>",
            tokens=600,
            nats=nats * 600,
            parts=tuple((100, nats * (100 + place)) for place in (5, -5, 3, -3, 1, -1)),
        ),
    )
    fields = {"articles": tallies, "groups": groups, "checks": {"sum": "", "future": ""}, **changes}
    return Result(model=model, signature=signature, parameters=1234567, command="lm-benchmarks run", **fields)
