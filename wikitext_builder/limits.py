"""Limits on input from outside: larger input is refused or rejected, so that no file or answer does harm.

Limits of a single grammar (arguments of a macro, digits of a number) stand where it is parsed.
"""

from typing import Final

TITLE_BYTES: Final = 255  # of a title in UTF-8: https://www.mediawiki.org/wiki/Manual:Page_title
WIKITEXT_BYTES: Final = 2**22  # of a page; MediaWiki itself stops at 2 MiB ($wgMaxArticleSize)
HTML_BYTES: Final = 2**25  # of a page; the longest of the shared pages has 1.4 MB, a very long article 5 MB
HTML_DEPTH: Final = 1_000  # nested elements; the shared pages have 28 at most
STORED_BYTES: Final = 2**26  # of a text in a store, which is decompressed at once; no wiki answers with more

# Template calls that a wiki expands.
CALL_BYTES: Final = 100_000  # of a call; larger calls are tables of data, not text
CALLS_BYTES: Final = 200_000  # of all calls in one request
CALL_TEXT_BYTES: Final = 1_000_000  # of the text of one call

# Compressed files.
EXPANSION: Final = 2**10  # bytes of content per compressed byte, against bombs; text stays below 100
EXPANSION_START: Final = 2**26  # bytes of content that any file may have, however small it is
ZSTANDARD_WINDOW: Final = 2**27  # bytes of memory per frame; without --long, `zstd -d` refuses more too

# Dumps.
FIELD_CHARACTERS: Final = 2**12  # of each field of a page except its text; a title has at most 255 bytes
TAG_BYTES: Final = 2**20  # of a tag, a comment or a tar header, which are held in memory
ELEMENT_DEPTH: Final = 32  # nested elements; an export has 6
REJECTED_IN_A_ROW: Final = 1_000  # records of a snapshot: endless small broken records would fill the store
