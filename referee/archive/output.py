"""Where a command of the archive writes: stdout, or a file that appears under its name when all is written."""

import contextlib
import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

import click


@contextlib.contextmanager
def opened(output: str | None) -> Iterator[BinaryIO]:
    """`output` None or `-` is stdout. A ClickException if it cannot be written; then nothing appears."""
    if output in (None, "-"):
        yield sys.stdout.buffer
        return
    path = Path(str(output))
    beside = path.is_file() or not path.exists()  # else it is a device, or a pipe that has a name
    part = path.with_name(f"{path.name}.{os.getpid()}.part") if beside else path
    try:
        with part.open("xb" if beside else "wb") as file:
            yield file
        if beside:
            part.replace(path)
    except BrokenPipeError:
        raise
    except OSError as error:
        raise click.ClickException(f"cannot write {output}: {error.strerror}; name another file") from None
    finally:
        if beside:
            part.unlink(missing_ok=True)
