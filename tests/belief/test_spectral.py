"""The flagship's belief against dense Bayesian regression, mixtures by hand, and what it must not fall for."""

import dataclasses
import itertools
import math
from typing import Any

import numpy as np
import pytest

import eigenbandits as eb
from eigenbandits.belief.spectral.likelihood import RowsReading, SumsReading, factor, spreads, whitened
from eigenbandits.belief.spectral.members import (
    full_covariance,
    rows_covariance,
    rows_estimate,
    sums_covariance,
    sums_estimate,
    thin_covariance,
)
from eigenbandits.belief.spectral.prior import LearnedPrior
from eigenbandits.belief.spectral.ratios import RATIOS, pivots, tridiagonal
from eigenbandits.belief.spectral.sample import Sample
from eigenbandits.environments import Digits, LowRank
from eigenbandits.policy.files import from_bytes, to_bytes
from eigenbandits.theory.marginal import left_out

DIM = 6


def problem(seed, count=15, dim=DIM):
    """Return chosen actions, rewards, and the eigenvectors and eigenvalues of a second moment."""
    rng = np.random.default_rng(seed)
    rows = rng.standard_normal((count, dim)) * np.linspace(2.0, 0.3, dim)
    rewards = rows @ rng.standard_normal(dim) + 0.3 * rng.standard_normal(count) + 1.5
    values, vectors = np.linalg.eigh(np.cov(rng.standard_normal((200, dim)) * np.linspace(2.0, 0.3, dim), rowvar=False))
    return rows, rewards, vectors[:, ::-1], values[::-1]


def prior_covariance(prior, basis):
    inside = (basis * prior.roots**2) @ basis.T
    return inside + prior.rest**2 * (np.eye(len(basis)) - basis @ basis.T)


def reading(rows, rewards, basis, intercept=True):
    if intercept:
        rows, rewards = rows - rows.mean(axis=0), rewards - rewards.mean()
    freedom = len(rows) - intercept
    return SumsReading(basis.T @ rows.T @ rows @ basis, basis.T @ (rows.T @ rewards), rewards @ rewards, freedom)


@pytest.mark.parametrize("power", [0.0, 1.0, 2.0, 4.0, 8.0])
def test_variances_follow_the_spectrum_and_give_a_signal_of_one(power):
    _, _, basis, spectrum = problem(0)
    prior = spreads(spectrum, DIM, [power], [1])[0]
    covariance = prior_covariance(prior, basis)
    second_moment = (basis * spectrum) @ basis.T
    assert np.trace(covariance @ second_moment) == pytest.approx(1.0)
    ratios = prior.roots**2 / prior.roots[0] ** 2
    assert ratios == pytest.approx((spectrum / spectrum[0]) ** power)


def test_a_cut_counts_every_direction_that_stands_out_the_same():
    prior = spreads(np.array([8.0, 4.0, 2.0, 1.0, 0.0]), 5, [1.0, 3.0], [1, 2])[1]
    # min(ℓ/4, 1)³: 1, 1, 1/8, 1/64, and the least share for a direction that no action has had.
    assert prior.roots**2 / prior.roots[0] ** 2 == pytest.approx([1.0, 1.0, 1 / 8, 1 / 64, 1e-6**3], abs=1e-15)
    assert (prior.roots**2) @ [8.0, 4.0, 2.0, 1.0, 0.0] == pytest.approx(1.0)


def test_the_frame_says_how_many_directions_stand_out():
    policy = eb.EigenUCB(seed=0)
    eb.run(policy, LowRank(40, 3, 10, perturbation=1.0), rounds=200, seed=0)
    frame: Any = policy.subspace.current()
    assert frame.rank == 3
    assert frame.directions.shape == (40, 40)


def test_theta_on_the_weakest_of_the_directions_that_stand_out_is_found():
    """A power puts the strongest first, the cut counts them the same: the regret is well below that of a tuned OFUL."""
    environment = LowRank(60, 4, 10, theta="weakest", spread=10.0)
    lost = [eb.run(eb.EigenUCB(seed=0), environment, rounds=800, seed=seed).regret[-1] for seed in (0, 1, 2)]
    # OFUL with λ = R²d/S², which for the unit actions and θ* of this model is 0.25 · 60.
    tuned = eb.OFUL(noise=0.5, ridge=15.0, seed=0)
    other = [eb.run(tuned.clone(), environment, rounds=800, seed=seed).regret[-1] for seed in (0, 1, 2)]
    assert sum(lost) < 0.8 * sum(other)


