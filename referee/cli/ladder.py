"""`ggp ladder COMMAND …`: find the command among the entry points of `ggp.ladder`, callables (argv) -> exit status."""

from ggp.referee.cli.main import run_installed
from ggp.referee.command_line import BAD_USAGE

GROUP = "ggp.ladder"
SUBCOMMANDS = {
    "init": "write a commented ladder.toml that runs as it is",
    "run": "play; stop or kill it at any time, the same command resumes",
    "standings": "ratings with error bars",
    "crosstable": "the score of every bot against every other",
    "games": "matches, newest first, or one by its key",
    "pair": "two bots against each other",
    "bot": "one bot: versions, results, faults",
    "export": "matches as jsonl, csv, sgf or gtp",
    "report": "a static site with plots",
    "events": "which bots joined, left, were replaced or suspended",
    "readmit": "let a suspended bot play again",
    "check": "compare the store with its records",
}


def main(argv: list[str]) -> int:
    """Run the command. Return its exit status."""
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
            "First steps: ggp ladder init, then ggp ladder run. Each command has --help.",
        ]
    )
