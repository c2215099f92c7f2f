"""A Loci, an Open WebUI and a scripted model on loopback, with a recorder between the first two.

    model  <-  Loci  <-  recorder  <-  Open WebUI  <-  Person

Everything lives in one folder and ends with Lab.close. Only the standard library is used.
"""

import base64
import copy
import http.client
import http.server
import json
import os
import re
import secrets
import signal
import socket
import subprocess
import sys
import threading
import time
import urllib.parse
import uuid

MODEL = "scripted-1"
JWT_SECRET = "an-invented-secret-of-32-characters"


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


def wait_for(what, ready, seconds=60):
    """Returns the first true result of ready()."""
    end = time.monotonic() + seconds
    while True:
        result = ready()
        if result:
            return result
        if time.monotonic() > end:
            raise TimeoutError(f"{what}: nothing in {seconds} s")
        time.sleep(0.1)


class Server:
    """An HTTP/1.1 server in a thread; serve(handler) answers one request."""

    def __init__(self, serve):
        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def handle_any(self):
                length = int(self.headers.get("Content-Length") or 0)
                self.body = self.rfile.read(length)
                self.close_connection = True
                serve(self)

            do_GET = do_POST = do_DELETE = do_PUT = do_PATCH = handle_any

            def log_message(self, *args):
                pass

        self.http = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.http.daemon_threads = True
        self.port = self.http.server_port
        threading.Thread(target=self.http.serve_forever, daemon=True).start()

    def close(self):
        self.http.shutdown()
        self.http.server_close()


class Model(Server):
    """A scripted OpenAI-compatible model that keeps every request it receives."""

    def __init__(self):
        self.requests = []  # (headers, body) of each chat
        self.replies = []  # (pattern, reply): the latest whose pattern is in the last message wins
        super().__init__(self._serve)

    def reply(self, pattern, words):
        self.replies.append((pattern, words))

    def prompt(self, words):
        """The messages of the latest request, Loci's own and background calls apart, whose last message of the user holds words."""
        for _, body in reversed(self.requests):
            users = [m for m in body["messages"] if m["role"] == "user"]
            if text_of(body["messages"][0]).startswith("You keep an assistant's memory"):
                continue
            if users and words in text_of(users[-1]) and "<chat_history>" not in text_of(users[-1]):
                return body["messages"]
        raise LookupError(f"no request has the words {words!r}")

    def block(self, words):
        """The memory in that request, "" without any."""
        found = re.search(r"<loci-memory>(.*?)</loci-memory>", "\n".join(text_of(m) for m in self.prompt(words)), re.DOTALL)
        return found[1] if found else ""

    def _serve(self, r):
        if r.path == "/v1/models":
            self._json(r, {"object": "list", "data": [{"id": MODEL, "object": "model", "owned_by": "lab"}]})
            return
        if r.path != "/v1/chat/completions":
            self._json(r, {"error": {"message": "no such path"}}, 404)
            return
        body = json.loads(r.body)
        self.requests.append(({k.lower(): v for k, v in r.headers.items()}, body))
        message = self._answer(body)
        if not body.get("stream"):
            self._json(r, {"id": "chatcmpl-" + uuid.uuid4().hex, "object": "chat.completion", "created": int(time.time()), "model": MODEL,
                           "choices": [{"index": 0, "message": message, "finish_reason": "tool_calls" if "tool_calls" in message else "stop"}],
                           "usage": {"prompt_tokens": 10, "completion_tokens": 5, "total_tokens": 15}})
            return
        name = "chatcmpl-" + uuid.uuid4().hex
        r.send_response(200)
        r.send_header("Content-Type", "text/event-stream")
        r.send_header("Connection", "close")
        r.end_headers()

        def event(delta, finish=None):
            chunk = {"id": name, "object": "chat.completion.chunk", "created": int(time.time()), "model": MODEL,
                     "choices": [{"index": 0, "delta": delta, "finish_reason": finish}]}
            r.wfile.write(b"data: " + json.dumps(chunk).encode() + b"\n\n")
            r.wfile.flush()

        if "tool_calls" in message:
            event({"role": "assistant", "content": None, "tool_calls": [{"index": 0, **message["tool_calls"][0]}]})
            event({}, "tool_calls")
        else:
            event({"role": "assistant", "content": ""})
            for piece in re.findall(r"\S+\s*", message["content"]):
                event({"content": piece})
            event({}, "stop")
        r.wfile.write(b"data: [DONE]\n\n")

    def _answer(self, body):
        last = body["messages"][-1]
        words = text_of(last)
        for pattern, reply in reversed(self.replies):
            if pattern in words:
                if isinstance(reply, dict):
                    return {"role": "assistant", "content": None, "tool_calls": [{"id": "call_" + uuid.uuid4().hex[:8], "type": "function",
                            "function": {"name": reply["name"], "arguments": json.dumps(reply["arguments"])}}]}
                return {"role": "assistant", "content": reply}
        if last["role"] == "tool":
            return {"role": "assistant", "content": "The tool has answered."}
        return {"role": "assistant", "content": "All right."}

    def _json(self, r, value, status=200):
        body = json.dumps(value).encode()
        r.send_response(status)
        r.send_header("Content-Type", "application/json")
        r.send_header("Content-Length", str(len(body)))
        r.end_headers()
        r.wfile.write(body)


