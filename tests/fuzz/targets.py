"""Every parser of text that strangers write: a few samples, what it may raise, and what must hold of what it takes."""

import gzip
import io
import shutil
import tarfile
import tempfile
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import NamedTuple, cast

import msgspec

from ggp.bots.adapters.answers import MAX_WORD, read_answer
from ggp.bots.adapters.uci_dialogue import read_info, read_option
from ggp.bots.foreign_game import EngineTable, Node
from ggp.engines.game import OptionError
from ggp.protocol import grammar, lobby_wire, regression, sgf, spectator_wire
from ggp.protocol.answer_splitter import AnswerSplitter
from ggp.protocol.drawing import svg, text
from ggp.protocol.drawing.scene import DrawingError, read_scene
from ggp.protocol.errors import CommandFailed, RemoteProtocolError
from ggp.protocol.records import RecordError, gtp_script, read_records
from ggp.protocol.responder import Responder
from ggp.protocol.stderr_lines import StderrLines
from ggp.protocol.transports.transcript import read_lines
from ggp.referee.cli.ladder_init import example as ladder_example
from ggp.referee.ladder.config import read_ladder
from ggp.referee.ladder.toml_file import ConfigError
from ggp.referee.match.analysis import read_analysis
from ggp.referee.match.bot_spec import LaunchError, WordError, read_bot, read_game
from ggp.referee.match.clock import SettingError, TimeControl
from ggp.referee.match.openings import BookChoice, BookError, OpeningBook, read_choice
from ggp.referee.match.sandbox.unpack import SourceRefused, unpack
from ggp.referee.server.lobby import keys
from ggp.referee.server.lobby.config import example as lobby_example
from ggp.referee.server.lobby.config import read_lobby
from ggp.referee.tools.archive.game_files import CannotImport, script_games, sgf_games
from ggp.referee.tools.tap.recording import BadRecording, read_sessions
from tests.support import ROOT
from tests.support.drawn_scenes import KINDS
from tests.support.sample_records import RECORD


class FuzzTarget(NamedTuple):
    """`take` reads an input, and raises what is `promised` for one that is invalid."""

    name: str
    samples: Callable[[], list[bytes]]
    take: Callable[[bytes], object]
    promised: tuple[type[Exception], ...] = ()


@cache
def folder() -> Path:
    """For parsers of files; it lasts as long as this process."""
    kept = tempfile.TemporaryDirectory(prefix="fuzz-")
    _folders.append(kept)
    return Path(kept.name)


_folders: list[tempfile.TemporaryDirectory[str]] = []


def file_with(name: str, data: bytes) -> Path:
    path = folder() / name
    path.write_bytes(data)
    return path


def answers(data: bytes) -> None:
    """However it is cut, the same answers come."""
    whole, pieces = AnswerSplitter(), AnswerSplitter()
    try:
        expected = whole.receive(data) + whole.end()
    except RemoteProtocolError:
        return
    came = []
    for at in range(0, len(data), 7):
        came += pieces.receive(data[at : at + 7])
    assert came + pieces.end() == expected
    for answer in expected:
        grammar.parse_reply(answer[:-2])


def commands(data: bytes) -> None:
    """Each command of a line gets one answer."""
    problems: list[Exception] = []
    responder = Responder("fuzz", "1", {"echo": lambda arguments: " ".join(arguments)}, problems.append)
    responder.receive(data + b"\n")
    while (answer := responder.next_answer()) is not None:
        assert answer[:1] in (b"=", b"?") and answer.find(b"\n\n") == len(answer) - 2
    assert responder.closed or responder.idle
    assert not problems, problems


def records(data: bytes) -> None:
    for record in read_records(io.BytesIO(data)):
        assert b"".join(one.lines() for one in [record]) and gtp_script(record)


def damaged_records(data: bytes) -> None:
    """With an ear for damage it raises nothing."""
    said: list[str] = []
    for record in read_records(io.BytesIO(data), said.append, said.append):
        assert record.lines()
    assert all("\n" not in line for line in said)


def smart_game(data: bytes) -> None:
    decoded = sgf.decode(data)
    for read in (sgf.main_lines, sgf.trees):
        for _ in read(decoded):
            pass


def imported(data: bytes) -> None:
    for found in sgf_games(data) if data.lstrip().startswith(b"(;") else script_games(data):
        assert found


def scene(data: bytes) -> None:
    drawn = read_scene(data)
    assert text.draw(drawn) is not None and svg.draw(drawn).startswith("<svg")


def transcript(data: bytes) -> None:
    script = regression.parse(data.decode("utf-8", "replace"))
    for step in script.steps:
        regression.judge(step, None)


def pattern(data: bytes) -> None:
    regression.matches(regression.compile_pattern(data.decode("utf-8", "replace")), "a sample of text" * 20)


