"""What a dataset says about itself: sources, card, how to build it again, what was rejected and left out."""

from __future__ import annotations

import json
import re
import shlex
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, fields
from pathlib import Path
from typing import Final

from wikitext_builder.building.batches import LeftOutCalls
from wikitext_builder.building.licence import licences_of, render
from wikitext_builder.building.plan import LEFT_OUT, REJECTED, Plan
from wikitext_builder.dataset.counts import STATISTICS, SplitCounts, figures
from wikitext_builder.dataset.manifest import CARD
from wikitext_builder.dataset.recipes import RECIPES, Recipe
from wikitext_builder.hashing import code_hash
from wikitext_builder.store.lock import LOCK, lock_lines
from wikitext_builder.store.rows import Rejected, Revision

TITLES: Final = {"valid": "valid_titles.txt", "test": "test_titles.txt"}  # files of given titles, by split
LEFT_OUT_COLUMNS = ("calls", "template", "pages", "examples", "went")


def reasons_of(left_out: Mapping[str, LeftOutCalls]) -> dict[str, int]:
    """The number of calls for each reason; empty if the store has no templates."""
    return dict(sum((Counter(one.reasons) for one in left_out.values()), Counter[str]()).most_common())


def write_source(directory: Path, plan: Plan) -> None:
    """Write the lock file of all revisions that a build chose from, and the titles of given splits.

    The lock file does not name the wiki, so it has the same bytes from whatever store the revisions come.
    """
    with (directory / LOCK).open("w", encoding="utf-8", newline="") as file:
        file.writelines(lock_lines(plan.revisions, plan.language))
    for split, page_ids in _given(plan):
        titles = sorted(one.title for one in plan.revisions if one.page_id in page_ids)
        text = "".join(f"{title}\n" for title in titles)
        (directory / TITLES[split]).write_text(text, encoding="utf-8", newline="\n")


def _given(plan: Plan) -> Iterator[tuple[str, frozenset[int]]]:
    """The page ids of the splits that were given and not chosen."""
    given = {"valid": plan.given_valid, "test": plan.given_test}
    yield from ((split, page_ids) for split, page_ids in given.items() if page_ids)


def write_rejected(directory: Path, rejected: Sequence[Rejected]) -> None:
    """Write the pages that were not used, one line of JSON per page."""
    ordered = sorted(rejected, key=lambda one: (one.title, one.revision_id))
    lines = [json.dumps(asdict(one), ensure_ascii=False, sort_keys=True) + "\n" for one in ordered]
    (directory / REJECTED).write_text("".join(lines), encoding="utf-8", newline="\n")


def write_left_out(directory: Path, left_out: Mapping[str, LeftOutCalls]) -> None:
    """Write which templates have calls without a text, the most frequent first, their pages, what went.

    No title contains a bar, so ` | ` separates the examples.
    """
    rows = sorted(left_out.items(), key=lambda row: (-row[1].calls, row[0]))
    lines = ["\t".join(LEFT_OUT_COLUMNS) + "\n"]
    for name, one in rows:
        went = " | ".join(f"{what} {count}" for what, count in sorted(one.cuts.items()))
        cells = (one.calls, name, one.pages, " | ".join(one.examples), went)
        lines.append("\t".join(" ".join(str(cell).split()) for cell in cells) + "\n")
    (directory / LEFT_OUT).write_text("".join(lines), encoding="utf-8", newline="\n")


