"""Takes docs/page/openwebui.png: an answer from memory in Open WebUI, which has only Loci's built-in model loci/recall."""

import os
import sys
import tempfile

from lab import Loci, WebUI, wait_for
from page import Page

CHATS = (
    ("My name is Ana, I live in Berlin and I'm allergic to peanuts.", "User lives in Berlin"),
    ("Guess what, I moved to Lisbon last week!", "User lives in Lisbon"),
    ("Where do I live now?", None),
)


def main(path):
    with tempfile.TemporaryDirectory(prefix="loci-picture-", ignore_cleanup_errors=True) as folder:
        parts = []
        try:
            loci = Loci(os.environ["LOCI_BINARY"], folder, "", LOCI_UPSTREAM_KEY="")
            parts.append(loci)
            webui = WebUI(os.environ["OPENWEBUI_VENV"], folder, loci.port, loci.key,
                          ENABLE_MEMORIES="false", ENABLE_TITLE_GENERATION="false", ENABLE_TAGS_GENERATION="false", ENABLE_FOLLOW_UP_GENERATION="false")
            parts.append(webui)
            page = Page(folder)
            parts.append(page)
            page.size(1100, 780)
            page.go(f"http://127.0.0.1:{webui.port}/auth")
            page.fill("#email", "ana@example.com")
            page.fill("#password", "an-invented-password")
            page.enter()
            page.wait("the chat", "return !!find('#chat-input')")
            page.run("localStorage.sidebar = 'true'")
            for words, fact in CHATS:
                page.go(f"http://127.0.0.1:{webui.port}/")
                page.click("#chat-input")
                page.type(words)
                page.enter()
                page.says("built-in responder")
                if fact:
                    wait_for(fact, lambda: fact in loci.memories(webui.ana.id))
            page.click("#chat-input")
            page.type("And what am I allergic to?")
            page.enter()
            page.says("You are allergic to peanuts")
            wait_for("the end of the answer", lambda: not page.run("return !!find('button', 'Stop')"))
            page.wait("the end of loading", "return !document.body.innerText.includes('Loading')")
            picture = page.picture()
        finally:
            for part in reversed(parts):
                part.close()
    with open(path, "wb") as file:
        file.write(picture)


if __name__ == "__main__":
    main(sys.argv[1])
