"""Runs the checks that are one exchange, each on a fresh peer; the longer sequences are the referee's part."""

import re
from collections.abc import Callable, Iterable

from protocol.channel import Transport
from protocol.conformance.checks import Check, Finding
from protocol.errors import PeerTimeout
from protocol.grammar import MAX_LINE

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
