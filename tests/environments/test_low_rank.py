"""The paper's random model has the covariances, bounds and streams that it promises."""

import math
from itertools import islice

import numpy as np
import pytest

from eigenbandits.environments import Environment, Instance, LowRank, Round, low_rank

KINDS = ["sphere", "cube", "heavy", "duplicates"]


def take(instance: Instance, count: int) -> list[Round]:
    return list(islice(instance.rounds(), count))


def all_actions(instance: Instance, count: int) -> np.ndarray:
    return np.concatenate([offered.actions for offered in take(instance, count)])


def test_fits_the_protocols():
    environment: Environment = LowRank(dim=5, rank=2, arms=3)
    instance: Instance = environment.instance(0)
    assert isinstance(environment, Environment)
    assert not isinstance(instance, Environment)


@pytest.mark.parametrize("vectors", ["sphere", "cube", "duplicates"])
@pytest.mark.parametrize("spread", [1.0, 5.0])
def test_covariance_is_that_of_the_model(vectors, spread):
    environment = LowRank(dim=8, rank=3, arms=20, perturbation=2.0, scale=1.5, spread=spread, vectors=vectors, mean=0.7)
    instance = environment.instance(3)
    actions = all_actions(instance, 4000)
    expected = instance.basis * environment.eigenvalues @ instance.basis.T + environment.sigma2 * np.eye(8)
    centred = actions - instance.mean
    n = len(actions) // 2  # duplicates carry half the information
    top = environment.eigenvalues[0] + environment.sigma2
    # Each entry is a mean of n products whose standard deviation is at most √3 × the top variance, as the
    # coordinates of these vectors have fourth moments below 3 × variance²; five standard errors.
    tolerance = 5 * math.sqrt(3) * top / math.sqrt(n)
    np.testing.assert_allclose(centred.T @ centred / len(actions), expected, rtol=0, atol=tolerance)
    np.testing.assert_allclose(centred.mean(axis=0), 0.0, atol=5 * math.sqrt(top / n))


def test_energies_add_up():
    environment = LowRank(dim=12, rank=4, arms=2, perturbation=9.0, scale=2.0, spread=7.0)
    signal, perturbation = environment.eigenvalues.sum(), environment.dim * environment.sigma2
    assert signal + perturbation == pytest.approx(4.0)
    assert perturbation / signal == pytest.approx(9.0)
    assert environment.eigenvalues[0] / environment.eigenvalues[-1] == pytest.approx(7.0)
    ratios = environment.eigenvalues[1:] / environment.eigenvalues[:-1]
    np.testing.assert_allclose(ratios, ratios[0])


@pytest.mark.parametrize("vectors", ["sphere", "cube"])
def test_assumption_one_holds_for_every_vector(vectors):
    # Without perturbation the actions are x; with (almost) nothing else they are ψ.
    for perturbation, part in ((0.0, "x"), (1e12, "psi")):
        instance = LowRank(dim=6, rank=2, arms=50, perturbation=perturbation, spread=3.0, vectors=vectors).instance(1)
        structure = instance.structure
        assert structure is not None
        squares = np.square(all_actions(instance, 400)).sum(axis=1)
        bound = structure.d_x * structure.lambda_plus if part == "x" else structure.d_psi * structure.sigma2
        assert squares.max() <= bound * (1 + 1e-5)
        assert squares.max() >= 0.5 * bound  # and the bound is not idle


@pytest.mark.parametrize("vectors", ["sphere", "cube", "duplicates"])
@pytest.mark.parametrize("mean", [0.0, 2.0])
def test_action_bound_holds_for_every_action(vectors, mean):
    instance = LowRank(dim=3, rank=1, arms=50, mean=mean, vectors=vectors, scale=1e-3).instance(1)
    assert instance.action_bound is not None
    assert np.linalg.norm(all_actions(instance, 400), axis=1).max() <= instance.action_bound


@pytest.mark.parametrize(("vectors", "times"), [("sphere", 1), ("cube", 3)])
def test_structure_is_that_of_the_paper(vectors, times):
    environment = LowRank(dim=10, rank=2, arms=5, spread=4.0, vectors=vectors)
    structure = environment.instance(0).structure
    assert structure is not None
    assert (structure.d_x, structure.d_psi) == (2 * times, 10 * times)
    assert structure.lambda_plus == pytest.approx(0.08)  # 0.1 shared out as 4 to 1
    assert structure.lambda_minus == pytest.approx(0.02)
    assert structure.sigma2 == pytest.approx(0.09)


