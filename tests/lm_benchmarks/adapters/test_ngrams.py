"""ARPA files by our reader and by KenLM's package, which are two programs with one answer."""

import math
from dataclasses import replace

import lm_benchmarks as lb
import pytest
import torch
from lm_benchmarks.adapters.ngrams import ArpaFile
from lm_benchmarks.choices import HarnessError
from lm_benchmarks.measuring.checks import INVARIANTS, Checks
from lm_benchmarks.measuring.models import open_model
from lm_benchmarks.records import MissingWords, read_results

from ps_models.dataset import Text, read_stream, read_texts
from ps_models.scoring import token_nats
from tests.command import run_program
from wikitext_builder.dataset.vocabulary import EOS

CASES = ["the", "cat", "saw", "dog"]


def arpa(words, *, unknown="<unk>", end="</s>") -> str:
    """Bigrams that sum to one: after `the`, `cat` has half; all else is backed off evenly."""
    share = math.log10(1 / (len(words) + 2))
    lines = "\n".join(f"{share:.9f}\t{word}" for word in (unknown, *words) if word != "the")
    backoff = math.log10(0.5 / (1 - 1 / (len(words) + 2)))
    return f"""\\data\\
ngram 1={len(words) + 3}
ngram 2=1

\\1-grams:
{lines}
-99\t<s>\t0
{share:.9f}\t{end}
{share:.9f}\tthe\t{backoff:.9f}

\\2-grams:
{math.log10(0.5):.9f}\tthe cat

\\end\\
"""


def written(path, inputs, **how):
    """A file of the words of a vocabulary."""
    words = [word for word in inputs.vocabulary.tokens if word not in ("<unk>", EOS)]
    path.write_text(arpa(words, **how), encoding="utf-8")
    return path


@pytest.fixture(scope="module")
def path(tmp_path_factory, inputs):
    return written(tmp_path_factory.mktemp("arpa") / "bigrams.arpa", inputs)


def scored(loaded, tokens):
    ((_, nats),) = token_nats(loaded.model, [Text(tokens, 0)])
    return nats


def test_probabilities_by_hand(path, inputs):
    model = open_model(f"arpa:{path}", inputs)
    share = 1 / (len(inputs.vocabulary))  # the words, <unk> and the end
    backoff = 0.5 / (1 - share)
    text = torch.tensor(inputs.vocabulary.encode(["the", "cat", "the", "dog", EOS, "cat", "the", EOS, "cat"]))
    expected = [share, 0.5, share, backoff * share, share, share, share, backoff * share, share]
    assert scored(model, text).exp().reciprocal().tolist() == pytest.approx(expected, rel=1e-6)


@pytest.mark.parametrize("kind", ["arpa", "kenlm"])
def test_it_keeps_the_laws_and_sums_to_one(kind, path, inputs, stream):
    if kind == "kenlm":
        pytest.importorskip("kenlm", reason="needs the package kenlm")
    loaded = open_model(f"{kind}:{path}", inputs)
    assert Checks(loaded).of_texts([Text(stream, 0)]) == dict.fromkeys(INVARIANTS, "")
    assert loaded.facts == {"lines": "apart", "unknown_to_file": 0}


def test_a_file_that_knows_eos_reads_one_stream(tmp_path, inputs, stream):
    loaded = open_model(f"arpa:{written(tmp_path / 'stream.arpa', inputs, end=EOS)}", inputs)
    assert loaded.facts["lines"] == "joined"
    assert Checks(loaded).of_texts([Text(stream, 0)]) == dict.fromkeys(INVARIANTS, "")


def test_unknown_words_are_spelled_as_the_file_does(tmp_path, inputs):
    path = written(tmp_path / "x.arpa", inputs, unknown="xunkx")
    with pytest.raises(HarnessError, match="--unknown-word"):
        open_model(f"arpa:{path}", inputs)
    loaded = open_model(f"arpa:{path}", replace(inputs, options={"unknown_word": "xunkx"}))
    assert loaded.facts["unknown_word"] == "xunkx"  # with another one it gives other numbers


