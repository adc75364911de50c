"""Check: one promise that every policy keeps; check_policy: all of them, for a policy of one's own."""

import inspect
import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Protocol

from eigenbandits.policy import Policy


class Factory(Protocol):
    """What makes the policies to check: for actions of length `dim`, with a seed."""

    def __call__(self, *, dim: int, seed: int) -> Policy:
        """Return a new policy."""


@dataclass(frozen=True)
class Make:
    """Makes policies for a check, by default for actions of length 6."""

    factory: Factory

    def __call__(self, dim: int = 6, seed: int = 3) -> Policy:
        """Return a new policy."""
        policy = self.factory(dim=dim, seed=seed)
        if not isinstance(policy, Policy):
            raise TypeError(f"the factory returned a {type(policy).__name__}; expected an eigenbandits.Policy.")
        return policy


@dataclass(frozen=True)
class Check:
    """One promise that every policy keeps.

    Attributes
    ----------
    name
        By which a check is skipped.
    promise
        The promise, in a sentence.
    function
        What raises an `AssertionError` where the promise is broken.
    """

    name: str
    promise: str
    function: Callable[[Make], None]

    def __call__(self, factory: Factory) -> None:
        """Check a policy; a warning counts as an error."""
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            self.function(Make(factory))


class BrokenPromisesError(AssertionError):
    """Raised by `check_policy`: which checks failed, and how."""


CHECKS: dict[str, Check] = {}


def check(function: Callable[[Make], None]) -> Callable[[Make], None]:
    """Register a check under the name of its function; the first line of its docstring is the promise."""
    name = function.__name__
    assert name not in CHECKS, f"{name} is registered twice"
    CHECKS[name] = Check(name, (inspect.getdoc(function) or "").partition("\n")[0], function)
    return function


def checks() -> list[Check]:
    """Return all checks, for test runners that run them one by one.

    Examples
    --------
    >>> import eigenbandits as eb
    >>> [check.name for check in eb.testing.checks()][:2]
    ['actions_out_of_reach', 'allowed_rows_are_the_decision_set']
    >>> eb.testing.checks()[0](lambda dim, seed: eb.Greedy(seed=seed))
    """
    return [CHECKS[name] for name in sorted(CHECKS)]


def check_policy(factory: Factory, *, skip: Mapping[str, str] | None = None) -> list[str]:
    """Check what every policy of this library promises, on a policy of your own.

    All checks are run, also after one has failed. They take some seconds and need no test runner.

    Parameters
    ----------
    factory
        Called as ``factory(dim=…, seed=…)``; returns a new policy for actions of length `dim`, from 1 to 64, each time.
    skip
        The checks to leave out: a reason for each name.

    Returns
    -------
    list of str
        The names of the checks that were run.

    Raises
    ------
    BrokenPromisesError
        If a check fails; the message lists all that did.
    ValueError
        If the factory makes no policy, or `skip` names no check or gives no reason.

    Examples
    --------
    >>> import eigenbandits as eb
    >>> passed = eb.testing.check_policy(
    ...     lambda dim, seed: eb.LinUCB(memory=50.0, seed=seed),
    ...     skip={"order_does_not_matter": "rewards fade, so that the latest weighs most"},
    ... )
    >>> "bad_rewards" in passed, "order_does_not_matter" in passed
    (True, False)
    """
    if not __debug__:
        raise RuntimeError("check_policy relies on assert statements; run Python without -O.")
    left_out = dict(skip or {})
    unknown = sorted(left_out.keys() - CHECKS.keys())
    if unknown:
        raise ValueError(f"skip names {', '.join(unknown)}; expected some of {', '.join(sorted(CHECKS))}.")
    silent = [name for name, reason in left_out.items() if not reason]
    if silent:
        raise ValueError(f"skip has no reason for {', '.join(silent)}; say why.")
    try:
        Make(factory)()
    except Exception as error:
        raise ValueError(
            f"factory(dim=6, seed=3) raised {type(error).__name__} ({error}); "
            "expected a function of dim and seed that returns a new policy."
        ) from error
    run = [one for one in checks() if one.name not in left_out]
    failures: dict[str, BaseException] = {}
    for one in run:
        try:
            one(factory)
        except Exception as error:  # whatever a policy raises is a broken promise
            failures[one.name] = error
    if failures:
        lines = [
            f"- {name}: {CHECKS[name].promise} {type(error).__name__}: {str(error).strip()}"
            for name, error in failures.items()
        ]
        raise BrokenPromisesError(f"{len(failures)} of {len(run)} checks failed:\n" + "\n".join(lines)) from next(
            iter(failures.values())
        )
    return [one.name for one in run]
