"""Completion as a function of the text before the cursor and of the knowledge of the peer."""

import pytest

from ggp.protocol.commands import COMMANDS
from ggp.referee.tools.console.completion import (
    BotWord,
    CompletionChoice,
    KnownOption,
    PeerInfo,
    PeerKind,
    agreed,
    complete,
    hint,
    needs,
    wants_file,
)
from ggp.referee.tools.console.own_commands import OwnCommand


def _own(name: str, arguments: str) -> OwnCommand:
    return OwnCommand(f"{name} {arguments}", f"help of {name}", lambda console, given: "")


KNOWN = PeerInfo(
    commands=("genmove", "ggp-legal_moves", "ggp-new", "ggp-play", "known_command", "list_commands", "play", "polish"),
    moves=("A1", "D5", "D5+C3", "D5+D6", "E2+A1", "E2+A1+B7", "E10", "bid:2", "bid:10", "swap-sides", "dead:"),
    stones=("C3", "C4", "D5"),
    games=("go", "stigmergy", "yugo"),
    options={"yugo": (KnownOption("size", "int", "9", "2..25"), KnownOption("agreement", "enum", "off", "on,off"))},
    own={
        row.name: row
        for row in (
            _own("help", "[COMMAND]"),
            _own("raw", "on|off"),
            _own("save", "FILE [main]"),
            _own("why", "MOVE"),
            _own("goto", "PLY"),
            _own("moves", "[PLY]"),
            _own("hint", "BOT [SECONDS]"),
            _own("fork", "[PLAYER PLAYER]"),
        )
    },
    bots=(
        BotWord("random", "built in"),
        BotWord("greedy:playouts=5", "seat 1"),
        BotWord("'gnu=gnugo --mode gtp'", "seat 2"),
        BotWord("human"),
    ),
    plies=("the start", *(f"black A{number}" for number in range(1, 13))),
)


def texts(text: str, known: PeerInfo = KNOWN) -> list[str]:
    """Each continuation, as the whole line would then be."""
    return [text[: len(text) - choice.length] + choice.text for choice in complete(text, known)]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", []),
        ("p", ["play", "polish"]),
        ("  p", ["  play", "  polish"]),
        ("7 pl", ["7 play"]),
        ("x", []),
        ("play ", ["play black", "play white"]),
        ("play B", ["play black"]),
        ("play black a", ["play black A1"]),
        ("play black D", ["play black D5", "play black D5+", "play black dead:"]),
        ("play black d5+", ["play black D5+C3", "play black D5+D6"]),
        ("play black e2", ["play black E2+A1", "play black E2+A1+"]),
        ("play b bid:", ["play b bid:2", "play b bid:10"]),
        ("play b sw", ["play b swap-sides"]),
        ("play b dead:", ["play b dead:C3", "play b dead:C4", "play b dead:D5"]),
        ("play b dead:C3,c", ["play b dead:C3,C4"]),
        ("play b A1 ", []),
        ("7 play b e1", ["7 play b E10"]),
        ("ggp-new ", ["ggp-new go", "ggp-new stigmergy", "ggp-new yugo"]),
        ("ggp-new y", ["ggp-new yugo"]),
        ("ggp-new yugo ", ["ggp-new yugo size=", "ggp-new yugo agreement="]),
        ("ggp-new yugo size=5 ", ["ggp-new yugo size=5 agreement="]),
        ("ggp-new yugo agreement=o", ["ggp-new yugo agreement=on", "ggp-new yugo agreement=off"]),
        ("ggp-new yugo size=", []),
        ("ggp-new chess ", []),
        ("known_command ggp-n", ["known_command ggp-new"]),
        ("final_status_list ", [f"final_status_list {word}" for word in ("alive", "dead", "seki")]),
        ("gogui-play_sequence b A1 ", ["gogui-play_sequence b A1 black", "gogui-play_sequence b A1 white"]),
        ("gogui-play_sequence b A1 w A", ["gogui-play_sequence b A1 w A1"]),
        ("polish ", []),
        (":", [":fork", ":goto", ":help", ":hint", ":moves", ":raw", ":save", ":why"]),
        ("!sa", ["!save"]),
        (":raw o", [":raw on", ":raw off"]),
        (":raw on ", []),
        (":why D5+C", [":why D5+C3"]),
        (":help pol", [":help polish"]),
        (":help :w", [":help :why"]),
        (":goto ", [f":goto {number}" for number in range(13)]),
        (":goto 1", [":goto 10", ":goto 11", ":goto 12"]),
        (":goto x", []),
        (":moves ", [f":moves {number}" for number in range(13)]),
        (":hint ", [":hint random", ":hint greedy:playouts=5", ":hint 'gnu=gnugo --mode gtp'"]),
        (":hint h", []),
        (":hint G", [":hint greedy:playouts=5", ":hint 'gnu=gnugo --mode gtp'"]),
        (":hint 'g", [":hint greedy:playouts=5", ":hint 'gnu=gnugo --mode gtp'"]),
        (":hint random ", []),
        (":fork h", [":fork human"]),
        (":fork random hu", [":fork random human"]),
        (":fork random random ", []),
        (":nothing ", []),
    ],
)
def test_continuations(text: str, expected: list[str]) -> None:
    assert texts(text) == expected


