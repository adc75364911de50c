"""The paper's random model, actions near a hidden subspace and linear rewards, and its adversarial cases."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Literal, get_args

import numpy as np

from eigenbandits.environments.base import Round
from eigenbandits.environments.vectors import VectorKind, draw, orthonormal, squared_length
from eigenbandits.inputs import Array, number, one_of, whole

if TYPE_CHECKING:
    from eigenbandits.theory import Structure

NoiseKind = Literal["gaussian", "uniform", "bernoulli", "signs"]
ThetaKind = Literal["random", "weakest", "half-outside", "outside"]

# The low and the high reward of the two-valued kinds.
_OUTCOMES: dict[str, tuple[float, float]] = {"bernoulli": (0.0, 1.0), "signs": (-1.0, 1.0)}
# Drawing many rounds at once is what makes them cheap; these limit the rounds and the memory of one block.
_BLOCK_ROUNDS, _BLOCK_NUMBERS = 64, 1 << 20


@dataclass(frozen=True)
class LowRank:
    """The generative model of the paper's section 2: x̂ = x + ψ, reward x̂ᵀθ* + η.

    x = V Λ^½ ξ lies in the hidden subspace span(V) of `rank` dimensions, with V drawn uniformly and Λ holding
    the eigenvalues λ₊ … λ₋ of its covariance in geometric progression. ψ is an isotropic perturbation with
    covariance σ²I. Together they have energy E‖x‖² + E‖ψ‖² = `scale`², with E‖ψ‖² = `perturbation` · E‖x‖².
    Every action of every round is drawn independently, except with ``vectors="duplicates"``.

    Parameters
    ----------
    dim : int
        The dimension d of the actions.
    rank : int
        The dimension m of the subspace, at most `dim`. With ``rank == dim`` there is no subspace to find.
    arms : int
        The number K of actions in each decision set.
    perturbation : float
        The energy of ψ as a multiple of that of x.
    scale : float
        The root mean square norm of x + ψ.
    spread : float
        λ₊/λ₋, at least 1.
    noise : float
        The standard deviation of the reward noise; the two-valued kinds do not use it.
    noise_kind : {"gaussian", "uniform", "bernoulli", "signs"}
        - ``"gaussian"``: normal with standard deviation R = `noise`, which is R-sub-Gaussian.
        - ``"uniform"``: uniform on [−√3 R, √3 R] with R = `noise`, its standard deviation. It is
          R-sub-Gaussian, where Hoeffding's lemma would only say √3 R: with z = √3 R s,
          E e^{sη} = sinh(z)/z = Σ z^{2k}/(2k+1)! ≤ Σ z^{2k}/(6^k k!) = e^{z²/6} = e^{s²R²/2}.
        - ``"bernoulli"``: rewards 0 or 1, the probability of 1 being `rate` · (1 + x̂ᵀθ) cut to [0, 1]; R = 1/2 by
          Hoeffding's lemma. Where nothing is cut the mean is `rate` + x̂ᵀθ* with θ* = `rate` · θ: linear except for
          an intercept. θ* is what the instance reports.
        - ``"signs"``: rewards −1 or 1 with mean x̂ᵀθ* cut to [−1, 1]; R = 1. It has no intercept.
    theta : {"random", "weakest", "half-outside", "outside"}
        Where θ* points: a uniformly random direction of span(V); the eigen-direction of λ₋; a direction with
        half its energy in span(V) and half in the complement; a direction of the complement, where rewards
        come from ψ alone. The last two break the paper's assumption on purpose and need ``rank < dim``.
    mean : float
        The norm, as a multiple of `scale`, of a vector μ in a uniformly random direction of ℝᵈ that is added
        to every action. It adds the same μᵀθ* to every reward: regret is as before (unless two-valued rewards
        are cut), but a policy meets an offset, and the second moment of the actions gets one large direction
        that says nothing about which action is best.
    vectors : {"sphere", "cube", "heavy", "duplicates"}
        - ``"sphere"``: ξ uniform on the sphere of radius √m in ℝᵐ, ψ uniform on that of radius σ√d in ℝᵈ.
          Assumption 1 holds with d_x = m and d_ψ = d.
        - ``"cube"``: independent coordinates, uniform with variance 1 and σ²; d_x = 3m and d_ψ = 3d.
        - ``"heavy"``: the vectors of ``"sphere"``, each multiplied by an independent √((ν−2)/χ²_ν), ν = 3.
          Covariances are as before, but there is no fourth moment and no bound: Assumption 1 fails.
        - ``"duplicates"``: rows come in pairs, the second a copy of the first with a change of some 0.1 %.
          Covariances are as before, but the actions of one set are not independent.
    theta_norm : float
        The norm of θ; for ``"bernoulli"`` that of the reported θ* is `rate` times it.
    rate : float
        For ``"bernoulli"``: how often an average action earns 1.

    Examples
    --------
    >>> from eigenbandits.environments import LowRank
    >>> environment = LowRank(dim=100, rank=4, arms=10)
    >>> instance = environment.instance(seed=0)
    >>> first = next(instance.rounds())
    >>> first.actions.shape, first.values.shape, instance.basis.shape
    ((10, 100), (10,), (100, 4))
    >>> bool(first.best >= first.values[3])
    True
    >>> next(instance.rounds()).reward(3) == first.reward(3)  # each stream starts from the beginning
    True
    """

    dim: int
    rank: int
    arms: int
    perturbation: float = 9.0
    scale: float = 1.0
    spread: float = 1.0
    noise: float = 0.5
    noise_kind: NoiseKind = "gaussian"
    theta: ThetaKind = "random"
    mean: float = 0.0
    vectors: VectorKind = "sphere"
    theta_norm: float = 1.0
    rate: float = 0.5

    def __post_init__(self) -> None:
        """Refuse what cannot be drawn."""
        whole(self.dim, "dim")
        whole(self.arms, "arms")
        if whole(self.rank, "rank") > self.dim:
            raise ValueError(f"rank is {self.rank}; expected at most dim, which is {self.dim}.")
        number(self.perturbation, "perturbation", least=0.0)
        number(self.scale, "scale", above=0.0)
        number(self.spread, "spread", least=1.0)
        number(self.noise, "noise", least=0.0)
        number(self.mean, "mean", least=0.0)
        number(self.theta_norm, "theta_norm", above=0.0)
        if number(self.rate, "rate", above=0.0) > 1.0:
            raise ValueError(f"rate is {self.rate:g}; expected a share, above 0 and at most 1.")
        one_of(self.noise_kind, "noise_kind", get_args(NoiseKind))
        one_of(self.theta, "theta", get_args(ThetaKind))
        one_of(self.vectors, "vectors", get_args(VectorKind))
        if self.rank == self.dim and self.theta in ("half-outside", "outside"):
            raise ValueError(
                f"theta is {self.theta!r}, but nothing lies outside a subspace of rank {self.rank} in "
                f"{self.dim} dimensions; expected a rank below dim, or theta 'random' or 'weakest'."
            )

    @property
    def name(self) -> str:
        """The settings that matter: the three sizes, and whatever is not at its default."""
        changed = [f for f in fields(self) if getattr(self, f.name) != f.default]
        return f"LowRank({', '.join(f'{f.name}={getattr(self, f.name)}' for f in changed)})"

    @property
    def eigenvalues(self) -> Array:
        """The eigenvalues of the covariance of x, from λ₊ down to λ₋, of shape (m,)."""
        shape = self.spread ** -np.linspace(0.0, 1.0, self.rank)
        return np.asarray(shape * (self.scale**2 / (1.0 + self.perturbation) / shape.sum()), dtype=np.float64)

    @property
    def sigma2(self) -> float:
        """The variance σ² of each coordinate of ψ."""
        return self.scale**2 * self.perturbation / (1.0 + self.perturbation) / self.dim

    def instance(self, seed: int) -> LowRankInstance:
        """Draw the subspace and θ* that belong to a seed, and the seeds of the streams."""
        return LowRankInstance(self, seed)


class LowRankInstance:
    """One drawn problem of `LowRank`; see there for what its vectors and rewards are.

    Parameters
    ----------
    environment : LowRank
        The family that it is drawn from.
    seed : int
        At least 0. The subspace, the actions, their lengths (for ``"heavy"``) and the reward noise have a
        random stream each, so that none of them depends on how much of another was used.

    Attributes
    ----------
    basis : ndarray of shape (d, m)
        V, its columns in the order of the eigenvalues.
    theta : ndarray of shape (d,)
        θ*: expected rewards are ``intercept + actions @ theta``, cut to `outcomes` if rewards are two-valued.
    intercept : float
        `rate` for ``"bernoulli"``, else 0.
    mean : ndarray of shape (d,)
        The common mean μ of the actions.
    outcomes : (float, float) or None
        The two rewards, if there are only two.
    """

    def __init__(self, environment: LowRank, seed: int) -> None:
        self.environment = environment
        self.seed = whole(seed, "seed", least=0)
        own, *self._streams = np.random.SeedSequence(self.seed).spawn(4)
        rng = np.random.default_rng(own)
        self.basis: Array = orthonormal(rng, environment.dim, environment.rank)
        # All are drawn whatever `theta` and `mean` say: changing one setting leaves the rest as it was.
        inside, anywhere, direction = (
            rng.standard_normal(n) for n in (environment.rank, environment.dim, environment.dim)
        )
        self.theta: Array = self.theta_bound * self._theta_direction(inside, anywhere)
        self.mean: Array = environment.mean * environment.scale * direction / np.linalg.norm(direction)
        self.outcomes = _OUTCOMES.get(environment.noise_kind)
        self.intercept = environment.rate if environment.noise_kind == "bernoulli" else 0.0
        for fixed in (self.basis, self.mean, self.theta):
            fixed.flags.writeable = False

    def _theta_direction(self, inside: Array, anywhere: Array) -> Array:
        kind = self.environment.theta
        if kind == "weakest":
            return np.array(self.basis[:, -1])
        within = self.basis @ (inside / np.linalg.norm(inside))
        if kind == "random":
            return np.asarray(within, dtype=np.float64)
        outside = anywhere - self.basis @ (self.basis.T @ anywhere)
        # A second pass removes the rounding errors that remain where the complement is thin.
        outside -= self.basis @ (self.basis.T @ outside)
        outside /= np.linalg.norm(outside)
        return outside if kind == "outside" else (within + outside) / math.sqrt(2.0)

    @property
    def name(self) -> str:
        """The name of the environment."""
        return self.environment.name

    @property
    def noise(self) -> float:
        """The sub-Gaussian constant R of the rewards."""
        if self.outcomes is None:
            return self.environment.noise
        low, high = self.outcomes
        return (high - low) / 2.0

    @property
    def theta_bound(self) -> float:
        """The norm of θ*, as the bound S."""
        env = self.environment
        return env.theta_norm * (env.rate if env.noise_kind == "bernoulli" else 1.0)

    @property
    def action_bound(self) -> float | None:
        """A bound L on the norm of every action; None for heavy-tailed vectors, which have none."""
        env = self.environment
        if env.vectors == "heavy":
            return None
        bound = math.sqrt(squared_length(env.vectors, env.rank) * env.eigenvalues[0])
        bound += math.sqrt(squared_length(env.vectors, env.dim) * env.sigma2) + env.mean * env.scale
        # Some vectors may reach the bound, and rounding must not carry them past it.
        return bound * (1.0 + 1e-12)

    @property
    def structure(self) -> Structure | None:
        """The constants of the paper's section 2, or None where its assumptions on the vectors do not hold.

        That is for ``"heavy"`` (unbounded) and ``"duplicates"`` (dependent). With a common mean they describe
        the actions less that mean; where θ* lies outside the subspace they still describe the actions.
        """
        from eigenbandits.theory import Structure

        env = self.environment
        if env.vectors in ("heavy", "duplicates"):
            return None
        return Structure(
            lambda_plus=float(env.eigenvalues[0]),
            lambda_minus=float(env.eigenvalues[-1]),
            sigma2=env.sigma2,
            d_x=squared_length(env.vectors, env.rank),
            d_psi=squared_length(env.vectors, env.dim),
        )

    def rounds(self) -> Iterator[Round]:
        """Start the stream from its first round; it never ends."""
        env = self.environment
        directions, lengths, noise = (np.random.default_rng(stream) for stream in self._streams)
        block = max(1, min(_BLOCK_ROUNDS, _BLOCK_NUMBERS // (env.arms * (env.dim + env.rank))))
        loadings = np.sqrt(env.eigenvalues)[:, None] * self.basis.T
        while True:
            latent, perturbation = draw(env.vectors, directions, lengths, (block, env.arms), env.rank, env.dim)
            actions = latent @ loadings
            actions += math.sqrt(env.sigma2) * perturbation
            actions += self.mean
            values = self.intercept + actions @ self.theta
            if self.outcomes is not None:
                np.clip(values, *self.outcomes, out=values)
            noises = self._draw_noise(noise, block)
            # A policy that writes into its decision set must not change what the next one is shown.
            actions.flags.writeable = values.flags.writeable = False
            for i in range(block):
                yield Round(actions[i], values[i], float(noises[i]), self.outcomes)

    def _draw_noise(self, rng: np.random.Generator, block: int) -> Array:
        if self.outcomes is not None:
            return rng.random(block)
        if self.environment.noise_kind == "uniform":
            return math.sqrt(3.0) * self.environment.noise * rng.uniform(-1.0, 1.0, block)
        return self.environment.noise * rng.standard_normal(block)
