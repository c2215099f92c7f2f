"""Plays of each framework: a person asks, and something else than the person says what is foreign.

Usage: plays.py FRAMEWORK URL, in the framework's own virtual environment.
"""

import asyncio
import os
import pathlib
import subprocess
import sys
import tempfile

from rig import FOREIGN, KEEPER, OWN

URL = ""
MODEL = "scripted"
KEY = "unused"
QUIET = {"LITELLM_LOCAL_MODEL_COST_MAP": "True", "CREWAI_DISABLE_TELEMETRY": "true", "CREWAI_TRACING_ENABLED": "false", "OTEL_SDK_DISABLED": "true"}
COOK = "You cook."
RAG = "Answer the question based only on the following context:\n{context}\n\nQuestion: {question}\n"


def at(play):
    return f"{URL}/{play}/v1"


def read_notes() -> str:
    """Reads the notes."""
    return FOREIGN


def autogen():
    from autogen_agentchat.agents import AssistantAgent
    from autogen_agentchat.conditions import MaxMessageTermination
    from autogen_agentchat.teams import RoundRobinGroupChat, SelectorGroupChat
    from autogen_ext.models.openai import OpenAIChatCompletionClient

    info = {"vision": False, "function_calling": True, "json_output": False, "structured_output": False, "family": "unknown"}

    def agents(play):
        client = OpenAIChatCompletionClient(model=MODEL, base_url=at(play), api_key=KEY, model_info=info)
        return client, [AssistantAgent("keeper", client, system_message=KEEPER), AssistantAgent("cook", client, system_message=COOK)]

    async def go():
        _, two = agents("round-robin")
        await RoundRobinGroupChat(two, termination_condition=MaxMessageTermination(4)).run(task=OWN)
        client, two = agents("selector")
        await SelectorGroupChat(two, client, termination_condition=MaxMessageTermination(3)).run(task=OWN)
        client, _ = agents("tool")
        await AssistantAgent("cook", client, system_message=COOK, tools=[read_notes], reflect_on_tool_use=True).run(task=OWN)

    asyncio.run(go())


def ag2classic():
    from autogen import AssistantAgent, GroupChat, GroupChatManager, UserProxyAgent

    def agents(play):
        config = {"config_list": [{"model": MODEL, "base_url": at(play), "api_key": KEY, "price": [0, 0]}], "cache_seed": None}
        person = UserProxyAgent("person", human_input_mode="NEVER", code_execution_config=False, max_consecutive_auto_reply=0)
        return config, person, AssistantAgent("keeper", KEEPER, llm_config=config), AssistantAgent("cook", COOK, llm_config=config)

    config, *all_three = agents("group")
    group = GroupChat(all_three, max_round=4, speaker_selection_method="round_robin")
    all_three[0].initiate_chat(GroupChatManager(group, llm_config=config), message=OWN)
    _, person, keeper, cook = agents("carryover")
    person.initiate_chats([{"recipient": keeper, "message": "What do the notes say?", "max_turns": 1, "summary_method": "last_msg"},
                           {"recipient": cook, "message": OWN, "max_turns": 1, "summary_method": "last_msg"}])


def ag2():
    from ag2 import Agent
    from ag2.config import OpenAIConfig
    from ag2.knowledge import MemoryKnowledgeStore
    from ag2.network import EV_TEXT, Hub, HubClient, LocalLink, Passport

    def agents(play, **more):
        config = OpenAIConfig(MODEL, api_key=KEY, base_url=at(play))
        return Agent("keeper", prompt=KEEPER, config=config), Agent("cook", prompt=COOK, config=config, **more)

    async def talk(kind, human, agents, *said):
        """A channel of its own, where the person speaks first, or the cook for them."""
        hub = await Hub.open(MemoryKnowledgeStore(), ttl_sweep_interval=0)
        client = HubClient(LocalLink(hub), hub=hub)
        keeper, cook = [await client.register(a) for a in agents]
        if human:
            person = await client.register_human(Passport(name="person"))
            channel = await person.open(type=kind, target=["keeper", "cook"])
        else:
            channel = await cook.open(type=kind, target="keeper")
        for words, count in said:
            await channel.send(words)
            for _ in range(100):
                if sum(e.event_type == EV_TEXT for e in await hub.read_wal(channel.channel_id)) >= count:
                    break
                await asyncio.sleep(0.05)
        await channel.close()
        await hub.close()

    async def go():
        await talk("discussion", True, agents("discussion"), (OWN, 3), ("And what do I drink with it?", 6))
        await talk("conversation", False, agents("conversation"), (OWN, 3))
        keeper, _ = agents("tool")
        _, cook = agents("tool", tools=[keeper.as_tool(description="Asks the keeper of the notes.")])
        await cook.ask(OWN)

    asyncio.run(go())


def langgraph():
    from langchain.agents import create_agent
    from langchain_core.messages import HumanMessage, SystemMessage
    from langchain_core.prompts import ChatPromptTemplate
    from langchain_openai import ChatOpenAI
    from langgraph.graph import END, START, MessagesState, StateGraph

    def model(play):
        return ChatOpenAI(model=MODEL, base_url=at(play), api_key=KEY, max_retries=0)

    def graph(play, name):
        """Agents that hand on their answers as the tutorials do: as a human message, with the agent's name or without."""
        llm = model(play)

        def agent(own, prompt):
            def node(state):
                answer = llm.invoke([SystemMessage(prompt), *state["messages"]])
                return {"messages": [HumanMessage(answer.content, name=own if name else None)]}
            return node

        g = StateGraph(MessagesState)
        g.add_node("keeper", agent("keeper", KEEPER))
        g.add_node("cook", agent("cook", COOK))
        g.add_edge(START, "keeper")
        g.add_edge("keeper", "cook")
        g.add_edge("cook", END)
        g.compile().invoke({"messages": [HumanMessage(OWN)]})

    graph("named", True)
    graph("unnamed", False)
    prompt = ChatPromptTemplate.from_template(RAG)
    (prompt | model("rag")).invoke({"context": FOREIGN, "question": OWN})
    create_agent(model("tool"), [read_notes], system_prompt=COOK).invoke({"messages": [HumanMessage(OWN)]})


