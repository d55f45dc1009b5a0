"""The referee as a responder: its commands and who answers them, for one client."""

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from protocol.commands import REFEREES, TABLE
from protocol.errors import CommandFailed
from protocol.installed import version
from protocol.responder import Handler, Responder
from protocol.transports.pipe import report_on_stderr
from referee.service.answers import Answers
from referee.service.desk import Desk
from referee.service.orders import Orders
from referee.store.errors import StoreError

if TYPE_CHECKING:
    from referee.store.store import Store

NAME = "ggp-referee"
_MANY = 10_000  # words: a reason, a command line
Make = Callable[[bool], Responder]


def responders(desk: Desk, store: "Store | None", live: str = "") -> Make:
    """Makes the answering end for a client, who is trusted or not (see Orders). `live`: see Answers."""
    answers = Answers(desk, store, live)
    return lambda trusted: Responder(
        NAME, version("general-game-protocol"), handlers(answers, Orders(desk, trusted)), report_on_stderr
    )


def handlers(answers: Answers, orders: Orders) -> dict[str, Handler]:
    """Every command of the referee but those that Responder answers itself."""
    return _checked(
        {
            "ggp-version": (0, 0, lambda arguments: "1"),
            "ggp-ladder": (0, 0, answers.ladder),
            "ggp-standings": (0, 1, answers.standings),
            "ggp-crosstable": (0, 1, answers.crosstable),
            "ggp-bots": (0, 0, answers.bots),
            "ggp-events": (0, 1, answers.events),
            "ggp-matches": (0, 0, answers.matches),
            "ggp-game": (1, 1, answers.game),
            "ggp-history": (1, 1, answers.history),
            "ggp-scene": (1, 2, answers.scene),
            "showboard": (1, 2, answers.showboard),
            "ggp-result": (1, 2, answers.result),
            "ggp-wait": (0, 2, answers.wait),
            "ggp-games": (0, 0, answers.games),
            "ggp-options": (0, 1, answers.options),
            "ggp-pause": (0, 0, orders.pause),
            "ggp-resume": (0, 0, orders.resume),
            "ggp-stop": (0, 1, orders.stop),
            "ggp-abort": (1, 1, orders.abort),
            "ggp-suspend": (2, _MANY, orders.suspend),
            "ggp-readmit": (1, 1, orders.readmit),
            "ggp-reload": (0, 0, orders.reload),
            "ggp-match": (3, _MANY, orders.match),
        }
    )


def _checked(rows: Mapping[str, tuple[int, int, Handler]]) -> dict[str, Handler]:
    """Handlers with the least and the most number of their arguments -> handlers that refuse others."""

    def check(name: str, least: int, most: int, handler: Handler) -> Handler:
        def answer(arguments: list[str]) -> str:
            if not least <= len(arguments) <= most:
                raise CommandFailed(f"syntax error: {name} {_usage(name)}".rstrip())
            try:
                return handler(arguments)
            except StoreError as error:
                raise CommandFailed(str(error)) from None

        return answer

    return {name: check(name, *row) for name, row in rows.items()}


def _usage(name: str) -> str:
    return (REFEREES.get(name) or TABLE[name]).arguments
