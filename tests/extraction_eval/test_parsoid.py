"""Calls of Parsoid's HTML beside their text."""

from pathlib import Path

from click.testing import CliRunner
from extraction_eval.parsoid import main

PAGE = """<html><body class="mw-parser-output"><p>Il a <span about="#mwt1" typeof="mw:Transclusion" data-mw='{
"parts":[{"template":{"target":{"wt":"unité"},"params":{"1":{"wt":"5"},"2":{"wt":"km"}}}}]}'>5&#160;km</span>
et <i about="#mwt2" typeof="mw:Transclusion" data-mw='{"parts":[{"template":{"target":{"wt":"zz "},"params":
{"1":{"wt":"a"},"b":{"wt":"c"}}}}," d"]}'>a</i><b about="#mwt2"> d</b>, ou
<span about="#mwt3" typeof="mw:Transclusion" data-mw='{"parts":[{"template":{"target":{"wt":"unité"},
"params":{"1":{"wt":"6"}}}}]}'>7</span>.</p>
<table about="#mwt4" typeof="mw:Transclusion" data-mw='{"parts":[{"template":{"target":{"wt":"Palette"},
"params":{}}}]}'><tr><td>x</td></tr></table>
<h2>Notes</h2><p about="#mwt5" typeof="mw:Transclusion" data-mw='{"parts":[
{"template":{"target":{"wt":"zz"},"params":{}}}]}'>y</p></body></html>"""


def test_calls_of_running_text_are_equal_lost_or_wrong(tmp_path: Path) -> None:
    file = tmp_path / "A.html"
    file.write_text(PAGE, encoding="utf-8")
    shown = CliRunner().invoke(main, ["fr", str(file)], catch_exceptions=False).output.splitlines()
    assert shown == [
        "equal: 2 calls, 1666.7 per 10,000 of 12 words",
        "lost: 1 calls, 833.3 per 10,000 of 12 words",
        "  Zz: 1, '{{zz|a|b=c}} d' ours 'd' theirs 'a d'",
        "wrong: 1 calls, 833.3 per 10,000 of 12 words",
        "  Unité: 1, '{{unité|6}}' ours '6' theirs '7'",
    ]
