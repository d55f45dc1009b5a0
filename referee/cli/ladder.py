"""`ggp ladder SUB …`: finds the sub-command among the entry points of `ggp.ladder`, callables (argv) -> exit status."""

from ggp.referee.cli.main import run_installed
from ggp.referee.command_line import BAD_USAGE

GROUP = "ggp.ladder"
SUBCOMMANDS = {
    "init": "write a commented ladder.toml that runs as it is",
    "run": "play; killed at any instant, the same command resumes",
    "standings": "ratings with error bars",
    "crosstable": "all against all",
    "games": "games, the newest first, or one by its key",
    "pair": "two bots against each other",
    "bot": "all about one bot: versions, results, faults",
    "export": "games as jsonl, csv, sgf or gtp",
    "report": "a static site with plots",
    "events": "who joined, left, was replaced or suspended",
    "readmit": "let a suspended bot play again",
    "check": "compare everything that is stored with the records",
}


def main(argv: list[str]) -> int:
    """The exit status."""
    if not argv or argv[0] in ("-h", "--help", "help"):
        print(_help())
        return 0 if argv else BAD_USAGE
    return run_installed("ggp ladder", GROUP, argv[0], argv[1:], lambda: SUBCOMMANDS)


def _help() -> str:
    width = max(map(len, SUBCOMMANDS))
    return "\n".join(
        [
            "Usage: ggp ladder COMMAND …",
            "",
            "Ladders and tournaments of bots: ratings with error bars, tests between versions, nothing lost.",
            "",
            *(f"  {name:{width}}  {what}" for name, what in SUBCOMMANDS.items()),
            "",
            "First steps: ggp ladder init, then ggp ladder run. Each says more with --help.",
        ]
    )
