"""Writes memory_tool.jsonl: what the memory tool of Anthropic's SDK answers to each input.

pip install anthropic==2.12.0; python memory_tool.py > memory_tool.jsonl
"""

import json
import tempfile

from anthropic.lib.tools import ToolError
from anthropic.tools.memory import BetaLocalFilesystemMemoryTool

INPUTS = [
    {"command": "view", "path": "/memories"},
    {"command": "create", "path": "/memories/notes.md", "file_text": "# Notes\n\n  - Mira lives in Lisbon\n- café\n"},
    {"command": "create", "path": "/memories/notes.md", "file_text": "again"},
    {"command": "create", "path": "/memories/a/b/c/deep.txt", "file_text": "deep"},
    {"command": "create", "path": "/memories/a/.hidden", "file_text": "hidden"},
    {"command": "create", "path": "/memories/a/big.txt", "file_text": "0123456789abcde\n" * 60},
    {"command": "create", "path": "/memories/a.txt", "file_text": "one\ntwo\nthree\nfour\nfive\nsix\ntwo"},
    {"command": "create", "path": "/memories/a", "file_text": "a folder"},
    {"command": "view", "path": "/memories"},
    {"command": "view", "path": "/memories/a"},
    {"command": "view", "path": "/memories/a/"},
    {"command": "view", "path": "/memories/notes.md"},
    {"command": "view", "path": "/memories/a.txt", "view_range": [2, 3]},
    {"command": "view", "path": "/memories/a.txt", "view_range": [5, -1]},
    {"command": "view", "path": "/memories/a.txt", "view_range": [0, 99]},
    {"command": "view", "path": "/memories/a.txt", "view_range": [90, 99]},
    {"command": "view", "path": "/memories/x/../a.txt"},
    {"command": "view", "path": "/memories/none.md"},
    {"command": "view", "path": "/memories/notes.md/below"},
    {"command": "view", "path": "/etc/passwd"},
    {"command": "view", "path": "/memories/../../etc/passwd"},
    {"command": "create", "path": "/memories/../escape.md", "file_text": "x"},
    {"command": "rename", "old_path": "/memories/notes.md", "new_path": "/memories/../../etc/notes.md"},
    {"command": "str_replace", "path": "/memories/a.txt", "old_str": "three\nfour", "new_str": "3\n3.5\n4"},
    {"command": "str_replace", "path": "/memories/notes.md", "old_str": "- café\n", "new_str": "- tea\n"},
    {"command": "str_replace", "path": "/memories/a.txt", "old_str": "two", "new_str": "2"},
    {"command": "str_replace", "path": "/memories/a.txt", "old_str": "nine", "new_str": "9"},
    {"command": "str_replace", "path": "/memories/none.md", "old_str": "a", "new_str": "b"},
    {"command": "str_replace", "path": "/memories/a", "old_str": "a", "new_str": "b"},
    {"command": "insert", "path": "/memories/a.txt", "insert_line": 0, "insert_text": "zero\n"},
    {"command": "insert", "path": "/memories/a.txt", "insert_line": 9, "insert_text": "last"},
    {"command": "insert", "path": "/memories/a.txt", "insert_line": 2, "insert_text": ""},
    {"command": "insert", "path": "/memories/a.txt", "insert_line": 99, "insert_text": "x"},
    {"command": "insert", "path": "/memories/a.txt", "insert_line": -1, "insert_text": "x"},
    {"command": "insert", "path": "/memories/none.md", "insert_line": 0, "insert_text": "x"},
    {"command": "insert", "path": "/memories/a", "insert_line": 0, "insert_text": "x"},
    {"command": "view", "path": "/memories/a.txt"},
    {"command": "rename", "old_path": "/memories/a.txt", "new_path": "/memories/notes.md"},
    {"command": "rename", "old_path": "/memories/none.md", "new_path": "/memories/other.md"},
    {"command": "rename", "old_path": "/memories", "new_path": "/memories/all"},
    {"command": "rename", "old_path": "/memories/a", "new_path": "/memories/z/moved"},
    {"command": "view", "path": "/memories/z/moved/b/c/deep.txt"},
    {"command": "view", "path": "/memories/z"},
    {"command": "view", "path": "/memories/a/big.txt"},
    {"command": "delete", "path": "/memories"},
    {"command": "delete", "path": "/memories/none.md"},
    {"command": "delete", "path": "/memories/notes.md"},
    {"command": "delete", "path": "/memories/z"},
    {"command": "delete", "path": "/memories/../notes.md"},
    {"command": "view", "path": "/memories"},
]

with tempfile.TemporaryDirectory() as folder:
    tool = BetaLocalFilesystemMemoryTool(folder)
    for sent in INPUTS:
        try:
            content, failed = tool.call(sent), False
        except ToolError as error:
            content, failed = error.content, True
        print(json.dumps({"input": sent, "content": content, "is_error": failed}, ensure_ascii=False))
