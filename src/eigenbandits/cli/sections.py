"""The commands by section, and the help that lists them so."""

from typing import Any

from typer.core import TyperGroup

# What `eigenbandits --help` lists.
SECTIONS = {
    "First steps": {
        "demo": "See EigenUCB at work, on images and on the paper's model.",
        "audit": "See what your vectors show, and which policy to start with.",
    },
    "Experiments": {
        "run": "Run an experiment, or its missing cells.",
        "report": "Write the report of an experiment.",
        "compare": "Compare all policies on the paper's model.",
        "paper": "Rerun the paper's experiments.",
        "data": "Fetch public datasets, and show which are available.",
        "features": "Train networks, keep their features, and list them.",
    },
    "Services": {
        "serve": "Run the decision service.",
        "decide-server": "Run one of several deciders of a service.",
        "learner": "Run the learner of several deciders.",
        "import-log": "Let a policy of the service learn from a log.",
        "keys": "Create, list and revoke keys of the decision service.",
        "router": "Run a gateway for language models, or measure it.",
        "mcp": "Offer the decision service to agents, as MCP tools.",
    },
    "Studies that the documentation reports": {
        "problems": "Regret on real decisions, compared with other libraries.",
        "robustness": "Regret where low rank holds, partly holds and fails.",
        "drift": "Regret in environments that change.",
        "lists": "Lists of films for the users of MovieLens.",
        "scorer": "Policies that start from an existing scorer.",
        "translate": "What a policy keeps when its encoder is replaced.",
        "guarded": "How often a guarded policy breaks its promise.",
        "offpolicy": "Off-policy intervals, and the cost of random choices.",
        "belief-age": "Regret by the age of the belief that decides.",
        "coverage": "How often the truth leaves each confidence set.",
        "estimates": "Estimates of the rank and of the projection error.",
        "calibrate": "The effect of other values of the library's constants.",
    },
}
# Modules with a function for each of several commands. Any other command has a module of its own, with a function
# `command`, or with `commands` of its own.
SHARED = {
    "experiments": ("demo", "run", "report", "compare"),
    "services": ("serve", "decide-server", "learner", "import-log", "mcp"),
    "studies": tuple(name for name in SECTIONS["Studies that the documentation reports"] if name != "offpolicy"),
}


class Sections(TyperGroup):
    """A group of commands whose help lists them by section."""

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        """Write the list; the arguments are of click's types, which typer brings itself in newer versions."""
        for title, commands in SECTIONS.items():
            with formatter.section(title):
                formatter.write_dl(list(commands.items()))
