"""`Client` and `AsyncClient`: decisions, rewards and everything else that the service offers, from Python."""

from types import TracebackType
from typing import Self, TypeVar

from eigenbandits.serve.client.async_transport import AsyncTransport
from eigenbandits.serve.client.calls import Calls
from eigenbandits.serve.client.exchange import Service
from eigenbandits.serve.client.plans import Awaiting, Plan, Waiting, carried_out
from eigenbandits.serve.client.transport import Transport

T = TypeVar("T")
_URL = "http://127.0.0.1:8765"


class Client(Calls, Waiting):
    """Talks to `eigenbandits serve`; usable from any number of threads.

    A call that fails for a temporary reason (no connection, too busy, shutting down) is retried until `patience` runs
    out. Nothing is done twice: every decision is requested under its own id, and a reward counts once.

    Parameters
    ----------
    url
        The address of the service.
    key
        The API key; None if the service has none.
    timeout
        The seconds that one attempt may take.
    patience
        Seconds after which no further attempt is made; 0 for a single attempt. The default is 30, but 3 while the
        service cannot be reached and has never answered, since the address is then probably wrong.

    Raises
    ------
    ServiceError
        Any call may raise it; its subclasses say what can be done about it.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> from eigenbandits.serve import Client, Settings, running
    >>> with TemporaryDirectory() as folder, running(Settings(folder=folder, port=0)) as server:
    ...     with Client(server.url) as client:
    ...         policy = client.create_policy("news", parameters={"noise": 0.5, "seed": 0})
    ...         decision = client.decide("news", [[1.0, 0.0], [0.0, 3.0]])
    ...         decision.index, client.reward("news", decision, 1.0), client.reward("news", decision.decision, 1.0)
    (1, 'learned', 'repeated')
    """

    def __init__(
        self, url: str = _URL, *, key: str | None = None, timeout: float = 10.0, patience: float | None = None
    ) -> None:
        self._transport = Transport(Service(url, key, timeout, patience))

    def __repr__(self) -> str:
        return f"Client({self._transport.service.url!r})"

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def run(self, plan: Plan[T]) -> T:
        """Carry out a call's plan."""
        return carried_out(plan, self._transport.send)

    def close(self) -> None:
        """Close the connections; the next call opens a new one."""
        self._transport.close()


class AsyncClient(Calls, Awaiting):
    """The same calls for programs with an event loop: ``await client.decide(…)``.

    Any number of tasks in one event loop may share it; each call in progress has its own connection. Parameters,
    results and errors are those of `Client`.

    Parameters
    ----------
    url, key, timeout, patience
        As for `Client`.

    Examples
    --------
    >>> import asyncio
    >>> from tempfile import TemporaryDirectory
    >>> from eigenbandits.serve import AsyncClient, Settings, running
    >>> async def main(url):
    ...     async with AsyncClient(url) as client:
    ...         await client.create_policy("news", parameters={"noise": 0.5, "seed": 0})
    ...         decisions = await asyncio.gather(*(client.decide("news", [[1.0, 0.0], [0.0, 3.0]]) for _ in range(3)))
    ...         return [await client.reward("news", decision, 1.0) for decision in decisions]
    >>> with TemporaryDirectory() as folder, running(Settings(folder=folder, port=0)) as server:
    ...     asyncio.run(main(server.url))
    ['learned', 'learned', 'learned']
    """

    def __init__(
        self, url: str = _URL, *, key: str | None = None, timeout: float = 10.0, patience: float | None = None
    ) -> None:
        self._transport = AsyncTransport(Service(url, key, timeout, patience))

    def __repr__(self) -> str:
        return f"AsyncClient({self._transport.service.url!r})"

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    async def run(self, plan: Plan[T]) -> T:
        """Carry out a call's plan."""
        try:
            request = next(plan)
            while True:
                request = plan.send(await self._transport.send(request))
        except StopIteration as end:
            result: T = end.value
            return result

    def close(self) -> None:
        """Close the connections; the next call opens a new one."""
        self._transport.close()
