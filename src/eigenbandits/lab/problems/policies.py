"""Who plays: our policies at their defaults, the peers at theirs, and some that were tuned, for comparison only."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from eigenbandits.algorithms import OFUL, PSLB, EigenTS, EigenUCB, EpsilonGreedy, Greedy, LinTS, LinUCB
from eigenbandits.extras import MissingExtraError, need
from eigenbandits.lab.problems.peers import EXPLORATIONS
from eigenbandits.lab.robustness.players import RidgeOFUL
from eigenbandits.lab.words import LabError, unknown

NOISE = 0.5
"""What policies are told that must be told the noise: Hoeffding's lemma for rewards between 0 and 1."""


@dataclass(frozen=True)
class Player:
    """One column of the table.

    Attributes
    ----------
    policy : Policy or mapping
        As an experiment takes it.
    words : str
        What it is.
    tuned : bool
        Whether a setting was chosen that its user would have to find: it is shown, but nobody is measured by it.
    """

    policy: Any
    words: str
    tuned: bool = False


def players() -> dict[str, Player]:
    """Return everybody, by label.

    Examples
    --------
    >>> [label for label, player in players().items() if player.tuned]
    ['OFUL R²d', 'LinUCB 0.25', 'LinUCB 0.1']
    """
    return {
        "EigenUCB": Player(EigenUCB(), "nothing set: posterior with a learned spectral prior, by optimism"),
        "EigenTS": Player(EigenTS(propensity_draws=0), "the same belief, by Thompson sampling"),
        "PSLB": Player(PSLB(noise=NOISE), "told a noise of 0.5 and nothing else"),
        "OFUL": Player(OFUL(noise=NOISE), "log-det radius, noise 0.5, λ = 1"),
        "OFUL R²d": Player(RidgeOFUL(noise=NOISE), "the same with λ = R²d/S², S one over the size of actions", True),
        "LinUCB": Player(LinUCB(), "multiplier 1, λ = 1"),
        "LinUCB 0.25": Player(LinUCB(multiplier=0.25), "multiplier 0.25, λ = 1", True),
        "LinUCB 0.1": Player(LinUCB(multiplier=0.1), "multiplier 0.1, λ = 1", True),
        "LinTS": Player(LinTS(noise=NOISE, propensity_draws=0), "Thompson sampling, noise 0.5, λ = 1"),
        "Greedy": Player(Greedy(), "the highest ridge estimate, λ = 1"),
        "EpsilonGreedy": Player(EpsilonGreedy(), "the same, but any action with probability 0.1"),
        **{
            f"VW {name}": Player(
                {"kind": "eigenbandits.lab.problems.peers:VowpalWabbit", "exploration": name},
                f"Vowpal Wabbit, --cb_explore_adf {options}",
            )
            for name, options in EXPLORATIONS.items()
        },
    }


def able(wanted: Iterable[str] | None = None) -> tuple[dict[str, Player], dict[str, str]]:
    """Return those who can play here, and why the others cannot.

    Parameters
    ----------
    wanted : iterable of str, optional
        Their labels; everybody unless told.
    """
    everybody = players()
    labels = list(everybody if wanted is None else wanted)
    for label in labels:
        if label not in everybody:
            raise unknown("policy", label, everybody)
    skipped = {label: reason for label in labels if (reason := _hindrance(label)) is not None}
    found = {label: player for label, player in everybody.items() if label in labels and label not in skipped}
    if all(player.tuned for player in found.values()):
        raise LabError(
            f"the policies {', '.join(labels)} leave nobody to be measured by; add one that is not tuned, such as "
            "LinUCB."
        )
    return found, skipped


def _hindrance(label: str) -> str | None:
    if not label.startswith("VW "):
        return None
    try:
        need("peers", "vowpalwabbit", what=label)
    except MissingExtraError as error:
        return str(error)
    return None
