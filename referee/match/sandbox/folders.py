"""Folders that untrusted programs have written in, which are removed whatever they contain."""

import os
import subprocess
import tempfile
from pathlib import Path

_SCRATCH = "ggp-scratch-"


def open_up(folder: Path) -> None:
    """Make everything in a folder readable and writable for us. No program may change it meanwhile."""
    subprocess.run(["chmod", "-R", "u+rwX", "--", str(folder)], stderr=subprocess.DEVNULL, check=False)


def remove_folder(folder: Path) -> None:
    """Remove a folder, however deep it is and whatever permissions it has."""
    try:
        folder.rmdir()
        return
    except OSError:
        pass
    for tries in range(2):
        if not folder.exists():
            return
        if tries:  # not at first: root needs no permissions, and chmod could follow links that a leftover process makes
            open_up(folder)
        subprocess.run(["rm", "-rf", "--", str(folder)], stderr=subprocess.DEVNULL, check=False)


def new_scratch() -> str:
    """Create a scratch folder for one program. Its name contains the process that made it."""
    return tempfile.mkdtemp(prefix=f"{_SCRATCH}{os.getpid()}-{process_began(os.getpid())}-")


def remove_stale_scratch() -> None:
    """Remove the scratch folders of processes that have died without removing them."""
    for folder in Path(tempfile.gettempdir()).glob(f"{_SCRATCH}*"):
        pid, _, rest = folder.name.removeprefix(_SCRATCH).partition("-")
        if pid.isdigit() and process_began(int(pid)) != rest.partition("-")[0] and not folder.is_symlink():
            remove_folder(folder)


def process_began(pid: int) -> str:
    """Return when a process began, in clock ticks since boot; "" if it does not exist."""
    try:
        return Path(f"/proc/{pid}/stat").read_bytes().rpartition(b")")[2].split()[19].decode()
    except (OSError, IndexError):
        return ""
