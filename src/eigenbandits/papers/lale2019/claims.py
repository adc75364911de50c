"""The paper's claims one by one, each with its test on the results table."""

from __future__ import annotations

from eigenbandits.lab.reporting.tables import percent
from eigenbandits.papers.lale2019.criteria import (
    Claim,
    all_accurate,
    by_rank,
    few,
    growing,
    harder,
    in_words,
    intersection,
    late_learner,
    magnitudes,
    main_pslb,
    on_each,
    smaller_gain,
    still_exploring,
    ten_times_later,
)

CLAIMS: tuple[Claim, ...] = (
    Claim(
        "One dimension is enough: m = 1",
        "section 5",
        "accuracy of the last optimistic model with m = 1 at least 95 %, three datasets",
        "1",
        on_each(
            lambda results, data, dim: main_pslb(results, data, dim).accuracy >= 0.95,
            lambda results, data, dim: percent(main_pslb(results, data, dim).accuracy),
        ),
    ),
    Claim(
        "PSLB makes very few mistakes",
        "section 5, Figure 1",
        "at most one round in a hundred, three datasets",
        "1",
        on_each(
            lambda results, data, dim: main_pslb(results, data, dim).share <= 0.01,
            lambda results, data, dim: (
                f"{main_pslb(results, data, dim).mistakes:,.1f} in {main_pslb(results, data, dim).rounds:,} rounds"
            ),
        ),
    ),
    Claim(
        "Regret is orders of magnitude below OFUL's",
        "abstract, section 5, Figure 1",
        "OFUL's mistakes over PSLB's: at least 100 on all three datasets; partly if 10 on one",
        "1",
        magnitudes,
    ),
    Claim(
        "OFUL starts with linear regret",
        "section 5, Figure 1",
        "at least half of its first 100 rounds are mistakes, three datasets",
        "1",
        on_each(
            lambda results, data, dim: results.oful(data, dim).early >= 50.0,
            lambda results, data, dim: f"{results.oful(data, dim).early:.0f}",
        ),
    ),
    Claim(
        "PSLB learns an accurate model in the first few rounds",
        "section 5, Figure 1",
        "accuracy stays at 90 % or more from round 10 or earlier, three datasets",
        "1",
        on_each(
            lambda results, data, dim: main_pslb(results, data, dim).learned <= 10.0,
            lambda results, data, dim: in_words(main_pslb(results, data, dim).learned),
        ),
    ),
    Claim(
        "OFUL needs many more rewards for an accurate model",
        "section 5, Figure 1",
        "the round from which on accuracy stays at 90 % is at least 10 times later, three datasets",
        "1",
        on_each(
            ten_times_later,
            lambda results, data, dim: in_words(results.oful(data, dim).learned),
        ),
    ),
    Claim(
        "At d = 100 the gain over OFUL is smaller than at d = 500 and 1000",
        "section D, MNIST",
        "OFUL's mistakes over PSLB's at d = 100 are below those at both, for each m",
        "2",
        smaller_gain,
    ),
    Claim(
        "The larger m, the more the projection error costs",
        "section D, MNIST, d = 100",
        "mistakes grow from each m to the next",
        "2",
        growing,
    ),
    Claim(
        "OFUL overtakes PSLB for m ≥ 8",
        "section D, MNIST, d = 100",
        "PSLB makes fewer mistakes for m = 1, 2, 4 and more for m = 8, 16",
        "2",
        by_rank("mnist", 100, lambda m: m < 8),
    ),
    Claim(
        "With the intersection of both sets PSLB is at least as good as OFUL",
        "section D, MNIST and CIFAR-10, d = 100",
        "at most 1.1 times OFUL's mistakes for each m",
        "2",
        intersection,
    ),
    Claim(
        "PSLB makes fewer mistakes than OFUL for each m",
        "section D, MNIST, d = 500",
        "fewer for each of the five",
        "3",
        by_rank("mnist", 500, lambda m: True),
    ),
    Claim(
        "With m = 8 it explores at the beginning and then converges",
        "section D, MNIST, d = 500",
        "accuracy of at least 90 % at the end, and mistakes in the last fifth at less than half the mean rate",
        "3",
        late_learner,
    ),
    Claim(
        "PSLB makes fewer mistakes than OFUL for every m",
        "section D, MNIST, d = 1000",
        "fewer for each of the five",
        "4",
        by_rank("mnist", 1000, lambda m: True),
    ),
    Claim(
        "For every m PSLB learns the model accurately",
        "section D, MNIST, d = 1000",
        "accuracy of at least 90 % at the end for each m",
        "4",
        all_accurate,
    ),
    Claim(
        "OFUL is still exploring at the end",
        "section D, MNIST, d = 1000",
        "it is wrong in at least 5 % of the last fifth of the rounds, and less accurate than PSLB",
        "4",
        still_exploring,
    ),
    Claim(
        "The projected sets pay only for m = 1, 2 and 4",
        "section D, CIFAR-10, d = 100",
        "PSLB makes fewer mistakes for m = 1, 2, 4 and more for m = 8, 16",
        "5",
        by_rank("cifar10", 100, lambda m: m < 8),
    ),
    Claim(
        "With m = 1 PSLB makes almost no mistakes",
        "section D, CIFAR-10, d = 100",
        "at most 2 in 1,000 rounds",
        "5",
        few("cifar10", 100, 0.002),
    ),
    Claim(
        "With m = 1 PSLB makes very few mistakes",
        "section D, CIFAR-10, d = 500",
        "at most 10 in 1,000 rounds",
        "6",
        few("cifar10", 500, 0.01),
    ),
    Claim(
        "PSLB wins clearly with 1,000 actions",
        "section D, ImageNet, d = 100",
        "fewer mistakes than OFUL for each m",
        "8",
        by_rank("imagenet", 100, lambda m: True),
    ),
    Claim(
        "1,000 actions are harder than 10",
        "section D, ImageNet, d = 100",
        "more mistakes per round than on MNIST and CIFAR-10 at d = 100, for OFUL and for PSLB with m = 1",
        "8",
        harder,
    ),
)
