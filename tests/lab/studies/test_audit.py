"""The audit: numbers against closed forms and direct counts, words against what is known of the vectors."""

import dataclasses
import itertools
import math
import pickle

import numpy as np
import pytest
from sklearn.datasets import load_digits

import eigenbandits as eb
from eigenbandits.lab.studies.audit import text
from eigenbandits.lab.studies.audit import vectors as vectors_module
from eigenbandits.lab.studies.audit.simulation import (
    EIGEN,
    OFUL_FITTING,
    OFUL_ONE,
    SIGNAL,
    Loss,
    SimulatedInstance,
    SimulatedRegret,
)
from eigenbandits.lab.studies.audit.spectrum import eigengap, entropy_rank, participation_ratio
from eigenbandits.lab.studies.audit.vectors import Vectors


def low_rank(count, dim=20, rank=2, seed=0, mean=0.0):
    """Vectors whose covariance is I + 8 on the first `rank` coordinates, around `mean` in every coordinate."""
    rng = np.random.default_rng(seed)
    scales = np.ones(dim)
    scales[:rank] = 3.0
    return rng.standard_normal((count, dim)) * scales + mean


def test_the_spectrum_and_what_follows_from_it():
    found = eb.audit(low_rank(20_000), gain=False)
    # The population's eigenvalues are 9, 9, 1 … 1 (18 times): sum 36, sum of squares 180.
    np.testing.assert_allclose(found.spectrum[:2], 9.0, rtol=0.05)
    np.testing.assert_allclose(found.spectrum[2:], 1.0, rtol=0.1)
    assert found.participation == pytest.approx(36.0**2 / 180.0, rel=0.02)
    shares = np.array([9.0, 9.0, *[1.0] * 18]) / 36.0
    assert found.entropy == pytest.approx(math.exp(-(shares * np.log(shares)).sum()), rel=0.02)
    assert found.energy == pytest.approx(0.5, abs=0.01)
    assert (found.rank, found.gap_rank, found.agree, found.structured) == (2, 2, True, True)
    assert found.gap == pytest.approx(9.0, rel=0.1)
    assert (found.vectors, found.dim, found.arms, found.catalogue) == (20_000, 20, 10, True)
    assert found.warnings == ()
    assert "2 eigenvalues stand out" in found.reason
    assert "which agrees" in found.reason


def test_effective_ranks_of_spectra_known_by_hand():
    assert participation_ratio(np.array([3.0, 1.0])) == pytest.approx(1.6)
    assert entropy_rank(np.array([1.0, 1.0, 0.0])) == pytest.approx(2.0)
    # Half the energy in one, half in two quarters: H = ½ log 2 + ½ log 4 = 1.5 log 2.
    assert entropy_rank(np.array([2.0, 1.0, 1.0])) == pytest.approx(2.0**1.5)


@pytest.mark.parametrize(
    ("spectrum", "vectors", "wanted"),
    [
        ([8.0, 1.0, 0.5, 0.4], 100, (1, 8.0)),
        # The fall by 100 lies behind the half that is looked at.
        ([8.0, 4.0, 2.0, 0.02], 100, (1, 2.0)),
        # Four vectors fill at most four directions, of which two are looked at.
        ([8.0, 4.0, 0.4, 0.2, 0.0, 0.0, 0.0, 0.0], 4, (2, 10.0)),
        ([5.0, 4.0, 1e-14, 0.0], 100, (2, math.inf)),
        ([1.0], 100, (1, 1.0)),
    ],
)
def test_the_largest_gap(spectrum, vectors, wanted):
    assert eigengap(np.array(spectrum), vectors) == wanted


def test_a_dominant_mean_is_told_and_centred_away():
    found = eb.audit(low_rank(4_000, mean=2.0), gain=False)
    # ‖μ‖² = 20 · 4 = 80 beside E‖x − μ‖² = 36; it exceeds the largest variance, 9.
    assert found.mean_share == pytest.approx(80.0 / 116.0, abs=0.01)
    assert found.center == "mean"
    assert found.rank == 2
    weak = eb.audit(low_rank(4_000, mean=0.5), gain=False)
    # ‖μ‖² = 5 is below 9: the mean is not the first direction.
    assert weak.center == "none"


def lost(*regrets, error=0.0):
    """A table with these regrets, in one place."""
    names = (EIGEN, OFUL_ONE, OFUL_FITTING)
    losses = tuple(Loss(name, ((regret, error),)) for name, regret in zip(names, regrets, strict=True))
    return SimulatedRegret(("anywhere",), losses, (100.0,))


