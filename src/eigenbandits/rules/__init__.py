"""Rules, which choose an action given a belief: optimism, Thompson sampling, inverse gaps, best estimate, chance."""

from eigenbandits.rules.base import Choice, Rule
from eigenbandits.rules.floor import Floor
from eigenbandits.rules.greedy import BestEstimate, Uniform
from eigenbandits.rules.guard import Guard
from eigenbandits.rules.inverse_gap import InverseGap, RandomizedOptimism
from eigenbandits.rules.optimism import ExactOptimism, JointOptimism, Optimism
from eigenbandits.rules.paced import Paced
from eigenbandits.rules.pacer import Pacer
from eigenbandits.rules.sampled import SampledOptimism
from eigenbandits.rules.thompson import Thompson

__all__ = [
    "BestEstimate",
    "Choice",
    "ExactOptimism",
    "Floor",
    "Guard",
    "InverseGap",
    "JointOptimism",
    "Optimism",
    "Paced",
    "Pacer",
    "RandomizedOptimism",
    "Rule",
    "SampledOptimism",
    "Thompson",
    "Uniform",
]
