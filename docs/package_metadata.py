"""The metadata of the package that depend on where the project is published; hatchling runs this.

The address is one setting, `repository` in `pyproject.toml`, and is empty until there is one. An index shows
README.md alone: a link into the repository becomes absolute if there is an address, else plain text.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any, Final

from hatchling.metadata.plugin.interface import MetadataHookInterface

FENCE: Final = re.compile(r"^```.*?^```$", re.MULTILINE | re.DOTALL)
PICTURE: Final = re.compile(
    r"!\[([^\]\n]*)\]\(([^()\s]+)\)\n*(?:\*[^*]+\*\n+)?"
)  # with its caption in italics
LINK: Final = re.compile(r"\[([^\]\n]*)\]\(([^()\s]+)\)")


class PublishedMetadata(MetadataHookInterface):
    """Adds the project's addresses and a README that can be read alone."""

    def update(self, metadata: dict[str, Any]) -> None:
        """Add to the fields of `[project]`."""
        repository = self.config["repository"].rstrip("/")
        text = (Path(self.root) / "README.md").read_text(encoding="utf-8")
        metadata["readme"] = {"content-type": "text/markdown", "text": alone(text, repository)}
        metadata["urls"] = addresses(repository)


def addresses(repository: str) -> dict[str, str]:
    """The project's addresses by what an index calls them; none without a repository."""
    if not repository:
        return {}
    return {
        "Homepage": repository,
        "Documentation": f"{repository}/tree/main/docs",
        "Changelog": f"{repository}/blob/main/docs/changelog.md",
        "Issues": f"{repository}/issues",
    }


def alone(readme: str, repository: str) -> str:
    r"""A README whose links do not need the files beside it.

    >>> alone("![z](docs/z.svg)\n\n*Z*\n\n[a](docs/a.md#b), [c](#d), [e](https://e.org)", "")
    'a, [c](#d), [e](https://e.org)'
    >>> alone("![z](docs/z.svg) [a](docs/a.md#b)", "https://x.org/y/z")
    '![z](https://x.org/y/z/raw/main/docs/z.svg) [a](https://x.org/y/z/blob/main/docs/a.md#b)'
    """

    def picture(match: re.Match[str]) -> str:
        if not repository and _is_here(match[2]):
            return ""
        return (
            match[0].replace(match[2], f"{repository}/raw/main/{match[2]}")
            if _is_here(match[2])
            else match[0]
        )

    def link(match: re.Match[str]) -> str:
        if not _is_here(match[2]):
            return match[0]
        return f"[{match[1]}]({repository}/blob/main/{match[2]})" if repository else match[1]

    parts = [LINK.sub(link, PICTURE.sub(picture, part)) for part in FENCE.split(readme)]
    fences = FENCE.findall(readme)
    return "".join(text for pair in zip(parts, [*fences, ""], strict=True) for text in pair)


def _is_here(target: str) -> bool:
    """Whether a link leads to a file of the repository."""
    return "://" not in target and not target.startswith("#")
