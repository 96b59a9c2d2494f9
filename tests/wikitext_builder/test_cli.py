"""The commands on the bundled sample, and real processes with real faults."""

import contextlib
import csv
import io
import json
import os
import pty
import re
import select
import signal
import subprocess
import threading
import time
from pathlib import Path
from typing import IO, Any

import click
import pytest

from tests.command import COMMAND, Completed, environment, refused, run
from tests.conftest import data, hear_control_c
from tests.dumps import export_xml, numbered_page, page_xml
from wikitext_builder import __version__
from wikitext_builder.article import Page
from wikitext_builder.cli import cli
from wikitext_builder.dataset.manifest import read_articles
from wikitext_builder.pages.store import Store
from wikitext_builder.sample import SAMPLE_DUMP as SAMPLE

BAR = "━"  # what rich draws a bar with


def call(*arguments: object, expect: int = 0, **options: Any) -> Completed:
    """A command in this process, which ends with a status."""
    result = run(*arguments, **options)
    assert result.returncode == expect, result.stderr
    return result


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("cli") / "pages.store"
    call("import", SAMPLE, "--store", path)
    return path


@pytest.fixture(scope="module")
def dataset(store: Path) -> Path:
    path = store.with_name("wikitext-demo")
    call("build", "demo", "--store", store, "--out", path, "--workers", "1")
    return path


# --- pages


def test_import_says_what_became_of_each_page(tmp_path: Path) -> None:
    path = tmp_path / "pages.store"
    first = call("import", SAMPLE, "--store", path).stdout
    assert "28 new, 0 there already" in first
    assert "templates 1 new, 0 there already" in first
    assert "skipped   1 disambiguation, 1 list, 1 not-an-article, 1 redirect, 1 unmarked" in first
    again = call("import", SAMPLE, "--store", path).stdout
    assert "imported before, not read again" in again
    assert "0 new, 28 there already" in again


def test_import_of_all_and_as_json(tmp_path: Path) -> None:
    result = call("import", SAMPLE, "--store", tmp_path / "a.store", "--all", "--json")
    report = json.loads(result.stdout)
    assert report["kept"] == 29
    assert report["pages"] == report["kept"] + report["templates"] + sum(report["skipped"].values())


def test_import_of_a_date_before_all_pages_keeps_none(tmp_path: Path) -> None:
    result = call("import", SAMPLE, "--store", tmp_path / "a.store", "--as-of", "2001-01-15", "--json")
    assert json.loads(result.stdout)["kept"] == 0


def test_an_import_that_keeps_nothing_says_how_to_keep_all(tmp_path: Path) -> None:
    dump = tmp_path / "dump.xml"
    dump.write_bytes(
        export_xml(
            [page_xml(numbered_page(1, "A sentence.")), page_xml(numbered_page(2, "{{Good article}} Tea."))]
        )
    )
    arguments = ("import", dump, "--store", tmp_path / "a.store")
    assert "No page was kept" not in call(*arguments).stderr
    dump.write_bytes(export_xml([page_xml(numbered_page(1, "A sentence."))]))
    result = call("import", dump, "--store", tmp_path / "b.store")
    assert result.stderr.splitlines()[-1] == (
        "No page was kept. 1 are unmarked: their wikitext has no template of a Good or Featured article, such"
        " as {{Good article}}. To keep every article: --all"
    )


def test_import_refuses_another_language_and_a_missing_file(tmp_path: Path) -> None:
    path = tmp_path / "a.store"
    assert "take --language en" in refused("import", SAMPLE, "--store", path, "--language", "de")
    missing = call("import", tmp_path / "no.xml", "--store", tmp_path / "b.store", expect=2)
    assert "does not exist" in missing.stderr
    assert not (tmp_path / "b.store").exists()


def test_status(store: Path, tmp_path: Path) -> None:
    assert call("status", "--store", store).stdout.startswith("en: 28 pages, 28 revisions\n")
    (row,) = json.loads(call("status", "--store", store, "--json").stdout)
    assert (row["language"], row["pages"], row["missing"], row["rejected"]) == ("en", 28, 0, {})
    with Store.create(tmp_path / "empty.store"):
        pass
    assert call("status", "--store", tmp_path / "empty.store").stdout.endswith("empty.store: empty\n")
    assert "no such store" in refused("status", "--store", tmp_path / "nowhere")


