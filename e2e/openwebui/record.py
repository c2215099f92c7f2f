"""Records what Open WebUI sends: python record.py BINARY VENV FOLDER writes a file for each action into FOLDER.

SCENES is also what check.py drives.
"""

import base64
import json
import os
import re
import sys
import tempfile
import time

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import lab as labs
from lab import MODEL, Chat, wait_for

HEADERS = {
    "X-Loci-Task": "{{TASK}}", "X-Loci-Chat": "{{CHAT_ID}}", "X-Loci-Message": "{{MESSAGE_ID}}",
    "X-Loci-User-Message": "{{USER_MESSAGE_ID}}", "X-Loci-Parent": "{{USER_MESSAGE_PARENT_ID}}",
}
PIXEL = base64.b64decode("iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==")
GERMAN_TITLE = """### Aufgabe:
Erzeuge einen kurzen, aussagekräftigen Titel für den Chatverlauf, mit zwei bis vier Wörtern.
### Ausgabe:
JSON-Format: { "title": "dein kurzer Titel" }
### Chatverlauf:
<chat_history>
{{MESSAGES:END:2}}
</chat_history>"""
GERMAN_RAG = """### Aufgabe:
Beantworte die Frage mit Hilfe des Kontexts.

<context>
{{CONTEXT}}
</context>

<user_query>
{{QUERY}}
</user_query>
"""
CUSTOM_TITLE = "Name this conversation in at most four words. Reply with the name alone.\n\n{{MESSAGES:END:2}}"


class Recording:
    """Collects the requests of each action by its name."""

    def __init__(self, lab):
        self.lab, self.files = lab, {}

    def take(self, name, action, expected=1):
        """Keeps what arrived since the last take: expected requests, for which it waits."""
        wait_for(f"request of {name}", lambda: len(self.lab.recorder.requests) >= expected, 60)
        time.sleep(0.5)
        requests = self.lab.recorder.take()
        self.files[name] = {"action": action, "requests": requests}
        return requests


def chat_config(lab, **changes):
    config = lab.webui.admin.get("/api/v1/chats/config")
    lab.webui.admin.post("/api/v1/chats/config", {**config, **changes})


def task_config(lab, **changes):
    config = lab.webui.admin.get("/api/v1/tasks/config")
    lab.webui.admin.post("/api/v1/tasks/config/update", {**config, **changes})


def record_chat(lab, r):
    chat = Chat(lab.webui.ana)
    chat.say("My sister Mira lives in Lisbon.", tasks={"title_generation": True, "tags_generation": True, "follow_up_generation": True})
    requests = r.take("new_chat", "Ana says the first message of a new chat; title, follow-ups and tags are asked for beside it", 4)
    for request in requests:
        task = request["headers"]["X-Loci-Task"] or "first"
        r.files[task] = {"action": {"first": "Ana says the first message of a new chat"}.get(task, f"background call of a new chat: {task}"), "requests": [request]}
    del r.files["new_chat"]
    chat.say("Where does Mira live?")
    r.take("second", "Ana says a second message in the same chat")
    chat.regenerate()
    r.take("regenerate", "Ana regenerates the last answer")
    chat.options = {"regeneration_message_id": chat.branch[-1]["id"], "regeneration_prompt": "Make it shorter."}
    chat.regenerate()
    chat.options = {}
    r.take("regenerate_guided", "Ana regenerates the last answer with a suggestion")
    chat.edit(1, "In which country does Mira live?")
    r.take("edit_last", "Ana edits her second message and sends it again")
    chat.say("Thanks.")
    r.take("third", "Ana goes on behind the edited message")
    chat.resume()
    r.take("continue", "Ana presses Continue under the last answer")
    chat.edit(0, "My sister Mira lives in Porto.")
    r.take("edit_first", "Ana edits the first message of the chat and sends it again")
    return chat