def test_directions_without_an_eigenvector_share_one_variance():
    spectrum = np.array([4.0, 2.0, 0.5, 0.5])
    prior = spreads(spectrum, 2, [1.0], [1])[0]
    assert len(prior.roots) == 2
    assert prior.rest**2 / prior.roots[1] ** 2 == pytest.approx(0.25)


@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("ratio", [0.01, 1.0, 50.0])
def test_the_likelihood_is_a_gaussian_density(ratio, intercept):
    """Two priors are compared; a flat prior of the intercept is one of variance 10⁸, which adds the same to both."""
    rows, rewards, basis, spectrum = problem(1)
    noise = 0.4
    seen = reading(rows, rewards, basis, intercept)
    ours, dense = [], []
    for power in (0.0, 2.0):
        prior = spreads(spectrum, DIM, [power], [1])[0]
        kernel, vector = seen.kernel(prior)
        lower = factor(kernel, ratio)
        white = whitened(lower, vector)
        ours.append(-0.5 * seen.residual(float(white @ white), ratio) / noise**2 - np.log(np.diagonal(lower)).sum())
        cover = np.eye(len(rows)) + ratio * rows @ prior_covariance(prior, basis) @ rows.T
        if intercept:
            cover += 1e8
        _, whole = np.linalg.slogdet(cover)
        dense.append(-0.5 * rewards @ np.linalg.solve(cover, rewards) / noise**2 - 0.5 * whole)
    assert ours[1] - ours[0] == pytest.approx(dense[1] - dense[0], abs=1e-4)


@pytest.mark.parametrize("tracked", [2, DIM])
def test_rows_and_sums_say_the_same(tracked):
    rows, rewards, basis, spectrum = problem(2)
    spectrum = spectrum.copy()
    if tracked < DIM:
        spectrum[tracked:] = spectrum[tracked:].mean()
    centered, shifted = rows - rows.mean(axis=0), rewards - rewards.mean()
    by_rows = RowsReading(centered, basis[:, :tracked], shifted, len(rows) - 1.0)
    by_sums = reading(rows, rewards, basis)
    fitted = [
        LearnedPrior().fit(by_rows, spectrum, tracked, 3, 1.0, None),
        LearnedPrior().fit(by_sums, spectrum, DIM, 3, 1.0, None),
    ]
    for one, other in zip(*fitted, strict=True):
        assert one.ratio == pytest.approx(other.ratio, rel=1e-6)
        assert one.weight == pytest.approx(other.weight, rel=1e-6)
        assert one.variance == pytest.approx(other.variance, rel=1e-6)
        estimate = rows_estimate(one, centered, basis[:, :tracked])
        assert estimate == pytest.approx(basis @ sums_estimate(other), rel=1e-6, abs=1e-9)
        scale, plus, minus = thin_covariance(one, centered, basis[:, :tracked])
        thin = scale * np.eye(DIM) + plus.T @ plus - minus.T @ minus
        dense = basis @ sums_covariance([other], [1.0]) @ basis.T / other.variance
        assert thin == pytest.approx(dense, rel=1e-6, abs=1e-9)


def test_a_steep_prior_keeps_the_digits_of_the_rewards():
    """The variances of the cut differ by sixteen digits; the sums give what the rows give all the same."""
    rng = np.random.default_rng(8)
    rows, rewards = rng.standard_normal((25, 30)), rng.standard_normal(25)
    basis = np.linalg.qr(rng.standard_normal((30, 4)))[0]
    spectrum = np.array([1.0, 0.8, 0.6, 0.5] + 26 * [0.02])
    members = LearnedPrior().fit(RowsReading(rows, basis, rewards, 25.0), spectrum, 4, 4, 1.0, None)
    assert members[-1].prior.rest < 1e-7 * members[-1].prior.roots[0]
    for member in members:
        covariance, estimate = full_covariance(member, rows.T @ rows, rows.T @ rewards, basis)
        scale, plus, minus = thin_covariance(member, rows, basis)
        thin = scale * np.eye(30) + plus.T @ plus - minus.T @ minus
        assert covariance == pytest.approx(thin, rel=1e-9, abs=1e-9 * np.abs(thin).max())
        assert estimate == pytest.approx(rows_estimate(member, rows, basis), rel=1e-7, abs=1e-9)


