"""The table of all compliance checks: what each single exchange sends and what must come back."""

import re
from collections.abc import Iterator

from ggp.protocol.commands import PLAIN_BOT, Who, required
from ggp.protocol.conformance.checks import Check, Demand, RuleSource
from ggp.protocol.grammar import CONTROL, MAX_LINE

# A step has two lines: its number, its script (- for an exchange, see _exchanges), a demand other than RECOMMENDED, and
# its title; then the remedy, which consecutive steps may share. `GGP` marks a rule of ours among the rules of GTP.
_TABLE = r"""
2.1.1 -: control characters are dropped
    drop bytes 0..31 and 127 except HT and LF before reading the line
2.1.2 -: # begins a comment
    cut the line at its first #
2.1.3 -: HT is a blank
    turn HT into a blank
2.1.4 -: blank lines get no answer
    send no answer to a line that is empty once comments and blanks are removed
2.1.5 - native: a number alone before a comment is not an id
    answer a line that is only a number with `? unknown command`, so that answers can be counted
2.1.6 -: CR LF ends a line
    drop CR
2.1.7 -: bytes that are not UTF-8 are text
    read input as bytes, or decode it with a fallback that cannot fail
2.1.8 -: every control character is dropped, NUL too
    drop every byte of 0..31 and 127 except HT and LF; NUL does not end a line
2.2.1 -: an id is echoed
    write the id of the command after = or ?
2.2.2 -: the smallest and the largest id
    read an id as digits with a blank and a command after them, from 0 to 2147483647; all else is a command name
2.2.3 - required: an id is echoed with a failure
    write the id after ? as after =
2.2.4 - native: a lone number is an unknown command
2.2.5 - native: digits joined to letters are not an id
2.2.6 - native: a number out of range is not an id
2.2.7 - native: a huge number is not an id
2.2.8 - native: a negative number is not an id
    read an id as digits with a blank and a command after them, from 0 to 2147483647; all else is a command name
2.2.9 -: ids may repeat and have leading zeros
    echo every id; it need not be unique
2.2.10 - required: an answer has the id of its command and no other
    write the id of the command after = or ?, and nothing there if the command had none
2.3.1 -: an answer is framed exactly
    `= 2`, LF, and an empty line
2.3.2 - required: pipelined commands are answered in order
2.3.3 -: a command may come in pieces
    answer each line as soon as it is whole, in order, and flush; keep what is left of a read for the next one
2.3.4 start: nothing is written before the first answer
    write banners and logs to standard error; standard output carries answers and nothing else
2.3.5 start: nothing is written unasked
    write to standard output only to answer a command
2.3.6 halves: half a line, a pause, the other half
    answer each line as soon as it is whole, in order, and flush; keep what is left of a read for the next one
2.3.7 names: list_commands has one name a line, without duplicates
    write each name once, on its own line
2.3.8 names: name and version are one line
    answer one line of text
2.3.9 flood: 10,000 lines at once are answered in order
    answer each line as soon as it is whole, in order, and flush; keep what is left of a read for the next one
2.3.10 slow: a controller that reads slowly gets every answer
    block in the write when the pipe is full; drop and cut nothing
2.3.11 empty native: no blank after an empty success
    write `=` or `=7` and two LFs when there is no text
2.3.12 start required: no answer comes without a command
    write exactly one answer to each command
2.3.13 start required: starts, and answers protocol_version and list_commands
    answer protocol_version and list_commands before you do anything that can fail
2.4.1 -: an unknown command is refused with the fixed text
    answer exactly `? unknown command`
2.4.2 words: the failure `unacceptable size`
    answer `? unacceptable size` to a size that you do not support
2.4.3 words: the failure `illegal move`
    answer `? illegal move` to a move on an occupied point
2.4.4 words: the failure `cannot undo`
    answer `? cannot undo` to undo on a new board
2.4.5 words: the failure `cannot load file`
    answer `? cannot load file` for a missing file
2.5.1 -: known_command answers true for a known command
    answer `true` or `false`
2.5.2 -: known_command answers false for an unknown command
    answer `false`
2.5.3 - native: known_command never fails
    answer `false` when no name is given
2.5.4 -: quit answers in full, then ends
    write and flush the answer to quit before the process ends
2.5.5 - GGP: end of input: exit silently
    when input ends, at whatever point, exit with status 0 and write nothing more
2.5.6 -: nothing is answered after quit
    stop reading lines once quit was answered
2.5.7 names: every listed command is known
    feed both from one table
2.5.8 leave GGP: exit status 0 after quit
    exit with status 0
2.5.9 leave native: exit status 0 at the end of input
2.5.10 leave GGP: exits at the end of input, even in mid-line
2.5.11 leave GGP: exits when both ends are closed
    when input ends, at whatever point, exit with status 0 and write nothing more
2.5.12 leave GGP: exits on SIGTERM
    do not handle SIGTERM, or exit on it
2.5.13 leave GGP: leaves no process behind
    end all processes that you have started, and wait for them, before you exit
2.6.1 -: command names are case-sensitive
    compare command names exactly
2.6.2 case: colours are read in every form
    accept b, B, black, Black, w, white, WHITE
2.6.3 case: points are read in lower case too
    read points without regard to case
2.6.4 case: there is no column I
    name the column after H with J
2.6.5 case: play never resigns
    refuse `play black resign`
2.7.1 board: boardsize, then clear_board
    apply the size, then clear the board
2.7.2 board: komi accepts every number
    accept 0, 7, 6.5 and -3.5, even if you ignore them
2.7.3 board: clear_board removes every stone
    begin with an empty board
2.8.1 - native: a line that is too long is refused once
2.8.2 - native: a line of exactly 64 KiB is read
2.8.3 - native: a line of 4 MiB is dropped, and the session continues
    read lines of up to 65536 bytes; answer a longer one once, `? line too long`, and drop the rest of it
2.8.4 names required GGP: an answer has at most 1 MiB and 10,000 lines
    write shorter answers
2.8.5 growth GGP: 200 new games leave memory and descriptors as they were
    free everything that the previous game used
3.1.1 - required: ggp-version is 1
    answer `1`
3.1.2 - required: ggp-games lists the game
    answer the names of your games, one a line
3.1.3 - required: ggp-new answers a status line
    answer a whole status line
3.1.4 -: without a game, commands about it fail
    answer `? no game: use ggp-new` to every command that needs a game
3.1.5 - required: a refused ggp-new changes nothing
    check the game and all options before you give up the current game
3.1.6 - required: there are legal moves
    answer every legal move, separated by blanks, on one line
3.1.7 - required: an illegal move is refused, with the fixed text first
    answer `? illegal move: ` and the reason
3.1.8 - required: a side that is not to play is refused
    refuse a colour that is not to_play
3.1.9 - required: a new game has no history
    answer an empty success
3.2.1 walk required: every status line is well formed
    write phase, to_play, seat, ply as key=value
3.2.2 walk required: a game begins at ply 0, seat 1, black
    seat 1 acts first, and as black
3.2.3 walk required: ply grows by one with each ply
    ply is the number of plies played
3.2.4 walk required: result and winner appear when the game is over, and only then
    add result= and winner= at the end
3.2.5 walk required: ggp-status repeats the status of ggp-play
    derive both from the same state
3.3.1 walk required: ggp-play answers the move as ggp-legal_moves lists it
    use one spelling of each move
3.3.2 walk: moves are read without regard to case
    fold case before reading a move
3.3.3 walk required: the wrong colour is refused
    refuse a colour that is not to_play
3.3.4 walk required: ggp-legal_moves is sorted by bytes, without duplicates
    sort by bytes and drop duplicates
3.3.5 walk: ggp-legal agrees with ggp-legal_moves
    judge a move in one place for both
3.3.6 walk required: a refused move changes nothing
    check everything before you change anything
3.3.7 walk required: ggp-history lists the plies played
    answer `seat colour move`, one ply a line
3.3.8 walk: ggp-hash is 16 hex digits
    write 16 hex digits in lower case
3.3.9 walk: undoing all plies restores the first position
    restore everything, including the hash
3.3.10 walk: undo of too many plies fails and changes nothing
    answer `? cannot undo`
3.3.11 walk required: the same moves lead to the same position
    let the position depend on the moves alone
3.3.12 walk: ggp-score answers JSON of the right form
    give totals, each a number or null, and final
3.3.13 walk: ggp-scene can be drawn
    follow docs/reference/scene.md
3.3.14 walk: ggp-perft 1 counts the legal moves
    count what ggp-legal_moves lists
3.3.15 walk required: after the end nothing is legal
    list no moves, and refuse every move
3.3.16 options required: ggp-options lines are well formed
    write `name type default domain`
3.3.17 options: each option accepts both ends of its domain
    accept every value that ggp-options lists
3.3.18 options required: invalid options are refused, and the game does not change
    check before you change
3.3.19 options: ggp-rules answers a text
    answer with the text of the rules
3.3.23 options: ggp-rules GAME json is JSON
    answer {"markdown": "…"} on one line
3.3.20 options: ggp-playouts counts its games
    answer games= plies= seconds= black= white= draws=
3.3.21 options required: every listed game can be started
    list only games that ggp-new can start
3.3.22 options: a given option takes effect
    obey size= in ggp-new
3.4.1 views: final_score has a valid form
    `B+3.5`, `W+1`, `B+`, `0`, or `? cannot score`
3.4.2 views: clear_board never fails and keeps the options
    start again with the same options
3.4.3 views: play and undo act on the same game
    answer play with an empty text, and list its ply in ggp-history
3.4.4 views: komi succeeds for every number
    apply or ignore it, but do not fail
3.4.5 views: boardsize changes the size or refuses it
    answer `? unacceptable size`
3.4.6 views: showboard draws a board
    draw the board in text
3.4.7 views: handicap and SGF commands are for go
    refuse them in other games
7.1.1 sessions required: sessions are independent
    keep one game for each routing id
4.1.1 - native: ggp-new starts the game
    answer a success, empty or a status line
4.1.2 - native: genmove answers a move
    answer one word: the move, or resign
4.1.3 - native: an unknown game is refused
    refuse every game that you cannot play
4.1.4 play required: starts a game
    accept ggp-new, or boardsize, clear_board and komi
4.1.5 play GGP: starts every game that it lists
    list only games that you play
4.2.1 play forfeit: genmove answers one word
    answer the move and nothing else
4.2.2 play forfeit: every move of genmove is legal
    judge your moves by the rules of the game
4.2.3 play forfeit: every legal move of the other side is accepted
    accept what the rules allow
4.2.4 play forfeit GGP: phases other than play are handled
    answer bids, swaps and dead lists
4.2.5 turn required: a new game may begin in the middle of another
    reset everything when a new game begins
4.2.6 turn required: play and genmove may come in one write
    keep the rest of a read for the next command
4.2.7 turn: undo takes back a move
    take back one ply, and answer empty
4.2.8 turn: a failed command changes nothing
    check everything before you change anything
4.2.9 seed GGP: the same set_random_seed gives the same game
    derive all random choices from the seed
4.2.10 turn native: ggp-result is accepted
    answer an empty success
4.2.11 turn native: ggp-genmove_analyze answers a move, then JSON
    answer two lines, the second in JSON
4.2.12 turn: final_status_list dead lists points
    answer points, separated by blanks or lines
4.2.13 turn: play answers empty
    answer play with an empty success
5.1.1 clock: every clock command that it lists is accepted
    answer an empty success to it
5.1.2 clock forfeit: answers in time even with little time left
    plan to answer before the time is up
5.2.1 start required GGP: starts within 60 seconds
5.2.2 play required GGP: a new game begins within 30 seconds
    answer sooner, load later
5.2.3 leave GGP: quit is answered within 3 seconds
    answer quit at once
"""
_STATUS = rb"phase=\w+ to_play=(?:black|white|none) seat=[012] ply=\d+(?: [^\n]*)?"
_REFUSED = rb"\?(?: \S[^\n]*)?\n\n"  # 2.4 checks the texts of failures


