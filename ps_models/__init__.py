"""Language models over words: the pointer sentinel-LSTM, its baselines, their training and evaluation.

The names below are the library. Each command of `ps-models` is one call of it, and prints the result.
A module is imported when its name is first used.

>>> import ps_models as pm
>>> run = pm.train("lstm", "data/wikitext-2", "runs/lstm", preset="tiny")  # doctest: +SKIP
>>> pm.evaluate("runs/lstm", "data/wikitext-2").score.perplexity  # doctest: +SKIP
>>> pm.score("runs/lstm", "the cat sat on the mat").log_probs  # doctest: +SKIP
"""

from typing import TYPE_CHECKING

from ps_models.errors import MissingPackageError, ModelError, needed_packages
from wikitext_builder import __version__
from wikitext_builder.lazy import lazy_names

if TYPE_CHECKING:
    from ps_models.analysis.frequency import FrequencyComparison, compare
    from ps_models.analysis.page import Explanation, explain
    from ps_models.citation import cite
    from ps_models.configs import list_models
    from ps_models.evaluation.signature import Score, Signature
    from ps_models.invariants import BrokenLawError, check_generative, check_language_model, check_trainable
    from ps_models.layers.softmax import Softmax
    from ps_models.models.add_ons import NeuralCacheConfig
    from ps_models.models.stream import loss_of_scores
    from ps_models.own_models import trust
    from ps_models.trained_model import Evaluation, TextScore, TrainedModel, evaluate, generate, load, score
    from ps_models.training.loop import Pace, RunLimits, StoppedError
    from ps_models.training_run import TrainedRun, train
    from ps_models.transformers_folder import export
else:
    _get, __dir__ = lazy_names(__name__, __file__)

    def __getattr__(name: str) -> object:
        with needed_packages():
            return _get(name)


__all__ = [
    "BrokenLawError",
    "Evaluation",
    "Explanation",
    "FrequencyComparison",
    "MissingPackageError",
    "ModelError",
    "NeuralCacheConfig",
    "Pace",
    "RunLimits",
    "Score",
    "Signature",
    "Softmax",
    "StoppedError",
    "TextScore",
    "TrainedModel",
    "TrainedRun",
    "__version__",
    "check_generative",
    "check_language_model",
    "check_trainable",
    "cite",
    "compare",
    "evaluate",
    "explain",
    "export",
    "generate",
    "list_models",
    "load",
    "loss_of_scores",
    "score",
    "train",
    "trust",
]
