"""The engine of OpenSpiel's games: moves one to one, options that load, refusals in words, what is drawn."""

import hashlib
import json
import random
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import pytest

from ggp.engines import service
from ggp.engines.session import Session
from ggp.protocol.responder import Responder
from tests.support.cli import ggp
from tests.support.raw_peer import RawPeer

if TYPE_CHECKING:
    from ggp.engines.adapters.openspiel import OpenSpielState

pytestmark = pytest.mark.needs("pyspiel")

COMMAND = [sys.executable, "-P", "-m", "ggp.engines", "openspiel"]
# What every installed version has had so far; more are welcome.
KNOWN = set(
    """amazons antichess breakthrough checkers chess chinese_checkers clobber connect_four crazyhouse cursor_go
    dots_and_boxes go gomoku havannah hex hive lines_of_action mancala mnk nim nine_mens_morris othello oware pentago
    quoridor shogi tic_tac_toe twixt ultimate_tic_tac_toe xiangqi y""".split()  # noqa: SIM905
)


def registry() -> Any:
    from ggp.engines.adapters.openspiel import OpenSpielRegistry

    return OpenSpielRegistry()


def start(name: str, **options: Any) -> "OpenSpielState":
    game = registry().load(name)
    return game.new({option.name: option.parse(option.default) for option in game.options} | options)  # type: ignore[no-any-return]


@pytest.fixture
def talk() -> Iterator[Callable[[str], str]]:
    """The engine without a process: a line in, an answer out."""
    from ggp.engines.adapters.openspiel import extend

    session = Session(registry())
    responder = service.make_responder(session, extend)
    assert isinstance(responder, Responder)

    def ask(line: str) -> str:
        responder.receive(line.encode() + b"\n")
        answer = responder.next_answer()
        assert answer is not None
        return answer.decode().removesuffix("\n\n")

    yield ask


def walk(name: str, positions: int, seed: int = 1) -> Iterator["OpenSpielState"]:
    """So many positions of random games."""
    chance, state = random.Random(seed), start(name)
    for _ in range(positions):
        if state.phase == "over":
            state = start(name)
        yield state
        state.play(chance.choice(state.legal_moves()))


def digest_of_words(name: str, positions: int, forms: int = 4) -> str:
    """Look at the words of these positions, four of each in so many of their forms: one digest for all."""
    digest, chance = hashlib.blake2b(), random.Random(2)
    for state in walk(name, positions):
        words, strings = state.legal_moves(), state.strings()
        assert words == sorted(words) and len({word.lower() for word in words}) == len(words)
        assert len(strings) == len(state.inner.legal_actions())
        for word in words if len(words) < 4 else chance.sample(words, 4):
            assert word.isascii() and word.isprintable() and len(word.split()) == 1 and "#" not in word
            assert word.lower() not in ("resign", "")
            for form in chance.sample((word, word.lower(), word.upper(), strings[word]), forms):
                twin = state.copy()
                assert twin.play(form) == word, (name, word, form)
                fresh = state.copy()  # of which the words are not known yet: they are found another way
                fresh._table = None
                assert fresh.play(form) == word and fresh.inner.history() == twin.inner.history(), (name, word, form)
        digest.update(" ".join(words).encode())
    return digest.hexdigest()


def test_the_games_for_two_who_see_everything_are_there() -> None:
    assert set(registry().names()) >= KNOWN


@pytest.mark.parametrize(
    ("game", "reason"),
    [
        ("backgammon", "chance"),
        ("kuhn_poker", "chance"),
        ("phantom_ttt", "hidden information"),
        ("goofspiel", "at the same time"),
        ("efg_game", "cannot be loaded"),
        ("no_such_game", "known games: amazons"),
    ],
)
def test_other_games_are_refused_by_name_with_the_reason(talk: Callable[[str], str], game: str, reason: str) -> None:
    for line in (f"ggp-new {game}", f"ggp-options {game}", f"ggp-rules {game}"):
        answer = talk(line)
        assert answer.startswith("?") and game in answer and reason in answer


@pytest.mark.parametrize("name", sorted(KNOWN))
def test_words_and_strings_are_one_to_one(name: str) -> None:
    digest_of_words(name, 40)


@pytest.mark.long
@pytest.mark.parametrize("name", sorted(KNOWN))
def test_words_are_the_same_in_another_process_for_100_000_positions(name: str) -> None:
    code = f"from tests.engines.adapters.test_openspiel import *; print(digest_of_words({name!r}, 100_000, 1))"
    with subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, encoding="utf-8") as other:
        ours = digest_of_words(name, 100_000, 1)
        said, _ = other.communicate()
    assert said.strip() == ours


def test_options_that_were_tried_out_are_not_tried_again(monkeypatch: pytest.MonkeyPatch) -> None:
    from ggp.engines.adapters import openspiel_options

    game, tried = registry().load("hex"), list[str]()

    def why_not(name: str, many: list[dict[str, int]]) -> list[str]:
        tried.append(name)
        return [""]

    monkeypatch.setattr(openspiel_options, "_why_not", why_not)
    for size in (5, 5, 4, 5):
        game.new({"board_size": size})
    assert tried == ["hex", "hex"]


