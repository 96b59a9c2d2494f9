"""The bundled sample: a small export of articles written for this project, for the demo and the tests.

The articles state well-known facts in our own words, with markup as English Wikipedia uses it; they contain
no text of Wikipedia. The sample also has a page of each kind that dumps contain and builds leave out.
"""

from __future__ import annotations

from pathlib import Path

SAMPLE_DUMP: Path = Path(__file__).with_name("sample.xml")
