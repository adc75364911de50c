"""A belief carried over to another encoder, beside one that learned from the log embedded anew."""

import numpy as np
import pytest

import eigenbandits as eb
from eigenbandits.belief import Spectral
from eigenbandits.belief.evidence import Evidence
from eigenbandits.belief.spectral.sample import Sample
from eigenbandits.policy.files import from_bytes, to_bytes
from eigenbandits.translation import RowMap, fit_map

DIM = 8


def items(count, seed=0, dim=DIM):
    """Return vectors with a mean and a spectrum."""
    rng = np.random.default_rng(seed)
    return rng.standard_normal((count, dim)) * np.linspace(2.0, 0.5, dim) + 1.0


def rotation(seed=5, dim=DIM):
    return np.linalg.qr(np.random.default_rng(seed).standard_normal((dim, dim)))[0]


def sums(policy):
    """Return Σ and θ̂ of a policy with an ambient belief."""
    belief = policy.belief
    assert isinstance(belief, eb.belief.Ambient)
    return belief.evidence.gram.full(), belief.center


def rewards_of(vectors, seed=1):
    rng = np.random.default_rng(seed)
    return vectors @ np.cos(np.arange(vectors.shape[1])) + 0.3 * rng.standard_normal(len(vectors))


@pytest.mark.parametrize("width", [5, 8, 11])
def test_sums_are_those_of_the_log_embedded_anew(width):
    matrix = np.random.default_rng(2).standard_normal((DIM, width))
    pairs, log = items(300), items(60, seed=3)
    policy = eb.OFUL(noise=0.3)
    policy.learn_many(log, rewards_of(log))
    policy.translate(pairs, pairs @ matrix)
    gram = (log @ matrix).T @ (log @ matrix)
    np.testing.assert_allclose(sums(policy)[0], gram, rtol=1e-6, atol=1e-6 * gram.max())
    expected = np.linalg.solve(gram + np.eye(width), (log @ matrix).T @ rewards_of(log))
    np.testing.assert_allclose(sums(policy)[1], expected, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("center", ["none", "mean"])
def test_the_flagship_estimates_as_if_it_had_learned_from_the_new_vectors(center):
    turn = 3.0 * rotation()
    pairs, log, probe = items(300), items(60, seed=3), items(10, seed=4) @ turn + 2.0 * (center == "mean")
    shift = 2.0 * (center == "mean")
    policy, again = (eb.EigenUCB(center=center, seed=0) for _ in range(2))
    policy.observe(pairs)
    policy.learn_many(log, rewards_of(log))
    done = policy.translate(pairs, pairs @ turn + shift)
    again.observe(pairs @ turn + shift)
    again.learn_many(log @ turn + shift, rewards_of(log))
    assert done.loss < 1e-6
    assert done.residual < 1e-12
    ours, theirs = (one.choose_list(probe, 10, observe=False) for one in (policy, again))
    for first, second in zip(ours.decisions, theirs.decisions, strict=True):
        assert first.index == second.index
        assert first.estimate == pytest.approx(second.estimate, rel=1e-4, abs=1e-4)
        assert first.upper == pytest.approx(second.upper, rel=1e-4, abs=1e-4)


def test_noise_of_the_new_encoder_is_expected_in_the_sums():
    rng = np.random.default_rng(6)
    turn, noise = rotation(), 0.5
    pairs, log = items(4000), items(4000, seed=3)
    policy = eb.OFUL(noise=0.3)
    policy.learn_many(log, rewards_of(log))
    done = policy.translate(pairs, pairs @ turn + noise * rng.standard_normal(pairs.shape))
    embedded = log @ turn + noise * rng.standard_normal(log.shape)
    gram = embedded.T @ embedded
    # Each entry is a sum of 4,000 terms, and the pairs kept out are 800: some percent of the diagonal either way.
    np.testing.assert_allclose(sums(policy)[0], gram, atol=0.05 * np.diagonal(gram).max())
    again = np.linalg.solve(gram + np.eye(DIM), embedded.T @ rewards_of(log))
    assert np.linalg.norm(sums(policy)[1] - again) < 0.05 * np.linalg.norm(again)
    variance = np.var(items(4000) @ turn + noise * rng.standard_normal(pairs.shape), axis=0).sum()
    assert done.residual == pytest.approx(noise**2 * DIM / (variance + DIM), rel=0.15)  # OFUL centers nothing


def test_estimates_shrink_as_errors_in_variables_ask_for():
    # y = x + e with Var(e) = Var(x): the best slope on y is half of that on x.
    rng = np.random.default_rng(0)
    pairs, log = rng.standard_normal((20_000, 1)), rng.standard_normal((2000, 1))
    policy = eb.OFUL(noise=0.1)
    policy.learn_many(log, log[:, 0])
    policy.translate(pairs, pairs + rng.standard_normal(pairs.shape))
    assert sums(policy)[1][0] == pytest.approx(0.5, abs=0.03)


def test_a_rotation_errs_less_where_pairs_are_few():
    dim, rng = 40, np.random.default_rng(9)
    vectors, turn = rng.standard_normal((100, dim)), rotation(dim=dim)
    turned = 2.0 * vectors @ turn + rng.standard_normal(vectors.shape)
    old, new = (vectors[:80], vectors[80:]), (turned[:80], turned[80:])
    found = fit_map(old, new, centered=True)
    assert found.method == "rotation"
    # The shares of noise in 2x + e: a fifth, and what was learned from 80 pairs adds to it.
    assert 0.15 < found.residual < 0.35
    ridge = fit_map(old, tuple(part[:, :-1] for part in new), centered=True)
    assert ridge.method == "ridge regression"
    assert found.residual < ridge.residual


def test_scores_in_other_units_change_no_choice():
    rng = np.random.default_rng(7)
    sets = rng.standard_normal((80, 6, DIM))
    theta, known = np.cos(np.arange(DIM)), np.sin(np.arange(DIM))
    policy, same = (eb.EigenUCB(seed=0) for _ in range(2))
    for actions in sets:
        for one in (policy, same):
            decision = one.choose(actions, scores=actions @ known)
            one.learn(decision, float(decision.action @ theta))
    pairs = sets.reshape(-1, DIM)
    scores = pairs @ known
    policy.translate(pairs, pairs, old_scores=scores, new_scores=5.0 * scores + 3.0)
    same.translate(pairs, pairs, old_scores=scores, new_scores=scores)
    for actions in rng.standard_normal((20, 6, DIM)):
        first = policy.choose(actions, scores=5.0 * (actions @ known) + 3.0, observe=False)
        second = same.choose(actions, scores=actions @ known, observe=False)
        assert first.index == second.index
        assert first.estimate == pytest.approx(second.estimate)


def test_scores_are_asked_for_on_both_sides_or_refused():
    policy, plain = eb.EigenUCB(seed=0), eb.EigenUCB(seed=0)
    policy.choose(items(5), scores=np.arange(5.0))
    plain.choose(items(5))
    with pytest.raises(ValueError, match="old_scores and new_scores are expected"):
        policy.translate(items(50), items(50), old_scores=np.zeros(50))
    with pytest.raises(ValueError, match="used without scores"):
        plain.translate(items(50), items(50), old_scores=np.zeros(50), new_scores=np.zeros(50))


def test_old_vectors_of_the_same_length_are_refused_and_new_ones_are_not():
    policy = eb.EigenUCB(seed=0)
    pairs, turn = items(500), rotation()
    waiting = policy.choose(pairs[:5])
    assert policy.translate(pairs, pairs @ turn).guarded
    for one in (policy, from_bytes(to_bytes(policy))):
        before = to_bytes(one)
        for offer in (lambda one=one: one.choose(items(20, seed=8)), lambda one=one: one.observe(items(20, seed=8))):
            with pytest.raises(ValueError, match="looks like vectors of the encoder used before translate"):
                offer()
        with pytest.raises(ValueError, match="made before translate"):
            one.learn(waiting, 1.0)
        assert to_bytes(one) == before
        for seed in range(20):
            one.learn(one.choose(items(5, seed) @ turn), 1.0)


def test_encoders_that_are_alike_are_told_apart_by_nobody_and_the_summary_says_so():
    policy = eb.EigenUCB(seed=0)
    policy.choose(items(5))
    done = policy.translate(items(500), items(500))
    assert not done.guarded
    assert "would not be noticed" in " ".join(done.summary)
    policy.choose(items(5))


def test_a_truncated_encoder_refuses_the_old_length_by_itself():
    policy = eb.EigenUCB(seed=0)
    policy.learn_many(items(50), rewards_of(items(50)))
    done = policy.translate(items(500), items(500)[:, :5])
    assert done.guarded
    assert (done.old_dim, done.new_dim, policy.dim) == (8, 5, 5)
    assert 0.01 < done.loss < 0.2  # three of eight numbers are gone: 8 % of the variance of the true values
    with pytest.raises(ValueError, match="length 8"):
        policy.choose(items(5))


def test_replicas_of_different_encoders_do_not_merge():
    first, second = eb.OFUL(noise=0.1), eb.OFUL(noise=0.1)
    for one in (first, second):
        one.learn_many(items(20), rewards_of(items(20)))
    first.translate(items(500), items(500) @ rotation())
    with pytest.raises(ValueError, match="another encoder"):
        first.merge([second])
    second.translate(items(500), items(500) @ rotation())
    first.merge([second])
    assert first.diagnostics().rewards_learned == 40


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        (items(50), items(49), "50 rows and new_vectors 49"),
        (items(9), items(9), "at least 10 items"),
        (items(50, dim=7), items(50), "length 7"),
        (items(50), np.full((50, 3), np.nan), "new_vectors"),
    ],
)
def test_bad_pairs_change_nothing(old, new, message):
    policy = eb.EigenUCB(seed=0)
    policy.learn_many(items(30), rewards_of(items(30)))
    before = to_bytes(policy)
    with pytest.raises(ValueError, match=message):
        policy.translate(old, new)
    assert to_bytes(policy) == before
    with pytest.raises(ValueError, match="nothing to translate"):
        eb.EigenUCB(seed=0).translate(old, new)


