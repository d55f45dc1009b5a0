"""The `ggp-` commands of an engine, and the table of all commands. GTP's and GoGui's are in gtp, gtpgo and gogui."""

from collections.abc import Callable, Mapping

from ggp.engines import gogui, gtp, gtpgo, limits
from ggp.engines.fast_path import make_fast_path
from ggp.engines.game import IllegalMove, Policy, State
from ggp.engines.history import GameHistory
from ggp.engines.session import (
    COLOURS,
    Handler,
    Session,
    checked,
    illegal,
    read_colour,
    read_count,
    syntax_error,
    why,
)
from ggp.protocol.entry_points import version
from ggp.protocol.errors import CommandFailed
from ggp.protocol.grammar import MAX_ANSWER_LINES
from ggp.protocol.printed import json_text
from ggp.protocol.responder import Responder
from ggp.protocol.transports.pipe import report_on_stderr

NAME = "ggp-engine"
MAX_UNDO = 10**9
MAX_SEED = 2**64 - 1
RESPONDERS_OWN = ("protocol_version", "name", "version", "known_command", "list_commands", "quit")


Extend = Callable[[Session, Mapping[str, Handler]], dict[str, Handler]]
"""A function that turns the commands of an engine into those of an adapter."""


def make_responder(session: Session, extend: Extend | None = None) -> Responder:
    """Return the answering side of a whole engine, for one controller.

    The known commands depend on the game: those for handicap and SGF are "go only" (PROTOCOL §3). They are known before
    a game has begun, and while the current game is go.
    """
    handlers = engine_handlers(session)
    if extend is not None:
        handlers = extend(session, handlers)
    every = sorted({*handlers, *RESPONDERS_OWN})

    def known() -> list[str]:
        line = session.line
        return every if line is None or line.game.setup else [n for n in every if n not in gtpgo.NAMES]

    handlers.setdefault("version", lambda arguments: version("general-game-protocol"))
    handlers["list_commands"] = lambda arguments: "\n".join(known())
    handlers["known_command"] = lambda arguments: "true" if arguments and arguments[0] in known() else "false"
    responder = Responder(NAME, "", handlers, report_on_stderr)
    if extend is None:
        responder.fast_path = make_fast_path(session)
    return responder


def engine_handlers(session: Session) -> dict[str, Handler]:
    """Return the handlers of all commands of an engine, except those that Responder answers itself."""
    commands = Commands(session)
    return {
        **checked(
            {
                "ggp-version": (0, 0, lambda arguments: "1"),
                "ggp-games": (0, 0, lambda arguments: "\n".join(session.registry.names())),
                "ggp-options": (0, 1, commands.options),
                "ggp-new": (1, 100, commands.new),
                "ggp-status": (0, 0, lambda arguments: status(session.need().state)),
                "ggp-legal": (1, 1, commands.legal),
                "ggp-legal_moves": (0, 0, lambda arguments: " ".join(session.need().state.legal_moves())),
                "ggp-undo": (0, 1, commands.undo),
                "ggp-history": (0, 0, commands.history),
                "ggp-score": (0, 0, commands.score),
                "ggp-scene": (0, 0, commands.scene),
                "ggp-hash": (0, 0, lambda arguments: position_hash(session.need())),
                "ggp-rules": (0, 2, commands.rules),
                "ggp-perft": (1, 1, commands.perft),
                "ggp-playouts": (1, 3, commands.playouts),
            }
        ),
        "ggp-play": commands.play,
        **gtp.handlers(session),
        **gtpgo.handlers(session),
        **gogui.handlers(session),
    }


