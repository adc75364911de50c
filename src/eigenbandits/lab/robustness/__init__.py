"""EigenUCB where low rank holds, where it half holds and where it fails, beside everyone else on the same seeds."""

from eigenbandits.lab.robustness.rows import Row, experiment, rows
from eigenbandits.lab.robustness.tables import tables
from eigenbandits.lab.robustness.verdicts import Verdict, verdicts

__all__ = ["Row", "Verdict", "experiment", "rows", "tables", "verdicts"]
