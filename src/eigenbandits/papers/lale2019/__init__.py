"""Lale, Azizzadenesheli, Anandkumar, Hassibi. Stochastic Linear Bandits with Hidden Low Rank Structure. 2019."""

from eigenbandits.papers.lale2019.environment import Images
from eigenbandits.papers.lale2019.policies import GROUPS, SampledOFUL, groups, line_up
from eigenbandits.papers.lale2019.settings import Block, PaperFigure, all_blocks, paper_figures
from eigenbandits.papers.lale2019.study import Study

__all__ = [
    "GROUPS",
    "Block",
    "Images",
    "PaperFigure",
    "SampledOFUL",
    "Study",
    "all_blocks",
    "groups",
    "line_up",
    "paper_figures",
]
