"""Each statistic of a portrait against a loop that follows its definition, on small random text."""

from __future__ import annotations

import base64
import html
import json
import math
import unicodedata
from collections import Counter
from collections.abc import Callable
from functools import partial
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import zstandard
from click.testing import CliRunner
from hypothesis import assume, given, settings
from hypothesis import strategies as st

import wikitext_builder as wb
from tests.command import invoke
from tests.conftest import data
from wikitext_builder.cli import cli
from wikitext_builder.dataset.load import load
from wikitext_builder.dataset.vocabulary import UNK
from wikitext_builder.errors import BuilderError
from wikitext_builder.stats import long_range, portrait, shape, statistics, tail
from wikitext_builder.stats.text import Text, WordCounts, read_texts

WORDS = ["a", "b", "c", "d", "e", UNK, ".", "="]
lines = st.lists(st.lists(st.sampled_from(WORDS), max_size=12), min_size=1, max_size=20).filter(any)


def text_of(lines: list[list[str]], train: Text | None = None) -> Text:
    """A text of these lines; with a train, as `read_texts` makes them: both have one list of words."""
    words = train.words if train else [UNK]
    places = {word: place for place, word in enumerate(words)}
    for word in chain.from_iterable(lines):
        if word not in places:
            places[word] = len(places)
            words.append(word)
    ids = np.array([places[word] for word in chain.from_iterable(lines)], np.int32)
    return Text(ids=ids, line_ends=np.cumsum([len(line) for line in lines]), words=words, train=train)


def words_of(text: Text) -> list[str]:
    return [text.words[one] for one in text.ids]


@given(lines)
def test_gaps_and_counts_follow_their_definition(lines: list[list[str]]) -> None:
    text, words = text_of(lines), list(chain.from_iterable(lines))
    for place, gap in enumerate(text.gaps.tolist()):
        before = [at for at in range(place) if words[at] == words[place]]
        assert gap == (place - before[-1] if before else 0)
    assert {text.words[one]: n for one, n in enumerate(text.counts.tolist()) if n} == Counter(words)
    known = Counter(word for word in words if word != UNK)
    assert text.frequencies.tolist() == sorted(known.values(), reverse=True)


def test_blocks_change_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """A text of several blocks has the gaps, repeats and n-grams of one block."""
    random = np.random.default_rng(3)
    lines = [[f"w{n}" for n in random.zipf(1.5, 50) % 200] for _ in range(40)] * 2
    monkeypatch.setattr(shape, "NGRAM_WORDS", 3)
    whole, split = text_of(lines), text_of(lines)
    expected = [whole.gaps.tolist(), shape.line_hashes(whole).tolist(), shape.repeats(whole)]
    expected.append(long_range.unseen_ngrams(text_of(lines[::-1], whole)))
    monkeypatch.setattr("wikitext_builder.stats.text.BLOCK_WORDS", 7)
    monkeypatch.setattr(shape, "BLOCK_WORDS", 7)
    monkeypatch.setattr("wikitext_builder.stats.text.blocks.__defaults__", (7,))
    assert [split.gaps.tolist(), shape.line_hashes(split).tolist(), shape.repeats(split)] == expected[:3]
    assert long_range.unseen_ngrams(text_of(lines[::-1], split)) == expected[3]


# The tail


@given(lines)
def test_spectrum_and_diversity_follow_their_definition(lines: list[list[str]]) -> None:
    text, words = text_of(lines), list(chain.from_iterable(lines))
    types = Counter(Counter(word for word in words if word != UNK).values())
    measured = tail.spectrum(text)
    assert (measured["hapax"], measured["dis"], measured["types"]) == (types[1], types[2], types.total())
    for window in (1, 3, 10):
        windows = [len({*words[at : at + window]}) / window for at in range(len(words) - window + 1)]
        mean = sum(windows) / len(windows) if windows else None
        assert tail.mattr(text, window) == (None if mean is None else pytest.approx(mean))


@given(st.integers(1, 12), st.data())
def test_chance_of_missing_all_marked_ones(total: int, draw: st.DataObject) -> None:
    marked, draws = draw.draw(st.integers(0, total)), draw.draw(st.integers(0, total))
    expected = math.comb(total - marked, draws) / math.comb(total, draws)
    assert tail.chance_of_absence(total, np.array([marked]), draws)[0] == pytest.approx(expected)


def zipf_likelihood(frequencies: list[int], a: float, b: float) -> float:
    weights = [(rank + b) ** -a for rank in range(1, len(frequencies) + 1)]
    return sum(n * math.log(w / sum(weights)) for n, w in zip(frequencies, weights, strict=True))


