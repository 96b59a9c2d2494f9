"""What differs between the Wikipedias: names of categories, marks, namespaces and removed sections."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Language:
    """The local names of one Wikipedia.

    Names of templates, categories and namespaces have a capital first letter and spaces, no underscores;
    look them up through that form.
    """

    code: str  # of the Wikipedia: en of en.wikipedia.org
    good_category: str | None  # without its namespace: Good articles
    featured_category: str | None
    good_marks: tuple[str, ...]  # templates in an article's own wikitext that mark it as Good
    featured_marks: tuple[str, ...]
    disambiguation_marks: tuple[str, ...]
    list_title_prefixes: tuple[str, ...]  # a title that begins so is of a list: "List of "
    file_namespaces: tuple[str, ...]  # all names that lead to a picture: File, Image and the local ones
    category_namespaces: tuple[str, ...]
    redirect_words: tuple[str, ...]  # after the #: REDIRECT and the local ones
    removed_sections: tuple[str, ...]  # exact headings whose sections primarily featured lists


LANGUAGES: dict[str, Language] = {
    "en": Language(
        code="en",
        good_category="Good articles",
        featured_category="Featured articles",
        good_marks=("Good article", "GA article"),
        featured_marks=("Featured article", "FA article"),
        disambiguation_marks=("Disambiguation", "Disambig", "Dab", "Disamb", "Hndis", "Geodis"),
        list_title_prefixes=("List of ", "Lists of "),
        file_namespaces=("File", "Image"),
        category_namespaces=("Category",),
        redirect_words=("REDIRECT",),
        removed_sections=(  # the official files have none of these: wikitext-format.md
            "See also",
            "References",
            "External links",
            "Notes",
            "Footnotes",
            "Bibliography",
            "Further reading",
            "Sources",
            "Citations",
        ),
    ),
}
