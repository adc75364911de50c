"""The linear bandits that PSLB is judged against, each with its reference."""

from __future__ import annotations

from eigenbandits.algorithms.words import optimistic
from eigenbandits.belief import Ambient, Projected, Sketched
from eigenbandits.belief.memories import remembering
from eigenbandits.policy import Policy
from eigenbandits.rules import Optimism, Thompson
from eigenbandits.rules.floor import floored
from eigenbandits.subspace import RandomProjection, Whole


class OFUL(Policy):
    """Optimism over the ellipsoid around the ridge estimate, in closed form: O(Kd²) to choose, O(d²) to learn.

    Parameters
    ----------
    noise, theta_bound, action_bound, ridge, delta, center, seed
        As for `PSLB`.
    radius
        "logdet": the tightest radius of its paper; "mixture": √(R²(·) + λS²) in the place of R√(·) + S√λ, proved on the
        same assumptions (docs/certified.md); "paper": the worst-case form, with log(1 + tL²/(mλ)) as Lale et
        al. write it where `rank` gives m, and OFUL's own log(1 + tL²/(dλ)) where it does not.
    rank
        m for "paper".
    memory, rule, floor
        As for `EigenUCB`; with a memory nothing is proved of the radius.
    dtype
        "float32" reads decision sets in single precision; see `Policy`.

    References
    ----------
    Abbasi-Yadkori, Pál, Szepesvári. Improved Algorithms for Linear Stochastic Bandits. NeurIPS 2011.
    """

    def __init__(
        self,
        *,
        noise: float,
        theta_bound: float = 1.0,
        action_bound: float | None = None,
        ridge: float = 1.0,
        delta: float = 0.01,
        radius: str = "logdet",
        rank: int | None = None,
        memory: float | str | None = None,
        center: str = "none",
        rule: str = "optimism",
        floor: float = 0.0,
        dtype: str = "float64",
        seed: int | None = None,
    ) -> None:
        self.noise = noise
        self.theta_bound = theta_bound
        self.action_bound = action_bound
        self.ridge = ridge
        self.delta = delta
        self.radius = radius
        self.rank = rank
        self.center = center
        self.rule_name = rule
        self.floor = floor
        self.seed = seed
        self.memory = memory
        belief = remembering(Ambient(noise, theta_bound, ridge, delta, radius, action_bound, rank), memory)
        self._compose(Whole(), belief, optimistic(rule, floor), center=center, seed=seed, dtype=dtype)


class LinUCB(Policy):
    """The same choice with a free multiplier in the place of the radius, as most practice has it.

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

    def __init__(
        self,
        *,
        multiplier: float = 1.0,
        ridge: float = 1.0,
        memory: float | str | None = None,
        center: str = "none",
        rule: str = "optimism",
        floor: float = 0.0,
        seed: int | None = None,
    ) -> None:
        self.multiplier = multiplier
        self.memory = memory
        self.ridge = ridge
        self.center = center
        self.rule_name = rule
        self.floor = floor
        self.seed = seed
        belief = remembering(Ambient(0.0, ridge=ridge, radius=multiplier), memory)
        self._compose(Whole(), belief, optimistic(rule, floor), center=center, seed=seed)


class LinTS(Policy):
    """Thompson sampling in the whole space: O(d²) per draw.

    Parameters
    ----------
    noise, ridge, center, seed
        As for `PSLB`.
    scale
        Width of the posterior; None takes the noise R, the Bayesian posterior for Gaussian noise.
    memory, samples, floor
        As for `EigenTS`.

    References
    ----------
    Agrawal, Goyal. Thompson Sampling for Contextual Bandits with Linear Payoffs. ICML 2013.
    """

    def __init__(
        self,
        *,
        noise: float,
        scale: float | None = None,
        ridge: float = 1.0,
        memory: float | str | None = None,
        samples: int = 100,
        floor: float = 0.0,
        center: str = "none",
        seed: int | None = None,
    ) -> None:
        self.noise = noise
        self.scale = scale
        self.ridge = ridge
        self.memory = memory
        self.samples = samples
        self.floor = floor
        self.center = center
        self.seed = seed
        rule = floored(Thompson(scale, samples), floor)
        belief = remembering(Ambient(noise, ridge=ridge), memory)
        self._compose(Whole(), belief, rule, center=center, seed=seed)


class CBRAP(Policy):
    """Optimism after a random projection on `rank` dimensions: O(Kdm) to choose, blind to what the actions show.

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

    def __init__(
        self,
        *,
        noise: float,
        rank: int = 20,
        theta_bound: float = 1.0,
        ridge: float = 1.0,
        delta: float = 0.01,
        center: str = "none",
        seed: int | None = None,
    ) -> None:
        self.noise = noise
        self.rank = rank
        self.theta_bound = theta_bound
        self.ridge = ridge
        self.delta = delta
        self.center = center
        self.seed = seed
        belief = Projected(noise, theta_bound, ridge, delta)
        self._compose(RandomProjection(rank, seed), belief, Optimism(), center=center, seed=seed)


class SOFUL(Policy):
    """OFUL with its Gram matrix held as a frequent-directions sketch: O(dℓ) per round and in memory.

    Parameters
    ----------
    noise, theta_bound, action_bound, ridge, delta, center, seed
        As for `PSLB`.
    size
        ℓ, the rows that the sketch keeps.
    radius
        "logdet" from the sketch's determinant, or "paper", the worst case of the reference.

    References
    ----------
    Kuzborskij, Cella, Cesa-Bianchi. Efficient Linear Bandits through Matrix Sketching. AISTATS 2019.
    """

    def __init__(
        self,
        *,
        noise: float,
        size: int = 20,
        theta_bound: float = 1.0,
        action_bound: float | None = None,
        ridge: float = 1.0,
        delta: float = 0.01,
        radius: str | float = "logdet",
        center: str = "none",
        seed: int | None = None,
    ) -> None:
        self.noise = noise
        self.size = size
        self.theta_bound = theta_bound
        self.action_bound = action_bound
        self.ridge = ridge
        self.delta = delta
        self.radius = radius
        self.center = center
        self.seed = seed
        belief = Sketched(noise, size, theta_bound, ridge, delta, False, radius, action_bound)
        self._compose(Whole(), belief, Optimism(), center=center, seed=seed)


class CBSCFD(Policy):
    """The same sketch with spectral compensation: what shrinking takes off is given back in every direction.

    Parameters
    ----------
    noise, size, theta_bound, ridge, delta, center, seed
        As for `SOFUL`.
    radius
        "logdet", or a number: a free multiplier, as the reference's experiments use.

    References
    ----------
    Chen, Luo, Zhang, Yu, Lian. Efficient and Robust High-Dimensional Linear Contextual Bandits. IJCAI 2020.
    """

    def __init__(
        self,
        *,
        noise: float,
        size: int = 20,
        theta_bound: float = 1.0,
        ridge: float = 1.0,
        delta: float = 0.01,
        radius: str | float = "logdet",
        center: str = "none",
        seed: int | None = None,
    ) -> None:
        self.noise = noise
        self.size = size
        self.theta_bound = theta_bound
        self.ridge = ridge
        self.delta = delta
        self.radius = radius
        self.center = center
        self.seed = seed
        belief = Sketched(noise, size, theta_bound, ridge, delta, True, radius)
        self._compose(Whole(), belief, Optimism(), center=center, seed=seed)
