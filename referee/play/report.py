"""What a series came to, for people (tables on stderr's terminal or stdout) and for programs (one JSON object)."""

from typing import Any

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
from rich.table import Table
from rich.text import Text

from protocol.drawing.scene import clean
from referee.play.run import Report
from referee.play.series import Score, Setup, Tally

_NAMED = 10  # suspect games in the line about them

_REASON = 400  # characters of why a bot was at fault


def as_json(setup: Setup, report: Report, record: str, warnings: list[str]) -> dict[str, Any]:
    """The report as plain values; scores are wins, draws, losses and points."""
    tally = report.tally
    bots = [
        {
            "name": bot.name,
            "command": bot.command,
            **_score(tally.bots[index]),
            "seat1": _score(tally.seats[index][0]),
            "seat2": _score(tally.seats[index][1]),
            "time_ms": tally.used[index],
            "faults": {what: count for (who, what), count in tally.faults.items() if who == bot.name},
            "reasons": {what: why for (who, what), why in tally.reasons.items() if who == bot.name},
        }
        for index, bot in enumerate(setup.bots)
    ]
    return {
        "game": setup.setting.game,
        "options": setup.setting.values,
        "series": setup.series,
        "seed": setup.seed,
        "time": str(setup.setting.control),
        "bots": bots,
        "black": _score(tally.colours[0]),
        "white": _score(tally.colours[1]),
        "games": tally.games,
        "void": tally.void,
        "suspect": tally.suspect,
        "suspect_games": tally.suspects,
        "plies": report.plies,
        "seconds": round(report.seconds, 6),
        "plies_per_second": round(_rate(report), 1),
        "cpu_us_per_ply": round(report.cpu / report.plies * 1e6, 2) if report.plies else 0.0,
        "worker_rss_mb": round(report.rss / 1024, 1),
        "terminations": dict(tally.terminations),
        "engine_failed": tally.faults["engine", "engine_failed"],
        "suspended": {"who": report.suspended[0], "reason": report.suspended[1]} if report.suspended else None,
        "interrupted": report.stopped,
        "record": record,
        "warnings": warnings,
    }


def progress_bar(console: Console) -> Progress:
    """The bar, with the score so far after it; drawn on a terminal only."""
    return Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("{task.fields[score]}"),
        TimeElapsedColumn(),
        console=console,
        transient=True,
    )


def score_line(setup: Setup, report: Report) -> str:
    """`random 3 - 5 greedy`, void games after it."""
    one, two = setup.bots
    (left, right), void = report.tally.bots, report.tally.void
    text = f"{one.name} {left.points:g} - {right.points:g} {two.name}"
    return text + (f", {void} void" if void else "")


def print_report(console: Console, setup: Setup, report: Report, record: str) -> None:
    """The final table, then one line each for what else there is to say."""
    tally = report.tally
    table = Table(title=f"{setup.setting.new_game.removeprefix('ggp-new ')}, time {setup.setting.control}")
    table.add_column("bot")
    for heading in ("score", "+", "=", "-", "seat 1", "seat 2", "time used"):
        table.add_column(heading, justify="right")
    for index, bot in enumerate(setup.bots):
        score = tally.bots[index]
        table.add_row(
            Text(bot.name),
            f"{score.points:g}/{score.games}",
            *(str(number) for number in (score.wins, score.draws, score.losses)),
            *(f"{seat.points:g}/{seat.games}" for seat in tally.seats[index]),
            _duration(tally.used[index] / 1000),
        )
    console.print(table)
    black, white = tally.colours
    _say(console, f"black {black.points:g}, white {white.points:g} of {tally.games} games")
    ends = ", ".join(f"{what} {count}" for what, count in tally.terminations.most_common())
    _say(console, f"ended by: {ends or 'nothing'}")
    if report.plies:
        _say(console, f"{report.plies} plies in {_duration(report.seconds)}, {_rate(report):,.0f} plies/s")
    for (who, what), count in sorted(tally.faults.items()):
        why = clean(tally.reasons.get((who, what), "")).strip()
        _say(console, f"fault: {clean(who)} {what} {count}" + (f": {why[:_REASON]}" if why else ""))
    if tally.suspect:
        _say(console, suspects(tally))
    if record:
        _say(console, f"record: {record}")


def suspects(tally: Tally) -> str:
    """Which games are suspect, and what follows from it."""
    named = ", ".join(tally.suspects[:_NAMED]) + (f" and {tally.suspect - _NAMED} more" * (tally.suspect > _NAMED))
    lost = f"; {tally.late} of them ended by time, which may not be the bot's fault" if tally.late else ""
    return (
        f"suspect: {tally.suspect} games in which this machine kept an answer waiting: {named}; they count{lost}; "
        "fewer --jobs or a larger --margin make them fewer"
    )


def _say(console: Console, text: str) -> None:
    console.print(text, markup=False, highlight=False, soft_wrap=True)


def _score(score: Score) -> dict[str, float]:
    return {"wins": score.wins, "draws": score.draws, "losses": score.losses, "points": score.points}


def _rate(report: Report) -> float:
    return report.plies / report.seconds if report.seconds else 0.0


def _duration(seconds: float) -> str:
    if seconds < 60:
        return f"{seconds:.1f} s"
    minutes, rest = divmod(round(seconds), 60)
    return f"{minutes // 60}:{minutes % 60:02d}:{rest:02d}" if minutes >= 60 else f"{minutes}:{rest:02d} min"
