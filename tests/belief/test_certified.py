"""The certified set against densities, dense algebra and a convex solver."""

from __future__ import annotations

import math

import cvxpy as cp
import numpy as np
import pytest
from scipy import optimize, stats

import eigenbandits as eb
from eigenbandits.belief.certified.mixture_set import DOUBLINGS, MixtureSet
from eigenbandits.subspace.base import Frame

R, S, DELTA = 0.4, 1.3, 0.05


def orthonormal(rng, dim, rank):
    return np.linalg.qr(rng.normal(size=(dim, rank)))[0]


class Twin:
    """The same set from the definitions, all matrices made afresh in every round."""

    def __init__(self, dim):
        self.X, self.r = np.zeros((0, dim)), np.zeros(0)
        self.log_densities = np.zeros(2)
        self.W = [dim * (R / S) ** 2 * np.eye(dim)] * 2
        self.penalties = [S**2 * dim * (R / S) ** 2] * 2

    def follow(self, span, error):
        dim, unit = len(span), (R / S) ** 2
        hat = span @ span.T
        energy = np.sum((self.X - self.X @ hat) ** 2)
        best = R * math.sqrt(energy) / (error * S)
        outer = dim * unit * 2.0 ** min(max(round(math.log2(max(best, 1e-99) / (dim * unit))), 0), DOUBLINGS)
        inner = span.shape[1] * unit
        self.W = [inner * hat + outer * (np.eye(dim) - hat), self.W[1]]
        self.penalties[0] = S**2 * (inner * (1 - error**2) + outer * error**2)

    def learn(self, x, reward):
        for k, W in enumerate(self.W):
            Z = self.X.T @ self.X + W
            mean = x @ np.linalg.solve(Z, self.X.T @ self.r)
            sigma = R * math.sqrt(1 + x @ np.linalg.solve(Z, x))
            self.log_densities[k] += stats.norm.logpdf(reward, mean, sigma)
        self.X, self.r = np.vstack([self.X, x]), np.append(self.r, reward)

    def level(self):
        """‖r − Xθ‖² at which N(Xθ, R²I) is likelier than δ times the mixture, no less and no more."""
        constant = -len(self.r) * math.log(R * math.sqrt(2 * math.pi))
        return 2 * R**2 * (constant - math.log(DELTA * np.mean(np.exp(self.log_densities))))

    def deciding(self):
        return [0, 1] if self.log_densities[0] >= self.log_densities[1] else [1]

    def ellipsoid(self, W, penalty):
        """Center, Z and squared radius; the residual as a minimum, not by its formula."""
        Z = self.X.T @ self.X + W
        center = np.linalg.solve(Z, self.X.T @ self.r)
        gap = self.r - self.X @ center
        return center, Z, self.level() - (gap @ gap + center @ W @ center) + penalty

    def upper(self, x, W, penalty):
        center, Z, square = self.ellipsoid(W, penalty)
        return x @ center + math.sqrt(square) * math.sqrt(x @ np.linalg.solve(Z, x))


def played(dim=6, rounds=40, seed=0, tilt=0.15):
    """A belief and its twin after rounds in which the frame changes, θ* inside the true subspace of rank 2."""
    rng = np.random.default_rng(seed)
    true = orthonormal(rng, dim, 2)
    theta = true @ rng.normal(size=2)
    theta *= 0.9 * S / np.linalg.norm(theta)
    belief, twin = MixtureSet(R, S, DELTA), Twin(dim)
    belief.start(dim)
    for t in range(rounds):
        if t % 9 == 2:
            span = orthonormal(rng, dim, 2) if t < 10 else np.linalg.qr(true + tilt * rng.normal(size=(dim, 2)))[0]
            error = float(np.linalg.norm(span @ span.T - true @ true.T, 2))
            belief.follow(Frame(span, error=error, version=t))
            twin.follow(span, error)
        x = rng.normal(size=dim) / math.sqrt(dim)
        reward = float(x @ theta + R * rng.normal())
        belief.learn(x, reward)
        twin.learn(x, reward)
    return belief, twin, theta, span, error, rng


@pytest.mark.parametrize("seed", range(3))
def test_the_level_is_that_of_the_predictive_densities_whatever_the_frames_were(seed):
    belief, twin, theta, *_ = played(seed=seed)
    assert belief.level() == pytest.approx(twin.level(), rel=1e-9)
    assert np.sum((twin.r - twin.X @ theta) ** 2) < belief.level()


