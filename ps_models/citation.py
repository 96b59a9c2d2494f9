"""BibTeX of checkpoints."""

from __future__ import annotations

from pathlib import Path

from ps_models.errors import needed_packages
from wikitext_builder.citation import Cited, bibtex, cited_dataset, sources_of
from wikitext_builder.dataset.load import load as load_dataset


def cite(*paths: str | Path) -> str:
    """Return BibTeX for this software, the paper, and checkpoints and datasets.

    Args:
        paths: Checkpoints or the folders of their runs, or datasets.

    Raises:
        ToolkitError: A path is neither.
    """
    return bibtex(cited(Path(path)) for path in paths)


def cited(path: Path) -> Cited:
    """The source of a dataset, or those of a checkpoint with what decided it."""
    if path.suffix != ".safetensors" and not any(path.glob("*.safetensors")):
        return cited_dataset(load_dataset(path))
    with needed_packages():  # here: a dataset needs no torch
        from ps_models.training.checkpoint import checkpoint_file, read_checkpoint
    checkpoint = read_checkpoint(checkpoint_file(path))
    facts = checkpoint.facts
    recipe = "/".join(filter(None, (checkpoint.model, str(facts.get("preset") or ""))))
    trained = f"{facts.get('data', 'unknown')}+{str(facts.get('train_sha256', ''))[:8]}"
    return Cited(about=f"{recipe}: model:{checkpoint.name}|trained:{trained}", keys=sources_of(recipe))
