"""A record as a GTP regression test: a script that any engine of the game can run, with the answer that each ply should
get. Who runs such scripts is no matter of this file."""

from itertools import pairwise

from protocol.records import MovePlayed, Record
from protocol.regular_expression import escape


def regression(record: Record) -> str:
    """Numbered commands, each with its expectation `#? [regular expression]` below it, as GNU Go's regression has them.

    Of a position the record tells whose turn it was; of the last one the result, if the game was over by the rules.
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
