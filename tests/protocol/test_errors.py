"""Errors name the place in the author's code."""

import json

import pytest

from ggp.protocol.errors import place_of


def test_a_syntax_error_is_where_the_text_is_wrong() -> None:
    with pytest.raises(SyntaxError) as caught:
        compile("a = 1\nb = (\n", "my_bot.py", "exec")
    assert place_of(caught.value) == " (my_bot.py, line 2)"


def test_the_place_is_the_authors_and_not_that_of_a_library() -> None:
    source = "import json\n\ndef read(text):\n    return json.loads(text)\n"
    names: dict[str, object] = {}
    exec(compile(source, "my_bot.py", "exec"), names)
    read = names["read"]
    assert callable(read)
    with pytest.raises(json.JSONDecodeError) as caught:
        read("[")
    assert place_of(caught.value) == " (my_bot.py, line 4)"


def test_an_error_that_nobody_raised_has_no_place() -> None:
    assert place_of(ValueError("a")) == ""
