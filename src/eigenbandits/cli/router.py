"""`eigenbandits router`: run the gateway for language models, or measure the router against ParetoBandit."""

from pathlib import Path
from typing import Annotated

import typer

from eigenbandits.cli import options
from eigenbandits.cli.runner import Runner, runs_experiments
from eigenbandits.extras import need
from eigenbandits.lab.errors import LabError

commands = options.group("A router for language models: a gateway, and how good it is.")


@commands.command("serve")
def serve(
    config: Annotated[Path, typer.Option(help="TOML file of settings; docs/howto/router.md shows one.")],
    check: Annotated[bool, typer.Option("--check", help="Check the settings, and exit.")] = False,
) -> None:
    """Run a gateway for the OpenAI chat API that picks models. It learns from feedback which one suits a request."""
    need("router", "httpx", "starlette", "uvicorn", what="The gateway")
    import uvicorn

    from eigenbandits.router.gateway import Config, application

    with options.refusals():
        settings = Config.read(config)
        host, port = settings.host, settings.port
    if check:
        typer.echo(f"The settings are valid; models: {len(settings.models)}, on {host}:{port}.")
        return
    with options.failures(ValueError, ImportError):
        made = application(settings)
    typer.echo(f"listening on http://{host}:{port}")
    uvicorn.run(made, host=host, port=port, log_level="warning")


@commands.command("study")
@runs_experiments
def study(
    run: Runner,
    data: options.Data = None,
    vectors: Annotated[
        Path | None, typer.Option(help="An .npz file with the vectors of each split; they are made by default.")
    ] = None,
    scenarios: Annotated[
        list[str] | None,
        typer.Option(help="pacing, budgets, price, degraded, arrival, bad-arrival, pairs or times; all by default."),
    ] = None,
    peer: Annotated[bool, typer.Option("--peer", help="Run ParetoBandit too; it must be installed.")] = False,
    seeds: options.Seeds = 20,
    first_seed: Annotated[
        int | None, typer.Option(help="The first seed; by default ParetoBandit's own.", min=0)
    ] = None,
    out: options.Out = Path("results/router"),
) -> None:
    """Measure the router against ParetoBandit. Judged and priced answers are read from `router/` in the data folder."""
    from eigenbandits.lab.folders import data_folder
    from eigenbandits.lab.studies import router

    known = [*router.SCENARIOS, "times"]
    wanted = options.names(scenarios) or known
    for name in wanted:
        if name not in known:
            raise typer.BadParameter(f"scenarios has {name!r}; expected some of {', '.join(known)}.")
    with options.failures(LabError):
        file = router.prepare(data_folder(data), out / "answers.npz", vectors)
        arrays = router.read(str(file.absolute()))
        for name in wanted:
            if name == "times":
                typer.echo(router.timing(arrays, peer))
                continue
            if name == "pairs" and "pairs_vectors" not in arrays:
                typer.echo("pairs: skipped, as problems/route_routellm.npz is not in the folder of the data.\n")
                continue
            results = run(router.experiment(file, name, seeds, peer, first_seed), out / name)
            typer.echo(router.report(name, results, arrays) + "\n")


@commands.command("calibrate")
def calibrate(
    constant: Annotated[str, typer.Argument(help="Its name; without one, their names.", show_default="list")] = "",
    data: options.Data = None,
    vectors: Annotated[Path | None, typer.Option(help="As for `study`.")] = None,
    seeds: options.Seeds = 3,
    first_seed: options.FirstSeed = 0,
    out: options.Out = Path("results/router"),
) -> None:
    """Try other values of one of the router's constants. Uses the requests of `study`, and prints the effects."""
    from eigenbandits.lab.folders import data_folder
    from eigenbandits.lab.studies import router

    if not constant:
        typer.echo("\n".join(router.calibration.CONSTANTS))
        return
    with options.failures(LabError):
        file = router.prepare(data_folder(data), out / "answers.npz", vectors)
        typer.echo(router.calibration.table(file, constant, range(first_seed, first_seed + seeds)))
