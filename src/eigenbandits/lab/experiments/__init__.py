"""What is run, stored and resumed: experiments, their cells, the engines that run them, and their results."""

from eigenbandits.lab.experiments.experiment import Experiment
from eigenbandits.lab.experiments.recording import Record
from eigenbandits.lab.experiments.results import Results
from eigenbandits.lab.experiments.specs import entry

__all__ = ["Experiment", "Record", "Results", "entry"]
