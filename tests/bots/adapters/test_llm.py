"""`ggp bot llm`: what the model reads, what becomes of its answers, and what its record keeps. Keys are nowhere."""

import json
import os
import random
import time
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import pytest

from ggp.bots.adapters import endpoint as endpoints
from ggp.bots.adapters import llm
from ggp.bots.adapters.answers import read_answer
from ggp.bots.adapters.endpoint import Endpoint
from ggp.bots.adapters.llm import ModelBot
from ggp.bots.adapters.llm_options import LlmOptions, read_command
from ggp.bots.adapters.pictures import FOLDERS, FONTS
from ggp.bots.adapters.prompts import refusal_prompt, system_prompt
from ggp.bots.adapters.turn import fit
from ggp.bots.command import complete, find_problem
from ggp.bots.sdk import Bot, Position
from ggp.engines.game import OptionError
from ggp.protocol.responder import Responder
from tests.support.cli import ggp_in_process
from tests.support.model_endpoint import (
    Fault,
    ModelEndpoint,
    Script,
    Scripted,
    as_text,
    completion,
    legal_moves,
    naming,
)

HTTP = pytest.mark.needs("httpx")
CALL = ("--model", "m", "--url", "http://127.0.0.1:1/v1")
GAMES = ("yugo size=5", "taugo", "taigo", "laido", "stigmergy", "go size=5")


class ModelTalk:
    """The bot in this process, its model behind HTTP: lines in, answers out."""

    def __init__(self, script: Script | Iterable[Scripted], *words: str) -> None:
        self.server = ModelEndpoint(script)
        said = read_command(["--model", "m", "--url", self.server.url, *words])
        self.endpoint = Endpoint(said.url, {"model": said.model}, per_minute=said.per_minute)
        bot = ModelBot(said, self.endpoint)
        self.bot = Bot(bot.choose, analysis=True, told=bot.told)
        self._responder = Responder("talk", "1", self.bot.handlers())

    def __call__(self, line: str) -> str:
        self._responder.receive(line.encode() + b"\n")
        answer = self._responder.next_answer()
        assert answer is not None
        return answer.decode().removesuffix("\n\n")

    def move(self, colour: str) -> tuple[str, dict[str, Any]]:
        """The first line of the answer to ggp-genmove_analyze, and its second as JSON."""
        first, _, second = self(f"ggp-genmove_analyze {colour}").partition("\n")
        return first, json.loads(second)

    def prompts(self) -> list[list[str]]:
        """The texts of every question."""
        return [[as_text(message["content"]) for message in asked["messages"]] for asked in self.server.asked]

    def close(self) -> None:
        self.endpoint.close()
        self.server.__exit__()


@pytest.fixture
def talk(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[..., ModelTalk]]:
    monkeypatch.setattr(endpoints, "FIRST_WAIT", 0.01)
    made: list[ModelTalk] = []

    def make(script: Script | Iterable[Scripted], *words: str, game: str = "yugo size=5 komi=0") -> ModelTalk:
        made.append(ModelTalk(script, *words))
        assert made[-1](f"ggp-new {game}") == "="
        return made[-1]

    yield make
    for each in made:
        each.close()


# -- the prompt


@HTTP
def test_the_engine_writes_the_prompt(talk: Callable[..., ModelTalk]) -> None:
    bot = talk([naming("b2")], "--legal", "list")
    bot("play black A1")
    bot("ggp-clock black=9000 white=61500 increment=100")
    assert bot("genmove white") == "= B2"
    ((system, user),) = bot.prompts()
    assert "You play yugo with the options size=5 komi=0 " in system and "'agreement=on'" in system
    assert "these and others are moves: A3 B3 C3 D3 E3 button" in system
    assert user.startswith("You are white (seat 2); ply 2 is yours.\n\nAll moves so far")
    assert "1. B A1\n" in user and "Time left: black 9.0 s, white 61.5 s, 0.1 s are added for each move." in user
    assert "\n1(X). . . . 1\n" in user and "The 25 legal moves: A2 A3 " in user


@HTTP
@pytest.mark.parametrize(("legal", "said"), [("none", ""), ("count", "There are 26 legal moves."), ("list", "A1 A2")])
def test_as_much_is_said_of_the_legal_moves_as_was_asked_for(
    legal: str, said: str, talk: Callable[..., ModelTalk]
) -> None:
    bot = talk([naming("C3")], "--legal", legal)
    _, kept = bot.move("black")
    ((_, user),) = bot.prompts()
    assert kept["legal"] == legal and said in user and ("legal move" in user) == (legal != "none")


