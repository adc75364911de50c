"""Policies and environments as plain settings: named, checked, hashed, and rebuilt in any process."""

import dataclasses
import importlib
import inspect
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np

from eigenbandits import algorithms, environments, files
from eigenbandits.component import Component
from eigenbandits.lab.errors import LabError, check_names, suggestion, unknown
from eigenbandits.lab.experiments import data_files as data
from eigenbandits.lab.experiments.data_files import DataFiles
from eigenbandits.lab.experiments.former_names import RENAMED, present_kind
from eigenbandits.lab.experiments.provenance import module_fingerprint
from eigenbandits.policy import Policy
from eigenbandits.theory import Structure

# Longer lists of numbers become data files, to keep settings readable.
_LONG = 64
_RESERVED = ("kind", "each")


@dataclass(frozen=True)
class Spec:
    """A class by its name and its arguments as JSON values.

    Attributes
    ----------
    kind : str
        The name of one of the library's classes, or ``"module:Class"``.
    params : mapping
        All arguments, defaults too. Arrays and data files are references with the hash of their content; a policy's
        argument ``"$name"`` is read from the environment's instance, or the environment, under that name.
    modules : mapping
        The modules outside this library that the class comes from, each with a hash of its source.
    """

    kind: str
    params: Mapping[str, Any]
    modules: Mapping[str, str] = field(default_factory=dict)

    def identity(self) -> dict[str, Any]:
        """Return what the outcome depends on: data by its content, wherever it is."""
        return {
            "kind": RENAMED.get(self.kind, self.kind),
            "params": _replaced_references(dict(self.params), _without_places),
            "modules": dict(self.modules),
        }

    def as_json(self) -> dict[str, Any]:
        """Return the spec as it is sent to other processes."""
        return dataclasses.asdict(self)

    def make(self, **more: Any) -> Any:
        """Make the object; `more` adds or replaces arguments."""
        for module in self.modules:
            importlib.import_module(module)
        try:
            arguments = files.decode(_replaced_references(dict(self.params), _with_data), {}) | more
        except KeyError as error:
            raise LabError(str(error.args[0])) from None
        return find_class(self.kind, "class")(**arguments)

    def make_policy(self, seed: int, environment: Any, instance: Any) -> Any:
        """Make the policy of one cell: with the cell's seed, and with the values that it reads from the environment."""
        more: dict[str, Any] = {
            name: _known_to(value[1:], environment, instance)
            for name, value in self.params.items()
            if isinstance(value, str) and value.startswith("$")
        }
        if "seed" in inspect.signature(find_class(self.kind, "policy")).parameters:
            more["seed"] = seed
        return self.make(**more)


def find_class(kind: str, what: str) -> Callable[..., Any]:
    """Return a class of this library by its name, or any other by ``"module:Class"``."""
    module_name, colon, name = present_kind(kind).rpartition(":")
    if not colon:
        known = _library_classes(what)
        if kind not in known:
            raise unknown(what, kind, known)
        return known[kind]
    try:
        found: Any = importlib.import_module(module_name)
        for part in name.split("."):
            found = getattr(found, part)
    except ImportError as error:
        raise LabError(
            f"the module of {kind!r} cannot be imported ({error}); put it next to the experiment."
        ) from error
    except AttributeError:
        raise LabError(
            f"module {module_name!r} has no class {name!r}; {suggestion(name, _classes_in(found))}"
        ) from None
    if not callable(found):
        raise LabError(f"{kind!r} is not a class; expected one that makes the {what}.")
    return found  # type: ignore[no-any-return]


def _classes_in(module: Any) -> list[str]:
    return [name for name, thing in vars(module).items() if inspect.isclass(thing)]


