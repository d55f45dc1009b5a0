"""A tree search for games without a compiled core: games in plain Python, or of an engine over the wire.

It is UCT: it chooses a child by its wins and by how rarely it was tried, and plays one random game from each new leaf.
It does less than the core's search (no priors, and no proofs except moves that end the game), but its results have the
same form.
"""

import math
import random
import time

from ggp.engines.game import Search, State

_SWAP = "swap-sides"
_CURIOSITY = 0.7  # weight of the exploration term
_NODES_PER_MB = 500


class SearchNode:
    """A position of the tree; `black` is the number of random games through it that Black won."""

    __slots__ = ("black", "children", "left", "move", "state", "visits")

    def __init__(self, state: State, move: str = "") -> None:
        self.state, self.move = state, move
        self.visits, self.black = 0, 0.0
        self.children: list[SearchNode] = []
        self.left: list[str] | None = None  # moves without a child; None until they are needed

    def share(self, colour: str) -> float:
        """Return the share of games that this colour won, from 0 to 1."""
        black = self.black / self.visits if self.visits else 0.5
        return black if colour == "black" else 1 - black


class TreeSearch(Search):
    """A search in plain Python; see ggp.engines.game.Search."""

    def __init__(self, state: State, seed: int, megabytes: int) -> None:
        self._chance = random.Random(seed)
        self._most = megabytes * _NODES_PER_MB
        self._root = SearchNode(state.copy())
        self._nodes = 1

    def run(self, playouts: int = 0, seconds: float = 0.0) -> None:
        """Play more random games, up to this number or time."""
        if not (playouts or seconds):
            raise ValueError("a search needs a number of playouts or a time")
        deadline = time.monotonic() + seconds if seconds else math.inf
        done = 0
        while (not playouts or done < playouts) and (done == 0 or time.monotonic() < deadline):
            self._sample()
            done += 1

    def play(self, move: str) -> None:
        """Continue from the position after a move."""
        state = self._root.state.copy()
        played = state.play(move)
        known = next((child for child in self._root.children if child.move == played), None)
        self._root = known or SearchNode(state)
        self._nodes = _size(self._root)

    def votes(self) -> list[tuple[str, int, float, str]]:
        """Return the moves with their playouts, shares and proofs, best first."""
        colour = self._root.state.to_play
        ranked = sorted(self._root.children, key=lambda child: (_worth(child, colour), child.visits), reverse=True)
        tried = sorted(ranked, key=lambda child: (_proof(child, colour) == "win", child.visits), reverse=True)
        return [(child.move, child.visits, child.share(colour), _proof(child, colour)) for child in tried]

    def line(self) -> list[str]:
        """Return the most visited moves of both sides from here."""
        node, moves = self._root, list[str]()
        while node.children:
            node = max(node.children, key=lambda child: child.visits)
            moves.append(node.move)
        return moves

    def hash(self) -> int:
        """Return the hash of the position."""
        return self._root.state.hash()

    @property
    def swap_follows(self) -> bool:
        """Return True if the opponent may answer the best move by swapping sides."""
        votes = self.votes()
        best = next((child for child in self._root.children if votes and child.move == votes[0][0]), None)
        return best is not None and best.state.phase != "over" and _SWAP in best.state.legal_moves()

    @property
    def nodes(self) -> int:
        """Return the number of nodes in the tree."""
        return self._nodes

    def _sample(self) -> None:
        """Play one random game from the most promising leaf."""
        path = [self._root]
        while (node := self._next(path[-1])) is not None:
            path.append(node)
            if node.visits == 0:
                break
        state = path[-1].state
        if state.phase == "over":
            black = {"B": 1.0, "W": 0.0}.get(state.result[:1], 0.5)
        else:
            _, won, _, drawn = state.playouts(1, self._chance.getrandbits(63), "rollout")
            black = won + drawn / 2
        for node in path:
            node.visits += 1
            node.black += black

    def _next(self, node: SearchNode) -> SearchNode | None:
        """Return the child to visit, a new one while moves are left; None at the end of the game or of the memory."""
        if node.state.phase == "over":
            return None
        if node.left is None:
            node.left = [move for move in node.state.legal_moves() if move != _SWAP]
            self._chance.shuffle(node.left)
        if node.left and self._nodes < self._most:
            state, move = node.state.copy(), node.left.pop()
            child = SearchNode(state, state.play(move))
            node.children.append(child)
            self._nodes += 1
            return child
        if not node.children:
            return None
        colour, known = node.state.to_play, math.log(node.visits + 1)
        return max(node.children, key=lambda child: _promise(child, colour, known))


def _promise(child: SearchNode, colour: str, known: float) -> float:
    return child.share(colour) + _CURIOSITY * math.sqrt(known / (child.visits + 1e-9))


def _worth(child: SearchNode, colour: str) -> float:
    return {"win": 2.0, "loss": -1.0}.get(_proof(child, colour), child.share(colour))


def _proof(child: SearchNode, colour: str) -> str:
    """Return `win`, `loss` or `draw` for the player if the move ends the game, else ""."""
    if child.state.phase != "over":
        return ""
    result = child.state.result[:1]
    return "draw" if result not in ("B", "W") else "win" if result == colour[0].upper() else "loss"


def _size(root: SearchNode) -> int:
    count, todo = 0, [root]
    while todo:
        node = todo.pop()
        count += 1
        todo += node.children
    return count
