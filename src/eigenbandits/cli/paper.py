"""`eigenbandits paper`: run a paper's experiments again, figure by figure, and judge its claims."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from eigenbandits.cli.run import EngineName, one_sentence
from eigenbandits.extras import need
from eigenbandits.files import write_whole
from eigenbandits.lab.words import LabError, unknown

if TYPE_CHECKING:
    from eigenbandits.lab.results import Results
    from eigenbandits.papers.lale2019 import Block, Plate


class Paper(StrEnum):
    """The papers that there are."""

    lale2019 = "lale2019"


class Scale(StrEnum):
    """How long figures are run."""

    quick = "quick"
    full = "full"


class Layer(StrEnum):
    """How the representation layer ends."""

    linear = "linear"
    relu = "relu"
    product = "product"


def command(
    paper: Annotated[Paper, typer.Argument(help="Which paper: Lale et al. 2019 is the one there is.")],
    figure: Annotated[
        str | None,
        typer.Option(help="A figure by its number, `digits`, `strong`, `sensitivity`, or `all`.", show_default="list"),
    ] = None,
    scale: Annotated[Scale, typer.Option(help="quick: minutes, to see that it works; full: as in the docs.")] = (
        Scale.quick
    ),
    layer: Annotated[
        Layer | None, typer.Option(help="How the representation layer ends.", show_default="linear; with all: each")
    ] = None,
    claims: Annotated[
        bool, typer.Option("--claims", help="Judge the paper's claims by the results there are.")
    ] = False,
    table: Annotated[
        Path | None, typer.Option(help="With --claims: read this results table (CSV).", show_default="that of --out")
    ] = None,
    page: Annotated[
        Path | None,
        typer.Option(help="With --claims: a page whose tables are brought up to date.", show_default="none"),
    ] = None,
    network: Annotated[
        str | None, typer.Option(help="Features of another network, such as resnet18.", show_default="see the docs")
    ] = None,
    cache: Annotated[
        Path | None, typer.Option(help="Folder of cached features.", show_default="EIGENBANDITS_CACHE, or the user's")
    ] = None,
    out: Annotated[Path, typer.Option(help="Folder of the results; what is there is not run again.")] = Path(
        "results/lale2019"
    ),
    engine: Annotated[EngineName, typer.Option(help="Where cells run; see `run`.")] = EngineName.processes,
    workers: Annotated[
        int | None, typer.Option(help="How many processes.", show_default="one per processor", min=1)
    ] = None,
    refresh: Annotated[
        bool, typer.Option("--refresh", help="Run cells again that another state of this library's code has made.")
    ] = False,
) -> None:
    """Run the experiments of a paper again: without options, the list of its figures and how far they are.

    Stop it anywhere, and the same command goes on. Figures are left as PNG in the folder of the results.
    """
    need("lab", "pyarrow", "matplotlib", "threadpoolctl", what="This command")
    options: dict[str, Any] = {"cache": cache, "engine": engine.value, "workers": workers, "refresh": refresh}
    with one_sentence():
        try:
            if claims:
                _claims(out, scale.value, table, page)
            elif figure is None:
                typer.echo(_listing(out, scale.value, cache))
            else:
                _figure(figure, scale.value, layer, network or "", out, options)
        except KeyboardInterrupt:
            typer.echo("Stopped. Finished cells are kept; the same command goes on where this one was.", err=True)
            raise typer.Exit(130) from None


def _figure(name: str, scale: str, layer: Layer | None, network: str, out: Path, options: dict[str, Any]) -> None:
    from eigenbandits.papers import lale2019

    known = lale2019.plates()
    if name == "sensitivity":
        _sensitivity(scale, out, options)
    elif name in ("strong", "all"):
        _everything(scale, layer, out, options, draw_all=name == "all")
    elif name in known:
        plate = known[name]
        _draw(plate, plate.chosen(layer and layer.value, network), scale, out, options)
    else:
        raise unknown("figure", name, [*known, "strong", "sensitivity", "all"])


def _draw(plate: Plate, blocks: list[Block], scale: str, out: Path, options: dict[str, Any]) -> None:
    from eigenbandits.papers.lale2019 import Study, summary

    results: dict[Block, dict[str, Results]] = {}
    refusals = []
    for block in blocks:
        try:
            results[block] = {group: Study(block, group, scale).run(out, **options) for group in plate.groups}
        except LabError as error:
            refusals.append(str(error))
            continue
        lines = [line for group, found in results[block].items() for line in summary.lines_of(found, block, group)]
        typer.echo(f"\n{block.title}: {lines[0].rounds:,} rounds, {lines[0].seeds} seeds; network: {block.network}\n")
        typer.echo(summary.as_text(lines))
    if not results:
        raise LabError(refusals[0])
    for refusal in refusals:
        typer.echo(f"\nLeft out: {refusal}", err=True)
    typer.echo(f"\nLeft behind: {_save(plate, blocks, results, scale, out)}")


def _save(plate: Plate, blocks: list[Block], results: dict[Block, dict[str, Results]], scale: str, out: Path) -> Path:
    from eigenbandits.papers.lale2019 import panels

    layer = next((block.layer for block in blocks if block.layer != "linear"), "linear")
    kind = "-".join(filter(None, (plate.name, layer, blocks[0].other, scale)))
    path = out / f"figure-{kind}.png"
    write_whole(path, panels.small_png(panels.draw(plate, blocks, results)))
    return path


def _everything(scale: str, layer: Layer | None, out: Path, options: dict[str, Any], draw_all: bool) -> None:
    """Run all groups on all blocks whose features are there, what matters most first, and draw what comes of it."""
    from eigenbandits.papers.lale2019 import Study, account, all_blocks, panels, plates, study, summary

    blocks, refusals = [], []
    for block in all_blocks():
        if layer is None or block.layer == layer.value:
            try:
                study.environment(block, options["cache"])
                blocks.append(block)
            except LabError as error:
                refusals.append(str(error))
    for one in study.studies(scale):
        if one.block in blocks:
            typer.echo(f"{one.block.title}: {one.group}")
            one.run(out, **options)
    for refusal in refusals:
        typer.echo(f"Left out: {refusal}", err=True)
    table = summary.Table.collect(out, scale)
    path = out / f"figure-strong-{scale}.png"
    write_whole(path, panels.small_png(panels.strong(table, blocks, account.STRONG)))
    typer.echo(f"\n{account.as_text(account.mistakes(table))}\n\nLeft behind: {path}")
    for plate in plates().values() if draw_all else ():
        for kind in dict.fromkeys(block.layer for block in blocks):
            try:
                wanted = plate.chosen(kind)
            except LabError:
                continue  # this figure has no such layer
            if all(block in blocks for block in wanted):
                quiet = {"progress": "none", **options}
                found = {
                    block: {group: Study(block, group, scale).run(out, **quiet) for group in plate.groups}
                    for block in wanted
                }
                typer.echo(f"Left behind: {_save(plate, wanted, found, scale, out)}")


def _sensitivity(scale: str, out: Path, options: dict[str, Any]) -> None:
    from eigenbandits.papers.lale2019 import panels, sensitivity

    cache, engine = options["cache"], {key: options[key] for key in ("engine", "workers", "refresh")}
    results = sensitivity.experiment(scale, cache).run(sensitivity.folder(out, scale), **engine)
    found = sensitivity.points(results)
    path = out / f"figure-sensitivity-{scale}"
    write_whole(path.with_suffix(".png"), panels.small_png(sensitivity.draw(results)))
    sensitivity.write(path.with_suffix(".csv"), found)
    typer.echo(f"{sensitivity.as_text(found)}\n\nLeft behind: {path}.png and {path}.csv")


def _claims(out: Path, scale: str, path: Path | None, page: Path | None) -> None:
    from eigenbandits.papers.lale2019 import account, summary

    table = summary.Table.collect(out, scale) if path is None else summary.Table.read(path)
    if path is None:
        out.mkdir(parents=True, exist_ok=True)
        table.write(out / f"results-{scale}.csv")
        write_whole(out / f"claims-{scale}.md", (account.markdown(table) + "\n").encode())
    typer.echo(account.text(table))
    if page is not None:
        try:
            before = page.read_text(encoding="utf-8")
        except OSError as error:
            raise LabError(f"{page} cannot be read ({error.strerror}); expected a page in Markdown.") from None
        write_whole(page, account.update(before, "claims", account.markdown(table)).encode())
    if path is None:
        typer.echo(f"\nLeft behind: {out / f'results-{scale}.csv'} and {out / f'claims-{scale}.md'}")


def _listing(out: Path, scale: str, cache: Path | None) -> str:
    from eigenbandits.papers.lale2019 import listing

    return listing.listing(out, scale, cache)
