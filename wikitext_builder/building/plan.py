"""What is to be built, and the folder in which it grows until it is whole."""

from __future__ import annotations

import contextlib
import fcntl
import os
import shutil
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from importlib.metadata import version
from pathlib import Path
from unicodedata import unidata_version

from wikitext_builder import __version__
from wikitext_builder.dataset.manifest import Manifest, read_manifest
from wikitext_builder.dataset.recipes import Recipe
from wikitext_builder.errors import BuilderError
from wikitext_builder.hashing import lines_sha256
from wikitext_builder.runners import blobs
from wikitext_builder.store.store import Revision, Store

DECIDING_PACKAGES = ("pyarrow", "regex", "sacremoses")  # their versions decide bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """What to build, of what, into which folder."""

    recipe: Recipe
    store: Path
    out: Path
    revisions: Sequence[Revision]  # to choose from, one a page
    given_valid: frozenset[int] = frozenset()  # page ids that make up valid, instead of a choice
    given_test: frozenset[int] = frozenset()
    work_url: str = ""  # where a cluster's workers leave their results; empty: in `work`, on a common disk

    def __post_init__(self) -> None:
        """Refuse a path that can be no new folder's name."""
        if self.out.name in ("", ".."):
            raise BuilderError(f"{self.out}: is no name of a folder to be made; name a new one")

    @property
    def work(self) -> Path:
        """Where the dataset grows until it is whole."""
        return self.out.with_name(f".{self.out.name}.partial")


@dataclass(frozen=True, slots=True)
class Identity:
    """All that decides a dataset's bytes."""

    recipe: Recipe
    source: str  # sha256 over the revisions, the given splits, the expansions and the HTML
    versions: dict[str, str]

    def digest(self) -> str:
        """A short name of it, for folders."""
        return lines_sha256([repr(sorted(asdict(self).items()))])[:24]


def identity_of(plan: Plan) -> Identity:
    """What a plan comes to.

    Raises:
        BuilderError: There is nothing to build from.
    """
    if not plan.revisions:
        raise BuilderError(
            f"{plan.store}: no pages of {plan.recipe.language!r} to build from;"
            " `wikitext-builder status` says what is there"
        )
    numbers = {one.revision_id for one in plan.revisions}
    with Store.open(plan.store) as store:
        texts = [store.expansions_digest(plan.recipe.language, numbers)]
        if plan.recipe.source == "rendered":
            found = store.rendered_sha1s(plan.recipe.language).items()
            texts += [f"{number} {sha1}" for number, sha1 in found if sha1 and number in numbers]
    rows = sorted(f"{r.page_id}\t{r.revision_id}\t{r.sha1}\t{r.title}" for r in plan.revisions)
    given = [f"valid {sorted(plan.given_valid)}", f"test {sorted(plan.given_test)}"]
    versions = {name: version(name) for name in DECIDING_PACKAGES}
    if plan.recipe.source == "rendered":
        versions["lxml"] = version("lxml")
    versions |= {"wikitext-builder": __version__, "unicode": unidata_version}
    return Identity(plan.recipe, lines_sha256([*rows, *given, *texts]), versions)


def built_already(out: Path, identity: Identity) -> Manifest | None:
    """The manifest of the very dataset that is to be built, if it is there.

    Raises:
        BuilderError: Something else is there.
    """
    if not out.exists():
        return None
    manifest = read_manifest(out) if out.is_dir() else None
    if manifest is None:
        raise BuilderError(f"{out}: holds something that is no dataset of ours; name another folder")
    built = Identity(manifest.recipe, manifest.source, manifest.versions)
    if built == identity:
        return manifest
    raise BuilderError(
        f"{out}: holds another dataset ({', '.join(_differences(built, identity))}); name another folder or"
        " remove this one"
    )


def _differences(there: Identity, wanted: Identity) -> Iterator[str]:
    """What two datasets do not share, in words."""
    for what in ("recipe", "versions"):
        one, other = (asdict(identity)[what] for identity in (there, wanted))
        for name in sorted({*one, *other}):
            if one.get(name) != other.get(name):
                yield f"{name} {one.get(name)!r}, not {other.get(name)!r}"
    if there.source != wanted.source:
        yield "other pages, given parts or texts of templates"


@contextlib.contextmanager
def working_folder(plan: Plan, identity: Identity) -> Iterator[str]:
    """Make or find the working folder, hold it alone, and clear it away after success.

    Yields:
        The location of intermediate results; those of another dataset are gone.
    """
    plan.work.mkdir(parents=True, exist_ok=True)
    with (plan.work / "lock").open("w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            raise BuilderError(f"{plan.work}: another build is at work there; wait for it") from error
        if plan.work_url:
            location = f"{plan.work_url.rstrip('/')}/{identity.digest()}"
        else:
            location = str(plan.work / identity.digest())
            _remove_others(plan.work, keep=identity.digest())
        yield location
        blobs.remove_folder(location)
        shutil.rmtree(plan.work)


def _remove_others(folder: Path, *, keep: str) -> None:
    for path in folder.iterdir():
        if path.is_dir() and path.name != keep:
            shutil.rmtree(path)
    for part in folder.rglob("*.part"):
        part.unlink()


@contextlib.contextmanager
def disk_errors(out: Path) -> Iterator[None]:
    """Say of a disk's complaint which file it is of and what to do.

    Raises:
        BuilderError: The disk complained.
    """
    try:
        yield
    except OSError as error:
        raise BuilderError(
            f"{error.filename or out}: {error.strerror or error}; see to the disk (space, rights), then run"
            " the same command again: it goes on where it stopped"
        ) from error


def sync(folder: Path) -> None:
    """Bring a folder to the disk, before the rename that says it is there."""
    for path in [*folder.rglob("*"), folder]:
        descriptor = os.open(path, os.O_RDONLY)
        os.fsync(descriptor)
        os.close(descriptor)
