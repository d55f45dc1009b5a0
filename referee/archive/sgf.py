"""A record as SGF FF[4]: go in the properties that every viewer knows, other games in private ones. It reads no SGF."""

from protocol.records import MovePlayed, Record

_LETTERS = "ABCDEFGHJKLMNOPQRSTUVWXYZ"  # vertices skip I
_POINTS = "abcdefghijklmnopqrstuvwxy"  # SGF does not


def sgf(record: Record) -> str:
    """One game tree, with its LF. A list of dead stones is a comment; times left are BL and WL, in seconds.

    Games other than go have the private properties XG (name), XO (options), XB and XW (moves as in RULES).
    PB and PW are who had the colours in the end, after a swap of sides, because RE names a colour.
    """
    start = record.start
    root = ["FF[4]CA[UTF-8]", _text("AP", "general-game-protocol:1"), _text("GN", start.match)]
    swaps = sum(ply.move == "swap-sides" for ply in record.plies)
    black, white = reversed(start.bots) if swaps % 2 else start.bots
    root += [_text("PB", black.name), _text("PW", white.name), _text("DT", start.started[:10])]
    root += [_text("OT", start.control), _text("RE", (record.end.result or "Void") if record.end else "?")]
    if start.game != "go":
        options = " ".join(f"{name}={value}" for name, value in start.options.items())
        return (
            f"(;{''.join(root)}{_text('XG', start.game)}{_text('XO', options)}{''.join(map(_private, record.plies))})\n"
        )
    size = int(start.options.get("size", "19"))
    root += ["GM[1]", f"SZ[{size}]", _text("KM", start.options.get("komi", "7.5")), "RU[Chinese]"]
    handicap = int(start.options.get("handicap", "0"))
    if handicap:
        stones = "".join(f"[{_point(vertex, size)}]" for vertex in fixed_handicap(size, handicap))
        root.append(f"HA[{handicap}]AB{stones}PL[W]")
    return f"(;{''.join(root)}{''.join(_node(ply, size) for ply in record.plies)})\n"


def fixed_handicap(size: int, stones: int) -> list[str]:
    """The vertices of GTP's `fixed_handicap` (draft 2, 4.1.1): corners, then middles of sides, the centre last."""
    low, middle = (4 if size > 11 else 3), (size + 1) // 2
    high = size + 1 - low
    sides = [(low, middle), (high, middle), (middle, low), (middle, high)]
    points = [(low, low), (high, high), (low, high), (high, low)][: min(stones, 4)]
    points += sides[: (stones - 4) // 2 * 2] if stones > 5 else []
    if stones in (5, 7, 9):
        points.append((middle, middle))
    return [f"{_LETTERS[column - 1]}{row}" for column, row in points]


def _node(ply: MovePlayed, size: int) -> str:
    if ply.move.startswith("dead:"):
        return ";" + _text("C", f"{ply.colour} says {ply.move}")
    colour = ply.colour[0].upper()
    left = "" if ply.left is None else f"{colour}L[{ply.left / 1000:g}]"
    return f";{colour}[{'' if ply.move == 'pass' else _point(ply.move, size)}]{left}"


def _private(ply: MovePlayed) -> str:
    return ";" + _text("X" + ply.colour[0].upper(), ply.move)


def _point(vertex: str, size: int) -> str:
    return _POINTS[_LETTERS.index(vertex[0])] + _POINTS[size - int(vertex[1:])]


def _text(name: str, value: str) -> str:
    """A property; "only ], \\ and : must be escaped" in its value."""
    return f"{name}[{value.replace(chr(92), chr(92) * 2).replace(']', chr(92) + ']')}]"