def _exchanges(game: bytes) -> dict[str, tuple[bytes, ...]]:
    """Return, for each step that is a single exchange: the bytes sent, the response expected, and any setup."""
    two, unknown, too_long = rb"= 2\n\n", rb"\? unknown command\n\n", rb"\? line too long\n\n= 2\n\n"
    new, started = b"ggp-new %b\n" % game, b"= " + _STATUS + rb"\n\n"
    ask = b"protocol_version\n"
    return {
        "2.1.1": (b"proto\x01col\x7f_version\r\n", two),
        "2.1.2": (b"protocol_version# and more\n", two),
        "2.1.3": (b"4\tprotocol_version\n", rb"=4 2\n\n"),
        "2.1.4": (b"\n  \t\n# only a comment\n" + ask, two),
        "2.1.5": (b"1 # protocol_version\n", _REFUSED),
        "2.1.6": (b"protocol_version\r\n", two),
        "2.1.7": (b"known_command \xff\xfe\xc3\n", rb"= false\n\n"),
        "2.1.8": (b"protocol" + CONTROL.replace(b"\r", b"") + b"_version\n", two),
        "2.2.1": (b"7 protocol_version\n", rb"=7 2\n\n"),
        "2.2.2": (b"0 name\n2147483647 name\n", rb"=0 .+\n\n=2147483647 .+\n\n"),
        "2.2.3": (b"7 no-such-command\n", rb"\?7(?: \S[^\n]*)?\n\n"),
        "2.2.4": (b"7\n", _REFUSED),
        "2.2.5": (b"7name\n", _REFUSED),
        "2.2.6": (b"2147483648 name\n", _REFUSED),
        "2.2.7": (b"9" * 40 + b" name\n", _REFUSED),
        "2.2.8": (b"-1 name\n", _REFUSED),
        "2.2.9": (
            b"5 protocol_version\n5 protocol_version\n005 protocol_version\n",
            rb"=5 2\n\n=5 2\n\n=(?:00)?5 2\n\n",
        ),
        "2.2.10": (b"7 protocol_version\n" + ask, rb"=7? 2\n\n= 2\n\n"),
        "2.3.1": (ask, two),
        "2.3.2": (b"1 protocol_version\n2 name\n3 no-such-command\n", rb"=1 2\n\n=2 .+\n\n\?3(?: \S[^\n]*)?\n\n"),
        "2.3.3": (b"1 protocol_version\n2 protocol_version\n", rb"=1 2\n\n=2 2\n\n"),
        "2.4.1": (b"no-such-command\n", unknown),
        "2.5.1": (b"known_command name\n", rb"= true\n\n"),
        "2.5.2": (b"known_command no-such-command\n", rb"= false\n\n"),
        "2.5.3": (b"known_command\n", rb"= false\n\n"),
        "2.5.4": (b"9 quit\n", rb"=9 ?\n\n"),
        "2.5.5": (b"", b""),
        "2.5.6": (b"1 quit\n2 protocol_version\n", rb"=1 ?\n\n"),
        "2.6.1": (b"NAME\n", _REFUSED),
        "2.8.1": (b"x" * (MAX_LINE + 1000) + b"\n" + ask, too_long),
        "2.8.2": (b"known_command" + b" " * (MAX_LINE - 17) + b"name\n", rb"= true\n\n"),
        "2.8.3": (b"known_command " + b"y" * (4 << 20) + b"\n" + ask, too_long),
        "3.1.1": (b"ggp-version\n", rb"= 1\n\n"),
        "3.1.2": (b"ggp-games\n", rb"= (?:.+\n)*%b\n(?:.+\n)*\n" % re.escape(game)),
        "3.1.3": (new, started),
        "3.1.4": (b"ggp-status\n", rb"\? no game: use ggp-new\n\n"),
        "3.1.5": (
            b"ggp-new no-such-game\nggp-new %b no-such-option=1\nggp-status\n" % game,
            rb"\? .+\n\n\? .+\n\n" + started,
            new,
        ),
        "3.1.6": (b"ggp-legal_moves\n", rb"= \S[^\n]*\n\n", new),
        "3.1.7": (b"ggp-play black no-such-move\nggp-status\n", rb"\? illegal move[^\n]*\n\n" + started, new),
        "3.1.8": (b"ggp-play white pass\n", rb"\? .+\n\n", new),
        "3.1.9": (b"ggp-history\n", rb"=\n\n", new),
        "4.1.1": (new, rb"= ?[^\n]*\n\n"),
        "4.1.2": (b"genmove black\n", rb"= \S+\n\n", new),
        "4.1.3": (b"ggp-new no-such-game\n", rb"\? .+\n\n"),
    }


