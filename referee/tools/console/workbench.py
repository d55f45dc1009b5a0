"""The workbench: an engine that stands at a node of a tree of variations, and goes from one to another.

The tree begins empty, or with the plies of a match, which may still be played. Each step reads the engine's position
first, so other commands may change it, or restart the engine, in between; what they played is in the tree.
"""

import json
from collections.abc import Callable, Iterable
from itertools import pairwise

from ggp.protocol.grammar import clean_line, parse_command
from ggp.protocol.messages import Reply
from ggp.protocol.records import MovePlayed, Record
from ggp.referee.match.engine import Status, parse_status
from ggp.referee.match.outcome import EngineFailed
from ggp.referee.terminal import escape_unprintable
from ggp.referee.tools.console.dialogue import GENMOVES, PLAYS, SET_UPS, UNDOES, move_of
from ggp.referee.tools.console.own_commands import OwnFailed
from ggp.referee.tools.console.tree import GameTree, TreeFull, TreeNode

HISTORY, STATUS, SCENE = "ggp-history", "ggp-status", "ggp-scene"
ANOTHER_GAME = "the engine has another game before it: :goto PLY returns to the match"
NO_GAME = "no game is begun: ggp-new GAME begins one"

Ask = Callable[[str], Reply]
Change = tuple[str, str]
"""A command that changed the position, and the text of its answer."""
_COLOURS = {"b": "black", "black": "black", "w": "white", "white": "white"}


