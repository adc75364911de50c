"""The writer: one thread with one queue, which alone changes policies, catalogues and keys."""

from __future__ import annotations

import logging
import sys
import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from threadpoolctl import threadpool_limits

from eigenbandits.policy import Policy
from eigenbandits.serve.clock import Clock
from eigenbandits.serve.errors import InUseError, PolicyError, ReplayError, StorageError, unavailable
from eigenbandits.serve.keys import KeyRing
from eigenbandits.serve.logs import log_event
from eigenbandits.serve.metrics import Metrics
from eigenbandits.serve.settings import Settings
from eigenbandits.serve.storage import Connection, Database
from eigenbandits.serve.storage.journal import Journal
from eigenbandits.serve.storage.lane_journal import LaneJournal
from eigenbandits.serve.storage.schema import PolicyRow, new_epoch
from eigenbandits.serve.writer import recovery
from eigenbandits.serve.writer.batch import Batch
from eigenbandits.serve.writer.catalogue import Catalogue
from eigenbandits.serve.writer.command_loop import CommandLoop
from eigenbandits.serve.writer.commands import Task, reject
from eigenbandits.serve.writer.committer import NO_STORAGE, Committer
from eigenbandits.serve.writer.hosted_policy import HostedPolicy, Resumption
from eigenbandits.serve.writer.maintenance import Maintenance
from eigenbandits.serve.writer.policy_spec import PolicySpec
from eigenbandits.serve.writer.registry import BrokenPolicy, Registry

# The estimated seconds that the commands of one batch may take together; more commands wait for the next batch.
BUDGET = 0.02
# Seconds between rounds of maintenance without traffic, and between attempts to reach a lost database.
_TICK, _RETRY = 0.2, 0.5
# Seconds for which a thread may keep the others waiting while it runs Python: requests wait for the writer and the
# writer for requests, so they must take turns more often than by default.
_SWITCH = 0.0005
# Seconds without a response from the database after which the service reports it, and seconds to wait at shutdown.
_QUIET, _PATIENCE = 5.0, 60.0
_STARTING, _STOPPING = "the service is starting", "the service is shutting down"


