"""Checks whether a dataset is what it says: hashes, grammar, counts and the rule of its vocabulary."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Set
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
from wikitext_builder.dataset.plain import read_plain_articles, sections_of
from wikitext_builder.dataset.vocabulary import EOS, UNK, Vocabulary
from wikitext_builder.errors import BuilderError
from wikitext_builder.store.lock import ATTRIBUTION, LOCK, read_attribution, read_lock

BUILD_AGAIN = "remove the folder and build again"


@dataclass(frozen=True, slots=True, kw_only=True)
class Check:
    """The result of one check."""

    name: str
    passed: bool | None  # None: it could not be checked; `found` says why
    found: str


def verify(directory: str | Path) -> list[Check]:
    """Check a dataset, ours or the official one.

    Checks the hashes in the manifest, that there are no other files, the articles against the lock file, the
    grammar of the files, the counts of articles, lines, tokens and `<unk>`, the raw files against the
    `.tokens` files, and the vocabulary.

    Args:
        directory: The folder of the dataset.

    Returns:
        Every check, passed or not, with what was found.

    Raises:
        BuilderError: There is no dataset, or its manifest cannot be read.
    """
    directory = Path(directory)
    splits = {name: directory / LAYOUTS[WIKITEXT].format(split=name) for name in SPLITS}
    present = {name: path for name, path in splits.items() if path.is_file()}
    if not present:
        raise BuilderError(f"{directory}: no wiki.train.tokens, wiki.valid.tokens or wiki.test.tokens in it")
    manifest = read_manifest(directory)
    checks = [*_hashes(directory, manifest)]
    if manifest:
        checks.append(_sources(directory, manifest))
    counts: dict[str, Counter[str]] = {}
    checks += [
        Check(name=f"{path.name} grammar", passed=None, found="the file is not here")
        for name, path in splits.items()
        if name not in present
    ]
    for name, path in present.items():
        grammar = _guarded(f"{path.name} grammar", partial(_grammar, path))
        checks.append(grammar)
        if grammar.passed:
            totals, counts[name] = count(path)
            checks.append(_counts(name, totals, manifest))
            known = counts.get("train", Counter()).keys() - {UNK}
            says = manifest.splits[name] if manifest else None
            checks.extend(_raw(path, directory / f"wiki.{name}.raw", known, says))
            if manifest and manifest.recipe.articles:
                checks.append(_guarded(f"{name} articles", partial(_plain, directory, name, manifest)))
    return [*checks, *_vocabulary(directory, counts, manifest)]


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
        result = f"the file is missing; {BUILD_AGAIN}"
        if entry == expected:
            result = f"{entry.sha256[:12]}…, {entry.bytes:,} bytes"
        elif entry:
            here, named = (f"{one.sha256} ({one.bytes:,} bytes)" for one in (entry, expected))
            result = f"{here}, but the manifest says {named}; {BUILD_AGAIN}"
        yield Check(name=f"{name} sha256", passed=entry == expected, found=result)
    for name in unnamed_files(directory, manifest):
        found = "the manifest does not name this file, but programs read it; remove it, or build again"
        yield Check(name=name, passed=False, found=found)


def _sources(directory: Path, manifest: Manifest) -> Check:
    name = f"{ATTRIBUTION} against {LOCK}"
    return _guarded(name, partial(_attributed, directory, manifest))


def _attributed(directory: Path, manifest: Manifest) -> str:
    """Every article must be of a revision that the lock file names, and the splits of the manifest's size."""
    locked = read_lock(directory / LOCK, language=manifest.recipe.language)
    known = {(one.page_id, one.revision_id, one.timestamp) for one in locked}
    articles: Counter[str] = Counter()
    for one in read_attribution(directory):
        articles[one.split] += 1
        if (one.page_id, one.revision_id, one.timestamp) not in known:
            raise BuilderError(f"revision {one.revision_id} of {one.title!r} is not in {LOCK}; {BUILD_AGAIN}")
    expected = {name: counts.articles for name, counts in manifest.splits.items()}
    if {name: articles[name] for name in SPLITS} != expected:
        raise BuilderError(f"{dict(articles)} articles; the manifest says {expected}; {BUILD_AGAIN}")
    return f"{articles.total():,} of the {len(locked):,} revisions of the lock file are articles"


def _grammar(path: Path) -> str:
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
        says = replace(manifest.splits[name], types=found.types)
        passed = found == says
        but = "" if passed else f"; the manifest says {text.format(**asdict(says))}"
    return Check(name=f"{name} counts", passed=passed, found=text.format(**asdict(found)) + but)


