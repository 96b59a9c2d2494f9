"""The commands on the bundled sample, and real processes with real faults."""

import csv
import io
import json
import os
import re
import shlex
import shutil
import signal
import subprocess
from pathlib import Path
from typing import Any

import pytest

from tests.cases import each
from tests.command import COMMAND, Completed, environment, refused, run, run_program, start
from tests.conftest import hear_control_c
from tests.dumps import export_xml, numbered_page, page_xml
from tests.wikitext_builder.datasets import SPLITS, built, store_of, titles_file
from tests.wikitext_builder.test_progress import on_terminal
from wikitext_builder.article import Page
from wikitext_builder.cli import datasets
from wikitext_builder.processes import Serial
from wikitext_builder.sample import SAMPLE_DUMP as SAMPLE

BAR = "━"  # what rich draws a bar with


def call(*arguments: object, expect: int = 0, **options: Any) -> Completed:
    """A command in this process, which ends with a status."""
    result = run(*arguments, **options)
    assert result.returncode == expect, result.stderr
    return result


def as_json(*arguments: object) -> Any:
    return json.loads(call(*arguments, "--json").stdout)


@pytest.fixture
def store(sample: Path) -> Path:
    return sample / "pages.store"


@pytest.fixture
def dataset(sample: Path) -> Path:
    return sample / "demo"


@each("commands", "words, says", "refusals")
def test_a_command_that_cannot_be_done_says_why_and_writes_nothing(
    sample: Path, tmp_path: Path, words: str, says: str
) -> None:
    """An error is one paragraph with status 1; a command line that cannot be read has status 2."""
    places = {"store": sample / "pages.store", "demo": sample / "demo", "dump": SAMPLE, "new": tmp_path}
    found = run(*words.format(**places).split())
    lines = found.stderr.splitlines()
    if found.returncode == 1:
        assert [line.startswith("wikitext-builder: ") for line in lines].index(True) == len(lines) - 1
    else:
        assert found.returncode == 2
        assert lines[0].startswith("Usage: ")
        assert not says or [line for line in lines if line.startswith("Error: ")]
    assert says.format(**places) in found.stderr
    assert "Traceback" not in found.stderr
    assert found.stdout == ""
    assert list(tmp_path.iterdir()) == []


# --- pages


def test_import_says_what_became_of_each_page(tmp_path: Path) -> None:
    first = call("import", SAMPLE, "--store", tmp_path / "a.store").stdout
    assert "28 new, 0 already there" in first
    assert "templates 1 new, 0 already there" in first
    assert "skipped   1 disambiguation, 1 list, 1 not-an-article, 1 redirect, 1 unmarked" in first
    again = call("import", SAMPLE, "--store", tmp_path / "a.store").stdout
    assert "1 files (1 imported before, not read again): 0 pages" in again
    report = as_json("import", SAMPLE, "--store", tmp_path / "b.store", "--all")
    assert report["kept"] == 29
    assert report["pages"] == report["kept"] + report["templates"] + sum(report["skipped"].values())
    assert as_json("import", SAMPLE, "--store", tmp_path / "c.store", "--as-of", "2001-01-15")["kept"] == 0


def test_an_import_that_keeps_nothing_says_how_to_keep_all(tmp_path: Path) -> None:
    dump, plain = tmp_path / "dump.xml", page_xml(numbered_page(1, "A sentence."))
    dump.write_bytes(export_xml([plain, page_xml(numbered_page(2, "{{Good article}} Tea."))]))
    assert "No page was kept" not in call("import", dump, "--store", tmp_path / "a.store").stderr
    dump.write_bytes(export_xml([plain]))
    assert call("import", dump, "--store", tmp_path / "b.store").stderr.splitlines()[-1] == (
        "No page was kept. 1 are unmarked: their wikitext has no template for a Good or Featured article,"
        " such as {{Good article}}. To keep every article: --all"
    )


