"""The parameters of an OpenSpiel game as options. Child processes find out which values work.

OpenSpiel reacts to some invalid values by ending the process, and does not check others at all. So a value counts as
possible if a game with it is for two players and survives some random plies. The child process has limits on time and
memory.
"""

import os
import random
import resource
import signal
import sys
from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Any

import pyspiel

from ggp.engines.game import Option, OptionError, OptionValue, shortest

Values = dict[str, bool | int | float | str]

_PLIES = 40  # plies of the random game
_SECONDS = 0.25  # processor time for one value
_LIFE = 30  # seconds that a child may live
_SLOW = "it takes too long"
_MEMORY = 4 * 1024**3  # bytes of address space
_SMALL = 64  # a larger default is probably a number of moves, so only some values are tried
_STEPS = (1, 2, 5, 10, 20, 50, 100, 200, 500, 1_000, 2_000, 5_000, 10_000)


class ProbedOption(Option):
    """An integer or boolean option whose domain is found by trying, when it is needed for more than the default."""

    game: str = ""

    @cached_property
    def domain(self) -> str:
        """Return the possible values, found by trying them."""
        if self.type == "enum":
            other = self.default != "true"
            refused = _why_not(self.game, [{self.name: other}])[0]
            return self.default if refused else "false,true"
        return _ranges(_possible(self.game, self.name, int(self.default))) or self.default

    def parse(self, text: str) -> OptionValue:
        """Parse a value. The default needs no trying."""
        if text != self.default:
            return super().parse(text)
        return text if self.type == "enum" else int(text)


def options_of(game: str, parameters: Mapping[str, Any]) -> tuple[Option, ...]:
    """Return an option for each parameter that is an integer, a multiple of 0.5 or a boolean. Texts get none."""
    found: list[Option] = []
    for name, default in sorted(parameters.items()):
        if isinstance(default, int):  # a bool is an int too
            kind = "enum" if isinstance(default, bool) else "int"
            probed = ProbedOption(name, kind, str(default).lower(), "")
            probed.game = game
            found.append(probed)
        elif isinstance(default, float) and (2 * default).is_integer():
            found.append(Option(name, "half", shortest(default), "*"))
    return tuple(found)


def values_of(parameters: Mapping[str, Any], options: Mapping[str, OptionValue]) -> Values:
    """Return the parameters that differ from their defaults.

    The others are left out, because naming some parameters changes others.
    """
    values: Values = {}
    for name, value in options.items():
        default = parameters[name]
        meant: bool | int | float = value == "true" if isinstance(default, bool) else type(default)(value)
        if meant != default:
            values[name] = meant
    return values


def check_values(game: str, values: Values) -> None:
    """Raise OptionError unless these values work together, which a child process finds out."""
    if values and (reason := _why_not(game, [values])[0]):
        said = " ".join(f"{name}={str(value).lower()}" for name, value in values.items())
        raise OptionError(f"OpenSpiel cannot play {game} {said}: {reason}")


def _possible(game: str, name: str, default: int) -> list[int]:
    if abs(default) <= _SMALL:
        tried = list(range(min(0, default), max(2 * default, default + 10) + 1))
    else:
        tried = sorted({default, *(step for step in _STEPS if step <= 10 * default)})
    above = [value for value in tried if value > default]
    below = [value for value in tried if value < default]
    reasons = [*_why_not(game, [{name: value} for value in below]), ""]
    reasons += _why_not(game, [{name: value} for value in above])
    fine = [value for value, reason in zip([*below, default, *above], reasons, strict=True) if not reason]
    return fine if abs(default) <= _SMALL else list(range(min(fine), max(fine) + 1))


def _ranges(values: Sequence[int]) -> str:
    """Format numbers as ranges: 1, 2, 3, 7 becomes "1..3,7"."""
    parts: list[tuple[int, int]] = []
    for value in values:
        if parts and value == parts[-1][1] + 1:
            parts[-1] = parts[-1][0], value
        else:
            parts.append((value, value))
    return ",".join(str(low) if low == high else f"{low}..{high}" for low, high in parts)


def _why_not(game: str, many: Sequence[Values]) -> list[str]:
    """Return for each set of values why it is impossible, or "" if it is possible.

    If a child dies early, another one continues. After values that take too long, the rest is not tried.
    """
    reasons: list[str] = []
    while len(reasons) < len(many):
        said, ended = _ask_child(game, many[len(reasons) :])
        reasons += said
        if len(reasons) < len(many):
            reasons += [ended] * (len(many) - len(reasons) if ended == _SLOW else 1)
    return reasons


def _ask_child(game: str, many: Sequence[Values]) -> tuple[list[str], str]:
    """Try the values in a child process. Return its verdicts, one for each set until it ended, and how it ended."""
    ours, theirs = os.pipe()
    sys.stdout.flush()
    pid = os.fork()
    if pid == 0:
        os.close(ours)
        _be_bounded()
        for values in many:
            signal.setitimer(signal.ITIMER_PROF, _SECONDS)
            os.write(theirs, (_try_out(game, values).replace("\n", " ")[:200] + "\n").encode())
        os._exit(0)
    os.close(theirs)
    with os.fdopen(ours, "rb") as heard:
        lines = heard.read().decode("utf-8", "replace").split("\n")[:-1]
    _, status = os.waitpid(pid, 0)
    ended = os.waitstatus_to_exitcode(status)
    how = f" ({signal.Signals(-ended).name})" if ended < 0 else ""
    return lines, _SLOW if -ended in (signal.SIGPROF, signal.SIGALRM) else f"it ends the process{how}"


def _be_bounded() -> None:
    """Limit the child: no output, no core file, little memory, and timers whose signals end it."""
    null = os.open(os.devnull, os.O_RDWR)
    for descriptor in (0, 1, 2):
        os.dup2(null, descriptor)
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    resource.setrlimit(resource.RLIMIT_AS, (_MEMORY, _MEMORY))
    for number in (signal.SIGALRM, signal.SIGPROF, signal.SIGINT, signal.SIGTERM, signal.SIGSEGV, signal.SIGABRT):
        signal.signal(number, signal.SIG_DFL)
    signal.set_wakeup_fd(-1)
    signal.alarm(_LIFE)


def _try_out(game: str, values: Values) -> str:
    """Return why the game with these values cannot be played, or "" if some random plies work. Runs in a child."""
    try:
        loaded = pyspiel.load_game(game, values)
        if loaded.num_players() != 2:
            return f"it is for {loaded.num_players()} players"
        state, chance = loaded.new_initial_state(), random.Random(0)
        if state.is_chance_node() or loaded.get_type().chance_mode != pyspiel.GameType.ChanceMode.DETERMINISTIC:
            return "it has chance"
        if state.is_terminal() or len(state.legal_actions()) == 0:
            return "it is over before it begins"
        str(state)
        for _ in range(_PLIES):
            if state.is_terminal():
                break
            action = chance.choice(state.legal_actions())
            state.action_to_string(state.current_player(), action)
            state.apply_action(action)
            str(state)
    except Exception as error:  # whatever OpenSpiel raises
        return str(error).strip() or type(error).__name__
    return ""
