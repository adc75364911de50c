"""Rows: what a new field on a decision becomes, by its definition alone."""

from __future__ import annotations

from dataclasses import dataclass, fields

import pytest

from eigenbandits.serve import Settings
from eigenbandits.serve.http import decision_models
from eigenbandits.serve.served_decision import ServedDecision
from eigenbandits.serve.storage import base, database_of
from eigenbandits.serve.storage.journal import Journal
from eigenbandits.serve.storage.schema import DECISIONS, TABLES, DecisionRow
from eigenbandits.serve.storage.table import Table


def decision(number: int, **more) -> DecisionRow:
    known = {"policy": 3, "request": None, "size": 4, "decided_at": 5.5, "content": b"\x00\xff"}
    served = {"index": 2, "item": "a", "round": number, "estimate": 0.25, "upper": 1e-300, "propensity": None}
    return DecisionRow(**known | served | {"cost": 0.5} | more)  # type: ignore[arg-type]


def test_a_decision_comes_back_as_it_was_written(place):
    connection = database_of(Settings(**place)).connect()
    journal = Journal(connection)
    rows = [decision(1, request="mine"), decision(2, propensity=0.5, item=None), decision(3)]
    journal.add(DECISIONS, rows)
    assert journal.decisions(3, 1, 3) == rows
    assert journal.decisions_of(3, [2, 3, 9]) == {2: rows[1], 3: rows[2]}
    assert journal.decisions_for(3, ["mine", "yours"]) == {"mine": rows[0]}
    assert rows[1].decision == "3-2"
    assert decision(2, epoch=255).decision == "3-ff-2"
    connection.close()


def test_callers_see_every_field_of_a_served_decision_and_no_other():
    names = {field.name for field in fields(ServedDecision)}
    assert set(decision(1).answer()) == names
    assert ServedDecision.of(decision(1).answer() | {"later": 1}) == ServedDecision(
        "3-1", 2, "a", 1, 0.25, 1e-300, None, 0.5
    )
    schema = decision_models.DecidedBatch.model_json_schema()["$defs"]["ServedDecision"]
    assert set(schema["properties"]) == set(schema["required"]) == names


@dataclass(frozen=True)
class ScoredRow(DecisionRow):
    """A decision with one field more."""

    score: float | None = None


def test_a_new_field_is_a_new_column_also_in_a_database_that_exists(place, monkeypatch):
    database = database_of(Settings(**place))
    connection = database.connect()
    Journal(connection).add(DECISIONS, [decision(1)])
    connection.close()

    scored = Table(
        *("decisions", ScoredRow, "policy, number"),
        names={"index": "chosen", "round": "number", "chooser": "arm"},
        first=" ".join(DECISIONS.columns),
    )
    monkeypatch.setattr(base, "TABLES", [scored if table is DECISIONS else table for table in TABLES])
    for _ in range(2):
        connection = database_of(Settings(**place)).connect()
        connection.execute("DELETE FROM decisions WHERE number = 2")
        connection.execute(scored.insert, scored.values(ScoredRow(**vars_of(decision(2)), score=0.75)))
        found = [scored.read(row) for row in connection.execute(f"{scored.select} ORDER BY number")]
        assert [row.score for row in found] == [None, 0.75]
        assert vars_of(found[0]) == vars_of(decision(1))
        connection.close()


def vars_of(row: DecisionRow) -> dict:
    return {field.name: getattr(row, field.name) for field in fields(DecisionRow) if field.init}


def test_a_type_that_no_column_has_is_refused():
    @dataclass
    class Wrong:
        id: int
        tags: list

    with pytest.raises(KeyError):
        Table("wrong", Wrong, "id").create({int: "INTEGER"})