def test_a_fading_sample_keeps_the_latest_in_order():
    old, new = Sample(half_life=4.0), Sample(half_life=4.0)
    old.start(1, 4)
    for number in range(6):
        old.add(np.array([float(number)]), float(number))
    new.start(1, 2)
    new.translate(old, RowMap(np.eye(1), np.zeros((1, 1)), 1.0, 0.0, 0.0), np.random.default_rng(0))
    assert new.rewards.tolist() == [4.0, 5.0]
    assert new.weights() == pytest.approx([0.5**0.25, 1.0])
    new.add(np.array([6.0]), 6.0)
    assert new.rewards.tolist() == [6.0, 5.0]


def scored(count=150, dim=30, seed=0):
    """Return a policy that was given scores and has learned, with its estimates of vectors and scores."""
    rng = np.random.default_rng(seed)
    known, theta = np.sin(np.arange(dim)), np.cos(np.arange(dim))
    policy = eb.EigenUCB(seed=0)
    for actions in rng.standard_normal((count, 5, dim)):
        decision = policy.choose(actions, scores=actions @ known)
        policy.learn(decision, float(decision.action @ (known + theta)) + 3.0 * rng.standard_normal())
    return policy, known


def mean_of(policy):
    """Return the mean of a policy's prior."""
    assert isinstance(policy.belief, Spectral)
    assert policy.belief.mean is not None
    return policy.belief.mean


