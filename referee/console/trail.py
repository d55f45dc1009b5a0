"""The commands that led a peer to its position, which are sent again when it is restarted. Pure."""

from protocol.grammar import parse_command
from protocol.messages import Reply

_PLAYS = frozenset(("play", "ggp-play"))
_GENMOVES = frozenset(("genmove", "ggp-genmove_analyze", "lz-genmove_analyze", "kata-genmove_analyze"))
_UNDOES = frozenset(("undo", "ggp-undo"))
_SET_UPS = frozenset(("fixed_handicap", "set_free_handicap", "place_free_handicap", "gogui-play_sequence", "loadsgf"))
CHANGING = _PLAYS | _GENMOVES | _UNDOES | _SET_UPS | {"ggp-new", "boardsize", "clear_board", "komi"}
"""Commands after which the position may be another one."""
_CLOCKS = frozenset(("time_settings", "kgs-time_settings", "kata-time_settings", "time_left", "ggp-clock"))
_SETTINGS = _CLOCKS | {"set_random_seed", "kgs-rules", "kata-set-rules", "kata-set-param"}
_MOST = 20_000  # commands


class Trail:
    """Kept short: a new game forgets the one before, and a ply that is taken back was not played."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self.whole = True  # whether these lines lead to the position; not if they were too many

    def note(self, sent: str, reply: Reply) -> None:
        """A command was answered."""
        if not reply.ok or not sent.split():
            return
        name, arguments, _ = parse_command(sent)
        line = " ".join([name, *arguments])
        if name == "ggp-new":
            self.lines = [each for each in self.lines if each.split()[0] in _SETTINGS]
            self.whole = True
        elif name in ("clear_board", "loadsgf"):
            self.lines = [each for each in self.lines if each.split()[0] not in _PLAYS | _UNDOES | _SET_UPS]
        if name in _UNDOES:
            self._take_back(name, int(arguments[0]) if arguments and arguments[0].isdecimal() else 1)
        elif name in _GENMOVES:
            if arguments and (move := _move_of(reply.text)):
                self._add(f"play {arguments[0]} {move}")
        elif name in _SETTINGS:
            self.lines = [each for each in self.lines if each.split()[:2] != [name, *arguments[:1]]]
            self._add(line)
        elif name in CHANGING:
            self._add(line)

    def _take_back(self, name: str, count: int) -> None:
        while count and self.lines and self.lines[-1].split()[0] in _PLAYS:
            self.lines.pop()
            count -= 1
        for _ in range(count):
            self._add(name)

    def _add(self, line: str) -> None:
        if len(self.lines) < _MOST:
            self.lines.append(line)
        else:
            self.whole = False


def _move_of(answer: str) -> str:
    """The move that a genmove was answered with, "" if it was none: its first word, or behind `play`."""
    lines = [line.split() for line in answer.splitlines()]
    played = [words[1] for words in lines if len(words) > 1 and words[0] == "play"]
    first = [words[0] for words in lines if words]
    move = (played or first or [""])[0]
    return "" if move.lower() in ("resign", "") else move
