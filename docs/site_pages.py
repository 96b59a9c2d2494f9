"""Pages of the site that are made from the code: the command lines, the statistics, the Python API."""

from __future__ import annotations

import importlib
from collections.abc import Iterator
from typing import Final

import click
from lm_benchmarks.cli import commands as lm_benchmarks

from ps_models.cli import commands as ps_models
from wikitext_builder.cli import cli as wikitext_builder
from wikitext_builder.stats.portrait import registry, statistics_of_portrait

PROGRAMS: Final = {
    "wikitext-builder": wikitext_builder,
    "ps-models": ps_models,
    "lm-benchmarks": lm_benchmarks,
}
PACKAGES: Final = ("wikitext_builder", "ps_models", "lm_benchmarks")

COMMANDS_HEAD: Final = r"""# Command lines

`--help` prints the same. The [tutorial](tutorial.md) has examples; [format.md](format.md) describes files.

Results go to stdout, progress and warnings to stderr. Every command takes `--quiet` (only results and errors,
no progress) and `--verbose` (log every step), before or after its name. `python -m wikitext_builder`,
`python -m ps_models` and `python -m lm_benchmarks` run the same programs.

An environment variable can set an option, such as `WIKITEXT_STORE`; `--help` names the variables.
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

API_HEAD: Final = """# Python

The public API of each package is the names that `import PACKAGE` provides. Everything else may change without
notice.

- [wikitext_builder](wikitext_builder.md): datasets
- [ps_models](ps_models.md): language models
- [lm_benchmarks](lm_benchmarks.md): measurements and comparisons
"""


# --- the command lines


def commands_page() -> str:
    """Return the reference of all commands."""
    contexts = (context for name, program in PROGRAMS.items() for context in _commands(program, name))
    return "\n".join([COMMANDS_HEAD, *map(_command_section, contexts)])


def _commands(
    command: click.Command, path: str, parent: click.Context | None = None
) -> Iterator[click.Context]:
    """Yield a context for each command of a tree, groups before what is in them."""
    context = command.make_context(path, [], parent=parent, resilient_parsing=True)
    yield context
    if isinstance(command, click.Group):
        for name, child in sorted(command.commands.items()):
            if not child.hidden:
                yield from _commands(child, name, context)


def _command_section(context: click.Context) -> str:
    command = context.command
    usage = " ".join(command.collect_usage_pieces(context))
    paragraphs = [" ".join(paragraph.split()) for paragraph in (command.help or "").split("\n\n")]
    if example := (command.epilog or "").partition("$ ")[2]:
        paragraphs.append(f"Example: `{example}`")
    options = (option for option in command.get_params(context) if isinstance(option, click.Option))
    records = [record for option in options if (record := option.get_help_record(context))]
    lines = [f"## `{context.command_path}`", ""]
    for paragraph in paragraphs:
        lines += [paragraph, ""]
    lines += ["```text", f"{context.command_path} {usage}", "```", "", "| option | what |", "|---|---|"]
    lines += [f"| `{_cell(names)}` | {_cell(text)} |" for names, text in records]
    return "\n".join(lines) + "\n"


def _cell(text: str) -> str:
    return " ".join(text.split()).replace("|", r"\|").replace("<", "&lt;")


# --- the statistics of a corpus


def statistics_tables() -> str:
    """Return a table of the definitions for each group of statistics."""
    lines = []
    for group, title in registry()["groups"].items():
        lines += [f"\n## {title}\n", "| statistic | definition | values | source |", "|---|---|---|---|"]
        for statistic in statistics_of_portrait().values():
            if statistic.group == group:
                values = "; ".join(f"{part.name}: {part.label}" for part in statistic.parts)
                cells = (
                    f"{statistic.title} ({statistic.key})",
                    statistic.definition,
                    values,
                    statistic.source,
                )
                lines.append("| " + " | ".join(_cell(text).replace("*", r"\*") for text in cells) + " |")
    lines += ["\n## What is not measured\n"]
    lines += [f"- {what}: {tools}" for what, tools in registry()["not_measured"].items()]
    return "\n".join(lines) + "\n"


# --- the Python API


def api_pages() -> dict[str, str]:
    """Return the pages of the API reference, one per package, by their paths."""
    pages = {f"api/{package}.md": _front_door(package) for package in PACKAGES}
    return {"api/index.md": API_HEAD, **pages}


def names_of(package: str) -> list[str]:
    """Return the public names of a package, without `__version__`."""
    names = getattr(importlib.import_module(package), "__all__", ())
    return [name for name in names if not name.startswith("__")]


def _front_door(package: str) -> str:
    lines = [f"# {package}", "", f"::: {package}", "    options:", "      members: false"]
    lines += ["      show_root_heading: false", ""]
    for name in names_of(package):
        lines += [f"::: {package}.{name}", ""]
    return "\n".join(lines) + "\n"
