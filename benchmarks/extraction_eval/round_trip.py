"""Count the lines of a language that come back from their tokens: ours, and sacremoses' detokenizer.

$ python -m extraction_eval.round_trip fr FILE...   (with `benchmarks` on PYTHONPATH)

FILE has a sentence per line, or is a treebank of Universal Dependencies (`# text = …`).
"""

from __future__ import annotations

import unicodedata
from pathlib import Path

import click
from sacremoses import MosesDetokenizer, MosesTokenizer

from wikitext_builder.tokens.detokenizer import detokenize
from wikitext_builder.tokens.tokenizer import tokenize

TEXT = "# text = "


def lines_of(path: Path) -> list[str]:
    """The sentences of a file, in NFC with plain spaces."""
    lines = path.read_text(encoding="utf-8").split("\n")
    if path.suffix == ".conllu":
        lines = [line.removeprefix(TEXT) for line in lines if line.startswith(TEXT)]
    return [" ".join(unicodedata.normalize("NFC", line).split()) for line in lines if line.strip()]


@click.command()
@click.argument("language")
@click.argument("files", nargs=-1, required=True, type=click.Path(path_type=Path, exists=True))
def main(language: str, files: tuple[Path, ...]) -> None:
    """Print how many lines come back exactly."""
    moses, back = MosesTokenizer(language), MosesDetokenizer(language)
    lines = [line for path in files for line in lines_of(path)]
    ours: float = sum(detokenize(tokenize(line, language), language) == line for line in lines)
    theirs: float = 0
    for line in lines:
        tokens = moses.tokenize(line, aggressive_dash_splits=True, escape=False)
        theirs += back.detokenize(tokens, unescape=False) == line
    count = len(lines)
    click.echo(f"{language}: {count:,} lines; ours {ours / count:.1%}, sacremoses {theirs / count:.1%}")


if __name__ == "__main__":
    main()
