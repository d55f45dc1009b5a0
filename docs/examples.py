"""Worked examples of the rules, as a table: positions and what they show. pictures draws them."""

from collections.abc import Mapping
from typing import NamedTuple


class Example(NamedTuple):
    """A position and what it shows.

    The pieces are cells by colour and kind, put on the empty board with `side` to move, if there are any; then come
    the `moves`. In the position that is drawn every move of `legal` can be played, none of `illegal` can, and
    scored as it stands it comes to `standing`.
    """

    game: str
    name: str
    title: str
    caption: str
    options: str = ""
    pieces: Mapping[str, str] = {}
    side: str = "black"
    moves: str = ""
    legal: str = ""
    illegal: str = ""
    standing: str = ""


YUGO_FIGHT = {
    "black": "A7 B7 C7 D6 E6 A4 E4 F5 F4 B3 D3",
    "black kings": "C3",
    "white": "A6 B6 A5 D5 E5 B4 C4",
    "white kings": "C6 C5 D4",
}
YUGO_OWN = {"black": "C1 C2 B3", "black kings": "A2", "white": "B1 B2 A3"}
WALLS = {"black": "B1 B2 B3 B4 B5", "white": "D1 D2 D3 D4 D5"}
CUT = {"white": "C5 D5 E5", "black": "D3 D4"}
FENCE = {"black": "D5 D6 D7 D8 F4", "white": "B7 C7"}
TAIGO_RING = {"black": "1,0 -1,1", "white": "0,1 -1,0"}
TAIGO_LINES = {"black": "0,0 1,0 2,0 3,0", "white": "-1,1 0,1 1,1 2,1"}
TAIGO_GAP = {"black": "-1,0 1,-1 2,0", "white": "0,-1 2,-1 -1,1"}
LAIDO_CHAIN = {"black": "A4 B4 C4 E4 F4 G4 C3 D2 E2 E3"}
SEEN = {"black": "F5 D5 E6 E2", "white": "E3"}

