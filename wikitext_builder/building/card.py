"""Writes the files that describe a dataset: card, licence, lock file, rejected pages, left-out calls."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from importlib.resources import files
from pathlib import Path
from typing import Final

from jinja2 import Environment, StrictUndefined

from wikitext_builder.article import Article
from wikitext_builder.building.plan import Plan
from wikitext_builder.dataset.counts import STATISTICS, SplitCounts, statistics_of
from wikitext_builder.dataset.manifest import CARD
from wikitext_builder.extraction.macros.parser_functions import call_name
from wikitext_builder.extraction.markers import ITEM, SENTENCE
from wikitext_builder.files import code_hash
from wikitext_builder.store.lock import ATTRIBUTION, LOCK, lock_lines
from wikitext_builder.store.schema import Rejected, Revision

LICENCE: Final = "LICENSE"
# The Wikimedia Foundation's Terms of Use of this day,
# https://foundation.wikimedia.org/wiki/Policy:Terms_of_Use; announced in
# https://signpost.news/2023-06-19/News_and_notes.
FIRST_DAY_OF_4: Final = "2023-06-07"  # older revisions are under CC BY-SA 3.0, all others under 4.0
LICENCE_URL: Final = "https://creativecommons.org/licenses/by-sa/{}/"
GFDL_URL: Final = "https://www.gnu.org/licenses/fdl-1.3.html"
NOTE: Final = (
    "The text is by the editors of the wiki; titles, revisions and addresses of all articles are in"
    f" {ATTRIBUTION}, and {LICENCE} says under which licence it is, what was changed and what to keep."
)


def licences_of(days: Iterable[str]) -> tuple[str, ...]:
    """Return the versions of CC BY-SA for revisions of these days; today's version without days."""
    return tuple(sorted({"4.0" if day >= FIRST_DAY_OF_4 else "3.0" for day in days})) or ("4.0",)


def write_licence(directory: Path, plan: Plan, days: Iterable[str]) -> None:
    """Write the licence of a dataset whose revisions are of these days."""
    text = render(
        "licence.txt.jinja",
        name=plan.recipe.name,
        index=plan.language.index,
        versions=licences_of(days),
        address=LICENCE_URL,
        gfdl=GFDL_URL,
    )
    (directory / LICENCE).write_text(text, encoding="utf-8", newline="\n")


def render(template: str, **values: object) -> str:
    """Render a template of this package, which is Markdown or plain text."""
    environment = Environment(trim_blocks=True, keep_trailing_newline=True, undefined=StrictUndefined)  # noqa: S701
    text = (files("wikitext_builder.building") / template).read_text(encoding="utf-8")
    return environment.from_string(text).render(values)


REJECTED: Final = "rejected.jsonl"


def write_source(directory: Path, plan: Plan) -> None:
    """Write the lock file of all revisions from which a build chose.

    It does not name the wiki, so its bytes do not depend on the store.
    """
    with (directory / LOCK).open("w", encoding="utf-8", newline="") as file:
        file.writelines(lock_lines(plan.revisions, plan.language))


def write_rejected(directory: Path, rejected: Sequence[Rejected]) -> None:
    """Write the rejected pages, one line of JSON per page."""
    ordered = sorted(rejected, key=lambda page: (page.title, page.revision_id))
    lines = [json.dumps(asdict(page), ensure_ascii=False, sort_keys=True) + "\n" for page in ordered]
    (directory / REJECTED).write_text("".join(lines), encoding="utf-8", newline="\n")


def write_card(
    directory: Path,
    plan: Plan,
    splits: Mapping[str, SplitCounts],
    vocabulary: int,
    days: Iterable[str],
    sources: Mapping[str, int],
) -> None:
    """Write the dataset card, README.md, whose header the `datasets` library reads."""
    names = plan.recipe.splits
    values = [statistics_of(splits[name], vocabulary) for name in names]
    table = {
        statistic.card: statistic.cells(split_values[key] for split_values in values)
        for key, statistic in STATISTICS.items()
        if statistic.card
    }
    text = render(
        "card.md.jinja",
        recipe=plan.recipe,
        language=plan.language.text_language,
        wiki=re.sub(r"[`<>\[\]|\\]", "", plan.language.wiki).strip(),
        index=plan.language.index,
        wikipedia=f"the `{plan.language.code}` Wikipedia",
        splits=names,
        filled=[name for name in names if splits[name].articles],
        table=table,
        created=_creation_days(plan.revisions),
        names="{" + ",".join(names) + "}" if len(names) > 1 else names[0],
        licences=licences_of(days),
        sources=sources,
        code=code_hash(),
        size=_size_category(sum(splits[name].lines for name in names)),
    )
    (directory / CARD).write_text(text, encoding="utf-8", newline="\n")


def _creation_days(revisions: Sequence[Revision]) -> list[str]:
    """Return the days on which pages were created; empty unless all are known."""
    days = sorted({revision.created[:10] for revision in revisions})
    return days if days and days[0] else []


def _size_category(lines: int) -> str:
    """Return the dataset hub's name for a number of rows."""
    steps = ((1_000, "n<1K"), (10_000, "1K<n<10K"), (100_000, "10K<n<100K"), (1_000_000, "100K<n<1M"))
    return next((name for limit, name in steps if lines < limit), "1M<n<10M")


LEFT_OUT: Final = "left_out.tsv"
LEFT_OUT_COLUMNS: Final = ("calls", "template", "pages", "examples", "went", "words")
MAX_EXAMPLES: Final = 5  # titles per template
MAX_LOST_SHARE: Final = 0.01  # of the words, without a warning


