# `make release` and `make test` set themselves up in .venv on first use and start at once after that.

PYTHON ?= $(shell command -v python3.11 || command -v python3)
EXAMPLE := build/example
BIN := .venv/bin

.DEFAULT_GOAL := help
.PHONY: help release deploy test test-slow coverage bench format clean

help:  ## say what can be made
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 14

release: .venv/ready  ## run the main job on the built-in example: make its data, mask it, judge it, publish it
	@$(BIN)/microrelease example $(EXAMPLE)
	@$(BIN)/microrelease run $(EXAMPLE)/enterprise-survey.yaml --period 2026-Q3

deploy: .venv/ready  ## bring the server that PREFECT_API_URL names up to date with deployments/prefect.yaml
	@$(BIN)/microrelease deploy

test: .venv/ready  ## lint, format check, strict types, import contracts and all tests
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/pytest -m "not slow" --numprocesses 3 --dist loadfile

test-slow: .venv/ready  ## the tests that take minutes
	$(BIN)/pytest -m slow

coverage: .venv/ready  ## branch coverage of algorithms and expectations, with kernels as plain Python
	NUMBA_DISABLE_JIT=1 $(BIN)/pytest -m "not slow and not flow and not reference" --cov --cov-report=term-missing

bench: .venv/ready  ## measure beside peers, and write docs/benchmarks.md; about a quarter of an hour
	OPENBLAS_NUM_THREADS=1 OMP_NUM_THREADS=1 $(BIN)/python -m benchmarks.page

format: .venv/ready  ## put the code in its standard form
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

clean:  ## remove the environment and everything that was built
	rm -rf .venv build .mypy_cache .pytest_cache .ruff_cache .import_linter_cache .hypothesis

.venv/ready: .venv/locked pyproject.toml
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation --editable .
	@touch $@

.venv/locked: requirements.lock
	@test -n "$(PYTHON)" || { echo "Python 3.11 or later is needed; none was found on the PATH" >&2; exit 1; }
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "Python 3.11 or later is needed; found " + sys.version.split()[0])'
	@echo "Setting up .venv (once, about two minutes) ..."
	@$(PYTHON) -m venv --clear .venv
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --requirement requirements.lock
	@touch $@
