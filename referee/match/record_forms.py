"""Other forms of a record: SGF, a GTP script, and a GTP regression test."""

from collections.abc import Callable, Iterable, Mapping
from itertools import pairwise

import click

from ggp.protocol.records import MovePlayed, Record, gtp_script
from ggp.protocol.regression import escape
from ggp.protocol.sgf import written, written_point
from ggp.referee.match.player import fixed_handicap
from ggp.referee.terminal import escape_unprintable

# -- A record as SGF FF[4]: go in standard properties, which every viewer knows, other games in private ones.


PROGRAM = "general-game-protocol"
OTHER = 100
"""The GM of every game but go, above all registered numbers (1 to 40). By default FF[4] assumes go."""


def sgf(record: Record) -> str:
    """Return the record as one SGF game tree, ending with LF. Times left are in BL and WL, in seconds.

    Games other than go have GM[100]. Private properties: XO (options) and XT (termination) for every game; XG (name)
    for other games than go; XB and XW (moves as in RULES) for other games, and for lists of dead stones in go, which
    are also written as a comment. PB and PW name the players by their colours at the end, after any swap of sides,
    because RE names a colour.
    """
    start = record.start
    said = [written("GN", start.match)]
    swaps = sum(ply.move == "swap-sides" for ply in record.plies)
    black, white = reversed(start.bots) if swaps % 2 else start.bots
    said += [written("PB", black.name), written("PW", white.name), written("DT", start.started[:10])]
    said += [written("OT", start.time), written("RE", (record.end.result or "Void") if record.end else "?")]
    said += [written("XT", record.end.termination)] if record.end else []
    plies = (sgf_node(start.game, start.options, ply) for ply in record.plies)
    return f"({sgf_root(start.game, start.options, said)}{''.join(plies)})\n"


def sgf_root(game: str, options: Mapping[str, str], said: Iterable[str]) -> str:
    """Return the root node of a game tree.

    Args:
        game: The game.
        options: Its options.
        said: More properties for this node.
    """
    root = ["FF[4]CA[UTF-8]", written("AP", f"{PROGRAM}:1"), *said]
    root += [f"GM[{OTHER}]", written("XG", game)] if game != "go" else []
    root += [written("XO", " ".join(f"{name}={value}" for name, value in options.items()))]
    if game != "go":
        return f";{''.join(root)}"
    size = int(options.get("size", "19"))
    root += ["GM[1]", f"SZ[{size}]", written("KM", options.get("komi", "7.5")), "RU[Chinese]"]
    handicap = int(options.get("handicap", "0"))
    if handicap:
        stones = "".join(f"[{written_point(vertex, size)}]" for vertex in fixed_handicap(size, handicap))
        root.append(f"HA[{handicap}]AB{stones}PL[W]")
    return f";{''.join(root)}"


def sgf_node(game: str, options: Mapping[str, str], ply: MovePlayed) -> str:
    """Return the node of a ply.

    Raises:
        ValueError: The move is not a point of the board.
    """
    if game != "go":
        return _private(ply)
    if ply.move.startswith("dead:"):
        return _private(ply) + written("C", f"{ply.colour} says {ply.move}")
    name, size = ply.colour[0].upper(), int(options.get("size", "19"))
    return f";{name}[{'' if ply.move == 'pass' else written_point(ply.move, size)}]{_left(ply)}"


def _private(ply: MovePlayed) -> str:
    return f";{written('X' + ply.colour[0].upper(), ply.move)}{_left(ply)}"


def _left(ply: MovePlayed) -> str:
    return "" if ply.left is None else f"{ply.colour[0].upper()}L[{ply.left / 1000:.3f}]".replace(".000]", "]")


# -- A record as a GTP regression test, with the answer that each command should get.


def regression(record: Record) -> str:
    """Return numbered commands with expected answers `#? [regular expression]`, as in GNU Go's regression tests.

    For each position the record implies the side to move; for the last one the result, if the game ended by the rules.
    """
    start, end = record.start, record.end
    options = [f"{name}={value}" for name, value in start.options.items()]
    lines = [f"# {start.match}: {start.bots[0].name} - {start.bots[1].name}"]
    lines += [" ".join(["ggp-new", start.game, *options]), ""]
    for ply, following in pairwise((*record.plies, None)):
        assert ply is not None
        lines += [
            f"{10 * ply.ply} ggp-play {ply.colour} {ply.move}",
            f"#? [move={escape(ply.move)} {_then(ply, following)}]",
        ]
        lines.append("")
    plies = len(record.plies)
    if end is not None and end.termination == "rules":
        over = f"phase=over to_play=none seat=0 ply={plies} result={escape(end.result)} winner={end.winner}"
        lines += [f"{10 * plies + 10} ggp-status", f"#? [{over}]", ""]
    return "\n".join(lines)


def _then(ply: MovePlayed, following: MovePlayed | None) -> str:
    if following is None:
        return f"phase=.* ply={ply.ply}.*"
    return f"phase=[a-z]+ to_play={following.colour} seat={following.seat} ply={ply.ply}"


FORMS: dict[str, Callable[[Record], str | bytes]] = {
    "jsonl": Record.lines,
    "gtp": gtp_script,
    "sgf": sgf,
    "tst": regression,
}


def as_form(record: Record, form: str) -> bytes:
    """Convert a record to this form.

    Its options and moves are checked first: a valid hash chain does not prove that we wrote the record.

    Raises:
        ClickException: The record cannot have this form.
    """
    words = [*record.start.options, *record.start.options.values(), *(ply.move for ply in record.plies)]
    try:
        if form != "jsonl" and not all(word.isprintable() and " " not in word for word in words):
            raise ValueError("an option or a move is not one word")
        text = FORMS[form](record)
    except ValueError as error:
        raise click.ClickException(
            escape_unprintable(f"{record.start.match} cannot be written as {form}: {error}")
        ) from None
    return text if isinstance(text, bytes) else text.encode()
