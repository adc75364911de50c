"""Which action, given a belief: optimism, exact or sampled; Thompson sampling; the best estimate; chance."""

from eigenbandits.rules.base import Choice, Rule
from eigenbandits.rules.greedy import BestEstimate, EpsilonBest, Uniform
from eigenbandits.rules.optimism import ExactOptimism, Optimism
from eigenbandits.rules.sampled import SampledOptimism
from eigenbandits.rules.thompson import Thompson

__all__ = [
    "BestEstimate",
    "Choice",
    "EpsilonBest",
    "ExactOptimism",
    "Optimism",
    "Rule",
    "SampledOptimism",
    "Thompson",
    "Uniform",
]