@dataclass(frozen=True, slots=True, kw_only=True)
class LeftOutCalls:
    """The calls of a template that have no text in the dataset."""

    calls: int
    pages: int  # with such a call
    examples: tuple[str, ...]  # titles of the first of these pages, in the order of the dataset
    reasons: Mapping[str, int] = field(default_factory=dict)  # why the store's templates give no text
    cuts: Mapping[str, int] = field(default_factory=dict)  # what was removed with the calls
    words: int = 0  # words removed with them, as `extraction.markers.lost_words` estimates

    def __add__(self, later: LeftOutCalls) -> LeftOutCalls:
        """Combine the calls of earlier and later pages."""
        return LeftOutCalls(
            calls=self.calls + later.calls,
            pages=self.pages + later.pages,
            examples=(*self.examples, *later.examples)[:MAX_EXAMPLES],
            reasons=dict(Counter(self.reasons) + Counter(later.reasons)),
            cuts=dict(Counter(self.cuts) + Counter(later.cuts)),
            words=self.words + later.words,
        )


def left_out_of(article: Article) -> dict[str, LeftOutCalls]:
    """Return the calls that an article leaves out, by template."""
    by_name: dict[str, list[tuple[str, str, int]]] = {}
    reasons = article.reasons or [""] * len(article.left_out)
    for call, reason, cut, words in zip(article.left_out, reasons, article.cuts, article.lost, strict=True):
        by_name.setdefault(call_name(call), []).append((reason, cut, words))
    return {
        name: LeftOutCalls(
            calls=len(calls),
            pages=1,
            examples=(article.title,),
            reasons=dict(Counter(reason for reason, _, _ in calls if reason)),
            cuts=dict(Counter(cut for _, cut, _ in calls)),
            words=sum(words for _, _, words in calls),
        )
        for name, calls in by_name.items()
    }


def add_left_out(total: dict[str, LeftOutCalls], later: Mapping[str, LeftOutCalls]) -> None:
    """Add the calls of later pages to those of earlier pages."""
    for name, calls in later.items():
        total[name] = total[name] + calls if name in total else calls


def reasons_of(left_out: Mapping[str, LeftOutCalls]) -> dict[str, int]:
    """Count the calls by reason; empty if the store has no templates."""
    return dict(sum((Counter(calls.reasons) for calls in left_out.values()), Counter[str]()).most_common())


@dataclass(frozen=True, slots=True, kw_only=True)
class Loss:
    """The words and sentences that were removed with calls without a text, by template, and those kept.

    `extraction.markers.lost_words` estimates the words. A sentence, or an item of a list, counts for each
    call with which it was removed. Kept are tokens of letters and digits, and full stops and the like.
    """

    words: Mapping[str, int]
    sentences: Mapping[str, int]
    kept_words: int
    kept_sentences: int

    @classmethod
    def of(cls, left_out: Mapping[str, LeftOutCalls], kept_words: int, kept_sentences: int) -> Loss:
        """Return the loss of a dataset; the templates with the largest losses come first."""
        words = Counter({name: calls.words for name, calls in left_out.items() if calls.words})
        cuts = {
            name: calls.cuts.get(SENTENCE, 0) + calls.cuts.get(ITEM, 0) for name, calls in left_out.items()
        }
        return cls(
            words=dict(words.most_common()),
            sentences={name: count for name, count in cuts.items() if count},
            kept_words=kept_words,
            kept_sentences=kept_sentences,
        )

    @property
    def share(self) -> float:
        """The fraction of the words that were removed."""
        return _fraction(sum(self.words.values()), self.kept_words)

    @property
    def sentence_share(self) -> float:
        """The fraction of the sentences that were removed."""
        return _fraction(sum(self.sentences.values()), self.kept_sentences)

    def summary(self) -> str:
        """Describe the loss, and the templates that cause it.

        >>> Loss(words={"A": 3, "B": 1}, sentences={"A": 1}, kept_words=96, kept_sentences=9).summary()
        '4.00 % of the words, 10.00 % of the sentences: A 3.00 %, B 1.00 %'
        """
        words, sentences = _percent(self.share), _percent(self.sentence_share)
        return f"{words} of the words, {sentences} of the sentences: {self._largest()}"

    def _largest(self, count: int = 5) -> str:
        total = sum(self.words.values()) + self.kept_words
        largest = list(self.words.items())[:count]
        return ", ".join(f"{name} {_percent(words / total)}" for name, words in largest)

    def warnings(self) -> list[str]:
        """Return what to do about a large loss."""
        if self.share <= MAX_LOST_SHARE:
            return []
        loss = f"{_percent(self.share)} of the words went with template calls that have no text, most with"
        advice = (
            "build from HTML (`fetch --rendered`, or an HTML snapshot), let a fetch ask the wiki for these"
            " calls, or import a dump that has its templates"
        )
        return [f"{loss} {self._largest()}; {advice}"]


def _percent(fraction: float) -> str:
    return f"{100 * fraction:.2f} %"


def _fraction(part: int, rest: int) -> float:
    return part / (part + rest) if part else 0.0


def write_left_out(directory: Path, left_out: Mapping[str, LeftOutCalls]) -> None:
    """Write which templates have calls without a text, the most frequent first, their pages, what went.

    No title contains a bar, so ` | ` separates the examples.
    """
    lines = ["\t".join(LEFT_OUT_COLUMNS) + "\n"]
    for name, calls in sorted(left_out.items(), key=lambda row: (-row[1].calls, row[0])):
        went = " | ".join(f"{what} {count}" for what, count in sorted(calls.cuts.items()))
        cells = (calls.calls, name, calls.pages, " | ".join(calls.examples), went, calls.words)
        lines.append("\t".join(" ".join(str(cell).split()) for cell in cells) + "\n")
    (directory / LEFT_OUT).write_text("".join(lines), encoding="utf-8", newline="\n")