@pytest.mark.parametrize("regrets", list(itertools.permutations((10.0, 20.0, 30.0))))
@pytest.mark.parametrize("rank", [2, 0])
def test_the_advice_follows_the_table(regrets, rank):
    """Whatever the spectrum shows: the policy that lost least is named, and the lines to start with make it."""
    found = dataclasses.replace(eb.audit(low_rank(2_000, rank=rank), gain=False), comparison=lost(*regrets))
    winner = (EIGEN, OFUL_ONE, OFUL_FITTING)[regrets.index(10.0)]
    assert f"In the simulation {winner} loses least. The next, " in found.verdict
    assert "loses 2.0 times as much." in found.verdict
    made = eval(found.code.splitlines()[0].removeprefix("policy = "), {"eb": eb})
    # λ = 1 and λ = R²d for vectors of norm 1 are these for vectors as they came, around zero and of 20 numbers.
    size = float(np.square(low_rank(2_000, rank=rank)).sum(axis=1).mean())
    if winner == EIGEN:
        assert isinstance(made, eb.EigenUCB)
    else:
        assert isinstance(made, eb.OFUL)
        assert made.ridge == pytest.approx(size * (1.0 if winner == OFUL_ONE else 5.0), rel=0.01)
        assert made.theta_bound == pytest.approx(size**-0.5, rel=0.01)


def test_where_the_table_ties_the_simplest_is_advised():
    assert lost(20.0, 20.0, 20.0).best.policy == EIGEN
    assert lost(20.01, 20.0, 20.0).best.policy == EIGEN  # the same as it is printed
    assert lost(20.2, 20.0, 20.0).best.policy == OFUL_ONE


def test_an_advantage_within_chance_is_said_to_be_one():
    found = eb.audit(low_rank(2_000), gain=False)
    # A difference of 5 and of 7 beside two standard errors of 2 √(2² + 2²) = 5.7.
    for regret, close in ((25.0, True), (27.0, False)):
        words_ = dataclasses.replace(found, comparison=lost(20.0, regret, 90.0, error=2.0)).verdict
        assert (f"{OFUL_ONE} may be as good." in words_) is close


def test_over_several_places_the_mean_decides():
    places = {EIGEN: ((5.0, 3.0), (30.0, 4.0)), OFUL_ONE: ((20.0, 0.0), (20.0, 0.0))}
    table = SimulatedRegret(("here", "there"), tuple(Loss(name, lost) for name, lost in places.items()), (60.0, 80.0))
    assert table.losses[0].overall == (17.5, 2.5)  # √(3² + 4²) / 2
    assert table.best.policy == EIGEN
    headers, rows = text.regret_table(table)
    assert headers[1:] == ["here", "there", "over all"]
    assert rows[0] == [EIGEN, "5.0 ± 3.0", "30.0 ± 4.0", "17.5 ± 2.5"]
    assert rows[-1] == ["random", "60.0", "80.0", "70.0"]


def test_on_digits_the_policy_that_lost_least_is_advised():
    """Principal components of digits once got the worst of the three policies that had just been compared."""
    pixels = load_digits().data
    components = np.linalg.svd(pixels - pixels.mean(axis=0), full_matrices=False)[2][:32]
    found = eb.audit((pixels - pixels.mean(axis=0)) @ components.T, rounds=150, seeds=2)
    assert found.comparison is not None
    # Read from the printed table alone.
    _, rows = text.regret_table(found.comparison)
    least = min(rows[:-1], key=lambda row: float(row[-1].split(" ± ")[0]))
    assert f"In the simulation {least[0]} loses least" in " ".join(str(found).split())
    assert f"policy = eb.{least[0].split(',')[0]}(" in found.code


def test_oful_is_told_to_center_where_eigenucb_does_so_by_itself():
    rows = np.random.default_rng(0).standard_normal((20_000, 30))
    for shift, told in ((1.0, True), (0.0, False)):
        found = dataclasses.replace(eb.audit(rows + shift, gain=False), comparison=lost(3.0, 2.0, 1.0))
        assert (', center="mean")' in found.code) is told
    assert eb.audit(low_rank(4_000, mean=2.0), gain=False).code.startswith("policy = eb.EigenUCB()\n")