def record_background(lab, r):
    ana = lab.webui.ana
    chat = Chat(ana)
    chat.say("I am planning a trip to Norway in May.")
    lab.recorder.take()
    messages = [{"role": m["role"], "content": m["content"]} for m in chat.branch]
    body = {"model": MODEL, "messages": messages, "chat_id": chat.id}
    ana.post("/api/v1/tasks/emoji/completions", {"model": MODEL, "prompt": "I am planning a trip to Norway in May.", "chat_id": chat.id})
    r.take("emoji_generation", "emoji of a voice call")
    ana.post("/api/v1/tasks/queries/completions", {**body, "prompt": "Norway in May", "type": "web_search"})
    r.take("query_generation", "search queries for the web")
    ana.post("/api/v1/tasks/auto/completions", {**body, "prompt": "Which fjords are", "type": "search query"})
    r.take("autocomplete_generation", "autocompletion while Ana types")
    ana.post("/api/v1/tasks/image_prompt/completions", body)
    r.take("image_prompt_generation", "prompt for an image")
    ana.post("/api/v1/tasks/moa/completions", {"model": MODEL, "prompt": "Which fjord should I see?", "responses": ["Geiranger.", "Sognefjord."], "stream": False, "chat_id": chat.id})
    r.take("moa_response_generation", "merges the answers of two models")
    task_config(lab, TITLE_GENERATION_PROMPT_TEMPLATE=GERMAN_TITLE)
    ana.post("/api/v1/tasks/title/completions", body)
    r.take("title_german", "title by a translated template of the admin's")
    task_config(lab, TITLE_GENERATION_PROMPT_TEMPLATE=CUSTOM_TITLE)
    ana.post("/api/v1/tasks/title/completions", body)
    r.take("title_custom", "title by a template of the admin's own, without any of the known marks")
    task_config(lab, TITLE_GENERATION_PROMPT_TEMPLATE="")


def record_memory(lab, r):
    """Open WebUI's own memory: what it puts into a chat, and its reviewer after the third message of a user."""
    ana = lab.webui.ana
    ana.post("/api/v1/memories/add", {"content": "Ana drinks oat milk."})
    chat = Chat(ana)
    chat.features = {"memory": True}
    chat.say("Let us count.")
    r.take("memory_context", "a message with Open WebUI's own memory switched on")
    chat.say("My cat is called Nils.")
    chat.say("Number three.")
    wait_for("memory review", lambda: any(q["headers"]["X-Loci-Task"] == "memory_review" for q in lab.recorder.requests), 60)
    review = [q for q in lab.recorder.take() if q["headers"]["X-Loci-Task"] == "memory_review"]
    r.files["memory_review"] = {"action": "Open WebUI's memory reviewer after the third message", "requests": review}


def record_temporary(lab, r):
    chat = Chat.open_temporary(lab.webui.ana)
    chat.say("I am allergic to hazelnuts.")
    r.take("temporary", "Ana says something in a temporary chat")
    chat.say("What should I not eat?")
    r.take("temporary_second", "a second message in a temporary chat")
    return chat


def record_compaction(lab, r):
    chat = Chat(lab.webui.ana)
    for words in ("My dog is called Biscuit.", "I work as a welder in Bergen.", "My car is a blue Fiat.", "My bicycle is red."):
        chat.say(words)
    lab.recorder.take()
    lab.model.reply("### Messages Being Compacted", "The user has a dog named Biscuit and works as a welder.")
    chat_config(lab, ENABLE_CONTEXT_COMPACTION=True, CONTEXT_COMPACTION_TOKEN_THRESHOLD=20, CONTEXT_COMPACTION_TOKEN_CAP=20)
    try:
        chat.say("Which colour is my bicycle?")
    finally:
        chat_config(lab, ENABLE_CONTEXT_COMPACTION=False, CONTEXT_COMPACTION_TOKEN_THRESHOLD=80000, CONTEXT_COMPACTION_TOKEN_CAP=80000)
    requests = r.take("compaction", "a message in a chat that Open WebUI compacts: its summary call, then the chat itself", 2)
    return chat, requests


