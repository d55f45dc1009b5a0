"""The loop of a referee without a ladder: it plays the series that clients ask for, with workers hired when needed."""

from collections.abc import Callable
from types import FrameType

from referee.play.pool import Pool, WorkersLost, on_signals
from referee.service.steering import Steering

_TURN = 0.05  # seconds that the loop waits for one thing before it looks at the other
_DEATHS = 3  # times in a row that workers may die without a match in between


class Alone:
    """Plays until it is told to stop. `stopped` is the signal that ended it, `failed` why it could not go on."""

    def __init__(self, steering: Steering, jobs: int, hire: Callable[[], Pool]) -> None:
        self.jobs = jobs
        self.stopped = 0
        self.failed = ""
        self._steering = steering
        self._hire = hire
        self._pool: Pool | None = None
        self._deaths = 0
        steering.crew = self

    def go(self) -> None:
        """Returns when every worker has ended."""
        with on_signals(self._stop):
            try:
                self._play()
            finally:
                self._wind_up()

    def drop(self, keys: list[str]) -> bool:
        """Have these matches dropped."""
        return self._pool is not None and self._pool.drop(keys)

    def _play(self) -> None:
        steering = self._steering
        while not (self.stopped or self.failed):
            self._give()
            steering.serve(None)
            if steering.ending or not (self._busy or steering.stays("there is no ladder")):
                return
            if self._busy:
                self._take()
            else:
                steering.rest(_TURN)

    @property
    def _busy(self) -> int:
        return self._pool.running if self._pool else 0

    def _give(self) -> None:
        while self._busy < 2 * self.jobs and (chunk := self._steering.work()):
            try:
                self._pool = self._pool or self._hire()
            except WorkersLost as lost:
                self.failed = str(lost)
                return
            self._pool.submit(chunk)

    def _take(self) -> None:
        assert self._pool is not None
        try:
            chunks = self._pool.gather(_TURN)
        except WorkersLost as lost:
            self._wind_up()
            self._steering.lost()
            self._deaths += 1
            self.failed = str(lost) if self._deaths > _DEATHS else ""
            return
        for chunk in chunks:
            self._deaths = 0 if chunk.played else self._deaths
            self._steering.took(chunk)

    def _wind_up(self) -> None:
        """Drop what is being played, keep what was."""
        if self._pool is not None:
            if self._pool.running:
                self._pool.stop()
            for chunk in self._pool.drain():
                self._steering.took(chunk)
            self._pool.close()
            self._pool = None

    def _stop(self, number: int, frame: FrameType | None) -> None:
        self.stopped = number
