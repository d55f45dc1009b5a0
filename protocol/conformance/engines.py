"""The checks of engines (rules 3.0 to 3.4, 7.1): single exchanges about a game, and scripts."""

import re

from ggp.protocol.commands import Who
from ggp.protocol.conformance.checks import Check, Demand, RuleSource

_R, _N = Demand.REQUIRED, Demand.NATIVE
_STATUS = rb"phase=\w+ to_play=(?:black|white|none) seat=[012] ply=\d+(?: [^\n]*)?"


def exchanges(game: str) -> tuple[Check, ...]:
    """The checks that are one exchange, asked about `game`."""
    new = b"ggp-new %b\n" % game.encode()
    listed = re.escape(game.encode())
    started = rb"= " + _STATUS + rb"\n\n"

    def check(
        number: str, title: str, sent: bytes, expected: bytes, remedy: str, demand: Demand = _R, setup: bytes = b""
    ) -> Check:
        return Check(
            number, title, sent, expected, demand, Who.ENGINE, remedy=remedy, source=RuleSource.GGP, setup=setup
        )

    return (
        check("3.1.1", "ggp-version is 1", b"ggp-version\n", rb"= 1\n\n", "answer `1`"),
        check(
            "3.1.2",
            "ggp-games lists the game",
            b"ggp-games\n",
            rb"= (?:.+\n)*%b\n(?:.+\n)*\n" % listed,
            "answer the names of your games, one a line",
        ),
        check("3.1.3", "ggp-new answers a status line", new, started, "answer a whole status line"),
        check(
            "3.1.4",
            "without a game there is none",
            b"ggp-status\n",
            rb"\? no game: use ggp-new\n\n",
            "answer `? no game: use ggp-new` to what needs a game",
            Demand.RECOMMENDED,
        ),
        check(
            "3.1.5",
            "a refused ggp-new changes nothing",
            b"ggp-new no-such-game\nggp-new %b no-such-option=1\nggp-status\n" % game.encode(),
            rb"\? .+\n\n\? .+\n\n" + started,
            "check the game and all options before you give up the present game",
            setup=new,
        ),
        check(
            "3.1.6",
            "there are legal moves",
            b"ggp-legal_moves\n",
            rb"= \S[^\n]*\n\n",
            "answer every legal move, separated by blanks, on one line",
            setup=new,
        ),
        check(
            "3.1.7",
            "an illegal move is refused, with the exact words first",
            b"ggp-play black no-such-move\nggp-status\n",
            rb"\? illegal move[^\n]*\n\n" + started,
            "answer `? illegal move: ` and the reason",
            setup=new,
        ),
        check(
            "3.1.8",
            "another side than the one to play is refused",
            b"ggp-play white pass\n",
            rb"\? .+\n\n",
            "refuse a colour that is not to_play",
            setup=new,
        ),
        check(
            "3.1.9",
            "a new game has no history",
            b"ggp-history\n",
            rb"=\n\n",
            "answer an empty success",
            setup=new,
        ),
    )


def _script(number: str, title: str, script: str, remedy: str, demand: Demand = Demand.RECOMMENDED) -> Check:
    return Check(number, title, demand=demand, who=Who.ENGINE, remedy=remedy, source=RuleSource.GGP, script=script)


ENGINE: tuple[Check, ...] = (
    _script("3.2.1", "every status line has the form", "walk", "write phase, to_play, seat, ply as key=value", _R),
    _script("3.2.2", "a game begins at ply 0, seat 1, black", "walk", "seat 1 acts first, and as black", _R),
    _script("3.2.3", "each ply counts one", "walk", "ply is the number of plies played", _R),
    _script("3.2.4", "result and winner when over, and only then", "walk", "add result= and winner= at the end", _R),
    _script("3.2.5", "ggp-status says what ggp-play said", "walk", "make both from the same state", _R),
    _script("3.3.1", "the canonical move is what ggp-legal_moves listed", "walk", "use one form of a move", _R),
    _script("3.3.2", "moves are read without regard to case", "walk", "fold case before reading a move"),
    _script("3.3.3", "the wrong colour is refused", "walk", "refuse a colour that is not to_play", _R),
    _script("3.3.4", "ggp-legal_moves is sorted by bytes, none twice", "walk", "sort by bytes and drop doubles", _R),
    _script("3.3.5", "ggp-legal agrees with ggp-legal_moves", "walk", "judge a move in one place for both"),
    _script("3.3.6", "a refused move changes nothing", "walk", "check everything before you change anything", _R),
    _script("3.3.7", "ggp-history is what was played", "walk", "answer `seat colour move`, one ply a line", _R),
    _script("3.3.8", "ggp-hash is 16 hex digits", "walk", "write 16 hex digits in lower case"),
    _script("3.3.9", "undo of everything returns to the first position", "walk", "restore everything, hash included"),
    _script("3.3.10", "undo of more than there is fails and changes nothing", "walk", "answer `? cannot undo`"),
    _script("3.3.11", "the same moves lead to the same position", "walk", "let only the moves decide", _R),
    _script("3.3.12", "ggp-score is the JSON that it should be", "walk", "totals that are numbers or null, and final"),
    _script("3.3.13", "ggp-scene can be drawn", "walk", "follow docs/reference/scene.md"),
    _script("3.3.14", "ggp-perft 1 counts the legal moves", "walk", "count what ggp-legal_moves lists"),
    _script("3.3.15", "after the end nothing is legal", "walk", "answer no moves, and refuse every move", _R),
    _script("3.3.16", "ggp-options has the form", "options", "write `name type default domain`", _R),
    _script("3.3.17", "each option takes the ends of its domain", "options", "accept what the table promises"),
    _script("3.3.18", "options that cannot be are refused, the game goes on", "options", "check before you change", _R),
    _script("3.3.19", "ggp-rules is a text", "options", "answer the rules in words"),
    _script("3.3.23", "ggp-rules GAME json is JSON", "options", 'answer {"markdown": "…"} on one line'),
    _script("3.3.20", "ggp-playouts counts its games", "options", "answer games= plies= seconds= black= white= draws="),
    _script("3.3.21", "every listed game begins", "options", "list only what ggp-new can start", _R),
    _script("3.3.22", "the option that is given is the one that counts", "options", "obey size= in ggp-new"),
    _script("3.4.1", "final_score has one of the forms", "views", "`B+3.5`, `W+1`, `B+`, `0`, or `? cannot score`"),
    _script("3.4.2", "clear_board never fails and keeps the options", "views", "start again with the same options"),
    _script("3.4.3", "play and undo act on the same game", "views", "let play answer empty and count in ggp-history"),
    _script("3.4.4", "komi succeeds for every number", "views", "take or ignore it, but do not fail"),
    _script("3.4.5", "boardsize: a view of the size, or unacceptable", "views", "answer `? unacceptable size`"),
    _script("3.4.6", "showboard shows something", "views", "draw the board in text"),
    _script("3.4.7", "handicap and SGF commands are for go", "views", "refuse them in other games"),
    _script("7.1.1", "two sessions do not mix", "sessions", "keep one game for each routing id", _R),
)