def record_channel(lab, r):
    webui = lab.webui
    channel = webui.admin.post("/api/v1/channels/create", {"name": "kitchen", "type": "group", "user_ids": [webui.ana.id, webui.ben.id]})
    path = f"/api/v1/channels/{channel['id']}/messages/post"
    first = webui.ben.post(path, {"content": "I am allergic to shellfish."})
    webui.ana.post(path, {"content": f"<@M:{MODEL}|{MODEL}> what could we cook?"})
    r.take("channel", "Ana mentions the model in a channel")
    webui.ana.post(path, {"content": f"<@M:{MODEL}|{MODEL}> and what shall we drink?", "parent_id": first["id"]})
    r.take("channel_thread", "Ana mentions the model in the thread under Ben's message")
    return channel


def attach(person):
    """Uploads a note and returns it as the page attaches it."""
    name = f"notes-{time.time_ns()}.txt"
    file = person.upload(name, b"The Hotel Aurora in Bergen has 42 rooms. Its owner Sigrid is allergic to cats.\n", "text/plain")
    return {"type": "file", "file": file, "id": file["id"], "url": file["id"], "name": name, "collection_name": f"file-{file['id']}", "status": "uploaded", "content_type": "text/plain"}


def record_files(lab, r):
    ana = lab.webui.ana
    item = attach(ana)
    chat = Chat(ana)
    chat.say("My aunt Tove runs this hotel. How many rooms has it?", files=[item])
    r.take("file", "Ana attaches a text file; RAG_SYSTEM_CONTEXT is false (default)", 1)
    chat.say("And who owns it?", files=[item])
    r.take("file_second", "the next message of that chat, in which the file is still attached", 1)
    rag = ana.webui.admin.get("/api/v1/retrieval/config")
    ana.webui.admin.post("/api/v1/retrieval/config/update", {"RAG_TEMPLATE": GERMAN_RAG})
    try:
        chat = Chat(ana)
        chat.say("My uncle Lars built this hotel. Who owns it?", files=[attach(ana)])
    finally:
        ana.webui.admin.post("/api/v1/retrieval/config/update", {"RAG_TEMPLATE": rag["RAG_TEMPLATE"]})
    r.take("file_german", "Ana attaches a text file; the admin has translated the template and it holds the question, too", 1)
    picture = ana.upload("dot.png", PIXEL, "image/png")
    chat = Chat(ana)
    chat.say("My favourite colour is the one in this picture: teal.", files=[{"type": "image", "id": picture["id"], "url": picture["id"], "name": "dot.png", "content_type": "image/png"}])
    r.take("image", "Ana attaches a picture")
    return item


def record_shared(lab, r):
    webui = lab.webui
    chat = Chat(webui.ana)
    chat.say("I have diabetes.")
    lab.recorder.take()
    shared = webui.ana.post(f"/api/v1/chats/{chat.id}/share")
    webui.ana.post(f"/api/v1/chats/shared/{chat.id}/access/update", {"access_grants": [{"principal_type": "user", "principal_id": webui.ben.id, "permission": "read"}]}, may_fail=True)
    cloned = webui.ben.post(f"/api/v1/chats/{shared['share_id']}/clone/shared")
    copy = Chat(webui.ben, cloned["id"])
    history = cloned["chat"]["history"]
    at = history["currentId"]
    while at:
        copy.branch.insert(0, history["messages"][at])
        at = history["messages"][at]["parentId"]
    copy.say("What should I have for breakfast?")
    r.take("cloned", "Ben clones the chat that Ana shared with him and goes on")
    return copy


def record_shared_live(lab, r):
    """A chat shared for others to go on in: they write into the same chat."""
    webui = lab.webui
    chat = Chat(webui.ana)
    chat.say("I am afraid of spiders.")
    lab.recorder.take()
    webui.ana.post(f"/api/v1/chats/{chat.id}/share", {"share_mode": "continue"})
    webui.ana.post(f"/api/v1/chats/shared/{chat.id}/access/update", {"access_grants": [
        {"principal_type": "user", "principal_id": webui.ben.id, "permission": permission} for permission in ("read", "write")], "share_mode": "continue"})
    guest = Chat(webui.ben, chat.id)
    guest.branch = [dict(m) for m in chat.branch]
    guest.say("What should we do about the attic?")
    r.take("shared_live", "Ben goes on in Ana's own chat, which she shared for that")


