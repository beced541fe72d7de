# The environment lives in .venv; everything else in .chunk_assets. `make clean` removes both.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
export DAGSTER_HOME ?= $(CURDIR)/.chunk_assets/dagster
export HF_HUB_OFFLINE ?= 1
PIP := $(BIN)/python -m pip install --disable-pip-version-check --quiet --constraint constraints.txt

# Delta Lake and Qdrant sync every commit; in memory, where there is room, the tests wait for no disk.
export PYTEST_DEBUG_TEMPROOT ?= $(shell test -w /dev/shm && \
	test "$$(df -Pk /dev/shm | awk 'NR == 2 {print $$4}')" -gt 4000000 && echo /dev/shm)
# One worker a core; a file's tests stay together, since they share what is slow to build.
PARALLEL ?= --numprocesses auto --dist loadfile

.DEFAULT_GOAL := help

.PHONY: help
help: ## Show this help
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed 's/:.*##/\t/' | expand -t 16

$(BIN)/.installed: pyproject.toml constraints.txt
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' \
		|| { echo "Python 3.11 or newer is needed; name one: make PYTHON=python3.12"; exit 1; }
	@test -x $(BIN)/python || { echo "Creating the environment in $(VENV) …"; $(PYTHON) -m venv $(VENV); }
	@echo "Installing pinned dependencies (some minutes the first time) …"
	@$(PIP) "$$(grep ^torch== constraints.txt)"
	@$(PIP) --editable .
	@touch $@

$(BIN)/.installed-dev: $(BIN)/.installed
	@echo "Installing what tests need …"
	@$(PIP) --editable '.[dev]'
	@touch $@

.PHONY: install
install: $(BIN)/.installed ## Create the environment

.PHONY: demo
demo: $(BIN)/.installed ## Build the demo corpus, show the leaderboard and a search
	@$(BIN)/chunk-assets apply
	@echo
	@$(BIN)/chunk-assets leaderboard
	@echo
	@echo '$$ chunk-assets search "how do I retry a failed HTTP request?" --k 3'
	@$(BIN)/chunk-assets search "how do I retry a failed HTTP request?" --k 3
	@echo
	@echo "Open the UI with: make ui    (then http://localhost:3000)"
	@echo "Your own folder:   $(BIN)/chunk-assets init DIR"

.PHONY: ui
ui: $(BIN)/.installed ## Open the Dagster UI on http://localhost:3000
	@$(BIN)/chunk-assets ui

.PHONY: test
test: $(BIN)/.installed-dev ## Run all tests
	@$(BIN)/lint-imports --no-cache
	@$(BIN)/python -m pytest $(PARALLEL)

.PHONY: test-fast
test-fast: $(BIN)/.installed-dev ## Run the tests that take seconds
	@$(BIN)/python -m pytest $(PARALLEL) -m "not slow and not browser"

.PHONY: check
check: $(BIN)/.installed-dev ## Lint, types, import contract
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check .
	@$(BIN)/mypy
	@$(BIN)/lint-imports --no-cache

.PHONY: format
format: $(BIN)/.installed-dev ## Format the code
	@$(BIN)/ruff check --fix .
	@$(BIN)/ruff format .

.PHONY: bench-chroma
bench-chroma: $(BIN)/.installed-dev ## Chroma's chunking benchmark beside the published table
	@$(BIN)/python -m benchmarks.chroma

.PHONY: bench-embed-gpu
bench-embed-gpu: $(BIN)/.installed-dev ## Embedding on this machine's GPU beside sentence-transformers
	@$(BIN)/python -m benchmarks.embed_gpu

# fastembed has its own environment: it wants another huggingface_hub than transformers 5.
FASTEMBED := .chunk_assets/bench/fastembed
$(FASTEMBED)/.installed:
	@$(PYTHON) -m venv $(FASTEMBED)
	@$(FASTEMBED)/bin/python -m pip install --disable-pip-version-check --quiet fastembed==0.9.1
	@touch $@

.PHONY: bench-embed
bench-embed: $(BIN)/.installed-dev $(FASTEMBED)/.installed ## Embedding beside other libraries
	@$(PIP) --editable '.[bench]'
	@$(BIN)/python -m benchmarks.embed

.PHONY: bench-import
bench-import: $(BIN)/.installed-dev ## How long a new process takes to start, and to its first vector
	@$(BIN)/python -m benchmarks.import_time

.PHONY: clean
clean: ## Remove the environment and everything that was built
	rm -rf $(VENV) .chunk_assets build *.egg-info
