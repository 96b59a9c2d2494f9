"""The commands on a tiny dataset: what they print and write, and how they fail."""

import csv
import functools
import io
import json
import math
import re
import shlex
import shutil
import sys

import pytest
from click.testing import CliRunner
from lm_benchmarks.choices import HarnessError
from lm_benchmarks.cli import commands, main
from lm_benchmarks.measuring.measure import MeasuringError
from lm_benchmarks.records import append_record, read_results
from msgspec.structs import replace

import wikitext_builder as wb
from ps_models.cli import commands as training
from ps_models.signature import Signature
from tests.command import invoke
from tests.conftest import ROOT
from tests.lm_benchmarks.adapters.test_command import UNIFORM
from tests.lm_benchmarks.adapters.test_ngrams import arpa
from tests.lm_benchmarks.results import RESULT, signed
from tests.lm_benchmarks.tiny_causal import make_causal_model
from tests.ps_models.tiny import settings_of
from wikitext_builder.dataset.vocabulary import EOS, Vocabulary
from wikitext_builder.sample import SAMPLE_DUMP

run = functools.partial(invoke, commands)
FAST = ("--no-check", "--no-groups")


@pytest.fixture
def failed(monkeypatch, capsys):
    """The lines of the error of a command that ends with status 1."""

    def lines(*arguments):
        monkeypatch.setattr(sys, "argv", ["lm-benchmarks", *map(str, arguments)])
        with pytest.raises(SystemExit) as ended:
            main()
        assert ended.value.code == 1
        return capsys.readouterr().err.splitlines()

    return lines