class Writer(CommandLoop):
    """Takes commands from its queue, applies them to the policies in batches, and submits the batches for commit.

    A second thread commits: while one batch is on its way to disk, the next is chosen and learned. Batches are
    committed in the order in which they were applied, and no command is resolved before it is committed.

    Parameters
    ----------
    settings, database, clock
        The service's settings, database and clock.

    Attributes
    ----------
    registry
        What requests see.
    background
        Writes snapshots, one at a time.
    epoch
        The epoch of decisions made now; see `storage.schema.DecisionRow`.
    loaded
        Set once the policies have been loaded, or loading has failed.
    alone
        Whether no other process decides or learns.
    """

    alone = True

    def __init__(self, settings: Settings, database: Database, clock: Clock | None = None) -> None:
        super().__init__(Metrics())
        self.settings = settings
        self.database = database
        self.clock = clock if clock is not None else Clock()
        self.registry = Registry(KeyRing(may_be_open=settings.loopback))
        self.background = ThreadPoolExecutor(1, thread_name_prefix="background")
        self.failure: Exception | None = None
        self.epoch = new_epoch()
        self.loaded = threading.Event()
        self._resumed: dict[int, Resumption] = {}
        self._state = _STARTING
        # Seconds to wait for commands before the next round of maintenance.
        self.tick = _TICK
        self._last_step = time.monotonic()
        self._stopping = threading.Event()
        self._opened = threading.Event()
        self._reading: Journal | None = None
        self._writing: Journal | None = None
        self._committer = Committer(database, self.metrics)
        self._maintenance = self.make_maintenance()
        self._thread = threading.Thread(target=self._run, name="writer", daemon=True)

    # Overridden by the roles of a service with deciders

    def make_maintenance(self) -> Maintenance:
        """Return the object that does the work between commands."""
        return Maintenance(self)

    def make_batch(self, journal: Journal, before: Sequence[Batch]) -> Batch:
        """Return an empty batch."""
        return Batch(self.registry.policies, journal, before, self.metrics, self.clock.now(), self.epoch)

    def host(self, row: PolicyRow, catalogue: Catalogue | None, policy: Policy | None) -> HostedPolicy:
        """Return a policy that has just been created, with its initial state."""
        return HostedPolicy(row, catalogue, policy)

    def administer(self, task: Task) -> Any:
        """Run a task, or the next of its steps, in a transaction of its own; return the task while there are more."""
        return self.write(task.advance)

    def clean(self, journal: Journal) -> None:
        """Resume deletions and uploads that were interrupted."""
        self.write(lambda journal: journal.drop_unfinished_items())
        self._maintenance.garbage = journal.garbage()

    def refuse_spec(self, spec: PolicySpec) -> None:
        """Leave out a policy that this role cannot host, by raising `ReplayError`."""

    def refuse_unknown(self, name: str) -> None:
        """Refuse an unknown policy name if it is too early to tell whether the policy exists."""
        # That is the case until the policies are loaded.
        self.refuse_unless_ready()

    @property
    def belief_age(self) -> float | None:
        """The seconds since beliefs included all rewards; None if choices always use the latest belief."""
        return None

    # For requests

    @property
    def reasons(self) -> list[str]:
        """Why the service cannot decide and learn; empty while it can."""
        if self._state:
            return [self._state]
        if self._committer.failed:
            return [NO_STORAGE]  # the writer will notice it shortly
        # A database that neither answers nor fails has to be noticed here.
        quiet = max(time.monotonic() - self._last_step - _TICK, self._committer.busy_for())
        return ["its storage does not answer"] if quiet > _QUIET else []

    def refuse_unless_ready(self, policy: int = 0, submitting: int = 0) -> None:
        """Refuse a command that cannot be accepted now; `submitting` more for its policy are about to be submitted."""
        for reason in self.reasons:
            raise unavailable(reason)
        if self._queue.waiting(policy) + submitting >= self.settings.max_waiting:
            raise unavailable("too many requests are waiting")

    # Start and stop

    def start(self, wait: float = 60.0) -> None:
        """Start the thread and wait until it has tried to open the database once; raise if the service cannot run.

        The policies are loaded afterward; `loaded` says when.
        """
        self._switch = sys.getswitchinterval()
        sys.setswitchinterval(min(_SWITCH, self._switch))
        # One BLAS thread: sums are the same bit for bit, and cores are left for the requests.
        self._blas = threadpool_limits(1, user_api="blas")
        self._thread.start()
        self._opened.wait(wait)
        if self.failure is not None:
            failure = self.failure
            self.stop()
            raise failure

    def stop(self) -> None:
        """Finish the waiting commands, take snapshots, and close the database."""
        self._state = _STOPPING
        self._stopping.set()
        # A task without a caller wakes the thread.
        wake = Task(lambda journal: None)
        wake.future.cancel()
        self._queue.put([wake])
        # With a timeout: a database that hangs must not keep the process from ending. Everything acknowledged is safe.
        self._thread.join(_PATIENCE)
        if self._thread.is_alive():
            log_event("the writer does not stop; giving up on it", logging.ERROR)
            return
        self._committer.close()
        self.background.shutdown()
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
                if not (self._opened.is_set() or isinstance(error, StorageError)):
                    self.failure = error
                self._recover(error)
            except Exception as error:  # a bug: log it, and continue from the state in the log
                log_event("writer failed", logging.ERROR, trace=True)
                for hosted in self.registry.policies.values():
                    hosted.dirty = True
                self._recover(error)
        self._finish()

    def _recover(self, error: Exception) -> None:
        """Report that the database is lost, reject the waiting commands, and pause before the next attempt."""
        if not self._stopping.is_set():
            self._state = NO_STORAGE
        self.metrics.storage_errors.inc()
        self.metrics.ready.set(0)
        log_event("storage failed", logging.ERROR, reason=str(error))
        self._close()
        self._reject_waiting(NO_STORAGE)
        self._opened.set()
        self.loaded.set()
        if self.failure is None:
            self._stopping.wait(_RETRY)
        # Those that were submitted before the state had changed.
        self._reject_waiting(NO_STORAGE)

    def _close(self) -> None:
        for batch in self._committer.abort():
            for hosted in batch.touched:
                hosted.dirty = True
        for journal in (self._reading, self._writing):
            if journal is not None:
                journal.connection.close()
        self._reading = self._writing = None

    def _finish(self) -> None:
        try:
            if self._reading is not None:
                while commands := self._take():
                    self._apply(commands)
                self.flush()
                self._maintenance.take_last_snapshots()
        except StorageError as error:
            log_event("storage failed", logging.ERROR, reason=str(error))
        self._reject_waiting(_STOPPING)
        self._close()

    # The database, opened or opened again

    def _open(self) -> None:
        """Connect, become the only writer, and load what is missing from memory or cannot be trusted."""
        # The database may now be older than what memory knows.
        self.epoch = new_epoch()
        self._connect()
        assert self._reading is not None
        journal = self._reading
        self.reload_keys()
        self._opened.set()
        # Before the catalogues, which then contain every item that a decision names.
        rows = journal.policies()
        before = self._resumed if self.loaded.is_set() else {}
        self._resumed = recovery.resumptions(rows, before, self.clock.now())
        self.registry.catalogues = {one.name: one for one in recovery.load_catalogues(journal)}
        known = {id_: one for id_, one in self.registry.policies.items() if not one.dirty}
        current = [known[row.id] for row in rows if row.id in known and known[row.id].head.position == row.position]
        ids = {hosted.id for hosted in current}
        self.registry.publish(current + self._load([row for row in rows if row.id not in ids]))
        for hosted in self.registry.policies.values():
            if hosted.spec.catalogue is not None:
                hosted.catalogue = self.registry.catalogues[hosted.spec.catalogue]
        # Reading may be possible when writing is not, as on a full disk.
        self.write(lambda journal: journal.try_writing())
        self.clean(journal)
        if not self._stopping.is_set():
            self._last_step = time.monotonic()
            self._state = ""
            self.metrics.ready.set(1)
            log_event("ready", policies=len(self.registry.policies))
        self.loaded.set()

    def _connect(self) -> None:
        """Connect, and become the only writer."""
        self._writing = Journal(self.database.connect())
        self.database.claim(self._writing.connection)
        self._reading = Journal(self.database.connect())
        if LaneJournal(self._reading.connection).has_lanes():
            raise ValueError(
                "this database is served by deciders and a learner; start it with --deciders, or in these roles."
            )
        self._committer.start(self._writing)

    def _load(self, rows: Sequence[PolicyRow]) -> list[HostedPolicy]:
        """Return policies from the disk; those that cannot be rebuilt are recorded and left out."""
        assert self._reading is not None
        loaded: list[HostedPolicy] = []
        for number, row in enumerate(rows):
            if self._stopping.is_set():
                break
            if not self.loaded.is_set():
                self._state = f"{_STARTING}: {number} of {len(rows)} policies are loaded"
            self._last_step = time.monotonic()
            self.registry.broken.pop(row.name, None)
            # A snapshot ahead of the log is from another history, before a backup was restored.
            self.database.drop_snapshots(self._reading.connection, row.id, row.position)
            try:
                self.refuse_spec(PolicySpec.from_text(row.spec))
                hosted = recovery.load(self.database, self._reading, row, self.registry.catalogues)
                hosted.resumed = self._resumed.get(row.id, hosted.resumed)
                loaded.append(hosted)
            except (ReplayError, ValueError) as error:
                self.registry.broken[row.name] = BrokenPolicy(row.id, str(error))
                log_event("policy left out", logging.ERROR, policy=row.name, reason=str(error))
        return loaded

    def forget(self, policy: int, name: str) -> None:
        """Drop everything known about a deleted policy."""
        self._maintenance.forget(policy)
        self.metrics.forget(name)

    def recheck_expiry(self, policy: int) -> None:
        """Recompute when the decisions of a policy expire, after its time to live has changed."""
        self._maintenance.recheck_expiry(policy)

    def discard(self, kind: str, id_: int) -> None:
        """Schedule the rows of a deleted policy or catalogue for removal, a batch at a time."""
        self._maintenance.garbage.append((kind, id_))

    def discard_items(self, catalogue: Catalogue) -> None:
        """Schedule the items of a version that a catalogue never reached for removal."""
        self._maintenance.unfinished.append(catalogue)

    def reload_keys(self) -> None:
        """Read the keys from the database, where the command line may have changed them."""
        assert self._reading is not None
        self.registry.keys.replace(self._reading.keys())

    # Commands

    def _step(self) -> None:
        self._last_step = time.monotonic()
        commands = self._take(0.001 if self._maintenance.busy else self.tick, BUDGET)
        if commands:
            self._apply(commands)
        else:
            # A failed batch must be noticed even without traffic.
            self._committer.in_flight()
        damaged = self._committer.damaged
        if damaged:
            # Their memory is ahead of the log.
            self._reload([hosted for hosted in self.registry.policies.values() if hosted.id in damaged])
            self._committer.readmit(damaged)
        assert self._reading is not None
        self._maintenance.run(self._reading)

    # For maintenance and tasks

    def transact(self, action: Callable[[Batch], Any]) -> PolicyError | None:
        """Apply an action to a batch in memory, then submit it for commit; return the failure of a policy, if any."""
        assert self._reading is not None
        before = self._committer.in_flight()
        batch = self.make_batch(self._reading, before)
        try:
            action(batch)
            self._committer.submit(batch)
        except PolicyError as failure:
            log_event("policy failed", logging.WARNING, trace=failure.refusal.status >= 500)
            self._reload(batch.touched)
            return failure
        except BaseException:
            for hosted in batch.touched:
                hosted.dirty = True
            reject((command for command, _ in batch.results), unavailable(NO_STORAGE))
            raise
        self.metrics.queue_length.set(len(self._queue))
        return None

    def flush(self) -> None:
        """Wait until everything in flight is on disk; raise if it failed."""
        self._committer.flush()

    def write(self, action: Callable[[Journal], Any]) -> Any:
        """Run an action in a transaction of its own, with nothing else in flight."""
        assert self._writing is not None
        self.flush()
        with self._writing.connection.transaction():
            result = action(self._writing)
        # Deletions and uploads may write a lot.
        self.database.finish_checkpoint(self._writing.connection)
        return result

    def between(self, action: Callable[[Connection], Any]) -> Any:
        """Run an action on the writing connection, with nothing in flight and outside of any transaction."""
        assert self._writing is not None
        self.flush()
        return action(self._writing.connection)

    def _reload(self, touched: Sequence[HostedPolicy]) -> None:
        """Reload policies that may have done something that the log does not contain."""
        assert self._reading is not None
        for hosted in touched:
            hosted.dirty = True
        self.flush()
        ids = {hosted.id for hosted in touched}
        fresh = self._load([row for row in self._reading.policies() if row.id in ids])
        self.registry.publish([one for one in self.registry.policies.values() if one.id not in ids] + fresh)
