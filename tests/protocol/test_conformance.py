"""The compliance checks judge rightly: a right program passes each of them, and each has a wrong one that it finds.

Real programs are checked in test_check_programs, GNU Go with its known deviations.
"""

import re
from collections.abc import Callable

import pytest

from ggp.protocol.channel import Transport
from ggp.protocol.commands import COMMANDS, LOBBIES, PLAIN_BOT, REFEREES, TABLE, Level, Who, commands_of, required
from ggp.protocol.conformance import (
    BOT,
    ENGINE,
    RULES,
    Check,
    Demand,
    Finding,
    RuleSource,
    catalogue,
    checks_for,
    rule_of,
    run_checks,
)
from ggp.protocol.conformance import FRAMING as ALL_FRAMING
from ggp.protocol.errors import CommandFailed, PeerTimeout
from ggp.protocol.responder import Handler, Responder
from ggp.protocol.transports.blocking import run_blocking
from ggp.protocol.transports.memory import Memory
from tests.support import ROOT

STATUS = "phase=play to_play=black seat=1 ply=0"
Answer = Callable[[bytes], list[bytes]]

FRAMING = [check for check in ALL_FRAMING if not check.script]  # the scripts are in test_check_*
ALL = {check.number for check in FRAMING}
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
    "no ids": {"2.1.3", "2.2.1", "2.2.2", "2.2.3", "2.2.9", "2.3.2", "2.3.3", "2.5.4", "2.5.6"},
    "no large ids": {"2.2.2"},
    "no 0": {"2.2.2"},
    "failures lose ids": {"2.2.3", "2.3.2"},
    "glued": {"2.2.5"},
    "any number": {"2.2.6", "2.2.7"},
    "negative": {"2.2.8"},
    "new ids only": {"2.2.9"},
    "repeats ids": {"2.2.10"},
    "two blanks": ALL - {"2.2.2", "2.5.5"},
    "greets": ALL - {"2.5.5"},
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
    assert failed(program(), list(FRAMING)) == set()
    assert failed(lambda: Memory.of(Responder("n", "v", {})), list(FRAMING)) == set()


@pytest.mark.parametrize("mistake", MISTAKES)
def test_a_program_with_one_mistake_is_found_out(mistake: str) -> None:
    assert failed(program(mistake), list(FRAMING)) == MISTAKES[mistake]


def test_every_check_of_framing_has_a_mistake_that_it_finds() -> None:
    precise = [found for found in MISTAKES.values() if len(found) < len(ALL) / 2]
    assert set().union(*precise, {"2.3.1"}) == ALL
    assert "2.3.1" in MISTAKES["two blanks"] & MISTAKES["greets"]  # no other framing leaves the other checks alone


def test_the_numbers_of_the_checks_are_those_of_the_rules() -> None:
    numbers = [check.number for check in FRAMING]
    assert len(set(numbers)) == len(numbers)
    assert numbers == sorted(numbers, key=lambda number: [int(word) for word in number.split(".")])
    assert all(re.fullmatch(r"2\.([1-9]|1[0-4])\.\d+", number) for number in numbers)


@pytest.mark.parametrize("who", Who)
def test_the_catalogue_says_of_every_step_which_rule_it_is_about_and_what_to_change(who: Who) -> None:
    steps = catalogue(who, game="toy")
    assert len({check.number for check in steps}) == len(steps)
    assert all(check.remedy and rule_of(check.number).number == check.rule for check in steps)
    assert all(bool(check.script) != bool(check.sent or check.expected or check.end_input) for check in steps)
    assert set(checks_for(who, game="toy")) == {check for check in steps if not check.script}


def test_no_rule_is_missing() -> None:
    """Each of 2.1 to 2.14, and every other that is cited, has checks; or says why none can be."""
    checked = {check.rule for who in (Who.ENGINE, Who.BOT) for check in catalogue(who, game="toy")}
    assert {f"2.{number}" for number in range(1, 15)} <= {rule.number for rule in RULES}
    for rule in RULES:
        assert (rule.number in checked) != bool(rule.unchecked), rule
    assert {rule.number for rule in RULES if rule.unchecked} == {f"2.{number}" for number in range(9, 15)}


def test_every_rule_is_in_the_specification() -> None:
    page = (ROOT / "docs/reference/protocol.md").read_text(encoding="utf-8")
    heads = [re.sub(r"[^\w\- ]", "", head.lower()).replace(" ", "-") for head in re.findall("^#+ (.*)$", page, re.M)]
    assert {rule.anchor for rule in RULES} <= {*heads}
    numbers = re.findall(r"^ ?(\d+)\. \S.*\n   ", page, re.M)
    assert {rule.number for rule in RULES if rule.number.startswith("2.")} == {f"2.{number}" for number in numbers}


