"""Measures language models so that the numbers can be compared, each with everything that decided it.

    import lm_benchmarks as lb

    lb.measure(["kn-5", "runs/lstm"], "wikitext-2", results="results.jsonl")
    lb.compare("results.jsonl", "kn-5", "runs/lstm").interval
    lb.report("results.jsonl", "report.html")

Each command of `lm-benchmarks` is one call to a name below. Names are imported when first used, and need the
extra `models` (torch).
"""

from typing import TYPE_CHECKING

from lm_benchmarks.choices import MUST_AGREE as MUST_AGREE
from lm_benchmarks.choices import HarnessError as HarnessError
from lm_benchmarks.conventions.rules import CONVENTIONS as CONVENTIONS
from ps_models.errors import needed_packages
from wikitext_builder import __version__ as __version__
from wikitext_builder.lazy import lazy_names

__all__: list[str]
if TYPE_CHECKING:
    from lm_benchmarks.conventions import Convention as Convention
    from lm_benchmarks.measuring.checks import check as check
    from lm_benchmarks.measuring.checks import raise_if_broken as raise_if_broken
    from lm_benchmarks.measuring.compare import ModelDifference as ModelDifference
    from lm_benchmarks.measuring.compare import compare as compare
    from lm_benchmarks.measuring.contamination import Contamination as Contamination
    from lm_benchmarks.measuring.contamination import contamination as contamination
    from lm_benchmarks.measuring.loaded_model import Inputs as Inputs
    from lm_benchmarks.measuring.loaded_model import LoadedModel as LoadedModel
    from lm_benchmarks.measuring.measure import ByConvention as ByConvention
    from lm_benchmarks.measuring.measure import measure as measure
    from lm_benchmarks.measuring.measure import measure_conventions as measure_conventions
    from lm_benchmarks.measuring.models import models as models
    from lm_benchmarks.measuring.passages import lm_eval_task as lm_eval_task
    from lm_benchmarks.measuring.power import Power as Power
    from lm_benchmarks.measuring.power import power as power
    from lm_benchmarks.measuring.ranking import Ranking as Ranking
    from lm_benchmarks.measuring.ranking import compare_all as compare_all
    from lm_benchmarks.metrics import METRICS as METRICS
    from lm_benchmarks.metrics import Metric as Metric
    from lm_benchmarks.records import Result as Result
    from lm_benchmarks.records import read_results as read_results
    from lm_benchmarks.reporting.formats import write_conventions as write_conventions
    from lm_benchmarks.reporting.published import reproduce as reproduce
    from lm_benchmarks.reporting.report import report as report
else:
    _get, __dir__, __all__ = lazy_names(__name__, __file__)

    def __getattr__(name: str) -> object:
        """A name of the front door; without torch, an error that names the extra."""
        with needed_packages():
            return _get(name)
