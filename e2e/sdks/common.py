"""What the Python scripts share: where Loci is, and what the upstream was asked."""

import json
import os
import urllib.request

LOCI = os.environ["LOCI"]
PIXEL = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
WEIGH = {"type": "object", "properties": {"animal": {"type": "string"}}, "required": ["animal"]}


def asked():
    """Returns the last request that reached the upstream."""
    with urllib.request.urlopen(os.environ["UPSTREAM"] + "/asked") as answer:
        return json.load(answer)[-1]


def sent():
    """Returns the same as text."""
    return json.dumps(asked(), ensure_ascii=False)


def remembers(fact):
    assert fact in sent(), f"{fact} is missing: {sent()}"


def streamed(pieces):
    """Checks that an answer came in pieces, and is whole."""
    pieces = [p for p in pieces if p]
    assert len(pieces) > 2 and "".join(pieces).startswith("You said: "), pieces


def fails(kind, call):
    """Returns the error of a call, which is of that type and no other of the client's."""
    try:
        got = call()
    except kind as e:
        return e
    raise SystemExit(f"no {kind.__name__}: {got}")


def embeds(documents, query):
    """Checks that a query is nearer to the first of two documents."""
    near, far = (sum(a * b for a, b in zip(d, query, strict=True)) for d in documents)
    assert near > far, (near, far)