def test_few_rewards_are_read_row_by_row():
    """In the basis of all eigenvectors, rows give the estimates and the covariances that sums give."""
    rows, rewards, basis, spectrum = problem(2, count=4)
    centered, shifted = rows - rows.mean(axis=0), rewards - rewards.mean()
    inside = centered @ basis
    by_rows = LearnedPrior().fit(RowsReading(inside, None, shifted, 3.0), spectrum, DIM, 2, 1.0, None)
    by_sums = LearnedPrior().fit(reading(rows, rewards, basis), spectrum, DIM, 2, 1.0, None)
    for one, other in zip(by_rows, by_sums, strict=True):
        assert one.weight == pytest.approx(other.weight, rel=1e-6)
        assert rows_estimate(one, inside) == pytest.approx(sums_estimate(other), rel=1e-6, abs=1e-9)
        assert rows_covariance([one], [1.0], inside) == pytest.approx(
            sums_covariance([other], [1.0]), rel=1e-6, abs=1e-9
        )


def test_a_member_is_bayesian_regression_with_a_flat_intercept():
    rows, rewards, basis, spectrum = problem(3)
    member = LearnedPrior().fit(reading(rows, rewards, basis), spectrum, DIM, 1, 1.0, None)[1]
    prior = member.variance * member.ratio * prior_covariance(member.prior, basis)
    design = np.column_stack([rows, np.ones(len(rows))])
    precision = design.T @ design / member.variance
    precision[:DIM, :DIM] += np.linalg.inv(prior)
    covariance = np.linalg.inv(precision)
    mean = covariance @ design.T @ rewards / member.variance
    assert basis @ sums_estimate(member) == pytest.approx(mean[:DIM])
    assert basis @ sums_covariance([member], [1.0]) @ basis.T == pytest.approx(covariance[:DIM, :DIM])


