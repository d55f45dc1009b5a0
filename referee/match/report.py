"""Reports of `ggp match`, during the run and at its end: score, effect, test, times and faults.

Two bots are compared by their pairs of games; more than two are rated together.
"""

import shlex
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import asdict, replace
from typing import Any

from ggp.protocol.printed import counted
from ggp.referee.command_line import BAD_USAGE
from ggp.referee.match.bot_spec import BotSpec, is_built_in, is_human
from ggp.referee.match.interference import InterferenceTable
from ggp.referee.match.pool import PATIENCE
from ggp.referee.match.process import safe_name
from ggp.referee.match.series import SeriesScore, SeriesTally
from ggp.referee.match.series_run import SeriesReport, SeriesRun
from ggp.referee.ratings.repeats import ADVICE
from ggp.referee.ratings.scale import (
    MEANS,
    effect_lines,
    groups_line,
    half,
    in_elo,
    too_few_line,
    with_enough,
    zero_line,
)
from ggp.referee.ratings.sequential import in_words
from ggp.referee.ratings.sprt import Effect, Verdict, effect
from ggp.referee.ratings.standings import Standing, groups_of
from ggp.referee.terminal import LinePart, TextTable, bar_part, escape_unprintable, say, show, span

_REASON = 400  # characters of the reason for a fault


# -- the numbers ------------------------------------------------------------------------------------------------------


def effect_of(tally: SeriesTally) -> Effect:
    """Estimate how much stronger the first bot is, from pairs of games, or from games while no pair is complete."""
    if any(tally.penta):
        return effect(tally.penta_observed)
    seat1, seat2 = tally.observed(0), tally.observed(1)
    return effect([seat1.losses + seat2.wins, seat1.draws + seat2.draws, seat1.wins + seat2.losses])


def seat1_effect(tally: SeriesTally) -> Effect:
    """Estimate the advantage of seat 1 from pairs of games, in which the strength of the bots cancels out."""
    return effect(tally.penta_seat1_observed)


def verdict_of(report: SeriesReport) -> Verdict | None:
    """Return the verdict of the sequential test, inconclusive if the games ran out; None without a test."""
    test = report.tally.test
    return None if test is None else test.verdict(over=not (report.open_runs or report.stopped or report.failed))


def bots_of(report: SeriesReport) -> list[BotSpec]:
    """Return all bots, in the order of the command line."""
    return list(dict.fromkeys(bot for run in report.runs for bot in run.setup.bots))


class BotTotals:
    """The totals of one bot over all its series: score, score by seat, ms used, longest move."""

    def __init__(self, bot: BotSpec, runs: Sequence[SeriesRun]) -> None:
        self.score, self.seats = SeriesScore(), (SeriesScore(), SeriesScore())
        self.used = self.longest = 0
        for run in runs:
            if bot in run.setup.bots:
                index, tally = run.setup.bots.index(bot), run.tally
                self.score += tally.bots[index]
                self.seats = self.seats[0] + tally.seats[index][0], self.seats[1] + tally.seats[index][1]
                self.used += tally.used[index]
                self.longest = max(self.longest, tally.longest[index])


def _faults(report: SeriesReport) -> tuple[Counter[tuple[str, str]], dict[tuple[str, str], str]]:
    """Count the faults by bot (or "engine") and kind, and return the last reason for each."""
    counts, reasons = Counter[tuple[str, str]](), dict[tuple[str, str], str]()
    for run in report.runs:
        counts.update(run.tally.faults)
        reasons.update(run.tally.reasons)
    for fault in _losses(report).faults():
        counts[fault.who, fault.kind] += fault.games
        reasons[fault.who, fault.kind] = fault.reason
    return counts, reasons


def _losses(report: SeriesReport) -> InterferenceTable:
    """Return what each bot lost to interrupts and slow writes, by opponent."""
    table = InterferenceTable()
    for run in report.runs:
        for index, bot in enumerate(run.setup.bots):
            table.add(bot.name, run.setup.bots[1 - index].name, run.tally.losses[index])
    return table


def rate_bots(report: SeriesReport) -> dict[str, Standing]:
    """Return the standings by name, around a mean of 0, best first; {} if there is nothing to rate."""
    from ggp.referee.ratings.bradley_terry import Counts, CountsError  # numpy: a series of two bots does without
    from ggp.referee.ratings.ratings import rate

    rows = _rows(report)
    if not rows:
        return {}
    try:
        rated = rate(Counts.of(rows, names=[bot.name for bot in bots_of(report)]))
    except CountsError:
        return {}
    enough = with_enough(rows)
    return {line.name: replace(line, enough=line.name in enough) for line in rated.standings()}


