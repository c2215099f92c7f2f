"""Drives Loci with the SDKs of OpenAI and Anthropic, before an upstream that has only chat completions.

Usage: check.py LOCI
"""

import json
import os
import subprocess
import sys
import tempfile
import threading
import time
import urllib.request
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import anthropic
import openai

ADDR = "127.0.0.1:7394"
PIXEL = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
WEIGH = {"type": "object", "properties": {"animal": {"type": "string"}}, "required": ["animal"]}


class Upstream(BaseHTTPRequestHandler):
    """Has chat completions and their older kind, and nothing else."""

    protocol_version = "HTTP/1.1"
    asked = []  # the requests so far

    def log_message(self, *_):
        pass

    def do_GET(self):
        self.answer(200, {"object": "list", "data": [{"id": "scripted", "object": "model", "created": 0, "owned_by": "test"}]})

    def do_POST(self):
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        if self.path not in ("/v1/chat/completions", "/v1/completions"):
            return self.answer(404, {"detail": "Not Found"})
        self.asked.append(body)
        if "prompt" in body:
            return self.answer(200, {"id": "cmpl-1", "object": "text_completion", "created": 1, "model": "scripted",
                                     "choices": [{"index": 0, "text": " Pip.", "logprobs": None, "finish_reason": "stop"}]})
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


def sent():
    """Returns the last request that reached the upstream, as text."""
    return json.dumps(Upstream.asked[-1], ensure_ascii=False)


def with_anthropic():
    client = anthropic.Anthropic(base_url=f"http://{ADDR}", api_key="unused", max_retries=0, default_headers={"X-Loci-User": "ana"})
    base = {"model": "scripted", "max_tokens": 100}

    m = client.messages.create(**base, system="Be kind.", stop_sequences=["END"], messages=[{"role": "user", "content": "My cat is called Mitzi."}])
    assert m.type == "message" and m.stop_reason == "end_turn" and (m.usage.input_tokens, m.usage.output_tokens) == (11, 7), m
    assert m.content[0].text == "You said: My cat is called Mitzi.", m
    assert Upstream.asked[-1]["stop"] == ["END"] and Upstream.asked[-1]["messages"][0] == {"role": "system", "content": "Be kind."}

    tools = [{"name": "weigh", "description": "Weighs an animal.", "input_schema": WEIGH}]
    history = [{"role": "user", "content": "What does my cat weigh, and what is it called?"}]
    events = []
    with client.messages.stream(**base, tools=tools, tool_choice={"type": "any"}, messages=history) as stream:
        for event in stream:
            events.append(event.type)
        m = stream.get_final_message()
    assert "Mitzi" in sent(), "memory is missing: " + sent()
    assert events[0] == "message_start" and events[-1] == "message_stop" and "input_json" in events, events
    assert m.stop_reason == "tool_use" and m.usage.output_tokens == 7, m
    assert [b.type for b in m.content] == ["text", "tool_use", "tool_use"], m
    assert [b.input for b in m.content[1:]] == [{"animal": "cat"}, {"animal": "dog"}], m
    history += [
        {"role": "assistant", "content": m.content},
        {"role": "user", "content": [{"type": "tool_result", "tool_use_id": b.id, "content": "4 kg"} for b in m.content[1:]]},
    ]
    m = client.messages.create(**base, tools=tools, messages=history)
    assert m.content[0].text == "You said: 4 kg", m
    assert [x["role"] for x in Upstream.asked[-1]["messages"]][-3:] == ["assistant", "tool", "tool"], sent()

    image = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": PIXEL}}
    client.messages.create(**base, messages=[{"role": "user", "content": [image, {"type": "text", "text": "What is this?"}]}])
    assert f"data:image/png;base64,{PIXEL}" in sent()

    for words, more, kind in ("too fast", {}, anthropic.RateLimitError), ("x", {"tools": [{"type": "bash_20250124", "name": "bash"}]}, anthropic.BadRequestError):
        try:
            client.messages.create(**base, messages=[{"role": "user", "content": words}], **more)
            raise SystemExit(f"{words} {more}: no error")
        except kind as e:
            assert e.body["type"] == "error" and e.body["error"]["message"], e.body
    print(f"ok: anthropic {anthropic.__version__} (Python): create, stream, tools, images, errors", flush=True)