def test_a_lock_of_a_date_and_of_nothing(store: Path, tmp_path: Path) -> None:
    both = two_revisions(tmp_path)
    for date, number in (("2016-06-30", "\t11\t"), ("2016-12-31", "\t12\t")):
        (line,) = call("lock", "--store", both, "--as-of", date).stdout.splitlines()[2:]
        assert number in line
    assert "no pages of 'en' up to 2001-01-15" in refused("lock", "--store", both, "--as-of", "2001-01-15")
    assert "no pages of 'de' to lock" in refused("lock", "--store", store, "--language", "de")


def two_revisions(folder: Path) -> Path:
    """A store with a page at two dates."""
    store, text = folder / "two.store", "Tea is a drink."
    pages = [
        Page(title="Tea", page_id=1, revision_id=11, timestamp="2016-06-01T00:00:00Z", wikitext=text),
        Page(title="Tea", page_id=1, revision_id=12, timestamp="2016-12-01T00:00:00Z", wikitext=text),
    ]
    with Store.create(store) as opened:
        opened.add("en", pages, origin="test")
    return store


def test_a_lock_of_revisions_that_are_not_there_is_refused(store: Path, tmp_path: Path) -> None:
    lock = tmp_path / "titles.lock"
    text = call("lock", "--store", store).stdout
    lock.write_text(text.replace("\t50000", "\t60000"), encoding="utf-8")
    said = refused("build", "demo", "--store", store, "--out", tmp_path / "no", "--lock", lock)
    assert "28 of its 28 revisions are not in" in said
    assert f"--select lock:{lock}" in said


@pytest.mark.parametrize("title", ["Octopus", "Reykjavík", "Mount Fuji"])
def test_extract_and_tokenize_give_the_lines_of_the_dataset(store: Path, dataset: Path, title: str) -> None:
    plain = call("extract", "--store", store, "--title", title).stdout
    assert plain.splitlines()[1] == f"= {title} ="
    official = call("tokenize", input=plain).stdout
    files = [dataset / f"wiki.{split}.raw" for split in ("train", "valid", "test")]
    assert sum(file.read_text(encoding="utf-8").count(official) for file in files) == 1


def test_extract_reports_what_is_left_out_apart_from_the_text(tmp_path: Path) -> None:
    page = numbered_page(1, "It is {{known to nobody|5}} old.", "Chess")
    with Store.create(tmp_path / "own.store") as opened:
        opened.add("en", [page], origin="test")
    result = call("extract", "--store", tmp_path / "own.store", "--title", "Chess")
    assert "left out: {{" in result.stderr
    assert "left out" not in result.stdout


def test_extract_of_clean_sections_is_no_longer_than_official(store: Path) -> None:
    official, clean = (
        call("extract", "--store", store, "--title", "Octopus", "--sections", mode).stdout
        for mode in ("official", "clean")
    )
    assert 0 < len(clean) <= len(official)


def test_extract_of_an_unknown_title_says_where_titles_are(store: Path) -> None:
    assert "`wikitext-builder lock` lists" in refused("extract", "--store", store, "--title", "../octopus")


def test_fetch_refuses_before_it_asks_or_writes(tmp_path: Path) -> None:
    path = tmp_path / "a.store"
    assert "--contact" in refused("fetch", "--store", path)
    assert "neither a mail address nor" in refused("fetch", "--store", path, "--contact", "me")
    nowhere = ("--api", "http://127.0.0.1:9/api.php")
    assert "is not a date" in refused("fetch", "--store", path, *nowhere, "--as-of", "yesterday")
    assert "expected good, featured" in refused("fetch", "--store", path, *nowhere, "--select", "best")
    assert "not begin with https://" in refused(
        "fetch", "--store", path, "--api", "http://example.org/api.php"
    )
    call("fetch", "--store", path, "--parallel", "4", expect=2)
    assert not path.exists()


# --- datasets


def test_tokenize_reads_files_and_stdin(tmp_path: Path) -> None:
    file = tmp_path / "a.txt"
    file.write_text("== Early life ==\n\nIt's 1,500 km.", encoding="utf-8")
    expected = " = = Early life = = \n \n It 's 1 @,@ 500 km . \n"
    assert call("tokenize", file).stdout == expected
    assert call("tokenize", input=file.read_text(encoding="utf-8")).stdout == expected
    assert call("tokenize", "--language", "fr", input="l'eau").stdout == " l' eau \n"


