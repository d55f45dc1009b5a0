"""Games whose rules an engine knows: the same methods as those of an installed game, over the wire.

A position is a node of a tree: the move that led to it, and the engine's answers about it. The engine itself stands at
one node. It is moved to another node only to ask for something unknown there, by `ggp-undo` or, without that command,
by a replay. So a copy costs nothing, and a move that was tried before needs no command.
"""

import atexit
import json
import random
import re
import sys
from collections.abc import Sequence
from hashlib import blake2b
from typing import Any
from weakref import WeakValueDictionary

from ggp.bots.engine_client import LONG, EngineClient
from ggp.engines.game import (
    Game,
    IllegalMove,
    Option,
    OptionError,
    Options,
    OptionValue,
    Playouts,
    Policy,
    Scene,
    Score,
    Search,
    State,
    result_by_totals,
    shortest,
)
from ggp.engines.registry import Registry
from ggp.engines.scene import pieces_by_cell
from ggp.protocol.errors import CommandFailed
from ggp.protocol.messages import Reply
from ggp.protocol.rules_text import read_markdown

_MOST_PLIES = 10_000  # plies of a random game, as the engine is asked about each
_NUMBER = re.compile(r"[0-9]{1,9}")


class EngineRegistry(Registry):
    """The games of these engines, and the installed games with other names."""

    def __init__(self, engines: Sequence[str], optional: bool = False) -> None:
        """Connect to the engines.

        Args:
            engines: Their command lines or addresses.
            optional: Leave out the games of an engine that cannot be reached, with a line on stderr.

        Raises:
            OptionError: An engine cannot be reached and is not `optional`, or is not an engine.
        """
        super().__init__()
        self._games: dict[str, ForeignGame] = {}
        self._clients: list[EngineClient] = []
        atexit.register(self.close)
        for where in engines:
            try:
                client = EngineClient(where)
            except OptionError as error:
                if not optional:
                    raise
                print(f"{error}; its games are left out", file=sys.stderr, flush=True)
                continue
            self._clients.append(client)
            try:
                names = client.text("ggp-games").split()
            except CommandFailed as error:
                raise OptionError(f"--engine {where}: {error}") from None
            for name in names:
                self._games.setdefault(name, ForeignGame(client, name))

    def close(self) -> None:
        """End the engines."""
        atexit.unregister(self.close)
        for client in self._clients:
            _standing.pop(client, None)
            client.close()

    def names(self) -> list[str]:
        """Return the sorted names of all games."""
        return sorted({*super().names(), *self._games})

    def load(self, name: str) -> Game:
        """Return the game of that name; an engine's game comes before an installed one."""
        return self._games.get(name) or super().load(name)


class ForeignOption(Option):
    """An option that another engine describes. An unknown type accepts any text."""

    __slots__ = ()

    def parse(self, text: str) -> OptionValue:
        """Parse a value; see Option.parse."""
        return super().parse(text) if self.type in ("int", "half", "bid", "enum") else text


class ForeignGame(Game):
    """A game of an engine. Its options and rules are requested once."""

    def __init__(self, client: EngineClient, name: str) -> None:
        self.name = name
        self._client = client
        self._options: tuple[Option, ...] | None = None
        self._rules: str | None = None
        self._root: Node | None = None

    @property
    def options(self) -> tuple[Option, ...]:  # type: ignore[override]
        """Return the options.

        Raises:
            CommandFailed: The engine does not list them.
        """
        if self._options is None:
            self._client.revive()
            rows = [line.split(maxsplit=3) for line in self._client.text(f"ggp-options {self.name}").splitlines()]
            if any(len(row) < 3 for row in rows):
                raise CommandFailed(
                    f"the engine's options of {self.name} are not in the form `name type default domain`"
                )
            self._options = tuple(ForeignOption(*row, *[""] * (4 - len(row))) for row in rows)
        return self._options

    @property
    def rules(self) -> str:  # type: ignore[override]
        """Return the rules as text."""
        if self._rules is None:
            self._rules = (
                self._asked_rules() if "ggp-rules" in self._client.commands else "The engine does not tell its rules."
            )
        return self._rules

    def _asked_rules(self) -> str:
        (reply,) = self._client.ask(f"ggp-rules {self.name} json")
        markdown = read_markdown(reply.text) if reply.ok else None
        return self._client.text(f"ggp-rules {self.name}") if markdown is None else markdown

    def new(self, options: Options) -> State:
        """Return the position before ply 0."""
        self._client.revive()
        words = [f"{name}={_written(value)}" for name, value in options.items()]
        line = " ".join(["ggp-new", self.name, *words])
        root = self._root
        if root is None or root.table.line != line or root.table.generation != self._client.generation:
            root = self._root = EngineTable(self._client, line).root()
        return ForeignState(root)


