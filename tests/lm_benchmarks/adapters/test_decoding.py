"""Tokenizers that destroy, normalize or keep a text: what is lost is counted, and then nothing compares."""

import re
import unicodedata
from typing import Any

import lm_benchmarks as lb
import pytest
from hypothesis import given
from hypothesis import strategies as st
from lm_benchmarks.adapters.decoding import decoding_facts
from lm_benchmarks.cli import commands
from lm_benchmarks.conventions.rules import joined_rows
from lm_benchmarks.lm_eval import pages_of, plain_text
from lm_benchmarks.records import read_results
from lm_benchmarks.reporting.collect import tables_of
from lm_benchmarks.reporting.formats import BEST_PLACES

from tests.command import invoke
from tests.lm_benchmarks.results import error_of
from tests.lm_benchmarks.tiny_causal import write_model

tokenizers: Any = pytest.importorskip("tokenizers", reason="needs the package transformers")
transformers: Any = pytest.importorskip("transformers", reason="needs the package transformers")
models, normalizers, pre, decoders = (
    tokenizers.models,
    tokenizers.normalizers,
    tokenizers.pre_tokenizers,
    tokenizers.decoders,
)

LINES = (
    "",
    "= Tea in Übersee =",
    "",
    "Tea was ﬁrst drunk in 1610 by 27 travellers ; the café of <unk> sold 3 @,@ 500 cups ( naïve , 猫 ) .",
    "The Transcontinental railway , built in 1869 , carried ½ of all TEA to San Francisco .",
    "",
    "= Rain =",
    "",
    "Rain fell on 12 of 30 days , and people — as always — complained about it incessantly .",
)
TEXT = "".join(f" {line} \n" if line else " \n" for line in LINES)


def regex(pattern, text=""):
    return normalizers.Replace(tokenizers.Regex(pattern), text)


def of_bytes(*changes, pre_tokenizer=None):
    """Byte pairs as GPT-2's, after changes of the text."""
    made = tokenizers.Tokenizer(models.BPE())
    made.normalizer = normalizers.Sequence(list(changes)) if changes else None
    made.pre_tokenizer, made.decoder = pre.ByteLevel(add_prefix_space=False), decoders.ByteLevel()
    alphabet = pre.ByteLevel.alphabet()
    trainer = tokenizers.trainers.BpeTrainer(
        vocab_size=300, special_tokens=["<|end|>"], initial_alphabet=alphabet
    )
    made.train_from_iterator([TEXT.replace("<unk>", "")], trainer)
    return made


def of_letters(**unknown):
    """Byte pairs of small letters that know no other character: it is left out, or the unknown piece."""
    made = tokenizers.Tokenizer(models.BPE(**unknown))
    made.pre_tokenizer, made.decoder = pre.Metaspace(), decoders.Metaspace()
    trainer = tokenizers.trainers.BpeTrainer(
        vocab_size=60, special_tokens=["<|end|>", *unknown.values()], limit_alphabet=30
    )
    made.train_from_iterator(re.findall("[a-z]+", TEXT), trainer)
    return made


def of_words():
    """Whole words between white space: newlines and double spaces are left out."""
    made = tokenizers.Tokenizer(models.WordLevel(unk_token="<unk>"))
    made.pre_tokenizer = pre.WhitespaceSplit()
    trainer = tokenizers.trainers.WordLevelTrainer(special_tokens=["<unk>", "<|end|>"])
    made.train_from_iterator([text.replace("<unk>", "") for text in (TEXT, plain_text(TEXT))], trainer)
    return made


def accents(text):
    return [letter for letter in text if letter in "Üéï"]


DESTROY = {
    "small letters": (of_bytes(normalizers.Lowercase()), lambda text: re.findall("[A-ZÜ]", text)),
    "no accents": (of_bytes(normalizers.NFD(), normalizers.StripAccents()), accents),
    "no digits": (of_bytes(regex("[0-9]")), lambda text: re.findall("[0-9]", text)),
    "digits are 0": (of_bytes(regex("[0-9]", "0")), lambda text: re.findall("[1-9]", text)),
    "no long words": (of_bytes(regex(r"\w{12,}", "")), lambda text: "".join(re.findall(r"\w{12,}", text))),
    "words cut off": (
        of_bytes(regex(r"(?<=\w{6})\w+")),
        lambda text: "".join(re.findall(r"(?<=\w{6})\w+", text)),
    ),
    "characters left out": (
        of_letters(),
        lambda text: unicodedata.normalize("NFKC", "".join(re.findall(r"[^a-z\s]", text))),
    ),
    "unknown characters": (of_letters(unk_token="<unk>"), None),
}
KEEP = {
    "bytes": (of_bytes(), "no"),
    "NFC": (of_bytes(normalizers.NFC()), "no"),
    "NFD": (of_bytes(normalizers.NFD()), "unicode"),
    "NFKC": (of_bytes(normalizers.NFKC()), "unicode"),
    "single spaces": (of_bytes(regex(r"\s+", " ")), "spaces"),
    "words": (of_words(), "words"),
}
CONVENTIONS: dict[str, Any] = {
    "paper": lambda: "".join(f"{line}\n" for line in LINES if line),
    "gptq": lambda: joined_rows(TEXT)[0].text.lstrip(),
    "lm-eval": lambda: "".join(plain_text(page).lstrip() for page in pages_of(TEXT)),
}


class Points:
    """A tokenizer whose pieces are Unicode's numbers of characters."""

    def decode(self, pieces, **_options):
        return "".join(map(chr, pieces))


