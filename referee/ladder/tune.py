"""A tune in a ladder: the parameters of a bot, the versions that play for it, and its state from the results of pairs.

A tuned bot is entered four times: `plus` and `minus`, whose values change from pair to pair, and `tuned` and `start`,
which play the final test.
"""

import hashlib
import math
from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Annotated, Any

from msgspec import Meta

from ggp.referee.ladder.store.model import GAMES, Entrant, Pair, PairResult
from ggp.referee.ladder.toml_file import ConfigError, Table, decode, dotted, key, nearest, shown
from ggp.referee.match.bot_spec import BotSpec, LaunchError, Snapshot
from ggp.referee.match.outcome import BY_PLAY, Termination
from ggp.referee.match.series import GameResult
from ggp.referee.ratings.spsa import FASTEST, FIELD, RATE, Parameter, TunedValue, TunePlan, Tuning, Values, written

PLUS, MINUS, TUNED, START = "plus", "minus", "tuned", "start"
ROLES = (PLUS, MINUS, TUNED, START)
_LARGEST = 1e12
_SMALLEST_STEP = 0.5  # of a whole parameter: with less, both sets may be the same

_Number = Annotated[float, Meta(ge=-_LARGEST, le=_LARGEST)]


class ParamTable(Table, frozen=True):
    """`[param.NAME]`."""

    start: Annotated[_Number, key("Initial value.")]
    min: Annotated[_Number, key("Smallest value.")]
    max: Annotated[_Number, key("Largest value.")]
    step: Annotated[
        Annotated[float, Meta(ge=-_LARGEST, le=_LARGEST)],
        key("Distance to both sides in the last iterations: large enough to be noticed in play."),
    ]
    integer: Annotated[bool, key("Play whole numbers. Values between them are rounded at random.")] = False


def read_parameters(file: str, tables: Mapping[str, dict[str, Any]]) -> tuple[Parameter, ...]:
    """Return the parameters of a file. Raise ConfigError for invalid ones."""
    if not tables:
        raise ConfigError(file, "param", "there is none: add a table [param.NAME], and write {NAME} into the command")
    return tuple(_parameter(file, name, values) for name, values in tables.items())


def _parameter(file: str, name: str, values: dict[str, Any]) -> Parameter:
    at = dotted("param", name)
    table = decode(file, at, values, ParamTable)
    if not table.min < table.max:
        raise ConfigError(file, f"{at}.max", f"is {table.max:g}, and min is {table.min:g}: write more than min")
    if not table.min <= table.start <= table.max:
        outside = f"is {table.start:g}, outside of {table.min:g} to {table.max:g}: write a value between"
        raise ConfigError(file, f"{at}.start", outside)
    if not table.step > 0:
        raise ConfigError(file, f"{at}.step", f"is {table.step:g}: write how far it is moved to both sides, above 0")
    if table.step > table.max - table.min:
        raise ConfigError(file, f"{at}.step", f"is {table.step:g}, more than from min to max: write less")
    if table.integer:
        for what, value in (("start", table.start), ("min", table.min), ("max", table.max)):
            if value != round(value):
                raise ConfigError(file, f"{at}.{what}", f"is {value:g}, and integer is true: write a whole number")
        if table.step < _SMALLEST_STEP:
            raise ConfigError(file, f"{at}.step", f"is {table.step:g}: an integer needs {_SMALLEST_STEP} or more")
    return Parameter(name, table.start, table.min, table.max, table.step, table.integer)


