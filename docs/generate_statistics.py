"""Writes the definitions of docs/statistics.md from wikitext_builder/stats/statistics.toml.

python docs/generate_statistics.py
"""

from __future__ import annotations

from pathlib import Path

from wikitext_builder.stats.portrait import registry, statistics_of_portrait

PAGE = Path(__file__).parent / "statistics.md"
MARK = "<!-- python docs/generate_statistics.py writes what follows -->\n"


def definitions() -> str:
    """The statistics by group, in Markdown."""
    lines = []
    for group, title in registry()["groups"].items():
        lines += [f"\n## {title}\n"]
        for one in statistics_of_portrait().values():
            if one.group == group:
                parts = "; ".join(f"`{part.name}`: {part.label}" for part in one.parts)
                text = (
                    f"### {one.title}\n\n{one.definition}\n\n`{one.key}` has {parts}. Source: {one.source}.\n"
                )
                lines.append(text.replace("<", "&lt;").replace("*", "\\*"))
    lines += ["\n## What is not measured\n"]
    lines += [f"- {what}: {tools}" for what, tools in registry()["not_measured"].items()]
    return "\n".join(lines) + "\n"


def main() -> None:
    """Write the page."""
    PAGE.write_text(PAGE.read_text("utf-8").partition(MARK)[0] + MARK + definitions(), "utf-8")


if __name__ == "__main__":
    main()
