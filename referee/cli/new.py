"""`ggp new-bot DIR` and `ggp new-engine DIR`: make a folder with an example that plays, a ladder and a Makefile.

The examples are the files of bots/examples and engines/examples, renamed.
"""

import re
import shutil
import sys
import tomllib
from collections.abc import Mapping
from importlib.resources import files
from pathlib import Path
from typing import NamedTuple

import click
from jinja2 import Environment, FileSystemLoader, StrictUndefined

from ggp.referee.cli.ladder_init import GAME, change_of, example, ladder_with
from ggp.referee.command_line import HELP, run_command
from ggp.referee.ladder.config import ladder_of
from ggp.referee.ladder.session import prepare_pools
from ggp.referee.ladder.toml_file import ConfigError
from ggp.referee.match.bot_spec import read_game


class Language(NamedTuple):
    """How to build and run an example.

    Attributes:
        example: Its name in the folder of examples; `source` is its name in the new folder.
        tools: The programs that it needs, with their Debian packages.
    """

    title: str
    example: str
    source: str
    run: str
    tools: Mapping[str, str]
    build: str = ""

    @property
    def kept(self) -> str:
        """The file that is the whole program, and so a version of the bot."""
        return self.run.split()[-1].removeprefix("./")

    @property
    def run_kept(self) -> str:
        """The command line of the version that was copied to the folder `kept`."""
        return " ".join([*self.run.split()[:-1], f"kept/{self.kept}"])


BOTS = {
    "py": Language("Python", "legal_bot.py", "bot.py", "python3 bot.py", {"python3": "python3"}),
    "c": Language("C", "legal_bot.c", "bot.c", "./bot", {"cc": "gcc"}, "cc -O2 -o bot bot.c"),
    "cpp": Language("C++", "legal_bot.cpp", "bot.cpp", "./bot", {"c++": "g++"}, "c++ -std=c++17 -O2 -o bot bot.cpp"),
    "rust": Language("Rust", "legal_bot.rs", "bot.rs", "./bot", {"rustc": "rustc"}, "rustc -O -o bot bot.rs"),
    "go": Language("Go", "legal_bot.go", "bot.go", "./bot", {"go": "golang-go"}, "go build -o bot bot.go"),
    "java": Language(
        "Java",
        "LegalBot.java",
        "Bot.java",
        "java -jar bot.jar",
        {"java": "default-jre-headless", "javac": "default-jdk-headless", "jar": "default-jdk-headless"},
        "javac -d classes Bot.java && jar cfe bot.jar Bot -C classes .",
    ),
    "js": Language("JavaScript", "legal_bot.js", "bot.js", "node bot.js", {"node": "nodejs"}),
    "lua": Language("Lua", "legal_bot.lua", "bot.lua", "lua bot.lua", {"lua": "lua5.4"}),
    "perl": Language("Perl", "legal_bot.pl", "bot.pl", "perl bot.pl", {"perl": "perl"}),
    "sh": Language("POSIX shell", "legal_bot.sh", "bot.sh", "sh bot.sh", {"sh": "dash"}),
}
ENGINES = {
    "py": Language("Python", "hexapawn.py", "game.py", "ggp engine game.py", {}),
    "c": Language("C", "hexapawn.c", "engine.c", "./engine", {"cc": "gcc"}, "cc -O2 -o engine engine.c"),
}
MAKE = {"make": "make"}
EXAMPLE_GAME = "hexapawn"
NAME = re.compile(r"[A-Za-z0-9_.][A-Za-z0-9_.-]{0,39}")
TAKEN = tuple(tomllib.loads(example("ladder.toml"))["bot"])  # the other bots of the ladder

_templates = Environment(
    loader=FileSystemLoader(Path(__file__).parents[1] / "tools" / "templates"),
    undefined=StrictUndefined,
    trim_blocks=True,
    lstrip_blocks=True,
    keep_trailing_newline=True,
    autoescape=False,  # it writes no HTML
)


def run_new_bot(argv: list[str]) -> int:
    """Run the command and return its exit status."""
    return run_command(new_bot, "ggp new-bot", argv)


def run_new_engine(argv: list[str]) -> int:
    """Run the command and return its exit status."""
    return run_command(new_engine, "ggp new-engine", argv)


