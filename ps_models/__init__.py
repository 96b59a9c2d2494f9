"""Word-level language models: the pointer sentinel-LSTM, its baselines, their training and evaluation.

The names below are the library; each command of `ps-models` is one call to it. Modules are imported when
first used.

>>> import ps_models as pm
>>> run = pm.train("lstm", "data/wikitext-2", "runs/lstm", preset="tiny")  # doctest: +SKIP
>>> pm.evaluate("runs/lstm", "data/wikitext-2").score.perplexity  # doctest: +SKIP
>>> pm.score("runs/lstm", "the cat sat on the mat").log_probs  # doctest: +SKIP
"""

from typing import TYPE_CHECKING

from ps_models.errors import MissingPackageError as MissingPackageError
from ps_models.errors import ModelError as ModelError
from ps_models.errors import needed_packages
from wikitext_builder import __version__ as __version__
from wikitext_builder.lazy import lazy_names

__all__: list[str]
if TYPE_CHECKING:
    from ps_models.analysis.frequency import FrequencyComparison as FrequencyComparison
    from ps_models.analysis.frequency import compare as compare
    from ps_models.analysis.page import Explanation as Explanation
    from ps_models.analysis.page import explain as explain
    from ps_models.invariants import BrokenLawError as BrokenLawError
    from ps_models.invariants import check_language_model as check_language_model
    from ps_models.invariants import check_trainable as check_trainable
    from ps_models.layers.softmax import Softmax as Softmax
    from ps_models.models.stream import loss_of_scores as loss_of_scores
    from ps_models.own_models import list_models as list_models
    from ps_models.own_models import trust as trust
    from ps_models.signature import Score as Score
    from ps_models.signature import Signature as Signature
    from ps_models.trained_model import Evaluation as Evaluation
    from ps_models.trained_model import TextScore as TextScore
    from ps_models.trained_model import TrainedModel as TrainedModel
    from ps_models.trained_model import evaluate as evaluate
    from ps_models.trained_model import generate as generate
    from ps_models.trained_model import load as load
    from ps_models.trained_model import score as score
    from ps_models.training.loop import RunLimits as RunLimits
    from ps_models.training.loop import StoppedError as StoppedError
    from ps_models.training_run import TrainedRun as TrainedRun
    from ps_models.training_run import train as train
else:
    _get, __dir__, __all__ = lazy_names(__name__, __file__)

    def __getattr__(name: str) -> object:
        with needed_packages():
            return _get(name)
