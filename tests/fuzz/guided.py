"""One target under atheris, whose fuzzer ends the process; see `tests.fuzz.run`."""

import sys

OURS = ["wikitext_builder", "ps_models", "lm_benchmarks"]


def main() -> None:
    """Fuzz the target that the command line names, with the options of libFuzzer after it."""
    import atheris  # not in the extras: only this module needs it

    with atheris.instrument_imports(include=OURS):
        from tests.fuzz.targets import TARGETS

    target = TARGETS[sys.argv[1]]
    atheris.Setup([sys.argv[0], *sys.argv[2:]], lambda content: target.run(bytes(content)))
    atheris.Fuzz()


if __name__ == "__main__":
    main()
