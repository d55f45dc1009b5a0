"""The folder of a lobby's own sockets, one for each lobby file, so that kill -9 leaves no more than one behind."""

import contextlib
import hashlib
import os
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

_DIGITS = 12


@contextlib.contextmanager
def socket_folder(lobby: Path) -> Iterator[Path]:
    """Only we may enter it, and its name is short, as those of sockets must be. What a killed run left there goes.

    The caller sees to it that no two lobbies run with the same file. Raises OSError.
    """
    folder = folder_of(lobby)
    with contextlib.suppress(FileNotFoundError):
        if not folder.is_symlink() and folder.is_dir() and folder.stat().st_uid == os.getuid():
            shutil.rmtree(folder)
    try:
        folder.mkdir(0o700)
    except FileExistsError:  # it is another user's, and he might look for us there
        folder = Path(tempfile.mkdtemp(prefix="ggp-"))
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def folder_of(lobby: Path) -> Path:
    """Where the sockets of the lobby with this file are, unless that folder is another user's."""
    digest = hashlib.sha256(os.fsencode(lobby.absolute())).hexdigest()[:_DIGITS]
    return Path(tempfile.gettempdir()) / f"ggp-{os.getuid()}-{digest}"
