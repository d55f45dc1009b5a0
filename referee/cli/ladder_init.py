"""`ggp ladder init [FILE]`: write a ladder file that runs as it is; its comments explain the other keys."""

import shlex
import sys
import tomllib
from pathlib import Path

import click

from ggp.protocol.safe_files import create_file, replace_file
from ggp.referee.command_line import HELP, run_command
from ggp.referee.ladder.config import ladder_of
from ggp.referee.ladder.session import check_programs, prepare_pools
from ggp.referee.ladder.store.model import Ladder
from ggp.referee.ladder.toml_file import dotted
from ggp.referee.match.bot_spec import read_game

GAME = "yugo,size=7"  # quick to play
LADDER = """\
# A ladder: bots play each other without end, and their ratings become more exact. It runs as it is:
#
#     ggp ladder run {file}
#
# Change this file while it runs, too: bots join, leave or get a new version with the next batch of games.
# A line that begins with # and a letter or bracket is an example: take the # away to use it.
# All that can be said: docs/reference/ladder-file.md

#name = "club"  # by default that of the file
#seed = 1  # the same seed, file and results: the same games to be played
#store = "club.db"  # where the games are kept; or "postgresql://me:${{PASSWORD}}@host/database"

# A pool is what can be compared: a game with its options, and a time control.
[pool.main]
game = "{game}"
control = "10+0.1"  # 10 seconds for each side and a tenth more for each move
openings = 2  # random plies first, the same for both games of a pair

# What bots are kept from: files, network and processes of others, and more memory, disk and processor time than is
# theirs. docs/operating/run-strangers-bots.md
[sandbox]
level = "default"  # or "strict", which starts no bot where a part of it cannot be had; or "none"
#memory = 1024  # MiB

# A bot is a command line, or a built-in one. `parent` says what it was made from: a first guess at its rating.
[bot.random]
command = "random"

[bot.greedy-5]
command = "greedy:playouts=5"

[bot.greedy-20]
command = "greedy"
options = {{ playouts = 20 }}
parent = "greedy-5"

[bot.greedy-50]
command = "greedy"
options = {{ playouts = 50 }}
parent = "greedy-20"

# Your own; a relative path is seen from the folder of this file.
#[bot.mine]
#command = "python3 {script}"
#environment = {{ OMP_NUM_THREADS = "1" }}
#cwd = "."  # where it runs
#time = "5+0.05"  # a time control of its own
#nice = 5
#wait = 0.5  # seconds between its games
#memory = 2000  # MiB
#cores = 1
#restart = true  # for each game
#sandbox = "strict"
#allow = ["network", "read:/data/nets"]  # what its sandbox lets through

# Another pool, with GNU Go in it (apt-get install gnugo). Bots without `pools` play in all of them.
# `anchor` says that a rating is known: the others are measured by it.
#[pool.go9]
#game = "go"
#options = {{ size = 9, komi = 6.5 }}
#control = "10x1"
#max_plies = 400
#
#[bot.gnugo]
#command = "gnugo --mode gtp --level 1 --chinese-rules --capture-all-dead --positional-superko"
#pools = ["go9"]
#anchor = 1000

# A format that comes to an end, in place of the ladder; one of these.
#[format]
#kind = "round-robin"
#pairs = 10  # of games, the seats exchanged, between any two

#[format]
#kind = "gauntlet"
#bots = ["greedy-50"]  # against all others
#pairs = 100

#[format]
#kind = "swiss"
#rounds = 9

# Is a new version better? That is a file of its own, which ggp ladder init --test writes.

# Seconds for everything apart from the clock.
#[budget]
#start = 120  # from the launch of a program to its first answers
"""
TEST = """\
# A test: is the new version better? It ends as soon as the answer is certain enough. It runs as it is:
#
#     ggp ladder run {file}
#
# A line that begins with # and a letter or bracket is an example: take the # away to use it.
# All that can be said: docs/reference/ladder-file.md

[format]
kind = "test"
bots = ["new", "old"]
preset = "gate"  # 0 against 20 normalized Elo; or "simplify": is it no worse? or "big": is it much better?
#alpha = 0.05  # risk to accept a version that is no better
#beta = 0.05  # risk to reject one that is
#pairs = 10000  # then the test is given up

[sandbox]
level = "default"  # what bots are kept from: docs/operating/run-strangers-bots.md

[pool.main]
game = "{game}"
control = "10+0.1"
openings = 2  # random plies first, the same for both games of a pair

[bot.old]
command = "greedy:playouts=5"

# Your own, as a command line: command = "python3 {script}"
[bot.new]
command = "greedy:playouts=20"
parent = "old"
"""
TUNE = """\
# A tune: which values of its parameters make a bot strongest? It runs as it is:
#
#     ggp tune {file}
#
# Each iteration is a pair of games between two sets of values, moved a little to both sides of those found so far.
# A line that begins with # and a letter or bracket is an example: take the # away to use it.
# All that can be said: docs/reference/ladder-file.md

[format]
kind = "tune"
iterations = 200  # pairs of games; for a bot worth tuning some thousands
#batch = 8  # on many cores at least half as many as there are
preset = "big"  # the test at the end: are the tuned values better than those at the start?
pairs = 200  # then that test is given up
#check = false  # no test

# A parameter stands in the bot's command, options or environment as {{NAME}}.
[param.playouts]
start = 5
min = 1
max = 60
step = 4  # how far it is moved to both sides: enough to be noticed in play
integer = true

[pool.main]
game = "{game}"
control = "10+0.1"
openings = 2  # random plies first, the same for both games of a pair

# Your own, as a command line: command = "python3 {script} --playouts {{playouts}}"
[bot.greedy]
command = "greedy:playouts={{playouts}}"
"""
EXAMPLES = {"ladder": LADDER, "test": TEST, "tune": TUNE}


