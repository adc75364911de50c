"""The MCP server: an agent that speaks the protocol decides, rewards and reads, through a real service."""

import asyncio

import pytest

from eigenbandits.serve import Client, Settings, running

mcp = pytest.importorskip("mcp", reason='mcp is not installed; run: pip install "eigenbandits[mcp]"')


def test_an_agent_decides_and_reports(tmp_path):
    from eigenbandits.adapters.mcp import server

    async def talk(made):
        async with mcp.Client(made) as agent:
            names = [tool.name for tool in (await agent.list_tools()).tools]

            async def call(name, **arguments):
                answer = await agent.call_tool(name, arguments)
                found = answer.structured_content
                return found["result"] if found and set(found) == {"result"} else found or answer

            decided = await call("decide", policy="news", actions=[[1.0, 0.0], [0.0, 1.0]])
            item = await call("decide", policy="shop", query=[1.0, 2.0], items=["b"])
            said = [await call("reward", policy="news", decision=decided["decision"], reward=1.0) for _ in range(2)]
            wrong = await agent.call_tool("decide", {"policy": "nothing", "actions": [[1.0]]})
            return names, decided, item, said, wrong, await call("policies"), await call("diagnostics", policy="news")

    with running(Settings(folder=tmp_path, port=0)) as service, Client(service.url) as client:
        client.create_policy("news", parameters={"seed": 0})
        client.create_catalogue("goods", ["a", "b"], [[1.0, 0.0], [0.0, 1.0]])
        client.create_policy("shop", catalogue="goods")
        names, decided, item, said, wrong, policies, summary = asyncio.run(talk(server(client)))
        assert client.policy("news")["rewards"] == 1
    assert names == ["policies", "decide", "reward", "diagnostics"]
    assert decided["index"] in (0, 1)
    assert item["item"] == "b"
    assert said == ["learned", "repeated"]
    assert wrong.is_error
    assert "There is no policy 'nothing'" in wrong.content[0].text
    assert {one["name"]: one["decisions"] for one in policies} == {"news": 1, "shop": 1}
    assert all(isinstance(sentence, str) for sentence in summary)
