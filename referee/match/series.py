"""A series of matches: two bots, a setting and a seed, and what follows from them: keys, seats, openings, the tally.

match_runner plays it, record_file keeps it.
"""

import hashlib
import json
import random
import re
from collections import Counter, deque
from collections.abc import Sequence
from dataclasses import astuple, dataclass, field, replace
from difflib import get_close_matches
from functools import cached_property

from ggp.protocol.errors import Problem, in_words
from ggp.protocol.records import Record
from ggp.protocol.transports.blocking import run_blocking
from ggp.referee.match.adjudication import AdjudicationRule
from ggp.referee.match.bot_spec import BotSpec
from ggp.referee.match.clock import TimeControl
from ggp.referee.match.engine import OVER, Engine, GameRefused, start_engine
from ggp.referee.match.interference import Losses
from ggp.referee.match.openings import BookChoice, BookError, Opening, OpeningBook
from ggp.referee.match.outcome import REPLAYS, WINDOW, BotFault, EngineFailed, Termination, void_reason
from ggp.referee.match.process import ProcessLimits
from ggp.referee.match.setting import Setting, Timeouts
from ggp.referee.ratings.repeats import Observations, line_digest
from ggp.referee.ratings.sequential import PlayedPair, SequentialTest

MOST_SUSPECTS = 1000  # suspect games whose keys a tally keeps


@dataclass(frozen=True, slots=True)
class GameResult:
    """The result of a match that ended, void or not. Values are by bot, not by seat.

    `record` holds its packed JSON lines, or nothing if they are in a record file. `opening` and `moves` are digests of
    the plies (see ratings.repeats); `moves` is -1 if unknown.
    """

    number: int
    key: str
    result: str
    winner: int  # the bot, 0 or 1; -1 for none
    culprit: str  # a bot's name, "engine" or ""
    termination: str
    detail: str
    plies: int
    used: tuple[int, int]  # ms
    suspect: bool
    longest: tuple[int, int] = (0, 0)  # ms of the longest move
    ended: str = ""  # UTC, ISO 8601
    record: bytes = b""
    opening: int = 0
    moves: int = -1
    stolen: tuple[int, int] = (0, 0)  # ms of its turns that interrupts took
    slow_input: tuple[int, int] = (0, 0)  # ms that writes to it took because of how it reads
    skipped: tuple[int, int] = (0, 0)  # lines of output that were not answers
    first_skipped: tuple[str, str] = ("", "")

    @property
    def attempt(self) -> int:
        """Return how many void attempts preceded this one."""
        return attempt_of(self.key)

    @property
    def replayed(self) -> bool:
        """Return True for a void attempt, after which the match is played again (see outcome)."""
        return not self.result and self.termination != Termination.PLY_LIMIT