def test_a_single_part_continues_with_the_next() -> None:
    known = PeerInfo(commands=("play",), moves=("E2+A1", "E2+B7"))
    assert texts("play b ", known) == ["play b E2+A1", "play b E2+B7"]


def test_choices_have_help() -> None:
    assert complete("gen", KNOWN) == [CompletionChoice("genmove", 3, "COLOUR — choose a move for a side and play it")]
    assert complete("ggp-new yugo s", KNOWN) == [CompletionChoice("size=", 1, "int 2..25, by default 9")]
    assert complete(":wh", KNOWN) == [CompletionChoice("why", 2, "MOVE — help of why")]
    assert complete("play b d5", KNOWN)[0] == CompletionChoice("D5", 2, "")
    assert complete(":goto 12", KNOWN) == [] and complete(":goto 1", KNOWN)[0] == CompletionChoice("10", 1, "black A10")
    assert hint("play b", KNOWN) == "play COLOUR MOVE — play a move"
    assert hint("3 genmove", KNOWN) == "genmove COLOUR — choose a move for a side and play it"
    assert hint(":why ", KNOWN) == ":why MOVE — help of why"
    assert hint("polish", KNOWN) == hint(":no", KNOWN) == hint("", KNOWN) == ""


def test_unknown_commands_are_completed_from_the_table() -> None:
    assert texts("ggp-sc", PeerInfo()) == ["ggp-scene", "ggp-score"]
    for row in COMMANDS:
        complete(f"{row.name} ", PeerInfo())
        complete(f"{row.name} a b c ", KNOWN)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", ("list_commands",)),
        ("pla", ("list_commands",)),
        ("play ", ()),
        ("play b ", ("list_commands", "ggp-legal_moves")),
        (":why ", ("list_commands", "ggp-legal_moves")),
        ("ggp-new ", ("list_commands", "ggp-games")),
        ("ggp-new go ", ("list_commands", "ggp-options go")),
        (":help ", ("list_commands",)),
        (":sa", ()),
    ],
)
def test_the_questions_of_a_completion(text: str, expected: tuple[str, ...]) -> None:
    assert needs(text, KNOWN) == expected


def test_the_common_beginning() -> None:
    assert agreed(complete("known_command ggp-", KNOWN)) == "ggp-"
    assert agreed(complete(":help l", KNOWN)) == agreed([CompletionChoice("list_commands", 1)]) == "list_commands"
    assert agreed([CompletionChoice("D5", 1), CompletionChoice("D5+", 1)]) == "D5" and agreed([]) == ""


def test_arguments_that_are_files() -> None:
    assert wants_file(":save ab", KNOWN) == "ab"
    assert wants_file(":sav", KNOWN) is wants_file("play b ", KNOWN) is None


def test_the_kind_of_a_peer() -> None:
    kinds = [PeerInfo(commands=commands).kind for commands in ((), ("ggp-play",), ("genmove",), ("ggp-match",))]
    assert kinds == [PeerKind.UNKNOWN, PeerKind.ENGINE, PeerKind.BOT, PeerKind.REFEREE]
