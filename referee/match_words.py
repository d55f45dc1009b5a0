"""The words of cutechess and fastchess on the command line of `ggp match`: they become ours, or an error names ours."""

import re

from referee.play.bot_spec import WordError

_OURS = {"tc": "--time", "concurrency": "--jobs", "timemargin": "--margin", "ratinginterval": "--interval"}
_OUR_DEFAULT = ("repeat", "recover", "wait")  # the first two are what we do; nothing waits between games here
_OTHER_WORDS = {
    "engine": 'name bots by words after the game: ggp match go NAME="COMMAND" NAME="COMMAND"',
    "pgnout": "write --record FILE; `ggp export` turns it into SGF and other forms",
    "sgfout": "write --record FILE; `ggp export --sgf` turns it into SGF",
    "variant": "name the game first: ggp match GAME BOT BOT",
    "event": "a record has the names of its bots and its time only",
    "maxmoves": "write --max-plies, which counts the plies of both sides",
    "tournament": "every two bots play; with --gauntlet NAME only NAME plays the others",
    "config": "the same command with the same --record goes on",
    "resume": "the same command with the same --record goes on",
}
SPRT_WORD = re.compile(r"(elo0|elo1|alpha|beta)=-?[0-9.]+$|model=[a-z]+$")
# Options that take the words after them, as far as they are of this form.
_WITH_WORDS = {"sprt": SPRT_WORD, "resign": re.compile(r"[a-z]+="), "draw": re.compile(r"[a-z]+=")}
_SETTING = re.compile(r"[a-z]+(\.[^=]+)?=.")


def translate(argv: list[str]) -> list[str]:
    """The command line with their words replaced by ours. Raises WordError."""
    left, words, rounds, games = list(argv), list[str](), "", ""
    while left and left[0] != "--":
        word = left.pop(0)
        name = word.lstrip("-") if re.match(r"--?[a-z]{2}", word) else ""
        name, equals, value = name.partition("=")
        if equals and name in ("rounds", "games", *_OURS):
            left.insert(0, value)
        if name in _WITH_WORDS and not equals:
            values = _take(left, _WITH_WORDS[name])
            words += [f"--{name}", *([",".join(values)] if values else [])]
        elif name == "each":
            words += [word for setting in _take(left, _SETTING) for word in _each(setting)]
        elif name == "openings" and left and left[0].startswith("file="):
            words += ["--openings", _opening_words(_take(left, _SETTING))]
        elif name == "rounds" and left:
            rounds = left.pop(0)
        elif name == "games" and left:
            games = left.pop(0)
        elif name in _OURS:
            words.append(_OURS[name])
        elif name in _OUR_DEFAULT:
            left[:1] = [] if left and left[0].isdigit() else left[:1]
        elif name == "engine" and not (left and re.match(r"(cmd|name|conf|dir|proto)=", left[0])):
            words.append(word)
        elif name in _OTHER_WORDS:
            raise WordError(f"{word[:80]} is a word of another program: {_OTHER_WORDS[name]}", code="other-word")
        else:
            words.append(word)
    return [*words, *_games(rounds, games), *left]


def _take(left: list[str], form: re.Pattern[str]) -> list[str]:
    """The first words as far as they are of this form; they leave the list."""
    number = next((place for place, word in enumerate(left) if not form.match(word)), len(left))
    taken, left[:number] = left[:number], []
    return taken


def _games(rounds: str, games: str) -> list[str]:
    """The words for so many rounds, of so many games each if both are given; two otherwise, with seats exchanged."""
    if rounds.isdecimal() and (games or "2").isdecimal() and len(rounds + games) < 12:
        return ["--games", str(int(rounds) * int(games or 2))]
    return ["--games", rounds or games] if rounds or games else []


def _opening_words(settings: list[str]) -> str:
    """`FILE,order=random…` of `file=FILE order=random…`."""
    said = dict(setting.partition("=")[::2] for setting in settings)
    if "file" not in said or said.pop("format", "") in ("epd", "pgn"):
        raise WordError(
            "-openings: write file=FILE, with the moves of an opening in each line; a record or SGF will do as well",
            code="other-word",
        )
    said.pop("policy", None)  # an opening for each pair, as here
    return ",".join([said.pop("file"), *(f"{name}={value}" for name, value in said.items())])


def _each(setting: str) -> list[str]:
    name, _, value = setting.partition("=")
    if name not in _OURS:
        raise WordError(
            f"--each {name}=…: only tc= and timemargin= are for every bot; write other settings of a bot in its "
            'command line, as in "./my_bot --threads 2"',
            code="other-word",
        )
    return [_OURS[name], value]
