"""`eigenbandits paper`: rerun a paper's experiments, figure by figure, and check its claims."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from eigenbandits.cli import options
from eigenbandits.cli.runner import Runner, runs_experiments, wrote
from eigenbandits.files import write_whole
from eigenbandits.lab.errors import LabError, unknown

if TYPE_CHECKING:
    from eigenbandits.lab.experiments import Results
    from eigenbandits.papers.lale2019 import Block, PaperFigure, Study


@runs_experiments
def command(
    run: Runner,
    paper: Annotated[Literal["lale2019"], typer.Argument(help="The paper: Lale et al. 2019 is the only one so far.")],
    figure: Annotated[
        str | None,
        typer.Option(help="A figure by its number, `digits`, `strong`, `sensitivity`, or `all`.", show_default="list"),
    ] = None,
    scale: Annotated[
        Literal["quick", "full"], typer.Option(help="quick: minutes, to see that it works; full: as in the docs.")
    ] = "quick",
    layer: Annotated[
        Literal["linear", "relu", "product"] | None,
        typer.Option(help="How the representation layer ends.", show_default="linear; with all: each"),
    ] = None,
    claims: Annotated[bool, typer.Option("--claims", help="Check the paper's claims against the results.")] = False,
    table: Annotated[
        Path | None, typer.Option(help="With --claims: read this results table (CSV).", show_default="that of --out")
    ] = None,
    page: Annotated[
        Path | None, typer.Option(help="With --claims: a page whose tables are updated.", show_default="none")
    ] = None,
    network: Annotated[
        str | None, typer.Option(help="Features of another network, such as resnet18.", show_default="see the docs")
    ] = None,
    cache: options.Cache = None,
    out: options.Out = Path("results/lale2019"),
) -> None:
    """Rerun the experiments of a paper: without options, list its figures and how much of them has been run.

    Stop it at any time, and the same command continues. Figures are written as PNG to the folder of the results.
    """
    from eigenbandits.papers.lale2019.figure_list import listing

    files = Files(run, scale, out, cache)
    with options.failures(LabError):
        if claims:
            files.check_claims(table, page)
        elif figure is None:
            typer.echo(listing(out, scale, cache))
        else:
            files.draw(figure, layer, network or "")


class Files:
    """The files of the paper at one scale: runs what is missing, and writes figures and tables."""

    def __init__(self, run: Runner, scale: str, out: Path, cache: Path | None) -> None:
        self.run, self.scale, self.out, self.cache = run, scale, out, cache

    def draw(self, name: str, layer: str | None, network: str) -> None:
        """Write one figure, or all of them."""
        from eigenbandits.papers.lale2019 import paper_figures

        known = paper_figures()
        if name == "sensitivity":
            self._sensitivity()
        elif name in ("strong", "all"):
            self._everything(layer, draw_all=name == "all")
        elif name in known:
            self._one(known[name], known[name].chosen(layer, network))
        else:
            raise unknown("figure", name, [*known, "strong", "sensitivity", "all"])

    def _results(self, study: Study, progress: str = "auto") -> Results:
        return self.run(study.experiment(self.cache), study.folder(self.out), progress)

    def _available(self, blocks: Iterable[Block]) -> tuple[list[Block], list[str]]:
        """Return the blocks whose features are available, and why the others are skipped."""
        from eigenbandits.papers.lale2019.study import environment

        found, skipped = [], []
        for block in blocks:
            try:
                environment(block, self.cache)
                found.append(block)
            except LabError as error:
                skipped.append(str(error))
        return found, skipped

    def _results_of(self, figure: PaperFigure, block: Block, progress: str = "auto") -> dict[str, Results]:
        """Return the results of the figure's groups on a block, by group."""
        from eigenbandits.papers.lale2019 import Study

        return {group: self._results(Study(block, group, self.scale), progress) for group in figure.groups}

    def _one(self, figure: PaperFigure, blocks: list[Block]) -> None:
        from eigenbandits.papers.lale2019 import results_table

        found, skipped = self._available(blocks)
        if not found:
            raise LabError(skipped[0])
        results = {}
        for block in found:
            results[block] = self._results_of(figure, block)
            rows = [row for group, one in results[block].items() for row in results_table.rows_of(one, block, group)]
            typer.echo(f"\n{block.title}: {rows[0].rounds:,} rounds, {rows[0].seeds} seeds; network: {block.network}\n")
            typer.echo(results_table.as_text(rows))
        for reason in skipped:
            typer.echo(f"\nSkipped: {reason}", err=True)
        wrote([self._save(figure, blocks, results)])

    def _save(self, figure: PaperFigure, blocks: list[Block], results: dict[Block, dict[str, Results]]) -> Path:
        from eigenbandits.papers.lale2019 import figures

        layer = next((block.layer for block in blocks if block.layer != "linear"), "linear")
        kind = "-".join(filter(None, (figure.name, layer, blocks[0].other, self.scale)))
        path = self.out / f"figure-{kind}.png"
        write_whole(path, figures.small_png(figures.paper_plot(figure, blocks, results)))
        return path

    def _everything(self, layer: str | None, draw_all: bool) -> None:
        """Run all groups on all blocks whose features are available, the most important first, and draw the results."""
        from eigenbandits.papers.lale2019 import all_blocks, figures, paper_figures, report, study
        from eigenbandits.papers.lale2019.results_table import ResultsTable

        blocks, skipped = self._available(b for b in all_blocks() if layer is None or b.layer == layer)
        for one in study.studies(self.scale):
            if one.block in blocks:
                typer.echo(f"{one.block.title}: {one.group}")
                self._results(one)
        for reason in skipped:
            typer.echo(f"Skipped: {reason}", err=True)
        table = ResultsTable.collect(self.out, self.scale)
        path = self.out / f"figure-strong-{self.scale}.png"
        write_whole(path, figures.small_png(figures.strong_plot(table, blocks, report.STRONG)))
        typer.echo(f"\n{report.as_text(report.mistakes(table))}")
        paths = [path]
        for figure in paper_figures().values() if draw_all else ():
            for kind in dict.fromkeys(block.layer for block in blocks):
                try:
                    wanted = figure.chosen(kind)
                except LabError:
                    continue  # this figure has no such layer
                if all(block in blocks for block in wanted):
                    found = {block: self._results_of(figure, block, "none") for block in wanted}
                    paths.append(self._save(figure, wanted, found))
        wrote(paths)

    def _sensitivity(self) -> None:
        from eigenbandits.papers.lale2019 import figures, sensitivity

        experiment = sensitivity.experiment(self.scale, self.cache)
        results = self.run(experiment, sensitivity.folder(self.out, self.scale))
        found = sensitivity.points(results)
        path = self.out / f"figure-sensitivity-{self.scale}"
        write_whole(path.with_suffix(".png"), figures.small_png(sensitivity.sensitivity_plot(results)))
        sensitivity.write(path.with_suffix(".csv"), found)
        typer.echo(sensitivity.as_text(found))
        wrote([path.with_suffix(".png"), path.with_suffix(".csv")])

    def check_claims(self, path: Path | None, page: Path | None) -> None:
        """Print the claims with their verdicts, and write them to files."""
        from eigenbandits.papers.lale2019 import report
        from eigenbandits.papers.lale2019.results_table import ResultsTable

        table = ResultsTable.collect(self.out, self.scale) if path is None else ResultsTable.read(path)
        paths = []
        if path is None:
            paths = [self.out / f"results-{self.scale}.csv", self.out / f"claims-{self.scale}.md"]
            self.out.mkdir(parents=True, exist_ok=True)
            table.write(paths[0])
            write_whole(paths[1], (report.page(table) + "\n").encode())
        typer.echo(report.text(table))
        if page is not None:
            try:
                before = page.read_text(encoding="utf-8")
            except OSError as error:
                raise LabError(f"{page} cannot be read ({error.strerror}); expected a page in Markdown.") from None
            write_whole(page, report.update(before, "claims", report.page(table)).encode())
            paths.append(page)
        if paths:
            wrote(paths)
