"""Fifty people in the lab for a minute: how long they wait, and whether memory grows.

    python -m benchmarks.lab_load [--clients 50] [--seconds 60]

Each client asks one question a second (a method on forty points, or a proof), as someone does who
drags a point now and then. A few more stall in the middle of a request or send garbage meanwhile.
Memory is that of the server and its workers together, after every method has run once and at the
end.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import random
import time
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import numpy as np
from tests.lab.browsing import running_lab

METHODS = ["perceptron", "kozinec", "soft_margin", "logistic", "kernel_svm", "fisher", "prove"]


def question(dice: np.random.Generator) -> tuple[str, dict]:
    points = np.round(dice.normal(size=(40, 2)) * 64) / 64
    classes = np.arange(40) % 2
    points[classes == 1] += dice.choice([1.0, 4.0])
    message = {"points": points.tolist(), "classes": classes.tolist()}
    method = METHODS[dice.integers(len(METHODS))]
    if method == "prove":
        return "/api/prove", message
    return "/api/run", {**message, "method": method}


class Client:
    """One keep-alive connection, spoken to as a browser would."""

    def __init__(self, host: str, port: int, token: str) -> None:
        self.host, self.port, self.token = host, port, token

    async def open(self) -> None:
        self.reader, self.writer = await asyncio.open_connection(self.host, self.port)

    async def ask(self, path: str, message: dict) -> float:
        body = json.dumps(message).encode()
        head = (
            f"POST {path} HTTP/1.1\r\nHost: {self.host}:{self.port}\r\n"
            f"Authorization: Bearer {self.token}\r\nContent-Type: application/json\r\n"
            f"Content-Length: {len(body)}\r\n\r\n"
        )
        begun = time.perf_counter()
        self.writer.write(head.encode() + body)
        reply = await self.reader.readuntil(b"\r\n\r\n")
        assert reply.startswith(b"HTTP/1.1 200"), reply
        lengths = [line for line in reply.split(b"\r\n") if line.startswith(b"content-length")]
        await self.reader.readexactly(int(lengths[0].split(b":")[1]))
        return time.perf_counter() - begun


async def person(client: Client, seed: int, until: float, waits: list[float]) -> None:
    dice = np.random.default_rng(seed)
    await asyncio.sleep(random.random())
    await client.open()
    while time.perf_counter() < until:
        begun = time.perf_counter()
        waits.append(await client.ask(*question(dice)))
        await asyncio.sleep(max(0.0, 1.0 - (time.perf_counter() - begun)))
    client.writer.close()


async def nuisance(client: Client, until: float) -> None:
    """Stall in a header, or send what is no HTTP, again and again."""
    while time.perf_counter() < until:
        await client.open()
        rubbish = random.random() < 0.5
        stalling = b"POST /api/run HTTP/1.1\r\n"
        client.writer.write(b"\x00\xffgarbage\r\n\r\n" if rubbish else stalling)
        await asyncio.sleep(2.0)
        client.writer.close()


def memory() -> float:
    """Return the resident megabytes of the lab: this process's descendants."""
    parents = {}
    for status in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = status.read_text().rsplit(")", 1)[1].split()
            parents[int(status.parent.name)] = (int(fields[1]), int(fields[21]))
        except (OSError, IndexError):
            continue
    mine, grown = {os.getpid()}, True
    while grown:
        more = {pid for pid, (parent, _) in parents.items() if parent in mine} - mine
        grown, mine = bool(more), mine | more
    pages = sum(parents[pid][1] for pid in mine if pid != os.getpid() and pid in parents)
    return pages * os.sysconf("SC_PAGE_SIZE") / 2**20


async def load(address: str, clients: int, seconds: float) -> None:
    parts = urlsplit(address)
    host, port = parts.netloc.split(":")
    token = parse_qs(parts.query)["token"][0]
    make = lambda: Client(host, int(port), token)  # noqa: E731
    first, dice = make(), np.random.default_rng(0)
    for _ in range(100):
        try:
            await first.open()
            break
        except ConnectionRefusedError:
            await asyncio.sleep(0.1)
    begun = time.perf_counter()
    # Both workers load and compile; then they have made the same things as later.
    while time.perf_counter() - begun < 25.0:
        await first.ask(*question(dice))
    print(f"warm after {time.perf_counter() - begun:.0f} s")
    before, waits = memory(), []
    until = time.perf_counter() + seconds
    people = [person(make(), seed, until, waits) for seed in range(clients)]
    await asyncio.gather(*people, *(nuisance(make(), until) for _ in range(5)))
    after = memory()
    waits = sorted(1000.0 * wait for wait in waits)
    share = lambda q: waits[min(len(waits) - 1, int(q * len(waits)))]  # noqa: E731
    print(f"{clients} clients, {seconds:.0f} s: {len(waits):,} answers, all 200")
    print(
        f"wait in ms: median {share(0.5):.1f}, p95 {share(0.95):.1f}, p99 {share(0.99):.1f}, "
        f"longest {waits[-1]:.1f}"
    )
    print(f"memory in MB: {before:.0f} before, {after:.0f} after, growth {after - before:+.1f}")
    print(f"load average {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--clients", type=int, default=50)
    parser.add_argument("--seconds", type=float, default=60.0)
    options = parser.parse_args()
    with running_lab() as address:
        asyncio.run(load(address, options.clients, options.seconds))


if __name__ == "__main__":
    main()