@pytest.mark.slow
def test_a_trial_that_only_waits_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    """The bound on processor time would never end it."""
    from ggp.engines.adapters import openspiel_options

    monkeypatch.setattr(openspiel_options, "_LIFE", 1)
    monkeypatch.setattr(openspiel_options, "_try_out", lambda game, values: signal.pause())
    assert openspiel_options._why_not("hex", [{"board_size": 3}]) == ["it takes too long"]


def test_words_that_differ_in_case_alone_are_marked() -> None:
    """A pawn and a bishop take on the same point."""
    state = start("chess")
    for move in ("d3", "c5", "Be3", "a6", "b4", "a5"):
        assert state.play(move).replace("^", "") == move
    words = state.strings()
    assert words["bxc5"] == "bxc5" and words["^Bxc5"] == "Bxc5" and "Bxc5" not in words
    said = {form: state.copy().play(form) for form in ("bxc5", "BXC5", "Bxc5", "^bxc5", "^BXC5", "bxa5")}
    assert said == {
        "bxc5": "bxc5", "BXC5": "bxc5", "Bxc5": "^Bxc5", "^bxc5": "^Bxc5", "^BXC5": "^Bxc5", "bxa5": "bxa5"
    }  # fmt: skip
    assert {state.copy()._find(form)[1] for form in ("Bxc5", "^Bxc5")} == {"^Bxc5"}


def test_a_string_with_a_sign_of_comment_is_taken_as_it_arrives(talk: Callable[[str], str]) -> None:
    talk("ggp-new chess")
    for number, move in enumerate(["f3", "e5", "g4"]):
        talk(f"ggp-play {('black', 'white')[number % 2]} {move}")
    assert "Qh4%23" in talk("ggp-legal_moves").split()
    assert talk("ggp-play white Qh4#").startswith("= move=Qh4%23 phase=over")


def test_strings_with_blanks_are_taken_whole(talk: Callable[[str], str]) -> None:
    talk("ggp-new nim")
    assert talk("ggp-legal pile:3, take:5;") == "= true"
    assert talk("ggp-play black pile:3, take:5;").startswith("= move=pile:3,_take:5; ")
    assert talk("play w pile:1,_take:1;") == "="
    assert talk("ggp-history") == "= 1 black pile:3,_take:5;\n2 white pile:1,_take:1;"
    refused = talk("ggp-play black pile:3,_take:5;")
    assert refused.startswith("? illegal move: pile:3,_take:5; is not one of the 10 legal moves, such as ")


def test_the_first_to_act_is_seat_1_and_a_side_may_move_twice() -> None:
    chess = start("chess")
    assert chess.inner.current_player() == 1 and (chess.seat, chess.to_play) == (1, "black")
    boxes = start("dots_and_boxes", num_rows=1, num_cols=1)
    for _ in range(4):
        last = boxes.to_play
        boxes.play(boxes.legal_moves()[0])
    assert boxes.phase == "over" and boxes.result == f"{last[0].upper()}+" and boxes.legal_moves() == []
    twice = [(one.to_play, one.ply) for one in walk("mancala", 300)]
    assert any(a[0] == b[0] and b[1] == a[1] + 1 for a, b in pairwise(twice))


def test_results_come_from_returns() -> None:
    from ggp.engines.adapters.openspiel import LoadedGame

    plain, margins = LoadedGame("tic_tac_toe", {}), LoadedGame("dots_and_boxes", {"utility_margin": True})
    assert [plain.result(returns) for returns in ([1.0, -1.0], [-1.0, 1.0], [0.0, 0.0])] == ["B+", "W+", "0"]
    assert [margins.result(returns) for returns in ([2.0, -2.0], [-1.0, 1.0])] == ["B+2", "W+1"]


def test_options_have_the_ranges_that_load(talk: Callable[[str], str]) -> None:
    assert talk("ggp-options amazons") == "= board_size int 10 6,8,10"
    assert "players int 2 2" in talk("ggp-options quoridor")
    assert talk("ggp-options chess") == "= chess960 enum false false"  # else it begins by chance
    assert "komi half 7.5 *" in talk("ggp-options go")


def test_parameters_that_end_the_process_leave_the_present_game(talk: Callable[[str], str]) -> None:
    talk("ggp-new hex board_size=5")
    talk("ggp-play black c3")
    for line in (
        "hex board_size=9999",
        "hex board_size=0",
        "gomoku dims=4 size=30",
        "quoridor players=3",
        "hex size=5",
    ):
        assert talk(f"ggp-new {line}").startswith("?"), line
    assert talk("ggp-history") == "= 1 black c3"


def test_a_child_that_dies_is_a_reason() -> None:
    import os

    from ggp.engines.adapters import openspiel_options

    def dies(game: str, values: dict[str, Any]) -> str:
        if values["size"] == 2:
            os.abort()
        return ""

    real, openspiel_options._try_out = openspiel_options._try_out, dies
    try:
        found = openspiel_options._why_not("hex", [{"size": size} for size in (1, 2, 3)])
    finally:
        openspiel_options._try_out = real
    assert found == ["", "it ends the process (SIGABRT)", ""]


