#!/usr/bin/env python3
"""Write the fixtures of a release: memory with every kind of record, and what is read of it.

    tools/fixtures.py BINARY OUT [sqlite|vault|postgres ...]

BINARY is a built loci. OUT gets, for each store, an archive of its data and NAME.reads.jsonl.bz2:
what each GET and search answered. It prints the rows of each table. The whole is written
through BINARY's own APIs and commands, but for a second namespace, which no API has: its rows are
one user's, copied by SQL. Only Python's standard library is used; postgres needs initdb, psql and
pg_dump. internal/assembly/fixtures_test.go reads what this writes.
"""
import bz2
import hashlib
import http.client
import http.server
import io
import json
import os
import re
import shutil
import signal
import socket
import sqlite3
import subprocess
import sys
import tarfile
import tempfile
import threading
import time
import urllib.parse

KEY = "fixture-server-key"  # of the server; what it opens is made up
SCHEMA = "lociworld"  # of the PostgreSQL dump; a reader puts its own name there
NAMESPACE = "second"  # where eve's rows are copied to
LEARNER = "fixture-learner"
EMPTY = {"conversation_events", "feedback"}  # no release has written these tables
USERS = ["ana", "ben", "cleo", "dora", "eve", "pia", "yan", "zoe"]

# ---- the model server -----------------------------------------------------------------

# What the learning model says to words of a turn: op, the known fact it is about, text, quote, about.
TELLS = [
    ("I live in Varn", ("add", "", "User lives in Varn", "I live in Varn", "user")),
    ("I moved to Ostrel", ("replace", "User lives in Varn", "User lives in Ostrel", "I moved to Ostrel", "user")),
    ("allergic to quince", ("add", "", "User is allergic to quince", "I am allergic to quince", "user")),
    ("a heron named Pim", ("add", "", "User keeps a heron named Pim", "a heron named Pim", "user")),
    ("Pim flew away", ("end", "User keeps a heron named Pim", "User no longer keeps a heron", "Pim flew away", "user")),
    ("a goat named Tuk", ("add", "", "User keeps a goat named Tuk", "a goat named Tuk", "user")),
    ("Tuk ran off", ("end", "User keeps a goat named Tuk", "User no longer keeps a goat", "Tuk ran off", "user")),  # more than is said
    ("no longer keep a heron", ("end", "User keeps a heron named Pim", "User no longer keeps a heron", "I no longer keep a heron", "user")),
    ("sister Odile", ("add", "", "User's sister Odile carves spoons", "My sister Odile carves spoons", "Odile")),
    ("build with granite", ("add", "", "User builds the project with granite", "We build with granite", "user")),
    ("collect maps", ("add", "", "User collects maps", "", "user")),  # without a quote
    ("work as a glazier", ("add", "", "User works as a glazier", "I work as a glazier", "user")),
    ("as a ferryman now", ("replace", "User works as a glazier", "User works as a ferryman", "I work as a ferryman now", "user")),
    ("green tea at four", ("add", "", "User drinks green tea at four", "I drink green tea at four", "user")),
    ("tea at four, as ever", ("same", "User drinks green tea at four", "User drinks green tea at four", "tea at four, as ever", "user")),
]


def vector(text, dims=8):
    """The vector that the fake embedder gives a text: words counted by the first byte of their SHA-256."""
    v = [0.0] * dims
    for word in re.findall(r"[a-z]+", text.lower()):
        v[hashlib.sha256(word.encode()).digest()[0] % dims] += 1
    v[dims - 1] += 0.5
    return v


class Upstream(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    hanging = threading.Event()  # a learning request has come that gets no answer

    def log_message(self, *args):
        pass

    def do_GET(self):
        self.reply({"object": "list", "data": [{"id": m, "object": "model"} for m in ("fixture-chat", LEARNER)]})

    def do_POST(self):
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        if self.path.endswith("/embeddings"):
            texts = body["input"] if isinstance(body["input"], list) else [body["input"]]
            self.reply({"object": "list", "model": body["model"], "usage": {"prompt_tokens": 1, "total_tokens": 1},
                        "data": [{"object": "embedding", "index": i, "embedding": vector(t)} for i, t in enumerate(texts)]})
        elif not self.path.endswith("/chat/completions"):
            self.reply({"error": {"message": "there is no such path"}}, 404)
        elif body["model"] == LEARNER:
            self.learn(body)
        else:
            self.chat(body)

    def learn(self, body):
        user = body["messages"][-1]["content"]
        if "the lighthouse hums" in user:
            Upstream.hanging.set()
            time.sleep(20)  # the server is killed meanwhile
        if "The summary so far:" in user:
            said = re.findall(r"user[^\n]*:\s*\n?\s*([^\n]+)", user)
            text = "- The user spoke of: " + "; ".join(s.strip()[:60] for s in said[-4:])
        else:
            known, _, turns = user.partition("The turns:")
            ops = []
            for said in re.findall(r"\[t\d+\] user[^\n]*:(.*?)(?=\n\[t\d+\]|\Z)", turns, re.S):
                for words, (op, about, text, quote, whom) in TELLS:
                    ids = re.findall(r"\[(k\d+)\][^\n]*?" + re.escape(about), known) if about else []
                    if words in said and (not about or ids):
                        ops.append({"op": op, "ids": ids[:1], "text": text, "quote": quote, "about": whom, "lasting": True})
            text = json.dumps({"ops": ops})
        self.complete(body, text)

    def chat(self, body):
        last = body["messages"][-1]
        said = last["content"] if isinstance(last["content"], str) else json.dumps(last["content"])
        if body.get("tools") and last["role"] == "user":
            call = {"id": "call_1", "type": "function", "function": {"name": "tide", "arguments": "{\"pier\": \"north\"}"}}
            self.complete(body, None, [call])
        else:
            self.complete(body, "Noted: " + re.sub(r"\s+", " ", said)[-40:])

    def complete(self, body, text, calls=None):
        made = {"id": "chatcmpl-" + hashlib.sha256(json.dumps(body).encode()).hexdigest()[:12], "created": 1700000000, "model": body["model"]}
        if body.get("stream"):
            chunks = [{"role": "assistant", "content": ""}, {"content": text}, {}]
            data = "".join("data: " + json.dumps({**made, "object": "chat.completion.chunk", "choices": [
                {"index": 0, "delta": d, "finish_reason": None if d else "stop"}]}) + "\n\n" for d in chunks) + "data: [DONE]\n\n"
            return self.reply(data, kind="text/event-stream")
        message = {"role": "assistant", "content": text, **({"tool_calls": calls} if calls else {})}
        self.reply({**made, "object": "chat.completion", "usage": {"prompt_tokens": 40, "completion_tokens": 9, "total_tokens": 49},
                    "choices": [{"index": 0, "message": message, "finish_reason": "tool_calls" if calls else "stop"}]})

    def reply(self, body, status=200, kind="application/json"):
        data = (body if isinstance(body, str) else json.dumps(body)).encode()
        try:
            self.send_response(status)
            self.send_header("Content-Type", kind)
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)
        except OSError:  # whoever asked is gone
            self.close_connection = True


