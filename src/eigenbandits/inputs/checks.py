"""Checks of what users pass: each error says in one sentence what was wrong and what was expected."""

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import blas

from eigenbandits.inputs import conversion

Array = NDArray[np.float64]

# The sizes that double precision can work with here. The largest number ever formed is an entry of B^{-1/2}NNᵀB^{-1/2},
# N = Σ z yᵀ over n rewards in d dimensions: at most n² d³ X⁴/λ for entries up to X. With n = 10¹², d = 10⁵, X = 10⁵⁰
# and λ = 10⁻⁵⁰ that is 10²⁸⁹, below 1.8·10³⁰⁸; and squares of 10⁻⁵⁰, and squares of those, are above the least normal
# number, 2.2·10⁻³⁰⁸. In single precision sums of squares must lie within 10⁻³⁷ and 10³⁸: 10¹⁵ leaves room for a million
# dimensions.
LARGEST, SMALLEST = 1e50, 1e-50
_LARGEST_SINGLE, _SMALLEST_SINGLE = 1e15, 1e-15
_DTYPES = {"float64": np.dtype(np.float64), "float32": np.dtype(np.float32)}


def as_actions(actions: Any, dim: int | None, *, what: str = "actions", dtype: str = "float64") -> Array:
    """Return a decision set as a finite array of shape (K, d), K at least 1, in float64 or, where asked, float32.

    Anything that NumPy can view as an array is taken: lists, data frames, columns of lists, torch tensors on the CPU.
    """
    if type(actions) is np.ndarray and actions.dtype is _DTYPES[dtype] and actions.flags.c_contiguous:
        if actions.ndim == 2 and actions.size and actions.shape[1] == dim:
            return _finite(actions, what)
        array = actions
    else:
        array = _as_numbers(actions, what, dtype)
    if array.ndim == 1 and array.size == 0:
        raise ValueError(f"{what} is empty; expected at least one row, one vector per thing to choose from.")
    if array.ndim != 2:
        hint = " For a single vector use vector.reshape(1, -1)." if array.ndim == 1 else ""
        raise ValueError(f"{what} has shape {array.shape}; expected two axes, (number of vectors, dimension).{hint}")
    if array.shape[0] == 0:
        raise ValueError(f"{what} is empty; expected at least one row, one vector per thing to choose from.")
    _check_width(array.shape[1], dim, what)
    return _finite(array, what)


def as_action(action: Any, dim: int | None, *, what: str = "action", dtype: str = "float64") -> Array:
    """Return one vector as a finite array of shape (d,), in float64 or, where asked, float32."""
    ready = type(action) is np.ndarray and action.dtype is _DTYPES[dtype] and action.shape == (dim,)
    if ready and action.flags.c_contiguous:
        return _finite(action, what)
    array = _as_numbers(action, what, dtype)
    if array.ndim == 2 and array.shape[0] == 1:
        array = array[0]
    if array.ndim != 1:
        raise ValueError(f"{what} has shape {array.shape}; expected one vector of shape (dimension,).")
    _check_width(array.shape[0], dim, what)
    return _finite(array, what)


def as_reward(reward: Any) -> float:
    """Return a reward as a finite float."""
    if type(reward) is float and -LARGEST <= reward <= LARGEST:
        return reward
    try:
        # float() would also read words, and arrays of one number.
        if not isinstance(reward, float | int) and (
            isinstance(reward, str | bytes) or np.ndim(reward) != 0 or np.ma.is_masked(reward)
        ):
            raise TypeError(type(reward).__name__)
        value = float(reward)
    except (TypeError, ValueError, OverflowError) as error:
        raise ValueError(f"reward is {_shown(reward)}; expected one finite number.") from error
    if not math.isfinite(value):
        raise ValueError(f"reward is {value}; expected a finite number. Leave out rewards that are not known.")
    if abs(value) > LARGEST:
        raise ValueError(f"reward is {value:g}; expected at most {LARGEST:g} in size. Divide rewards by a constant.")
    return value


def as_rewards(rewards: Any, count: int) -> Array:
    """Return a vector of finite rewards, one for each of `count` actions."""
    return as_scores(rewards, count, what="rewards")


