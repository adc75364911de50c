"""Optional packages: a feature whose package is missing says in one sentence how to install it."""

from importlib.util import find_spec


class MissingExtraError(ImportError):
    """A feature needs a package that is not installed."""


def need(extra: str, *modules: str, what: str) -> None:
    """Raise `MissingExtraError`, with the command that helps, unless all of an extra's modules can be imported.

    Parameters
    ----------
    extra
        The extra of this package that brings the modules.
    *modules
        Their names.
    what
        What needs them, as the subject of a sentence.

    Examples
    --------
    >>> need("plot", "math", what="Drawing a figure")
    >>> need("plot", "no_such_module", what="Drawing a figure")
    Traceback (most recent call last):
        ...
    eigenbandits.extras.MissingExtraError: Drawing a figure needs no_such_module; run: pip install "eigenbandits[plot]"
    """
    missing = [module for module in modules if find_spec(module) is None]
    if missing:
        raise MissingExtraError(f'{what} needs {" and ".join(missing)}; run: pip install "eigenbandits[{extra}]"')