def record_models(lab, r):
    """Two answers beside each other to one message."""
    chat = Chat(lab.webui.ana)
    first, second = labs.uuid.uuid4().hex, labs.uuid.uuid4().hex
    chat.options = {"message_ids": [{"model_id": MODEL, "message_id": first, "modelIdx": 0}, {"model_id": MODEL, "message_id": second, "modelIdx": 1}]}
    message = {"id": str(labs.uuid.uuid4()), "parentId": None, "childrenIds": [], "role": "user", "content": "I collect stamps.", "models": [MODEL, MODEL]}
    chat.branch.append(message)
    body = chat._body(first, message)
    body["parent_id"] = None
    lab.webui.ana.post("/api/chat/completions", body)
    r.take("two_models", "Ana asks two models at once", 2)


def record_tools(lab, r):
    chat = Chat(lab.webui.ana)
    lab.model.reply("What is the Unix time", {"name": "get_current_timestamp", "arguments": {}})
    chat.say("What is the Unix time now?")
    r.take("tools", "the model calls a built-in tool of Open WebUI's: the request, and the one with its result", 2)
    chat.say("Thank you for the time.")
    r.take("tools_after", "the message after a tool call")


def record_jwt(lab, r):
    """Needs an Open WebUI with FORWARD_USER_INFO_HEADER_JWT_SECRET."""
    Chat(lab.webui.ana).say("My cousin Per plays the tuba.")
    r.take("jwt", "a first message with FORWARD_USER_INFO_HEADER_JWT_SECRET set")


def record_system_context(lab, r):
    """Needs an Open WebUI with RAG_SYSTEM_CONTEXT."""
    Chat(lab.webui.ana).say("My niece Ida runs this hotel. Who owns it?", files=[attach(lab.webui.ana)])
    r.take("file_system", "Ana attaches a text file; RAG_SYSTEM_CONTEXT is true")


SCENES = (record_chat, record_background, record_memory, record_temporary, record_compaction, record_channel, record_files, record_shared, record_shared_live, record_models, record_tools)


def write(folder, files, lab):
    """Writes a file for each action. Keys, ids of people and ports become names that do not change from run to run."""
    os.makedirs(folder, exist_ok=True)
    names = {lab.loci.key: "loci-key", lab.webui.admin.id: "00000000-0000-4000-8000-0000000000ad", lab.webui.ana.id: "00000000-0000-4000-8000-000000000a5a",
             lab.webui.ben.id: "00000000-0000-4000-8000-000000000be5", f"127.0.0.1:{lab.recorder.port}": "127.0.0.1:7077"}
    for name, recorded in files.items():
        for number, request in enumerate(recorded["requests"]):
            tools = request["body"].get("tools")
            if tools and not (name == "tools" and number == 0):
                request["body"]["tools"] = tools[:1]
        text = json.dumps(recorded, indent=1, ensure_ascii=False)
        for value, stable in names.items():
            text = text.replace(value, stable)
        with open(os.path.join(folder, name + ".json"), "w", encoding="utf-8") as file:
            file.write(text + "\n")


def main():
    binary, venv, folder = sys.argv[1:4]
    with tempfile.TemporaryDirectory(prefix="loci-openwebui-") as base:
        with labs.Lab(os.path.join(base, "plain"), binary, venv) as lab:
            lab.webui.connection_headers(HEADERS)
            r = Recording(lab)
            for scene in SCENES:
                scene(lab, r)
            write(folder, r.files, lab)
        with labs.Lab(os.path.join(base, "jwt"), binary, venv, loci={"LOCI_JWT_SECRET": labs.JWT_SECRET}, 
                      webui={"FORWARD_USER_INFO_HEADER_JWT_SECRET": labs.JWT_SECRET, "RAG_SYSTEM_CONTEXT": "true"}) as lab:
            lab.webui.connection_headers(HEADERS)
            r = Recording(lab)
            record_jwt(lab, r)
            record_system_context(lab, r)
            write(folder, r.files, lab)


if __name__ == "__main__":
    main()