class Commands:
    """The handlers of the `ggp-` commands that take arguments or need more than one line."""

    def __init__(self, session: Session) -> None:
        self._session = session

    def play(self, arguments: list[str]) -> str:
        """Answer `ggp-play COLOUR MOVE`, strictly by turn.

        Every ply of every match comes here, so this does no more than it must.
        """
        line = self._session.line
        if line is None:
            line = self._session.need()
        if len(arguments) != 2:
            raise syntax_error("ggp-play")
        colour, move = arguments
        try:
            move = line.play(COLOURS.get(colour) or read_colour(colour), move)
        except IllegalMove as error:
            raise illegal(move, error) from None
        return f"move={move} {status(line.state)}"

    def options(self, arguments: list[str]) -> str:
        """Answer `ggp-options [GAME]`."""
        game = self._session.game(arguments[0]) if arguments else self._session.need().game
        return "\n".join(map(str, game.options))

    def new(self, arguments: list[str]) -> str:
        """Answer `ggp-new GAME [NAME=VALUE …]`."""
        return status(self._session.new(arguments[0], arguments[1:]))

    def legal(self, arguments: list[str]) -> str:
        """Answer `ggp-legal MOVE`."""
        (move,) = arguments
        reason = why(move, self._session.need().state.why_illegal(move))
        return f"false {reason}" if reason else "true"

    def undo(self, arguments: list[str]) -> str:
        """Answer `ggp-undo [N]`."""
        self._session.need()
        count = read_count("ggp-undo", arguments[0], 1, MAX_UNDO) if arguments else 1
        return status(self._session.undo(count))

    def history(self, arguments: list[str]) -> str:
        """Answer `ggp-history`."""
        plies = self._session.need().plies
        if len(plies) > MAX_ANSWER_LINES:
            raise CommandFailed(f"{len(plies)} plies do not fit into an answer of {MAX_ANSWER_LINES} lines")
        return "\n".join(f"{seat} {colour} {move}" for seat, colour, move in plies)

    def score(self, arguments: list[str]) -> str:
        """Answer `ggp-score`."""
        state = self._session.need().state
        return json_text({**state.score(), "final": state.phase == "over"})

    def scene(self, arguments: list[str]) -> str:
        """Answer `ggp-scene`."""
        return json_text(self._session.need().scene())

    def rules(self, arguments: list[str]) -> str:
        """Answer `ggp-rules [GAME] [json]`.

        Markdown needs empty lines, but an answer cannot contain any. So the plain text is closed up, and only JSON
        keeps it whole.
        """
        form = arguments[-1:] == ["json"]
        named = arguments[:-1] if form else arguments
        if len(named) > 1:
            raise syntax_error("ggp-rules")
        game = self._session.game(named[0]) if named else self._session.need().game
        if form:
            return json_text({"markdown": game.rules.strip()})
        return "\n".join(line.rstrip() for line in game.rules.splitlines() if line.strip())

    def perft(self, arguments: list[str]) -> str:
        """Answer `ggp-perft DEPTH`."""
        state = self._session.need().state
        return str(limits.perft(state, read_count("DEPTH", arguments[0], 0, limits.MAX_DEPTH)))

    def playouts(self, arguments: list[str]) -> str:
        """Answer `ggp-playouts N [SEED] [uniform|rollout]`."""
        state = self._session.need().state
        n = read_count("N", arguments[0], 1, limits.MAX_PLAYOUTS)
        policy: Policy = "rollout" if arguments[-1].lower() == "rollout" else "uniform"
        rest = arguments[1:-1] if arguments[-1].lower() in ("uniform", "rollout") else arguments[1:]
        if len(rest) > 1:
            raise syntax_error("ggp-playouts")
        seed = read_count("SEED", rest[0], 0, MAX_SEED) if rest else 0
        (plies, black, white, draws), seconds = limits.playouts(state, n, seed, policy)
        return f"games={n} plies={plies} seconds={seconds:.6f} black={black} white={white} draws={draws}"


def status(state: State) -> str:
    """Return the status line of PROTOCOL §3."""
    phase = state.phase
    if phase == "over":
        end = f"result={state.result} winner={state.winner}"
        return f"phase=over to_play=none seat=0 ply={state.ply} {end}"
    return f"phase={phase} to_play={state.to_play} seat={state.seat} ply={state.ply}"


def position_hash(line: GameHistory) -> str:
    """Return 16 hex digits: the state's hash, mixed with the game's name and options."""
    from hashlib import blake2b  # takes milliseconds to import, and few engines are asked for a hash

    options = " ".join(f"{name}={value}" for name, value in line.options.items())
    text = f"{line.game.name} {options} {line.state.hash():016x}"
    return blake2b(text.encode(), digest_size=8).hexdigest()
