"""A record as SGF FF[4]: go in the properties that every viewer knows, other games in private ones.

It reads no SGF (see sgf_games), though what it writes is read there as the same game.
"""

from protocol.records import MovePlayed, Record
from protocol.sgf import written
from referee.play.handicap import LETTERS, fixed_handicap

PROGRAM = "general-game-protocol"
OTHER = 100
"""The GM of every game but go, above all registered numbers (1 to 40). Without one, FF[4] takes the game for go."""

_POINTS = "abcdefghijklmnopqrstuvwxy"  # SGF skips no letter


def sgf(record: Record) -> str:
    """One game tree, with its LF. Times left are BL and WL, in seconds.

    Other games than go have GM[100]. Private properties: XO (options) and XT (termination) of every game, XG (name) of
    all but go, XB and XW (moves as in RULES) of all but go, and of go's lists of dead stones, which are a comment, too.
    PB and PW are who had the colours in the end, after a swap of sides, because RE names a colour.
    """
    start = record.start
    root = ["FF[4]CA[UTF-8]", written("AP", f"{PROGRAM}:1"), written("GN", start.match)]
    swaps = sum(ply.move == "swap-sides" for ply in record.plies)
    black, white = reversed(start.bots) if swaps % 2 else start.bots
    root += [written("PB", black.name), written("PW", white.name), written("DT", start.started[:10])]
    root += [written("OT", start.control), written("RE", (record.end.result or "Void") if record.end else "?")]
    root += [written("XT", record.end.termination)] if record.end else []
    root += [f"GM[{OTHER}]", written("XG", start.game)] if start.game != "go" else []
    root += [written("XO", " ".join(f"{name}={value}" for name, value in start.options.items()))]
    if start.game != "go":
        return f"(;{''.join(root)}{''.join(map(_private, record.plies))})\n"
    size = int(start.options.get("size", "19"))
    root += ["GM[1]", f"SZ[{size}]", written("KM", start.options.get("komi", "7.5")), "RU[Chinese]"]
    handicap = int(start.options.get("handicap", "0"))
    if handicap:
        stones = "".join(f"[{_point(vertex, size)}]" for vertex in fixed_handicap(size, handicap))
        root.append(f"HA[{handicap}]AB{stones}PL[W]")
    return f"(;{''.join(root)}{''.join(_node(ply, size) for ply in record.plies)})\n"


def _node(ply: MovePlayed, size: int) -> str:
    if ply.move.startswith("dead:"):
        return _private(ply) + written("C", f"{ply.colour} says {ply.move}")
    name = ply.colour[0].upper()
    return f";{name}[{'' if ply.move == 'pass' else _point(ply.move, size)}]{_left(ply)}"


def _private(ply: MovePlayed) -> str:
    return f";{written('X' + ply.colour[0].upper(), ply.move)}{_left(ply)}"


def _left(ply: MovePlayed) -> str:
    return "" if ply.left is None else f"{ply.colour[0].upper()}L[{ply.left / 1000:.3f}]".replace(".000]", "]")


def _point(vertex: str, size: int) -> str:
    return _POINTS[LETTERS.index(vertex[0])] + _POINTS[size - int(vertex[1:])]
