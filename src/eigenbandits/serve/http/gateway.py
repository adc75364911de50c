"""The gateway: how handlers reach the writer, which makes all changes, and how they read the database."""

import asyncio
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar

from eigenbandits.serve.errors import Refusal, StorageError, invalid, unavailable
from eigenbandits.serve.storage import Connection
from eigenbandits.serve.storage.journal import Journal
from eigenbandits.serve.storage.schema import DecisionRow
from eigenbandits.serve.writer.administration import Administration
from eigenbandits.serve.writer.batch import parts
from eigenbandits.serve.writer.commands import Command, DecideCommand, PolicyCommand, RewardCommand, SentReward, Task
from eigenbandits.serve.writer.decision_sets import DecisionSet, InlineSet
from eigenbandits.serve.writer.hosted_policy import HostedPolicy
from eigenbandits.serve.writer.writer import BUDGET, Writer

T = TypeVar("T")
_MOST_READERS = 20


class Gateway:
    """Passes commands to the writer and waits for the results; reads from the database in a thread of its own."""

    def __init__(self, writer: Writer) -> None:
        self.writer = writer
        self.settings = writer.settings
        self.metrics = writer.metrics
        self.registry = writer.registry
        self.administration = Administration(writer)
        # Not the default executor: a hanging database must not use up threads that others need.
        self._reader = ThreadPoolExecutor(1, thread_name_prefix="reader")
        self._readers = 0
        self._connection: Connection | None = None
        self._gathered: list[Command] = []
        self._counts: dict[int, int] = {}

    def policy(self, name: str) -> HostedPolicy:
        """Return a policy by its name."""
        if not self.registry.has_policy(name):
            self.writer.refuse_unknown(name)
        return self.registry.policy(name)

    async def decide(
        self, hosted: HostedPolicy, sets: list[DecisionSet], requests: list[str | None]
    ) -> list[DecisionRow]:
        """Have a policy choose from decision sets.

        Sets that would take long together are split into pieces, with other requests in between. The pieces are
        committed one by one: if one fails, the sets before it have been decided.
        """
        if hosted.dim is None and len({one.array.shape[1] for one in sets if isinstance(one, InlineSet)}) > 1:
            raise invalid(
                "The actions have vectors of different lengths; expected equal lengths.", "actions", "wrong_dimension"
            )
        costs = [hosted.cost_of(one) for one in sets]
        if len(sets) > 1 and sum(costs) > 0.5 * self.settings.request_timeout:
            message = (
                f"This batch would take about {sum(costs):.0f} seconds, more than half of the request timeout; send "
                "fewer requests at a time, or fewer items."
            )
            raise Refusal(413, "batch_too_costly", message, "requests")
        if len(sets) == 1:
            return await self._piece(DecideCommand(hosted.id, sets, requests, self._future(), costs[0]))
        return await self._pieces(
            [
                DecideCommand(hosted.id, sets[part], requests[part], self._future(), sum(costs[part]))
                for part in parts(costs, BUDGET)
            ]
        )

    async def reward(self, hosted: HostedPolicy, rewards: list[SentReward]) -> Sequence[str | Refusal]:
        """Submit rewards; return the outcome of each."""
        costs = [hosted.seconds_per_reward] * len(rewards)
        if len(rewards) == 1:
            return await self._piece(RewardCommand(hosted.id, rewards, self._future(), costs[0]))
        return await self._pieces(
            [RewardCommand(hosted.id, rewards[part], self._future(), sum(costs[part])) for part in parts(costs, BUDGET)]
        )

    @staticmethod
    def _future() -> asyncio.Future[Any]:
        return asyncio.get_running_loop().create_future()

    async def _piece(self, command: PolicyCommand) -> list[Any]:
        """Submit a command that is a single piece, and return its results."""
        self._submit(command)
        # A timer that ends the future itself costs a third of `asyncio.timeout`, which cancels the task.
        timer = asyncio.get_running_loop().call_later(self.settings.request_timeout, _give_up, command.future)
        try:
            results: list[Any] = await command.future
            return results
        finally:
            timer.cancel()

    async def _pieces(self, commands: Sequence[PolicyCommand]) -> list[Any]:
        """Submit the pieces of a command one after another, and return their combined results."""
        if len(commands) == 1:
            return await self._piece(commands[0])
        results: list[Any] = []
        try:
            async with asyncio.timeout(self.settings.request_timeout):
                self._submit(commands[0])
                for command, following in zip(commands, [*commands[1:], None], strict=True):
                    # Two at a time: while one is on its way to disk, the next is chosen.
                    if following is not None:
                        self._submit(following)
                    results += await command.future
        except TimeoutError:
            raise unavailable("this took too long") from None
        finally:
            # Commands that nobody waits for are not carried out.
            for command in commands:
                command.future.cancel()
        return results

    async def write(self, action: Callable[..., Any], *args: Any) -> Any:
        """Run a task in the writer's thread, in a transaction of its own, and return its result."""
        changes = isinstance(getattr(action, "__self__", None), Administration)
        task = Task(lambda journal: action(journal, *args), changes=changes)
        self._submit(task)
        try:
            # An upload or a deletion may take a while, during which nothing else uses the database.
            return await asyncio.wait_for(asyncio.wrap_future(task.future), 10.0 * self.settings.request_timeout)
        except TimeoutError:
            raise unavailable("this took too long") from None

    def _submit(self, command: Command) -> None:
        """Collect the commands of one turn of the event loop, and pass them to the writer together.

        Otherwise the writer would start on the first one, and few commands would share a transaction.
        """
        policy = 0 if isinstance(command, Task) else command.policy
        # By policy, since there may be very many in one turn.
        gathered = self._counts.get(policy, 0)
        self.writer.refuse_unless_ready(policy, gathered)
        if not self._gathered:
            asyncio.get_running_loop().call_soon(self._hand_over)
        self._gathered.append(command)
        self._counts[policy] = gathered + 1

    def _hand_over(self) -> None:
        self.writer.submit(*self._gathered)
        self._gathered.clear()
        self._counts.clear()

    async def read(self, action: Callable[[Journal], T]) -> T:
        """Read from the database without the writer, one request at a time."""
        if self._readers >= _MOST_READERS:
            raise unavailable("too many requests are reading")
        self._readers += 1
        try:
            reading = asyncio.get_running_loop().run_in_executor(self._reader, self._read, action)
            return await asyncio.wait_for(reading, self.settings.request_timeout)
        except TimeoutError:
            raise unavailable("its storage does not answer") from None
        finally:
            self._readers -= 1

    def _read(self, action: Callable[[Journal], T]) -> T:
        try:
            if self._connection is None:
                self._connection = self.writer.database.connect()
            return action(Journal(self._connection))
        except StorageError as error:
            self._disconnect()
            raise unavailable("its storage is not available") from error

    def _disconnect(self) -> None:
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    def close(self) -> None:
        """Close the reading connection."""
        self._reader.shutdown(wait=False, cancel_futures=True)
        self._disconnect()


def _give_up(future: asyncio.Future[Any]) -> None:
    """End a command that has not finished in time; the writer skips commands whose future has ended."""
    if not future.done():
        future.set_exception(unavailable("this took too long"))
