"""Calls each method of mem0's Python clients, sync and async, and the open-source server's paths.

Usage: check.py KEY URL...
Prints what each method does: works, or 501 for what Loci does not have.
"""

import asyncio
import inspect
import logging
import sys
from importlib.metadata import version

import httpx
from mem0 import AsyncMemoryClient, MemoryClient
from mem0.client.project import AsyncProject, Project

logging.disable(logging.CRITICAL)  # the clients log each refusal


class Check:
    """Calls methods of one client and notes what they do."""

    def __init__(self, client, project):
        self.client, self.project, self.did = client, project, {}

    async def call(self, name, /, *args, **kwargs):
        holder = self.client
        if name.startswith("project."):
            holder = self.client.project
        result = getattr(holder, name.removeprefix("project."))(*args, **kwargs)
        if inspect.isawaitable(result):
            result = await result
        self.did[name] = "works"
        return result

    async def lacks(self, name, /, *args, **kwargs):
        try:
            got = await self.call(name, *args, **kwargs)
        except Exception as e:
            code = getattr(e, "error_code", "")
            assert code == "HTTP_501" and len(str(e)) > 20, f"{name}: {code} {e!r}"
            self.did[name] = "501"
            return
        raise AssertionError(f"{name} answered {got}")

    async def refuses(self, code, name, /, *args, **kwargs):
        did = self.did.get(name)
        try:
            got = await self.call(name, *args, **kwargs)
        except Exception as e:
            assert getattr(e, "error_code", "") == code, f"{name}: {e!r}"
            self.did[name] = did
            return
        raise AssertionError(f"{name} answered {got}")

    def whole(self):
        """Fails for a method that was not called."""
        left = {n for n in methods(type(self.client)) if n not in self.did}
        left |= {f"project.{n}" for n in methods(self.project) if f"project.{n}" not in self.did}
        assert left <= {"chat"}, f"not called: {left}"  # the client itself refuses chat


def methods(of):
    return [n for n, f in inspect.getmembers(of, inspect.isfunction) if not n.startswith("_")]


