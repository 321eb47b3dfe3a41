# The project's commands. Only python3, make and git are assumed; everything else is installed here.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready
UV_VERSION := 0.13.7

export MPLBACKEND := Agg
# Bytecode is kept: the tests start hundreds of processes, and each would compile our sources anew.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: run test test-all test-long test-interpreted test-peers browser torch peers check checker bench fuzz harden docs docs-test pictures wheel-test release-check tools lock clean

# Two at a time on two cores, more where there are more; a file's tests stay in one process.
WORKERS := -n auto --maxprocesses=8 --dist=loadfile

run: $(READY)  ## set up, then the main job on embedded data: two studies and their reports
	$(BIN)/separatrix study -o out/study

# A coverage file that is named is written.
test: $(READY)  ## the suite in minutes: every test but the long ones
	$(BIN)/python -m pytest -q $(WORKERS) -m "not long" $(if $(COVERAGE_FILE),--cov --cov-report=)

test-all: $(READY)  ## every test, the long ones too; then the loops again, interpreted; then coverage
	rm -f .coverage .coverage.compiled .coverage.interpreted
	COVERAGE_FILE=.coverage.compiled $(MAKE) test
	$(MAKE) test-long
	$(MAKE) test-interpreted
	$(BIN)/coverage combine --quiet
	$(BIN)/coverage report --fail-under=93
	$(BIN)/coverage report --include="*/separatrix/storage/*,*/separatrix/checker/*" --fail-under=95

# A file of long tests would keep one process busy after the other has ended: tests are taken over
# one by one. Many wait for a process or a browser: one at a time more than there are processors.
test-long: $(READY)
	TESTS_PASSED= SEPARATRIX_CASES=many $(BIN)/python -m pytest -q $(WORKERS) -n $$($(BIN)/python -c 'import os; print(1 + (os.cpu_count() or 1))') --dist=worksteal -m "long and not apart"

# scikit-learn's own tests with our estimators, and its checks of every configuration.
test-peers: $(READY)
	$(BIN)/python -m pytest -q $(WORKERS) --dist=worksteal -m apart

# Coverage sees inside the loops only when they are not compiled. Only these folders hold loops.
test-interpreted: $(READY)
	TESTS_PASSED= COVERAGE_FILE=.coverage.interpreted NUMBA_DISABLE_JIT=1 $(BIN)/python -m pytest -q $(WORKERS) \
	  --dist=worksteal -p no:cacheprovider --cov --cov-report= -m "not long" \
	  tests/solvers tests/problem tests/data tests/properties

# The tests of the lab drive a real browser, Debian's; without one they are skipped and say so.
browser:
	command -v chromium >/dev/null || { apt-get update -qq && apt-get install -y -qq --no-install-recommends chromium; }

# Torch is no part of the lock, since its builds differ by machine: the one that pip finds here. The
# tests of the accelerator run it on the processor; without torch they are skipped and say so.
torch: $(READY)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check torch==2.13.0

check: $(READY)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

# LIBLINEAR, LIBSVM and Vowpal Wabbit as their authors publish them.
peers: $(VENV)/.peers

checker: $(READY)  ## the stand-alone checker of certificates as one file, separatrix-checker.pyz
	$(BIN)/python -m separatrix.checker.pack separatrix-checker.pyz

bench: $(VENV)/.peers
	$(BIN)/python -m benchmarks.perceptron
	$(BIN)/python -m benchmarks.reading
	$(BIN)/python -m benchmarks.separability
	$(BIN)/python -m benchmarks.machines
	$(BIN)/python -m benchmarks.path
	$(BIN)/python -m benchmarks.lecture_table --picture docs/pictures/lecture_table.svg
	$(BIN)/python -m benchmarks.closed_forms
	$(BIN)/python -m benchmarks.zero_one
	$(BIN)/python -m benchmarks.kernels
	$(BIN)/python -m benchmarks.kernel_growth
	$(BIN)/python -m benchmarks.crammer_singer
	$(BIN)/python -m benchmarks.predict
	$(BIN)/python -m benchmarks.stream
	$(BIN)/python -m benchmarks.distributed
	$(BIN)/python -m benchmarks.lab_load

fuzz: $(READY)  ## 200,000 mutated files of each format: a table or one DataError, nothing else
	$(BIN)/python -m fuzz.reading --files 200000

