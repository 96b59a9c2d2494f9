"""The bundled sample: a small export of articles written for this project, the demo's input and a fixture.

Its articles are our own words on well-known facts, with markup as English Wikipedia uses it; no text of
Wikipedia is in it. Besides them it holds a page of each kind that a dump has and a build leaves out.
"""

from __future__ import annotations

from pathlib import Path

SAMPLE_DUMP: Path = Path(__file__).with_name("sample.xml")
