"""The time that each side has used for its moves in this dialogue, and what it was told that it has left."""

from referee.console.visible import duration

_NEW = ("ggp-new", "clear_board", "boardsize")
_COLOURS = {"b": "black", "black": "black", "w": "white", "white": "white"}


class Clocks:
    """Hears every command that was answered with success."""

    def __init__(self) -> None:
        self._used: dict[str, float] = {}
        self._left: dict[str, float] = {}

    def hear(self, line: str, seconds: float) -> None:
        """`line` as it was sent, with or without an id; `seconds` until its answer."""
        words = line.split()
        if len(words) > 1 and words[0].isdigit():
            words = words[1:]
        name, arguments = words[0], words[1:]
        if name in _NEW:
            self._used.clear()
            self._left.clear()
        elif name in ("genmove", "ggp-genmove_analyze") and arguments:
            colour = _COLOURS.get(arguments[0].lower(), "")
            if colour:
                self._used[colour] = self._used.get(colour, 0.0) + seconds
        elif name == "time_left" and len(arguments) > 1:
            self._set(_COLOURS.get(arguments[0].lower(), ""), arguments[1], 1.0)
        elif name == "ggp-clock":
            for word in arguments:
                key, _, value = word.partition("=")
                self._set(_COLOURS.get(key, ""), value, 0.001)

    def lines(self) -> list[str]:
        """A line about each side of which something is known."""
        out = []
        for colour in ("black", "white"):
            parts = []
            if colour in self._used:
                parts.append(f"{duration(self._used[colour])} used")
            if colour in self._left:
                parts.append(f"{duration(self._left[colour])} left when it was told")
            if parts:
                out.append(f"{colour}: {', '.join(parts)}")
        return out

    def _set(self, colour: str, text: str, unit: float) -> None:
        if colour and text.isascii() and text.isdigit() and len(text) < 12:
            self._left[colour] = int(text) * unit