def _raw(tokens: Path, raw: Path, known: Set[str], says: SplitCounts | None) -> Iterator[Check]:
    """The raw file must differ from the tokens file in rare words only, and have the manifest's types."""
    if not raw.is_file():
        yield Check(name=f"{raw.name} against {tokens.name}", passed=None, found=f"no {raw.name} here")
        return
    types: set[str] = set()
    same = _guarded(f"{raw.name} against {tokens.name}", partial(_compare, tokens, raw, known, types))
    yield same
    if same.passed and says:
        but = "" if len(types) == says.types else f"; the manifest says {says.types:,}"
        yield Check(name=f"{raw.name} types", passed=not but, found=f"{len(types):,} types{but}")


def _compare(tokens: Path, raw: Path, known: Set[str], types: set[str]) -> str:
    replaced = 0
    for number, (with_rare, without) in enumerate(zip_longest(read_lines(raw), read_lines(tokens)), start=1):
        before, after = (with_rare or "").split(), (without or "").split()
        types.update(before)
        differences = [pair for pair in zip_longest(before, after) if pair[0] != pair[1]]
        if any(word != UNK for _, word in differences) or (with_rare is None) != (without is None):
            raise BuilderError(
                f"{raw}, line {number}: {differences[:1]} differ; expected only {UNK} in place of a rare word"
            )
        if frequent := [word for word, _ in differences if word in known]:
            raise BuilderError(
                f"{tokens}, line {number}: {UNK} stands for {frequent[0]!r}, which is in train"
            )
        replaced += len(differences)
    return f"{replaced:,} rare words replaced, all else equal"


def _plain(directory: Path, split: str, manifest: Manifest) -> str:
    """The texts of the exported articles, in their order and tokenized, must be the lines of the raw file."""
    recipe, number = manifest.recipe, 0
    raw = read_articles(directory / f"wiki.{split}.raw")
    for one, lines in zip_longest(read_plain_articles(directory, split), raw):
        number += 1
        if one is None or lines is None:
            raise BuilderError(f"the export of {split} does not have as many articles as wiki.{split}.raw")
        same = one.raw_lines(recipe.language, recipe.sections) == lines
        # The signs of a formula can also stand in `<code>`: which of them is the formula, no text tells.
        same = same or _has_other_signs(one.text, Counter(one.formulas))
        if not same or one.sections != sections_of(one.text.split("\n")):
            raise BuilderError(f"the text of {one.title!r} is not that of wiki.{split}.raw; {BUILD_AGAIN}")
    return f"{number:,} articles, whose texts are the lines of wiki.{split}.raw before tokenization"


def _has_other_signs(text: str, formulas: Mapping[str, int]) -> bool:
    """Whether the signs of a formula stand in a text more often than the formula."""
    between = Counter(text.split("$")[1:-1])  # once for all: a stranger's export can have very many formulas
    found = ((text.count(f"${tex}$") if "$" in tex else between[tex], n) for tex, n in formulas.items())
    return any(times > expected for times, expected in found)


def _vocabulary(
    directory: Path, counts: dict[str, Counter[str]], manifest: Manifest | None
) -> Iterator[Check]:
    if "train" not in counts:
        yield Check(name="vocabulary", passed=None, found="no train file to take it from")
        return
    types, min_count = counts["train"], manifest.recipe.min_count if manifest else 3
    rare = sorted(token for token, count in types.items() if count < min_count and token not in (UNK, EOS))
    size = len(types.keys() | {UNK, EOS})
    wrong = f"; {len(rare):,} types of train are rarer than {min_count}, such as {rare[:3]}" if rare else ""
    if manifest and manifest.vocabulary != size:
        wrong += f"; the manifest says {manifest.vocabulary:,}"
    yield Check(name="vocabulary", passed=not wrong, found=f"{size:,} types{wrong}")
    for name in (name for name in counts if name != "train"):
        foreign = sorted(counts[name].keys() - types.keys() - {UNK, EOS})
        text = f"{len(foreign):,} types that are not in train" + (
            f", such as {foreign[:3]}" if foreign else ""
        )
        yield Check(name=f"{name} words", passed=not foreign, found=text)
    raw = directory / "wiki.train.raw"
    if raw.is_file():
        expected = Vocabulary.of_counts(Counter(read_tokens(raw)), min_count=min_count)
        lost = sorted(set(expected.tokens) - types.keys() - {UNK, EOS})
        text = f"{len(lost):,} frequent words of {raw.name} are not in it" + (f": {lost[:3]}" if lost else "")
        yield Check(name="vocabulary rule", passed=not lost, found=text)
