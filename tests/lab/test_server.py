"""The lab's server: who may speak to it, how much, how long; and what it answers."""

import json
import warnings

import numpy as np
import pytest

import separatrix as sx
from separatrix._compiled import is_interpreted
from separatrix.lab.server import MOST_BYTES, Lab, application

with warnings.catch_warnings():  # it would rather have a successor of httpx
    warnings.simplefilter("ignore")
    from starlette.testclient import TestClient

TOKEN = "a-token-for-the-tests"
HOME = "http://127.0.0.1:8757"
POINTS = {"points": [[0, 0], [1, 0.5], [3, 2], [4, 1.5]], "classes": [0, 0, 1, 1]}


@pytest.fixture(scope="module")
def client():
    lab = Lab(port=8757, token=TOKEN, warm=False, workers=1)
    headers = {"authorization": f"Bearer {TOKEN}"}
    with TestClient(application(lab), base_url=HOME, headers=headers) as made:
        yield made


@pytest.fixture
def stranger(client):
    """The same client without the token."""
    token = client.headers.pop("authorization")
    yield client
    client.headers["authorization"] = token
    client.cookies.clear()


def test_the_page_and_its_parts_are_served_with_a_strict_policy(client):
    page = client.get("/")
    assert page.status_code == 200
    policy = page.headers["content-security-policy"]
    assert "default-src 'none'" in policy
    assert "script-src 'self'" in policy
    assert "unsafe" not in policy
    assert "frame-ancestors 'none'" in policy
    assert "style=" not in page.text
    assert "<script>" not in page.text
    assert "http" not in page.text.replace("http-equiv", "")
    script = client.get("/static/main.js")
    assert script.status_code == 200
    assert script.headers["x-content-type-options"] == "nosniff"
    start = client.get("/api/start").json()
    assert len(start["methods"]) == 15
    assert len(start["presets"]) >= 10


def test_without_the_token_nothing_but_the_code_is_given(stranger):
    assert stranger.get("/").status_code == 403
    assert stranger.get("/api/start").status_code == 403
    assert stranger.get("/api/player").status_code == 403
    assert stranger.post("/api/run", json=POINTS, headers={"origin": HOME}).status_code == 403
    assert stranger.get("/?token=wrong").status_code == 403
    # A token in the address opens the page and nothing else, whatever it is.
    for path in ("/api/start", "/api/player"):
        assert stranger.get(f"{path}?token=wrong").status_code == 403
        assert stranger.get(f"{path}?token={TOKEN}").status_code == 403
    posted = stranger.post("/api/run?token=wrong", json=POINTS, headers={"origin": HOME})
    assert posted.status_code == 403
    assert stranger.get("/static/main.js").status_code == 200


def test_the_token_in_the_address_becomes_a_cookie(stranger):
    reply = stranger.get(f"/?token={TOKEN}", follow_redirects=False)
    assert reply.status_code == 303
    assert reply.headers["location"] == "/"
    cookie = reply.headers["set-cookie"]
    assert "HttpOnly" in cookie
    assert "SameSite=Strict" in cookie
    assert stranger.get("/").status_code == 200
    # With the cookie alone a page elsewhere could post: an origin is asked for, and must be ours.
    message = {**POINTS, "method": "fisher"}
    assert stranger.post("/api/run", json=message).status_code == 403
    assert stranger.post("/api/run", json=message, headers={"origin": HOME}).status_code == 200


@pytest.mark.parametrize(
    "headers",
    [
        {"host": "evil.example:8757"},
        {"host": "127.0.0.1:9999"},
        {"host": "127.0.0.1"},
        {"origin": "http://evil.example"},
        {"origin": "null"},
        {"origin": "https://127.0.0.1:8757"},
        {"sec-fetch-site": "cross-site"},
        {"sec-fetch-site": "same-site"},
    ],
)
def test_names_and_origins_of_others_are_refused(client, headers):
    assert client.get("/api/start", headers=headers).status_code in (403, 421)
    message = {**POINTS, "method": "fisher"}
    assert client.post("/api/run", json=message, headers=headers).status_code in (403, 421)


@pytest.mark.parametrize("path", ["/static/../server.py", "/static/%2e%2e/server.py", "/server.py"])
def test_nothing_else_is_served(client, path):
    assert client.get(path).status_code in (404, 405)


