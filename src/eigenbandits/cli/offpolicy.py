"""`eigenbandits offpolicy`: how often off-policy intervals hold, and what randomized optimism costs."""

from pathlib import Path
from typing import Annotated

import typer

from eigenbandits.cli import options
from eigenbandits.cli.runner import Runner, runs_experiments, write_table
from eigenbandits.lab.errors import LabError
from eigenbandits.rules import RandomizedOptimism

commands = options.group("Off-policy evaluation: how often its intervals hold, and what randomized optimism costs.")


@commands.command("coverage")
@runs_experiments
def coverage(
    run: Runner,
    policies: options.Names = None,
    arms: Annotated[
        list[int] | None,
        typer.Option(
            help="K, the number of vectors to choose from; repeat the option for several.",
            show_default="5, 100 and 500",
            min=1,
        ),
    ] = None,
    rounds: options.Rounds = 1000,
    seeds: options.Seeds = 300,
    first_seed: options.FirstSeed = 1000,
    floor: Annotated[float, typer.Option(help="ε, the floor of every policy.")] = 0.1,
    out: options.Out = Path("results/offpolicy-coverage"),
) -> None:
    """Count how often 95 % intervals from logs contain the truth. Every randomized policy writes logs while it learns.

    Two targets are evaluated from each log, by inverse propensity and doubly robust: a uniform one, which is worth
    exactly 1, and one that prefers the better actions.
    """
    from eigenbandits.lab.studies import offpolicy

    with options.refusals():
        names = options.names(policies) or list(offpolicy.LOGGERS)
        experiment = offpolicy.experiment(names, arms or offpolicy.ARMS, rounds, seeds, floor, first_seed)
    rows = offpolicy.summarize(run(experiment, out))
    typer.echo(f"{seeds} logs of {rounds:,} decisions for each line, floor ε = {floor:g}, seeds from {first_seed}\n")
    typer.echo(offpolicy.report(rows))
    write_table(out / "offpolicy-coverage.csv", rows)


@commands.command("regret")
@runs_experiments
def regret(
    run: Runner,
    policies: options.Names = None,
    problems: Annotated[
        list[str] | None,
        typer.Option(help="Real problems besides the paper's model; see `problems`.", show_default="none"),
    ] = None,
    data: options.Data = None,
    gamma: Annotated[
        list[float] | None,
        typer.Option(
            help="γ, how strongly chance favors the most promising action; repeat the option for several.",
            show_default="the rule's own",
        ),
    ] = None,
    rounds: options.Rounds = 2000,
    seeds: options.Seeds = 50,
    first_seed: options.FirstSeed = 1000,
    out: options.Out = Path("results/offpolicy-regret"),
) -> None:
    """Measure the regret that randomized choices cost. Optimistic policies run with rule="randomized" and without."""
    from eigenbandits.lab.studies import randomized

    environments = {"paper": randomized.PAPER}
    wanted = options.names(problems)
    if wanted:
        from eigenbandits.lab.studies.problems import catalogue

        with options.failures(LabError):
            environments |= catalogue.available_problems(data, wanted).environments
    with options.refusals():
        names = options.names(policies) or list(randomized.POLICIES)
        gammas = gamma or [RandomizedOptimism().gamma]
        experiment = randomized.experiment(environments, names, gammas, rounds, seeds, first_seed)
    rows = randomized.summarize(run(experiment, out))
    typer.echo(f"Regret after {rounds:,} rounds, mean of {seeds} seeds from {first_seed}\n\n{randomized.report(rows)}")
    write_table(out / "offpolicy-regret.csv", rows)