async def whole(c):
    alice = {"user_id": "alice"}
    made = await c.call("add", "My sister Mia lives in Lisbon and I am allergic to peanuts.", user_id="alice", metadata={"topic": "family", "n": 3})
    assert made["status"] == "SUCCEEDED" and made["event_id"] and made["results"], made
    tea = await c.call("add", [{"role": "user", "content": "The teapot is blue"}], user_id="alice", run_id="r1", agent_id="butler", infer=False)
    assert [r["event"] for r in tea["results"]] == ["ADD"], tea
    await c.call("add", [{"role": "user", "content": "Bob keeps bees"}], filters={"user_id": "bob"}, infer=False)
    found = await c.call("search", "what is she allergic to?", filters=alice, top_k=5)
    assert found["results"] and "peanuts" in found["results"][0]["memory"] and found["results"][0]["metadata"]["n"] == 3, found
    assert not any("peanuts" in m["memory"] for m in (await c.call("search", "peanuts", filters={"user_id": "bob"}))["results"])
    every = await c.call("get_all", filters=alice, page=1, page_size=2)
    assert every["count"] >= 2 and len(every["results"]) == 2, every
    some = await c.call("get_all", filters={"AND": [alice, {"run_id": "r1"}]})
    assert [m["memory"] for m in some["results"]] == ["The teapot is blue"] and some["results"][0]["run_id"] == "r1", some
    id = tea["results"][0]["id"]
    assert (await c.call("get", id))["agent_id"] == "butler"
    assert (await c.call("update", id, text="The teapot is green", metadata={"k": "v"}))["memory"] == "The teapot is green"
    await c.call("batch_update", [{"memory_id": id, "text": "The teapot is red"}])
    await c.call("feedback", id, "POSITIVE", "it is")
    assert [h["event"] for h in await c.call("history", id)][:2] == ["ADD", "UPDATE"]
    entities = await c.call("users")
    assert {"alice", "bob"} <= {e["name"] for e in entities["results"] if e["type"] == "user"}, entities
    assert (await c.call("get_profile", "alice"))["entity_type"] == "user"
    assert (await c.call("get_project"))["name"] and (await c.call("project.get"))["name"]
    await c.call("batch_delete", [{"memory_id": id}])
    await c.refuses("HTTP_404", "get", id)
    assert (await c.call("history", id))[-1]["event"] == "DELETE"
    await c.call("delete", made["results"][0]["id"])
    await c.refuses("HTTP_404", "delete", made["results"][0]["id"])
    await c.call("delete_all", user_id="alice")
    assert (await c.call("get_all", filters=alice))["count"] == 0
    await c.call("delete_users", user_id="bob")
    assert (await c.call("get_all", filters={"user_id": "bob"}))["count"] == 0
    butler = await c.call("add", "I am allergic to cashews.", agent_id="butler", custom_instructions="be brief", includes="food", excludes="names")
    assert butler["results"], butler
    await c.call("add", "The hat is red", agent_id="valet", infer=False)
    found = await c.call("search", "which allergy?", filters={"agent_id": "butler"})
    assert [m["agent_id"] for m in found["results"]] == ["butler"], found
    assert [m["memory"] for m in (await c.call("get_all", filters={"agent_id": "valet"}))["results"]] == ["The hat is red"]
    await c.call("delete_all", agent_id="butler")
    assert (await c.call("get_all", filters={"agent_id": "butler"}))["count"] == 0
    assert (await c.call("get_all", filters={"agent_id": "valet"}))["count"] == 1
    await c.call("add", "The last one", user_id="alice", infer=False)
    await c.call("reset")
    assert (await c.call("users"))["count"] == 0
    for other in {"OR": [alice, {"agent_id": "butler"}]}, {"AND": [alice, {"metadata": {"topic": "family"}}]}, {"run_id": {"ne": "x"}}:
        await c.refuses("HTTP_400", "get_all", filters=other)

    await c.lacks("get_summary", filters=alice)
    await c.lacks("create_memory_export", schema="{}", filters=alice)
    await c.lacks("get_memory_export", filters=alice)
    await c.lacks("generate_profile", "alice")
    await c.lacks("sample_profiles", limit=1)
    await c.lacks("get_profile_job", "j1")
    await c.lacks("get_profile_settings")
    await c.lacks("update_profile_settings", enabled=True)
    await c.call("update_project", custom_instructions="only boats", custom_categories=[{"boats": "what floats"}])
    assert (await c.call("get_project"))["custom_instructions"] == "only boats"
    await c.lacks("get_webhooks", "default")
    await c.lacks("create_webhook", "http://localhost", "hook", "default", ["memory_add"])
    await c.lacks("update_webhook", 7, name="hook")
    await c.lacks("delete_webhook", 7)
    await c.lacks("project.create", "p")
    await c.call("project.update", custom_instructions="only ships")
    set_ = await c.call("project.get")
    assert set_["custom_instructions"] == "only ships", set_
    await c.lacks("project.delete")
    await c.lacks("project.get_members")
    await c.lacks("project.add_member", "a@b.c")
    await c.lacks("project.update_member", "a@b.c", "READER")
    await c.lacks("project.remove_member", "a@b.c")
    c.whole()


def open_source(url, key):
    """The paths of the open-source server, as its own documentation calls them."""
    with httpx.Client(base_url=url.removesuffix("/mem0") + "/mem0", headers={"X-API-Key": key}) as http:

        def call(method, path, **kwargs):
            answer = http.request(method, path, **kwargs)
            assert answer.status_code == 200, f"{method} {path}: {answer.status_code} {answer.text}"
            return answer.json()

        made = call("POST", "/memories", json={"messages": [{"role": "user", "content": "I am allergic to peanuts."}], "user_id": "carl"})
        id = made["results"][0]["id"]
        assert call("GET", "/memories", params={"user_id": "carl"})["results"][0]["id"] == id
        assert call("POST", "/search", json={"query": "which allergy?", "user_id": "carl"})["results"][0]["id"] == id
        assert call("GET", f"/memories/{id}")["id"] == id
        call("PUT", f"/memories/{id}", json={"text": "User is allergic to figs"})
        assert call("GET", f"/memories/{id}/history")[0]["event"] == "ADD"
        call("DELETE", f"/memories/{id}")
        call("DELETE", "/memories", params={"user_id": "carl"})
        assert "detail" in http.post("/reset").json()


async def main(key, *urls):
    did = {}
    for url in urls:
        for client, project in (MemoryClient, Project), (AsyncMemoryClient, AsyncProject):
            c = Check(client(api_key=key, host=url), project)
            await whole(c)
            assert did in ({}, c.did), f"{client.__name__} at {url} does otherwise: {c.did}"
            did = c.did
        open_source(url, key)
        try:
            MemoryClient(api_key="wrong", host=url)
            raise AssertionError("a wrong key opens the server")
        except ValueError as e:
            assert "key" in str(e), e
    for name, does in sorted(did.items()):
        print(f"{name:30} {does}")
    print(f"ok: mem0ai {version('mem0ai')} for Python, at {len(urls)} addresses")


asyncio.run(main(*sys.argv[1:]))
