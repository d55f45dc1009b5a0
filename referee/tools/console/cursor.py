"""The engine's place in the tree of variations, and the steps from one place to another.

Each step reads the engine's position first, so other commands may change it in between. What they played is added to
the tree.
"""

import json
from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

from ggp.protocol.grammar import clean_line, parse_command
from ggp.protocol.messages import Reply
from ggp.protocol.records import Record
from ggp.referee.match.engine import Status, parse_status
from ggp.referee.match.outcome import EngineFailed
from ggp.referee.terminal import escape_unprintable
from ggp.referee.tools.console.dialogue import COLOURS, GENMOVES, PLAYS, SET_UPS, UNDOES, move_of
from ggp.referee.tools.console.own_commands import ConsoleError
from ggp.referee.tools.console.tree import GameTree, TreeFull, TreeNode

HISTORY, SCENE = "ggp-history", "ggp-scene"

Ask = Callable[[str], Reply]


class GameFacts(NamedTuple):
    """The game and options that the engine's scene names; None if it does not name them."""

    game: str | None = None
    options: dict[str, str] | None = None


class Cursor:
    """A cursor that moves an engine along a tree. Exceptions of `ask`, which sends a line, pass through."""

    def __init__(
        self,
        ask: Ask,
        tree: GameTree | None = None,
        record: Record | None = None,
        again: Callable[[], Record | None] = lambda: None,
    ) -> None:
        """Begin at the start of a tree.

        Args:
            ask: Asks the engine.
            tree: The tree of one game, to which `goto` returns from any other; None for the engine's current game.
            record: A match whose plies are the main line.
            again: Reads the record again while the match is played.
        """
        self.record = record
        self._ask, self._again = ask, again
        if record is not None and tree is None:
            tree = GameTree(record.start.game, record.start.options)
        self._tree = tree
        self._bound = tree is not None
        self._elsewhere = False  # the last ggp-new began another game
        self._begun = (tree.game, tree.options) if tree else ("", {})  # what ggp-new began
        self._facts: GameFacts | None = None  # what the scene says about our game; None before the first look
        self._at = tree.root if tree else None  # None: unknown until the engine is asked
        self._see_match()

    @property
    def tree(self) -> GameTree:
        """Return the current tree.

        Raises:
            ConsoleError: No game has begun.
        """
        if self._tree is None:
            raise self._no_game()
        return self._tree

    @property
    def main_line(self) -> str:
        """Return the name of the main line for messages."""
        return "match" if self.record else "main line"

    def last(self) -> int:
        """Return the number of plies of the main line, after checking whether the match has more."""
        record = self._again()
        # A rewritten file holds another match, so keep what was read.
        if record is not None and self.record and record.plies[: len(self.record.plies)] == self.record.plies:
            self.record = record
            self._see_match()
        return len(self.record.plies) if self.record else len(self.tree.main_line)

    # -- the engine's position -----------------------------------------------------------------------------------

    def note(self, sent: str, answer: str) -> None:
        """Follow a typed command that changed the position. Plies that are undone later stay as a variation."""
        name, arguments, _ = parse_command(clean_line(sent.encode("utf-8", "replace")))
        if name == "ggp-new" and arguments:
            begun = arguments[0], dict(word.split("=", 1) for word in arguments[1:] if "=" in word)
            same = begun == self._begun
            self._elsewhere = self._bound and not same
            if not (same or self._bound):
                self._begun, self._tree, self._facts = begun, GameTree(*begun), None
            self._at = self._tree.root if self._tree and not self._elsewhere else None
        elif self._at is not None:
            try:
                self._at = self._after(self._at, name, arguments, answer)
            except TreeFull:
                self._at = None

    def where(self) -> TreeNode | None:
        """Ask the engine for its position. Return None if it has another game, or none."""
        reply = self._ask(HISTORY)
        if not reply.ok and reply.text != "unknown command":
            return None
        return self.see(reply, game_facts(self._ask(SCENE)))

    def see(self, history: Reply, facts: GameFacts) -> TreeNode | None:
        """Return the node for an answer to ggp-history and the game in the scene; None for another game."""
        if not self._is_ours(facts):
            return None
        if history.ok:
            node = self.tree.root
            for seat, colour, move in (line.split() for line in history.text.splitlines() if line.count(" ") == 2):
                node = self._add(node, int(seat) if seat in ("1", "2") else 0, colour, move)
            self._at = node
        return self._at or self.tree.root

    def here(self) -> TreeNode:
        """Return the node of the engine's position.

        Raises:
            ConsoleError: The engine has another game, or none.
        """
        at = self.where()
        if at is None:
            raise self._no_game()
        return at

    def status(self) -> Status:
        """Return the engine's status."""
        return self._read(self._ask("ggp-status"))

    def caption(self) -> str:
        """Return the position as one line."""
        at = self.where()
        if at is None:
            return str(self._no_game())
        last = self.last()
        so_far = at.ply >= last and not at.line and self.record and not self.record.end
        move = f": {at.colour} {at.move}" if at.move else ""
        return escape_unprintable(f"{at.place(last)}{move}{', the last so far' if so_far else ''}")

    # -- steps ---------------------------------------------------------------------------------------------------

    def goto(self, place: int | str) -> Status:
        """Go to a ply of the main line (-1 is the last), or to a node by its name."""
        if not self._bound:
            self.here()
        name, last = str(place), self.last()
        node = self.tree.find(name)
        if node is None:
            listed = f"the {self.main_line} has plies 0 to {last}, and :tree lists the variations"
            raise ConsoleError(escape_unprintable(f"there is no ply {name[:40]}: {listed}"), code="no-ply")
        return self.put(node)

    def back(self, count: int) -> Status:
        """Go back by plies."""
        at = self.here()
        path = [self.tree.root, *at.path]
        if not 1 <= count < len(path):
            raise ConsoleError(
                f"there are only {len(path) - 1} plies before this position, so going back {count} is impossible",
                code="no-ply",
            )
        return self.put(path[-count - 1])

    def forward(self, count: int) -> Status:
        """Go forward by plies of the first continuation, at most to its end."""
        at, last = self.here(), self.last()
        onward = at.onward
        if not onward:
            so_far = " so far" if self.record and not self.record.end and not at.line else ""
            of = "the last of its variation" if at.line else f"the last{so_far}"
            raise ConsoleError(f"ply {at.name if at.line else last} is {of}", code="last-ply")
        if count < 1:
            raise ConsoleError(f":forward {count}: write a number of plies from 1", code="usage")
        return self.put(onward[min(count, len(onward)) - 1])

    def play(self, moves: Iterable[str]) -> Status:
        """Play moves, each for the side to move. Moves before an illegal one stay.

        Raises:
            ConsoleError: A move is illegal, or the game is over.
        """
        node, status = self.here(), self.status()
        for move in moves:
            if status.phase == "over":
                raise ConsoleError(f"{move}: the game is over, {status.result}", code="game-over")
            node, status = self._step(node, status, move, f"ply {node.ply + 1}, {status.to_play} {move}")
        return status

    def why(self, move: str) -> str:
        """Return why a move is illegal here; "" if it is legal. If the engine gives no reasons, the move is tried."""
        reply = self._ask(f"ggp-legal {move}")
        if reply.ok:
            legal, _, reason = reply.text.partition(" ")
            return "" if legal == "true" else reason or "the engine gives no reason"
        if reply.text != "unknown command":
            raise ConsoleError(f"the engine answers: {reply.text}", code="engine-refused")
        at = self.here()
        reply = self._ask(f"ggp-play {self.status().to_play} {move}")
        if reply.ok and not self._ask("ggp-undo 1").ok:
            self.put(at, fresh=True)
        return "" if reply.ok else reply.text

    def put(self, node: TreeNode, fresh: bool = False) -> Status:
        """Move the engine to a node by undoing plies, or by a replay from the start if that fails or if `fresh`."""
        at, path = None if fresh else self.where(), node.path
        here = at.path if at is not None else []
        common = sum(one is two for one, two in zip(here, path, strict=False))
        status = None
        if at is not None and self._facts is not None:
            undone = len(here) - common
            reply = self._ask(f"ggp-undo {undone}" if undone else "ggp-status")
            status = self._read(reply) if reply.ok else None
        if status is None:
            status, common = self._read(self._ask(self.tree.new_game)), 0
            self._facts, self._elsewhere = game_facts(self._ask(SCENE)), False
        self._at = at = path[common - 1] if common else self.tree.root
        for step in path[common:]:
            what = f"the engine refuses ply {step.ply}, {status.to_play} {step.move}"
            at, status = self._step(at, status, step.move, what)
        return status

    def _step(self, node: TreeNode, status: Status, move: str, what: str) -> tuple[TreeNode, Status]:
        """Play a move on the engine and in the tree.

        Raises:
            ConsoleError: The move is illegal; the text begins with `what`.
        """
        reply = self._ask(f"ggp-play {status.to_play} {move}")
        if not reply.ok:
            raise ConsoleError(escape_unprintable(f"{what}: {reply.text}"), code="ply-refused")
        played, _, text = reply.text.partition(" ")
        self._at = self._add(node, status.seat, status.to_play, played.removeprefix("move="))
        return self._at, self._read(Reply(True, text))

    # -- the tree ------------------------------------------------------------------------------------------------

    def _is_ours(self, facts: GameFacts) -> bool:
        """Return True if the engine has the game of the tree. Without a fixed tree, adopt the engine's game."""
        ours = self._facts
        if self._bound:
            # Before the first look, another command may have begun a game, so compare at least its name.
            same = facts.game in (None, self.tree.game) if ours is None else facts == ours
            return same and not (self._elsewhere and facts.game is None)
        if self._tree is None or (facts != ours if ours is not None else facts.game not in (None, self._tree.game)):
            if facts.game is None:
                raise ConsoleError("the engine does not name its game: start one with ggp-new", code="no-game")
            self._tree, self._begun = GameTree(facts.game, facts.options or {}), ("", {})
            self._at = self._tree.root
        elif ours is None and facts.options:
            self._tree.options = facts.options
        self._facts = facts
        return True

    def _after(self, node: TreeNode, name: str, arguments: Sequence[str], answer: str) -> TreeNode | None:
        """Return the node after a command that succeeded; None if unknown."""
        colour = COLOURS.get(arguments[0].lower(), "") if arguments else ""
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
        return self.tree.add(node, 0, colour, move) if move else node

    def _add(self, node: TreeNode, seat: int, colour: str, move: str) -> TreeNode:
        try:
            return self.tree.add(node, seat, colour, move)
        except TreeFull as full:
            raise ConsoleError(
                f"{full}: save it with :save FILE.sgf, then start another with ggp-new", code=full.code
            ) from None

    def _see_match(self) -> None:
        if self.record is not None:
            self.tree.see_match(self.record.plies)

    def _no_game(self) -> ConsoleError:
        if self._bound:
            return ConsoleError(
                "the engine plays another game: type :goto PLY to return to the match", code="another-game"
            )
        return ConsoleError("no game has begun: start one with ggp-new GAME", code="no-game")

    def _read(self, reply: Reply) -> Status:
        if not reply.ok:
            raise ConsoleError(f"the engine answers: {reply.text}", code="engine-refused")
        try:
            return parse_status(reply.text)
        except EngineFailed as error:
            raise ConsoleError(str(error), code=error.code) from None


def game_facts(scene: Reply | None) -> GameFacts:
    """Return the game and its options from an answer to ggp-scene."""
    try:
        said = json.loads(scene.text) if scene and scene.ok else {}
        game, options = said.get("game"), said.get("options")
    except (ValueError, AttributeError, RecursionError):
        return GameFacts()
    words = {str(key): str(value) for key, value in options.items()} if isinstance(options, dict) else {}
    known = isinstance(game, str) and all(
        word.isprintable() and " " not in word for word in (game, *words, *words.values())
    )
    return GameFacts(game, words) if known else GameFacts()
