"""A site where one text stands wherever bots, engines, authors and operators write something."""

import json
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import replace
from pathlib import Path

from msgspec.structs import replace as changed

from ggp.protocol.drawing import svg
from ggp.protocol.drawing.scene import read_scene
from ggp.protocol.records import Chain, Diagnostics, Event, Record, read_records
from ggp.protocol.rules_text import Rules
from ggp.referee.ladder.store.model import FinishedGame
from ggp.referee.match.bot_spec import read_engine
from ggp.referee.match.engine import Status
from ggp.referee.records import pack, unpack
from ggp.referee.server.web.app import make_app
from ggp.referee.server.web.boards import BoardPool, BoardView
from ggp.referee.server.web.follow import Follower
from ggp.referee.server.web.guard import Guard
from ggp.referee.server.web.seats import Seats
from ggp.referee.server.web.site import Site
from tests.support.stores import Filled, a_season, entrant, ladder, match, pool


class HostileBoards(BoardPool):
    """An engine that says the same everywhere."""

    def __init__(self, text: str) -> None:
        super().__init__(read_engine(None))
        self._text = text

    def view(self, start: object, plies: object, number: int) -> BoardView:
        name = self._text[:20]
        cells = [{"at": name, "x": 0, "y": 0}, {"at": "b", "x": 1, "y": 0}]
        pieces = [{"at": name, "colour": "black", "kind": name}]
        labels = [{"x": 0, "y": 0, "text": name[:12]}]
        scene = read_scene(
            json.dumps({"board": {"kind": "square"}, "cells": cells, "pieces": pieces, "labels": labels})
        )
        drawn, score = svg.draw(scene, self._text), json.dumps({"black": {self._text: self._text}, "white": {}})
        return BoardView(number, Status("play", "black", 1, number), drawn, score, (self._text, name), scene)

    def why_illegal(self, *_: object) -> str:
        return self._text

    def rules(self, game: str) -> Rules:
        turned = "".join(f"&#x{ord(one):x};" for one in self._text)  # as entities, which Markdown decodes
        places = f"[a]({self._text}) ![b]({self._text}) <{self._text}>"
        text = f"# {self._text}\n\n{self._text}\n\n{places}\n\n    {self._text}\n\n{turned}\n\n```{turned}\nx\n```"
        return Rules(text, markdown=True)


def spoiled(one: FinishedGame, text: str) -> FinishedGame:
    """The match with this text wherever somebody else than the referee writes in its record."""
    (record,) = read_records(unpack(one.result.record).splitlines(keepends=True))
    assert isinstance(record, Record) and record.end is not None
    party = changed(record.start.bots[0], name=text, program=text, version=text)
    start = changed(record.start, bots=(party, party), engine=party, control=text, options={text: text})
    said = json.dumps({"winrate": 0.5, "pv": [text, "b"], text: text})
    plies = [changed(ply, move=text, analysis=said, colour="black") for ply in record.plies]
    left = Diagnostics(dialogue=(text, text), stderr=f"{text}\n{text}", exit=text)
    words = {
        "result": text,
        "detail": text,
        "culprit": text,
        "score": text,
        "warnings": (text,),
        "stderr": (text, text),
    }
    end = changed(record.end, diagnostics=left, **words)
    chain, events = Chain(), list[Event]([start, *plies, end])
    lines = b"".join(map(chain.line, events))
    return replace(one, result=replace(one.result, record=pack(lines), detail=text))


@contextmanager
def hostile_site(folder: Path, text: str, seats: "Seats | None" = None) -> Iterator[Guard]:
    """Yield the site of a ladder with two pools, a bot and matches that are full of the text."""
    name = text[:100] if text.isprintable() else "<b>a</b> b"  # a store takes no other names
    pools = [pool("fast"), pool(name, options=text[:50])]
    bots = [entrant(name, pools=[one.name for one in pools]) for name in ("ann", "bob", "cat", "dan", name)]
    with Filled(folder, ladder(bots, pools)) as filled:
        a_season(filled)
        filled.meet(name, "ann", (0, "rules"), (1, "illegal_move"))
        filled.meet("ann", name, (0, "rules"), (1, "time"), pool=name)
        pair = filled.issue("ann", name)
        filled.store.add([spoiled(match(pair, 0, 1, "illegal_move", names=("ann", name)), text)])
        filled.store.note(text, text)
        filled.rate()
        filled.rate(name)
    with closing(HostileBoards(text)) as boards:
        read = Site(str(filled.path), text)
        yield make_app(read, boards, Follower(read.follow), seats=seats)
        read.close()
