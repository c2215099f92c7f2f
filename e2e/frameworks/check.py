#!/usr/bin/env python3
"""Runs frameworks against a Loci of their own and checks what it took for the person's words.

Usage: check.py LOCI FOLDER FRAMEWORK...
FOLDER has a virtual environment for each framework. RECORDS, where set, is a folder for the requests of each: NAME.json has
them whole, NAME.jsonl each once, without tools and without templates longer than LONG.
"""

import json
import os
import pathlib
import re
import subprocess
import sys

from rig import FOREIGN, OWN, PROBE, Lab, reply, text

LIMIT = 60  # seconds for one framework
LONG = 300  # characters of a template that are kept
STRANGE = re.compile("Graz|Brandt|Fido")


def forms(seen):
    """The messages of all requests, each form once."""
    known = set()
    for r in seen:
        for m in r["body"].get("messages", []):
            form = (r["play"], m["role"], m.get("name", ""), text(m.get("content")).strip())
            if form not in known and m["role"] != "system":
                known.add(form)
                yield form


def short(content):
    """A message's words; of a long template only how it begins and what of ours it has."""
    words = text(content)
    if len(words.replace(OWN, "").replace(FOREIGN, "")) <= LONG:
        return words
    ours = sorted((m.start(), s) for s in (OWN, FOREIGN) for m in re.finditer(re.escape(s), words))
    return {"begins": words[:80], "characters": len(words), "has": ours}


def record(folder, framework, seen):
    (folder / f"{framework}.json").write_text(json.dumps(seen, indent=1, ensure_ascii=False))
    rows = {}
    for r in seen:
        kept = [{k: m[k] for k in ("role", "name", "tool_calls") if m.get(k)} | {"content": short(m.get("content"))} for m in r["body"].get("messages", [])]
        row = {"form": f"{framework} {r['play']}", "messages": kept, "answer": reply(r["body"])}
        rows[json.dumps(row, ensure_ascii=False)] = None
    (folder / f"{framework}.jsonl").write_text("".join(row + "\n" for row in rows))


def check(binary, folder, framework):
    """Returns what is wrong."""
    lab = Lab(binary)
    wrong = []
    try:
        home = lab.folder.name + "/home"
        os.mkdir(home)
        bin = folder / framework / "bin"
        env = {"PATH": f"{bin}:{os.environ['PATH']}", "HOME": home, "TMPDIR": home, "OPENAI_API_KEY": "unused", "PYTHONDONTWRITEBYTECODE": "1"}
        try:
            r = subprocess.run([bin / "python", pathlib.Path(__file__).with_name("plays.py"), framework, lab.url], env=env, cwd=home,
                               stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=LIMIT)
            if os.environ.get("VERBOSE"):
                print(r.stdout)
            if r.returncode:
                wrong.append(f"exit {r.returncode}: {r.stdout[-2000:]}")
        except subprocess.TimeoutExpired as e:
            wrong.append(f"no end after {LIMIT} s: {(e.stdout or b'')[-500:]!r}")
        seen = lab.recorder.seen
        if records := os.environ.get("RECORDS"):
            record(pathlib.Path(records), framework, seen)
        lab.settle()
        facts = [f["content"] for f in lab.facts()]
        taught = [f for f in facts if STRANGE.search(f)]
        learned = [f for f in facts if "Tom" in f]
        shown = [line for line in lab.block(PROBE) if STRANGE.search(line)]
        print(f"== {framework}: {len(seen)} requests")
        for play, role, name, words in forms(seen):
            print(f"   {play:12} {role:10} {name:8} {words[:80]!r}")
        print(f"   taught foreign: {taught or 'nothing'}\n   own learned: {learned or 'nothing'}\n   shown: {shown or 'nothing'}", flush=True)
        if not seen:
            wrong.append("no request reached Loci")
        wrong += [f"foreign fact: {f}" for f in taught] + [f"shown as the person's: {s}" for s in shown if re.search("(user|person) said", s)]
        if not learned:
            wrong.append("the cat was not learned")
    finally:
        lab.close()
    return wrong


def main(binary, folder, *frameworks):
    failed = {f: wrong for f in frameworks if (wrong := check(binary, pathlib.Path(folder), f))}
    for framework, wrong in failed.items():
        print(f"FAILED: {framework}\n   " + "\n   ".join(wrong))
    return bool(failed)


sys.exit(main(*sys.argv[1:]))
