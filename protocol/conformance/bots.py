"""The checks of bots (rules 4.1 to 5.2): single exchanges about a game, and scripts."""

from ggp.protocol.commands import Who
from ggp.protocol.conformance.checks import Check, Demand, RuleSource

_R, _F, _N = Demand.REQUIRED, Demand.FORFEIT, Demand.NATIVE


def exchanges(game: str) -> tuple[Check, ...]:
    """The checks of a native bot that are one exchange, asked about `game`."""
    new = b"ggp-new %b\n" % game.encode()

    def check(number: str, title: str, sent: bytes, expected: bytes, remedy: str, setup: bytes = b"") -> Check:
        return Check(number, title, sent, expected, _N, Who.BOT, remedy=remedy, source=RuleSource.GGP, setup=setup)

    return (
        check("4.1.1", "ggp-new starts the game", new, rb"= ?[^\n]*\n\n", "answer a success, empty or a status line"),
        check(
            "4.1.2",
            "genmove answers a move",
            b"genmove black\n",
            rb"= \S+\n\n",
            "answer one word: the move, or resign",
            new,
        ),
        check(
            "4.1.3",
            "an unknown game is refused",
            b"ggp-new no-such-game\n",
            rb"\? .+\n\n",
            "fail for what you cannot play",
        ),
    )


def _script(
    number: str,
    title: str,
    script: str,
    remedy: str,
    demand: Demand = Demand.RECOMMENDED,
    source: RuleSource = RuleSource.GTP,
) -> Check:
    return Check(number, title, demand=demand, who=Who.BOT, remedy=remedy, source=source, script=script)


BOT: tuple[Check, ...] = (
    _script("4.1.4", "it begins a game", "play", "accept ggp-new, or boardsize, clear_board and komi", _R),
    _script("4.1.5", "every game that it lists begins", "play", "list only what you play", source=RuleSource.GGP),
    _script("4.2.1", "genmove answers one word", "play", "answer the move and nothing else", _F),
    _script("4.2.2", "every move of genmove is legal", "play", "judge your moves by the rules of the game", _F),
    _script("4.2.3", "every legal move of the other side is accepted", "play", "accept what the rules allow", _F),
    _script(
        "4.2.4", "phases other than play are answered", "play", "answer bids, swaps and dead lists", _F, RuleSource.GGP
    ),
    _script("4.2.5", "a new game may begin in the middle of one", "turn", "clear everything at a new game", _R),
    _script("4.2.6", "play and genmove may come in one write", "turn", "keep what is left of a read", _R),
    _script("4.2.7", "undo takes back a move", "turn", "take back one ply, and answer empty"),
    _script("4.2.8", "a failed command changes nothing", "turn", "check everything before you change anything"),
    _script("4.2.9", "set_random_seed repeats a game", "seed", "draw all chance from the seed", source=RuleSource.GGP),
    _script("4.2.10", "ggp-result is accepted", "turn", "answer an empty success", _N, RuleSource.GGP),
    _script(
        "4.2.11", "ggp-genmove_analyze: a move, then JSON", "turn", "two lines, the second JSON", _N, RuleSource.GGP
    ),
    _script("4.2.12", "final_status_list dead lists points", "turn", "answer points, separated by blanks or lines"),
    _script("4.2.13", "play answers empty", "turn", "answer play with an empty success"),
    _script("5.1.1", "every clock command that it lists is accepted", "clock", "answer an empty success to it"),
    _script("5.1.2", "with little time it answers in time", "clock", "plan to answer before the time is up", _F),
    _script("5.2.1", "it starts within 60 seconds", "start", "answer sooner, load later", _R, RuleSource.GGP),
    _script("5.2.2", "a new game begins within 30 seconds", "play", "answer sooner, load later", _R, RuleSource.GGP),
    _script("5.2.3", "quit is answered within 3 seconds", "leave", "answer quit at once", source=RuleSource.GGP),
)
