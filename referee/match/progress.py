"""Progress of a run on stderr: a live line on a terminal, and the score after every N games."""

import time
from collections.abc import Sequence
from datetime import timedelta

import click

from ggp.referee.match.report import effect_of_match, live_parts, status_line
from ggp.referee.match.series_run import SeriesReport
from ggp.referee.terminal import LiveLine, escape_unprintable


class Progress:
    """The progress of a run of `ggp match`, shown inside its `with` block. Call it with the report after each change.

    Args:
        report: The report at the beginning of the run.
        live: Draw the live line.
        interval: Print the score after every `interval` games; 0 for never.
        quiet: Do not print notices about bots that give no valid answer.
    """

    def __init__(self, report: SeriesReport, live: bool, interval: int, quiet: bool) -> None:
        self._report, self._interval, self._quiet = report, interval, quiet
        self._line = LiveLine() if live else None
        self._before, self._began = report.done, time.monotonic()
        self._next = report.done - report.done % interval + interval if interval else 0
        self._waits = ""
        self._noticed = 0  # notices already shown

    def __enter__(self) -> "Progress":
        if self._line is not None:
            self._line.__enter__()
            self._line.update(live_parts(self._report))
        return self

    def __exit__(self, *error: object) -> None:
        if self._line is not None:
            self._line.__exit__(*error)

    def __call__(self, report: SeriesReport) -> None:
        """Show the current state of the run."""
        if report.waits != self._waits:
            self._waits = report.waits
            self.say(f"ggp match: {report.waits or 'this machine can start processes again'}")
        self._show_notices(report.notices)
        if self._line is not None:
            self._line.update(live_parts(report, *self._pace(report)))
        if self._interval and report.done >= self._next:
            self._next = report.done - report.done % self._interval + self._interval
            lines = [] if len(report.runs) > 1 else effect_of_match(report)
            lines.append(", ".join(self._pace(report)))
            self.say(f"after {report.done} games: {status_line(report)}", *(f"  {line}" for line in lines))

    def say(self, *lines: str) -> None:
        """Print lines above the live line."""
        shown = [escape_unprintable(line) for line in lines]
        if self._line is not None:
            self._line.print_above(*shown)
        else:
            click.echo("\n".join(shown), err=True)

    def _show_notices(self, notices: Sequence[str]) -> None:
        """Print new notices about bots at once, because a bot may take a minute to start."""
        for text in [] if self._quiet else notices[self._noticed :]:
            self.say(*f"ggp match: {text}".split("\n"))
        self._noticed = len(notices)

    def _pace(self, report: SeriesReport) -> tuple[str, str]:
        """Return the games per second, and the longest time left; a sequential test may end sooner."""
        rate = (report.done - self._before) / max(time.monotonic() - self._began, 1e-3)
        left = sum(run.setup.games for run in report.runs) - report.done
        return f"{rate:.1f} games/s", f"{timedelta(seconds=round(left / rate)) if rate else '?'} left"
