"""MCP: tools with which an agent asks the service for a decision and reports its reward. Needs the extra `mcp`."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from mcp.server import MCPServer
from mcp.server.mcpserver.exceptions import ToolError

from eigenbandits.serve.client import Client, ServiceError

INSTRUCTIONS = (
    "Use `decide` to choose one of several options, and later `reward` with the id of the decision and a number that "
    "says how well it went. The service learns from it. `policies` lists what can be decided."
)


@contextmanager
def _tool_errors() -> Iterator[None]:
    """Report a refusal of the service to the agent, which can often correct the cause itself."""
    try:
        yield
    except (ServiceError, ValueError) as error:
        raise ToolError(str(error)) from error


def server(client: Client) -> MCPServer[Any]:
    """Return an MCP server that calls the decision service through a client.

    The policies live in the service, so that decisions and rewards survive this process and are shared with others.
    The key of the client decides what the agent may do: use one with the scopes decide and reward only.
    """
    made: MCPServer[Any] = MCPServer("eigenbandits", instructions=INSTRUCTIONS)

    @made.tool()
    def policies() -> list[dict[str, Any]]:
        """List the policies that can decide, with the catalogue that each one chooses from."""
        kept = ("name", "algorithm", "catalogue", "dim", "decisions", "rewards")
        with _tool_errors():
            return [{name: one[name] for name in kept} for one in client.policies()]

    @made.tool()
    def decide(
        policy: str,
        actions: list[list[float]] | None = None,
        query: list[float] | None = None,
        items: list[str] | None = None,
    ) -> dict[str, Any]:
        """Choose one of several options with a policy.

        Give `actions`, one vector of numbers for each option, for a policy without a catalogue. For a policy with a
        catalogue give the vector of the `query`, and optionally the ids of the `items` to choose from. The answer has
        the `index` or `item` that was chosen, and the id of the `decision` to send the reward with.
        """
        with _tool_errors():
            decided = client.decide(policy, actions, query=query, items=items)
        return {
            "decision": decided.decision,
            "index": decided.index,
            "item": decided.item,
            "estimate": decided.estimate,
        }

    @made.tool()
    def reward(policy: str, decision: str, reward: float) -> str:
        """Report how well a decision went, once; more is better, on any scale that stays the same."""
        with _tool_errors():
            return client.reward(policy, decision, reward)

    @made.tool()
    def diagnostics(policy: str) -> list[str]:
        """Describe in sentences what a policy has found so far."""
        with _tool_errors():
            return list(client.diagnostics(policy)["summary"])

    return made