def _rows(report: SeriesReport) -> list[tuple[str, str, float, float, float]]:
    """Return rows of two names and the first's wins, draws and losses, without games that repeat others."""
    rows = list[tuple[str, str, float, float, float]]()
    for run in report.runs:
        for bot in (0, 1):
            score = run.tally.observed(bot)
            if score.games:
                first, second = (run.setup.bots[seat].name for seat in (bot, 1 - bot))
                rows.append((first, second, score.wins, score.draws, score.losses))
    return rows


# -- JSON -------------------------------------------------------------------------------------------------------------


def as_json(report: SeriesReport, record: str, warnings: Sequence[str]) -> dict[str, Any]:
    """Return the report as plain values. Scores are wins, draws, losses and points.

    For two bots it has the effect, the pairs and the test, from the first bot's point of view. For more it has each
    bot's `elo` and `se`, `enough` (its games suffice for these), and all pairings under `pairs`.
    """
    setup, faults = report.runs[0].setup, _faults(report)[0]
    tallies = [run.tally for run in report.runs]
    colours = [sum((tally.colours[colour] for tally in tallies), SeriesScore()) for colour in (0, 1)]
    ends = Counter[str]()
    for tally in tallies:
        ends.update(tally.terminations)
    several = len(report.runs) > 1
    rated = rate_bots(report) if several else {}
    suspended = [{"who": who, "reason": reason} for who, reason in report.suspended.items()]
    return {
        "game": setup.setting.game,
        "options": setup.setting.values,
        "series": setup.series,
        "seed": setup.seed,
        "time": str(setup.setting.control),
        "bots": [_bot_json(bot, report, rated) for bot in bots_of(report)],
        "black": _score_json(colours[0]),
        "white": _score_json(colours[1]),
        "games": sum(tally.games for tally in tallies),
        "distinct": sum(tally.lines.distinct for tally in tallies),
        "repeated": sum(tally.lines.repeated for tally in tallies),
        **({"pairs": [_pair_json(run) for run in report.runs]} if several else _effect_json(report)),
        "void": sum(tally.void for tally in tallies),
        "suspect": sum(tally.suspect for tally in tallies),
        "suspect_games": [key for tally in tallies for key in tally.suspects],
        "plies": report.plies,
        "seconds": round(report.seconds, 6),
        "plies_per_second": round(_rate(report), 1),
        "cpu_us_per_ply": round(report.cpu / report.plies * 1e6, 2) if report.plies else 0.0,
        "worker_rss_mb": round(report.rss / 1024, 1),
        "terminations": dict(ends),
        "engine_failed": faults["engine", "engine_failed"],
        "suspended": suspended[0] if suspended else None,
        "interrupted": report.stopped,
        "record": record,
        "warnings": list(warnings),
    }


def _bot_json(bot: BotSpec, report: SeriesReport, rated: Mapping[str, Standing]) -> dict[str, Any]:
    totals, (faults, reasons) = BotTotals(bot, report.runs), _faults(report)
    line = rated.get(bot.name)
    return {
        "name": bot.name,
        "command": bot.command,
        **({"time": str(bot.control)} if bot.control else {}),
        **_score_json(totals.score),
        "seat1": _score_json(totals.seats[0]),
        "seat2": _score_json(totals.seats[1]),
        **(
            {
                "elo": line and line.elo,
                "se": line and line.se,
                "enough": line is not None and line.enough,
                "group": line.group if line else 0,
            }
            if len(report.runs) > 1
            else {}
        ),
        "time_ms": totals.used,
        "longest_ms": totals.longest,
        "faults": {what: count for (who, what), count in faults.items() if who == bot.name},
        "reasons": {what: why for (who, what), why in reasons.items() if who == bot.name},
    }


def _pair_json(run: SeriesRun) -> dict[str, Any]:
    one, other = (bot.name for bot in run.setup.bots)
    score = run.tally.bots[0]
    return {"a": one, "b": other, "series": run.setup.series, "games": score.games, **_score_json(score)} | {
        "penta": run.tally.penta,
        **asdict(effect_of(run.tally)),
        "void": run.tally.void,
    }


