"""`ggp console [GAME … BOT …] [-- COMMAND … | --connect URL]`: reads the command line and runs the console."""

import sys
from collections.abc import Callable

import click

from ggp.referee.command_line import BAD_USAGE, HELP, run_command
from ggp.referee.match.options import NumberRange
from ggp.referee.terminal import can_redraw, on_terminal
from ggp.referee.tools.console.console import TIMEOUT, Console, EndedBySignal, ends_in_order
from ggp.referee.tools.console.dialogue import read_target
from ggp.referee.tools.console.filter import PipeConsole, PlainConsole

BROKEN_PIPE = 141

EPILOGUE = """\b
BOT is a bot as ggp match names it; :ask, :hint and :answer ask the bots. After --
comes the command line of any engine, bot or referee; --connect reaches one that
listens.

\b
--match steps through a match on our engine, or on the one after -- or at
--connect. FILE is a record, SGF, or a ladder's file, store or URL with #MATCH.
The match may still be running.

\b
A line that begins with : or ! is for the console, every other line goes to the
peer. On an engine :D4 plays a move; :back, :goto 17, :tree, :hint greedy,
:fork human greedy, :save game.sgf: :help lists them all. Without a terminal on
stdin the console is a filter: answers come out byte for byte, and the console's
own messages are on stderr.

\b
The exit status is 0; 1 if an answer was a failure; 2 for an invalid command
line, or a peer that fails to start; 3 if the peer was lost, did not answer in
time or broke the protocol; 130 after Ctrl-C, 143 after SIGTERM.
"""


def main(argv: list[str]) -> int:
    """Run the command line and return the exit status."""
    if "--" in argv:  # the program after it has options of its own
        at = argv.index("--")
        if at + 1 == len(argv):
            click.echo("ggp console: after -- comes the command line of a program (ggp console --help)", err=True)
            return BAD_USAGE
        argv = [*argv[:at], *(f"--program={word}" for word in argv[at + 1 :])]
    return run_command(console, "ggp console", argv)


@click.command("console", epilog=EPILOGUE, context_settings=HELP, options_metavar="[OPTIONS]")
@click.argument("words", metavar="[GAME [name=value]... [BOT]...] [-- COMMAND...]", nargs=-1)
@click.option("--program", multiple=True, hidden=True)
@click.option("--match", "place", metavar="PLACE", help="Go through a recorded or running match: FILE[#MATCH][@PLY].")
@click.option(
    "--connect", metavar="URL", default="", help="Connect to the peer that listens at tcp://host:port or ipc://path."
)
@click.option(
    "--timeout",
    type=NumberRange(0.001, 86_400),
    default=TIMEOUT,
    show_default=True,
    help="Seconds that an answer may take.",
)
@click.option("--raw", is_flag=True, help="Show all bytes as they pass, with escapes (as :raw on).")
@click.option("--json", "as_json", is_flag=True, help="As a filter, print one JSON object a line for each command.")
@click.option("--quiet", is_flag=True, help="As a filter, print no warnings and nothing of the peer's stderr.")
def console(
    words: tuple[str, ...],
    program: tuple[str, ...],
    place: str | None,
    connect: str,
    timeout: float,
    raw: bool,
    as_json: bool,
    quiet: bool,
) -> int:
    """Talk to an engine, a bot or a referee: type commands, read answers, watch the board.

    With no argument the peer is our engine; GAME name=value … starts a game on it.
    """
    if place is None:
        target, source, tree = read_target(words, program, connect), None, None
    else:
        from ggp.referee.tools.console.tree_files import open_tree  # which reads records

        target, source, tree = open_tree(place, words, program, connect)
    try:
        with ends_in_order():
            console = Console(target, source=source, tree=tree, timeout=timeout, raw=raw)
            try:
                return _display(console, as_json, quiet)()
            except BrokenPipeError:  # the reader has closed the pipe
                return BROKEN_PIPE
            finally:
                console.close()
    except EndedBySignal as ended:
        return ended.status


def _display(console: Console, as_json: bool, quiet: bool) -> Callable[[], int]:
    """Return the display: a filter if stdin is no terminal or JSON is asked for, else a prompt."""
    if as_json or not on_terminal(sys.stdin):
        return PipeConsole(console, as_json=as_json, quiet=quiet).run
    if can_redraw():
        from ggp.referee.tools.console.prompt import PromptConsole  # and with it prompt_toolkit

        return PromptConsole(console).run
    return PlainConsole(console).run
