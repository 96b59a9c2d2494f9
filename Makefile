# make demo    builds a dataset from the bundled sample and shows it, then installs torch and trains a small model
# make test    runs all tests
# make check   lints, and runs the quick tests of what decides text and numbers: before each commit, in two minutes
# make lint    checks style and types
# make docs    builds the pages of docs/ and the API reference into build/site; a broken link is an error
# make package builds what is published into build/dist, and runs its demo in an empty environment without torch
# make fuzz    fuzzes each reader of foreign bytes for an hour in all, guided by coverage if atheris installs
# make crash   stops each command at each call that changes a file, and more, in less than an hour; CI tries a few calls
# make mutants changes the functions that decide numbers, one place at a time, and looks whether a test fails: an hour
# make coverage prints which lines and branches of these modules the tests reach
# make figures prints how long modules and functions are, and what is exempt from checks
# All of them set up what they need in .venv first; PYTHON=python3.12 names another Python.

PYTHON ?= python3
BIN := .venv/bin
# Python compiles a module when it is first imported, and most modules never are. Where it may not keep what it compiled
# (some containers say so), each process would compile all of torch: there pip compiles everything, once.
COMPILE := $(if $(PYTHONDONTWRITEBYTECODE),--compile,--no-compile)
PIP_INSTALL := -m pip install $(COMPILE) --quiet --disable-pip-version-check --constraint constraints.txt
PIP := $(BIN)/python $(PIP_INSTALL)
DEMO := demo
COVERED := tests/wikitext_builder/tokens tests/wikitext_builder/dataset tests/ps_models/test_dataset.py \
	tests/ps_models/test_scoring.py tests/ps_models/test_signature.py \
	tests/ps_models/layers tests/ps_models/models/test_pointer_sentinel.py tests/ps_models/models/test_ngram.py \
	tests/lm_benchmarks/measuring/test_chance.py tests/lm_benchmarks/measuring/test_compare.py \
	tests/lm_benchmarks/measuring/test_select.py tests/wikitext_builder/stats/test_statistics.py \
	tests/lm_benchmarks/test_records.py tests/lm_benchmarks/test_metrics.py

.PHONY: demo test check lint format docs package fuzz crash mutants coverage figures clean
.DEFAULT_GOAL := demo

.venv/python: pyproject.toml constraints.txt
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "Python 3.11 or newer is needed: make PYTHON=python3.12")'
	$(PYTHON) -m venv .venv
	$(PIP) --upgrade pip
	touch $@

# A stamp for each set of extras.
.venv/base: .venv/python
	$(PIP) --editable .
	touch $@

.venv/models: .venv/python
	$(PIP) --editable '.[models]'
	touch $@

.venv/test: .venv/python
	$(PIP) --editable '.[models,test]'
	touch $@

.venv/lint: .venv/python
	$(PIP) --editable '.[models,test,lint]'
	touch $@

.venv/docs: .venv/python
	$(PIP) --editable '.[docs]'
	touch $@

demo: .venv/models
	rm -rf $(DEMO)
	$(BIN)/wikitext-builder demo --out $(DEMO)
	@echo
	@echo "Before you type these commands: source .venv/bin/activate"

test: .venv/test
	$(BIN)/python -m pytest --numprocesses auto --dist worksteal

check: lint
	$(BIN)/python -m pytest --numprocesses auto -q -m "not slow" $(COVERED) tests/wikitext_builder/extraction tests/test_imports.py

lint: .venv/lint
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/mypy

format: .venv/lint
	$(BIN)/ruff check --fix
	$(BIN)/ruff format

docs: .venv/docs
	NO_MKDOCS_2_WARNING=1 $(BIN)/python -m mkdocs build --strict --quiet --config-file .mkdocs.yml
	@echo "To read the site: $(BIN)/python -m http.server --directory build/site 8000, then open http://localhost:8000"

# The source archive, the wheel that is built from it, and a folder outside of the repository that has only the wheel.
package: .venv/test
	rm -rf build/dist build/clean
	$(BIN)/python -m build --no-isolation --outdir build/dist
	$(PYTHON) -m venv build/clean
	build/clean/bin/python $(PIP_INSTALL) build/dist/*.whl
	cd build/clean && bin/python -I -c 'import importlib.util as u; assert not u.find_spec("torch"), "not an empty environment"'
	cd build/clean && bin/wikitext-builder demo
	cd build/clean && bin/ps-models --version && bin/lm-benchmarks --version
	@echo
	@ls -l build/dist

fuzz: .venv/test
	-$(PIP) atheris
	$(BIN)/python -m tests.fuzz.run --minutes 60

crash: .venv/test
	$(BIN)/python -m tests.crash.run

# In a folder of its own where `src` is `benchmarks`: mutmut finds packages in `.` and `src` only. Memory is limited, because
# a mutant may fill a list without end.
mutants: .venv/test
	$(PIP) mutmut==3.8.1
	rm -rf build/mutants
	mkdir -p build/mutants
	ln -s $(CURDIR)/wikitext_builder $(CURDIR)/ps_models $(CURDIR)/tests $(CURDIR)/pyproject.toml $(CURDIR)/../shared build/mutants
	ln -s $(CURDIR)/benchmarks build/mutants/src
	cd build/mutants && ulimit -v 12582912 && OMP_NUM_THREADS=1 $(CURDIR)/$(BIN)/mutmut run --max-children "$$(nproc)"
	cd build/mutants && $(CURDIR)/$(BIN)/mutmut results

# Without the tests of time, because counting branches takes two to three times as long.
coverage: .venv/test
	$(BIN)/python -m pytest --numprocesses auto --cov --cov-report term -m "not slow" -k "not linear_time" $(COVERED)

figures: .venv/python
	$(BIN)/python docs/code_figures.py

clean:
	rm -rf .venv build $(DEMO) .mypy_cache .ruff_cache .pytest_cache .hypothesis