@HTTP
@pytest.mark.parametrize("game", GAMES)
def test_every_phase_of_every_game_has_its_prompt(game: str, talk: Callable[..., ModelTalk]) -> None:
    """Six plies, both sides; the model takes the last legal move."""
    bot = talk(lambda messages: naming(legal_moves(messages)[-1]), "--legal", "list", game=game)
    for _ in range(6):
        line = bot.bot.line
        assert line is not None
        if line.state.phase == "over":
            break
        first, kept = bot.move(line.state.to_play)
        assert first == f"= {line.plies[-1][2]}" and "illegal" not in kept["answers"][0]
    assert all(len(texts) == 2 and "The board:" in texts[1] for texts in bot.prompts())


@HTTP
@pytest.mark.needs("resvg_py")
@pytest.mark.parametrize("board", ["picture", "both"])
def test_a_board_may_be_a_picture(board: str, talk: Callable[..., ModelTalk]) -> None:
    bot = talk([naming("C3")], "--board", board)
    _, kept = bot.move("black")
    text, image = bot.server.asked[0]["messages"][1]["content"]
    assert image["image_url"]["url"].startswith("data:image/png;base64,iVBORw0KGgo")
    assert ("The board:" in text["text"]) == (board == "both")
    assert kept["answers"][0]["picture"].startswith("sha256:") and "base64" not in json.dumps(kept)


# -- the answers


@HTTP
def test_an_illegal_answer_goes_back_with_the_engine_s_reason(talk: Callable[..., ModelTalk]) -> None:
    bot = talk([naming("A1"), "I would say A3", naming("b2")])
    bot("play black A1")
    first, kept = bot.move("white")
    assert first == "= B2"
    texts = bot.prompts()[2]
    assert len(texts) == 6 and "A1 is illegal: " in texts[3] and "occupied" in texts[3]
    assert texts[5].startswith("I read no move in your answer: the answer names no move")
    one, two, three = kept["answers"]
    assert one["named"] == "A1" and "occupied" in one["illegal"]
    assert "named" not in two and two["answer"] == "I would say A3" and two["unreadable"]
    assert three["named"] == "b2" and three["prompt"] == texts[5] and not {"illegal", "unreadable"} & {*three}


@HTTP
@pytest.mark.parametrize(
    ("give_up", "answer"), [("forfeit", "? no legal move in 3 answers; the last one: "), ("resign", "= resign")]
)
def test_after_the_retries_there_is_no_move(give_up: str, answer: str, talk: Callable[..., ModelTalk]) -> None:
    bot = talk([naming("Z99")] * 4, "--give-up", give_up)
    first, kept = bot.move("black")
    assert first.startswith(answer) and len(kept["answers"]) == 3 == len(bot.server.asked)
    assert bot.bot.line is not None and bot.bot.line.plies == []


@HTTP
def test_resign_is_an_answer(talk: Callable[..., ModelTalk]) -> None:
    assert talk([naming("resign")]).move("black")[0] == "= resign"


@HTTP
def test_an_echo_of_the_prompt_is_no_move(talk: Callable[..., ModelTalk]) -> None:
    bot = talk(lambda messages: "\n".join(as_text(message["content"]) for message in messages), "--legal", "list")
    assert bot("genmove black").startswith("? no legal move in 3 answers")


@HTTP
@pytest.mark.parametrize("game", GAMES)
def test_an_echo_of_the_rules_is_no_move(game: str, talk: Callable[..., ModelTalk]) -> None:
    def rules(messages: list[dict[str, Any]]) -> str:
        return as_text(messages[0]["content"]).partition("The rules:\n")[2].partition("\nA move is one word.")[0]

    bot = talk(rules, game=game)
    first, kept = bot.move("black")
    assert first.startswith("? no legal move in 3 answers") and len(rules(bot.server.asked[0]["messages"])) > 500
    assert not any("named" in each for each in kept["answers"])


def test_an_engine_s_text_names_no_move() -> None:
    said = 'play `A1` or {"move": "A1"} or { "move": "A1" }'
    assert read_answer(refusal_prompt("B2", said).partition("\n")[0], ["A1"]).word == ""


