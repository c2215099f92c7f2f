"""Checks what Loci promises to users of Open WebUI, against a real one: make e2e-openwebui.

LOCI_BINARY and OPENWEBUI_VENV name the two programs. Each test has users of its own.
"""

import json
import os
import re
import sys
import tempfile
import time
import unittest

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import lab as labs
import page as pages
import record
from lab import MODEL, Chat, call, text_of, wait_for

BINARY, VENV = os.environ["LOCI_BINARY"], os.environ["OPENWEBUI_VENV"]
REPOSITORY = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
WRAPPING = ("### Task", "### Aufgabe", "<attached_files>", "<context>", "<chat_history>", "[CONVERSATION SUMMARY]")


class Case(unittest.TestCase):
    """Tests that share a lab, with the arguments OPTIONS. loci is theirs."""

    OPTIONS = {}

    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory(prefix="loci-openwebui-")
        cls.addClassCleanup(folder.cleanup)
        cls.lab = labs.Lab(folder.name, BINARY, VENV, **cls.OPTIONS)
        cls.addClassCleanup(cls.lab.close)
        cls.loci, cls.model, cls.webui = cls.lab.loci, cls.lab.model, cls.lab.webui

    def setUp(self):
        self.people = 0

    def person(self):
        self.people += 1
        return self.webui.person(f"{self._testMethodName.split('_')[-1]}{self.people}")

    def turns(self, person):
        return self.loci.memories(person.id, "turn")

    def knows(self, person, words):
        """Waits until a fact of the person's has these words."""
        return wait_for(f"a fact with {words!r} among {self.loci.memories(person.id)}", lambda: any(words in f for f in self.loci.memories(person.id)), 20)

    def settled(self, person):
        """Waits until nothing is left to learn, and returns what is known."""
        def idle():
            status, jobs = self.loci.api(person.id, "GET", "/api/jobs")
            return status == 200 and not [j for j in jobs["jobs"] if j["kind"] == "learn" and j["state"] in ("queued", "running")]
        wait_for("end of learning", idle, 30)
        return self.loci.memories(person.id)

    def assertUnwrapped(self, said):
        for words in said:
            for mark in WRAPPING:
                self.assertNotIn(mark, words)


