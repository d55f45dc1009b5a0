"""Runs a coroutine that never suspends, without an event loop. It may not await anything that needs asyncio."""

from collections.abc import Coroutine
from typing import Any, TypeVar

from ggp.protocol.errors import LocalProtocolError

T = TypeVar("T")


def run_blocking(coroutine: Coroutine[Any, Any, T]) -> T:
    """Run a coroutine and return its result. Its channels must block inside (pipe, zmq, memory).

    Raises:
        LocalProtocolError: The coroutine suspended.
    """
    try:
        coroutine.send(None)
    except StopIteration as stop:
        result: T = stop.value
        return result
    coroutine.close()
    raise LocalProtocolError("a blocking coroutine suspended: it awaits something that needs asyncio", code="suspended")