@dataclass(frozen=True)
class SeriesConfig:
    """Everything that a worker needs to play any match of a series. `record` is the path of the record, "" for none."""

    setting: Setting
    engine: BotSpec
    bots: tuple[BotSpec, BotSpec]
    games: int
    max_plies: int
    margin: int
    seed: int
    openings: int
    budgets: Timeouts
    restart: bool
    extras: ProcessLimits
    pin: bool
    record: str
    referee: str
    name: str = ""  # name of the series in keys; by default a hash of the rest
    seeded: bool = False  # give the bots a seed for each match
    position: tuple[str, ...] = ()  # plies that every match begins with, before random ones
    book: BookChoice | None = None  # openings of pairs, instead of random plies
    rules: tuple[AdjudicationRule, ...] = ()  # rules that may end matches early
    judge: BotSpec | None = None  # a bot that evaluates positions for the rules, instead of both players

    @cached_property
    def series(self) -> str:
        """Return the name of the series, or eight hex digits that depend on what is played by whom.

        The same series has the same keys after a restart.
        """
        if self.name:
            return self.name
        said = [
            *(self.setting.game, self.setting.options, str(self.setting.control), self.margin, self.max_plies),
            *(self.seed, self.openings, self.engine.command, [(bot.name, bot.command) for bot in self.bots]),
            *([self.position] if self.position else []),
            *([self.book.digest, self.book.order, self.book.start, self.book.plies] if self.book else []),
            *([astuple(rule) for rule in self.rules]),
            *([self.judge.command] if self.judge else []),
            *([[[*bot.own_play, *bot.environment] for bot in self.bots]] if self._have_settings else []),
        ]
        return hashlib.sha256(json.dumps(said, sort_keys=True).encode()).hexdigest()[:8]

    @property
    def _have_settings(self) -> bool:
        return any(bot.own_play or bot.environment for bot in self.bots)

    def controls(self, number: int) -> tuple[TimeControl, TimeControl] | None:
        """Return the time control of each seat in this match, or None if no bot has its own."""
        first, second = (self.bots[index].control or self.setting.control for index in seats(number))
        return (first, second) if any(bot.control for bot in self.bots) else None

    def key(self, number: int, attempt: int = 0) -> str:
        """Return the key of a match: `SERIES-NUMBER`, from 1, and `.ATTEMPT` if a void one is repeated."""
        return f"{self.series}-{number + 1}" + (f".{attempt}" if attempt else "")

    def number(self, key: str) -> int | None:
        """Return the number of the match with this key, from 0; None if it belongs to another series."""
        series, _, rest = key.rpartition("-")
        digits = rest.partition(".")[0]
        return int(digits) - 1 if series == self.series and digits.isdigit() else None

    def result(self, number: int, record: Record) -> GameResult:
        """Return the result of a match of this series from its complete record."""
        end, order = record.end, seats(number)
        assert end is not None
        by_seat = [[ply.ms for ply in record.plies if ply.seat == seat] for seat in (1, 2)]
        if end.ms and end.winner:
            by_seat[2 - end.winner].append(end.ms)  # the loser's last turn, which is not a ply
        skipped, first_skipped = [0, 0], ["", ""]  # by bot
        for found in filter(None, map(_SKIPPED.match, end.warnings)):
            bot = order[int(found["seat"]) - 1]
            skipped[bot] += int(found["count"] or 1)
            first_skipped[bot] = first_skipped[bot] or found["first"] or ""
        used, longest = [sum(ms) for ms in by_seat], [max(ms, default=0) for ms in by_seat]
        at_fault = end.culprit.removeprefix("seat")
        return GameResult(
            number=number,
            key=end.match,
            result=end.result,
            winner=order[end.winner - 1] if end.winner else -1,
            culprit=self.bots[order[int(at_fault) - 1]].name if at_fault.isdigit() else end.culprit,
            termination=end.termination,
            detail=end.detail,
            plies=end.plies,
            used=(used[order.index(0)], used[order.index(1)]),
            suspect=end.suspect,
            longest=(longest[order.index(0)], longest[order.index(1)]),
            ended=end.ended,
            opening=line_digest(record.start.opening),
            moves=line_digest((ply.move for ply in record.plies), end.result),
            stolen=_by_bot(end.stolen, order),
            slow_input=_by_bot(end.slow_input, order),
            skipped=(skipped[0], skipped[1]),
            first_skipped=(first_skipped[0], first_skipped[1]),
        )

    def bot_seeds(self, key: str) -> tuple[int, int] | None:
        """Return the seeds of the bots, by seat, for the match with this key; None in a series without seeds."""
        return seeds_of(key) if self.seeded else None


# A warning of a record: see Player.new_warnings, and Connection for a single line.
_SKIPPED = re.compile(
    r"seat(?P<seat>[12]): skipped (?:a line that is no answer|(?P<count>\d{1,9}) lines that are no answers)"
    r"(?:(?:, the first)?: (?P<first>.*))?$",
    re.DOTALL,
)


def _by_bot(by_seat: tuple[int, ...], order: tuple[int, int]) -> tuple[int, int]:
    return (by_seat[order.index(0)], by_seat[order.index(1)]) if len(by_seat) == 2 else (0, 0)


def attempt_of(key: str) -> int:
    """Return the attempt in a key, from 0."""
    digits = key.rpartition("-")[2].partition(".")[2]
    return int(digits) if digits.isdigit() else 0


