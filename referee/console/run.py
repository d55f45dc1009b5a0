"""Opens a console, shows it as a prompt or as a filter, and ends the peer whatever happens."""

import os
import sys
from collections.abc import Callable, Iterable
from typing import NamedTuple

from referee.console.console import Console
from referee.console.ending import Ended, ends_in_order
from referee.console.filter import Filter
from referee.console.own import Own
from referee.console.target import Target

BROKEN_PIPE = 141


class Settings(NamedTuple):
    """How a console is to behave; `more` is given to it (see Console)."""

    timeout: float
    raw: bool = False
    as_json: bool = False
    quiet: bool = False
    more: Callable[[Console], Iterable[Own]] | None = None


def run_console(target: Target, settings: Settings) -> int:
    """The exit status. A filter if stdin is no terminal or JSON is asked for, else a prompt.

    Raises LaunchError, also where the peer refuses its first command.
    """
    if settings.as_json or not sys.stdin.isatty():
        shown = Filter(as_json=settings.as_json, quiet=settings.quiet)
        return _run(target, settings, shown.passed, shown.run)
    if sys.stdout.isatty() and os.environ.get("TERM", "dumb") not in ("dumb", ""):
        from referee.console.prompt import Prompt  # and with it prompt_toolkit

        prompt = Prompt()
        return _run(target, settings, prompt.passed, prompt.run)
    from referee.console.plain import Plain

    plain = Plain()
    return _run(target, settings, plain.passed, plain.run)


def _run(
    target: Target,
    settings: Settings,
    passed: Callable[[str, bytes, bool], None],
    run: Callable[[Console], int],
) -> int:
    try:
        with ends_in_order():
            console = Console(target, passed, more=settings.more, timeout=settings.timeout, raw=settings.raw)
            try:
                return run(console)
            except BrokenPipeError:  # whoever read our output has seen enough
                return BROKEN_PIPE
            finally:
                console.dialogue.close()
    except Ended as ended:
        return ended.status
