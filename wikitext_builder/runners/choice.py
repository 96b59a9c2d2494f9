"""Chooses what runs the tasks of a build: a cluster, processes of this machine, or this process."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager

from wikitext_builder.errors import BuilderError
from wikitext_builder.runners.processes import ProcessPool, Runner, Serial, cores

FEW_PAGES = 64  # one process has done them before others have started


@contextmanager
def open_runners(
    pages: int, *, workers: int | None = None, scheduler: str | None = None
) -> Iterator[tuple[Runner, Runner]]:
    """Open a runner for tasks that can run anywhere, and one for tasks that must run on this machine.

    Args:
        pages: How many there are to extract.
        workers: Processes on this machine; None: one per core.
        scheduler: Address of a Dask scheduler for the tasks that can run anywhere.

    Raises:
        BuilderError: There are no workers, or the scheduler does not answer.
    """
    workers = cores() if workers is None else workers
    if workers < 1:
        raise BuilderError(f"--workers: {workers}; expected at least 1")
    with ExitStack() as stack:
        here: Runner = Serial()
        if workers > 1 and pages > FEW_PAGES:
            here = stack.enter_context(ProcessPool(workers))
        if scheduler is None:
            yield here, here
            return
        from wikitext_builder.runners.dask import Cluster

        yield stack.enter_context(Cluster(scheduler)), here
