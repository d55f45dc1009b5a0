"""`ggp check` on single exchanges: a right program passes each of them, and each has a wrong one that it finds.

Real programs are checked in test_check_programs, GNU Go with its known deviations.
"""

import re
from collections.abc import Callable

import pytest

from ggp.protocol.commands import PLAIN_BOT, Who, required
from ggp.protocol.conformance import CheckVerdict
from ggp.protocol.errors import CommandFailed
from ggp.protocol.responder import Handler, Responder
from ggp.protocol.transports.memory import Memory
from tests.support.checked_peer import exchanges, failing, judged
from tests.support.memory_match import MemoryPeer

STATUS = "phase=play to_play=black seat=1 ply=0"
FRAMING = tuple(number for number in exchanges(Who.BOT) if number.startswith("2."))
ALL = {*FRAMING}
# A mistake, and the checks that must find it: these and no others.
MISTAKES = {
    "keeps controls": {"2.1.1", "2.1.6", "2.1.8"},
    "keeps CR": {"2.1.1", "2.1.6"},
    "needs UTF-8": {"2.1.7"},
    "NUL ends": {"2.1.8"},
    "keeps comments": {"2.1.2", "2.1.4", "2.1.5"},
    "keeps tabs": {"2.1.3", "2.1.4"},
    "answers blank lines": {"2.1.4"},
    "lone number": {"2.1.5", "2.2.4"},
    "no ids": {"2.1.3", "2.2.1"},  # and the others without ids
    "no large ids": {"2.2.2"},
    "no 0": {"2.2.2"},
    "failures lose ids": {"2.2.3", "2.3.2"},
    "glued": {"2.2.5"},
    "any number": {"2.2.6", "2.2.7"},
    "negative": {"2.2.8"},
    "new ids only": {"2.2.3", "2.2.9", "2.3.3"},  # the session is the same
    "repeats ids": {"2.2.10", "2.1.1", "2.1.4", "2.1.6", "2.1.8", "2.2.4", "2.2.6", "2.2.8", "2.4.1", "2.5.2"}
    | {"2.8.1", "2.8.3"},
    "two blanks": ALL - {"2.2.2", "2.5.5"},
    "greets": ALL - {"2.2.2", "2.2.3", "2.2.9", "2.5.5"},
    "reverses": {"2.2.2", "2.2.9", "2.2.10", "2.3.2", "2.8.1", "2.8.3"},
    "reads are lines": {"2.1.4", "2.2.2", "2.2.9", "2.2.10", "2.3.2", "2.3.3", "2.5.6", "2.8.1", "2.8.3"},
    "other words": {"2.4.1"},
    "knows not name": {"2.5.1", "2.8.2"},
    "knows all": {"2.1.7", "2.5.2", "2.5.3"},
    "known_command fails": {"2.5.3"},
    "quit does not end": {"2.5.4", "2.5.6"},
    "answers after quit": {"2.5.6"},
    "ignores the end": {"2.5.5"},
    "speaks at the end": {"2.5.5"},
    "case": {"2.6.1"},
    "any length": {"2.8.1", "2.8.3"},
    "too long twice": {"2.8.1", "2.8.3"},
    "short lines": {"2.8.2"},
}


def test_a_right_program_passes_every_check_of_framing() -> None:
    for start in (program(), lambda: MemoryPeer(Responder("n", "v", {}))):
        assert {one.verdict for one in judged(start, Who.BOT, *FRAMING)} == {CheckVerdict.PASS}


@pytest.mark.parametrize("mistake", MISTAKES)
def test_a_program_with_one_mistake_is_found_out(mistake: str) -> None:
    assert failing(program(mistake), Who.BOT, *FRAMING) == MISTAKES[mistake]


def test_every_check_of_framing_has_a_mistake_that_it_finds() -> None:
    precise = [found for found in MISTAKES.values() if len(found) < len(ALL) / 2]
    assert set().union(*precise, {"2.3.1"}) == ALL
    assert "2.3.1" in MISTAKES["two blanks"] & MISTAKES["greets"]  # no other framing leaves the other checks alone


# -- engines and bots -----------------------------------------------------------------------------------------------


def refuse(text: str) -> Handler:
    def handler(arguments: list[str]) -> str:
        raise CommandFailed(text)

    return handler


def say(text: str) -> Handler:
    return lambda arguments: text


def knows_all_but(name: str) -> Handler:
    return lambda arguments: "false" if arguments == [name] else "true"


