"""Without mutmut, which only `make mutants` installs, there is nothing to collect here."""

from importlib.util import find_spec

collect_ignore_glob = [] if find_spec("mutmut") else ["r*.py"]