def test_radii_and_least_upper_bounds_are_those_of_dense_algebra():
    binding, deciding = zip(*(compare_with_dense_algebra(seed) for seed in range(8)), strict=True)
    # Or the minimum, and leaving an ellipsoid out, would not be tested.
    assert {0, 1} in binding
    assert [1] in deciding


def compare_with_dense_algebra(seed):
    belief, twin, _, _, _, rng = played(seed=seed)
    actions = rng.normal(size=(20, 6))
    view = belief.view(actions)
    deciding = twin.deciding()
    uppers = np.full((20, 2), math.inf)
    for k in deciding:
        uppers[:, k] = [twin.upper(x, twin.W[k], twin.penalties[k]) for x in actions]
    np.testing.assert_allclose(view.uppers(), uppers.min(axis=1), rtol=1e-8)
    binding = uppers.argmin(axis=1)
    assert belief.outvoted is (deciding == [1])
    index, value = view.best()
    assert index == uppers.min(axis=1).argmax()
    assert value == pytest.approx(uppers.min(axis=1).max())
    for i in range(20):
        model = view.optimist(i)()
        center, Z, square = twin.ellipsoid(twin.W[binding[i]], twin.penalties[binding[i]])
        assert actions[i] @ model == pytest.approx(uppers[i].min())
        assert (model - center) @ Z @ (model - center) == pytest.approx(square)  # on the boundary of what binds
    np.testing.assert_allclose(view.part(slice(5, 9)).uppers(), uppers[5:9].min(axis=1), rtol=1e-8)
    center = twin.ellipsoid(twin.W[deciding[0]], twin.penalties[deciding[0]])[0]
    np.testing.assert_allclose(view.estimates(), actions @ center, rtol=1e-7)
    np.testing.assert_allclose(view.believer()(), center, rtol=1e-7)
    return set(binding.tolist()), deciding


@pytest.mark.parametrize("seed", range(4))
def test_every_ridge_bounds_what_a_solver_finds_over_the_set_and_the_best_of_them_attains_it(seed):
    """max xᵀθ over ‖r − Xθ‖² ≤ ρ, ‖θ‖ ≤ S, ‖(I − P̂)θ‖ ≤ εS; its Lagrangian dual is the least over all ridges."""
    belief, twin, theta, span, error, rng = played(seed=seed, rounds=25)
    x = rng.normal(size=6)
    out = np.eye(6) - span @ span.T
    variable = cp.Variable(6)
    constraints = [
        cp.norm(twin.r - twin.X @ variable) <= math.sqrt(twin.level()),
        cp.norm(variable) <= S,
        cp.norm(out @ variable) <= error * S,
    ]
    problem = cp.Problem(cp.Maximize(x @ variable), constraints)
    problem.solve(solver=cp.CLARABEL)
    optimum = float(problem.value)
    assert x @ theta <= optimum + 1e-6
    both = [twin.upper(x, W, penalty) for W, penalty in zip(twin.W, twin.penalties, strict=True)]
    assert min(both) >= optimum - 1e-6
    assert belief.view(x[None]).uppers()[0] >= min(both) - 1e-9

    def bound(logs):
        everywhere, outside = np.exp(logs)
        W, penalty = everywhere * np.eye(6) + outside * out, S**2 * (everywhere + outside * error**2)
        assert twin.upper(x, W, penalty) >= optimum - 1e-6
        return twin.upper(x, W, penalty)

    found = optimize.minimize(bound, [0.0, 1.0], method="Nelder-Mead", options={"xatol": 1e-8, "fatol": 1e-10})
    assert found.fun == pytest.approx(optimum, abs=1e-4)


def test_what_the_subspace_cannot_explain_refutes_it_and_the_whole_space_decides():
    rng = np.random.default_rng(5)
    belief = MixtureSet(0.1, 1.0, DELTA)
    belief.start(4)
    belief.follow(Frame(np.eye(4)[:, :1], error=0.01, version=1))
    counted = doubted = 0
    for t in range(60):
        if t == 30:
            # Another look at the same subspace: by now what lies outside is doubted enough to be tested.
            belief.follow(Frame(np.eye(4)[:, :1], error=0.01, version=2))
        x = rng.normal(size=4)
        belief.learn(x, float(0.9 * x[3] + 0.1 * rng.normal()))  # θ* lies wholly outside
        counted += belief.squares()[0] < 0.0
        doubted += len(belief.radii()) == 1
    assert belief.squares()[0] < 0.0 < belief.squares()[1]
    assert belief.refutations == counted > 10
    assert belief.doubts == doubted >= counted
    told = belief.diagnostics(None)
    assert told["structure_refuted"]
    assert "low-rank" in told["warnings"][0]
    actions = rng.normal(size=(7, 4))
    ridge, radius = belief.ambient_ridge, math.sqrt(belief.squares()[1])
    Z = np.linalg.inv(ridge.inverse.full())
    widths = np.sqrt(np.einsum("ij,jk,ik->i", actions, np.linalg.inv(Z), actions))
    np.testing.assert_allclose(belief.view(actions).uppers(), actions @ ridge.center + radius * widths)


