"""One training in several processes of this machine, one per GPU, as torchrun starts them but quieter."""

from __future__ import annotations

import math
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from tempfile import TemporaryFile
from typing import IO, Final

import click

from ps_models.processor import STOPPING

PATIENCE: Final = 60.0  # seconds that processes have to save and end after the first one has


def run_processes(arguments: Sequence[str], number: int) -> int:
    """Run `ps-models` with these arguments in several processes; return the exit status.

    Signals are forwarded. The first process writes to this one's stderr. If another one fails first, its
    messages are shown.
    """
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
    shared = {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(port), "WORLD_SIZE": str(number)}
    if sys.platform == "linux":  # not every machine knows its own name
        shared["GLOO_SOCKET_IFNAME"] = "lo"
    with ExitStack() as stack:
        said = [stack.enter_context(TemporaryFile()) for _ in range(1, number)]
        outputs: list[IO[bytes] | None] = [None, *said]
        children = [
            subprocess.Popen(  # noqa: S603 - ours
                [sys.executable, "-P", "-m", "ps_models", *arguments],
                env={**os.environ, **shared, "RANK": str(rank)},
                stdout=output,
                stderr=output,
                process_group=0,  # a terminal's Ctrl-C comes here alone, and is handed on once
            )
            for rank, output in enumerate(outputs)
        ]
        stack.enter_context(_handed_on(children))
        failed = _first_failure(children)
        if failed is None:
            return 0
        if failed:
            said[failed - 1].seek(0)
            for line in said[failed - 1].read().decode(errors="replace").splitlines()[-20:]:
                click.echo(f"process {failed}: {line}", err=True)
        status = children[failed].returncode
        return status if status > 0 else 128 - status


def _first_failure(children: Sequence[subprocess.Popen[bytes]]) -> int | None:
    """Wait for all; the number of the first that failed. Then the others end soon, or are killed."""
    failed: int | None = None
    ends = math.inf
    while True:
        codes = [child.poll() for child in children]
        if failed is None and any(codes):
            failed, ends = next(rank for rank, code in enumerate(codes) if code), time.monotonic() + PATIENCE
        if None not in codes:
            return failed
        if time.monotonic() > ends:
            for child in children:
                child.kill()
        time.sleep(0.05)


@contextmanager
def _handed_on(children: Sequence[subprocess.Popen[bytes]]) -> Iterator[None]:
    def hand_on(number: int, frame: object) -> None:
        del frame
        for child in children:
            child.send_signal(number)

    before = {number: signal.signal(number, hand_on) for number in STOPPING}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
