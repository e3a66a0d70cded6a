# `make` alone lists what there is. Every target sets up what it needs in .venv.
SHELL := /bin/bash
.SHELLFLAGS := -eu -o pipefail -c
PYTHON ?= python3
BIN := $(CURDIR)/.venv/bin
export PATH := $(BIN):$(PATH)
export PYTHONWARNINGS ?= ignore::FutureWarning,ignore::DeprecationWarning
# Of nproc without these variables, which it takes for the number of processors.
JOBS ?= $(shell env -u OMP_NUM_THREADS -u OMP_THREAD_LIMIT nproc 2>/dev/null || echo 2)
# What runs models needs no development tools: it takes the environment with them only where that is there.
RUNS := $(if $(wildcard .venv/ready),.venv/ready,.venv/ready-to-run)

.PHONY: help demo test repro results sweep ui bench gpu-check check docs clean lock
.DEFAULT_GOAL := help

help: ## list the targets
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/^([a-z-]+):.*## /\1|/' | while IFS='|' read -r t d; do printf '  make %-9s %s\n' "$$t" "$$d"; done

.venv/ready: EXTRA = dev
.venv/ready-to-run: EXTRA = train
.venv/ready .venv/ready-to-run: pyproject.toml constraints.txt
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and f"Python 3.11 or later is needed, {sys.executable} is {sys.version.split()[0]}: make PYTHON=python3.12 ...")'
	@echo "Setting up .venv (once; some minutes). Step 1 of 2: the environment"
	@[ -x "$(BIN)/python" ] || $(PYTHON) -m venv .venv
	@echo "Step 2 of 2: the packages, one line each"
	@"$(BIN)/python" -m pip install --disable-pip-version-check --progress-bar off --constraint constraints.txt --editable '.[$(EXTRA)]' \
	  | sed -unE 's/^(Collecting|Processing) /  /p; s/^Installing collected packages.*/Installing them (a minute or two) .../p'
	@touch $@

demo: $(RUNS) ## the whole pipeline on two generated corpora, in minutes and without a network
	@tools/demo --jobs $(JOBS)
	@echo
	@echo "The report:      build/demo/reports/index.html"
	@echo "The MLflow runs: make ui prints their addresses"
	@echo "Next: change one thing and reproduce a row, docs/tutorials/reproduce-and-change.md"

test: .venv/ready ## every test that needs no real data; with TWICETOLD_MIRROR set, those that do as well
	@$(if $(ARGS),,echo "about 15 minutes on two cores; a part: make test ARGS=tests/contracts")
	@pytest --numprocesses auto --maxprocesses 8 --dist loadfile --no-loadscope-reorder $(ARGS)

repro: .venv/ready ## dvc repro: the grid of params.yaml on the real data, JOBS stages at a time
	@python tools/run_grid.py --jobs $(JOBS) $(ARGS)

results: .venv/ready ## the same, and RESULTS.md of it
	@python tools/run_grid.py --jobs $(JOBS) --record
	@python pipelines/report.py --results
	@python tools/cost_picture.py

sweep: $(RUNS) ## a search for better values, say: make sweep ARGS="data=toy_news model=dae trials=20 workers=2"
	@python pipelines/sweep.py $(if $(ARGS),$(ARGS),data=toy_news model=dae objective.alpha=10,100,1000)

ui: $(RUNS) ## the MLflow pages of all runs; prints an address for each dataset (PORT=5001: on this port)
	@python pipelines/ui.py $(if $(PORT),--port $(PORT))

bench: .venv/ready ## speed as ratios in one run: losses, training, data path, encoding, search, dedupe
	@failed=; for file in benchmarks/bench_*.py; do python $$file $(ARGS) || failed="$$failed $$file"; done; \
	  [ -z "$$failed" ] || { echo "failed:$$failed" >&2; exit 1; }

gpu-check: .venv/ready ## does every family learn on the GPU, in 32 bits and in bf16, what it learns on the CPU?
	@python tools/gpu_check.py $(ARGS)

check: .venv/ready ## ruff, mypy, import-linter
	@ruff check .
	@ruff format --check .
	@mypy
	@lint-imports

docs: .venv/ready ## the site of the documentation, built strictly: no broken link, no name without a page
	@[ -f reports/index.html ] || python pipelines/report.py
	@python tools/documentation/build.py

clean: ## remove what the pipeline makes; .venv, mlruns, downloads and DVC's cache stay
	@git clean -qfdX -- build runs reports outputs multirun data/raw data/pretrained data/processed data/triplets data/self_training

lock: .venv/ready ## write constraints.txt from what is installed
	@{ echo "# Versions that are tested together; made by make lock."; pip freeze --exclude-editable | sed -E 's/\+cpu$$//'; } > constraints.txt
