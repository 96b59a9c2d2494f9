"""A real MediaWiki on loopback: made, started, broken on purpose and stopped."""

import itertools
import json
import os
import shutil
import sqlite3
import subprocess
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NoReturn

import pytest
import requests

LAB = Path(__file__).parent / "lab"
NEEDED = ("apt-get", "dpkg-deb", "curl", "flock", "setsid")  # on the machine; the script unpacks the rest
NUMBERS = itertools.count()


@dataclass(frozen=True, kw_only=True)
class Wiki:
    """A wiki that runs."""

    folder: Path
    api: str

    def fail(self, *rules: dict[str, object]) -> None:
        """Let requests fail by rules, the first that applies; lab/faults.php says which there are."""
        numbered = [{**rule, "number": next(NUMBERS)} for rule in rules]  # rules are counted by their content
        part = self.folder / "faults.json.part"
        part.write_text(json.dumps(numbered))
        part.rename(self.folder / "faults.json")

    def set(self, settings: str) -> None:
        """Add settings in PHP, which count from the next request on."""
        part = self.folder / "settings.d.php.part"
        part.write_text(f"<?php\n{settings}\n")
        part.rename(self.folder / "settings.d.php")

    def heal(self) -> None:
        """End all failures."""
        (self.folder / "faults.json").unlink(missing_ok=True)
        (self.folder / "settings.d.php").unlink(missing_ok=True)

    def stop(self) -> None:
        """Stop the server."""
        subprocess.run([LAB / "mediawiki-down", self.folder], check=True, capture_output=True)


def start(folder: Path, *, dumps: list[Path] | None = None, links: bool = True) -> Wiki:
    """Start the wiki of a folder, and make it first if it is absent; it listens on a free port.

    Without `links` the pages of dumps are in no category, and are there in a third of the time.
    """
    folder.mkdir(parents=True, exist_ok=True)
    imports = [argument for dump in dumps or () for argument in ("--dump", str(dump))]
    options = ["--port", "0", "--workers", "3", *(() if links else ["--no-links"])]
    command = [str(LAB / "mediawiki-up"), str(folder), *options, *imports]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        raise RuntimeError(f"the MediaWiki did not start: {done.stderr[-3000:]}")
    facts = dict(line.split("=", 1) for line in done.stdout.splitlines())
    return Wiki(folder=folder, api=facts["api"])


def cache() -> Path:
    """Where the unpacked packages and the prepared wiki are kept between runs."""
    base = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(os.environ.get("MEDIAWIKI_LAB_CACHE") or Path(base) / "mediawiki-lab")


def copy(prepared: Path, folder: Path) -> Path:
    """A copy of a stopped wiki's folder, to be started on its own."""
    shutil.copytree(prepared, folder, symlinks=True, dirs_exist_ok=True)
    return folder


def missing_programs() -> str:
    """The programs for a MediaWiki that this machine does not have; empty if it has all."""
    return ", ".join(name for name in NEEDED if shutil.which(name) is None)


def unavailable(reason: str) -> NoReturn:
    """Skip what needs a wiki; where tests are required, fail."""
    if os.environ.get("CI") == "true":
        pytest.fail(reason)
    pytest.skip(reason)


@contextmanager
def page_properties(wiki: Wiki, rows: list[tuple[str, str, str]]) -> Iterator[None]:
    """Properties of pages as other software would set them: each a title, a name and a value."""
    path = wiki.folder / "data" / "wiki.sqlite"
    with closing(sqlite3.connect(path, timeout=60)) as database, database:
        database.executemany(
            "INSERT INTO page_props SELECT page_id, ?, ?, NULL FROM page"
            " WHERE page_namespace = 0 AND CAST(page_title AS TEXT) = ?",
            [(name, value, title.replace(" ", "_")) for title, name, value in rows],
        )
    yield
    with closing(sqlite3.connect(path, timeout=60)) as database, database:
        names = {(name,) for _, name, _ in rows}
        database.executemany("DELETE FROM page_props WHERE pp_propname = ?", names)


class Administrator:
    """Deletes and hides, which an export cannot do."""

    def __init__(self, wiki: Wiki) -> None:
        self.api = wiki.api
        self.session = requests.Session()
        password = (wiki.folder / "admin-password").read_text().strip()
        token = self.token("login")
        logged_in = self.post(action="login", lgname="Admin", lgpassword=password, lgtoken=token)
        assert logged_in["login"]["result"] == "Success"

    def post(self, **parameters: str) -> dict[str, Any]:
        """One action."""
        answer: dict[str, Any] = self.session.post(
            self.api, data={"format": "json", "formatversion": "2", **parameters}
        ).json()
        assert "error" not in answer, answer
        return answer

    def token(self, kind: str) -> str:
        """A token of a kind."""
        answer = self.post(action="query", meta="tokens", type=kind)
        return str(answer["query"]["tokens"][f"{kind}token"])

    def delete(self, title: str) -> None:
        """Delete a page."""
        self.post(action="delete", title=title, token=self.token("csrf"))

    def hide(self, title: str, revision_id: int) -> None:
        """Hide a revision's text."""
        token = self.token("csrf")
        what = {"type": "revision", "ids": str(revision_id), "hide": "content"}
        self.post(action="revisiondelete", target=title, token=token, **what)

    def revision_ids(self, title: str) -> list[int]:
        """A page's revisions, oldest first."""
        query = {"prop": "revisions", "rvprop": "ids", "rvlimit": "max", "rvdir": "newer", "titles": title}
        page = self.post(action="query", rvslots="main", **query)["query"]["pages"][0]
        return [revision["revid"] for revision in page["revisions"]]