_HOW = {"2.3.3": "pieces", "2.5.4": "ends", "2.5.5": "end of input", "2.5.6": "ends"}
# "Junk before a first = or ?: from an engine an error; from a bot skipped with a warning."
_REQUIRED_OF_ENGINES = ("2.3.4", "2.3.5")
# A plain bot starts each game with boardsize and clear_board, a native one with ggp-new.
_REQUIRED_OF_PLAIN_BOTS = ("2.7.1",)
# The referee looks for these in a bot's list_commands; it can do without the answers to the others.
_NEEDED_OF_BOTS = ("list_commands", "ggp-new", "boardsize", "clear_board", "play", "genmove")
_HEAD = re.compile(r"([\d.]+) ([\w-]+)([\w ]*): (.+)")


def catalogue(who: Who, *, game: str = "", native: bool = True) -> tuple[Check, ...]:
    """Return every check of an engine or a bot, in order.

    Without a game, the single exchanges about a game are left out, as they are for a bot that is not native.
    """
    section = "3" if who is Who.ENGINE else "4"
    of_game = native and bool(game)
    harder = _REQUIRED_OF_ENGINES if who is Who.ENGINE else () if native else _REQUIRED_OF_PLAIN_BOTS
    steps = [step for step in _steps(game) if step.number[0] in ("237" if who is Who.ENGINE else "245")]
    first = next(index for index, step in enumerate(steps) if step.number[0] == section)
    return (
        *(step._replace(demand=Demand.REQUIRED) if step.number in harder else step for step in steps[:first]),
        *_commands(who, section, native),
        *(step for step in steps[first:] if step.script or of_game),
    )