def test_counts_undo_and_hashes(talk: Callable[[str], str]) -> None:
    begun = talk("ggp-new tic_tac_toe")
    assert begun == "= phase=play to_play=black seat=1 ply=0 max_plies=9"
    first = talk("ggp-hash")
    assert talk("ggp-perft 3") == "= 504"
    played = dict(word.split("=") for word in talk("ggp-playouts 50 7")[2:].split())
    assert sum(int(played[key]) for key in ("black", "white", "draws")) == 50 and int(played["plies"]) >= 250
    talk("ggp-play b x(1,1)")
    second = talk("ggp-hash")
    assert second != first and talk("ggp-undo") == "= phase=play to_play=black seat=1 ply=0"
    assert talk("ggp-hash") == first


def test_the_state_is_read_back_by_openspiel(talk: Callable[[str], str]) -> None:
    import pyspiel

    talk("ggp-new othello")
    talk("ggp-play b c4")
    game, state = pyspiel.deserialize_game_and_state(json.loads(talk("openspiel-state")[2:]))
    assert game.get_type().short_name == "othello" and len(state.history()) == 1
    moves = json.loads(talk("openspiel-moves")[2:])
    assert sorted(moves) == talk("ggp-legal_moves")[2:].split()


@pytest.mark.parametrize("name", sorted(KNOWN))
def test_every_position_is_drawn_as_a_grid_or_as_text(name: str, talk: Callable[[str], str]) -> None:
    from ggp.protocol.drawing.scene import read_scene
    from ggp.protocol.drawing.text import describe, draw

    talk(f"ggp-new {name}")
    for _ in range(3):
        scene = read_scene(talk("ggp-scene")[2:])
        assert scene.cells or scene.tokens
        assert draw(scene) or describe(scene)
        assert "\x1b" not in talk("showboard") and "\ufffd" not in talk("showboard")
        assert talk("ggp-rules").count("\n") >= 5
        legal, status = talk("ggp-legal_moves")[2:].split(), talk("ggp-status")
        talk(f"ggp-play {status.split('to_play=')[1].split()[0]} {legal[-1]}")


def test_a_grid_has_owners_and_names_from_the_moves() -> None:
    scene = start("breakthrough").scene()
    pieces = {piece["at"]: piece["colour"] for piece in scene["pieces"]}
    assert pieces["a8"] == "black" and pieces["h1"] == "white" and len(scene["cells"]) == 64
    state = start("connect_four")
    state.play("x3")
    assert [(piece["colour"], piece["glyph"]) for piece in state.scene()["pieces"]] == [("black", "x")]
    assert len(state.scene()["last"]) == 1
    assert start("hive").scene()["cells"] == []


@pytest.mark.slow
def test_ggp_engine_openspiel_is_an_engine_on_stdio() -> None:
    with RawPeer(COMMAND) as engine:
        assert "hex" in engine.ask("ggp-games").split()
        assert engine.ask("ggp-new quoridor").startswith("phase=play")  # whose warning goes to stderr
        assert engine.ask("ggp-new poker").startswith("? unknown game")
    ran = ggp("engine", "openspiel", "backgammon")
    assert ran.status == 2 and "chance" in ran.err and ran.err.count("\n") == 1


@pytest.mark.slow
@pytest.mark.parametrize("game", ["connect_four", "mancala"])
def test_every_check_of_an_engine_passes(game: str) -> None:
    ran = ggp("check", "--engine", "--game", game, "--json", "--", *COMMAND)
    assert ran.status == 0 and [row for row in ran.json["steps"] if row["verdict"] == "fail"] == [], ran.out


@pytest.mark.slow
def test_recorded_games_are_verified(tmp_path: Any) -> None:
    record = tmp_path / "games.jsonl"
    engine = ("--engine", " ".join(COMMAND))
    ran = ggp("match", *engine, "clobber", "random", "greedy:playouts=1", "--games", "4", "--record", str(record))
    assert ran.status == 0 and "rules 4" in ran.out, ran.err
    start = json.loads(record.read_text(encoding="utf-8").split("\n")[0])
    assert start["max_plies"] == 29 and start["engine"]["program"] == "OpenSpiel"  # the most that clobber can have
    checked = ggp("verify", *engine, str(record))
    assert checked.status == 0, checked.err
    refused = ggp("match", *engine, "backgammon", "random", "random")
    assert refused.status == 2 and "it has chance" in refused.err


@pytest.mark.slow
def test_go_of_openspiel_is_not_verified_by_ours(tmp_path: Any) -> None:
    """Two games of one name, told from each other by their options."""
    record = tmp_path / "go.jsonl"
    engine = ("--engine", " ".join(COMMAND))
    ran = ggp("match", *engine, "go,board_size=3", "random", "random", "--games", "2", "--record", str(record))
    assert ran.status == 0 and "rules 2" in ran.out, ran.err
    assert ggp("verify", *engine, str(record)).status == 0