def seeds_of(key: str) -> tuple[int, int]:
    """Return the seeds of the bots, by seat, for the match with this key of a seeded series."""
    one, two = (hashlib.sha256(f"{key} {seat}".encode()).digest() for seat in (1, 2))
    return int.from_bytes(one[:4]) >> 1, int.from_bytes(two[:4]) >> 1


def seats(number: int) -> tuple[int, int]:
    """Return which bot (0 or 1) has each seat. Matches 2k and 2k+1 are a pair, with the seats exchanged."""
    return (0, 1) if number % 2 == 0 else (1, 0)


@dataclass(slots=True)
class SeriesScore:
    """The score of one bot, as wins, draws and losses."""

    wins: int = 0
    draws: int = 0
    losses: int = 0

    def add(self, won: bool | None) -> None:
        """Add a game; None is a draw."""
        if won is None:
            self.draws += 1
        elif won:
            self.wins += 1
        else:
            self.losses += 1

    def __add__(self, other: "SeriesScore") -> "SeriesScore":
        return SeriesScore(self.wins + other.wins, self.draws + other.draws, self.losses + other.losses)

    @property
    def points(self) -> float:
        """Return the points: a win is 1, a draw ½."""
        return self.wins + self.draws / 2

    @property
    def games(self) -> int:
        """Return the number of games."""
        return self.wins + self.draws + self.losses


