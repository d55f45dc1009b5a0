"""One match, from start to end, as one coroutine. It is independent of games, processes and files.

It awaits only its channels. Over pipes these block internally, so no event loop is needed (transports.blocking); the
lobby runs the same coroutine under asyncio.
"""

import re
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime

from msgspec import structs

from ggp.protocol.messages import Reply
from ggp.protocol.printed import counted
from ggp.protocol.records import Event, MatchEnded, MatchStarted, MovePlayed, Party, Record
from ggp.referee.match.adjudication import AdjudicationRule, Adjudicator
from ggp.referee.match.clock import Clock, ControlKind, TimeControl
from ggp.referee.match.engine import AGREE, OVER, Engine, GameRefused, Status, score_result
from ggp.referee.match.judge import MatchJudge
from ggp.referee.match.outcome import (
    FAULTS,
    BotFault,
    CannotStart,
    EngineFailed,
    Outcome,
    PliesTakenBack,
    Termination,
    forfeit,
    illegal_move_at_failure,
    late_move,
    refused_genmove,
    refused_to_go_on,
    resigned,
    unreadable_move,
)
from ggp.referee.match.player import Player
from ggp.referee.match.setting import Setting

EARLY = 2  # plies chosen by the bots; after these every fault of a bot loses the match
_MAX_MOVE = 8192  # characters; a list of all dead stones of the largest board is shorter
_MAX_ANALYSIS = 64 * 1024
_MAX_WARNINGS = 20
_MAX_STDERR = 4096  # characters of each bot's stderr
_MAX_WARNING = 500  # characters of a warning about the engine
# The wording of ggp.bots.engine_client.
_ENGINE_FAULT = re.compile(r"the engine .*(?: fails: .*| has ended.*)", re.DOTALL)
_NOT_BEGUN = Status("play", "black", 1, 0)
Renew = Callable[[], Awaitable[Engine]]


@dataclass(frozen=True, slots=True)
class Match:
    """A match to play, and its limits."""

    key: str
    setting: Setting
    margin: int  # ms that a bot may exceed its time
    max_plies: int
    seed: int
    opening: tuple[str, ...]  # plies that the bots do not choose
    referee: str
    bot_seeds: tuple[int, int] | None = None  # by seat, for bots that list `set_random_seed`
    past: tuple[MovePlayed, ...] = ()  # plies that were played before the match was interrupted
    started: str = ""
    keep_stderr: bool = True  # in the record, even without a fault
    book: str = ""  # the place of the opening in a book
    rules: tuple[AdjudicationRule, ...] = ()  # rules that may end it early
    controls: tuple[TimeControl, TimeControl] | None = None  # by seat, if they differ from that of the setting
    continues: str = ""  # KEY@PLY of the match that this one continues; `past` holds its plies

    def setting_of(self, seat: int) -> Setting:
        """Return the setting for a seat, with the time control of this seat."""
        return replace(self.setting, control=self.controls[seat - 1]) if self.controls else self.setting


async def play_match(
    match: Match,
    engine: Engine,
    players: tuple[Player, Player],
    emit: Callable[[Event], None],
    renew: Renew | None = None,
    judge: MatchJudge | None = None,
) -> tuple[Outcome, Record]:
    """Play one match.

    Args:
        match: The match to play.
        engine: The engine of the match.
        players: The players by seat.
        emit: Called with every event as it happens, MatchStarted first.
        renew: Returns another engine to replace one that failed. The caller ends both.
        judge: Judges the match by its rules. Without it the evaluations of both bots are used.

    Returns:
        How the match ended, and its record.

    Raises:
        CannotStart: A bot cannot play this game. The emitted events are not a match and must not be recorded.
        GameRefused: The engine cannot play this game. The emitted events must not be recorded either.
    """
    life = _MatchState(match, engine, players, emit, renew, judge)
    try:
        await life.start()
        await life.open()
        await life.set_up()
        outcome = await life.play()
    except BotFault as fault:
        outcome = life.engine_outcome(str(fault)) or forfeit(
            fault, life.seat, life.black(), void=fault.void and life.early()
        )
        outcome = replace(outcome, ms=life.unplayed or fault.ms if life.thinking else 0)
    except PliesTakenBack as back:
        outcome = Outcome(Termination.TAKEN_BACK, detail=f"seat {life.seat}: {back}", taken_back=back.plies)
    except EngineFailed as failure:
        outcome = Outcome(Termination.ENGINE_FAILED, culprit="engine", detail=str(failure))
    return outcome, await life.end(outcome)


