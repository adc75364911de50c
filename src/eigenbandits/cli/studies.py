"""The studies that the documentation reports, a command for each: they run an experiment and print its tables."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal

import typer

from eigenbandits.cli import options
from eigenbandits.cli.runner import LowRankOptions, Runner, runs_experiments, write_table, wrote
from eigenbandits.environments import LowRank
from eigenbandits.extras import need
from eigenbandits.lab.errors import LabError
from eigenbandits.lab.experiments import Experiment, Results

QUICK_SEEDS = 3


def _print(sections: Mapping[str, str]) -> None:
    """Print tables, each below its title."""
    typer.echo("\n\n".join(f"{title}\n\n{part}" for title, part in sections.items()))


@runs_experiments
def problems(
    run: Runner,
    data: options.Data = None,
    problems: options.AvailableNames = None,
    policies: options.Names = None,
    rounds: options.Rounds = 3000,
    seeds: options.Seeds = 5,
    first_seed: options.FirstSeed = 1000,
    out: options.Out = Path("results/problems"),
) -> None:
    """Run the policies of this library and of others on real decision problems: regret, ratios to the best, a figure.

    Stop it at any time, and the same command continues. Writes problems.md, problems.csv, standings.csv and ratios.png
    next to the results. If the folder of the data holds no problem, those that scikit-learn ships are used; for more:
    eigenbandits data fetch problems.
    """
    need("digits", "sklearn", what="This study")
    from eigenbandits.lab.studies.problems import catalogue, study
    from eigenbandits.lab.studies.problems.policies import available_policies
    from eigenbandits.lab.studies.problems.table import RegretTable

    with options.failures(LabError):
        found = catalogue.available_problems(data, options.names(problems))
        candidates, absent = available_policies(options.names(policies))
    skipped = study.by_reason(found.skipped | absent)
    for names, reason in skipped.items():
        typer.echo(f"Skipped {names}: {reason}", err=True)
    results = run(study.experiment(candidates, found.environments, seeds, rounds, first_seed), out)
    table = RegretTable.of(results, candidates, rounds)
    typer.echo(table.text())
    wrote(study.write(table, out, candidates, skipped))


@runs_experiments
def robustness(
    run: Runner,
    rows: Annotated[
        Literal["structure", "clicks"],
        typer.Option(help="Problems with, partly with and without low rank, or rare clicks."),
    ] = "structure",
    quick: Annotated[
        bool, typer.Option("--quick", help=f"Skip d = 500, and run {QUICK_SEEDS} seeds unless --seeds is given.")
    ] = False,
    seeds: Annotated[
        int | None, typer.Option(help="Number of runs, each with its own seed.", show_default="10", min=1)
    ] = None,
    first_seed: options.FirstSeed = 1000,
    rounds: Annotated[
        int | None, typer.Option(help="Number of rounds in each run.", show_default="1500; for clicks 8000", min=1)
    ] = None,
    out: Annotated[
        Path | None, typer.Option(help="Folder of the results.", show_default="results/robustness, or clicks")
    ] = None,
) -> None:
    """Run EigenUCB and its rivals on friendly and adversarial problems: tables, criteria, and the curves.

    Stop it at any time, and the same command continues. Writes robustness.md and curves.png next to the results; for
    clicks, clicks.md with the share of the gap between random and best choices that each policy earned.
    """
    need("digits", "sklearn", what="This study")
    from eigenbandits.lab.studies.robustness import cases, clicks, study

    count = seeds or (QUICK_SEEDS if quick else 10)
    if rows == "clicks":
        results = run(clicks.experiment(count, rounds or clicks.ROUNDS, first_seed), out)
        _print(clicks.sections(results))
        wrote(clicks.write(results))
    else:
        chosen = cases.cases(quick)
        results = run(study.experiment(chosen, count, rounds or study.ROUNDS, first_seed), out)
        _print(study.sections(results, chosen))
        wrote(study.write(results, chosen))


@runs_experiments
def drift(
    run: Runner,
    seeds: options.Seeds = 5,
    first_seed: options.FirstSeed = 1000,
    rounds: options.Rounds = 4000,
    out: options.Out = Path("results/drift"),
) -> None:
    """Run EigenUCB with several half-lives where labels are permuted, tastes reverse or rotate, or nothing changes.

    Stop it at any time, and the same command continues.
    """
    need("digits", "sklearn", what="This study")
    from eigenbandits.lab.studies import drift

    _print(drift.sections(run(drift.experiment(seeds, rounds, first_seed), out)))


@runs_experiments
def lists(
    run: Runner,
    data: options.Data = None,
    rounds: options.Rounds = 1000,
    seeds: options.Seeds = 10,
    first_seed: options.FirstSeed = 1000,
    out: options.Out = Path("results/lists"),
) -> None:
    """Recommend ten of a hundred films to MovieLens users: films liked per list, with the same visits for everyone.

    Stop it at any time, and the same command continues. Writes lists.csv next to the results. To get the data:
    eigenbandits data fetch movielens.
    """
    from eigenbandits.lab.studies.candidates import available
    from eigenbandits.lab.studies.lists import study

    with options.failures(LabError):
        file = study.find_file(data)
    candidates, skipped = available(study.CANDIDATES)
    for label, reason in skipped.items():
        typer.echo(f"Skipped {label}: {reason}", err=True)
    rows = study.table(run(study.experiment(file, candidates, seeds, rounds, first_seed), out))
    typer.echo(f"{rounds:,} lists of ten films for each of {seeds} seeds from {first_seed}\n\n{study.text(rows)}\n")
    typer.echo("\n".join(f"{label}: {one.description}" for label, one in candidates.items()))
    write_table(out / "lists.csv", [vars(row) for row in rows])


@dataclass(frozen=True)
class Texts:
    """The options of studies of labeled texts."""

    data: options.Data = None
    problems: options.AvailableNames = None
    dim: Annotated[int, typer.Option(help="Numbers of each action, made of a text and a label.", min=1)] = 512
    rounds: options.Rounds = 3000
    seeds: options.Seeds = 5
    first_seed: options.FirstSeed = 1000

    def play(self, run: Runner, study: Callable[..., Experiment], out: Path) -> Results:
        """Run a study of these texts, and print its size."""
        from eigenbandits.lab.studies.scorer import available_texts

        with options.failures(LabError):
            environments = available_texts(self.data, options.names(self.problems), self.dim)
        with options.refusals():
            experiment = study(environments, self.rounds, self.seeds, self.first_seed)
        results = run(experiment, out)
        typer.echo(f"{self.seeds} seeds of {self.rounds:,} rounds, d = {self.dim}\n")
        return results


@runs_experiments
def scorer(run: Runner, texts: Texts, out: options.Out = Path("results/scorer")) -> None:
    """Label texts with a policy that starts from the cosine of text and label, and compare it with that cosine.

    Prints the lead over the cosine in windows of rounds, and on texts that were never asked. Reads files txt_NAME.npz
    in the folder problems of the data.
    """
    from eigenbandits.lab.studies import scorer

    typer.echo(scorer.report(scorer.compare(texts.play(run, scorer.experiment, out))))


@runs_experiments
def translate(run: Runner, texts: Texts, out: options.Out = Path("results/translate")) -> None:
    """Label texts as `scorer` does, replace the encoder at the end, and count right answers on texts never asked.

    Reads files txt_NAME.npz in the folder problems of the data.
    """
    from eigenbandits.lab.studies import translate

    typer.echo(translate.report(texts.play(run, translate.experiment, out)))


@runs_experiments
def guarded(
    run: Runner,
    dim: options.Dim = 20,
    rank: options.Rank = 4,
    arms: options.Arms = 10,
    perturbation: options.Perturbation = 1.0,
    noise: options.Noise = 0.3,
    alpha: Annotated[float, typer.Option(help="α, the share of the baseline's reward that may be put at risk.")] = 0.1,
    delta: Annotated[float, typer.Option(help="δ, the probability with which the promise may be broken.")] = 0.01,
    rounds: options.Rounds = 2000,
    seeds: options.Seeds = 200,
    first_seed: options.FirstSeed = 1000,
    out: options.Out = Path("results/guarded"),
) -> None:
    """Run a guarded policy from fair and adversarial starts, and count the promises that it breaks."""
    from eigenbandits.lab.studies import guarded

    with options.refusals():
        environment = LowRank(dim, rank, arms, perturbation=perturbation, noise=noise)
        experiment = guarded.experiment(environment, rounds, seeds, alpha, delta, first_seed)
    rows = guarded.summarize(run(experiment, out), delta)
    typer.echo(
        f"{environment.name}, α = {alpha:g}, δ = {delta:g}, {seeds} runs of {rounds:,} rounds for each start\n\n"
        f"{guarded.report(rows)}"
    )


@runs_experiments
def belief_age(
    run: Runner,
    rate: Annotated[int, typer.Option(help="Decisions per second.", min=1)] = 100,
    age: Annotated[list[float] | None, typer.Option(help="Seconds between two publications.", min=0.0)] = None,
    seeds: options.Seeds = 5,
    first_seed: options.FirstSeed = 1000,
    rounds: options.Rounds = 6000,
    out: options.Out = Path("results/belief-age"),
) -> None:
    """Run EigenUCB and EigenTS with a belief that is published every 0 (the newest), 1 and 10 seconds.

    Stop it at any time, and the same command continues.
    """
    from eigenbandits.lab.studies import belief_age

    results = run(belief_age.experiment(rate, age or [0.0, 1.0, 10.0], seeds, rounds, first_seed), out)
    typer.echo(f"Regret after {rounds:,} rounds at {rate} per second, mean over {seeds} seeds ± standard error\n")
    typer.echo(belief_age.table(results))


@runs_experiments
def coverage(
    run: Runner,
    model: LowRankOptions,
    rounds: options.Rounds = 1000,
    seeds: options.Seeds = 200,
    delta: Annotated[float, typer.Option(help="δ, the probability of failure that each bound allows.")] = 0.05,
    vectors: options.Vectors = "sphere",
    certified: Annotated[
        bool,
        typer.Option("--certified", help="Measure the certified set, also where decision sets follow the rewards."),
    ] = False,
    out: Annotated[
        Path | None, typer.Option(help="Folder of the results.", show_default="results/coverage, or coverage-certified")
    ] = None,
) -> None:
    """Count the runs in which θ* or the subspace ever leaves a confidence set, and measure how loose the sets are."""
    from eigenbandits.lab.studies import certified as certified_study
    from eigenbandits.lab.studies import coverage

    environment = model.environment(vectors=vectors)
    rows: list[dict[str, Any]]
    with options.refusals():
        study = certified_study if certified else coverage
        experiment = study.experiment(environment, rounds, seeds, delta)
    results = run(experiment, out)
    typer.echo(f"{environment.name}, {seeds} runs of {rounds:,} rounds, δ = {delta:g}", nl=False)
    if certified:
        rows = certified_study.summarize(results, delta)
        typer.echo(f", for each kind of decision sets\n\n{certified_study.report(rows)}")
    else:
        rows = coverage.summarize(results, delta)
        typer.echo(f"\n\n{coverage.report(environment, delta, results, rows)}")
    write_table(results.folder / f"{experiment.name}.csv", rows)


@runs_experiments
def estimates(
    run: Runner,
    seeds: options.Seeds = 20,
    first_seed: options.FirstSeed = 0,
    out: options.Out = Path("results/estimates"),
) -> None:
    """Compare rules that estimate the rank, and two estimates of the projection error, with the truth."""
    from eigenbandits.lab.studies import estimates

    results = run(estimates.experiment(seeds, first_seed), out)
    rounds = " / ".join(f"{moment:,}" for moment in estimates.MOMENTS)
    setting = f"after {rounds} rounds of {estimates.ARMS} vectors with d = {estimates.DIM}, medians of {seeds} seeds"
    typer.echo(f"Rank, {setting}\n\n{estimates.rank_table(results)}\n")
    typer.echo(
        f"Projection error ‖P̂ − P‖₂ with the true rank, {setting}; shares are of all moments and seeds, in the last "
        f"column of the runs in any round of which the truth exceeded the spectral estimate\n\n"
        f"{estimates.error_table(results)}"
    )


def calibrate(
    constant: Annotated[str, typer.Argument(help="Its name; without one, their names.", show_default="list")] = "",
    values: Annotated[list[float] | None, typer.Option("--value", help="A value to try; may be repeated.")] = None,
    seeds: options.Seeds = 3,
    first_seed: options.FirstSeed = 0,
) -> None:
    """Try other values of a calibrated constant, and print the effect of each.

    Seeds below 100 are for choosing; what the documentation reports comes from seeds of 1000 and up.
    """
    need("lab", "pyarrow", what="This study")
    need("digits", "sklearn", what="This study")
    from eigenbandits.lab.studies import calibrate

    if not constant:
        for name, known in calibrate.CONSTANTS.items():
            what = (known.measure.__doc__ or "").splitlines()[0].removeprefix("Return ")
            typer.echo(f"{name:12} {known.current:<5g} {what}")
        return
    with options.failures(LabError):
        typer.echo(calibrate.table(constant, values or [], range(first_seed, first_seed + seeds)))
