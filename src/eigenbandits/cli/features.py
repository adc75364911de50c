"""`eigenbandits features`: from raw images to files of features, and what the cache has of them."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from eigenbandits.cli.data import DataOption, mendable
from eigenbandits.extras import need

CacheOption = Annotated[
    Path | None,
    typer.Option(help="Folder of what was computed.", show_default="EIGENBANDITS_CACHE, or one in the user's cache"),
]


def make(
    data: Annotated[
        str,
        typer.Argument(
            help="mnist, cifar10 or imagenet; with --images any name for a folder of yours.", show_default=False
        ),
    ],
    dim: Annotated[
        list[int] | None,
        typer.Option(help="d; may be given several times.", show_default="100, 500, 1000; imagenet 100", min=1),
    ] = None,
    layer: Annotated[
        list[str] | None,
        typer.Option(
            help="linear, relu or product (the untouched network); may be given several times.",
            show_default="all that there are",
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
        int | None, typer.Option(help="How often each image is seen.", show_default="as the recipe says", min=1)
    ] = None,
    threads: Annotated[int | None, typer.Option(help="Threads of torch.", show_default="all", min=1)] = None,
    data_folder: DataOption = None,
    cache: CacheOption = None,
) -> None:
    """Train networks of the paper's construction and keep their features; what is there already is left alone."""
    need("torch", "torch", what="Training a network")
    import torch

    from eigenbandits.networks.make import Wish, make_all

    if threads is not None:
        torch.set_num_threads(threads)
    with mendable():
        recipe = Wish(data, network, images, weights, data_folder, cache, epochs).recipe(typer.echo)
        make_all(recipe, dim, layer, cache, typer.echo)


def convert_weights(
    source: Annotated[Path, typer.Argument(help="Weights as torch.save wrote them.", show_default=False)],
    target: Annotated[Path, typer.Argument(help="The .npz file to write.", show_default=False)],
) -> None:
    """Turn a file of pre-trained weights of torch into an .npz file of plain arrays."""
    need("torch", "torch", what="Reading weights of torch")
    from eigenbandits.networks.weights import convert

    with mendable():
        typer.echo(f"{convert(source, target)} arrays left in {target}")


def show(cache: CacheOption = None) -> None:
    """List the features in the cache: the networks' accuracies, and how well the actions' main direction shows θ*."""
    from eigenbandits.datasets.places import cache_folder
    from eigenbandits.features.file import read_header
    from eigenbandits.lab.tables import aligned

    folder = cache_folder(cache) / "features"
    found = sorted(folder.glob("*.npz"), key=_in_order)
    if not found:
        typer.echo(f"There are no features in {folder}; make some with: eigenbandits features make mnist")
        return
    headers = ["features", "right on\ntraining", "right on\ntest", "cosine\nas it is", "cosine\ncentred", "MB"]
    rows = []
    with mendable():
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
        "\nright on: images whose label the network itself ranks first.\n"
        "cosine: of θ* with the top eigenvector of the actions' second moment, as they are and centred by set.\n"
        f"Left in {folder}"
    )


def _in_order(path: Path) -> tuple[str, int, str]:
    """Sort by network, then by d as a number."""
    start, _, rest = path.stem.rpartition("-d")
    dim, _, layer = rest.partition("-")
    return start, int(dim) if dim.isdigit() else 0, layer


def app() -> typer.Typer:
    """Return the command and what follows it."""
    made = typer.Typer(help="Train networks, keep their features, and list them.", no_args_is_help=True)
    made.command("make")(make)
    made.command("list")(show)
    made.command("weights")(convert_weights)
    return made