class Workbench:
    """Moves an engine along a tree. `ask` sends a line and waits for the reply; what it raises goes through."""

    def __init__(
        self,
        ask: Ask,
        tree: GameTree | None = None,
        record: Record | None = None,
        again: Callable[[], Record | None] = lambda: None,
        changes: Callable[[], Iterable[Change]] = lambda: (),
    ) -> None:
        """`tree` of one game, to which `:goto` returns from any other; without one, that of the game at hand.

        `record` of a match: its plies are the main line. `again` reads it again while it is being played. `changes`
        since the last call, of which the engine may have taken back some.
        """
        self.record = record
        self._ask, self._again, self._changes = ask, again, changes
        self._tree = tree
        self._bound = tree is not None
        self._facts: object = None  # what the scene says of game and options, once it is known to be ours
        self._at: TreeNode | None = None
        self._begun: tuple[str, ...] = ()  # the words of the last ggp-new
        if tree is not None:
            self._at = tree.root
            self._see_match()

    @property
    def tree(self) -> GameTree:
        """The tree at hand. Raises OwnFailed if there is none yet."""
        if self._tree is None:
            raise OwnFailed(NO_GAME, code="no-game")
        return self._tree

    @property
    def last(self) -> int:
        """The number of plies of the main line, after a look at whether the match has more."""
        record = self._again()
        # A rewritten file is another match; keep what was read of ours.
        if record is not None and self.record and record.plies[: len(self.record.plies)] == self.record.plies:
            self.record = record
            self._see_match()
        return len(self.record.plies) if self.record else len(self.tree.main_line)

    # -- the engine's position -----------------------------------------------------------------------------------

    def where(self) -> TreeNode | None:
        """Ask the engine; None: it has another game, or none."""
        reply = self._ask(HISTORY)
        if not reply.ok and reply.text != "unknown command":
            return None
        return self.see(reply, self._look())

    def see(self, history: Reply, facts: object) -> TreeNode | None:
        """The node by the answer to ggp-history, and the game of the scene (see facts_of_scene)."""
        changes = list(self._changes())
        begun = next((words for words in map(_new_game, reversed(changes)) if words), self._begun)
        if not self._is_ours(facts, begun):
            self._begun = begun
            return None
        led = self._follow(changes, begun)
        if not history.ok:
            self._at = led or self._at
        else:
            rows = [line.split() for line in history.text.splitlines() if line.count(" ") == 2]
            node = self.tree.root
            for seat, colour, move in rows:
                node = self._add(node, int(seat) if seat in ("1", "2") else 0, colour, move)
            self._at = node
        return self._at or self.tree.root

    def here(self) -> TreeNode:
        """The node at which the engine stands. Raises OwnFailed."""
        at = self.where()
        if at is None:
            raise OwnFailed(ANOTHER_GAME, code="another-game") if self._bound else OwnFailed(NO_GAME, code="no-game")
        return at

    def status(self) -> Status:
        """The status of the position."""
        return self._read(self._ask(STATUS))

    def plies(self) -> list[tuple[str, str]]:
        """Colour and move of every ply before the position."""
        return [(node.colour, node.move) for node in self.here().path]

    # -- steps ---------------------------------------------------------------------------------------------------

    def goto(self, place: int | str) -> Status:
        """Go to a ply of the main line (-1 is the last), or to a node by its name."""
        name, last = str(place), self.last if self._bound else len(self._tree_here().main_line)
        node = self.tree.find(name)
        if node is None and name.lstrip("-").isdecimal():
            line = "match" if self.record else "main line"
            raise OwnFailed(f"there is no ply {name}: the {line} has the plies 0 to {last}", code="no-ply")
        if node is None:
            raise OwnFailed(f"there is no ply {escape_unprintable(name)[:40]}: :tree lists them", code="no-ply")
        return self.put(node)

    def back(self, count: int) -> Status:
        """Go back by plies."""
        path = self.here().path
        if not 1 <= count <= len(path):
            raise OwnFailed(f"only {len(path)} plies precede this, so {count} cannot be taken back", code="no-ply")
        return self.put(path[-count - 1] if count < len(path) else self.tree.root)

    def forward(self, count: int) -> Status:
        """Go forward by plies of the first continuation, at most to its end."""
        at, last = self.here(), self.last
        onward = at.onward
        if not onward:
            what = f"ply {last} is the last" if at.line == 0 else f"ply {at.name} is the last of its variation"
            open_end = self.record is not None and self.record.end is None and at.line == 0
            raise OwnFailed(what + (" so far" if open_end else ""), code="last-ply")
        if count < 1:
            raise OwnFailed(f":forward {count}: write a number of plies from 1 on", code="usage")
        return self.put(onward[min(count, len(onward)) - 1])

    def play(self, moves: Iterable[str]) -> Status:
        """Play moves, each for the side to move; those before an illegal one stay. Raises OwnFailed."""
        node, status = self.here(), self.status()
        for move in moves:
            if status.phase == "over":
                raise OwnFailed(f"{move}: the game is over, {status.result}", code="game-over")
            node, status = self._step(node, status, move, f"ply {node.ply + 1}, {status.to_play} {move}")
        return status

    def why(self, move: str) -> str:
        """Why a move is illegal here, "" if it is legal; the move is tried if the engine gives no reasons."""
        reply = self._ask(f"ggp-legal {move}")
        if reply.ok:
            legal, _, reason = reply.text.partition(" ")
            return "" if legal == "true" else reason or "the engine gives no reason"
        if reply.text != "unknown command":
            raise OwnFailed(f"the engine answers: {reply.text}", code="engine-refused")
        at, status = self.here(), self.status()
        reply = self._ask(f"ggp-play {status.to_play} {move}")
        if reply.ok:
            self._undo_try(at)
        return "" if reply.ok else reply.text

    def caption(self) -> str:
        """The position in a line."""
        at = self.where()
        if at is None:
            return ANOTHER_GAME if self._bound else NO_GAME
        text = f"{place_of(at, self.last)}{f': {at.colour} {at.move}' if at.move else ''}"
        if at.line:
            return escape_unprintable(text)
        return escape_unprintable(
            text if at.ply < self.last or not self.record or self.record.end else f"{text}, the last so far"
        )

    # -- moving the engine ---------------------------------------------------------------------------------------

    def put(self, node: TreeNode, fresh: bool = False) -> Status:
        """Undo as few plies as possible if the engine can, else play all from the start, as always if `fresh`."""
        at, path = None if fresh else self.where(), node.path
        here = at.path if at is not None else []
        common = next((n for n, (one, two) in enumerate(zip(here, path, strict=False)) if one is not two), None)
        common = min(len(here), len(path)) if common is None else common
        status = None
        if at is not None and self._facts is not None:
            undone = len(here) - common
            reply = self._ask(f"ggp-undo {undone}" if undone else STATUS)
            status = self._read(reply) if reply.ok else None
        if status is None:
            status, common = self._read(self._ask(self.tree.new_game)), 0
            self._facts = self._look()
        self._at = path[common - 1] if common else self.tree.root
        for step in path[common:]:
            assert self._at is not None
            what = f"the engine does not take ply {step.ply}, {status.to_play} {step.move}"
            _, status = self._step(self._at, status, step.move, what)
        return status

    def _step(self, node: TreeNode, status: Status, move: str, what: str) -> tuple[TreeNode, Status]:
        """Play a move on the engine and in the tree. Raises OwnFailed, which begins with `what`."""
        reply = self._ask(f"ggp-play {status.to_play} {move}")
        if not reply.ok:
            raise OwnFailed(escape_unprintable(f"{what}: {reply.text}"), code="ply-refused")
        played, _, text = reply.text.partition(" ")
        self._at = self._add(node, status.seat, status.to_play, played.removeprefix("move="))
        return self._at, self._read(Reply(True, text))

    def _undo_try(self, at: TreeNode) -> None:
        """Take back a ply that was tried, which is no variation."""
        if not self._ask("ggp-undo 1").ok:
            self.put(at, fresh=True)

    # -- the tree ------------------------------------------------------------------------------------------------

    def _tree_here(self) -> GameTree:
        self.here()
        return self.tree

    def _is_ours(self, facts: object, begun: tuple[str, ...]) -> bool:
        """Whether the engine has the game of the tree; a workbench without a game of its own takes what there is."""
        if self._bound:
            if self._facts is not None:
                return facts == self._facts
            # Another command began the game: compare at least its name.
            return not (isinstance(facts, list) and facts[0] not in (None, self.tree.game))
        silent = not (isinstance(facts, list) and facts[0])
        if self._tree is None or facts != self._facts or (silent and begun != self._begun):
            game = _game_of(facts, begun)
            if game is None:
                raise OwnFailed("the engine does not say which game it has: begin one with ggp-new", code="no-game")
            self._tree, self._facts, self._begun = GameTree(*game), facts, begun
            self._at = self._tree.root
        return True

    def _follow(self, changes: list[Change], begun: tuple[str, ...]) -> TreeNode | None:
        """Keep as variations what was typed in this game since the last look, also what was taken back.

        Returns where that led, None if it is unknown.
        """
        mine = _new_game((self.tree.new_game, "")) if self._bound else begun
        node = self._at if self._begun in (mine, ()) else None
        for sent, answer in changes:
            if words := _new_game((sent, answer)):
                node = self.tree.root if words == mine else None
            elif node is not None:
                node = self._after(node, sent, answer)
        self._begun = begun
        return node

    def _after(self, node: TreeNode, sent: str, answer: str) -> TreeNode | None:
        """The node after a command that succeeded there; None: unknown until the next game."""
        name, arguments, _ = parse_command(clean_line(sent.encode("utf-8", "replace")))
        colour = _COLOURS.get(arguments[0].lower(), "") if arguments else ""
        if name in UNDOES:
            count = int(arguments[0]) if arguments and arguments[0].isdecimal() and len(arguments[0]) < 7 else 1
            path = [self.tree.root, *node.path]
            return path[max(0, len(path) - 1 - count)]
        if name in ("clear_board", "boardsize"):
            return self.tree.root
        if name in SET_UPS:
            return None
        move = ""
        if name in PLAYS and len(arguments) > 1:
            move = answer.split()[0].removeprefix("move=") if answer.startswith("move=") else arguments[1]
        elif name in GENMOVES:
            move = move_of(answer)
        return self._add(node, 0, colour, move) if move else node

    def _add(self, node: TreeNode, seat: int, colour: str, move: str) -> TreeNode:
        try:
            return self.tree.add(node, seat, colour, move)
        except TreeFull as full:
            raise OwnFailed(f"{full}: :save FILE.sgf, and begin another with ggp-new", code=full.code) from None

    def _see_match(self) -> None:
        if self.record is not None:
            self.tree.see_match(self.record.plies)

    def _look(self) -> object:
        return facts_of_scene(self._ask(SCENE))

    def _read(self, reply: Reply) -> Status:
        if not reply.ok:
            raise OwnFailed(f"the engine answers: {reply.text}", code="engine-refused")
        try:
            return parse_status(reply.text)
        except EngineFailed as error:
            raise OwnFailed(str(error), code=error.code) from None