def test_tokenize_ends_lines_at_line_feeds_only(tmp_path: Path) -> None:
    (tmp_path / "text").write_bytes("one\rtwo\x85three\nfour\r\n".encode())
    assert call("tokenize", tmp_path / "text").stdout == " one two three \n four \n"


def test_tokenize_gives_official_lines(tmp_path: Path) -> None:
    from wikitext_builder.tokens.detokenizer import detokenize_line

    lines = (data("wikitext-2-raw") / "wiki.valid.raw").read_text(encoding="utf-8").split("\n")[:-1]
    plain = tmp_path / "plain.txt"
    plain.write_text("".join(f"{detokenize_line(line[1:-1])}\n" for line in lines), encoding="utf-8")
    assert call("tokenize", plain).stdout.split("\n")[:-1] == lines


def test_tokenize_refuses_what_it_cannot_read(tmp_path: Path) -> None:
    file = tmp_path / "latin.txt"
    file.write_bytes("café\n".encode("latin-1"))
    assert "expected text in UTF-8" in refused("tokenize", file)
    assert "no Moses tokenizer for the language 'xx'" in refused("tokenize", "--language", "xx")
    call("tokenize", tmp_path / "missing.txt", expect=2)


def test_build_reports_counts_in_the_order_of_splits(store: Path, dataset: Path) -> None:
    result = call("build", "demo", "--store", store, "--out", dataset)
    first, *rest = result.stdout.splitlines()
    assert first == f"{dataset}: is built already"
    assert [line.split()[0] for line in rest] == ["train", "valid", "test", "vocabulary"]


def test_build_as_json(store: Path, tmp_path: Path) -> None:
    out = tmp_path / "a"
    result = call("build", "demo", "--store", store, "--out", out, "--workers", "1", "--json")
    report = json.loads(result.stdout)
    assert report["pages"] == 28
    assert report["rejected"] == {}
    assert all(isinstance(count, int) for count in report["left_out"].values())
    manifest = json.loads((out / "manifest.json").read_text(encoding="utf-8"))
    assert report["manifest"]["recipe"].pop("test_words") is None  # manifests have it only if it is set
    assert {"templates": "", **manifest} == report["manifest"]


def test_fields_of_the_recipe_can_be_given(store: Path, tmp_path: Path) -> None:
    changes = ("--train-articles", "5", "--valid-articles", "2", "--test-articles", "1", "--min-count", "2")
    more = ("--sections", "clean", "--seed", "x", "--workers", "1", "--json")
    result = call("build", "demo", "--store", store, "--out", tmp_path / "a", *changes, *more)
    manifest = json.loads(result.stdout)["manifest"]
    assert {name: counts["articles"] for name, counts in manifest["splits"].items()} == {
        "train": 5,
        "valid": 2,
        "test": 1,
    }
    recipe = manifest["recipe"]
    assert (recipe["min_count"], recipe["sections"], recipe["seed"]) == (2, "clean", "x")


def test_given_titles_make_up_valid_and_test(store: Path, tmp_path: Path) -> None:
    valid, test = tmp_path / "valid.txt", tmp_path / "test.txt"
    valid.write_text("# ours\nTea\n\nChess\n", encoding="utf-8")
    test.write_text("Haiku\n", encoding="utf-8")
    given = ("--valid-titles", valid, "--test-titles", test)
    out = tmp_path / "a"
    call("build", "demo", "--store", store, "--out", out, "--workers", "1", *given)
    titles = {
        split: {article[1] for article in read_articles(out / f"wiki.{split}.raw")}
        for split in ("valid", "test")
    }
    assert titles == {"valid": {"= Tea =", "= Chess ="}, "test": {"= Haiku ="}}

    test.write_text("Haiku\nTea\n", encoding="utf-8")
    assert "1 titles are both in" in refused(
        "build", "demo", "--store", store, "--out", tmp_path / "b", *given
    )
    test.write_text("Samovar\n", encoding="utf-8")
    assert "such as 'Samovar'" in refused("build", "demo", "--store", store, "--out", tmp_path / "b", *given)


def test_given_titles_are_all_that_is_asked_of_their_splits(store: Path, tmp_path: Path) -> None:
    valid, out = tmp_path / "valid.txt", tmp_path / "a"
    valid.write_text("Tea\nChess\n", encoding="utf-8")
    arguments = ("build", "demo", "--store", store, "--workers", "1", "--valid-titles", valid)
    assert "the store has too few" not in call(*arguments, "--out", out).stderr
    valid.write_text("# none yet\n", encoding="utf-8")
    assert "names no article" in refused(*arguments, "--out", tmp_path / "b")


