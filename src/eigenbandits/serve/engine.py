"""The writer: gathers the requests in flight, applies them to the policies, and has them committed and answered."""

from __future__ import annotations

import logging
import sys
import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from queue import Empty, SimpleQueue
from typing import Any

from threadpoolctl import threadpool_limits

from eigenbandits.serve import recovery
from eigenbandits.serve.batch import Batch, PolicyFailure
from eigenbandits.serve.catalogue import Catalogue
from eigenbandits.serve.clock import Clock
from eigenbandits.serve.committer import AWAY, Committer
from eigenbandits.serve.errors import Refusal, StorageError, internal, unavailable
from eigenbandits.serve.hosted import Hosted, Unrepeatable
from eigenbandits.serve.jobs import Ask, Job, Report, Task, deliver, refuse
from eigenbandits.serve.journal import Journal, PolicyRow
from eigenbandits.serve.keys import KeyRing
from eigenbandits.serve.logs import tell
from eigenbandits.serve.metrics import Metrics
from eigenbandits.serve.settings import Settings
from eigenbandits.serve.storage import Database, InUseError
from eigenbandits.serve.upkeep import Upkeep

# Requests in one transaction; more wait for the next one.
_LARGEST_BATCH = 256
# Seconds between two looks at what is due when nobody asks for anything, and between two tries at a lost database.
_TICK, _RETRY = 0.2, 0.5
# How long a thread may keep the others waiting while it runs Python, in seconds: requests wait for the writer's answer
# and the writer for requests, so they must take turns more often than by default.
_SWITCH = 0.0005
# Seconds without a sign from the database after which the service says so, and for which it waits for it at the end.
_QUIET, _PATIENCE = 5.0, 60.0