def write_card(
    directory: Path,
    plan: Plan,
    splits: Mapping[str, SplitCounts],
    vocabulary: int,
    days: Iterable[str],
    *,
    as_of: str,
) -> None:
    """Write the dataset card, README.md, whose head the `datasets` library reads.

    `as_of` is the date of the templates that the dataset depends on; empty if it depends on none, or on the
    newest ones.
    """
    names = plan.recipe.splits
    columns = [figures(splits[name], vocabulary) for name in names]
    labelled = {one.card: (key, one) for key, one in STATISTICS.items() if one.card}
    text = render(
        "card.md.jinja",
        recipe=plan.recipe,
        language=plan.language.text_language,
        wiki=re.sub(r"[`<>\[\]|\\]", "", plan.language.wiki).strip(),
        index=plan.language.index,
        wikipedia=f"the `{plan.language.code}` Wikipedia",
        splits=names,
        filled=[name for name in names if splits[name].articles],
        table={label: one.cells(each[key] for each in columns) for label, (key, one) in labelled.items()},
        created=_days(plan.revisions),
        names="{" + ",".join(names) + "}" if len(names) > 1 else names[0],
        licences=licences_of(days),
        rebuild=rebuild_commands(plan, as_of),
        code=code_hash(),
        size=_size_category(sum(splits[name].lines for name in names)),
    )
    (directory / CARD).write_text(text, encoding="utf-8", newline="\n")


def _days(revisions: Sequence[Revision]) -> list[str]:
    """The days when pages were created; none unless all are known."""
    days = sorted({revision.created[:10] for revision in revisions})
    return days if days and days[0] else []


def _size_category(lines: int) -> str:
    """The dataset hub's name for a number of rows."""
    steps = ((1_000, "n<1K"), (10_000, "1K<n<10K"), (100_000, "10K<n<100K"), (1_000_000, "100K<n<1M"))
    return next((name for limit, name in steps if lines < limit), "1M<n<10M")


# --- how to build it again


def rebuild_commands(plan: Plan, as_of: str) -> str:
    """The commands that fetch the revisions of a dataset and build it again, as Markdown.

    They are for the folder of the dataset, whose files they name.
    """
    recipe = plan.recipe
    fetch = ["fetch", "--store", "../pages.store", "--select", f"lock:{LOCK}", "--contact", "you@example.org"]
    fetch += ["--language", recipe.language] if recipe.language != "en" else []
    if plan.language.index.endswith("/index.php"):
        fetch += ["--api", f"{plan.language.index.removesuffix('index.php')}api.php"]
    fetch += ["--rendered"] if recipe.source == "rendered" else []
    given = {"lock": LOCK} | {f"{split}_titles": TITLES[split] for split, _ in _given(plan)}
    given |= {"as_of": as_of} if as_of else {}
    if (base := _base(recipe)) is None:
        named = "".join(f", {name}={value!r}" for name, value in given.items())
        imports = "import wikitext_builder as wb\nfrom wikitext_builder.dataset.recipes import Recipe"
        call = f"wb.build({recipe!r}, '../pages.store', '../again'{named})"
        return f"{_console([fetch])}\n\n```python\n{imports}\n\n{call}\n```"
    options = [*_changes(recipe, RECIPES[base]), *given.items()]
    build = ["build", base, "--store", "../pages.store", "--out", "../again"]
    build += [part for name, value in options for part in (f"--{name.replace('_', '-')}", value)]
    return _console([fetch, build])


def _console(commands: Iterable[list[str]]) -> str:
    lines = (f"$ wikitext-builder {shlex.join(command)}" for command in commands)
    return "\n".join(["```console", *lines, "```"])


def _base(recipe: Recipe) -> str | None:
    """The command line's name of the recipe that this one is a variant of; None if there is none."""
    for name, base in RECIPES.items():
        unlimited = any(
            getattr(recipe, name) is None and getattr(base, name) is not None
            for name in ("train_articles", "valid_articles", "test_articles")
        )
        without = base.articles and not recipe.articles
        if base.name == recipe.name and not (unlimited or without):  # no option removes a limit or an export
            return name
    return None


def _changes(recipe: Recipe, base: Recipe) -> Iterator[tuple[str, str]]:
    """The fields that differ from a recipe's, as options of the command line."""
    for field in fields(Recipe):
        value = getattr(recipe, field.name)
        if value != getattr(base, field.name):
            values = value if isinstance(value, tuple) else (value,)
            yield from ((field.name, str(one)) for one in values)