def with_openai():
    client = openai.OpenAI(base_url=f"http://{ADDR}/v1", api_key="unused", max_retries=0, default_headers={"X-Loci-User": "ben"})

    r = client.responses.create(model="scripted", instructions="Be kind.", input="My dog is called Rex.")
    assert r.status == "completed" and r.output_text == "You said: My dog is called Rex.", r
    assert (r.usage.input_tokens, r.usage.output_tokens, r.usage.total_tokens) == (11, 7, 18), r
    tools = [{"type": "function", "name": "weigh", "description": "Weighs an animal.", "parameters": WEIGH, "strict": False}]
    history = [{"role": "user", "content": "What does my dog weigh, and what is it called?"}]
    events = []
    with client.responses.stream(model="scripted", input=history, tools=tools) as stream:
        for event in stream:
            events.append(event.type)
        r = stream.get_final_response()
    assert "Rex" in sent(), "memory is missing: " + sent()
    assert events[0] == "response.created" and events[-1] == "response.completed" and "response.function_call_arguments.delta" in events, events
    assert [o.type for o in r.output] == ["message", "function_call", "function_call"], r
    assert [json.loads(o.arguments) for o in r.output[1:]] == [{"animal": "cat"}, {"animal": "dog"}], r
    history += [o.model_dump(exclude={"parsed_arguments"}) for o in r.output]
    history += [{"type": "function_call_output", "call_id": o.call_id, "output": "9 kg"} for o in r.output[1:]]
    pieces = [e.delta for e in client.responses.create(model="scripted", input=history, tools=tools, stream=True) if e.type == "response.output_text.delta"]
    assert "".join(pieces).strip() == "You said: 9 kg", pieces
    assert [x["role"] for x in Upstream.asked[-1]["messages"]][-3:] == ["assistant", "tool", "tool"], sent()

    image = {"type": "input_image", "image_url": f"data:image/png;base64,{PIXEL}", "detail": "auto"}
    client.responses.create(model="scripted", input=[{"role": "user", "content": [image, {"type": "input_text", "text": "What is this?"}]}])
    assert f"data:image/png;base64,{PIXEL}" in sent()
    for more, kind in ({"input": "too fast"}, openai.RateLimitError), ({"input": "x", "previous_response_id": r.id}, openai.BadRequestError):
        try:
            client.responses.create(model="scripted", **more)
            raise SystemExit(f"{more}: no error")
        except kind as e:
            assert e.body["message"], e.body
    print(f"ok: openai {openai.__version__} (Python): responses: create, stream, tools, images, errors", flush=True)

    without_v1 = openai.OpenAI(base_url=f"http://{ADDR}", api_key="unused", max_retries=0, default_headers={"X-Loci-User": "J%C3%BCrgen"})
    assert "loci/recall" in [m.id for m in without_v1.models.list()]
    chat = {"model": "scripted", "messages": [{"role": "user", "content": "My bird is called Pip."}]}
    raw = without_v1.chat.completions.with_raw_response.create(**chat)
    assert raw.headers["x-request-id"] == raw.headers["x-loci-request-id"], raw.headers
    chat["messages"][0]["content"] = "What is my bird called?"
    chunks = list(without_v1.chat.completions.create(**chat, stream=True, extra_body={"memory_hits": "stream"}))
    assert "Pip" in json.dumps(chunks[-1].model_extra["memory_hits"]) and chunks[-1].choices == [], chunks[-1]
    legacy = without_v1.completions.create(model="scripted", prompt="user: What is my bird called again?\nassistant: ")
    assert "Pip" in sent() and legacy.choices[0].text, legacy
    try:
        without_v1.embeddings.create(model="loci/embed", input=[[1, 2, 3]])
        raise SystemExit("token numbers: no error")
    except openai.BadRequestError as e:
        assert "check_embedding_ctx_length=False" in e.body["message"], e.body
    print(f"ok: openai {openai.__version__} (Python): a base URL without /v1, legacy completions, hits in a stream", flush=True)


def main(loci):
    upstream = ThreadingHTTPServer(("127.0.0.1", 0), Upstream)
    threading.Thread(target=upstream.serve_forever, daemon=True).start()
    with tempfile.TemporaryDirectory() as data:
        env = {**{k: v for k, v in os.environ.items() if not k.startswith("LOCI_")}, "LOCI_UPSTREAM_URL": f"http://127.0.0.1:{upstream.server_port}/v1", "LOCI_LEARN_MODEL": "none", "LOCI_USERS": "multi"}
        with open(os.path.join(data, "log"), "w") as log:
            server = subprocess.Popen([loci, "serve", "--data", os.path.join(data, "loci"), "--addr", ADDR], env=env, stdout=log, stderr=log)
        try:
            for _ in range(60):
                try:
                    urllib.request.urlopen(f"http://{ADDR}/health/ready")
                    break
                except OSError:
                    time.sleep(0.5)
            else:
                raise SystemExit("Loci did not start:\n" + open(os.path.join(data, "log")).read())
            with_anthropic()
            with_openai()
        finally:
            server.terminate()
            server.wait(20)


main(*sys.argv[1:])
