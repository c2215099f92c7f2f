"""Drives Loci with Anthropic's SDK for Python."""

import anthropic

from common import LOCI, PIXEL, WEIGH, asked, fails, remembers, sent

client = anthropic.Anthropic(base_url=LOCI, api_key="unused", max_retries=0, default_headers={"X-Loci-User": "ana"})
base = {"model": "scripted", "max_tokens": 100}

m = client.messages.create(**base, system="Be kind.", stop_sequences=["END"], messages=[{"role": "user", "content": "My cat is called Mitzi."}])
assert m.type == "message" and m.stop_reason == "end_turn" and (m.usage.input_tokens, m.usage.output_tokens) == (11, 7), m
assert m.content[0].text == "You said: My cat is called Mitzi.", m
assert asked()["stop"] == ["END"] and asked()["messages"][0] == {"role": "system", "content": "Be kind."}

tools = [{"name": "weigh", "description": "Weighs an animal.", "input_schema": WEIGH}]
history = [{"role": "user", "content": "What does my cat weigh, and what is it called?"}]
events = []
with client.messages.stream(**base, tools=tools, tool_choice={"type": "any"}, messages=history) as stream:
    for event in stream:
        events.append(event.type)
    m = stream.get_final_message()
remembers("Mitzi")
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
assert [x["role"] for x in asked()["messages"]][-3:] == ["assistant", "tool", "tool"], sent()

image = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": PIXEL}}
client.messages.create(**base, messages=[{"role": "user", "content": [image, {"type": "text", "text": "What is this?"}]}])
assert f"data:image/png;base64,{PIXEL}" in sent()

for words, more, kind in ("too fast", {}, anthropic.RateLimitError), ("x", {"tools": [{"type": "bash_20250124", "name": "bash"}]}, anthropic.BadRequestError):
    e = fails(kind, lambda: client.messages.create(**base, messages=[{"role": "user", "content": words}], **more))
    assert e.body["type"] == "error" and e.body["error"]["message"], e.body
print(f"ok: anthropic {anthropic.__version__} (Python): create, stream, tools, images, errors", flush=True)
