"""The forms of what engines answer, written from the specification: status lines, results, options, scores. Pure."""

import json
import re
from typing import Any, NamedTuple

# "Shortest decimals: B+3, never B+3.0".
_RESULT = re.compile(r"0|[BW]\+(?:[RTF]|(?:[1-9]\d*(?:\.\d*[1-9])?|0\.\d*[1-9])?)")
_OPTION = re.compile(r"(\S+) (int|half|bid|enum) (\S+) (\S+)")
_PLAYOUTS = re.compile(r"games=(\d+) plies=\d+ seconds=[\d.e+-]+ black=(\d+) white=(\d+) draws=(\d+)")
PHASES = ("bid", "choose", "play", "agree", "over")


class Status(NamedTuple):
    """A status line that has the form."""

    phase: str
    to_play: str
    seat: int
    ply: int
    result: str = ""
    winner: str = ""
    move: str = ""


def read_status(text: str) -> Status | str:
    """A Status, or what is wrong with the line."""
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
    result, winner = keys.get("result", ""), keys.get("winner", "")
    return Status(
        keys["phase"], keys["to_play"], int(keys["seat"]), int(keys["ply"]), result, winner, keys.get("move", "")
    )


def is_result(text: str) -> bool:
    """`B+3.5`, `W+1`, `B+`, `0`, and forfeits."""
    return _RESULT.fullmatch(text) is not None


def ends_right(status: Status) -> bool:
    """Result and winner when over, and only then."""
    if status.phase != "over":
        return not status.result and not status.winner
    return is_result(status.result) and status.winner in (("0",) if status.result == "0" else ("1", "2"))


def read_option(line: str) -> tuple[str, str, str, str] | None:
    """`name type default domain`, the default within the domain; else None."""
    match = _OPTION.fullmatch(line)
    if match is None:
        return None
    name, kind, default, domain = match.groups()
    return (name, kind, default, domain) if _within(kind, default, domain) else None


def ends_of(kind: str, domain: str) -> list[str]:
    """Values that a domain promises: each that stands alone, both ends of each range."""
    values: list[str] = []
    for part in domain.split(","):
        low, dots, high = part.partition("..")
        values += [low, high] if dots else [{"half": "6.5", "bid": "3"}.get(kind, "7")] if part == "*" else [part]
    return list(dict.fromkeys(values))


def beyond(kind: str, domain: str) -> list[str]:
    """Values that it excludes."""
    wrong = ["no-such-value"]
    if kind == "int" and "*" not in domain:
        wrong += ["1000000", "-1000000", "2.25"]
    if kind == "half":
        wrong.append("0.3")
    return wrong


def is_score(text: str, over: bool) -> bool:
    """One line of JSON: black, white with totals (numbers or null), and final."""
    value = _json(text)
    if not isinstance(value, dict) or not isinstance(value.get("final"), bool):
        return False
    sides = [value.get("black"), value.get("white")]
    if any(not isinstance(side, dict) or "total" not in side for side in sides):
        return False
    totals = [side["total"] for side in sides if isinstance(side, dict)]
    return all(total is None or isinstance(total, int | float) for total in totals) and value["final"] == over


def adds_up(text: str, games: int) -> bool:
    """The answer of ggp-playouts for so many games."""
    match = _PLAYOUTS.fullmatch(text)
    return match is not None and [int(match[1]), sum(map(int, match.groups()[1:]))] == [games, games]


def is_json(text: str) -> bool:
    return _json(text) is not None


def _json(text: str) -> Any:
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
