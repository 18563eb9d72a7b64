# make demo       install, train on generated references, load new ones into a database
# make test       tests, doctests, linters, spelling, types, the kernels under sanitizers
# make test-all   the same, loads into databases that are killed 200 times, and Spark (needs a JDK)
# The other targets are for developers.  Everything is installed into .venv.

VENV := .venv
PYTHON := $(VENV)/bin/python
PIP := $(VENV)/bin/pip --disable-pip-version-check -q
CPP := $(shell find cpp -name '*.cpp' -o -name '*.hpp')
SOURCES := $(CPP) CMakeLists.txt pyproject.toml
MODULES := $(shell find src -name '*.py' | sort)
# pip's editable install knows the modules that were there when it was made.
NAMES := $(shell find src -name '*.py' | sort | cksum | cut -d' ' -f1)

.PHONY: demo test test-all setup lint types docs bench sanitize stubs browser wheel clean

demo: $(VENV)/.installed-$(NAMES) $(VENV)/.stored
	$(VENV)/bin/caesura demo

test: $(VENV)/.installed-$(NAMES) $(VENV)/.tested
	$(MAKE) --no-print-directory lint types sanitize browser
	$(PYTHON) -m pytest -q -n auto

test-all: test
	$(PYTHON) -W ignore bench/kill.py --moments 50
	$(PIP) install "pyspark>=3.5"
	$(PYTHON) -m pytest -q tests/spark.py

setup: $(VENV)/.installed-$(NAMES) $(VENV)/.tested $(VENV)/.documented

$(VENV)/.made:
	python3 -m venv $(VENV)
	$(PIP) install "pip>=25.1"
	touch $@

$(VENV)/.built: $(VENV)/.made pyproject.toml
	$(PIP) install --group build
	touch $@

$(VENV)/.installed-$(NAMES): $(VENV)/.built $(SOURCES)
	$(PIP) install --no-build-isolation -e .
	rm -f $(VENV)/.installed-*
	touch $@

$(VENV)/.stored: $(VENV)/.made pyproject.toml
	$(PIP) install "duckdb>=1.1" "pyarrow>=15"
	touch $@

# torch first and by version: the neural part is tested with its build for the CPU.
$(VENV)/.tested: $(VENV)/.made pyproject.toml
	$(PIP) install torch==2.13.0
	$(PIP) install --group test --group lint
	touch $@

$(VENV)/.documented: $(VENV)/.made pyproject.toml
	$(PIP) install --group docs
	touch $@

lint: $(VENV)/.tested
	$(VENV)/bin/ruff check .
	$(VENV)/bin/ruff format --check .
	$(VENV)/bin/clang-format --dry-run --Werror $(CPP)
	$(VENV)/bin/codespell

types: $(VENV)/.tested $(VENV)/.installed-$(NAMES)
	$(VENV)/bin/mypy

# The stub of the compiled module is committed, so that type checkers see it.
stubs: $(VENV)/.installed-$(NAMES)
	$(PYTHON) -m nanobind.stubgen -m caesura._kernels -o src/caesura/_kernels.pyi

docs: $(VENV)/.documented $(VENV)/.installed-$(NAMES) $(VENV)/.tested
	$(PYTHON) -m sphinx -q -W --keep-going -b html docs site

bench: $(VENV)/.installed-$(NAMES) $(VENV)/.tested
	$(PIP) install --group bench
	$(PYTHON) bench/run.py

# A wheel for the Python at hand, checked and tried; make wheel BUILD=python3.12 TRY=python3.13 builds
# one for the stable ABI, which 3.12 and all later versions can use.
BUILD := $(PYTHON)
wheel: $(VENV)/.built
	$(PIP) install --group wheel
	$(PYTHON) tools/wheel.py --build $(BUILD) $(if $(TRY),--try $(TRY))

# The kernels' own tests: memory and undefined behaviour for both instruction sets, then threads.
sanitize: build/memory/passed build/threads/passed

build/memory/passed: CHECKS := -DCAESURA_SANITIZE=address,undefined
build/threads/passed: CHECKS := -DCAESURA_SANITIZE=thread -DCAESURA_WIDE=OFF
build/%/passed: $(SOURCES) | $(VENV)/.built
	$(VENV)/bin/cmake -G Ninja -S . -B $(@D) -DCAESURA_TESTS=ON $(CHECKS) \
	  -DCMAKE_MAKE_PROGRAM=$(CURDIR)/$(VENV)/bin/ninja --log-level=WARNING
	$(VENV)/bin/cmake --build $(@D) -- --quiet
	$(VENV)/bin/ctest --test-dir $(@D) --output-on-failure
	touch $@

# What the tests of pages need: Chromium from Debian's package, axe-core from npm. Without them the
# tests that need them are reported as skipped, with the reason.
browser: | $(VENV)/.made
	@command -v chromium >/dev/null || test -n "$$CAESURA_CHROMIUM" || \
	  (test "$$(id -u)" = 0 && command -v apt-get >/dev/null && \
	   (apt-get install -y -qq --no-install-recommends chromium >/dev/null 2>&1 || \
	    (apt-get update -qq && apt-get install -y -qq --no-install-recommends chromium >/dev/null))) || \
	  echo "no Chromium, and it cannot be installed here: the tests of pages will be skipped"
	@test -e $(VENV)/axe/package/axe.min.js || \
	  (mkdir -p $(VENV)/axe && cd $(VENV)/axe && npm pack --silent axe-core@4 >/dev/null 2>&1 && \
	   tar xzf axe-core-*.tgz) || \
	  echo "no axe-core from npm: the tests of accessibility will be skipped"

clean:
	rm -rf $(VENV) build dist site