_standing: "dict[EngineClient, Node | None]" = {}  # the node of each engine; None if unknown


class EngineTable:
    """A game with its options at an engine."""

    def __init__(self, client: EngineClient, line: str) -> None:
        """Create it for the `ggp-new` command in `line`."""
        self.client, self.line = client, line
        self.generation = client.generation

    def root(self) -> "Node":
        """Start the game and return the position before ply 0.

        Raises:
            OptionError: The engine refuses the options, with its reason.
        """
        begun, legal = self.client.ask(self.line, "ggp-legal_moves")
        if not begun.ok:
            raise OptionError(begun.text)
        node = Node(self, None, "", 0)
        node.take_status(begun.text)
        node.take_legal(legal)
        _standing[self.client] = node
        return node

    def go_to(self, node: "Node") -> None:
        """Move the engine to a node. The answers are checked later."""
        at = _standing.get(self.client)
        if at is node:
            return
        if self.generation != self.client.generation:
            raise CommandFailed("the engine was restarted: begin a new game")
        common, path = node, list[Node]()
        while common.parent is not None and not (at is not None and _is_on(common, at)):
            path.append(common)
            common = common.parent
        if at is None or at.table is not self or not _is_on(common, at):
            self.client.post(self.line, _expect)
        elif at.depth > common.depth:
            if "ggp-undo" in self.client.commands:
                self.client.post(f"ggp-undo {at.depth - common.depth}", _expect)
            else:
                self.client.post(self.line, _expect)
                while common.parent is not None:
                    path.append(common)
                    common = common.parent
        for step in reversed(path):
            assert step.parent is not None
            self.client.post(f"ggp-play {step.parent.colour} {step.move}", _expect)
        _standing[self.client] = node

    def stands_at(self, node: "Node") -> None:
        """Note that the engine stands at this node."""
        _standing[self.client] = node

    def lost(self) -> None:
        """Forget where the engine stands."""
        _standing[self.client] = None


class Node:
    """A position at the engine. `status` and `legal` request what is unknown."""

    __slots__ = ("__weakref__", "_legal", "_status", "children", "colour", "depth", "move", "parent", "table")

    def __init__(self, table: EngineTable, parent: "Node | None", move: str, depth: int) -> None:
        self.table, self.parent, self.move, self.depth = table, parent, move, depth
        self.children: WeakValueDictionary[str, Node] = WeakValueDictionary()
        self._status: dict[str, str] = {}
        self._legal: list[str] | None = None

    def status(self, key: str) -> str:
        """Return a value of the status line, or "" if it has none of that name."""
        if not self._status:
            self.table.client.settle()
        if not self._status:
            raise CommandFailed("the engine sent no valid status: begin a new game")
        return self._status.get(key, "")

    def legal(self) -> list[str]:
        """Return the legal moves."""
        if self._legal is None:
            self.table.go_to(self)
            self.take_legal(self.table.client.ask("ggp-legal_moves")[0])
        assert self._legal is not None
        return self._legal

    def knows_legal(self, move: str) -> bool:
        """Return True if the move is already known to be legal and canonical."""
        return self._legal is not None and move in self._legal

    def child(self, word: str) -> "Node":
        """Return the position after a move, in any form that the engine accepts.

        Raises:
            IllegalMove: The engine refuses the move.
        """
        if (known := self.children.get(word)) is not None:
            return known
        table, client = self.table, self.table.client
        table.go_to(self)
        if self.knows_legal(word):
            return self._follow(word)
        played, legal = client.ask(f"ggp-play {self.status('to_play')} {word}", "ggp-legal_moves")
        if not played.ok:
            self.take_legal(legal)
            raise IllegalMove(played.text.removeprefix("illegal move: ") or f"{word[:40]} is not legal")
        canonical, status = _split_play(played)
        node = self.children.get(canonical) or Node(table, self, canonical, self.depth + 1)
        node.take_status(status)
        node.take_legal(legal)
        self.children[canonical] = node
        table.stands_at(node)
        return node

    def _follow(self, move: str) -> "Node":
        """Play a move that the engine has listed. Its answer is read later."""
        node = Node(self.table, self, move, self.depth + 1)

        def take(reply: Reply) -> None:
            if not reply.ok:
                self.table.lost()
                raise CommandFailed(f"the engine refuses {move}, which it listed as legal: {reply.text}")
            node.take_status(_split_play(reply)[1])

        self.table.client.post(f"ggp-play {self.status('to_play')} {move}", take)
        self.children[move] = node
        self.table.stands_at(node)
        return node

    def take_status(self, text: str) -> None:
        """Keep a status line.

        Raises:
            CommandFailed: It is not valid.
        """
        self._status = dict(word.split("=", 1) for word in text.split() if "=" in word)
        said = self._status
        numbers = [said.get("seat", ""), said.get("ply", ""), said.get("winner", "") or "0"]
        if not {"phase", "to_play"} <= said.keys() or not all(map(_NUMBER.fullmatch, numbers)):
            self._status = {}
            raise CommandFailed(f"the engine's status line is invalid: {text[:100]!r}")
        self.colour = self._status["to_play"]

    def take_legal(self, reply: Reply) -> None:
        """Keep the answer to `ggp-legal_moves`.

        Raises:
            CommandFailed: The engine refused the command.
        """
        if not reply.ok:
            raise CommandFailed(f"the engine refuses ggp-legal_moves: {reply.text}")
        self._legal = reply.text.split()

    def ask(self, line: str, patience: float = LONG) -> str:
        """Send a command at this position and return the answer.

        Raises:
            CommandFailed: The engine refuses it or fails.
        """
        self.table.go_to(self)
        return self.table.client.text(line, patience)


