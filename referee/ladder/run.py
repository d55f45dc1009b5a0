"""The loop of a ladder: pairs to the workers, what they played to the store, then it counts. It draws no screen.

The data's way: schedule → store (a batch is durable before a game of it begins) → workers → store (a game is durable
before it counts) → schedule. Killed at any instant it loses what no commit has reached, and that is played again
under the same key and from the same chance.
"""

import time
from collections.abc import Callable
from types import FrameType

from protocol.records import Record
from referee.ladder.contest import Contest, pairs_each
from referee.ladder.entries import Ladder
from referee.ladder.helm import Helm
from referee.ladder.limits import Limits
from referee.ladder.news import News
from referee.ladder.pairs import GAMES, Pair
from referee.ladder.progress import Progress
from referee.ladder.toml_section import ConfigError
from referee.ladder.unsaved import Unsaved
from referee.ladder.work import NO_EXTRAS, UnderWay, series_of
from referee.play.pool import Pool, WorkersLost, on_signals
from referee.play.seating import CHANGED, Extras
from referee.play.worker import Chunk, Work
from referee.store.errors import StoreError, Taken
from referee.store.rows import Unplayable
from referee.store.store import Store

COMMIT = 0.05  # seconds that a finished game may wait for others: "durable by group commit (at most 100 ms)"
PATIENCE = 900.0  # seconds that a full disk or a locked store is waited for
_LOOK = 1.0  # seconds between looks at the configuration
_BEAT = 10.0  # seconds between heartbeats
_DEATHS = 3  # times in a row that workers may die without a game in between


