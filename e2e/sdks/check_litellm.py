"""Drives Loci with litellm: chat, the Responses and Messages APIs, streams, tools, embeddings."""

import json
import os
from importlib.metadata import version

os.environ["LITELLM_LOCAL_MODEL_COST_MAP"] = "True"  # it asks GitHub for prices otherwise

import litellm

from common import LOCI, WEIGH, asked, embeds, fails, remembers, streamed

litellm.suppress_debug_info = True
at = {"model": "openai/scripted", "api_base": LOCI + "/v1", "api_key": "unused", "num_retries": 0}


def chat(words, **more):
    messages = words if isinstance(words, list) else [{"role": "user", "content": words}]
    return litellm.completion(messages=messages, extra_headers={"X-Loci-User": "ana"}, **at, **more)


assert chat("My cat is called Mitzi.").choices[0].message.content == "You said: My cat is called Mitzi."
streamed([piece.choices[0].delta.content for piece in chat("What is my cat called?", stream=True)])
remembers("Mitzi")
fails(litellm.RateLimitError, lambda: chat("too fast"))
fails(litellm.BadRequestError, lambda: litellm.completion(messages=[{"role": "user", "content": "x"}], **{**at, "model": "openai/loci/embed"}))

tools = [{"type": "function", "function": {"name": "weigh", "description": "Weighs an animal.", "parameters": WEIGH}}]
history = [{"role": "user", "content": "What does my cat weigh?"}]
history.append(chat(history, tools=tools).choices[0].message)
calls = history[1].tool_calls
assert [json.loads(c.function.arguments) for c in calls] == [{"animal": "cat"}, {"animal": "dog"}], calls
history += [{"role": "tool", "tool_call_id": c.id, "content": "4 kg"} for c in calls]
assert chat(history, tools=tools).choices[0].message.content == "You said: 4 kg", asked()

vectors = litellm.embedding(input=["My cat is called Mitzi.", "The train leaves at noon.", "my cat Mitzi"], **{**at, "model": "openai/loci/embed"})
embeds([d["embedding"] for d in vectors.data[:2]], vectors.data[2]["embedding"])
print(f"ok: litellm {version('litellm')}: chat, stream, tools, embeddings, errors")