def estimates(policy, vectors, scores):
    return np.array([policy.choose(x[None], False, scores=[s]).estimate for x, s in zip(vectors, scores, strict=True)])


def test_with_scores_estimates_are_the_regression_of_those_before_on_the_new_vectors():
    policy, known = scored()
    rng, dim = np.random.default_rng(1), len(known)
    turn = rotation(dim=dim)
    pairs, probe = rng.standard_normal((4000, dim)), rng.standard_normal((300, dim))
    new, new_probe = (x @ turn + 0.5 * rng.standard_normal(x.shape) for x in (pairs, probe))
    before = estimates(policy, pairs, pairs @ known)
    policy.translate(pairs, new, old_scores=pairs @ known, new_scores=pairs @ known)
    after = estimates(policy, new_probe, probe @ known)
    # Least squares says what the new vectors and scores can tell of the estimates before.
    columns = np.column_stack([new, pairs @ known, np.ones(len(new))])
    model = np.linalg.lstsq(columns, before, rcond=None)[0]
    expected = np.column_stack([new_probe, probe @ known, np.ones(len(probe))]) @ model
    # Not exactly: the score's slope is learned again from the rewards, where scores are relative to their sets.
    assert np.corrcoef(after, expected)[0, 1] > 0.98
    slope = np.polyfit(expected, after, 1)[0]
    assert slope == pytest.approx(1.0, abs=0.2)


