"""Experiments: the demo, the comparison of all policies, and experiments and reports of one's own."""

from inspect import signature
from pathlib import Path
from typing import Annotated, Any

import typer

from eigenbandits.algorithms import PSLB
from eigenbandits.cli import options
from eigenbandits.cli.runner import LowRankOptions, Runner, runs_experiments, wrote
from eigenbandits.extras import MissingExtraError
from eigenbandits.lab.errors import LabError
from eigenbandits.lab.experiments import Experiment, Results
from eigenbandits.lab.reporting.statistics import Bands, PairedTest
from eigenbandits.lab.reporting.tables import aligned, mean_with_error
from eigenbandits.lab.studies import demo as demo_study


@runs_experiments
def demo(
    run: Runner,
    rounds: options.Rounds = demo_study.ROUNDS,
    seeds: options.Seeds = demo_study.SEEDS,
    out: options.Out = Path("demo"),
) -> None:
    """Run EigenUCB, PSLB, OFUL, LinUCB and LinTS on handwritten digits and on the paper's model: tables, a figure."""
    from eigenbandits.lab.reporting.figures import write_regret
    from eigenbandits.lab.reporting.tables import write_csv
    from eigenbandits.lab.studies.compare import regret_table, rows

    images = True
    try:
        demo_study.IMAGES.instance(0)
    except MissingExtraError as error:
        images = False
        typer.echo(f"Skipping real images. {error}\n")
    results = run(demo_study.experiment(rounds, seeds, images=images), out)
    written: list[dict[str, Any]] = []
    for problem in results.environments:
        found = rows(results, problem)
        written += [{"problem": problem} | row for row in found]
        digits = problem == "digits"
        setting = (demo_study.images_setting if digits else demo_study.setting)(rounds, seeds)
        meaning = (demo_study.images_meaning if digits else demo_study.meaning)(found)
        typer.echo(f"\n{setting}\n\n{regret_table(found, band=False)}\n\n{meaning}")
    typer.echo(f"\n{demo_study.COLUMNS}")
    write_csv(out / "regret.csv", written)
    wrote([write_regret(results, out, demo_study.TITLES), out / "regret.csv"])


@runs_experiments
def compare(
    run: Runner,
    model: LowRankOptions,
    rounds: options.Rounds = 2000,
    seeds: options.Seeds = 20,
    first_seed: options.FirstSeed = 1000,
    only: Annotated[list[str] | None, typer.Option(help="Run this policy only; may be repeated.")] = None,
    out: options.Out = Path("results/compare"),
) -> None:
    """Compare EigenUCB, and PSLB in its forms, with every baseline: a table, and a regret figure."""
    from eigenbandits.lab.reporting.figures import write_regret
    from eigenbandits.lab.reporting.tables import write_csv
    from eigenbandits.lab.studies import compare
    from eigenbandits.lab.studies.coverage import warm_up

    environment = model.environment()
    with options.refusals():
        experiment = compare.experiment(environment, rounds, seeds, only or (), first_seed)
    typer.echo(f"{environment.name}, noise {model.noise:g}, {rounds:,} rounds, {seeds} seeds\n")
    results = run(experiment, out)
    rows = compare.rows(results, "model")
    delta = signature(PSLB).parameters["delta"].default
    typer.echo(
        f"\n{compare.regret_table(rows)}\n\n"
        "EigenUCB and EigenTS: nothing set. PSLB: the true noise; rank known: the true m as well; sharp radius, "
        "ε estimated.\n"
        "OFUL: with its log-determinant radius and λ = 1; tuned: λ = R²d/S², S one over the size of the vectors.\n"
        "paper: ε, β and Ω as in the paper, whose ε is 1 for the first "
        f"t_w = {warm_up(environment, delta):,.0f} rounds.\n"
        "regret: mean over seeds, ± its standard error, and its 95 % bootstrap band.\n"
        "share of best: expected reward earned out of the best possible.\n"
        "passes: the time per round as a multiple of one pass `actions @ theta`, measured in the same run."
    )
    write_csv(out / "regret.csv", rows)
    wrote([write_regret(results, out), out / "regret.csv"])


@runs_experiments
def run(
    run: Runner,
    file: Annotated[Path, typer.Argument(help="The experiment, in TOML.", show_default=False)],
    out: Annotated[
        Path | None, typer.Option(help="Folder of the results.", show_default="results/NAME of the experiment")
    ] = None,
    quiet: Annotated[bool, typer.Option("--quiet", help="Print only errors and warnings.")] = False,
) -> None:
    """Run the missing cells of an experiment; stop it at any time, and the same command continues.

    Writes results.parquet, timing.parquet and experiment.json to the folder of the results.
    """
    with options.failures(LabError):
        experiment = Experiment.read(file)
    results = run(experiment, out, "none" if quiet else "auto")
    if not quiet:
        typer.echo(f"{_summary(results)}\n\nResults in {results.folder}; for a report: ", nl=False)
        typer.echo(f"eigenbandits report {results.folder}")


def _summary(results: Results) -> str:
    """Return the final regret, or reward where regret is not known, of each policy on each environment."""
    final = results.outcomes()
    rows = [
        [f"{e}: {results.outcome(e)}", *(mean_with_error(values, 1) for values in final[:, i])]
        for i, e in enumerate(results.environments)
    ]
    table = aligned(["environment", *results.policies], rows)
    return f"{table}\n\nMeans at the end over {len(results.seeds)} seeds, ± standard error."


def report(
    folder: Annotated[
        Path,
        typer.Argument(metavar="RESULTS", help="The folder of an experiment that has been run.", show_default=False),
    ],
    to: Annotated[Path | None, typer.Option(help="The file to write.", show_default="report.html in RESULTS")] = None,
    figures: Annotated[
        Path | None,
        typer.Option(help="Also write every figure to this folder, as PNG, PDF and SVG.", show_default="none"),
    ] = None,
    bands: Annotated[Bands, typer.Option(help="What the bands in the figures are.")] = "standard error",
    test: Annotated[PairedTest, typer.Option(help="The paired test between policies.")] = "t",
) -> None:
    """Write one HTML page on an experiment: figures, intervals, paired tests, settings, how to run it again."""
    from eigenbandits.lab.reporting.figures import plots
    from eigenbandits.lab.reporting.html import write_report
    from eigenbandits.lab.reporting.renderer import save

    with options.failures(LabError):
        results = Results.open(folder)
        shown = plots(results, bands)
        typer.echo(f"Wrote {write_report(results, to, test=test, figures=shown)}")
        if figures is not None:
            paths = save(shown, figures)
            typer.echo(f"Wrote {len(paths)} figures to {figures}")
