"""Which action, given a belief: optimism, exact, sampled or joint; Thompson sampling; the best estimate; chance."""

from eigenbandits.rules.base import Choice, Rule
from eigenbandits.rules.greedy import BestEstimate, EpsilonBest, Uniform
from eigenbandits.rules.optimism import ExactOptimism, JointOptimism, Optimism
from eigenbandits.rules.sampled import SampledOptimism
from eigenbandits.rules.thompson import Thompson

__all__ = [
    "BestEstimate",
    "Choice",
    "EpsilonBest",
    "ExactOptimism",
    "JointOptimism",
    "Optimism",
    "Rule",
    "SampledOptimism",
    "Thompson",
    "Uniform",
]
