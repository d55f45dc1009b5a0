"""The documentation is true: links lead somewhere, commands exist, snippets run, generated pages are fresh.

What the pages say in prose is not checked here.
"""

import ast
import os
import re
import shlex
import shutil
import sys
import tomllib
from collections.abc import Iterator
from functools import cache
from itertools import takewhile
from pathlib import Path
from time import monotonic, sleep
from typing import NamedTuple

import pytest

from ggp.engines.registry import Registry
from ggp.protocol.commands import TABLE
from ggp.referee.cli.ladder import SUBCOMMANDS
from ggp.referee.match.player import RULES_OF_KGS
from tests.support import ROOT
from tests.support.cli import Ran, free_port, ggp_in_process, run_in
from tests.support.doc_session import Reader, check_claim, replay

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
PAGES = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")])
GAMES = set(PROJECT["entry-points"]["ggp.games"])
BIN = Path(sys.executable).parent
FENCE = re.compile(r"^```(\S*)([^\n]*)\n(.*?)^```$|^<!-- ((?:expect|like)[^\n]*)\n(.*?)^-->$", re.MULTILINE | re.DOTALL)


class Block(NamedTuple):
    """A fenced block: its language, what stands behind it, its text, its page.

    `run`: a test runs it as the reader does. `then`: after the block before it, in the same folder; TOML is added to
    its ladder.toml. `background`: as `then`, in another terminal. `expect`: what the block before it prints, as
    `doc_session.check_claim` reads it; `like`: the same with other numbers; `expect exit=1`: its last command ends so,
    and not with 0. Where the reader need not see that, it is a comment: `<!-- expect`, the lines, `-->`.
    """

    language: str
    mark: str
    text: str
    page: Path

    @property
    def is_claim(self) -> bool:
        return self.mark.split(" ")[0] in ("expect", "like")

    def check(self, printed: str, status: int) -> None:
        """Hold the claim against what the commands before it did."""
        kind, _, wanted = self.mark.partition(" exit=")
        assert status == int(wanted or 0), f"exit status {status}\n{printed}"
        check_claim(self.text, printed, kind == "like")

    @property
    def lines(self) -> list[str]:
        joined = self.text.replace("\\\n", " ")
        return [line for line in joined.splitlines() if line.strip() and not line.lstrip().startswith("#")]


BLOCKS = [
    Block(match[1] or "text", (match[2] or match[4] or "").strip(), match[3] or match[5] or "", page)
    for page in PAGES
    for match in FENCE.finditer(page.read_text(encoding="utf-8"))
]
SHELL = [block for block in BLOCKS if block.language == "sh"]
PYTHON = [block for block in BLOCKS if block.language == "python"]
RUN = [block for block in SHELL if block.mark == "run"]
CHAINS = [
    [
        block,
        *takewhile(
            lambda later: later.mark in ("then", "background") or later.is_claim,
            (later for later in BLOCKS[index + 1 :] if later.mark),
        ),
    ]
    for index, block in enumerate(BLOCKS)
    if block.mark == "run"
]
GGP = [
    (page, words)
    for page, line in [
        *((block.page, line) for block in SHELL for line in block.lines),
        *(
            (page, code)
            for page in PAGES
            for code in re.findall(r"(?<!`)`(ggp [^`\n]+)`", page.read_text(encoding="utf-8"))
        ),
    ]
    if "…" not in line and (words := shlex.split(line, comments=True))[0] == "ggp" and not words[1].isupper()
]


def _name(page: Path) -> str:
    return str(page.relative_to(ROOT))


@pytest.mark.parametrize("page", PAGES, ids=_name)
def test_links_lead_somewhere(page: Path) -> None:
    broken = []
    prose = FENCE.sub("", page.read_text(encoding="utf-8"))
    for link in re.findall(r"\]\(([^)\s]+)\)", prose):
        if link.startswith(("http://", "https://")):
            continue
        path, _, anchor = link.partition("#")
        target = page.parent / path if path else page
        if not target.exists() or (anchor and anchor not in _anchors(target)):
            broken.append(link)
    assert broken == []


