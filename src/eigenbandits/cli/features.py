"""`eigenbandits features`: from raw images to files of features, and what the cache holds."""

from pathlib import Path
from typing import Annotated

import typer

from eigenbandits.cli import options
from eigenbandits.extras import need

commands = options.group("Train networks, keep their features, and list them.")


@commands.command()
def make(
    data: Annotated[
        str,
        typer.Argument(
            help="mnist, cifar10 or imagenet; with --images any name for a folder of yours.", show_default=False
        ),
    ],
    dim: Annotated[
        list[int] | None,
        typer.Option(help="d; may be repeated.", show_default="100, 500, 1000; imagenet 100", min=1),
    ] = None,
    layer: Annotated[
        list[str] | None,
        typer.Option(
            help="linear, relu or product (the unchanged network); may be repeated.", show_default="all of them"
        ),
    ] = None,
    network: Annotated[
        str | None,
        typer.Option(help="resnet18 for CIFAR-10 as in the paper.", show_default="cnn, resnet56, resnet50"),
    ] = None,
    images: Annotated[
        Path | None, typer.Option(help="A folder of images in class folders.", show_default="none")
    ] = None,
    weights: Annotated[
        Path | None, typer.Option(help="Pre-trained weights, in .npz.", show_default="cifar10/resnet56.npz in --data")
    ] = None,
    epochs: Annotated[
        int | None, typer.Option(help="How often each image is seen.", show_default="depends on the network", min=1)
    ] = None,
    threads: Annotated[int | None, typer.Option(help="Threads of torch.", show_default="all", min=1)] = None,
    data_folder: options.Data = None,
    cache: options.Cache = None,
) -> None:
    """Train the paper's networks and keep their features. Existing files are not made again."""
    need("torch", "torch", what="Training a network")
    import torch

    from eigenbandits.papers.lale2019.networks.make import FeatureRequest, make_all

    if threads is not None:
        torch.set_num_threads(threads)
    with options.failures(ValueError, OSError):
        trainer = FeatureRequest(data, network, images, weights, data_folder, cache, epochs).trainer(typer.echo)
        make_all(trainer, dim, layer, cache, typer.echo)


@commands.command("weights")
def convert_weights(
    source: Annotated[Path, typer.Argument(help="Weights as torch.save wrote them.", show_default=False)],
    target: Annotated[Path, typer.Argument(help="The .npz file to write.", show_default=False)],
) -> None:
    """Convert pre-trained torch weights into an .npz file of arrays."""
    need("torch", "torch", what="Reading torch weights")
    from eigenbandits.papers.lale2019.networks.weights import convert

    with options.failures(ValueError, OSError):
        typer.echo(f"Wrote {convert(source, target)} arrays to {target}")


@commands.command("list")
def show(cache: options.Cache = None) -> None:
    """List the features in the cache, and how accurate they are. Shows how well the main direction reveals θ*, too."""
    from eigenbandits.lab.folders import cache_folder
    from eigenbandits.lab.reporting.tables import aligned
    from eigenbandits.papers.lale2019.features.file import read_header

    folder = cache_folder(cache) / "features"
    found = sorted(folder.glob("*.npz"), key=_in_order)
    if not found:
        typer.echo(f"There are no features in {folder}; make some with: eigenbandits features make mnist")
        return
    headers = ["features", "correct on\ntraining", "correct on\ntest", "cosine\nas it is", "cosine\ncentered", "MB"]
    rows = []
    with options.failures(ValueError, OSError):
        for path in found:
            facts = read_header(path)["facts"]
            shares = [facts["train_accuracy"], facts["test_accuracy"]]
            rows.append(
                [path.stem]
                + ["–" if share is None else f"{100 * share:.2f} %" for share in shares]
                + [f"{facts['cosine_raw']:.3f}", f"{facts['cosine_centred']:.3f}", f"{path.stat().st_size / 1e6:.0f}"]
            )
    typer.echo(aligned(headers, rows))
    typer.echo(
        "\ncorrect on: images whose label the network itself ranks first.\n"
        "cosine: of θ* with the top eigenvector of the actions' second moment, as they are and centered by set.\n"
        f"In {folder}"
    )


def _in_order(path: Path) -> tuple[str, int, str]:
    """Sort by network, then by d as a number."""
    start, _, rest = path.stem.rpartition("-d")
    dim, _, layer = rest.partition("-")
    return start, int(dim) if dim.isdigit() else 0, layer
