"""A real PostgreSQL server for the tests, private in a folder of its own; it ends with them."""

import contextlib
import itertools
import os
import pwd
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import psycopg

_INSTALLED = "/usr/lib/postgresql"  # where Debian keeps the servers, one folder a version
_UNSAFE = ("fsync=off", "full_page_writes=off", "max_connections=50", "shared_buffers=32MB", "listen_addresses=")


def server_binaries() -> Path | None:
    """The folder with `initdb` and `postgres` of the newest version; None if there is none."""
    folders = sorted(Path(_INSTALLED).glob("*/bin"), key=lambda path: float(path.parent.name))
    if (found := shutil.which("initdb")) is not None:
        folders.append(Path(found).parent)
    return next((path for path in reversed(folders) if os.access(path / "postgres", os.X_OK)), None)


class PostgresServer:
    """Runs from its making to `stop`, or to the end of this process."""

    def __init__(self, binaries: Path) -> None:
        self._folder = Path(tempfile.mkdtemp(prefix="ggp-postgres-"))
        self._numbers = itertools.count()
        user = _user()
        # PostgreSQL refuses to be run by root.
        as_user = ["setpriv", f"--reuid={user}", f"--regid={user}", "--clear-groups"] if os.getuid() == 0 else []
        if as_user:
            shutil.chown(self._folder, user)
        data = self._folder / "data"
        make = [*as_user, str(binaries / "initdb"), "-D", str(data), "-U", "ggp", "-A", "trust", "--no-sync"]
        subprocess.run([*make, "-E", "UTF8", "--locale=C"], check=True, capture_output=True, cwd=self._folder)
        settings = [word for setting in _UNSAFE for word in ("-c", setting)]
        end_with_us = [*(as_user or ["setpriv"]), "--pdeathsig=INT"]
        self._command = [
            *end_with_us,
            *(str(binaries / "postgres"), "-D", str(data), "-k", str(self._folder)),
            *settings,
        ]
        self._start()

    def database(self) -> Iterator[str]:
        """The url of an empty database, which is dropped behind it."""
        name = f"test_{next(self._numbers)}"
        self._admin.execute(f"CREATE DATABASE {name}".encode())
        yield f"postgresql+psycopg://ggp@/{name}?host={self._folder}"
        self._admin.execute(f"DROP DATABASE {name} WITH (FORCE)".encode())

    @contextlib.contextmanager
    def down(self) -> Iterator[None]:
        """Take the server down for this block; every connection to it is cut, as by a restart."""
        self._end()
        try:
            yield
        finally:
            self._start()

    def stop(self) -> None:
        self._end()
        shutil.rmtree(self._folder, ignore_errors=True)

    def _start(self) -> None:
        self._process = subprocess.Popen(
            self._command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, cwd=self._folder
        )
        self._admin = self._connect()

    def _end(self) -> None:
        self._admin.close()
        self._process.send_signal(signal.SIGINT)  # "fast": it does not wait for those who are connected
        self._process.wait(60)

    def _connect(self) -> "psycopg.Connection[tuple[object, ...]]":
        deadline = time.monotonic() + 60
        while True:
            try:
                return psycopg.connect(host=str(self._folder), user="ggp", dbname="postgres", autocommit=True)
            except psycopg.OperationalError:
                if self._process.poll() is not None or time.monotonic() > deadline:
                    raise
                time.sleep(0.02)


def _user() -> str:
    for name in ("postgres", "nobody"):
        try:
            return pwd.getpwnam(name).pw_name
        except KeyError:
            continue
    return str(os.getuid())
