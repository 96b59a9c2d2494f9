"""Writes docs/cli.md from the commands themselves: `python docs/generate_cli.py`.

`tests/test_docs.py` fails when the page is stale.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import click
from lm_benchmarks.cli import commands as lm_benchmarks

from ps_models.cli import commands as ps_models
from wikitext_builder.cli import cli as wikitext_builder

PROGRAMS = {"wikitext-builder": wikitext_builder, "ps-models": ps_models, "lm-benchmarks": lm_benchmarks}
TARGET = Path(__file__).with_name("cli.md")
HEAD = r"""# Command lines

`docs/generate_cli.py` writes this page from the commands themselves; `--help` prints the same.
There are examples in the [tutorial](tutorial.md); [format.md](format.md) describes the files.

Results go to stdout, progress and warnings to stderr. Each command has `--quiet` (no progress, only results
and errors) and `--verbose` (also each step, such as each request or why a page was rejected), before or after
its name. `python -m wikitext_builder`, `python -m ps_models` and `python -m lm_benchmarks` are the installed
commands too.

Three commands are enough for most people: `fetch` and `build` make a dataset, `run` measures models on it.
`demo` shows the rest.

What is always the same for you can stand in `~/.config/wikitext-builder/config.toml`, a line per setting,
such as `store = "wikipedia.store"`, or in a variable, such as `WIKITEXT_STORE`. The settings are `store`,
`contact`, `language`, `data` and `threads`. The command line counts more than a variable, and a variable more
than the file; `--help` shows what holds.

`completion` prints what your shell needs to complete commands, options and choices, for the file that it
reads at its start: `eval "$(wikitext-builder completion bash)"`, or zsh; in fish `wikitext-builder completion
fish | source`.

| exit status | what it means |
|---|---|
| 0 | the command did what it was asked to do |
| 1 | an error; one paragraph on stderr says what to do |
| 2 | the command line has a mistake |
| 130 | stopped by Ctrl-C (a training saves first, and ends with 1) |
| 141 | the reader of the output stopped reading, as in `\| head` |
"""


def commands(
    command: click.Command, path: str, parent: click.Context | None = None
) -> Iterator[click.Context]:
    """A context for each command of a tree, groups before what is in them."""
    context = command.make_context(path, [], parent=parent, resilient_parsing=True)
    yield context
    if isinstance(command, click.Group):
        for name in command.list_commands(context):
            child = command.get_command(context, name)
            assert child is not None  # noqa: S101 - listed a line above
            if not child.hidden:
                yield from commands(child, name, context)


def section(context: click.Context) -> str:
    """What stands in the page for one command."""
    command = context.command
    usage = " ".join(command.collect_usage_pieces(context))
    lines = [f"## `{context.command_path}`", "", *help_of(command), "```text"]
    lines += [f"{context.command_path} {usage}", "```", ""]
    options = (one for one in command.get_params(context) if isinstance(one, click.Option))
    records = [record for one in options if (record := one.get_help_record(context))]
    lines += ["| option | what |", "|---|---|"]
    lines += [f"| `{cell(names)}` | {cell(text)} |" for names, text in records]
    return "\n".join(lines) + "\n"


def help_of(command: click.Command) -> list[str]:
    """The paragraphs of a command's help, a blank line after each."""
    paragraphs = (command.help or "").split("\n\n")
    example = (command.epilog or "").partition("$ ")[2]
    paragraphs += [f"Example: `{example}`"] if example else []
    return [line for paragraph in paragraphs for line in (" ".join(paragraph.split()), "")]


def cell(text: str) -> str:
    """A text as it can stand in a table and not be taken for HTML."""
    return " ".join(text.split()).replace("|", r"\|").replace("<unk>", "`<unk>`")


def render() -> str:
    """The whole page."""
    contexts = (context for name, program in PROGRAMS.items() for context in commands(program, name))
    return "\n".join([HEAD, *map(section, contexts)])


if __name__ == "__main__":
    TARGET.write_text(render(), encoding="utf-8", newline="\n")
