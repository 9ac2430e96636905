# Everything a person types. `make` alone lists the targets.
SHELL := /bin/bash
.DEFAULT_GOAL := help

# Any CPython from 3.11 on. It is used once, to make the virtual environment.
PYTHON ?= python3
PY := .venv/bin/python

# Ports for `make up`: empty means the usual one, or a free one where that is taken. A port given here is kept or refused.
INGRESS_PORT ?=
ADMIN_PORT ?=
NODE_PORT ?=
WORKER_PORT ?=
RECEIVER_PORT ?=
MODEL_PORT ?=
UP_PORTS = $(foreach part,ingress admin node worker receiver model,$(if $($(call upper,$(part))_PORT),--$(part)-port $($(call upper,$(part))_PORT)))
upper = $(shell echo $(1) | tr a-z A-Z)

# Where a restate-server is named or on the PATH, the one from npm is not needed, nor is Node.
RESTATE_FOUND := $(or $(RESTATE_SERVER),$(shell command -v restate-server))
STAMPS := .venv/.ready $(if $(RESTATE_FOUND),,node_modules/.ready)

.PHONY: help setup demo up down test test-long test-traces lab storm window bench lab-peers lint format lock compose-test clean

help: ## list the targets
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/^([a-z-]+):.*## /\1\t/' | expand -t 16

setup: $(STAMPS) ## install what is needed into .venv and node_modules; quick when nothing changed

.venv/.ready: requirements-dev.lock
	@$(PYTHON) -c 'import sys; sys.exit(0 if sys.version_info >= (3, 11) else f"Pawl needs Python 3.11 or newer; $(PYTHON) is {sys.version.split()[0]}. Name another one: make setup PYTHON=python3.12")'
	@echo "installing the Python packages into .venv"
	@$(PYTHON) -m venv .venv
	@$(PY) -m pip install -qq --disable-pip-version-check --require-hashes -r requirements-dev.lock
	@touch $@

node_modules/.ready: package-lock.json package.json .npmrc
	@command -v npm >/dev/null || { echo "npm was not found. It brings the restate-server; install Node 18 or newer, or name a binary: RESTATE_SERVER=/path/to/restate-server"; exit 1; }
	@echo "installing the restate-server into node_modules"
	@npm ci --silent
	@touch $@

demo: setup ## one run, killed in the worst moment: one refund with Pawl, two without a key
	@$(PY) -m lab demo

up: setup ## start the whole stack and stay until Ctrl-C
	@$(PY) -m lab up $(UP_PORTS)

down: setup ## end what `make up` started
	@$(PY) -m lab down

# Most tests wait for real processes, so two files at a time are nearly twice as fast. Each process has stacks of its own.
TEST_JOBS ?= 2
test: setup ## the tests, those on a real restate-server included; TEST_JOBS
	$(PY) -m pytest -m "not long" -n $(TEST_JOBS) --dist loadfile

test-long: setup ## the tests that take longer
	$(PY) -m pytest -m long

# Without OpenTelemetry the tests of traces are left out, so they have an environment of their own that holds it as well.
test-traces: setup .venv-otel/.ready ## the tests of traces, with OpenTelemetry installed
	.venv-otel/bin/python -m pytest tests/services/test_traces.py tests/server/test_traces.py

.venv-otel/.ready: requirements-dev.lock requirements-otel.lock
	@echo "installing the Python packages and OpenTelemetry into .venv-otel"
	@$(PYTHON) -m venv .venv-otel
	@.venv-otel/bin/python -m pip install -qq --disable-pip-version-check --require-hashes -r requirements-dev.lock -r requirements-otel.lock
	@.venv-otel/bin/python -c 'import opentelemetry.sdk, opentelemetry.exporter.otlp.proto.http'
	@touch $@