def dialogue(data: bytes) -> None:
    for _ in read_lines(data.decode("utf-8", "replace").split("\n")):
        pass


def recording(data: bytes) -> None:
    read_sessions(file_with("recording.log", data))


def lobby_message(data: bytes) -> None:
    """The first byte is the frame of the kind."""
    message = lobby_wire.decode([data[:1], data[1:]])
    lobby_wire.encode(message)


def published(data: bytes) -> None:
    spectator_wire.read_request(data)
    spectator_wire.read_published(data)


def ladder_file(data: bytes) -> None:
    read_ladder(file_with("ladder.toml", data))


def lobby_file(data: bytes) -> None:
    read_lobby(file_with("lobby.toml", data))


def key_file(data: bytes) -> None:
    keys.read(file_with("keys.json", data))


def words(data: bytes) -> None:
    line = data.decode("utf-8", "replace")
    for read in (read_game, read_bot, TimeControl.parse):
        try:
            read(line)
        except (WordError, LaunchError, SettingError):
            continue


def analysis(data: bytes) -> None:
    read_analysis(data.decode("utf-8", "replace"))


def stderr(data: bytes) -> None:
    lines = StderrLines()
    for at in range(0, len(data), 100):
        lines.add(data[at : at + 100])
    assert all(line.isprintable() for line in lines.lines(1.0))


def openings(data: bytes) -> None:
    book = OpeningBook(BookChoice("book", "0" * 64), data)
    for pair in range(min(3, len(book))):
        book.opening(pair, 1)


def archive(data: bytes) -> None:
    """The tar, compressed here: a changed sum would hide all behind it. Nothing gets out of the folder."""
    outside = sorted(path.name for path in folder().iterdir() if path.name != "unpacked")
    place = folder() / "unpacked"
    shutil.rmtree(place, ignore_errors=True)
    place.mkdir()
    try:
        unpack(file_with("source.tar.gz", gzip.compress(data, 1)), place)
    finally:
        assert sorted({*outside, "source.tar.gz"}) == sorted(
            path.name for path in folder().iterdir() if path.name != "unpacked"
        )


def archives() -> list[bytes]:
    """A file, a folder, a link; without compression."""
    made = io.BytesIO()
    with tarfile.open(fileobj=made, mode="w") as tar:
        for name, kind, link in MEMBERS:
            member = tarfile.TarInfo(name)
            member.type, member.linkname = kind, link
            member.size = 5 if kind == tarfile.REGTYPE else 0
            tar.addfile(member, io.BytesIO(b"int a"))
    return [made.getvalue()[:4096]]


def model_answer(data: bytes) -> None:
    """A move that is found is a word of the answer, or a number in it."""
    text = data.decode("utf-8", "replace")
    for cut in (False, True):
        found = read_answer(text, ("D4", "pass"), cut)
        assert bool(found.word) != bool(found.problem) and len(found.word) <= MAX_WORD
        assert len(found.word.split()) <= 1


def engine_option(data: bytes) -> None:
    words = data.decode("utf-8", "replace").split()
    read_option(words).check("5")


def engine_info(data: bytes) -> None:
    msgspec.json.encode(read_info(data.decode("utf-8", "replace").split()))


def status_line(data: bytes) -> None:
    """A number of what is taken is one."""
    node = Node(cast(EngineTable, None), None, "", 0)  # nothing is asked of its engine
    node.take_status(data.decode("utf-8", "replace"))
    assert int(node.status("seat")) >= 0 and int(node.status("winner") or 0) >= 0


def opening_words(data: bytes) -> None:
    read_choice(str(file_with("book.txt", b"D4\n")) + data.decode("utf-8", "replace").replace("\0", ""))


def dialogues() -> list[bytes]:
    paths = sorted((ROOT / "tests" / "transcripts").glob("*.tst"))
    return [path.read_bytes()[:4000] for path in paths[:6]]


def scenes() -> list[bytes]:
    return [msgspec.json.encode(made()) for made in KINDS.values()]