def test_rewards_that_refute_the_noise_or_the_bound_leave_a_radius_to_explore_with():
    rng = np.random.default_rng(6)
    belief = MixtureSet(0.1, 0.01, DELTA)
    belief.start(3)
    belief.follow(Frame(np.eye(3)[:, :1], error=1.0, version=1))
    X = rng.normal(size=(40, 3))
    for x in X:
        belief.learn(x, float(x @ [50.0, 0.0, 0.0]))
    assert belief.squares()[1] < 0.0  # then the ellipsoid of the subspace, which assumes more, cannot hold either
    assert "nothing is certified" in belief.diagnostics(None)["warnings"][0]
    ((ridge, radius),) = belief.radii()
    assert ridge is belief.ambient_ridge
    level = 3 * (0.1 / 0.01) ** 2
    log_det = np.linalg.slogdet(np.eye(3) + X.T @ X / level)[1]
    assert radius**2 == pytest.approx(0.1**2 * (log_det + 2 * math.log(2 / DELTA)) + level * 0.01**2)


def test_an_intercept_lies_inside():
    belief = MixtureSet(R, S)
    belief.start(4)
    belief.follow(Frame(np.eye(3)[:, :1], intercept=0.7, error=0.2, version=1))
    assert belief.structured.inside == pytest.approx(2 * (R / S) ** 2)
    precision = np.linalg.inv(belief.structured.inverse.full())
    outer = 4 * (R / S) ** 2
    np.testing.assert_allclose(precision, np.diag([outer / 2, outer, outer, outer / 2]), atol=1e-12)


def test_units_follow_the_data():
    """Rewards and S times a, actions times s with S over s: the same choices."""
    rng = np.random.default_rng(8)
    span = orthonormal(rng, 5, 2)
    X, r = rng.normal(size=(30, 5)), rng.normal(size=30)
    actions = rng.normal(size=(8, 5))
    found = []
    for a, s in ((1.0, 1.0), (50.0, 1.0), (1.0, 1e-3), (1e-2, 1e4)):
        belief = MixtureSet(R * a, S * a / s)
        belief.start(5)
        for t, (x, reward) in enumerate(zip(X, r, strict=True)):
            if t % 10 == 5:
                belief.follow(Frame(span, error=0.3, version=t))
            belief.learn(s * x, a * reward)
        found.append(belief.view(s * actions).uppers() / a)
    for other in found[1:]:
        np.testing.assert_allclose(other, found[0], rtol=1e-6)


@pytest.mark.parametrize("kind", ["gaussian", "signs"])
def test_theta_stays_in_the_set_in_all_rounds_against_sets_that_follow_the_rewards(kind):
    """δ = 0.2 and 150 runs: left in at most 0.2 + 3 standard errors of them, with a told projection error."""
    left, runs, delta, dim = 0, 150, 0.2, 4
    for seed in range(runs):
        rng = np.random.default_rng((99, seed))
        true = orthonormal(rng, dim, 1)
        theta = true[:, 0]
        belief = MixtureSet(0.5, 1.0, delta)
        belief.start(dim)
        outside = False
        for t in range(80):
            if t % 20 == 0:
                span = np.linalg.qr(true + 0.3 * rng.normal(size=(dim, 1)))[0]
                error = float(np.linalg.norm(span @ span.T - true @ true.T, 2))
                belief.follow(Frame(span, error=error, version=t + 1))
            # Along the present error of the estimate: what an adversary who knows θ* would offer.
            x = belief.structured.center - theta + 0.1 * rng.normal(size=dim)
            x /= np.linalg.norm(x)
            noise = rng.normal() if kind == "gaussian" else rng.choice([-1.0, 1.0])
            belief.learn(x, float(x @ theta + 0.5 * noise))
            for ridge, square in zip(belief.ridges, belief.squares(), strict=True):
                gap = theta - ridge.center
                Z = np.linalg.inv(ridge.inverse.full())
                outside |= bool(gap @ Z @ gap > square)
        left += outside
    assert left / runs <= delta + 3 * math.sqrt(delta * (1 - delta) / runs)
    assert left > 0  # a set that is never left at δ = 0.2 would be wider than it says


