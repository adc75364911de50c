"""The rules that estimate a rank and a projection error, on data whose truth is known."""

import numpy as np
import pyarrow as pa
import pytest

from eigenbandits.environments import LowRank
from eigenbandits.lab.experiments.results import Results
from eigenbandits.lab.experiments.run import run
from eigenbandits.lab.studies import estimates
from eigenbandits.lab.studies.estimates import EDGE, GAP, HALVES, PARALLEL, SPECTRAL, THRESHOLD, EstimateMonitor


def spiked(rng, vectors, dim, spikes):
    """Return noise of variance 1 with the first few directions multiplied."""
    scales = np.ones(dim)
    scales[: len(spikes)] = spikes
    return rng.standard_normal((vectors, dim)) * scales


@pytest.mark.parametrize("vectors", [40, 2_000])
def test_clear_spikes_are_counted_by_every_rule(vectors):
    rng = np.random.default_rng(0)
    data = spiked(rng, vectors, 60, [30.0, 25.0, 20.0])
    spectrum = np.maximum(np.linalg.eigvalsh(data.T @ data / vectors)[::-1], 0.0)
    assert estimates.largest_gap(np.array([9.0, 8.5, 8.0, 1.0, 0.5])) == 3
    assert estimates.optimal_threshold(spectrum, vectors) == 3
    assert estimates.parallel_analysis(data @ rotation(rng, 60), spectrum, rng) == 3


def rotation(rng, dim):
    """Shuffling columns hides nothing of a structure that lies along the axes; turned, it does."""
    return np.linalg.qr(rng.standard_normal((dim, dim)))[0]


def test_pure_noise_has_no_direction_that_stands_out():
    rng = np.random.default_rng(0)
    data = rng.standard_normal((3_000, 40))
    spectrum = np.maximum(np.linalg.eigvalsh(data.T @ data / len(data))[::-1], 0.0)
    assert estimates.optimal_threshold(spectrum, 3_000) == 1
    assert estimates.parallel_analysis(data, spectrum, rng) <= 3


def test_the_threshold_for_a_square_matrix_is_the_published_one():
    """ω(1) = 2.86: Gavish and Donoho 2014, section 1, to the accuracy of their cubic."""
    for value, wanted in ((2.84, 1), (2.88, 2)):
        spectrum = np.array([9.0, value, 1.0, 1.0, 1.0, 1.0]) ** 2
        assert estimates.optimal_threshold(spectrum, 6) == wanted


def test_a_run_compares_with_the_truth_at_each_moment():
    monitor = EstimateMonitor(rank=2, moments=(20, 60), seed=0)
    trace = run(monitor, LowRank(12, 2, 10, perturbation=0.1), 60, 0, diagnose_at=(20, 21, 60))
    first, last = trace.diagnostics[20], trace.diagnostics[60]
    assert trace.diagnostics[21] == {}
    for found in (first, last):
        assert all(found[f"rank:{rule}"] == 2 for rule in (EDGE, GAP, PARALLEL))
        assert found["truth"] < found[f"error:{SPECTRAL}"] < 4.0 * found["truth"]
    assert 0.0 < last["truth"] < first["truth"] < 0.2
    assert 0.25 < last["nearest"] < 1.0


def test_the_experiment_records_every_moment(tmp_path):
    made = estimates.experiment(seeds=1, first_seed=3)
    made.environments = {name: made.environments[name] for name in ("large common mean", "walk, 0.9, 9×")}
    results = made.run(tmp_path, progress="none")
    assert results.curve("truth", "estimates", "walk, 0.9, 9×").rounds.tolist() == [1, 10, 100, 1000]
    lines = estimates.rank_table(results).splitlines()
    # The mean is taken off, so that it is not counted as a direction.
    assert lines[-2].split()[-2:] == ["/", "4"]
    assert "nan" not in estimates.error_table(results)


def test_the_tables_hold_medians_and_shares_worked_out_by_hand():
    def rows(seed, rank):
        shared = {"experiment": "x", "policy": "estimates", "environment": "m=4 9×", "seed": seed, "nearest": rank / 4}
        ranks = {EDGE: [1, rank, 4], GAP: [1, 1, 1], THRESHOLD: [2, 2, 2], PARALLEL: [3, 3, 3]}
        errors = {SPECTRAL: [1.0, 0.4, 0.2], HALVES: [0.25, 0.1, 0.2]}
        return [
            shared
            | {"round": moment, "truth": [0.5, 0.2, 0.1][i]}
            | {f"rank:{rule}": float(found[i]) for rule, found in ranks.items()}
            | {f"error:{name}": found[i] for name, found in errors.items()}
            for i, moment in enumerate((10, 100, 1000))
        ]

    found = pa.Table.from_pylist([*rows(0, 3), *rows(1, 5)])
    about = {"settings": {"name": "x", "environments": {"m=4 9×": {"rank": 4}}}}
    results = Results(None, found, found.select(["seed"]), about)  # type: ignore[arg-type]
    wanted = "m=4 9× 4 1 / 4 / 4 1 / 1 / 1 2 / 2 / 2 3 / 3 / 3"
    assert estimates.rank_table(results).splitlines()[-1].split() == wanted.split()
    wanted = "m=4 9× 0.50 / 0.20 / 0.10 2.00 / 2.00 / 2.00 0 % 0.50 / 0.50 / 2.00 67 % 50 %"
    assert estimates.error_table(results).splitlines()[-1].split() == wanted.split()
