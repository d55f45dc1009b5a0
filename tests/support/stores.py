"""For the tests of the store: ladders, made-up matches with true records, and stores on both databases."""

import zlib
from collections.abc import Sequence

from protocol.records import MatchEnded, MatchStarted, MovePlayed, Party, Record
from referee.play.bot_spec import BotSpec
from referee.play.clock import TimeControl
from referee.play.series import GameResult, seats
from referee.play.setting import Setting, Timeouts
from referee.store.model import Entrant, FinishedGame, Format, FormatKind, Ladder, Pair, Pairing, Pool
from referee.store.store import Store

ENGINE = BotSpec("engine", "engine", ("engine",))
BOTS = ("ann", "bob", "cat", "dan")
ENDED = "2026-11-21T12:00:00Z"


def pool(name: str = "fast", game: str = "yugo", control: str = "1+0.1", **options: str) -> Pool:
    return Pool(name, Setting(game, options or {"size": "5"}, {}, TimeControl.parse(control)), ENGINE)


def entrant(
    name: str, version: str = "v1", pools: Sequence[str] = ("fast",), parent: str = "", anchor: float | None = None
) -> Entrant:
    start = BotSpec(name, f"./{name} --{version}", (f"./{name}", f"--{version}"), version=version)
    return Entrant(name, start, tuple(pools), parent, anchor)


def ladder(bots: Sequence[Entrant | str] = BOTS, pools: Sequence[Pool] = ()) -> Ladder:
    entrants = tuple(bot if isinstance(bot, Entrant) else entrant(bot) for bot in bots)
    return Ladder("test", 1, "", tuple(pools) or (pool(),), entrants, Format(FormatKind.LADDER), Timeouts())


def match(
    pair: Pair,
    game: int,
    winner: int = 0,
    termination: str = "rules",
    *,
    names: Sequence[str] = (),
    result: str | None = None,
    attempt: int = 0,
    plies: int = 2,
    culprit: str | None = None,
    setting: Setting | None = None,
) -> FinishedGame:
    """A match of the pair that `winner` won: 0 its first, 1 its second, -1 nobody; with a record to match.

    `names` of the pair's first and second are for the record and for a culprit. A loss by a fault has its culprit.
    """
    names = names or ("ann", "bob")
    order = seats(game)
    key = f"test-{pair.pool}-{pair.number}-{game + 1}" + (f".{attempt}" if attempt else "")
    seat = order.index(winner) + 1 if winner >= 0 else 0
    fault = termination not in ("rules", "resignation", "ply_limit", "engine_failed")
    if result is None:
        result = "" if termination in ("ply_limit", "engine_failed") else f"{'0BW'[seat]}+1" if seat else "0"
    if culprit is None:
        culprit = "engine" if termination == "engine_failed" else names[1 - winner] if fault else ""
    by_seat = [names[bot] for bot in order]
    blamed = f"seat{by_seat.index(culprit) + 1}" if culprit in by_seat else culprit
    setting = setting or pool().setting
    record = Record(
        MatchStarted(
            match=key,
            game=setting.game,
            options=setting.options,
            bots=(_party(by_seat[0]), _party(by_seat[1])),
            engine=Party(name="engine"),
            control=str(setting.control),
        ),
        tuple(MovePlayed(ply, key, ply, 2 - ply % 2, "BW"[1 - ply % 2], f"A{ply}", ply) for ply in range(1, plies + 1)),
        MatchEnded(
            seq=plies + 1,
            match=key,
            result=result,
            winner=seat,
            termination=termination,
            culprit=blamed,
            plies=plies,
            ended=ENDED,
        ),
    )
    ms = (sum(range(1, plies + 1, 2)), sum(range(2, plies + 1, 2)))
    played = GameResult(
        number=game,
        key=key,
        result=result,
        winner=winner if seat else -1,
        culprit=culprit,
        termination=termination,
        detail="",
        plies=plies,
        used=(ms[order.index(0)], ms[order.index(1)]),
        suspect=False,
        ended=ENDED,
        record=zlib.compress(record.lines()),
    )
    return FinishedGame(pair, played)


def pairings(store: Store, pool: int, number: int) -> list[Pairing]:
    """So many, of everybody with everybody in turn."""
    ids = [seat.id for seat in store.seats(pool) if seat.active]
    all_pairs = [(one, other) for one in ids for other in ids if one != other]
    return [Pairing(*all_pairs[index % len(all_pairs)]) for index in range(number)]


def _party(name: str) -> Party:
    return Party(name=name, command=f"./{name} --v1")
