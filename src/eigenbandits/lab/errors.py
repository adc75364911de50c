"""Errors of the lab, which suggest the name that was probably meant."""

from collections.abc import Collection, Iterable
from difflib import get_close_matches


class LabError(ValueError):
    """Something that the user can fix; its text is one sentence that says how."""


class DataError(ValueError):
    """A data file is missing, truncated or not what it should be; the text says in one sentence what to do."""


def unknown(what: str, name: str, known: Collection[str]) -> LabError:
    """Return the error for a name that does not exist, with the nearest one that does.

    Examples
    --------
    >>> print(unknown("policy", "PSBL", ["OFUL", "PSLB"]))
    there is no policy 'PSBL'; did you mean 'PSLB'?
    >>> print(unknown("policy", "magic", ["OFUL", "PSLB"]))
    there is no policy 'magic'; expected one of OFUL, PSLB.
    """
    return LabError(f"there is no {what} {name!r}; {suggestion(name, known)}")


def suggestion(name: str, known: Collection[str]) -> str:
    """Return the end of a sentence about a name that does not exist."""
    by_lower_case = {word.lower(): word for word in known}
    near = get_close_matches(name.lower(), by_lower_case, n=1, cutoff=0.6)
    if near:
        return f"did you mean {by_lower_case[near[0]]!r}?"
    return f"expected one of {', '.join(sorted(known))}."


def check_names(where: str, given: Iterable[str], known: Collection[str]) -> None:
    """Refuse the first name that is not known."""
    for name in given:
        if name not in known:
            raise LabError(f"{where} has no setting {name!r}; {suggestion(name, known)}")