def test_every_page_is_reached_from_the_readme() -> None:
    seen, todo = set(), [ROOT / "README.md"]
    while todo:
        page = todo.pop()
        if page in seen:
            continue
        seen.add(page)
        links = re.findall(r"\]\(([^)\s#]+\.md)", page.read_text(encoding="utf-8"))
        todo += [target for link in links if (target := (page.parent / link).resolve()).is_file()]
    assert [page for page in PAGES if page not in seen] == []


def test_the_readme_names_the_two_commands() -> None:
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    assert "make play" in text and "make test" in text


def test_make_targets_exist() -> None:
    """In our Makefile, or in that of a new bot's folder."""
    made = [ROOT / "Makefile", ROOT / "referee" / "tools" / "templates" / "bot.mk"]
    targets = " ".join(
        " ".join(re.findall(r"^\.PHONY: (.*)$", file.read_text(encoding="utf-8"), re.MULTILINE)) for file in made
    )
    named = {target for page in PAGES for target in re.findall(r"`make ([a-z-]+)", page.read_text(encoding="utf-8"))}
    lines = (re.sub(r"^make -C \S+", "make", line) for block in SHELL for line in block.lines)
    named |= {line.split()[1] for line in lines if line.startswith("make ")}
    assert named - set(targets.split()) == set()


@pytest.mark.parametrize(("page", "words"), GGP, ids=lambda value: shlex.join(value) if isinstance(value, list) else "")
def test_command_lines_exist(page: Path, words: list[str]) -> None:
    command, arguments = words[1], words[2:]
    if command.startswith("-"):
        assert command in _options(""), page
        return
    if command in ("help", "completion"):  # of the command line itself
        assert f"ggp {command} " in ggp_in_process("--help").out, page
        return
    assert command in PROJECT["entry-points"]["ggp.commands"], page
    if command == "ladder" and arguments and arguments[0] not in ("…", "SUB"):
        assert set(arguments[0].split("|")) <= set(SUBCOMMANDS), page
        command = f"ladder {arguments[0].partition('|')[0]}"
    if command == "bot" and arguments and re.fullmatch("[a-z]+", arguments[0]):
        command = f"bot {arguments[0]}"
    if command in ("keys", "openings") and arguments:
        command = f"{command} {arguments[0].partition('|')[0]}"
    if command == "bot" and arguments and arguments[0] in ("llm", "mcp", "uci"):  # with options of their own
        command = f"bot {arguments[0]}"
    own = takewhile(lambda word: word != "--", arguments)  # what follows is another program's
    options = [word.partition("=")[0] for word in own if word.startswith("--")]
    assert [option for option in options if option not in _options(command)] == [], page
    if command == "match" and arguments and not arguments[0].startswith("-") and arguments[0] != "GAME":
        assert arguments[0].split(",")[0] in GAMES, page


@pytest.mark.parametrize("block", PYTHON, ids=lambda block: _name(block.page))
def test_python_snippets_compile(block: Block) -> None:
    compile(ast.parse(block.text), str(block.page), "exec")


def test_protocol_names_no_unknown_command() -> None:
    known = set(TABLE) | {"kata-analyze"}  # KataGo's own
    pattern = re.compile(r"`((?:ggp|gogui|kgs|kata)-[a-z_]+)(?![\w-])")
    unknown = {
        (_name(page), name)
        for page in PAGES
        for name in pattern.findall(page.read_text(encoding="utf-8"))
        if name not in known | {"gogui-rules_", RULES_OF_KGS}
    }
    assert unknown == set()


@pytest.mark.parametrize("name", sorted(GAMES))
def test_rules_pages_name_every_option(name: str) -> None:
    """The table in a game's docstring against the options themselves: name, default, and the ends of ranges."""
    game = Registry().load(name)
    rows = {row[1]: row for row in re.findall(r"^(\| `(\w+)` \| (\S+) \| (.*))$", game.rules, re.MULTILINE)}
    assert sorted(rows) == sorted(option.name for option in game.options)
    for option in game.options:
        _, _, default, rest = rows[option.name]
        assert default == option.default
        numbers = re.findall(r"\d+", option.domain)
        assert [number for number in numbers if number not in re.findall(r"\d+", rest)] == []