class Engine:
    """Holds the policies, the catalogues and the keys, and the thread that alone changes them.

    Others read `policies`, `catalogues` and `keys` freely: what they hold is replaced, not changed, or changes in one
    step. A second thread commits: while one batch is on its way to the disk, the next is chosen and learned. Batches
    are committed in the order in which they were applied, and nothing is answered before it is committed.
    """

    def __init__(
        self, settings: Settings, database: Database, metrics: Metrics | None = None, clock: Clock | None = None
    ) -> None:
        self.settings = settings
        self.database = database
        self.metrics = metrics if metrics is not None else Metrics()
        self.clock = clock if clock is not None else Clock()
        self.keys = KeyRing(may_be_open=settings.loopback)
        self.policies: dict[int, Hosted] = {}
        self.catalogues: dict[str, Catalogue] = {}
        # Policies that neither the log nor a snapshot leads to, by name; the others go on without them.
        self.broken: dict[str, int] = {}
        self._state = "the service is starting"
        self._beat = time.monotonic()
        self.failure: Exception | None = None
        self._names: dict[str, Hosted] = {}
        self._queue: SimpleQueue[Job] = SimpleQueue()
        self._stopping = threading.Event()
        self._begun = threading.Event()
        self._reading: Journal | None = None
        self._writing: Journal | None = None
        self._committer = Committer(database, self.metrics)
        # Snapshots and checkpoints are written beside both, one at a time.
        self.beside = ThreadPoolExecutor(1, thread_name_prefix="beside")
        self._upkeep = Upkeep(self)
        self._thread = threading.Thread(target=self._run, name="writer", daemon=True)

    # For requests

    @property
    def reasons(self) -> list[str]:
        """Why the service does not decide and learn; empty while it does."""
        if self._state:
            return [self._state]
        if self._committer.failed:
            return [AWAY]  # which the writer will notice in a moment
        # Not told by anybody: a database that neither answers nor fails.
        quiet = max(time.monotonic() - self._beat - _TICK, self._committer.busy_for())
        return ["its storage does not answer"] if quiet > _QUIET else []

    def named(self, name: str) -> Hosted:
        """Return a policy by its name."""
        hosted = self._names.get(name)
        if hosted is None:
            self._refuse_unless_ready()
            if name in self.broken:
                raise unavailable("this policy cannot be rebuilt; restore a backup of its snapshots or delete it", 60)
            raise Refusal(404, "unknown_policy", f"There is no policy {name[:100]!r}; create it first.")
        return hosted

    def submit(self, job: Job) -> None:
        """Hand a job to the writer."""
        self._refuse_unless_ready()
        if self._queue.qsize() >= self.settings.max_waiting:
            raise unavailable("too many requests are waiting")
        self._queue.put(job)

    def _refuse_unless_ready(self) -> None:
        for reason in self.reasons:
            raise unavailable(reason)

    # Life

    def start(self, wait: float = 60.0) -> None:
        """Start the writer and wait until it has tried once to open the database; raise what keeps it from starting."""
        self._switch = sys.getswitchinterval()
        sys.setswitchinterval(min(_SWITCH, self._switch))
        # One thread in BLAS: sums come out the same bit for bit, and cores are left for the requests.
        self._blas = threadpool_limits(1, user_api="blas")
        self._thread.start()
        self._begun.wait(wait)
        if self.failure is not None:
            failure = self.failure
            self.stop()
            raise failure

    def stop(self) -> None:
        """Finish what is waiting, take snapshots, and close the database."""
        self._state = "the service is shutting down"
        self._stopping.set()
        # Something that nobody waits for, to wake the writer with.
        wake = Task(lambda journal: None)
        wake.future.cancel()
        self._queue.put(wake)
        # Not for ever: a database that hangs must not keep the process from ending. What was acknowledged is safe.
        self._thread.join(_PATIENCE)
        if self._thread.is_alive():
            tell("the writer does not end; left behind", logging.ERROR)
            return
        self._committer.close()
        self.beside.shutdown()
        self.database.release()
        self._blas.restore_original_limits()
        sys.setswitchinterval(self._switch)

    def _run(self) -> None:
        while not self._stopping.is_set() and self.failure is None:
            try:
                self._open()
                while not self._stopping.is_set():
                    self._step()
            except (StorageError, InUseError, ValueError) as error:
                if not (self._begun.is_set() or isinstance(error, StorageError)):
                    self.failure = error
                self._lost(error)
            except Exception as error:  # a defect: say so, and go on from what the log says
                tell("the writer failed", logging.ERROR, trace=True)
                for hosted in self.policies.values():
                    hosted.dirty = True
                self._lost(error)
        self._finish()

    def _lost(self, error: Exception) -> None:
        """Say that the database or the disk is not there, turn away those who wait, and try again a little later."""
        if not self._stopping.is_set():
            self._state = AWAY
        self.metrics.storage_errors.inc()
        self.metrics.ready.set(0)
        tell("storage failed", logging.ERROR, reason=str(error))
        self._close()
        refuse(self._waiting(), unavailable(AWAY))
        self._begun.set()
        if self.failure is None:
            self._stopping.wait(_RETRY)
        # Those who came in between two looks at `reasons`.
        refuse(self._waiting(), unavailable(AWAY))

    def _close(self) -> None:
        for batch in self._committer.abandon():
            for hosted in batch.touched:
                hosted.dirty = True
        for journal in (self._reading, self._writing):
            if journal is not None:
                journal.connection.close()
        self._reading = self._writing = None

    def _finish(self) -> None:
        try:
            if self._reading is not None:
                while jobs := self._waiting():
                    self._apply(jobs)
                self.land()
                self._upkeep.last()
        except StorageError as error:
            tell("storage failed", logging.ERROR, reason=str(error))
        refuse(self._waiting(), unavailable("the service is shutting down"))
        self._close()

    # The database, opened or opened again

    def _open(self) -> None:
        """Connect, become the one writer, and load what memory does not hold or may not be trusted in."""
        self._writing = Journal(self.database.connect())
        self.database.claim(self._writing.connection)
        journal = self._reading = Journal(self.database.connect())
        self._committer.begin(self._writing)
        self.reload_keys()
        # Before the catalogues, which then hold every item that a decision names.
        rows = journal.policies()
        known = self.policies
        self.catalogues = {one.name: one for one in journal.catalogues()}
        stale = [row for row in rows if not self._current(known.get(row[0]), row[4].position)]
        self.publish({row[0]: known[row[0]] for row in rows if row not in stale} | self._load(stale))
        for hosted in self.policies.values():
            if hosted.spec.catalogue is not None:
                hosted.catalogue = self.catalogues[hosted.spec.catalogue]
        # Not even a clock that was set back may let the log's times go backwards.
        self.clock.at_least(max((row[4].last_at for row in rows), default=0.0))
        # It may be there to read from and full.
        self.write(lambda journal: journal.try_writing())
        if not self._stopping.is_set():
            self._beat = time.monotonic()
            self._state = ""
            self.metrics.ready.set(1)
            tell("ready", policies=len(self.policies))
        self._begun.set()

    def _load(self, rows: Sequence[PolicyRow]) -> dict[int, Hosted]:
        """Return policies from the disk; those that cannot be rebuilt are noted and left out."""
        assert self._reading is not None
        found = {}
        for row in rows:
            self.broken.pop(row[1], None)
            # A snapshot ahead of the log is of another history, from before a backup was put back.
            self.database.drop_snapshots(self._reading.connection, row[0], row[4].position)
            try:
                found[row[0]] = recovery.load(self.database, self._reading, row, self.catalogues)
            except Unrepeatable as error:
                self.broken[row[1]] = row[0]
                tell("policy left out", logging.ERROR, policy=row[1], reason=str(error))
        return found

    @staticmethod
    def _current(hosted: Hosted | None, position: int) -> bool:
        return hosted is not None and not hosted.dirty and hosted.head.position == position

    def publish(self, policies: dict[int, Hosted]) -> None:
        """Let requests see these policies from now on."""
        self.policies = policies
        self._names = {hosted.name: hosted for hosted in policies.values()}

    def forget(self, policy: int, name: str) -> None:
        """Drop what is known of a policy that was deleted."""
        self._upkeep.forget(policy)
        self.metrics.forget(name)

    def reload_keys(self) -> None:
        """Take the keys of the database, where the command line may have changed them."""
        assert self._reading is not None
        self.keys.replace(self._reading.keys())

    # The work

    def _step(self) -> None:
        self._beat = time.monotonic()
        jobs = self._waiting(_TICK)
        if jobs:
            self._apply(jobs)
        else:
            # A batch that failed must be noticed even if nobody comes.
            self._committer.in_flight()
        assert self._reading is not None
        self._upkeep.look(self._reading)

    def _waiting(self, wait: float = 0.0) -> list[Job]:
        """Return the jobs that wait, of which those are left out that nobody waits for any more."""
        jobs: list[Job] = []
        try:
            jobs.append(self._queue.get(timeout=wait) if wait else self._queue.get_nowait())
            while len(jobs) < _LARGEST_BATCH:
                jobs.append(self._queue.get_nowait())
        except Empty:
            pass
        return [job for job in jobs if not job.future.done()]

    def _apply(self, jobs: Sequence[Job]) -> None:
        """Apply jobs in their order; tasks stand between the batches before and after them."""
        run: list[Ask | Report] = []
        try:
            for job in jobs:
                if isinstance(job, Task):
                    self._apply_batch(run)
                    run = []
                    self.land()
                    self._apply_task(job)
                else:
                    run.append(job)
            self._apply_batch(run)
        except Exception:
            # Those that have been answered already are not answered again.
            refuse(jobs, unavailable(AWAY))
            raise

    def _apply_task(self, task: Task) -> None:
        try:
            result = self.write(task.action)
        except StorageError:
            raise
        except Refusal as refusal:
            result = refusal
        except Exception:
            tell("a task of the writer failed", logging.ERROR, trace=True)
            result = internal()
        # What a task has done to memory it does in what it returns, once it is on disk.
        deliver([(task, result() if callable(result) else result)])

    def _apply_batch(self, jobs: list[Ask | Report]) -> None:
        while jobs:
            failure = self.transact(partial(Batch.apply, jobs=jobs))
            if failure is None:
                self.metrics.count_batch("decide", sum(isinstance(job, Ask) for job in jobs))
                self.metrics.count_batch("reward", sum(isinstance(job, Report) for job in jobs))
                return
            jobs = [job for job in jobs if job not in failure.jobs]
            if len(failure.jobs) == 1:
                refuse(failure.jobs, failure.refusal)
            else:
                # One of them is to blame; the others shall not suffer for it.
                for job in failure.jobs:
                    self._apply_batch([job])

    def transact(self, action: Callable[[Batch], Any]) -> PolicyFailure | None:
        """Let a batch do something in memory, then send it to the disk; return what a policy failed in."""
        assert self._reading is not None
        batch = Batch(self.policies, self._reading, self._committer.in_flight(), self.metrics, self.clock.now())
        try:
            action(batch)
            self._committer.send(batch)
        except PolicyFailure as failure:
            tell("a policy failed", logging.WARNING, trace=failure.refusal.status >= 500)
            for hosted in batch.touched:
                hosted.dirty = True
            self.land()
            self._load_again(batch.touched)
            return failure
        except BaseException:
            for hosted in batch.touched:
                hosted.dirty = True
            refuse((job for job, _ in batch.outcomes), unavailable(AWAY))
            raise
        self.metrics.queue_length.set(self._queue.qsize())
        return None

    def land(self) -> None:
        """Wait until everything on its way is on disk; raise what kept it from getting there."""
        self._committer.land()

    def write(self, action: Callable[[Journal], Any]) -> Any:
        """Run something in a transaction of its own, with nothing else on its way."""
        assert self._writing is not None
        self.land()
        with self._writing.connection.transaction():
            return action(self._writing)

    def _load_again(self, touched: Sequence[Hosted]) -> None:
        assert self._reading is not None
        wanted = {hosted.id for hosted in touched}
        fresh = self._load([row for row in self._reading.policies() if row[0] in wanted])
        self.publish({id_: one for id_, one in self.policies.items() if id_ not in wanted} | fresh)