def engine(game: str, **replaced: Handler | None) -> Callable[[], MemoryPeer]:
    """An engine of a game of one cell; `replaced` handlers by name (with _ for -), None: it has no such command."""

    def start() -> MemoryPeer:
        current: list[str] = []

        def new(arguments: list[str]) -> str:
            if arguments != [game]:
                raise CommandFailed(f"unknown game or option: {' '.join(arguments)}")
            current[:] = arguments
            return STATUS

        def status(arguments: list[str]) -> str:
            return STATUS if current else refuse("no game: use ggp-new")(arguments)

        def play(arguments: list[str]) -> str:
            if arguments != ["black", "A1"]:
                raise CommandFailed(f"illegal move {arguments[1]}")
            return f"move=A1 {STATUS}"

        handlers: dict[str, Handler] = {
            "ggp-version": say("1"),
            "ggp-games": say(f"other\n{game}\nlast"),
            "ggp-options": say(""),
            "ggp-new": new,
            "ggp-status": status,
            "ggp-play": play,
            "ggp-legal_moves": say("A1"),
            "ggp-history": say(""),
        }
        for name, handler in replaced.items():
            name = name.replace("ggp_", "ggp-")
            if handler is None and name not in handlers:
                handlers["known_command"] = knows_all_but(name)
            elif handler is None:
                del handlers[name]
            else:
                handlers[name] = handler
        return MemoryPeer(Responder("e", "1", handlers))

    return start


@pytest.mark.parametrize("game", ["toy", "c++", "a.b"])
def test_a_right_engine_passes_every_check(game: str) -> None:
    assert failing(engine(game), Who.ENGINE, *exchanges(Who.ENGINE, game), games=(game,)) == set()


ENGINES: dict[str, dict[str, Handler | None]] = {
    "3.1.1": {"ggp_version": say("2")},
    "3.1.2": {"ggp_games": say("toyland\natoy")},
    "3.1.3": {"ggp_new": say("ok")},
    "3.1.4": {"ggp_status": say(STATUS)},
    "3.1.5": {"ggp_new": say(STATUS)},
    "3.1.6": {"ggp_legal_moves": say("")},
    "3.1.7": {"ggp_play": refuse("no such move")},
    "3.1.8": {"ggp_play": say(STATUS)},
    "3.1.9": {"ggp_history": say("1 black A1")},
    **{f"3.0.{i}": {name.replace("ggp-", "ggp_"): None} for i, name in enumerate(required(Who.ENGINE), 1)},
}


@pytest.mark.parametrize("number", ENGINES)
def test_an_engine_with_one_mistake_is_found_out(number: str) -> None:
    checks = [number for number in exchanges(Who.ENGINE, "toy") if number not in FRAMING]
    found = failing(engine("toy", **ENGINES[number]), Who.ENGINE, *checks, games=("toy",))
    assert number in found
    assert len(found) < len(checks) / 2
    assert {*checks} == {*ENGINES}


def bot(*lacks: str, **replaced: Handler) -> Callable[[], MemoryPeer]:
    """A bot that plays one move; without the commands that it `lacks`."""

    def new(arguments: list[str]) -> str:
        return "" if arguments == ["toy"] else refuse("unknown game")(arguments)

    names = {*required(Who.BOT), *PLAIN_BOT, "protocol_version"} - set(lacks)
    handlers: dict[str, Handler] = {
        **{name: say("") for name in names - {"name", "version", "list_commands", "known_command", "quit"}},
        "protocol_version": say("2"),
        "ggp-new": new,
        "genmove": say("A1"),
        "list_commands": say("\n".join(sorted(names))),
        "known_command": lambda arguments: "true" if arguments and arguments[0] in names else "false",
        **{name.replace("ggp_", "ggp-"): handler for name, handler in replaced.items()},
    }
    return lambda: MemoryPeer(Responder("b", "1", handlers))


def test_a_right_bot_passes_every_check() -> None:
    assert failing(bot(), Who.BOT, *exchanges(Who.BOT, "toy"), games=("toy",)) == set()
    assert failing(bot("ggp-new"), Who.BOT, *exchanges(Who.BOT)) == set()


BOTS: dict[str, tuple[Callable[[], MemoryPeer], set[str]]] = {
    "refuses the game": (bot(ggp_new=refuse("no")), {"4.1.1"}),
    "two words": (bot(genmove=say("A1 B2")), {"4.1.2"}),
    "no move": (bot(genmove=refuse("no")), {"4.1.2"}),
    "plays every game": (bot(ggp_new=say("")), {"4.1.3"}),
    **{
        f"native, no {name}": (bot(name), {f"4.0.{i}"})
        for i, name in enumerate(required(Who.BOT), 1)
        if name not in ("list_commands", "ggp-new")
    },
    **{
        f"plain, no {name}": (bot("ggp-new", name), {f"4.0.{i}"})
        for i, name in enumerate(PLAIN_BOT, 1)
        if name != "list_commands"
    },
}


@pytest.mark.parametrize("mistake", BOTS)
def test_a_bot_with_one_mistake_is_found_out(mistake: str) -> None:
    start, expected = BOTS[mistake]
    assert failing(start, Who.BOT, "4.0", "4.1.1", "4.1.2", "4.1.3", games=("toy",)) == expected


