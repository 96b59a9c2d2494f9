"""The command that shows the whole work once: it runs the other commands on the bundled sample."""

from __future__ import annotations

import shlex
import shutil
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import click

from wikitext_builder.cli.options import FOLDER
from wikitext_builder.errors import BuilderError
from wikitext_builder.sample import SAMPLE_DUMP
from wikitext_builder.verbosity import is_quiet

MODELS_NEED = ("torch", "safetensors")  # the packages of the extra `models`
# The small sample has many rare words: from two occurrences on they stay, so that the model meets names.
DATASET = """
wikitext-builder import {out}/sample.xml --store {out}/pages.store
wikitext-builder build demo --store {out}/pages.store --out {out}/wikitext-demo --min-count 2
wikitext-builder verify {out}/wikitext-demo --quiet
wikitext-builder stats {out}/wikitext-demo
wikitext-builder plot zipf {out}/wikitext-demo --out {out}/zipf.png
"""
MODEL = """
ps-models train pointer-sentinel-lstm {out}/wikitext-demo --out {out}/model --preset tiny
ps-models evaluate {out}/model {out}/wikitext-demo --split test
ps-models explain {out}/model {out}/wikitext-demo --split test --start best --out {out}/explain.html
"""
NEXT = """
The dataset is in {out}/wikitext-demo, its Zipf plot in {out}/zipf.png.
{model} Next:
  head -5 {out}/wikitext-demo/wiki.train.tokens
  wikitext-builder extract --store {out}/pages.store --title Octopus | wikitext-builder tokenize
  wikitext-builder fetch --store wikipedia.store --contact YOUR-MAIL --limit 20   # real articles"""
EXPLAINED = "{out}/explain.html shows how a small model predicts: open it in a browser."
NO_MODEL = "To train a model and look into it: pip install 'wikitext-builder[models]', and run this again."


@click.command()
@click.option("--out", type=FOLDER, default="demo", help="Folder for everything that it makes.")
def demo(out: Path) -> None:
    """Show the whole work once, on 28 bundled articles: a dataset, its statistics and plot, a small model.

    Prints each command and runs it. The model needs the extra `models` (torch), and about a minute.
    """
    has_models = all(find_spec(package) for package in MODELS_NEED)
    _copy_sample(out)
    for line in (DATASET + MODEL * has_models).split("\n"):
        if line:
            _run([word.format(out=out) for word in line.split()])
    where = shlex.quote(str(out))
    click.echo(NEXT.format(out=where, model=(EXPLAINED if has_models else NO_MODEL).format(out=where)))


def _copy_sample(out: Path) -> None:
    try:
        out.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(SAMPLE_DUMP, out / "sample.xml")
    except OSError as error:
        raise BuilderError(f"{out}: cannot be written ({error.strerror}); name another --out") from error


def _run(words: list[str]) -> None:
    """Run a command of this project as the user would; what it prints goes where ours goes."""
    click.echo(f"\n$ {shlex.join(words)}")
    module = words[0].replace("-", "_")
    quiet = ["--quiet"] if is_quiet() and "--quiet" not in words else []
    done = subprocess.run([sys.executable, "-m", module, *words[1:], *quiet], check=False)  # noqa: S603 - ours
    if done.returncode:
        raise click.exceptions.Exit(done.returncode)  # it has said what is wrong


COMMANDS = (demo,)