@pytest.mark.parametrize(
    ("body", "status"),
    [
        (b"", 400),
        (b"{", 400),
        (b"\xff\xfe", 400),
        (b"[" * 5_000, 400),
        (b'{"points": NaN}', 400),
        (b"[1, 2]", 422),
        (b"{}", 422),
        (b'{"points": [[1, 2]], "classes": [0]}', 422),
        (b'{"points": [[1, 2], [1]], "classes": [0, 1]}', 422),
        (b'{"points": [[1, 2], [1, 1e300]], "classes": [0, 1]}', 422),
        (b'{"points": [[1, 2], [1, true]], "classes": [0, 1]}', 422),
        (b'{"points": [[1, 2], [1, 2]], "classes": [0, 6]}', 422),
        (b'{"points": [[1, 2], [1, 2]], "classes": [0, 1], "method": "none"}', 422),
        (b'{"points": [[1, 2], [1, 2]], "classes": [0, 1], "method": {}}', 422),
        (b" " * (MOST_BYTES + 1), 413),
    ],
)
def test_garbage_is_refused_in_words(client, body, status):
    reply = client.post("/api/run", content=body, headers={"content-type": "application/json"})
    assert reply.status_code == status
    assert reply.json()["refused"]


def test_other_kinds_of_content_are_refused(client):
    assert client.post("/api/run", content=b"{}").status_code == 415


def test_too_many_points_are_refused(client):
    message = {"points": [[0, 0]] * 10_001, "classes": [0] * 10_001, "method": "fisher"}
    reply = client.post("/api/run", json=message)
    assert reply.status_code == 422
    assert "10,000" in reply.json()["refused"]


@pytest.mark.parametrize(
    "parameters",
    [{"C": 0}, {"C": "1"}, {"C": 1e9}, {"C": True}, {"C": None}, {"loss": "log"}, {"verbose": 1}],
)
def test_parameters_outside_the_form_are_refused(client, parameters):
    message = {**POINTS, "method": "soft_margin", "parameters": parameters}
    assert client.post("/api/run", json=message).status_code == 422


def test_the_replay_is_the_librarys_to_the_last_bit(client):
    X, y = np.array(POINTS["points"], dtype=float), POINTS["classes"]
    answer = client.post("/api/run", json={**POINTS, "method": "kozinec"}).json()["ok"]
    frames = list(sx.replay(sx.Kozinec(max_updates=500), X, y))
    columns = answer["replay"]["columns"]
    assert columns["weights"] == [frame.weights.tolist() for frame in frames]
    assert columns["margin"] == [frame.margin for frame in frames]
    assert columns["bound"] == [frame.bound for frame in frames]
    assert columns["row"] == [frame.row for frame in frames]
    assert answer["certificate"]["kind"] == "margin-bounds"


def test_a_verdict_comes_with_certificate_and_check(client):
    (verdict,) = client.post("/api/prove", json=POINTS).json()["ok"]["pairs"]
    assert verdict["kind"] == "separable"
    assert verdict["python"]["holds"]
    crossing = {"points": [[0, 0], [1, 1], [0, 1], [1, 0]], "classes": [0, 0, 1, 1]}
    (verdict,) = client.post("/api/prove", json=crossing).json()["ok"]["pairs"]
    assert verdict["kind"] == "overlapping"
    assert verdict["witness"]["multipliers"] == ["1", "1", "1", "1"]
    assert verdict["python"]["holds"]


@pytest.mark.long
@pytest.mark.skipif(is_interpreted(), reason="interpreted loops are too slow for the budget")
def test_a_run_that_takes_too_long_is_ended_and_the_next_is_answered():
    lab = Lab(port=8757, token=TOKEN, warm=False, seconds=0.05, workers=1)
    dice = np.random.default_rng(0)
    points = dice.normal(size=(3000, 2)).tolist()
    message = {"points": points, "classes": [i % 2 for i in range(3000)], "method": "kernel_svm"}
    headers = {"authorization": f"Bearer {TOKEN}"}
    with TestClient(application(lab), base_url=HOME, headers=headers) as client:
        small = {**POINTS, "method": "kernel_svm"}
        # The first run loads or compiles what it needs, and has a longer limit.
        assert client.post("/api/run", json=small).status_code == 200
        reply = client.post("/api/run", json=message)
        assert reply.status_code == 503
        assert "fewer points" in reply.json()["refused"]
        assert client.post("/api/run", json=small).status_code == 200


@pytest.mark.long
def test_the_player_is_one_page_with_a_hole_for_the_replay(client):
    page = client.get("/api/player").text
    assert page.count("/*THE-REPLAY*/null") == 1
    assert "import " not in page.split("<script")[1]
    assert "export " not in page.split("<script")[1]
    assert json.dumps("src=")[1:-1] not in page
