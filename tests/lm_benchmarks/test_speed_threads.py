"""The benchmark of threads runs on any machine, and marks what the rule chooses."""

import re

import torch
from speed.threads import main


def test_a_small_model_is_measured_and_gets_one_thread(capsys):
    main(["rnn", "--preset", "mikolov", "--vocabulary", "50", "--seconds", "0.01", "--threads", "1,2"])
    torch.set_num_threads(1)  # as for all tests
    head, *lines = capsys.readouterr().out.splitlines()
    assert head.split()[:2] == ["tokens/s", "by"]
    assert [line.split()[0] for line in lines] == ["train", "evaluate"]
    for line in lines:
        assert re.fullmatch(r"\w+ rnn mikolov +\d\.\d +[\d,]+\* +[\d,]+ +\d+%", line), line
