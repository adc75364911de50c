"""The policies of the study: ours and those of others at their defaults, and some tuned ones, for comparison only."""

from collections.abc import Iterable

from eigenbandits.algorithms import OFUL, PSLB, EigenTS, EigenUCB, EpsilonGreedy, Greedy, LinTS, LinUCB
from eigenbandits.lab.errors import LabError
from eigenbandits.lab.experiments import entry
from eigenbandits.lab.studies.baselines import RidgeOFUL
from eigenbandits.lab.studies.candidates import Candidate, available
from eigenbandits.lab.studies.problems.peers import EXPLORATIONS, VowpalWabbit

NOISE = 0.5
"""The noise of policies that require one: Hoeffding's lemma for rewards between 0 and 1."""


def candidates() -> dict[str, Candidate]:
    """Return all policies, by label.

    Examples
    --------
    >>> [label for label, candidate in candidates().items() if candidate.tuned]
    ['OFUL R²d', 'LinUCB 0.25', 'LinUCB 0.1']
    """
    return {
        "EigenUCB": Candidate(EigenUCB(), "nothing set: posterior with a learned spectral prior, by optimism"),
        "EigenTS": Candidate(EigenTS(samples=1), "the same belief, by Thompson sampling"),
        "PSLB": Candidate(PSLB(noise=NOISE), "noise 0.5, nothing else set"),
        "OFUL": Candidate(OFUL(noise=NOISE), "log-det radius, noise 0.5, λ = 1"),
        "OFUL R²d": Candidate(RidgeOFUL(noise=NOISE), "the same with λ = R²d/S², S one over the size of actions", True),
        "LinUCB": Candidate(LinUCB(), "multiplier 1, λ = 1"),
        "LinUCB 0.25": Candidate(LinUCB(multiplier=0.25), "multiplier 0.25, λ = 1", True),
        "LinUCB 0.1": Candidate(LinUCB(multiplier=0.1), "multiplier 0.1, λ = 1", True),
        "LinTS": Candidate(LinTS(noise=NOISE, samples=1), "Thompson sampling, noise 0.5, λ = 1"),
        "Greedy": Candidate(Greedy(), "the highest ridge estimate, λ = 1"),
        "EpsilonGreedy": Candidate(EpsilonGreedy(), "the same, but any action with probability 0.1"),
        **{
            f"VW {name}": Candidate(
                entry(VowpalWabbit, exploration=name),
                f"Vowpal Wabbit, --cb_explore_adf {settings}",
                module="vowpalwabbit",
            )
            for name, settings in EXPLORATIONS.items()
        },
    }


def available_policies(wanted: Iterable[str] | None = None) -> tuple[dict[str, Candidate], dict[str, str]]:
    """Return the policies that can run here, and why the others cannot; see `candidates.available`."""
    found, skipped = available(candidates(), wanted)
    if all(candidate.tuned for candidate in found.values()):
        raise LabError(
            f"the policies {', '.join([*found, *skipped])} leave no untuned policy to compare with; add one, such as "
            "LinUCB."
        )
    return found, skipped