@given(st.floats(0.8, 1.6), st.floats(0, 5), st.integers(0, 99))
@settings(max_examples=20, deadline=None)
def test_zipf_mandelbrot_is_where_the_likelihood_is_highest(a: float, b: float, seed: int) -> None:
    shares = (np.arange(1, 61) + b) ** -a
    drawn = np.random.default_rng(seed).multinomial(20_000, shares / shares.sum())
    frequencies = np.sort(drawn[drawn > 0])[::-1]
    found_a, found_b = tail.zipf_mandelbrot(frequencies)
    best = zipf_likelihood(frequencies.tolist(), found_a, found_b)
    for near_a, near_b in ((1e-3, 0), (-1e-3, 0), (0, 1e-2), (0, -1e-2), (0.1, 0.2), (-0.1, -0.2)):
        assume(found_b + near_b > -0.9)
        assert best >= zipf_likelihood(frequencies.tolist(), found_a + near_a, found_b + near_b)


@pytest.mark.parametrize(
    "counts", [[3, 2, 1], [64, 32, 16, 8, 4, 2, 1], [1] * 300, [1000] + [1] * 50], ids=str
)
def test_counts_that_follow_no_law_of_zipf_have_no_exponent(counts: list[int]) -> None:
    """Their likelihood has no maximum: the exponent went to infinity, or the offset to -1."""
    words = (word for number, count in enumerate(counts) for word in [f"w{number}"] * count)
    assert tail.zipf(text_of([list(words)])) == {}


@given(lines, lines)
def test_out_of_vocabulary_follows_its_definition(train: list[list[str]], test: list[list[str]]) -> None:
    text, words = text_of(test, text_of(train)), list(chain.from_iterable(test))
    counts = Counter(chain.from_iterable(train))
    curve = tail.out_of_vocabulary(text)["by_count"]
    for least in (1, 2, 3, 5):
        out = sum(word == UNK or counts[word] < least for word in words)
        assert curve[least] == pytest.approx(out / len(words))


@given(lines)
def test_types_of_the_first_words(lines: list[list[str]]) -> None:
    words = list(chain.from_iterable(lines))
    curve = tail.heaps(text_of(lines))["curve"]
    assert curve == {n: len({*words[:n]}) for n in tail.round_numbers(len(words))}


# Long range


@given(lines)
def test_recurrence_follows_its_definition(lines: list[list[str]]) -> None:
    text, words = text_of(lines), list(chain.from_iterable(lines))
    asked = [place for place, word in enumerate(words) if word != UNK]
    assume(asked)
    assume(len(words) > 2)
    measured = long_range.recurrence(text)
    for length, share in measured["text"].items():
        assert share == pytest.approx(
            sum(words[t] in words[max(0, t - length) : t] for t in asked) / len(asked)
        )


def test_shuffled_recurrence_is_the_mean_of_many_shuffles() -> None:
    random = np.random.default_rng(5)
    words = np.array(["a"] * 30 + ["b"] * 10 + ["c"] * 5 + [UNK] * 5)
    text = text_of([list(words)])
    shares = []
    for _ in range(800):
        order = random.permutation(words)
        inside = [t for t in range(5, 50) if order[t] != UNK]  # from there on a window is full
        shares.append((sum(order[t] in order[t - 5 : t] for t in inside), len(inside)))
    mean = sum(n for n, _ in shares) / sum(n for _, n in shares)
    assert long_range.recurrence(text)["shuffled"][5] == pytest.approx(mean, abs=0.01)


@given(lines)
def test_mutual_information_follows_its_definition(lines: list[list[str]]) -> None:
    ids = text_of(lines).ids
    assume(len(ids) > 2)
    pairs = list(zip(ids.tolist(), ids[1:].tolist(), strict=False))
    joint, left, right = Counter(pairs), Counter(a for a, _ in pairs), Counter(b for _, b in pairs)
    bits = sum(n / len(pairs) * math.log2(n * len(pairs) / left[a] / right[b]) for (a, b), n in joint.items())
    assert long_range.information(ids[:-1], ids[1:], 9) == pytest.approx(bits, abs=1e-9)


def test_mutual_information_of_a_repeated_row_is_its_entropy() -> None:
    cycle = text_of([[*"abcd"] * 500])
    found = long_range.mutual_information(cycle)
    assert found["at_1"] == pytest.approx(2, abs=0.02)
    assert list(found["curve"].values()) == pytest.approx([2] * len(found["curve"]), abs=0.02)
    assert long_range.mutual_information(text_of([[*"abcd"]])) == {}


