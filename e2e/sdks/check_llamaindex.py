"""Drives Loci with LlamaIndex's models for OpenAI and for servers like it: chat, completions, streams, tools, embeddings."""

from importlib.metadata import version

import openai
from llama_index.core.llms import ChatMessage
from llama_index.core.tools import FunctionTool
from llama_index.embeddings.openai import OpenAIEmbedding
from llama_index.llms.openai import OpenAI
from llama_index.llms.openai_like import OpenAILike

from common import LOCI, asked, embeds, fails, remembers, streamed

at = {"api_base": LOCI + "/v1", "api_key": "unused", "max_retries": 0}


def said(text):
    return [ChatMessage(role="user", content=text)]


def weigh(animal: str) -> str:
    """Weighs an animal."""
    return "4 kg"


for user, llm in (
    ("openai", OpenAI(model="gpt-4o-mini", default_headers={"X-Loci-User": "openai"}, **at)),
    ("like", OpenAILike(model="scripted", is_chat_model=True, is_function_calling_model=True, default_headers={"X-Loci-User": "like"}, **at)),
):
    assert llm.chat(said("My cat is called Mitzi.")).message.content == "You said: My cat is called Mitzi."
    streamed([piece.delta for piece in llm.stream_chat(said("What is my cat called?"))])
    remembers("Mitzi")
    fails(openai.RateLimitError, lambda: llm.chat(said("too fast")))

    tool = FunctionTool.from_defaults(weigh)
    history = said("What does my cat weigh?")
    answer = llm.chat_with_tools([tool], chat_history=history, allow_parallel_tool_calls=True)
    calls = llm.get_tool_calls_from_response(answer)
    assert [c.tool_kwargs for c in calls] == [{"animal": "cat"}, {"animal": "dog"}], calls
    history.append(answer.message)
    history += [ChatMessage(role="tool", content="4 kg", additional_kwargs={"tool_call_id": c.tool_id}) for c in calls]
    assert llm.chat_with_tools([tool], chat_history=history, allow_parallel_tool_calls=True).message.content == "You said: 4 kg", asked()

legacy = OpenAILike(model="scripted", default_headers={"X-Loci-User": "like"}, **at)
assert legacy.chat(said("What is my cat called again?")).message.content.strip() == "Pip." and "prompt" in asked()
remembers("Mitzi")

vectors = OpenAIEmbedding(model_name="loci/embed", **at)
embeds(vectors.get_text_embedding_batch(["My cat is called Mitzi.", "The train leaves at noon."]), vectors.get_query_embedding("my cat Mitzi"))
names = ["llama-index-llms-openai", "llama-index-llms-openai-like", "llama-index-embeddings-openai"]
print(f"ok: {', '.join(f'{n} {version(n)}' for n in names)}: chat, stream, tools, legacy completions, embeddings, errors")
