"""Drives Loci with OpenAI's SDK for Python: responses, chat and legacy completions."""

import json

import openai

from common import LOCI, PIXEL, WEIGH, asked, fails, remembers, sent

client = openai.OpenAI(base_url=LOCI + "/v1", api_key="unused", max_retries=0, default_headers={"X-Loci-User": "ben"})

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
remembers("Rex")
assert events[0] == "response.created" and events[-1] == "response.completed" and "response.function_call_arguments.delta" in events, events
assert [o.type for o in r.output] == ["message", "function_call", "function_call"], r
assert [json.loads(o.arguments) for o in r.output[1:]] == [{"animal": "cat"}, {"animal": "dog"}], r
history += [o.model_dump(exclude={"parsed_arguments"}) for o in r.output]
history += [{"type": "function_call_output", "call_id": o.call_id, "output": "9 kg"} for o in r.output[1:]]
pieces = [e.delta for e in client.responses.create(model="scripted", input=history, tools=tools, stream=True) if e.type == "response.output_text.delta"]
assert "".join(pieces).strip() == "You said: 9 kg", pieces
assert [x["role"] for x in asked()["messages"]][-3:] == ["assistant", "tool", "tool"], sent()

image = {"type": "input_image", "image_url": f"data:image/png;base64,{PIXEL}", "detail": "auto"}
client.responses.create(model="scripted", input=[{"role": "user", "content": [image, {"type": "input_text", "text": "What is this?"}]}])
assert f"data:image/png;base64,{PIXEL}" in sent()
for more, kind in ({"input": "too fast"}, openai.RateLimitError), ({"input": "x", "previous_response_id": r.id}, openai.BadRequestError):
    e = fails(kind, lambda: client.responses.create(model="scripted", **more))
    assert e.body["message"], e.body
print(f"ok: openai {openai.__version__} (Python): responses: create, stream, tools, images, errors", flush=True)

without_v1 = openai.OpenAI(base_url=LOCI, api_key="unused", max_retries=0, default_headers={"X-Loci-User": "J%C3%BCrgen"})
assert "loci/recall" in [m.id for m in without_v1.models.list()]
chat = {"model": "scripted", "messages": [{"role": "user", "content": "My bird is called Pip."}]}
raw = without_v1.chat.completions.with_raw_response.create(**chat)
assert raw.headers["x-request-id"] == raw.headers["x-loci-request-id"], raw.headers
chat["messages"][0]["content"] = "What is my bird called?"
chunks = list(without_v1.chat.completions.create(**chat, stream=True, extra_body={"memory_hits": "stream"}))
assert "Pip" in json.dumps(chunks[-1].model_extra["memory_hits"]) and chunks[-1].choices == [], chunks[-1]
legacy = without_v1.completions.create(model="scripted", prompt="user: What is my bird called again?\nassistant: ")
assert "Pip" in sent() and legacy.choices[0].text, legacy
e = fails(openai.BadRequestError, lambda: without_v1.embeddings.create(model="loci/embed", input=[[1, 2, 3]]))
assert "check_embedding_ctx_length=False" in e.body["message"], e.body
print(f"ok: openai {openai.__version__} (Python): a base URL without /v1, legacy completions, hits in a stream", flush=True)
