"""The process that computes: one question in, one answer out, until its input ends.

``python -m separatrix.lab.worker`` is started by the server and spoken to over pipes: four bytes of
length, then JSON, both ways. It has no socket and no state; the server ends it when an answer takes
too long, which no thread could promise.
"""

from __future__ import annotations

import json
import os
import sys
from typing import Any, BinaryIO

__all__ = ["answer", "main"]

LENGTH_BYTES = 4


def answer(question: dict[str, Any]) -> dict[str, Any]:
    """Return the answer, or an error in plain words."""
    from separatrix.lab.parameters import BadRequest
    from separatrix.lab.proving import prove
    from separatrix.lab.running import run

    work = {"run": run, "prove": prove}[question["do"]]
    try:
        return {"ok": work(question["message"])}
    except BadRequest as refusal:
        return {"refused": str(refusal)}
    except MemoryError:
        return {"refused": "That needs more memory than there is. Use fewer points."}
    except Exception as error:
        return {"fault": f"{type(error).__name__}: {error}"}


def main() -> None:
    """Answer questions until the pipe is closed."""
    questions, answers = sys.stdin.buffer, os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # whatever a library prints must not stand among the answers
    while True:
        question = _read(questions)
        if question is None:
            return
        reply = json.dumps(answer(question), allow_nan=False, separators=(",", ":")).encode()
        answers.write(len(reply).to_bytes(LENGTH_BYTES, "big") + reply)
        answers.flush()


def _read(pipe: BinaryIO) -> dict[str, Any] | None:
    head = pipe.read(LENGTH_BYTES)
    if len(head) < LENGTH_BYTES:
        return None
    question: dict[str, Any] = json.loads(pipe.read(int.from_bytes(head, "big")))
    return question


if __name__ == "__main__":
    main()
