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
from pathlib import Path

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
from tests.lm_benchmarks.results import RESULT
from tests.lm_benchmarks.tiny_causal import make_causal_model
from tests.ps_models.tiny import settings_of
from wikitext_builder.dataset.vocabulary import EOS, Vocabulary
from wikitext_builder.sample import SAMPLE_DUMP

run = functools.partial(invoke, commands)


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


@pytest.mark.parametrize(
    ("words", "kept"),
    [
        ("run kn-5", "nothing was kept: run the same command again, with --results FILE to resume next time"),
        ("run kn-5 --results r", "what is finished is in r: run the same command again to resume"),
        (
            "run kn-5 --results r --no-resume",
            "what is finished is in r: run it again without --no-resume to resume",
        ),
        ("check kn-5", "nothing was kept: run the same command again"),
    ],
)
def test_control_c_says_what_is_kept(words, kept, data, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "argv", ["lm-benchmarks", *words.split(), "--data", str(data)])
    for name in ("measure", "check"):
        monkeypatch.setattr(f"lm_benchmarks.{name}", stop)
    with pytest.raises(SystemExit) as ended:
        main()
    assert ended.value.code == 130
    assert capsys.readouterr().err.strip() == f"lm-benchmarks: stopped; {kept}"


def stop(*_, **__):
    raise KeyboardInterrupt


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
    (folder / "causal").mkdir()
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
    train = Path(str(data) + "/wiki.train.tokens").read_text().split("\n")[:-1]
    assert how.tokens == how.epochs * sum(len(line.split()) + 1 for line in train)
    assert all(result.groups and result.written and result.command for result in read)


def test_run_prints_what_it_adds_to_the_file(data, tmp_path):
    path = tmp_path / "results.jsonl"
    fields = json.loads(run("run", "unigram", "--data", data, "--results", path, "--json", "--no-check"))
    (result,) = read_results(path)
    assert fields["perplexity"] == result.total.score.perplexity
    assert Signature.parse(fields["signature"]) == result.signature
    assert result.checks is None
    text = run("run", "unigram", "--data", data)
    assert f"{fields['perplexity']:.4f}" in text
    assert fields["signature"] in text


def test_the_checkpoint_scores_as_ps_models_says(data, checkpoint):
    expected = json.loads(invoke(training, "evaluate", checkpoint, data, "--json"))
    fields = json.loads(run("run", checkpoint, "--data", data, "--no-check", "--no-groups", "--json"))
    assert fields["nats"] == expected["nats"]
    assert fields["tokens"] == expected["tokens"]


def test_what_is_put_around_a_checkpoint_is_measured_and_keeps_the_laws(data, variational, tmp_path):
    path = tmp_path / "results.jsonl"
    models = (f"cache:{variational}", f"mc:{variational}", f"mix:{variational},kn-5")
    options = ("--split", "valid", "--samples", 3, "--results", path)
    run("run", *models, "--data", data, *options)
    read = read_results(path)
    assert [(result.model, result.recipe) for result in read] == [
        ("lstm + neural cache", "cache:lstm"),
        ("lstm, MC", "mc:lstm"),
        ("lstm + KN-5", "mix:lstm,kn-5"),
    ]
    assert all(result.checks and not result.broken for result in read)
    assert read[0].signature["tuned"].startswith("valid+")
    assert read[1].signature["dropout_samples"] == "3"
    assert [len(result.trained) for result in read] == [1] * 3
    plain = json.loads(run("run", variational, "--data", data, "--split", "valid", "--no-check", "--json"))
    assert read[0].total.score.perplexity < plain["perplexity"]


def test_a_cache_of_a_given_window_is_not_the_model_whose_window_is_tuned(data, variational, tmp_path):
    path = tmp_path / "results.jsonl"
    options = ("--data", data, "--split", "valid", "--no-check", "--no-groups", "--results", path)
    run("run", f"cache:{variational}", *options)
    run("run", f"cache:{variational}", *options, "--window", 20)
    tuned, given = read_results(path)
    assert (given.model, given.recipe) == ("lstm + neural cache of 20", "cache-20:lstm")
    assert given.signature["cache"].startswith("20.")
    assert not tuned.signature["cache"].startswith("20.")
    assert given.recipe != tuned.recipe


def without_train(data, tmp_path):
    return shutil.copytree(data, tmp_path / "cut", ignore=shutil.ignore_patterns("*.train.*"))


