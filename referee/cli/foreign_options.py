"""The words of cutechess and fastchess on the command line of `ggp match`: they become ours, or an error names ours."""

import re
import shlex
from collections import Counter
from pathlib import Path, PurePath

from ggp.referee.match.bot_spec import WordError
from ggp.referee.match.clock import foreign_control
from ggp.referee.ratings.sprt import TEST_WORD

_OURS = {
    "tc": "--time",
    "concurrency": "--jobs",
    "timemargin": "--margin",
    "ratinginterval": "--interval",
    "srand": "--seed",
}
_OUR_DEFAULT = ("repeat", "recover", "use-affinity")
_OTHER_WORDS = {
    "pgnout": "write --record FILE; `ggp export` turns it into SGF and other forms",
    "sgfout": "write --record FILE; `ggp export --sgf` turns it into SGF",
    "variant": "name the game first: ggp match GAME BOT BOT",
    "event": "a record has the names of its bots and its time only",
    "maxmoves": "write --max-plies, which counts the plies of both sides",
    "tournament": "every two bots play; with --gauntlet NAME only NAME plays the others",
    "config": "the same command with the same --record goes on",
    "resume": "the same command with the same --record goes on",
    "randomseed": "write --seed N",
    "autosaveinterval": "every match is on the disk when it ends: write --record FILE",
    "epdout": "write --record FILE; `ggp export` turns it into other forms",
    "livepgnout": "write --record FILE; `ggp console --match FILE` follows a match while it is played",
    "site": "a record has the names of its bots and its time only",
    "noswap": "the bots exchange the seats in every pair",
    "reverse": "the bots exchange the seats in every pair",
    "alternate": "the bots exchange the seats in every pair",
    "seeds": "with --gauntlet NAME only NAME plays the others",
    "scoreinterval": "write --interval N",
    "outcomeinterval": "write --verbose, which shows every ply as it is played",
    "debug": "write --verbose=all, or --log DIR",
    "startup-ms": "write --budget start=SECONDS",
    "ucinewgame-ms": "write --budget new=SECONDS",
    "force-concurrency": "write --jobs N, which may be more than the cores",
    "affinity": "each match has a core; with --no-pin none",
    "tb": "the engine knows the rules: it ends a match by them, and by --resign and --draw",
    "tbpieces": "the engine knows the rules: it ends a match by them, and by --resign and --draw",
    "bookmode": "write --openings FILE,order=random or order=sequential",
    "black": "write the bots after the game: ggp match go,size=9 BOT BOT",
    "white": "write the bots after the game: ggp match go,size=9 BOT BOT",
    "size": "write options behind the game: go,size=9,komi=7",
    "komi": "write options behind the game: go,size=9,komi=7",
    "sgffile": "write --record FILE; `ggp export --sgf` turns it into SGF",
    "referee": "an engine judges every match: --engine names another one",
    "threads": "write --jobs N",
}
_SHOWN = ("plies", "all", "engine")  # values of --verbose that may follow it after a blank
_RULE = re.compile("(winrate|score|plies|after|movecount|movenumber|twosided)=")
# Options that take the words after them, as far as they are of this form.
_WITH_WORDS = {"sprt": TEST_WORD, "resign": _RULE, "draw": _RULE}
_BOOK = re.compile("(file|format|order|start|plies|policy)=.")
_SETTING = re.compile(
    r"(cmd|name|args?|tc|st|nodes|depth|dir|restart|proto|timemargin|rating|tscale|trust|whitepov|initstr|stderr|book|"
    r"bookdepth|option\.[^=]+)=.|ponder$"
)
# Settings of one bot, or of each, and ours: the keys of --bot.
_OF_A_BOT = {"tc": "time", "st": "time", "nodes": "nodes", "dir": "cwd", "restart": "restart", "ponder": "ponder"}
_RESTARTS = {"on": "true", "off": "false"}


