"""Plans: a call's requests and the use of their responses, written once for both synchronous and async clients."""

import functools
from abc import ABC, abstractmethod
from collections.abc import Callable, Coroutine, Generator, Mapping
from types import MethodType
from typing import Any, Concatenate, Generic, ParamSpec, TypeVar, overload

from eigenbandits.serve.client.exchange import Request, Response

T = TypeVar("T")
P = ParamSpec("P")
Body = dict[str, Any]
# Yields requests, receives the response to each, and returns the result of the call.
Plan = Generator[Request, Response, T]


class Waiting(ABC):
    """A client whose calls return their results."""

    @abstractmethod
    def run(self, plan: Plan[T]) -> T:
        """Carry out a plan."""


class Awaiting(ABC):
    """A client whose calls are awaited."""

    @abstractmethod
    async def run(self, plan: Plan[T]) -> T:
        """Carry out a plan."""


class Call(Generic[P, T]):
    """A method of both kinds of client, made from the function that plans it.

    Examples
    --------
    >>> class Calls:
    ...     @Call
    ...     def version(self) -> Plan[str]:
    ...         answer = yield Request("GET", "/version")
    ...         return answer.body.decode()
    >>> class Echo(Calls, Waiting):
    ...     def run(self, plan):
    ...         return carried_out(plan, lambda request: Response(200, {}, request.path.encode()))
    >>> Echo().version()
    '/version'
    """

    def __init__(self, plan: Callable[Concatenate[Any, P], Plan[T]]) -> None:
        self._plan = plan
        self.__doc__ = plan.__doc__

    @overload
    def __get__(self, client: None, owner: type) -> Callable[..., Plan[T]]: ...
    @overload
    def __get__(self, client: Waiting, owner: type) -> Callable[P, T]: ...
    @overload
    def __get__(self, client: Awaiting, owner: type) -> Callable[P, Coroutine[Any, Any, T]]: ...
    def __get__(self, client: Any, owner: type) -> Any:
        """Return the method of a client."""
        if client is None:
            return self._plan
        plan = MethodType(self._plan, client)

        @functools.wraps(plan)
        def call(*args: P.args, **kwargs: P.kwargs) -> Any:
            return client.run(plan(*args, **kwargs))

        return call


def carried_out(plan: Plan[T], send: Callable[[Request], Response]) -> T:
    """Send the requests of a plan one after another, and return its result."""
    try:
        request = next(plan)
        while True:
            request = plan.send(send(request))
    except StopIteration as end:
        result: T = end.value
        return result


def ask(method: str, path: str, body: Any = None, *, query: Mapping[str, str | int] | None = None) -> Plan[Body]:
    """Plan a request whose response is a JSON object."""
    return (yield from send(Request(method, path, body, query)))


def send(request: Request) -> Plan[Body]:
    """Plan any request whose response is a JSON object or empty."""
    answer = yield request
    return dict(answer.json() or {})
