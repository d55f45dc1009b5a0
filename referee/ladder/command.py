"""`ggp ladder SUB …`: finds the sub-command and hands over. Each has a file of its own: main(argv) -> exit status."""

import sys
from importlib import import_module

from referee.spelling import nearest

BAD_USAGE = 2
SUBCOMMANDS = {
    "init": ("referee.ladder.example", "write a commented ladder.toml that runs as it is"),
    "run": ("referee.ladder.run_command", "play; killed at any instant, the same command goes on"),
    "standings": ("referee.ladder.views.standings", "ratings with error bars"),
    "crosstable": ("referee.ladder.views.crosstable", "everybody against everybody"),
    "games": ("referee.ladder.views.games", "games, the newest first, or one by its key"),
    "pair": ("referee.ladder.views.pair", "two bots against each other"),
    "bot": ("referee.ladder.views.bot", "all about one bot: versions, results, faults"),
    "export": ("referee.ladder.views.export", "games as jsonl, csv, sgf or gtp"),
    "report": ("referee.ladder.report.command", "a static site with plots"),
    "events": ("referee.ladder.views.events", "who joined, left, was replaced or suspended"),
    "readmit": ("referee.ladder.views.readmit", "let a suspended bot play again"),
    "check": ("referee.ladder.check", "compare everything that is stored with the records"),
}


def main(argv: list[str]) -> int:
    """The exit status."""
    if not argv or argv[0] in ("-h", "--help", "help"):
        print(_help())
        return 0 if argv else BAD_USAGE
    name, *words = argv
    if name not in SUBCOMMANDS:
        close = nearest(name, SUBCOMMANDS)
        meant = f"; did you mean {close}?" if close else ""
        print(f"ggp ladder: there is no {name!r}{meant} (ggp ladder --help)", file=sys.stderr)
        return BAD_USAGE
    return int(import_module(SUBCOMMANDS[name][0]).main(words))


def _help() -> str:
    width = max(map(len, SUBCOMMANDS))
    return "\n".join(
        [
            "Usage: ggp ladder COMMAND …",
            "",
            "Ladders and tournaments of bots: ratings with error bars, tests between versions, nothing lost.",
            "",
            *(f"  {name:{width}}  {what}" for name, (_, what) in SUBCOMMANDS.items()),
            "",
            "First steps: ggp ladder init, then ggp ladder run. Each says more with --help.",
        ]
    )
