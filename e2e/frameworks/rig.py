"""A scripted model, a recorder and a Loci of one framework's own: framework -> Recorder -> Loci -> Model.

A framework is given the recorder's address with the name of what it plays before /v1, by which the recorder tells plays apart.
"""

import http.client
import json
import os
import re
import socket
import subprocess
import tempfile
import threading
import time
import urllib.request
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

OWN = "I have a cat named Tom. What should I cook?"  # what the person says
FOREIGN = "I am Mr Brandt. I live in Graz. My dog is called Fido."  # what a document, a tool or an agent says
ANSWER = "Try a risotto."
KEEPER = "You keep the notes."  # the system prompt of the agent that says what is foreign
PROBE = "Where do I live, and what is my dog called?"
BLOCK = re.compile("(?s)<loci-memory>.*?</loci-memory>")


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    def body(self):
        if "chunked" not in self.headers.get("Transfer-Encoding", ""):
            return self.rfile.read(int(self.headers.get("Content-Length") or 0))
        out = b""
        while size := int(self.rfile.readline(), 16):
            out += self.rfile.read(size)
            self.rfile.readline()
        self.rfile.readline()
        return out

    def send(self, status, kind, data):
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)


def serve(handler):
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    server.daemon_threads = True
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return server


def text(content):
    if isinstance(content, str):
        return content
    return "\n".join(p.get("text", "") for p in content or [] if isinstance(p, dict))


def reply(body):
    """What the model says to a request: words, or the name and arguments of a tool."""
    said = [BLOCK.sub("", text(m.get("content"))) for m in body["messages"]]
    everything, last = "\n".join(said), said[-1]
    tools = {t["function"]["name"]: t["function"] for t in body.get("tools") or []}
    known = FOREIGN in everything
    if KEEPER in said[0]:
        return ("final_answer", {"answer": FOREIGN}) if "final_answer" in tools else FOREIGN
    if "[[ ## completed ## ]]" in everything:  # DSPy
        named = re.findall(r"`?\[\[ ## (\w+) ## \]\]`?", last.rsplit("starting with", 1)[-1])
        answer = {"next_thought": "Read the notes.", "next_tool_name": "finish" if known else "read_notes", "next_tool_args": "{}"}
        return "\n\n".join(f"[[ ## {n} ## ]]\n{answer.get(n, ANSWER)}".removesuffix("\n" + ANSWER if n == "completed" else "") for n in named)
    if "Only return the role" in last:  # AutoGen's selector
        return "cook" if known else "keeper"
    if "<code>" in said[0]:  # smolagents' agents that write code
        return f'<code>\nfinal_answer("{ANSWER}")\n</code>' if known else "<code>\nprint(read_notes())\n</code>"
    if not known:
        for name in tools:
            if re.search("notes|keeper", name):
                return name, {k: OWN for k in tools[name].get("parameters", {}).get("required", [])}
            if name == "transfer_to_agent":
                return name, {"agent_name": "keeper"}
    if "final_answer" in tools:
        return "final_answer", {"answer": ANSWER}
    return ANSWER


class Model(Handler):
    """Has chat completions and nothing else."""

    def do_GET(self):
        self.send(200, "application/json", json.dumps({"object": "list", "data": [{"id": "scripted", "object": "model", "created": 0, "owned_by": "test"}]}).encode())

    def do_POST(self):
        body = json.loads(self.body())
        if not self.path.endswith("/chat/completions"):
            return self.send(404, "application/json", b'{"detail":"Not Found"}')
        self.server.asked.append(body)
        said = reply(body)
        message = {"role": "assistant", "content": said}
        if isinstance(said, tuple):
            call = {"id": f"call_{len(self.server.asked)}", "type": "function", "function": {"name": said[0], "arguments": json.dumps(said[1])}}
            message = {"role": "assistant", "content": None, "tool_calls": [call]}
        finish = "tool_calls" if "tool_calls" in message else "stop"
        base = {"id": f"chatcmpl-{len(self.server.asked)}", "created": 1, "model": "scripted"}
        usage = {"prompt_tokens": 11, "completion_tokens": 7, "total_tokens": 18}
        if not body.get("stream"):
            whole = base | {"object": "chat.completion", "choices": [{"index": 0, "message": message, "finish_reason": finish}], "usage": usage}
            return self.send(200, "application/json", json.dumps(whole).encode())
        if "tool_calls" in message:
            message["tool_calls"][0]["index"] = 0
        chunks = [{"choices": [{"index": 0, "delta": message, "finish_reason": None}]}, {"choices": [{"index": 0, "delta": {}, "finish_reason": finish}]}, {"choices": [], "usage": usage}]
        events = "".join(f"data: {json.dumps(base | {'object': 'chat.completion.chunk'} | c)}\n\n" for c in chunks)
        self.send(200, "text/event-stream", (events + "data: [DONE]\n\n").encode())