def main(argv: list[str]) -> int:
    """Run the command. Return its exit status."""
    return run_command(init, "ggp ladder init", argv)


@click.command("init", context_settings=HELP)
@click.argument("file", metavar="[FILE]", default="ladder.toml", type=click.Path(path_type=Path))
@click.option("--game", default=GAME, show_default=True, help="Game of the pool: GAME[,name=value…].")
@click.option("--test", "as_test", is_flag=True, help="Write a sequential test between two versions.")
@click.option("--tune", "as_tune", is_flag=True, help="Write a tune of a bot's parameters.")
@click.option("--force", is_flag=True, help="Overwrite FILE.")
@click.option("-q", "--quiet", is_flag=True, help="Do not print the next steps.")
def init(file: Path, game: str, as_test: bool, as_tune: bool, force: bool, quiet: bool) -> int:
    """Write a commented ladder file that runs as it is (by default ladder.toml), of built-in bots."""
    if as_test and as_tune:
        raise click.UsageError("--test and --tune are two kinds of file: choose one")
    read_game(game)
    said = shlex.quote(str(file)) if str(file).isprintable() else "FILE"
    kind = "test" if as_test else "tune" if as_tune else "ladder"
    text = example(said, game, kind)
    ladder, _ = prepare_pools(ladder_of(tomllib.loads(text), file))  # a game that there is not is found out now
    check_programs(ladder)
    try:
        (replace_file if force else create_file)(file, text.encode())
    except FileExistsError:
        raise click.UsageError(f"{file} exists: name another file, or add --force to overwrite it") from None
    except OSError as error:
        raise click.UsageError(f"{file} cannot be written: {error.strerror}: name another file") from None
    if not quiet:
        click.echo(_next_steps(said, ladder))
    return 0


def example(file: str, game: str = GAME, kind: str = "ladder") -> str:
    """Return the text of an example; `file` is how commands name it, and `kind` one of EXAMPLES."""
    return EXAMPLES[kind].format(file=file, game=game, script="my_bot.py")


def ladder_with(name: str, command: str, game: str) -> str:
    """Return the text of ladder.toml, in which this bot plays against built-in ones. `command` has no quotes."""
    text = example("ladder.toml", game)
    return text.replace(
        '#[bot.mine]\n#command = "python3 my_bot.py"', f'[{dotted("bot", name)}]\ncommand = "{command}"'
    )


def change_of(new: str, old: str, game: str) -> str:
    """Return the text of change.toml, a test between two versions, which these command lines start."""
    text = example("change.toml", game, "test")
    return text.replace('"greedy:playouts=20"', f'"{new}"').replace('"greedy:playouts=5"', f'"{old}"')


def _next_steps(file: str, ladder: Ladder) -> str:
    if ladder.template:
        return "\n".join(
            [
                f"{file}: a tune of {ladder.template.name} on {ladder.pools[0].setting.game}. Worth trying next:",
                f"  ggp tune {file}          (Ctrl-C at any time: the same command resumes)",
                f"  ggp tune {file} --show   (how it stands, also while it runs)",
                f"  and look into {file}: it says what else can be in it",
            ]
        )
    bots = ", ".join(bot.name for bot in ladder.bots)
    return "\n".join(
        [
            f"{file}: {bots} on {ladder.pools[0].setting.game}. Worth trying next:",
            f"  ggp ladder run {file}         (Ctrl-C at any time: the same command resumes)",
            f"  ggp ladder standings {file}   (also while it runs)",
            f"  and look into {file}: it says what else can be in it",
        ]
    )


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
