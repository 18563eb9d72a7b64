"""The HTTP API: the same answers as the library, and clear refusals."""

import asyncio
import contextlib
import json
import random
import signal
import socket
import threading
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import jsonschema
import pytest
import uvicorn
from cli_data import bad
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from server_cases import TEXTS, chain, running, semi, served
from starlette.testclient import TestClient
from uvicorn.server import ServerState

import caesura
from caesura.documents import Document
from caesura.errors import InvalidInput
from caesura.server import Limits, Models, application
from caesura.server import running as server_running
from caesura.server.running import listening
from caesura.server.worker_threads import QUICK, Pace, Work

LOCAL = "http://127.0.0.1"


@pytest.fixture(scope="module", params=[semi, chain])
def model(request: pytest.FixtureRequest) -> Any:
    return request.param()


@pytest.fixture(scope="module")
def client(model: Any) -> Iterator[TestClient]:
    with TestClient(served(model, hosts=["127.0.0.1"]), LOCAL) as made:
        yield made


def ask(client: TestClient, path: str, **body: Any) -> list[Any]:
    response = client.post(path, json=body)
    assert response.status_code == 200, response.text
    results: list[Any] = response.json()["results"]
    return results


def refused(client: TestClient, path: str, **body: Any) -> tuple[int, str]:
    response = client.post(path, json=body)
    return response.status_code, response.json()["error"]


# -- answers ---------------------------------------------------------------------------------------

ALPHABET = "Codd, E. (1970) é漢\U0001f600\u0301\n\t<b>&"


@settings(max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    texts=st.lists(st.one_of(st.sampled_from(TEXTS), st.text(ALPHABET, max_size=40)), max_size=4)
)
def test_segments_are_those_of_the_library(
    client: TestClient, model: Any, texts: list[str]
) -> None:
    results = ask(client, "/segment", texts=texts)
    assert len(results) == len(texts)
    expected = model.predict_confident(texts)
    for text, result, sure in zip(texts, results, expected, strict=True):
        offsets = caesura.Document.from_text(text, model.tokeniser_).offsets or ()
        shown = [(s["start"], s["end"], s["label"], s["probability"]) for s in result["segments"]]
        assert shown == [
            (offsets[s.start][0], offsets[s.end - 1][1], s.label, p) for s, p, _, _ in sure
        ]
        assert all(text[s["start"] : s["end"]] == s["text"] for s in result["segments"])


def test_alternatives_records_and_reasons_are_those_of_the_library(
    client: TestClient, model: Any
) -> None:
    text = TEXTS[0]
    [best] = ask(client, "/n-best", text=text, n=3)
    expected = model.predict_n_best([text], 3)[0]
    assert [one["probability"] for one in best["alternatives"]] == [p for _, p in expected]
    labels = [[s["label"] for s in one["segments"]] for one in best["alternatives"]]
    assert labels == [[s.label for s in segments] for segments, _ in expected]
    [record] = ask(client, "/extract", text=text)
    known = model.extract([text])[0]
    assert record["probability"] == known.probability
    assert {k: [v["value"] for v in some] for k, some in record["fields"].items()} == {
        label: [value.value for value in known[label]] for label in known
    }
    [why] = ask(client, "/explain", text=text, reasons=2)
    for one, explanation in zip(why["segments"], model.explain(text), strict=True):
        assert one["margin"] == explanation.margin
        assert [r["feature"] for r in one["reasons"]] == [
            r.feature for r in explanation.reasons if r.difference
        ][:2]


def test_constraints_are_by_characters(client: TestClient, model: Any) -> None:
    text = "Codd, E. F. (1970). A relational model of data."
    rules = {"required": [[0, 19, "title"]]}
    [found] = ask(client, "/segment", texts=[text], constraints=rules)
    first = found["segments"][0]
    assert (first["start"], first["end"], first["label"]) == (0, 19, "title")
    tokens = caesura.Document.from_text(text, model.tokeniser_)
    end = [end for _, end in tokens.offsets or ()].index(19) + 1
    [sure] = model.predict_confident([text], constraints={"required": [(0, end, "title")]})
    assert [s["probability"] for s in found["segments"]] == [one.probability for one in sure]
    [free] = ask(client, "/segment", text=text, constraints=[{"forbidden": [[0, 11, "author"]]}])
    assert [0, 11, "author"] not in [[s["start"], s["end"], s["label"]] for s in free["segments"]]
    status, error = refused(client, "/segment", text=text, constraints={"required": [[1, 3, "t"]]})
    assert status == 400
    assert "begins and ends with tokens" in error