class ProxyTest(Case):
    """Loci between Open WebUI and the model, with the connection headers of the guide."""

    HEADERS = {"X-Loci-Task": "{{TASK}}", "X-Loci-Message-Id": "{{MESSAGE_ID}}", "X-Loci-Parent-Id": "{{USER_MESSAGE_PARENT_ID}}"}
    ANSWERED_TWICE = 1  # how often a first message counts that is answered anew

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.webui.connection_headers(cls.HEADERS)

    def test_row01_compaction_takes_nothing_back(self):
        person = self.person()
        chat = Chat(person)
        for words in ("My dog is called Biscuit.", "I work as a welder in Bergen.", "I play the cello.", "I own a boat."):
            chat.say(words)
        self.knows(person, "Biscuit")
        self.knows(person, "cello")
        before = self.settled(person)
        record.chat_config(self.lab, ENABLE_CONTEXT_COMPACTION=True, CONTEXT_COMPACTION_TOKEN_THRESHOLD=20, CONTEXT_COMPACTION_TOKEN_CAP=20)
        try:
            chat.say("What is a good name for it?")
        finally:
            record.chat_config(self.lab, ENABLE_CONTEXT_COMPACTION=False, CONTEXT_COMPACTION_TOKEN_THRESHOLD=80000, CONTEXT_COMPACTION_TOKEN_CAP=80000)
        prompt = self.model.prompt("What is a good name for it?")
        self.assertIn("[CONVERSATION SUMMARY]", text_of(prompt[0]))
        self.assertEqual(set(before) - set(self.settled(person)), set())
        chat.say("Thank you.")
        self.assertEqual(set(before) - set(self.settled(person)), set())

    def test_row01_compaction_is_given_memory_again(self):
        person = self.person()
        Chat(person).say("My dog is called Biscuit.")
        self.knows(person, "Biscuit")
        chat = Chat(person)
        for words in ("What is my dog called?", "Is that a good name for my dog?", "What else could my dog be called?"):
            chat.say(words)
        record.chat_config(self.lab, ENABLE_CONTEXT_COMPACTION=True, CONTEXT_COMPACTION_TOKEN_THRESHOLD=20, CONTEXT_COMPACTION_TOKEN_CAP=20)
        try:
            for words in ("What was my dog called, in the end?", "So what do I call my dog now?"):
                chat.say(words)
                self.assertIn("[CONVERSATION SUMMARY]", text_of(self.model.prompt(words)[0]))
                self.assertIn("Biscuit", self.model.block(words))
                self.assertIn("stored memory from earlier conversations", self.model.block(words))
        finally:
            record.chat_config(self.lab, ENABLE_CONTEXT_COMPACTION=False, CONTEXT_COMPACTION_TOKEN_THRESHOLD=80000, CONTEXT_COMPACTION_TOKEN_CAP=80000)

    def test_row01_background_calls_take_nothing_back(self):
        person = self.person()
        chat = Chat(person)
        chat.say("My dog is called Biscuit.")
        chat.say("I play the cello.")
        self.knows(person, "cello")
        before = self.settled(person)
        self.background(person, chat)
        self.assertEqual(set(before) - set(self.settled(person)), set())

    def background(self, person, chat):
        """Asks for everything that Open WebUI asks for in the background."""
        messages = [{"role": m["role"], "content": m["content"]} for m in chat.branch]
        body = {"model": MODEL, "messages": messages, "chat_id": chat.id}
        for path, more in (("title", {}), ("tags", {}), ("follow_up", {}), ("image_prompt", {}), ("queries", {"prompt": "x", "type": "web_search"}),
                           ("auto", {"prompt": "I would", "type": "search query"}), ("emoji", {"prompt": "I play the cello."}),
                           ("moa", {"prompt": "Which fjord?", "responses": ["Geiranger.", "Sognefjord."], "stream": False})):
            person.post(f"/api/v1/tasks/{path}/completions", {**body, **more})
        for template in (record.GERMAN_TITLE, *self.templates()):
            record.task_config(self.lab, TITLE_GENERATION_PROMPT_TEMPLATE=template)
            try:
                person.post("/api/v1/tasks/title/completions", body)
            finally:
                record.task_config(self.lab, TITLE_GENERATION_PROMPT_TEMPLATE="")

    def templates(self):
        """Further templates that have to be known for what they are."""
        return (record.CUSTOM_TITLE,)

    def test_row02_background_calls_are_not_recorded(self):
        person = self.person()
        chat = Chat(person)
        chat.features = {"memory": True}
        for words in ("I play the cello.", "My cat is called Nils.", "I own a boat."):
            chat.say(words)
        wait_for("memory review", lambda: any("long-term memory should change" in text_of(b["messages"][-1]) for _, b in self.model.requests), 30)
        expected = sorted(["I play the cello.", "My cat is called Nils.", "I own a boat."] + ["All right."] * 3)
        wait_for("turns", lambda: len(self.turns(person)) >= len(expected), 10)
        before = len(self.model.requests)
        self.background(person, chat)
        self.settled(person)
        self.assertEqual(sorted(self.turns(person)), expected)
        for _, body in self.model.requests[before:]:
            self.assertNotIn("<loci-memory>", json.dumps(body["messages"]))

    def test_row03_temporary_chat_leaves_nothing(self):
        person = self.person()
        chat = Chat.open_temporary(person)
        chat.say("I am allergic to hazelnuts.")
        chat.say("Remember that.")
        other = Chat(person)
        other.say("What am I allergic to?")
        self.settled(person)
        self.assertNotIn("hazelnut", self.model.block("What am I allergic to?"))
        self.assertNotIn("hazelnut", json.dumps(self.loci.memories(person.id, "all")))

    def test_row04_file_is_no_word_of_the_user(self):
        person = self.person()
        item = record.attach(person)
        chat = Chat(person)
        chat.say("My aunt Tove runs this hotel. How many rooms has it?", files=[item])
        chat.say("And who owns it?", files=[item])
        self.knows(person, "Tove")
        self.assertEqual(sorted(self.turns(person)), sorted(["My aunt Tove runs this hotel. How many rooms has it?", "And who owns it?", "All right.", "All right."]))
        self.assertNotIn("Sigrid", json.dumps(self.settled(person)))
        Chat(person).say("Who is allergic to cats?")
        self.assertNotIn("Sigrid", self.model.block("Who is allergic to cats?"))

    def test_row04_translated_file_template(self):
        person = self.person()
        rag = self.webui.admin.get("/api/v1/retrieval/config")["RAG_TEMPLATE"]
        self.webui.admin.post("/api/v1/retrieval/config/update", {"RAG_TEMPLATE": record.GERMAN_RAG})
        try:
            Chat(person).say("My uncle Lars built this hotel.", files=[record.attach(person)])
        finally:
            self.webui.admin.post("/api/v1/retrieval/config/update", {"RAG_TEMPLATE": rag})
        self.knows(person, "Lars")
        self.assertEqual(sorted(self.turns(person)), ["All right.", "My uncle Lars built this hotel."])

    def test_row04_image_is_no_title(self):
        person = self.person()
        picture = person.upload("dot.png", record.PIXEL, "image/png")
        Chat(person).say("My favourite colour is teal.", files=[{"type": "image", "id": picture["id"], "url": picture["id"], "name": "dot.png", "content_type": "image/png"}])
        self.knows(person, "teal")
        self.assertUnwrapped(self.turns(person))
        status, chats = self.loci.api(person.id, "GET", "/api/chats")
        self.assertEqual(status, 200)
        self.assertUnwrapped([c.get("title", "") for c in chats["chats"]])

    def test_row05_channel_has_no_memory(self):
        person, other = self.person(), self.person()
        Chat(person).say("I am allergic to shellfish.")
        self.knows(person, "shellfish")
        before = self.settled(person), sorted(self.turns(person))
        channel = self.webui.admin.post("/api/v1/channels/create", {"name": f"room{time.time_ns()}", "type": "group", "user_ids": [person.id, other.id]})
        path = f"/api/v1/channels/{channel['id']}/messages/post"
        first = other.post(path, {"content": "My brother Olaf lives in Narvik."})
        for words in ("what could I eat?", "and my allergy?"):
            person.post(path, {"content": f"<@M:{MODEL}|{MODEL}> {words}", "parent_id": first["id"]})
            wait_for("answer in the channel", lambda: any(words in text_of(b["messages"][-1]) for _, b in self.model.requests), 30)
            self.assertEqual(self.model.block(words), "")
        self.assertEqual((self.settled(person), sorted(self.turns(person))), before)

    def test_row06_clone_is_not_recalled_as_said(self):
        owner, guest = self.person(), self.person()
        chat = Chat(owner)
        chat.say("I have diabetes.")
        shared = owner.post(f"/api/v1/chats/{chat.id}/share")
        owner.post(f"/api/v1/chats/shared/{chat.id}/access/update", {"access_grants": [{"principal_type": "user", "principal_id": guest.id, "permission": "read"}]})
        cloned = guest.post(f"/api/v1/chats/{shared['share_id']}/clone/shared")
        copy = Chat(guest, cloned["id"])
        history = cloned["chat"]["history"]
        at = history["currentId"]
        while at:
            copy.branch.insert(0, history["messages"][at])
            at = history["messages"][at]["parentId"]
        copy.say("What should I have for breakfast?")
        self.settled(guest)
        Chat(guest).say("Do I have diabetes?")
        self.assertNotIn("I have diabetes", self.model.block("Do I have diabetes?"))
        self.assertNotIn("diabetes", json.dumps(self.loci.memories(guest.id)))

    def test_row07_edit_is_not_given_what_it_replaces(self):
        person = self.person()
        chat = Chat(person)
        chat.say("Good morning.")
        chat.say("My sister Mira lives in Lisbon.")
        self.knows(person, "Lisbon")
        chat.edit(1, "My sister Mira lives in Porto, where does she live?")
        self.assertNotIn("Lisbon", self.model.block("lives in Porto"))

    def test_row07_edit_of_the_first_message(self):
        person = self.person()
        first = Chat(person)
        first.say("My brother Olaf lives in Narvik.")
        self.knows(person, "Narvik")
        first.edit(0, "My brother Olaf lives in Bodø, where does he live?")
        self.assertNotIn("Narvik", self.model.block("lives in Bodø"))

    def test_row08_people_stay_here(self):
        person = self.person()
        Chat(person).say("Who am I?", tasks={"title_generation": True})
        mine = [(h, b) for h, b in self.model.requests if "Who am I?" in json.dumps(b["messages"])]
        self.assertGreaterEqual(len(mine), 2)
        for headers, body in mine:
            sent = json.dumps([headers, body])
            self.assertEqual([h for h in headers if h.startswith(("x-openwebui", "x-loci"))], [])
            for private in (person.id, person.name, person.name.split()[0].lower() + "@example.com", self.loci.key):
                self.assertNotIn(private, sent)

    def test_row10_empty_replies_do_not_outrank_the_fact(self):
        person = self.person()
        self.model.reply("does my brother Olaf live?", "I have nothing on that yet. I don't know where your brother Olaf lives.")
        for words in ("Where does my brother Olaf live?", "In which town does my brother Olaf live?"):
            Chat(person).say(words)
        Chat(person).say("My brother Olaf lives in Narvik.")
        self.knows(person, "Narvik")
        self.settled(person)
        Chat(person).say("So where does my brother Olaf live?")
        lines = [line for line in self.model.block("So where does my brother Olaf live?").splitlines() if line.startswith("- ")]
        self.assertIn("Narvik", lines[0] if lines else "")
        self.assertNotIn("nothing on that", "\n".join(lines))

    def test_row11_embedder_is_no_chat_model(self):
        names = [m["id"] for m in self.webui.admin.get("/api/models")["data"]]
        self.assertIn(MODEL, names)
        self.assertNotIn("loci/embed", names)
        status, _ = self.loci.api("ana", "GET", "/v1/models/loci/embed")
        self.assertEqual(status, 200)
        status, answer = self.loci.api("ana", "POST", "/v1/chat/completions", {"model": "loci/embed", "messages": [{"role": "user", "content": "Hello"}]})
        self.assertEqual(status, 400, answer)

    def test_row11_deleted_chat(self):
        person = self.person()
        chat = Chat(person)
        chat.say("I own a boat.")
        self.knows(person, "boat")
        self.assertEqual(person.request("DELETE", "/api/v1/chats/" + chat.id)[0], 200)
        status, answer = self.loci.api(person.id, "DELETE", f"/api/chats/{chat.id}?facts=true")
        self.assertEqual(status, 200, answer)
        self.assertEqual(self.loci.memories(person.id, "all"), [])

    def test_regenerate_and_continue_say_nothing_twice(self):
        person = self.person()
        chat = Chat(person)
        chat.say("I collect stamps.")
        chat.regenerate()
        chat.resume()
        chat.say("Good night.")
        wait_for("the last message", lambda: "Good night." in self.turns(person), 10)
        self.assertEqual([self.turns(person).count(words) for words in ("I collect stamps.", "Good night.")], [self.ANSWERED_TWICE, 1])