def upstream():
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Upstream)
    server.daemon_threads = True
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return server


# ---- the server and its clients ---------------------------------------------------------


class Loci:
    """A running server of BINARY, on one store."""

    def __init__(self, binary, home, up, settings):
        self.binary, self.home, self.process = binary, home, None
        with socket.socket() as s:
            s.bind(("127.0.0.1", 0))
            self.port = s.getsockname()[1]
        base = f"http://127.0.0.1:{up.server_port}/v1"
        self.settings = {
            "ADDR": f"127.0.0.1:{self.port}", "DATA": os.path.join(home, "data"), "USERS": "multi", "API_KEY": KEY,
            "UPSTREAM_URL": base, "UPSTREAM_KEY": "fixture-upstream-key", "EMBED_URL": base, "EMBEDDER": "lexical",
            "LEARN_MODEL": LEARNER, "LEARN_EVERY": "1", "LEARN_INPUT_PRICE": "2", "LEARN_OUTPUT_PRICE": "8", "REVIEW_CATEGORIES": "health",
            "SUMMARIES_EVERY": "2", "RECALL_POOLS": "team", "CHATS_MODEL": "fixture-chat", "LOG_LEVEL": "warn", **settings,
        }

    def env(self, **more):
        return {"PATH": os.environ["PATH"], "HOME": self.home, **{"LOCI_" + k: v for k, v in {**self.settings, **more}.items()}}

    def start(self, **more):
        self.log = open(os.path.join(self.home, "log"), "ab")
        self.process = subprocess.Popen([self.binary, "serve"], env=self.env(**more), stdout=self.log, stderr=self.log)
        for _ in range(300):
            try:
                if self.ask("GET", "/health/ready", raw=True)[0] == 204:
                    return
            except OSError:
                pass
            if self.process.poll() is not None:
                break
            time.sleep(0.1)
        sys.exit("the server does not start:\n" + open(os.path.join(self.home, "log")).read())

    def stop(self, how=signal.SIGTERM):
        self.process.send_signal(how)
        self.process.wait(60)
        self.log.close()

    def ask(self, method, path, body=None, user=None, raw=False, fails=False, **headers):
        h = {"X-Loci-Key": KEY, **({"X-Loci-User": user} if user else {}), **{k.replace("_", "-"): v for k, v in headers.items()}}
        data = body if body is None or isinstance(body, bytes) else json.dumps(body).encode()
        if data is not None:
            h.setdefault("Content-Type", "application/json")
        c = http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)
        c.request(method, path, data, h)
        r = c.getresponse()
        text = r.read().decode()
        c.close()
        if raw:
            return r.status, text, r.headers
        if r.status >= 400 and not fails:
            raise SystemExit(f"{method} {path} of {user}: {r.status} {text}\nsent: {body}")
        try:
            return json.loads(text) if text else None
        except ValueError:
            return text

    def run(self, *args, **more):
        done = subprocess.run([self.binary, *args], env=self.env(**more), capture_output=True, text=True)
        if done.returncode:
            raise SystemExit(f"loci {args}: {done.stdout}{done.stderr}")
        return done.stdout

    def say(self, user, chat, messages, path="/v1/chat/completions", **headers):
        """One request of a chat, as a client sends it: all its messages."""
        body = {"model": "fixture-chat", "messages": messages}
        if path.endswith("messages"):
            body["max_tokens"] = 100
        if path.endswith("responses"):
            body = {"model": "fixture-chat", "input": messages}
        if "tools" in headers:
            body["tools"] = headers.pop("tools")
        status, text, got = self.ask("POST", path, body, user, raw=True, **({"X_Loci_Id": chat} if chat else {}), **headers)
        if status != 200:
            raise SystemExit(f"chat {chat}: {status} {text}")
        self.settle(user)
        answer = json.loads(text)
        return (answer["choices"][0]["message"] if "choices" in answer else answer), got.get("X-Loci-Trace")

    def talk(self, user, chat, *said, **headers):
        messages, trace = [], None
        for words in said:
            messages.append({"role": "user", "content": words})
            answer, trace = self.say(user, chat, messages, **headers)
            messages.append({"role": "assistant", "content": answer["content"]})
        return messages, trace

    def settle(self, user):
        """Wait until no job of a user is due within a second."""
        for _ in range(400):
            soon = time.time() + 1
            jobs = self.ask("GET", "/api/jobs", user=user)["jobs"] or []
            if not any(j["state"] == "running" or j["state"] == "queued" and seconds(j["run_at"]) < soon for j in jobs):
                return
            time.sleep(0.05)
        raise SystemExit(f"jobs of {user} do not end: {jobs}")

    def remember(self, user, content, **more):
        return self.ask("POST", "/api/memory", {"content": content, **more}, user)["id"]

    def memories(self, user, **query):
        query = {"kind": "fact", "status": "all", "limit": "200", **query}
        return self.ask("GET", "/api/memory?" + urllib.parse.urlencode(query), user=user)["memories"] or []

    def fact(self, user, content):
        return next(m["id"] for m in self.memories(user) if m["content"] == content)