@pytest.fixture
def workdir(tmp_path: Path) -> Path:
    """A folder with the files that the pages tell the reader to save."""
    for block in BLOCKS:
        if name := re.match(r"# (\w+\.(?:py|tst))", block.text):
            (tmp_path / name.group(1)).write_text(block.text, encoding="utf-8")
    shutil.copy(ROOT / "bots" / "examples" / "first_bot.py", tmp_path)  # as the first tutorial says
    return tmp_path


def _chain(chain: list[Block]) -> object:
    """The test's parameter; it needs GNU Go or OpenSpiel where its commands do."""
    lines = [line for block in chain if block.language in ("sh", "console") for line in block.lines]
    needs = {"gnugo": "gnugo", "openspiel": "pyspiel"}
    marks = [pytest.mark.needs(need) for word, need in needs.items() if any(word in line for line in lines)]
    return pytest.param(chain, marks=marks, id=f"{_name(chain[0].page)}: {chain[0].lines[0]}")


@pytest.fixture
def reader(workdir: Path) -> Iterator[Reader]:
    reader = Reader(workdir)
    yield reader
    reader.end()


@pytest.mark.slow
@pytest.mark.parametrize("chain", list(map(_chain, CHAINS)))
def test_commands_do_what_the_page_says(chain: list[Block], workdir: Path, reader: Reader) -> None:
    """The lines of blocks, one after another as the reader would type them, and what the page claims of them.

    Blocks without a claim play fewer and quicker games.
    """
    if "project's folder" in chain[0].page.read_text(encoding="utf-8"):
        for name in ("bots", "engines"):
            (workdir / name).symlink_to(ROOT / name)
    lines, patience = 0, 0.0
    for block, after in zip(chain, [*chain[1:], None], strict=True):
        claim = after if after and after.is_claim else None
        if block.language == "toml":
            with (workdir / "ladder.toml").open("a", encoding="utf-8") as file:
                file.write(f"\n{block.text}")
        elif block.language == "console":
            replay(block.text, workdir)
        elif block.mark == "background":
            for line in block.lines:
                reader.start(line)
            patience = 60.0
        elif not block.is_claim:
            lines += len(block.lines)
            _type(block, claim, reader, lines, patience)


def _type(block: Block, claim: Block | None, reader: Reader, lines: int, patience: float) -> None:
    """Where something runs in the background its effect may take a while: then the lines are typed again."""
    deadline = monotonic() + patience
    while True:
        try:
            _type_once(block, claim, reader, lines)
            return
        except AssertionError:
            if monotonic() > deadline:
                print(reader.said_in_other_terminals())
                raise
            sleep(0.5)


def _type_once(block: Block, claim: Block | None, reader: Reader, lines: int) -> None:
    printed, status = "", 0
    for line in block.lines:
        assert status == 0, printed
        # A number of games, where the page names a time: how many that are depends on the machine.
        result = reader.run(re.sub(r"--until \S+", "--games 60", line) if claim else _quick(line, lines))
        printed, status = printed + result.out + result.err, result.status
        assert "Traceback" not in printed
        if "--json" in line and not claim:
            assert result.json
    if claim:
        claim.check(printed, status)
    else:
        assert status == 0, printed


def _quick(line: str, lines: int) -> str:
    """Of options that are given twice the last counts. A ladder plays a few games more for every line before."""
    words = shlex.split(line)
    if words[:3] == ["ggp", "ladder", "run"]:
        return f"{line} --games {4 * lines}"
    if words[:2] != ["ggp", "match"]:
        return line
    games = 1 if any("gnugo" in word for word in words) else 2
    if "--games" in words:
        games = min(games, int(words[words.index("--games") + 1]))
    return f"{line} --games {games} --time 2+0.05"


@pytest.mark.parametrize(
    ("claim", "printed", "any_number", "true"),
    [
        ("rules 4", "ended by:\n  rules   4\n", False, True),
        ("rules 4", "rules 44\n", False, False),
        ("rules 4", "no rules 4\n", False, False),
        ("rules 4", "rules 3\n", True, True),
        ("a -1.5 94.3%\n…\nb {*}", "a 12 3%\nx\nb what it says\n", True, True),
        ("a\nb", "a\nx\nb\n", False, False),
        ("a 4 b", "a x b\n", True, False),
    ],
)
def test_a_claim_is_held_against_what_was_printed(claim: str, printed: str, any_number: bool, true: bool) -> None:
    if true:
        check_claim(claim, printed, any_number)
    else:
        with pytest.raises(AssertionError):
            check_claim(claim, printed, any_number)