class HeaderlessTest(ProxyTest):
    """The same without connection headers: what Open WebUI sends by itself has to do."""

    HEADERS = {}
    ANSWERED_TWICE = 2  # nothing says that it is not said once more

    def templates(self):
        return ()  # a template without any marks is only known by its header

    def test_row07_edit_of_the_first_message(self):
        """Nothing says that the message replaces another one: what that one taught stays."""
        person = self.person()
        chat = Chat(person)
        chat.say("My brother Olaf lives in Narvik.")
        self.knows(person, "Narvik")
        chat.edit(0, "My cousin Per plays the tuba.")
        self.knows(person, "tuba")
        self.assertIn("Narvik", json.dumps(self.settled(person)))


class JWTTest(Case):
    """Open WebUI signs who its users are."""

    OPTIONS = {"loci": {"LOCI_JWT_SECRET": labs.JWT_SECRET}, "webui": {"FORWARD_USER_INFO_HEADER_JWT_SECRET": labs.JWT_SECRET}}

    def test_row08_token_names_the_user_and_stays_here(self):
        person = self.person()
        Chat(person).say("My cousin Per plays the tuba.")
        self.knows(person, "tuba")
        headers, _ = self.model.requests[-1]
        self.assertEqual([h for h in headers if h.startswith("x-openwebui")], [])

    def test_row11_token_opens_the_page(self):
        person = self.person()
        Chat(person).say("I own a lighthouse.")
        self.knows(person, "lighthouse")
        token = self.lab.recorder.take()[-1]["headers"]["X-OpenWebUI-User-Jwt"]
        status, page = call(self.loci.port, "GET", "/", headers={"X-OpenWebUI-User-Jwt": token, "Accept": "text/html"})
        self.assertEqual(status, 200)
        self.assertNotIn('type="password"', page)
        self.assertIn("lighthouse", page)


