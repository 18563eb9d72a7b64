"""Send mutated requests to ``caesura serve`` and check that it neither fails nor stops.

python bench/fuzz_server.py --count 10000
"""

import argparse
import random
import socket
import subprocess
import sys
import tempfile
from collections import Counter
from pathlib import Path

import orjson

import caesura
from caesura.demo import citations

BODIES = [
    {"texts": ["Codd, E. F. (1970).", "x"], "constraints": {"required": [[0, 11, "author"]]}},
    {"text": "Codd, E. F. (1970).", "n": 3, "constraints": [{"at_most_once": ["date"]}]},
    {"text": "Codd (1970)", "reasons": 3, "model": "m", "constraints": {"boundaries": [5]}},
    {"texts": [], "constraints": {"ordered": ["author", "title"], "forbidden": [[0, 4, "title"]]}},
]
PATHS = ["/segment", "/extract", "/explain", "/n-best", "/reload", "/models", "/static/dom.js"]
TYPES = ["application/json"] * 6 + ["application/x-ndjson", "text/plain", "\xff", ""]
ODD = [b"\x00", b"\xff", b"\r\n", b"{", b"]", b'"', b"\\ud800", b"-1", b"1e999", b"null", b"%00"]


def request(draw: random.Random) -> bytes:
    """Return a request with some damage in its body, its headers or both."""
    body = bytearray(orjson.dumps(draw.choice(BODIES)))
    path, kind = draw.choice(PATHS), draw.choice(TYPES)
    if draw.random() < 0.8:
        mutate(body, draw)
    declared = len(body) if draw.random() < 0.95 else draw.choice([0, 10**12, -1])
    lines = [
        f"POST {path} HTTP/1.1",
        "Host: 127.0.0.1",
        f"Content-Type: {kind}",
        f"Content-Length: {declared}",
    ]
    head = bytearray("\r\n".join(lines).encode("latin-1") + b"\r\n\r\n")
    if draw.random() < 0.2:
        mutate(head, draw)
    return bytes(head + body)


def mutate(data: bytearray, draw: random.Random) -> None:
    for _ in range(draw.randint(1, 8)):
        at = draw.randrange(len(data) + 1)
        choice = draw.randrange(4)
        if choice == 0:
            data[at:at] = draw.choice(ODD)
        elif choice == 1:
            del data[at : at + draw.randint(1, 8)]
        elif choice == 2:
            data[at : at + 1] = bytes([draw.randrange(256)])
        else:
            data[at:at] = data[at : at + 40] * draw.randint(1, 20)


def send(port: int, content: bytes) -> str:
    """Return the status of the response, or the reason why there is none."""
    try:
        with socket.create_connection(("127.0.0.1", port), timeout=20) as client:
            client.sendall(content)
            client.settimeout(0.1)
            answer = client.recv(65536)
    except ConnectionError:
        return "closed"
    except TimeoutError:
        return "waiting"  # for the remaining bytes of Content-Length
    return answer.split(b" ", 2)[1].decode() if answer else "closed"


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--count", type=int, default=10_000)
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args()
    draw, statuses = random.Random(given.seed), Counter[str]()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "m.model")
        caesura.SemiCRF().fit(citations(40, 1)).save(path)
        command = [sys.executable, "-m", "caesura", "serve", str(path), "--quiet", "--port", "8134"]
        log = Path(folder, "log")
        with log.open("wb") as file:
            server = subprocess.Popen(command, stdout=file, stderr=file)
        try:
            while b"8134" not in log.read_bytes():
                server.poll()
            for k in range(given.count):
                content = request(draw)
                status = send(8134, content)
                statuses[status] += 1
                if status == "500":
                    print(f"request {k}: {content!r}")
                assert server.poll() is None, "the server has stopped"
            get = b"GET /health HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n"
            print(dict(sorted(statuses.items())), "health:", send(8134, get))
            assert b"Traceback" not in log.read_bytes(), log.read_text()
        finally:
            server.terminate()
            server.wait()


if __name__ == "__main__":
    main()
