"""Templates in a store: the right revision by name."""

import sqlite3
from pathlib import Path

import pytest

from tests.cases import each
from tests.dumps import numbered_page
from wikitext_builder.article import Page
from wikitext_builder.errors import BuilderError
from wikitext_builder.store import reading as templates
from wikitext_builder.store.reading import StoredTemplates, open_templates, status
from wikitext_builder.store.store import Store


def revision(number: int, wikitext: str, date: str) -> Page:
    return numbered_page(1, wikitext, revision_id=number, timestamp=f"{date}T00:00:00Z")


PAGES = [
    ("Mile", revision(1, "old", "2010-01-01")),
    ("Mile", revision(5, "new", "2016-01-01")),
    ("Mile", revision(4, "middle", "2014-01-01")),
    ("Mile", revision(6, "twin", "2016-01-01")),  # of one second: the greater id is the newer one
    ("League", revision(7, "#REDIRECT [[Template:Mile]]", "2015-01-01")),
]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    with Store.create(tmp_path / "a.store") as store:
        assert StoredTemplates(store).add(PAGES) == 5
        assert StoredTemplates(store).add(PAGES[:2]) == 0
        assert StoredTemplates(store, "fr").add([("Mile", numbered_page(9, "lieue"))]) == 1
    return tmp_path / "a.store"


@each("store", "as_of, expected", "the newest revision up to a date")
def test_the_newest_revision_up_to_a_date(path: Path, as_of: str | None, expected: dict[str, str]) -> None:
    with open_templates(path, language="en", as_of=as_of) as found:
        assert found is not None
        assert dict(found.items()) == {name: found.get(name) for name in found} == expected
        assert found.count() == len(expected)
        assert found.get("Furlong") is None


def test_without_templates_there_are_none(path: Path) -> None:
    with (
        open_templates(path, language="en", as_of="2001-01-01") as before,
        open_templates(path, language="de") as german,
    ):
        assert before is None
        assert german is None
    with open_templates(path, language="fr") as french:
        assert french is not None
        assert french.get("Mile") == "lieue"
    assert [(one.language, one.templates) for one in status(path)] == [("en", 2), ("fr", 1)]


def test_the_digest_depends_on_names_and_texts_up_to_the_date(path: Path) -> None:
    def digest(as_of: str) -> str:
        with Store.open(path) as store:
            return StoredTemplates(store, as_of=as_of).digest()

    assert digest("") == digest("2016-01-01T00:00:00Z") != digest("2015-06-01T00:00:00Z")
    before = digest("")
    with Store.create(path) as store:
        StoredTemplates(store).add([("Acre", revision(8, "field", "2017-01-01"))])
    assert digest("") != before == digest("2016-12-01T00:00:00Z")


def test_a_full_cache_is_emptied(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(templates, "CACHE_CHARACTERS", 6)
    with open_templates(path, language="en") as found:
        assert found is not None
        assert [found.get(name) for name in ("Mile", "League", "Mile", "X", "Mile")] == [
            "twin", "#REDIRECT [[Template:Mile]]", "twin", None, "twin",
        ]  # fmt: skip


def test_a_damaged_template_is_found(path: Path) -> None:
    with sqlite3.connect(path) as connection:
        connection.execute("UPDATE templates SET body = substr(body, 1, 5) WHERE revision_id = 6")
    connection.close()
    with Store.open(path) as store, pytest.raises(BuilderError, match="revision 6 is damaged"):
        StoredTemplates(store).get("Mile")