def test_the_mean_of_the_prior_is_saved_merged_and_carried_on():
    first, known = scored()
    second, _ = scored(seed=1)
    rng, dim = np.random.default_rng(2), len(known)
    pairs = rng.standard_normal((500, dim))
    scores, turn = pairs @ known, rotation(dim=dim)
    for one in (first, second):
        one.translate(pairs, pairs @ turn, old_scores=scores, new_scores=scores)
    twin, mean = from_bytes(to_bytes(first)), mean_of(first)
    assert np.array_equal(mean_of(twin), mean)
    assert np.array_equal(estimates(twin, pairs[:9], scores[:9]), estimates(first, pairs[:9], scores[:9]))
    # The score's slope and the intercept are learned on their own.
    assert not mean[dim:].any()
    assert mean[:dim].any()
    first.merge([second])
    assert np.array_equal(mean_of(first), mean)
    assert first.diagnostics().rewards_learned == 300
    before = estimates(first, (pairs @ turn)[:200], scores[:200])
    assert first.translate(pairs @ turn, pairs, old_scores=scores, new_scores=scores).loss < 0.02
    assert np.corrcoef(before, estimates(first, pairs[:200], scores[:200]))[0, 1] > 0.99


def test_a_policy_with_a_memory_or_without_scores_keeps_its_prior_around_zero():
    known, pairs = np.sin(np.arange(DIM)), items(200)
    policy, plain = eb.EigenUCB(memory=50.0, seed=0), eb.EigenUCB(seed=0)
    policy.learn_many(pairs, rewards_of(pairs), scores=pairs @ known)
    plain.learn_many(pairs, rewards_of(pairs))
    policy.translate(pairs, pairs @ rotation(), old_scores=pairs @ known, new_scores=pairs @ known)
    plain.translate(pairs, pairs @ rotation())
    for one in (policy, plain):
        assert isinstance(one.belief, Spectral)
        assert one.belief.mean is None


def test_residuals_are_the_sums_of_rewards_less_predictions():
    rng = np.random.default_rng(3)
    rows, rewards, model = rng.standard_normal((40, 3)), rng.standard_normal(40), np.array([1.0, -2.0, 0.5])
    evidence = Evidence()
    evidence.start(3)
    evidence.add_many(rows, rewards)
    moment, squares = evidence.residuals(model)
    left = rewards - rows @ model
    np.testing.assert_allclose(moment, rows.T @ left)
    assert squares == pytest.approx(left @ left)
    assert evidence.residuals(None) == (evidence.moment, evidence.squares)
    fading = Sample(half_life=2.0)
    fading.start(3, 4)
    fading.add_many(rows, rewards)
    found, values, total = fading.residuals(model)
    weights = 0.5 ** (np.arange(4) / 2.0)
    assert total == pytest.approx(weights.sum())
    # The latest four, each times the root of its weight.
    np.testing.assert_allclose(sorted(values), sorted(left[:-5:-1] * np.sqrt(weights)))
    np.testing.assert_allclose(found.T @ values, (rows[:-5:-1] * weights[:, None]).T @ left[:-5:-1])