def as_scores(scores: Any, count: int, *, what: str = "scores") -> Array:
    """Return a vector of finite scores, one for each of `count` actions."""
    array = _as_numbers(scores, what)
    if array.ndim != 1 or array.shape[0] != count:
        raise ValueError(f"{what} has shape {array.shape}; expected ({count},), one for each action.")
    return _finite(array, what)


def as_allowed(allowed: Any, count: int, *, what: str = "allowed") -> NDArray[np.intp]:
    """Return which of `count` actions may be chosen, as their indices in ascending order, at least one.

    Examples
    --------
    >>> as_allowed([True, False, True], 3), as_allowed([2, 0], 3)
    (array([0, 2]), array([0, 2]))
    """
    array = conversion.to_array(allowed, what)
    if array.ndim == 1 and array.dtype == bool:
        if len(array) != count:
            raise ValueError(f"{what} is a mask of {len(array)}; expected {count}, one for each action.")
        found = np.flatnonzero(array)
    elif array.ndim == 1 and (array.dtype.kind in "iu" or not array.size):
        found = np.sort(array.astype(np.intp))
        if len(found) and not 0 <= found[0] <= found[-1] < count:
            bad = found[0] if found[0] < 0 else found[-1]
            raise ValueError(f"{what} holds the index {bad}; expected indices from 0 to {count - 1}.")
        # Also what becomes of a mask of zeros and ones, which must not be read as the indices 0 and 1.
        again = np.flatnonzero(found[1:] == found[:-1])
        if len(again):
            raise ValueError(
                f"{what} holds the index {found[again[0]]} more than once; expected each once, or a mask of True and "
                "False."
            )
    else:
        raise ValueError(f"{what} is {_shown(allowed)}; expected a mask of {count} truth values, or indices.")
    if not len(found):
        raise ValueError(f"{what} excludes every action; expected at least one that may be chosen.")
    return found


def as_allowed_many(allowed: Any, counts: list[int]) -> list[NDArray[np.intp] | None]:
    """Return the same for each of many decision sets, and None for those of which all may be chosen."""
    if allowed is None:
        return [None] * len(counts)
    try:
        given = list(allowed)
    except TypeError:
        raise ValueError(f"allowed is {_shown(allowed)}; expected one entry for each decision set, or None.") from None
    if len(given) != len(counts):
        raise ValueError(f"allowed has {len(given)} entries; expected {len(counts)}, one for each decision set.")
    return [
        None if one is None else as_allowed(one, count, what=f"allowed for decision set {place}")
        for place, (one, count) in enumerate(zip(given, counts, strict=True))
    ]


def number(value: Any, name: str, *, above: float | None = None, least: float | None = None) -> float:
    """Return a parameter as a finite float, above or at least a limit."""
    if isinstance(value, bool) or not isinstance(value, int | float | np.integer | np.floating):
        raise ValueError(f"{name} is {value!r}; expected a number.")
    result = float(value)
    if not math.isfinite(result):
        raise ValueError(f"{name} is {result}; expected a finite number.")
    if above is not None and result <= above:
        raise ValueError(f"{name} is {result:g}; expected a number above {above:g}.")
    if least is not None and result < least:
        raise ValueError(f"{name} is {result:g}; expected a number of at least {least:g}.")
    return result


def size(value: Any, name: str, *, zero: bool = False) -> float:
    """Return a parameter that has a size: above 0, or 0 where that is allowed, and within reach of double precision."""
    result = number(value, name, least=0.0) if zero else number(value, name, above=0.0)
    if result > LARGEST or 0.0 < result < SMALLEST:
        raise ValueError(f"{name} is {result:g}; expected a number from {SMALLEST:g} to {LARGEST:g}.")
    return result


def noise_size(value: Any, *, learned: bool = False) -> float:
    """Return the noise of rewards; a word is refused with advice, which depends on whether noise can be `learned`."""
    if isinstance(value, str):
        how = (
            "leave it out, and it is estimated from the rewards"
            if learned
            else "expected the standard deviation of a reward around its mean, such as 0.5; EigenUCB estimates it"
        )
        raise ValueError(f"noise is {value!r}; {how}.")
    return size(value, "noise", zero=not learned)