EXAMPLES = (
    Example(
        "go",
        "go-ko",
        "A ko",
        "White has just taken a stone at C2 by playing B2. Black may not take it back at once: the board would be "
        "as it was before. After a turn elsewhere and an answer to it Black may.",
        options="size=5 komi=0.5",
        moves="B1 C1 A2 D2 B3 C3 C2 B2",
        legal="E5",
        illegal="C2",
    ),
    Example(
        "go",
        "go-area",
        "Counting the area",
        "Black has 5 stones and the 5 points of column A, White as much on the other side and the komi of ½. "
        "Column C touches both colours and is neutral. White wins by half a point.",
        options="size=5 komi=0.5",
        pieces=WALLS,
        standing="W+0.5",
    ),
    Example(
        "yugo",
        "yugo-before",
        "One point, a pawn or a king",
        "Kings are crowned. A black piece at B5 surrounds enemy groups, so it cannot be a pawn: it is a king. "
        "White can play nothing there.",
        pieces=YUGO_FIGHT,
        legal="B5",
    ),
    Example(
        "yugo",
        "yugo-after",
        "What a king removes",
        "After B5: the pawns of the surrounded groups are gone, their kings C6, C5 and D4 stay for ever. The ring "
        "marks the last move.",
        pieces=YUGO_FIGHT,
        moves="B5",
    ),
    Example(
        "yugo",
        "yugo-own",
        "A king that costs its own side pawns",
        "White has just played the king A1. It surrounds the black king A2, from which nothing is removed; then "
        "White's own pawns B1 and B2 are surrounded, and these are removed.",
        options="size=5",
        pieces=YUGO_OWN,
        side="white",
        moves="A1",
    ),
    Example(
        "yugo",
        "yugo-count",
        "Counting",
        "Each side has 5 pawns with liberties and 5 points of territory; column C is neutral. Black has the button, "
        "worth ½, and leads by 10½ to 10.",
        options="size=5 komi=0",
        pieces=WALLS,
        moves="button",
        standing="B+0.5",
    ),
    Example(
        "taugo",
        "taugo-before-cut",
        "Before the cut",
        "From D4 Black may play D5+D6 or D5+D6+D7. To stop at D5 is illegal, as the run would end inside the enemy "
        "stones; so is D8, an edge point that is no cut point here.",
        options="size=8",
        pieces=CUT,
        legal="D5+D6 D5+D6+D7",
        illegal="D5 D5+D6+D7+D8",
    ),
    Example(
        "taugo",
        "taugo-cut",
        "A cut",
        "Black grew from D4 northward: D5 was white and central, the black stone behind it was lateral, and D6 "
        "was free to be filled as the cut point. Black went on to D7 in the same turn.",
        options="size=8",
        pieces=CUT,
        moves="D5+D6+D7",
    ),
    Example(
        "taugo",
        "taugo-edge",
        "A cut to the edge",
        "The run D7+D8 replaced D7 and filled the edge point D8 as its cut point. Edge points have no lines between "
        "them: D8 hangs on D7 alone. As it stands, Black leads by 2½ to 2.",
        options="size=8",
        pieces={"white": "C7 D7 E7", "black": "D5 D6"},
        moves="D7+D8",
        standing="B+0.5",
    ),
    Example(
        "taugo",
        "taugo-score",
        "Perimeter stones",
        "White cut with D7+E7. White's string has four perimeter stones, B7 to E7, worth 1+2+3+4, and White has "
        "fewer strings, worth ½. Black has 1, for the edge stone D8. White leads by 10½ to 1.",
        options="size=8",
        pieces=FENCE,
        side="white",
        moves="D7+E7",
        standing="W+9.5",
    ),
    Example(
        "taugo",
        "taugo-knot",
        "A knot",
        "Black may not fill E5 in any way: D4, E4, D5 and E5 would be a knot.",
        options="size=8",
        pieces={"black": "D4 E4 D5"},
        illegal="E5 E5+E6 E5+F5",
    ),
    Example(
        "taigo",
        "taigo-before-hole",
        "Before it closes",
        "A tile on 0,-1 and 1,-1, either way round, makes a hole of 0,0, and with either cone: four moves. Without a "
        "cone there is none. The round pieces are halves of tiles; where the other halves lie does not matter here.",
        pieces=TAIGO_RING,
        legal="0,-1/1,-1+d:0,0 0,-1/1,-1+l:0,0 1,-1/0,-1+d:0,0 1,-1/0,-1+l:0,0",
        illegal="0,-1/1,-1 1,-1/0,-1",
    ),
    Example(
        "taigo",
        "taigo-hole",
        "A hole is filled",
        "The tile on 0,-1 and 1,-1 closed the ring round 0,0. This hole had to be filled in the same turn; Black "
        "chose a Light cone. Cones are triangles.",
        pieces=TAIGO_RING,
        moves="0,-1/1,-1+l:0,0",
    ),
    Example(
        "taigo",
        "taigo-gap",
        "A gap of two cells is no hole",
        "The tile on 0,1 and 1,1 closed the ring round 0,0 and 1,0. Each of them has an empty neighbour, so "
        "neither is a hole and no cone was placed. A tile fits in there, either way round.",
        pieces=TAIGO_GAP,
        moves="0,1/1,1",
        legal="0,0/1,0 1,0/0,0",
    ),
    Example(
        "taigo",
        "taigo-lines",
        "Two lines at once",
        "Black's tile completed five in a row for both colours. The opponent of the side that moved wins: White.",
        pieces=TAIGO_LINES,
        moves="4,0/3,1",
        standing="W+",
    ),
    Example(
        "laido",
        "laido-chain",
        "The value of a group",
        "Ten black stones. The shortest chain of them from one edge stone to another has nine, all but C4: 9 - 1 = 8.",
        options="size=4",
        pieces=LAIDO_CHAIN,
        standing="B+8",
    ),
    Example(
        "laido",
        "laido-short",
        "A stone that costs points",
        "One more stone, D4, and the shortest chain is the straight one of seven, which leaves "
        "four beside it: 7 - 4 = 3.",
        options="size=4",
        pieces=LAIDO_CHAIN,
        moves="D4",
        standing="B+3",
    ),
    Example(
        "laido",
        "laido-game",
        "A whole game",
        "On the smallest board Black's three stones are worth 3, White's two 2: after two passes Black has won by 1.",
        options="size=2",
        moves="C2 A2 B2 B1 A3 pass pass",
        standing="B+1",
    ),
    Example(
        "stigmergy",
        "stigmergy-uncontrolled",
        "Three stones are not enough",
        "E5 sees the black stones D5, F5 and E6, and White's E3, which hides E2 from it. Three is no more than "
        "half of its six neighbours, so E5 is uncontrolled. Hatched cells are Black's.",
        options="size=5 komi=0",
        pieces=SEEN,
        side="white",
        legal="E5",
    ),
    Example(
        "stigmergy",
        "stigmergy-control",
        "Four are",
        "With a black stone at G3 as well E5 sees four: it is Black's, and White may not place a stone there. A "
        "white stone at F4 would stand in the way, and E5 be uncontrolled again.",
        options="size=5 komi=0",
        pieces={**SEEN, "black": f"{SEEN['black']} G3"},
        side="white",
        legal="F4",
        illegal="E5",
    ),
    Example(
        "stigmergy",
        "stigmergy-corner",
        "Edge and corner",
        "The corner G4 has three neighbours, so the two black stones that it sees, D4 and G1, are enough: it is "
        "Black's. The edge cell G3 has four and sees only G1: it is uncontrolled.",
        options="size=4 komi=0",
        pieces={"black": "D4 G1", "white": "F5"},
        side="white",
        legal="G3",
        illegal="G4",
    ),
    Example(
        "stigmergy",
        "stigmergy-pass",
        "Nothing left but to pass",
        "Both empty cells are Black's, so White can place nothing, and no black stone stands where White controls. "
        "White can only pass. As it stands, Black leads by 5 to 2.",
        options="size=2 komi=0",
        moves="B2 A2 C2 B1 A3",
        legal="pass",
        illegal="B3 C1 A3 B2 C2",
        standing="B+3",
    ),
)
