"""HTML tags: which are removed, and which tag closes which; checked against slower, simpler code."""

import re

from hypothesis import given
from hypothesis import strategies as st

from tests.cases import each
from wikitext_builder.extraction.markup import REMOVED_CLASS, _are_removed, _closing_indices, flatten_tags
from wikitext_builder.extraction.markup import TAG as ANY_TAG

# One pattern for the same rule, in quadratic time.
PLAIN = re.compile(rf"""display\s*:\s*none|class\s*=\s*["']?[^"'>]*{REMOVED_CLASS.pattern}""", re.IGNORECASE)
PIECES = [
    *["class", "=", '"', "'", "thumb", "Navbox", "x-", "-", "y", "class=", 'class="', "display", ":", "none"],
    " ",
]
ATTRIBUTES = st.lists(st.sampled_from(PIECES)).map("".join)
TAGS = st.lists(st.sampled_from(["<b>", "</b>", "<B>", "</B>", "<b/>", "<i>", "</i>", "a"])).map("".join)


@given(ATTRIBUTES)
def test_the_search_for_classes_finds_what_the_plain_pattern_finds(attributes):
    assert _are_removed(attributes) == bool(PLAIN.search(attributes))


@each("extract/tags", "attributes, removed", "removed")
def test_classes_and_styles_that_are_removed(attributes, removed):
    assert _are_removed(attributes) == removed


def closing_index(tags, index):
    """The first index at which all tags of the name are closed that were opened from the given index on."""
    depth, name = 0, tags[index][2].lower()
    for position in range(index, len(tags)):
        if tags[position][2].lower() == name and not tags[position][3].endswith("/"):
            depth += -1 if tags[position][1] else 1
            if depth == 0:
                return position
    return None


@given(TAGS)
def test_each_tag_is_closed_where_counting_from_it_says(text):
    tags = list(ANY_TAG.finditer(text))
    openers = [index for index, tag in enumerate(tags) if not tag[1] and not tag[3].endswith("/")]
    found = _closing_indices(tags)
    assert {index: found.get(index) for index in openers} == {
        index: closing_index(tags, index) for index in openers
    }


def test_a_hidden_tag_takes_its_content_along_to_the_tag_that_closes_it():
    hidden = '<div class="thumb">b<div>c</div>d</div>'
    assert flatten_tags(f"a{hidden}e") == "a\n\ne"
    assert flatten_tags("a<i style='display:none'>b</i>c<i>d</i>") == "acd"
    assert flatten_tags("a<i style='display:none'>b") == "ab"
