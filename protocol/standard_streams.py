"""The standard streams of a command: output always fits the terminal's encoding, and no stream is missing.

`run_program` runs a command's `main` with such streams, and reports in one line when the output cannot be written.
"""

import codecs
import errno
import io
import os
import sys
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import TYPE_CHECKING, TextIO

if TYPE_CHECKING:
    from typing_extensions import Buffer

ERRORS = "ggp.spell"
_ASCII = "ggp_ascii"

# Replacements for our own characters that an encoding lacks. All other characters become escapes, so that different
# names stay different.
SPELLINGS = {
    "…": "...", "±": "+/-", "−": "-", "–": "-", "—": "-", "·": "|", "×": "x", "→": "->", "≤": "<=", "≥": ">=", "≈": "~",
    "½": "1/2", "¼": "1/4", "¾": "3/4", "µ": "u", "μ": "u", "§": "section ", "²": "^2", "³": "^3", "√": "sqrt",
    "ν": "nu", "α": "alpha", "γ": "gamma", "δ": "delta", "θ": "theta", "π": "pi", "σ": "sigma", "Σ": "Sigma",
    "Φ": "Phi", "“": '"', "”": '"', "‘": "'", "’": "'", "⏎": "<LF>", "│": "|", "●": "X", "○": "O",
}  # fmt: skip


class OutputError(OSError):
    """An output error: stdout is closed, or its device is full."""


def run_program(name: str, main: Callable[[], int]) -> int:
    """Run `main` with usable standard streams and return its exit status.

    Returns:
        141 if the reader of stdout has closed the pipe; 1, with a line on stderr, if stdout cannot be written; 130 for
        Ctrl-C before `main` could handle it; otherwise the status of `main`.
    """
    prepare_streams()
    try:
        status = main()
        sys.stdout.flush()
    except BrokenPipeError:  # `head` closes its input early
        sys.stdout = None
        return 141
    except KeyboardInterrupt:
        return 130
    except OSError as error:
        if not isinstance(error, OutputError) and error.errno != errno.ENOSPC:
            raise
        sys.stdout = None  # otherwise the interpreter would try again at its end
        print(f"{name}: cannot write the output: {error.strerror}", file=sys.stderr)
        return 1
    return status


def prepare_streams() -> None:
    """Make stdin, stdout and stderr usable, in whatever state the caller left them. Idempotent.

    Characters that the encoding lacks are replaced. A failed write to stdout raises BrokenPipeError or OutputError. A
    write to stderr never fails, because an unreadable message must not stop the work.
    """
    # A missing stdout gets a descriptor that is not writable, so that lost output is an error, as in other programs.
    open_missing({0: os.O_RDONLY, 1: os.O_RDONLY, 2: os.O_WRONLY})
    sys.stdin = sys.stdin or open(0, encoding="utf-8", closefd=False)  # noqa: SIM115
    sys.stdout = _prepared(sys.stdout, sys.__stdout__, 1)
    sys.stderr = _prepared(sys.stderr, sys.__stderr__, 2)


def write_stderr(text: str) -> None:
    """Write to stderr unbuffered, in one call, because several processes may share it. Never fails."""
    encoding = getattr(sys.stderr, "encoding", None) or "utf-8"
    with suppress(OSError):
        os.write(2, text.encode(encoding, ERRORS))


def encodable(text: str, encoding: str | None) -> str:
    """Return the text as it will appear in this encoding. None means that the text is not written.

    Code that aligns columns must measure this text.
    """
    if text.isascii() or encoding is None or encoding.lower().startswith("utf"):
        return text
    return text.encode(encoding, ERRORS).decode(encoding)


def open_missing(descriptors: Mapping[int, int]) -> None:
    """Open /dev/null, with the flags given, on each of these descriptors that is closed.

    Otherwise the first file or socket that we open could become stdout, and output would be written into it.
    """
    for descriptor, flags in descriptors.items():
        try:
            os.fstat(descriptor)
        except OSError:
            null = os.open(os.devnull, flags)
            if null != descriptor:
                os.dup2(null, descriptor)
                os.close(null)
            os.set_inheritable(descriptor, True)


def _prepared(stream: TextIO | None, own: TextIO | None, descriptor: int) -> TextIO | None:
    """Return our replacement for the interpreter's stream. Keep a stream that somebody else set, such as a test."""
    if stream is own:
        raw = (_Stdout if descriptor == 1 else _Stderr)(descriptor, "wb", closefd=False)
        encoding = "utf-8" if stream is None else stream.encoding
        interactive = descriptor == 2 or raw.isatty()
        return io.TextIOWrapper(io.BufferedWriter(raw), _named(encoding), ERRORS, line_buffering=interactive)
    if isinstance(stream, io.TextIOWrapper):
        stream.reconfigure(errors=ERRORS)
    return stream


def _named(encoding: str) -> str:
    """Return the encoding, with another name for ASCII, because click replaces ASCII streams by UTF-8 ones."""
    return _ASCII if codecs.lookup(encoding).name == "ascii" else encoding


class _Stdout(io.FileIO):
    def write(self, data: "Buffer", /) -> int:
        try:
            return super().write(data)
        except BrokenPipeError:
            raise
        except OSError as error:
            raise OutputError(error.errno, error.strerror) from None


class _Stderr(io.FileIO):
    def write(self, data: "Buffer", /) -> int:
        try:
            return super().write(data)
        except OSError:
            return memoryview(data).nbytes


def _spell(error: UnicodeError) -> tuple[str | bytes, int]:
    if not isinstance(error, UnicodeEncodeError):
        raise error
    out = ""
    for character in error.object[error.start : error.end]:
        spelled = SPELLINGS.get(character)
        out += character.encode("ascii", "backslashreplace").decode() if spelled is None else spelled
    return out, error.end


def _find_codec(name: str) -> codecs.CodecInfo | None:
    if name != _ASCII:
        return None
    ascii_ = codecs.lookup("ascii")
    return codecs.CodecInfo(
        ascii_.encode,
        ascii_.decode,
        ascii_.streamreader,
        ascii_.streamwriter,
        ascii_.incrementalencoder,
        ascii_.incrementaldecoder,
        _ASCII,
    )


codecs.register_error(ERRORS, _spell)
codecs.register(_find_codec)