def test_a_dump_of_another_language_than_the_stores_is_named_with_both(store: Path, tmp_path: Path) -> None:
    (dump := tmp_path / "dump.xml").write_bytes(
        export_xml([page_xml(numbered_page(1, "Tee."))], language="de")
    )
    own = store_of(tmp_path / "own.store", [numbered_page(1, "Tea.")])
    said = f"wikitext-builder: {dump}: holds pages of the Wikipedia 'de'"
    assert refused("import", dump, "--store", own).strip() == (
        f"{said}, {own} those of en; take another --store, or --language de to keep both in one"
    )
    wrong = refused("import", dump, "--store", tmp_path / "new", "--language", "en")
    assert wrong.strip() == f"{said}, this import is for 'en'; take --language de"
    call("import", dump, "--all", "--store", tmp_path / "new")
    call("import", dump, "--all", "--store", own, "--language", "de")
    assert [row["language"] for row in as_json("status", "--store", own)] == ["de", "en"]


@pytest.mark.parametrize(
    ("host", "database", "name"),
    [
        ("en.wikivoyage.org", "enwikivoyage", "Wikivoyage"),
        ("commons.wikimedia.org", "commonswiki", "Wikimedia Commons"),
        ("de.wiktionary.org", "dewiktionary", "Wiktionary"),
    ],
)
def test_a_dump_of_a_sister_project_is_refused_by_name(
    tmp_path: Path, host: str, database: str, name: str
) -> None:
    base = f"https://{host}/wiki/Main_Page"
    site = f"<siteinfo><sitename>{name}</sitename><dbname>{database}</dbname><base>{base}</base></siteinfo>"
    dump = tmp_path / "dump.xml"
    dump.write_bytes(export_xml([page_xml(numbered_page(1, "Tea."))], site=site))
    for language in ((), ("--language", "en")):
        said = refused("import", dump, "--all", "--store", tmp_path / "a.store", *language)
        assert f"{dump}: holds pages of {name} ({base}); expected a dump of a Wikipedia" in said
        assert "--language" not in said


def test_status(store: Path, tmp_path: Path) -> None:
    assert call("status", "--store", store).stdout.startswith("en: 28 pages, 28 revisions\n")
    (row,) = as_json("status", "--store", store)
    assert (row["language"], row["pages"], row["missing"], row["rejected"]) == ("en", 28, 0, {})
    empty = store_of(tmp_path / "empty.store", [])
    assert call("status", "--store", empty).stdout.endswith("empty.store: empty\n")


def test_older_revisions_are_counted_and_taken_up_to_a_date(tmp_path: Path) -> None:
    pages = [
        Page(title="Tea", page_id=1, revision_id=n, timestamp=f"2016-{month}-01T00:00:00Z", wikitext="Hot.")
        for n, month in ((11, "06"), (12, "12"))
    ]
    store = store_of(tmp_path / "two.store", pages)
    said = call("status", "--store", store).stdout
    assert said.startswith("en: 1 pages, 2 revisions (1 older ones of the same pages or titles)\n")
    for date, number in (("2016-06-30", "\t11\t"), ("2016-12-31", "\t12\t")):
        (line,) = call("lock", "--store", store, "--as-of", date).stdout.splitlines()[2:]
        assert number in line
    store_of(store, [numbered_page(number, "Words.") for number in range(2, 9)])  # enough for a train set
    build = ("build", "demo", "--store", store, "--workers", "1")
    assert "1 older revisions of the same pages" in call(*build, "--out", tmp_path / "a").stdout
    assert "older revisions" not in call(*build, "--out", tmp_path / "b", "--as-of", "2016-06-30").stdout


@pytest.mark.parametrize("title", ["Octopus", "Reykjavík", "Mount Fuji"])
def test_extract_and_tokenize_give_the_lines_of_the_dataset(store: Path, dataset: Path, title: str) -> None:
    plain = call("extract", "--store", store, "--title", title).stdout
    assert plain.splitlines()[1] == f"= {title} ="
    official = call("tokenize", input=plain).stdout
    files = [dataset / f"wiki.{split}.raw" for split in SPLITS]
    assert sum(file.read_text(encoding="utf-8").count(official) for file in files) == 1
    clean = call("extract", "--store", store, "--title", title, "--sections", "clean").stdout
    assert 0 < len(clean) <= len(plain)