def test_zero_vectors_and_duplicates_are_counted():
    rows = low_rank(1_000)
    rows[[3, 5]] = 0.0
    rows[5, 0] = -0.0  # a zero like any other
    rows[700:800] = rows[100:200]
    found = eb.audit(rows, gain=False)
    assert found.zeros == 2
    assert found.duplicates == 100 + 1


def test_the_projection_error_is_estimated_with_distinct_vectors_only():
    once = eb.audit(low_rank(2_000), gain=False)
    copied = eb.audit(np.repeat(low_rank(2_000), 4, axis=0), gain=False)
    for one, four in zip(once.projection, copied.projection, strict=True):
        if one.estimated < 1.0 and four.estimated < 1.0:
            # Four copies of everything leave a quarter of the vectors: the error is twice as large.
            assert four.estimated == pytest.approx(2.0 * one.estimated, rel=1e-6)
    assert sum(point.estimated < 1.0 for point in copied.projection) >= 3


def test_the_measured_error_is_near_the_truth():
    found = eb.audit(low_rank(40_000), gain=False)
    truth = np.eye(20)[:, :2]
    for point in found.projection:
        if point.measured is None:
            assert 2 * point.rounds * 10 > 40_000
            continue
        # The same number of fresh vectors, against the true subspace.
        distances = []
        for seed in range(1, 4):
            rows = low_rank(point.rounds * 10, seed=seed)
            top = np.linalg.svd(rows, full_matrices=False)[2][:2].T
            distances.append(np.linalg.norm(top - truth @ (truth.T @ top), 2))
        assert point.measured == pytest.approx(np.mean(distances), rel=0.5)


def test_decision_sets_are_read_as_such():
    found = eb.audit(low_rank(600).reshape(200, 3, 20), gain=False)
    assert (found.arms, found.catalogue, found.vectors) == (3, False, 600)
    assert "reshape" in found.code


def test_the_scale_of_the_vectors_changes_nothing_but_the_spectrum():
    base = eb.audit(low_rank(1_000), rounds=40, seeds=2)
    for factor in (2.0**60, 2.0**-60):
        scaled = eb.audit(low_rank(1_000) * factor, rounds=40, seeds=2)
        np.testing.assert_allclose(scaled.spectrum, base.spectrum * factor**2, rtol=1e-9)
        for field in ("rank", "participation", "energy", "mean_share", "gap_rank", "warnings"):
            assert getattr(scaled, field) == pytest.approx(getattr(base, field)), field
        assert base.comparison is not None
        assert scaled.comparison is not None
        for one, other in zip(base.comparison.losses, scaled.comparison.losses, strict=True):
            assert one.overall == pytest.approx(other.overall)


def test_few_vectors_are_warned_of():
    found = eb.audit(low_rank(30), gain=False)
    assert any(warning.startswith("30 distinct vectors are few for 20 dimensions") for warning in found.warnings)
    assert "200 or more" in found.warnings[0]


def test_a_disagreement_is_told_and_both_places_are_tried():
    # One direction far above a slope, which in turn is above the bulk.
    rng = np.random.default_rng(0)
    scales = np.concatenate([[30.0], np.linspace(6.0, 3.0, 6), np.ones(33)])
    found = eb.audit(rng.standard_normal((20_000, 40)) * scales, rounds=20, seeds=2)
    assert (found.rank, found.gap_rank, found.agree) == (7, 1, False)
    assert any("the bulk edge says m = 7, the largest gap" in warning for warning in found.warnings)
    assert found.comparison is not None
    assert found.comparison.places == ("in the first 7 of 40 directions", "in the first 1", "anywhere")
    assert "which disagrees" in found.reason


def test_without_a_subspace_theta_is_drawn_anywhere_alone():
    found = eb.audit(np.random.default_rng(0).standard_normal((20_000, 30)), rounds=20, seeds=2)
    assert not found.structured
    assert found.comparison is not None
    assert found.comparison.places == ("anywhere",)
    assert "over all" not in str(found)
    assert "No subspace stands out" in found.verdict


