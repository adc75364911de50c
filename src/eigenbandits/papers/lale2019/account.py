"""The account: the claims with their verdicts, and everybody's mistakes side by side, as text and as Markdown."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from itertools import zip_longest

from eigenbandits.lab.tables import aligned
from eigenbandits.lab.words import LabError
from eigenbandits.papers.lale2019 import players
from eigenbandits.papers.lale2019.claims import CLAIMS
from eigenbandits.papers.lale2019.judging import HELD, NOT, NOT_RUN, PARTLY
from eigenbandits.papers.lale2019.players import OFUL_CLOSED, OFUL_PAPER, pslb_label
from eigenbandits.papers.lale2019.settings import Block, all_blocks, ranks
from eigenbandits.papers.lale2019.summary import Table

COMMAND = "eigenbandits paper lale2019 --scale full"
VIEWS = {
    "linear": "without a ReLU",
    "other": "ReLU; ImageNet: products",
    "scaled": "without a ReLU, λ = 1 for scaled actions",
}

STRONG = (
    *(
        "PSLB m=1",
        "PSLB m=16",
        "PSLB scaled m=16",
        players.EIGEN_PLAIN,
        "ProjectedThompson",
    ),
    *(
        OFUL_PAPER,
        players.OFUL_SCALED,
        players.OFUL_LOGDET,
        players.OFUL_TUNED,
        players.OFUL_TUNED_SAMPLED,
        "LinTS",
        "SOFUL",
    ),
    players.LONGEST,
)


def claims_text(table: Table) -> str:
    """Return every claim with its test, verdicts and numbers, for a terminal."""
    parts = []
    for place, claim in enumerate(CLAIMS, 1):
        lines = [f"{place}. {claim.words} ({claim.where})", f"asked: {claim.test}"]
        for kind, words in VIEWS.items():
            found = claim.finding(table, kind)
            lines.append(f"{words}: {found.verdict.upper()}: {found.numbers}")
        lines.append(f"run:   {COMMAND} --figure {claim.figure}")
        wrapped = [textwrap.fill(line, 116, subsequent_indent="       ") for line in lines]
        parts.append("\n    ".join(wrapped))
    return "\n\n".join([*parts, tally(table)])


def tally(table: Table) -> str:
    """Return how many claims held, in words."""
    lines = []
    for kind, words in VIEWS.items():
        found = [claim.finding(table, kind).verdict for claim in CLAIMS]
        counts = [f"{found.count(word)} {word}" for word in (HELD, PARTLY, NOT, NOT_RUN) if word in found]
        lines.append(f"Of {len(CLAIMS)} claims, {words}: {', '.join(counts)}.")
    return "\n".join(lines)


def claims_markdown(table: Table) -> str:
    """Return the same as a table in Markdown, without those views in which most claims have not been run."""
    found = {kind: [claim.finding(table, kind) for claim in CLAIMS] for kind in VIEWS}
    shown = [kind for kind in VIEWS if sum(one.verdict != NOT_RUN for one in found[kind]) > len(CLAIMS) // 2]
    rows = [["", "claim", "asked of the results", *(VIEWS[kind] for kind in shown), "figure"]]
    for place, claim in enumerate(CLAIMS):
        words = [f"**{found[kind][place].verdict}**: {found[kind][place].numbers}" for kind in shown]
        rows.append([str(place + 1), f"{claim.words} ({claim.where})", claim.test, *words, claim.figure])
    return as_markdown(rows)


def mistakes(table: Table) -> list[list[str]]:
    """Return the rows of the comparison with strong versions: policies downwards, blocks across; headers first."""
    blocks = [block for block in all_blocks() if any(table.get(block, policy) for policy in STRONG)]
    rows = [["mistakes", *(block.title for block in blocks)]]
    for policy in STRONG:
        if any(table.get(block, policy) for block in blocks):
            rows.append([policy, *(_cell(table, block, policy) for block in blocks)])
    lengths = [next(found for policy in STRONG if (found := table.get(block, policy))) for block in blocks]
    rows.append(["rounds × seeds", *(f"{found.rounds:,} × {found.seeds}" for found in lengths)])
    return rows


def _cell(table: Table, block: Block, policy: str) -> str:
    found = table.get(block, policy)
    return "–" if found is None else _number(found.mistakes, found.standard_error)


def _number(mean: float, error: float) -> str:
    digits = 1 if mean < 100 else 0
    return f"{mean:,.{digits}f} ± {error:,.{digits}f}"


def changed(table: Table) -> list[list[str]]:
    """Return mistakes at d = 100 as the paper ran it, and with one thing changed; headers first."""
    names: list[tuple[str, ...]] = [(OFUL_PAPER, "", OFUL_CLOSED)]
    kinds = ("paper", "intersection", "closed", "worst-case", "sharp")
    names += [tuple(pslb_label(m, group) for group in kinds) for m in ranks()]
    blocks = [block for block in all_blocks() if any(table.get(block, one) for row in names for one in row[1:])]
    return _side_by_side(table, "as run / intersection / closed form / worst-case radius / sharp radius", names, blocks)


def uncentred(table: Table) -> list[list[str]]:
    """Return mistakes behind a ReLU with and without centring; headers first."""
    names = [(pslb_label(m), pslb_label(m, "uncentred")) for m in ranks()]
    blocks = [block for block in all_blocks() if table.get(block, names[0][1])]
    return _side_by_side(table, "centred by set / as they are", names, blocks)


def _side_by_side(
    table: Table, title: str, names: Sequence[tuple[str, ...]], blocks: Sequence[Block]
) -> list[list[str]]:
    rows = [[title, *(block.title for block in blocks)]]
    for policies in names:
        rows.append([policies[0], *(" / ".join(_mean(table, block, one) for one in policies) for block in blocks)])
    return rows


def _mean(table: Table, block: Block, policy: str) -> str:
    found = table.get(block, policy)
    return "–" if found is None else f"{found.mistakes:,.1f}" if found.mistakes < 100 else f"{found.mistakes:,.0f}"


def as_text(rows: Sequence[Sequence[str]], across: int = 5) -> str:
    """Return rows as aligned text, some columns at a time."""
    columns = list(zip_longest(*rows, fillvalue=""))
    parts = [columns[i : i + across] for i in range(1, len(columns), across)]
    tables = [list(zip(columns[0], *part, strict=True)) for part in parts]
    return "\n\n".join(aligned([_two_lines(cell) for cell in table[0]], table[1:]) for table in tables)


def _two_lines(title: str) -> str:
    return title.replace(", ", ",\n", 1) if "d = " in title else title


def as_markdown(rows: Sequence[Sequence[str]]) -> str:
    """Return rows as a table in Markdown, the first being its head."""
    head, *body = rows
    return "\n".join(f"| {' | '.join(row)} |" for row in (head, ["---"] * len(head), *body))


def sections(table: Table) -> dict[str, list[list[str]]]:
    """Return the tables that have something in them, by title."""
    found = {
        "Beside strong versions": mistakes(table),
        "One thing changed at a time": changed(table),
        "Behind a ReLU": uncentred(table),
    }
    return {title: rows for title, rows in found.items() if len(rows[0]) > 1}


def markdown(table: Table) -> str:
    """Return all of it for the documentation."""
    parts = ["### Claims", tally(table).replace("\n", " "), claims_markdown(table)]
    for title, rows in sections(table).items():
        parts += [f"### {title}", as_markdown(rows)]
    return "\n\n".join(parts)


def update(page: str, name: str, content: str) -> str:
    """Return a page with what stands between the two marks of a name replaced.

    Examples
    --------
    >>> update("a <!-- claims --> b <!-- end claims --> c", "claims", "new").split()
    ['a', '<!--', 'claims', '-->', 'new', '<!--', 'end', 'claims', '-->', 'c']
    """
    first, last = f"<!-- {name} -->", f"<!-- end {name} -->"
    if page.count(first) != 1 or page.count(last) != 1:
        raise LabError(f"the page has no place for its tables; expected the marks {first} and {last}, each once.")
    before, rest = page.split(first)
    return f"{before}{first}\n\n{content}\n\n{last}{rest.split(last)[1]}"


def text(table: Table) -> str:
    """Return all of it for a terminal."""
    return "\n\n".join([claims_text(table), *map(as_text, sections(table).values())])
