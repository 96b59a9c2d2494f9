"""What a dataset says about itself stays readable, whatever titles, calls and names it contains."""

import json
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
import yaml  # type: ignore[import-untyped]
from hypothesis import given
from hypothesis import strategies as st

from wikitext_builder.article import Article
from wikitext_builder.building import card
from wikitext_builder.building.card import LeftOutCalls, Loss, add_left_out, write_left_out
from wikitext_builder.building.plan import Plan
from wikitext_builder.dataset.counts import SplitCounts
from wikitext_builder.dataset.recipes import Recipe
from wikitext_builder.store.lock import ATTRIBUTION, ATTRIBUTION_HEAD, Attribution, read_attribution
from wikitext_builder.store.schema import Rejected
from wikitext_builder.wiki.languages import language_of

COUNTS = SplitCounts(articles=3, lines=40, tokens=1000, unknown=25, types=300)
HOSTILE = ["a\tb", "a\nb", "a\r\nb", "a\u2028b", "a\x0bb", "a | b", "*a*", "`a`", "<b>"]
HOSTILE += ["{x}", '"', "- a: [b]"]


def article(title: str) -> Article:
    return Article(title=title, page_id=1, revision_id=2, timestamp="2016-01-01T00:00:00Z", lines=())


@given(st.lists(st.one_of(st.sampled_from(HOSTILE), st.text(st.characters(exclude_categories=["Cs"])))))
def test_an_article_has_one_line_of_six_columns(titles: list[str]) -> None:
    sources = [Attribution.of(article(title), "train", "en") for title in titles]
    text = ATTRIBUTION_HEAD + "".join(one.line() for one in sources)
    rows = text.splitlines()
    assert len(rows) == len(titles) + 1
    assert {row.count("\t") for row in rows} == {5}
    with TemporaryDirectory() as folder:
        Path(folder, ATTRIBUTION).write_text(text, encoding="utf-8", newline="\n")
        found = list(read_attribution(Path(folder)))
    assert found == [replace(one, title=" ".join(one.title.split())) for one in sources]


def test_what_was_left_out_and_rejected_is_one_line_each(tmp_path: Path) -> None:
    two = LeftOutCalls(calls=2, pages=2, examples=("X", "Y"))
    one = LeftOutCalls(calls=9, pages=1, examples=("X",), cuts={"sentence": 1, "item": 8}, words=40)
    write_left_out(tmp_path, {"Two": two, "A\tb\nc": two, "One": one})
    assert (tmp_path / "left_out.tsv").read_text("utf-8") == (
        "calls\ttemplate\tpages\texamples\twent\twords\n9\tOne\t1\tX\titem 8 | sentence 1\t40\n"
        "2\tA b c\t2\tX | Y\t\t0\n2\tTwo\t2\tX | Y\t\t0\n"
    )
    rejected = [Rejected(title=title, reason="too-deep", detail="a\nb\u2028c") for title in HOSTILE]
    card.write_rejected(tmp_path, rejected)
    lines = (tmp_path / card.REJECTED).read_text("utf-8").split("\n")[:-1]
    assert sorted(json.loads(line)["title"] for line in lines) == sorted(HOSTILE)


def test_a_large_loss_of_words_is_a_warning_with_its_templates() -> None:
    calls = {"A": LeftOutCalls(calls=2, pages=1, examples=(), cuts={"sentence": 2}, words=9)}
    calls["B"] = LeftOutCalls(calls=1, pages=1, examples=(), cuts={"nothing": 1}, words=3)
    loss = Loss.of(calls, kept_words=1188, kept_sentences=98)
    assert (loss.share, loss.sentence_share, loss.warnings()) == (0.01, 0.02, [])
    (warning,) = Loss.of(calls, kept_words=988, kept_sentences=98).warnings()
    assert warning.startswith("1.20 % of the words went")
    assert "A 0.90 %, B 0.30 %" in warning
    assert "fetch --rendered" in warning
    assert Loss.of({}, 0, 0).share == 0


@given(st.lists(st.dictionaries(st.sampled_from("AB"), st.integers(1, 3)), max_size=9), st.integers(0, 9))
def test_the_pages_of_left_out_calls_add_up_in_whatever_batches(
    pages: list[dict[str, int]], cut: int
) -> None:
    def added(numbers: range) -> dict[str, LeftOutCalls]:
        total: dict[str, LeftOutCalls] = {}
        for number in numbers:
            calls = pages[number].items()
            page = {name: LeftOutCalls(calls=n, pages=1, examples=(str(number),)) for name, n in calls}
            add_left_out(total, page)
        return total

    cut = min(cut, len(pages))
    whole, both = added(range(len(pages))), added(range(cut))
    add_left_out(both, added(range(cut, len(pages))))
    assert both == whole
    for name, found in whole.items():
        titles = [str(number) for number, calls in enumerate(pages) if name in calls]
        assert (found.pages, found.examples) == (len(titles), tuple(titles[:5]))
        assert found.calls == sum(calls.get(name, 0) for calls in pages)


@pytest.mark.parametrize("name", ["wikitext-2", "on", "1e3", "2016.04", "null", "~x", "wikitext_103-v2"])
def test_the_head_of_the_card_is_yaml_that_says_what_was_meant(tmp_path: Path, name: str) -> None:
    recipe = Recipe(name=name, train_articles=None, language="no", seed="{seed} # *: {name}")
    language = language_of(recipe.language)
    plan = Plan(recipe=recipe, language=language, store=tmp_path, out=tmp_path / "out", revisions=[])
    splits = dict.fromkeys(("train", "valid", "test"), COUNTS)
    card.write_card(tmp_path, plan, splits, 200, [], {"rendered": 1234, "wikitext": 1})
    text = (tmp_path / "README.md").read_text("utf-8")
    head = yaml.safe_load(text.split("---\n")[1])
    assert head["pretty_name"] == name
    assert head["language"] == ["no"]
    assert [config["config_name"] for config in head["configs"]] == [f"{name}-v1", f"{name}-raw-v1"]
    assert head["configs"][0]["data_files"][1] == {
        "split": "validation",
        "path": "parquet/tokens/valid-*.parquet",
    }
    assert "`{seed} # *: {name}`" in text
    assert "| Tokens, with one `<eos>` per line | 1,000 | 1,000 | 1,000 |" in text