def seconds(stamp):
    whole = stamp.rstrip("Z").split(".")[0]
    return time.mktime(time.strptime(whole, "%Y-%m-%dT%H:%M:%S")) - time.timezone


# ---- the world ----------------------------------------------------------------------------


def first(l):
    """The world with a model that learns, found by words."""
    l.start(BOOTSTRAP=bootstrap(l.home))
    keys(l)
    notes = facts(l)
    relations(l, notes)
    imported(l)
    documents(l)
    chats(l)
    learned(l)
    shared(l)
    changes(l, notes)
    gone(l)
    l.run("add", "User waters the ferns on Mondays", "--tag", "garden", "--user", "cleo")
    l.run("profile", "set", "timezone", "Atlantic/Azores", "--user", "cleo")
    l.stop()


def bootstrap(home):
    path = os.path.join(home, "bootstrap.jsonl")
    with open(path, "w") as f:
        f.write('{"content": "The harbour office opens at nine", "category": "work", "tags": ["harbour"]}\n')
        f.write('{"content": "The north pier is closed in winter", "tags": ["harbour", "winter"]}\n')
    return path


def keys(l):
    l.made = l.ask("POST", "/api/keys", {"name": "ana's slate", "role": "user", "user": "ana"})["key"]
    l.ask("POST", "/api/keys", {"name": "reading room", "role": "front"})
    l.ask("POST", "/api/keys", {"name": "harbour master", "role": "admin"})
    lost = l.ask("POST", "/api/keys", {"name": "lost slate", "role": "user", "user": "ben"})
    l.ask("DELETE", "/api/keys/" + lost["id"])
    form = urllib.parse.urlencode({"key": KEY, "user": "ana"}).encode()
    status, text, _ = l.ask("POST", "/signin", form, raw=True, Content_Type="application/x-www-form-urlencoded", Origin=f"http://127.0.0.1:{l.port}")
    assert status == 303, (status, text)


def facts(l):
    """Facts by hand: category, tags, confidence, pin, metadata, expiry, project, agent, times."""
    n = {
        "kayak": l.remember("ana", "User paddles a red kayak", category="hobbies", tags=["water", "sport"], confidence=0.8, pinned=True,
                            metadata={"colour": "red", "seats": 1, "nested": {"list": [1, 2.5, None, True], "word": "ébène"}}),
        "paddle": l.remember("ana", "User owns a paddle of ash wood", category="hobbies", tags=["water"]),
        "permit": l.remember("ana", "User has a permit for the upper locks", expires_at="2199-06-01T12:00:00Z", tags=["water", "papers"]),
        "quiet": l.remember("ana", "User likes short answers", category="style", confidence=1),
        "mill": l.remember("ana", "The mill project uses blue slate", project="mill", tags=["stone"]),
        "robot": l.remember("ana", "The agent sorts letters by street", agent="postbot", project="mill"),
        "old": l.remember("ana", "User learned to weave in 2019", observed_at="2019-03-04T05:06:07.123456Z", tags=["craft"]),
        "doubt": l.remember("ana", "User may join the choir", confidence=0.35),
        "lines": l.remember("ana", "User's recipe:\n- oats\n- plums, \"dried\"\n\ttwo tabs \\ and 日本語 ✓", category="food"),
    }
    again = [l.ask("POST", "/api/memory", {"content": "User collects tide tables"}, "ana", Idempotency_Key="fixture-key-1")["id"] for _ in range(2)]
    assert again[0] == again[1], again
    n["tables"] = again[0]
    l.ask("PATCH", "/api/memory/" + n["paddle"], {"content": "User owns a paddle of cedar wood", "tags": ["water", "wood"]}, "ana")
    l.ask("POST", f"/api/memory/{n['quiet']}/pin", {"pinned": True}, "ana")
    l.ask("POST", f"/api/memory/{n['quiet']}/pin", {"pinned": False}, "ana")
    l.ask("POST", f"/api/memory/{n['kayak']}/feedback", {"verdict": "useful"}, "ana")
    l.ask("POST", f"/api/memory/{n['doubt']}/feedback", {"verdict": "wrong"}, "ana")
    for key, value in {"timezone": "Europe/Lisbon", "learn.instructions": "keep what concerns boats", "shoe size": "41", "motto": "slowly"}.items():
        l.ask("PUT", "/api/profile/" + urllib.parse.quote(key), {"value": value}, "ana")
    l.ask("PUT", "/api/profile/shoe%20size", {"value": "42"}, "ana")
    l.ask("DELETE", "/api/profile/motto", user="ana")
    l.ask("PUT", "/api/pause", {"pause": "learning"}, "pia")
    l.remember("pia", "User naps after lunch")
    brief = l.remember("ana", "User waits for a parcel", expires_at=stamp(time.time() + 1))
    time.sleep(1.2)
    l.ask("POST", "/api/upkeep", {}, "ana")
    assert next(m for m in l.memories("ana") if m["id"] == brief)["status"] == "retired"
    return n


def stamp(at):
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(at))


def relations(l, n):
    for a, kind, b in [("paddle", "refines", "kayak"), ("permit", "follows", "kayak"), ("doubt", "contradicts", "quiet"), ("tables", "same_subject", "kayak")]:
        l.ask("POST", f"/api/memory/{n[a]}/related", {"to": n[b], "kind": kind}, "ana")
    l.ask("POST", f"/api/memory/{n['old']}/related", {"to": n["kayak"], "kind": "follows"}, "ana")
    l.ask("DELETE", f"/api/memory/{n['old']}/related?to={n['kayak']}&kind=follows", user="ana")