def adk():
    from google.adk.agents import LlmAgent, SequentialAgent
    from google.adk.models.lite_llm import LiteLlm
    from google.adk.runners import InMemoryRunner
    from google.genai import types

    def agent(play, name, instruction, **more):
        return LlmAgent(name=name, model=LiteLlm("openai/" + MODEL, api_base=at(play), api_key=KEY), instruction=instruction, **more)

    async def run(root):
        runner = InMemoryRunner(root, app_name="kitchen")
        session = await runner.session_service.create_session(app_name="kitchen", user_id="person")
        async for _ in runner.run_async(user_id="person", session_id=session.id, new_message=types.UserContent(OWN)):
            pass

    async def go():
        await run(SequentialAgent(name="team", sub_agents=[agent("sequence", "keeper", KEEPER), agent("sequence", "cook", COOK)]))
        await run(agent("transfer", "cook", COOK, sub_agents=[agent("transfer", "keeper", KEEPER, description="Keeps the notes.")]))
        await run(agent("tool", "cook", COOK, tools=[read_notes]))

    asyncio.run(go())


def crewai():
    from crewai import LLM, Agent, Crew, Task
    from crewai.tools import tool

    def crew(play, *, tools=()):
        llm = LLM(model="openai/" + MODEL, base_url=at(play), api_key=KEY)
        keeper = Agent(role="Keeper", goal=KEEPER, backstory=KEEPER, llm=llm)
        cook = Agent(role="Cook", goal=COOK, backstory=COOK, llm=llm, tools=list(tools))
        ask = Task(description=OWN, expected_output="A dish", agent=cook)
        if tools:
            return Crew(agents=[cook], tasks=[ask])
        return Crew(agents=[keeper, cook], tasks=[Task(description="Say what the notes say.", expected_output="The notes", agent=keeper), ask])

    crew("context").kickoff()
    crew("tool", tools=[tool("read_notes")(read_notes)]).kickoff()


def smolagents():
    from smolagents import CodeAgent, OpenAIModel, ToolCallingAgent, tool

    def model(play):
        return OpenAIModel(MODEL, api_base=at(play), api_key=KEY)

    ToolCallingAgent([tool(read_notes)], model("tool"), max_steps=3).run(OWN)
    CodeAgent([tool(read_notes)], model("code"), max_steps=3).run(OWN)
    keeper = ToolCallingAgent([], model("managed"), name="keeper", description="Keeps the notes.", instructions=KEEPER, max_steps=2)
    ToolCallingAgent([], model("managed"), managed_agents=[keeper], max_steps=3).run(OWN)


def dspy():
    import dspy

    def model(play):
        return dspy.context(lm=dspy.LM("openai/" + MODEL, api_base=at(play), api_key=KEY, cache=False))

    with model("rag"):
        dspy.ChainOfThought("context, question -> answer")(context=FOREIGN, question=OWN)
    with model("react"):
        dspy.ReAct("question -> answer", tools=[read_notes], max_iters=3)(question=OWN)
    with model("plain"):
        dspy.Predict("question -> answer")(question=OWN)


def command(*words, stdin=None, **env):
    subprocess.run(words, input=stdin, stdin=None if stdin else subprocess.DEVNULL, env=os.environ | env, check=True, text=True)


def llm():
    folder = pathlib.Path.home() / "llm"
    folder.mkdir()
    notes = pathlib.Path("notes.txt")
    notes.write_text(FOREIGN + "\n")
    plays = {"plain": ([OWN], None), "pipe": (["Explain this."], FOREIGN + "\n"), "fragment": (["-f", "notes.txt", "Explain this."], None),
             "system": (["-s", "Explain this."], FOREIGN + "\n"), "template": (["-t", "explain"], FOREIGN + "\n")}
    (folder / "templates").mkdir()
    (folder / "templates" / "explain.yaml").write_text("prompt: 'Explain this: $input'\n")
    (folder / "extra-openai-models.yaml").write_text("".join(
        f"- model_id: {p}\n  model_name: {MODEL}\n  api_base: {at(p)}\n" for p in plays))
    for play, (words, stdin) in plays.items():
        command("llm", "-m", play, *words, stdin=stdin, LLM_USER_PATH=str(folder))
    command("llm", "-c", "And what do I drink with it?", LLM_USER_PATH=str(folder))


def sgpt():
    for play, stdin, words in (("plain", None, OWN), ("pipe", FOREIGN + "\n", "Explain this.")):
        command("sgpt", "--no-cache", "--no-md", words, stdin=stdin, API_BASE_URL=at(play), DEFAULT_MODEL=MODEL)
    command("sgpt", "--no-md", "--chat", "notes", "Summarize this.", stdin=FOREIGN + "\n", API_BASE_URL=at("chat"), DEFAULT_MODEL=MODEL)
    command("sgpt", "--no-md", "--chat", "notes", OWN, API_BASE_URL=at("chat"), DEFAULT_MODEL=MODEL)


if __name__ == "__main__":
    URL = sys.argv[2]
    os.environ |= QUIET
    globals()[sys.argv[1]]()