def test_streams_answer_each_line(client: TestClient) -> None:
    lines = [json.dumps(TEXTS[0]), "", '{"text": "Codd"}', "{no", json.dumps({"texts": ["a", "b"]})]
    lines += [json.dumps({"text": text}) for text in TEXTS[1:]]
    response = client.post(
        "/segment",
        content="\n".join(lines).encode(),
        headers={"content-type": "application/x-ndjson"},
    )
    answers = [json.loads(line) for line in response.text.splitlines()]
    assert len(answers) == len(lines) - 1
    assert answers[0] == ask(client, "/segment", text=TEXTS[0])[0]
    assert "no JSON" in answers[2]["error"]
    assert "line: expected" in answers[3]["error"]
    assert answers[4:] == ask(client, "/segment", texts=TEXTS[1:])


def test_answers_are_what_the_description_says(client: TestClient) -> None:
    described = client.get("/openapi.json").json()
    assert set(described["paths"]) == {
        *("/segment", "/extract", "/explain", "/n-best", "/health", "/models", "/metrics"),
        "/reload",
    }
    for path in ("/segment", "/extract", "/explain", "/n-best"):
        post = described["paths"][path]["post"]
        body = post["requestBody"]["content"]["application/json"]
        rooted = {"components": described["components"]}
        jsonschema.validate(body["example"], body["schema"] | rooted)
        response = client.post(path, json=body["example"])
        schema = post["responses"]["200"]["content"]["application/json"]["schema"]
        jsonschema.validate(response.json(), schema | rooted)


# -- refusals --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("body", "status", "words"),
    [
        ([], 400, "body: got []"),
        ({}, 400, "either texts"),
        ({"texts": "a"}, 400, "a list of strings"),
        ({"texts": ["a", 3]}, 400, "texts[1]: got 3"),
        ({"texts": ["a"], "text": "a"}, 400, "either texts"),
        ({"text": "a", "modle": "a"}, 400, "'modle'"),
        ({"text": "a", "model": "b"}, 404, "model: got 'b', expected one of a"),
        ({"text": "a", "model": 3}, 400, "model: got 3"),
        ({"text": "a", "n": 0}, 400, "n: got 0"),
        ({"text": "a", "n": True}, 400, "n: got True"),
        ({"text": "a", "constraints": 3}, 400, "constraints: got 3"),
        ({"text": "a", "constraints": {"requierd": []}}, 400, "'requierd'"),
        ({"text": "a", "constraints": {"required": [[0, 1]]}}, 400, "[start, end, label]"),
        ({"text": "a", "constraints": {"required": [[0, 1, "no"]]}}, 400, "one of the labels"),
        ({"text": "a", "constraints": {"boundaries": [7]}}, 400, "first character"),
        ({"text": "a", "constraints": {"at_most_once": [["a"]]}}, 400, "a label"),
        ({"text": "a b", "constraints": {"exactly_once": ["author", "title", "date"]}}, 422, ""),
    ],
)
def test_wrong_bodies(client: TestClient, body: Any, status: int, words: str) -> None:
    response = client.post("/segment", json=body)
    assert response.status_code == status, response.text
    assert words in response.json()["error"]


def test_limits_of_size(model: Any) -> None:
    limits = Limits(body=400, texts=3, characters=20, n_best=4)
    with TestClient(served(model, limits=limits), LOCAL) as client:
        assert refused(client, "/segment", texts=["a"] * 4)[0] == 413
        assert refused(client, "/segment", text="a" * 21)[0] == 413
        status, error = refused(client, "/segment", text="a" * 401)
        assert (status, error[:30]) == (413, "body: expected at most 400 byt")
        assert refused(client, "/n-best", text="a", n=5)[0] == 400
        parts = (b"a" * 100 for _ in range(9))  # without Content-Length
        kind = {"content-type": "application/json"}
        assert client.post("/segment", content=parts, headers=kind).status_code == 413