def place_of(node: TreeNode, last: int) -> str:
    """`ply 17 of 63`; of a variation also where it leaves the main line."""
    if not node.line:
        return f"ply {node.ply} of {last}"
    path = node.path
    left = next((one for one, two in pairwise(path) if one.line != two.line and two.line == node.line), None)
    return f"ply {node.name}, which leaves ply {left.name if left else 0} of {last}"


def facts_of_scene(reply: Reply | None) -> object:
    """Game and options of the engine's scene, "" without a scene."""
    try:
        scene = json.loads(reply.text) if reply and reply.ok else {}
        return [scene.get("game"), scene.get("options")]
    except (ValueError, AttributeError, RecursionError):
        return ""


def played(node: TreeNode, match: str, number: int) -> MovePlayed:
    """The ply of a node as an event of a record."""
    return MovePlayed(number, match, number, node.seat, node.colour, node.move, node.ms, node.left, node.analysis)


def _new_game(change: Change) -> tuple[str, ...]:
    """The words of a ggp-new, () of another command."""
    name, arguments, _ = parse_command(clean_line(change[0].encode("utf-8", "replace")))
    return (arguments[0], *sorted(arguments[1:])) if name == "ggp-new" and arguments else ()


def _game_of(facts: object, begun: tuple[str, ...]) -> tuple[str, dict[str, str]] | None:
    """The game and its options: as the scene has them, else as they were typed."""
    if isinstance(facts, list) and isinstance(facts[0], str):
        options = facts[1] if isinstance(facts[1], dict) else {}
        words = {str(name): str(value) for name, value in options.items()}
        if all(word.isprintable() and " " not in word for word in (facts[0], *words, *words.values())):
            return facts[0], words
    if not begun:
        return None
    return begun[0], dict(word.split("=", 1) for word in begun[1:] if "=" in word)