class ForeignState(State):
    """A State (ggp.engines.game) whose rules are in the engine."""

    def __init__(self, node: Node) -> None:
        self._node = node

    @property
    def phase(self) -> str:
        """Return the phase; see State.phase."""
        return self._node.status("phase")

    @property
    def to_play(self) -> str:
        """Return the colour to act, or `none` after the end."""
        return self._node.status("to_play")

    @property
    def seat(self) -> int:
        """Return the seat to act, or 0 after the end."""
        return int(self._node.status("seat"))

    @property
    def ply(self) -> int:
        """Return the number of plies played."""
        return self._node.depth

    @property
    def result(self) -> str:
        """Return the result, or "" before the end."""
        return self._node.status("result")

    @property
    def winner(self) -> int:
        """Return the seat that won, or 0."""
        return int(self._node.status("winner") or 0)

    def play(self, move: str) -> str:
        """Play a move; see State.play."""
        self._node = self._node.child(_word(move))
        return self._node.move

    def why_illegal(self, move: str) -> str:
        """Return the reason why a move is illegal, or ""."""
        try:
            word = _word(move)
        except IllegalMove as error:
            return str(error)
        if self.phase == "over":
            return "the game is over"
        if self._node.knows_legal(word):
            return ""
        if self._lists("ggp-legal"):
            legal, _, reason = self._node.ask(f"ggp-legal {word}").partition(" ")
            return "" if legal == "true" else reason or f"{word[:40]} is not legal"
        try:
            self._node.child(word)
        except IllegalMove as error:
            return str(error)
        return ""

    def legal_moves(self) -> list[str]:
        """Return the legal moves."""
        return list(self._node.legal())

    def hash(self) -> int:
        """Return the engine's hash, or without one a hash of the moves."""
        if self._lists("ggp-hash"):
            return _number(self._node, "ggp-hash", 16)
        return int.from_bytes(blake2b(" ".join(_moves(self._node)).encode(), digest_size=8).digest())

    def copy(self) -> "ForeignState":
        """Return a copy, which costs nothing."""
        return ForeignState(self._node)

    def score(self) -> Score:
        """Return the score, without totals if the engine does not score."""
        nothing: Score = {"black": {"total": None}, "white": {"total": None}}
        if not self._lists("ggp-score"):
            return nothing
        said = _json(self._node.ask("ggp-score"))
        return {colour: said.get(colour) or nothing[colour] for colour in nothing}

    def standing(self) -> str:
        """Return the result if the game ended now; see State.standing."""
        return result_by_totals(self.score())

    def scene(self) -> Scene:
        """Return the drawing, empty if the engine does not draw."""
        if not self._lists("ggp-scene"):
            return {"board": {"kind": "square"}, "cells": [], "pieces": []}
        return _json(self._node.ask("ggp-scene"))

    def groups(self) -> list[list[str]]:
        """Return each piece as a group of its own."""
        return [[cell] for cell in pieces_by_cell(self.scene())] if self._lists("ggp-scene") else []

    def captured(self) -> tuple[int, int]:
        """Return (0, 0): engines do not report captures."""
        return 0, 0

    def perft(self, depth: int) -> int:
        """Return the number of legal move sequences of that length."""
        if self._lists("ggp-perft"):
            return _number(self._node, f"ggp-perft {depth}", 10)
        if depth == 0:
            return 1
        moves = self.legal_moves()
        return (
            len(moves) if depth == 1 else sum(ForeignState(self._node.child(move)).perft(depth - 1) for move in moves)
        )

    def playouts(self, n: int, seed: int, policy: Policy) -> Playouts:
        """Play random games, at the engine if it can."""
        if not self._lists("ggp-playouts"):
            return self._play_out_here(n, seed)
        text = self._node.ask(f"ggp-playouts {n} {seed} {policy}")
        said = dict(word.split("=", 1) for word in text.split() if "=" in word)
        try:
            return Playouts(*(int(said[key]) for key in ("plies", "black", "white", "draws")))
        except (KeyError, ValueError):
            raise CommandFailed(f"the engine's answer to ggp-playouts is invalid: {text[:100]!r}") from None

    def play_out(self, seed: int, policy: Policy) -> None:
        """Play at random to the end.

        Raises:
            CommandFailed: The game does not end.
        """
        chance, last = random.Random(seed), self.ply + _MOST_PLIES
        while moves := self._node.legal():
            if self.ply >= last:
                raise CommandFailed(f"a random game of {self._node.table.line} does not end within {_MOST_PLIES} plies")
            self._node = self._node.child(chance.choice(moves))

    def search(self, seed: int, threads: int, megabytes: int) -> Search | None:
        """Return None: the engine has no search."""
        return None

    def _play_out_here(self, n: int, seed: int) -> Playouts:
        """Play random games over the wire, with one command a ply, for an engine without `ggp-playouts`."""
        chance, plies, ends = random.Random(seed), 0, [0, 0, 0]
        for _ in range(n):
            end = self.copy()
            end.play_out(chance.getrandbits(63), "uniform")
            plies += end.ply - self.ply
            ends["BW".find(end.result[:1])] += 1  # -1, the last index, is a draw
        return Playouts(plies, ends[0], ends[1], ends[2])

    def _lists(self, command: str) -> bool:
        return command in self._node.table.client.commands