def imported(l):
    def fact(i, content, **more):
        return {"type": "fact", "id": f"01900000-0000-7000-8000-0000000000{i:02x}", "scope": {}, "content": content, "confidence": 0.7, "status": "active",
                "source": "imported", "trust": "user", "observed_at": "2021-02-03T04:05:06.000007Z", "created_at": "2021-02-03T04:05:06.000007Z",
                "updated_at": "2021-02-03T04:05:06.000007Z", **more}
    old = "01900000-0000-7000-8000-0000000000"
    lines = [
        {"type": "header", "format": "loci", "version": 1, "exported_at": "2021-03-01T00:00:00Z"},
        {"type": "conversation", "id": "attic", "project": "mill", "title": "The attic", "rules": "Answer in one line.", "status": "active",
         "created_at": "2021-02-03T04:00:00Z", "updated_at": "2021-02-03T04:06:00Z"},
        {"type": "turn", "id": old + "a1", "conversation": "attic", "index": 0, "role": "user", "name": "ben", "content": "There is a loom in the attic.",
         "ref": "client-7", "status": "active", "created_at": "2021-02-03T04:05:06.000007Z"},
        {"type": "turn", "id": old + "a2", "conversation": "attic", "index": 1, "parent": old + "a1", "role": "assistant", "content": "How old is it?",
         "status": "active", "created_at": "2021-02-03T04:05:09Z"},
        {"type": "turn", "id": old + "a3", "conversation": "attic", "index": 2, "parent": old + "a2", "role": "system", "content": "Keep to the attic.",
         "status": "active", "created_at": "2021-02-03T04:05:10Z"},
        fact(1, "User has a loom", subject="user", attribute="loom", provenance={"conversation": "attic", "turns": [old + "a1"], "quote": {"turn": old + "a1", "start": 9, "end": 15}}),
        fact(2, "User rented a boathouse", valid_from="2018-01-01T00:00:00Z", valid_to="2020-06-30T00:00:00Z", category="home", tags=["water"]),
        fact(3, "User's notes lie in the blue folder", source="file", trust="person", metadata={"folder": "blue"}),
        fact(4, "User rowed in Varn", status="superseded", superseded_by=old + "05", valid_to="2021-02-01T00:00:00Z"),
        fact(5, "User rows in Ostrel", subject="user", attribute="rowing", valid_from="2021-02-01T00:00:00Z"),
        fact(6, "User might sell the loom", status="pending"),
        fact(7, "User hates rain", status="rejected"),
        fact(8, "User kept bees", status="retired"),
        {"type": "relation", "from": old + "05", "to": old + "04", "kind": "follows", "status": "active", "created_at": "2021-02-03T04:05:06Z"},
        {"type": "summary", "id": old + "b1", "scope": {"conversation": "attic"}, "text": "- A loom was found in the attic.", "message_count": 2, "model": "rule_based",
         "status": "active", "created_at": "2021-02-03T04:07:00Z"},
        {"type": "profile", "key": "instrument", "value": "bassoon", "tokenCount": 3, "status": "active", "updated_at": "2021-02-03T04:05:06Z"},
    ]
    done = l.ask("POST", "/api/import?format=jsonl", "\n".join(json.dumps(x) for x in lines).encode(), "ben", Content_Type="application/x-ndjson")
    assert done["broken"] == 0 and done["conflicting"] == 0, done
    l.ask("POST", "/api/import?format=text", b"# Garden\n- The pear tree bears in odd years\n- The pump needs oil in spring\n", "cleo", fails=True, Content_Type="text/plain")
    l.run("import", "--from", "list", "--user", "cleo", "--project", "garden", put(l.home, "list.md", "# Garden\n- The pear tree bears in odd years\n- The pump needs oil in spring\n"))


def put(folder, name, text):
    path = os.path.join(folder, name)
    with open(path, "w") as f:
        f.write(text)
    return path


def documents(l):
    a = l.ask("POST", "/api/contexts", {"title": "House rules", "content": "Ropes hang left of the door."}, "ana")["id"]
    l.ask("PATCH", "/api/contexts/" + a, {"content": "Ropes hang right of the door. Boots stay outside."}, "ana")
    b = l.ask("POST", "/api/contexts", {"title": "Old list", "content": "Buy twine."}, "ana")["id"]
    l.ask("DELETE", "/api/contexts/" + b, user="ana")
    l.ask("POST", "/api/memory/tool", {"command": "create", "path": "/memories/tides.md", "file_text": "High water at six.\n"}, "ana")
    l.ask("POST", "/api/memory/tool", {"command": "str_replace", "path": "/memories/tides.md", "old_str": "six", "new_str": "seven"}, "ana")
    chat = l.ask("POST", "/api/chats", {"title": "Boathouse", "project": "mill", "rules": "Speak plainly.", "contexts": [a]}, "ana")["id"]
    for words in ("Where do the ropes hang?", "And the boots?"):
        l.ask("POST", f"/api/chats/{chat}/messages", {"content": words}, "ana")
        l.settle("ana")
    l.ask("POST", f"/api/chats/{chat}/messages/regenerate", {}, "ana")
    l.ask("PATCH", "/api/chats/" + chat, {"title": "The boathouse"}, "ana")
    lost = l.ask("POST", "/api/chats", {"title": "Scrap"}, "ana")["id"]
    l.ask("POST", f"/api/chats/{lost}/messages", {"content": "I drew a square."}, "ana")
    l.settle("ana")
    l.ask("DELETE", "/api/chats/" + lost, user="ana")