def test_mutual_information_within_the_noise_is_a_dash() -> None:
    """Of independent words about 1 % of the values count; without a bias of its own, a far one was 0.01."""
    counted, values = 0, 0
    for seed in range(40):
        random = np.random.default_rng(seed)
        independent = text_of([[f"w{n}" for n in random.zipf(1.4, 3_000)]])
        found = long_range.mutual_information(independent)
        assert all(bits > 0 or math.isnan(bits) for bits in found["curve"].values())
        counted += sum(bits > 0 for bits in found["curve"].values())
        values += len(found["curve"])
    assert values == 40 * 16
    assert counted <= 0.03 * values  # binomial: more in 1 of 100,000 cases
    shown = {portrait.figure(bits, "bits") for bits in found["curve"].values() if not bits > 0}
    assert shown == {"–"}


def test_burstiness_of_random_even_and_bursting_words() -> None:
    random = np.random.default_rng(4)
    even = text_of([[*"abcdefghij"] * 50])
    assert long_range.burstiness(even)["mean"] == pytest.approx(-1)
    drawn = text_of([[f"w{n}" for n in random.integers(0, 100, 20_000)]])
    assert long_range.burstiness(drawn)["mean"] == pytest.approx(0, abs=0.02)
    bursts = text_of([[f"w{n}"] * 10 for n in list(range(20)) * 2])
    assert long_range.burstiness(bursts)["mean"] > 0.5
    gaps = np.array([1.0] * 9 + [191.0] + [1.0] * 9)
    expected = long_range.corrected_burstiness(np.array(gaps.std() / gaps.mean()), np.array(19.0))
    assert long_range.burstiness(bursts)["mean"] == pytest.approx(float(expected))


