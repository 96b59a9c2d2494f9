"""What a dataset says about itself: its card, the revisions it was chosen from, and what was rejected."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Final

from wikitext_builder.building.licence import licences_of, render
from wikitext_builder.building.plan import Plan
from wikitext_builder.dataset.counts import STATISTICS, SplitCounts, figures
from wikitext_builder.dataset.manifest import CARD
from wikitext_builder.files import code_hash
from wikitext_builder.store.lock import LOCK, lock_lines
from wikitext_builder.store.rows import Rejected, Revision

REJECTED: Final = "rejected.jsonl"


def write_source(directory: Path, plan: Plan) -> None:
    """Write the lock file of all revisions that a build chose from.

    It does not name the wiki, so it has the same bytes from whatever store the revisions come.
    """
    with (directory / LOCK).open("w", encoding="utf-8", newline="") as file:
        file.writelines(lock_lines(plan.revisions, plan.language))


def write_rejected(directory: Path, rejected: Sequence[Rejected]) -> None:
    """Write the pages that were not used, one line of JSON per page."""
    ordered = sorted(rejected, key=lambda one: (one.title, one.revision_id))
    lines = [json.dumps(asdict(one), ensure_ascii=False, sort_keys=True) + "\n" for one in ordered]
    (directory / REJECTED).write_text("".join(lines), encoding="utf-8", newline="\n")


def write_card(
    directory: Path,
    plan: Plan,
    splits: Mapping[str, SplitCounts],
    vocabulary: int,
    days: Iterable[str],
) -> None:
    """Write the dataset card, README.md, whose head the `datasets` library reads."""
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
