"""Measures `overlap` and `--new-lines-only`: speed, memory, wrong hits, wrongly kept and dropped paragraphs.

    python benchmarks/overlap.py size WIKITEXT-103-FOLDER OUT --articles 28595 --megabytes 1000
    python benchmarks/overlap.py edits OLD.xml.bz2 NEW.xml.bz2

`size` makes text from real articles: in each copy every letter is another one, so that copies share only what
has no letters. Some articles are planted into the other text; some others have Cyrillic letters, which the
other text does not have, so that a hit in one of their words would be a collision of hashes.

`edits` compares the articles of two dumps of different dates. A paragraph counts as old if at least 60 % of
its words stand in order, two together at least, in one paragraph of the earlier revision, and as new if less
than 30 % do (difflib).
"""

from __future__ import annotations

import argparse
import difflib
import itertools
import random
import resource
import sys
import time
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

import wikitext_builder as wb
from wikitext_builder.article import Page, heading_level
from wikitext_builder.dataset.manifest import file_line
from wikitext_builder.pages.xml_dump import read_pages
from wikitext_builder.text_overlap.words import words_of

PLANTED, STRANGE = 50, 1000  # every so many articles one is planted, or has words of its own
LENGTHS = (5, 6, 8)
SHARES = (0.1, 0.2, 0.3, 0.5)


def copies(folder: Path, seed: str) -> Iterator[list[str]]:
    """Articles without end: each time round, every letter is another one."""
    dataset, letters = wb.load(folder), "abcdefghijklmnopqrstuvwxyz"
    articles = [one.lines for one in dataset.articles("train", raw=True)]
    for turn in itertools.count():
        mixed = random.Random(f"{seed} {turn}").sample(letters, 26)  # noqa: S311 - not for secrets
        table = str.maketrans(letters + letters.upper(), "".join(mixed) + "".join(mixed).upper())
        for lines in articles:
            yield "\n".join(lines).translate(table).split("\n")


def size(folder: Path, out: Path, articles: int, megabytes: int, memory: int) -> None:
    """Make a dataset and another text, compare them, and print speed, memory and errors."""
    (out / "set").mkdir(parents=True)
    planted = []
    strange_letters = str.maketrans("abcdefghijklmnopqrstuvwxyz", "абвгдежзийклмнопрстуфхцчшщ")
    with (out / "set" / "wiki.test.tokens").open("w", encoding="utf-8") as file:
        for number, lines in zip(range(articles), copies(folder, "set"), strict=False):
            shown = lines
            if number % STRANGE == STRANGE - 1:
                shown = [one.lower().translate(strange_letters) for one in lines]
            elif number % PLANTED == 0:
                planted.append(" ".join(lines[3:]))
            file.write("".join(map(file_line, shown)))
    with (out / "other.txt").open("w", encoding="utf-8") as file:
        for number, lines in enumerate(copies(folder, "other")):
            file.write("\n".join(lines))
            if number % 7 == 0 and planted:
                file.write(f"\n{planted.pop()}\n")
            if number % 100 == 0 and file.tell() > megabytes * 10**6 and not planted:
                break
    start, processor = time.monotonic(), time.process_time()
    found = wb.overlap(out / "set", against=out / "other.txt", memory=memory)
    seconds, busy = time.monotonic() - start, time.process_time() - processor
    strange = [one for at, one in enumerate(found.articles) if at % STRANGE == STRANGE - 1]
    whole = [one for at, one in enumerate(found.articles) if at % PLANTED == 0]
    rest = [one for at, one in enumerate(found.articles) if at % PLANTED and at % STRANGE != STRANGE - 1]
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1000
    sys.stdout.write(
        f"{len(found.articles):,} articles, {sum(one.words for one in found.articles):,} words against"
        f" {found.characters / 1e6:,.0f} MB: {seconds:.0f} s,"
        f" {busy:.0f} s of processor, peak {peak:,.0f} MB\n"
        f"planted: {sum(one.shared[13] for one in whole):,} of {sum(one.ngrams[13] for one in whole):,}"
        f" 13-grams found in {len(whole)}; strange: {sum(one.shared[8] for one in strange):,} of"
        f" {sum(one.ngrams[8] for one in strange):,} 8-grams in {len(strange)}; rest:"
        f" {sum(one.shared[8] for one in rest) / sum(one.ngrams[8] for one in rest):.3%} of 8-grams,"
        f" {sum(one.shared[13] for one in rest) / sum(one.ngrams[13] for one in rest):.3%} of 13-grams\n"
    )