def test_every_claim_belongs_to_a_command_that_is_run() -> None:
    held = [block for chain in CHAINS for block in chain if block.is_claim]
    assert held == [block for block in BLOCKS if block.is_claim]


@pytest.mark.slow
def test_the_15_line_bot_plays(workdir: Path) -> None:
    (block,) = [block for block in PYTHON if block.page.name == "README.md"]
    assert len([line for line in block.text.splitlines() if line.strip()]) <= 15
    command = "ggp match yugo,size=5 'me=python my_bot.py' random --games 4 --json --quiet"
    result = _run(shlex.split(command), workdir)
    assert result.status == 0 and '"rules": 4' in result.out, result


@pytest.mark.slow
def test_the_chain_can_be_checked_without_us(workdir: Path) -> None:
    """The ten lines of records.md against a record that `ggp match` wrote."""
    (block,) = [block for block in PYTHON if block.page.name == "records.md"]
    record = workdir / "chain.jsonl"
    result = _run(["ggp", "match", "go,size=5", "random", "random", "--games", "2", "--record", str(record)], workdir)
    assert result.status == 0, result
    names: dict[str, object] = {}
    exec(compile(block.text, "records.md", "exec"), names)
    check = names["check"]
    assert callable(check)
    check(record)
    lines = record.read_text(encoding="utf-8").splitlines(keepends=True)
    record.write_text("".join(lines[:3] + lines[4:]), encoding="utf-8")
    with pytest.raises(AssertionError):
        check(record)


def _anchors(page: Path) -> set[str]:
    """The anchors that a Markdown viewer makes of the headings."""
    headings = re.findall(r"^#+ (.*)$", FENCE.sub("", page.read_text(encoding="utf-8")), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


@cache
def _options(command: str) -> frozenset[str]:
    ran = ggp_in_process(*command.split(), "--help")
    assert ran.status == 0, ran.err
    return frozenset(re.findall(r"(?<![\w-])--[a-z][a-z0-9-]*", ran.out))


def _path() -> str:
    """The environment's programs first, as after `. .venv/bin/activate`."""
    return f"{BIN}:{os.environ['PATH']}:/usr/games"


def _run(words: list[str], folder: Path) -> Ran:
    path = _path()
    program = shutil.which(words[0], path=path)
    assert program is not None, words[0]
    return run_in(folder, program, *words[1:], PATH=path, HOME=str(folder), LC_ALL="C.UTF-8", COLUMNS="120")


@pytest.mark.slow
@pytest.mark.parametrize("tls", [False, pytest.param(True, marks=pytest.mark.needs("openssl"))], ids=["plain", "tls"])
def test_a_ladder_is_played_on_a_cluster_as_its_page_says(tls: bool, tmp_path: Path) -> None:
    on_page = [block for block in SHELL if block.page.name == "run-a-cluster.md"]
    _, start, play, certificate, start_tls, settings = on_page
    (line,) = play.lines
    script = [
        "trap 'kill $(jobs -p)' EXIT",
        *([*certificate.lines, *settings.lines] if tls else []),
        *(f"{line} &" for line in (start_tls if tls else start).lines),
        (line.replace("dask://", "dask+tls://") if tls else line) + " --games 4 --json",
    ]
    text = "\n".join(script).replace("ladder-host", "127.0.0.1").replace("--nworkers 4", "--nworkers 1")
    (tmp_path / "ladder.toml").write_text(
        '[pool.small]\ngame = "yugo,size=3"\ncontrol = "60"\n'
        '[bot.one]\ncommand = "random"\n[bot.two]\ncommand = "greedy"\n',
        encoding="utf-8",
    )
    path = {**os.environ, "PATH": f"{BIN}{os.pathsep}{os.environ['PATH']}"}
    done = run_in(tmp_path, "bash", "-ec", text.replace("8786", str(free_port())), **path)
    assert done.status == 0 and done.json["stored"] == 4, done
