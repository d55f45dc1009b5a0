"""Engines that are not quite ours: `foreign_engine.py KIND WORD …`.

* `without COMMAND …`: our engine without these commands. With `scene=broken` it describes a position that cannot be
  drawn; with `dies` it exits when it is asked for the rules. With `rules=plain` it answers rules as text whatever form
  it is asked for, with `rules=refused` it refuses every other form.
* `wrong FAULT PLY`: our engine until that ply, then it `dies`, `hangs`, `lies` or `refuses` every move.
* `stones SCENE`: another engine, of one game without moves; its scene is `good`, `broken`, `hostile`, `refused` or
  `none`.
"""

import json
import os
import sys
import time

from ggp.engines.registry import Registry
from ggp.engines.service import engine_handlers
from ggp.engines.session import Session, checked
from ggp.protocol.errors import CommandFailed
from ggp.protocol.responder import Handler, Responder
from ggp.protocol.transports.pipe import serve_stdio

LIES = {"ggp-legal_moves": "A1", "ggp-history": "1 black A1"}
STATUS = "phase=play to_play=black seat=1 ply=0"
SCENE = {
    "board": {"kind": "square"},
    "cells": [{"at": "a", "x": 0, "y": 0}, {"at": "b", "x": 1, "y": 0}],
    "pieces": [{"at": "a", "colour": "black", "kind": "tower", "glyph": "#"}, {"at": "b", "colour": "white"}],
}
SCENES = {
    "good": json.dumps(SCENE),
    "broken": '{"board": ' * 9,
    "hostile": json.dumps({**SCENE, "last": ["\x1b[2J"]}),
}


def ours() -> dict[str, Handler]:
    return engine_handlers(Session(Registry()))


def without(words: list[str]) -> dict[str, Handler]:
    handlers = ours()
    if "scene=broken" in words:
        handlers["ggp-scene"] = lambda arguments: "{}"
    rules = handlers["ggp-rules"]
    if "dies" in words:
        handlers["ggp-rules"] = lambda arguments: os._exit(1)
    if "rules=plain" in words:
        handlers["ggp-rules"] = lambda arguments: rules(arguments[:1])
    if "rules=refused" in words:
        handlers["ggp-rules"] = checked({"ggp-rules": (0, 1, rules)})["ggp-rules"]
    return {name: handler for name, handler in handlers.items() if name not in words}


def wrong(fault: str, limit: int) -> dict[str, Handler]:
    plies = 0

    def spoiled(name: str, handler: Handler) -> Handler:
        def answer(arguments: list[str]) -> str:
            nonlocal plies
            plies = 0 if name == "ggp-new" else plies + (name == "ggp-play")
            if plies >= limit and fault == "refuses" and name == "ggp-play":
                raise CommandFailed("illegal move: not today")
            if plies >= limit and fault == "dies":
                os.write(2, b"it has had enough")
                os._exit(1)
            if plies >= limit and fault == "hangs":
                time.sleep(3600)
            text = handler(arguments)
            return LIES[name] if plies >= limit and fault == "lies" and name in LIES else text

        return answer

    return {name: spoiled(name, handler) for name, handler in ours().items()}


def stones(scene: str) -> dict[str, Handler]:
    answers = {"ggp-games": "stones", "ggp-new": STATUS, "ggp-status": STATUS}

    def always(text: str) -> Handler:
        return lambda arguments: text

    def refuse(arguments: list[str]) -> str:
        raise CommandFailed("unknown")

    handlers = {name: always(text) for name, text in answers.items()}
    handlers |= dict.fromkeys(("ggp-options", "ggp-legal_moves", "ggp-history"), refuse)
    handlers["ggp-play"] = lambda arguments: f"move={arguments[1]} {STATUS}"
    if scene != "none":
        handlers["ggp-scene"] = always(SCENES[scene]) if scene in SCENES else refuse
    return handlers


def main(kind: str, words: list[str]) -> None:
    if kind == "without":
        handlers = without(words)
    else:
        handlers = wrong(words[0], int(words[1])) if kind == "wrong" else stones(words[0])
    serve_stdio(Responder("lesser" if kind == "without" else kind, "1", handlers))


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2:])