def chats(l):
    """Turns of each role, branches, names, ids of the client's, tools, and the other dialects."""
    m, _ = l.talk("ben", "branch", "I paint doors.", "I paint them green.", X_Loci_Message_Id="m-1")
    edited = m[:2] + [{"role": "user", "content": "I paint them grey."}]
    answer, _ = l.say("ben", "branch", edited)
    l.say("ben", "branch", edited + [{"role": "assistant", "content": answer["content"]}, {"role": "user", "content": "With a wide brush."}])
    tools = [{"type": "function", "function": {"name": "tide", "parameters": {"type": "object", "properties": {"pier": {"type": "string"}}}}}]
    asked = [{"role": "system", "content": "You know the tides."}, {"role": "user", "name": "ben_k", "content": "When is the tide high?"}]
    call, _ = l.say("ben", "tools", asked, tools=tools)
    l.say("ben", "tools", asked + [call, {"role": "tool", "tool_call_id": "call_1", "content": "{\"high\": \"06:10\"}"}], tools=tools)
    l.say("ben", "older", [{"role": "user", "content": "Hello, old friend."}, {"role": "assistant", "content": "Hello."}, {"role": "user", "content": "I sand the doors by hand."}])
    l.say("ben", "hidden", [{"role": "user", "content": "I whisper."}], X_Loci_Mode="read")
    l.say("ben", "claude", [{"role": "user", "content": "I keep brushes in oil."}], path="/v1/messages")
    l.say("ben", None, [{"role": "user", "content": "I mix paint on Tuesdays."}], path="/v1/responses")
    l.ask("POST", "/api/memory/add", {"conversation": "plugin", "project": "doors", "messages": [
        {"role": "user", "id": "p-1", "name": "ben", "content": "I varnish tables.", "created_at": "2022-05-06T07:08:09.000001Z"},
        {"role": "assistant", "id": "p-2", "content": "Twice?", "created_at": "2022-05-06T07:08:10Z"}]}, "ben")
    l.ask("POST", "/api/memory/add", {"conversation": "plugin", "infer": False, "messages": [{"role": "user", "content": "I varnish chairs."}]}, "ben")
    l.settle("ben")
    l.ask("POST", "/query", {"query": "What do I paint?", "user_id": "ben", "session_id": "asked"}, "ben")
    l.settle("ben")
    l.ask("POST", "/v1/memories/", {"messages": [{"role": "user", "content": "The gate creaks."}], "user_id": "ben", "agent_id": "porter", "app_id": "gatehouse",
                                    "run_id": "r1", "infer": False, "metadata": {"gate": "west"}}, "ben")
    l.ask("POST", "/v1/chat/completions", {"model": "fixture-chat", "messages": [{"role": "user", "content": "I whistle in the dark."}]}, None,
          X_OpenWebUI_User_Id="dora", X_OpenWebUI_User_Name="Dora%20Finch", X_OpenWebUI_Chat_Id="front-1")
    l.settle("dora")


def learned(l):
    """What the model learns: with proof, without, replaced, ended, said again, in a project."""
    l.talk("dora", "d1", "I live in Varn.", "My sister Odile carves spoons.", "I have a heron named Pim.", "I moved to Ostrel in May.", "Pim flew away.", "I no longer keep a heron.", "Good night!")
    l.talk("dora", "d2", "I am allergic to quince.", "I collect maps.", "I have a goat named Tuk.", "Tuk ran off.")  # two wait
    l.talk("dora", "d3", "We build with granite.", X_Loci_Project="quay")
    l.talk("dora", "d4", "I drink green tea at four.")
    l.talk("dora", "d5", "It is tea at four, as ever.")
    by_hand = l.remember("dora", "User works as a glazier")
    l.ask("POST", f"/api/memory/{by_hand}/pin", {"pinned": True}, "dora")
    l.talk("dora", "d6", "I work as a ferryman now.")  # a model's word against a person's waits
    waiting = l.ask("GET", "/api/review", user="dora")["waiting"]
    assert len(waiting) >= 2, waiting
    l.talk("dora", "d7", "Remember that my boat is called Sedge.", "Forget that I drink green tea at four.")
    l.talk("cleo", "c1", "I am allergic to quince.")
    l.ask("POST", "/api/review", {"judgements": [{"id": l.fact("cleo", "User is allergic to quince"), "action": "reject"}]}, "cleo")
    l.talk("cleo", "c2", "I have a goat named Tuk.", "Tuk ran off.")
    l.ask("POST", "/api/review", {"judgements": [{"id": w["memory"]["id"], "action": "approve"} for w in l.ask("GET", "/api/review", user="cleo")["waiting"]]}, "cleo")
    l.talk("eve", "e1", "I live in Varn.", "I moved to Ostrel in May.")
    l.ask("PUT", "/api/profile/timezone", {"value": "Asia/Tokyo"}, "eve")
    l.remember("eve", "User hums while sorting buttons", tags=["sound"], metadata={"k": "v"})


def shared(l):
    """Links: accepted, waiting, hidden, ended, of the pool and of everybody; and traces that show them."""
    made = {w: l.remember("ana", f"The {w} boat needs {w} paint", tags=["boats"]) for w in ("first", "second", "third", "fourth", "fifth", "sixth")}
    to = {"first": "user/ben", "second": "user/ben", "third": "user/ben", "fourth": "user/ben", "fifth": "pool/team", "sixth": "global"}
    for which, whom in to.items():
        l.ask("POST", f"/api/memory/{made[which]}/share", {"to": whom}, "ana")
        l.settle("ana")
    l.ask("POST", "/api/review", {"judgements": [{"id": made["first"], "action": "approve"}, {"id": made["third"], "action": "reject"}]}, "ben")
    l.ask("DELETE", f"/api/memory/{made['fourth']}/share?to=user/ben", user="ana")
    l.settle("ana")
    l.talk("ben", "b9", "Which boat needs paint?")


def changes(l, n):
    """Forgotten, restored, undone, erased; an undo of an undo; a chat learned from again."""
    l.ask("DELETE", "/api/memory/" + n["old"], user="ana")
    edit = l.ask("PATCH", "/api/memory/" + n["tables"], {"category": "papers"}, "ana")
    run = l.ask("GET", "/api/changes?fact=" + n["tables"], user="ana")["changes"][0]["run"]
    undone = l.ask("POST", "/api/changes/undo", {"run": run}, "ana")
    l.ask("POST", "/api/changes/undo", {"run": undone["run"]}, "ana")
    l.ask("DELETE", "/api/memory/" + n["doubt"], user="ana")
    l.ask("POST", f"/api/memory/{n['doubt']}/restore", user="ana")
    gone = l.remember("ana", "User once stole a plum")
    l.ask("DELETE", f"/api/memory/{gone}?erase=true", user="ana")
    l.talk("ben", "b10", "I paint the gate on Fridays.", "I never paint on Sundays.")
    turn = next(m["id"] for m in l.memories("ben", kind="turn") if m["content"] == "I never paint on Sundays.")
    l.ask("DELETE", "/api/memory/" + turn, user="ben")
    l.ask("POST", "/api/memory/forget", {"filter": {"tag": "papers"}}, "ana", Idempotency_Key="fixture-key-2")
    l.ask("POST", "/api/memory/forget", {"filter": {"tag": "papers"}}, "ana", Idempotency_Key="fixture-key-2")
    l.ask("POST", "/api/relearn", {"conversation": "d1"}, "dora")
    l.settle("dora")
    assert edit


