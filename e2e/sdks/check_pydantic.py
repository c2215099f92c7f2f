"""Drives Loci with pydantic-ai's models for OpenAI (chat and responses) and Anthropic: runs, streams, tools."""

import asyncio
from importlib.metadata import version

from anthropic import AsyncAnthropic
from openai import AsyncOpenAI
from pydantic_ai import Agent
from pydantic_ai.exceptions import ModelHTTPError
from pydantic_ai.models.anthropic import AnthropicModel
from pydantic_ai.models.openai import OpenAIChatModel, OpenAIResponsesModel
from pydantic_ai.providers.anthropic import AnthropicProvider
from pydantic_ai.providers.openai import OpenAIProvider

from common import LOCI, asked, remembers, streamed


def openai(user):
    client = AsyncOpenAI(base_url=LOCI + "/v1", api_key="unused", max_retries=0, default_headers={"X-Loci-User": user})
    return OpenAIProvider(openai_client=client)


def anthropic(user):
    client = AsyncAnthropic(base_url=LOCI, api_key="unused", max_retries=0, default_headers={"X-Loci-User": user})
    return AnthropicProvider(anthropic_client=client)


async def whole(model):
    told = await Agent(model).run("My cat is called Mitzi.")
    assert told.output == "You said: My cat is called Mitzi." and told.usage.input_tokens == 11, told
    async with Agent(model).run_stream("What is my cat called?") as answer:
        streamed([piece async for piece in answer.stream_text(delta=True, debounce_by=None)])
    remembers("Mitzi")
    try:
        await Agent(model).run("too fast")
        raise SystemExit("no error")
    except ModelHTTPError as e:
        assert e.status_code == 429, e

    agent, weighed = Agent(model), []

    @agent.tool_plain
    def weigh(animal: str) -> str:
        """Weighs an animal."""
        weighed.append(animal)
        return "4 kg"

    assert (await agent.run("What does my cat weigh?")).output == "You said: 4 kg", asked()
    assert sorted(weighed) == ["cat", "dog"], weighed


async def main():
    await whole(OpenAIChatModel("scripted", provider=openai("chat")))
    await whole(OpenAIResponsesModel("scripted", provider=openai("responses")))
    await whole(AnthropicModel("scripted", provider=anthropic("messages")))


asyncio.run(main())
print(f"ok: pydantic-ai-slim {version('pydantic-ai-slim')}: chat, responses and messages: run, stream, tools, errors")
