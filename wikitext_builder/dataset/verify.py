"""Checks whether a dataset is what it says: hashes, format and counts, and the rule of its vocabulary."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass, replace
from functools import partial
from itertools import zip_longest
from pathlib import Path

from wikitext_builder.article import SPLITS
from wikitext_builder.dataset.counts import SplitCounts, count
from wikitext_builder.dataset.load import LAYOUTS, WIKITEXT
from wikitext_builder.dataset.manifest import (
    MANIFEST,
    Manifest,
    compared_files,
    read_articles,
    read_lines,
    read_manifest,
    read_tokens,
    unnamed_files,
)
from wikitext_builder.dataset.vocabulary import EOS, UNK, Vocabulary
from wikitext_builder.errors import BuilderError

MIN_COUNT = 3  # of the official datasets, which have no manifest
AGAIN = "remove the folder and build again"


@dataclass(frozen=True, slots=True, kw_only=True)
class Check:
    """The result of one check."""

    name: str
    passed: bool | None  # None: it could not be checked; `found` says why
    found: str


def verify(directory: str | Path) -> list[Check]:
    """Check a dataset, ours or the official one.

    Checks the hashes in the manifest, that there are no other files, the format of the files, the counts of
    articles, lines, tokens and `<unk>`, and the vocabulary: each `<unk>` stands for a word that is rare in
    train, and nothing else differs from the raw text.

    Args:
        directory: The folder of the dataset.

    Returns:
        Every check, passed or not, with what was found.

    Raises:
        BuilderError: There is no dataset, or its manifest cannot be read.
    """
    directory = Path(directory)
    paths = {name: directory / LAYOUTS[WIKITEXT].format(split=name) for name in SPLITS}
    present = {name: path for name, path in paths.items() if path.is_file()}
    if not present:
        raise BuilderError(f"{directory}: no wiki.train.tokens, wiki.valid.tokens or wiki.test.tokens in it")
    manifest = read_manifest(directory)
    checks = list(_hashes(directory, manifest))
    checks += [
        Check(name=f"{paths[name].name} format", passed=None, found="the file is not here")
        for name in SPLITS
        if name not in present
    ]
    counts: dict[str, Counter[str]] = {}
    for name, path in present.items():
        checks.append(_guarded(f"{path.name} format", partial(_format, path)))
        if checks[-1].passed:
            totals, counts[name] = count(path)
            checks.append(_counts(name, totals, manifest))
    min_count = manifest.recipe.min_count if manifest else MIN_COUNT
    checks += _vocabulary(counts, min_count, manifest)
    expected = _expected_vocabulary(directory, min_count)
    for name in counts:
        raw = directory / f"wiki.{name}.raw"
        check = f"{raw.name} against {present[name].name}"
        if raw.is_file():
            checks.append(_guarded(check, partial(_compare, raw, present[name], expected)))
        else:
            checks.append(Check(name=check, passed=None, found=f"no {raw.name} here"))
    return checks


def _guarded(name: str, look: Callable[[], str]) -> Check:
    try:
        return Check(name=name, passed=True, found=look())
    except BuilderError as error:
        return Check(name=name, passed=False, found=str(error))


def _hashes(directory: Path, manifest: Manifest | None) -> Iterator[Check]:
    if manifest is None:
        yield Check(name="hashes", passed=None, found=f"no {MANIFEST} here")
        return
    for name, expected, entry in compared_files(directory, manifest):
        found = f"the file is missing; {AGAIN}"
        if entry == expected:
            found = f"{entry.sha256[:12]}…, {entry.bytes:,} bytes"
        elif entry:
            here, there = (f"{one.sha256} ({one.bytes:,} bytes)" for one in (entry, expected))
            found = f"{here}, but the manifest says {there}; {AGAIN}"
        yield Check(name=f"{name} sha256", passed=entry == expected, found=found)
    for name in unnamed_files(directory, manifest):
        found = "the manifest does not name this file, but programs read it; remove it, or build again"
        yield Check(name=name, passed=False, found=found)


def _format(path: Path) -> str:
    articles = lines = 0
    for article in read_articles(path):
        articles += 1
        lines += len(article)
        for line in article:
            if "  " in line or line != line.strip():
                raise BuilderError(
                    f"{path}: {line[:60]!r} in {article[1]!r} has more than one space in a row"
                )
    return f"{articles:,} articles, {lines:,} lines"


def _counts(name: str, found: SplitCounts, manifest: Manifest | None) -> Check:
    text = "{articles:,} articles, {lines:,} lines, {tokens:,} tokens with <eos>, {unknown:,} <unk>"
    but, passed = "; no manifest to compare", None
    if manifest:
        expected = replace(manifest.splits[name], types=found.types)
        passed = found == expected
        but = "" if passed else f"; the manifest says {text.format(**asdict(expected))}"
    return Check(name=f"{name} counts", passed=passed, found=text.format(**asdict(found)) + but)


def _vocabulary(
    counts: dict[str, Counter[str]], min_count: int, manifest: Manifest | None
) -> Iterator[Check]:
    """The types of the token files: frequent in train, and the same in valid and test."""
    if "train" not in counts:
        yield Check(name="vocabulary", passed=None, found="no train file to take it from")
        return
    types = counts["train"]
    rare = sorted(token for token, times in types.items() if times < min_count and token not in (UNK, EOS))
    size = len(types.keys() | {UNK, EOS})
    wrong = f"; {len(rare):,} types of train are rarer than {min_count}, such as {rare[:3]}" if rare else ""
    if manifest and manifest.vocabulary != size:
        wrong += f"; the manifest says {manifest.vocabulary:,}"
    yield Check(name="vocabulary", passed=not wrong, found=f"{size:,} types{wrong}")
    for name in counts.keys() - {"train"}:
        foreign = sorted(counts[name].keys() - types.keys() - {UNK, EOS})
        such = f", such as {foreign[:3]}" if foreign else ""
        found = f"{len(foreign):,} types that are not in train{such}"
        yield Check(name=f"{name} words", passed=not foreign, found=found)


def _expected_vocabulary(directory: Path, min_count: int) -> Vocabulary | None:
    """The frequent words of raw train; None without it: then no word is rare."""
    raw = directory / "wiki.train.raw"
    return Vocabulary.of_counts(Counter(read_tokens(raw)), min_count=min_count) if raw.is_file() else None


def _compare(raw: Path, tokens: Path, vocabulary: Vocabulary | None) -> str:
    """Each line of tokens must be that of the raw text with `<unk>` for each word that is rare in train."""
    replaced = 0
    for number, (text, found) in enumerate(zip_longest(read_lines(raw), read_lines(tokens)), start=1):
        words = " ".join(text.split()) if text is not None else None  # raw text can have other spaces
        expected = vocabulary.without_rare(words) if vocabulary and words else words
        if found != expected:
            raise BuilderError(f"{tokens}, line {number}: {found!r:.300}; {raw.name} gives {expected!r:.300}")
        replaced += found.split().count(UNK) if found else 0
    return f"{replaced:,} rare words replaced, all else equal"