@dataclass(slots=True)
class SeriesTally:
    """The score of a series so far: by bot, by seat, by colour, by pair of games.

    `penta` counts complete pairs by the points of the first bot, 0 to 2 in steps of ½; `penta_seat1` counts them by the
    points of seat 1. `lines` and `pair_lines` count games and complete pairs without repetitions. `test` gets every
    pair that is complete or will have no result.
    """

    bots: tuple[SeriesScore, SeriesScore] = field(default_factory=lambda: (SeriesScore(), SeriesScore()))
    seats: tuple[tuple[SeriesScore, SeriesScore], tuple[SeriesScore, SeriesScore]] = field(
        default_factory=lambda: ((SeriesScore(), SeriesScore()), (SeriesScore(), SeriesScore()))
    )  # for each bot: in seat 1, in seat 2
    colours: tuple[SeriesScore, SeriesScore] = field(
        default_factory=lambda: (SeriesScore(), SeriesScore())
    )  # black, white
    terminations: Counter[str] = field(default_factory=Counter)
    faults: Counter[tuple[str, str]] = field(default_factory=Counter)  # (who, termination)
    reasons: dict[tuple[str, str], str] = field(default_factory=dict)  # by fault: the last reason
    places: dict[tuple[str, str], str] = field(default_factory=dict)  # by fault: the key of the last game
    used: list[int] = field(default_factory=lambda: [0, 0])
    longest: list[int] = field(default_factory=lambda: [0, 0])  # ms of a move
    losses: tuple[Losses, Losses] = field(default_factory=lambda: (Losses(), Losses()))  # of time, by bot
    skipped: list[int] = field(default_factory=lambda: [0, 0])  # lines of each bot that were not answers
    first_skipped: list[str] = field(default_factory=lambda: ["", ""])
    penta: list[int] = field(default_factory=lambda: [0] * 5)
    penta_seat1: list[int] = field(default_factory=lambda: [0] * 5)
    test: SequentialTest | None = None
    plies: int = 0
    void: int = 0
    lasting: int = 0  # void matches that are not played again
    suspect: int = 0
    suspects: list[str] = field(default_factory=list)  # keys of the first suspect games
    tried: Counter[int] = field(default_factory=Counter)  # by number: void attempts at a match
    late: int = 0  # suspect games that were lost on time
    suspended: tuple[str, str] | None = None  # a bot that made too many of its last games void, and why
    lines: Observations = field(default_factory=Observations)  # outcomes: who had seat 1, its loss, draw or win
    pair_lines: Observations = field(default_factory=Observations)  # outcomes: points of bot 0, of seat 1
    _halves: dict[int, "tuple[int | None, GameResult]"] = field(default_factory=dict)  # by pair: the game that is over
    _void: deque[str] = field(default_factory=lambda: deque(maxlen=WINDOW))  # who made each game void, "" for no bot

    @property
    def games(self) -> int:
        """Return the number of games that were not void."""
        return self.bots[0].games

    @property
    def penta_observed(self) -> list[int]:
        """Return `penta` without pairs that repeat others. Errors are computed from this."""
        return self._observed_pairs(0)

    @property
    def penta_seat1_observed(self) -> list[int]:
        """Return `penta_seat1` without pairs that repeat others."""
        return self._observed_pairs(1)

    def observed(self, bot: int) -> SeriesScore:
        """Return the score of a bot in its games in seat 1, without games that repeat others."""
        losses, draws, wins = (self.lines.counts[bot, cell] for cell in range(3))
        return SeriesScore(wins, draws, losses)

    def _observed_pairs(self, which: int) -> list[int]:
        found = [0] * 5
        for points, count in self.pair_lines.counts.items():
            assert isinstance(points, tuple), "see _add_to_pair"
            found[points[which]] += count
        return found

    @property
    def attempts(self) -> int:
        """Return the number of matches that were added, void or not."""
        return self.games + self.void

    def forget_voids(self) -> None:
        """Forget the games that bots made void: restarting the series readmits them."""
        self.suspended = None
        self._void.clear()

    def add(self, played: GameResult) -> None:
        """Count a match that is in the record. If plies were taken back, the match that continues it counts instead."""
        if played.termination == Termination.TAKEN_BACK:
            self.tried[played.number] = max(self.tried[played.number], 1 + played.attempt)
            return
        self.terminations[played.termination] += 1
        if played.culprit:
            self.faults[played.culprit, played.termination] += 1
            self.reasons[played.culprit, played.termination] = played.detail
            self.places[played.culprit, played.termination] = played.key
        at_fault = played.culprit if played.replayed and played.culprit != "engine" else ""
        self._void.append(at_fault)
        if at_fault and (number := self._void.count(at_fault)) > REPLAYS:
            reason = void_reason(number, f"{played.termination}: {played.detail}")
            self.suspended = self.suspended or (at_fault, reason)
        if played.suspect:
            self.suspect += 1
            self.late += played.termination == Termination.TIME
            self.suspects += [played.key] if len(self.suspects) < MOST_SUSPECTS else []
        self.plies += played.plies
        for bot in (0, 1):
            self.used[bot] += played.used[bot]
            self.longest[bot] = max(self.longest[bot], played.longest[bot])
            self.skipped[bot] += played.skipped[bot]
            self.first_skipped[bot] = self.first_skipped[bot] or played.first_skipped[bot]
            self.losses[bot].add(played.used[bot], played.stolen[bot], played.slow_input[bot])
        if played.replayed:
            self.tried[played.number] = max(self.tried[played.number], 1 + played.attempt)
        if not played.replayed:
            self._add_to_pair(played)
        if not played.result:
            self.void += 1
            self.lasting += not played.replayed
            return
        first = seats(played.number)[0]
        outcome = first, 1 if played.winner < 0 else 2 * (played.winner == first)
        if played.moves < 0:
            self.lines.add_plain(outcome, 1)
        else:
            self.lines.add((first, played.opening), played.moves, outcome)
        for bot in (0, 1):
            won = None if played.winner < 0 else played.winner == bot
            self.bots[bot].add(won)
            self.seats[bot][seats(played.number).index(bot)].add(won)
        for colour, letter in enumerate("BW"):
            self.colours[colour].add(None if played.winner < 0 else played.result[0] == letter)

    def _add_to_pair(self, played: GameResult) -> None:
        pair, game = divmod(played.number, 2)
        cell = None if not played.result else 1 if played.winner < 0 else 2 * (played.winner == 0)
        if pair not in self._halves:
            self._halves[pair] = cell, played
            return
        other, before = self._halves.pop(pair)
        result: PlayedPair | None = None
        if cell is not None and other is not None:
            first, second = (other, cell) if game else (cell, other)
            moves = (before.moves, played.moves) if game else (played.moves, before.moves)
            result = PlayedPair(first + second, (first, second), played.opening, moves if min(moves) >= 0 else ())
            self.penta[result.points] += 1
            self.penta_seat1[first + 2 - second] += 1
            outcome = result.points, first + 2 - second
            if result.moves:
                self.pair_lines.add(result.opening, result.moves, outcome)
            else:
                self.pair_lines.add_plain(outcome, 1)
        if self.test is not None:
            self.test.offer(pair, result)


