"""The table of all commands: one row each. It feeds help, completion, the documents and the checks.

Dispatch is elsewhere (ggp.engines.service, ggp.bots.sdk); a test compares every handler with this table.
"""

from enum import StrEnum
from typing import NamedTuple


class Who(StrEnum):
    """A kind of program that answers commands."""

    ENGINE = "engine"
    BOT = "bot"
    REFEREE = "referee"
    LOBBY = "lobby"


class Level(StrEnum):
    """A level of obligation: the referee requires a command, other programs use it, or nobody needs it."""

    REQUIRED = "required"
    RECOMMENDED = "recommended"
    OPTIONAL = "optional"


class CommandRow(NamedTuple):
    """A row of the command table.

    `engine`, `bot`, `referee` and `lobby` give the command's level for each kind of program, or None if that kind has
    no such command. The level of a bot is for native bots; a plain GTP bot needs the commands in PLAIN_BOT.
    """

    name: str
    arguments: str
    answer: str
    help: str
    engine: Level | None = None
    bot: Level | None = None
    referee: Level | None = None
    lobby: Level | None = None


_R, _C, _O = Level.REQUIRED, Level.RECOMMENDED, Level.OPTIONAL
_OURS = None, None, _C
_LOBBYS = None, None, None, _C

COMMANDS: tuple[CommandRow, ...] = (
    # Every program with a prompt
    CommandRow("protocol_version", "", "2", "the version of GTP", _R, _C, _R, _R),
    CommandRow("name", "", "words", "the program's name", _R, _R, _R, _R),
    CommandRow("version", "", "words", "the program's version", _R, _R, _R, _R),
    CommandRow("known_command", "NAME", "true|false", "true if the command is known; never fails", _R, _R, _R, _R),
    CommandRow("list_commands", "", "lines", "every command, one a line", _R, _R, _R, _R),
    CommandRow("quit", "", "", "answer, then exit", _R, _R, _R, _R),
    # Games
    CommandRow("ggp-version", "", "1", "the version of this protocol", _R, _O, _R, _R),
    CommandRow("ggp-games", "", "lines", "the games that the program knows, one a line", _R, _C, _C),
    CommandRow("ggp-options", "[GAME]", "lines", "a game's options: name type default domain", _R, None, _C),
    CommandRow("ggp-new", "GAME [NAME=VALUE …]", "status", "start a game; a bot may answer an empty text", _R, _R),
    CommandRow("ggp-status", "", "status", "phase, side to act, ply, result", _R),
    CommandRow("ggp-play", "COLOUR MOVE", "move=MOVE status", "play a move, strictly by turn and phase", _R),
    CommandRow("ggp-legal", "MOVE", "true|false REASON", "check a move; if it is illegal, say why", _C),
    CommandRow("ggp-legal_moves", "", "moves", "every legal move, sorted; none after the end", _R),
    CommandRow("ggp-undo", "[N]", "status", "take back N plies of any kind", _C),
    CommandRow("ggp-history", "", "lines", "the plies so far: seat colour move", _R),
    CommandRow("ggp-score", "", "json", "the score and its parts", _C),
    CommandRow("ggp-scene", "", "json", "the drawing of the position", _C),
    CommandRow("ggp-hash", "", "16 hex digits", "equal positions have equal hashes", _C),
    CommandRow("ggp-rules", "[GAME] [json]", "text|json", "the rules as text, or as Markdown in JSON", _C),
    CommandRow("ggp-perft", "DEPTH", "number", "number of legal move sequences of that length", _O),
    CommandRow("ggp-playouts", "N [SEED] [uniform|rollout]", "key=value", "play random games from here", _O),
    # GTP's view of the same state
    CommandRow("boardsize", "N", "", "start a new game on a board of this size, other options kept", _C, _C),
    CommandRow("clear_board", "", "", "start a new game with the same options; never fails", _C, _C),
    CommandRow("komi", "NUMBER", "", "set White's compensation", _C, _C),
    CommandRow("play", "COLOUR MOVE", "", "play a move", _C, _R),
    CommandRow("genmove", "COLOUR", "move|resign", "choose a move for a side and play it", None, _R),
    CommandRow("reg_genmove", "COLOUR", "move|resign", "choose a move for a side and do not play it", None, _O),
    CommandRow("undo", "", "", "take back one ply", _C, _O),
    CommandRow("showboard", "", "text", "the board as text, for people", _C, _O),
    CommandRow("final_score", "", "result", "the result; before the end, the score of the current position", _C, _O),
    CommandRow("final_status_list", "alive|dead|seki", "lines", "groups of that status, one a line", _C, _O),
    CommandRow("fixed_handicap", "N", "points", "go: place handicap stones on the fixed points", _O, _O),
    CommandRow("place_free_handicap", "N", "points", "go: let the bot choose where to place handicap stones", None, _O),
    CommandRow("set_free_handicap", "POINT POINT …", "", "go: place these handicap stones", _O, _O),
    CommandRow("loadsgf", "FILE [MOVE]", "", "go: load a game record, set-up stones too, up to that move", _O, _O),
    # A bot's clock and the end of its game
    CommandRow("time_settings", "MAIN PERIOD STONES", "", "GTP clock, whole seconds", None, _O),
    CommandRow("kgs-time_settings", "SYSTEM [TIMES]", "", "KGS clock: none, absolute, byoyomi, canadian", None, _O),
    CommandRow("kata-list_time_settings", "", "words", "the time systems that kata-time_settings accepts", None, _O),
    CommandRow("kata-time_settings", "SYSTEM [TIMES]", "", "KataGo's clock, with fischer", None, _O),
    CommandRow("time_left", "COLOUR SECONDS STONES", "", "GTP: time left", None, _O),
    CommandRow(
        "ggp-clock",
        "black=MS white=MS [increment=MS] [moves=N] [period=MS periods=N]",
        "",
        "time left in milliseconds, sent before each genmove",
        None,
        _O,
    ),
    CommandRow("set_random_seed", "NUMBER", "", "seed all random choices, 0 to 2147483647", None, _O),
    CommandRow("ggp-result", "RESULT", "", "the game is over", None, _O),
    CommandRow("ggp-genmove_analyze", "COLOUR", "move, then a line of json", "genmove with an analysis", None, _O),
    # GoGui's ruler: how GoGui learns a game it does not know
    CommandRow("gogui-rules_game_id", "", "word", "the game's name, capital first", _O, _O),
    CommandRow("gogui-rules_board_size", "", "9 or 17 hex", "the board's size", _O, _O),
    CommandRow("gogui-rules_board", "", "rows", "the board, from the top: X O . ?", _O, _O),
    CommandRow("gogui-rules_legal_moves", "", "points", "the moves (points and pass) that play accepts", _O, _O),
    CommandRow(
        "gogui-rules_side_to_move",
        "",
        "black|white",
        "the side to move; after the end, the opponent of the last player",
        _O,
        _O,
    ),
    CommandRow("gogui-rules_final_result", "", "result", "the result; undecided before the end", _O, _O),
    CommandRow("gogui-rules_captured_count", "", "two numbers", "captured stones: white ones, then black ones", _O, _O),
    CommandRow("gogui-rules_board_gfx", "", "graphics", "what GoGui draws on top of the board", _O, _O),
    CommandRow("gogui-play_sequence", "COLOUR MOVE …", "", "play several moves", _O, _O),
    CommandRow("gogui-analyze_commands", "", "lines", "entries for GoGui's menu", _O, _O),
    # A ladder, or matches, under a referee
    CommandRow("ggp-ladder", "", "key=value lines", "the ladder's state: games, workers, last error", *_OURS),
    CommandRow("ggp-standings", "[POOL]", "key=value lines", "the ratings, best first", *_OURS),
    CommandRow("ggp-crosstable", "[POOL]", "key=value lines", "every bot's score against every other", *_OURS),
    CommandRow(
        "ggp-bots", "", "key=value lines", "the entered bots, their versions and suspensions", None, None, _C, _C
    ),
    CommandRow("ggp-matches", "", "key=value lines", "the running matches", *_OURS),
    CommandRow("ggp-events", "[N]", "lines", "the latest events: time, kind, text", *_OURS),
    CommandRow("ggp-game", "KEY", "key=value lines", "the details of a match", *_OURS),
    CommandRow("ggp-pause", "", "", "start no new pairs; running ones are finished", *_OURS),
    CommandRow("ggp-resume", "", "", "start new pairs again after ggp-pause", *_OURS),
    CommandRow("ggp-stop", "[after]", "", "end now, or after the running matches", *_OURS),
    CommandRow("ggp-abort", "KEY", "", "abort a running match, pair or series", *_OURS),
    CommandRow("ggp-suspend", "BOT REASON", "", "stop pairing a bot", *_OURS),
    CommandRow("ggp-readmit", "BOT", "", "pair a suspended bot again", *_OURS),
    CommandRow("ggp-reload", "", "", "reload the ladder's file now", *_OURS),
    CommandRow(
        "ggp-match",
        "GAME[,NAME=VALUE…]|POOL BOT BOT [games=N] [time=CONTROL] [openings=N] [seed=N] [record=FILE]",
        "key",
        "play an unrated series alongside the ladder",
        *_OURS,
    ),
    # A lobby, for the authors of its bots
    CommandRow("ggp-pools", "", "key=value lines", "the pools: game, time, openings", *_LOBBYS),
    CommandRow("ggp-challenge", "POOL MINE THEIRS [pairs=N]", "key=value", "let two bots play unrated games", *_LOBBYS),
    CommandRow("ggp-challenge-status", "ID", "key=value", "the state of a challenge, and why it is waiting", *_LOBBYS),
    CommandRow("ggp-challenges", "", "key=value lines", "the open challenges", *_LOBBYS),
    CommandRow("ggp-withdraw", "ID", "", "withdraw a challenge; a running pair is finished", *_LOBBYS),
    CommandRow("ggp-wait", "[SECONDS] [CHANGE]", "key=value", "wait for a change, then answer", *_OURS),
)

