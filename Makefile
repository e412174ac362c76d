# `make help` lists what there is.
SHELL := bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help
unexport PYTHONDONTWRITEBYTECODE

VENV ?= .venv
BIN := $(VENV)/bin
ARGS ?=
RULES := $(addprefix tests/unit/project/test_,layers.py sizes.py docs_links.py)
export VENV

.PHONY: help demo test test-long check check-wheels zoo prove bench docs clean

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-14s %s\n", $$1, $$2 }' Makefile

# An environment is made anew only where pyproject.toml or the script is newer than its stamp.
$(VENV)/.run: pyproject.toml scripts/install.sh
	@scripts/install.sh run
	@touch $@

$(VENV)/.dev: pyproject.toml scripts/install.sh
	@scripts/install.sh dev
	@touch $@ $(VENV)/.run

demo: $(VENV)/.run ## install, then compare models on the files of examples/ (ARGS=--fresh: all anew)
	@scripts/demo.sh $(ARGS)

test: $(VENV)/.dev ## all tests, the long ones at a tenth of their size (ARGS: for pytest)
	$(BIN)/pytest $(ARGS)

test-long: $(VENV)/.dev ## all tests at full size
	$(BIN)/pytest --full $(ARGS)

check: $(VENV)/.dev ## ruff, mypy, layers, sizes, links, generated pages
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/pytest -q $(RULES)
	$(BIN)/python scripts/errors_doc.py --check
	$(BIN)/python scripts/structures_doc.py --check
	$(BIN)/python scripts/architectures_doc.py --check

check-wheels: $(VENV)/.dev ## ask pip whether each dependency has wheels for every Python (network)
	$(BIN)/python scripts/check_wheels.py

zoo: $(VENV)/.dev ## train the small models of tests/zoo again (ARGS: names)
	$(BIN)/python tests/zoo/make.py $(ARGS)

prove: $(VENV)/.dev ## compare an engine with transformers and write its proven.yaml (ARGS: --engine, models of the zoo)
	$(BIN)/python -m scripts.prove $(ARGS)

bench: $(VENV)/.dev ## measure the speeds that docs/measurements.md lists
	$(BIN)/python -m benchmarks $(ARGS)

docs: $(VENV)/.dev ## write the generated pages, then run every command of README and docs
	$(BIN)/python scripts/errors_doc.py
	$(BIN)/python scripts/structures_doc.py
	$(BIN)/python scripts/architectures_doc.py
	$(BIN)/pytest tests/unit/project/test_docs_commands.py $(ARGS)

clean: ## remove the environment, caches and built files; runs and fetched models stay
	rm -rf $(VENV) .cache build dist .mypy_cache .pytest_cache .ruff_cache .hypothesis
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