def test_other_requests_are_refused(client: TestClient) -> None:
    assert client.get("/no").status_code == 404
    assert client.get("/static/../app.py").status_code == 404
    assert client.get("/static/%2e%2e%2fapp.py").status_code == 404
    assert client.get("/segment").status_code == 405
    assert client.post("/segment", data={"texts": "a"}).status_code == 415
    assert client.get("/health", headers={"host": "evil.example"}).status_code == 421
    assert client.get("/health", headers={"host": "127.0.0.1.evil.example"}).status_code == 421
    for headers in ({"origin": "http://evil.example"}, {"sec-fetch-site": "cross-site"}):
        assert client.post("/segment", json={"text": "a"}, headers=headers).status_code == 403
    good = {"origin": LOCAL, "sec-fetch-site": "same-origin"}
    assert client.post("/segment", json={"text": "a"}, headers=good).status_code == 200


def test_headers_of_every_response(client: TestClient) -> None:
    for path in ("/", "/no", "/health", "/static/style.css"):
        headers = client.get(path).headers
        policy = headers["content-security-policy"]
        assert "default-src 'none'" in policy
        assert "unsafe" not in policy
        assert headers["x-content-type-options"] == "nosniff"
        assert "access-control-allow-origin" not in headers


def test_tokens(model: Any) -> None:
    token = "0123456789abcdef"
    with TestClient(served(model, tokens=["other" * 4, token]), LOCAL) as client:
        assert client.get("/health").status_code == 200
        assert client.get("/").status_code == 200
        for path in ("/models", "/metrics"):
            assert client.get(path).status_code == 401
        for sent in ("", f"Basic {token}", "Bearer", f"Bearer {token}x", token):
            headers = {"authorization": sent}
            response = client.post("/segment", json={"text": "a"}, headers=headers)
            assert response.status_code == 401
            assert response.headers["www-authenticate"] == "Bearer"
        headers = {"authorization": f"Bearer {token}"}
        assert client.post("/segment", json={"text": "a"}, headers=headers).status_code == 200


class Slow:
    """A model whose answers wait."""

    def __init__(self, model: Any) -> None:
        self.model, self.go = model, threading.Event()
        self.go.set()

    def __getattr__(self, name: str) -> Any:
        return getattr(self.model, name)

    def predict_confident(self, *arguments: Any, **options: Any) -> Any:
        assert self.go.wait(20)
        return self.model.predict_confident(*arguments, **options)


def test_a_busy_server_says_when_to_come_back(model: Any) -> None:
    slow = Slow(model)
    limits = Limits(waiting=2, seconds=30)
    with TestClient(served(slow, limits=limits, workers=1), LOCAL) as client:
        slow.go.clear()
        statuses: list[int] = []

        def post() -> None:
            statuses.append(client.post("/segment", json={"text": "a"}).status_code)

        threads = [threading.Thread(target=post) for _ in range(2)]
        for thread in threads:
            thread.start()
        response, deadline = None, time.monotonic() + 10
        while (response is None or response.status_code != 503) and time.monotonic() < deadline:
            time.sleep(0.05)
            waiting = client.get("/metrics").text
            if "caesura_requests_now 3.0" in waiting:
                response = client.post("/segment", json={"text": "a"})
        assert response is not None
        assert (response.status_code, response.headers["retry-after"]) == (503, "1")
        assert client.get("/health").status_code == 200
        slow.go.set()
        for thread in threads:
            thread.join()
        assert statuses == [200, 200]
        assert client.post("/segment", json={"text": "a"}).status_code == 200


def test_an_answer_that_takes_too_long(model: Any) -> None:
    slow = Slow(model)
    with TestClient(served(slow, limits=Limits(seconds=0.2)), LOCAL) as client:
        slow.go.clear()
        status, error = refused(client, "/segment", text="a")
        slow.go.set()
        assert (status, "takes longer than 0.2 seconds" in error) == (413, True)


def test_short_answers_need_no_thread() -> None:
    """What is known to be short is computed in the thread of the event loop, the rest elsewhere."""
    work, pace = Work(1, Limits()), Pace()

    def wait() -> int:
        time.sleep(2 * QUICK)
        return threading.get_ident()

    async def asked() -> list[int]:
        here = threading.get_ident()
        found = [await work.run(threading.get_ident, pace, 1) for _ in range(3)]
        found += [await work.run(threading.get_ident, pace, 10**9), await work.run(wait, pace, 1)]
        found += [await work.run(threading.get_ident, pace, 1), await work.run(wait)]
        return [int(one == here) for one in found]

    assert asyncio.run(asked()) == [0, 1, 1, 0, 1, 0, 0]
    work.close()


