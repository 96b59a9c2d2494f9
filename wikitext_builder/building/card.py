"""What a dataset says about itself: its card, how to build it again, what was rejected and left out."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from importlib.resources import files
from itertools import zip_longest
from pathlib import Path

from wikitext_builder.article import Article
from wikitext_builder.building.plan import LEFT_OUT, REJECTED, Plan
from wikitext_builder.building.rebuild import rebuild_commands
from wikitext_builder.dataset.manifest import SplitCounts
from wikitext_builder.dataset.plain import ARTICLES
from wikitext_builder.extraction.names import call_name
from wikitext_builder.pages.store import Rejected, Revision

LEFT_OUT_COLUMNS = ("calls", "template", "pages", "examples")
EXAMPLES = 5  # titles per template: enough to look it up, and few enough for any number of pages


@dataclass(frozen=True, slots=True, kw_only=True)
class LeftOutCalls:
    """The calls of one template that have no text in the dataset."""

    calls: int
    pages: int  # how many have such a call
    examples: tuple[str, ...]  # titles of the first of them in the order of the dataset
    reasons: Mapping[str, int] = field(default_factory=dict)  # why the store's templates do not give it

    def __add__(self, later: LeftOutCalls) -> LeftOutCalls:
        """The calls of these pages and of later ones."""
        return LeftOutCalls(
            calls=self.calls + later.calls,
            pages=self.pages + later.pages,
            examples=(*self.examples, *later.examples)[:EXAMPLES],
            reasons=dict(Counter(self.reasons) + Counter(later.reasons)),
        )


def left_out_of(article: Article) -> dict[str, LeftOutCalls]:
    """The calls that an article leaves out, by template."""
    reasons: dict[str, Counter[str]] = {}
    for call, reason in zip_longest(article.left_out, article.reasons, fillvalue=""):
        reasons.setdefault(call_name(call), Counter())[reason] += 1
    return {
        name: LeftOutCalls(
            calls=found.total(),
            pages=1,
            examples=(article.title,),
            reasons={reason: count for reason, count in found.items() if reason},
        )
        for name, found in reasons.items()
    }


def reasons_of(left_out: Mapping[str, LeftOutCalls]) -> dict[str, int]:
    """The number of calls for each reason; empty if the store has no templates."""
    return dict(sum((Counter(one.reasons) for one in left_out.values()), Counter[str]()).most_common())


def add_left_out(total: dict[str, LeftOutCalls], later: Mapping[str, LeftOutCalls]) -> None:
    """Add the calls of later pages to a total, by template."""
    for name, calls in later.items():
        total[name] = total[name] + calls if name in total else calls


def all_left_out(parts: Iterable[Mapping[str, LeftOutCalls]]) -> dict[str, LeftOutCalls]:
    """The calls of all parts of a dataset, in its order."""
    total: dict[str, LeftOutCalls] = {}
    for part in parts:
        add_left_out(total, part)
    return total


def write_rejected(directory: Path, rejected: Sequence[Rejected]) -> None:
    """Write the pages that were not used, one line of JSON per page."""
    ordered = sorted(rejected, key=lambda one: (one.title, one.revision_id))
    lines = [json.dumps(asdict(one), ensure_ascii=False, sort_keys=True) + "\n" for one in ordered]
    (directory / REJECTED).write_text("".join(lines), encoding="utf-8", newline="\n")


def write_left_out(directory: Path, left_out: Mapping[str, LeftOutCalls]) -> None:
    """Write which templates have calls without a text, the most frequent first, and pages that have them.

    No title contains a bar, so ` | ` separates the examples.
    """
    rows = sorted(left_out.items(), key=lambda row: (-row[1].calls, row[0]))
    lines = ["\t".join(LEFT_OUT_COLUMNS) + "\n"]
    for name, one in rows:
        cells = (one.calls, name, one.pages, " | ".join(one.examples))
        lines.append("\t".join(" ".join(str(cell).split()) for cell in cells) + "\n")
    (directory / LEFT_OUT).write_text("".join(lines), encoding="utf-8", newline="\n")


def write_card(directory: Path, plan: Plan, splits: Mapping[str, SplitCounts], vocabulary: int) -> None:
    """Write the dataset card, README.md, whose head the `datasets` library reads."""
    recipe = plan.recipe
    template = (files("wikitext_builder.building") / "card.md").read_text(encoding="utf-8")
    names = recipe.splits
    config = {kind: "\n".join(_data_files(f"parquet/{kind}/", names)) for kind in ("tokens", "raw")}
    exported = recipe.articles
    articles = [
        f'- config_name: "{recipe.name}-articles-v1"',
        "  data_files:",
        *_data_files(f"{ARTICLES}/", names),
    ]
    about = f"| `{ARTICLES}/` | whole articles as plain text, one per row: {' and '.join(exported)} |"
    text = template.format(
        name=recipe.name,
        language=recipe.language,
        sections=recipe.sections,
        kind="Articles (Good and Featured ones, unless others were imported)"
        if "train" in names
        else "Articles",
        new=_newness(plan.revisions) if "train" not in names else "",
        names="{" + ",".join(names) + "}" if len(names) > 1 else names[0],
        rare=f"; a word that occurs less than {recipe.min_count} times in train is `<unk>`"
        if "train" in names
        else ", all words",
        seed=recipe.seed,
        tokens_files=config["tokens"],
        raw_files=config["raw"],
        articles_config="".join(f"{line}\n" for line in articles) if "parquet" in exported else "",
        articles=f"{about}\n" if exported else "",
        statistics=_statistics({name: splits[name] for name in names}, vocabulary),
        rebuild=rebuild_commands(plan),
        size=_size_category(sum(counts.lines for counts in splits.values())),
    )
    (directory / "README.md").write_text(text, encoding="utf-8", newline="\n")


def _newness(revisions: Sequence[Revision]) -> str:
    """From when the pages are, as far as the store knows it."""
    for what, said, but in (
        ("created", "were written", "Text that was copied from elsewhere is older; `overlap` finds it."),
        ("promoted", "became Good or Featured", "Parts of their text are older; `overlap` finds them."),
    ):
        days = sorted({getattr(one, what)[:10] for one in revisions})
        if days and days[0]:
            return (
                f"A test set alone. Its pages {said} from {days[0]} to {days[-1]}: a model whose training"
                f" data ends before {days[0]} has not read them as such. {but}\n\n"
            )
    return "A test set alone. Since when its pages exist is not known for all of them.\n\n"


def _data_files(prefix: str, names: Sequence[str]) -> list[str]:
    return [
        line
        for split, files_of in (("train", "train"), ("validation", "valid"), ("test", "test"))
        if files_of in names
        for line in (f"  - split: {split}", f"    path: {prefix}{files_of}-*.parquet")
    ]


def _statistics(splits: Mapping[str, SplitCounts], vocabulary: int) -> str:
    def row(label: str, values: list[str]) -> str:
        return f"| {label} | {' | '.join(values)} |"

    counts = list(splits.values())
    rates = [f"{100 * c.unknown / c.tokens:.2f} %" if c.tokens else "–" for c in counts]
    return "\n".join(
        [
            row("", list(splits)),
            "|---" * (len(counts) + 1) + "|",
            row("Articles", [f"{c.articles:,}" for c in counts]),
            row("Tokens, with one `<eos>` a line", [f"{c.tokens:,}" for c in counts]),
            row("Lines", [f"{c.lines:,}" for c in counts]),
            row("Types before rare words became `<unk>`", [f"{c.types:,}" for c in counts]),
            row("`<unk>` among the tokens", rates),
            row("Vocabulary, `<unk>` and `<eos>` included", [f"{vocabulary:,}", *[""] * (len(counts) - 1)]),
        ]
    )


def _size_category(lines: int) -> str:
    """The dataset hub's name for a number of rows."""
    steps = ((1_000, "n<1K"), (10_000, "1K<n<10K"), (100_000, "10K<n<100K"), (1_000_000, "100K<n<1M"))
    return next((name for limit, name in steps if lines < limit), "1M<n<10M")
