"""Cells on a Dask cluster: a running one, or one started on this machine."""

import logging
from collections import deque
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from queue import Queue
from typing import Any
from uuid import uuid4

from eigenbandits.lab.errors import LabError
from eigenbandits.lab.experiments.cells import PlannedCell
from eigenbandits.lab.experiments.engines.base import (
    ATTEMPTS,
    Engine,
    Listener,
    Outcome,
    attempt,
    collect,
    one_thread,
    put_off,
)

_CONNECT_SECONDS = 10
# After this many checks a cell that is done but whose outcome has not arrived is run again.
OVERDUE = 20


class Cluster(Engine):
    """Run cells on a cluster: a running scheduler's, or, without one, a cluster of `workers` processes on this machine.

    Workers receive a cell as text and return its file, so they need this library, and the data files at the same paths,
    but no shared disk for results.
    """

    def __init__(self, workers: int | None = None, scheduler: str | None = None) -> None:
        self.workers = workers
        self.scheduler = scheduler
        self._waiting = False

    def run(self, cells: Sequence[PlannedCell], listener: Listener) -> Iterator[Outcome]:
        """Give each thread of the cluster one cell at a time.

        A worker gets its next cell when the last one's file has arrived: a worker that dies loses only the cell that it
        is running.
        """
        topic = f"eigenbandits-{uuid4().hex}"
        by_key = {f"{topic}-{place}": cell for place, cell in enumerate(cells)}
        waiting = deque(by_key)
        outcomes, tasks, under_way = Queue[Outcome](), dict[str, Any](), dict[str, int]()
        overdue = dict[str, int]()

        def done(task: Any) -> None:
            cell = by_key[task.key]
            try:
                outcome = _outcome(cell, task)
            except Exception:
                return  # The file was lost with its worker: `rerun_lost` runs the cell again.
            if tasks.pop(task.key, None) is not None:
                outcomes.put(outcome)
                under_way.pop(cell.hash, None)

        def rerun_lost() -> None:
            """Rerun cells that are done but whose outcome has not arrived, which nothing else would detect."""
            for key, task in list(tasks.items()):
                overdue[key] = overdue.get(key, 0) + 1 if task.done() else 0
                if overdue[key] > OVERDUE:
                    overdue[key] = 0
                    done(task)
                    if key in tasks:
                        task.cancel(force=True)
                        del tasks[key]
                        waiting.append(key)

        def on_heartbeat(event: tuple[float, Any]) -> None:
            under_way[event[1]["cell"]] = event[1]["rounds"]

        def on_event(event: tuple[float, Any]) -> None:
            change = event[1]
            if change.get("action") == "remove-worker" and not change["expected"]:
                lost = [by_key[key].name for key in sorted(change["processing-tasks"]) if key in by_key]
                listener.note(f"A worker died; its cells are run again: {', '.join(lost) or 'none'}.")

        with ExitStack() as stack:
            client = self._connect(stack)
            client.subscribe_topic("all", on_event)
            client.subscribe_topic(topic, on_heartbeat)

            def feed() -> None:
                threads = self._threads(client, listener)
                rerun_lost()
                while waiting and len(tasks) < max(1, threads):
                    key = waiting.popleft()
                    tasks[key] = client.submit(_work, by_key[key].as_text(), by_key[key].hash, topic, key=key)
                    tasks[key].add_done_callback(done)

            try:
                yield from collect(outcomes, len(cells), lambda: sum(under_way.values()), listener, feed)
            finally:
                for subscribed in ("all", topic):
                    client.unsubscribe_topic(subscribed)

    def _threads(self, client: Any, listener: Listener) -> int:
        """Return how many cells the cluster can run at the same time now: workers come and go."""
        try:
            found = int(sum(client.nthreads().values()))
        except OSError as error:
            raise LabError(
                "the Dask scheduler went away; finished cells are kept, and the same command continues once it is back."
            ) from error
        if found == 0 and not self._waiting:
            listener.note("The cluster has no workers; waiting for one.")
        self._waiting = found == 0
        return found

    def _connect(self, stack: ExitStack) -> Any:
        import dask
        from distributed import Client, LocalCluster

        stack.enter_context(dask.config.set({"distributed.scheduler.allowed-failures": ATTEMPTS - 1}))
        # The listener reports in one sentence what these would report in twenty lines.
        logs = logging.getLogger("distributed")
        stack.callback(logs.setLevel, logs.level)
        logs.setLevel(logging.CRITICAL)
        if self.scheduler is None:
            with put_off():
                cluster = stack.enter_context(
                    LocalCluster(
                        n_workers=self.workers,
                        threads_per_worker=1,
                        processes=True,
                        dashboard_address=":0",
                        scheduler_kwargs={"dashboard": False},
                        silence_logs=logging.CRITICAL,
                    )
                )
            return stack.enter_context(Client(cluster))
        try:
            return stack.enter_context(Client(self.scheduler, timeout=_CONNECT_SECONDS))
        except (OSError, ValueError) as error:
            raise LabError(
                f"no Dask scheduler answers at {self.scheduler!r} ({error}); start one with `dask scheduler`."
            ) from error


def _outcome(cell: PlannedCell, task: Any) -> Outcome:
    if task.status == "finished":
        return Outcome(cell, *task.result())
    if task.status == "cancelled":
        return Outcome(cell, None, "the cluster went away.")
    return Outcome(cell, None, f"its worker died {ATTEMPTS} times ({type(task.exception()).__name__}).")


def _work(text: str, hash_: str, topic: str) -> tuple[bytes | None, str, str]:
    from distributed import get_worker

    worker = get_worker()
    one_thread()
    return attempt(text, lambda rounds: worker.log_event(topic, {"cell": hash_, "rounds": rounds}))
