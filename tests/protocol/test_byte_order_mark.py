"""A UTF-8 byte-order mark, which some editors write, is forgiven at the beginning of every text that is read."""

import io
import subprocess
import sys
from pathlib import Path

import pytest

from ggp.protocol.grammar import BOM
from ggp.protocol.records import read_records
from ggp.protocol.transports.keys import new_pair, read_public, write_pair
from ggp.referee.ladder.toml_file import read_toml
from ggp.referee.match.openings import OpeningBook, file_data, read_choice
from ggp.referee.ratings.results import Results, read_results
from ggp.referee.server.lobby import keys
from ggp.referee.tools.regress.run import SuiteFile, read_suite
from tests.support.answering_program import make_responder
from tests.support.memory_match import MemoryMatch, bot


def marked(path: Path, data: bytes) -> Path:
    path.write_bytes(BOM + data)
    return path


@pytest.mark.parametrize("text", [b"C3 D4\nA1 B2\n", b"# my book\nC3 D4\n\nA1 B2\n", b"\n  C3 D4\nA1 B2"])
def test_in_a_book(tmp_path: Path, text: bytes) -> None:
    choice = read_choice(str(marked(tmp_path / "book", text)))
    book = OpeningBook(choice, file_data(choice.path))
    assert [book.opening(pair, 1).moves for pair in range(len(book))] == [("C3", "D4"), ("A1", "B2")]


def test_in_toml(tmp_path: Path) -> None:
    assert read_toml(marked(tmp_path / "ladder.toml", b'name = "x"\n')) == {"name": "x"}


def test_in_transcripts_and_lists_of_them(tmp_path: Path) -> None:
    one = marked(tmp_path / "one.tst", b"10 name\n#? [x]\n")
    listed = marked(tmp_path / "list", b"one.tst\n")
    assert [file.path for file in read_suite((f"@{listed}",))] == [one]
    assert SuiteFile(one).text == "10 name\n#? [x]\n"


@pytest.mark.parametrize("text", [b"first,second,result\na,b,1\n", b"a,b,1\n"])
def test_in_csv(text: bytes) -> None:
    results = Results()
    read_results(io.BytesIO(BOM + text), "here", results)
    assert sorted(results.names) == ["a", "b"]


def test_in_records() -> None:
    lines = MemoryMatch("go size=2 komi=0.5", bot(["resign"]), bot([])).run().lines
    (record,) = read_records([BOM + lines[0], *lines[1:]])
    assert record.end is not None and record.end.result == "W+R"


def test_in_key_files_and_registries(tmp_path: Path) -> None:
    pair = new_pair()
    write_pair(tmp_path / "a.key", pair)
    for file in (tmp_path / "a.key", tmp_path / "a.key.pub"):
        if file.exists():
            mode = file.stat().st_mode
            marked(file, file.read_bytes())
            file.chmod(mode)
    assert read_public(str(tmp_path / "a.key")) == pair.public
    registry = tmp_path / "keys.json"
    with keys.change(registry) as write:
        write(keys.allow(keys.Book(), "ann", "a", pair.public, keys.now()))
    mode = registry.stat().st_mode
    marked(registry, registry.read_bytes()).chmod(mode)
    assert keys.read(registry).keys


@pytest.mark.parametrize("cut", [1, 2, 3, 4])
def test_in_the_input_of_a_program_however_it_is_cut(cut: int) -> None:
    responder = make_responder()
    text = BOM + b"echo a\n"
    responder.receive(text[:cut])
    assert responder.next_answer() is None and responder.idle == (cut == 3)
    responder.receive(text[cut:])
    assert responder.next_answer() == b"= a\n\n"
    responder.receive(BOM + b"echo b\n")
    assert responder.next_answer() == b"? unknown command\n\n", "a mark is forgiven at the beginning only"


def test_half_a_mark_is_the_beginning_of_a_line() -> None:
    responder = make_responder()
    responder.receive(BOM[:2])
    responder.receive(b"name\n")
    assert responder.next_answer() == b"? unknown command\n\n"


@pytest.mark.slow
@pytest.mark.parametrize(
    "words", [("engine", "yugo"), ("bot", "random"), ("console", "yugo")], ids=lambda word: word[0]
)
def test_before_the_first_command(words: tuple[str, ...]) -> None:
    said = subprocess.run(
        [sys.executable, "-m", "ggp.referee.cli", *words],
        input=BOM + b"protocol_version\nquit\n",
        capture_output=True,
        timeout=60,
        check=True,
    )
    assert said.stdout.lstrip(b"\n").startswith(b"= 2\n"), said
