# On first use `make release` sets up .venv, and `make test` sets up .venv-dev; after that both start at once.
# The tools of .venv-dev stay out of .venv, which handles microdata.

PYTHON ?= $(shell command -v python3.11 || command -v python3)
EXAMPLE := build/example
SERIES := build/series
QUARTERS := 2025-Q2 2025-Q3 2025-Q4 2026-Q1 2026-Q2 2026-Q3
BIN := .venv/bin
DEV := .venv-dev/bin
PIP := python -m pip install --quiet --quiet --disable-pip-version-check --no-deps
TOGETHER := --numprocesses 3 --dist loadfile --no-loadscope-reorder --durations 15
# about floors that coverage does not measure, and slow without compiled kernels
ELSEWHERE := tests/compute tests/operation tests/packaging $(addprefix tests/unit/,test_benchmarks.py test_docs.py \
	test_estimator.py test_notebooks.py test_python.py)
COMPILE = $(DEV)/uv pip compile --quiet --universal --python-version 3.11 --generate-hashes \
	--annotation-style line --custom-compile-command "make lock" $(if $(UPGRADE),--upgrade)

.DEFAULT_GOAL := help
.PHONY: help release series deploy test test-needs test-slow coverage bench docs format sbom lock clean

help:  ## say what can be made
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 14

release: .venv/ready  ## run the main job on the built-in example: make its data, mask it, judge it, publish it
	@$(BIN)/microrelease example $(EXAMPLE)
	@$(BIN)/microrelease run $(EXAMPLE)/enterprise-survey.yaml --period 2026-Q3

series: .venv/ready  ## release six quarters of the example in a row, and show their timeline
	@rm -rf $(SERIES)
	@$(BIN)/microrelease example $(SERIES)
	@for quarter in $(QUARTERS); do \
		$(BIN)/microrelease run $(SERIES)/enterprise-survey.yaml --period $$quarter || exit; \
	done
	@$(BIN)/microrelease register $(SERIES)/register

deploy: .venv/ready  ## bring the server that PREFECT_API_URL names up to date with deployments/prefect.yaml
	@$(BIN)/microrelease deploy

test: .venv-dev/ready  ## lint, format check, strict types, import contracts and all tests, in random order
	$(DEV)/ruff check .
	$(DEV)/ruff format --check .
	$(DEV)/mypy
	$(DEV)/lint-imports
	$(DEV)/pytest -m "not slow" $(TOGETHER)

test-needs: .venv-dev/ready  ## only the tests that need Chromium or the benchmark sets
	$(DEV)/pytest -m "needs and not slow" $(TOGETHER)

test-slow: .venv-dev/ready  ## the tests that take minutes
	$(DEV)/pytest -m slow

coverage: .venv-dev/ready  ## branch coverage of algorithms and expectations, with kernels as plain Python
	NUMBA_DISABLE_JIT=1 $(DEV)/pytest -m "not slow and not flow and not reference" --cov --cov-report=term-missing \
		$(TOGETHER) $(addprefix --ignore ,$(ELSEWHERE))

bench: .venv-dev/ready  ## measure beside peers, and write docs/benchmarks.md; about a quarter of an hour
	OPENBLAS_NUM_THREADS=1 OMP_NUM_THREADS=1 $(DEV)/python -m benchmarks.page

docs: .venv-dev/ready  ## build the documentation as a site in build/site
	$(DEV)/sphinx-build -q -W --keep-going docs build/site

format: .venv-dev/ready  ## put the code in its standard form
	$(DEV)/ruff check --fix .
	$(DEV)/ruff format .

sbom: .venv/ready .venv-dev/ready  ## list the packages of the release environment in build/sbom.cdx.json (CycloneDX)
	@mkdir -p build
	$(DEV)/cyclonedx-py environment $(BIN)/python --pyproject pyproject.toml --output-reproducible --validate \
		--output-file build/sbom.cdx.json

lock: .venv-dev/ready  ## write both locks after a change of pyproject.toml; with UPGRADE=1, the newest versions
	$(COMPILE) pyproject.toml --group build --output-file requirements.lock
	$(COMPILE) --group dev --constraint requirements.lock --output-file requirements-dev.lock

clean:  ## remove the environments and everything that was built
	rm -rf .venv .venv-dev build .mypy_cache .pytest_cache .ruff_cache .import_linter_cache .hypothesis

.venv/ready .venv-dev/ready: %/ready: %/locked pyproject.toml
	@$*/bin/$(PIP) --no-build-isolation --editable .
	@touch $@

.venv/locked: requirements.lock
.venv-dev/locked: requirements.lock requirements-dev.lock
.venv/locked .venv-dev/locked: %/locked:
	@test -n "$(PYTHON)" || { echo "Python 3.11 to 3.13 is needed; none was found on the PATH" >&2; exit 1; }
	@"$(PYTHON)" -c 'import sys; sys.exit(not (3, 11) <= sys.version_info < (3, 14) and "Python 3.11 to 3.13 is needed; found " + sys.version.split()[0])'
	@echo "Setting up $* (once, about two minutes) ..."
	@"$(PYTHON)" -m venv --clear $*
	@$*/bin/$(PIP) --require-hashes $(addprefix --requirement ,$^)
	@touch $@