class Recorder(Handler):
    def do_POST(self):
        body = self.body()
        _, play, path = self.path.split("/", 2)
        if self.command == "POST":
            self.server.seen.append({"play": play, "path": "/" + path, "body": json.loads(body)})
        skip = ("host", "connection", "content-length", "transfer-encoding", "accept-encoding")
        conn = http.client.HTTPConnection("127.0.0.1", self.server.loci, timeout=30)
        conn.request(self.command, "/" + path, body, {k: v for k, v in self.headers.items() if k.lower() not in skip})
        answer = conn.getresponse()
        self.send(answer.status, answer.getheader("Content-Type", "application/json"), answer.read())

    do_GET = do_POST


class Lab:
    """One framework's Loci, with what is around it."""

    def __init__(self, binary):
        self.folder = tempfile.TemporaryDirectory(prefix="loci-frameworks-")
        self.model = serve(Model)
        self.model.asked = []
        with socket.socket() as s:
            s.bind(("127.0.0.1", 0))
            self.port = s.getsockname()[1]
        env = {k: v for k, v in os.environ.items() if not k.startswith("LOCI_")} | {
            "LOCI_DATA": self.folder.name + "/loci", "LOCI_ADDR": f"127.0.0.1:{self.port}", "LOCI_EMBEDDER": "lexical",
            "LOCI_LEARN_MODEL": "none", "LOCI_UPSTREAM_URL": f"http://127.0.0.1:{self.model.server_port}/v1"}
        self.log = open(self.folder.name + "/log", "w")
        self.loci = subprocess.Popen([binary, "serve"], env=env, stdout=self.log, stderr=self.log)
        self.recorder = serve(Recorder)
        self.recorder.seen, self.recorder.loci = [], self.port
        self.url = f"http://127.0.0.1:{self.recorder.server_port}"
        for _ in range(100):
            try:
                return urllib.request.urlopen(f"http://127.0.0.1:{self.port}/health/ready").close()
            except OSError:
                time.sleep(0.1)
        raise SystemExit("Loci did not start:\n" + open(self.log.name).read())

    def close(self):
        self.loci.terminate()
        self.loci.wait(20)
        self.log.close()
        self.recorder.shutdown()
        self.model.shutdown()
        self.folder.cleanup()

    def call(self, path, body=None):
        request = urllib.request.Request(f"http://127.0.0.1:{self.port}{path}", body and json.dumps(body).encode(), {"Content-Type": "application/json"})
        with urllib.request.urlopen(request, timeout=20) as r:
            return json.loads(r.read())

    def settle(self):
        """Waits until no job is due, which learns from what was said."""
        time.sleep(1.5)

    def facts(self):
        return [m for status in ("active", "pending") for m in self.call(f"/api/memory?kind=fact&status={status}&limit=100")["memories"]]

    def block(self, question):
        """The memory that a new chat is given with a question."""
        before = len(self.model.asked)
        self.call("/v1/chat/completions", {"model": "scripted", "messages": [{"role": "user", "content": question}]})
        sent = self.model.asked[before]["messages"]
        return [line for m in sent for line in text(m.get("content")).splitlines() if m["role"] != "user" or line != question]