def test_control_c_says_what_is_kept(data, tmp_path, monkeypatch, capsys):
    def stop(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.chdir(tmp_path)
    for name in ("measure", "check"):
        monkeypatch.setattr(f"lm_benchmarks.{name}", stop)
    for words, kept in (
        ("run kn-5", "nothing was stored: run the same command again, with --results FILE to resume later"),
        ("run kn-5 --results r", "finished results are in r: run the same command again to resume"),
        (
            "run kn-5 --results r --no-resume",
            "finished results are in r: run it again without --no-resume to resume",
        ),
        ("check kn-5", "nothing was stored: run the same command again"),
    ):
        monkeypatch.setattr(sys, "argv", ["lm-benchmarks", *words.split(), "--data", str(data)])
        with pytest.raises(SystemExit) as ended:
            main()
        assert ended.value.code == 130
        assert capsys.readouterr().err.strip() == f"lm-benchmarks: stopped; {kept}"


def trained_model(model, data, out, *more):
    sizes = ("hidden_size", "layers") if model == "sum-product-network" else ()  # it has none
    chosen = [one for one in settings_of(model, *more) if not one.startswith(sizes)]
    options = [part for setting in chosen for part in ("--set", setting)]
    invoke(training, "train", model, data, "--out", out, "--device", "cpu", *options)
    return out


@pytest.fixture(scope="module")
def checkpoint(tmp_path_factory, data):
    return trained_model("pointer-sentinel-lstm", data, tmp_path_factory.mktemp("run") / "pointer")


@pytest.fixture(scope="module")
def variational(tmp_path_factory, data):
    return trained_model("lstm", data, tmp_path_factory.mktemp("run") / "lstm")


@pytest.fixture(scope="module")
def third_party(tmp_path_factory, data):
    """Models of other programs: n-grams, a causal model, a command."""
    pytest.importorskip("transformers", reason="needs the package transformers")
    folder = tmp_path_factory.mktemp("others")
    vocabulary = Vocabulary.of_file(data / "wiki.train.tokens")
    words = [word for word in vocabulary.tokens if word not in ("<unk>", EOS)]
    (folder / "bigrams.arpa").write_text(arpa(words))
    make_causal_model(folder / "causal", data / "wiki.train.tokens")
    line = shlex.join([sys.executable, "-c", UNIFORM.format(size=len(vocabulary))])
    return f"arpa:{folder / 'bigrams.arpa'}", f"transformers:{folder / 'causal'}", f"command:{line}"


@pytest.fixture(scope="module")
def results(tmp_path_factory, data, checkpoint, third_party):
    """All kinds of models measured."""
    path = tmp_path_factory.mktemp("results") / "results.jsonl"
    cheat = "tests.lm_benchmarks.cheats:peeks"
    models = ("kn-5", "kn-5+cache", checkpoint, *third_party, cheat)
    run("run", *models, "--allow-broken", "--data", data, "--results", path)
    run("run", "kn-5", "--data", data, "--split", "valid", "--results", path)
    return path


def test_every_kind_of_model_is_measured_and_a_cheat_is_marked(results, data):
    read = read_results(results)
    assert len(read) == 8
    cheats = [result for result in read if result.broken]
    assert [result.model for result in cheats] == ["tests.lm_benchmarks.cheats:peeks"]
    assert "future" in cheats[0].broken
    assert len({result.total.tokens for result in read if result.signature["split"] == "test"}) == 1
    (how,) = read[2].trained
    assert (how.recipe, how.data, how.epochs) == (read[2].recipe, "tiny", len(how.curve))
    assert how.command.startswith("ps-models train pointer-sentinel-lstm tiny --set ")
    train = (data / "wiki.train.tokens").read_text().split("\n")[:-1]
    assert how.tokens == how.epochs * sum(len(line.split()) + 1 for line in train)
    assert all(result.groups and result.written and result.command for result in read)


def test_run_prints_what_it_adds_to_the_file_and_scores_as_ps_models_says(data, checkpoint, tmp_path):
    path = tmp_path / "results.jsonl"
    fields = json.loads(run("run", "unigram", "--data", data, "--results", path, "--json", "--no-check"))
    (result,) = read_results(path)
    assert fields["perplexity"] == result.total.score.perplexity
    assert Signature.parse(fields["signature"]) == result.signature
    assert result.checks is None
    text = run("run", "unigram", "--data", data)
    assert f"{fields['perplexity']:.4f}" in text
    assert fields["signature"] in text
    expected = json.loads(invoke(training, "evaluate", checkpoint, data, "--json"))
    fields = json.loads(run("run", checkpoint, "--data", data, *FAST, "--json"))
    assert (fields["nats"], fields["tokens"]) == (expected["nats"], expected["tokens"])


def test_what_is_put_around_a_checkpoint_is_measured_and_keeps_the_laws(data, variational, tmp_path):
    path = tmp_path / "results.jsonl"
    models = (f"cache:{variational}", f"mc:{variational}", f"mix:{variational},kn-5")
    options = ("--data", data, "--split", "valid", "--results", path)
    run("run", *models, *options, "--samples", 3)
    run("run", models[0], *options, *FAST, "--window", 20)
    *read, given = read_results(path)
    assert [(result.model, result.recipe) for result in (*read, given)] == [
        ("lstm + neural cache", "cache:lstm"),
        ("lstm, MC", "mc:lstm"),
        ("lstm + KN-5", "mix:lstm,kn-5"),
        ("lstm + neural cache of 20", "cache-20:lstm"),
    ]
    assert all(result.checks and not result.broken for result in read)
    assert read[0].signature["tuned"].startswith("valid+")
    assert read[1].signature["dropout_samples"] == "3"
    assert [len(result.trained) for result in read] == [1] * 3
    plain = json.loads(run("run", variational, "--data", data, "--split", "valid", "--no-check", "--json"))
    assert read[0].total.score.perplexity < plain["perplexity"]
    windows = [result.signature["cache"].startswith("20.") for result in (read[0], given)]
    assert windows == [False, True]


def test_where_train_is_missing_models_have_their_own_words_or_those_of_each_split(
    data, variational, tmp_path
):
    cut = shutil.copytree(data, tmp_path / "cut", ignore=shutil.ignore_patterns("*.train.*"))
    models = (f"cache:{variational}", f"mix:{variational},{variational}")
    options = (*FAST, "--window", 20, "--json")
    whole, without = (run("run", *models, "--data", folder, *options).splitlines() for folder in (data, cut))
    nats = [[json.loads(line)["nats"] for line in lines] for lines in (whole, without)]
    assert nats[0] == pytest.approx(nats[1])
    splits = ("valid", "test")
    words = {word for split in splits for word in (data / f"wiki.{split}.tokens").read_text().split()}
    (tmp_path / "words.arpa").write_text(arpa(sorted(words)))
    grams = ("run", f"arpa:{tmp_path / 'words.arpa'}", "--data", cut, *FAST, "--json", "--split")
    alone = [json.loads(run(*grams, split))["nats"] for split in splits]
    both = run(*grams, "valid", "--split", "test").splitlines()
    assert [json.loads(line)["nats"] for line in both] == alone


def test_what_cannot_be_put_around_a_checkpoint_is_refused(data, tmp_path):
    for kind, model, settings, message in (
        ("mc", "lstm", ("locked=no", "recurrent_dropout=0"), "keeps its dropout masks"),
        ("cache", "sum-product-network", (), "expected a recurrent model"),
    ):
        out = trained_model(model, data, tmp_path / model, *settings)
        with pytest.raises(HarnessError, match=message):
            run("run", f"{kind}:{out}", "--data", data)


def test_json_has_no_infinite_number(data):
    bad = "import sys\nfor line in sys.stdin:\n words = line.split()\n"
    bad += " if words: print(*['-800'] * len(words), flush=True)"
    text = run("run", f"command:{shlex.join([sys.executable, '-c', bad])}", "--data", data, *FAST, "--json")
    assert json.loads(text)["perplexity"] is None
    assert "Infinity" not in text


def test_check_says_which_law_is_broken(data, failed):
    text = run("check", "kn-5", "--data", data, "--tokens", 100, "--seed", 3)
    assert text.split()[1:12:2] == ["kept"] * 6
    assert re.search(r"and in \d+ random chunks of the run \(seed 3\)", text)
    assert "This can miss violations in fewer than" in text
    told = CliRunner().invoke(commands, ["check", "tests.lm_benchmarks.cheats:peeks", "--data", str(data)])
    assert re.search(r"^future +scores differ", told.stdout, re.MULTILINE)
    assert str(told.exception).startswith(
        "the model violates 4 of 6 invariants. "
    )  # the table has said which
    assert "random chunks" not in told.stdout  # the beginning has shown it
    assert failed("check", "tests.lm_benchmarks.cheats:peeks", "--data", data)


def test_a_model_that_cheats_later_fails_but_its_record_says_why(data, tmp_path):
    path, long = tmp_path / "results.jsonl", shutil.copytree(data, tmp_path / "long")
    shutil.copy(long / "wiki.train.tokens", long / "wiki.test.tokens")  # more than 400 tokens
    for cheat, context in (("sure", "carried"), ("too_much", "carried"), ("too_much", "article")):
        model = f"tests.lm_benchmarks.cheats:{cheat}_later"
        arguments = ("run", model, "--data", long, "--results", path, "--context", context)
        with pytest.raises(HarnessError, match=r"violates .* of 6 invariants; sum: .* sum to .*, at token"):
            run(*arguments)
        assert "BREAKS sum" in run(*arguments, "--allow-broken")
        first, second = read_results(path)[-2:]
        assert (first.broken, first.tried) == (second.broken, second.tried)
        assert "sum" in first.broken


def test_a_model_that_fails_or_cheats_at_once_does_not_stop_the_others(data, tmp_path, failed):
    path, cheat = tmp_path / "results.jsonl", "tests.lm_benchmarks.cheats:peeks"
    dies = f"command:{shlex.join([sys.executable, '-c', 'import sys; input(); sys.exit(3)'])}"
    models = ("no-such-model", "unigram", dies, cheat, "kn-5")
    text = "\n".join(failed("run", *models, "--data", data, "--results", path))
    assert [result.model for result in read_results(path)] == ["unigram", "KN-5"]
    assert "lm-benchmarks: 3 of 5 measurements failed; 2 results were measured" in text
    assert "no-such-model on test: no-such-model: no such model" in text
    assert text.count("ended without an answer (status 3)") == 1
    assert "--allow-broken measures it" in text
    with pytest.raises(MeasuringError) as error:
        run("run", cheat, "kn-5", "--data", data)
    assert [result.model for result in error.value.results] == ["KN-5"]


def test_compare_tells_the_difference(results, checkpoint):
    for name in ("kn-5", "KN-5", checkpoint, "pointer-sentinel-lstm"):  # whatever was typed at run
        text = run("compare", results, "KN-5 + cache", name)
        assert "difference" in text
        assert "3 passages: too few for an interval" in text
    words = ("compare", results, "KN-5", "tests.lm_benchmarks.cheats:peeks")
    found = json.loads(run(*words, "--json"))
    (row,) = csv.DictReader(io.StringIO(run(*words, "--csv")))
    assert row.keys() - {"low", "high"} == found.keys() - {"interval"}
    assert float(row["difference"]) == found["difference"]
    assert row["second_broken"] == " ".join(found["second_broken"])
    assert found["difference"] == pytest.approx(found["second"] - found["first"])
    assert "BREAKS: " in run(*words)


RECORDS = ROOT / "benchmarks" / "results" / "ptb.jsonl"
FEW = ("lstm medium-tied-sgd", "kn-5", "lstm medium-tied-sgd + neural cache")


def test_compare_all_shows_ranks_and_pairs_in_80_columns(results):
    text = run("compare", RECORDS, "--all", *FEW)
    assert re.search(r"^1 +1 +64\.6796  lstm medium-tied-sgd \+ neural cache$", text, re.MULTILINE)
    assert re.search(r"^3 +3 +141\.1861  KN-5$", text, re.MULTILINE)
    assert re.search(r"^2, 3 +\+69\.0430 +\+62\.\d+ to \+75\.\d+ +\S+ +\S+$", text, re.MULTILINE)
    assert "38 passages, 3 pairs, 3 of them significant" in text
    assert "models have one seed" in text.replace("\n", " ")
    assert max(map(len, text.splitlines())) <= 80
    every = run("compare", RECORDS, "--all")
    assert "pair " not in every  # a thousand
    assert "or name fewer models" in every.replace("\n", " ")
    assert "not significant" in run("compare", RECORDS, "--all", "lstm small", "kn-5")
    found = json.loads(run("compare", RECORDS, "--all", *FEW, "--json"))
    assert [(model["best_rank"], model["worst_rank"]) for model in found["models"]] == [
        (1, 1),
        (2, 2),
        (3, 3),
    ]
    rows = list(csv.DictReader(io.StringIO(run("compare", RECORDS, "--all", *FEW, "--csv"))))
    assert [float(row["p_adjusted"]) for row in rows] == [pair["p_adjusted"] for pair in found["pairs"]]
    assert [row["second_ranks"] for row in rows] == ["2", "3", "3"]
    short = run("compare", results, "--all")
    assert "left out: tests.lm_benchmarks.cheats:peeks: violates " in short
    assert "passages: too few for an interval." in short.replace("\n", " ")
    assert "all correct in" not in short


def test_power(tmp_path, monkeypatch):
    (tmp_path / "wiki.test.tokens").write_text(
        "".join(f" \n = Title {n} = \n \n" + " a b c \n" * 40 for n in range(12)), encoding="utf-8"
    )
    words = ("power", tmp_path, "--difference", "0.5", "--perplexity", 65)
    text = run(*words)
    assert "test: 12 passages, 2,004 tokens; difference: 0.77% (0.50 of 65)" in text
    assert max(map(len, text.splitlines())) <= 80
    found = json.loads(run(*words, "--json"))
    (alike,) = re.findall(r"^alike .* (\d\.\d+)%", text, re.MULTILINE)  # rounded up: it has its power
    assert 0 <= float(alike) + 100 * math.expm1(-found["kinds"][0]["detectable"]) < 0.11
    monkeypatch.chdir(tmp_path)  # the example runs on the dataset of the tutorial
    wb.import_dump("sample.store", SAMPLE_DUMP)
    wb.build("demo", "sample.store", "wikitext-demo", workers=1)
    example = (commands.commands["power"].epilog or "").partition("$ lm-benchmarks ")[2]
    assert "train: 22 passages" in run(*example.split())


def test_list_names_models_and_metrics():
    text = run("list")
    for name in ("kn-5+cache", "transformers:", "command:", "bits-per-byte", "lm-eval-word-perplexity"):
        assert name in text
    assert "kn-5" in json.loads(run("list", "--json"))["models"]


def test_errors_are_one_line_and_status_1(results, data, failed):
    cheat, text, faults = "tests.lm_benchmarks.cheats", data / "wiki.test.tokens", []
    for message, command, *words in (
        ("no such model; expected one of unigram", "run", "no-such-model", "--data", data),
        ("expected a function that Python can import", "run", "no.such:function", "--data", data),
        ("expected a function", "run", f"{cheat}:none", "--data", data),
        ("expected a LanguageModel", "run", f"{cheat}:no_model", "--data", data),
        ("checkpoint", "run", data, "--data", data),
        ("a single file; expected a folder", "run", "kn-5", "--data", text),
        ("0 vocabularies", "run", "mix:", "--data", data),
        ("no result of nobody on test; there are KN-5, KN-5 + ", "compare", results, "KN-5", "nobody"),
        ("expected a result as `lm-benchmarks run` writes it", "compare", text, "KN-5", "KN-5"),
        ("expected a name ending in .md", "report", results, "--out", "x.pdf"),
        ("expected the log of a run", "report", results, "--out", "x.html", "--log", data),
    ):
        lines = [line for line in failed(command, *words) if line.startswith("lm-benchmarks: ")]
        if len(lines) != 1 or message not in lines[0]:
            faults.append((message, lines))
    assert faults == []


def test_wrong_usage_is_status_2():
    seeds = [("compare", "results.jsonl", "a", "b", "--seed", seed) for seed in ("-1", "9" * 20)]
    names = [("compare", RECORDS, *names) for names in ((), ("kn-5",), ("a", "b", "c"))]
    for words in (("run",), ("compare",), *names, *seeds):
        run(*words, status=2)


def test_a_file_that_cannot_be_written_is_refused_before_anything_is_measured(tmp_path):
    missing = tmp_path / "no folder" / "file.svg"
    for words in (
        ("run", "kn-5", "--data", ".", "--results"),
        ("conventions", "kn-5", "--data", ".", "--results"),
        ("conventions", "kn-5", "--data", ".", "--out"),
        ("report", ".", "--out"),
    ):
        for path, why in (
            (missing, f"'{missing.parent}'; create it first"),
            (tmp_path, "is a directory"),
        ):
            ended = CliRunner().invoke(commands, [*words, str(path)])
            assert (ended.exit_code, why in ended.output) == (2, True), (words, ended.output)


def test_names_of_a_stranger_do_not_steer_the_terminal(tmp_path):
    for model, name in (("a", "a\x1b[2J"), ("b", "b\r\nc")):
        append_record(tmp_path / "r.jsonl", replace(signed(RESULT, model=model), model=name))
    text = run("compare", tmp_path / "r.jsonl", "a\x1b[2J", "b\r\nc")
    assert all(character.isprintable() or character == "\n" for character in text)
    assert "a\\x1b[2J" in text