def translate(argv: list[str]) -> list[str]:  # noqa: C901 - one case for each kind of option
    """Replace the options of cutechess and fastchess by ours. Raises WordError."""
    left, words, bots, rounds, games = list(argv), list[str](), _Bots(), "", ""
    while left and left[0] != "--":
        word = left.pop(0)
        name = word.lstrip("-") if re.match(r"--?[a-z]{2}", word) else ""
        name, equals, value = name.partition("=")
        if equals and name in ("rounds", "games", *_OURS):
            left.insert(0, value)
        if name in _WITH_WORDS and not equals:
            values = [word for value in _take(left, _WITH_WORDS[name]) for word in _rule_word(value)]
            words += [f"--{name}", *([",".join(values)] if values else [])]
        elif name == "each":
            words += _each(_take(left, _SETTING))
        elif word == "-engine" or (name == "engine" and left and _SETTING.match(left[0])):
            bots.add(_take(left, _SETTING))
        elif word == "-wait" and left and left[0].isdigit():
            words += ["--bot", f"*,wait={int(left.pop(0)[:9]) / 1000:g}"]
        elif name == "openings" and left and left[0].startswith("file="):
            words += ["--openings", _opening_words(_take(left, _BOOK))]
        elif name == "rounds" and left:
            rounds = left.pop(0)
        elif name == "games" and left:
            games = left.pop(0)
        elif name == "tc" and left:
            words += ["--time", _control(f"{word.partition('=')[0]} {left[0]}", left.pop(0))]
        elif name in _OURS:
            words.append(_OURS[name])
        elif word == "--verbose" and not (left and left[0] in _SHOWN):
            words.append("--verbose=plies")  # what follows is GAME or a BOT, and no value
        elif name in _OUR_DEFAULT:
            left[:1] = [] if left and left[0].isdigit() else left[:1]
        elif name in _OTHER_WORDS:
            raise WordError(f"{word[:80]} is an option of another program: {_OTHER_WORDS[name]}", code="other-word")
        elif name and not word.startswith("--"):
            raise WordError(f"there is no option {word[:80]}: ggp match --help lists them", code="other-word")
        else:
            words.append(word)
    return [*words, *_games(rounds, games), *bots.words, *left]


def _rule_word(word: str) -> list[str]:
    """Translate a word of a rule of adjudication: they count the moves of one side, we count plies."""
    name, _, value = word.partition("=")
    if name == "twosided":
        return []
    ours = {"movecount": "plies", "movenumber": "after"}.get(name)
    return [f"{ours}={2 * int(value)}" if ours and value.isdecimal() and len(value) < 6 else word]


def _take(left: list[str], form: re.Pattern[str]) -> list[str]:
    """Remove and return the first words that have this form."""
    number = next((place for place, word in enumerate(left) if not form.match(word)), len(left))
    taken, left[:number] = left[:number], []
    return taken


def _games(rounds: str, games: str) -> list[str]:
    """Return the words for so many rounds of so many games, by default two with seats exchanged."""
    if rounds.isdecimal() and (games or "2").isdecimal() and len(rounds + games) < 12:
        return ["--games", str(int(rounds) * int(games or 2))]
    return ["--games", rounds or games] if rounds or games else []


def _opening_words(settings: list[str]) -> str:
    """Translate `file=FILE order=random …` to `FILE,order=random…`."""
    said = dict(setting.partition("=")[::2] for setting in settings)
    if "file" not in said or said.pop("format", "") in ("epd", "pgn"):
        raise WordError(
            "-openings: write file=FILE, with the moves of an opening in each line; a record or SGF will do as well",
            code="other-word",
        )
    said.pop("policy", None)  # an opening for each pair, as here
    return ",".join([said.pop("file"), *(f"{name}={value}" for name, value in said.items())])


def _each(settings: list[str]) -> list[str]:
    """Translate settings of every bot to options of the series, or to `--bot *`."""
    words, own = list[str](), list[str]()
    for setting in settings:
        name, _, value = setting.partition("=")
        if name == "tc":
            words += ["--time", _control(f"--each tc={value}", value)]
        elif name in _OURS:
            words += [_OURS[name], value]
        elif name == "st":
            words += ["--time", f"{value}/move"]
        elif name in ("cmd", "name", "arg", "args"):
            raise WordError(f"--each {name}=…: write it of each bot, as in -engine {name}=…", code="other-word")
        else:
            own += _setting("--each", name, value)
    return [*words, *(["--bot", ",".join(["*", *own])] if own else [])]


