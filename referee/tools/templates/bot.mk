# {{ name }}, a bot in {{ language.title }}. `make` lists the targets.
#
#   make play GAME={{ game }} GAMES=10

GAME ?= {{ game }}
GAMES ?= 2
UNTIL ?= 1m
GGP ?= $(or $(shell command -v ggp),$(error ggp is not in PATH: activate its environment, or put its folder there))
RUN := {{ language.run }}
MAKEFLAGS += --no-print-directory

.DEFAULT_GOAL := help
.PHONY: help build check play ladder keep test-a-change clean

help: ## list these targets
	@sed -n 's/^\([a-z-]*\):.*## \(.*\)/  make \1|\2/p' Makefile | while IFS='|' read -r target text; do \
	    printf '%-20s %s\n' "$$target" "$$text"; done

build: {{ language.kept if language.build else "" }} ## make the program{{ "" if language.build else ": nothing to do for a script" }}

{% if language.build %}
{{ language.kept }}: {{ language.source }}
	{{ language.build }}

{% endif %}
check: build ## does it obey the protocol? what to change if not
	$(GGP) check --game $(GAME) -- $(RUN)

play: build ## GAMES=2 games against the built-in bot random; games.jsonl keeps the last ones
	@rm -f games.jsonl
	$(GGP) match $(GAME) {{ name }}="$(RUN)" random --games $(GAMES) --record games.jsonl

ladder: build ## ratings among built-in bots, for UNTIL=1m more; ladder.toml says who plays what
	$(GGP) ladder run ladder.toml --until $(UNTIL) > /dev/null
	$(GGP) ladder standings ladder.toml

keep: build ## keep this version, as the one that the next must beat
	mkdir -p kept
	cp {{ language.kept }} kept/

test-a-change: build ## is it stronger than the version that was kept? a sequential test, which goes on if stopped
	@[ -e kept/{{ language.kept }} ] || { echo "no version is kept: make keep, change the bot, make test-a-change" >&2; exit 2; }
	@! cmp -s {{ language.kept }} kept/{{ language.kept }} || { echo "nothing has changed since make keep" >&2; exit 2; }
	$(GGP) ladder run change.toml > /dev/null
	$(GGP) ladder pair new old change.toml

clean: ## remove what can be made again, but no results
	rm -rf games.jsonl{% if language.build %} {{ language.kept }}{% endif %}{% if language.title == "Java" %} classes{% endif %}

