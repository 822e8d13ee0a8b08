# Everything lives in .venv; a machine needs only Python 3.11, make and git.
PYTHON ?= python3
BIN := .venv/bin
SDKS := .venv-sdks/bin
PEERS := .venv-bench/bin

# The tests start the command some hundreds of times: it need not be compiled anew each time.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: demo test test-sdks faults lint bench bench-peers clean

demo: .venv/ready
	$(BIN)/python demo/run.py

test: .venv/ready
	$(BIN)/python -m pytest -n 2 --dist worksteal

# With the vendors' SDKs, in an environment of their own of some hundreds of megabytes.
test-sdks: .venv-sdks/ready
	$(SDKS)/python -m pytest -n 2 --dist worksteal tests_sdks

# Every fault at every place under every runtime: those of the standard library, then httpx, aiohttp, trio and anyio.
# What came of it goes into the manual.
faults: .venv/ready .venv-sdks/ready
	CHUNKFOLD_TESTS=faults $(BIN)/python -m pytest -p tests.resilience.record tests/resilience/test_faults.py
	CHUNKFOLD_TESTS=faults $(SDKS)/python -m pytest -p tests.resilience.record tests_sdks/test_resilience.py

lint: .venv/ready
	$(BIN)/ruff check src tests tests_sdks bench demo
	$(BIN)/ruff format --check src tests tests_sdks bench demo
	$(BIN)/mypy

bench: .venv/ready
	$(BIN)/python bench/run.py

# Beside the vendors' own helpers, in an environment of their own; what came of it goes into the manual.
bench-peers: .venv-bench/ready
	$(PEERS)/python bench/peers_report.py --docs

.venv/ready: pyproject.toml
	$(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --editable '.[test]'
	touch $@

.venv-sdks/ready: pyproject.toml tests_sdks/install.py
	$(PYTHON) -m venv .venv-sdks
	$(SDKS)/python tests_sdks/install.py
	touch $@

.venv-bench/ready: pyproject.toml tests_sdks/install.py
	$(PYTHON) -m venv .venv-bench
	$(PEERS)/python tests_sdks/install.py bench
	touch $@

clean:
	rm -rf .venv .venv-sdks .venv-bench
