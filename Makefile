# make libero   install and run the main job
# make test     install and run the tests
# make check    what must be clean before a change goes in
SHELL := /bin/bash
VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip --disable-pip-version-check
ARGS :=

.PHONY: libero test sync format type check docs wheel bench faults corpus peers sweep fuzz flips
.DEFAULT_GOAL := test

libero: $(VENV)/.libero
	$(BIN)/datagen run configs/libero.yaml $(ARGS)
	@echo "Open out/libero/report.html in a browser; the rows are in out/libero/data/*.parquet."

test: $(VENV)/.dev
	$(BIN)/python -m pytest $(ARGS)

sync: $(VENV)/.dev

format: $(VENV)/.dev
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

type: $(VENV)/.dev
	$(BIN)/pyright --level error

check: $(VENV)/.dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/pyright --level error

docs: $(VENV)/.dev
	$(BIN)/python docs/api.py out/api

# The package as others get it: built, installed in an empty environment, run from another folder.
wheel: $(VENV)/.dev
	.ci/wheel $(BIN)/python

bench: $(VENV)/.dev $(VENV)/.peer
	$(BIN)/python bench/run.py $(ARGS)
	$(BIN)/python bench/convert.py --peer $(VENV)/peer/bin/python

faults: $(VENV)/.dev
	$(BIN)/python bench/planted_faults.py $(ARGS)

sweep: $(VENV)/.dev
	$(BIN)/python bench/libero_sweep.py $(ARGS)

peers: $(VENV)/.dev $(VENV)/.blender
	$(BIN)/python bench/peers.py --blender $(VENV)/blender/bin/python $(ARGS)

corpus: $(VENV)/.dev
	$(BIN)/python bench/corpus.py $(ARGS)

fuzz: $(VENV)/.dev
	$(BIN)/python bench/fuzz.py $(ARGS)

flips: $(VENV)/.dev
	$(BIN)/python bench/cache_flips.py $(ARGS)

$(VENV)/bin/python:
	@for python in python3 python3.13 python3.12 python3.11; do \
	  if $$python -c 'import sys, venv, ensurepip; sys.exit(not (3, 11) <= sys.version_info[:2] <= (3, 13))' 2>/dev/null; then \
	    echo "$$python -m venv $(VENV)"; exec $$python -m venv $(VENV); \
	  fi; \
	done; \
	echo "No Python 3.11, 3.12 or 3.13 with venv found; on Debian: apt-get install python3 python3-venv" >&2; exit 1

$(VENV)/.libero: pyproject.toml | $(VENV)/bin/python
	$(PIP) install -e '.[libero]'
	@touch $@

$(VENV)/.peer: | $(VENV)/bin/python
	$(BIN)/python -m venv $(VENV)/peer
	$(VENV)/peer/bin/python -m pip install mujoco-usd-converter
	@touch $@

# Blender's module is for Python 3.11 alone.
$(VENV)/.blender:
	python3.11 -m venv $(VENV)/blender
	$(VENV)/blender/bin/python -m pip --disable-pip-version-check install bpy==5.0.1
	@touch $@

$(VENV)/.dev: pyproject.toml | $(VENV)/bin/python
	$(PIP) install -e '.[libero,dev]'
	@touch $@ $(VENV)/.libero
