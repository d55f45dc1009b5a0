"""The rules of a game as an engine answers them: Markdown inside JSON, or plain text from other engines."""

from typing import NamedTuple

import msgspec


class Rules(NamedTuple):
    """The rules of a game: Markdown, or plain text whose lines are kept but never empty."""

    text: str
    markdown: bool = False


class _Answer(msgspec.Struct):
    markdown: str


_decoder = msgspec.json.Decoder(_Answer)


def read_markdown(answer: str) -> str | None:
    """Return the text of `{"markdown": "…"}`, the answer to `ggp-rules GAME json`, or None for anything else.

    An engine that does not know the word `json` may refuse it, or ignore it and answer plain text.
    """
    try:
        return _decoder.decode(answer).markdown
    except (msgspec.MsgspecError, ValueError, RecursionError):
        return None
