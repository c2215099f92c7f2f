"""Runs a client's script against a Loci of its own, before an upstream that has only chat completions.

Usage: rig.py LOCI COMMAND...
The command is told where both are by the variables LOCI and UPSTREAM.
"""

import json
import os
import socket
import subprocess
import sys
import tempfile
import threading
import time
import urllib.request
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


class Upstream(BaseHTTPRequestHandler):
    """Has chat completions and their older kind, and nothing else."""

    protocol_version = "HTTP/1.1"
    asked = []  # the requests so far

    def log_message(self, *_):
        pass

    def do_GET(self):
        if self.path == "/asked":  # not Loci asks that, but the client's script
            return self.answer(200, self.asked)
        self.answer(200, {"object": "list", "data": [{"id": "scripted", "object": "model", "created": 0, "owned_by": "test"}]})

    def do_POST(self):
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        if self.path not in ("/v1/chat/completions", "/v1/completions"):
            return self.answer(404, {"detail": "Not Found"})
        self.asked.append(body)
        if "prompt" in body:
            return self.answer(200, {"id": "cmpl-1", "object": "text_completion", "created": 1, "model": "scripted",
                                     "choices": [{"index": 0, "text": " Pip.", "logprobs": None, "finish_reason": "stop"}],
                                     "usage": {"prompt_tokens": 11, "completion_tokens": 2, "total_tokens": 13}})
        last = body["messages"][-1]
        words = last["content"] if isinstance(last["content"], str) else " ".join(p.get("text", "[image]") for p in last["content"])
        if "too fast" in words:
            return self.answer(429, {"error": {"message": "slow down", "type": "rate_limit", "param": None, "code": None}})
        if body.get("tools") and last["role"] != "tool":
            message = {"role": "assistant", "content": "Let me weigh.", "tool_calls": [
                {"index": i, "id": f"call_{i}", "type": "function", "function": {"name": "weigh", "arguments": json.dumps({"animal": a})}}
                for i, a in enumerate(["cat", "dog"])]}
        else:
            message = {"role": "assistant", "content": f"You said: {words[-200:]}"}
        finish = "tool_calls" if "tool_calls" in message else "stop"
        usage = {"prompt_tokens": 11, "completion_tokens": 7, "total_tokens": 18}
        if not body.get("stream"):
            return self.answer(200, {"id": "chatcmpl-1", "object": "chat.completion", "created": 1, "model": "scripted",
                                     "choices": [{"index": 0, "message": message, "finish_reason": finish}], "usage": usage})
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.send_header("Connection", "close")
        self.end_headers()

        def event(choices, **more):
            chunk = {"id": "chatcmpl-1", "object": "chat.completion.chunk", "created": 1, "model": "scripted", "choices": choices, **more}
            self.wfile.write(f"data: {json.dumps(chunk)}\n\n".encode())

        event([{"index": 0, "delta": {"role": "assistant", "content": ""}, "finish_reason": None}])
        for word in message["content"].split(" "):
            event([{"index": 0, "delta": {"content": word + " "}, "finish_reason": None}])
        for call in message.get("tool_calls", []):
            arguments = call["function"]["arguments"]
            event([{"index": 0, "delta": {"tool_calls": [{**call, "function": {"name": "weigh", "arguments": ""}}]}}])
            for piece in arguments[:5], arguments[5:]:
                event([{"index": 0, "delta": {"tool_calls": [{"index": call["index"], "function": {"arguments": piece}}]}}])
        event([{"index": 0, "delta": {}, "finish_reason": finish}])
        if body.get("stream_options", {}).get("include_usage"):
            event([], usage=usage)
        self.wfile.write(b"data: [DONE]\n\n")

    def answer(self, status, body):
        data = json.dumps(body).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


def main(loci, *command):
    upstream = ThreadingHTTPServer(("127.0.0.1", 0), Upstream)
    threading.Thread(target=upstream.serve_forever, daemon=True).start()
    there, addr = f"http://127.0.0.1:{upstream.server_port}", f"127.0.0.1:{free_port()}"
    bare = {k: v for k, v in os.environ.items() if not k.startswith("LOCI_")}
    with tempfile.TemporaryDirectory() as data:
        env = {**bare, "LOCI_UPSTREAM_URL": there + "/v1", "LOCI_LEARN_MODEL": "none", "LOCI_USERS": "multi"}
        with open(os.path.join(data, "log"), "w") as log:
            server = subprocess.Popen([loci, "serve", "--data", os.path.join(data, "loci"), "--addr", addr], env=env, stdout=log, stderr=log)
        try:
            for _ in range(60):
                try:
                    urllib.request.urlopen(f"http://{addr}/health/ready")
                    break
                except OSError:
                    time.sleep(0.5)
            else:
                raise SystemExit("Loci did not start:\n" + open(os.path.join(data, "log")).read())
            return subprocess.call(command, env={**bare, "LOCI": f"http://{addr}", "UPSTREAM": there}, timeout=300)
        finally:
            server.terminate()
            server.wait(20)


sys.exit(main(*sys.argv[1:]))