harden: $(VENV)/.peers  ## every case of the suite, then the long hardening runs (docs/reliability.md)
	SEPARATRIX_CASES=all $(BIN)/python -m pytest -q
	$(BIN)/python -m fuzz.model_files --files 1000000
	$(BIN)/python -m fuzz.altered_models
	$(BIN)/python -m fuzz.peer_models --files 20000
	$(BIN)/python -m fuzz.certificates --forgeries 100000
	$(BIN)/python -m fuzz.checker_agreement --genuine 20000 --altered 200000 --workers 2
	$(BIN)/python -m fuzz.adversary --candidates 1000000 --workers 2
	$(BIN)/python -m fuzz.honest --fits 100000 --workers 2
	NUMBA_BOUNDSCHECK=1 $(BIN)/python -m fuzz.honest --fits 10000 --workers 2
	$(BIN)/python -m fuzz.planted_faults --seeds 3
	$(BIN)/python -m fuzz.inference --problems 10000
	$(BIN)/python -m fuzz.kills --kills 500
	$(BIN)/python -m benchmarks.study_kills --kills 50
	$(BIN)/python -m benchmarks.stream_kills --kills 50
	$(BIN)/python -m fuzz.forks_and_threads --times 1000
	$(BIN)/python -m fuzz.report_names --texts 10000
	$(BIN)/python -m benchmarks.mutants

docs: $(READY)  ## the book, into site/: warnings are errors, no outside request
	$(BIN)/python docs/made/site.py

docs-test: $(READY)  ## every session, command, link and picture of the book
	$(BIN)/python -m pytest -q tests/test_docs.py tests/docs tests/cli/test_help.py

pictures: $(READY)  ## draw again what is made from the code: gallery, decision tree, layers, lecture figures, methods, dark mode, manual page, notebooks, tables of figures
	$(BIN)/python docs/gallery/redraw.py
	$(BIN)/python docs/pictures/decision_tree.py
	$(BIN)/python docs/pictures/lecture_figures.py
	$(BIN)/python docs/pictures/method_pictures.py
	$(BIN)/python docs/pictures/dark_mode.py
	$(BIN)/python docs/pictures/layers.py
	$(BIN)/python docs/made/man_page.py
	$(BIN)/python docs/made/notebooks.py
	$(BIN)/python docs/made/figures.py

wheel-test: $(READY)  ## build wheel and sdist, install the wheel into an empty environment, let it work
	$(BIN)/python docs/made/wheel_test.py

release-check: $(READY)  ## two builds of the same bytes, read by twine, at work on every Python declared
	$(BIN)/python docs/made/release_check.py $(foreach python,$(PYTHONS),--python $(python))

# mlflow and dask ask for different versions of one package, so these tools have their own environment.
tools: $(READY) requirements-tools.lock  ## the page "With other tools", line by line
	$(PYTHON) -m venv .venv-tools
	$(BIN)/uv pip install --quiet --python .venv-tools/bin/python --require-hashes -r requirements-tools.lock
	$(BIN)/uv pip install --quiet --python .venv-tools/bin/python --no-deps -e .
	SEPARATRIX_REQUIRE_TOOLS=1 .venv-tools/bin/python -m pytest -q tests/test_docs.py -k other_tools

lock: $(READY)  ## renew requirements.lock from pyproject.toml
	$(BIN)/uv pip compile --universal --generate-hashes --no-header --python-version 3.11 \
	  --extra dev --extra peers --extra docs --extra lab --extra dask --extra onnx --extra excel pyproject.toml -o requirements.lock
	$(BIN)/uv pip compile --universal --generate-hashes --no-header --python-version 3.11 \
	  --extra bench --constraint requirements.lock pyproject.toml -o requirements-bench.lock
	$(BIN)/uv pip compile --universal --generate-hashes --no-header --python-version 3.11 \
	  --extra tools pyproject.toml -o requirements-tools.lock

$(READY): requirements.lock pyproject.toml
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check uv==$(UV_VERSION)
	$(BIN)/uv pip install --quiet --python $(BIN)/python --require-hashes --compile-bytecode -r requirements.lock
	$(BIN)/uv pip install --quiet --python $(BIN)/python --no-deps -e .
	touch $@

# LIBLINEAR and LIBSVM as their authors publish them: built here, so a C++ compiler is needed.
$(VENV)/.peers: $(READY) requirements-bench.lock
	$(BIN)/uv pip install --quiet --python $(BIN)/python --require-hashes -r requirements-bench.lock
	touch $@

clean:
	rm -rf $(VENV) .venv-tools out site dist build .pytest_cache .mypy_cache .ruff_cache .hypothesis .coverage .coverage.* .import_linter_cache
