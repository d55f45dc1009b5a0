"""The two dialects of bots, native (any game of the protocol) and plain GTP (go), and who speaks which.

What they have in common is in player.py.
"""

from protocol.channel import PEER_FAULTS
from protocol.records import Party
from referee.config import Budgets, Setting
from referee.play import gtp_clock
from referee.play.clock import Clock, ggp_clock
from referee.play.launch import LAST_WORDS, Peer
from referee.play.outcome import CannotStart
from referee.play.player import Player

RULES_OF_KATAGO, RULES_OF_KGS = "kata-set-rules", "kgs-rules"
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
        self._told = gtp_clock.tell(setting.control, self._commands, self._systems)
        needed = [f"boardsize {values['size']}", "clear_board", f"komi {values['komi']}"]
        if values.get("handicap", "0") != "0":
            needed.append(f"fixed_handicap {values['handicap']}")
        rules = _rules(values.get("ko", "positional"), self._commands)
        lines = {rules: False, **dict.fromkeys(needed, True), self._told.settings: False}
        return {line: required for line, required in lines.items() if line}

    def _clock_line(self, colour: str, mine: Clock, other: Clock) -> str:
        return self._told.time_left(colour, mine)


def _rules(ko: str, listed: frozenset[str]) -> str:
    """The command that tells the rules of our go, as exactly as the bot's `listed` commands can say them; "" if none.

    Area scoring without suicide or bonus for handicap. KGS's Chinese rules have positional superko, which forbids
    whatever another ko rule does; of handicaps they think otherwise, and nothing that KGS knows is nearer.
    """
    if RULES_OF_KATAGO in listed:
        said = f'"ko":"{ko.upper()}","scoring":"AREA","tax":"NONE","suicide":false,"hasButton":false'
        return f'{RULES_OF_KATAGO} {{{said},"whiteHandicapBonus":"0"}}'
    return f"{RULES_OF_KGS} chinese" if RULES_OF_KGS in listed else ""