def _library_classes(what: str) -> dict[str, Callable[..., Any]]:
    policies: dict[str, Callable[..., Any]] = {
        made.__name__: made
        for made in (Policy, *vars(algorithms).values())
        if inspect.isclass(made) and issubclass(made, Policy)
    }
    places: dict[str, Callable[..., Any]] = {
        name: made
        for name, made in vars(environments).items()
        if inspect.isclass(made) and hasattr(made, "instance") and not getattr(made, "_is_protocol", False)
    }
    return {"policy": policies, "environment": places}.get(what, policies | places)


def entry(made: type, **arguments: Any) -> dict[str, Any]:
    """Return a class and some of its arguments as an experiment takes them; the class need not be a dataclass.

    Examples
    --------
    >>> entry(Structure, d_x=2)
    {'kind': 'eigenbandits.theory.structure:Structure', 'd_x': 2}
    """
    return {"kind": f"{made.__module__}:{made.__qualname__}", **arguments}


def specs(label: str, given: Any, what: str, data_files: DataFiles, base: Path) -> dict[str, Spec]:
    """Return the specs of one entry of an experiment, by label: several if it has ``each``.

    `what` is "policy" or "environment".
    """
    where = f"{'policies' if what == 'policy' else 'environments'}.{label}"
    try:
        kind, params, grid = _read(label, given, where)
        made = find_class(kind, what)
        modules = {name: module_fingerprint(name) for name in sorted(_modules(made, params))}
        found: dict[str, Spec] = {}
        for name, chosen in _combinations(label, grid):
            if name in found:
                raise LabError(f"{where}.each gives {name!r} twice; list every value once.")
            found[name] = Spec(kind, _arguments(made, params | chosen, where, what, data_files, base), modules)
        return found
    except LabError as error:
        raise error if str(error).startswith(where) else LabError(f"{where}: {error}") from None


def _read(label: str, given: Any, where: str) -> tuple[str, dict[str, Any], dict[str, Any]]:
    """Return the kind, the arguments and the grid of an entry: a table, or an object made in Python."""
    if isinstance(given, Mapping):
        grid = given.get("each", {})
        if not isinstance(grid, Mapping) or not all(
            isinstance(values, list | tuple) and values for values in grid.values()
        ):
            raise LabError(f"{where}.each is {grid!r}; expected a table of lists, such as each = {{rank = [1, 4]}}.")
        params = {name: value for name, value in given.items() if name not in _RESERVED}
        return str(given.get("kind", label)), params, dict(grid)
    if isinstance(given, Component):
        return _kind_of(given), given.params(), {}
    if dataclasses.is_dataclass(given) and not isinstance(given, type):
        return _kind_of(given), {f.name: getattr(given, f.name) for f in dataclasses.fields(given)}, {}
    raise LabError(
        f"{where} is {given!r}; expected a policy or environment of this library, a dataclass of yours, or a table "
        'of settings such as {"kind": "module:Class", "parameter": 1}.'
    )


def _kind_of(thing: object) -> str:
    made = type(thing)
    if made in _library_classes("class").values():
        return made.__name__
    if "<locals>" in made.__qualname__:
        raise LabError(f"class {made.__name__} is defined inside a function; move it to the top of a module.")
    return f"{made.__module__}:{made.__qualname__}"


def _modules(made: Any, params: Mapping[str, Any]) -> Iterator[str]:
    """Yield the modules outside this library that an object and its parts come from."""
    parts = [made, *(type(part) for part in _components(list(params.values())))]
    yield from {part.__module__ for part in parts if part.__module__.partition(".")[0] != "eigenbandits"}


def _components(values: list[Any]) -> Iterator[Component]:
    for value in values:
        if isinstance(value, Component):
            yield value
            yield from _components(list(value.params().values()))