MEMBERS = (("src", tarfile.DIRTYPE, ""), ("src/a.c", tarfile.REGTYPE, ""), ("b", tarfile.SYMTYPE, "src"))
SGF = [
    b"(;GM[1]FF[4]SZ[9]KM[6.5]RE[B+3.5]PB[a]PW[b];B[dd];W[ee](;B[tt])(;B[];W[]))",
    b"(;FF[4]GM[1]SZ[19]HA[2]AB[dd][pp]TM[600]OT[5x30 byo-yomi];W[dp]BL[30]C[caf\\]e])",
]
TOML = [
    b"""store = "x.db"
[pool.a]
game = "yugo,size=5"
control = "10+0.1"
[bot.b]
command = "random"
[bot.c]
command = "greedy"
"""
]
HELLO = lobby_wire.encode(lobby_wire.Hello(name="bot", games=("yugo", "go"), session="a1"))
WORDS = [b"yugo,size=7,komi=0", b"name=greedy:playouts=50", b"600+25/300", b"tcp://a:1"]
WIRE = [b"".join(HELLO), b"C1 genmove black\n", b"R=1 D4\n\n", b"Eline of stderr\n", b"Bgone"]
PUBLISHED = [spectator_wire.publish_line(line) for line in RECORD.lines().splitlines()]
KEYS = [
    b'{"keys":[],"limits":{}}',
    b'{"keys":[{"owner":"a","bots":["b"],"created":"2026-01-01T00:00:00Z","key":"' + b"x" * 40 + b'"}]}',
]
TAPPED = [
    b"# ggp tap 1 2026-01-01T00:00:00 12.5 [\"bot\"]\n12.6 > b'1 name\\n'\n12.7 < b'=1 x\\n\\n'\n# 13.0 exit status 0\n"
]
SCRIPT = b"boardsize 9\nplay b D4\nplay w E5\n"
LINES = [b"1 name\necho a b # c\n\n7 genmove black\nknown_command x\nquit\n", b"list_commands\n" * 5]
ANSWERS = [b"hello\n=1 D4\n\n?2 no\n\n", b"= a\nb\n\n=\n\n", b"=12 \r\n\r\n"]
MODEL_ANSWERS = [b'One {"move": "D4"}, or ```pass```', b"<think>{</think> {'move': 4}"]
STATUS_LINES = [b"phase=play to_play=black seat=1 ply=0 winner=2"]

TARGETS = (
    FuzzTarget("answers", lambda: ANSWERS, answers),
    FuzzTarget("commands", lambda: LINES, commands),
    FuzzTarget("records", lambda: [RECORD.lines()], records, (RecordError,)),
    FuzzTarget("damaged-records", lambda: [RECORD.lines(), RECORD.lines() * 2], damaged_records),
    FuzzTarget("sgf", lambda: SGF, smart_game, (sgf.SgfError,)),
    FuzzTarget(
        "import", lambda: [*SGF, b"boardsize 9\nplay b D4\nplay w E5\n", RECORD.lines()], imported, (CannotImport,)
    ),
    FuzzTarget("scene", scenes, scene, (DrawingError,)),
    FuzzTarget("transcript", dialogues, transcript, (regression.TranscriptError,)),
    FuzzTarget("pattern", lambda: [b"B\\+[0-9]+", b"(a|b)*c", b".*"], pattern, (regression.PatternError,)),
    FuzzTarget("dialogue", lambda: TAPPED, dialogue, (ValueError,)),
    FuzzTarget("recording", lambda: TAPPED, recording, (BadRecording,)),
    FuzzTarget("lobby-message", lambda: WIRE, lobby_message, (lobby_wire.FrameError,)),
    FuzzTarget("published", lambda: PUBLISHED, published, (spectator_wire.SpectatingError,)),
    FuzzTarget("ladder-file", lambda: [*TOML, ladder_example("ladder.toml").encode()], ladder_file, (ConfigError,)),
    FuzzTarget("lobby-file", lambda: [*TOML, lobby_example("lobby.toml").encode()], lobby_file, (ConfigError,)),
    FuzzTarget("key-file", lambda: KEYS, key_file, (keys.RegistryError,)),
    FuzzTarget(
        "words", lambda: [b"yugo,size=7,komi=0", b"name=greedy:playouts=50", b"600+25/300", b"tcp://a:1"], words
    ),
    FuzzTarget("analysis", lambda: [b'{"winrate":0.5,"pv":["D4"]}', b'{"score":1e3}'], analysis),
    FuzzTarget("stderr", lambda: [b"a line\nanother \x1b[2J\n\xff\n"], stderr),
    FuzzTarget("archive", archives, archive, (SourceRefused,)),
    FuzzTarget("model-answer", lambda: MODEL_ANSWERS, model_answer),
    FuzzTarget("uci-option", lambda: [b"name Skill type spin min 0 max 9"], engine_option, (OptionError,)),
    FuzzTarget("uci-info", lambda: [b"depth 3 score cp -20 nodes 9 pv e2e4 e7e5", b"score mate 2"], engine_info),
    FuzzTarget("status-line", lambda: STATUS_LINES, status_line, (CommandFailed,)),
    FuzzTarget("openings", lambda: [b"D4 E5 # one\n\n# nothing\nC3 pass\n"], openings, (BookError,)),
    FuzzTarget("opening-words", lambda: [b",order=random,start=1,plies=8"], opening_words, (BookError,)),
)
