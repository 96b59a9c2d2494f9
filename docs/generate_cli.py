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
The [tutorial](tutorial.md) has examples; [format.md](format.md) describes the files.

Results go to stdout, progress and warnings to stderr. Every command takes `--quiet` (only results and
errors, no progress) and `--verbose` (log every step, such as each request or rejected page), before or
after its name. `python -m wikitext_builder`, `python -m ps_models` and `python -m lm_benchmarks` run the
same programs.

Three commands are enough for most people: `fetch` and `build` make a dataset, and `run` measures models on
it. `demo` shows the rest.

Put settings that never change into `~/.config/wikitext-builder/config.toml`, one per line, such as
`store = "wikipedia.store"`, or into an environment variable, such as `WIKITEXT_STORE`. The settings are
`store`, `contact`, `language`, `data` and `threads`. The command line overrides variables, and variables
override the file; `--help` shows the values in effect.

`completion` prints the code that your shell needs to complete commands, options and choices. Put this line
into the shell's startup file: `eval "$(wikitext-builder completion bash)"` (or zsh); in fish,
`wikitext-builder completion fish | source`.

| exit status | what it means |
|---|---|
| 0 | success |
| 1 | an error; one paragraph on stderr says what to do |
| 2 | a mistake in the command line |
| 130 | stopped by Ctrl-C (training saves first, and exits with 1) |
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
