"""The router beside ParetoBandit on its own four experiments, and on RouteLLM's pairs of answers."""

from eigenbandits.lab.studies.router.data import prepare
from eigenbandits.lab.studies.router.study import SCENARIOS, experiment

__all__ = ["SCENARIOS", "experiment", "prepare"]