@click.command("new-bot", context_settings=HELP)
@click.argument("folder", metavar="DIR", type=click.Path(file_okay=False, path_type=Path))
@click.option(
    "--language", default="py", show_default=True, type=click.Choice(list(BOTS)), help="Programming language."
)
@click.option("--game", default=GAME, show_default=True, help="Game of the ladder: GAME[,name=value…].")
def new_bot(folder: Path, language: str, game: str) -> int:
    """Make the folder DIR with a bot that plays, a ladder, and a Makefile that checks, plays and tests changes.

    The bot plays any legal move; it has the name of the folder. AGENTS.md says what a coding agent needs to know.
    """
    name, chosen = _name_of(folder), BOTS[language]
    if name in TAKEN:
        raise click.UsageError(f"{name} is another bot of the ladder: name the folder otherwise")
    _check_tools(chosen)
    _check_game(game)
    words = {"name": name, "game": game, "language": chosen}
    _write(
        folder,
        {
            chosen.source: _example("ggp.bots", chosen.example, {f"Legal bot in {chosen.title}": name}),
            "ladder.toml": ladder_with(name, chosen.run, game),
            "change.toml": change_of(chosen.run, chosen.run_kept, game),
            "Makefile": _filled("bot.mk", words),
            "AGENTS.md": _filled("bot.md", words),
            ".gitignore": _filled("gitignore", words),
        },
    )
    _say_next(folder, f"{name}, a bot in {chosen.title} for {game}")
    return 0


@click.command("new-engine", context_settings=HELP)
@click.argument("folder", metavar="DIR", type=click.Path(file_okay=False, path_type=Path))
@click.option(
    "--language", default="py", show_default=True, type=click.Choice(list(ENGINES)), help="Programming language."
)
def new_engine(folder: Path, language: str) -> int:
    """Make the folder DIR with the engine of a small game, a ladder, and a Makefile that checks and plays.

    Replace the rules by those of your game. AGENTS.md says what a coding agent needs to know.
    """
    name, chosen = _name_of(folder), ENGINES[language]
    _check_tools(chosen)
    words = {"name": name, "game": EXAMPLE_GAME, "language": chosen}
    _write(
        folder,
        {
            chosen.source: _example("ggp.engines", chosen.example, {}),
            "ladder.toml": _filled("engine_ladder.toml", words),
            "Makefile": _filled("engine.mk", words),
            "AGENTS.md": _filled("engine.md", words),
            ".gitignore": _filled("gitignore", words),
        },
    )
    _say_next(folder, f"{name}, an engine in {chosen.title}")
    return 0


def _name_of(folder: Path) -> str:
    """Return the name of the new folder, if nothing would be overwritten. Raises UsageError."""
    name = folder.absolute().name
    if not NAME.fullmatch(name):
        raise click.UsageError(
            f"{name!r} is no name for it: name a folder with 1 to 40 letters, digits, `_`, `.` or `-` in its name, "
            "and not `-` first"
        )
    try:
        if folder.is_dir() and not any(folder.iterdir()):
            return name
        if not folder.exists() and not folder.is_symlink():
            return name
    except OSError as error:
        raise click.UsageError(f"{folder} cannot be read: {error.strerror}: name another folder") from None
    raise click.UsageError(f"{folder} is not empty: name a folder to be made")


def _check_tools(language: Language) -> None:
    for program, package in {**MAKE, **language.tools}.items():
        if shutil.which(program) is None:
            raise click.UsageError(f"{language.title} needs {program}, which is not here: apt-get install {package}")


def _check_game(game: str) -> None:
    """Check that the engine knows the game and its options. Raises UsageError or Problem."""
    read_game(game)
    try:
        prepare_pools(ladder_of(tomllib.loads(example("ladder.toml", game)), Path("ladder.toml")))
    except ConfigError as error:
        raise click.UsageError(f"--game: {str(error).removeprefix('ladder.toml: pool.main.game: ')}") from None


def _example(package: str, name: str, more: Mapping[str, str]) -> str:
    """Return the text of an example, with the names that things have in the new folder."""
    text = (files(package) / "examples" / name).read_text(encoding="utf-8")
    changes = {
        **{f"{each}/examples/": "" for each in ("bots", "engines")},
        **more,
        **{f"hexapawn.{kind}": language.source for kind, language in ENGINES.items()},
        "-o hexapawn": "-o engine",
        "./hexapawn": "./engine",
        "legal_bot": "bot",
        "LegalBot": "Bot",
    }
    for before, after in changes.items():
        text = text.replace(before, after)
    return text


def _filled(template: str, words: Mapping[str, object]) -> str:
    return _templates.get_template(template).render(words)


def _write(folder: Path, texts: Mapping[str, str]) -> None:
    """Write the files of the folder. Raises UsageError."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for name, text in texts.items():
            (folder / name).write_text(text, encoding="utf-8")
    except OSError as error:
        where = error.filename or folder
        raise click.UsageError(f"{where} cannot be written: {error.strerror}: name another folder") from None


def _say_next(folder: Path, what: str) -> None:
    place = shutil.which("ggp")
    rows = [
        f"{folder}: {what}. Worth trying next:",
        f"  cd {folder}",
        "  make play            (the first games)",
        "  make check           (does it obey the protocol?)",
        "  make                 (what else there is; AGENTS.md says more)",
    ]
    if place is None:
        rows.insert(1, f'  PATH="{Path(sys.executable).parent}:$PATH"   (the examples start ggp)')
    click.echo("\n".join(rows))