def gone(l):
    for user in ("zoe", "yan"):
        l.talk(user, "last", "I keep a secret garden.", "I live in Varn.")
        l.remember(user, "User hides the key under a stone")
        l.ask("DELETE", "/api/users/" + user)
    l.ask("POST", "/api/users/yan/open")
    l.remember("yan", "User begins again with a clean slate")


def second(l):
    """The same memory with an embedder that keeps vectors, and with rules in place of the model."""
    l.start(EMBEDDER="remote:fixture-embed-one", LEARN_MODEL="none", SUMMARIES_MODE="on")
    l.ask("POST", "/api/reembed/all", {})
    while l.ask("GET", "/api/reembed/all").get("under_way"):
        time.sleep(0.1)
    l.ask("POST", "/api/reembed/prune", {"all": True}, "ana")  # what words alone gave
    l.talk("cleo", "rules", "I play the bassoon.", "My brother Emil is a baker.", "My favourite colour is teal.")
    l.stop()


def third(l):
    """A job that is parked since the server died three times during it, and one that waits for tomorrow."""
    more = {"EMBEDDER": "remote:fixture-embed-two"}
    l.start(**more)
    l.ask("POST", "/api/reembed", {}, "ana")
    l.settle("ana")
    Upstream.hanging.clear()
    l.ask("POST", "/api/memory/add", {"conversation": "hum", "messages": [{"role": "user", "content": "At dusk the lighthouse hums to my cat Brim."}]}, "cleo")
    for again in range(3):
        if not Upstream.hanging.wait(60):
            sys.exit("the learning model was not asked")
        l.stop(signal.SIGKILL)
        Upstream.hanging.clear()
        l.start(**more)
    for _ in range(300):
        if any(j["state"] == "parked" for j in l.ask("GET", "/api/jobs", user="cleo")["jobs"]):
            break
        time.sleep(0.1)
    else:
        sys.exit("no job is parked")
    l.ask("POST", "/api/memory/search", {"query": "Which boat needs fifth paint?", "top_k": 2}, "ben")  # a trace of what is another's
    time.sleep(1.5)
    l.stop()
    l.start(LEARN_DAY_TOKENS="1", **more)
    l.ask("POST", "/api/memory/add", {"conversation": "morrow", "messages": [{"role": "user", "content": "I live in Varn on weekdays with my dog Ruff."}]}, "dora")
    for _ in range(300):
        if any(seconds(j["run_at"]) > time.time() + 60 and "spent" in j.get("error", "") for j in l.ask("GET", "/api/jobs", user="dora")["jobs"]):
            break
        time.sleep(0.1)
    else:
        sys.exit("no job waits for tomorrow")
    l.stop()


def people(l, vault):
    """What a person does to a vault's files while no server runs."""
    def path(words):
        for folder, _, names in os.walk(os.path.join(vault, "entries")):
            for name in names:
                with open(os.path.join(folder, name)) as f:
                    if words in f.read():
                        return os.path.join(folder, name)
        sys.exit("no file says " + words)
    l.remember("default", "User feeds the ducks")
    for what in ("clay", "chalk", "flint", "slate", "marl", "loam"):
        l.remember("default", f"User has a drawer of {what}", tags=["drawers"])
    l.talk("default", "own", "I keep a heron.")
    time.sleep(1.5)
    l.stop()
    ducks = path("User feeds the ducks")
    with open(ducks) as f:
        text = f.read()
    put(os.path.dirname(ducks), os.path.basename(ducks), text.replace("User feeds the ducks", "User feeds the geese").replace("\nid:", "\nmine: kept # a word of my own\nid:"))
    put(os.path.dirname(ducks), "by hand.md", "---\ntags: [hand]\n---\nUser writes with a quill\n")
    os.remove(path("a drawer of marl"))
    l.start()
    for _ in range(300):
        if any(m["source"] == "file" for m in l.memories("default")):
            break
        time.sleep(0.1)
    else:
        sys.exit("no fact is from a file")
    time.sleep(1.5)
    l.stop()


# ---- the second namespace, counts, reads --------------------------------------------------


def copied(tables):
    """Statements that copy eve's rows into the second namespace, for each table and its columns."""
    for table, columns in tables.items():
        put_ = [f"replace({c}, 'default/user/eve', '{NAMESPACE}/user/eve')" if c in ("owner", "home", "fact", "before", "data") and (table, c) not in BLOBS else c for c in columns]
        if table in ("fact_tags", "fact_turns", "trace_facts"):
            put_ = [f"replace({c}, 'default/user/eve', '{NAMESPACE}/user/eve')" if c == "owner" else c for c in columns]
        names = ", ".join(f'"{c}"' for c in columns)
        put_ = [p if "(" in p else f'"{p}"' for p in put_]
        yield f"INSERT INTO {table} ({names}) SELECT {', '.join(put_)} FROM {table} WHERE owner = 'default/user/eve'"


BLOBS = {("vectors", "data"), ("traces", "data")}


def tables_of(db):
    names = [r[0] for r in db.execute("SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite_%' AND name NOT LIKE 'goose_%' ORDER BY name")]
    return {t: [r[1] for r in db.execute(f"PRAGMA table_info({t})")] for t in names}


