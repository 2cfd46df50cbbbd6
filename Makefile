# Needs python3 with venv and pip. The first target that needs an environment makes it.
PYTHON ?= python3
# What pip installs as torch, before all else. For another build give pip's own words:
#   make test TORCH="torch==2.13.0 --index-url <address of the builds>"
TORCH ?= torch==2.13.0

BIN := .venv/bin
INSTALLED := .venv/.installed
BENCH_BIN := .venv-bench/bin
BENCH_INSTALLED := .venv-bench/.installed
RATIOS_INSTALLED := .venv-ratios/.installed
FEDERATED_INSTALLED := .venv-federated/.installed
DRIFT_INSTALLED := .venv-drift/.installed
VALUATION_INSTALLED := .venv-valuation/.installed
# Two test processes on two cores: more threads than that only get in each other's way.
ONE_THREAD := OMP_NUM_THREADS=1 MKL_NUM_THREADS=1
TORCH_PIN := from importlib.metadata import version; print("torch==" + version("torch"))

.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
.PHONY: help demo test test-slow check bench docs clean

help: ## List the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  %-10s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

demo: $(INSTALLED) ## Run the demonstration; its output goes to demo/
	$(ONE_THREAD) $(BIN)/python -m firecv.demo

test: $(INSTALLED) ## Run the default test suite
	$(ONE_THREAD) $(BIN)/python -m pytest -n 2 --dist loadfile

# pytest answers 5 when it found nothing to run, which is no failure here.
test-slow: $(INSTALLED) ## Run only the tests marked slow
	$(ONE_THREAD) $(BIN)/python -m pytest -m "slow and not network and not gpu" || test $$? -eq 5

check: $(INSTALLED) ## Check formatting, lint, types and import layers
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/basedpyright --pythonpath $(BIN)/python
	$(BIN)/python -m pytest -q tests/test_layers.py

bench: $(BENCH_INSTALLED) $(RATIOS_INSTALLED) $(FEDERATED_INSTALLED) $(DRIFT_INSTALLED) $(VALUATION_INSTALLED) $(INSTALLED) ## Measure speed beside other libraries
	$(BENCH_BIN)/python benchmarks/fisher.py
	$(BIN)/python benchmarks/fire.py
	$(BIN)/python benchmarks/data.py
	$(BIN)/python benchmarks/shift_test.py
	$(BIN)/python benchmarks/ratios.py
	$(BIN)/python benchmarks/federated.py
	$(BIN)/python benchmarks/experiments.py
	$(BIN)/python benchmarks/diagnose.py
	$(BIN)/python benchmarks/influence.py

docs: $(INSTALLED) ## Build the documentation into site/
	$(BIN)/mkdocs build --strict --site-dir site

clean: ## Remove environments, the built site, build artefacts and caches
	rm -rf .venv .venv-* site build dist *.egg-info
	rm -rf .pytest_cache .ruff_cache .hypothesis
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

# The torch that TORCH chose replaces the pin in constraints.txt, so the two cannot disagree.
$(INSTALLED): pyproject.toml constraints.txt
	$(PYTHON) -m venv .venv
	$(BIN)/python -m pip install $(TORCH)
	grep -v '^torch==' constraints.txt > .venv/constraints.txt
	$(BIN)/python -c '$(TORCH_PIN)' >> .venv/constraints.txt
	$(BIN)/python -m pip install -c .venv/constraints.txt -e '.[dev]'
	touch $@

$(BENCH_INSTALLED): pyproject.toml benchmarks/requirements.txt
	$(PYTHON) -m venv .venv-bench
	$(BENCH_BIN)/python -m pip install $(TORCH)
	$(BENCH_BIN)/python -c '$(TORCH_PIN)' > .venv-bench/constraints.txt
	$(BENCH_BIN)/python -m pip install -c .venv-bench/constraints.txt \
		-r benchmarks/requirements.txt -e .
	touch $@

# Other libraries of density ratios, one of which needs TensorFlow.
$(RATIOS_INSTALLED): benchmarks/requirements-ratios.txt
	$(PYTHON) -m venv .venv-ratios
	.venv-ratios/bin/python -m pip install -r benchmarks/requirements-ratios.txt
	touch $@

# Other federated libraries, for rounds beside ours.
$(FEDERATED_INSTALLED): benchmarks/requirements-federated.txt
	$(PYTHON) -m venv .venv-federated
	.venv-federated/bin/python -m pip install $(TORCH)
	.venv-federated/bin/python -m pip install -r benchmarks/requirements-federated.txt
	touch $@

# A library that looks for drift in tables, beside `firecv diagnose`.
$(DRIFT_INSTALLED): benchmarks/requirements-drift.txt
	$(PYTHON) -m venv .venv-drift
	.venv-drift/bin/python -m pip install -r benchmarks/requirements-drift.txt
	touch $@

# A library of data valuation, beside weights by influence.
$(VALUATION_INSTALLED): benchmarks/requirements-valuation.txt
	$(PYTHON) -m venv .venv-valuation
	.venv-valuation/bin/python -m pip install -r benchmarks/requirements-valuation.txt
	touch $@