def test_words_that_the_file_lacks_are_its_unk_and_said_before_the_run(
    tmp_path, data, inputs, stream, caplog
):
    """Each had the probability of `<unk>` for itself, so that the words summed to far more than one."""
    path = tmp_path / "few.arpa"
    path.write_text(arpa(CASES), encoding="utf-8")
    loaded = open_model(f"arpa:{path}", inputs)
    lost = len(inputs.vocabulary) - len(CASES) - 2
    assert loaded.facts["unknown_to_file"] == lost > 0
    assert set(loaded.vocabulary.tokens) == {"<unk>", EOS, *CASES}
    assert Checks(loaded).of_texts(
        list(read_texts(inputs.dataset, "test", loaded.vocabulary))
    ) == dict.fromkeys(INVARIANTS, "")
    caplog.set_level("WARNING", logger="lm_benchmarks")
    stored = tmp_path / "r.jsonl"
    (result,) = lb.measure(f"arpa:{path}", data, results=stored)
    words = [inputs.vocabulary.tokens[token] for token in stream.tolist()]
    unknown = sum(word not in (EOS, *CASES) for word in words)
    missing = unknown - words.count("<unk>")
    said = f"The model reads {lost} of the {len(inputs.vocabulary)} words of the dataset as <unk>"
    assert f"few.arpa, tiny, test: {said}: {missing} of {len(words)} tokens" in caplog.text
    assert read_results(stored) == [result]
    counts = MissingWords(words=lost, of_words=len(inputs.vocabulary), tokens=missing, of_tokens=len(words))
    assert result.missing == counts
    quiet = run_program("lm-benchmarks", "run", f"arpa:{path}", "--data", data, "--no-check", "-q")
    assert (quiet.stderr, f"  {counts}\n" in quiet.stdout) == ("", True)
    page = lb.report(stored, tmp_path / "r.md").read_text(encoding="utf-8")
    assert f"open vocabulary; {lost} words as &lt;unk&gt;" in page
    (other,) = lb.measure("unigram", data)
    assert other.missing is None
    assert result.total.unknown == unknown
    assert result.total.text_bytes == other.total.text_bytes  # of the text, and not of `<unk>` in its place
    assert [(one.label, one.tokens) for one in result.groups] == [
        (one.label, one.tokens) for one in other.groups
    ]
    assert result.signature["vocabulary"] != other.signature["vocabulary"]  # fewer words are easier
    with pytest.raises(HarnessError, match="2 vocabularies"):
        open_model(f"mix:arpa:{path},unigram", inputs)


def test_kenlm_counts_the_same_unknown_words(tmp_path, inputs, stream):
    kenlm = pytest.importorskip("kenlm", reason="needs the package kenlm")
    path = tmp_path / "few.arpa"
    path.write_text(arpa(CASES), encoding="utf-8")
    itself, expected, unknown, line = kenlm.Model(str(path)), list[float](), 0, list[str]()
    for word in inputs.vocabulary.decode(stream.tolist()):
        if word != EOS:
            line.append(word)
            continue
        for score, _, is_unknown in itself.full_scores(" ".join(line), bos=True, eos=True):
            expected.append(-math.log(10) * score)
            unknown += is_unknown
        line = []
    for kind in ("arpa", "kenlm"):
        loaded = open_model(f"{kind}:{path}", inputs)
        read = read_stream(inputs.dataset, "test", loaded.vocabulary)
        assert scored(loaded, read).tolist() == pytest.approx(expected, abs=1e-5)  # KenLM keeps float32
        assert int((read == 0).sum()) == unknown


def test_damaged_files_are_refused(tmp_path):
    text, path, faults = arpa(CASES), tmp_path / "x.arpa", list[object]()
    for damaged, message in (
        (text.split("\\end")[0], "incomplete"),
        (text.replace("ngram 2=1", "ngram 2=2"), "n-grams by order: found"),
        (text.replace("\tthe cat", "\tthe cat sat on"), "is not a 2-gram"),
        (text.replace("-99\t", "x\t"), "could not convert"),
        ("", "incomplete"),
        ("\ud800", "codec"),
        (None, "No such file"),
    ):
        path.unlink(missing_ok=True)
        if damaged is not None:
            path.write_bytes(damaged.encode("utf-8", "surrogatepass"))
        try:
            faults.append((message, ArpaFile(path)))
        except HarnessError as error:
            faults += [] if message in str(error) else [(message, error)]
    assert faults == []


def test_a_missing_or_wrong_file_is_refused_by_kenlm(tmp_path, inputs):
    pytest.importorskip("kenlm", reason="needs the package kenlm")
    (tmp_path / "wrong").write_text("no n-grams")
    for name in ("none", "wrong"):
        with pytest.raises(HarnessError, match="expected an n-gram model of KenLM"):
            open_model(f"kenlm:{tmp_path / name}", inputs)
