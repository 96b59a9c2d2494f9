"""Measures language models so that the numbers can be compared: every number with all that decided it.

    import lm_benchmarks as lb

    lb.measure(["kn-5", "runs/lstm"], "wikitext-2", results="results.jsonl")
    lb.compare("results.jsonl", "kn-5", "runs/lstm").interval
    lb.report("results.jsonl", "report.html")

Each command of `lm-benchmarks` is one call of a name below, plus printing. The names are imported when they
are first used, and need the extra `models` (torch).
"""

from typing import TYPE_CHECKING

from lm_benchmarks.choices import CONVENTIONS, MUST_AGREE
from lm_benchmarks.errors import HarnessError
from ps_models.errors import needed_packages
from wikitext_builder import __version__
from wikitext_builder.lazy import lazy_names

__all__ = [
    "CONVENTIONS",
    "METRICS",
    "MUST_AGREE",
    "ByConvention",
    "Contamination",
    "Convention",
    "DistributionDifference",
    "DistributionGroup",
    "Estimate",
    "HarnessError",
    "Inputs",
    "LoadedModel",
    "Metric",
    "ModelDifference",
    "Opened",
    "Positions",
    "Power",
    "Ranking",
    "Result",
    "__version__",
    "by_position",
    "check",
    "cite",
    "compare",
    "compare_all",
    "compare_distributions",
    "contamination",
    "contamination_csv",
    "draw_distributions",
    "draw_months",
    "draw_positions",
    "lm_eval_task",
    "measure",
    "measure_conventions",
    "models",
    "positions_csv",
    "power",
    "raise_if_broken",
    "read_results",
    "report",
    "reproduce",
    "rows",
    "write_conventions",
]

if TYPE_CHECKING:
    from lm_benchmarks.conventions.convention import Convention
    from lm_benchmarks.measuring.chance import Estimate
    from lm_benchmarks.measuring.compare import ModelDifference, compare
    from lm_benchmarks.measuring.contamination import Contamination, contamination, contamination_csv
    from lm_benchmarks.measuring.distributions import (
        DistributionDifference,
        DistributionGroup,
        compare_distributions,
    )
    from lm_benchmarks.measuring.invariant_checks import check, raise_if_broken
    from lm_benchmarks.measuring.loaded_model import Inputs, LoadedModel, Opened
    from lm_benchmarks.measuring.measure import ByConvention, measure, measure_conventions
    from lm_benchmarks.measuring.models import models
    from lm_benchmarks.measuring.passages import lm_eval_task
    from lm_benchmarks.measuring.power import Power, power
    from lm_benchmarks.measuring.ranking import Ranking, compare_all
    from lm_benchmarks.measuring.windows import Positions, by_position
    from lm_benchmarks.metrics import METRICS, Metric
    from lm_benchmarks.records import Result, read_results
    from lm_benchmarks.reporting.charts import draw_distributions, draw_months, draw_positions, positions_csv
    from lm_benchmarks.reporting.formats import write_conventions
    from lm_benchmarks.reporting.published import cite
    from lm_benchmarks.reporting.report import report
    from lm_benchmarks.reporting.rows import rows
    from lm_benchmarks.reproducing.reproduce import reproduce
else:
    _get, __dir__ = lazy_names(__name__, __file__)

    def __getattr__(name: str) -> object:
        """A name of the front door; without torch, an error that names the extra."""
        with needed_packages():
            return _get(name)