def generator(seed: Any) -> np.random.Generator:
    """Return the generator of a seed: a whole number of at least 0, or None for a new one each time."""
    try:
        return np.random.default_rng(seed)
    except (TypeError, ValueError):
        raise ValueError(f"seed is {_shown(seed)}; expected a whole number of at least 0, or None.") from None


def probability(value: Any, name: str) -> float:
    """Return a parameter that lies strictly between 0 and 1."""
    result = number(value, name, above=0.0)
    if result >= 1.0:
        raise ValueError(f"{name} is {result:g}; expected a number between 0 and 1, such as 0.01.")
    return result


def share(value: Any, name: str) -> float:
    """Return a parameter that lies between 0 and 1, both included."""
    result = number(value, name, least=0.0)
    if result > 1.0:
        raise ValueError(f"{name} is {result:g}; expected a number from 0 to 1.")
    return result


def whole(value: Any, name: str, *, least: int = 1) -> int:
    """Return a parameter that is a whole number of at least `least`."""
    if isinstance(value, bool) or not isinstance(value, int | np.integer) or value < least:
        raise ValueError(f"{name} is {value!r}; expected a whole number of at least {least}.")
    return int(value)


def one_of(value: Any, name: str, choices: tuple[str, ...]) -> str:
    """Return a word, which must be one of the choices."""
    if value not in choices:
        raise ValueError(f"{name} is {value!r}; expected one of {', '.join(map(repr, choices))}.")
    return str(value)


def _shown(value: Any) -> str:
    """Return a value on one line of reasonable length."""
    text = " ".join(repr(value).split())
    return text if len(text) <= 60 else f"{text[:57]}..."


def _as_numbers(value: Any, what: str, dtype: str = "float64") -> Array:
    array = conversion.to_array(value, what)
    if array.dtype.kind not in "fiub":
        raise ValueError(f"{what} holds {array.dtype.name} values; expected real numbers in rows of equal length.")
    if dtype == "float32" and array.dtype != np.float32 and array.size:
        # Before they are rounded, which would make infinity or nothing of what does not fit.
        _finite(np.asarray(array, dtype=np.float64, order="C"), what, single=True)
    # One layout, so that the same numbers lead to the same choices to the last bit, however they came.
    return np.asarray(array, dtype=dtype, order="C")


def _check_width(width: int, dim: int | None, what: str) -> None:
    if width == 0:
        raise ValueError(f"{what} has vectors of length 0; expected at least one number in each.")
    if dim is not None and width != dim:
        raise ValueError(f"{what} has vectors of length {width}; this policy has seen vectors of length {dim}.")


def _finite(array: Array, what: str, single: bool | None = None) -> Array:
    # One cheap pass, through BLAS, which raises no warnings: NaN, infinity and what is too large always show in the sum
    # of the absolute values, and many numbers of ordinary size are distinguished from them below.
    flat = array.reshape(-1)
    rounded = flat.dtype is _DTYPES["float32"]
    total = blas.sasum(flat) if rounded else blas.dasum(flat)
    if _SMALLEST_SINGLE <= total <= _LARGEST_SINGLE:
        # In either precision.
        return array
    narrow = rounded if single is None else single
    largest, smallest = (_LARGEST_SINGLE, _SMALLEST_SINGLE) if narrow else (LARGEST, SMALLEST)
    if smallest <= total <= largest or total == 0.0:
        return array
    if not math.isfinite(total) and not np.isfinite(array).all():
        place = tuple(int(i) for i in np.argwhere(~np.isfinite(array))[0])
        raise ValueError(f"{what} holds {array[place]} at {place}; expected finite numbers only.")
    if total < smallest and what != "rewards":
        raise ValueError(
            f"{what} holds nothing above {np.abs(array).max():.3g} in size, whose squares would be lost to rounding; "
            f"multiply by a constant, so that the largest is at least {smallest:g}."
        )
    place = tuple(int(i) for i in np.argwhere(np.abs(array) == np.abs(array).max())[0])
    if abs(array[place]) > largest:
        raise ValueError(
            f"{what} holds {array[place]:.3g} at {place}, whose powers do not fit into float{32 if narrow else 64}; "
            f"divide by a constant, so that all are at most {largest:g} in size."
        )
    return array