@pytest.mark.parametrize("size", [1, 2, 7, 40])
def test_one_tridiagonal_matrix_gives_the_terms_of_every_ratio(size):
    """Against determinants and solutions of I + ρA itself; A has half of its rank, and one vector is 0."""
    rng = np.random.default_rng(size)
    kernels = []
    for scale in (1.0, 1e-6, 1e4):
        root = rng.standard_normal((size, (size + 1) // 2))
        kernels.append((scale * root @ root.T, rng.standard_normal(size)))
    kernels.append((np.eye(size), np.zeros(size)))
    log_dets, whites = pivots([tridiagonal(kernel, vector) for kernel, vector in kernels])
    for place, (kernel, vector) in enumerate(kernels):
        for index, ratio in enumerate(RATIOS):
            whole = np.eye(size) + ratio * kernel
            assert log_dets[place, index] == pytest.approx(np.linalg.slogdet(whole)[1], rel=1e-6, abs=1e-7)
            expected = vector @ np.linalg.solve(whole, vector)
            assert whites[place, index] == pytest.approx(expected, rel=1e-6, abs=1e-9)


@pytest.mark.parametrize("kurtosis", [0.0, 40.0])
def test_the_ratio_and_the_weights_are_those_of_all_ratios_on_the_grid(kurtosis):
    """For the ratio, gains are divided by 1 + κ df/(2n), with df = tr ρA(I + ρA)⁻¹ found by solving."""
    rows, rewards, basis, spectrum = problem(4, count=60)
    seen = reading(rows, rewards, basis)
    prior = LearnedPrior()
    # n, Σe² and Σe⁴ of errors with this excess kurtosis.
    prior.errors = np.array([10.0, 10.0, 10.0 * (kurtosis + 3.0)])
    members = prior.fit(seen, spectrum, DIM, 1, 1.0, None)
    likelihoods = []
    log_prior = -0.5 * (np.log10(RATIOS) / 1.5) ** 2
    nothing = -(2.0 + seen.count / 2.0) * math.log1p(seen.squares / 4.0)
    for member in members:
        kernel, vector = seen.kernel(member.prior)
        gains, tempered = [], []
        for ratio in RATIOS:
            lower = factor(kernel, float(ratio))
            residual = seen.residual(float(np.square(whitened(lower, vector)).sum()), float(ratio))
            log_root = np.log(np.diagonal(lower)).sum()
            gain = -(2.0 + seen.count / 2.0) * math.log1p(residual / 4.0) - log_root - nothing
            freedom = np.trace(np.linalg.solve(np.eye(len(kernel)) + ratio * kernel, ratio * kernel))
            gains.append(gain)
            tempered.append(gain / (1.0 + 0.5 * kurtosis * freedom / seen.count))
        weights = np.exp(np.array(tempered) + log_prior)
        mean = weights @ np.log10(RATIOS) / weights.sum()
        # df comes from differences over steps of half a decade.
        assert math.log10(member.ratio) == pytest.approx(mean, abs=1e-6 if kurtosis == 0.0 else 0.05)
        likelihoods.append(math.log(np.exp(np.array(gains) + log_prior).sum()))
    # Nothing was forecast, so the other reading finds all members as likely as the likeliest of this one.
    expected = np.exp(np.array(likelihoods) - max(likelihoods)) + 1.0
    assert np.array([member.weight for member in members]) == pytest.approx(expected / expected.sum(), abs=1e-6)


def played(policy, count=40, dim=DIM, seed=0, reward=None):
    """Let a policy choose and learn; return the actions learned from and their rewards."""
    rng = np.random.default_rng(seed)
    theta = np.random.default_rng(99).standard_normal(dim)
    rows, rewards = [], []
    for _ in range(count):
        actions = rng.standard_normal((4, dim)) * np.linspace(2.0, 0.3, dim)
        decision = policy.choose(actions)
        value = float(decision.action @ theta + 0.3 * rng.standard_normal()) if reward is None else reward(decision)
        policy.learn(decision, value)
        rows.append(decision.action)
        rewards.append(value)
    return np.array(rows), np.array(rewards)


def fits(policy, count, reward):
    """Let a policy learn, and return after how many rewards it fitted the prior."""
    found = [0]
    rng = np.random.default_rng(3)
    for place in range(count):
        decision = policy.choose(rng.standard_normal((4, DIM)))
        if policy.belief.fitted != found[-1]:
            found.append(policy.belief.fitted)
        policy.learn(decision, reward(place, decision.action, rng))
    return found


def test_surprises_that_no_fit_ends_cause_few_fits():
    """One reward in fifty is 30 times as noisy: from 200 to 3,000 rewards, 7 regular fits, and 55 at growths of 5 %."""

    def contaminated(_, action, rng):
        return float(action[0] + (3.0 if rng.random() < 0.02 else 0.1) * rng.standard_normal())

    found = fits(eb.EigenUCB(seed=0), 3000, contaminated)
    assert len([count for count in found if count > 200]) <= 12


def test_a_change_of_the_noise_causes_an_early_fit_and_then_regular_ones():
    """Ten times the noise from reward 1,000 on: it is fitted at once, and then there is nothing to be surprised by."""
    found = fits(
        eb.EigenUCB(seed=0), 3000, lambda t, x, rng: float(x[0] + (0.3 if t < 1000 else 3.0) * rng.standard_normal())
    )
    later = [count for count in found if count > 1000]
    regular = next(count for count in reversed(found) if count <= 1000)
    assert later[0] <= max(1010, 1.06 * regular)
    assert len(later) <= 8


def test_the_posterior_is_the_mixture_of_its_members_and_follows_each_reward():
    """After a fit the mixture's moments by hand; after more rewards, Bayes's rule on top of them."""
    policy = eb.EigenUCB(seed=0)
    played(policy, 40)
    belief: Any = policy.belief
    belief.due = 0
    policy.choose(np.eye(DIM))
    heard = np.where(belief.weights >= 1e-3, belief.weights, 0.0)
    assert belief.center == pytest.approx(heard @ belief.members / heard.sum())
    covariance = belief.noise**2 * belief.inverse.full()
    spread_of_members = sum(
        weight * np.outer(member - belief.center, member - belief.center)
        for weight, member in zip(heard / heard.sum(), belief.members, strict=True)
    )
    # What the members say is beyond their differences: a covariance.
    assert np.linalg.eigvalsh(covariance - spread_of_members).min() > -1e-9
    center, precision = belief.center.copy(), np.linalg.inv(covariance)
    rows, rewards = played(policy, 3, seed=5)
    for row, value in zip(rows, rewards, strict=True):
        lifted = policy.centering.lift_vectors(row)
        before = precision @ center
        precision += np.outer(lifted, lifted) / belief.noise**2
        center = np.linalg.solve(precision, before + lifted * value / belief.noise**2)
    assert belief.center == pytest.approx(center, rel=1e-6)
    assert belief.noise**2 * belief.inverse.full() == pytest.approx(np.linalg.inv(precision), rel=1e-6, abs=1e-12)


@pytest.mark.parametrize("center", ["mean", "none", "set"])
def test_few_rewards_in_many_dimensions_need_no_large_matrix(center):
    """The thin form and the dense one, of the same rewards, give the same estimates and bounds."""
    dim = 520
    policies: list[Any] = [eb.EigenUCB(seed=0, center=center) for _ in range(2)]
    rng = np.random.default_rng(3)
    theta = rng.standard_normal(dim) / math.sqrt(dim)
    for number in range(14):
        actions = rng.standard_normal((6, dim))
        decisions = [policy.choose(actions) for policy in policies]
        assert decisions[0].index == decisions[1].index
        assert decisions[0].upper == pytest.approx(decisions[1].upper, rel=1e-8)
        value = float(decisions[0].action @ theta) + 0.1 * number
        for policy, decision in zip(policies, decisions, strict=True):
            policy.learn(decision, value)
        assert policies[0].belief.inverse.thin
        policies[1].belief.inverse.flush()
        assert not policies[1].belief.inverse.thin


def test_every_one_of_a_thousand_rewards_counts_in_many_dimensions():
    """Also to members that do not lead: that of p = 0 is the ridge regression on all, with a flat intercept."""
    dim, count = 520, 1000
    rng = np.random.default_rng(4)
    rows = rng.standard_normal((count, dim)) / np.arange(1.0, dim + 1.0)
    rewards = rows[:, 0] + 0.5 * rng.standard_normal(count)
    policy = eb.EigenUCB(seed=0)
    policy.observe(rows)
    policy.learn_many(rows, rewards)
    policy.choose(rows[:5])
    belief: Any = policy.belief
    frame = policy.subspace.frame()
    assert frame is not None
    assert frame.spectrum is not None
    weight = belief.ratios[0] / frame.spectrum.sum()
    assert belief.leading != 0
    about, levels = rows - rows.mean(axis=0), rewards - rewards.mean()
    expected = np.linalg.solve(about.T @ about + np.eye(dim) / weight, about.T @ levels)
    assert belief.members[0, :dim] == pytest.approx(expected, rel=1e-6, abs=1e-9)


def test_a_sample_keeps_every_reward_and_then_an_even_share():
    sample = Sample()
    sample.start(1, 513)
    for number in range(1536):
        sample.add(np.array([float(number)]), -float(number))
    kept = sample.rows[: sample.fill, 0]
    assert not sample.complete
    assert np.array_equal(kept, np.arange(0.0, 1536.0, sample.stride))
    assert np.array_equal(sample.rewards[: sample.fill], -kept)
    none = Sample()
    none.start(1, 1)
    none.add(np.ones(1), 1.0)
    assert not none.complete


def test_a_bound_is_a_value_that_came_twice():
    belief = eb.belief.Spectral()
    for value in (0.0, 0.5, 1.0):
        assert belief.censoring.uncensored(value, 2.0) == value
        belief.censoring.note(value)
    assert belief.censoring.uncensored(1.0, 2.0) == 1.0
    belief.censoring.note(1.0)
    assert belief.censoring.uncensored(1.0, 2.0) == 2.0
    assert belief.censoring.uncensored(1.0, 0.5) == 1.0
    assert belief.censoring.uncensored(0.0, -1.0) == 0.0
    belief.censoring.note(0.0)
    assert belief.censoring.uncensored(0.0, -1.0) == -1.0
    assert belief.censoring.uncensored(0.5, 3.0) == 0.5
    assert belief.censoring.uncensored(1.0, math.nan) == 1.0


def test_equal_rewards_for_long_do_not_freeze_it():
    """200 rewards of 0, then those of the model: from then on it learns as one that starts there."""
    environment = LowRank(20, 2, 5, perturbation=1.0, noise=0.1)
    lost = {}
    for equal in (0, 200):
        policy = eb.EigenUCB(seed=0)
        regrets = []
        for number, offered in enumerate(environment.instance(7).rounds()):
            if number == equal + 400:
                break
            decision = policy.choose(offered.actions)
            policy.learn(decision, offered.reward(decision.index) if number >= equal else 0.0)
            if number >= equal + 100:
                regrets.append(offered.best - offered.values[decision.index])
        lost[equal] = sum(regrets)
    first = itertools.islice(environment.instance(7).rounds(), 50)
    chance = np.mean([offered.best - offered.values.mean() for offered in first])
    assert lost[0] < 0.15 * 300 * chance
    assert lost[200] < 0.15 * 300 * chance


def test_where_one_answer_is_right_the_reading_as_regrets_decides():
    """Digits out of a network: rewards of 0 and 1 fit flat shapes, and steep ones choose better."""
    policy: Any = eb.EigenUCB(seed=0)
    mistakes = 0.0
    for number, offered in enumerate(Digits().instance(3).rounds()):
        if number == 600:
            break
        decision = policy.choose(offered.actions)
        policy.learn(decision, offered.reward(decision.index))
        mistakes += offered.best - offered.values[decision.index]
    assert mistakes <= 10
    assert policy.belief.weights[0] < 0.5


def test_a_failure_before_anything_was_known_is_no_bad_forecast():
    """Rewards up to the first that differs are no forecasts: each is as likely as the other reading makes its own."""
    rng = np.random.default_rng(0)
    sets, rewards = rng.standard_normal((12, 4, DIM)), [1.0] * 3 + [0.0] + [1.0] * 8
    policy = eb.EigenUCB(seed=0)
    for actions, reward in zip(sets, rewards, strict=True):
        policy.learn(policy.choose(actions), reward)
    belief: Any = policy.belief
    # Eight equal rewards that were forecast leave no residual; the twelve of the other reading have one failure.
    known: dict[str, Any] = {"unit": 0.1, "weight": 2.0, "noise": None}
    found = belief.prior._as_regrets(belief.origin, 11.0, -20.0, known)
    assert belief.prior.forecasts == 8.0
    explained = -2.0 * math.log(9.0) + left_out(8.0, **known)
    rest = (3.0 / 11.0) * (-20.0 + left_out(11.0, **known))
    assert found.max() <= explained + rest - left_out(11.0, **known) + 1e-9
    assert found.max() > -20.0


def test_the_noise_is_learned():
    environment = LowRank(20, 2, 5, perturbation=1.0, noise=0.5)
    policy = eb.EigenUCB(seed=0)
    eb.run(policy, environment, rounds=800, seed=4)
    assert policy.diagnostics().noise == pytest.approx(0.5, rel=0.1)


def test_certified_says_what_it_needs():
    with pytest.raises(ValueError, match="requires noise and theta_bound"):
        eb.EigenUCB(certified=True)
    assert isinstance(eb.EigenUCB(certified=True, noise=0.5, theta_bound=1.0).belief, eb.belief.Screened)


def test_a_decision_of_another_kind_is_refused_and_changes_nothing():
    policy = eb.EigenUCB(seed=0)
    actions = np.eye(3)
    own = policy.choose(actions)
    other = dataclasses.replace(own, forecast=np.zeros(3))
    before = to_bytes(policy)
    with pytest.raises(ValueError, match="of another kind"):
        policy.learn(other, 1.0)
    with pytest.raises(ValueError, match="of another kind"):
        policy.learn_many([own, other], [1.0, 0.0])
    policy.choose(actions, observe=False)
    again = from_bytes(before)
    again.choose(actions, observe=False)
    assert policy.diagnostics().rewards_learned == 0
    assert np.array_equal(policy.belief.center, again.belief.center)  # type: ignore[attr-defined]
