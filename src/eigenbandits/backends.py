"""The backend of the process: plain NumPy, or the steps of a round compiled by numba."""

import os
from functools import cache

import numpy as np

from eigenbandits import belief, inputs, rules
from eigenbandits.linalg import kernels
from eigenbandits.policy import Policy
from eigenbandits.subspace import Known, Spectrum

VARIABLE = "EIGENBANDITS_BACKEND"
BACKENDS = ("numpy", "numba")


def set_backend(name: str) -> None:
    """Choose what runs the steps of a round from now on, in this process and in processes that it starts.

    The backends agree up to rounding, so a policy may be created with one and continued with the other, but it
    continues bit for bit only with the same one. The environment variable ``EIGENBANDITS_BACKEND`` sets the backend for
    programs that cannot call this function.

    Parameters
    ----------
    name
        "numpy", or "numba", which compiles the steps; this takes half a minute, once per machine.

    Examples
    --------
    >>> import eigenbandits as eb
    >>> eb.set_backend("numba")  # doctest: +SKIP
    >>> eb.get_backend()
    'numpy'
    """
    before = kernels.backend
    kernels.switch(inputs.one_of(name, "backend", BACKENDS))
    try:
        if name == "numba":
            _rehearse()
    except BaseException:
        kernels.switch(before)
        raise
    os.environ[VARIABLE] = name


def get_backend() -> str:
    """Return the name of the backend in use: "numpy" or "numba"."""
    return kernels.backend


def follow_environment() -> None:
    """Set the backend named by the environment variable; called when the package is imported."""
    name = os.environ.get(VARIABLE, "")
    if name not in ("", *BACKENDS):
        raise ValueError(f"{VARIABLE} is {name!r}; expected 'numpy' or 'numba'.")
    if name == "numba":
        set_backend(name)


@cache
def _rehearse() -> None:
    """Run a few rounds with the usual kinds of arrays, so that no later round waits for the compiler."""
    for center, writeable in (("none", True), ("none", False), ("set", True)):
        actions = np.eye(3, 4) + 0.5
        actions.setflags(write=writeable)
        both, known = belief.Both(belief.Projected(0.1), belief.Ambient(0.1)), Known(np.eye(4, 2), 0.1)
        for where, what in ((known, both), (known, both.ambient), (Spectrum(), belief.Spectral())):
            policy = Policy(where, what, rules.Optimism(), center)
            policy.learn(policy.choose(actions), 0.5)
            policy.choose_many([actions, actions])
            policy.learn(policy.choose(actions), 0.5)
