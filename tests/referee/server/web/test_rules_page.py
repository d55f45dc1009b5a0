"""The rules of a game as HTML: Markdown with its paragraphs and tables, plain text line by line, nothing turned."""

import pytest

from ggp.protocol.rules_text import Rules
from ggp.referee.server.web.pages import rules_as_html
from tests.support.memory_session import MemorySession

GAMES = ("go", "yugo", "taugo", "taigo", "laido", "stigmergy")


@pytest.mark.parametrize("game", GAMES)
def test_a_table_of_options_ends_where_the_next_paragraph_begins(game: str) -> None:
    html = rules_as_html(Rules(MemorySession().session.game(game).rules, markdown=True))
    table = html.partition("<table")[2].partition("</table>")[0]
    options = MemorySession()(f"ggp-options {game}").split("\n")
    assert table.count("<tr>") == 1 + len(options)
    after = html.partition("</table>")[2]
    assert after.lstrip().startswith(("<p>", "<h3>")), "what follows is no row of it"


def test_text_without_markdown_keeps_its_lines() -> None:
    html = rules_as_html(Rules("# A\n* b\n| c | <d>"))
    assert "# A\n* b\n| c | &lt;d&gt;" in html and "<table" not in html and "<h" not in html


@pytest.mark.parametrize(
    "text",
    [
        "a &#x202e;b&#8238; c",
        "# &#x2066;",
        "`x` &rlm;",
        "```&#x202e;\nx\n```",
        "| a |\n|---|\n| &#x202e; |",
        "\u202e",
        "&#x1b;[2J",
        "&ZeroWidthSpace;&lrm;",
        "&shy;",
    ],
)
def test_no_character_that_turns_text_comes_out_of_an_entity(text: str) -> None:
    for rules in (Rules(text, markdown=True), Rules(text)):
        assert all(one.isprintable() or one == "\n" for one in rules_as_html(rules))