def test_a_rule_of_ours_never_counts_as_the_drafts() -> None:
    for check in [*ALL_FRAMING, *ENGINE, *BOT]:
        assert check.demand is not Demand.NATIVE or check.source is RuleSource.GGP, check.number


# -- engines and bots -----------------------------------------------------------------------------------------------


def refuse(text: str) -> Handler:
    def handler(arguments: list[str]) -> str:
        raise CommandFailed(text)

    return handler


def say(text: str) -> Handler:
    return lambda arguments: text


def knows_all_but(name: str) -> Handler:
    return lambda arguments: "false" if arguments == [name] else "true"


def engine(game: str, **replaced: Handler | None) -> Callable[[], Transport]:
    """An engine of a game of one cell; `replaced` handlers by name (with _ for -), None: it has no such command."""

    def connect() -> Transport:
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
        return Memory.of(Responder("e", "1", handlers))

    return connect


@pytest.mark.parametrize("game", ["toy", "c++", "a.b"])
def test_a_right_engine_passes_every_check(game: str) -> None:
    assert failed(engine(game), checks_for(Who.ENGINE, game=game)) == set()


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
    checks = [check for check in checks_for(Who.ENGINE, game="toy") if check not in FRAMING]
    found = failed(engine("toy", **ENGINES[number]), checks)
    assert number in found
    assert len(found) < len(checks) / 2
    assert {check.number for check in checks} == set(ENGINES)


def bot(*lacks: str, **replaced: Handler) -> Callable[[], Transport]:
    """A bot that plays one move; without the commands that it `lacks`."""

    def new(arguments: list[str]) -> str:
        return "" if arguments == ["toy"] else refuse("unknown game")(arguments)

    names = {*required(Who.BOT), *PLAIN_BOT, "protocol_version"} - set(lacks)
    handlers: dict[str, Handler] = {
        **{name: say("") for name in names - {"name", "version", "list_commands", "known_command", "quit"}},
        "protocol_version": say("2"),
        "ggp-new": new,
        "genmove": say("A1"),
        "known_command": lambda arguments: "true" if arguments and arguments[0] in names else "false",
        **{name.replace("ggp_", "ggp-"): handler for name, handler in replaced.items()},
    }
    return lambda: Memory.of(Responder("b", "1", handlers))


def test_a_right_bot_passes_every_check() -> None:
    assert failed(bot(), checks_for(Who.BOT, game="toy")) == set()
    assert failed(bot("ggp-new"), checks_for(Who.BOT, native=False, game="toy")) == set()


@pytest.mark.parametrize("native", [True, False])
def test_a_bot_that_lacks_a_command_is_found_out(native: bool) -> None:
    for i, name in enumerate(required(Who.BOT) if native else PLAIN_BOT, 1):
        checks = [check for check in checks_for(Who.BOT, native=native) if check not in FRAMING]
        assert failed(bot(name), checks) == {f"4.0.{i}"}


def test_a_bot_with_one_mistake_is_found_out() -> None:
    checks = [check for check in checks_for(Who.BOT, game="toy") if check.number.startswith("4.1")]
    assert failed(bot(ggp_new=refuse("no")), checks) == {"4.1.1", "4.1.2"}
    assert failed(bot(genmove=say("A1 B2")), checks) == {"4.1.2"}
    assert failed(bot(genmove=refuse("no")), checks) == {"4.1.2"}
    assert failed(bot(ggp_new=say("")), checks) == {"4.1.3"}


def test_the_checks_for_engines_and_bots_are_their_own() -> None:
    engines, bots = checks_for(Who.ENGINE, game="toy"), checks_for(Who.BOT, game="toy")
    assert {*engines} & {*bots} == {*FRAMING}
    assert all(check.who is not Who.BOT for check in engines) and all(check.who is not Who.ENGINE for check in bots)
    assert {check.demand for check in [*catalogue(Who.ENGINE, game="toy"), *catalogue(Who.BOT, game="toy")]} == {
        *Demand
    }
    assert checks_for(Who.BOT, game="toy", native=False) == checks_for(Who.BOT, native=False)


# -- how a check is run ---------------------------------------------------------------------------------------------


NAME = Check("0", "a check", b"name\n", rb"= a\n\n")


def run_one(connect: Callable[[], Transport]) -> Finding:
    return run_blocking(run_checks(connect, [NAME], patience=1.0))[0]