class Picky(Slow):
    """A model that refuses a text."""

    def predict_confident(self, texts: Any, **options: Any) -> Any:
        for i, text in enumerate(texts):
            if text == "odd":
                raise InvalidInput(f"X[{i}]: got 'odd', expected another text")
        return self.model.predict_confident(texts, **options)


def test_batches_are_answered_in_parts(model: Any) -> None:
    """In the order of the texts, and with the place of a wrong one in the whole batch."""
    texts = [f"{text} {k}" for k, text in enumerate(TEXTS * 5)]
    with TestClient(served(Picky(model), workers=3), LOCAL) as client:
        alone = [ask(client, "/segment", text=text)[0] for text in texts]
        assert ask(client, "/segment", texts=texts) == alone
        assert ask(client, "/segment", texts=[]) == []
    with TestClient(served(model, workers=3, limits=Limits(waiting=1)), LOCAL) as client:
        assert ask(client, "/segment", texts=texts) == alone
    with TestClient(served(Picky(model), workers=3), LOCAL) as client:
        status, error = refused(client, "/segment", texts=[*texts[:50], "odd"])
        assert (status, error) == (400, "X[50]: got 'odd', expected another text")


def test_names_of_files_are_texts(client: TestClient, model: Any, tmp_path: Path) -> None:
    """The library refuses the name of a file as a text; clients must not learn which there are."""
    there, absent = tmp_path / "there.txt", tmp_path / "absent.txt"
    there.write_text("a")
    answers = [ask(client, "/segment", texts=[str(p), "Codd (1970)"]) for p in (there, absent)]
    for (first, second), path in zip(answers, (there, absent), strict=True):
        [sure] = model.predict_confident([Document.from_text(str(path), model.tokeniser_)])
        assert [one["label"] for one in first["segments"]] == [s.segment.label for s in sure]
        assert second == answers[0][1]


def test_an_error_inside_says_nothing(model: Any) -> None:
    slow = Slow(model)
    app = served(slow)
    with TestClient(app, LOCAL, raise_server_exceptions=False) as client:
        slow.model = None
        response = client.post("/segment", json={"text": "a"})
    assert response.status_code == 500
    assert response.json() == {"error": "something went wrong inside the server"}


# -- models ----------------------------------------------------------------------------------------


def test_models_by_name_and_reload(tmp_path: Path) -> None:
    first, second = semi(), chain()
    files = {"one": tmp_path / "1.model", "<b>two": tmp_path / "2.model"}
    first.save(files["one"])
    second.save(files["<b>two"])
    app = application(Models(files, caesura.load))
    with TestClient(app, LOCAL) as client:
        listed = client.get("/models").json()["models"]
        assert [one["name"] for one in listed] == ["one", "<b>two"]
        assert [one["kind"] for one in listed] == ["SemiCRF", "ChainCRF"]
        before = ask(client, "/segment", texts=TEXTS, model="one")
        assert before == ask(client, "/segment", texts=TEXTS)
        other = ask(client, "/segment", texts=TEXTS, model="<b>two")
        second.save(files["one"])
        assert ask(client, "/segment", texts=TEXTS) == before
        assert client.post("/reload", json={}).json() == {"reloaded": ["one", "<b>two"]}
        assert ask(client, "/segment", texts=TEXTS) == other
        files["one"].write_bytes(b"no model")
        assert client.post("/reload", json={}).status_code == 409
        assert ask(client, "/segment", texts=TEXTS) == other


# -- the process -----------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def model_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("models") / "citations.model"
    semi().save(path)
    return path


