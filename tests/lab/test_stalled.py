"""Clients that stall or send garbage over the wire harm nobody else."""

import json
import socket
import time
import urllib.request
from urllib.parse import parse_qs, urlsplit

import pytest

from separatrix._compiled import is_interpreted

pytestmark = pytest.mark.skipif(is_interpreted(), reason="one run of a real server is enough")


def answered(address):
    """Ask a real question and return the status."""
    parts = urlsplit(address)
    token = parse_qs(parts.query)["token"][0]
    points = {"points": [[0, 0], [1, 1]], "classes": [0, 1], "method": "fisher"}
    request = urllib.request.Request(
        f"http://{parts.netloc}/api/run",
        json.dumps(points).encode(),
        {"content-type": "application/json", "authorization": f"Bearer {token}"},
    )
    with urllib.request.urlopen(request, timeout=120) as reply:
        return reply.status


def connected(address):
    host, port = urlsplit(address).netloc.split(":")
    for _ in range(100):
        try:
            return socket.create_connection((host, int(port)), timeout=120)
        except ConnectionRefusedError:
            time.sleep(0.1)
    raise AssertionError("the lab does not listen")


@pytest.mark.long
def test_a_crowd_that_never_asks_does_not_keep_the_owner_out(address):
    """Half-open connections once made the lab answer its owner 503."""
    crowd = []
    try:
        for number in range(600):
            one = connected(address)
            if number % 2:
                one.sendall(b"GET /static/lab.js HTTP/1.1\r\nHost: x\r\nX-")
            crowd.append(one)
        assert answered(address) == 200
    finally:
        for one in crowd:
            one.close()
    assert answered(address) == 200


@pytest.mark.long
def test_a_stalled_header_is_hung_up_on_and_garbage_refused(address):
    with connected(address) as stalled, connected(address) as rubbish:
        stalled.sendall(b"GET / HTTP/1.1\r\nHost: 127.0.0.1\r\nX-")
        rubbish.sendall(b"\x16\x03\x01\x02\x00 garbage\r\n\r\n")
        assert rubbish.recv(1000).startswith(b"HTTP/1.1 400")
        crowd = [connected(address) for _ in range(100)]
        assert answered(address) == 200
        stalled.settimeout(120)
        assert stalled.recv(1000) == b""  # closed by the server
        for one in crowd:
            one.close()
    assert answered(address) == 200