@HTTP
def test_the_system_prompt_is_kept_once_a_game(talk: Callable[..., ModelTalk]) -> None:
    bot = talk([naming("A1"), naming("A3"), naming("A1")])
    kept = [bot.move("black")[1]]
    bot("play white E5")
    kept.append(bot.move("black")[1])
    bot("ggp-new yugo size=5")
    kept.append(bot.move("black")[1])
    assert ["system" in each for each in kept] == [True, False, True]
    assert {texts[0] for texts in bot.prompts()[:2]} == {kept[0]["system"]}


@HTTP
def test_all_that_is_kept_fits_into_a_record(talk: Callable[..., ModelTalk]) -> None:
    bot = talk([completion("é" * 50_000)] * 21, "--retries", "20")
    first, _, second = bot("ggp-genmove_analyze black").partition("\n")
    kept = json.loads(second)
    assert first.startswith("? no legal move in 21 answers") and len(second) <= 60_000
    assert all("characters) …" in each["answer"] for each in kept["answers"]) and len(kept["answers"]) == 21


def test_texts_that_json_writes_twelve_times_as_long_fit_too() -> None:
    names = ("prompt", "answer", "named", "illegal")
    kept = {"model": "m", "answers": [dict.fromkeys(names, "😀" * 300) | {"ms": 10**6} for _ in range(21)]}
    fit(kept)
    assert len(json.dumps(kept)) <= 60_000 and len(kept["answers"]) == 21


@HTTP
def test_the_time_of_a_move_begins_before_its_prompt_is_made(
    talk: Callable[..., ModelTalk], monkeypatch: pytest.MonkeyPatch
) -> None:
    bot = talk([naming("A1")])
    bot("ggp-clock black=500 white=9000")

    def slow(position: Position) -> str:
        time.sleep(0.6)
        return system_prompt(position)

    monkeypatch.setattr(llm, "system_prompt", slow)
    assert bot.move("black")[0] == "? no time is left for another answer" and not bot.server.asked


# -- clocks, budgets, faults of the endpoint


@HTTP
def test_tokens_are_a_clock(talk: Callable[..., ModelTalk]) -> None:
    bot = talk([naming("A1"), naming("A3")], "--tokens-per-game", "200", "--max-tokens", "150")
    bot.move("black")
    bot("play white E5")
    bot.move("black")
    bot("play white E3")
    first, kept = bot.move("black")
    assert first == "? the 200 tokens of the game are used up" and kept["answers"][0]["failed"]
    assert [asked["max_tokens"] for asked in bot.server.asked] == [150, 93]
    assert "Tokens left for this game: 93." in bot.prompts()[1][1]


@HTTP
def test_a_clock_by_tokens_sends_no_limit_of_its_own(talk: Callable[..., ModelTalk]) -> None:
    bot = talk([naming("A1")], "--tokens-per-game", "1000000")
    assert bot.move("black")[0] == "= A1" and "max_tokens" not in bot.server.asked[0]


@HTTP
def test_questions_without_an_answer_are_in_the_budgets(talk: Callable[..., ModelTalk]) -> None:
    bot = talk([Fault("cut"), naming("A1")], "--price", "1000/10000", "--budget", "0.2")
    _, kept = bot.move("black")
    assert kept["answers"][0]["cost"] == 0.17 and kept["answers"][0]["lost"] > 100
    bot("play white E5")
    assert bot.move("black")[0] == "? the budget of 0.2 is used up"


@HTTP
def test_costs_are_kept_and_a_budget_ends_them(talk: Callable[..., ModelTalk]) -> None:
    bot = talk([naming("A1"), naming("A3")], "--price", "1000/10000", "--budget", "0.2")
    assert bot.move("black")[1]["answers"][0]["cost"] == 0.17
    bot("play white E5")
    assert bot.move("black")[0] == "= A3"
    bot("ggp-new yugo size=5")
    assert bot.move("black")[0] == "? the budget of 0.2 is used up"


@HTTP
def test_the_clock_bounds_the_wait(talk: Callable[..., ModelTalk]) -> None:
    bot = talk([Fault("hang"), naming("A1")])
    bot("ggp-clock black=500 white=9000")
    first, kept = bot.move("black")
    assert first.startswith("? the endpoint did not answer within 0.") and kept["answers"][0]["tries"] == 1
    bot("ggp-clock black=100 white=9000")
    assert bot.move("black")[0] == "? no time is left for another answer"


@HTTP
def test_an_endpoint_that_fails_is_a_forfeit(talk: Callable[..., ModelTalk]) -> None:
    bot = talk([Fault("status", 401, '{"error": "who are you?"}')])
    first, kept = bot.move("black")
    assert first == "? the endpoint answers 401: who are you?"
    assert kept["answers"][0]["failed"] == "the endpoint answers 401: who are you?"