def test_a_server_in_a_process(tmp_path: Path, model_file: Path) -> None:
    secret = "Codd, E. F. (1970)."
    with running(tmp_path, "serve", model_file) as server:
        with httpx.Client(base_url=server.url, timeout=20) as client:
            whole = client.post("/segment", json={"texts": TEXTS * 3}).json()

            def lines() -> Iterator[bytes]:
                for text in TEXTS:
                    yield json.dumps(text).encode() + b"\n"

            kind = {"content-type": "application/x-ndjson"}
            streamed = client.post("/segment", content=lines(), headers=kind).text
            assert [json.loads(x) for x in streamed.splitlines()] == whole["results"][: len(TEXTS)]
            client.post("/segment", json={"text": secret})
            client.get(f"/{secret}")
            client.post("/segment", content=secret.encode(), headers={"content-type": "text/x"})
            metrics = client.get("/metrics").text
        assert 'caesura_texts_total{model="citations"}' in metrics
        server.process.send_signal(signal.SIGHUP)
        _slow_client(server.url)
        assert server.kill(signal.SIGTERM) == 143  # as for any command that is told to stop
        log = server.log.read_text()
    events = [json.loads(line)["event"] for line in log.splitlines()[2:]]
    assert {"reloaded": ["citations"]} in events
    assert {"method": "GET", "route": "other", "status": 404} in [
        {k: e.get(k) for k in ("method", "route", "status")} for e in events
    ]
    assert "Codd" not in log


def _slow_client(url: str) -> None:
    """Send half a request; others are answered meanwhile."""
    host, port = url.removeprefix("http://").split(":")
    with socket.create_connection((host, int(port))) as slow:
        slow.sendall(b"POST /segment HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Le")
        assert httpx.get(f"{url}/health").status_code == 200


def test_a_body_that_does_not_come_in_time(tmp_path: Path, model_file: Path) -> None:
    with running(tmp_path, "serve", model_file, "--max-seconds", "0.3") as server:
        host, port = server.url.removeprefix("http://").split(":")
        with socket.create_connection((host, int(port)), timeout=20) as slow:
            slow.sendall(
                b"POST /segment HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n"
                b'Content-Length: 52\r\n\r\n{"text": '
            )
            answer = slow.recv(4096)
            while not answer.endswith(b"}") and (more := slow.recv(4096)):
                answer += more
        assert answer.startswith(b"HTTP/1.1 408 ")
        assert b"body: it did not arrive within 0.3 seconds" in answer


