"""The arguments of a parser function."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from wikitext_builder.extraction.expansion.nodes import Nodes, Part
from wikitext_builder.extraction.macros.php_strings import trimmed

if TYPE_CHECKING:
    from wikitext_builder.extraction.expansion.expander import Expander, Frame


@dataclass(frozen=True, slots=True)
class Arguments:
    """The arguments of a parser function in a template, which are expanded when they are asked for."""

    expander: Expander
    frame: Frame
    first: str
    parts: list[Part]

    def __len__(self) -> int:
        return 1 + len(self.parts)

    def text(self, index: int) -> str:
        """An argument without outer spaces; empty if it is absent."""
        if index == 0:
            return self.first
        if index > len(self.parts):
            return ""
        return trimmed(self.expander.text(self.parts[index - 1].pieces, self.frame))

    def of(self, nodes: Nodes) -> str:
        """The text of a part of an argument, without outer spaces."""
        return trimmed(self.expander.text(nodes, self.frame))
