"""Where the three programs and their processes begin: Ctrl-C while modules load is one line, no traceback."""

import sys


def wikitext_builder() -> None:
    """Run `wikitext-builder`."""
    _run("wikitext_builder")


def ps_models() -> None:
    """Run `ps-models`."""
    _run("ps_models")


def lm_benchmarks() -> None:
    """Run `lm-benchmarks`."""
    _run("lm_benchmarks")


def command_of(module: str, *words: str) -> list[str]:
    """The command that runs a module in a new process.

    With -P, or modules of the current folder would come first: it can be a stranger's dataset.
    """
    return [sys.executable, "-P", "-m", module, *words]


def _run(package: str) -> None:
    program = package.replace("_", "-")
    try:
        import os
        import signal
        from importlib import import_module
        from types import FrameType

        def interrupt(number: int, frame: FrameType | None) -> None:
            # An exception would not do: numpy, while it is imported, takes any for a module that is missing.
            place = frame
            while place is not None and place.f_code.co_filename != "<frozen importlib._bootstrap>":
                place = place.f_back
            if place is not None:
                os.write(2, f"{program}: stopped\n".encode())
                os._exit(130)
            signal.default_int_handler(number, frame)

        if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
            signal.signal(signal.SIGINT, interrupt)
        import_module(f"{package}.cli").main()
    except MemoryError:  # a command says it itself
        sys.stderr.write(f"{program}: memory ran out while modules were loading; use a larger machine\n")
        sys.exit(1)
    except KeyboardInterrupt:
        sys.stderr.write(f"{program}: stopped\n")
        sys.exit(130)