def test_entropy_rate_is_what_the_second_half_adds(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(long_range, "PREFIXES", (64, 128))
    text = text_of([[f"w{n}" for n in range(60)]])
    characters = " ".join(words_of(text))
    compress = zstandard.ZstdCompressor(
        compression_params=zstandard.ZstdCompressionParameters.from_level(12, window_log=27)
    ).compress
    first, both = (len(compress(characters[:n].encode())) for n in (64, 128))
    assert long_range.entropy_rate(text)["curve"] == {128: (both - first) * 8 / 64}


@given(lines, lines)
@settings(deadline=None)
def test_unseen_ngrams_follow_their_definition(train: list[list[str]], test: list[list[str]]) -> None:
    text = text_of(test, text_of(train))
    before, after = (list(chain.from_iterable(each)) for each in (train, test))
    for n, share in long_range.unseen_ngrams(text)["curve"].items():
        known = {tuple(before[at : at + n]) for at in range(len(before) - n + 1)}
        own = [tuple(after[at : at + n]) for at in range(len(after) - n + 1)]
        assert share == pytest.approx(sum(one not in known for one in own) / len(own))


ARTICLE = [[], ["=", "T", "="], [], ["x", "y", "x", "."], ["z", "."], []]


def test_rare_words_recur_within_their_article_only() -> None:
    second = [[], ["=", "U", "="], [], ["x", "q", "q", "."]]
    text = text_of(ARTICLE + second)
    measured = long_range.recurring_rare(text)
    again = ["=", "x", ".", "=", "q"]  # the second of each in its article
    assert measured["rare"] == pytest.approx(len(again) / len(text))
    assert measured["rare_words"] == 1


# Shape


def test_structure_of_a_small_text() -> None:
    section = [[], ["=", "=", "S", "=", "="], [], ["One", "!", "Two", UNK, UNK, "x"]]
    text = text_of([*ARTICLE[:-1], *section, ["=", "no", "heading"]])
    measured = shape.structure(text)
    counted = {"articles": 1, "sections": 1, "lines": 10, "paragraphs": 4, "sentences": 5, "words": 23}
    assert counted.items() <= measured.items()
    assert sorted(shape.sentence_lengths(text).tolist()) == [2, 2, 3, 4, 4]
    measured = shape.lengths(text)
    assert measured["paragraph_mean"] == pytest.approx((4 + 2 + 6 + 3) / 4)
    assert measured["article"] == dict.fromkeys(shape.PERCENTILES, 23)


@given(st.lists(st.integers(1, 9), min_size=1))
def test_percentiles_are_values_that_occur(values: list[int]) -> None:
    measured = shape.distribution("n", *np.unique(values, return_counts=True))
    for percent, value in measured["n"].items():
        assert value == min(v for v in values if sum(w <= v for w in values) >= percent / 100 * len(values))


@given(lines)
def test_repeats_follow_their_definition(lines: list[list[str]]) -> None:
    text, words = text_of(lines), list(chain.from_iterable(lines))
    own = [tuple(lines[line]) for line in text.paragraphs]
    measured = shape.repeats(text)
    assert measured["paragraphs"] == (pytest.approx(1 - len({*own}) / len(own)) if own else None)
    places, seen = shape.sampled_repeats(text, sample=1)
    grams = [tuple(words[at : at + 13]) for at in range(len(words) - 12)]
    assert places.tolist() == list(range(len(grams)))
    assert seen.tolist() == [gram in grams[:at] for at, gram in enumerate(grams)]


def test_an_article_that_stands_twice_is_found() -> None:
    other = [[], ["=", "U", "="], [], [f"w{n}" for n in range(400)]]
    text = text_of(ARTICLE + other + ARTICLE + other[:3] + [[*other[3][:390], "new", "end"]])
    measured = shape.repeats(text)
    assert measured["articles"] == pytest.approx(1 / 4)
    assert measured["near_articles"] == pytest.approx(1 / 4)


LETTERS = {"latin": "aBéß", "cyrillic": "чЖ", "greek": "λΩ", "cjk": "茶道", "hebrew": "ש", "none": "1٣.,@-"}
tokens = st.text("".join(LETTERS.values()), min_size=1, max_size=4) | st.sampled_from([UNK, "<formula>"])


def naive_kind(word: str) -> str:
    categories = [unicodedata.category(character) for character in word]
    if word in (UNK, "<formula>"):
        return word if word == UNK else "formula"
    if "Nd" in categories:
        return "number"
    if not any(one[0] == "L" for one in categories):
        return "punctuation"
    return "capitalised" if "Lu" in categories else "lower case"


@given(st.lists(tokens, min_size=1, max_size=30))
def test_kinds_follow_their_definition(words: list[str]) -> None:
    shares = shape.kinds(text_of([words]))["shares"]
    expected = Counter(map(naive_kind, words))
    assert shares == pytest.approx({name: times / len(words) for name, times in expected.items()})
    assert list(shares) == sorted(shares, key=lambda name: (-expected[name], name))


# Two texts


def test_divergence_and_shared_words() -> None:
    first, second = text_of([[*"aab", UNK]]), text_of([[*"acc"]])
    words = [WordCounts(one.words, one.counts) for one in (first, second)]
    p, q = {"a": 2 / 3, "b": 1 / 3, "c": 0.0}, {"a": 1 / 3, "b": 0.0, "c": 2 / 3}
    shares = [(share, (p[word] + q[word]) / 2) for side in (p, q) for word, share in side.items() if share]
    bits = sum(share / 2 * math.log2(share / mean) for share, mean in shares)
    assert portrait.divergence(*words)["bits"] == pytest.approx(bits)
    assert portrait.divergence(words[0], words[0])["bits"] == pytest.approx(0)
    assert portrait.shared(*words) == pytest.approx(
        {"types_first": 1 / 2, "words_first": 2 / 3, "types_second": 1 / 2, "words_second": 1 / 3}
    )


def test_a_text_of_unknown_words_has_no_words_in_common() -> None:
    words = [WordCounts(one.words, one.counts) for one in (text_of([[UNK, UNK]]), text_of([["a"]]))]
    for pair in (words, words[::-1]):
        assert portrait.divergence(*pair) == portrait.shared(*pair) == {}


def test_words_that_moved(monkeypatch: pytest.MonkeyPatch) -> None:
    first, second = text_of([[*"aaaabbc"]]), text_of([[*"aabbbbc"]])
    monkeypatch.setattr(portrait, "MIN_OCCURRENCES", 1)
    moved = portrait.moved(*(WordCounts(one.words, one.counts) for one in (first, second)))
    assert moved == {"rose": {"b": 1.0}, "fell": {"a": -1.0}}


# The registry, the frame and the command


MODULES = {"tail": tail, "long_range": long_range, "shape": shape, "compare": portrait}


def test_each_statistic_of_the_registry_has_a_function_and_says_what_it_is() -> None:
    known = portrait.statistics_of_portrait()
    assert len(known) > 15
    for one in known.values():
        assert one.definition.endswith(".")
        assert one.source
        assert one.group in portrait.registry()["groups"]
        assert callable(getattr(MODULES[one.group], one.key))


@pytest.fixture
def folder(tmp_path: Path) -> Callable[..., Path]:
    def write(name: str, seed: int) -> Path:
        random = np.random.default_rng(seed)
        (tmp_path / name).mkdir()
        for split in ("train", "valid", "test"):
            texts = [" ".join(f"w{k}" for k in random.zipf(1.4, 300) % 500) for _ in range(9)]
            body = "".join(f" \n = A {n} = \n \n {text} . \n" for n, text in enumerate(texts))
            (tmp_path / name / f"wiki.{split}.tokens").write_text(body + " \n", encoding="utf-8")
        return tmp_path / name

    return write


def test_the_frame_has_all_parts_and_the_command_prints_them(folder: Callable[..., Path]) -> None:
    first, second = folder("first", 1), folder("second", 2)
    table = wb.statistics(first, second, measures=["all"])
    assert list(table.columns) == list(portrait.COLUMNS)
    known = portrait.statistics_of_portrait().values()
    parts = {f"{one.key}.{part.name}" for one in known for part in one.parts}
    assert parts - {*table["statistic"]} == {
        *("entropy_rate.rate", "entropy_rate.curve", "out_of_vocabulary.by_size", "structure.sections"),
    }
    assert {*table["statistic"]} <= parts
    assert {*table[table.statistic == "divergence.bits"].corpus} == {"first | second"}
    within_noise = table[table["value"].isna()].statistic  # the words of these texts are independent
    assert {name.partition(".")[0] for name in within_noise} == {"mutual_information"}
    again = wb.statistics(first, second, measures=["all"])
    assert table.equals(again)

    stats = partial(invoke, cli, "stats", first)
    assert json.loads(stats(second, "--all", "--json")) == statistics.to_records(table)
    printed = stats("--measure", "zipf", "--csv")
    assert printed.startswith("corpus,split,statistic,x,value,unit\nfirst,train,zipf.exponent,,")
    printed = stats("--all")
    assert "Zipf and Mandelbrot" in printed
    assert "Table 1" not in printed
    printed = stats("--measure", "heaps")  # no x of it is a word
    (line,) = [line.split() for line in printed.splitlines() if "exponent β" in line]
    assert [float(cell) > 0 for cell in line[2:]] == [True, True, True]


def test_the_page_shows_its_charts_their_commands_and_its_numbers(
    opened: Callable[..., Any], folder: Callable[..., Path], tmp_path: Path
) -> None:
    """On a narrow screen; `tests/test_webpages.py` opens such pages on all."""
    wb.describe(folder("first", 1), folder("<second>", 2), out=tmp_path / "portrait.html")
    text = (tmp_path / "portrait.html").read_text(encoding="utf-8")
    assert len(text) < 1_000_000
    tab = opened(text, width=390)
    assert tab.evaluate("document.documentElement.scrollWidth") <= 390
    titles = [one.get_attribute("aria-label") for one in tab.query_selector_all("svg[role=img]")]
    assert "Heaps: types by length of the text: types by words" in titles
    assert len(titles) >= 9
    assert tab.inner_text("h1") == "first and <second> compared"
    assert "Presidio" in tab.inner_text("#not-measured")
    data = tab.get_attribute("a[download='portrait.csv']", "href").partition("base64,")[2]
    assert base64.b64decode(data).decode().startswith("corpus,split,statistic,x,value,unit\nfirst,train,")
    wb.describe(tmp_path / "first", out=tmp_path / "portrait.html", names=["of 2016"])
    text = html.unescape((tmp_path / "portrait.html").read_text(encoding="utf-8"))
    first = tmp_path / "first"
    assert f"wikitext-builder plot statistic heaps {first} --name 'of 2016' --out heaps.pdf" in text


def test_names_are_one_line_of_utf_8_and_no_pair(folder: Callable[..., Path], tmp_path: Path) -> None:
    """Names of folders are bytes; ` | ` joins the names of two datasets."""
    one, two = folder("one", 1), folder("two", 2)
    for names, shown in (
        (["a | b", "c"], "<title>a / b and c compared"),
        (["caf\udce9\x1b[2J", "c\nd"], r"<title>caf?\x1b[2J and c d compared"),
    ):
        wb.describe(one, two, out=tmp_path / "a.html", names=names)
        assert shown in html.unescape((tmp_path / "a.html").read_text(encoding="utf-8"))
        drawn = wb.plot_statistic("heaps", one, two, out=tmp_path / "a.svg", names=names)
        assert "\x1b" not in drawn.read_text(encoding="utf-8")
        assert set(wb.statistics(one, two, names=names, measures=["structure"])["corpus"]) == {
            name.replace("\udce9", "?").replace("\x1b", r"\x1b").replace("\n", " ").replace("|", "/")
            for name in names
        }
    with pytest.raises(BuilderError, match="two datasets have the name 'a / b'"):
        wb.statistics(one, two, names=["a | b", "a / b"])


def test_each_chart_is_a_file(folder: Callable[..., Path], tmp_path: Path) -> None:
    words = ("plot", "statistic", "out_of_vocabulary.by_count", folder("one", 1), "--out")
    for ending in (".png", ".svg", ".pdf"):
        out = tmp_path / f"chart{ending}"
        assert invoke(cli, *words, out) == f"{out}\n"
        assert out.stat().st_size > 2000


def test_what_cannot_be_drawn_or_measured_is_said(folder: Callable[..., Path], tmp_path: Path) -> None:
    one, empty, short = folder("one", 1), tmp_path / "empty", tmp_path / "short"
    for place, text in ((empty, "\n"), (short, "a b\n")):
        place.mkdir()
        (place / "train.txt").write_text(text)
    draw, chart = wb.plot_statistic, tmp_path / "chart.png"
    calls: dict[str, Callable[[], object]] = {
        "structure: nothing to draw; expected a statistic with a curve": lambda: draw(
            "structure", one, out=chart
        ),
        "all: nothing to draw": lambda: draw("all", one, out=chart),
        r"heaps.law: nothing to draw; expected heaps.curve": lambda: draw("heaps.law", one, out=chart),
        "no statistic 'heap'; expected all": lambda: draw("heap", one, out=chart),
        "expected a name that ends in": lambda: draw("heaps", one, out=tmp_path / "chart.txt"),
        r"expected a name that ends in \.html": lambda: wb.describe(one, out=tmp_path / "page.txt"),
        r"no statistic 'nothing'; expected all, .*spectrum": lambda: wb.statistics(one, measures=["nothing"]),
        r"no raw train file; expected wiki\.train\.raw": lambda: wb.statistics(
            one, measures=["zipf"], raw=True
        ),
        "no words; expected a text to measure": lambda: wb.statistics(empty, measures=["all"]),
        "short: too short for --measure zipf": lambda: wb.statistics(short, measures=["zipf"]),
    }
    for says, call in calls.items():
        with pytest.raises(BuilderError, match=says):
            call()
    run = CliRunner().invoke(cli, ["stats", str(one), "--raw"])
    assert "--raw: give --all or --measure too" in run.stderr
    (one / "wiki.valid.tokens").write_text("")
    assert set(wb.statistics(one, measures=["structure"])["split"]) == {"train", "test"}


def test_one_word_is_measured_without_a_warning(tmp_path: Path) -> None:
    (tmp_path / "train.txt").write_text("tea\n")
    (tmp_path / "test.txt").write_text("tea <unk>\n")
    table = wb.statistics(tmp_path, measures=["all"])
    assert table["value"].notna().all()


def test_words_of_official_files_are_table_1_without_eos() -> None:
    folder = data("wikitext-2")
    texts = read_texts(load(folder))
    table = wb.statistics(folder).set_index("split")
    for split, text in texts.items():
        measured = shape.structure(text)
        assert (measured["articles"], measured["lines"]) == (table.articles[split], table.lines[split])
        assert measured["words"] + measured["lines"] == table.tokens[split]


SHORT = {  # texts that are too short for an interval of Zipf's law
    "sentences": "a cat sat on the mat .\n\nthe dog ran . a cat ran .\n",
    "random words": "w4 w18 w2 w8 w3 w15 w14 w15 w12 w6\nw3 w15 w0 w12 w13 w19 w0 w14 w8 w7\n",
}


def test_what_a_text_is_too_short_for_is_a_dash(tmp_path: Path) -> None:
    for name, text in SHORT.items():
        for split in ("train", "valid", "test"):
            (tmp_path / f"{split}.txt").write_text(text)
        for measures in (["--all"], ["--measure", "zipf"]):
            printed = invoke(cli, "stats", tmp_path, *measures)
            assert any(line.split()[-1] == "–" for line in printed.splitlines() if "±" in line), name
        assert "nan" not in wb.describe(tmp_path, out=tmp_path / "page.html").read_text().lower(), name