def test_where_train_is_missing_a_checkpoint_is_tuned_on_its_own_words(data, variational, tmp_path):
    cut = without_train(data, tmp_path)
    models = (f"cache:{variational}", f"mix:{variational},{variational}")
    options = ("--no-check", "--no-groups", "--window", 20, "--json")
    whole, without = (run("run", *models, "--data", folder, *options).splitlines() for folder in (data, cut))
    for one, other in zip(map(json.loads, whole), map(json.loads, without), strict=True):
        assert one["nats"] == pytest.approx(other["nats"])


def test_where_train_is_missing_each_split_has_its_own_words(data, tmp_path):
    grams = tmp_path / "words.arpa"
    words = sorted(
        {word for split in ("valid", "test") for word in (data / f"wiki.{split}.tokens").read_text().split()}
    )
    grams.write_text(arpa(words))
    cut = without_train(data, tmp_path)
    options = ("run", f"arpa:{grams}", "--data", cut, "--no-check", "--no-groups", "--json", "--split")
    alone = [json.loads(run(*options, split)) for split in ("valid", "test")]
    both = map(json.loads, run(*options, "valid", "--split", "test").splitlines())
    assert [one["nats"] for one in both] == [one["nats"] for one in alone]


@pytest.mark.parametrize(
    ("kind", "model", "message"),
    [("mc", "checkpoint", "keeps its dropout masks"), ("cache", "unfit", "expected a recurrent model")],
)
def test_what_cannot_be_put_around_a_checkpoint_is_refused(data, tmp_path, kind, model, message):
    settings = ["locked=no", "recurrent_dropout=0"] if kind == "mc" else []
    name = "lstm" if kind == "mc" else "sum-product-network"
    out = trained_model(name, data, tmp_path / model, *settings)
    with pytest.raises(HarnessError, match=message):
        run("run", f"{kind}:{out}", "--data", data)


def test_json_has_no_infinite_number(data):
    bad = "import sys\nfor line in sys.stdin:\n words = line.split()\n"
    bad += " if words: print(*['-800'] * len(words), flush=True)"
    program = f"command:{shlex.join([sys.executable, '-c', bad])}"
    text = run("run", program, "--data", data, "--no-check", "--no-groups", "--json")
    assert json.loads(text)["perplexity"] is None
    assert "Infinity" not in text


def test_check_says_which_law_is_broken(data, failed):
    text = run("check", "kn-5", "--data", data, "--tokens", 100, "--seed", 3)
    assert text.split()[1:12:2] == ["kept"] * 6
    assert re.search(r"and in \d+ random articles of the run \(seed 3\)", text)
    assert "This can miss violations in fewer than" in text
    told = CliRunner().invoke(commands, ["check", "tests.lm_benchmarks.cheats:peeks", "--data", str(data)])
    assert re.search(r"^future +scores differ", told.stdout, re.MULTILINE)
    assert str(told.exception) == "the model violates 3 of 6 invariants"  # which ones, the table has said
    assert "random articles" not in told.stdout  # the beginning has shown it
    assert failed("check", "tests.lm_benchmarks.cheats:peeks", "--data", data)


@pytest.fixture
def long_data(data, tmp_path):
    """Its test split has more than 400 tokens."""
    folder = shutil.copytree(data, tmp_path / "long")
    shutil.copy(folder / "wiki.train.tokens", folder / "wiki.test.tokens")
    return folder


@pytest.mark.parametrize(
    ("cheat", "context"),
    [("sure_later", "carried"), ("too_much_later", "carried"), ("too_much_later", "article")],
)
def test_a_model_that_cheats_later_fails_but_its_record_says_why(long_data, tmp_path, cheat, context):
    path = tmp_path / "results.jsonl"
    arguments = ("run", f"tests.lm_benchmarks.cheats:{cheat}", "--data", long_data, "--results", path)
    with pytest.raises(HarnessError, match=r"violates .* of 6 invariants; sum: .* sum to .*, in article \d+"):
        run(*arguments, "--context", context)
    text = run(*arguments, "--context", context, "--allow-broken")
    assert "BREAKS sum" in text
    one, other = read_results(path)
    assert one.broken == other.broken
    assert "sum" in one.broken
    assert one.tried == other.tried


