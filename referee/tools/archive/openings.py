"""The openings of a series: random plies, a book, games of a record or SGF file, or a recorded position."""

from collections.abc import Iterable, Mapping

import click

from ggp.protocol.printed import without_password
from ggp.protocol.safe_files import without_mark
from ggp.referee.match.openings import BookChoice, BookError, OpeningBook, file_data, read_choice

_MOST_PLIES = 1000  # of an opening


def read_openings(text: str, game: str, options: Mapping[str, str]) -> tuple[int, OpeningBook | None]:
    """Parse --openings: a number of random plies, or a book.

    Raises:
        BookError: The book is unusable.
        UsageError: The number is too large.
    """
    if text.isdecimal():
        if len(text) > 4 or int(text) > _MOST_PLIES:
            raise click.UsageError(f"--openings {text[:20]}: write at most {_MOST_PLIES} random plies")
        return int(text), None
    choice = read_choice(text)
    data = file_data(choice.path)
    begins = without_mark(data[:4])[:1]
    if begins in (b"{", b"("):
        return 0, _book_of_games(choice, begins == b"{", game, options)
    return 0, OpeningBook(choice, data)


def _book_of_games(choice: BookChoice, recorded: bool, game: str, options: Mapping[str, str]) -> OpeningBook:
    """Return a book of the games in a record or an SGF file.

    Raises:
        BookError: A game is damaged, or of another game or size.
    """
    from ggp.referee.tools.archive.game_files import CannotImport, file_games  # slow to import, and seldom needed
    from ggp.referee.tools.archive.places import open_matches

    lines, path = list[str](), choice.path

    def damaged(reason: str) -> None:
        raise BookError(f"{path}, game {len(lines) + 1}: {reason}: name a record that `ggp verify` accepts")

    def add(found: str, here: Mapping[str, str], moves: Iterable[str]) -> None:
        where = f"{path}, game {len(lines) + 1}"
        if found != game:
            raise BookError(f"{where}: the game is {found}, not {game}")
        if (size := here.get("size", "")) != options.get("size", ""):
            played = f"{game},size={size}" if size else f"{game} of the default size"
            raise BookError(f"{where}: the size is different: play {played}")
        lines.append(" ".join(moves))

    if recorded:
        for record in open_matches(path, lambda piece: None, damaged):
            add(record.start.game, record.start.options, (ply.move for ply in record.plies))
    else:
        for found in file_games(path):
            if isinstance(found, CannotImport):
                raise BookError(f"{path}, game {len(lines) + 1}: {found}")
            add(found.game, found.options, (move.move for move in found.moves))
    return OpeningBook(choice, "\n".join(lines).encode(), "game")


def read_position(place: str, game: str, options: Mapping[str, str]) -> tuple[dict[str, str], tuple[str, ...]]:
    """Return the options of a recorded match, and its plies up to a place.

    Args:
        place: The place, `FILE[#MATCH][@PLY]`.
        game: The game that the user named.
        options: The options that the user gave, which may only repeat those of the record.

    Raises:
        UsageError: The game or an option differs from the record.
    """
    from ggp.referee.tools.archive.places import open_match  # imports the store

    source = open_match(place)
    start, place = source.record.start, without_password(place)
    if start.game != game:
        raise click.UsageError(f"--from {place}: the recorded game is {start.game}: name it instead of {game}")
    for name, value in options.items():
        if start.options.get(name) != value:
            raise click.UsageError(f"--from {place}: options come from the record: remove {name}={value}")
    return dict(start.options), tuple(ply.move for ply in source.record.plies[: source.ply])
