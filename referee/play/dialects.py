"""The two dialects of bots, native (any game of the protocol) and plain GTP (go), and who speaks which.

What they have in common is in player.py.
"""

import re

from protocol.channel import PEER_FAULTS
from protocol.messages import Reply
from protocol.records import Party
from referee.config import Budgets, Setting
from referee.play import gtp_clock
from referee.play.clock import Clock, ggp_clock
from referee.play.handicap import fixed_handicap
from referee.play.launch import LAST_WORDS, Peer
from referee.play.outcome import CannotStart
from referee.play.player import Player

RULES_OF_KATAGO, RULES_OF_KGS = "kata-set-rules", "kgs-rules"
FIXED, FREE = "fixed_handicap", "set_free_handicap"
_LONGEST = 200  # characters of a bot's name and version, which stand in every record
_NEEDED = ("play", "genmove")


async def meet(peer: Peer, party: Party, budgets: Budgets) -> Player:
    """Ask a bot that has just started who it is; the Player that speaks its dialect. Raises CannotStart."""
    channel = peer.channel
    deadline = channel.now() + budgets.start
    try:
        await channel.probe_ids(deadline)
        program = (await channel.ask("name", deadline)).text
        version = (await channel.ask("version", deadline)).text
        commands = await channel.list_commands(deadline)
        systems = gtp_clock.SYSTEMS[gtp_clock.KATA]
        if "ggp-new" not in commands and gtp_clock.LIST in commands:
            listed = await channel.ask(gtp_clock.LIST, deadline)
            systems = gtp_clock.read_systems(listed.text) if listed.ok else systems
    except PEER_FAULTS as error:
        exited, stderr = peer.exited(LAST_WORDS), peer.stderr_tail().strip().splitlines()
        parts = [str(error), exited, *stderr[-1:]]
        raise CannotStart(party.name, f"does not start: {'; '.join(part for part in parts if part)}") from None
    missing = [command for command in _NEEDED if command not in commands]
    if missing:
        raise CannotStart(party.name, f"lists no {' and no '.join(missing)}: not a bot")
    program, version = program[:_LONGEST], version[:_LONGEST]
    known = Party(name=party.name, program=program, version=version, command=party.command, hash=party.hash)
    if "ggp-new" in commands:
        return NativePlayer(peer, known, commands, budgets)
    return PlainPlayer(peer, known, commands, budgets, systems)


class NativePlayer(Player):
    """A bot that lists `ggp-new`: it plays any game of the protocol, and knows its phases."""

    def __init__(self, peer: Peer, party: Party, commands: frozenset[str], budgets: Budgets) -> None:
        super().__init__(peer, party, commands, budgets)
        self._wants_clock = "ggp-clock" in commands
        if "ggp-genmove_analyze" in commands:
            self.analyses, self._genmove = True, "ggp-genmove_analyze"

    @property
    def agrees_by_genmove(self) -> bool:
        return True

    def _lines_of_a_new_game(self, setting: Setting) -> dict[str, bool]:
        return {setting.new_game: True}

    def _clock_line(self, colour: str, mine: Clock, other: Clock) -> str:
        black, white = (mine, other) if colour == "black" else (other, mine)
        return ggp_clock(black, white, mine)


class PlainPlayer(Player):
    """A bot of plain GTP: it plays go, under the rules that it was started with if it cannot be told.

    `systems`: the time systems of its kata-time_settings, if it lists that.
    """

    def __init__(
        self, peer: Peer, party: Party, commands: frozenset[str], budgets: Budgets, systems: frozenset[str]
    ) -> None:
        super().__init__(peer, party, commands, budgets)
        self._wants_clock = "time_left" in commands
        self._systems = systems
        self._handicap: frozenset[str] = frozenset()  # the points that its fixed_handicap has to answer

    def tell(self, colour: str, move: str) -> None:
        """GTP has no command for a list of dead stones, nor needs one: play goes on or the game is over."""
        if not move.startswith("dead:"):
            super().tell(colour, move)

    @property
    def agrees_by_genmove(self) -> bool:
        return False

    def _lines_of_a_new_game(self, setting: Setting) -> dict[str, bool]:
        values = setting.values
        if setting.game != "go":
            raise CannotStart(self.name, f"lists no ggp-new, so it can play go only, not {setting.game}")
        handicap = self._points(values["size"], values.get("handicap", "0"))
        self._handicap = frozenset(handicap)
        self._told = gtp_clock.tell(setting.control, self._commands, self._systems)
        needed = [f"boardsize {values['size']}", "clear_board", f"komi {values['komi']}"]
        needed += _stones(handicap, self._commands)
        rules = _rules(values.get("ko", "positional"), self._commands)
        lines = {rules: False, **dict.fromkeys(needed, True), self._told.settings: False}
        if "komi" not in self.commands:  # it plays without knowing it; the engine counts
            lines[f"komi {values['komi']}"] = False
        return {line: required for line, required in lines.items() if line}

    def _points(self, size: str, stones: str) -> list[str]:
        """The handicap stones; options are an engine's words, which need not be ours. Raises CannotStart."""
        if stones == "0":
            return []
        if re.fullmatch("[2-9]", stones) and re.fullmatch("[7-9]|1[0-9]|2[0-5]", size):
            return fixed_handicap(int(size), int(stones))
        raise CannotStart(self.name, f"lists no ggp-new, and GTP has no points for handicap={stones} on size={size}")

    def _objection(self, line: str, reply: Reply) -> str:
        """GTP fixes the points of fixed_handicap; a bot with others would play another game."""
        placed = frozenset(reply.text.upper().split())
        if line.startswith(FIXED) and placed and placed != self._handicap:
            return f"answers `{line}` with {reply.text[:200]}, which are not {' '.join(sorted(self._handicap))}"
        return ""

    def _clock_line(self, colour: str, mine: Clock, other: Clock) -> str:
        return self._told.time_left(colour, mine)


def _stones(points: list[str], listed: frozenset[str]) -> list[str]:
    """The commands that place these handicap stones; GTP lets one side play several times in a row."""
    if not points:
        return []
    if FIXED in listed:
        return [f"{FIXED} {len(points)}"]
    return [f"{FREE} {' '.join(points)}"] if FREE in listed else [f"play black {point}" for point in points]


def _rules(ko: str, listed: frozenset[str]) -> str:
    """The command that tells the rules of our go, as exactly as the bot's `listed` commands can say them; "" if none.

    Area scoring without suicide or bonus for handicap. KGS's Chinese rules have positional superko, which forbids
    whatever another ko rule does; of handicaps they think otherwise, and nothing that KGS knows is nearer.
    """
    if RULES_OF_KATAGO in listed:
        said = f'"ko":"{ko.upper()}","scoring":"AREA","tax":"NONE","suicide":false,"hasButton":false'
        return f'{RULES_OF_KATAGO} {{{said},"whiteHandicapBonus":"0"}}'
    return f"{RULES_OF_KGS} chinese" if RULES_OF_KGS in listed else ""
