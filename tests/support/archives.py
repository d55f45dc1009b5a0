"""Makes archives as strangers may send them, member by member."""

import io
import tarfile
from collections.abc import Iterable
from pathlib import Path

KINDS = {
    "file": tarfile.REGTYPE,
    "folder": tarfile.DIRTYPE,
    "link": tarfile.SYMTYPE,
    "hard link": tarfile.LNKTYPE,
    "block device": tarfile.BLKTYPE,
    "device": tarfile.CHRTYPE,
    "pipe": tarfile.FIFOTYPE,
}


class Zeros(io.RawIOBase):
    """A file of any length that takes no room."""

    def read(self, size: int = -1) -> bytes:
        return bytes(size)


def member(
    name: str, kind: str = "file", *, to: str = "", mode: int = 0o644, changed: float = 1e9, size: int | None = None
) -> tarfile.TarInfo:
    """A member of an archive; `to`: where a link leads; `size`: of a file of zeros."""
    info = tarfile.TarInfo(name)
    info.type, info.linkname, info.mode, info.mtime = KINDS[kind], to, mode, changed
    info.size = size or 0
    return info


def pack(path: Path, *members: tuple[tarfile.TarInfo, bytes] | tarfile.TarInfo, folder: Path | None = None) -> Path:
    """An archive of these members, each with its content or a file of zeros, after what lies in the folder."""
    with tarfile.open(path, "w:gz", compresslevel=1) as archive:
        if folder is not None:
            archive.add(folder, ".")
        for one in members:
            info, content = one if isinstance(one, tuple) else (one, None)
            if content is None:
                archive.addfile(info, Zeros() if info.size else None)
            else:
                info.size = len(content)
                archive.addfile(info, io.BytesIO(content))
    return path


def files(folder: Path, contents: Iterable[tuple[str, str]]) -> Path:
    """A folder with these files."""
    for name, text in contents:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text, encoding="utf-8")
    return folder
