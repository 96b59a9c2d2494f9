"""A task of lm-evaluation-harness for a dataset: the package then measures what `convention=lm-eval` does."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Final

from lm_benchmarks.choices import CONVENTIONS, LM_EVAL
from lm_benchmarks.errors import HarnessError
from lm_benchmarks.lm_eval import read_pages
from lm_benchmarks.measuring.passages import raw_file
from ps_models.evaluation.signature import signature_value
from wikitext_builder.dataset.load import load as load_dataset
from wikitext_builder.hashing import file_sha256

PAGES: Final = "pages.jsonl"
TASK: Final = """\
# The task `wikitext` of lm-evaluation-harness on the {split} split of {data}; made by WikiText Builder.
# lm_eval --model hf --model_args pretrained=MODEL --tasks {task} --include_path THE-FOLDER-ABOVE
task: {task}
custom_dataset: !function pages.read_pages
output_type: loglikelihood_rolling
test_split: test
doc_to_text: ""
doc_to_target: !function pages.wikitext_detokenizer
process_results: !function pages.process_results
should_decontaminate: true
doc_to_decontamination_query: "{{{{page}}}}"
metric_list:
  - metric: word_perplexity
  - metric: byte_perplexity
  - metric: bits_per_byte
metadata:
  version: {version}
  data: "{data}"
"""
READER: Final = f'''\
"""The pages of a dataset for lm-evaluation-harness, whose own code makes plain text of them and counts."""

from pathlib import Path

from datasets import Dataset
from lm_eval.tasks.wikitext.preprocess_wikitext import process_results, wikitext_detokenizer

__all__ = ["process_results", "read_pages", "wikitext_detokenizer"]


def read_pages(**_metadata):
    """The pages, which lie beside this file."""
    return {{"test": Dataset.from_json(str(Path(__file__).with_name("{PAGES}")))}}
'''


def lm_eval_task(data: str | Path, out: str | Path, *, split: str = "test") -> Path:
    """Write a task of lm-evaluation-harness (0.4.13) for a split of a dataset.

    For example, `lm_eval_task("wikitext-demo", "tasks")` writes `tasks/wikitext-demo-test`; then
    `lm_eval --model hf --model_args pretrained=MODEL --tasks wikitext-demo-test --include_path tasks` gives
    the numbers of `measure("transformers:MODEL", "wikitext-demo", convention="lm-eval")`.

    Args:
        data: The dataset, with its raw files.
        out: A folder of tasks, which is made if it is not there.
        split: `train`, `valid` or `test`. Its pages are copied into the task, so the task can be moved.

    Returns:
        The folder of the task; its name is the task's.

    Raises:
        ToolkitError: The dataset or its raw file is missing, or the task cannot be written.
    """
    dataset = load_dataset(Path(data))
    path = raw_file(dataset, split)
    name = signature_value(dataset.name)
    task = f"{name}-{split}"
    version = CONVENTIONS[LM_EVAL].rpartition(".")[2]
    config = TASK.format(
        split=split, task=task, version=version, data=signature_value(f"{name}+{file_sha256(path)[:8]}")
    )
    folder = Path(out) / task
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with (folder / PAGES).open("w", encoding="utf-8", newline="\n") as file:
            file.writelines(
                json.dumps({"page": page}, ensure_ascii=False) + "\n" for page in read_pages(path)
            )
        (folder / "pages.py").write_text(READER, encoding="utf-8")
        (folder / f"{task}.yaml").write_text(config, encoding="utf-8")
    except OSError as error:
        raise HarnessError(f"{folder}: {error.strerror}; expected a folder to write the task to") from error
    return folder
