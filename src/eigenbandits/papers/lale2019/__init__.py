"""Lale, Azizzadenesheli, Anandkumar, Hassibi. Stochastic Linear Bandits with Hidden Low Rank Structure. 2019."""

from eigenbandits.papers.lale2019.players import GROUPS, SampledOFUL, groups, line_up
from eigenbandits.papers.lale2019.settings import Block, Plate, all_blocks, plates
from eigenbandits.papers.lale2019.study import Study

__all__ = ["GROUPS", "Block", "Plate", "SampledOFUL", "Study", "all_blocks", "groups", "line_up", "plates"]