class UnknownJWTTest(Case):
    """Open WebUI signs who its users are, and Loci was not told the secret."""

    OPTIONS = {"webui": {"FORWARD_USER_INFO_HEADER_JWT_SECRET": labs.JWT_SECRET}}

    def test_row08_missing_secret_is_said_once(self):
        person = self.person()
        for words in ("I play the cello.", "I own a boat."):
            Chat(person).say(words)
        with open(self.loci.log.name, encoding="utf-8") as log:
            warnings = [line for line in log if "jwt_secret" in line]
        self.assertEqual(len(warnings), 1, warnings)
        health = self.loci.api("admin", "GET", "/health")[1]
        self.assertIn("jwt_secret", json.dumps(health))


class FilterTest(Case):
    """The filter of deploy/openwebui: Open WebUI talks to the model itself."""

    OPTIONS = {"proxied": False, "webui": {"RAG_EMBEDDING_ENGINE": "openai"}}

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        status, made = cls.loci.api("admin", "POST", "/api/keys", {"name": "open-webui", "role": "front"})
        assert status == 201, made
        with open(os.path.join(REPOSITORY, "deploy/openwebui/loci_filter.py"), encoding="utf-8") as file:
            source = file.read()
        admin = cls.webui.admin
        admin.post("/api/v1/functions/create", {"id": "loci_memory", "name": "Loci memory", "content": source, "meta": {"description": "Long-term memory"}})
        admin.post("/api/v1/functions/id/loci_memory/valves/update", {"url": f"http://127.0.0.1:{cls.loci.port}", "key": made["key"]})
        admin.post("/api/v1/functions/id/loci_memory/toggle")
        admin.post("/api/v1/functions/id/loci_memory/toggle/global")

    def status(self, chat):
        """What the page shows above the last answer."""
        message = chat.person.get("/api/v1/chats/" + chat.id)["chat"]["history"]["messages"][chat.branch[-1]["id"]]
        return [s.get("description") for s in message.get("statusHistory") or []]

    def test_row12_remembers_across_chats(self):
        person, stranger = self.person(), self.person()
        Chat(person).say("My sister Mira lives in Lisbon.", tasks={"title_generation": True, "tags_generation": True, "follow_up_generation": True})
        self.knows(person, "Lisbon")
        chat = Chat(person)
        chat.say("Where does my sister Mira live?")
        self.assertIn("Lisbon", self.model.block("Where does my sister Mira live?"))
        self.assertTrue(any(re.fullmatch(r"1 memory used|\d+ memories used", s or "") for s in self.status(chat)), self.status(chat))
        wait_for("the question", lambda: "Where does my sister Mira live?" in self.turns(person), 20)
        self.assertUnwrapped(self.turns(person))
        self.assertEqual(len(self.turns(person)), 4, self.turns(person))
        self.assertEqual(self.loci.memories(stranger.id, "all"), [])

    def test_row12_edit_and_regenerate_add_nothing_twice(self):
        person = self.person()
        chat = Chat(person)
        chat.say("Good morning.")
        chat.say("I live in Lisbon.")
        self.knows(person, "Lisbon")
        chat.regenerate()
        chat.edit(1, "I live in Porto.")
        self.knows(person, "Porto")
        self.settled(person)
        wait_for("the edit", lambda: sorted(self.turns(person)) == sorted(["Good morning.", "All right.", "I live in Porto.", "All right."]), 20)
        self.assertNotIn("Lisbon", json.dumps(self.settled(person)))
        self.assertEqual(self.model.block("I live in Porto."), "")
        chat.edit(0, "Good evening.")
        wait_for("the first message edited", lambda: sorted(self.turns(person)) == sorted(["Good evening.", "All right."]), 20)

    def test_row12_left_alone(self):
        person, other = self.person(), self.person()
        Chat(person).say("I am allergic to shellfish.")
        self.knows(person, "shellfish")
        before = sorted(self.turns(person))
        chat = Chat.open_temporary(person)
        chat.say("I am allergic to hazelnuts. What else?")
        self.assertEqual(self.model.block("hazelnuts. What else?"), "")
        channel = self.webui.admin.post("/api/v1/channels/create", {"name": f"room{time.time_ns()}", "type": "group", "user_ids": [person.id, other.id]})
        person.post(f"/api/v1/channels/{channel['id']}/messages/post", {"content": f"<@M:{MODEL}|{MODEL}> which allergy have I?"})
        wait_for("answer in the channel", lambda: any("which allergy have I?" in text_of(b["messages"][-1]) for _, b in self.model.requests), 30)
        self.assertEqual(self.model.block("which allergy have I?"), "")
        time.sleep(2)  # for what must not come
        self.assertEqual(sorted(self.turns(person)), before)

    def test_row12_file_is_no_word_of_the_user(self):
        person = self.person()
        Chat(person).say("My aunt Tove runs this hotel.", files=[record.attach(person)])
        self.knows(person, "Tove")
        self.assertEqual(sorted(self.turns(person)), ["All right.", "My aunt Tove runs this hotel."])

    def test_row12_paused_by_the_user(self):
        person = self.person()
        Chat(person).say("I own a boat.")
        self.knows(person, "boat")
        before = sorted(self.turns(person))
        person.post("/api/v1/functions/id/loci_memory/valves/user/update", {"paused": True})
        Chat(person).say("What do I own, a boat?")
        self.assertEqual(self.model.block("What do I own, a boat?"), "")
        time.sleep(2)  # for what must not come
        self.assertEqual(sorted(self.turns(person)), before)

    def test_row12_paused_in_loci(self):
        person = self.person()
        Chat(person).say("I own a horse.")
        self.knows(person, "horse")
        before = sorted(self.turns(person))
        self.loci.api(person.id, "PUT", "/api/pause", {"pause": "memory"})
        chat = Chat(person)
        chat.say("What do I own, a horse?")
        self.assertEqual(self.model.block("What do I own, a horse?"), "")
        self.assertEqual(self.status(chat), [])
        self.assertEqual(sorted(self.turns(person)), before)