def test_given_articles_that_are_rejected_are_not_replaced(store: Path, tmp_path: Path) -> None:
    page = numbered_page(1, "{{stub}}", "Nil")
    own, valid = tmp_path / "own.store", tmp_path / "valid.txt"
    own.write_bytes(store.read_bytes())
    with Store.create(own) as opened:
        opened.add("en", [page], origin="test")
    valid.write_text("Nil\n", encoding="utf-8")
    options = ("--valid-titles", valid, "--workers", "1", "--json")
    result = call("build", "demo", "--store", own, "--out", tmp_path / "a", *options)
    report = json.loads(result.stdout)
    assert report["rejected"] == {"no-text": 1}
    assert {name: counts["articles"] for name, counts in report["manifest"]["splits"].items()} == {
        "train": 25,
        "valid": 0,
        "test": 3,
    }
    assert "valid has 0 articles, but 1 titles were given: rejected.jsonl says why" in result.stderr


def test_older_revisions_are_counted(tmp_path: Path) -> None:
    store = two_revisions(tmp_path)
    said = call("status", "--store", store).stdout
    assert said.startswith("en: 1 pages, 2 revisions (1 older ones of the same pages or titles)\n")
    with Store.create(store) as opened:  # enough for a train set
        opened.add("en", [numbered_page(number, "Words.") for number in range(2, 9)], origin="test")
    arguments = ("build", "demo", "--store", store, "--workers", "1")
    assert "1 older revisions of the same pages" in call(*arguments, "--out", tmp_path / "a").stdout
    assert "older revisions" not in call(*arguments, "--out", tmp_path / "b", "--as-of", "2016-06-30").stdout


def test_an_interrupted_build_is_reported_with_what_was_found(store: Path, tmp_path: Path) -> None:
    from wikitext_builder.runners.processes import Serial

    class Interrupted(Serial):
        def map(self, function, tasks):
            yield from super().map(function, tasks)
            raise KeyboardInterrupt

    from wikitext_builder.building.build import carry_out
    from wikitext_builder.building.plan import Plan
    from wikitext_builder.dataset.recipes import RECIPES

    with Store.open(store) as opened:
        revisions = opened.revisions("en")
    plan = Plan(recipe=RECIPES["demo"], store=store, out=tmp_path / "a", revisions=revisions)
    with pytest.raises(KeyboardInterrupt):
        carry_out(plan, runner=Interrupted())
    arguments = ("build", "demo", "--store", store, "--out", tmp_path / "a", "--workers", "1")
    result = run(*arguments)
    assert "extract: 0/28 pages, resumes: 1 shards are there already" in result.stderr
    assert "found      1 shards" in result.stdout
    assert "MB/s" not in result.stdout, "no page was extracted, so there is no speed"


def test_splits_that_are_too_small_are_reported(store: Path, tmp_path: Path) -> None:
    few = ("--valid-articles", "25", "--test-articles", "2", "--workers", "1")
    result = call("build", "wikitext-2", "--store", store, "--out", tmp_path / "a", *few)
    assert "train has 1 articles, but wikitext-2 expects 600" in result.stderr


def test_too_few_pages_are_an_error_that_names_options_which_work(store: Path, tmp_path: Path) -> None:
    build = ("build", "wikitext-2", "--store", store, "--out", tmp_path / "a", "--workers", "1")
    said = refused(*build)
    assert "28 articles (0 pages were rejected) are too few for wikitext-2" in said
    options = re.search(r"use (--valid-articles) (\d+) and (--test-articles) (\d+)$", said.strip())
    assert options is not None, said
    assert not (tmp_path / "a").exists()
    call(*build, *options.groups())
    call("verify", tmp_path / "a")


def test_a_dataset_that_was_changed_is_not_called_built(store: Path, tmp_path: Path) -> None:
    build = ("build", "demo", "--store", store, "--out", tmp_path / "a", "--workers", "1")
    call(*build)
    with (tmp_path / "a" / "wiki.test.tokens").open("a", encoding="utf-8") as file:
        file.write(" more\n")
    verified = call("verify", tmp_path / "a", expect=1)
    assert "remove the folder and build again" in verified.stdout
    assert "WRONG       wiki.test.tokens sha256" in verified.stdout
    assert "checks failed" in verified.stderr
    assert "wiki.test.tokens differs from its manifest" in refused(*build)
    (tmp_path / "a" / "wiki.test.tokens").unlink()
    assert "wiki.test.tokens is missing" in refused(*build)