def test_the_simulated_problem_is_what_it_says():
    vectors = Vectors(low_rank(5_000), None, 5_000)
    span = np.eye(20)[:, :2]
    instance = SimulatedInstance(vectors, 10, span, seed=4)
    assert np.abs(instance.theta[2:]).max() == 0.0
    stream = instance.rounds()
    rounds = [next(stream) for _ in range(2_000)]
    values = np.array([offered.values for offered in rounds])
    # Deviations from the set's own mean, as a root mean square: 500 sets fixed it, within some per cent.
    deviations = values - values.mean(axis=1, keepdims=True)
    assert np.sqrt(np.mean(deviations**2)) == pytest.approx(SIGNAL, rel=0.05)
    assert np.mean([offered.best - offered.values.mean() for offered in rounds]) == pytest.approx(
        instance.chance, rel=0.05
    )
    assert np.std([offered.noise for offered in rounds]) == pytest.approx(0.5, rel=0.05)
    assert all(len(np.unique(offered.actions, axis=0)) == 10 for offered in rounds[:50])
    sets = SimulatedInstance(Vectors(low_rank(60), 3, 60), 3, None, seed=4)
    known = {block.tobytes() for block in low_rank(60).reshape(20, 3, 20)}
    assert all(next(sets.rounds()).actions.tobytes() in known for _ in range(5))


def test_where_the_subspace_decides_the_flagship_saves_regret():
    rng = np.random.default_rng(0)
    hidden = np.linalg.qr(rng.standard_normal((60, 2)))[0]
    rows = rng.standard_normal((6_000, 2)) @ hidden.T * 3.0 + rng.standard_normal((6_000, 60))
    found = eb.audit(rows, rounds=200, seeds=4)
    table = found.comparison
    assert table is not None
    eigen, oful = (loss.places[0][0] for loss in table.losses[:2])
    assert eigen < oful < table.chance[0]
    assert "2 directions of 60 hold" in found.verdict
    assert str(found).count("\n") > 20
    assert found.verdict in " ".join(str(found).split())
    assert found.code in str(found)


def test_an_audit_cannot_be_changed():
    found = eb.audit(low_rank(300), gain=False)
    with pytest.raises(dataclasses.FrozenInstanceError):
        found.rank = 3  # type: ignore[misc]


def test_files_hold_what_arrays_hold(tmp_path):
    pa = pytest.importorskip("pyarrow")
    import pyarrow.parquet as pq

    rows = low_rank(240)
    wanted = eb.audit(rows, gain=False)
    sets = eb.audit(rows.reshape(80, 3, 20), gain=False)
    np.save(tmp_path / "rows.npy", rows)
    np.savez(tmp_path / "one.npz", vectors=rows)
    np.savez(tmp_path / "two.npz", vectors=rows, labels=np.arange(240))
    pq.write_table(pa.table({f"x{i}": rows[:, i] for i in range(20)}), tmp_path / "wide.parquet")
    listed = {"id": list(range(240)), "embedding": rows.tolist()}
    pq.write_table(pa.table(listed), tmp_path / "lists.parquet")
    pq.write_table(pa.table({"sets": rows.reshape(80, 3, 20).tolist()}), tmp_path / "sets.parquet")
    np.save(tmp_path / "sets.npy", rows.reshape(80, 3, 20))
    for name in ("rows.npy", "one.npz", "wide.parquet", "lists.parquet"):
        np.testing.assert_allclose(eb.audit(tmp_path / name, gain=False).spectrum, wanted.spectrum, err_msg=name)
    np.testing.assert_allclose(eb.audit(tmp_path / "two.npz", gain=False, name="vectors").spectrum, wanted.spectrum)
    for name in ("sets.parquet", "sets.npy"):
        found = eb.audit(str(tmp_path / name), gain=False)
        assert found.arms == 3
        np.testing.assert_allclose(found.spectrum, sets.spectrum)


class Trap:
    """Unpickling it would leave a file."""

    def __init__(self, path):
        self.path = path

    def __reduce__(self):
        return (open, (str(self.path), "w"))


