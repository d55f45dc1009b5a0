"""A referee, rules engines and bots that play board games over a GTP-like text protocol.

A bot in Python needs one function of it, `from ggp import run`; ggp.bots.sdk says what it does.
"""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ggp.bots.sdk import NoMove, Position, run

__all__ = ["NoMove", "Position", "run"]


def __getattr__(name: str) -> Any:
    # Every process of ours imports this package, and most of them play no bot.
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from ggp.bots import sdk

    return getattr(sdk, name)
