"""`Table`: a database table whose columns are the fields of a dataclass."""

import types
from collections.abc import Callable, Mapping, Sequence
from dataclasses import fields
from operator import attrgetter
from typing import Any, Generic, TypeVar, get_args, get_type_hints

R = TypeVar("R")
Row = tuple[Any, ...]


class Table(Generic[R]):
    """The statements of one table.

    A field added to the dataclass becomes a column, in existing databases too: in their old rows it is None if its type
    allows that, otherwise 0 or empty.

    Parameters
    ----------
    name
        The name of the table.
    row
        The dataclass. Fields that its constructor does not take are not stored.
    key
        The columns of the primary key.
    unique
        A column whose values are unique, if any.
    names
        The column names of fields whose columns are named differently.
    first
        The first columns, if their order differs from that of the fields.

    Examples
    --------
    >>> from dataclasses import dataclass
    >>> @dataclass
    ... class Point:
    ...     x: int
    ...     y: float | None
    >>> points = Table("points", Point, "x")
    >>> points.create({int: "INTEGER", float: "REAL"})
    'CREATE TABLE IF NOT EXISTS points (x INTEGER NOT NULL, y REAL, PRIMARY KEY (x))'
    >>> points.insert
    'INSERT INTO points (x, y) VALUES (?, ?)'
    >>> points.values(Point(1, 2.0)), points.read((3, None))
    ((1, 2.0), Point(x=3, y=None))
    """

    def __init__(
        self,
        name: str,
        row: type[R],
        key: str,
        *,
        unique: str = "",
        names: Mapping[str, str] | None = None,
        first: str = "",
    ) -> None:
        self.name = name
        self.key = key
        self._unique = unique
        self._row = row
        hints, named = get_type_hints(row), names or {}
        stored = {named.get(field.name, field.name): field.name for field in fields(row) if field.init}  # type: ignore[arg-type]
        self.columns = tuple(dict.fromkeys([*first.split(), *stored]))
        self._attributes = [stored[column] for column in self.columns]
        self._types = {column: hints[stored[column]] for column in self.columns}
        listed = ", ".join(self.columns)
        self.insert = f"INSERT INTO {name} ({listed}) VALUES ({', '.join('?' * len(self.columns))})"
        self.select = f"SELECT {listed} FROM {name}"
        self.values: Callable[[R], Row] = attrgetter(*self._attributes)

    def read(self, values: Sequence[Any]) -> R:
        """Return the row for the values of all columns."""
        return self._row(**dict(zip(self._attributes, values, strict=True)))

    def create(self, sql_types: Mapping[type, str]) -> str:
        """Return the statement that creates the table, given a database's names for Python types."""
        parts = [self.column(name, sql_types) for name in self.columns]
        parts += [f"PRIMARY KEY ({self.key})"] + ([f"UNIQUE ({self._unique})"] if self._unique else [])
        return f"CREATE TABLE IF NOT EXISTS {self.name} ({', '.join(parts)})"

    def added(self, name: str, sql_types: Mapping[type, str]) -> str:
        """Return the definition of a column that is added to existing rows."""
        empty = {int: "0", float: "0", str: "''"}.get(self._types[name])
        return self.column(name, sql_types) + ("" if empty is None else f" DEFAULT {empty}")

    def column(self, name: str, sql_types: Mapping[type, str]) -> str:
        """Return the definition of one column."""
        hint = self._types[name]
        if isinstance(hint, types.UnionType):
            return f"{name} {sql_types[next(kind for kind in get_args(hint) if kind is not types.NoneType)]}"
        return f"{name} {sql_types[hint]} NOT NULL"
