#!/usr/bin/env python3
"""Compares Loci with other memories for LLM applications on this machine.

    go build -o tmp/loci ./cmd/loci && python3 tools/compare/compare.py tmp/loci

Each system is installed from PyPI into its own environment under tmp/compare, and talks to one fake
OpenAI server that answers at once and counts calls. Model quality is not compared: all get the same
answers. The figures are installed size, calls for one message and for one question, the time of a
question among 1,000 memories, and what a question shows after a correction.
"""

import base64, http.server, json, os, re, socket, struct, subprocess, sys, threading, time, urllib.request, zlib
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2] / "tmp" / "compare"
PACKAGES = {"mem0": ["mem0ai==2.2.1"], "langgraph": ["langmem==0.0.30", "numpy==2.3.5"]}
MEMORIES, QUESTIONS = 1000, 100
calls = {"chat": 0, "embeddings": 0}


def embed(text):
    """A vector of hashed words: equal words are near."""
    v = [0.0] * 1536
    for word in re.findall(r"[a-z0-9]+", text.lower()):
        v[zlib.crc32(word.encode()) % 1536] += 1
    norm = sum(x * x for x in v) ** 0.5 or 1
    return [x / norm for x in v]


class Fake(http.server.BaseHTTPRequestHandler):
    """Answers chat completions with the fact of the last message, and embeddings."""

    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    def do_POST(self):
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        if self.path.endswith("/embeddings"):
            calls["embeddings"] += 1
            texts = body["input"] if isinstance(body["input"], list) else [body["input"]]
            vectors = [embed(str(t)) for t in texts]
            if body.get("encoding_format") == "base64":
                vectors = [base64.b64encode(struct.pack("<1536f", *v)).decode() for v in vectors]
            answer = {"object": "list", "model": "fake", "usage": {"prompt_tokens": 1, "total_tokens": 1},
                      "data": [{"object": "embedding", "index": i, "embedding": v} for i, v in enumerate(vectors)]}
        else:
            calls["chat"] += 1
            place = re.findall(r"I (?:live in|moved to) (\w+)", json.dumps(body["messages"]))
            text = "Noted."
            if body.get("response_format"):  # an extraction
                text = json.dumps({"memory": [{"id": "0", "text": f"User lives in {place[-1]}"}] if place else []})
            answer = {"id": "1", "object": "chat.completion", "created": 1, "model": "fake",
                      "usage": {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2},
                      "choices": [{"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": text}}]}
        self.reply(answer)

    def do_GET(self):
        self.reply({"object": "list", "data": [{"id": "fake", "object": "model"}]})

    def reply(self, answer):
        data = json.dumps(answer).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)