class _Bots:
    """The bots of `-engine` words: a BOT each, and its settings for --bot."""

    def __init__(self) -> None:
        self.words: list[str] = []
        self._names = Counter[str]()
        self._given = set[str]()  # of these, what name= says

    def add(self, settings: list[str]) -> None:
        """Add the bot of one `-engine`. Raises WordError."""
        command, arguments, name, folder, own = "", list[str](), "", "", list[str]()
        for setting in settings:
            key, _, value = setting.partition("=")
            if key == "cmd":
                command = value
            elif key == "name":
                name = value
            elif key == "dir":
                folder = value
                own += _setting("-engine", key, value)
            elif key in ("arg", "args"):
                arguments.append(shlex.quote(value) if key == "arg" else value)
            else:
                own += _setting("-engine", key, value)
        if folder:
            command, arguments = _beside(folder, command), [_file_beside(folder, words) for words in arguments]
        program = PurePath(command.partition(":")[0].partition(" ")[0]).stem
        given = bool(name)
        name = re.sub(r"[^A-Za-z0-9_.-]+", "-", name or program).strip("-")
        if not (command.strip() and name):
            raise WordError("-engine: write cmd=COMMAND, and name=NAME of letters and digits", code="other-word")
        if name in self._given or (given and self._names[name]):
            raise WordError(f"-engine name={name}: two bots have this name: give each its own", code="two-names")
        if given:
            self._given.add(name)
        self._names[name] += 1
        if self._names[name] > 1:
            name = f"{name}-{self._names[name]}"
        self.words.append(f"{name}={' '.join([command, *arguments])}")
        if own:
            self.words += ["--bot", ",".join([name, *own])]


def _beside(folder: str, command: str) -> str:
    """Return the command as cutechess and fastchess start it: they look for a relative program in `dir`."""
    program, blank, rest = command.partition(" ")
    path = PurePath(folder, program)
    if program.startswith(("/", "~")) or not ("/" in program or Path(path).is_file()):
        return f"{program}{blank}{_file_beside(folder, rest)}"
    return f"{shlex.quote(str(path) if path.is_absolute() else f'./{path}')}{blank}{_file_beside(folder, rest)}"


def _file_beside(folder: str, words: str) -> str:
    """Return the arguments with paths for files of `dir`, such as an interpreter's script: ours are relative to us."""
    try:
        parts = shlex.split(words)
    except ValueError:  # a quote is open: whoever reads the whole command says so
        return words
    found = [str(Path(folder, part)) if Path(folder, part).is_file() else part for part in parts]
    return words if found == parts else shlex.join(found)


def _setting(word: str, name: str, value: str) -> list[str]:
    """Translate a setting of a bot; return [] for what is always so here. Raises WordError."""
    if name == "proto" and value == "gtp":
        return []
    if name == "proto":
        raise WordError(f"{word} proto={value[:40]}: bots speak GTP here; others need an adapter", code="other-word")
    if name == "restart" and value == "auto":
        return []
    if name.startswith("option."):
        return [f"options.{name.partition('.')[2]}={value}"]
    if name == "timemargin":
        raise WordError(f"{word} timemargin=…: it is the same for every bot: write --margin", code="other-word")
    if name not in _OF_A_BOT:
        raise WordError(
            f"{word} {name[:40]}=…: of a bot there are cmd=, name=, arg=, tc=, st=, nodes=, dir=, restart=, ponder and "
            'option.NAME=; write other settings of a bot in its command line, as in "./my_bot --threads 2"',
            code="other-word",
        )
    if name == "tc":
        return [f"time={_control(f'{word} tc={value}', value)}"]
    ours = {"ponder": "true", "st": f"{value}/move", "restart": _RESTARTS.get(value, value)}.get(name, value)
    return [f"{_OF_A_BOT[name]}={ours}"]


def _control(word: str, value: str) -> str:
    """Translate a time control. Raises WordError for a period of moves with an increment: there is none here."""
    ours = foreign_control(value)
    moves, slash, rest = ours.partition("/")
    main, plus, increment = rest.partition("+")
    if slash and plus and moves.isdigit() and "x" not in rest:
        raise WordError(
            f"{word[:80]}: a period of moves has no increment here: write {moves}/{main} or {main}+{increment}",
            code="other-word",
        )
    return ours