def edits(old: Path, new: Path) -> None:
    """Print how often old paragraphs are kept and new ones dropped."""
    before, after = pages_of(old), pages_of(new)
    rows = []
    for title in sorted(before.keys() & after.keys()):
        earlier = paragraphs(before[title])
        later = [words for words in paragraphs(after[title]) if len(words) >= max(LENGTHS)]
        rows += [(likeness(one, earlier), {n: shared(one, earlier, n) for n in LENGTHS}) for one in later]
    is_old = [shares for like, shares in rows if like >= 0.6]
    is_new = [shares for like, shares in rows if like < 0.3]
    sys.stdout.write(f"{len(rows)} paragraphs, {len(is_old)} old, {len(is_new)} new\n")
    for n in LENGTHS:
        for share in SHARES:
            kept = sum(one[n] < share for one in is_old) / len(is_old)
            dropped = sum(one[n] >= share for one in is_new) / len(is_new)
            sys.stdout.write(f"n {n}, share {share}: {kept:.1%} of old kept, {dropped:.1%} of new dropped\n")
    generator = random.Random(1)  # noqa: S311 - not for secrets
    texts = [words for title in sorted(before) for words in paragraphs(before[title]) if len(words) >= 20]
    vocabulary = [word for words in texts for word in words]
    for rate in (0.02, 0.05, 0.1, 0.2):
        kept_of: dict[tuple[int, float], int] = defaultdict(int)
        chosen = generator.sample(texts, min(1000, len(texts)))
        for words in chosen:
            changed = edited(words, rate, vocabulary, generator)
            for n in LENGTHS:
                found = shared(changed, [words], n)
                for share in SHARES:
                    kept_of[n, share] += found < share
        cells = ", ".join(f"n {n} share {s}: {kept_of[n, s] / len(chosen):.1%}" for n, s in kept_of)
        sys.stdout.write(f"edits {rate:.0%}, kept: {cells}\n")


def pages_of(dump: Path) -> dict[str, Page]:
    """The pages of a dump by title."""
    return {one.content.title: one.content for one in read_pages(dump) if isinstance(one.content, Page)}


def paragraphs(page: Page) -> list[list[str]]:
    """The words of each paragraph of a page's article."""
    return [words_of(line) for line in wb.extract(page).lines if line and not heading_level(line)]


def likeness(words: list[str], earlier: list[list[str]]) -> float:
    """The largest fraction of words that stand in order in one earlier paragraph."""
    best, own = 0.0, ngrams(words, 3)
    for other in earlier:
        if len(own & ngrams(other, 3)) > 1:
            blocks = difflib.SequenceMatcher(None, other, words, autojunk=False).get_matching_blocks()
            best = max(best, sum(one.size for one in blocks if one.size > 1) / len(words))
    return best


def ngrams(words: list[str], length: int) -> set[tuple[str, ...]]:
    """The different n-grams of some words."""
    return {tuple(words[at : at + length]) for at in range(len(words) - length + 1)}


def shared(words: list[str], earlier: list[list[str]], length: int) -> float:
    """The fraction of the n-grams of a paragraph that earlier ones have; 1 if it has none."""
    there = set().union(*(ngrams(one, length) for one in earlier)) if earlier else set()
    own = [tuple(words[at : at + length]) for at in range(len(words) - length + 1)]
    return sum(one in there for one in own) / len(own) if own else 1.0


def edited(words: list[str], rate: float, vocabulary: list[str], generator: random.Random) -> list[str]:
    """Words of which a fraction is removed, replaced or followed by another one."""
    changed = []
    for word in words:
        what = generator.random() / rate * 3
        changed += [word] if what >= 2 else []
        changed += [generator.choice(vocabulary)] if 1 <= what < 3 else []
    return changed


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("what", choices=["size", "edits"])
    parser.add_argument("paths", nargs=2, type=Path)
    parser.add_argument("--articles", type=int, default=28595)
    parser.add_argument("--megabytes", type=int, default=1000)
    parser.add_argument("--memory", type=int, default=2000)
    given = parser.parse_args()
    first, second = given.paths
    if given.what == "size":
        size(first, second, given.articles, given.megabytes, given.memory)
    else:
        edits(first, second)