def test_where_the_assumptions_fail_there_is_no_structure():
    heavy = LowRank(dim=10, rank=2, arms=4, vectors="heavy").instance(0)
    assert heavy.structure is None
    assert heavy.action_bound is None
    assert LowRank(dim=10, rank=2, arms=4, vectors="duplicates").instance(0).structure is None


def test_heavy_tails_are_heavy_and_duplicates_are_near():
    sphere = np.linalg.norm(all_actions(LowRank(10, 2, 20).instance(0), 200), axis=1)
    heavy = np.linalg.norm(all_actions(LowRank(10, 2, 20, vectors="heavy").instance(0), 200), axis=1)
    assert heavy.max() > 4 * sphere.max()
    for offered in take(LowRank(10, 2, 5, vectors="duplicates").instance(0), 20):
        gaps = np.linalg.norm(offered.actions[0:4:2] - offered.actions[1:4:2], axis=1)
        assert gaps.max() < 0.01
        assert gaps.min() > 0.0
        assert np.linalg.norm(offered.actions[4] - offered.actions[3]) > 0.1


@pytest.mark.parametrize("vectors", KINDS)
@pytest.mark.parametrize("noise_kind", ["gaussian", "uniform", "bernoulli", "signs"])
def test_same_seed_same_stream_whatever_is_chosen(vectors, noise_kind):
    environment = LowRank(6, 2, 4, vectors=vectors, noise_kind=noise_kind)
    one, two, other = environment.instance(5), environment.instance(5), environment.instance(6)
    np.testing.assert_array_equal(one.theta, two.theta)
    firsts, seconds = [], []
    for t, (a, b) in enumerate(zip(take(one, 150), take(two, 150), strict=True)):
        a.reward(t % 4)  # different choices
        b.reward(0)
        np.testing.assert_array_equal(a.actions, b.actions)
        np.testing.assert_array_equal(a.values, b.values)
        assert a.noise == b.noise
        firsts.append(a.noise)
        seconds.append(a.actions)
    assert len(set(firsts)) == 150
    assert not np.allclose(one.theta, other.theta)
    assert not np.allclose(seconds[0], next(other.rounds()).actions)
    # A stream that is begun again begins at the beginning, whatever another one consumed.
    np.testing.assert_array_equal(next(one.rounds()).actions, seconds[0])


def test_interleaved_streams_do_not_disturb_each_other():
    instance = LowRank(4, 2, 3).instance(0)
    alone = [offered.noise for offered in take(instance, 100)]
    first, second = instance.rounds(), instance.rounds()
    together = []
    for _ in range(100):
        together.append(next(first).noise)
        next(second)
    assert together == alone


@pytest.mark.parametrize("vectors", KINDS)
def test_stream_does_not_depend_on_blocks(vectors, monkeypatch):
    instance = LowRank(6, 2, 5, vectors=vectors, mean=1.0).instance(2)
    usual = take(instance, 130)
    monkeypatch.setattr(low_rank, "_BLOCK_ROUNDS", 7)
    for a, b in zip(usual, take(instance, 130), strict=True):
        # Only the order of summation inside a matrix product may differ.
        np.testing.assert_allclose(a.actions, b.actions, rtol=0, atol=1e-14)
        assert a.noise == b.noise


def test_large_sets_are_drawn_in_small_blocks(monkeypatch):
    monkeypatch.setattr(low_rank, "_BLOCK_NUMBERS", 1)
    assert len(take(LowRank(6, 2, 5).instance(2), 10)) == 10


def test_noise_and_subspace_do_not_depend_on_other_settings():
    plain, changed = (
        LowRank(6, 2, 5).instance(4),
        LowRank(6, 2, 5, theta="outside", mean=1.0, spread=3.0).instance(4),
    )
    np.testing.assert_array_equal(plain.basis, changed.basis)
    assert [r.noise for r in take(plain, 80)] == [r.noise for r in take(changed, 80)]