def _effect_json(report: SeriesReport) -> dict[str, Any]:
    tally, verdict = report.tally, verdict_of(report)
    found: dict[str, Any] = {
        "penta": tally.penta,
        **asdict(effect_of(tally)),
        "seat1": {"penta": tally.penta_seat1, **asdict(seat1_effect(tally))},
    }
    if verdict is not None and tally.test is not None:
        tested = {name: value for name, value in asdict(verdict).items() if name not in asdict(effect_of(tally))}
        found["test"] = {**asdict(tally.test.hypotheses), "penta": tally.test.penta, **tested}
    return found


def _score_json(score: SeriesScore) -> dict[str, float]:
    return {"wins": score.wins, "draws": score.draws, "losses": score.losses, "points": score.points}


# -- text -------------------------------------------------------------------------------------------------------------


def score_line(report: SeriesReport) -> str:
    """Return `random 3 - 5 greedy` and the number of void games; for more than two bots the points of each."""
    words = [_points(report)]
    return ", ".join([*words, *_void(report)])


def _void(report: SeriesReport) -> list[str]:
    void = sum(run.tally.void for run in report.runs)
    return [f"{void} void"] if void else []


def _points(report: SeriesReport) -> str:
    if len(report.runs) > 1:
        return ", ".join(f"{bot.name} {BotTotals(bot, report.runs).score.points:g}" for bot in bots_of(report))
    (one, two), (left, right) = report.runs[0].setup.bots, report.tally.bots
    return f"{one.name} {left.points:g} - {right.points:g} {two.name}"


def status_line(report: SeriesReport) -> str:
    """Return the score and the estimates so far."""
    return ", ".join([score_line(report), *filter(None, _found_so_far(report))])


def _found_so_far(report: SeriesReport) -> tuple[str, str, str]:
    """Return the Elo, the likelihood of superiority and the state of the test; "" for each that is missing."""
    if len(report.runs) > 1:
        return "", "", ""
    test, found = report.tally.test, effect_of(report.tally)
    elo = in_elo(found, sign="+")
    return (
        f"Elo {elo}" if elo else "",
        f"LOS {found.los:.1%}" if found.los is not None and test is None else "",
        f"LLR {test.llr:.2f} ({test.hypotheses.lower:.2f}, {test.hypotheses.upper:.2f})" if test else "",
    )


def live_parts(report: SeriesReport, rate: str = "", left: str = "") -> list[LinePart]:
    """Return the parts of the live line.

    Its bar shows the share of games played, or the position of the test between its bounds.
    """
    done, total = report.done, sum(run.setup.games for run in report.runs)
    share = done / total if total else 1.0
    if test := report.tally.test if len(report.runs) == 1 else None:
        bounds = test.hypotheses
        share = (test.llr - bounds.lower) / (bounds.upper - bounds.lower)
    elo, los, llr = _found_so_far(report)
    return [
        LinePart(report.runs[0].setup.setting.game, 9),
        bar_part(share, 1),
        LinePart(llr, 2),
        LinePart(f"{done}/{total}", 0),
        LinePart(_points(report), 3, cut=True),
        LinePart(" ".join(_void(report)), 6),
        LinePart(elo, 4),
        LinePart(los, 8),
        LinePart(rate, 7),
        LinePart(left, 5),
    ]


def effect_of_match(report: SeriesReport) -> list[str]:
    """Describe what a match of two bots says about their strength, one line per figure."""
    tally, bots = report.tally, report.runs[0].setup.bots
    found = effect_of(tally)
    lines = effect_lines(found, 1, 8)
    if found.enough:
        by = f"by {sum(tally.penta_observed)} pairs" if any(tally.penta) else "by games"
        lines[0] += f", logistic, of {bots[0].name}, {by}"
    elif any(map(is_human, bots)):
        lines = []  # nobody plays by hand to measure a bot
    if any(tally.penta):
        lines.append("pairs   " + ", ".join(f"{mean} {count}" for mean, count in zip(MEANS, tally.penta, strict=True)))
    if games := tally.games:
        points, elo = sum(seat.points for seat, _ in tally.seats), in_elo(seat1_effect(tally), 1)
        lines.append(f"seat 1  {points:g}/{games}, {points / games:.1%}" + (f": Elo {elo} (95 %)" if elo else ""))
    if (verdict := verdict_of(report)) and tally.test:
        hypotheses = tally.test.hypotheses
        asked = f"{hypotheses.model} Elo {hypotheses.elo0:g} against {hypotheses.elo1:g}"
        lines.append(f"test    {in_words(verdict)} ({asked})")
    return lines


