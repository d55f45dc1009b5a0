"""Text for people and log files: URLs without passwords, and JSON without characters that control a terminal."""

import re
from typing import Any

# DEL, C1 controls, and characters that are invisible, break lines or change the reading direction. RFC 8259 allows
# each to be written as \uXXXX without changing the value.
INVISIBLE = re.compile(
    "[\x7f-\x9f\xad\u061c\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb\U000e0001\U000e0020-\U000e007f]"
)
_PASSWORD = re.compile(  # except @17 after a path, which is a ply, and the literal user:password@host of a hint
    r"(:/+[^:/@?#]*):(?!password@[^@]*\Z)(?:.*@(?!-?\d{1,9}[^\w@]*\Z)|[^/]*@)", re.DOTALL
)
_URL = re.compile(r"\S*:/\S*")  # a pathlib path keeps only one of the two slashes
_SECRETS = re.compile(r"([?&;][^=&;#]*(?:pass|pwd|secret|token|key)[^=&;#]*=)[^&;#]*", re.IGNORECASE)


def without_password(url: str) -> str:
    """Return a URL, or any other word, with `***` for its password: `postgresql://club:***@host/ladder`."""
    if ":/" not in url:
        return url
    return _SECRETS.sub(r"\1***", _PASSWORD.sub(r"\1:***@", url))


def without_passwords(text: str) -> str:
    """Return a message with `***` for every password in its URLs, which must not contain blanks."""
    return _URL.sub(lambda found: without_password(found[0]), text) if ":/" in text else text


def counted(number: int, noun: str, plural: str = "") -> str:
    """Return a number with its noun: `1 game`, `2 games`, `2 plies`. `plural` is for irregular plurals."""
    return f"{number} {noun if number == 1 else plural or noun + 's'}"


def json_text(value: Any) -> str:
    """Return JSON on one line. Letters of every script stay; invisible characters are escaped."""
    from json import dumps  # importing it early would slow down the start of every engine

    return escaped(dumps(value, ensure_ascii=False))


def escaped(text: str) -> str:
    """Escape the invisible characters of JSON text."""
    return text if text.isascii() and "\x7f" not in text else INVISIBLE.sub(_escape, text)


def _escape(found: re.Match[str]) -> str:
    code = found[0].encode("utf-16-be").hex()
    return "".join(f"\\u{code[at : at + 4]}" for at in range(0, len(code), 4))