def median_ms(ask):
    times = []
    for i in range(QUESTIONS):
        start = time.perf_counter()
        ask(f"what about topic {i * 7 % MEMORIES}?")
        times.append(1000 * (time.perf_counter() - start))
    return round(sorted(times)[QUESTIONS // 2], 2)


def post(url, body):
    request = urllib.request.Request(url, json.dumps(body).encode(), {"Content-Type": "application/json"})
    return json.load(urllib.request.urlopen(request))


def counted(do):
    before = dict(calls)
    result = do()
    return {k: calls[k] - before[k] for k in calls}, result


def facts():
    return [f"User noted thing {i} of topic {i * 7 % MEMORIES}" for i in range(MEMORIES)]


# The code that runs inside a system's own environment: it prints what it measured as JSON.
CLIENT = {
    "mem0": """
from mem0 import Memory
m = Memory.from_config({"vector_store": {"provider": "qdrant", "config": {"path": folder + "/qdrant", "on_disk": True}}, "history_db_path": folder + "/history.db"})
def tell(text): m.add(text, user_id="ana")
def add(text): m.add(text, user_id="ana", infer=False)
def ask(question): return [hit["memory"] for hit in m.search(question, filters={"user_id": "ana"}, top_k=10)["results"]]
""",
    "langgraph": """
from langchain_openai import OpenAIEmbeddings
from langgraph.store.memory import InMemoryStore
s = InMemoryStore(index={"dims": 1536, "embed": OpenAIEmbeddings(check_embedding_ctx_length=False)})
n = iter(range(10 ** 9))
def add(text): s.put(("ana",), str(next(n)), {"text": text})
tell = add
def ask(question): return [hit.value["text"] for hit in s.search(("ana",), query=question, limit=10)]
""",
}
COMMON = """
import json, sys
folder = sys.argv[1]
{client}
for line in sys.stdin:
    do, text = json.loads(line)
    print("RESULT" + json.dumps({{"tell": tell, "add": add, "ask": ask}}[do](text)), flush=True)
"""


class Python:
    """A system in an environment of its own, driven by lines of JSON."""

    def __init__(self, name, url):
        home = ROOT / name
        if not (home / "installed").exists():
            subprocess.run([sys.executable, "-m", "venv", home], check=True)
            subprocess.run([home / "bin" / "pip", "install", "-q", "--disable-pip-version-check", *PACKAGES[name]], check=True)
            (home / "installed").touch()
        listing = subprocess.run([home / "bin" / "pip", "list", "--format=freeze", "--disable-pip-version-check"], check=True, capture_output=True, text=True).stdout
        self.packages = sum(1 for line in listing.splitlines() if not re.match(r"(pip|setuptools)==", line))
        self.megabytes = sum(f.stat().st_size for f in home.rglob("*") if f.is_file() and not f.is_symlink()) // 1_000_000
        data = ROOT / f"{name}-{os.getpid()}"
        data.mkdir()
        env = dict(os.environ, OPENAI_API_KEY="unused", OPENAI_BASE_URL=url, MEM0_TELEMETRY="False", MEM0_DIR=str(data))
        self.process = subprocess.Popen([home / "bin" / "python", "-c", COMMON.format(client=CLIENT[name]), str(data)],
                                        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, env=env)

    def do(self, what, text):
        self.process.stdin.write(json.dumps([what, text]) + "\n")
        self.process.stdin.flush()
        for line in self.process.stdout:
            if line.startswith("RESULT"):
                return json.loads(line[6:])
        raise SystemExit(f"the client ended: {what} {text}")

    def tell(self, text):
        return self.do("tell", text)

    def add(self, text):
        return self.do("add", text)

    def ask(self, question):
        return self.do("ask", question)

    def close(self):
        self.process.stdin.close()
        self.process.wait()


class Loci:
    """Loci as a server in front of the fake, without a model that learns: its rules do."""

    packages = 1

    def __init__(self, binary, url):
        self.megabytes = Path(binary).stat().st_size // 1_000_000
        data = ROOT / f"loci-{os.getpid()}"
        with socket.create_server(("127.0.0.1", 0)) as free:
            self.address = "127.0.0.1:%d" % free.getsockname()[1]
        env = dict(os.environ, LOCI_DATA=str(data), LOCI_ADDR=self.address, LOCI_UPSTREAM_URL=url, LOCI_LEARN_MODEL="none")
        self.process = subprocess.Popen([binary, "serve"], env=env, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        for _ in range(200):
            try:
                urllib.request.urlopen(f"http://{self.address}/health/ready").read()
                return
            except OSError:
                time.sleep(0.05)
        raise SystemExit("Loci did not start")

    def post(self, path, body):
        return post(f"http://{self.address}{path}", body)

    def tell(self, text):
        self.post("/v1/chat/completions", {"model": "fake", "messages": [{"role": "user", "content": text}]})
        while json.load(urllib.request.urlopen(f"http://{self.address}/api/jobs"))["jobs"]:  # it learns after the answer
            time.sleep(0.1)

    def add(self, text):
        self.post("/api/memory", {"content": text})

    def ask(self, question):
        return [hit["content"] for hit in self.post("/api/memory/search", {"query": question, "top_k": 10, "kinds": ["fact"]})["hits"]]

    def close(self):
        self.process.terminate()
        self.process.wait()


def measure(name, system):
    row = {"system": name, "packages": system.packages, "MB": system.megabytes}
    try:
        row["calls for one message"], _ = counted(lambda: system.tell("I live in Berlin."))
        system.tell("I moved to Lisbon last week.")
        row["calls for one question"], row["after a correction"] = counted(lambda: system.ask("Where does the user live?"))
        for fact in facts():
            system.add(fact)
        row[f"question among {MEMORIES:,}, p50 ms"] = median_ms(system.ask)
    finally:
        system.close()
    print(json.dumps(row), flush=True)


def main():
    ROOT.mkdir(parents=True, exist_ok=True)
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Fake)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    url = f"http://127.0.0.1:{server.server_port}/v1"
    print(json.dumps({"an embedding of the fake, p50 ms": median_ms(lambda q: post(url + "/embeddings", {"input": q}))}), flush=True)
    measure("Loci", Loci(os.path.abspath(sys.argv[1]), url))
    for name in PACKAGES:
        measure(name, Python(name, url))


main()