# -- completion of a SeriesConfig by asking the engine ----------------------------------------------------------------


PLIES_PER_CELL = 20  # "A match ends void after --max-plies (default 20 x cells)"
FEWEST_CELLS = 50  # assumed for an engine that draws no board: a game may begin with few legal moves
MOST_PLIES = 10**7


class PrepareError(Problem):
    """A program that is not an engine, or an unknown game or option; str() is one line that names the remedy."""

    code = "cannot-prepare"


def prepare(setup: SeriesConfig, book: OpeningBook | None = None) -> tuple[SeriesConfig, list[str]]:
    """Fill in the game's defaults and the limit on plies, and play the first openings of the book on the engine.

    Returns:
        The complete configuration, and warnings about what this engine cannot do.

    Raises:
        PrepareError: The engine does not start, or refuses the game.
        BookError: An opening cannot be played.
    """
    return run_blocking(_prepare(setup, book))


async def _prepare(setup: SeriesConfig, book: OpeningBook | None) -> tuple[SeriesConfig, list[str]]:
    try:
        engine = await start_engine(setup.engine, setup.budgets, setup.extras)
    except EngineFailed as error:
        raise PrepareError(str(error)) from None
    try:
        setting, max_plies = await ask(engine, setup.setting, setup.max_plies)
        await _play_up_to(engine, setup)
        if book is not None:
            for pair in range(min(_CHECKED, (setup.games + 1) // 2)):
                await play_opening(engine, setup, book.opening(pair, setup.seed))
        return replace(setup, setting=setting, max_plies=max_plies), lacks(engine)
    except EngineFailed as error:
        raise PrepareError(f"{setup.engine.command}: {error}") from None
    finally:
        await engine.peer.stop()


async def ask(engine: Engine, setting: Setting, max_plies: int) -> tuple[Setting, int]:
    """Return the setting with the game's defaults, and the limit on plies.

    Args:
        engine: The engine.
        setting: The game and its options.
        max_plies: The limit on plies; 0 to get one that suits the game.

    Raises:
        PrepareError: The engine does not know the game, or refuses its options.
        EngineFailed: The engine crashes or does not answer.
    """
    games = await engine.games()
    if setting.game not in games:
        raise PrepareError(await _why_unknown(engine, setting.game, games))
    try:
        defaults = await engine.options(setting.game)
        begun = await engine.new_game(setting.new_game)
    except GameRefused as refused:
        raise PrepareError(f"{setting.game}: {refused}") from None
    # Every engine needs this command, if only for its bots, so a failure should show before the first match.
    legal = await engine.legal_moves()
    limit = max_plies or min(begun.max_plies, MOST_PLIES) or PLIES_PER_CELL * await _cells(engine, legal)
    return replace(setting, defaults=defaults), limit


async def _why_unknown(engine: Engine, game: str, games: Sequence[str]) -> str:
    """Return that the engine does not know a game, with the engine's own reason if it gives one."""
    try:
        await engine.option_lines(game)
    except GameRefused as refused:
        if str(refused).strip() and not re.search(r"unknown|no game", str(refused)):
            return f"the engine does not know the game {game!r}: {refused}"
    near = get_close_matches(game, games, 1)
    guess = f"; did you mean {near[0]}?" if near else ""
    return f"the engine does not know the game {game!r}, only {', '.join(games)}{guess}"


async def _play_up_to(engine: Engine, setup: SeriesConfig) -> None:
    """Check that the engine accepts the plies that every match begins with, and that the game is not over after them.

    Raises:
        PrepareError: It does not, or the game is over.
    """
    status = await engine.new_game(setup.setting.new_game) if setup.position else None
    for number, move in enumerate(setup.position, 1):
        assert status is not None
        try:
            _, status = await engine.play(status.to_play, move)
        except BotFault as fault:
            raise PrepareError(f"the engine refuses ply {number} of the position, {move}: {fault}") from None
    if status is not None and status.phase == OVER:
        raise PrepareError(f"the game is over after ply {status.ply}: begin from an earlier ply, as in FILE@-2")


def lacks(engine: Engine) -> list[str]:
    """Return warnings about what the referee cannot do with this engine."""
    return [f"the engine has no {command}: {_MISSED[command]}" for command in engine.lacks]


_MISSED = {
    "ggp-hash": "records will not hold the hash of the last position",
    "ggp-score": "records will not hold a score",
    "ggp-scene": f"the default of --max-plies depends on the first legal moves (at least {FEWEST_CELLS}), not cells",
}


async def _cells(engine: Engine, legal: Sequence[str]) -> int:
    """Return the number of cells of the board; without a scene the number of legal moves, at least FEWEST_CELLS."""
    scene = await engine.scene()
    if scene:
        try:
            drawn = json.loads(scene)
            if cells := len(drawn.get("cells") or drawn.get("points") or ()):
                return cells
        except (ValueError, AttributeError, TypeError, RecursionError) as error:
            raise EngineFailed(f"the answer to ggp-scene is not a JSON object: {in_words(error)}") from None
    return max(FEWEST_CELLS, len(legal))


# -- random openings: plies drawn by a seed from the engine's legal moves --------------------------------------------


_CHECKED = 1000  # openings of a book that are played on the engine before the first match
_DRAWS = 100  # attempts to draw an opening that does not end the game


async def draw_opening(engine: Engine, setup: SeriesConfig, pair: int) -> tuple[str, ...]:
    """Return the position of the setup and random plies after it, the same for both matches of a pair.

    Moves that are words (`pass`, `swap-sides`, `bid:7`) are drawn only if no move on the board is legal.

    Raises:
        GameRefused: Every drawn opening ends the game.
        EngineFailed: The engine crashes or does not answer.
    """
    if not setup.openings:
        return setup.position
    for draw in range(_DRAWS):
        chance = random.Random(f"{setup.seed} {pair} {draw}")
        moves = await random_plies(engine, setup.setting.new_game, setup.position, setup.openings, chance)
        if moves is not None:
            return moves
    raise GameRefused(f"every random opening of {setup.openings} plies ends the game: choose fewer plies")


async def play_opening(engine: Engine, setup: SeriesConfig, opening: Opening) -> tuple[str, ...]:
    """Return the position of the setup and a book opening after it, as canonical moves.

    Raises:
        BookError: A move is illegal, or the game is over.
        EngineFailed: The engine crashes or does not answer.
    """
    status, moves = await engine.new_game(setup.setting.new_game), list[str]()
    for number, move in enumerate((*setup.position, *opening.moves), 1):
        where = f"{opening.place}, ply {number}"
        if status.phase == OVER:
            raise BookError(f"{where}, {move}: the game is already over: shorten the opening")
        try:
            played, status = await engine.play(status.to_play, move)
        except BotFault as fault:
            raise BookError(f"{where}, {move}: {fault}") from None
        moves.append(played)
    if status.phase == OVER:
        raise BookError(f"{opening.place}, ply {len(moves)}: this move ends the game: shorten the opening")
    return tuple(moves)


async def random_plies(
    engine: Engine, new_game: str, position: Sequence[str], plies: int, chance: random.Random
) -> tuple[str, ...] | None:
    """Play `position` and random plies after it.

    Args:
        engine: The engine.
        new_game: The command that begins the game.
        position: The plies before the random ones.
        plies: The number of random plies.
        chance: The random generator.

    Returns:
        All moves, or None if the game is over too early.
    """
    status, moves = await engine.new_game(new_game), list[str]()
    for move in position:
        _, status = await engine.play(status.to_play, move)
        moves.append(move)
    while status.phase != OVER and len(moves) < len(position) + plies:
        legal = await engine.legal_moves()
        on_board = [move for move in legal if not move[0].islower()]
        words = [move for move in legal if move != "pass"]
        try:
            move, status = await engine.play(status.to_play, chance.choice(on_board or words or legal))
        except BotFault as fault:
            raise EngineFailed(f"the engine refuses a move that it listed as legal: {fault}") from None
        moves.append(move)
    return None if status.phase == OVER else tuple(moves)