TABLE: dict[str, CommandRow] = {row.name: row for row in COMMANDS}

REFEREES: dict[str, CommandRow] = {
    row.name: row
    for row in (
        CommandRow("ggp-history", "KEY", "lines", "the plies of a match: seat colour move", *_OURS),
        CommandRow("ggp-scene", "KEY [PLY]", "json", "the drawing of a match's position", *_OURS),
        CommandRow("showboard", "KEY [PLY]", "text", "the board of a match as text, for people", *_OURS),
        CommandRow(
            "ggp-result", "KEY [SECONDS]", "key=value", "the score of a ggp-match series; waits for its end", *_OURS
        ),
    )
}
"""The commands of TABLE to which a referee gives its own answer, about one of its matches."""

LOBBIES: dict[str, CommandRow] = {
    "ggp-bots": CommandRow(
        "ggp-bots",
        "",
        "key=value lines",
        "the connected bots, their games, and whether they accept challenges",
        *_LOBBYS,
    )
}
"""The commands of TABLE to which a lobby gives its own answer."""

PLAIN_BOT = ("name", "version", "list_commands", "quit", "boardsize", "clear_board", "komi", "play", "genmove")
"""The commands that a plain GTP v2 bot needs to play go."""


def level(row: CommandRow, who: Who) -> Level | None:
    """Return the level of the command for this kind of program, or None if it has no such command."""
    return {Who.ENGINE: row.engine, Who.BOT: row.bot, Who.REFEREE: row.referee, Who.LOBBY: row.lobby}[who]


def commands_of(who: Who) -> tuple[CommandRow, ...]:
    """Return the rows of the commands that this kind of program answers, as it answers them."""
    ours = tuple(row for row in COMMANDS if level(row, who) is not None)
    if who is Who.LOBBY:
        return tuple(LOBBIES.get(row.name, row) for row in ours)
    return (*ours, *REFEREES.values()) if who is Who.REFEREE else ours


def required(who: Who) -> tuple[str, ...]:
    """Return the names of the commands that this kind of program must answer."""
    return tuple(row.name for row in COMMANDS if level(row, who) is Level.REQUIRED)
