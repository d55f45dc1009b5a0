"""Runs many transcripts, several at a time, with a bar that says how far; how one is run is in running."""

import contextlib
import os
import re
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from pathlib import Path
from typing import BinaryIO

from protocol.orphans import adopt_orphans
from protocol.safe_files import open_to_append
from protocol.transports.transcript import Sink, format_line
from referee.play.seating import Start
from referee.regress.running import FileReport, Limits, Outcome, run_file
from referee.regress.suite import SuiteError, Transcript

Seen = Callable[[Outcome], None]


def run_all(
    transcripts: list[Transcript], start: Start, limits: Limits, jobs: int, logs: Path | None, *, shown: bool
) -> list[FileReport]:
    """The reports, in the order of the transcripts. `logs` is a folder for the dialogues.

    Raises KeyboardInterrupt when everything that was started has ended. Raises SuiteError if a log cannot be written.
    """
    adopt_orphans()
    stop = threading.Event()
    names = file_names(transcript.path for transcript in transcripts)
    with _bar(sum(len(transcript.script.steps) for transcript in transcripts), shown) as seen:
        executor = ThreadPoolExecutor(max(1, min(jobs, len(transcripts))))
        try:
            futures = [
                executor.submit(_run_one, transcript, start, limits, stop, _log_file(logs, name), seen)
                for transcript, name in zip(transcripts, names, strict=True)
            ]
            _await(futures)
            return [future.result() for future in futures]
        finally:
            stop.set()
            executor.shutdown(cancel_futures=True)


def file_names(paths: Iterator[Path]) -> list[str]:
    """A name for each, of letters that every file system bears, all different."""
    names: list[str] = []
    for path in paths:
        stem = name = re.sub(r"[^A-Za-z0-9_-]+", "-", path.stem)[:80] or "test"
        number = 1
        while name in names:
            number += 1
            name = f"{stem}_{number}"
        names.append(name)
    return names


def _run_one(
    transcript: Transcript, start: Start, limits: Limits, stop: threading.Event, log: Path | None, seen: Seen
) -> FileReport:
    if log is None:
        return run_file(transcript, start, limits, stop=stop, seen=seen)
    with os.fdopen(open_to_append(log, empty=True), "ab") as file:
        return run_file(transcript, start, limits, stop=stop, sink=_sink(file), seen=seen)


def _await(futures: list[Future[FileReport]]) -> None:
    """Until all are done or one cannot go on; in short waits, so that Ctrl-C is heard."""
    left = set(futures)
    while left:
        done, left = wait(left, timeout=0.5, return_when=FIRST_COMPLETED)
        for future in done:
            if (error := future.exception()) is not None:
                raise error


def _log_file(folder: Path | None, name: str) -> Path | None:
    if folder is None:
        return None
    try:
        folder.mkdir(parents=True, exist_ok=True)
        path = folder / f"{name}.log"
        os.close(open_to_append(path, empty=True))
    except OSError as error:
        raise SuiteError(f"{folder} cannot be written: {error.strerror}") from None
    return path


def _sink(file: BinaryIO) -> Sink:
    def keep(mark: str, seconds: float, data: bytes) -> None:
        file.write(f"{format_line(mark, seconds, data)}\n".encode())

    return keep


@contextlib.contextmanager
def _bar(steps: int, shown: bool) -> Iterator[Seen]:
    """A bar on stderr while somebody looks at it; it is gone at the end."""
    from rich.console import Console
    from rich.progress import Progress

    console = Console(stderr=True)
    if not (shown and console.is_terminal):
        yield lambda outcome: None
        return
    with Progress(console=console, transient=True) as progress:
        task = progress.add_task("commands", total=steps)
        yield lambda outcome: progress.advance(task)
