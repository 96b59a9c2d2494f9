"""Checks a dataset: the hashes of its files, their format and counts, and the rule of its vocabulary."""

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

OFFICIAL_MIN_COUNT = 3  # the official datasets have no manifest
BUILD_AGAIN = "remove the folder and build again"


@dataclass(frozen=True, slots=True, kw_only=True)
class Check:
    """The result of one check."""

    name: str
    passed: bool | None  # None: not checked, for the reason in `found`
    found: str


def verify(directory: str | Path) -> list[Check]:
    """Check a dataset that was built here, or an official one.

    Checks the hashes in the manifest, that there are no further files, the format of the files, the counts of
    articles, lines, tokens and `<unk>`, and the vocabulary: each `<unk>` stands for a word that is rare in
    train, and nothing else differs from the raw text.

    Args:
        directory: The folder of the dataset.

    Returns:
        Every check, passed or not, with what was found.

    Raises:
        BuilderError: The folder has no dataset, or its manifest cannot be read.
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
    type_counts: dict[str, Counter[str]] = {}
    for name, path in present.items():
        checks.append(_run_check(f"{path.name} format", partial(_format, path)))
        if checks[-1].passed:
            split_counts, type_counts[name] = count(path)
            checks.append(_counts(name, split_counts, manifest))
    min_count = manifest.recipe.min_count if manifest else OFFICIAL_MIN_COUNT
    checks += _vocabulary(type_counts, min_count, manifest)
    expected = _expected_vocabulary(directory, min_count)
    for name in type_counts:
        raw = directory / f"wiki.{name}.raw"
        check = f"{raw.name} against {present[name].name}"
        if raw.is_file():
            checks.append(_run_check(check, partial(_compare, raw, present[name], expected)))
        else:
            checks.append(Check(name=check, passed=None, found=f"no {raw.name} here"))
    return checks


def _run_check(name: str, check: Callable[[], str]) -> Check:
    try:
        return Check(name=name, passed=True, found=check())
    except BuilderError as error:
        return Check(name=name, passed=False, found=str(error))


def _hashes(directory: Path, manifest: Manifest | None) -> Iterator[Check]:
    if manifest is None:
        yield Check(name="hashes", passed=None, found=f"no {MANIFEST} here")
        return
    for name, expected, entry in compared_files(directory, manifest):
        found = f"the file is missing; {BUILD_AGAIN}"
        if entry == expected:
            found = f"{entry.sha256[:12]}…, {entry.bytes:,} bytes"
        elif entry:
            described = [f"{file.sha256} ({file.bytes:,} bytes)" for file in (entry, expected)]
            found = f"{described[0]}, but the manifest says {described[1]}; {BUILD_AGAIN}"
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


def _counts(name: str, counts: SplitCounts, manifest: Manifest | None) -> Check:
    text = "{articles:,} articles, {lines:,} lines, {tokens:,} tokens with <eos>, {unknown:,} <unk>"
    comparison, passed = "; no manifest to compare", None
    if manifest:
        expected = replace(manifest.splits[name], types=counts.types)
        passed = counts == expected
        comparison = "" if passed else f"; the manifest says {text.format(**asdict(expected))}"
    return Check(name=f"{name} counts", passed=passed, found=text.format(**asdict(counts)) + comparison)


def _vocabulary(
    type_counts: dict[str, Counter[str]], min_count: int, manifest: Manifest | None
) -> Iterator[Check]:
    """Check the types of the token files: those of train are frequent, and valid and test have no others."""
    if "train" not in type_counts:
        yield Check(name="vocabulary", passed=None, found="no train file to take it from")
        return
    train = type_counts["train"]
    rare = sorted(token for token, count in train.items() if count < min_count and token not in (UNK, EOS))
    size = len(train.keys() | {UNK, EOS})
    fault = f"; {len(rare):,} types of train are rarer than {min_count}, such as {rare[:3]}" if rare else ""
    if manifest and manifest.vocabulary != size:
        fault += f"; the manifest says {manifest.vocabulary:,}"
    yield Check(name="vocabulary", passed=not fault, found=f"{size:,} types{fault}")
    for name in type_counts.keys() - {"train"}:
        foreign = sorted(type_counts[name].keys() - train.keys() - {UNK, EOS})
        examples = f", such as {foreign[:3]}" if foreign else ""
        found = f"{len(foreign):,} types that are not in train{examples}"
        yield Check(name=f"{name} words", passed=not foreign, found=found)


def _expected_vocabulary(directory: Path, min_count: int) -> Vocabulary | None:
    """Return the frequent words of raw train; None without raw train, when no word counts as rare."""
    raw = directory / "wiki.train.raw"
    return Vocabulary.of_counts(Counter(read_tokens(raw)), min_count=min_count) if raw.is_file() else None


def _compare(raw: Path, tokens: Path, vocabulary: Vocabulary | None) -> str:
    """Check that each line of tokens is the raw line with `<unk>` for each word that is rare in train."""
    replaced = 0
    for number, (text, line) in enumerate(zip_longest(read_lines(raw), read_lines(tokens)), start=1):
        words = " ".join(text.split()) if text is not None else None  # raw text can have more spaces
        expected = vocabulary.without_rare(words) if vocabulary and words else words
        if line != expected:
            raise BuilderError(f"{tokens}, line {number}: {line!r:.300}; {raw.name} gives {expected!r:.300}")
        replaced += line.split().count(UNK) if line else 0
    return f"{replaced:,} rare words replaced, all else equal"