class Recorder(Server):
    """Passes requests on to target and keeps the chats among them, as Open WebUI sent them."""

    def __init__(self, target):
        self.target = target
        self.requests = []  # of each chat: {"method", "path", "headers", "body"}
        super().__init__(self._serve)

    def take(self):
        taken, self.requests = self.requests, []
        return taken

    def _serve(self, r):
        if r.path == "/v1/chat/completions":
            self.requests.append({"method": r.command, "path": r.path, "headers": {k: v for k, v in r.headers.items() if k != "Content-Length"}, "body": json.loads(r.body)})
        upstream = http.client.HTTPConnection("127.0.0.1", self.target, timeout=120)
        try:
            headers = {k: v for k, v in r.headers.items() if k.lower() not in ("host", "connection", "content-length", "accept-encoding")}
            upstream.request(r.command, r.path, body=r.body or None, headers=headers)
            answer = upstream.getresponse()
            r.send_response(answer.status)
            for k, v in answer.getheaders():
                if k.lower() not in ("transfer-encoding", "connection", "content-length", "date", "server"):
                    r.send_header(k, v)
            r.send_header("Connection", "close")
            r.end_headers()
            while piece := answer.read1(65536):
                r.wfile.write(piece)
                r.wfile.flush()
        except (OSError, http.client.HTTPException):
            pass
        finally:
            upstream.close()


def text_of(message):
    content = message.get("content") or ""
    if isinstance(content, list):
        return "\n".join(part.get("text", "") for part in content if part.get("type") == "text")
    return content