def reads(l):
    """What is read, in the order in which it is to be asked: method, path, user, body."""
    out = [("GET", "/api/users?limit=100", None, None), ("GET", "/api/keys", None, None)]
    questions = {"ana": "What colour is my kayak?", "ben": "Is there a loom in the attic?", "cleo": "Which instrument do I play?", "dora": "Where do I live?",
                 "eve": "Where do I live?", "default": "What do I write with?"}
    for user in USERS + ["default"]:
        mine = l.ask("GET", "/api/memory?kind=all&status=all&limit=200", user=user, fails=True)
        if not mine.get("memories"):
            continue
        for path in ("/api/memory?kind=all&status=all&limit=200", "/api/memory?limit=200", "/api/memory?tag=water", "/api/memory?kind=all&valid_at=2019-07-01T00:00:00Z",
                     "/api/changes?limit=200", "/api/profile", "/api/contexts", "/api/chats?limit=100", "/api/review", "/api/usage?since=2020-01-01T00:00:00Z", "/api/stats",
                     "/api/pause", "/api/jobs", "/api/reembed", "/api/export?format=jsonl"):
            out.append(("GET", path, user, None))
        for m in mine["memories"] or []:
            if m["kind"] == "fact":
                ways = ["related"] if m.get("home") else ["related", "share"]
                ways += ["history"] if m["updated_at"] != m["created_at"] else []
                out += [("GET", f"/api/memory/{m['id']}/{way}", user, None) for way in ways]
        for c in l.ask("GET", "/api/contexts", user=user)["contexts"] or []:
            out.append(("GET", "/api/contexts/" + c["id"], user, None))
        for c in l.ask("GET", "/api/chats?limit=100", user=user)["chats"] or []:
            out.append(("GET", "/api/chats/" + urllib.parse.quote(c["id"]), user, None))
            out.append(("GET", f"/api/chats/{urllib.parse.quote(c['id'])}/events?limit=200", user, None))
        at = [c["created_at"] for c in l.ask("GET", "/api/changes?limit=200", user=user)["changes"] or []]
        if at:
            middle = urllib.parse.quote(sorted(at)[len(at) // 2])
            out.append(("GET", "/api/memory?kind=all&limit=200&as_of=" + middle, user, None))
            out.append(("GET", "/api/export?format=jsonl&as_of=" + middle, user, None))
        for trace in traced(l, user):
            out.append(("GET", "/api/traces/" + trace, user, None))
    asked = {user for _, _, user, _ in out}
    return out + [("POST", "/api/memory/search", user, {"query": q, "top_k": 3}) for user, q in questions.items() if user in asked]


def traced(l, user):
    """The traces of a user that chats' events name."""
    found = set()
    for c in l.ask("GET", "/api/chats?limit=100", user=user)["chats"] or []:
        for e in l.ask("GET", f"/api/chats/{urllib.parse.quote(c['id'])}/events?limit=200", user=user)["events"] or []:
            if e["type"] == "recall":
                found.add(e["recall"]["trace"])
    return sorted(found)[:3]


def answers(l, asked):
    out = []
    for method, path, user, body in asked:
        status, text, _ = l.ask(method, path, body, user, raw=True)
        if path.startswith("/api/export"):
            lines = [json.loads(line) for line in text.splitlines()]
            answer = [x for x in lines if x["type"] != "header"]
        else:
            answer = json.loads(text) if text else None
        if method == "POST":  # a search: what is found is held to, how it is scored is not
            answer = {"hits": [{"id": h["id"], "content": h["content"]} for h in answer["hits"]]}
        out.append({"user": user or "", "method": method, "path": path, "body": body, "status": status, "answer": answer})
    return out


def read(l, out, name):
    """Keep what is read, once it is the same twice and no job will change it soon."""
    l.start(EMBEDDER="remote:fixture-embed-two", LEARN_DAY_TOKENS="1")
    answers(l, [a for a in reads(l) if a[0] == "POST"])  # who is searched gets the vectors that are missing
    time.sleep(1.5)
    for _ in range(100):
        for user in USERS + ["default"]:
            if "jobs" in (l.ask("GET", "/api/jobs", user=user, fails=True) or {}):
                l.settle(user)
        asked = [a for a in reads(l) if a[0] == "GET"]
        if (before := answers(l, asked)) == answers(l, asked):
            break
        time.sleep(1)
    else:
        sys.exit("what is read does not come to rest")
    asked = reads(l)
    got = before + answers(l, [a for a in asked if a[0] == "POST"])
    l.stop()
    head = {"fixture": name, "release": l.run("--version").strip(), "at": stamp(time.time()), "key": KEY, "key_of_ana": l.made, "namespace": NAMESPACE}
    keep(out, name + ".reads.jsonl", "".join(json.dumps(x, ensure_ascii=False, sort_keys=True) + "\n" for x in [head] + got).encode())
    check(name, got)


def check(name, got):
    """Stop where a kind of record is missing."""
    facts = [m for g in got if g["path"].startswith("/api/memory?kind=all&status=all&limit") for m in g["answer"]["memories"] or []]
    def need(what, have, want):
        have = set(have)
        if missing := set(want) - have:
            sys.exit(f"{name} has no {what} {sorted(missing)}; it has {sorted(have, key=str)}")
    need("status", (m["status"] for m in facts if m["kind"] == "fact"), ["active", "pending", "superseded", "retired", "rejected"])
    need("source", (m.get("source") for m in facts if m["kind"] == "fact"), ["extracted", "manual", "imported", "file"])
    need("turn's status", (m["status"] for m in facts if m["kind"] == "turn"), ["active", "replaced", "retired"])
    need("role", (m.get("role") for m in facts if m["kind"] == "turn"), ["user", "assistant", "system", "tool"])
    need("summary's model", ("rule" if m.get("model") == "rule_based" else "model" for m in facts if m["kind"] == "summary"), ["rule", "model"])
    need("field", (k for m in facts for k in m), ["agent", "project", "category", "tags", "metadata", "expires_at", "pinned", "provenance", "valid_from", "valid_to", "superseded_by", "home", "name", "ref"])
    jobs = [j for g in got if g["path"] == "/api/jobs" for j in (g["answer"].get("jobs") or [])]
    need("job's state", (j["state"] for j in jobs), ["queued", "parked"])


def counted(out, name, rows):
    for table, n in rows.items():
        if not n and table not in EMPTY and not (table == "due" and name == "postgres"):
            sys.exit(f"{name}: the table {table} is empty")
    return rows


# ---- the three stores -----------------------------------------------------------------------


def world(l, vault=None):
    first(l)
    second(l)
    third(l)
    if vault:
        l.settings["EMBEDDER"] = "remote:fixture-embed-two"
        l.start()
        people(l, vault)


def in_sqlite(path):
    db = sqlite3.connect(path)
    with db:
        for s in copied({t: c for t, c in tables_of(db).items() if t not in ("api_keys",)}):
            db.execute(s)
    db.close()


def rows_in(path):
    db = sqlite3.connect(path)
    rows = {t: db.execute(f"SELECT count(*) FROM {t}").fetchone()[0] for t in tables_of(db)}
    db.close()
    return rows


def keep(out, name, data):
    """Write a file of OUT. Ids come again far behind one another, which bzip2 sees and gzip does not."""
    with open(os.path.join(out, name + ".bz2"), "wb") as f:
        f.write(bz2.compress(data))


def archive(folder, names):
    """A tar of folders, without what is not memory, and without names of this machine."""
    def plain(info):
        if os.path.basename(info.name) == "lock" or info.name.endswith((".lock", "-shm")):
            return None
        info.uid = info.gid = 0
        info.uname = info.gname = ""
        return info
    raw = io.BytesIO()
    with tarfile.open(fileobj=raw, mode="w", format=tarfile.PAX_FORMAT) as t:
        for name in names:
            t.add(os.path.join(folder, name), name, filter=plain)
    return raw.getvalue()


def sqlite(binary, home, up, out):
    l = Loci(binary, home, up, {})
    world(l)
    path = os.path.join(home, "data", "loci.db")
    in_sqlite(path)
    read(l, out, "sqlite")
    keep(out, "sqlite.tar", archive(home, ["data"]))
    return counted(out, "sqlite", rows_in(path))


def vault(binary, home, up, out):
    folder = os.path.join(home, "vault")
    l = Loci(binary, home, up, {"VAULT": folder})
    world(l, folder)
    path = os.path.join(home, "data", "loci.db")
    in_sqlite(path)
    l.start()  # writes the files of the second namespace
    time.sleep(3)
    l.stop()
    read(l, out, "vault")
    keep(out, "vault.tar", archive(home, ["data", "vault"]))
    return counted(out, "vault", rows_in(path))


def postgres(binary, home, up, out):
    found = shutil.which("initdb") or "/usr/lib/postgresql/15/bin/initdb"
    near = os.path.dirname(os.path.realpath(found))
    tool = lambda name: shutil.which(name) or os.path.join(near, name)
    folder = tempfile.mkdtemp(prefix="loci-pg-")
    as_whom = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"] if os.getuid() == 0 else []
    if as_whom:
        os.chown(folder, 65534, 65534)
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        port = str(s.getsockname()[1])
    subprocess.run(as_whom + [tool("initdb"), "-D", folder + "/data", "-U", "loci", "-A", "trust", "-E", "UTF8", "--locale=C", "--no-sync"], check=True, stdout=subprocess.DEVNULL)
    server = subprocess.Popen(as_whom + [os.path.join(os.path.dirname(tool("initdb")), "postgres"), "-D", folder + "/data", "-k", folder, "-c", "listen_addresses=127.0.0.1",
                                         "-p", port, "-c", "fsync=off"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, cwd=folder)
    connect = ["-h", "127.0.0.1", "-p", port, "-U", "loci", "-d", "postgres"]
    sql = lambda text: subprocess.run([tool("psql"), *connect, "-v", "ON_ERROR_STOP=1", "-qAtc", text], check=True, capture_output=True, text=True).stdout
    try:
        for _ in range(100):
            if subprocess.run([tool("psql"), *connect, "-qAtc", "SELECT 1"], capture_output=True).returncode == 0:
                break
            time.sleep(0.1)
        sql(f"CREATE SCHEMA {SCHEMA}")
        l = Loci(binary, home, up, {"STORE": f"postgres://loci@127.0.0.1:{port}/postgres?search_path={SCHEMA}"})
        world(l)
        names = sql(f"SELECT table_name FROM information_schema.tables WHERE table_schema = '{SCHEMA}' AND table_type = 'BASE TABLE' AND table_name NOT LIKE 'goose_%' ORDER BY 1").split()
        tables = {t: sql(f"SELECT column_name FROM information_schema.columns WHERE table_schema = '{SCHEMA}' AND table_name = '{t}' ORDER BY ordinal_position").split() for t in names}
        for s in copied({t: c for t, c in tables.items() if t not in ("api_keys",)}):
            sql(f"SET search_path = {SCHEMA}; {s}")
        read(l, out, "postgres")
        dump = subprocess.run([tool("pg_dump"), *connect, "--schema=" + SCHEMA, "--no-owner", "--no-privileges", "--inserts", "--rows-per-insert=50"],
                              check=True, capture_output=True, text=True).stdout
        dump = "\n".join(x for x in dump.splitlines() if not x.startswith(("--", "\\", "SET transaction_timeout"))) + "\n"
        keep(out, "postgres.sql", dump.encode())
        return counted(out, "postgres", {t: int(sql(f"SELECT count(*) FROM {SCHEMA}.{t}")) for t in names})
    finally:
        server.send_signal(signal.SIGINT)
        server.wait()
        shutil.rmtree(folder)


def main():
    if len(sys.argv) < 3:
        sys.exit(__doc__)
    binary, out, names = os.path.abspath(sys.argv[1]), os.path.abspath(sys.argv[2]), sys.argv[3:] or ["sqlite", "vault", "postgres"]
    os.makedirs(out, exist_ok=True)
    up, rows = upstream(), {}
    for name in names:
        with tempfile.TemporaryDirectory(prefix="loci-fixture-") as home:
            begun = time.time()
            rows[name] = globals()[name](binary, home, up, out)
            print(f"{name}: {time.time() - begun:.0f} s, " + ", ".join(f"{f} {os.path.getsize(os.path.join(out, f))}" for f in sorted(os.listdir(out)) if f.startswith(name)))
    every = sorted({t for r in rows.values() for t in r})
    text = "Rows.\n\n" + f"{'':20}" + "".join(f"{n:>10}" for n in rows) + "\n"
    text += "".join(f"{t:20}" + "".join(f"{r.get(t, '-'):>10}" for r in rows.values()) + "\n" for t in every)
    text += f"\n{' and '.join(sorted(EMPTY))} are written by no release.\n"
    print(text, end="")


if __name__ == "__main__":
    main()