# --- a program that obeys the framing rules, or breaks some ---


class FramingProgram:
    """A second, plain implementation of framing with a switch for each mistake; `wrong` names those that it makes."""

    def __init__(self, *wrong: str) -> None:
        self.wrong = set(wrong)
        self.buffer = b""
        self.ids: set[int] = set()
        self.last = ""  # the id that came last
        self.closed = False

    def __call__(self, data: bytes) -> list[bytes]:
        """Bytes in, chunks out, as Memory wants it."""
        if self.closed:
            return []
        if not data:
            return self._end()
        if "reads are lines" in self.wrong:
            lines = [data.rstrip(b"\n")]
        else:
            *lines, self.buffer = (self.buffer + data).split(b"\n")
        out = [b"Hello\n"] if "greets" in self.wrong else []
        for line in lines:
            out += self._line(line)
            if self.closed and "answers after quit" not in self.wrong:
                break
        if "reverses" in self.wrong:
            out.reverse()
        return out

    def _end(self) -> list[bytes]:
        if "ignores the end" in self.wrong:
            return []
        return [b"bye\n", b""] if "speaks at the end" in self.wrong else [b""]

    def _line(self, raw: bytes) -> list[bytes]:
        wrong = self.wrong
        if len(raw) > (1000 if "short lines" in wrong else 65_536) and "any length" not in wrong:
            return [b"? line too long\n\n"] * (2 if "too long twice" in wrong else 1)
        if "NUL ends" in wrong:
            raw = raw.partition(b"\0")[0]
        if "keeps CR" in wrong and raw.endswith(b"\r"):
            raw += b"?"
        if "keeps controls" not in wrong:
            raw = bytes(byte for byte in raw if byte in b"\t" or (byte >= 32 and byte != 127))
        if "keeps comments" not in wrong:
            raw = raw.partition(b"#")[0]
        if "keeps tabs" not in wrong:
            raw = raw.replace(b"\t", b" ")
        if "needs UTF-8" in wrong and raw.decode("utf-8", "ignore").encode() != raw:
            return []
        words = [word.decode("latin-1") for word in raw.split(b" ") if word]
        if not words:
            return [b"? \n\n"] if "answers blank lines" in wrong else []
        return self._answer(words)

    def _answer(self, words: list[str]) -> list[bytes]:
        wrong, number = self.wrong, ""
        is_id = words[0].lstrip("-" if "negative" in wrong else "").isdigit() and (
            len(words[0]) < 10 or int(words[0]) < 2**31 or "any number" in wrong
        )
        if "glued" in wrong and (glued := re.match(r"(\d+)([a-z]\w*)$", words[0])):
            words[:1] = glued.groups()
            is_id = True
        if is_id and (len(words) > 1 or "lone number" in wrong):
            number = words.pop(0)
            forgotten = {"no ids", "no large ids" if len(number) > 9 else "", "no 0" if number == "0" else ""}
            if forgotten & wrong:
                number = ""
            if not words or ("new ids only" in wrong and number and int(number) in self.ids):
                return []
            self.ids.add(int(number or 0))
        if "repeats ids" in wrong:
            number = self.last = number or self.last
        ok, text = self._command(words)
        if not ok and "failures lose ids" in wrong:
            number = ""
        blank = " " if text or "blank after empty" in wrong else ""
        if "two blanks" in wrong:
            blank = "  "
        return [f"{'=' if ok else '?'}{number}{blank}{text}\n\n".encode()]

    def _command(self, words: list[str]) -> tuple[bool, str]:
        wrong = self.wrong
        name, *arguments = [words[0].lower() if "case" in wrong else words[0], *words[1:]]
        if name == "known_command":
            if not arguments and "known_command fails" in wrong:
                return False, "needs a name"
            known = {"name", "version", "quit"} - ({"name"} if "knows not name" in wrong else set())
            return True, "true" if {*arguments[:1]} & known or "knows all" in wrong else "false"
        if name == "quit":
            self.closed = "quit does not end" not in wrong
            return True, ""
        texts = {"protocol_version": "2", "name": "Program", "version": "1"}
        return (
            (True, texts[name]) if name in texts else (False, "what?" if "other words" in wrong else "unknown command")
        )


def program(*wrong: str) -> Callable[[], MemoryPeer]:
    """Start a fresh FramingProgram; Memory gives its answers, and the end of its stream when it has closed."""

    def start() -> MemoryPeer:
        peer = FramingProgram(*wrong)

        def answer(data: bytes) -> list[bytes]:
            closed = peer.closed
            return [*peer(data), *([b""] if peer.closed and not closed else [])]

        return MemoryPeer(Memory(answer))

    return start
