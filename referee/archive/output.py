"""Where a command of the archive writes: stdout, or a file that appears under its name when all is written."""

import contextlib
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

import click

from protocol.safe_files import replacing


@contextlib.contextmanager
def opened(
    output: str | None,
    refused: type[click.ClickException] = click.ClickException,
    failed: type[click.ClickException] = click.ClickException,
) -> Iterator[BinaryIO]:
    """`output` None or `-` is stdout. Raises `refused` if it cannot be opened, `failed` later; then nothing appears."""
    if output in (None, "-"):
        yield sys.stdout.buffer
        return
    path = Path(str(output))
    with contextlib.ExitStack() as stack:
        try:
            file = stack.enter_context(replacing(path))
        except OSError as error:
            raise refused(f"cannot write {output}: {error.strerror}; name another file") from None
        try:
            with stack.pop_all():
                yield file
        except BrokenPipeError:
            raise
        except OSError as error:
            raise failed(f"cannot write {output}: {error.strerror}; make room or name another file") from None