def policy(**more):
    return eb.Policy(eb.subspace.PCA(), MixtureSet(R, S, DELTA), eb.rules.Optimism(), **more)


@pytest.mark.parametrize("dim", [6, 260])
@pytest.mark.parametrize("center", ["none", "mean"])
def test_what_a_choice_has_found_already_changes_nothing(dim, center):
    """Learning a decision uses the products that choosing made; learning its vector makes them anew."""
    rng = np.random.default_rng(dim)
    first, second = policy(center=center), policy(center=center)
    products = 0
    for _ in range(25):
        actions = rng.normal(size=(9, dim)) + 1.0
        chosen, again = first.choose(actions), second.choose(actions)
        products += first.belief.solved is not None
        assert chosen.index == again.index
        reward = float(0.5 * actions[chosen.index].sum() / math.sqrt(dim) + R * rng.normal())  # along the mean
        first.learn(chosen, reward)
        second.learn(np.array(again.action), reward)
    assert products > 0  # or nothing would be compared
    np.testing.assert_allclose(first.belief.scores, second.belief.scores, rtol=1e-9)
    np.testing.assert_allclose(first.belief.structured.center, second.belief.structured.center, atol=1e-9)


def test_a_saved_policy_goes_on_bit_for_bit(tmp_path):
    rng = np.random.default_rng(4)
    one = policy()
    for _ in range(30):
        actions = rng.normal(size=(5, 4))
        one.learn(one.choose(actions), float(rng.normal()))
    waiting = one.choose(rng.normal(size=(5, 4)))
    one.save(tmp_path / "policy")
    other = eb.load(tmp_path / "policy")
    for a in (one, other):
        a.learn(waiting, 0.3)
    for _ in range(20):
        actions = rng.normal(size=(5, 4))
        chosen, again = one.choose(actions), other.choose(actions)
        assert (chosen.index, chosen.upper) == (again.index, again.upper)
        one.learn(chosen, 0.1)
        other.learn(again, 0.1)


def test_learning_that_is_cut_off_leaves_no_trace(monkeypatch):
    rng = np.random.default_rng(5)
    one = policy()
    for _ in range(12):
        one.learn(one.choose(rng.normal(size=(5, 4))), float(rng.normal()))
    probe = rng.normal(size=(7, 4))
    before, scores = one.belief.view(probe).uppers(), one.belief.scores.copy()
    monkeypatch.setattr(one.belief.evidence, "add", lambda *_: (_ for _ in ()).throw(KeyboardInterrupt))
    with pytest.raises(KeyboardInterrupt):
        one.learn(probe[0], 1.0)
    np.testing.assert_allclose(one.belief.view(probe).uppers(), before, rtol=1e-9)
    np.testing.assert_array_equal(one.belief.scores, scores)


def test_parts_of_a_view_know_what_the_whole_has_found():
    one = policy()
    rng = np.random.default_rng(6)
    for _ in range(12):
        one.learn(one.choose(rng.normal(size=(5, 4))), float(rng.normal()))
    sets = [rng.normal(size=(size, 4)) for size in (3, 1, 6)]
    together = one.choose_many(sets)
    for actions, chosen in zip(sets, together, strict=True):
        alone = one.belief.view(actions)
        assert chosen.index == alone.uppers().argmax()
        assert chosen.upper == pytest.approx(alone.uppers().max())


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("rewards", [1e-49, 1.0, 1e49])
@pytest.mark.parametrize(
    ("dtype", "scale"), [("float64", 1e-49), ("float64", 1e49), ("float32", 1e-14), ("float32", 1e14)]
)
def test_numbers_up_to_the_limits_lead_to_sound_choices(dtype, scale, rewards):
    one = policy(dtype=dtype, center="mean")
    rng = np.random.default_rng(7)
    for _ in range(30):
        actions = scale * rng.normal(size=(5, 4))
        decision = one.choose(actions)
        assert np.isfinite([decision.estimate, decision.upper, *decision.model]).all()
        one.learn(decision, rewards * rng.normal())
        one.learn_many(actions, np.full(5, rewards))
    assert np.isfinite(one.diagnostics().details["radius_ambient"])


def test_what_is_asked_for_is_checked():
    for wrong in ({"noise": 0.0}, {"theta_bound": 0.0}, {"delta": 1.0}):
        with pytest.raises(ValueError, match=next(iter(wrong))):
            MixtureSet(**{"noise": 0.5, "theta_bound": 1.0} | wrong)
    belief = MixtureSet(0.5, 1.0)
    belief.start(2)
    with pytest.raises(ValueError, match="needs a subspace"):
        belief.follow(None)