def write_bad_files(folder):
    pa = pytest.importorskip("pyarrow")
    import pyarrow.parquet as pq

    rows = low_rank(50)
    np.save(folder / "objects.npy", np.array([Trap(folder / "sprung")], dtype=object), allow_pickle=True)
    np.savez(folder / "objects.npz", a=np.array([Trap(folder / "sprung")], dtype=object))
    (folder / "pickle.npy").write_bytes(pickle.dumps(Trap(folder / "sprung")))
    np.save(folder / "whole.npy", rows)
    (folder / "cut.npy").write_bytes((folder / "whole.npy").read_bytes()[:1000])
    np.savez(folder / "two.npz", a=rows, b=rows)
    (folder / "cut.npz").write_bytes((folder / "two.npz").read_bytes()[:1000])
    (folder / "empty.npy").write_bytes(b"")
    (folder / "words.parquet").write_bytes(b"no parquet at all")
    pq.write_table(pa.table({"name": ["a", "b"]}), folder / "text.parquet")
    pq.write_table(pa.table({"v": [[1.0, 2.0], [1.0]]}), folder / "ragged.parquet")
    np.save(folder / "one.npy", np.arange(3.0))
    np.save(folder / "none.npy", np.zeros((0, 3)))
    np.save(folder / "zeros.npy", np.zeros((5, 3)))
    np.save(folder / "same.npy", np.ones((5, 3)))
    np.save(folder / "text.npy", np.array([["a", "b"]]))
    np.save(folder / "nan.npy", np.array([[1.0, np.nan], [0.0, 1.0]]))
    np.save(folder / "complex.npy", rows + 1j)
    (folder / "vectors.csv").write_text("1,2\n")
    (folder / "folder.npy").mkdir()


BAD = {
    "objects.npy": "holds Python objects, which are never unpickled; save plain numbers.",
    "objects.npz": "holds Python objects, which are never unpickled; save plain numbers.",
    "pickle.npy": "is not a .npy file of numbers, or is truncated or damaged.",
    "cut.npy": "is not a .npy file of numbers, or is truncated or damaged.",
    "cut.npz": "is not a .npz file of numbers, or is truncated or damaged.",
    "two.npz": "has 2 arrays (a, b); choose one with --array NAME.",
    "empty.npy": "is not a .npy file of numbers, or is truncated or damaged.",
    "words.parquet": "is not a .parquet file of numbers, or is truncated or damaged.",
    "text.parquet": "has no column of numbers or of lists of numbers.",
    "ragged.parquet": "has vectors of different lengths, or gaps; expected as many numbers in each.",
    "one.npy": "has shape (3,); expected (n, d) vectors or (t, K, d) decision sets.",
    "none.npy": "has shape (0, 3), so it holds no numbers; expected at least one vector.",
    "zeros.npy": "all vectors are zero; expected vectors that differ.",
    "same.npy": "all vectors are the same; expected vectors that differ.",
    "text.npy": "values; expected real numbers in rows of equal length.",
    "nan.npy": "holds nan at (0, 1); expected finite numbers only.",
    "complex.npy": "holds complex128 values; expected real numbers in rows of equal length.",
    "vectors.csv": "ends in '.csv'; expected a file that ends in .npy, .npz, .parquet.",
    "folder.npy": "is a folder; expected a file.",
    "absent.npy": "there is no file",
}


@pytest.mark.parametrize("name", BAD)
def test_a_bad_file_gets_one_sentence_and_nothing_is_unpickled(name, tmp_path):
    write_bad_files(tmp_path)
    with pytest.raises(ValueError, match=r"expected|numbers|choose") as refused:
        eb.audit(tmp_path / name, gain=False)
    assert BAD[name] in str(refused.value)
    assert "\n" not in str(refused.value)
    assert not (tmp_path / "sprung").exists()


def test_names_that_are_not_there_are_refused(tmp_path):
    np.savez(tmp_path / "two.npz", a=low_rank(50), b=low_rank(50))
    np.save(tmp_path / "one.npy", low_rank(50))
    with pytest.raises(ValueError, match="has no array 'c'; it has 'a', 'b'"):
        eb.audit(tmp_path / "two.npz", name="c")
    with pytest.raises(ValueError, match="holds one array without a name; leave out --array a"):
        eb.audit(tmp_path / "one.npy", name="a")


def test_a_large_file_is_sampled_and_the_audit_says_so(tmp_path, monkeypatch):
    monkeypatch.setattr(vectors_module, "MOST_NUMBERS", 20 * 400)
    found = eb.audit(low_rank(1_000), gain=False)
    assert (found.vectors, found.offered) == (400, 1_000)
    assert "a random sample of 400 of 1,000 vectors was examined." in found.warnings
    sets = eb.audit(low_rank(999).reshape(333, 3, 20), gain=False)
    assert sets.vectors == 399  # whole decision sets


@pytest.mark.parametrize(("option", "value"), [("arms", 1), ("rounds", 0), ("seeds", 1), ("arms", 2.5)])
def test_bad_options_are_refused(option, value):
    with pytest.raises(ValueError, match=f"{option} is {value}; expected a whole number"):
        eb.audit(low_rank(50), **{option: value})
