# Everything here works on a machine that has only Python 3.11 or newer: the first target that needs it makes .venv.
.DEFAULT_GOAL := help
SHELL := /bin/bash

# python3.11 may be a shim that does not run, so it is asked rather than looked up.
PYTHON ?= $(shell python3.11 -c 'import sys; print(sys.executable)' 2>/dev/null || command -v python3)
BIN := .venv/bin
DEMO := .venv/.demo
INSTALLED := .venv/.installed
# Where it is set, each worker of the tests and each command that they run would compile every file anew.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: help docs locked sbom demo compile test test-all coverage test-research test-tools equivalence speed lint format clean

help:  ## list these targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-13s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

INSTALL := $(BIN)/pip install -q --disable-pip-version-check -c constraints.txt

$(DEMO): pyproject.toml constraints.txt
	@echo "setting up .venv: some 700 MB, a minute or two, once"
	@"$(PYTHON)" -m venv .venv
	@$(INSTALL) -e '.[lm,plot]'
	@touch $@

$(INSTALLED): $(DEMO)
	@echo "adding torch, Ray and the tools of the tests to .venv: some 2 GB, several minutes, once"
	@$(INSTALL) -e '.[train,dev]'
	@touch $@

LOCKED := $(BIN)/pip install -q --disable-pip-version-check --no-deps --no-build-isolation --no-compile
# The environment of CI (Linux on x86-64, Python 3.11): pip takes these files and no others. diplomacy is built here, with
# the setuptools that comes first.
locked:  ## .venv from tools/locked.txt, where every file has its hash
	@"$(PYTHON)" -m venv .venv
	@$(LOCKED) --require-hashes -r <(grep '^setuptools==' tools/locked.txt)
	@$(LOCKED) --require-hashes -r tools/locked.txt
	@$(LOCKED) -e .
	@touch $(DEMO) $(INSTALLED)

demo: $(DEMO)  ## play a small demonstration and show its results
	@$(BIN)/python -m evaluation demo

# Kernels are compiled here once, or each worker of the tests would do it: the engine's, and those of toy boards.
compile: $(INSTALLED)
	@$(BIN)/welfare-env theorems --map clique:2 --years 2 > /dev/null & $(BIN)/welfare-env warm-up && wait $$!

test: lint compile  ## lint, then the quick tests: a minute and a half on two quiet cores, three the first time
	$(BIN)/python -m pytest -n 2 --dist loadfile

# The slow tests of research/ have its README's command: CI makes one small run of each result instead.
test-all: compile  ## the quick tests and those marked slow: seven minutes
	@run() { \
		"$$@" && return; \
		[ $$? = 1 ] && return 1; \
		echo "the run was broken off: once more, whole"; \
		"$$@" && return; \
		[ $$? = 1 ] || rm -rf .pytest_cache; \
		return 1; \
	}; \
	status=0; \
	run $(BIN)/python -m pytest -n 2 --dist loadfile || status=1; \
	run $(BIN)/python -m pytest -n 2 -m "slow and not tools" --durations=30 tests || status=1; \
	exit $$status

coverage: compile  ## what the quick tests reach of the library, and by which test: twice their time
	$(BIN)/python -m pytest -n 2 --dist loadfile --cov --cov-context=test --cov-report=term:skip-covered --cov-fail-under=93

test-research: compile  ## one small run of each result of research/: half a minute
	$(BIN)/python -m research

# Libraries that do not go with ours, or not with each other: an environment for each, made once.
TOOLS := .venv-tools
PIP_inspect := -c constraints.txt -e '.[lm]' -e environments/inspect_welfare_diplomacy
PIP_verifiers := -c environments/welfare_diplomacy/constraints.txt -e . -e environments/welfare_diplomacy
PIP_trainers := torch==2.13.0 -e . trl==1.16.0 'transformers>=5.13' openenv==0.10.0 'tomlkit<0.15' 'sb3-contrib>=2.7' 'torchrl>=0.14' safetensors
# compiles llama.cpp: twelve minutes on two busy cores
PIP_local := -c constraints.txt -e '.[lm]' 'llama-cpp-python[server]==0.3.36' 'gguf>=0.19' 'tokenizers>=0.23'
PIP_docs := -c constraints.txt -e '.[docs]'
PIP_sbom := cyclonedx-bom==7.5.0
PIP_grammars := torch==2.13.0 -e . 'xgrammar>=0.2' 'llguidance>=1.7'

$(TOOLS)/%/.installed: pyproject.toml constraints.txt environments/welfare_diplomacy/constraints.txt
	@echo "setting up $(@D): a minute or three, once"
	@"$(PYTHON)" -m venv $(@D)
	@$(@D)/bin/pip install -q --disable-pip-version-check $(PIP_$*) pytest pytest-xdist hypothesis
	@touch $@

test-tools: $(foreach name,inspect verifiers trainers grammars local,$(TOOLS)/$(name)/.installed)  ## tests with inspect, verifiers, TRL, OpenEnv, Stable-Baselines3, two grammar libraries and llama.cpp
	cd environments/inspect_welfare_diplomacy && ../../$(TOOLS)/inspect/bin/python -m pytest
	cd environments/welfare_diplomacy && ../../$(TOOLS)/verifiers/bin/python -m pytest
	$(TOOLS)/trainers/bin/python -m pytest -m tools tests/libraries/test_trainers.py tests/libraries/test_stable_baselines.py tests/libraries/test_selfplay.py
	$(TOOLS)/grammars/bin/python -m pytest -m tools tests/libraries/test_grammars.py
	$(TOOLS)/local/bin/python -m pytest -m tools tests/libraries/test_local_model.py

sbom: $(TOOLS)/sbom/.installed  ## a bill of materials of tools/locked.txt: build/sbom.cdx.json, of CycloneDX
	@mkdir -p build
	$(TOOLS)/sbom/bin/cyclonedx-py requirements tools/locked.txt --pyproject pyproject.toml -o build/sbom.cdx.json

docs: $(TOOLS)/docs/.installed  ## the site, into docs/_build/html: a minute, without a network; warnings are errors
	$(TOOLS)/docs/bin/python -m sphinx -W --keep-going -q -b html docs docs/_build/html
	$(TOOLS)/docs/bin/python -m tools.site docs/_build/html

equivalence: $(INSTALLED)  ## the compiled engine against the diplomacy package after every phase of many games (long)
	$(BIN)/python -m tools.equivalence --workers 2

speed: $(INSTALLED)  ## phases a second of everything, and of the diplomacy package
	$(BIN)/python -m benchmarks.speed

lint: $(INSTALLED)  ## ruff's checks and format, codespell, mypy
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/codespell
	$(BIN)/mypy

format: $(INSTALLED)  ## let ruff sort the imports and format the code
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

clean:  ## remove .venv, caches and built wheels; results in runs/ stay
	rm -rf .venv $(TOOLS) build dist docs/_build .hypothesis .mypy_cache .pytest_cache .ruff_cache
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
