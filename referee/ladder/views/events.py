"""`ggp ladder events`: who joined, left, was suspended, and what else happened to a ladder, newest last."""

from dataclasses import asdict

import click

from protocol.printed import json_text
from referee.ladder.views import running
from referee.ladder.views.sheet import Sheet, say, show
from referee.ladder.views.source import open_ladder, split


def main(argv: list[str]) -> int:
    """The exit status."""
    return running.run_view(events, argv)


@click.command("events", epilog=running.EPILOGUE, context_settings=running.SETTINGS)
@running.words("[LADDER]")
@click.option("--limit", type=click.IntRange(1, 1_000_000), default=50, show_default=True, help="Most to show.")
@running.json_option
def events(words: tuple[str, ...], limit: int, as_object: bool) -> int:
    """Show what happened: bots that joined, left or were suspended, verdicts of tests."""
    ladder, _ = split(words, 0, 0)
    with open_ladder(ladder) as store:
        found = sorted(store.events(limit), key=lambda event: event.at)
    if as_object:
        say(json_text({"events": [asdict(event) for event in found]}))
        return 0
    if not found:
        say("nothing happened yet")
        return 0
    sheet = Sheet(("when (UTC)", "what", "more"), frozenset({"when (UTC)", "what", "more"}))
    for event in found:
        sheet.add(event.at[:19].replace("T", " "), event.kind, event.text)
    show(sheet)
    return 0
