"""The referee's side of an engine: typed questions and answers over a channel."""

import json
from decimal import Decimal
from functools import lru_cache
from typing import NamedTuple

from ggp.protocol.channel import PEER_FAULTS
from ggp.protocol.connection import PeerRole
from ggp.protocol.errors import CodedError, PeerTimeout
from ggp.protocol.messages import Reply
from ggp.protocol.records import Party
from ggp.protocol.rules_text import Rules, read_markdown
from ggp.referee.match.bot_spec import BotSpec, HostBusy, LaunchError
from ggp.referee.match.outcome import BotFault, EngineFailed, illegal_move
from ggp.referee.match.process import LAST_WORDS, NO_LIMITS, Peer, ProcessLimits, launch
from ggp.referee.match.setting import TIMEOUTS, Timeouts

REQUIRED = ("ggp-games", "ggp-options", "ggp-new", "ggp-play", "ggp-legal_moves")
_MAX_MOVE = 8192  # characters
OVER, AGREE = "over", "agree"
MOVE_WORDS = ("pass", "button", "swap-sides", "keep-sides")  # moves that are not places on a board


class GameRefused(CodedError):
    """An error when the engine does not know the game or its options; str() is the engine's reason."""

    code = "game-refused"


class Status(NamedTuple):
    """The engine's status line (PROTOCOL §3), which describes a position of any game."""

    phase: str
    to_play: str
    seat: int
    ply: int
    result: str = ""
    winner: int = 0
    max_plies: int = 0  # the longest possible game; only in the answer to `ggp-new`, 0 if the engine does not say


async def start_engine(spec: BotSpec, budgets: Timeouts = TIMEOUTS, limits: ProcessLimits = NO_LIMITS) -> "Engine":
    """Start an engine and ask for its name, version and commands.

    Args:
        spec: The engine.
        budgets: Its time-outs.
        limits: Limits of its process.

    Raises:
        EngineFailed: The engine does not start; the text names its command.
        HostBusy: This machine cannot start a process at the moment.
    """
    try:
        peer = launch(spec, PeerRole.ENGINE, budgets, limits)
        engine = Engine(peer, spec.command, budgets)
        try:
            await engine.start()
        except BaseException:  # Ctrl-C, too
            await peer.stop(kill=True)
            raise
    except HostBusy:
        raise
    except (EngineFailed, LaunchError) as error:
        raise EngineFailed(f"{spec.command}: {error}", code=error.code) from None
    return engine