@unittest.skipUnless(pages.CHROMIUM, "Open WebUI's page is not tried: install chromium, or name one in CHROMIUM")
class PageTest(Case):
    """What docs/guide/openwebui.md has an admin do on Open WebUI's page, in Chromium."""

    OPTIONS = {"proxied": False, "webui": {"ENABLE_MEMORIES": "false"}}

    def setUp(self):
        super().setUp()
        status, made = self.loci.api("admin", "POST", "/api/keys", {"name": self._testMethodName, "role": "front"})
        self.assertEqual(status, 201, made)
        self.key = made["key"]
        folder = tempfile.TemporaryDirectory(prefix="loci-chromium-", ignore_cleanup_errors=True)
        self.addCleanup(folder.cleanup)
        self.webui.admin.post("/api/v1/users/user/settings/update", {"ui": {"showChangelog": False}})  # the release notes would cover the page
        self.page = pages.Page(folder.name)
        self.addCleanup(self.page.close)
        self.page.go(f"http://127.0.0.1:{self.webui.port}/auth")
        self.page.fill("#email", "ada@example.com")
        self.page.fill("#password", "an-invented-password")
        self.page.enter()
        self.page.click("button", "User menu")
        self.page.click("a", "Admin Panel")

    def say(self, words):
        """Says something in a new chat, and returns the messages that the model got."""
        self.page.go(f"http://127.0.0.1:{self.webui.port}/")
        self.page.click("#chat-input")
        self.page.type(words)
        self.page.enter()
        chat = wait_for("request of the chat", lambda: [b for _, b in self.model.requests if text_of(b["messages"][-1]) == words], 30)
        self.page.says("All right.")
        return "\n".join(text_of(m) for m in chat[0]["messages"])

    def test_guide_connection(self):
        admin, page = self.webui.admin, self.page
        before = admin.get("/openai/config")
        self.addCleanup(admin.post, "/openai/config/update", before)
        page.click("a", "Settings")
        page.click("button", "Connections")
        page.click("button", "Configure")
        page.fill("#url-input", f"http://127.0.0.1:{self.loci.port}/v1")
        page.fill("input[placeholder='API Key']", self.key)
        page.click("button", "Advanced")
        page.fill("textarea", '{"X-Loci-Task": "{{TASK}}", "X-Loci-Message-Id": "{{MESSAGE_ID}}", "X-Loci-Parent-Id": "{{USER_MESSAGE_PARENT_ID}}"}')
        page.click("[role=dialog] button, .modal button, form button", "Save")
        wait_for("connection", lambda: str(self.loci.port) in json.dumps(admin.get("/openai/config")), 20)
        self.say("My brother Olaf lives in Narvik.")
        self.knows(admin, "Narvik")
        self.assertIn("Narvik", self.say("Where does my brother live?"))
        self.assertUnwrapped(self.turns(admin))

    def test_guide_filter(self):
        admin, page = self.webui.admin, self.page
        page.click("a", "Functions")
        page.click("button", "Create")
        with open(os.path.join(REPOSITORY, "deploy/openwebui/loci_filter.py"), encoding="utf-8") as file:
            page.paste(".cm-content", file.read())
        page.fill("input", "Loci memory", "Function Name")
        page.click("button", "Save & Create")
        page.click("button", "Confirm")
        for field, value in (("Url", f"http://127.0.0.1:{self.loci.port}"), ("Key", self.key)):
            page.click("button", "Valves")
            if field == "Key":
                page.says("Custom")
            page.click("button", "Default")
            page.fill("textarea", value, field)
            page.click("button", "Save")
            wait_for(field, lambda: value in json.dumps(admin.get("/api/v1/functions/id/loci_memory/valves")), 20)
            page.click("button", "Close")
        page.click("button", "Enabled")
        page.click("button", "Function Menu")
        page.click("[role=menu] [role=switch]")
        page.says("Filter is now globally enabled")
        self.say("My sister Mira lives in Lisbon.")
        self.knows(admin, "Lisbon")
        self.assertIn("Lisbon", self.say("Where does my sister Mira live?"))
        page.wait("memories used", "return /(1 memory|\\d+ memories) used/.test(document.body.innerText)")
        page.click("button", "Controls")
        page.click("button", "Valves")
        page.choose("Functions")
        page.choose("Loci memory")
        page.says("Paused")
        page.click("button", "Default")  # of the valve, which stands first
        page.click("[role=switch]")
        wait_for("pause", lambda: (admin.get("/api/v1/functions/id/loci_memory/valves/user") or {}).get("paused"), 20)
        self.assertEqual(self.say("Where does my sister Mira live today?"), "Where does my sister Mira live today?")


if __name__ == "__main__":
    unittest.main(verbosity=2)
