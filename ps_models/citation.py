"""What to cite for a model: the works that it comes from, by its name and preset."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Final

from ps_models.errors import needed_packages
from wikitext_builder.citation import PAPER, Cited, bibtex, cited_dataset
from wikitext_builder.dataset.load import load as load_dataset

if TYPE_CHECKING:
    from ps_models.training.checkpoint import Checkpoint

KNESER_NEY: Final = ("kneser1995improved", "chen1998empirical")
LSTM: Final = ("hochreiter1997long",)
ZONEOUT: Final = ("krueger2016zoneout", "gal2015theoretically")  # with variational dropout
MODELS: Final = {  # model: keys of `wikitext_builder/references.bib`
    "awd-lstm": (*LSTM, "merity2017regularizing"),
    "char-cnn": ("kim2016character",),
    "kn-5": KNESER_NEY,
    "kn-5+cache": (*KNESER_NEY, "kuhn1990cache"),
    "lstm": LSTM,
    "pointer-sentinel-awd-lstm": (PAPER, *LSTM, "merity2017regularizing"),
    "pointer-sentinel-lstm": (PAPER, *LSTM, *ZONEOUT),
    "pointer-sentinel-transformer": (PAPER, "vaswani2017attention", "dai2019transformer"),
    "rhn": ("zilly2016recurrent",),
    "rnn": ("elman1990finding", "mikolov2010recurrent"),
    "rnn-lda": ("mikolov2012context", "blei2003latent"),
    "sum-product-network": ("cheng2014language",),
    "transformer": ("vaswani2017attention", "dai2019transformer"),
    "unigram": (),
}
PRESETS: Final = {  # what the name of a preset holds: more keys
    "zaremba": ("zaremba2014recurrent",),
    "gal": ("gal2015theoretically",),
    "zoneout": ZONEOUT,
    "deep": ("pascanu2013construct",),
    "pascanu": ("pascanu2013construct",),
}
AROUND: Final = {  # what is around a model in the recipe of a result: more keys
    "cache": ("grave2016improving",),
    "mc": ("gal2015theoretically",),
    "mix": (),
}


def cite(*paths: str | Path) -> str:
    """BibTeX of this software, of the paper, and of checkpoints and datasets.

    Args:
        paths: Checkpoints or the folders of their runs, or datasets.

    Raises:
        ToolkitError: A path is neither.
    """
    return bibtex(cited(Path(path)) for path in paths)


def cited(path: Path) -> Cited:
    """The source of a checkpoint or of a dataset.

    Raises:
        ToolkitError: The path is neither.
    """
    if path.suffix == ".safetensors" or any(path.glob("*.safetensors")):
        with needed_packages():  # here: a dataset needs no torch
            from ps_models.training.checkpoint import checkpoint_file, read_checkpoint
        return cited_checkpoint(read_checkpoint(checkpoint_file(path)))
    return cited_dataset(load_dataset(path))


def cited_checkpoint(checkpoint: Checkpoint) -> Cited:
    """The sources of a checkpoint, with what decided it."""
    preset, data = str(checkpoint.facts.get("preset") or ""), str(checkpoint.facts.get("data", "unknown"))
    train = str(checkpoint.facts.get("train_sha256", ""))[:8]
    recipe = f"{checkpoint.model}/{preset}" if preset else checkpoint.model
    about = f"{recipe}: model:{checkpoint.name}|trained:{data}+{train}"
    return Cited(about=about, keys=sources_of(recipe))


def sources_of(recipe: str) -> tuple[str, ...]:
    """The keys of a recipe, such as `lstm/gal-large`, `cache-100:lstm` or `mix:rnn-lda/small,kn-5`.

    >>> sources_of("cache-100:lstm/zaremba-small")
    ('grave2016improving', 'hochreiter1997long', 'zaremba2014recurrent')
    """
    kind, colon, rest = recipe.partition(":")
    if colon:
        inner = (key for part in rest.split(",") for key in sources_of(part))
        return tuple(dict.fromkeys([*AROUND.get(kind.partition("-")[0], ()), *inner]))
    model, _, preset = recipe.partition("/")
    more = (key for part in preset.split("-") for key in PRESETS.get(part, ()))
    return tuple(dict.fromkeys([*MODELS.get(model, ()), *more]))
