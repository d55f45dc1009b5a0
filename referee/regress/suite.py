"""The transcripts that `ggp regress` is given: files, folders, and suites named by `@FILE`; they are read, not run."""

from pathlib import Path

from protocol.printed import without_password
from protocol.regression import MAX_FILE, Script, TranscriptError, parse

MAX_FILES = 10_000


class SuiteError(Exception):
    """A file cannot be used; str() names it and says what is wrong."""


class Transcript:
    """One file: `path` as it was named, its text as it is on disk, and what was read of it."""

    def __init__(self, path: Path) -> None:
        """Raises SuiteError."""
        self.path = path
        try:
            if path.stat().st_size > MAX_FILE:
                raise SuiteError(f"{path}: a transcript has at most {MAX_FILE >> 20} MiB")
            # Bytes that are not UTF-8 are written back as they were, and line ends too.
            self.text = path.read_bytes().decode("utf-8", "surrogateescape")
        except OSError as error:
            raise SuiteError(f"{without_password(str(path))} cannot be read: {error.strerror}") from None
        try:
            self.script: Script = parse(self.text)
        except TranscriptError as error:
            raise SuiteError(f"{path}:{error.line}: {error.what}") from None


def read_suite(words: tuple[str, ...]) -> list[Transcript]:
    """The transcripts of the words: a file, a folder (every *.tst in it), or `@FILE` that names such, one a line.

    Raises SuiteError for the first that cannot be read.
    """
    paths: list[Path] = []
    _collect(list(words), paths, ())
    return [Transcript(path) for path in paths]


def _collect(words: list[str], paths: list[Path], inside: tuple[Path, ...]) -> None:
    for word in words:
        path = Path(word.removeprefix("@"))
        if word.startswith("@"):
            if path.resolve() in inside:
                raise SuiteError(f"{path} names itself")
            lines = [line.strip() for line in _read(path).splitlines()]
            named = [line for line in lines if line and not line.startswith("#")]
            _collect([_beside(path.parent, line) for line in named], paths, (*inside, path.resolve()))
        elif path.is_dir():
            found = sorted(path.glob("*.tst"))
            if not found:
                raise SuiteError(f"{path} holds no *.tst")
            paths += found
        else:
            paths.append(path)
        if len(paths) > MAX_FILES:
            raise SuiteError(f"more than {MAX_FILES} transcripts")


def _beside(folder: Path, line: str) -> str:
    return f"@{folder / line[1:]}" if line.startswith("@") else str(folder / line)


def _read(path: Path) -> str:
    try:
        return path.read_text("utf-8", "surrogateescape")
    except OSError as error:
        raise SuiteError(f"{without_password(str(path))} cannot be read: {error.strerror}") from None
