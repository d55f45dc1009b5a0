"""What an engine answers when it is asked for its rules as JSON, and what is no such answer."""

import pytest

from ggp.protocol.rules_text import read_markdown


def test_markdown_keeps_its_empty_lines() -> None:
    assert read_markdown('{"markdown": "# A\\n\\nb", "more": 1}') == "# A\n\nb"


@pytest.mark.parametrize("answer", ["", "# A\nb", "{}", '{"markdown": 1}', '["markdown"]', '{"a":' * 9_000, "null"])
def test_anything_else_is_plain_text(answer: str) -> None:
    assert read_markdown(answer) is None