def print_report(report: SeriesReport, record: str) -> None:
    """Print the final table, and the lines below it."""
    setup = report.runs[0].setup
    title = f"{setup.setting.new_game.removeprefix('ggp-new ')}, time {setup.setting.control}"
    title += "".join(f", {bot.name} {bot.control}" for bot in bots_of(report) if bot.control)
    if len(report.runs) > 1:
        _show_standings(report, title)
    else:
        _show_two(report, title)
    say(*map(escape_unprintable, _closing_lines(report, record)))


def _show_two(report: SeriesReport, title: str) -> None:
    sheet = _bot_table(())
    for bot in bots_of(report):
        sheet.add(bot.name, *_cells(bot, report))
    show(sheet, title)
    say(*map(escape_unprintable, effect_of_match(report)))


def _show_standings(report: SeriesReport, title: str) -> None:
    rated = rate_bots(report)
    enough = any(line.enough for line in rated.values())
    groups = groups_of(list(rated.values())) if enough else []
    heads = ["Elo", "±"] if enough else []
    sheet = _bot_table((*["group"] * bool(groups), *heads))
    order = {name: place for place, name in enumerate(rated)}
    for bot in sorted(bots_of(report), key=lambda bot: order.get(bot.name, len(order))):
        line = rated.get(bot.name)
        rating = [f"{line.elo:z.1f}", half(line.se)] if line and line.enough else [""] * len(heads)
        sheet.add(bot.name, *[line.group if line else ""] * bool(groups), *rating, *_cells(bot, report))
    show(sheet, title)
    if groups:
        say(escape_unprintable(groups_line(groups)))
    if few := too_few_line([line.name for line in rated.values() if not line.enough]):
        say(escape_unprintable(few))
    if enough:
        say(zero_line({}, grouped=bool(groups)))
    say(*map(escape_unprintable, _meetings(report)))
    if enough:
        say("the table has Bradley-Terry Elo (model davidson)")


def _meetings(report: SeriesReport) -> Iterator[str]:
    for run in report.runs:
        (one, two), (left, right) = run.setup.bots, run.tally.bots
        elo = in_elo(effect_of(run.tally), 1, "+")
        yield f"{one.name} {left.points:g} - {right.points:g} {two.name}" + (
            f": logistic Elo {elo} (95 %)" if elo else ""
        )


def _bot_table(more: tuple[str, ...]) -> TextTable:
    heads = ("bot", *more, "score", "+", "=", "-", "seat 1", "seat 2", "time used", "longest move")
    return TextTable(heads, frozenset({"bot"}), spare=(("longest move",), ("seat 1", "seat 2"), ("time used",)))


def _cells(bot: BotSpec, report: SeriesReport) -> list[str]:
    totals = BotTotals(bot, report.runs)
    score = totals.score
    return [
        f"{score.points:g}/{score.games}",
        *(str(number) for number in (score.wins, score.draws, score.losses)),
        *(f"{seat.points:g}/{seat.games}" for seat in totals.seats),
        span(totals.used / 1000),
        span(totals.longest / 1000) if totals.longest >= 1000 else f"{totals.longest} ms",
    ]


def _closing_lines(report: SeriesReport, record: str) -> Iterator[str]:
    tallies = [run.tally for run in report.runs]
    games = sum(tally.games for tally in tallies)
    black, white = (sum(tally.colours[colour].points for tally in tallies) for colour in (0, 1))
    yield f"black {black:g}, white {white:g} of {counted(games, 'game')}"
    ends = sum((tally.terminations for tally in tallies), Counter[str]())
    yield f"ended by: {', '.join(f'{what} {count}' for what, count in ends.most_common()) or 'nothing'}"
    distinct, repeated = (sum(getattr(tally.lines, what) for tally in tallies) for what in ("distinct", "repeated"))
    if distinct < games:
        yield f"{distinct} of {games} games are distinct" + (f": {ADVICE}" if repeated else "")
    if record and len(tallies) == 1 and effect_of(tallies[0]).enough:
        yield f"for Bradley-Terry Elo of these games: ggp rate {record}"
    if report.plies:
        yield f"{counted(report.plies, 'ply', 'plies')} in {span(report.seconds)}, {_rate(report):,.0f} plies/s"
    faults, reasons = _faults(report)
    places = {fault: key for tally in tallies for fault, key in tally.places.items()}
    for (who, what), count in sorted(faults.items()):
        why = escape_unprintable(reasons.get((who, what), "")).strip()
        yield f"fault: {who} {what} {count}" + (f": {why[:_REASON]}" if why else "")
        if record and (place := places.get((who, what))):  # a fault seen only over many games has no place
            yield f"  dialogue and stderr: ggp show {shlex.quote(f'{record}#{place}')}"
    if faults and not record:
        yield f"  {stderr_kept(report, {who for who, _ in faults})}"
    for bot, ms in _losses(report).taken().items():
        yield f"stolen time: interrupts took {ms} ms from {bot} (the machine or its opponent); they were not charged"
    yield from _skipped_lines(report)
    if any(tally.suspect for tally in tallies):
        yield suspects(tallies)
    if record:
        yield f"record: {record}"


