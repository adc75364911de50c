"""The report: the claims with their verdicts, and the mistakes of all policies side by side, as text and Markdown."""

import textwrap
from collections.abc import Sequence
from itertools import zip_longest

from eigenbandits.lab.errors import LabError
from eigenbandits.lab.reporting.tables import aligned, markdown
from eigenbandits.papers.lale2019 import policies
from eigenbandits.papers.lale2019.claims import CLAIMS
from eigenbandits.papers.lale2019.criteria import HELD, NOT, NOT_RUN, PARTLY
from eigenbandits.papers.lale2019.policies import OFUL_CLOSED, OFUL_PAPER, pslb_label
from eigenbandits.papers.lale2019.results_table import ResultsTable
from eigenbandits.papers.lale2019.settings import Block, all_blocks, ranks

COMMAND = "eigenbandits paper lale2019 --scale full"
CONDITIONS = {
    "linear": "without a ReLU",
    "other": "ReLU; ImageNet: products",
    "scaled": "without a ReLU, λ = 1 for scaled actions",
}

STRONG = (
    *("PSLB m=1", "PSLB m=16", "PSLB scaled m=16", policies.EIGEN_PLAIN, "ProjectedThompson"),
    *(OFUL_PAPER, policies.OFUL_SCALED, policies.OFUL_LOGDET, policies.OFUL_TUNED, policies.OFUL_TUNED_SAMPLED),
    *("LinTS", "SOFUL", policies.LONGEST),
)


def claims_text(table: ResultsTable) -> str:
    """Return every claim with its test, verdicts and numbers, for a terminal."""
    parts = []
    for place, claim in enumerate(CLAIMS, 1):
        lines = [f"{place}. {claim.words} ({claim.where})", f"test: {claim.test}"]
        for kind, words in CONDITIONS.items():
            found = claim.check(table, kind)
            lines.append(f"{words}: {found.verdict.upper()}: {found.numbers}")
        lines.append(f"run:   {COMMAND} --figure {claim.figure}")
        wrapped = [textwrap.fill(line, 116, subsequent_indent="       ") for line in lines]
        parts.append("\n    ".join(wrapped))
    return "\n\n".join([*parts, tally(table)])


def tally(table: ResultsTable) -> str:
    """Return how many claims held, in words."""
    lines = []
    for kind, words in CONDITIONS.items():
        found = [claim.check(table, kind).verdict for claim in CLAIMS]
        counts = [f"{found.count(word)} {word}" for word in (HELD, PARTLY, NOT, NOT_RUN) if word in found]
        lines.append(f"Of {len(CLAIMS)} claims, {words}: {', '.join(counts)}.")
    return "\n".join(lines)


def claims_markdown(table: ResultsTable) -> str:
    """Return the same as a table in Markdown, without conditions under which most claims have not been run."""
    found = {kind: [claim.check(table, kind) for claim in CLAIMS] for kind in CONDITIONS}
    shown = [kind for kind in CONDITIONS if sum(one.verdict != NOT_RUN for one in found[kind]) > len(CLAIMS) // 2]
    headers = ["", "claim", "test", *(CONDITIONS[kind] for kind in shown), "figure"]
    rows = []
    for place, claim in enumerate(CLAIMS):
        words = [f"**{found[kind][place].verdict}**: {found[kind][place].numbers}" for kind in shown]
        rows.append([str(place + 1), f"{claim.words} ({claim.where})", claim.test, *words, claim.figure])
    return markdown(headers, rows)


def mistakes(table: ResultsTable) -> list[list[str]]:
    """Return the rows of the comparison with strong versions: policies downwards, blocks across; headers first."""
    blocks = [block for block in all_blocks() if any(table.get(block, policy) for policy in STRONG)]
    rows = [["mistakes", *(block.title for block in blocks)]]
    for policy in STRONG:
        if any(table.get(block, policy) for block in blocks):
            rows.append([policy, *(_cell(table, block, policy) for block in blocks)])
    lengths = [next(found for policy in STRONG if (found := table.get(block, policy))) for block in blocks]
    rows.append(["rounds × seeds", *(f"{found.rounds:,} × {found.seeds}" for found in lengths)])
    return rows


def _cell(table: ResultsTable, block: Block, policy: str) -> str:
    found = table.get(block, policy)
    return "–" if found is None else _number(found.mistakes, found.standard_error)


def _number(mean: float, error: float) -> str:
    digits = 1 if mean < 100 else 0
    return f"{mean:,.{digits}f} ± {error:,.{digits}f}"


def changed(table: ResultsTable) -> list[list[str]]:
    """Return mistakes at d = 100 as the paper ran it, and with one thing changed; headers first."""
    names: list[tuple[str, ...]] = [(OFUL_PAPER, "", OFUL_CLOSED)]
    kinds = ("paper", "intersection", "closed", "worst-case", "sharp")
    names += [tuple(pslb_label(m, group) for group in kinds) for m in ranks()]
    blocks = [block for block in all_blocks() if any(table.get(block, one) for row in names for one in row[1:])]
    return _side_by_side(table, "as run / intersection / closed form / worst-case radius / sharp radius", names, blocks)


def uncentered(table: ResultsTable) -> list[list[str]]:
    """Return mistakes after a ReLU with and without centering; headers first."""
    names = [(pslb_label(m), pslb_label(m, "uncentred")) for m in ranks()]
    blocks = [block for block in all_blocks() if table.get(block, names[0][1])]
    return _side_by_side(table, "centered by set / as they are", names, blocks)


def _side_by_side(
    table: ResultsTable, title: str, names: Sequence[tuple[str, ...]], blocks: Sequence[Block]
) -> list[list[str]]:
    rows = [[title, *(block.title for block in blocks)]]
    for row in names:
        rows.append([row[0], *(" / ".join(_mean(table, block, one) for one in row) for block in blocks)])
    return rows


def _mean(table: ResultsTable, block: Block, policy: str) -> str:
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


def sections(table: ResultsTable) -> dict[str, list[list[str]]]:
    """Return the tables that have something in them, by title."""
    found = {
        "Compared with strong versions": mistakes(table),
        "One thing changed at a time": changed(table),
        "After a ReLU": uncentered(table),
    }
    return {title: rows for title, rows in found.items() if len(rows[0]) > 1}


def page(table: ResultsTable) -> str:
    """Return everything for the documentation."""
    parts = ["### Claims", tally(table).replace("\n", " "), claims_markdown(table)]
    for title, rows in sections(table).items():
        parts += [f"### {title}", markdown(rows[0], rows[1:])]
    return "\n\n".join(parts)


def update(page: str, name: str, content: str) -> str:
    """Return a page with the text between the two marks of a name replaced.

    Examples
    --------
    >>> update("a <!-- claims --> b <!-- end claims --> c", "claims", "new").split()
    ['a', '<!--', 'claims', '-->', 'new', '<!--', 'end', 'claims', '-->', 'c']
    """
    first, last = f"<!-- {name} -->", f"<!-- end {name} -->"
    if page.count(first) != 1 or page.count(last) != 1:
        raise LabError(f"the page has no place for its tables; expected {first} and {last}, each once.")
    before, rest = page.split(first)
    return f"{before}{first}\n\n{content}\n\n{last}{rest.split(last)[1]}"


def text(table: ResultsTable) -> str:
    """Return everything for a terminal."""
    return "\n\n".join([claims_text(table), *map(as_text, sections(table).values())])
