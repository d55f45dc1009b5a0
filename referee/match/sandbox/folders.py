"""Folders that programs of strangers wrote in: removed whatever they hold, and after those who were killed."""

import os
import subprocess
import tempfile
from pathlib import Path

_SCRATCH = "ggp-scratch-"


def open_up(folder: Path) -> None:
    """Let us read and write whatever is in a folder. No program may change it meanwhile."""
    subprocess.run(["chmod", "-R", "u+rwX", "--", str(folder)], stderr=subprocess.DEVNULL, check=False)


def remove_folder(folder: Path) -> None:
    """Remove a folder, however deep it is and whatever it forbids."""
    try:
        folder.rmdir()
        return
    except OSError:
        pass
    for tries in range(2):
        if not folder.exists():
            return
        if tries:  # root needs no rights in there: a process that was left might put links to files of others
            open_up(folder)
        subprocess.run(["rm", "-rf", "--", str(folder)], stderr=subprocess.DEVNULL, check=False)


def new_scratch() -> str:
    """Make a folder for one program; its name says whose process made it."""
    return tempfile.mkdtemp(prefix=f"{_SCRATCH}{os.getpid()}-{process_began(os.getpid())}-")


def remove_stale_scratch() -> None:
    """Remove the folders of processes that have died without removing them."""
    for folder in Path(tempfile.gettempdir()).glob(f"{_SCRATCH}*"):
        pid, _, rest = folder.name.removeprefix(_SCRATCH).partition("-")
        if pid.isdigit() and process_began(int(pid)) != rest.partition("-")[0] and not folder.is_symlink():
            remove_folder(folder)


def process_began(pid: int) -> str:
    """Return when the process began, in ticks of the machine; "" if there is none."""
    try:
        return Path(f"/proc/{pid}/stat").read_bytes().rpartition(b")")[2].split()[19].decode()
    except (OSError, IndexError):
        return ""
