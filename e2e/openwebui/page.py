"""A headless Chromium, driven over its debugging pipe with the standard library alone."""

import base64
import json
import os
import shutil
import subprocess
import threading
import time

CHROMIUM = next((p for p in map(shutil.which, (os.environ.get("CHROMIUM", ""), "chromium", "chromium-browser", "google-chrome")) if p), None)


class Page:
    """One tab. Texts on the page are found as a person finds them: visible, by their words."""

    def __init__(self, folder):
        commands, answers = os.pipe(), os.pipe()
        self.log = open(os.path.join(folder, "chromium.log"), "ab")

        def pipes():  # Chromium reads commands from 3 and writes answers to 4
            read, write = os.dup(commands[0]), os.dup(answers[1])
            os.dup2(read, 3)
            os.dup2(write, 4)

        self.process = subprocess.Popen(
            [CHROMIUM, "--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--lang=en-US", "--window-size=1400,1000",
             "--remote-debugging-pipe", "--user-data-dir=" + os.path.join(folder, "chromium"), "about:blank"],
            preexec_fn=pipes, close_fds=False, stdout=self.log, stderr=self.log)
        os.close(commands[0])
        os.close(answers[1])
        self.to, self.back = os.fdopen(commands[1], "wb", 0), os.fdopen(answers[0], "rb")
        self.answers, self.arrived, self.number = {}, threading.Condition(), 0
        self.reader = threading.Thread(target=self._read, daemon=True)
        self.reader.start()
        target = next(t for t in self._command("Target.getTargets")["targetInfos"] if t["type"] == "page")
        self.session = self._command("Target.attachToTarget", {"targetId": target["targetId"], "flatten": True})["sessionId"]

    def _read(self):
        buffer = b""
        while piece := self.back.read1(1 << 16):
            *messages, buffer = (buffer + piece).split(b"\0")
            for message in messages:
                message = json.loads(message)
                if "id" in message:
                    with self.arrived:
                        self.answers[message["id"]] = message
                        self.arrived.notify_all()

    def _command(self, method, params=None, session=None, seconds=60):
        self.number += 1
        number = self.number
        message = {"id": number, "method": method, "params": params or {}, **({"sessionId": session} if session else {})}
        self.to.write(json.dumps(message).encode() + b"\0")
        with self.arrived:
            if not self.arrived.wait_for(lambda: number in self.answers, seconds):
                raise TimeoutError(method)
            answer = self.answers.pop(number)
        if "error" in answer:
            raise RuntimeError(f"{method}: {answer['error']}")
        return answer["result"]

    def run(self, script):
        """Returns what a script yields, with find(selector, words) at its disposal."""
        helpers = """
            const wordsOf = e => [e.innerText, e.getAttribute('aria-label'), e.getAttribute('placeholder'), e.title].map(s => (s || '').trim());
            const middle = e => { const r = e.getBoundingClientRect(); return [r.x + r.width / 2, r.y + r.height / 2]; };
            const onTop = e => { e.scrollIntoView({block: 'nearest'}); const hit = document.elementFromPoint(...middle(e)); return hit && (e.contains(hit) || hit.contains(e)); };
            const find = (selector, words) => [...document.querySelectorAll(selector)].find(e =>
                (!words || wordsOf(e).includes(words)) && !e.querySelector(selector) && e.getClientRects().length > 0 && onTop(e));"""
        result = self._command("Runtime.evaluate", {"expression": f"(() => {{{helpers}{script}}})()", "returnByValue": True, "awaitPromise": True}, self.session)
        if "exceptionDetails" in result:
            raise RuntimeError(json.dumps(result["exceptionDetails"])[:500])
        return result["result"].get("value")

    def go(self, url):
        self._command("Page.navigate", {"url": url}, self.session)

    def wait(self, what, script, seconds=30):
        end = time.monotonic() + seconds
        while True:
            try:
                if value := self.run(script):
                    return value
            except RuntimeError:  # the page is between two documents
                pass
            if time.monotonic() > end:
                raise TimeoutError(f"{what}: not within {seconds} s; the page says {self.text()[:1500]!r}")
            time.sleep(0.2)

    def click(self, selector, words="", seconds=30):
        x, y = self.wait(f"{selector} {words!r}", f"""
            const e = find({json.dumps(selector)}, {json.dumps(words)});
            return e && middle(e);""", seconds)
        for kind in ("mousePressed", "mouseReleased"):
            self._command("Input.dispatchMouseEvent", {"type": kind, "x": x, "y": y, "button": "left", "clickCount": 1}, self.session)
        time.sleep(0.3)

    def type(self, words):
        self._command("Input.insertText", {"text": words}, self.session)

    def fill(self, selector, words, label=""):
        """Writes into a field in place of what it has."""
        self._select(selector, label)
        self.type(words)

    def paste(self, selector, words):
        """Pastes into an editor in place of what it has."""
        self._select(selector, "")
        self.run(f"""
            const pasted = new DataTransfer();
            pasted.setData('text/plain', {json.dumps(words)});
            find({json.dumps(selector)}).dispatchEvent(new ClipboardEvent('paste', {{clipboardData: pasted, bubbles: true, cancelable: true}}));""")

    def choose(self, option):
        """Takes an option of whichever list has it."""
        self.wait(option, f"""
            const o = [...document.querySelectorAll('option')].find(o => o.text.trim() === {json.dumps(option)});
            if (!o) return false;
            o.selected = true;
            return o.closest('select').dispatchEvent(new Event('change', {{bubbles: true}}));""")

    def _select(self, selector, label):
        self.click(selector, label)
        for kind in ("keyDown", "keyUp"):
            self._command("Input.dispatchKeyEvent", {"type": kind, "modifiers": 2, "key": "a", "code": "KeyA", "windowsVirtualKeyCode": 65, "commands": ["selectAll"]}, self.session)

    def enter(self):
        for kind in ("rawKeyDown", "char", "keyUp"):
            self._command("Input.dispatchKeyEvent", {"type": kind, "key": "Enter", "code": "Enter", "text": "\r", "windowsVirtualKeyCode": 13}, self.session)

    def text(self):
        return self.run("return document.body ? document.body.innerText : ''") or ""

    def says(self, words, seconds=30):
        return self.wait(words, f"return document.body.innerText.includes({json.dumps(words)})", seconds)

    def size(self, width, height):
        self._command("Emulation.setDeviceMetricsOverride", {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": False}, self.session)

    def picture(self):
        """Returns what is seen, as PNG."""
        return base64.b64decode(self._command("Page.captureScreenshot", {"format": "png"}, self.session)["data"])

    def close(self):
        self.process.terminate()
        try:
            self.process.wait(10)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        self.reader.join(10)
        for file in (self.to, self.back, self.log):
            file.close()