def _skipped_lines(report: SeriesReport) -> Iterator[str]:
    """Yield a line for each bot with skipped output. Output for people belongs on stderr."""
    counts, firsts = Counter[str](), dict[str, str]()
    for run in report.runs:
        for index, bot in enumerate(run.setup.bots):
            counts[bot.name] += run.tally.skipped[index]
            if first := run.tally.first_skipped[index]:
                firsts.setdefault(bot.name, first)
    for name, count in counts.items():
        if count:
            noun = "is not an answer" if count == 1 else "are not answers"
            first = f" (the first: {escape_unprintable(firsts[name])[:_REASON]})" if name in firsts else ""
            yield f"skipped {counted(count, 'line')} of {name} that {noun}{first}"


def why_incomplete(report: SeriesReport) -> Iterator[str]:
    """Yield lines that say what was suspended, failed or was stopped, and what to do."""
    for who, reason in report.suspended.items():
        yield f"{who} is suspended: {reason}"
    if told := {bot.name for bot in bots_of(report)} & report.suspended.keys():
        yield stderr_kept(report, told)
    if failed := sum(run.tally.faults["engine", "engine_failed"] for run in report.runs):
        yield f"THE ENGINE FAILED in {counted(failed, 'match', 'matches')}, which count as void: see the record"
    if report.gave_up:
        yield f"{report.waits}; no process could be started for {PATIENCE:.0f} s"
    if report.gone:
        yield report.failed
    elif report.failed:
        yield f"cannot write the record: {report.failed}; free some space and repeat the command"
    if report.deaths:
        recorded = report.runs[0].setup.record
        how = "repeat the command to resume" if recorded else "use --record FILE to make the match resumable"
        who = f"worker processes died {report.deaths} times in a row" if report.deaths > 1 else "a worker process died"
        yield f"{who}; {how}"
    if report.stopped:
        yield "stopped; finished matches are kept"


def exit_status(report: SeriesReport) -> int:
    """Return the exit status of `ggp match`."""
    if report.stopped:
        return 128 + report.stopped
    if report.suspended and not any(run.tally.terminations for run in report.runs):
        bots = {bot.name: bot for run in report.runs for bot in run.setup.bots}
        for who, reason in report.suspended.items():
            if who in bots and is_built_in(bots[who]) and f"exit status {BAD_USAGE}" in reason:
                return BAD_USAGE  # an unknown built-in bot or option
    void = any(run.tally.void for run in report.runs)
    return 1 if void or report.suspended or report.deaths or report.failed or report.gave_up else 0


def stderr_kept(report: SeriesReport, names: Collection[str]) -> str:
    """Return where the tracebacks of these bots are kept, or how to keep them."""
    folder = report.runs[0].setup.extras.stderr_folder
    if folder:
        return "stderr: " + ", ".join(f"{folder}/{safe_name(name)}.log" for name in sorted(names))
    return "to keep the whole traceback, repeat with --log-stderr DIR, or with --record FILE for faults in a game"


def suspects(tallies: Sequence[SeriesTally]) -> str:
    """Describe how many games are suspect, and what to do about it."""
    total = sum(tally.suspect for tally in tallies)
    late = sum(tally.late for tally in tallies)
    lost = f"; {late} of them ended by time, perhaps not the bot's fault" if late else ""
    return (
        f"suspect: in {counted(total, 'game')} this machine kept an answer waiting (--json lists them); "
        f"{'it counts' if total == 1 else 'they count'}{lost}; use fewer --jobs or a larger --margin to avoid this"
    )


def _rate(report: SeriesReport) -> float:
    return report.plies / report.seconds if report.seconds else 0.0