def test_values_are_linear_and_rewards_are_value_plus_noise():
    instance = LowRank(6, 2, 5, mean=2.0).instance(0)
    for offered in take(instance, 70):
        np.testing.assert_allclose(offered.values, offered.actions @ instance.theta, rtol=1e-12, atol=1e-14)
        assert offered.reward(2) == offered.values[2] + offered.noise
        assert offered.best == offered.values.max()


@pytest.mark.parametrize(
    ("theta", "energy"), [("random", 1.0), ("weakest", 1.0), ("half-outside", 0.5), ("outside", 0.0)]
)
@pytest.mark.parametrize(("dim", "rank"), [(9, 3), (9, 8), (2, 1)])
def test_theta_points_where_it_was_told(theta, energy, dim, rank):
    instance = LowRank(dim, rank, 4, theta=theta, theta_norm=2.0, spread=3.0).instance(8)
    assert np.linalg.norm(instance.theta) == pytest.approx(2.0)
    assert instance.theta_bound == 2.0
    inside = instance.basis.T @ instance.theta / 2.0
    assert float(inside @ inside) == pytest.approx(energy, abs=1e-12)
    if theta == "weakest":
        np.testing.assert_allclose(np.abs(inside), np.eye(rank)[-1], atol=1e-12)


def test_weakest_direction_carries_the_smallest_eigenvalue():
    environment = LowRank(6, 3, 20, theta="weakest", perturbation=0.0, spread=10.0)
    values = np.concatenate([offered.values for offered in take(environment.instance(0), 1000)])
    # 20,000 values, standard deviation of a square below √3 × the variance: five standard errors are 6 %.
    assert values.var() == pytest.approx(environment.eigenvalues[-1], rel=0.07)


def test_outside_rewards_come_from_the_perturbation_alone():
    instance = LowRank(6, 2, 5, theta="outside", perturbation=0.0).instance(0)
    assert max(abs(offered.values).max() for offered in take(instance, 20)) < 1e-14


@pytest.mark.parametrize("kind", ["gaussian", "uniform"])
def test_additive_noise_has_mean_zero_and_the_stated_deviation(kind):
    instance = LowRank(2, 1, 1, noise=0.3, noise_kind=kind).instance(0)
    noise = np.array([offered.noise for offered in take(instance, 20_000)])
    assert instance.noise == 0.3
    assert abs(noise.mean()) < 5 * 0.3 / math.sqrt(20_000)
    assert noise.std() == pytest.approx(0.3, rel=5 / math.sqrt(2 * 20_000))
    if kind == "uniform":
        assert abs(noise).max() <= math.sqrt(3) * 0.3


def test_uniform_noise_is_sub_gaussian_with_its_standard_deviation():
    z = np.linspace(0.01, 30.0, 3000)  # z = √3 R s, so that s²R²/2 = z²/6
    assert np.all(np.log(np.sinh(z) / z) <= z**2 / 6 + 1e-12)


@pytest.mark.parametrize(("kind", "low", "constant"), [("bernoulli", 0.0, 0.5), ("signs", -1.0, 1.0)])
def test_two_valued_rewards_have_the_stated_mean(kind, low, constant):
    instance = LowRank(4, 2, 3, noise_kind=kind, noise=7.0).instance(0)
    assert instance.noise == constant
    residuals, seen = [], set()
    for offered in take(instance, 20_000):
        expected = (0.5 if kind == "bernoulli" else 0.0) + offered.actions @ instance.theta
        np.testing.assert_allclose(offered.values, np.clip(expected, low, 1.0), atol=1e-14)
        reward = offered.reward(1)
        seen.add(reward)
        residuals.append(reward - offered.values[1])
    assert seen == {low, 1.0}
    # The deviation of a variable in an interval of length 2R is at most R.
    assert abs(np.mean(residuals)) < 5 * constant / math.sqrt(20_000)


def test_rare_clicks_come_at_their_rate():
    instance = LowRank(8, 2, 4, noise_kind="bernoulli", rate=0.02, theta_norm=0.5).instance(1)
    assert instance.intercept == 0.02
    assert np.linalg.norm(instance.theta) == pytest.approx(0.01)
    rounds = [offered for offered, _ in zip(instance.rounds(), range(20_000), strict=False)]
    clicks = sum(offered.reward(0) for offered in rounds)
    # 400 of them, with a standard deviation of 20; four of those.
    assert clicks == pytest.approx(400, abs=80)
    for offered in rounds[:20]:
        np.testing.assert_allclose(offered.values, 0.02 * (1.0 + offered.actions @ instance.theta / 0.02))
    with pytest.raises(ValueError, match=r"rate is 1\.5; expected a share, above 0 and at most 1"):
        LowRank(8, 2, 4, rate=1.5)


