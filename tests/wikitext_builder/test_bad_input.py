"""Bad input on the real command line: a clear error, or a rejection with its reason.

Bad dumps are in `dumps/test_xml_dump.py` and `dumps/test_decompress.py`.
"""

import json
import re
import subprocess
import time
from pathlib import Path

import pytest

from tests.cases import cases
from tests.command import COMMAND, done, environment, refused, run, small_files
from tests.conftest import WITHOUT_PRIVILEGES
from tests.dumps import export_xml, numbered_page, page_xml
from tests.mediawiki.loopback import SITE, always, server
from tests.wikitext_builder.datasets import articles, digests, store_of, titles_file, verified
from wikitext_builder.sample import SAMPLE_DUMP
from wikitext_builder.wiki.client import Wikipedia

GOOD = [
    numbered_page(n, f"'''Good {n}''' has words {n} times.\n\n== Part ==\nMore of them.", f"Good {n}")
    for n in range(501, 511)
]


def test_a_bad_article_is_kept_or_rejected_with_a_reason_and_harms_no_good_one(tmp_path: Path) -> None:
    """A case is a page's wikitext and the reason of its rejection, none if it is kept."""
    bad = list(enumerate(cases("commands", "bad articles"), 100))
    pages = [numbered_page(number, case["wikitext"]) for number, case in bad]
    store, out = store_of(tmp_path / "pages.store", [*pages, *GOOD]), tmp_path / "out"
    done("build", "demo", "--store", store, "--out", out, "--workers", 1)
    verified(out)
    rejected = [json.loads(line) for line in (out / "rejected.jsonl").read_text("utf-8").splitlines()]
    reasons = {one["page_id"]: one["reason"] for one in rejected}
    # the time limit of ten seconds would have said `too-slow`
    found = {case["label"]: reasons.get(number, "") for number, case in bad}
    assert found == {case["label"]: case["reason"] for _, case in bad}
    kept = articles(out)
    assert set(kept) == {one.title for one in (*pages, *GOOD) if one.page_id not in reasons}
    for one in GOOD:
        assert kept[one.title] == (
            "", f"= {one.title} =", "", f"{one.title} has words {one.page_id} times .",
            "", "= = Part = =", "", "More of them .", "",
        )  # fmt: skip
    text = "".join(path.read_bytes().decode() for path in out.glob("wiki.*.raw"))
    assert not re.findall("[\x00-\x09\x0b-\x1f\x7f-\x9f\u2028\u2029\u200b-\u200f\u202a-\u202e\ufeff]", text)


def test_a_number_beyond_floats_or_a_mebibyte_of_marks_costs_itself_only(tmp_path: Path) -> None:
    number = "9" * 400
    costs = [f"{{{{convert|{number}|km}}}}", f"{{{{height|m={number}}}}}", "a" + "\u0327\u0301" * 2**18]
    pages = [numbered_page(n, f"One stays. One {text} two.") for n, text in enumerate(costs)]
    store = store_of(tmp_path / "pages.store", pages)
    for page in pages:
        lines = done("extract", "--store", store, "--title", page.title, timeout=100).splitlines()
        assert lines[3].startswith("One "), page.title


# --- titles


TITLES = [
    "AT&T", "😀", '"Heroes"', "It's", "C++", "100 %", "東京", "%s (0)", "-rf", "= x =", "a = b", "= (album)",
    "=", "'''bold'''", "- list: x", "CON", "A" * 255, "~", "$HOME", "`id`", "\\", "*", "a.", ".git", "..x",
    "/etc/passwd",
]  # fmt: skip
IMPOSSIBLE = [  # https://www.mediawiki.org/wiki/Manual:Page_title
    "../x", "..", "a/../../b", "C#", "{{a}}", "[[b]]", "<b>", "a|b", "\u202etxt", "a\tb", "a\nb", "A" * 3000,
]  # fmt: skip
NAMES = re.compile(
    r"wiki\.(train|valid|test)\.(raw|tokens)|wikitext-demo(-raw)?-v1\.zip|(train|valid|test)-\d{5}-of-\d{5}\.parquet"
    r"|README\.md|LICENSE|croissant\.json|attribution\.tsv|rejected\.jsonl|left_out\.tsv|manifest\.json|out|parquet|raw|tokens"
    r"|dump\.xml|pages\.store(-wal|-shm)?|titles\.lock"
)