def test_build_refuses_what_cannot_be_built(store: Path, dataset: Path, tmp_path: Path) -> None:
    out = tmp_path / "a"
    assert "no pages of 'de'" in refused("build", "demo", "--store", store, "--out", out, "--language", "de")
    dated = ("--as-of", "2001-01-15")
    said = refused("build", "demo", "--store", store, "--out", out, *dated)
    assert "are younger than 2001-01-15; `wikitext-builder fetch --as-of 2001-01-15` gets" in said
    said = refused("build", "demo", "--store", store, "--out", dataset, "--seed", "x")
    assert "another dataset (seed 'wikitext', not 'x')" in said
    for name in (".", "..", "/"):
        assert "is not a name of a new folder" in refused("build", "demo", "--store", store, "--out", name)
    both = ("--as-of", "2016-01-01", "--lock", tmp_path / "a.lock")
    assert "--as-of and --lock: a lock file names its revisions; use one of the two" in refused(
        "build", "demo", "--store", store, "--out", out, *both
    )
    assert "not a dataset of ours" in refused("build", "demo", "--store", store, "--out", tmp_path)
    assert not out.exists()


def test_a_language_without_tokenizer_is_refused_at_once(tmp_path: Path) -> None:
    page = numbered_page(1, "茶は飲み物である。", "茶")
    dump = tmp_path / "ja.xml"
    dump.write_bytes(export_xml([page_xml(page)], language="ja"))
    path = tmp_path / "ja.store"
    call("import", dump, "--store", path, "--language", "ja", "--all")
    said = refused("build", "demo", "--store", path, "--out", tmp_path / "a", "--language", "ja")
    assert "no Moses tokenizer for the language 'ja'" in said


def test_verify(dataset: Path, tmp_path: Path) -> None:
    assert "ok          manifest" not in call("verify", dataset).stdout
    assert {line.split()[0] for line in call("verify", dataset).stdout.splitlines()} == {"ok"}
    (line,) = call("verify", dataset, "--quiet").stdout.splitlines()
    assert line.endswith("checks passed, none skipped")
    checks = json.loads(call("verify", dataset, "--json").stdout)
    assert all(check["passed"] for check in checks)
    assert "no wiki.train.tokens" in refused("verify", tmp_path)


def test_stats_as_table_and_json(dataset: Path, tmp_path: Path) -> None:
    assert "Vocab size" in call("stats", dataset).stdout
    rows = json.loads(call("stats", dataset, "--json").stdout)
    lines = list(csv.DictReader(io.StringIO(call("stats", dataset, "--csv").stdout)))
    assert [{key: str(value or "") for key, value in row.items()} for row in rows] == lines
    manifest = json.loads((dataset / "manifest.json").read_text(encoding="utf-8"))
    assert [row["split"] for row in rows] == ["train", "valid", "test", "all"]
    assert [row["tokens"] for row in rows[:3]] == [
        manifest["splits"][split]["tokens"] for split in ("train", "valid", "test")
    ]
    assert "no file of tokens" in refused("stats", tmp_path)


@pytest.mark.parametrize("kind", ["zipf", "window"])
@pytest.mark.parametrize(("suffix", "magic"), [("png", b"\x89PNG"), ("svg", b"<?xml")])
def test_plots(dataset: Path, tmp_path: Path, kind: str, suffix: str, magic: bytes) -> None:
    out = tmp_path / f"a.{suffix}"
    assert call("plot", kind, dataset, "--out", out).stdout == f"{out}\n"
    assert out.read_bytes().startswith(magic)


def test_a_plot_of_another_kind_is_refused(dataset: Path, tmp_path: Path) -> None:
    assert "expected .png or .svg" in refused("plot", "zipf", dataset, "--out", tmp_path / "a.pdf")


# --- the program


