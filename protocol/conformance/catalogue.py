"""Which checks there are for whom, and how those run that are one exchange."""

import re
from collections.abc import Callable, Iterable

from ggp.protocol.channel import Transport
from ggp.protocol.commands import PLAIN_BOT, Who, required
from ggp.protocol.conformance import bots, engines
from ggp.protocol.conformance.checks import Check, Demand, Finding, RuleSource
from ggp.protocol.conformance.framing import FRAMING
from ggp.protocol.errors import PeerTimeout
from ggp.protocol.grammar import MAX_LINE


def catalogue(who: Who, *, game: str = "", native: bool = True) -> tuple[Check, ...]:
    """Every check of an engine or a bot, in order; without a game, those that are about none, and the scripts."""
    checks = (*checks_for_all(who, game=game, native=native), *(engines.ENGINE if who is Who.ENGINE else bots.BOT))
    harder = _OF_ENGINES if who is Who.ENGINE else frozenset() if native else _OF_PLAIN_BOTS
    return tuple(check._replace(demand=Demand.REQUIRED) if check.number in harder else check for check in checks)


# "Junk before a first = or ?: from an engine an error; from a bot skipped with a warning."
_OF_ENGINES = frozenset(("2.3.4", "2.3.5"))
# A plain bot begins each game by boardsize and clear_board, a native one by ggp-new.
_OF_PLAIN_BOTS = frozenset(("2.7.1",))
# What the referee looks for in the list_commands of a bot; it can do without the answers to the others.
_NEEDED_OF_BOTS = frozenset(("list_commands", "ggp-new", "boardsize", "clear_board", "play", "genmove"))


def checks_for(who: Who, *, game: str = "", native: bool = True) -> list[Check]:
    """Those that are one exchange: framing, the commands it must know, and a first turn of `game`."""
    return [check for check in checks_for_all(who, game=game, native=native) if not check.script]


def checks_for_all(who: Who, *, game: str, native: bool) -> list[Check]:
    """Framing with its scripts, the commands that it must know, a first turn of `game`."""
    names = required(who) if native else PLAIN_BOT
    section = "3" if who is Who.ENGINE else "4"
    commands = [
        Check(
            f"{section}.0.{i}",
            f"knows {name}",
            b"known_command %b\n" % name.encode(),
            rb"= true\n\n",
            Demand.REQUIRED if who is Who.ENGINE or name in _NEEDED_OF_BOTS else Demand.RECOMMENDED,
            remedy=f"answer {name}, and list it",
            source=RuleSource.GGP if name.startswith("ggp-") else RuleSource.GTP,
        )
        for i, name in enumerate(names, 1)
    ]
    of_game = engines.exchanges if who is Who.ENGINE else bots.exchanges
    return [*FRAMING, *commands, *(of_game(game) if native and game else ())]


_ENOUGH = 16 * MAX_LINE  # bytes: no right answer here is nearly as long


async def run_checks(connect: Callable[[], Transport], checks: Iterable[Check], patience: float = 2.0) -> list[Finding]:
    """Run each check on a fresh peer from `connect`; `patience` is the seconds that a wrong answer is waited for."""
    return [await _run(connect(), check, patience) for check in checks]


async def _run(transport: Transport, check: Check, patience: float) -> Finding:
    pattern = re.compile(check.expected)
    got, ended = bytearray(), False
    try:
        deadline = transport.now() + patience
        if check.setup and not await _set_up(transport, check.setup, deadline):
            return Finding(check, False, b"", False)
        for piece in [check.sent[i : i + 1] for i in range(len(check.sent))] if check.pieces else [check.sent]:
            await transport.write(piece, deadline)
        if check.end_input:
            transport.close_stdin()
        # A peer that must end is read to its end; the others until their answer is right, and then once
        # more without waiting: "Nothing else is ever written to stdout".
        while not ended:
            right = pattern.fullmatch(got) is not None and not check.ends
            data = await transport.read(transport.now() if right else deadline)
            got += data
            ended = not data
            if len(got) > _ENOUGH or (transport.now() > deadline and not right):
                break
    except PeerTimeout:
        pass
    finally:
        transport.close()
    passed = pattern.fullmatch(got) is not None and ended >= check.ends
    return Finding(check, passed, bytes(got), ended)


async def _set_up(transport: Transport, line: bytes, deadline: float) -> bool:
    """Send the command that prepares a check; whether it succeeded."""
    await transport.write(line, deadline)
    got = bytearray()
    while not got.endswith(b"\n\n") and len(got) <= _ENOUGH:
        data = await transport.read(deadline)
        if not data:
            return False
        got += data
    return got.startswith(b"=")
