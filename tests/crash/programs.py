"""The programs that are stopped: small inputs, so that each kind of call is there and few are repeated."""

import csv
import hashlib
import json
import re
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np

from tests.command import done
from tests.conftest import ROOT
from tests.crash.harness import Program
from tests.mediawiki.loopback import server
from tests.wikitext_builder.wiki.test_hostile_answers import HostileWiki

SAMPLE = ROOT / "wikitext_builder" / "sample" / "sample.xml"
PAGES = 8  # three articles each for valid and test
NUMBER = re.compile(r"-?\d+(?:\.\d+)?(?:e-?\d+)?")
ONE_PAGE = re.compile(r"  <page>.*?</page>\n", re.DOTALL)


def with_sample(folder: Path) -> None:
    """Put some pages of the sample and all its templates into the folder."""
    whole = SAMPLE.read_text(encoding="utf-8")
    pages = ONE_PAGE.findall(whole)
    articles = [page for page in pages if re.search(r"\{\{(good|featured) article", page, re.IGNORECASE)]
    others = [page for page in pages if "<ns>10</ns>" in page or "<redirect" in page]
    head, tail = whole.partition(pages[0])[0], whole.rpartition(pages[-1])[2]
    head = head.replace("    <dbname>enwiki</dbname>\n", "")  # its store also gets pages of another wiki
    (folder / "sample.xml").write_text(head + "".join(articles[:PAGES] + others) + tail, encoding="utf-8")


def store_content(folder: Path) -> list[str]:
    """All that a store holds, without order, when a name was asked, and the note that there was no news."""
    with sqlite3.connect(f"file:{folder / 'a.store'}?mode=ro", uri=True) as store:
        asked = re.compile(r"""(?<=^INSERT INTO "template_redirects").*(?=,'[0-9TZ:-]{20}'\))""")
        lines = (line if not (found := asked.search(line)) else found[0] for line in store.iterdump())
        return sorted(line for line in lines if " expanded'" not in line)


def tree(folder: Path) -> dict[str, str]:
    """The hash of each file, also of those that should not be there."""
    files = (path for path in sorted(folder.rglob("*")) if path.is_file() and ".store" not in path.name)
    return {str(path.relative_to(folder)): hashlib.sha256(path.read_bytes()).hexdigest() for path in files}


def trained(folder: Path) -> object:
    """The weights, and the curve without its seconds."""
    from safetensors.torch import load_file

    weights = {
        name: tensor.tolist() for name, tensor in load_file(folder / "run" / "best.safetensors").items()
    }
    with (folder / "run" / "epochs.csv").open() as file:
        curve = [{k: v for k, v in row.items() if k != "training_seconds"} for row in csv.DictReader(file)]
    lines = (folder / "run" / "updates.jsonl").read_text().splitlines()
    updates = [line.split('"tokens_per_second"')[0] for line in lines]
    return weights, curve, updates, sorted(path.name for path in (folder / "run").iterdir())


def nearly_the_same(one: object, other: object) -> bool:
    """True if two results differ at most in their numbers, by about a millionth."""
    first, second = json.dumps(one), json.dumps(other)
    numbers, others = (np.array(NUMBER.findall(text), dtype=float) for text in (first, second))
    return NUMBER.sub("", first) == NUMBER.sub("", second) and np.allclose(numbers, others, 1e-6, 1e-7)


def with_store(folder: Path) -> None:
    """Put a store into the folder."""
    with_sample(folder)
    done("import", folder / "sample.xml", "--store", folder / "a.store")
    (folder / "sample.xml").unlink()


def with_dataset(folder: Path) -> None:
    """Put a dataset into the folder."""
    with_store(folder)
    done("build", "demo", "--store", folder / "a.store", "--out", folder / "data", "--workers", 1)
    (folder / "a.store").unlink()


def nothing(folder: Path) -> None:
    """The command starts from an empty folder."""


BUILD = ("wikitext_builder", "build", "demo", "--store", "{here}/a.store", "--out", "{here}/data")
TRAIN = ("train", "lstm", "{here}/data", "--out", "{here}/run", "--preset", "tiny")
SMALL = ("--set", "epochs=2", "--set", "hidden_size=4", "--set", "batch_size=16")
PROGRAMS = {
    "import": Program(
        words=("wikitext_builder", "import", "{here}/sample.xml", "--store", "{here}/a.store"),
        prepare=with_sample,
        result=store_content,
    ),
    "fetch": Program(
        words=("wikitext_builder", "fetch", "--api", "{api}", "--store", "{here}/a.store", "--rendered"),
        prepare=nothing,
        result=store_content,
    ),
    "build": Program(words=(*BUILD, "--workers", "1"), prepare=with_store, result=tree),
    "train": Program(
        words=("ps_models", "--threads", "1", *TRAIN, *SMALL, "--save-minutes", "0.0001"),
        prepare=with_dataset,
        result=trained,
        # The library of products works in another way when memory is short: last bits differ.
        same_in_short_memory=nearly_the_same,
    ),
}


def prepared(name: str, folder: Path) -> Path:
    """The folder in which a program can start; made once."""
    ready = folder / name
    if not ready.exists():
        ready.mkdir()
        PROGRAMS[name].prepare(ready)
    return ready


@contextmanager
def wiki() -> Iterator[str]:
    """The address of a wiki on loopback."""
    with server(HostileWiki()) as address:
        yield address
