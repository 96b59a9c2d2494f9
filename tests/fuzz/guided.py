"""One target under atheris, whose fuzzer ends the process; see `tests.fuzz.run`."""

import sys

import atheris

OURS = ["wikitext_builder", "ps_models", "lm_benchmarks"]

with atheris.instrument_imports(include=OURS):
    from tests.fuzz.targets import TARGETS

if __name__ == "__main__":
    target = TARGETS[sys.argv[1]]
    atheris.Setup([sys.argv[0], *sys.argv[2:]], lambda content: target.run(bytes(content)))
    atheris.Fuzz()