@dataclass(slots=True)
class _MatchState:
    """The stages of a match in order, and the state that they share."""

    match: Match
    engine: Engine
    players: tuple[Player, Player]
    emit: Callable[[Event], None]
    renew: Renew | None
    judge: MatchJudge | None
    started: MatchStarted = field(init=False)
    plies: list[MovePlayed] = field(default_factory=list)
    clocks: tuple[Clock, Clock] = field(init=False)
    seat: int = 1  # whose turn it is, or was when the match failed
    status: Status = _NOT_BEGUN
    thinking: bool = False  # the bot's clock runs for a move that has not been played
    unplayed: int = 0  # ms charged for that move so far
    warnings: list[str] = field(default_factory=list)
    stolen: list[list[int]] = field(default_factory=lambda: [[], []])  # by seat: ms credited in each such turn

    def __post_init__(self) -> None:
        first, second = (
            self.match.setting_of(seat).control.clock(player.move_limit) for seat, player in enumerate(self.players, 1)
        )
        self.clocks = first, second

    # -- the stages ----------------------------------------------------------------------------------------------

    async def start(self) -> None:
        """Set up the game on the engine, and emit MatchStarted even if the engine fails."""
        match, setting = self.match, self.match.setting
        failed: EngineFailed | None = None
        try:
            self.status = await self._set_up_engine()
        except EngineFailed as failure:
            failed = failure
        judged = [f"by {self.judge.player.party.command}"] if self.judge else []
        self.started = MatchStarted(
            match=match.key,
            game=setting.game,
            options=setting.options,
            bots=(self._party(1), self._party(2)),
            engine=self.engine.party,
            control=str(setting.control),
            margin=match.margin,
            max_plies=match.max_plies,
            seed=match.seed,
            opening=match.opening,
            book=match.book,
            adjudication="; ".join([*map(str, match.rules), *judged]),
            continues=match.continues,
            referee=match.referee,
            started=match.started or _utc(),
        )
        self.emit(self.started)
        if failed is not None:
            raise failed

    async def open(self) -> None:
        """Play the opening, or the plies of an interrupted match, on the engine."""
        past = self.match.past
        for number, move in enumerate([ply.move for ply in past] or self.match.opening):
            before = self.status
            try:
                played, status = await self._play_on_engine(before.to_play, move)
            except BotFault as refused:
                raise EngineFailed(f"the engine now rejects an opening that it accepted before: {refused}") from None
            event = MovePlayed(status.ply, self.match.key, status.ply, before.seat, before.to_play, played, 0)
            if past:
                charged = before.phase != AGREE and number >= len(self.match.opening)
                event = self._check_replayed(event, past[number], charged)
            self.emit(event)
            self.plies.append(event)
            self.status = status

    async def set_up(self) -> None:
        """Set up the game on each bot. A bot learns the plies of `open` with its first question.

        Raises:
            CannotStart: A bot refuses a game that has not begun.
            BotFault: A bot is at fault, or refuses to continue an interrupted match.
        """
        match = self.match
        for seat, player in enumerate(self.players, 1):
            if self.status.phase == OVER:
                return
            self.seat = seat
            player.peer.begin_game(match.key)
            player.patience = max(match.margin / 4, 1) / 1000
            try:
                await player.new_game(match.setting_of(seat), match.bot_seeds[seat - 1] if match.bot_seeds else None)
            except CannotStart as refused:
                if said := self._said_of_engine(str(refused)):
                    raise EngineFailed(said) from None
                if self.early():
                    raise
                raise refused_to_go_on(str(refused)) from None
            for ply in self.plies:
                player.tell(ply.colour, ply.move)

    async def play(self) -> Outcome:  # noqa: C901 - a match from top to bottom
        """Ask the side to move, check its move on the engine, and tell the other side, until the game is over."""
        emit, key, max_plies, plies = self.emit, self.match.key, self.match.max_plies, self.plies
        clocks, untimed = self.clocks, [clock.control.kind is ControlKind.NONE for clock in self.clocks]
        status, move = self.status, plies[-1].move if plies else ""
        early = len(self.match.opening) + EARLY  # see `early`
        adjudicator = Adjudicator(self.match.rules) if self.match.rules and self.judge is None else None
        if adjudicator is not None:
            for played in self.match.past:
                adjudicator.see(played.ply, played.seat, played.analysis)

        watched = any(player.peer.idle for player in self.players)
        while status.phase != OVER:
            if status.ply >= max_plies:
                return await self._score_at_ply_limit()
            phase, colour, seat, ply = status[:4]
            self.seat = seat
            player, clock = self.players[seat - 1], clocks[seat - 1]
            other = self.players[2 - seat]
            if ply <= early:
                player.check_alive()

            if phase == AGREE:
                reply, ms = await _dead_list(player, other, colour, move), 0
            else:
                left, self.thinking, self.unplayed = clock.left, True, 0
                if watched and other.peer.idle is not None:
                    other.peer.idle.begin_turn()
                reply, ms = await player.genmove(colour, clock, clocks[2 - seat])
                if not reply.ok and (said := self._said_of_engine(reply.text)):
                    raise EngineFailed(said)
                if watched:
                    ms -= self._watch_idle(ply + 1, seat, ms)
                if player.stolen:
                    ms -= self._credit_stolen(seat, player.stolen, ms)
                self.unplayed = ms
                if overrun := clock.spend(ms):
                    self._judge_overrun(overrun)
                elif player.credited and ms + player.credited > left:
                    self._tell_credit(ms + player.credited - left)
            answer, analysis = read_move(reply, player.analyses)

            # One question checks legality, and answers with the canonical move, the next player, and the end.
            try:
                move, status = await self.engine.play(colour, answer)
            except EngineFailed as failure:
                move, status = await self._play_on_another_engine(answer, failure)
            if status.ply != ply + 1:
                raise EngineFailed(f"the engine counts {status.ply} plies after {ply + 1} were played")
            ply += 1
            time_left = None if untimed[seat - 1] else clock.left
            event = MovePlayed(ply, key, ply, seat, colour, move, ms, time_left, analysis)
            emit(event)
            other.tell(colour, move)
            plies.append(event)
            self.status, self.thinking = status, False
            if adjudicator is not None and status.phase != OVER and (found := adjudicator.see(ply, seat, analysis)):
                return self._adjudicated(*found)
            if self.judge is not None and (found := await self._ask_judge(ply)):
                return self._adjudicated(*found)

        return Outcome(Termination.RULES, status.result, status.winner)

    async def end(self, outcome: Outcome) -> Record:
        """Finish the match with its final position, score and diagnostics, emit MatchEnded, and return the record."""
        at_fault = self.players[self.seat - 1] if outcome.culprit.startswith("seat") else None
        diagnostics = at_fault.diagnostics() if at_fault else None
        position, score = "", ""
        if outcome.termination is not Termination.ENGINE_FAILED:
            try:
                position, score = await self.engine.final()
            except EngineFailed as failure:  # the result is known: a bot must not gain by killing the engine now
                self._warn(f"the final hash and score are missing: {failure}")
        for player in self.players:
            beyond_use = player is at_fault and FAULTS[outcome.termination].restart
            player.fit = not beyond_use and await player.end_game(outcome.result)
        ended = MatchEnded(
            seq=self.status.ply + 1,
            match=self.match.key,
            result=outcome.result,
            winner=outcome.winner,
            termination=outcome.termination,
            culprit=outcome.culprit,
            detail=outcome.detail,
            analysis=outcome.analysis,
            plies=self.status.ply,
            ms=outcome.ms,
            hash=position,
            suspect=max(player.late for player in self.players) * 1000 > self.match.margin / 4,
            score=score,
            warnings=tuple(self._all_warnings()),
            stolen=_unless_zero(sum(self.stolen[0]), sum(self.stolen[1])),
            slow_input=_unless_zero(*(round(player.peer.slow_input[1] * 1000) for player in self.players)),
            diagnostics=diagnostics,
            stderr=self._stderr(),
            ended=_utc(),
        )
        self.emit(ended)
        return Record(self.started, tuple(self.plies), ended)

    # -- seats and responsibility ----------------------------------------------------------------------------------

    def _party(self, seat: int) -> Party:
        """Return who plays in a seat, with its time control if it has its own."""
        party, setting = self.players[seat - 1].party, self.match.setting_of(seat)
        return party if setting is self.match.setting else structs.replace(party, control=str(setting.control))

    def black(self) -> int:
        """Return the seat that plays black now."""
        return self.status.seat if self.status.to_play == "black" else 3 - self.status.seat

    def early(self) -> bool:
        """Return True while a bot's fault out of its turn voids the match: before ply 2, after the opening.

        What happened in the opponent's turn before ply 2 is noticed only in the turn after it.
        """
        return self.status.ply <= len(self.match.opening) + EARLY

    def engine_outcome(self, fault: str) -> Outcome | None:
        """Return the outcome if this fault of the side to move is the fault of its engine; otherwise None."""
        said = self._said_of_engine(fault)
        return Outcome(Termination.ENGINE_FAILED, culprit="engine", detail=said) if said else None

    def _said_of_engine(self, text: str) -> str:
        """Return what a built-in bot that is to move reports about a failure of its own engine, or "".

        Its engine is the same program as ours. Other bots are not believed: they could void a match that they are
        losing.
        """
        player = self.players[self.seat - 1]
        found = _ENGINE_FAULT.search(text) if player.asks_engine else None
        return f"{found[0].rstrip('`')} (reported by {player.name}, which runs its own engine)" if found else ""

    # -- ends that are not by the rules of the game ----------------------------------------------------------------

    async def _score_at_ply_limit(self) -> Outcome:
        """End the match with the engine's score of the position, or void it if the engine has none.

        If every such match were void, a losing bot could escape its loss by playing on.
        """
        detail = f"not over after {self.status.ply} plies"
        try:
            _, score = await self.engine.final()
        except EngineFailed as failure:
            await self._renew_engine(failure)
            _, score = await self.engine.final()
        result = score_result(score)
        if not result:
            return Outcome(Termination.PLY_LIMIT, detail=f"{detail}; the engine has no score for the position")
        winner = 0 if result == "0" else self.black() if result[0] == "B" else 3 - self.black()
        return Outcome(Termination.PLY_LIMIT, result, winner, detail=f"{detail}; the position was scored")

    async def _ask_judge(self, ply: int) -> tuple[int, str] | None:
        """Return the judge's verdict after this ply, if any. A judge that fails is not asked again."""
        status, judge = self.status, self.judge
        assert judge is not None
        if status.phase in (OVER, AGREE):
            return None
        try:
            return await judge.see(ply, status.seat, status.to_play, [(one.colour, one.move) for one in self.plies])
        except (BotFault, CannotStart) as fault:
            self.judge, judge.player.fit = None, False
            self._warn(f"the adjudicator failed after ply {ply} and is not asked again: {fault}")
            return None

    def _adjudicated(self, winner: int, why: str) -> Outcome:
        result = "0" if winner == 0 else "B+R" if winner == self.black() else "W+R"
        return Outcome(Termination.ADJUDICATED, result, winner, detail=why)

    # -- engines that fail: another one takes over -----------------------------------------------------------------

    async def _set_up_engine(self) -> Status:
        """Begin a new game on the engine, or on another one if it fails.

        Raises:
            EngineFailed: The other engine fails, too.
            GameRefused: The engine refuses the game.
        """
        line = self.match.setting.new_game
        try:
            return await self.engine.new_game(line)
        except EngineFailed as failure:
            if self.renew is None:
                raise
            self.engine = await self.renew()
            self._warn(f"the engine was replaced: {failure}")
            return await self.engine.new_game(line)

    async def _play_on_engine(self, colour: str, move: str) -> tuple[str, Status]:
        """Play a move as Engine.play does, on another engine if this one fails."""
        try:
            return await self.engine.play(colour, move)
        except EngineFailed as failure:
            return await self._play_on_another_engine(move, failure)

    async def _play_on_another_engine(self, answer: str, failure: EngineFailed) -> tuple[str, Status]:
        """Play a move that made the engine fail on another engine, from the same position.

        So a bot gains nothing by making engines fail or by killing them, even at every ply. If the other engine also
        fails, the mover loses if the move is not listed as legal.

        Raises:
            BotFault: The move is illegal.
            EngineFailed: The move is legal, but both engines failed.
        """
        await self._renew_engine(failure)
        try:
            legal = await self.engine.lists_legal(answer)
        except EngineFailed:
            raise failure from None
        try:
            return await self.engine.play(self.status.to_play, answer)
        except EngineFailed:
            if legal:
                raise
        raise illegal_move_at_failure(answer, failure)

    async def _renew_engine(self, failure: EngineFailed) -> None:
        """Let another engine play the plies so far.

        Raises:
            EngineFailed: There is no other engine, or it fails or disagrees.
        """
        if self.renew is None:
            raise failure
        try:
            self.engine = engine = await self.renew()
            status = await engine.new_game(self.match.setting.new_game)
            for ply in self.plies:
                _, status = await engine.play(ply.colour, ply.move)
        except (EngineFailed, GameRefused, BotFault):
            raise failure from None
        if status != self.status:
            raise failure
        self._warn(f"the engine was replaced at ply {status.ply + 1}: {failure}")

    def _check_replayed(self, event: MovePlayed, before: MovePlayed, charged: bool) -> MovePlayed:
        """Check that a replayed ply matches the record, and charge its recorded time.

        Raises:
            EngineFailed: The ply differs from the record.
        """
        if (event.ply, event.seat, event.colour, event.move) != (before.ply, before.seat, before.colour, before.move):
            raise EngineFailed(
                f"ply {before.ply} was {before.move} by seat {before.seat}, but the engine now plays {event.move}"
            )
        if charged:
            self.clocks[event.seat - 1].spend(before.ms)
        return before

    # -- time: late answers, and time that others took ---------------------------------------------------------------

    def _judge_overrun(self, overrun: int) -> None:
        """Forgive an overrun within the margin, with a warning.

        Raises:
            BotFault: The overrun exceeds the margin.
        """
        why = self.players[self.seat - 1].peer.late_because(overrun)
        because = f"; {why}" if why else ""
        if overrun > self.match.margin:
            raise late_move(overrun, because)
        self.warnings.append(
            f"seat{self.seat}: ply {self.status.ply + 1} came {overrun} ms late, within the margin{because}"
        )

    def _tell_credit(self, overrun: int) -> None:
        """Warn that an answer was in time only because part of its time was not charged."""
        text = f"seat{self.seat}: ply {self.status.ply + 1} came {overrun} ms after its time, which is not its fault"
        self.warnings.append(f"{text}: {self.players[self.seat - 1].peer.credit_because()}")

    def _watch_idle(self, ply: int, seat: int, ms: int) -> int:
        """Return how many ms of this turn the other side took by using the processor."""
        own, others = self.players[seat - 1].peer.idle, self.players[2 - seat].peer.idle
        if own is not None:
            own.rest()
        if others is None or not (stolen := others.end_turn()):
            return 0
        credit = min(ms, -(-stolen // 1_000_000))
        used = f"seat{3 - seat}: used {stolen / 1e6:.1f} ms of processor time in its opponent's turns up to ply {ply}"
        self.warnings.append(
            f"{used}: its opponent was credited {credit} ms, and from now on it is stopped in these turns"
        )
        return credit

    def _credit_stolen(self, seat: int, stolen: float, ms: int) -> int:
        """Return how many ms of this turn interrupts took, caused by the machine or the opponent."""
        credit = min(ms, int(stolen * 1000))
        self.stolen[seat - 1].append(credit)
        return credit

    # -- what else the record says -----------------------------------------------------------------------------------

    def _warn(self, text: str) -> None:
        self.warnings.append(text[:_MAX_WARNING])

    def _all_warnings(self) -> list[str]:
        for seat, player in enumerate(self.players, 1):
            if turns := self.stolen[seat - 1]:
                taken = f"interrupts on its core took {sum(turns)} ms of {counted(len(turns), 'turn')}"
                self.warnings.append(f"seat{seat}: {taken}, caused by its opponent or the machine and not charged")
            writes, cost = player.peer.slow_input
            if writes:
                self.warnings.append(
                    f"seat{seat}: {writes} writes to its input took {cost * 1000:.0f} ms, charged to it: "
                    "it does not read its input in time, or polls it from very many places"
                )
            self.warnings += [f"seat{seat}: {text}" for text in player.new_warnings()]
        return self.warnings[:_MAX_WARNINGS]

    def _stderr(self) -> tuple[str, ...]:
        """Return the end of each bot's stderr in this match, by seat; () if neither wrote any."""
        tails = tuple(player.peer.stderr_tail()[-_MAX_STDERR:] for player in self.players)
        for player in self.players:
            player.peer.end_game()
        return tails if self.match.keep_stderr and any(tails) else ()


async def _dead_list(player: Player, other: Player, colour: str, last_move: str) -> Reply:
    """Ask a side for its dead stones. A plain GTP bot that cannot name them agrees with the other side."""
    if player.agrees_by_genmove:
        return await player.agree(colour)
    listed = await player.dead_stones()
    if listed is None and last_move.startswith("dead:"):
        listed = last_move
    if listed is None:
        try:
            listed = await other.dead_stones()
        except BotFault:  # not its turn: the fault will show when it is
            listed = None
    return Reply(True, listed or "dead:")


def read_move(reply: Reply, analyses: bool) -> tuple[str, str]:
    """Return the move in an answer, one word that is safe to send to the engine, and the analysis.

    Raises:
        BotFault: The bot resigns, refuses to move, or its answer is not one word.
    """
    if not reply.ok:
        text, _, analysis = reply.text.partition("\n") if analyses else (reply.text, "", "")
        raise refused_genmove(text, analysis=analysis[:_MAX_ANALYSIS])
    move, analysis = reply.text, ""
    if move.isalnum() and move.isascii() and len(move) < 6:  # a vertex, `pass` or an unknown word
        return move, ""
    if analyses:
        move, _, analysis = move.partition("\n")
        move = move.strip(" \t")  # the framing strips these only from single-line answers
    if move.lower() == "resign":
        raise resigned(analysis[:_MAX_ANALYSIS])
    if len(move) > _MAX_MOVE or "#" in move or not move.isprintable() or len(move.split()) != 1:
        raise unreadable_move(reply.text)
    return move, analysis[:_MAX_ANALYSIS]


def _unless_zero(first: int, second: int) -> tuple[int, ...]:
    return (first, second) if first or second else ()


def _utc() -> str:
    return datetime.now(UTC).isoformat(timespec="milliseconds")