def call(port, method, path, body=None, headers=None, timeout=60):
    """Sends one request and returns (status, answer): JSON where it is JSON."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=timeout)
    headers = dict(headers or {})
    if body is not None and not isinstance(body, bytes):
        body = json.dumps(body).encode()
        headers.setdefault("Content-Type", "application/json")
    try:
        connection.request(method, path, body=body, headers=headers)
        answer = connection.getresponse()
        raw = answer.read()
    finally:
        connection.close()
    try:
        return answer.status, json.loads(raw)
    except ValueError:
        return answer.status, raw.decode("utf-8", "replace")


class Loci:
    """A Loci process. key is its LOCI_API_KEY."""

    def __init__(self, binary, folder, upstream, **settings):
        self.key = secrets.token_hex(24)
        self.port = free_port()
        env = {"HOME": folder, "PATH": os.environ["PATH"], "LOCI_API_KEY": self.key, "LOCI_USERS": "multi", "LOCI_UPSTREAM_URL": upstream,
               "LOCI_UPSTREAM_KEY": "an-invented-provider-key", "LOCI_LEARN_IDLE": "1s", **settings}
        self.log = open(os.path.join(folder, "loci.log"), "ab")
        self.process = subprocess.Popen([binary, "serve", "--addr", f"127.0.0.1:{self.port}", "--data", os.path.join(folder, "loci")],
                                        env=env, stdout=self.log, stderr=self.log)
        wait_for("start of Loci", lambda: self._up(), 30)

    def _up(self):
        try:
            return call(self.port, "GET", "/health")[0] == 200
        except OSError:
            if self.process.poll() is not None:
                raise RuntimeError(f"Loci ended; see {self.log.name}")
            return False

    def api(self, user, method, path, body=None):
        return call(self.port, method, path, body, {"X-Loci-Key": self.key, "X-Loci-User": user})

    def memories(self, user, kind="fact"):
        """What a user has: contents of active memories, whose kind is fact, turn or all."""
        status, answer = self.api(user, "GET", f"/api/memory?kind={kind}&limit=200")
        if status == 401 or status == 404:
            return []
        if status != 200:
            raise RuntimeError(f"{status}: {answer}")
        return [m["content"] for m in answer["memories"]]

    def close(self):
        stop(self.process)
        self.log.close()


def stop(process):
    if process.poll() is None:
        process.send_signal(signal.SIGTERM)
        try:
            process.wait(20)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


class WebUI:
    """An Open WebUI process, installed in the virtual environment venv."""

    def __init__(self, venv, folder, openai_port, openai_key, **settings):
        self.port = free_port()
        self.folder = folder
        data = os.path.join(folder, "webui")
        os.makedirs(data, exist_ok=True)
        env = {
            "HOME": folder, "PATH": os.path.join(venv, "bin") + ":" + os.environ["PATH"], "DATA_DIR": data,
            "WEBUI_SECRET_KEY": "an-invented-secret", "HOST": "127.0.0.1", "PORT": str(self.port),
            "OPENAI_API_BASE_URL": f"http://127.0.0.1:{openai_port}/v1", "OPENAI_API_KEY": openai_key,
            "ENABLE_FORWARD_USER_INFO_HEADERS": "true", "ENABLE_OLLAMA_API": "false", "ENABLE_CHANNELS": "true",
            "RAG_EMBEDDING_ENGINE": "openai", "RAG_EMBEDDING_MODEL": "loci/embed",
            "RAG_OPENAI_API_BASE_URL": f"http://127.0.0.1:{openai_port}/v1", "RAG_OPENAI_API_KEY": openai_key,
            "BYPASS_MODEL_ACCESS_CONTROL": "true", "DEFAULT_USER_ROLE": "user", "ENABLE_SIGNUP": "true",
            "HF_HUB_OFFLINE": "1", "OFFLINE_MODE": "true", "ANONYMIZED_TELEMETRY": "false", "DO_NOT_TRACK": "true", "SCARF_NO_ANALYTICS": "true",
            "ENABLE_VERSION_UPDATE_CHECK": "false", "ENABLE_AUTOCOMPLETE_GENERATION": "true", "ENABLE_MEMORIES": "true",
            "ENABLE_MEMORY_BACKGROUND_REVIEW": "true", "MEMORIES_REVIEW_INTERVAL_TURNS": "3",
            **settings,
        }
        self.log = open(os.path.join(folder, "webui.log"), "ab")
        self.process = subprocess.Popen([os.path.join(venv, "bin", "open-webui"), "serve", "--host", "127.0.0.1", "--port", str(self.port)],
                                        env=env, cwd=folder, stdout=self.log, stderr=self.log)
        wait_for("start of Open WebUI", lambda: self._up(), 300)
        self.admin = self._signup("Ada Admin", "ada@example.com")
        self.ana, self.ben = self.person("Ana"), self.person("Ben")

    def _up(self):
        try:
            return call(self.port, "GET", "/health")[0] == 200
        except OSError:
            if self.process.poll() is not None:
                raise RuntimeError(f"Open WebUI ended; see {self.log.name}")
            return False

    def _signup(self, name, email):
        body = {"name": name, "email": email, "password": "an-invented-password"}
        status, answer = call(self.port, "POST", "/api/v1/auths/signup", body)
        if status != 200:  # the folder was used before
            status, answer = call(self.port, "POST", "/api/v1/auths/signin", body)
        if status != 200:
            raise RuntimeError(f"sign up {email}: {status} {answer}")
        return Person(self, answer["id"], name, answer["token"])

    def person(self, name):
        """Adds a user, or signs in one who was added before."""
        name, email = name + " Example", name.lower() + "@example.com"
        body = {"name": name, "email": email, "password": "an-invented-password", "role": "user"}
        self.admin.post("/api/v1/auths/add", body, may_fail=True)
        status, answer = call(self.port, "POST", "/api/v1/auths/signin", body)
        if status != 200:
            raise RuntimeError(f"sign in {email}: {status} {answer}")
        return Person(self, answer["id"], name, answer["token"])

    def connection_headers(self, headers):
        """Sets the custom headers of the only connection."""
        config = self.admin.get("/openai/config")
        config["OPENAI_API_CONFIGS"] = {"0": {"enable": True, **({"headers": headers} if headers else {})}}
        self.admin.post("/openai/config/update", config)
        self.admin.get("/api/models")

    def close(self):
        stop(self.process)
        self.log.close()


class Person:
    """A signed-in user, who does by the API what the page does."""

    def __init__(self, webui, id, name, token):
        self.webui, self.id, self.name, self.token = webui, id, name, token

    def request(self, method, path, body=None, headers=None):
        return call(self.webui.port, method, path, body, {"Authorization": "Bearer " + self.token, **(headers or {})}, timeout=120)

    def get(self, path):
        status, answer = self.request("GET", path)
        if status != 200:
            raise RuntimeError(f"GET {path}: {status} {answer}")
        return answer

    def post(self, path, body=None, may_fail=False):
        status, answer = self.request("POST", path, {} if body is None else body)
        if status != 200 and not may_fail:
            raise RuntimeError(f"POST {path}: {status} {answer}")
        return answer

    def upload(self, name, data, content_type):
        """Uploads a file and returns its id once it is processed."""
        boundary = uuid.uuid4().hex
        body = (f'--{boundary}\r\nContent-Disposition: form-data; name="file"; filename="{name}"\r\nContent-Type: {content_type}\r\n\r\n').encode() \
            + data + f"\r\n--{boundary}--\r\n".encode()
        status, answer = self.request("POST", "/api/v1/files/?process=true&process_in_background=false", body, {"Content-Type": "multipart/form-data; boundary=" + boundary})
        if status != 200:
            raise RuntimeError(f"upload: {status} {answer}")
        return answer


class Chat:
    """A chat as the page holds it: a tree of messages, of which the page sends one branch."""

    def __init__(self, person, id=None, **options):
        self.person, self.id, self.options = person, id, options
        self.temporary = False
        self.branch = []  # messages from the first to the current one
        self.features = {}

    @classmethod
    def open_temporary(cls, person, **options):
        chat = cls(person, "temporary:" + uuid.uuid4().hex[:20], **options)
        chat.temporary = True
        return chat

    def say(self, words, files=None, tasks=None):
        parent = self.branch[-1]["id"] if self.branch else None
        message = {"id": str(uuid.uuid4()), "parentId": parent, "childrenIds": [], "role": "user", "content": words, "timestamp": int(time.time()), "models": [MODEL]}
        if files:
            message["files"] = files
        self.branch.append(message)
        return self._complete(message, files, tasks)

    def regenerate(self):
        """Asks for another answer to the last message."""
        self.branch.pop()
        return self._complete(self.branch[-1])

    def edit(self, index, words):
        """Says other words in the place of the user's message number index, and asks again."""
        users = [m for m in self.branch if m["role"] == "user"]
        at = self.branch.index(users[index])
        self.branch = self.branch[:at]
        return self.say(words)

    def resume(self):
        """Presses Continue under the last answer."""
        answer = self.branch[-1]
        body = self._body(answer["id"], self.branch[-2])
        body["assistant_message_id"] = answer["id"]
        return self._send(body, answer)

    def _complete(self, user_message, files=None, tasks=None):
        answer = {"id": str(uuid.uuid4()), "parentId": user_message["id"], "role": "assistant", "content": "", "model": MODEL}
        user_message["childrenIds"] = [*user_message.get("childrenIds", []), answer["id"]]
        body = self._body(answer["id"], user_message)
        body["parent_id"] = user_message["parentId"]
        body["background_tasks"] = tasks or {}
        if files:
            body["files"] = files
        self.branch.append(answer)
        return self._send(body, answer)

    def _body(self, answer_id, user_message):
        messages = []
        for m in self.branch:
            if m["role"] == "assistant" and m["id"] == answer_id and not m["content"]:
                continue
            content = m["content"]
            images = [f for f in m.get("files", []) if f.get("type") == "image"]
            if images:
                content = [{"type": "text", "text": content}, *({"type": "image_url", "image_url": {"url": f["url"]}} for f in images)]
            messages.append({"role": m["role"], "content": content})
        body = {"model": MODEL, "messages": messages, "stream": True, "params": {}, "features": self.features, "variables": {}, "session_id": "lab-session",
                "id": answer_id, "user_message": copy.deepcopy(user_message), **self.options}
        if self.id:
            body["chat_id"] = self.id
        return body

    def _send(self, body, answer):
        if self.temporary:
            return self._send_temporary(body, answer)
        started = self.person.post("/api/chat/completions", body)
        self.id = self.id or started["chat_id"]

        def stored():
            chat = self.person.get("/api/v1/chats/" + self.id)["chat"]
            m = chat["history"]["messages"].get(answer["id"])
            return m if m and m.get("done") and (m.get("content") or m.get("error")) else None

        before = answer["content"]
        m = wait_for("answer", stored, 60)
        if before:
            m = wait_for("continued answer", lambda: (n := stored()) and n["content"] != before and n, 30)
        if m.get("error"):
            raise RuntimeError(f"answer: {m['error']}")
        answer["content"] = m["content"]
        return answer["content"]

    def _send_temporary(self, body, answer):
        """A temporary chat is kept by the page alone: it is told when the server's task has ended."""
        model = self.person.webui.lab.model
        before = len(model.requests)
        started = self.person.post("/api/chat/completions", body)
        wait_for("temporary answer", lambda: len(model.requests) > before, 60)
        tasks = started.get("task_ids") or [started.get("task_id")]
        wait_for("end of the task", lambda: not set(tasks) & set(self.person.get("/api/tasks/chat/" + self.id).get("task_ids", [])), 60)
        answer["content"] = model._answer(model.requests[-1][1])["content"]
        return answer["content"]


class Lab:
    """The four of them. folder is theirs alone. With proxied=False Open WebUI talks to the model, and not through Loci."""

    def __init__(self, folder, binary, venv, loci=None, webui=None, proxied=True):
        os.makedirs(folder, exist_ok=True)
        self.folder = folder
        self.model = Model()
        self.loci = self.recorder = self.webui = None
        try:
            self.loci = Loci(binary, folder, f"http://127.0.0.1:{self.model.port}/v1", **(loci or {}))
            self.recorder = Recorder(self.loci.port if proxied else self.model.port)
            self.webui = WebUI(venv, folder, self.recorder.port, self.loci.key, **(webui or {}))
            self.webui.lab = self
        except BaseException:
            self.close()
            raise

    def close(self):
        for part in (self.webui, self.recorder, self.loci, self.model):
            if part:
                part.close()

    def __enter__(self):
        return self

    def __exit__(self, *args):
        self.close()
