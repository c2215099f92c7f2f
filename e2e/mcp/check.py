"""Drives Loci's MCP door with the Python SDK: over stdio and streamable HTTP, by each of its modes.

Usage: check.py LOCI URL KEY
"""

import asyncio
import json
import sys
import tempfile
from importlib.metadata import version

import httpx2
from mcp import Client, StdioServerParameters
from mcp.client.streamable_http import streamable_http_client

TOOLS = ["context", "forget", "get", "list", "recall", "remember", "review", "update"]


async def call(client, tool, **arguments):
    """Returns the structured result; the SDK checks it against the tool's output schema."""
    result = await client.call_tool(tool, arguments)
    assert not result.is_error, f"{tool} {arguments}: {result.content}"
    text = result.content[0].text
    if tool != "context":
        assert json.loads(text) == result.structured_content, f"{tool}: {text} is not {result.structured_content}"
    return result.structured_content


async def whole(client, where):
    assert client.server_info.name == "loci" and "remember" in client.instructions
    assert client.server_capabilities.logging is None
    assert sorted(t.name for t in (await client.list_tools()).tools) == TOOLS
    made = await call(client, "remember", content=f"User plays the cello with {where}", tags="music")
    assert made["result"] == "saved"
    assert (await call(client, "remember", content=f"User plays the cello with {where}"))["result"] == "duplicate"
    found = await call(client, "recall", q="which instrument does the user play?", limit="3")
    assert found["relevant"] and made["id"] in [m["id"] for m in found["memories"]], found
    nothing = await call(client, "recall", query="boiling point of tungsten")
    assert not nothing["relevant"] and nothing["memories"] == [], nothing
    assert "cello" in (await call(client, "context", topic="which instrument do I play?"))["context"]
    assert (await call(client, "get", id=made["id"]))["content"] == made["content"]
    assert made["id"] in [m["id"] for m in (await call(client, "list", tag="music"))["memories"]]
    changed = await call(client, "update", id=made["id"], content=f"User plays the viola with {where}")
    assert changed["result"] == "saved", changed
    assert (await call(client, "forget", ids=[changed["id"]]))["result"] == "would_forget"
    assert (await call(client, "review"))["waiting"] == []
    assert "viola" in (await client.read_resource(f"loci://memory/{changed['id']}")).contents[0].text
    assert (await client.read_resource("loci://profile")).contents[0].text.startswith("{")
    assert sorted(p.name for p in (await client.list_prompts()).prompts) == ["about", "save_session"]
    about = await client.get_prompt("about", {"topic": "which instrument do I play?"})
    assert "viola" in about.messages[0].content.text
    assert (await call(client, "forget", ids=changed["id"], dry_run="false"))["result"] == "forgotten"
    refused = await client.call_tool("get", {"id": "no-such-id"})
    assert refused.is_error and "no memory" in refused.content[0].text
    print(f"ok: mcp {version('mcp')} (Python), {where}, protocol {client.protocol_version}", flush=True)


async def main(loci, url, key):
    for mode in "legacy", "auto":
        with tempfile.TemporaryDirectory() as data:
            async with Client(StdioServerParameters(command=loci, args=["mcp", "--data", data]), mode=mode) as client:
                await whole(client, f"stdio {mode}")
        async with httpx2.AsyncClient(headers={"Authorization": f"Bearer {key}"}) as http:
            async with Client(streamable_http_client(url, http_client=http), mode=mode) as client:
                await whole(client, f"http {mode}")


asyncio.run(main(*sys.argv[1:]))
