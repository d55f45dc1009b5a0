"""The trial of one program: who it is, its processes, started as few times as is safe, and what was found so far.

Which questions are put to it is in the scripts.
"""

import time
from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass, field
from typing import NamedTuple

from protocol.commands import Who
from protocol.conformance import Check, Verdict
from referee.check.talk import Answer, Surprise, Talk
from referee.play.engine import Engine
from referee.play.launch import LaunchError, Peer, Process

Start = Callable[[], Peer]


class Found(NamedTuple):
    """The verdict on one step. `sent` and `got` are bytes as they passed; `note` says where, or why not.

    `advice`: what to change, where what was seen says more than the remedy of the check.
    """

    check: Check
    verdict: Verdict
    sent: bytes = b""
    got: bytes = b""
    expected: str = ""
    note: str = ""
    advice: str = ""

    @property
    def remedy(self) -> str:
        """What to change."""
        return self.advice or self.check.remedy


class Stopped(Exception):
    """This script cannot go on, and what stopped it is noted."""


class NotPrepared(Exception):
    """What must succeed before the step that is asked about has failed; str() is the cause."""


@dataclass
class Trial:
    """`native`: an engine, or a bot that lists ggp-new. `games`: lines of ggp-new without the command."""

    who: Who
    start: Start
    patience: float
    first: float
    remote: bool = False
    games: list[str] = field(default_factory=list)
    commands: frozenset[str] = frozenset()
    lacking: frozenset[str] = frozenset()  # of the commands that every program has, those that it refuses
    native: bool = True
    where: str = ""
    ids: bool = True  # whether it echoes them
    judge: Engine | None = None  # who knows the rules of what a bot plays
    openings: list[str] = field(default_factory=list)  # legal first moves of the first game, as the judge says
    starts: int = 0
    seconds_to_start: float = 0.0

    def __post_init__(self) -> None:
        self._checks: dict[str, Check] = {}
        self._found: dict[str, Found] = {}
        self._peer: Peer | None = None
        self._talk: Talk | None = None
        self.at = ""  # the number of the step that is being asked about

    # -- the program ----------------------------------------------------------------------------------------

    async def talk(self, fresh: bool = False) -> Talk:
        """A conversation that owes nothing; `fresh`: with a process that was asked nothing yet."""
        if self._talk is not None and not fresh and self._talk.in_order():
            self._talk.begin()
            return self._talk
        await self.drop()
        self._peer = self.start()
        self.starts += 1
        self._talk = Talk(self._peer.channel.transport, self.patience, self.first, self._heed)
        return self._talk

    @property
    def peer(self) -> Peer:
        assert self._peer is not None
        return self._peer

    @property
    def talking(self) -> Talk:
        assert self._talk is not None
        return self._talk

    @property
    def pid(self) -> int:
        """0 for one that somebody else started."""
        return self._peer.pid if isinstance(self._peer, Process) else 0

    @property
    def end_patience(self) -> float:
        """Seconds for a process that may still be loading to notice that its input ended."""
        return self.patience + 2 * self.seconds_to_start

    async def drop(self, kill: bool = True) -> None:
        """End the process, and whatever it has started."""
        if self._peer is not None:
            peer, self._peer, self._talk = self._peer, None, None
            await peer.stop(kill=kill)

    # -- what was found -------------------------------------------------------------------------------------

    def expect(self, checks: Iterable[Check]) -> None:
        """These are to be judged; what is said about others is not kept."""
        self._checks = {check.number: check for check in checks}

    def wants(self, *numbers: str) -> bool:
        return any(number in self._checks for number in numbers)

    def hold(self, number: str, right: bool, expected: str, note: str = "", advice: str = "") -> bool:
        """Judge a step by the exchange that just passed; a failure stays. Returns `right`."""
        if number in self._checks:
            check, before = self._checks[number], self._found.get(number)
            if before is None or before.verdict is not Verdict.FAIL:
                talk = self._talk
                sent, got = (bytes(talk.sent), bytes(talk.got)) if talk and not right else (b"", b"")
                note = "; ".join(part for part in (note, self.where) if part) if not right else note
                verdict = Verdict.PASS if right else Verdict.FAIL
                self._found[number] = Found(check, verdict, sent, got, expected, note, advice)
        return right

    def _heed(self, answer: Answer) -> None:
        """What an answer to any command may be guilty of; the steps of framing ask a few commands only."""
        if answer.id is not None:
            self.hold("2.2.10", False, "no id: none was given")
        if answer.raw.lstrip(b"\r\n")[:1] not in (b"=", b"?"):
            self.hold("2.3.5", False, "the answer, and nothing before it")

    def remark(self, number: str, note: str) -> None:
        """Say more about a step that passed."""
        found = self._found.get(number)
        if found is not None and found.verdict is Verdict.PASS:
            self._found[number] = found._replace(note=note)

    def omit(self, why: str, *numbers: str) -> None:
        """Steps that cannot be judged here, unless they were."""
        self._note(Verdict.NOT_APPLICABLE, why, numbers)

    def skip(self, cause: str, *numbers: str) -> None:
        """Steps that `cause` kept from being tried, unless they were."""
        self._note(Verdict.NOT_TRIED, cause, numbers)

    def _note(self, verdict: Verdict, why: str, numbers: Iterable[str]) -> None:
        for number in numbers:
            if number in self._checks and number not in self._found:
                self._found[number] = Found(self._checks[number], verdict, note=why)

    def findings(self) -> list[Found]:
        return [
            self._found.get(number, Found(check, Verdict.NOT_APPLICABLE, note="nothing led to it"))
            for number, check in self._checks.items()
        ]

    async def run(self, script: Callable[["Trial"], Awaitable[None]], numbers: list[str]) -> None:
        """Put the questions of a script; what surprises is the failure of the step that was asked about."""
        self.at, self.where = numbers[0], ""
        try:
            await script(self)
        except NotPrepared as unprepared:
            self.skip(str(unprepared), *numbers)
            if not self.talking.in_order():
                await self.drop()
        except (Surprise, Stopped) as surprise:
            if isinstance(surprise, Surprise):
                self.hold(self.at, False, "an answer", await self.why(surprise))
                await self.drop()
            self.skip(f"{self.at} failed", *numbers)
        except LaunchError as error:
            self.hold(self.at, False, "that it starts", str(error))
            self.skip("it does not start", *numbers)

    async def why(self, surprise: Surprise) -> str:
        """What happened, how the process ended, and the last line of its standard error."""
        ended, last = self.last_words()
        return "; ".join(filter(None, [str(surprise), ended, last and f"stderr: {last}"]))

    def last_words(self) -> tuple[str, str]:
        """How the process ended and the last line of its standard error; two empty texts while it runs."""
        ended = self._peer.exited(0.2) if self._peer is not None else ""
        last = self._peer.stderr_tail().strip().splitlines()[-1:] if self._peer is not None and ended else []
        return ended, "".join(last)[:200]


def now() -> float:
    return time.monotonic()
