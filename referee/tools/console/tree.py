"""The tree of variations of one game: its plies as nodes, with comments and evaluations."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise

from msgspec import Struct

from ggp.protocol.errors import CodedError
from ggp.protocol.printed import counted
from ggp.protocol.records import MovePlayed
from ggp.referee.match.setting import new_game

MOST_NODES = 100_000
_LETTERS = "abcdefghijklmnopqrstuvwxyz"


class TreeFull(CodedError):
    """An error when the tree has reached its limit of plies."""

    code = "tree-full"


class Evaluation(Struct, frozen=True):
    """A bot's answer when it was asked for a move: `colour` is the side to move, `analysis` is JSON or ""."""

    bot: str
    colour: str
    move: str
    seconds: float
    analysis: str = ""


@dataclass(slots=True, eq=False)
class TreeNode:
    """The position after a ply."""

    parent: "TreeNode | None" = None  # None for the root, which has ply 0 and no move
    ply: int = 0
    seat: int = 0  # 0 while it is unknown
    colour: str = ""
    move: str = ""
    line: int = 0  # 0 for the main line, else the number of the variation
    recorded: bool = False  # it belongs to a match, and the next three fields come from its record
    ms: int = 0
    left: int | None = None
    analysis: str = ""
    comment: str = ""
    evaluations: dict[str, Evaluation] = field(default_factory=dict)  # by bot: its evaluation of the position
    children: "list[TreeNode]" = field(default_factory=list)

    @property
    def name(self) -> str:
        """Return `17` on the main line, `17b` in variation b."""
        return f"{self.ply}{letters(self.line)}"

    @property
    def path(self) -> "list[TreeNode]":
        """Return the nodes from the first ply to this one."""
        nodes, node = list[TreeNode](), self
        while node.parent is not None:
            nodes.append(node)
            node = node.parent
        return nodes[::-1]

    @property
    def onward(self) -> "list[TreeNode]":
        """Return the nodes after this one, along the first continuations."""
        nodes, node = list[TreeNode](), self
        while node.children:
            node = node.children[0]
            nodes.append(node)
        return nodes

    @property
    def match_ply(self) -> int:
        """Return how many plies from the start belong to the match."""
        node = self
        while node.parent is not None and not node.recorded:
            node = node.parent
        return node.ply

    def place(self, last: int) -> str:
        """Return `ply 17 of 63`; for a variation also the ply of the main line where it begins."""
        if not self.line:
            return f"ply {self.ply} of {last}"
        pairs = pairwise(self.path)
        left = next((one.name for one, two in pairs if one.line != two.line and two.line == self.line), "0")
        return f"ply {self.name}, which leaves ply {left} of {last}"

    def as_ply(self) -> MovePlayed:
        """Return the ply as an event of a record."""
        return MovePlayed(self.ply, "", self.ply, self.seat, self.colour, self.move, self.ms, self.left, self.analysis)


class GameTree:
    """The variations of a game with one set of options."""

    def __init__(self, game: str, options: Mapping[str, str]) -> None:
        self.game, self.options = game, dict(options)
        self.about: dict[str, str] = {}  # facts from a file, for :info
        self.root = TreeNode()
        self.variations: list[TreeNode] = []  # the first node of each variation, in the order of their letters
        self.nodes = 1

    @property
    def new_game(self) -> str:
        """Return the command that begins the game."""
        return new_game(self.game, self.options)

    @property
    def size(self) -> str:
        """Return `12 plies, 1 variation`."""
        return f"{counted(self.nodes - 1, 'ply', 'plies')}, {counted(len(self.variations), 'variation')}"

    @property
    def main_line(self) -> list[TreeNode]:
        """Return the nodes of the main line."""
        return self.root.onward

    def add(self, parent: TreeNode, seat: int, colour: str, move: str) -> TreeNode:
        """Return the node after this move, a new one if needed. Seat 0 means unknown.

        Raises:
            TreeFull: The tree has reached its limit.
        """
        node = next((child for child in parent.children if child.move.lower() == move.lower()), None)
        if node is None:
            node = self._attach(parent)
            node.seat, node.colour, node.move = seat, colour, move
        elif not node.recorded and seat:  # the engine's spelling replaces what was typed
            node.seat, node.colour, node.move = seat, colour, move
        return node

    def see_match(self, plies: Sequence[MovePlayed]) -> None:
        """Make the plies of a match the main line. What was tried in their place becomes a variation.

        Raises:
            TreeFull: The tree has reached its limit.
        """
        parent = self.root
        for ply in plies:
            node = next((child for child in parent.children if child.move == ply.move), None) or self._attach(parent)
            if not node.recorded:
                self._promote(parent, node)
                node.seat, node.colour, node.move, node.recorded = ply.seat, ply.colour, ply.move, True
                node.ms, node.left, node.analysis = ply.ms, ply.left, ply.analysis
            parent = node

    def line_through(self, node: TreeNode) -> list[TreeNode]:
        """Return the nodes before and after this one, and itself."""
        return [*node.path, *node.onward]

    def find(self, name: str) -> TreeNode | None:
        """Return the node with this name, ignoring case.

        `b` is the last node of variation b, `-1` the last ply of the main line.
        """
        digits = name.rstrip(_LETTERS + _LETTERS.upper())
        line = 0
        for letter in name[len(digits) :].lower()[:6]:
            line = line * 26 + _LETTERS.index(letter) + 1
        number = digits.removeprefix("-")
        if line > len(self.variations) or (
            digits and not (number.isascii() and number.isdecimal() and len(number) < 9)
        ):
            return None
        first = self.variations[line - 1] if line else self.root
        mine = [node for node in (first, *first.onward) if node.line == line]
        if not digits:
            return mine[-1] if line else None
        at = int(digits) if digits.startswith("-") else int(digits) - first.ply
        if digits.startswith("-"):
            return mine[at] if not line and 0 < -at <= len(mine) else None
        return mine[at] if 0 <= at < len(mine) else None

    def walk(self) -> Iterator[TreeNode]:
        """Yield every node except the root, each line to its end before the variations that leave it."""
        for first in (self.root, *self.variations):
            yield from (node for node in (first, *first.onward) if node.parent is not None)

    def _attach(self, parent: TreeNode) -> TreeNode:
        """Add an empty node. It begins a variation if it has siblings."""
        if self.nodes >= MOST_NODES:
            raise TreeFull(f"the tree holds {MOST_NODES} plies, which is the limit")
        self.nodes += 1
        node = TreeNode(parent, parent.ply + 1, line=parent.line)
        parent.children.append(node)
        if len(parent.children) > 1:
            self.variations.append(node)
            node.line = len(self.variations)
        return node

    def _promote(self, parent: TreeNode, node: TreeNode) -> None:
        """Make a node the first continuation. The former first one gets its letter."""
        was, number = parent.children[0], node.line
        if was is node:
            return
        parent.children.remove(node)
        parent.children.insert(0, node)
        self.variations[number - 1] = was
        for line, first in ((parent.line, node), (number, was)):
            for each in (first, *first.onward):
                each.line = line


def letters(line: int) -> str:
    """Return "" for the main line, and `a`, `b`, … `z`, `aa` for variations."""
    text = ""
    while line:
        line, rest = divmod(line - 1, 26)
        text = _LETTERS[rest] + text
    return text