class Engine:
    """A connection to one engine process. Every fault of the engine raises EngineFailed.

    `lacks` holds the optional commands that it does not list.
    """

    def __init__(self, peer: Peer, command: str, budgets: Timeouts) -> None:
        self.peer = peer
        self.party = Party(name="engine", command=command)
        self.lacks: list[str] = []
        self._channel = peer.channel
        self._budgets = budgets
        self._command = budgets.command
        self._commands: frozenset[str] = frozenset()

    async def start(self) -> None:
        """Ask for the engine's name, version and commands.

        Raises:
            EngineFailed: It does not answer, or lacks a command that the referee needs.
        """
        deadline = self._channel.now() + self._budgets.start
        try:
            name, version, self._commands = await self._channel.introduce(deadline)
        except PEER_FAULTS as error:
            raise self._failed("does not start", error) from None
        self.party = Party(name="engine", program=name, version=version, command=self.party.command)
        missing = [command for command in REQUIRED if command not in self._commands]
        if missing:
            raise EngineFailed(
                f"the engine does not list {', '.join(missing)}, which the referee needs", code="lacks-commands"
            )
        self.lacks = [command for command in ("ggp-hash", "ggp-scene", "ggp-score") if command not in self._commands]

    async def games(self) -> list[str]:
        """Return the names of the engine's games."""
        return (await self._ask("ggp-games", self._command)).text.split()

    async def options(self, game: str) -> dict[str, str]:
        """Return every option of the game with its default."""
        rows = [line.split() for line in (await self.option_lines(game)).splitlines()]
        return {row[0]: row[2] for row in rows if len(row) > 2}

    async def option_lines(self, game: str) -> str:
        """Return the lines of `ggp-options`: `name type default domain`.

        Raises:
            GameRefused: The engine does not know the game.
        """
        reply = await self._ask(f"ggp-options {game}", self._command)
        if not reply.ok:
            raise GameRefused(reply.text)
        return reply.text

    async def new_game(self, line: str) -> Status:
        """Begin a game with `ggp-new GAME name=value …`, and return its first status.

        Raises:
            GameRefused: The engine refuses the game; the error holds its reason.
        """
        reply = await self._ask(line, self._budgets.new)
        if not reply.ok:
            raise GameRefused(reply.text)
        return parse_status(reply.text)

    async def play(self, colour: str, move: str) -> tuple[str, Status]:
        """Play a move, and return its canonical form and the new status. This is the only question of a ply.

        Raises:
            BotFault: The move is illegal; the fault holds the engine's reason.
        """
        channel, line = self._channel, f"ggp-play {colour} {move}"
        try:
            ok, (text, _, _, unsent) = True, channel.ask_at_once((line,), self._command)
            if unsent:
                await channel.transport.write(unsent)
            if text is None:
                ok, text, _ = await channel.receive(channel.now() + self._command)
        except PEER_FAULTS as error:
            raise self._failed(f"fails at `{line[:200]}`", error) from None
        if ok and text.startswith("move="):
            canonical, _, status = text.partition(" ")
            return canonical[5:], parse_status(status)
        if not ok and text.startswith("illegal move"):
            raise illegal_move(text)
        raise EngineFailed(f"the engine answers `{line[:200]}` with `{'=' if ok else '?'} {text[:200]}`")

    async def legal_moves(self) -> list[str]:
        """Return all legal moves of the position."""
        return (await self._ask("ggp-legal_moves", self._command)).text.split()

    async def why_illegal(self, move: str, colour: str = "") -> str:
        """Return why a word is not a legal move here, or "" if it is legal.

        Args:
            move: The word to check.
            colour: An engine without ggp-legal gives a reason only when it refuses a move. With a colour, a move that
                it does not list is played to get the reason.

        Raises:
            EngineFailed: The engine plays a move that it does not list as legal.
        """
        if not move.isprintable() or "#" in move or len(move.split()) != 1 or len(move) > _MAX_MOVE:
            return f"{move[:40]!r} is not a move: a move is one word"
        if "ggp-legal" in self._commands:
            reply = await self._ask(f"ggp-legal {move}", self._command)
            legal, _, reason = reply.text.partition(" ")
            return "" if reply.ok and legal == "true" else reason or reply.text or "it is not legal"
        if await self.lists_legal(move):
            return ""
        reason = ""
        if colour:
            try:
                await self.play(colour, move)
                raise EngineFailed(f"the engine plays {move}, which it does not list as legal")
            except BotFault as refused:
                reason = str(refused).partition(": ")[2]
        return reason or "it is not among the legal moves"

    async def lists_legal(self, move: str) -> bool:
        """Return True if a word is among the legal moves, ignoring case."""
        listed = {legal.lower() for legal in await self.legal_moves()}
        return move.lower() in listed or (move.lower().startswith("dead:") and "dead:" in listed)

    async def history(self) -> list[str]:
        """Return `seat colour move` for every ply."""
        return (await self._ask("ggp-history", self._command)).text.splitlines()

    def lists(self, command: str) -> bool:
        """Return True if the engine lists this command."""
        return command in self._commands

    async def answer(self, line: str) -> str:
        """Return the answer to a command that only this engine has.

        Raises:
            GameRefused: The engine refuses the command; the error holds its reason.
        """
        reply = await self._ask(line, self._command)
        if not reply.ok:
            raise GameRefused(reply.text)
        return reply.text

    async def undo(self) -> Status:
        """Take back the last ply, and return the new status.

        Raises:
            EngineFailed: The engine refuses.
        """
        reply = await self._ask("ggp-undo", self._command)
        if not reply.ok:
            raise EngineFailed(f"the engine answers `ggp-undo` with `? {reply.text[:200]}`")
        return parse_status(reply.text)

    async def hash(self) -> str:
        """Return the hash of the position; "" if the engine has none."""
        reply = await self._ask("ggp-hash", self._command) if self.lists("ggp-hash") else None
        return reply.text if reply and reply.ok else ""

    async def final(self) -> tuple[str, str]:
        """Return the hash of the position and the score in JSON; "" for what the engine does not provide."""
        lines = tuple(command for command in ("ggp-hash", "ggp-score") if command not in self.lacks)
        replies = await self._ask_all(lines, self._command)
        texts = {line: reply.text for line, reply in zip(lines, replies, strict=True) if reply.ok}
        return texts.get("ggp-hash", ""), texts.get("ggp-score", "")

    async def scene(self) -> str:
        """Return the drawing of the position in JSON, or ""."""
        reply = None if "ggp-scene" in self.lacks else await self._ask("ggp-scene", self._command)
        return reply.text if reply and reply.ok else ""

    async def rules(self, game: str) -> Rules:
        """Return the rules as Markdown if the engine has them, else as plain text, else ""."""
        if not self.lists("ggp-rules"):
            return Rules("")
        reply = await self._ask(f"ggp-rules {game} json", self._command)
        if reply.ok and (markdown := read_markdown(reply.text)) is not None:
            return Rules(markdown, markdown=True)
        reply = await self._ask(f"ggp-rules {game}", self._command)
        return Rules(reply.text if reply.ok else "")

    async def _ask(self, line: str, budget: float) -> Reply:
        return (await self._ask_all((line,), budget))[0]

    async def _ask_all(self, lines: tuple[str, ...], budget: float) -> list[Reply]:
        """Send all lines in one write, and return their replies."""
        try:
            return await self._channel.ask_all(lines, self._channel.now() + budget)
        except PEER_FAULTS as error:
            raise self._failed(f"fails at `{'`, `'.join(lines)[:200]}`", error) from None

    def _failed(self, what: str, error: Exception) -> EngineFailed:
        exited, stderr = self.peer.exited(LAST_WORDS), self.peer.stderr_tail().strip().splitlines()
        if isinstance(error, PeerTimeout) and what.startswith("fails") and not exited:
            what = what.replace("fails", "hangs", 1)
        parts = [f"the engine {what}: {error}", exited, *stderr[-1:]]
        return EngineFailed("; ".join(part for part in parts if part))


