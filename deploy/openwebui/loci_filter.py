"""
title: Loci memory
author: Loci
version: 1.0.0
required_open_webui_version: 0.12.0
description: Gives chats the long-term memory that Loci keeps of their user, and tells Loci what was said.
"""

import asyncio
import json
import logging
import re
import urllib.error
import urllib.request

from pydantic import BaseModel, Field

log = logging.getLogger(__name__)

# Chats that nobody keeps, and rooms that others read.
UNSAVED = ("temporary:", "local:", "channel:")
# What Open WebUI writes around the words of a message.
ATTACHED = re.compile(r"<attached_files>.*?</attached_files>\s*", re.DOTALL)
DETAILS = re.compile(r"<details\b.*?</details>\s*", re.DOTALL)
# Begins the summary that takes the place of compacted messages.
SUMMARY = "[CONVERSATION SUMMARY]"


class Filter:
    class Valves(BaseModel):
        url: str = Field(default="http://127.0.0.1:7077", description="Where Loci listens.")
        key: str = Field(default="", description="Key of the role front: loci keys add open-webui --front")
        search_timeout: float = Field(default=2.0, description="Seconds that a message waits for memory.")
        add_timeout: float = Field(default=10.0, description="Seconds that telling Loci may take.")
        priority: int = Field(default=0, description="Order among filters; lower ones run first.")

    class UserValves(BaseModel):
        paused: bool = Field(default=False, description="Neither use memory nor add to it.")

    def __init__(self):
        self.valves = self.Valves()

    async def inlet(self, body: dict, __user__: dict = None, __metadata__: dict = None, __event_emitter__=None) -> dict:
        """Puts what matters for the message into the system message."""
        metadata = __metadata__ or {}
        chat = metadata.get("chat_id") or ""
        if not self._takes_part(chat, metadata, __user__):
            return body
        words = spoken(metadata.get("user_message")) or spoken(last_user(body.get("messages")))
        if not words:
            return body
        question = {"query": words, "block": True}
        if not any(SUMMARY in text_of(m) for m in body["messages"] if m.get("role") == "system"):
            question["asked_in"] = chat
        try:
            found = await self._post("/api/memory/search", question, __user__["id"], self.valves.search_timeout)
        except Exception as error:
            log.warning("Loci was not asked: %s", error)
            await say(__event_emitter__, "Memory is not available")
            return body
        if block := found.get("block"):
            add_system(body["messages"], block)
            count = len(found.get("hits") or [])
            await say(__event_emitter__, "1 memory used" if count == 1 else f"{count} memories used" if count else "Memory used")
        return body

    async def outlet(self, body: dict, __user__: dict = None, __metadata__: dict = None, __event_emitter__=None) -> dict:
        """Tells Loci the last message of the user and its answer, and where in the chat they are."""
        metadata = __metadata__ or {}
        chat = body.get("chat_id") or metadata.get("chat_id") or ""
        if not self._takes_part(chat, metadata, __user__):
            return body
        exchange = last_exchange(body.get("messages") or [], body.get("id"))
        if exchange is None:
            return body
        try:
            await self._post("/api/memory/add", {"conversation": chat, **exchange}, __user__["id"], self.valves.add_timeout)
        except urllib.error.HTTPError as error:
            if error.code != 409:  # memory is paused there
                log.warning("Loci was not told: %s", error)
                await say(__event_emitter__, "Memory is not available")
        except Exception as error:
            log.warning("Loci was not told: %s", error)
            await say(__event_emitter__, "Memory is not available")
        return body

    def _takes_part(self, chat: str, metadata: dict, user: dict) -> bool:
        if not chat or chat.startswith(UNSAVED) or metadata.get("task"):
            return False
        if not user or not user.get("id"):
            return False
        valves = user.get("valves")
        return not (valves.get("paused") if isinstance(valves, dict) else getattr(valves, "paused", False))

    async def _post(self, path: str, body: dict, user: str, timeout: float) -> dict:
        request = urllib.request.Request(
            self.valves.url.rstrip("/") + path,
            data=json.dumps(body).encode(),
            headers={"Content-Type": "application/json", "X-Loci-User": user, **({"X-Loci-Key": self.valves.key} if self.valves.key else {})},
        )

        def send():
            with urllib.request.urlopen(request, timeout=timeout) as answer:
                return json.loads(answer.read())

        return await asyncio.to_thread(send)


def text_of(message: dict) -> str:
    content = (message or {}).get("content") or ""
    if isinstance(content, list):
        content = "\n".join(part.get("text") or "" for part in content if part.get("type") == "text")
    return content


def spoken(message: dict) -> str:
    """The words of a message, without what Open WebUI writes around them."""
    return DETAILS.sub("", ATTACHED.sub("", text_of(message))).strip()


def last_user(messages: list) -> dict:
    return next((m for m in reversed(messages or []) if m.get("role") == "user"), {})


def last_exchange(messages: list, answer_id: str) -> dict:
    """The answer of that id with the user's message before it, as /api/memory/add takes them; None without them."""
    at = next((i for i in range(len(messages) - 1, -1, -1) if messages[i].get("id") == answer_id), len(messages) - 1)
    asked = next((i for i in range(at, -1, -1) if messages[i].get("role") == "user"), -1)
    if asked < 0 or not messages[asked].get("id"):
        return None
    said = [
        {"id": m["id"], "role": m["role"], "content": spoken(m)}
        for m in (messages[asked], messages[at])
        if m.get("id") and m.get("role") in ("user", "assistant") and spoken(m)
    ]
    if not said or said[0]["role"] != "user":
        return None
    return {"parent_id": messages[asked - 1].get("id") or "" if asked else "", "messages": said}


def add_system(messages: list, block: str) -> None:
    """Appends block to the system message, or begins with one."""
    first = messages[0] if messages else {}
    if first.get("role") != "system":
        messages.insert(0, {"role": "system", "content": block})
    elif isinstance(first.get("content"), list):
        first["content"] = [*first["content"], {"type": "text", "text": block}]
    else:
        first["content"] = f"{first.get('content') or ''}\n\n{block}".strip()


async def say(emitter, words: str) -> None:
    """Shows a line above the answer."""
    if emitter:
        await emitter({"type": "status", "data": {"description": words, "done": True}})
