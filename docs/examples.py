"""Worked examples of the rules, as a table: games up to a position, and what it shows. pictures draws them."""

from typing import NamedTuple


class Example(NamedTuple):
    """A position, reached by legal `moves` from the start of a game, and what it shows.

    In this position every move of `legal` can be played and none of `illegal`; if the game ended here, its result would
    be `standing`. The page shows it at the end of the section with the heading `section`.
    """

    game: str
    name: str
    section: str
    title: str
    caption: str
    options: str
    moves: str
    legal: str = ""
    illegal: str = ""
    standing: str = ""


YUGO_CAPTURE = "E1 A2 B2 D1 C5 E5 B3 E4 E3 E2 A3 D5"
TWO_WALLS = "B1 D1 B2 D2 B3 D3 B4 D4 B5 D5"
TAUGO_CUT = "D3 C5 D4 D5 G3 E5"
TAIGO_RING = "1,1/2,1 2,-1/3,-1"
LAIDO_CHAIN = "A4 A5 B4 B5 C4 C5 E4 D5 F4 E5 G4 F5 C3 A7 D2 C7 E2 E1 E3 G2"
STIGMERGY_SIGHT = "F5 E3 D5 C3 E6 H3 E2"

EXAMPLES = (
    Example(
        "go",
        "go-ko",
        "Ko",
        "A ko",
        "White has just captured a stone at C2 by playing B2. Black may not capture back at once, because the board "
        "would be as it was before. After a turn elsewhere and an answer to it, Black may.",
        "size=5 komi=0.5",
        "B1 C1 A2 D2 B3 C3 C2 B2",
        legal="E5",
        illegal="C2",
    ),
    Example(
        "go",
        "go-area",
        "End and score",
        "Counting the area",
        "Black has 5 stones and the 5 points of column A; White has as many on the other side, and the komi of ½. "
        "Column C touches both colours and belongs to neither side. White wins by half a point.",
        "size=5 komi=0.5",
        TWO_WALLS,
        standing="W+0.5",
    ),
    Example(
        "yugo",
        "yugo-before",
        "Turns",
        "Pawn or king",
        "D4 is the last liberty of the white pawns D5, E5 and E4. A black piece there surrounds them, so it cannot "
        "be a pawn: it is a king.",
        "size=5",
        YUGO_CAPTURE,
        legal="D4",
    ),
    Example(
        "yugo",
        "yugo-after",
        "Turns",
        "A capture",
        "Black played D4. The surrounded pawns are gone and the new king stays for ever. Kings wear a crown, and the "
        "ring marks the last move.",
        "size=5",
        f"{YUGO_CAPTURE} D4",
    ),
    Example(
        "yugo",
        "yugo-own",
        "Turns",
        "A king that costs its own side a pawn",
        "White has just played the king B4. It surrounds the black king C4, from which nothing can be removed. After "
        "that White's own group of A4 and B4 is surrounded, so its pawn A4 is removed.",
        "size=4",
        "B3 B4 A3 A4 B2 C3 C4 A4 A2 D4 B1 B4",
        legal="A4",
    ),
    Example(
        "yugo",
        "yugo-count",
        "End and score",
        "Counting",
        "Each side has 5 pawns with liberties and 5 points of territory; column C belongs to neither side. Black has "
        "the button, worth ½, and leads by 10½ to 10.",
        "size=5 komi=0",
        f"{TWO_WALLS} button",
        standing="B+0.5",
    ),
    Example(
        "taugo",
        "taugo-before-cut",
        "Cuts",
        "Before a cut",
        "D4 is lateral: it has one black neighbour, D3. D5 is central: it has two white neighbours. D6 is empty. So "
        "Black may play D5+D6 or D5+D6+D7. Black may not stop at D5, inside the enemy stones, and may not run on to "
        "D8, an edge point that is not a cut point here.",
        "size=8",
        TAUGO_CUT,
        legal="D5+D6 D5+D6+D7",
        illegal="D5 D5+D6+D7+D8",
    ),
    Example(
        "taugo",
        "taugo-cut",
        "Cuts",
        "The cut",
        "Black played D5+D6+D7: D5 has been replaced, D6 was the cut point, and D7 prolongs the run. White's string "
        "is cut into C5 and E5.",
        "size=8",
        f"{TAUGO_CUT} D5+D6+D7",
        standing="B+2",
    ),
    Example(
        "taugo",
        "taugo-edge",
        "Cuts",
        "A cut to the edge",
        "Black played D7+D8: D7 has been replaced, and the edge point D8 was the cut point. This is the only way "
        "onto the edge. D8 has one neighbour, D7.",
        "size=8",
        "D5 C7 D6 D7 G3 E7 D7+D8",
        standing="B+1",
    ),
    Example(
        "taugo",
        "taugo-knot",
        "Knots",
        "A knot",
        "Black may not fill E5 in any way, because D4, E4, D5 and E5 would be a knot.",
        "size=8",
        "D4 G7 E4 F7 D5 B7",
        legal="D6",
        illegal="E5 E5+E6 E5+F5",
    ),
    Example(
        "taugo",
        "taugo-edge-knot",
        "Knots",
        "A knot on the edge",
        "F8 is a black edge stone. Black may not cut with E6+E7+E8, because E7, F7, E8 and F8 would be a knot.",
        "size=8",
        "G3 G7 E5 C4 F3 E6 G2 F7+E7 D6 D7+C7 F4+F5+F6+F7+F8 F6+G6",
        legal="C6+B6",
        illegal="E6+E7 E6+E7+E8",
    ),
    Example(
        "taugo",
        "taugo-score",
        "End and score",
        "Counting",
        "The game is over. White's string has six perimeter stones, worth 1+2+3+4+5+6 = 21, and White has fewer "
        "strings, worth ½. Black's strings have four and one, worth 10 + 1. White wins by 10½.",
        "size=8",
        "B3 D7 B4+B5+B6 E7+F7+G7 G4 G6+G5 pass pass",
        standing="W+10.5",
    ),
    Example(
        "taigo",
        "taigo-before-hole",
        "Turns",
        "Before a hole closes",
        "A tile on 3,0 and 4,0 leaves the single empty cell 2,0 behind, which must be filled in the same turn. "
        "Either way round and with either cone, that makes four moves. Without a cone there is none.",
        "",
        TAIGO_RING,
        legal="3,0/4,0+d:2,0 3,0/4,0+l:2,0 4,0/3,0+d:2,0 4,0/3,0+l:2,0",
        illegal="3,0/4,0 4,0/3,0",
    ),
    Example(
        "taigo",
        "taigo-hole",
        "Turns",
        "A hole is filled",
        "Black played 3,0/4,0+l:2,0: the tile closed the ring round 2,0, and Black chose a Light cone for the hole. "
        "Cones are triangles.",
        "",
        f"{TAIGO_RING} 3,0/4,0+l:2,0",
    ),
    Example(
        "taigo",
        "taigo-gap",
        "Turns",
        "A gap of two cells",
        "White's tile 3,1/3,2 closed the ring round 2,0 and 3,0. Each of these two cells has an empty neighbour, the "
        "other one, so neither is a hole and no cone was placed. A tile fits there, either way round.",
        "",
        f"{TAIGO_RING} 4,-1/4,0 3,1/3,2",
        legal="2,0/3,0 3,0/2,0",
    ),
    Example(
        "taigo",
        "taigo-lines",
        "End and result",
        "Two lines at once",
        "White's tile 0,4/1,4 completed five in a row for both colours. White made the move, so Black wins.",
        "",
        "0,1/1,1 0,2/1,2 0,3/1,3 0,4/1,4",
        standing="B+",
    ),
    Example(
        "laido",
        "laido-chain",
        "Values and the end",
        "The value of a group",
        "Black's ten stones are one group. The shortest chain in it from one edge stone to another has nine stones, "
        "all but C4, so the group is worth 9 − 1 = 8. White's best group, row 5, is worth 6. Black leads by 2.",
        "size=4",
        LAIDO_CHAIN,
        standing="B+2",
    ),
    Example(
        "laido",
        "laido-short",
        "Values and the end",
        "A stone that costs points",
        "Black added D4. Now the shortest chain is row 4 with seven stones, and the other four are surplus: 7 − 4 = "
        "3. White leads by 3.",
        "size=4",
        f"{LAIDO_CHAIN} D4",
        standing="W+3",
    ),
    Example(
        "laido",
        "laido-game",
        "Values and the end",
        "A whole game",
        "On the smallest board Black's three stones are worth 3 and White's two are worth 2. After two passes Black "
        "has won by 1.",
        "size=2",
        "C2 A2 B2 B1 A3 pass pass",
        standing="B+1",
    ),
    Example(
        "stigmergy",
        "stigmergy-uncontrolled",
        "Sight and control",
        "Three stones are not enough",
        "E5 sees the black stones D5, F5 and E6. It also sees White's E3, which hides E2 from it. Three is not more "
        "than half of its six neighbours, so neither side controls E5 and White may play there.",
        "size=5 komi=0",
        STIGMERGY_SIGHT,
        legal="E5",
    ),
    Example(
        "stigmergy",
        "stigmergy-control",
        "Sight and control",
        "Four are",
        "With a fourth black stone, G3, Black controls E5: the hatched cell is closed to White. A white stone at F4 "
        "would hide G3 and open it again.",
        "size=5 komi=0",
        f"{STIGMERGY_SIGHT} J4 G3",
        legal="F4",
        illegal="E5",
    ),
    Example(
        "stigmergy",
        "stigmergy-corner",
        "Sight and control",
        "Edge and corner",
        "The corner G4 has three neighbours, so the two black stones that it sees, D4 and G1, are enough: Black "
        "controls it. The edge cell G3 has four neighbours and sees only G1, so neither side controls it.",
        "size=4 komi=0",
        "D4 F5 G1",
        legal="G3",
        illegal="G4",
    ),
    Example(
        "stigmergy",
        "stigmergy-pass",
        "End and score",
        "Nothing left but to pass",
        "Black controls both empty cells, and White controls no cell with a black stone, so White can only pass. If "
        "the game ended here, Black would win by 5 to 2.",
        "size=2 komi=0",
        "B2 A2 C2 B1 A3",
        legal="pass",
        illegal="B3 C1 A3 B2 C2",
        standing="B+3",
    ),
)