# -- the command line


@pytest.mark.parametrize(
    "words",
    [
        ["--key", "sk-abcdefgh12345678"],
        ["--api-key=sk-abcdefgh12345678"],
        ["--token", "x"],
        ["sk-abcdefgh12345678"],
        [*CALL, "--key-env", "sk-abcdefgh12345678"],
        [*CALL, "--key-env", "AIzaSyABCDEFGHIJKLMNOPQRSTUVWXYZ"],
        [*CALL, "--key-env", "not a variable"],
        ["--model", "m", "--url", "https://user:sk-abcdefgh12345678@host/v1"],
        ["--model", "m", "--url", "https://host/v1?key=sk-abcdefgh12345678"],
        ["--model", "m", "--url", "https://host/sk-abcdefgh12345678"],
        [*CALL, "--send", '{"api_key": "abc"}'],
        [*CALL, "--send", '{"user": "sk-abcdefgh12345678"}'],
        [*CALL, "--send", '{"headers": {"Authorization": "abcdefgh"}}'],
        [*CALL, "--send", '{"extra": [{"x-api-key": "abcdefgh"}]}'],
        ["--model", "sk-abcdefgh12345678", "--url", "http://127.0.0.1:1/v1"],
    ],
)
def test_a_key_in_the_command_line_is_refused_with_the_safe_way(words: list[str]) -> None:
    problem = find_problem(["llm", *words])
    assert problem is not None and problem[0] == "options"
    assert "variable" in problem[1] and "abcdefgh" not in problem[1] and "\n" not in problem[1]
    ran = ggp_in_process("bot", "llm", *words)
    assert ran.status == 2 and ran.err == f"ggp bot: {problem[1]}\n"


@pytest.mark.parametrize(
    "words",
    [
        [],
        ["--model", "m"],
        ["--url", "http://127.0.0.1:1/v1"],
        [*CALL, "--frob", "x"],
        [*CALL, "frob"],
        [*CALL, "--model", "n"],
        [*CALL, "--retries"],
        [*CALL, "--retries", "x"],
        [*CALL, "--retries", "99"],
        [*CALL, "--legal", "all"],
        [*CALL, "--board", "ascii"],
        [*CALL, "--give-up", "never"],
        [*CALL, "--temperature", "nan"],
        [*CALL, "--seconds", "0"],
        [*CALL, "--price", "1"],
        [*CALL, "--price", "1/-2"],
        [*CALL, "--budget", "5"],
        [*CALL, "--send", "{"],
        [*CALL, "--send", "[]"],
        [*CALL, "--send", '{"messages": []}'],
        ["--model", "m", "--url", "ftp://host"],
        ["--model", "m", "--url", "host:80"],
        ["--model", "m", "--url", "http://[::1"],
        ["--model", "m", "--url", "http://host:99999/v1"],
    ],
)
def test_bad_words_are_one_line(words: list[str]) -> None:
    problem = find_problem(["llm", *words])
    assert problem is not None and problem[1].startswith("llm: ") and "\n" not in problem[1]


@pytest.mark.parametrize(
    "words",
    [
        ["--model", "m", "--url", "http://spark-cluster-node1/v1"],
        ["--model", "hf-internal-testing/tiny-random-1", "--url", "http://127.0.0.1:1/v1"],
        ["--model", "gsk-instruct-preview", "--url", "http://127.0.0.1:1/v1"],
        [*CALL, "--send", '{"stop": ["task-abcdefgh12345678"], "keyboard": {"keys": 1}}'],
    ],
)
def test_what_only_resembles_a_key_is_taken(words: list[str]) -> None:
    assert find_problem(["llm", *words]) is None


def test_words_that_are_good() -> None:
    words = [*CALL, "--retries", "0", "--legal=none", "--price", "0.5/2", "--budget", "3", "--send", '{"seed": 1}']
    said = read_command([*words, "--key-env", "MY_KEY", "--temperature=0.7"])
    assert said == LlmOptions(
        model="m",
        url="http://127.0.0.1:1/v1",
        retries=0,
        legal="none",
        price=(0.5, 2.0),
        budget=3.0,
        send={"seed": 1},
        key_env="MY_KEY",
        temperature=0.7,
    )
    assert said.key({"MY_KEY": " k \n"}) == "k" and find_problem(["llm", *words]) is None
    for key in ("", " ", "a b", "é", "a\x00b"):
        with pytest.raises(OptionError, match="MY_KEY"):
            said.key({"MY_KEY": key})


