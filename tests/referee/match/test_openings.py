"""Books of openings: which opening a pair gets, in which order, and what is no opening."""

import os
from pathlib import Path

import pytest

from ggp.protocol.records import read_records
from ggp.referee.cli.foreign_options import translate
from ggp.referee.match.openings import BookError, OpeningBook, file_data, read_choice, shuffled
from tests.support.cli import ggp


def book(tmp_path: Path, text: str, words: str = "") -> OpeningBook:
    path = tmp_path / "book.txt"
    path.write_text(text, encoding="utf-8")
    choice = read_choice(f"{path}{words}")
    return OpeningBook(choice, file_data(choice.path))


def moves(found: OpeningBook, pairs: int, seed: int = 1) -> list[str]:
    return [" ".join(found.opening(pair, seed).moves) for pair in range(pairs)]


TEXT = "# of yugo\nA1 B2 C3\n\n  B1 # the edge\nC2 C1"


def test_openings_come_in_the_order_of_the_file_and_again(tmp_path: Path) -> None:
    found = book(tmp_path, TEXT)
    assert len(found) == 3 and moves(found, 5) == ["A1 B2 C3", "B1", "C2 C1", "A1 B2 C3", "B1"]
    assert found.opening(1, 1).place == f"{tmp_path}/book.txt, line 4"
    assert moves(book(tmp_path, TEXT, ",start=3,plies=1"), 2) == ["C2", "A1"]


def test_a_random_order_is_a_permutation_by_the_seed(tmp_path: Path) -> None:
    text = "".join(f"M{number}\n" for number in range(50))
    found = book(tmp_path, text, ",order=random")
    first, again, other = moves(found, 50), moves(found, 50), moves(found, 50, seed=2)
    assert first == again and sorted(first) == sorted(other) == sorted(f"M{number}" for number in range(50))
    assert first != other and first != sorted(first, key=lambda move: int(move[1:]))
    assert moves(found, 100)[50:] != first, "another order the second time"


@pytest.mark.parametrize("size", [1, 2, 3, 4, 5, 7, 8, 63, 64, 65, 1000])
def test_every_place_is_used_once(size: int) -> None:
    assert sorted(shuffled(place, size, "seed") for place in range(size)) == list(range(size))


def test_a_permutation_prefers_no_place() -> None:
    """The opening of the first pair over many seeds: χ² with 15 degrees of freedom, which exceeds 45 once in 14,000."""
    counts = [0] * 16
    for seed in range(3200):
        counts[shuffled(0, 16, str(seed))] += 1
    assert sum((count - 200) ** 2 / 200 for count in counts) < 45


@pytest.mark.parametrize(
    ("text", "words", "said"),
    [
        ("", "", "is empty"),
        ("# nothing\n\n", "", "holds no opening"),
        ("A1\n", ",start=2", "holds only 1 openings"),
        ("A1\n", ",start=0", "write FILE,order=random"),
        ("A1\n", ",order=often", "write FILE,order=random"),
        ("A1\n", ",plies=x", "write FILE,order=random"),
        ("A1\n", ",plies=1,plies=2", "write FILE,order=random"),
        ("A1\n", ",colour=red", "write FILE,order=random"),
    ],
)
def test_what_is_no_book(tmp_path: Path, text: str, words: str, said: str) -> None:
    with pytest.raises(BookError, match=said):
        book(tmp_path, text, words)


def test_a_pipe_is_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    for path in (tmp_path / "pipe", Path("/dev/zero")):
        with pytest.raises(BookError, match="not a regular file"):
            file_data(str(path))
    with pytest.raises(BookError, match="Is a directory"):
        file_data(str(tmp_path))


def test_the_words_of_cutechess() -> None:
    theirs = ["-openings", "file=book.txt", "order=random", "start=3", "plies=8", "-games", "4"]
    assert translate(theirs) == ["--openings", "book.txt,order=random,start=3,plies=8", "--games", "4"]


@pytest.mark.slow
def test_both_games_of_a_pair_have_its_opening_with_seats_exchanged(tmp_path: Path) -> None:
    (tmp_path / "book.txt").write_text("C3 d4\nA1 B2 A3\n", encoding="utf-8")
    record = tmp_path / "games"
    words = ("match", "yugo,size=5", "one=random", "two=random", "--games", "4", "--quiet", "--record", str(record))
    assert ggp(*words, "--openings", str(tmp_path / "book.txt")).status == 0
    matches = list(read_records(record.read_bytes().splitlines(keepends=True)))
    matches.sort(key=lambda match: int(match.start.match.rpartition("-")[2]))
    assert [match.start.opening for match in matches] == [("C3", "D4")] * 2 + [("A1", "B2", "A3")] * 2
    assert [match.start.bots[0].name for match in matches] == ["one", "two"] * 2
    assert all("book.txt, line 1, sha256 " in match.start.book for match in matches[:2])
    damaged = tmp_path / "damaged"
    damaged.write_bytes(record.read_bytes().replace(b'"move":"C3"', b'"move":"C4"', 1))
    ran = ggp(*words[:-1], str(tmp_path / "none"), "--openings", str(damaged))
    assert ran.status == 2 and "game 1: " in ran.err and "name a record that `ggp verify` accepts" in ran.err
    again = tmp_path / "again"
    more = (*words[:-1], str(again), "--openings", f"{record},plies=1")
    assert ggp(*more).status == 0, "a record is a book, too"
    assert {match.start.opening for match in read_records(again.read_bytes().splitlines(keepends=True))} <= {
        ("C3",),
        ("A1",),
    }
    assert ggp(*words, "--openings", str(tmp_path / "book.txt"), "--json").json["plies"] == 0, "it goes on"


@pytest.mark.slow
@pytest.mark.parametrize(
    ("text", "game", "said"),
    [
        ("A1 B2\nC3 C3\n", "yugo,size=5", "book.txt, line 2, ply 2, C3: illegal move: C3 is occupied"),
        ("K9\n", "yugo,size=5", "line 1, ply 1, K9: "),
        ("pass pass pass\n", "go,size=5", "line 1, ply 3, pass: the game is already over"),
        ("pass pass\n", "go,size=5", "line 1, ply 2: this move ends the game"),
        ("(;GM[1]SZ[9];B[aa])", "go,size=5", "game 1: the size is different: play go,size=9"),
        ("(;GM[1]SZ[9];B[aa])", "yugo", "game 1: the game is go, not yugo"),
    ],
)
def test_a_bad_opening_is_named_before_anything_is_played(tmp_path: Path, text: str, game: str, said: str) -> None:
    (tmp_path / "book.txt").write_text(text, encoding="utf-8")
    record = tmp_path / "games"
    ran = ggp("match", game, "random", "random", "--openings", str(tmp_path / "book.txt"), "--record", str(record))
    assert (ran.status, ran.out) == (2, "") and ran.err.count("\n") == 1 and said in ran.err and not record.exists()
