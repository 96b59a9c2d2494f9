"""What is fuzzed: each reader of foreign bytes, with its documented errors and the laws of its result."""

from typing import Final

from tests.fuzz import file_targets, model_targets, page_targets
from tests.fuzz.target import Target

TARGETS: Final[dict[str, Target]] = {**page_targets.TARGETS, **file_targets.TARGETS, **model_targets.TARGETS}