def test_bernoulli_theta_is_the_slope_of_the_reward():
    instance = LowRank(4, 2, 3, noise_kind="bernoulli", theta_norm=1.0).instance(0)
    assert np.linalg.norm(instance.theta) == pytest.approx(0.5)
    assert instance.theta_bound == 0.5
    assert instance.intercept == 0.5


def test_two_valued_rewards_are_cut_where_the_mean_would_leave_them():
    instance = LowRank(4, 2, 3, noise_kind="bernoulli", scale=50.0).instance(0)
    for offered in take(instance, 50):
        assert offered.values.min() >= 0.0
        assert offered.values.max() <= 1.0
        sure = np.flatnonzero(offered.values == 1.0)
        assert all(offered.reward(int(index)) == 1.0 for index in sure)
        never = np.flatnonzero(offered.values == 0.0)
        assert all(offered.reward(int(index)) == 0.0 for index in never)


@pytest.mark.parametrize("vectors", KINDS)
@pytest.mark.parametrize(("dim", "rank", "arms"), [(1, 1, 1), (1, 1, 4), (5, 5, 1), (5, 5, 3), (5, 1, 1)])
def test_smallest_sizes(dim, rank, arms, vectors):
    instance = LowRank(dim, rank, arms, vectors=vectors, mean=0.5, spread=2.0).instance(0)
    np.testing.assert_allclose(instance.basis.T @ instance.basis, np.eye(rank), atol=1e-12)
    for offered in take(instance, 70):
        assert offered.actions.shape == (arms, dim)
        assert offered.actions.dtype == np.float64
        assert np.isfinite(offered.actions).all()


def test_decision_sets_cannot_be_written_to():
    offered = next(LowRank(5, 2, 3).instance(0).rounds())
    with pytest.raises(ValueError, match="read-only"):
        offered.actions[0, 0] = 1.0


def test_rows_outside_the_decision_set_are_refused():
    offered = next(LowRank(5, 2, 3).instance(0).rounds())
    for index in (-1, 3):
        with pytest.raises(IndexError, match="from 0 to 2"):
            offered.reward(index)


def test_name_lists_what_is_not_default():
    assert LowRank(5, 2, 3).name == "LowRank(dim=5, rank=2, arms=3)"
    assert LowRank(5, 2, 3, theta="weakest", noise=0.1).name == (
        "LowRank(dim=5, rank=2, arms=3, noise=0.1, theta=weakest)"
    )


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"dim": 0}, "dim is 0; expected a whole number of at least 1"),
        ({"dim": 2.5}, "dim is 2.5"),
        ({"arms": 0}, "arms is 0"),
        ({"rank": 0}, "rank is 0"),
        ({"rank": 6}, "rank is 6; expected at most dim, which is 5"),
        ({"perturbation": -1.0}, "perturbation is -1"),
        ({"scale": 0.0}, "scale is 0"),
        ({"spread": 0.5}, "spread is 0.5"),
        ({"noise": -0.1}, "noise is -0.1"),
        ({"noise": math.nan}, "noise is nan"),
        ({"mean": math.inf}, "mean is inf"),
        ({"theta_norm": 0.0}, "theta_norm is 0"),
        ({"noise_kind": "cauchy"}, "noise_kind is 'cauchy'; expected one of 'gaussian'"),
        ({"theta": "elsewhere"}, "theta is 'elsewhere'"),
        ({"vectors": "torus"}, "vectors is 'torus'"),
        ({"rank": 5, "theta": "outside"}, "nothing lies outside a subspace of rank 5"),
    ],
)
def test_bad_arguments_get_one_sentence(changes, message):
    with pytest.raises(ValueError, match=message):
        LowRank(**{"dim": 5, "rank": 2, "arms": 3, **changes})


@pytest.mark.parametrize("seed", [-1, 0.5, "zero"])
def test_bad_seeds_are_refused(seed):
    with pytest.raises(ValueError, match="seed is"):
        LowRank(5, 2, 3).instance(seed)
