"""Tests of loci_filter.py. They need neither Open WebUI nor Loci: python3 deploy/openwebui/loci_filter_test.py"""

import asyncio
import http.server
import json
import os
import sys
import threading
import types
import unittest

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

try:
    import pydantic  # noqa: F401
except ImportError:  # Open WebUI brings it along

    class BaseModel:
        def __init__(self, **values):
            for name in self.__annotations__:
                setattr(self, name, values.get(name, getattr(type(self), name)))

    sys.modules["pydantic"] = types.SimpleNamespace(BaseModel=BaseModel, Field=lambda default=None, **_: default)

import loci_filter

BLOCK = "<loci-memory>\n- Mira lives in Lisbon\n</loci-memory>"


class Loci:
    """Answers searches and adds, and keeps them."""

    def __init__(self):
        self.requests, self.status = [], 200
        self.found = {"hits": [{"id": "1"}, {"id": "2"}], "block": BLOCK, "pause": "none"}
        loci = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_POST(self):
                body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                loci.requests.append((self.path, self.headers["X-Loci-User"], self.headers["X-Loci-Key"], body))
                answer = json.dumps(loci.found if self.path.endswith("search") else {"turns": []}).encode()
                self.send_response(loci.status)
                self.send_header("Content-Length", str(len(answer)))
                self.end_headers()
                self.wfile.write(answer)

            def log_message(self, *_):
                pass

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        threading.Thread(target=self.server.serve_forever, args=(0.01,), daemon=True).start()


class FilterTest(unittest.TestCase):
    def setUp(self):
        self.loci = Loci()
        self.addCleanup(self.loci.server.server_close)
        self.addCleanup(self.loci.server.shutdown)
        self.filter = loci_filter.Filter()
        self.filter.valves.url = f"http://127.0.0.1:{self.loci.server.server_port}/"
        self.filter.valves.key = "a-key"
        self.shown = []

    async def emit(self, event):
        self.shown.append(event["data"]["description"])

    def inlet(self, messages, chat="c1", user=None, **metadata):
        body = {"messages": messages}
        return asyncio.run(self.filter.inlet(body, __user__=user or {"id": "ana"}, __metadata__={"chat_id": chat, **metadata}, __event_emitter__=self.emit))["messages"]

    def outlet(self, messages, answer, chat="c1", user=None, **metadata):
        body = {"messages": messages, "id": answer, "chat_id": chat}
        asyncio.run(self.filter.outlet(body, __user__=user or {"id": "ana"}, __metadata__={"chat_id": chat, **metadata}, __event_emitter__=self.emit))

    def test_search_puts_block_into_system_message(self):
        asked = [{"role": "user", "content": "wrapped"}]
        got = self.inlet(asked, user_message={"id": "u1", "content": "Where does Mira live?"})
        self.assertEqual(got, [{"role": "system", "content": BLOCK}, {"role": "user", "content": "wrapped"}])
        self.assertEqual(self.loci.requests, [("/api/memory/search", "ana", "a-key", {"query": "Where does Mira live?", "block": True, "asked_in": "c1"})])
        self.assertEqual(self.shown, ["2 memories used"])

    def test_block_follows_system_message(self):
        got = self.inlet([{"role": "system", "content": "Be brief."}, {"role": "user", "content": "Hello"}])
        self.assertEqual(got[0]["content"], "Be brief.\n\n" + BLOCK)

    def test_words_without_user_message(self):
        self.inlet([{"role": "user", "content": [{"type": "text", "text": "<attached_files>\n<file/>\n</attached_files>\n\n"}, {"type": "text", "text": "What is this?"}]}])
        self.assertEqual(self.loci.requests[0][3]["query"], "What is this?")

    def test_compacted_chat_may_recall_itself(self):
        self.inlet([{"role": "system", "content": "[CONVERSATION SUMMARY]\nA dog."}, {"role": "user", "content": "Its name?"}])
        self.assertNotIn("asked_in", self.loci.requests[0][3])

    def test_nothing_found_changes_nothing(self):
        self.loci.found = {"hits": [], "pause": "none"}
        self.assertEqual(self.inlet([{"role": "user", "content": "Hello"}]), [{"role": "user", "content": "Hello"}])
        self.assertEqual(self.shown, [])

    def test_left_alone(self):
        said = [{"id": "u1", "role": "user", "content": "I am allergic to nuts."}, {"id": "a1", "role": "assistant", "content": "Noted."}]
        paused = {"id": "ana", "valves": {"paused": True}}
        for case in ({"chat": "temporary:x"}, {"chat": "local:x"}, {"chat": "channel:x"}, {"chat": ""}, {"task": "title_generation"}, {"user": paused}, {"user": {"name": "nobody"}}):
            with self.subTest(case):
                before = json.dumps(said)
                self.assertEqual(json.dumps(self.inlet([dict(m) for m in said], **case)), before)
                self.outlet(said, "a1", **case)
                self.assertEqual(self.loci.requests, [])

    def test_add_names_messages_and_parent(self):
        history = [
            {"id": "u1", "role": "user", "content": "My sister is Mira."},
            {"id": "a1", "role": "assistant", "content": "Noted."},
            {"id": "u2", "role": "user", "content": "<attached_files>\n<file/>\n</attached_files>\n\nShe lives in Lisbon."},
            {"id": "a2", "role": "assistant", "content": '<details type="tool_calls"><summary>x</summary></details>\nA fine city.'},
        ]
        self.outlet(history[:2], "a1")
        self.outlet(history, "a2")
        self.assertEqual([r[3] for r in self.loci.requests], [
            {"conversation": "c1", "parent_id": "", "messages": [
                {"id": "u1", "role": "user", "content": "My sister is Mira."}, {"id": "a1", "role": "assistant", "content": "Noted."}]},
            {"conversation": "c1", "parent_id": "a1", "messages": [
                {"id": "u2", "role": "user", "content": "She lives in Lisbon."}, {"id": "a2", "role": "assistant", "content": "A fine city."}]},
        ])

    def test_failure_leaves_chat_alone(self):
        self.loci.status = 500
        self.assertEqual(self.inlet([{"role": "user", "content": "Hello"}]), [{"role": "user", "content": "Hello"}])
        self.outlet([{"id": "u1", "role": "user", "content": "Hello"}, {"id": "a1", "role": "assistant", "content": "Hi."}], "a1")
        self.assertEqual(self.shown, ["Memory is not available"] * 2)

    def test_paused_there_is_no_failure(self):
        self.loci.status = 409
        self.outlet([{"id": "u1", "role": "user", "content": "Hello"}, {"id": "a1", "role": "assistant", "content": "Hi."}], "a1")
        self.assertEqual(self.shown, [])


if __name__ == "__main__":
    unittest.main()
