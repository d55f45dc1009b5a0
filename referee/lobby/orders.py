"""The orders of authors, as commands on a connection of their own: what may be asked, and the answers.

One order is done at a time, of all connections, and a pause follows: the loop and the store have time for the games.
"""

import asyncio
from collections.abc import Awaitable, Callable

from protocol.commands import LOBBIES, TABLE, Who, commands_of
from protocol.errors import CommandFailed
from protocol.grammar import MAX_ANSWER, MAX_ANSWER_LINES, clean_line, format_reply, parse_command
from protocol.installed import version
from protocol.messages import Reply
from referee.background import BackgroundTasks
from referee.lobby.admission import Author
from referee.lobby.challenges import Challenges
from referee.lobby.journal import Journal
from referee.store.errors import StoreError

NAME = "ggp-lobby"
WAITING = 1000  # orders of all connections that are not answered yet
PAIRS = 1  # of a challenge, where nothing is said
_ROOM = MAX_ANSWER - 1000  # bytes of text in an answer
_DIGITS = 9
_PAUSE = 0.01  # seconds; a list of a thousand bots takes the loop's thread a fifth of that
Send = Callable[[bytes, bytes], None]
_Handler = Callable[[Author, list[str]], Awaitable[str]]


class Orders:
    """`send(route, answer)` may find nobody there any more; `hang_up(route)` after `quit`. `open` in the loop."""

    def __init__(self, challenges: Challenges, journal: Journal, send: Send, hang_up: Callable[[bytes], None]) -> None:
        self._challenges, self._journal, self._send, self._hang_up = challenges, journal, send, hang_up
        self._waiting: asyncio.Queue[tuple[bytes, Author, bytes]] = asyncio.Queue(WAITING)
        self._tasks = BackgroundTasks(journal.fault)
        self._handlers: dict[str, tuple[int, int, _Handler]] = {
            "protocol_version": (0, 99, _always("2")),
            "name": (0, 99, _always(NAME)),
            "version": (0, 99, _always(version("general-game-protocol"))),
            "known_command": (0, 99, self._known_command),
            "list_commands": (0, 99, _always("\n".join(sorted(row.name for row in commands_of(Who.LOBBY))))),
            "quit": (0, 99, _always("")),
            "ggp-version": (0, 0, _always("1")),
            "ggp-bots": (0, 0, self._bots),
            "ggp-pools": (0, 0, self._pools),
            "ggp-challenge": (3, 4, self._challenge),
            "ggp-challenge-status": (1, 1, self._status),
            "ggp-challenges": (0, 0, self._list),
            "ggp-withdraw": (1, 1, self._withdraw),
        }

    def open(self) -> None:
        self._tasks.keep("orders", self._work)

    async def close(self) -> None:
        await self._tasks.close()

    def hear(self, route: bytes, author: Author, line: bytes) -> None:
        """A command line, with its LF."""
        try:
            self._waiting.put_nowait((route, author, line))
        except asyncio.QueueFull:
            identity = parse_command(clean_line(line)).id
            self._send(route, format_reply(Reply(False, "the lobby is busy: ask again", identity)))

    async def _work(self) -> None:
        while True:
            route, author, line = await self._waiting.get()
            name, arguments, identity = parse_command(clean_line(line))
            try:
                reply = Reply(True, await self._answer(author, name, [*arguments]), identity)
            except (CommandFailed, StoreError) as error:
                reply = Reply(False, " ".join(str(error).split()), identity)
            except Exception as error:  # a bug of a handler must not end the orders of everybody
                self._journal.fault("order", error, order=name)
                reply = Reply(False, f"internal error: {type(error).__name__}", identity)
            self._send(route, format_reply(reply))
            if name == "quit":
                self._hang_up(route)
            await asyncio.sleep(_PAUSE)

    async def _answer(self, author: Author, name: str, arguments: list[str]) -> str:
        if name not in self._handlers:
            raise CommandFailed("unknown command")
        least, most, handler = self._handlers[name]
        if not least <= len(arguments) <= most:
            usage = (LOBBIES.get(name) or TABLE[name]).arguments
            raise CommandFailed(f"syntax error: {name} {usage}".rstrip())
        return await handler(author, arguments)

    async def _known_command(self, author: Author, arguments: list[str]) -> str:
        return "true" if arguments and arguments[0] in self._handlers else "false"

    async def _bots(self, author: Author, arguments: list[str]) -> str:
        return _lines(self._challenges.bots())

    async def _pools(self, author: Author, arguments: list[str]) -> str:
        return _lines(self._challenges.pools())

    async def _list(self, author: Author, arguments: list[str]) -> str:
        return _lines(await self._challenges.listed())

    async def _challenge(self, author: Author, arguments: list[str]) -> str:
        pool, mine, theirs = arguments[:3]
        pairs = PAIRS
        if len(arguments) > 3:
            name, _, value = arguments[3].partition("=")
            if name != "pairs":
                raise CommandFailed(f"{arguments[3][:60]!r} is no option: write pairs=N")
            pairs = _number(value)
        return f"id={await self._challenges.order(author, pool, mine, theirs, pairs)}"

    async def _status(self, author: Author, arguments: list[str]) -> str:
        return await self._challenges.status(_number(arguments[0]))

    async def _withdraw(self, author: Author, arguments: list[str]) -> str:
        await self._challenges.withdraw(author, _number(arguments[0]))
        return ""


def _always(text: str) -> _Handler:
    async def answer(author: Author, arguments: list[str]) -> str:
        return text

    return answer


def _number(text: str) -> int:
    if not (text.isascii() and text.isdigit() and len(text) <= _DIGITS):
        raise CommandFailed(f"{text[:40]!r} is no number")
    return int(text)


def _lines(lines: list[str]) -> str:
    """As many as fit in an answer; how many do not, the last one says."""
    size = 0
    for number, line in enumerate(lines):
        size += len(line.encode()) + 1
        if size > _ROOM or number == MAX_ANSWER_LINES - 2:
            return "\n".join([*lines[:number], f"cut={len(lines) - number}"])
    return "\n".join(lines)