@pytest.mark.parametrize("titles", [TITLES, IMPOSSIBLE], ids=["odd", "impossible"])
def test_no_title_harms_or_names_a_file(tmp_path: Path, titles: list[str]) -> None:
    """The dataset is what it says, and only the files of every dataset are made."""
    store, out = tmp_path / "pages.store", tmp_path / "out"
    pages = [numbered_page(n, f"Text of page {n}, at length.", title) for n, title in enumerate(titles, 1)]
    (tmp_path / "dump.xml").write_bytes(export_xml(map(page_xml, [*pages, *GOOD])))
    done("import", "--all", tmp_path / "dump.xml", "--store", store)
    done("build", "demo", "--store", store, "--out", out, "--workers", 1)
    verified(out)
    assert [path for path in tmp_path.rglob("*") if not NAMES.fullmatch(path.name)] == []
    assert [path.name for path in tmp_path.parent.iterdir() if path.name in ("x", "b")] == []
    assert {row.count("\t") for row in (out / "attribution.tsv").read_text("utf-8").split("\n")[:-1]} == {5}
    _, *rows = done("lock", "--store", store).splitlines()
    assert {row.count("\t") for row in rows} == {4}
    known = {row.split("\t")[0] for row in rows[1:]}
    assert known >= {one.title for one in GOOD}
    if titles is TITLES:
        assert known >= set(TITLES)
        rejected = [json.loads(line) for line in (out / "rejected.jsonl").read_text("utf-8").splitlines()]
        assert [(one["title"], one["reason"]) for one in rejected] == [("=", "no-title")]


# --- a broken server; more of them are in `wiki/test_impostors.py`


def fetch_from(api: str, folder: Path, *titles: str) -> tuple[object, ...]:
    select = ("--select", f"titles:{titles_file(folder / 'titles.txt', *titles)}")
    return ("fetch", "--api", api, "--store", folder / "pages.store", *select)


BROKEN = {
    "half of the JSON": always(json.dumps(SITE)[:-30]),
    "nothing": always(b""),
    "JSON without end": always(b'{"query":' * 50_000),
    "not packed": always(b"plainly not", headers={"Content-Encoding": "gzip"}),
}


@pytest.mark.parametrize("case", BROKEN)
def test_answers_that_always_break_off_end_in_an_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, case: str
) -> None:
    waits: list[float] = []  # of two minutes, which are not real
    monkeypatch.setattr(Wikipedia, "sleep", lambda _, seconds: waits.append(seconds))
    monkeypatch.setattr(Wikipedia, "clock", lambda _: time.monotonic() + sum(waits))
    with server(BROKEN[case]) as api:
        result = run(*fetch_from(api, tmp_path, "A"))
    assert result.returncode == 1
    assert re.search(r"no answer after 8 attempts(.|\n)*run it again later", result.stderr)
    assert all(most / 2.1 < wait <= most for wait, most in zip(waits, (1, 2, 4, 8, 16, 32, 60), strict=True))


# --- stores, disks and folders


def test_a_store_that_is_cut_off_is_refused(sample: Path, tmp_path: Path) -> None:
    """Other files that are no store are in `store/test_store.py`."""
    cut = tmp_path / "cut.store"
    cut.write_bytes((sample / "pages.store").read_bytes()[:20_000])
    for command in (("import", SAMPLE_DUMP), ("build", "demo", "--out", tmp_path / "out")):
        message = refused(*command, "--store", cut)
        assert str(cut) in message
        assert "damaged" in message


