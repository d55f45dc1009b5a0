"""Where a command of the archive writes: stdout, or a file that appears under its name when all is written."""

import contextlib
import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

import click


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
    beside = path.is_file() or not path.exists()  # else it is a device, or a pipe that has a name
    part = path.with_name(f"{path.name}.{os.getpid()}.part") if beside else path
    try:
        file = part.open("xb" if beside else "wb")
    except OSError as error:
        raise refused(f"cannot write {output}: {error.strerror}; name another file") from None
    try:
        with file:
            yield file
        if beside:
            part.replace(path)
    except BrokenPipeError:
        raise
    except OSError as error:
        raise failed(f"cannot write {output}: {error.strerror}; make room or name another file") from None
    finally:
        if beside:
            part.unlink(missing_ok=True)
