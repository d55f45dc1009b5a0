"""A bot that judges matches instead of playing, and the check that bots report what adjudication needs."""

from collections.abc import Sequence
from dataclasses import replace

from ggp.referee.match.adjudication import AdjudicationRule, Adjudicator, missing
from ggp.referee.match.analysis import read_analysis
from ggp.referee.match.bot_spec import BotSpec, is_human, knowing
from ggp.referee.match.clock import NO_CLOCK, Clock, TimeControl
from ggp.referee.match.outcome import BotFault, CannotStart, refused_genmove
from ggp.referee.match.player import Player, start_bot
from ggp.referee.match.series import SeriesConfig
from ggp.referee.match.setting import Setting, Timeouts

JUDGE = "adjudicator"  # its name in messages
_MOST = 60_000  # most ms for an evaluation
_TRIAL = TimeControl.parse("1/move")


class MatchJudge:
    """A bot that is asked to evaluate the positions of one match, with moves that are not played."""

    def __init__(self, player: Player, rules: tuple[AdjudicationRule, ...], setting: Setting) -> None:
        self.player = player
        self._adjudicator = Adjudicator(rules, f"the adjudicator {player.party.command}")
        self._setting = replace(setting, control=NO_CLOCK)
        self._from = min(rule.after for rule in rules)

    async def see(self, ply: int, seat: int, colour: str, moves: Sequence[tuple[str, str]]) -> tuple[int, str] | None:
        """Evaluate a position, and end the match if a rule applies.

        Args:
            ply: The number of the last ply.
            seat: The seat to move.
            colour: The colour to move.
            moves: The colour and move of each ply so far.

        Returns:
            The winner (0 for a draw) and the reason, or None if the match continues.

        Raises:
            BotFault: The judge crashes, is too late, or refuses to answer.
            CannotStart: The judge refuses the game.
        """
        if ply <= self._from:
            return None
        clock = NO_CLOCK.clock(min(_MOST, self.player.move_limit))
        return self._adjudicator.see(ply, seat, await _evaluate(self.player, self._setting, moves, colour, clock))


async def check_reports(setup: SeriesConfig, bots: Sequence[BotSpec]) -> None:
    """Check that the judge, or every bot if there is no judge, reports what the rules of a series need.

    Each bot is started, asked for a move in the first position, and ended.

    Raises:
        CannotStart: A bot does not start, or does not report it.
    """
    for bot in [setup.judge] if setup.judge else bots if setup.rules else ():
        if is_human(bot):
            raise CannotStart(bot.name, "a human reports no win rate: remove --resign and --draw")
        await check_report(knowing(bot, setup.engine), setup.setting, setup.rules, setup.budgets)


async def check_report(spec: BotSpec, setting: Setting, rules: tuple[AdjudicationRule, ...], budgets: Timeouts) -> None:
    """Check that a bot reports the measures that these rules need.

    Raises:
        CannotStart: The bot does not start, or does not report them.
    """
    player = await start_bot(spec, budgets)
    needed = " and ".join(dict.fromkeys(rule.measure for rule in rules))
    try:
        if not player.analyses:
            raise CannotStart(spec.name, f"lists no ggp-genmove_analyze, so it reports no {needed}: remove the rules")
        colour = "white" if setting.values.get("handicap", "0") != "0" else "black"
        setting = replace(setting, control=_TRIAL)
        said = read_analysis(await _evaluate(player, setting, (), colour, _TRIAL.clock()))
    except BotFault as fault:
        raise CannotStart(spec.name, f"reports no {needed}: {fault}") from None
    finally:
        await player.peer.stop()
    if lacks := missing(rules, said):
        raise CannotStart(
            spec.name, f"reports no {lacks} with its moves: use a measure that it reports, or remove the rules"
        )


async def _evaluate(
    player: Player, setting: Setting, moves: Sequence[tuple[str, str]], colour: str, clock: Clock
) -> str:
    """Return a bot's analysis of its move after these moves.

    Every evaluation begins a new game, because few bots can take back a move.

    Raises:
        BotFault: The bot crashes, is too late, or refuses to answer.
        CannotStart: The bot refuses the game.
    """
    await player.new_game(setting)
    for side, move in moves:
        player.tell(side, move)
    reply, _ = await player.genmove(colour, clock, clock)
    if not reply.ok:
        raise refused_genmove(reply.text)
    return reply.text.partition("\n")[2]