def test_a_model_that_cheats_at_once_is_not_measured(data, tmp_path):
    path = tmp_path / "results.jsonl"
    arguments = ("run", "tests.lm_benchmarks.cheats:peeks", "kn-5", "--data", data, "--results", path)
    with pytest.raises(
        MeasuringError, match=r"1 of 2 .* 1 results(.|\n)*--allow-broken measures it"
    ) as error:
        run(*arguments)
    assert [result.model for result in read_results(path)] == ["KN-5"]
    assert [result.model for result in error.value.results] == ["KN-5"]


def test_a_model_that_fails_does_not_stop_the_others(data, tmp_path, failed):
    path = tmp_path / "results.jsonl"
    dies = f"command:{shlex.join([sys.executable, '-c', 'import sys; input(); sys.exit(3)'])}"
    models = ("no-such-model", "unigram", dies, "kn-5")
    text = "\n".join(failed("run", *models, "--data", data, "--results", path))
    assert [result.model for result in read_results(path)] == ["unigram", "KN-5"]
    assert "lm-benchmarks: 2 of 4 measurements failed; 2 results were measured" in text
    assert "no-such-model on test: no-such-model: no such model" in text
    assert text.count("ended without an answer (status 3)") == 1


def test_compare_tells_the_difference(results):
    text = run("compare", results, "KN-5", "KN-5 + cache")
    assert "difference" in text
    assert "3 passages: too few for an interval" in text
    found = json.loads(run("compare", results, "KN-5", "tests.lm_benchmarks.cheats:peeks", "--json"))
    (row,) = csv.DictReader(
        io.StringIO(run("compare", results, "KN-5", "tests.lm_benchmarks.cheats:peeks", "--csv"))
    )
    assert row.keys() - {"low", "high"} == found.keys() - {"interval"}
    assert float(row["difference"]) == found["difference"]
    assert row["second_broken"] == " ".join(found["second_broken"])
    assert found["difference"] == pytest.approx(found["second"] - found["first"])
    assert "BREAKS: " in run("compare", results, "KN-5", "tests.lm_benchmarks.cheats:peeks")


RECORDS = ROOT / "benchmarks" / "results" / "ptb.jsonl"
FEW = ("lstm medium-tied-sgd", "kn-5", "lstm medium-tied-sgd + neural cache")


def test_compare_all_shows_ranks_and_pairs_in_80_columns():
    text = run("compare", RECORDS, "--all", *FEW)
    assert re.search(r"^1 +1 +64\.6796  lstm medium-tied-sgd \+ neural cache$", text, re.MULTILINE)
    assert re.search(r"^3 +3 +141\.1861  KN-5$", text, re.MULTILINE)
    assert re.search(r"^2, 3 +\+69\.0430 +\+62\.\d+ to \+75\.\d+ +\S+ +\S+$", text, re.MULTILINE)
    assert "38 passages, 3 pairs, 3 of them sure" in text
    assert "models have one seed" in text.replace("\n", " ")
    assert max(map(len, text.splitlines())) <= 80
    every = run("compare", RECORDS, "--all")
    assert "pair " not in every  # a thousand
    assert "or name fewer models" in every.replace("\n", " ")
    assert "not sure" in run("compare", RECORDS, "--all", "lstm small", "kn-5")


def test_compare_all_for_programs(results):
    found = json.loads(run("compare", RECORDS, "--all", *FEW, "--json"))
    assert [(one["best_rank"], one["worst_rank"]) for one in found["models"]] == [(1, 1), (2, 2), (3, 3)]
    rows = list(csv.DictReader(io.StringIO(run("compare", RECORDS, "--all", *FEW, "--csv"))))
    assert [float(row["p_adjusted"]) for row in rows] == [pair["p_adjusted"] for pair in found["pairs"]]
    assert [row["second_ranks"] for row in rows] == ["2", "3", "3"]
    text = run("compare", results, "--all")
    assert "left out: tests.lm_benchmarks.cheats:peeks: violates " in text
    assert "passages: too few for an interval." in text
    assert "all correct in" not in text


def test_power(tmp_path):
    (tmp_path / "wiki.test.tokens").write_text(
        "".join(f" \n = Title {n} = \n \n" + " a b c \n" * 40 for n in range(12)), encoding="utf-8"
    )
    words = ("power", tmp_path, "--difference", "0.5", "--perplexity", 65)
    text = run(*words)
    assert "test: 12 passages, 2,004 tokens; asked: 0.77% (0.50 of 65)" in text
    assert max(map(len, text.splitlines())) <= 80
    found = json.loads(run(*words, "--json"))
    (alike,) = re.findall(r"^alike .* (\d\.\d+)%", text, re.MULTILINE)  # rounded up: it has its power
    assert 0 <= float(alike) + 100 * math.expm1(-found["kinds"][0]["detectable"]) < 0.11