def _steps(game: str) -> Iterator[Check]:
    """Yield the steps of the table. A step without a remedy shares that of the next step."""
    exchanges = _exchanges(game.encode())
    waiting: list[re.Match[str]] = []
    for line in _TABLE.strip("\n").split("\n"):
        if head := _HEAD.fullmatch(line):
            waiting.append(head)
            continue
        for step in waiting:
            number, script, flags, title = step.groups()
            words = flags.split()
            ours = number[0] in "37" or "native" in words or "GGP" in words
            demand = Demand(next((word for word in words if word != "GGP"), Demand.RECOMMENDED))
            source = RuleSource.GGP if ours else RuleSource.GTP
            sent, expected, setup = (*exchanges.get(number, ()), b"", b"", b"")[:3]
            how = _HOW.get(number, "")
            yield Check(number, title, demand, source, script.strip("-"), line.strip(), sent, expected, setup, how)
        waiting = []


def _commands(who: Who, section: str, native: bool) -> Iterator[Check]:
    """Yield a check for each command that every program of this kind must know."""
    for number, name in enumerate(required(who) if native else PLAIN_BOT, 1):
        needed = who is Who.ENGINE or name in _NEEDED_OF_BOTS
        yield Check(
            f"{section}.0.{number}",
            f"knows {name}",
            Demand.REQUIRED if needed else Demand.RECOMMENDED,
            RuleSource.GGP if name.startswith("ggp-") else RuleSource.GTP,
            "",
            f"answer {name}, and list it",
            b"known_command %b\n" % name.encode(),
            rb"= true\n\n",
        )