def test_extract_reports_what_is_left_out_apart_from_the_text(tmp_path: Path) -> None:
    own = store_of(tmp_path / "own.store", [numbered_page(1, "It is {{known to nobody|5}} old.", "Chess")])
    result = call("extract", "--store", own, "--title", "Chess")
    assert "left out: {{" in result.stderr
    assert "left out" not in result.stdout


# --- datasets


def test_tokenize_reads_files_and_stdin(tmp_path: Path) -> None:
    file, text = tmp_path / "a.txt", "== Early life ==\n\nIt's 1,500 km."
    file.write_text(text, encoding="utf-8")
    expected = " = = Early life = = \n \n It 's 1 @,@ 500 km . \n"
    assert call("tokenize", file).stdout == call("tokenize", input=text).stdout == expected
    assert call("tokenize", "--language", "fr", input="l'eau").stdout == " l' eau \n"
    file.write_bytes("one\rtwo\x85three\nfour\r\n".encode())  # lines end at line feeds only
    assert call("tokenize", file).stdout == " one two three \n four \n"
    file.write_bytes("café\n".encode("latin-1"))
    assert "expected text in UTF-8" in refused("tokenize", file)


def test_tokenize_gives_a_large_file_to_processes_in_order(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lines = [f"It's line {number:,}.\n" for number in range(100_000)]
    (tmp_path / "a.txt").write_text("".join(lines))
    alone = call("tokenize", tmp_path / "a.txt").stdout
    monkeypatch.setattr(datasets, "PARALLEL_BYTES", 1 << 20)
    monkeypatch.setattr(datasets, "READ_BYTES", 1 << 17)
    assert call("tokenize", tmp_path / "a.txt").stdout == alone
    assert alone.splitlines()[99_999] == " It 's line 99 @,@ 999 . "


def test_build_reports_counts_in_the_order_of_splits(store: Path, dataset: Path) -> None:
    result = call("build", "demo", "--store", store, "--out", dataset)
    first, *rest = result.stdout.splitlines()
    assert first == f"{dataset}: already built"
    assert [line.split()[0] for line in rest] == [*SPLITS, "vocabulary", "made"]


def test_build_says_which_share_of_the_words_is_lost(tmp_path: Path) -> None:
    pages = [
        numbered_page(number, f"It was {{{{Unknown {number}|x}}}} long. " + "Tea is hot. " * 90)
        for number in range(1, 10)
    ]
    store = store_of(tmp_path / "unknown.store", pages)
    report = call("build", "demo", "--store", store, "--out", tmp_path / "out").stdout
    assert re.search(r"\n  lost       \d\.\d\d % of the words, \d\.\d\d % of the sentences: Unknown", report)


def test_fields_of_the_recipe_can_be_given_and_the_report_is_json(store: Path, tmp_path: Path) -> None:
    changes = ("--train-articles", "5", "--valid-articles", "2", "--test-articles", "1", "--min-count", "2")
    more = ("--sections", "clean", "--seed", "x", "--workers", "1")
    report = as_json("build", "demo", "--store", store, "--out", tmp_path / "a", *changes, *more)
    assert (report["pages"], report["rejected"]) == (8, {})
    assert all(isinstance(count, int) for count in report["left_out"].values())
    assert report["loss"]["kept_words"] > 1_000
    call("build", "demo", "--store", store, "--out", tmp_path / "b", "--train-articles", "20", *changes[2:])
    manifest = json.loads((tmp_path / "a" / "manifest.json").read_text(encoding="utf-8"))
    assert [manifest["splits"][split]["articles"] for split in SPLITS] == [5, 2, 1]
    recipe = manifest["recipe"]
    assert (recipe["min_count"], recipe["sections"], recipe["seed"]) == (2, "clean", "x")
    assert manifest == report["manifest"]


def test_given_titles_make_up_valid_and_test(store: Path, tmp_path: Path) -> None:
    valid, test, out = tmp_path / "valid.txt", titles_file(tmp_path / "test.txt", "Haiku"), tmp_path / "a"
    titles_file(valid, "# ours", "Tea", "", "Chess")
    build = ("build", "demo", "--store", store, "--workers", "1", "--valid-titles", valid)
    assert "the store has too few" not in call(*build, "--out", out, "--test-titles", test).stderr
    for split, expected in (("valid", ["Chess", "Tea"]), ("test", ["Haiku"])):
        text = (out / f"wiki.{split}.raw").read_text(encoding="utf-8")
        assert sorted(re.findall(r"^ = (\w+) = $", text, re.MULTILINE)) == expected
    both = titles_file(test, "Haiku", "Tea")
    assert "both name 1 of the articles" in refused(*build, "--out", tmp_path / "b", "--test-titles", both)
    said = refused(*build, "--out", tmp_path / "b", "--valid-articles", "3")
    assert "--valid-titles and --valid-articles: use one of the two" in said
    test_titles = ("--test-titles", titles_file(test, "Haiku"), "--test-articles", "0")
    said = refused(
        "build", "live", "--store", store, "--out", tmp_path / "b", "--valid-articles", "3", *test_titles
    )
    assert "--test-titles: wikitext-live has no test; ask for --test-articles" in said
    titles_file(valid, "# none yet")
    assert "names no article" in refused(*build, "--out", tmp_path / "b")


def test_given_articles_that_are_rejected_are_not_replaced(store: Path, tmp_path: Path) -> None:
    own = store_of(tmp_path / "own.store", [numbered_page(1, "{{stub}}", "Nil")], copy=store)
    valid = titles_file(tmp_path / "valid.txt", "Nil")
    options = ("--valid-titles", valid, "--workers", "1", "--json")
    result = call("build", "demo", "--store", own, "--out", tmp_path / "a", *options)
    report = json.loads(result.stdout)
    assert (report["pages"], report["rejected"]) == (29, {"no-text": 1})
    assert [report["manifest"]["splits"][split]["articles"] for split in SPLITS] == [25, 0, 3]
    assert "valid has 0 articles, but 1 titles were given: rejected.jsonl says why" in result.stderr


def test_an_interrupted_build_is_reported_with_what_was_found(store: Path, tmp_path: Path) -> None:
    class Interrupted(Serial):
        def map(self, function, tasks, *shared):
            yield from super().map(function, tasks, *shared)
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        built(store, tmp_path / "a", runner=Interrupted())
    result = call("build", "demo", "--store", store, "--out", tmp_path / "a", "--workers", "1")
    assert "extract: 0/28, resumes: 1 shards are already done" in result.stderr
    assert "found      1 shards" in result.stdout
    assert "MB/s" not in result.stdout, "no page was extracted, so there is no speed"


def test_too_few_pages_are_an_error_that_names_options_which_work(store: Path, tmp_path: Path) -> None:
    build = ("build", "wikitext-2", "--store", store, "--out", tmp_path / "a", "--workers", "1")
    said = refused(*build)
    assert "28 articles are too few for wikitext-2" in said
    options = re.search(r"use (--valid-articles) (\d+) and (--test-articles) (\d+)$", said.strip())
    assert options is not None, said
    assert not (tmp_path / "a").exists()
    assert re.search(
        r"train has \d+ articles, but wikitext-2 expects 600", call(*build, *options.groups()).stderr
    )
    call("verify", tmp_path / "a")


def test_a_dataset_that_was_changed_is_not_called_built(store: Path, dataset: Path, tmp_path: Path) -> None:
    copy = shutil.copytree(dataset, tmp_path / "a")
    build = ("build", "demo", "--store", store, "--out", copy, "--workers", "1")
    with (copy / "wiki.test.tokens").open("a", encoding="utf-8") as file:
        file.write(" more\n")
    found = call("verify", copy, expect=1)
    assert "remove the folder and build again" in found.stdout
    assert "WRONG       wiki.test.tokens sha256" in found.stdout
    assert "checks failed" in found.stderr
    assert "holds this dataset, but its files were changed" in refused(*build)
    shutil.copy(dataset / "wiki.test.tokens", copy)
    (copy / "wiki.more.tokens").touch()
    assert "holds this dataset, but its files were changed" in refused(*build)


def test_verify(dataset: Path) -> None:
    assert {line.split()[0] for line in call("verify", dataset).stdout.splitlines()} == {"ok"}
    (line,) = call("verify", dataset, "--quiet").stdout.splitlines()
    assert line.endswith("checks passed, none skipped")
    assert all(check["passed"] for check in as_json("verify", dataset))


def test_stats_as_table_and_json(dataset: Path) -> None:
    assert "Vocab size" in call("stats", dataset).stdout
    rows = as_json("stats", dataset)
    lines = list(csv.DictReader(io.StringIO(call("stats", dataset, "--csv").stdout)))
    assert [{key: str(value or "") for key, value in row.items()} for row in rows] == lines
    manifest = json.loads((dataset / "manifest.json").read_text(encoding="utf-8"))
    assert [row["split"] for row in rows] == [*SPLITS, "all"]
    assert [row["tokens"] for row in rows[:3]] == [manifest["splits"][one]["tokens"] for one in SPLITS]


# --- the program


@pytest.mark.parametrize(
    ("words", "says"),
    [
        ("wikitext-builder extract --store {sample}/pages.store --title octopus", "did you mean 'Octopus'?"),
        ("wikitext-builder stats {sample}/dmo", "did you mean 'demo'?"),
        ("ps-models train lstn {sample}/demo --out new", "did you mean 'lstm'?"),
        ("ps-models train lstm {sample}/demo --out new --preset tinny", "did you mean 'tiny'?"),
        ("lm-benchmarks run kn5 --data {sample}/demo", "did you mean 'kn-5'?"),
        ("lm-benchmarks run nosuch --data {sample}/demo", "run `lm-benchmarks list` for what each one is"),
    ],
)
def test_an_unknown_name_is_answered_with_the_right_one(
    sample: Path, tmp_path: Path, words: str, says: str
) -> None:
    name, *arguments = words.format(sample=sample).split()
    done = run_program(name, *arguments, place=tmp_path)
    assert done.returncode in (1, 2)
    assert says in done.stderr


def test_a_reader_that_goes_away_is_not_an_error() -> None:
    line = f"yes a b c | {shlex.join(COMMAND)} tokenize | head -n 1; echo ${{PIPESTATUS[1]}}"
    done = subprocess.run(
        ["bash", "-c", line], env=environment(), capture_output=True, text=True, check=True, timeout=100
    )
    assert (done.stdout, done.stderr) == (" a b c \n141\n", "")


def test_control_c_ends_quietly_with_130() -> None:
    with start("tokenize", stdin=subprocess.PIPE, preexec_fn=hear_control_c) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write("a line\n" * 5_000)
        process.stdin.flush()
        assert process.stdout.read(8) == " a line "  # it is at work
        os.killpg(process.pid, signal.SIGINT)
        _, said = process.communicate(timeout=100)
    assert process.returncode == 130
    assert said.strip() == "wikitext-builder: stopped; run the same command again to resume it"


def test_output_is_utf_8_whatever_the_locale() -> None:
    changes = {"PYTHONIOENCODING": "ascii", "LC_ALL": "C", "PYTHONUTF8": "0"}
    done = run("tokenize", input="Łódź – 杜甫\n", env=environment(**changes))
    assert (done.returncode, done.stdout, done.stderr) == (0, " Łódź – 杜甫 \n", "")


def test_lines_without_a_terminal_and_a_bar_on_one(store: Path, tmp_path: Path) -> None:
    build = ("build", "demo", "--store", store, "--workers", "1", "--out")
    lines = call(*build, tmp_path / "a").stderr
    assert "extract: 28/28\n" in lines
    assert BAR not in lines
    assert "\x1b" not in lines
    command, wide = (
        [*COMMAND, *map(str, build), str(tmp_path / "b")],
        environment(TERM="xterm", COLUMNS="120"),
    )
    with on_terminal() as (end, pieces):
        result = subprocess.run(command, stdin=end, stdout=subprocess.PIPE, stderr=end, env=wide, check=True)
    assert result.stdout.startswith(f"{tmp_path / 'b'}: built\n".encode())
    shown = b"".join(pieces).decode(errors="replace")
    assert BAR in shown
    assert "28/28" in shown
    assert "extract: 28/28" not in shown