def test_the_example_of_power_runs(tmp_path, monkeypatch):
    """On the dataset of the tutorial, whose test split has too few articles."""
    monkeypatch.chdir(tmp_path)
    wb.import_dump("sample.store", SAMPLE_DUMP)
    wb.build("demo", "sample.store", "wikitext-demo", workers=1)
    example = (commands.commands["power"].epilog or "").partition("$ lm-benchmarks ")[2]
    assert "train: 22 passages" in run(*example.split())


def test_whatever_was_typed_at_run_works_at_compare(results, checkpoint):
    for name in ("kn-5", "KN-5", checkpoint, "pointer-sentinel-lstm"):
        text = run("compare", results, "kn-5+cache", name)
        assert "difference" in text


def test_list_names_models_and_metrics():
    text = run("list")
    for name in ("kn-5+cache", "transformers:", "command:", "bits-per-byte", "lm-eval-word-perplexity"):
        assert name in text
    assert "kn-5" in json.loads(run("list", "--json"))["models"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("run", "no-such-model", "--data", "{data}"), "no such model; expected one of unigram"),
        (("run", "no.such:function", "--data", "{data}"), "expected a function that Python can import"),
        (("run", "tests.lm_benchmarks.cheats:none", "--data", "{data}"), "expected a function"),
        (("run", "tests.lm_benchmarks.cheats:no_model", "--data", "{data}"), "expected a LanguageModel"),
        (("run", "{data}", "--data", "{data}"), "checkpoint"),
        (("run", "kn-5", "--data", "{file}"), "a single file; expected a folder"),
        (("run", "mix:", "--data", "{data}"), "0 vocabularies"),
        (
            ("compare", "{results}", "KN-5", "nobody"),
            "no result of nobody on test; there are KN-5, KN-5 + cache, ",
        ),
        (("compare", "{file}", "KN-5", "KN-5"), "expected a result as `lm-benchmarks run` writes it"),
        (("report", "{results}", "--out", "x.pdf"), "expected a name ending in .md"),
        (("report", "{results}", "--out", "x.html", "--log", "{data}"), "expected the log of a run"),
    ],
)
def test_errors_are_one_line_and_status_1(results, data, failed, arguments, message):
    names = {"data": data, "results": results, "file": data / "wiki.test.tokens"}
    found = failed(*(argument.format(**names) for argument in arguments))
    (line,) = [line for line in found if line.startswith("lm-benchmarks: ")]
    assert message in line


def test_wrong_usage_is_status_2():
    run("run", status=2)
    run("compare", status=2)
    for names in ((), ("kn-5",), ("a", "b", "c")):
        run("compare", RECORDS, *names, status=2)
    for seed in ("-1", "99999999999999999999"):
        run("compare", "results.jsonl", "a", "b", "--seed", seed, status=2)


@pytest.mark.parametrize(
    ("command", "option"),
    [
        (("run", "kn-5", "--data", "."), "--results"),
        (("conventions", "kn-5", "--data", "."), "--results"),
        (("conventions", "kn-5", "--data", "."), "--out"),
        (("report", "."), "--out"),
    ],
)
def test_a_file_that_cannot_be_written_is_refused_before_anything_is_measured(tmp_path, command, option):
    missing = tmp_path / "no folder" / "file.svg"
    result = CliRunner().invoke(commands, [*command, option, str(missing)])
    assert result.exit_code == 2
    assert f"there is no folder '{missing.parent}'; make it first" in result.output
    result = CliRunner().invoke(commands, [*command, option, str(tmp_path)])
    assert result.exit_code == 2
    assert "is a directory" in result.output


def test_names_of_a_stranger_do_not_steer_the_terminal(tmp_path):
    for name in ("a\x1b[2J", "b\r\nc"):
        append_record(tmp_path / "r.jsonl", replace(RESULT, model=name))
    text = run("compare", tmp_path / "r.jsonl", "a\x1b[2J", "b\r\nc")
    assert all(character.isprintable() or character == "\n" for character in text)
    assert "a\\x1b[2J" in text