WORDS = st.lists(st.text("abAB1é", min_size=1, max_size=4), min_size=1, max_size=5).map(" ".join)


@given(st.lists(WORDS, min_size=1, max_size=4), st.sets(st.sampled_from("abAB1é")), st.booleans())
def test_each_character_that_is_left_out_counts_once_and_white_space_does_not(lines, left_out, is_doubled):
    text = "\n".join(lines)
    kept = [ord(letter) for letter in text if letter not in left_out]
    lost = sum(letter in left_out for letter in text)
    facts = decoding_facts(Points(), [(f" {text}".replace(" ", "  ") if is_doubled else text, kept)])
    assert facts["characters_lost"] == lost
    if not lost:
        assert facts["normalizes"] == ("spaces" if is_doubled and " " in text else "no")


@pytest.fixture(scope="module")
def dataset(tmp_path_factory):
    folder = tmp_path_factory.mktemp("data") / "tiny"
    folder.mkdir()
    (folder / "wiki.test.tokens").write_text(TEXT, encoding="utf-8")
    (folder / "wiki.test.raw").write_text(TEXT.replace("cups (", "cups  ("), encoding="utf-8")
    return folder


def written(folder, tokenizer):
    """The specification of a model of random weights with a tokenizer."""
    fast = transformers.PreTrainedTokenizerFast(tokenizer_object=tokenizer, eos_token="<|end|>")
    return f"transformers:{write_model(folder, fast, window=64)}"


@pytest.fixture(scope="module")
def measured(tmp_path_factory, dataset):
    """Measures a model with a tokenizer."""
    models: dict[int, str] = {}

    def measure(tokenizer, convention):
        if id(tokenizer) not in models:
            models[id(tokenizer)] = written(tmp_path_factory.mktemp("model"), tokenizer)
        (found,) = lb.measure(models[id(tokenizer)], dataset, convention=convention, check=False)
        return found

    return measure


@pytest.mark.parametrize("convention", CONVENTIONS)
def test_characters_that_are_lost_are_counted(measured, convention):
    text, faults = CONVENTIONS[convention](), list[Any]()
    for name, (tokenizer, lost) in DESTROY.items():
        found = measured(tokenizer, convention)
        count = int(found.signature["characters_lost"])
        if not found.is_lossy or (lost and count != len(lost(text))):
            faults.append((name, count, lost and len(lost(text))))
        if f"loses {count} characters" not in found.warning:
            faults.append((name, found.warning))
    assert faults == []


@pytest.mark.parametrize("convention", CONVENTIONS)
def test_tokenizers_that_keep_or_only_normalize_a_text_lose_nothing(measured, convention):
    faults = []
    for name, (tokenizer, kind) in KEEP.items():
        found = measured(tokenizer, convention)
        if kind == "words":  # single spaces, and the mark of an end in place of a newline
            kind = "no" if convention == "paper" else "spaces"
        if (found.signature["characters_lost"], found.signature["normalizes"]) != ("0", kind):
            faults.append((name, str(found.signature)))
        if found.warning:
            faults.append((name, found.warning))
    assert faults == []


def test_a_number_of_a_poorer_text_is_marked_and_compares_with_none(dataset, tmp_path):
    """Not even with one that has lost as many characters; run says it with -q, and reports rank it last."""
    path, letters, zeros = (tmp_path / name for name in ("r.jsonl", "letters", "zeros"))
    whole = written(tmp_path / "whole", of_bytes())
    composed = written(tmp_path / "composed", of_bytes(normalizers.NFKC()))
    poor = [
        written(letters, of_bytes(normalizers.Lowercase())),
        written(zeros, of_bytes(regex("[A-Z]", "A"))),
    ]
    said = invoke(commands, "-q", "run", whole, composed, *poor, "--data", dataset, "--results", path)
    assert said.count("WARNING: the tokenizer loses ") == 2
    results = read_results(path)
    assert [result.is_lossy for result in results] == [False, False, True, True]
    assert "difference" in invoke(commands, "compare", path, "whole", "composed")
    for names in (("whole", "letters"), ("letters", "whole"), ("letters", "zeros")):
        why = error_of(lb.compare, path, *names)
        assert re.search(r"loses characters: .*, or compare them .* with --allow characters_lost$", why)
    assert lb.compare(path, "whole", "letters", allow=["characters_lost"]).passages == 2
    (table,) = tables_of(results)
    marks = {row.model: row.invariants for row in table.rows}
    assert marks == {
        "whole": "kept; open vocabulary",
        "composed": "kept; open vocabulary; normalizes unicode",
        **dict.fromkeys(("letters", "zeros"), "kept; LOSES CHARACTERS; open vocabulary"),
    }
    assert {*list(marks)[2:]} == {"letters", "zeros"}
    assert max(row for row, _ in table.frame.attrs[BEST_PLACES]) < 2
    assert sum("the tokenizer loses" in note for note in table.notes) == 2
    said = invoke(commands, "conventions", poor[0], "--data", dataset, "--convention", "lm-eval")
    assert " LOSES CHARACTERS " in said


def test_a_mixture_loses_what_its_member_loses(data, tmp_path):
    poor = written(tmp_path / "poor", of_bytes(normalizers.Lowercase(), normalizers.NFKC()))
    found = lb.measure([poor, f"mix:{poor},unigram"], data, check=False)
    assert found[0].is_lossy
    assert len({result.signature["characters_lost"] for result in found}) == 1
