"""The linear bandits to which PSLB is compared, each with its reference."""

from dataclasses import dataclass

from eigenbandits.algorithms.base import Centered, Confident, Floored, Optimistic, Parts
from eigenbandits.belief import Ambient, Belief, Projected, Sketched
from eigenbandits.belief.memories import remembering
from eigenbandits.rules import Optimism, Thompson
from eigenbandits.rules.floor import floored
from eigenbandits.subspace import RandomProjection, Whole


@dataclass(kw_only=True, repr=False, eq=False)
class RidgeAlgorithm(Centered):
    """Base of algorithms that estimate θ* by ridge regression in the whole space.

    Parameters
    ----------
    ridge
        λ.
    memory
        As for `EigenUCB`.
    """

    ridge: float = 1.0
    memory: float | str | None = None

    def regression(self, noise: float = 0.0, radius: str | float = "logdet") -> Belief:
        """Return the ridge estimate and its ellipsoid, with a memory if one is given."""
        return remembering(Ambient(noise, ridge=self.ridge, radius=radius), self.memory)


@dataclass(kw_only=True, repr=False, eq=False)
class OFUL(Optimistic, Confident):
    """Optimism over the ellipsoid around the ridge estimate, in closed form: O(Kd²) to choose, O(d²) to learn.

    Parameters
    ----------
    noise, theta_bound, action_bound, ridge, delta, center, seed
        As for `PSLB`.
    radius
        "logdet": the tightest radius of its paper; "mixture": √(R²(·) + λS²) instead of R√(·) + S√λ, proven under the
        same assumptions (docs/certified.md); "paper": the worst-case form, with log(1 + tL²/(mλ)) as Lale et
        al. write it if `rank` gives m, and OFUL's own log(1 + tL²/(dλ)) otherwise.
    rank
        m for "paper".
    memory, rule, floor
        As for `EigenUCB`; with a memory, nothing is proven about the radius.
    dtype
        "float32" reads decision sets in single precision; see `Policy`.

    References
    ----------
    Abbasi-Yadkori, Pál, Szepesvári. Improved Algorithms for Linear Stochastic Bandits. NeurIPS 2011.
    """

    action_bound: float | None = None
    radius: str = "logdet"
    rank: int | None = None
    memory: float | str | None = None
    dtype: str = "float64"

    def parts(self) -> Parts:
        """Return the whole space, the ellipsoid and a form of optimism."""
        known = (self.noise, self.theta_bound, self.ridge, self.delta)
        belief = Ambient(*known, self.radius, self.action_bound, self.rank)
        return Whole(), remembering(belief, self.memory), self.optimism()


@dataclass(kw_only=True, repr=False, eq=False)
class LinUCB(Optimistic, RidgeAlgorithm):
    """The same choice with a free multiplier in place of the radius, as is common in practice.

    Parameters
    ----------
    multiplier
        The factor on ‖x‖_{Z⁻¹}, often written α.
    ridge, center, seed
        As for `PSLB`.
    memory, rule, floor
        As for `EigenUCB`.

    References
    ----------
    Li, Chu, Langford, Schapire. A Contextual-Bandit Approach to Personalized News Article Recommendation. WWW 2010.
    """

    multiplier: float = 1.0

    def parts(self) -> Parts:
        """Return the whole space, the ellipsoid and a form of optimism."""
        return Whole(), self.regression(radius=self.multiplier), self.optimism()


@dataclass(kw_only=True, repr=False, eq=False)
class LinTS(Floored, RidgeAlgorithm):
    """Thompson sampling in the whole space: O(d²) per draw.

    Parameters
    ----------
    noise, ridge, center, seed
        As for `PSLB`.
    scale
        Width of the posterior; None uses the noise R, which gives the Bayesian posterior for Gaussian noise.
    memory, samples, floor
        As for `EigenTS`.

    References
    ----------
    Agrawal, Goyal. Thompson Sampling for Contextual Bandits with Linear Payoffs. ICML 2013.
    """

    noise: float
    scale: float | None = None
    samples: int = 100

    def parts(self) -> Parts:
        """Return the whole space, the posterior and Thompson sampling."""
        return Whole(), self.regression(self.noise), floored(Thompson(self.scale, self.samples), self.floor)


@dataclass(kw_only=True, repr=False, eq=False)
class CBRAP(Confident):
    """Optimism after a random projection on `rank` dimensions: O(Kdm) to choose, whatever the actions show.

    Parameters
    ----------
    noise, theta_bound, ridge, delta, center, seed
        As for `PSLB`; the seed also draws the projection.
    rank
        Dimensions kept.

    References
    ----------
    Yu, Lyu, King. CBRAP: Contextual Bandits with RAndom Projection. AAAI 2017.
    """

    rank: int = 20

    def parts(self) -> Parts:
        """Return a random subspace, the ellipsoid in it and optimism."""
        belief = Projected(self.noise, self.theta_bound, self.ridge, self.delta)
        return RandomProjection(self.rank, self.seed), belief, Optimism()


@dataclass(kw_only=True, repr=False, eq=False)
class SOFUL(Confident):
    """OFUL with its Gram matrix kept as a frequent-directions sketch: O(dℓ) time per round and memory.

    Parameters
    ----------
    noise, theta_bound, action_bound, ridge, delta, center, seed
        As for `PSLB`.
    size
        ℓ, the number of rows that the sketch keeps.
    radius
        "logdet" from the sketch's determinant, or "paper", the reference's worst case.

    References
    ----------
    Kuzborskij, Cella, Cesa-Bianchi. Efficient Linear Bandits through Matrix Sketching. AISTATS 2019.
    """

    size: int = 20
    action_bound: float | None = None
    radius: str | float = "logdet"

    def parts(self) -> Parts:
        """Return the whole space, the sketched ellipsoid and optimism."""
        known = (self.noise, self.size, self.theta_bound, self.ridge, self.delta)
        return Whole(), Sketched(*known, False, self.radius, self.action_bound), Optimism()


@dataclass(kw_only=True, repr=False, eq=False)
class CBSCFD(Confident):
    """The same sketch with spectral compensation: what shrinking removes is added back in every direction.

    Parameters
    ----------
    noise, size, theta_bound, ridge, delta, center, seed
        As for `SOFUL`.
    radius
        "logdet", or a number: a free multiplier, as in the reference's experiments.

    References
    ----------
    Chen, Luo, Zhang, Yu, Lian. Efficient and Robust High-Dimensional Linear Contextual Bandits. IJCAI 2020.
    """

    size: int = 20
    radius: str | float = "logdet"

    def parts(self) -> Parts:
        """Return the whole space, the sketched and compensated ellipsoid, and optimism."""
        known = (self.noise, self.size, self.theta_bound, self.ridge, self.delta)
        return Whole(), Sketched(*known, True, self.radius), Optimism()
