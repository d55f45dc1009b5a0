"""The tree of variations of one game: its plies as nodes, with comments and evaluations. It asks and reads nothing."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from ggp.protocol.errors import CodedError
from ggp.protocol.printed import counted
from ggp.protocol.records import MovePlayed
from ggp.referee.match.setting import new_game

MOST_NODES = 100_000
_LETTERS = "abcdefghijklmnopqrstuvwxyz"


class TreeFull(CodedError):
    """The tree has as many nodes as it may have."""

    code = "tree-full"


class Evaluation(NamedTuple):
    """What a bot said of a position when it was asked for a move: `colour` is the side to move, `analysis` JSON."""

    bot: str
    colour: str
    move: str
    seconds: float
    analysis: str = ""


@dataclass(slots=True, eq=False)
class TreeNode:
    """The position after a ply. The root has no parent, ply 0 and no move.

    `seat` is 0 while it is unknown. `line` is 0 for the main line, else the number of the variation. `recorded`: the
    ply of a match; then `ms`, `left` and `analysis` are as in its record. `evaluations` of the position, by bot.
    """

    parent: "TreeNode | None" = None
    ply: int = 0
    seat: int = 0
    colour: str = ""
    move: str = ""
    line: int = 0
    recorded: bool = False
    ms: int = 0
    left: int | None = None
    analysis: str = ""
    comment: str = ""
    evaluations: dict[str, Evaluation] = field(default_factory=dict)
    children: "list[TreeNode]" = field(default_factory=list)

    @property
    def name(self) -> str:
        """`17` on the main line, `17b` in variation b."""
        return f"{self.ply}{letters(self.line)}"

    @property
    def path(self) -> "list[TreeNode]":
        """The nodes from the first ply to this one."""
        nodes, node = list[TreeNode](), self
        while node.parent is not None:
            nodes.append(node)
            node = node.parent
        return nodes[::-1]

    @property
    def onward(self) -> "list[TreeNode]":
        """The nodes behind this one: the first continuation of each."""
        nodes, node = list[TreeNode](), self
        while node.children:
            node = node.children[0]
            nodes.append(node)
        return nodes

    @property
    def match_ply(self) -> int:
        """The number of plies from the start that are those of the match."""
        node = self
        while node.parent is not None and not node.recorded:
            node = node.parent
        return node.ply


class GameTree:
    """The variations of a game under one set of options, as ggp-new takes them."""

    def __init__(self, game: str, options: Mapping[str, str]) -> None:
        self.game, self.options = game, dict(options)
        self.about: dict[str, str] = {}  # what a file said of the game, for :info
        self.root = TreeNode()
        self.variations: list[TreeNode] = []  # the first node of each, in the order of their letters
        self.nodes = 1

    @property
    def new_game(self) -> str:
        """The command that begins the game."""
        return new_game(self.game, self.options)

    def add(self, parent: TreeNode, seat: int, colour: str, move: str) -> TreeNode:
        """The node after this move, which is made if it is new. Seat 0 and colour "" are unknown. Raises TreeFull."""
        node = next((child for child in parent.children if child.move.lower() == move.lower()), None)
        if node is None:
            node = self._attach(parent, TreeNode(parent, parent.ply + 1, seat, colour, move))
        elif not node.recorded and seat:  # an answer of the engine knows better than what was typed
            node.seat, node.colour, node.move = seat, colour, move
        return node

    def see_match(self, plies: Sequence[MovePlayed]) -> None:
        """Make the plies of a match the main line. What was tried before they came is a variation. Raises TreeFull."""
        node = self.root
        for ply in plies:
            node = self._recorded(node, ply)

    def line_through(self, node: TreeNode) -> list[TreeNode]:
        """The nodes to this one and behind it."""
        return [*node.path, *node.onward]

    @property
    def size(self) -> str:
        """`12 plies, 1 variation`."""
        plies, lines = self.nodes - 1, len(self.variations)
        return f"{counted(plies, 'ply', 'plies')}, {counted(lines, 'variation')}"

    @property
    def main_line(self) -> list[TreeNode]:
        """Every ply of it."""
        return self.root.onward

    def find(self, name: str) -> TreeNode | None:
        """The node of this name; of the name of a variation alone, its last one; `-1` is the last ply of the main line.

        The name is read in any case of letters.
        """
        digits = name.rstrip(_LETTERS + _LETTERS.upper())
        number = _number(name[len(digits) :].lower())
        if number > len(self.variations) or (digits and not _is_integer(digits)):
            return None
        first = self.variations[number - 1] if number else self.root
        line = [*first.path, *first.onward] if number else [self.root, *first.onward]
        mine = [node for node in line if node.line == number]
        if not digits:
            return mine[-1] if number else None
        ply = int(digits)
        if ply < 0:
            return mine[ply] if not number and -ply <= len(mine) else None
        return next((node for node in mine if node.ply == ply), None)

    def walk(self) -> Iterator[TreeNode]:
        """Every node but the root, each line to its end before the variations that leave it."""
        for first in (self.root, *self.variations):
            for node in (first, *first.onward):
                if node.parent is not None:
                    yield node

    def _attach(self, parent: TreeNode, node: TreeNode) -> TreeNode:
        if self.nodes >= MOST_NODES:
            raise TreeFull(f"the tree holds {MOST_NODES} plies, and no more")
        self.nodes += 1
        parent.children.append(node)
        if len(parent.children) == 1:
            node.line = parent.line
        else:
            self._begin_variation(node)
        return node

    def _begin_variation(self, first: TreeNode) -> None:
        self.variations.append(first)
        for node in (first, *first.onward):
            node.line = len(self.variations)

    def _recorded(self, parent: TreeNode, ply: MovePlayed) -> TreeNode:
        node = next((child for child in parent.children if child.move == ply.move), None)
        if node is not None and node.recorded:
            return node
        if node is None:
            tried = parent.children
            parent.children = []
            node = self._attach(parent, TreeNode(parent, parent.ply + 1))
            parent.children += tried
        elif node.line != parent.line:
            return self._promoted(parent, node, ply)
        if len(parent.children) > 1 and parent.children[1].line == parent.line:
            self._begin_variation(parent.children[1])
        return _filled(node, ply)

    def _promoted(self, parent: TreeNode, node: TreeNode, ply: MovePlayed) -> TreeNode:
        """A variation that the match went on with becomes its line; the one that was first takes the letter."""
        was, number = parent.children[0], node.line
        parent.children.remove(node)
        parent.children.insert(0, node)
        for each in (node, *node.onward):
            each.line = parent.line
        self.variations[number - 1] = was
        for each in (was, *was.onward):
            each.line = number
        return _filled(node, ply)


def letters(line: int) -> str:
    """ "" for the main line, `a`, `b`, … `z`, `aa` for variations."""
    text = ""
    while line:
        line, rest = divmod(line - 1, 26)
        text = _LETTERS[rest] + text
    return text


def _number(text: str) -> int:
    number = 0
    for letter in text[:6]:
        number = number * 26 + _LETTERS.index(letter) + 1
    return number


def _is_integer(text: str) -> bool:
    digits = text.removeprefix("-")
    return digits.isascii() and digits.isdecimal() and len(digits) < 9


def _filled(node: TreeNode, ply: MovePlayed) -> TreeNode:
    node.seat, node.colour, node.move, node.recorded = ply.seat, ply.colour, ply.move, True
    node.ms, node.left, node.analysis = ply.ms, ply.left, ply.analysis
    return node
