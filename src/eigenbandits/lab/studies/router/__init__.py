"""The router compared with ParetoBandit on its own four experiments, and on RouteLLM's pairs of answers."""

from eigenbandits.lab.studies.router import calibration
from eigenbandits.lab.studies.router.data import prepare, read
from eigenbandits.lab.studies.router.report import report
from eigenbandits.lab.studies.router.study import SCENARIOS, experiment
from eigenbandits.lab.studies.router.timing import timing

__all__ = ["SCENARIOS", "calibration", "experiment", "prepare", "read", "report", "timing"]
