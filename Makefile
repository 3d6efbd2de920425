# Everything here creates and uses .venv in this folder.
PYTHON ?= python3
BIN := .venv/bin
DEMO_MINUTES ?= 3
DEMO_RUN := runs/demo-$(shell date +%Y%m%d-%H%M%S)

.PHONY: help demo test test-all test-faults lint docs docs-links sdist bench-explore bench-ray bench-robustify bench-serve milestones results results-long clean

help: ## show what can be done
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 16

.venv/core: pyproject.toml setup.py constraints.txt $(wildcard src/goexplore/_native/*.c src/goexplore/_native/*/*.h src/goexplore/_native/atari/games/*.h src/goexplore/_native/*.py)
	$(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e .
	@touch $@

.venv/dev: .venv/core
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[dev]'
	@touch $@

demo: .venv/core ## explore Montezuma's Revenge for 3 minutes, verify the result by replay, write a page about it
	$(BIN)/goexplore explore montezuma-2021 --minutes $(DEMO_MINUTES) --run-dir $(DEMO_RUN)
	$(BIN)/goexplore verify $(DEMO_RUN) --sample 200
	$(BIN)/goexplore info $(DEMO_RUN)
	$(BIN)/goexplore report $(DEMO_RUN)

lint: .venv/dev ## ruff and mypy
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

test: lint ## check style and types, run the test suite
	$(BIN)/python -m pytest -n auto --dist worksteal

test-all: lint ## run the slow tests too
	$(BIN)/python -m pytest -m 'not faults'

test-faults: .venv/dev ## kill, stop, cut, fill and flip while searches, trainings and evaluations run (some minutes)
	$(BIN)/python -m pytest -m faults tests/faults

docs: .venv/dev ## build the site in docs/_build/html; a warning or a broken link is an error
	$(BIN)/python -m sphinx -W --keep-going -q -b html docs docs/_build/html
	@echo docs/_build/html/index.html

docs-links: .venv/dev ## visit every link to other sites (needs the internet)
	$(BIN)/python -m sphinx -q -b linkcheck docs docs/_build/links

sdist: ## build the source archive in dist
	$(PYTHON) -m venv .venv/build
	.venv/build/bin/python -m pip install --quiet --disable-pip-version-check build
	.venv/build/bin/python -m build --sdist

bench-explore: .venv/dev ## speed against the bare emulator, at 1,000,000 cells, the serial part, and memory per cell
	$(BIN)/python benchmarks/bench_explore.py

bench-ray: .venv/dev ## speed on a Ray cluster of one and of two nodes on this machine, beside threads
	$(BIN)/python benchmarks/bench_ray.py

bench-robustify: .venv/dev ## training speed beside sb3-contrib's RecurrentPPO
	$(BIN)/python benchmarks/bench_robustify.py

bench-serve: .venv/dev ## first paint and panning of the explorer at up to 1,000,000 cells, and its cost for a search
	$(BIN)/python benchmarks/bench_serve.py

results: .venv/dev ## repeat the runs of docs/results.md (about ten minutes on two cores)
	$(BIN)/python benchmarks/results.py

milestones: .venv/dev ## demonstrations of Montezuma's Revenge into policies (some hours; can be started again)
	$(BIN)/python benchmarks/milestones.py

results-long: .venv/dev ## the paper's 600 million game frames, and Pitfall (some hours; can be started again)
	$(BIN)/python benchmarks/results.py --plan long

clean: ## remove the environment and caches; runs stay
	rm -rf .venv .pytest_cache .mypy_cache .ruff_cache .hypothesis
