"""The lobby file that `ggp serve --init` writes: it runs as it is, and says in comments what else could be in it."""

EXAMPLE = """\
# A lobby: a server that bots dial in to, that pairs them, plays, and rates them. It runs as it is:
#
#     ggp serve {file} --no-keys
#
# A line that begins with # and a letter or bracket is an example: take the # away to use it.
# All that can be said: docs/reference/lobby-file.md

#name = "club"  # by default that of the file
#store = "club.db"  # where the games are kept, as a ladder's: ggp ladder standings club.db

[lobby]
listen = "tcp://127.0.0.1:7711"
#keys = false  # whoever can reach the address is who he says: for one's own machine only
#grace = 60  # seconds for a lost connection to come back to its match
#lag = 100  # ms of the way's time that are not charged, at most, for a move

#nice = 10  # how far the local bots below stand back where processors are scarce

# A pool is what can be compared: a game with its options, and a time control. Who offers the game plays in it.
[pool.main]
game = "yugo,size=7"
control = "10+0.1"  # 10 seconds for each side and a tenth more for each move
openings = 2  # random plies first, the same for both games of a pair

# A local bot is one that the lobby runs itself, a built-in one or a command line, so that somebody is always there to
# play with, and ratings have something to hold on to: `anchor` is its Elo. Copies are the same bot at several tables.
[bot.random]
command = "random"
anchor = 0

[bot.greedy]
command = "greedy:playouts=20"
copies = 2

#[pool.go9]
#game = "go"
#options = {{ size = 9, komi = 6.5 }}
#control = "10x1"
"""


def example(file: str) -> str:
    """The text of the file, which its comments call `file`."""
    return EXAMPLE.format(file=file)
