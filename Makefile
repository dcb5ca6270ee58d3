# `make audit` and `make test` need Python 3.11 or newer, pip and make; they set up everything else in .venv.

SHELL := /bin/bash
.SHELLFLAGS := -eu -o pipefail -c
MAKEFLAGS += --no-builtin-rules

# The interpreter that .venv is made with. Choose another with `make audit PYTHON=/path/to/python3.12`.
ifndef PYTHON
PYTHON := $(shell for p in python3.11 python3.12 python3.13 python3 python; do \
    if "$$p" -c 'import sys; sys.exit(sys.version_info < (3, 11))' >/dev/null 2>&1; then echo "$$p"; break; fi; done)
endif

VENV ?= .venv
BIN := $(VENV)/bin
JOBS ?= 2
PYTEST_ARGS ?= -n 2 --dist worksteal
DEPENDS := pyproject.toml constraints.txt

# pip compiles every file of a hundred packages, which is half of what it does here; Python compiles those that it imports,
# once, if it may write them down: whatever the environment says.
INSTALL := -m pip install --quiet --disable-pip-version-check --no-compile
export PYTHONDONTWRITEBYTECODE :=

.PHONY: help audit test slow corpus bench coq lint format report docs dist sbom clean
.DEFAULT_GOAL := help

help:  ## Show the targets.
	@grep -E '^[a-z]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 12

audit: $(VENV)/.installed  ## Prove the op library and print the audit.
	@$(BIN)/certgrad audit

test: $(VENV)/.installed-dev  ## Run the tests.
	$(BIN)/python -m pytest $(PYTEST_ARGS)

# SAMPLE=1: a fixed sample, under ten minutes on two cores. ACCEPT=1: write what was found as the records.
# DASK=local, or an address: on dask's workers.
corpus: $(VENV)/.installed-dev  ## Audit the corpus and print what differs from its records, and verify all certificates.
	$(if $(SAMPLE),,$(BIN)/certgrad verify reports/ --quiet)
	$(BIN)/python -m benchmarks.corpus --jobs $(JOBS) $(if $(SAMPLE),--sample) $(if $(ACCEPT),--accept) $(if $(DASK),--dask $(DASK))

slow: $(VENV)/.installed-dev  ## Run the tests that make test leaves out, in hours.
	$(BIN)/python -m pytest $(PYTEST_ARGS) -m slow

bench: $(VENV)/.installed-dev  ## Measure what it costs, and compare. SHORT=1: a sample. ARGS=--accept: commit new values.
	$(BIN)/python -m benchmarks.bench $(if $(SHORT),--short) $(ARGS)

coq: $(VENV)/.installed  ## Compile every exported certificate of the library with Coq, in minutes.
	.ci/coq all

lint: $(VENV)/.installed-dev  ## Run ruff, mypy and the import contracts.
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

format: $(VENV)/.installed-dev  ## Format the code and fix what ruff can fix.
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

report: $(VENV)/.installed  ## Rewrite reports/.
	$(BIN)/certgrad report

docs: $(VENV)/.installed-dev  ## Build the documentation site in site/. No network is needed.
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict --quiet

dist: $(VENV)/.installed-dev  ## Build the wheel and the sdist in dist/, with the time of the last commit.
	SOURCE_DATE_EPOCH=$${SOURCE_DATE_EPOCH:-$$(git log -1 --format=%ct)} $(BIN)/python -m build --no-isolation

sbom: $(VENV)/.installed-dev  ## Write dist/certgrad.cdx.json: what an installation without extras holds.
	rm -rf $(VENV)-sbom
	$(BIN)/python -m venv $(VENV)-sbom
	$(VENV)-sbom/bin/python $(INSTALL) -c constraints.txt .
	mkdir -p dist
	$(BIN)/cyclonedx-py environment --pyproject pyproject.toml --mc-type library --output-reproducible \
	    --output-file dist/certgrad.cdx.json $(VENV)-sbom/bin/python

clean:  ## Remove the environment and the caches.
	rm -rf $(VENV) $(VENV)-sbom site dist .certgrad_cache .mypy_cache .pytest_cache .ruff_cache .hypothesis

# A system Python may come without ensurepip (Debian's does); its own pip then installs pip into the environment.
$(VENV)/.created:
	@"$(or $(PYTHON),false)" -c 'import sys; sys.exit(sys.version_info < (3, 11))' >/dev/null 2>&1 || { \
	    echo "certgrad needs Python 3.11 or newer, and $(if $(PYTHON),$(PYTHON) is older or does not run,none is on PATH)." >&2; \
	    echo "Install one, or name it: make $(or $(MAKECMDGOALS),audit) PYTHON=/path/to/python3.11" >&2; exit 1; }
	@echo "Setting up $(VENV) with $$("$(PYTHON)" --version) (once; a minute or two)"
	@rm -rf $(VENV)
	@"$(PYTHON)" -m venv $(VENV) >/dev/null 2>&1 || { \
	    rm -rf $(VENV); "$(PYTHON)" -m venv --without-pip $(VENV) && \
	    "$(PYTHON)" -m pip --python $(BIN)/python install --quiet pip; }
	@touch $@

$(VENV)/.installed: $(DEPENDS) | $(VENV)/.created
	@$(BIN)/python $(INSTALL) -c constraints.txt -e .
	@touch $@

$(VENV)/.installed-dev: $(DEPENDS) | $(VENV)/.created
	@$(BIN)/python $(INSTALL) -c constraints.txt -e '.[dev]'
	@touch $@ $(VENV)/.installed
