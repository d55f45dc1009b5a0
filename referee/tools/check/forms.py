"""The forms of engines' answers: status lines, results, options, scores."""

import json
import re
from typing import Any, NamedTuple

PHASES = ("bid", "choose", "play", "agree", "over")
# "Shortest decimals: B+3, never B+3.0".
_RESULT = re.compile(r"0|[BW]\+(?:[RTF]|(?:[1-9]\d*(?:\.\d*[1-9])?|0\.\d*[1-9])?)")
_OPTION = re.compile(r"(\S+) (int|half|bid|enum) (\S+) (\S+)")
_PLAYOUTS = re.compile(r"games=(\d+) plies=\d+ seconds=[\d.e+-]+ black=(\d+) white=(\d+) draws=(\d+)")


class StatusFields(NamedTuple):
    """The fields of a valid status line."""

    phase: str
    to_play: str
    seat: int
    ply: int
    result: str
    winner: str
    move: str


def read_status(text: str) -> StatusFields | str:
    """Return the fields of a status line, or what is wrong with it."""
    pairs = [word.partition("=") for word in text.split(" ")]
    if any(not key or equals != "=" for key, equals, _ in pairs):
        return "a status line is key=value, separated by one blank"
    keys = {key: value for key, _, value in pairs}
    missing = [key for key in ("phase", "to_play", "seat", "ply") if key not in keys]
    if missing:
        return f"{missing[0]}= is missing"
    if keys["phase"] not in PHASES:
        return f"phase is one of {', '.join(PHASES)}"
    over = keys["phase"] == "over"
    if over != (keys["to_play"] == "none") or keys["to_play"] not in ("black", "white", "none"):
        return "to_play is black or white, and none when over"
    if keys["seat"] not in (("0",) if over else ("1", "2")) or not re.fullmatch(r"\d+", keys["ply"]):
        return "seat is 1 or 2, 0 when over; ply is a number"
    result, winner, move = (keys.get(key, "") for key in ("result", "winner", "move"))
    return StatusFields(keys["phase"], keys["to_play"], int(keys["seat"]), int(keys["ply"]), result, winner, move)


def is_result(text: str) -> bool:
    """Return True for `B+3.5`, `W+1`, `B+`, `0`, and forfeits."""
    return _RESULT.fullmatch(text) is not None


def ends_right(status: StatusFields) -> bool:
    """Return True if a status has a result and a winner exactly when the game is over."""
    if status.phase != "over":
        return not status.result and not status.winner
    return is_result(status.result) and status.winner in (("0",) if status.result == "0" else ("1", "2"))


def read_option(line: str) -> tuple[str, str, str, str] | None:
    """Return the name, type, default and domain of an option, or None if the line or the default is invalid."""
    match = _OPTION.fullmatch(line)
    if match is None:
        return None
    name, kind, default, domain = match.groups()
    return (name, kind, default, domain) if _within(kind, default, domain) else None


def ends_of(kind: str, domain: str) -> list[str]:
    """Return values that a domain includes: single values, and both ends of each range."""
    values: list[str] = []
    for part in domain.split(","):
        low, dots, high = part.partition("..")
        values += [low, high] if dots else [{"half": "6.5", "bid": "3"}.get(kind, "7")] if part == "*" else [part]
    return list(dict.fromkeys(values))


def beyond(kind: str, domain: str) -> list[str]:
    """Return values that a domain excludes."""
    numbers = ["1000000", "-1000000", "2.25"] if kind == "int" and "*" not in domain else []
    return ["no-such-value", *numbers, *(["0.3"] if kind == "half" else [])]


def is_score(text: str, over: bool) -> bool:
    """Return True for one line of JSON with black and white totals (numbers or null) and `final`."""
    match read_json(text):
        case {"black": {"total": black}, "white": {"total": white}, "final": bool(final)}:
            return final == over and all(total is None or isinstance(total, int | float) for total in (black, white))
    return False


def adds_up(text: str, games: int) -> bool:
    """Return True if an answer of ggp-playouts is about `games` games."""
    match = _PLAYOUTS.fullmatch(text)
    return match is not None and [int(match[1]), sum(map(int, match.groups()[1:]))] == [games, games]


def read_json(text: str) -> Any:
    """Return the value; None if the text is not JSON."""
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None


def _within(kind: str, value: str, domain: str) -> bool:
    number = re.fullmatch(r"-?\d+(?:\.5)?" if kind == "half" else r"-?\d+", value)
    for part in domain.split(","):
        low, dots, high = part.partition("..")
        if value == part or (part == "*" and (number or kind == "enum")):
            return True
        try:
            if dots and number and float(low) <= float(value) <= float(high):
                return True
        except ValueError:
            return False
    return False