def is_move_word(word: str) -> bool:
    """Return True for a word such as `pass` that is a move in some games, even if it is not legal now."""
    return word in MOVE_WORDS or word.startswith(("bid:", "dead:"))


def score_result(score: str) -> str:
    """Return the result of a position from `ggp-score`: `B+3.5`, `W+1`, `0`, or "" if it has no totals.

    Raises:
        EngineFailed: The text is not a score.
    """
    try:
        said = json.loads(score or "{}")
        totals = [said.get(colour, {}).get("total") for colour in ("black", "white")]
        black, white = (None if total is None else Decimal(str(total)) for total in totals)
        lead = black - white if black is not None and white is not None else Decimal("NaN")
    except (ValueError, AttributeError, ArithmeticError, RecursionError):
        raise EngineFailed(f"the engine's answer to ggp-score is not a score: {score[:200]!r}") from None
    if not lead.is_finite():
        return ""
    return f"{'B' if lead > 0 else 'W'}+{abs(lead).normalize():f}" if lead else "0"


@lru_cache(maxsize=4096)  # the same few lines in every game
def parse_status(text: str) -> Status:
    """Parse a status line, with keys in any order. Unknown keys are ignored.

    Raises:
        EngineFailed: A key is missing or invalid.
    """
    try:
        keys = dict([word.split("=", 1) for word in text.split()])
        phase, ply = keys["phase"], int(keys["ply"])
        if phase == OVER:
            return Status(phase, "none", 0, ply, keys["result"], int(keys["winner"]))
        longest = keys.get("max_plies", "")
        longest = longest if longest.isascii() and longest.isdigit() and len(longest) < 10 else "0"
        return Status(phase, keys["to_play"], int(keys["seat"]), ply, max_plies=int(longest))
    except (KeyError, ValueError):
        raise EngineFailed(f"the engine's status line is invalid: {text[:200]!r}") from None