def make_plan(
    file: str, parameters: tuple[Parameter, ...], iterations: int, chains: int, batch: int, rate: float | None
) -> TunePlan:
    """Return the plan; `batch` 0 and `rate` None stand for defaults. Raise ConfigError if the chains are not equal."""
    if iterations % chains:
        fitting = chains * (iterations // chains + 1)
        raise ConfigError(file, "format.iterations", f"is no multiple of the {chains} chains: write {fitting}")
    length = iterations // chains
    return TunePlan(
        parameters, length, chains, batch or 2 * chains, min(FASTEST, RATE / length) if rate is None else rate
    )


# -- The bot: a command line with {name} in it, and the versions that are made from it.


def check_fields(file: str, bot: Entrant, parameters: Sequence[Parameter]) -> None:
    """Raise ConfigError unless the bot uses these parameters, and no others, in command, options or environment."""
    names, spec = [one.name for one in parameters], bot.start
    used = list(dict.fromkeys(FIELD.findall("\n".join([spec.command, *spec.argv, *dict(spec.environment).values()]))))
    at = dotted("bot", bot.name)
    if spec.url:
        raise ConfigError(file, f"{at}.command", "a tuned bot is started for each pair: write a command line")
    for name in used:
        if name not in names:
            problem = f"there is no parameter {shown(name)}{nearest(name, names)}: add [param.{name}], or remove it"
            raise ConfigError(file, f"{at}.command", problem)
    for name in names:
        if name not in used:
            problem = f"is not used: write {{{name}}} into the command, options or environment of {bot.name}"
            raise ConfigError(file, dotted("param", name), problem)


def filled(template: BotSpec, plan: TunePlan, values: Values) -> BotSpec:
    """Return the template with these values."""
    words = plan.words(values)

    def fill(text: str) -> str:
        return FIELD.sub(lambda field: words.get(field[1], field[0]), text)

    return replace(
        template,
        command=fill(template.command),
        argv=tuple(map(fill, template.argv)),
        environment=tuple((name, fill(value)) for name, value in template.environment),
    )


def entrants(bot: Entrant, plan: TunePlan, seed: int) -> tuple[Entrant, ...]:
    """Return the four versions. Another program, plan or seed makes others, whose tune begins anew."""
    found = []
    for role in ROLES:
        said = f"{role} {bot.version} {plan.digest} {seed}"
        version = hashlib.sha256(said.encode()).hexdigest()[: len(bot.version)]
        start = replace(filled(bot.start, plan, plan.start), command=bot.start.command, name=role, version=version)
        found.append(Entrant(role, start, bot.pools))
    return tuple(found)


def tuned_bot(template: BotSpec, plan: TunePlan, role: str, values: Values) -> BotSpec:
    """Return how the version of this role is started with these values.

    The version of the template is that of the program when the file was read. If the program has changed since, workers
    will refuse the bot.
    """
    made = replace(filled(template, plan, values), name=role)
    try:
        look = Snapshot()
        same = look.version_of(template) == template.version
        return replace(made, version=look.version_of(made) if same else template.version)
    except LaunchError:
        return replace(made, version=template.version)


# -- Its state in the store: what pairs of `plus` and `minus` ended with.


class PoolTune(Tuning):
    """A tune that is played by the versions `plus` and `minus`, which are ids in the store."""

    def __init__(self, plan: TunePlan, seed: str, plus: int, minus: int) -> None:
        super().__init__(plan, seed)
        self.plus, self.minus = plus, minus

    def concerns(self, pair: Pair | PairResult) -> bool:
        """Return whether this pair is an iteration."""
        return {pair.first, pair.second} == {self.plus, self.minus}

    def offer_result(self, result: PairResult) -> None:
        """Offer a stored pair. A forfeit is a loss, a pair with a void game moves nothing, a lost pair is replaced."""
        if result.lost:
            self.lose(result.number)
            return
        points = result.points if result.first == self.plus or result.points is None else 2 - result.points
        self.offer(result.number, None if points is None else 2 * points - 2)

    def values(self, version: int, number: int) -> Values:
        """Return the values that a version plays with in this pair."""
        probe = self.probe_of(number)
        return probe.plus if version == self.plus else probe.minus

    expect = Tuning.add


@dataclass(frozen=True, slots=True)
class TuneState:
    """A snapshot of a tune: `known` of its iterations are played, of which `silent` have no result.

    There is an estimate for each parameter of the plan. `history` has numbers of iterations, and the values after them.
    `settled`: the chains agree.
    """

    plan: TunePlan
    known: int
    silent: int
    estimates: tuple[TunedValue, ...]
    history: tuple[tuple[int, Values], ...]
    settled: bool = False

    @property
    def moving(self) -> bool:
        """Return True while the values still change and have no error yet."""
        return not self.settled and self.known < self.plan.iterations

    @property
    def rows(self) -> list[tuple[str, str, str, str, str]]:
        """Return a row of text for each parameter: name, start, value, half of its 95 % interval, bounds."""
        return [
            (
                one.name,
                written(one.start),
                _rounded(found.value, one),
                "" if found.half is None or self.moving else _rounded(found.half, one),
                f"{written(one.low)} … {written(one.high)}{' reached' if found.value in (one.low, one.high) else ''}",
            )
            for one, found in zip(self.plan.parameters, self.estimates, strict=True)
        ]

    @property
    def summary(self) -> str:
        """Return the state as text: `312 of 4,000 iterations in 4 chains`, and what ± means."""
        words = [f"{self.known:,} of {self.plan.iterations:,} iterations in {self.plan.chains} chains"]
        words += [f"{self.silent:,} without a result"] if self.silent else []
        if self.moving:
            words += ["the values are still moving, so they have no ± yet"]
        elif self.plan.chains > 1:
            words += ["± is 95 %, from how far the chains are apart"]
        return "; ".join(words)


TUNE_HEADS = ("parameter", "start", "value", "±", "bounds")


def state_of(tune: Tuning) -> TuneState:
    """Return a snapshot of a tune."""
    found = tune.estimates()
    now = (tune.known, tuple(one.value for one in found))
    return TuneState(tune.plan, tune.known, tune.silent, found, (*tune.history, now), tune.settled)


def _rounded(value: float, one: Parameter) -> str:
    """Round a value to a hundredth of the step: more digits mean nothing."""
    digits = max(0, 2 - math.floor(math.log10(one.step)))
    return f"{value:.{min(digits, 20)}f}"


# -- Faults: a set of values that breaks the bot must not lead the tune unnoticed.


WINDOW = 20  # games of a run that are looked at
_TOLD = 5  # faults of a run
_LOST_ON_TIME = Termination.TIME  # a bot that thinks too long is worse, not broken


class FaultWindow:
    """The last games of this run. `too_many` says why the run ends; it is "" while at most half of them are faulty."""

    def __init__(self) -> None:
        self.too_many = ""
        self._last: deque[bool] = deque(maxlen=WINDOW)
        self._told = 0

    def add_game(self, played: GameResult, values: str) -> str:
        """Return a message about a game, "" for none. `values` are those of the bot at fault."""
        if played.termination in BY_PLAY or played.termination == _LOST_ON_TIME:
            self._last.append(False)
            return ""
        return self._add([True], f"{played.culprit} {played.termination} with {values}: {played.detail}")

    def add_unplayable(self, reason: str, values: str) -> str:
        """Return a message about a pair that could not be played, "" for none."""
        return self._add([True] * GAMES, f"{reason}, with {values}")

    def _add(self, faulty: Sequence[bool], why: str) -> str:
        self._last.extend(faulty)
        if 2 * sum(self._last) > WINDOW:
            remedy = "mend the bot or narrow the bounds of its parameters"
            self.too_many = f"{sum(self._last)} of the last {WINDOW} games ended by a fault, the last: {why}: {remedy}"
        self._told += 1
        return f"fault: {why}" if self._told <= _TOLD else ""