def _number(node: Node, line: str, base: int) -> int:
    """Request a number.

    Raises:
        CommandFailed: The answer is not a number.
    """
    text = node.ask(line)
    try:
        return int(text.strip()[:16] or "0", base)
    except ValueError:
        raise CommandFailed(f"the engine's {line.partition(' ')[0]} is not a number: {text[:100]!r}") from None


def _word(move: str) -> str:
    """Return the move if it can be sent as one word.

    Raises:
        IllegalMove: It cannot.
    """
    if not move.isprintable() or "#" in move or len(move.split()) != 1 or len(move) > 8192:
        raise IllegalMove(f"a move is one word, which {move[:40]!r} is not")
    return move


def _written(value: OptionValue) -> str:
    return shortest(value) if isinstance(value, float) else str(value)


def _split_play(reply: Reply) -> tuple[str, str]:
    canonical, _, status = reply.text.partition(" ")
    if not canonical.startswith("move="):
        raise CommandFailed(f"the engine's answer to ggp-play is invalid: {reply.text[:100]!r}")
    return canonical.removeprefix("move="), status


def _expect(reply: Reply) -> None:
    if not reply.ok:
        raise CommandFailed(f"the engine refuses a command that it accepted before: {reply.text[:200]}")


def _json(text: str) -> dict[str, Any]:
    """Parse a JSON object.

    Raises:
        CommandFailed: The text is not one.
    """
    try:
        found = json.loads(text)
    except (ValueError, RecursionError):
        found = None
    if not isinstance(found, dict):
        raise CommandFailed(f"the engine's answer is not a JSON object: {text[:100]!r}")
    return found


def _is_on(node: Node, line: Node) -> bool:
    """Return True if `node` is `line` or one of its ancestors."""
    while line.depth > node.depth and line.parent is not None:
        line = line.parent
    return line is node


def _moves(node: Node) -> list[str]:
    moves = []
    while node.parent is not None:
        moves.append(node.move)
        node = node.parent
    return moves[::-1]
