"""Drives Loci with LangChain's models for OpenAI: chat, its streams and tools, the Responses API, legacy completions, embeddings."""

from importlib.metadata import version

import openai
from langchain_core.messages import HumanMessage, ToolMessage
from langchain_core.tools import tool
from langchain_openai import ChatOpenAI, OpenAI, OpenAIEmbeddings

from common import LOCI, asked, embeds, fails, remembers, streamed

at = {"base_url": LOCI + "/v1", "api_key": "unused", "max_retries": 0}


def chat(user, **more):
    return ChatOpenAI(model="scripted", default_headers={"X-Loci-User": user}, **at, **more)


@tool
def weigh(animal: str) -> str:
    """Weighs an animal."""
    return "4 kg"


for user, more in ("chat", {}), ("responses", {"use_responses_api": True}):
    told = chat(user, **more).invoke("My cat is called Mitzi.")
    assert told.text == "You said: My cat is called Mitzi." and told.usage_metadata["input_tokens"] == 11, told
    streamed([piece.text for piece in chat(user, **more).stream("What is my cat called?")])
    remembers("Mitzi")
    fails(openai.RateLimitError, lambda: chat(user, **more).invoke("too fast"))

    history = [HumanMessage("What does my cat weigh?")]
    history.append(chat(user, **more).bind_tools([weigh]).invoke(history))
    assert [c["args"] for c in history[1].tool_calls] == [{"animal": "cat"}, {"animal": "dog"}], history
    history += [ToolMessage(weigh.invoke(c["args"]), tool_call_id=c["id"]) for c in history[1].tool_calls]
    assert chat(user, **more).bind_tools([weigh]).invoke(history).text == "You said: 4 kg", asked()

legacy = OpenAI(model="scripted", default_headers={"X-Loci-User": "chat"}, **at)
assert legacy.invoke("What is my cat called again?").strip() == "Pip."
remembers("Mitzi")

vectors = OpenAIEmbeddings(model="loci/embed", check_embedding_ctx_length=False, **at)
embeds(vectors.embed_documents(["My cat is called Mitzi.", "The train leaves at noon."]), vectors.embed_query("my cat Mitzi"))
print(f"ok: langchain-openai {version('langchain-openai')}: chat, stream, tools, Responses API, legacy completions, embeddings, errors")