# How often each cell is played, how many at a time (empty: as many as there are processors), and which (empty: all).
# KEEP=1 leaves the other cells of the last report in it, so that a whole one can be made in parts.
TRIALS ?= 3
JOBS ?=
ONLY ?=
KEEP ?=
lab: setup ## every fault at every point, for every kind of tool; TRIALS, JOBS, ONLY and KEEP. Results go to lab-report
	@$(PY) -m lab matrix --trials $(TRIALS) $(if $(JOBS),--jobs $(JOBS)) $(if $(ONLY),--only '$(ONLY)') $(if $(KEEP),--keep) --seed $(SEED)

# How many runs at once, and the seed of the schedule. Results go to lab-report.
RUNS ?= 200
SEED ?= 1
storm: setup ## many runs over two workers while everything is killed, frozen and cut off; RUNS and SEED
	@$(PY) -m lab storm --runs $(RUNS) --seed $(SEED)

# How many effects of each load, and how many kills at random moments; KILLS=0: none.
EFFECTS ?= 200
KILLS ?= 30
window: setup ## how long an effect is applied and not yet recorded; EFFECTS, KILLS and SEED
	@$(PY) -m lab window --effects $(EFFECTS) --kills $(KILLS) --seed $(SEED)

# ONLY names parts or contestants, ROUNDS how often each has its turn. Of peers those that `make lab-peers` installed.
ROUNDS ?=
bench: setup ## the same job on Pawl, on loops by hand and on peers: how fast, at what cost; about 20 minutes
	@$(PY) -m lab bench $(if $(ONLY),--only '$(ONLY)') $(if $(ROUNDS),--rounds $(ROUNDS))

# The peers have an environment of their own: nothing of theirs is ever loaded beside the agent.
TYPESCRIPT := lab/contestants/typescript
lab-peers: .venv-lab/.ready $(TYPESCRIPT)/node_modules/.ready ## install the peers, other frameworks that the lab compares with (optional)

.venv-lab/.ready: requirements-lab.lock
	@echo "installing the peers' Python packages into .venv-lab"
	@$(PYTHON) -m venv .venv-lab
	@.venv-lab/bin/python -m pip install -qq --disable-pip-version-check --require-hashes -r requirements-lab.lock
	@touch $@

$(TYPESCRIPT)/node_modules/.ready: $(addprefix $(TYPESCRIPT)/,package-lock.json package.json .npmrc)
	@if command -v npm >/dev/null; then echo "installing the peer's npm packages into $(TYPESCRIPT)" && cd $(TYPESCRIPT) && npm ci --silent && touch node_modules/.ready; \
	else echo "npm was not found: the peer in TypeScript is left out"; fi

lint: setup ## rules, format and strict types
	$(PY) -m ruff check .
	$(PY) -m ruff format --check .
	$(PY) -m mypy

format: setup ## rewrite the code in the project's format
	$(PY) -m ruff check --fix .
	$(PY) -m ruff format .

compose-test: setup ## stack and cluster in containers, hurt and judged; needs a Docker engine with Compose v2
	@$(PY) -m lab compose-test

# Hashes of every file of every release, so that the locks hold for each Python and processor, and no address of an index.
COMPILE = $(PY) -m piptools compile --quiet --generate-hashes --strip-extras --allow-unsafe --no-header --no-emit-index-url --no-emit-trusted-host --no-emit-find-links --no-emit-options
lock: setup ## remake the locks from requirements*.in and package.json
	$(COMPILE) --output-file requirements.lock requirements.in
	$(COMPILE) --output-file requirements-dev.lock requirements-dev.in
	$(COMPILE) --output-file requirements-otel.lock requirements-otel.in
	$(COMPILE) --output-file requirements-lab.lock requirements-lab.in
	npm install --package-lock-only
	cd $(TYPESCRIPT) && npm install --package-lock-only

clean: ## remove what setup and the stack left; stop the stack first
	rm -rf .venv node_modules .venv-lab .venv-otel $(TYPESCRIPT)/node_modules .pawl .mypy_cache .pytest_cache .ruff_cache .hypothesis