def _combinations(label: str, grid: Mapping[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    for values in product(*grid.values()):
        chosen = dict(zip(grid, values, strict=True))
        yield ", ".join([label, *(f"{name}={value}" for name, value in chosen.items())]), chosen


def _arguments(
    made: Callable[..., Any], params: Mapping[str, Any], where: str, what: str, data_files: DataFiles, base: Path
) -> dict[str, Any]:
    """Return all arguments as JSON values, refusing unknown and missing ones."""
    known = dict(inspect.signature(made).parameters)
    if what == "policy":
        if params.get("seed") is not None:
            raise LabError(f"{where} sets seed; leave it out, because the experiment seeds every cell.")
        known.pop("seed", None)
        params = {name: value for name, value in params.items() if name != "seed"}
    if not any(p.kind is p.VAR_KEYWORD for p in known.values()):
        check_names(where, params, known)
    missing = [
        n for n, p in known.items() if p.default is p.empty and p.kind in (p.KEYWORD_ONLY, p.POSITIONAL_OR_KEYWORD)
    ]
    for name in missing:
        if name not in params:
            raise LabError(f"{where} needs {name}; add it.")
    defaults = {name: p.default for name, p in known.items() if p.default is not p.empty}
    return {name: _as_json(value, where, data_files, base) for name, value in sorted((defaults | dict(params)).items())}


def _as_json(value: Any, where: str, data_files: DataFiles, base: Path) -> Any:
    def walk(item: Any) -> Any:
        if data.is_data_file(item):
            return {"$file": data_files.reference((base / item).absolute())}
        if isinstance(item, dict) and item.keys() & {"$file", "$stored"}:  # read back from an experiment.json
            return {key: data_files.reference(Path(reference["path"])) for key, reference in item.items()}
        if isinstance(item, dict) and "$array" in item:
            return {"$stored": data_files.keep(arrays[item["$array"]])}
        if isinstance(item, dict):
            return {key: walk(entry) for key, entry in item.items()}
        if isinstance(item, list) and len(item) > _LONG and all(isinstance(entry, int | float) for entry in item):
            return {"$stored": data_files.keep(np.asarray(item))}
        return [walk(entry) for entry in item] if isinstance(item, list) else item

    arrays: dict[str, Any] = {}
    try:
        return walk(files.encode(_plain(value), arrays))
    except TypeError as error:
        raise LabError(f"{where}: {error}.") from None


def _plain(value: Any) -> Any:
    """Return paths as strings, tables of structures as structures, and dataclasses such as `Log` as tables."""
    if isinstance(value, Path):
        return str(value)
    if isinstance(value, Mapping):
        if any(str(name).startswith("$") for name in value):
            return value  # read back from an experiment.json
        if set(value) == {f.name for f in dataclasses.fields(Structure)}:
            return Structure(**value)
        return {name: _plain(item) for name, item in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    if dataclasses.is_dataclass(value) and not isinstance(value, Structure | type):
        return {f.name: _plain(getattr(value, f.name)) for f in dataclasses.fields(value)}
    return value


def _with_data(table: dict[str, Any]) -> Any:
    """Return the path of a data file, or the array mapped from it, where a table is the reference of one."""
    if "$file" in table:
        return str(data.check(table["$file"]))
    return np.load(data.check(table["$stored"]), mmap_mode="r", allow_pickle=False)


def _without_places(table: dict[str, Any]) -> Any:
    """Return the reference of a data file without its place."""
    return {key: reference["sha256"] for key, reference in table.items()}


def _replaced_references(value: Any, replace: Callable[[dict[str, Any]], Any]) -> Any:
    """Return JSON values with all references of data files replaced."""
    if isinstance(value, list):
        return [_replaced_references(item, replace) for item in value]
    if not isinstance(value, dict):
        return value
    if "$file" in value or "$stored" in value:
        return replace(value)
    return {key: _replaced_references(item, replace) for key, item in value.items()}


def _known_to(name: str, environment: Any, instance: Any) -> Any:
    for thing in (instance, environment):
        if hasattr(thing, name):
            return getattr(thing, name)
    raise LabError(f"environment {environment.name} has no {name!r} for a policy that reads '${name}'.")
