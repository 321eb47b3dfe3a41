"""A few worker processes: each answers one question at a time, and is ended when it is late."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import sys
from typing import Any

__all__ = ["Busy", "TooLong", "Workers"]

LENGTH_BYTES = 4  # before every question and answer, how long it is
_QUIET_SECONDS = 2.0
_MOST_TOPICS = 500


class TooLong(Exception):
    """No answer came in time, and the worker was ended."""


class Busy(Exception):
    """Too many questions wait already."""


class _Worker:
    """One process and its pipes; started by the first question, and again after it was ended."""

    def __init__(self) -> None:
        self._process: asyncio.subprocess.Process | None = None
        self._known: set[str] = set()

    async def ask(self, question: bytes, topic: str, seconds: float, first: float) -> bytes:
        """Return the answer; the first question of a topic may have to compile its loops."""
        process = await self._started()
        is_new = topic not in self._known and len(self._known) < _MOST_TOPICS
        limit = first if is_new else seconds
        try:
            answer = await asyncio.wait_for(self._exchange(process, question), limit)
        except TimeoutError:
            raise TooLong from None
        finally:
            if not self._is_clean:
                await self.end()
        if len(self._known) < _MOST_TOPICS:
            self._known.add(topic)
        return answer

    async def _exchange(self, process: asyncio.subprocess.Process, question: bytes) -> bytes:
        assert process.stdin is not None
        assert process.stdout is not None
        self._is_clean = False  # until the whole answer is read, nobody else may use the pipe
        process.stdin.write(len(question).to_bytes(LENGTH_BYTES, "big") + question)
        await process.stdin.drain()
        length = int.from_bytes(await process.stdout.readexactly(LENGTH_BYTES), "big")
        answer = await process.stdout.readexactly(length)
        self._is_clean = True
        return answer

    async def _started(self) -> asyncio.subprocess.Process:
        self._is_clean = True
        if self._process is None or self._process.returncode is not None:
            # One thread each: small problems gain nothing from more, and two workers share cores.
            threads = dict.fromkeys(("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS"), "1")
            self._known = set()
            self._process = await asyncio.create_subprocess_exec(
                sys.executable,
                "-m",
                "separatrix.lab.answering",
                stdin=asyncio.subprocess.PIPE,
                stdout=asyncio.subprocess.PIPE,
                env={**os.environ, **threads},
                start_new_session=True,  # Ctrl-C is the server's, which then ends them
            )
        return self._process

    async def end(self) -> None:
        """End the process; the next question starts another."""
        process, self._process = self._process, None
        if process is None:
            return
        with contextlib.suppress(ProcessLookupError):
            process.kill()
        await process.wait()
        if process.stdin is not None:
            process.stdin.close()
            with contextlib.suppress(BrokenPipeError, ConnectionResetError):
                await process.stdin.wait_closed()


class Workers:
    """Hands every question to the next free worker."""

    def __init__(
        self, count: int = 2, seconds: float = 10.0, first: float = 90.0, most_waiting: int = 200
    ) -> None:
        self._seconds, self._first, self._most_waiting = seconds, first, most_waiting
        self._all = [_Worker() for _ in range(count)]
        self._free: asyncio.Queue[_Worker] = asyncio.Queue()
        for worker in self._all:
            self._free.put_nowait(worker)
        self._waiting = 0
        self._last_question_at = -_QUIET_SECONDS

    async def ask(self, do: str, message: Any, topic: str) -> dict[str, Any]:
        """Return the answer as a dictionary with "ok", "refused" or "fault"."""
        answer: dict[str, Any] = json.loads(await self.ask_bytes(do, message, topic))
        return answer

    async def ask_bytes(self, do: str, message: Any, topic: str) -> bytes:
        """Return the answer as JSON."""
        self._last_question_at = asyncio.get_running_loop().time()
        return await self._answer(do, message, topic)

    async def _answer(self, do: str, message: Any, topic: str) -> bytes:
        if self._waiting >= self._most_waiting:
            raise Busy
        question = json.dumps({"do": do, "message": message}).encode()
        self._waiting += 1
        try:
            worker = await self._free.get()
        finally:
            self._waiting -= 1
        try:
            return await worker.ask(question, topic, self._seconds, self._first)
        except (asyncio.IncompleteReadError, BrokenPipeError, ConnectionResetError):
            await worker.end()
            return b'{"fault":"the process that computes has ended"}'
        finally:
            self._free.put_nowait(worker)

    async def warm(self, message: dict[str, Any], methods: list[str]) -> None:
        """Have every worker load what the methods need, while nobody waits."""
        for _ in self._all:
            for method in methods:
                await self._quiet()
                with contextlib.suppress(TooLong, Busy):
                    await self._answer("run", {**message, "method": method}, method)

    async def _quiet(self) -> None:
        clock = asyncio.get_running_loop()
        while clock.time() - self._last_question_at < _QUIET_SECONDS:
            await asyncio.sleep(0.5)

    async def end(self) -> None:
        """End all processes."""
        for worker in self._all:
            await worker.end()