@pytest.mark.parametrize("before", [0, 2])
def test_headers_that_do_not_come_in_time(before: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """A connection ends whose client sends a header now and then, also after whole requests."""
    monkeypatch.setattr(server_running, "HEADERS", 0.3)
    whole = b"GET /health HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n"
    config = uvicorn.Config(served(semi()), log_config=None, timeout_keep_alive=1)
    config.load()

    async def drip() -> tuple[bytes, float]:
        loop = asyncio.get_running_loop()
        made = await loop.create_server(
            lambda: server_running.Impatient(config, ServerState(), {}), "127.0.0.1", 0
        )
        reader, writer = await asyncio.open_connection(*made.sockets[0].getsockname())
        writer.write(whole * before + b"GET /health HTTP/1.1\r\n")
        began, reading = loop.time(), asyncio.ensure_future(reader.read())
        while not reading.done() and loop.time() < began + 10:
            writer.write(b"X-A: 1\r\n")
            await asyncio.sleep(0.05)
        writer.close()
        made.close()
        return await reading, loop.time() - began

    answers, seconds = asyncio.run(drip())
    assert answers.count(b"200 OK") == before
    assert seconds < 5


@pytest.mark.parametrize("answered", [False, True])
def test_a_head_without_end(answered: bool, tmp_path: Path, model_file: Path) -> None:
    """Headers without end are refused, as is the rest of a body that was answered before."""
    with running(tmp_path, "serve", model_file, "--max-body", "100") as server:
        host, port = server.url.removeprefix("http://").split(":")
        with socket.create_connection((host, int(port)), timeout=20) as client:
            head = b"POST /segment HTTP/1.1\r\nHost: 127.0.0.1\r\n"
            if answered:
                head += b"Content-Type: application/json\r\nContent-Length: 900000000\r\n\r\n"
            client.sendall(head)
            with contextlib.suppress(ConnectionError):
                for _ in range(10_000):
                    client.sendall(b"X-A: 1\r\n" * 1000)
            answer = b""
            with contextlib.suppress(ConnectionError):
                while more := client.recv(4096):
                    answer += more
        assert answer.count(b"HTTP/1.1") <= 1  # a reset may overtake it
        assert not answer or answer.startswith(b"HTTP/1.1 413" if answered else b"HTTP/1.1 431")
        assert httpx.get(f"{server.url}/health").status_code == 200


@pytest.mark.parametrize("size", [1, 7, 10**6])
def test_heads_in_pieces_and_offers_of_http_2(size: int, tmp_path: Path, model_file: Path) -> None:
    """The body of a request counts that offers to go on with HTTP/2, as Java's client does."""
    body = json.dumps({"text": TEXTS[0]}).encode()
    head = (
        "POST /segment HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: Upgrade, HTTP2-Settings\r\n"
        "UPGRADE: h2c\r\nHTTP2-Settings: AAMAAABkAAQAAP__\r\nContent-Type: application/json\r\n"
        f"Content-Length: {len(body)}\r\n\r\n"
    ).encode()
    with running(tmp_path, "serve", model_file, "--quiet") as server:
        host, port = server.url.removeprefix("http://").split(":")
        with socket.create_connection((host, int(port)), timeout=20) as client:
            for _ in range(2):  # on the same connection
                whole = head + body
                for first in range(0, len(whole), size):
                    client.sendall(whole[first : first + size])
                answer = client.recv(65536)
                while not answer.endswith(b"]}]}") and (more := client.recv(65536)):
                    answer += more
                assert answer.startswith(b"HTTP/1.1 200 ")
                assert b'"segments":[{' in answer


def test_small_answers_are_sent_at_once() -> None:
    """asyncio sets TCP_NODELAY only where the protocol is given; else answers wait 40 ms."""
    with listening("127.0.0.1", 0) as made:
        assert made.proto == socket.IPPROTO_TCP


def test_many_clients_at_once(tmp_path: Path, model_file: Path) -> None:
    """Every request is answered, or refused with 503; what is answered is right."""
    with running(tmp_path, "serve", model_file, "--quiet", "--max-waiting", "50") as server:
        expected = httpx.post(f"{server.url}/segment", json={"texts": TEXTS}).json()
        statuses: list[int] = []

        def post() -> None:
            response = httpx.post(f"{server.url}/segment", json={"texts": TEXTS}, timeout=60)
            statuses.append(response.status_code)
            if response.status_code == 200:
                assert response.json() == expected
            else:
                assert response.headers["retry-after"]

        threads = [threading.Thread(target=post) for _ in range(200)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert len(statuses) == 200
        assert set(statuses) <= {200, 503}
        assert 200 in statuses


def test_mutated_requests_do_no_harm(tmp_path: Path, model_file: Path) -> None:
    """A few of what bench/fuzz_server.py sends: no answer is a 500, and the server goes on."""
    good = (
        b"POST /segment HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n"
        b'Content-Length: 52\r\n\r\n{"texts": ["Codd (1970)."], "constraints": {}}      '
    )
    draw, statuses = random.Random(5), Counter[bytes]()
    with running(tmp_path, "serve", model_file, "--quiet") as server:
        host, port = server.url.removeprefix("http://").split(":")
        for _ in range(150):
            sent = bytearray(good)
            for _ in range(draw.randint(1, 6)):
                sent[draw.randrange(len(sent))] = draw.choice(b'\x00\xff{}[]":,0aA \r\n')
            with socket.create_connection((host, int(port)), timeout=5) as client:
                client.sendall(bytes(sent))
                client.settimeout(0.1)
                with contextlib.suppress(TimeoutError):  # it waits for the rest of the body
                    statuses[client.recv(4096).split(b" ", 2)[1]] += 1
        assert statuses[b"500"] == 0
        assert statuses[b"400"] > 10
        assert httpx.get(f"{server.url}/health").json() == {"status": "ok"}


def test_wrong_commands(tmp_path: Path, model_file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("CAESURA_TOKENS", raising=False)
    assert "pass --token-file FILE" in bad("serve", model_file, "--host", "0.0.0.0")
    short = tmp_path / "short"
    short.write_text("abc\n")
    assert "got a token that is too short" in bad("serve", model_file, "--token-file", short)
    assert "no such file" in bad("serve", tmp_path / "no.model")
    assert "two models named" in bad("serve", f"a={model_file}", f"a={model_file}")
    with listening("127.0.0.1", 0) as taken:
        port = taken.getsockname()[1]
        error = bad("serve", model_file, "--port", port)
        assert f"--port: got 127.0.0.1:{port}, which cannot be listened on" in error