@HTTP
def test_programs_that_the_bot_starts_do_not_inherit_the_key(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[str | None] = []
    monkeypatch.setenv("GGP_TEST_KEY", "sk-abcdefgh12345678")
    monkeypatch.setattr(llm, "run", lambda *words, **more: seen.append(os.environ.get("GGP_TEST_KEY")))
    llm.main([*CALL, "--key-env", "GGP_TEST_KEY"])
    assert seen == [None]


def test_a_missing_package_is_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ggp.bots.adapters.find_spec", lambda name: None)
    ran = ggp_in_process("bot", "llm", *CALL)
    text = "ggp bot: llm: httpx is not installed: run pip install httpx\n"
    assert (ran.status, ran.err) == (2, text)
    ran = ggp_in_process("bot", "llm", *CALL, "--board", "both")
    assert ran.status == 2 and ran.err.startswith("ggp bot: llm: resvg_py is not installed: run pip install ")


def test_a_machine_without_fonts_makes_no_pictures(monkeypatch: pytest.MonkeyPatch, tmp_path: object) -> None:
    from ggp.bots.adapters import pictures

    monkeypatch.setattr(pictures, "FOLDERS", (str(tmp_path),))
    monkeypatch.setattr(pictures, "load", lambda *words: None)
    pictures._font.cache_clear()
    with pytest.raises(OptionError, match="apt-get install fonts-dejavu-core"):
        pictures.check_pictures()
    pictures._font.cache_clear()
    assert FONTS and FOLDERS


def test_its_options_are_completed() -> None:
    assert {"--model", "--url", "--key-env", "--help"} <= {*complete(["llm"], "--")}


# -- no substituted move


@HTTP
@pytest.mark.long
def test_ten_thousand_answers_never_become_a_move_that_they_do_not_name(talk: Callable[..., ModelTalk]) -> None:
    """The script knows what it names. What is played is exactly that where it is legal, and else nothing."""
    chance = random.Random(7)
    meant: list[str | None] = []

    def script(messages: list[dict[str, Any]]) -> Scripted:
        legal = legal_moves(messages)
        word, other, third = (chance.choice(legal) for _ in range(3))
        echo = as_text(messages[-1]["content"])
        answers: list[tuple[str, str | None]] = [
            (naming(word), word),
            (f"{other}? {third}! Or `{other}`... {naming(word)}", word),
            (f"{naming(other)}\nOn second thought:\n```json\n{naming(word)}\n```", word),
            (json.dumps({"move": word, "line": [{"move": other}, {"move": third}]}), word),
            (f"<think>{naming(other)} `{third}`</think>{naming(word)}", word),
            (f"`{other}` or `{word}`", word),
            (f"I take {other}.", None),
            (f"{other} {third} {word}", None),
            (naming("Z99"), "Z99"),
            (naming(f"{word} {other}"), None),
            (echo, None),
            (f"{echo}\n{naming(word)}", word),
            ("I cannot play games. Perhaps ask for a poem?", None),
            (f'{{"move": "{word}', None),
            (f'{{"answer": "{word}"}}', None),
            (f'{{"move": ["{word}"]}}', None),
            ("", None),
            ("x" * chance.choice((10, 1000, 100_000)), None),
            (naming(word.swapcase()), word),
        ]
        text, named = chance.choice(answers)
        meant.append(named)
        return text

    games = 0
    bot = talk(script, "--legal", "list", "--retries", "1")
    while len(meant) < 10_000:
        bot(f"ggp-new {GAMES[games % len(GAMES)]}")
        games += 1
        line = bot.bot.line
        assert line is not None
        while line.state.phase != "over" and len(line.plies) < 60:
            state, before = line.state.copy(), len(meant)
            answer = bot(f"genmove {state.to_play}").partition("\n")[0]
            said = [word for word in meant[before:] if word and not state.why_illegal(word)]
            if answer.startswith("= "):
                assert len(said) == 1 and said[0] == meant[-1] and state.play(said[0]) == answer[2:]
            else:
                assert answer.startswith("? no legal move in 2 answers") and not said and len(meant) == before + 2
                line.play(state.to_play, state.legal_moves()[0])
    assert len(bot.server.asked) == len(meant) and games >= 6