def test_help_of_every_command_is_quick_and_needs_nothing() -> None:
    todo: list[tuple[str, ...]] = [()]
    while todo:
        path = todo.pop()
        command: click.Command = cli
        for name in path:
            assert isinstance(command, click.Group)
            command = command.commands[name]
        assert call(*path, "-h").stdout.startswith("Usage: ")
        if isinstance(command, click.Group):
            todo += [(*path, name) for name in command.commands]
    assert run("--version").stdout == f"wikitext-builder, version {__version__}\n"


def test_an_error_is_one_paragraph_with_status_1(tmp_path: Path) -> None:
    done = run("status", "--store", tmp_path / "nowhere")
    assert done.returncode == 1
    assert done.stdout == ""
    assert done.stderr.startswith("wikitext-builder: ")
    assert len(done.stderr.splitlines()) == 1


@pytest.mark.parametrize("arguments", [(), ("nothing",), ("build",), ("stats", "--jsn", "x"), ("plot",)])
def test_a_command_line_that_cannot_be_read_has_status_2(arguments: tuple[str, ...]) -> None:
    done = run(*arguments)
    assert done.returncode == 2
    assert "Usage: " in done.stderr
    assert "Traceback" not in done.stderr


def test_a_reader_that_goes_away_is_not_an_error() -> None:
    with subprocess.Popen(
        [*COMMAND, "tokenize"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        start_new_session=True,
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        assert process.stderr is not None
        writer = threading.Thread(target=feed, args=(process.stdin,))
        writer.start()
        assert process.stdout.readline() == b" a b c \n"
        process.stdout.close()
        assert process.wait(timeout=100) == 141
        assert process.stderr.read() == b""
        writer.join()


def feed(pipe: IO[bytes]) -> None:
    """Writes until nobody reads."""
    with contextlib.suppress(BrokenPipeError), pipe:
        for _ in range(200_000):
            pipe.write(b"a b c\n")


def test_control_c_ends_quietly_with_130() -> None:
    with subprocess.Popen(
        [*COMMAND, "tokenize"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        start_new_session=True,
        preexec_fn=hear_control_c,
    ) as process:
        assert process.stdin is not None
        process.stdin.write(b"a line\n" * 5_000)
        process.stdin.flush()
        assert process.stdout is not None
        assert process.stdout.read(8) == b" a line "  # it is at work
        os.killpg(process.pid, signal.SIGINT)
        process.stdin.close()
        output = process.stderr
        assert output is not None
        assert process.wait(timeout=100) == 130
        said = output.read().decode()
    assert said.strip() == "wikitext-builder: stopped; run the same command again to resume it"


def test_output_is_utf_8_whatever_the_locale() -> None:
    changes = {"PYTHONIOENCODING": "ascii", "LC_ALL": "C", "PYTHONUTF8": "0"}
    done = run("tokenize", input="Łódź – 杜甫\n", env=environment(**changes))
    assert (done.returncode, done.stdout, done.stderr) == (0, " Łódź – 杜甫 \n", "")


def test_lines_without_a_terminal(store: Path, tmp_path: Path) -> None:
    done = run("build", "demo", "--store", store, "--out", tmp_path / "a", "--workers", "1")
    assert done.returncode == 0
    assert "extract: 28/28 pages\n" in done.stderr
    assert BAR not in done.stderr
    assert "\x1b" not in done.stderr


def test_a_bar_on_a_terminal(store: Path, tmp_path: Path) -> None:
    terminal, end = pty.openpty()
    words = ("build", "demo", "--store", str(store), "--out", str(tmp_path / "a"), "--workers", "1")
    wide = environment(TERM="xterm", COLUMNS="120")
    with subprocess.Popen(
        [*COMMAND, *words], stdin=end, stdout=subprocess.PIPE, stderr=end, env=wide
    ) as process:
        os.close(end)
        shown = read_terminal(terminal, process)
        assert process.stdout is not None
        assert process.stdout.read().startswith(f"{tmp_path / 'a'}: built\n".encode())
    os.close(terminal)
    assert process.returncode == 0
    assert BAR in shown
    assert "28/28" in shown
    assert "extract: 28/28" not in shown


def read_terminal(terminal: int, process: subprocess.Popen[bytes]) -> str:
    """What a program shows on a terminal until it ends."""
    shown = b""
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline:
        ready, _, _ = select.select([terminal], [], [], 0.1)
        try:
            piece = os.read(terminal, 65536) if ready else b""
        except OSError:  # Linux says so when the other side has gone
            break
        shown += piece
        if not piece and process.poll() is not None:
            break
    return shown.decode(errors="replace")
