"""One target under atheris, whose fuzzer ends the process; see `tests.fuzz.run`."""

import sys
from importlib import import_module

from tests.fuzz.target import Target, outcome

OURS = ["wikitext_builder", "ps_models", "lm_benchmarks"]


def target_of(name: str) -> Target:
    """A target; only the modules before it are imported, because instrumenting them takes a while."""
    for kind in ("page", "file", "model"):
        targets: dict[str, Target] = import_module(f"tests.fuzz.{kind}_targets").TARGETS
        if name in targets:
            return targets[name]
    raise KeyError(name)


def main() -> None:
    """Fuzz the target that the command line names, with the options of libFuzzer after it."""
    import atheris  # not in the extras: only this module needs it

    with atheris.instrument_imports(include=OURS):
        target = target_of(sys.argv[1])
    atheris.Setup([sys.argv[0], *sys.argv[2:]], lambda content: outcome(target, bytes(content)))
    atheris.Fuzz()


if __name__ == "__main__":
    main()