class LadderRun:
    """One run of a ladder whose store is open and locked by us.

    `hire` gives a new pool of workers; `seen` is told how it goes, a few times a second; `read` gives the ladder
    when its file or a program has changed, else None, and raises ConfigError for a file that cannot be. `helm`: who
    steers it from outside. `left` gives the matches that workers which were killed left, by key. `extras` are for the
    processes of every match.
    """

    def __init__(
        self,
        ladder: Ladder,
        store: Store,
        hire: Callable[[], Pool],
        limits: Limits,
        seen: Callable[[Progress], None],
        read: Callable[[], Ladder | None] = lambda: None,
        helm: Helm | None = None,
        left: Callable[[], dict[str, Record]] = dict,
        extras: Extras = NO_EXTRAS,
    ) -> None:
        self.progress = Progress(ladder.name, target=limits.games)
        self.ladder = ladder  # as it was read last
        self.store = store
        self.under_way = UnderWay(series_of(ladder), extras)
        self._helm = helm or Helm()
        self._hire = hire
        self._left = left
        self._limits = limits
        self._seen = seen
        self._read = read
        self._contests: dict[int, Contest] = {}
        self._unsaved = Unsaved(store)
        self._changed: Ladder | None = None  # the configuration that comes into force when the store takes it
        self._doubtful: list[Unplayable] = []  # whose program was changed: the configuration may say why
        self._news = News(self.progress, store, limits)
        self._looked = self._beaten = time.monotonic()
        self._deaths = 0
        self._hungry = False  # workers could do with more than the schedule gives, which waits for results
        self._pool: Pool

    def go(self) -> Progress:
        """Play until the limits are reached, nothing is left, somebody stops us or the store fails for good.

        Raises StoreError if the store cannot even be begun with, WorkersLost if no workers can be had at first.
        """
        self._enrol(self.ladder)
        self.under_way.left = self._left()
        with on_signals(self._stop):
            self._pool = self._hire()
            try:
                self._play()
            finally:
                self._wind_up()
        return self.progress

    def _play(self) -> None:
        progress, helm = self.progress, self._helm
        while not (progress.stopped or progress.failed):
            self._look()
            self._give()
            helm.serve(self)
            if helm.ending or (self._idle and not helm.stays(why := self._why_over())):
                progress.finished = helm.ending or why
                return
            if self._news.late and not helm.busy:
                progress.finished = self._news.enough + self._dropping
                return
            self._take()
            self._save()
            self._news.tell(self._contests, self.under_way, self._pool.playing, self._seen)

    @property
    def _idle(self) -> bool:
        return not (self._pool.running or self.under_way or self._unsaved or self._doubtful or self._changed)

    @property
    def _dropping(self) -> str:
        """What happens to the pairs under way when the run ends before them."""
        return "; games that are not finished are played again by the next run" if self.under_way else ""

    def _wind_up(self) -> None:
        """Drop what is being played, keep what was; then the last words."""
        if self._pool.running:
            self._pool.stop()
        self._drain()
        self._pool.close()
        self._unsaved.add((), self._doubtful)
        self._save(last=True)
        self._news.end(self._contests, self._seen)

    # -- what it is told from outside ----------------------------------------------------------------------------

    def read_again(self, ladder: Ladder) -> None:
        """Go on with this configuration. Raises StoreError, and then all is as before."""
        self._enrol(ladder)
        self._changed, self._doubtful = None, []
        self._news.say("the configuration was read again")

    def drop(self, keys: list[str]) -> bool:
        """Have these matches dropped; False if the workers cannot be told."""
        return self._pool.drop(keys)

    def names(self, pair: Pair) -> tuple[str, str, str]:
        """Of its pool, and of its first and second bot."""
        pool = self._contests[pair.pool].pool.name if pair.pool in self._contests else ""
        return pool, self._news.label(pair.first), self._news.label(pair.second)

    @property
    def jobs(self) -> int:
        """Matches at a time."""
        return self._pool.jobs

    # -- who plays -------------------------------------------------------------------------------------------

    def _enrol(self, ladder: Ladder) -> None:
        """Begin (again) from what the file and the store say. Raises StoreError, and then all is as before."""
        rows = self.store.enrol(ladder)
        games = self._limits.games
        each = {} if games is None else {"limit": pairs_each(games, len(rows))}
        contests = {
            rows[pool.name]: Contest(ladder, pool, rows[pool.name], self.store, **each) for pool in ladder.pools
        }
        self._news.begin(contests)
        self.ladder, self._contests = ladder, contests
        self._helm.begun()

    def _look(self) -> None:
        """Now and then: show that we live, and see whether the file or a program has changed."""
        now = time.monotonic()
        if now - self._beaten > _BEAT:
            self._beaten = now
            try:
                self.store.beat()
            except Taken as taken:  # whoever has it plays the same pairs
                self.progress.failed = str(taken)
            except StoreError:  # whoever saves games says so
                pass
        if now - self._looked < _LOOK and not self._doubtful:
            return
        self._looked = now
        try:
            self._changed = self._read() or self._changed
        except ConfigError as error:
            self._news.say(f"{error}; going on as before")
            return
        if self._changed is None:
            self._unsaved.add((), self._doubtful)  # nothing explains it: the bot is at fault
            self._doubtful = []
        elif self._save(now_or_never=True):
            self._change(self._changed)

    def _change(self, ladder: Ladder) -> None:
        """Go on with this one; later if the store does not take it now."""
        try:
            self.read_again(ladder)
        except StoreError as error:
            self._refuse(error)

    # -- pairs go out, and come back -------------------------------------------------------------------------

    def _give(self) -> None:
        """Work for everybody: at most two chunks a worker, so that none waits for us."""
        while self._pool.running < 2 * self._pool.jobs and (chunk := self._helm.work() or self._of_ladder()):
            self._pool.submit(chunk)

    def _of_ladder(self) -> list[Work]:
        """Its next chunk, if there is one and it may be given out."""
        if self._news.enough or self._unsaved.resting or self._helm.holds:
            return []
        try:
            chunk = self._chunk()
        except StoreError as error:
            self._refuse(error)
            return []
        if not self._unsaved:
            self._unsaved.accepted()
        self._hungry = not chunk
        return chunk

    def _chunk(self) -> list[Work]:
        """Pairs of the pool that has come least far; more of them when matches are short."""
        most, share = max(1, self._pool.size // GAMES), 2 * self._pool.jobs
        for contest in sorted(self._contests.values(), key=lambda contest: contest.next):
            pairs = max(1, min(most, contest.ready(most * share) // share))
            chunk: list[Work] = []
            while len(chunk) < pairs and (pair := contest.take()) is not None:
                if pair not in self.under_way:
                    work = self.under_way.begin(pair, contest.pool, contest.starts, self.ladder.budgets)
                    chunk.append(work)
            if chunk:
                return chunk
        return []

    def _take(self) -> None:
        """What came back in the meantime."""
        if not self._pool.running:
            self._helm.rest(COMMIT if self._unsaved.troubled or self._changed or self._idle else 0)
            return
        try:
            chunks = self._pool.gather(COMMIT)
        except WorkersLost as lost:
            self._replace_workers(lost)
            return
        for chunk in chunks:
            self._deaths = 0 if chunk.played else self._deaths
            if self._helm.took(chunk):
                continue
            self._news.refused(chunk)
            self._keep(chunk)

    def _drain(self) -> None:
        """Keep what workers have played that are being stopped, or have ended."""
        for chunk in self._pool.drain():
            if not self._helm.took(chunk):
                self._keep(chunk)

    def _keep(self, chunk: Chunk) -> None:
        self._news.played(chunk)
        finished, unplayable = self.under_way.end(chunk)
        self._doubtful += [row for row in unplayable if CHANGED in row.reason]
        self._unsaved.add(finished, [row for row in unplayable if CHANGED not in row.reason])

    def _replace_workers(self, lost: WorkersLost) -> None:
        """What they had in hand is begun anew from the store."""
        self._deaths += 1
        self._drain()
        self._pool.close()
        self.under_way.clear()
        self.under_way.left = self._left()
        self._helm.lost()
        if self._deaths > _DEATHS or not self._save(now_or_never=True):
            self.progress.failed = f"{lost}, {self._deaths} times in a row"
            return
        self._news.say(f"{lost}: others are started, and its games go on")
        try:
            self._enrol(self.ladder)
        except StoreError as error:
            self._refuse(error)
            self._changed = self._changed or self.ladder
        try:
            self._pool = self._hire()
        except WorkersLost as none:
            self.progress.failed = str(none)

    # -- the store -------------------------------------------------------------------------------------------

    def _save(self, now_or_never: bool = False, last: bool = False) -> bool:
        """Commit what has waited long enough (or all); then it counts. Whether nothing is left unsaved."""
        hurry = now_or_never or last or self._hungry
        try:
            saved = self._unsaved.save(COMMIT if not hurry else 0.0, again=now_or_never or last)
        except StoreError as error:
            self._refused(error, last)
            return False
        for result in saved:
            if contest := self._contests.get(result.pool):
                contest.fix(result)
            self._news.counted(result)
        return not self._unsaved

    def _refuse(self, error: StoreError) -> None:
        """It did not take what is no game: ask again after a while."""
        self._unsaved.refused()
        self._refused(error)

    def _refused(self, error: StoreError, last: bool = False) -> None:
        """The store takes nothing: wait, but not for ever."""
        self._news.say(str(error) if last else f"{error}; the run waits")
        if self._unsaved.troubled > PATIENCE or last:
            self.progress.failed = str(error)

    def _stop(self, number: int, frame: FrameType | None) -> None:
        self.progress.stopped = number

    def _why_over(self) -> str:
        if self._news.enough:
            return self._news.enough
        reasons = {contest.pool.name: contest.over for contest in self._contests.values()}
        several = len(reasons) > 1
        return "; ".join(f"{name}: {why}" if several else why for name, why in reasons.items())
