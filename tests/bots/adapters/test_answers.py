"""Which move an answer names: the last JSON object's, else the last fenced word's; no other is read into it."""

import json
import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ggp.bots.adapters.answers import MAX_ANSWER, NamedMove, read_answer

LEGAL = ("A1", "B2", "C3", "J10", "pass", "swap-sides", "bid:7")


@pytest.mark.parametrize(
    ("text", "word"),
    [
        ('{"move": "B2"}', "B2"),
        ('A1 is tempting, C3 too.\n{"move": "B2"}', "B2"),
        ('{"move": "A1"} no, wait: {"move": "B2"}', "B2"),
        ('```json\n{"move": "A1"}\n```\nor rather\n```json\n{"move": "B2"}\n```', "B2"),
        ('{"move": "B2", "candidates": [{"move": "A1"}, {"move": "C3"}]}', "B2"),
        ('{"candidates": [{"move": "A1"}], "move": "B2", "why": "a } in text"}', "B2"),
        ('`A1` is good, but {"move": " B2 "}', "B2"),
        ('{"move": "B2"} and not `A1`', "B2"),
        ('{"move": 7}', "7"),
        ('{"move": "Z99"}, for `A1` is worse', "Z99"),
        ("I play `B2`.", "B2"),
        ("`A1`? No: `B2`.", "B2"),
        ("```\nB2\n```", "B2"),
        ("```text\nb2\n```", "b2"),
        ("`B2` because of the `threat` of {nothing}", "B2"),
        ("`K11` is not on the board, but has its form", "K11"),
        ("`pass`", "pass"),
        ("`resign`", "resign"),
        ('<think>{"move": "A1"}</think>{"move": "B2"}', "B2"),
        ("<think>`A1`</think>`B2`", "B2"),
        ("`" * 3 + "\n board `A1`", "A1"),
        ('{"analysis": "one\ntwo", "reply": {"move": "A1"}, "move": "B2"}', "B2"),
        ('{"move": "A1",} broken, so again: {"move": "B2"}', "B2"),
        ("I compare {'A1': 3, 'C3': 4}.\n" + '{"move": "B2"}', "B2"),
        ('A set is {A1, C3} or { or {A1}.\n{"move": "B2"}', "B2"),
        ('[{"move": "A1"}, {"move": "B2"}]', "B2"),
    ],
)
def test_the_move_that_is_named(text: str, word: str) -> None:
    assert read_answer(text, LEGAL) == NamedMove(word)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "A1",
        "I play B2.",
        "**B2**",
        "I am sorry, but I cannot help with games.",
        '{"move": ""}',
        '{"move": null}',
        '{"move": true}',
        '{"move": ["B2"]}',
        '{"move": {"to": "B2"}}',
        '{"move": "B2 or A1"}',
        '{"move": "B2#"}',
        '{"move": "B2\\nA1"}',
        '{"move": "\\ud800"}',
        '{"move": "B2',
        '{"Move": "B2"}',
        '{"answer": "B2"}',
        '{"move": "A1"} {"done": true}',
        '["B2"]',
        "{B2}",
        "`play B2`",
        "``",
        "<think>`A1`</think> I do not know",
        "`threat`",
        '{"move": "' + "A" * 5000 + '"}',
        "<think>I could play `A1`",
        'Well. <think>{"move": "A1"}',
    ],
)
def test_an_answer_without_a_move_has_none(text: str) -> None:
    named = read_answer(text, LEGAL)
    assert named.word == "" and named.problem and named.problem.isprintable()


@pytest.mark.parametrize(
    "text",
    [
        '{"move": "B2", "alternatives": [{"move": "A1"}],}',
        """{'move': 'B2', 'instead_of': {"move": "A1"}}""",
        '{"candidates": [{"move":"A1"},{"move":"C3"}], "move": "B',
        '{move: "B2", reply: {"move": "A1"}}',
        '{“move”: “B2”, “reply”: {"move": "A1"}}',
        '{"why": "a } in text", "move": "B2", "reply": {"move": "A1"},}',
        """{'why': 'a } in text', 'move': 'B2', 'reply': {"move": "A1"}}""",
        '{"move": "C3"} or rather {"move": "B2", "reply": {"move": "A1"},}',
        "`A1` would be bad. {'move': 'B2'}",
    ],
)
def test_what_stands_in_a_broken_object_is_not_read_out_of_it(text: str) -> None:
    assert read_answer(text, LEGAL) == NamedMove("", "the last JSON object is broken")


@pytest.mark.parametrize(
    ("text", "word"),
    [
        ('{"move": "A1"} is what I would say, but', ""),
        ('{"move": "A1"} {"move": "B', ""),
        ('{"candidates": [{"move":"A1"},{"move":"C3"}', ""),
        ('<think>{"move": "A1"}', ""),
        ('```json\n{"move": "B2"}\n```\n', "B2"),
        ('```json\n{"move": "B2"}\n', "B2"),
    ],
)
def test_of_an_answer_that_was_cut_an_object_at_its_end_counts(text: str, word: str) -> None:
    assert read_answer(text, LEGAL, cut=True).word == word


def test_a_word_in_a_fence_does_not_count_where_the_answer_was_cut() -> None:
    assert read_answer("First I look at `A1`", LEGAL, cut=True).word == ""
    assert read_answer('{"move": "B2"}', LEGAL, cut=True).word == "B2"


def test_what_repeats_the_prompt_names_no_move() -> None:
    echo = 'End each answer with one JSON object that names your move, in this form: {"move": "<your move>"}'
    assert read_answer(echo, LEGAL) == NamedMove("", "'<your move>' is not one word")


@pytest.mark.parametrize(
    "piece",
    ["{", '{"a":', "`", "``` ", '{"move": "A1"', "[", "\\", '{"a":{}', "`A1", "}", "{'a", '{"a":"', '{"a"}', "{a}"],
)
def test_a_megabyte_takes_no_more_than_a_moment(piece: str) -> None:
    read_answer(piece * (1_000_000 // len(piece)), LEGAL)


def test_a_megabyte_before_the_move_is_read_and_more_than_the_bound_is_not() -> None:
    prose = "I think. " * 120_000
    assert read_answer(prose + '{"move": "B2"}', LEGAL).word == "B2"
    assert read_answer(" " * MAX_ANSWER + '{"move": "B2"}', LEGAL).word == ""


def test_numbers_of_too_many_digits_are_passed_over() -> None:
    assert read_answer('{"a": ' + "9" * 5000 + '} {"move": "B2"}', LEGAL).word == "B2"


@given(st.text(alphabet='{}[]"`:, \nA1B2C3<move>think/\\', max_size=80))
def test_what_it_names_stands_in_the_answer(text: str) -> None:
    word = read_answer(text, LEGAL).word
    assert word in text or word in json.dumps(text)


def test_a_named_word_is_always_the_last_object_s() -> None:
    chance = random.Random(5)
    for _ in range(300):
        moves = [chance.choice(LEGAL) for _ in range(chance.randint(1, 5))]
        text = " ".join(f"{chance.choice(('maybe', '`A1`', 'C3'))} {json.dumps({'move': move})}" for move in moves)
        assert read_answer(text, LEGAL).word == moves[-1]