def test_a_finding_holds_what_came_back() -> None:
    finding = run_one(lambda: Memory(lambda data: [b"= a", b"\n", b"\n"]))
    assert (finding.passed, finding.got, finding.ended) == (True, b"= a\n\n", False)
    finding = run_one(lambda: Memory(lambda data: [b"= a\n\n", b"junk\n", b""]))
    assert (finding.passed, finding.got, finding.ended) == (False, b"= a\n\njunk\n", True)


def test_every_check_gets_a_fresh_peer_which_is_closed_afterwards() -> None:
    peers: list[Memory] = []

    def connect() -> Transport:
        peers.append(Memory(lambda data: [b"= a\n\n"]))
        return peers[-1]

    run_blocking(run_checks(connect, FRAMING[:3]))
    assert len(peers) == 3 and all(peer.closed for peer in peers)


def test_a_peer_that_does_not_even_read_is_found_out() -> None:
    class FullPeer(Memory):
        async def write(self, data: bytes, deadline: float | None = None) -> None:
            raise PeerTimeout("full")

    assert run_one(lambda: FullPeer(lambda data: [])) == Finding(NAME, False, b"", False)


def test_a_check_whose_preparation_is_not_answered_fails_before_it_is_sent() -> None:
    prepared = Check("0", "a check", b"name\n", rb"= a\n\n", setup=b"ggp-new x\n")
    for answer in ([b""], [b"= ", b""], [b"? no\n\n"]):
        peer = Memory({b"ggp-new x\n": answer}.__getitem__)
        assert run_blocking(run_checks([peer].pop, [prepared])) == [Finding(prepared, False, b"", False)]
        assert peer.written == b"ggp-new x\n" and peer.closed


@pytest.mark.parametrize("seconds", [0.0, 0.3])
def test_a_flood_ends_a_check(seconds: float) -> None:
    class Flood(Memory):
        async def read(self, deadline: float) -> bytes:
            self._time += seconds
            return b"x" * 10_000

    finding = run_one(lambda: Flood(lambda data: []))
    assert not finding.passed and not finding.ended
    assert len(finding.got) == (40_000 if seconds else 1_050_000)


# -- the table ------------------------------------------------------------------------------------------------------


def test_the_table_has_one_row_for_each_command_and_kind_of_program() -> None:
    assert len(TABLE) == len(COMMANDS)
    assert all(row.engine or row.bot or row.referee or row.lobby for row in COMMANDS)
    assert all(row.help and not row.help.endswith(".") for row in COMMANDS)
    assert set(PLAIN_BOT) <= set(TABLE)


def test_the_required_commands_of_each_kind_of_program() -> None:
    foreign = """name version protocol_version known_command list_commands quit ggp-version ggp-games ggp-options
        ggp-new ggp-play ggp-status ggp-legal_moves ggp-history"""
    native = """name version list_commands known_command quit ggp-new play genmove"""
    assert set(required(Who.ENGINE)) == set(foreign.split())
    assert set(required(Who.BOT)) == set(native.split())
    assert TABLE["ggp-hash"].engine is Level.RECOMMENDED and TABLE["genmove"].engine is None


def test_a_referee_answers_about_matches_what_an_engine_answers_about_its_game() -> None:
    rows = {row.name: row for row in commands_of(Who.REFEREE)}
    assert len(rows) == len(commands_of(Who.REFEREE))
    assert rows["ggp-history"].arguments == "KEY" and not TABLE["ggp-history"].arguments
    assert set(REFEREES) <= set(TABLE) and set(required(Who.REFEREE)) < set(rows)
    assert {row.name for row in commands_of(Who.BOT)} >= set(required(Who.BOT))
    lobby = {row.name: row for row in commands_of(Who.LOBBY)}
    assert set(LOBBIES) <= set(TABLE) and set(required(Who.LOBBY)) < set(lobby)
    assert lobby["ggp-bots"] == LOBBIES["ggp-bots"] != rows["ggp-bots"]


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


def program(*wrong: str) -> Callable[[], Transport]:
    """Connects to a fresh FramingProgram; Memory gives its answers, and the end of its stream when it has closed."""

    def connect() -> Transport:
        peer = FramingProgram(*wrong)

        def answer(data: bytes) -> list[bytes]:
            closed = peer.closed
            return [*peer(data), *([b""] if peer.closed and not closed else [])]

        return Memory(answer)

    return connect


def failed(connect: Callable[[], Transport], checks: list[Check]) -> set[str]:
    return {finding.check.number for finding in run_blocking(run_checks(connect, checks)) if not finding.passed}
