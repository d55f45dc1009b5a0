# {{ name }}, an engine in {{ language.title }}. `make` lists the targets.
#
#   make play GAME={{ game }},size=4 GAMES=10

GAME ?= {{ game }}
GAMES ?= 4
UNTIL ?= 1m
GGP ?= $(or $(shell command -v ggp),$(error ggp is not in PATH: activate its environment, or put its folder there))
ENGINE := {{ language.run }}
MAKEFLAGS += --no-print-directory

.DEFAULT_GOAL := help
.PHONY: help build check play ladder test-a-change clean

help: ## list these targets
	@sed -n 's/^\([a-z-]*\):.*## \(.*\)/  make \1|\2/p' Makefile | while IFS='|' read -r target text; do \
	    printf '%-20s %s\n' "$$target" "$$text"; done

build: {{ language.kept if language.build else "" }} ## make the program{{ "" if language.build else ": nothing to do for a script" }}

{% if language.build %}
{{ language.kept }}: {{ language.source }}
	{{ language.build }}

{% endif %}
check: build ## does it obey the protocol? what to change if not
	$(GGP) check --engine --game $(GAME) -- $(ENGINE)

play: build ## GAMES=4 games between two built-in bots, which play any game; games.jsonl keeps the last ones
	@rm -f games.jsonl
	$(GGP) match --engine "$(ENGINE)" $(GAME) random greedy --games $(GAMES) --openings 1 --record games.jsonl

ladder: build ## ratings of the bots in ladder.toml, for UNTIL=1m more
	$(GGP) ladder run ladder.toml --until $(UNTIL) > /dev/null
	$(GGP) ladder standings ladder.toml

test-a-change: build ## do the rules still give what games.jsonl says? where they do not, at which ply?
	@[ -e games.jsonl ] || { echo "no games are kept: make play, change the engine, make test-a-change" >&2; exit 2; }
	$(GGP) verify --engine "$(ENGINE)" games.jsonl

clean: ## remove what can be made again, but no results
	rm -rf games.jsonl{% if language.build %} {{ language.kept }}{% endif %}

