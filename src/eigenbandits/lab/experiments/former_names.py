"""Former names of classes that have moved or been renamed, so that existing results are read instead of run again."""

# Classes whose modules have moved since cells were first written: how their kinds begin now, and how they began then.
_MOVED = {
    "eigenbandits.lab.studies.baselines:Informed": "eigenbandits.lab.robustness.players:Told",
    "eigenbandits.lab.studies.baselines:": "eigenbandits.lab.robustness.players:",
    "eigenbandits.lab.studies.robustness.clicks:": "eigenbandits.lab.robustness.clicks:",
    "eigenbandits.lab.studies.problems.": "eigenbandits.lab.problems.",
    "eigenbandits.papers.lale2019.policies:": "eigenbandits.papers.lale2019.players:",
}
# Classes that have other names now: their kinds, and those of then, by which cells are still identified.
RENAMED = {
    "eigenbandits.papers.lale2019.environment:Images": "Images",
    "eigenbandits.lab.studies.belief_age:DelayedPolicy": "eigenbandits.lab.studies.belief_age:Aged",
    "eigenbandits.lab.studies.scorer:ScoredPolicy": "eigenbandits.lab.studies.scorer:ScoredPlayer",
    "eigenbandits.lab.studies.translate:TranslatedPolicy": "eigenbandits.lab.studies.translate:TranslatedPlayer",
    "eigenbandits.lab.studies.router.policies:RouterPolicy": "eigenbandits.lab.studies.router.players:RouterPlayer",
    "eigenbandits.lab.studies.router.policies:BudgetedPolicy": "eigenbandits.lab.studies.router.players:BudgetedPlayer",
    "eigenbandits.lab.studies.router.policies:ParetoPolicy": "eigenbandits.lab.studies.router.players:ParetoPlayer",
    **{
        f"eigenbandits.lab.studies.lists.recommenders:{now}": f"eigenbandits.lab.studies.lists.recommenders:{former}"
        for now, former in {
            "ListRecommender": "Listed",
            "SequentialRecommender": "OneByOne",
            "PartsRecommender": "FromParts",
            "SingleRecommender": "Single",
            "RandomRecommender": "Chance",
        }.items()
    },
}


def present_kind(kind: str) -> str:
    """Return the kind that a class has now."""
    renamed = {former: now for now, former in RENAMED.items()}
    if kind in renamed:
        return renamed[kind]
    begun = ((now, former) for now, former in _MOVED.items() if kind.startswith(former))
    now, former = next(begun, ("", ""))
    return now + kind.removeprefix(former)
