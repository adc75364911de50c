"""Every quantity of the paper's analysis as one pure function, computed as the paper writes it.

The paper is Lale, Azizzadenesheli, Anandkumar and Hassibi, *Stochastic Linear Bandits with Hidden Low Rank
Structure* (2019); equations and lemmas are cited by number and by LaTeX label. Nothing here knows policies, beliefs
or subspaces. All functions share these words:

================  ========================================================================================
``structure``     a `Structure`: what the analysis assumes to be known of the actions
``arms``          K, actions per round
``dim, rank``     d and m
``delta``         δ, the probability of failure
``rounds``        t
``noise``         R, the sub-Gaussian scale of the reward noise
``theta_bound``   S, with ``‖θ*‖ <= S``
``action_bound``  L, with ``‖x̂‖ <= L`` for every action
``ridge``         λ, the regularization
================  ========================================================================================
"""

from eigenbandits.theory.mixture import mixture_level, omega_mixture, penalty_bound, prediction_score, squared_radius
from eigenbandits.theory.radius import (
    beta,
    beta_worst_case,
    gamma,
    noise_radius,
    omega_logdet,
    omega_paper,
    soful_paper,
    spend,
)
from eigenbandits.theory.regret import RegretBound, best_of_both, oful_regret_bound, regret_bound, t_r, upsilon
from eigenbandits.theory.structure import (
    Structure,
    alpha,
    difficulty,
    g_psi,
    g_x,
    n_delta,
    phi_delta,
    projection_error,
    projection_error_main,
    t_min,
    t_w,
)

__all__ = [
    "RegretBound",
    "Structure",
    "alpha",
    "best_of_both",
    "beta",
    "beta_worst_case",
    "difficulty",
    "g_psi",
    "g_x",
    "gamma",
    "mixture_level",
    "n_delta",
    "noise_radius",
    "oful_regret_bound",
    "omega_logdet",
    "omega_mixture",
    "omega_paper",
    "penalty_bound",
    "phi_delta",
    "prediction_score",
    "projection_error",
    "projection_error_main",
    "regret_bound",
    "soful_paper",
    "spend",
    "squared_radius",
    "t_min",
    "t_r",
    "t_w",
    "upsilon",
]
