"""side_by_side: an HTML page with an article's wikitext, our lines and the reference, differences marked."""

from __future__ import annotations

import base64
import hashlib
import html
from collections.abc import Iterator, Sequence, Set
from difflib import SequenceMatcher

from extraction_eval.compare import Alignment, ArticleComparison
from extraction_eval.matching import MAX_PRODUCT
from wikitext_builder.dataset.vocabulary import UNK

STYLE = """
:root { color-scheme: light dark; --line: #8886; --lost: #cfe8d4; --made: #f6cfcf; }
@media (prefers-color-scheme: dark) { :root { --lost: #1d4a2a; --made: #5d2222; } }
* { box-sizing: border-box; }
body { margin: 0; font: 15px/1.45 system-ui, sans-serif; display: grid; height: 100vh;
  grid-template: auto 1fr / 1fr 2fr; }
header { grid-column: 1 / 3; padding: .6rem 1rem; border-bottom: 1px solid var(--line); }
h1 { font-size: 1.15rem; margin: 0; }
header p { margin: .2rem 0 0; }
pre { margin: 0; padding: .6rem 1rem; overflow: auto; white-space: pre-wrap; overflow-wrap: anywhere;
  border-right: 1px solid var(--line); font-size: 12px; }
main { overflow: auto; }
table { border-collapse: collapse; width: 100%; table-layout: fixed; }
th { position: sticky; top: 0; text-align: left; padding: .3rem .6rem; background: Canvas;
  border-bottom: 1px solid var(--line); }
td { vertical-align: top; padding: .25rem .6rem; border-bottom: 1px solid var(--line);
  overflow-wrap: anywhere; }
tr.differs td:first-child { box-shadow: inset 4px 0 #c33; }
del { background: var(--made); text-decoration: none; outline: 1px solid #c336; }
ins { background: var(--lost); text-decoration: none; outline: 1px solid #2a62; }
nav { display: inline; } nav a { margin-right: .4rem; }
@media (max-width: 45rem) {
  body, table, tbody, tr, td { display: block; }
  body { height: auto; overflow-wrap: anywhere; }
  pre { border-bottom: 1px solid var(--line); max-height: 40vh; }
  thead, td:nth-child(2):not([data-side]) { display: none; }
  td[data-side]::before { content: attr(data-side) ": "; font-size: .8em; font-weight: 600; }
  td[data-side]:first-child { border: 0; }
  nav a { display: inline-block; min-width: 1.5rem; padding: .3rem 0; }
}
"""
MAX_LINKS = 200  # to differences, at the top of the page


def side_by_side(wikitext: str, comparison: ArticleComparison, *, theirs: str = "rendered") -> str:
    """The page as HTML. It loads nothing, and its content security policy forbids it to load anything.

    Args:
        wikitext: The source of our lines.
        comparison: Our lines compared with the reference lines.
        theirs: A word for the reference: `rendered` or `official`.
    """
    score = comparison.score
    digest = base64.b64encode(hashlib.sha256(STYLE.encode()).digest()).decode()
    policy = f"default-src 'none'; style-src 'sha256-{digest}'; base-uri 'none'; form-action 'none'"
    title = html.escape(comparison.title)
    differing = [index for index, part in enumerate(comparison.alignments) if _differs(part)]
    links = "".join(
        f'<a href="#d{index}">{number}</a> ' for number, index in enumerate(differing[:MAX_LINKS], start=1)
    )
    rows = "\n".join(_rows(comparison, html.escape(theirs.capitalize())))
    return f"""<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="{html.escape(policy, quote=True)}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{title}: wikitext, ours, {html.escape(theirs)}</title>
<style>{STYLE}</style>
</head>
<body>
<header>
<h1>{title}</h1>
<p>{score.ours:,} tokens of ours, {score.theirs:,} {html.escape(theirs)}, {score.matched:,} the same:
precision {score.precision:.4f}, recall {score.recall:.4f}, F1 {score.f1:.4f}.
<del>Ours alone</del> <ins>{html.escape(theirs)} alone</ins>
{len(differing)} differences: <nav>{links}</nav></p>
</header>
<pre tabindex="0" aria-label="Wikitext">{html.escape(wikitext)}</pre>
<main tabindex="0" aria-label="Lines">
<table>
<thead><tr><th scope="col">Ours</th><th scope="col">{html.escape(theirs.capitalize())}</th></tr></thead>
<tbody>
{rows}
</tbody>
</table>
</main>
</body>
</html>
"""


def _differs(part: Alignment) -> bool:
    return bool(part.wrong or part.wrong_breaks)


def _rows(comparison: ArticleComparison, name: str) -> Iterator[str]:
    """Rows of the table. Only those that differ name their sides: a phone shows the others once."""
    known = {token for part in comparison.alignments for line in part.theirs for token in line.split()}
    for index, part in enumerate(comparison.alignments):
        if _differs(part):
            left, right = _marked(part, known)
            cells = f'<td data-side="Ours">{left}</td><td data-side="{name}">{right}</td>'
            yield f'<tr class="differs" id="d{index}">{cells}</tr>'
        else:
            for ours, theirs in zip(part.ours, part.theirs, strict=False):
                yield f"<tr><td>{html.escape(ours)}</td><td>{html.escape(theirs)}</td></tr>"


def _marked(part: Alignment, known: Set[str]) -> tuple[str, str]:
    """Both sides as HTML, with the tokens marked that only one has; `<unk>` matches any unknown token."""
    left, right = _tokens(part.ours), _tokens(part.theirs)
    keys = [one if one in known or one == "\n" else UNK for one in left] if UNK in known else left
    matcher = SequenceMatcher(None, keys, right, autojunk=len(left) * len(right) > MAX_PRODUCT)
    ours, theirs = list[str](), list[str]()
    for kind, a, b, c, d in matcher.get_opcodes():
        ours.append(_piece(left[a:b], "" if kind == "equal" else "del"))
        theirs.append(_piece(right[c:d], "" if kind == "equal" else "ins"))
    return " ".join(filter(None, ours)), " ".join(filter(None, theirs))


def _tokens(lines: Sequence[str]) -> list[str]:
    return "\n".join(lines).replace("\n", " \n ").split(" ")


def _piece(tokens: Sequence[str], tag: str) -> str:
    text = html.escape(" ".join(tokens)).replace("\n", "¶<br>" if tag else "<br>")
    return f"<{tag}>{text}</{tag}>" if tag and text else text