def test_a_full_disk_is_reported_and_the_same_command_resumes(sample: Path, tmp_path: Path) -> None:
    own, out = tmp_path / "pages.store", tmp_path / "out"
    importing = ("import", SAMPLE_DUMP, "--store", own)
    alone = environment(PYTHONDONTWRITEBYTECODE="1")  # Python would keep the beginnings of its files
    for limit in (0, 60_000):
        with small_files(limit):
            assert "pages.store" in refused(*importing, env=alone)
    done(*importing)
    assert done("lock", "--store", own) == done("lock", "--store", sample / "pages.store")
    building = ("build", "demo", "--store", own, "--out", out, "--workers", 1)
    for limit in (0, 60_000):
        with small_files(limit):
            assert "run it again to resume" in refused(*building, env=alone)
        assert not out.exists()
    done(*building)
    assert digests(out) == digests(sample / "demo")


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full of Linux")
@pytest.mark.parametrize(
    "command", ["lock --store {}", "extract --store {} --title Octopus", "tokenize", "-h"]
)
def test_a_full_disk_under_stdout_is_reported(sample: Path, command: str) -> None:
    words = [*COMMAND, *command.format(sample / "pages.store").split()]
    with Path("/dev/full").open("w") as full:
        result = subprocess.run(
            words, input=b"A line.\n", stdout=full, stderr=subprocess.PIPE, env=environment(), check=False
        )
    assert result.returncode == 1
    assert result.stderr.decode() == "wikitext-builder: output: No space left on device\n"


def test_a_folder_that_cannot_be_written_is_reported(sample: Path, tmp_path: Path) -> None:
    store, closed = sample / "pages.store", tmp_path / "closed"
    closed.mkdir()
    (closed / "pages.store").write_bytes(store.read_bytes())
    closed.chmod(0o555)
    (closed / "pages.store").chmod(0o444)
    for fault, *command in (
        ("", "import", SAMPLE_DUMP, "--store", closed / "new.store"),
        ("cannot be written", "import", SAMPLE_DUMP, "--store", closed / "pages.store", "--all"),
        ("Permission denied", "build", "demo", "--store", store, "--out", closed / "out", "--workers", 1),
    ):
        message = refused(*command, before=WITHOUT_PRIVILEGES)
        assert str(closed) in message
        assert fault in message
    read = ("build", "demo", "--store", closed / "pages.store", "--out", tmp_path / "out", "--workers", 1)
    done(*read, before=WITHOUT_PRIVILEGES)
    assert digests(tmp_path / "out") == digests(sample / "demo")


# --- small files


def test_files_of_another_encoding_or_form_are_refused(sample: Path, tmp_path: Path) -> None:
    (tmp_path / "latin").write_bytes(b"Octopus\nReykjav\xedk\n")
    lock = done("lock", "--store", sample / "pages.store")
    (tmp_path / "cut.lock").write_text(lock[:-20], encoding="utf-8")
    altered = re.sub(r"[0-9a-f]{40}\n\Z", "0" * 40 + "\n", lock)
    (tmp_path / "altered.lock").write_text(altered, encoding="utf-8")
    for option, name, says in (
        ("--test-titles", "latin", "UTF-8"),
        ("--lock", "cut.lock", "is truncated"),
        ("--lock", "altered.lock", "1 of its 28 revisions"),
    ):
        build = ("build", "demo", "--store", sample / "pages.store", "--out", tmp_path / "out")
        assert says in refused(*build, option, tmp_path / name)
    assert not (tmp_path / "out").exists()


def test_tokenize_takes_any_line(tmp_path: Path) -> None:
    lines = ["a\x00b", "x " * 500_000, "", " ", "\u202e", "e\u0301" * 1000]
    lines += ["=" * 1000, "= a =", "\r", "a\u2028b"]
    (tmp_path / "lines").write_text("\n".join(lines), encoding="utf-8", newline="\n")
    result = run("tokenize", tmp_path / "lines")
    assert (result.returncode, result.stderr) == (0, "")
    assert result.stdout.count("\n") == len(lines)
