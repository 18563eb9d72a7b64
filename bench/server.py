"""Requests a second and latencies of ``caesura serve``, beside the library and a peer.

The peer is a Starlette service around python-crfsuite, with the same tokens and CRFsuite's usual
features, with the same event loop and HTTP parser.  Clients are coroutines of this process, on
127.0.0.1; each sends its next request when it has the answer to the last one, so that clients,
server and library share the cores.  "CPU" is what the server alone takes for a text, and "library"
the throughput beside that of the library, measured just before with batches of the same size.

    python bench/server.py            # the table
    python bench/server.py --page     # from a keystroke to the decoded answer; opening 10,000 texts
    python bench/server.py --person   # actions to label 100 references, with and without decoding
"""

import argparse
import asyncio
import contextlib
import os
import re
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import numpy as np
import orjson
import psutil

import caesura
from caesura.demo import citations
from caesura.documents import Document
from caesura.server.background_training import Teacher
from caesura.server.edits import State
from caesura.server.project import Project
from caesura.server.suggestions import suggested

SECONDS = 3.0
TEXTS = [str(document.text) for document in citations(1000, 99)]


def features(tokens: tuple[str, ...]) -> list[list[str]]:
    """Return CRFsuite's attributes: words, suffixes and shapes in a window of three."""
    rows = []
    for t in range(len(tokens)):
        row = ["bias"]
        for k in (-1, 0, 1):
            if 0 <= t + k < len(tokens):
                word = tokens[t + k]
                row += [f"{k}w={word.lower()}", f"{k}s={word[-3:]}", f"{k}d={word.isdigit()}"]
                row += [f"{k}t={word.istitle()}", f"{k}u={word.isupper()}"]
        rows.append(row)
    return rows


def peer(path: str) -> Any:
    """Return a service around python-crfsuite."""
    import pycrfsuite
    from starlette.applications import Starlette
    from starlette.concurrency import run_in_threadpool
    from starlette.requests import Request
    from starlette.responses import JSONResponse, Response
    from starlette.routing import Route

    tagger = pycrfsuite.Tagger()
    tagger.open(path)
    one_at_a_time = threading.Lock()  # a tagger must not be shared between threads

    def answer(texts: list[str]) -> list[Any]:
        out = []
        for text in texts:
            document = Document.from_text(text)
            rows = features(document.tokens)
            with one_at_a_time:
                tags = tagger.tag(rows)
            out.append({"segments": caesura.from_tags(tags, "BIO", repair="repair")})
        return out

    async def segment(request: Request) -> Response:
        texts = (await request.json())["texts"]
        return JSONResponse({"results": await run_in_threadpool(answer, texts)})

    return Starlette(routes=[Route("/segment", segment, methods=["POST"])])


def train(folder: Path) -> None:
    """Write a model for both, learnt from the same references."""
    import pycrfsuite

    documents = citations(300, 1)
    caesura.SemiCRF().fit(documents).save(folder / "citations.model")
    trainer = pycrfsuite.Trainer(verbose=False)
    for document in documents:
        tags = caesura.to_tags(document.segments or (), "BIO", len(document))
        trainer.append(features(document.tokens), tags)
    trainer.set_params({"c2": 1.0, "max_iterations": 100})
    trainer.train(str(folder / "peer.crfsuite"))


@contextlib.contextmanager
def served(command: list[str], port: int) -> Iterator[tuple[str, psutil.Process]]:
    """Run a server, and wait until it answers."""
    process = subprocess.Popen(command, stderr=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
    url = f"http://127.0.0.1:{port}"
    try:
        while True:
            with contextlib.suppress(httpx.TransportError):
                httpx.get(f"{url}/health")
                break
            time.sleep(0.1)
        yield url, psutil.Process(process.pid)
    finally:
        process.send_signal(signal.SIGTERM)
        process.wait()


async def load(url: str, clients: int, batch: int) -> tuple[float, list[float], int]:
    """Return texts a second, the latencies in ms, and how many requests were refused."""
    times: list[float] = []
    refused = 0
    host, port = url.removeprefix("http://").split(":")
    bodies = [
        orjson.dumps({"texts": TEXTS[first : first + batch]})
        for first in range(0, len(TEXTS) - batch, 7)
    ]
    head = "POST /segment HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n"
    sent = [f"{head}Content-Length: {len(one)}\r\n\r\n".encode() + one for one in bodies]
    end = time.perf_counter() + SECONDS

    async def client(k: int) -> None:
        nonlocal refused
        reader, writer = await asyncio.open_connection(host, int(port))
        while time.perf_counter() < end:
            k += 1
            began = time.perf_counter()
            writer.write(sent[k % len(sent)])
            answer = await reader.readuntil(b"\r\n\r\n")
            size = int(re.search(rb"content-length: (\d+)", answer.lower())[1])  # type: ignore[index]
            await reader.readexactly(size)
            if answer.startswith(b"HTTP/1.1 503"):
                refused += 1
                await asyncio.sleep(0.05)
                continue
            assert answer.startswith(b"HTTP/1.1 200"), answer
            times.append((time.perf_counter() - began) * 1e3)
        writer.close()

    began = time.perf_counter()
    await asyncio.gather(*(client(k * 37) for k in range(clients)))
    seconds = time.perf_counter() - began
    return len(times) * batch / seconds, times, refused


def library(model: Any, batch: int) -> float:
    """Return texts a second of the library for batches."""
    done, began = 0, time.perf_counter()
    while time.perf_counter() - began < SECONDS / 2:
        first = (done * 37) % (len(TEXTS) - batch)
        model.predict_confident(TEXTS[first : first + batch])
        done += batch
    return done / (time.perf_counter() - began)


def table(folder: Path) -> None:
    train(folder)
    model = caesura.load(folder / "citations.model")
    caesura_command = ["-m", "caesura", "serve", str(folder / "citations.model"), "--port", "8131"]
    peer_command = [__file__, "--peer", str(folder / "peer.crfsuite")]
    servers = {
        "caesura serve": ([sys.executable, *caesura_command, "--quiet"], 8131),
        "Starlette + python-crfsuite": ([sys.executable, *peer_command], 8132),
    }
    for batch in (1, 100):
        print(f"library, batches of {batch}: {library(model, batch):,.0f} texts/s")
    print("| server | clients | texts | texts/s | library | p50 | p99 | p999 ms | CPU us | 503 |")
    for name, (command, port) in servers.items():
        with served(command, port) as (url, process):
            for clients, batch in ((1, 1), (10, 1), (100, 1), (200, 1), (1, 100), (10, 100)):
                alone = library(model, batch)
                before = process.cpu_times()
                pace, times, refused = asyncio.run(load(url, clients, batch))
                after = process.cpu_times()
                cpu = after.user + after.system - before.user - before.system
                shown = " | ".join(f"{x:.1f}" for x in np.percentile(times, [50, 99, 99.9]))
                print(
                    f"| {name} | {clients} | {batch} | {pace:,.0f} | {pace / alone:.0%} | {shown} "
                    f"| {1e6 * cpu / (len(times) * batch):.0f} | {refused} |"
                )


def page(folder: Path) -> None:
    """From an action to the answer of the labelling server, with the journal on disk."""
    from starlette.testclient import TestClient

    from caesura.server.label_api import label_application

    model = caesura.SemiCRF(n_threads=1).fit(citations(300, 1))
    began = time.perf_counter()
    words = " ".join(TEXTS).split()
    rows = [Document.from_text(" ".join(words[k : k + 70])) for k in range(0, 7000, 70)]
    texts = [row for row in rows if len(row) >= 100] or rows
    project = Project(texts, folder / "labels.jsonl", model.labels_)
    with TestClient(label_application(project, Teacher(project, model)), "http://x") as client:
        session = client.post("/api/open", json={}).json()["session"]
        times = []
        for k in range(600):
            i = k % len(texts)
            start = (7 * k) % 80
            op = {"op": "label", "start": start, "end": start + 3, "label": "title"}
            body = {"session": session, "revision": project.revision, "text": i, "ops": [op]}
            began = time.perf_counter()
            assert client.post("/api/act", json=body).status_code == 200
            times.append((time.perf_counter() - began) * 1e3)
    project.close()
    mean = np.mean([len(text) for text in texts])
    shown = np.percentile(times, [50, 99])
    print(f"an action on {mean:.0f} tokens: p50 {shown[0]:.1f} ms, p99 {shown[1]:.1f} ms")
    many = folder / "many.txt"
    many.write_text("\n".join(" ".join(t.split()) for t in (TEXTS * 10)) + "\n")
    command = [sys.executable, "-m", "caesura", "label", str(many), "-o", str(folder / "m.jsonl")]
    began = time.perf_counter()
    with served([*command, "--port", "8133"], 8133) as (url, _):
        opened = httpx.post(f"{url}/api/open", json={}).json()
        httpx.post(f"{url}/api/text", json={"text": opened["first"]})
        httpx.post(f"{url}/api/list", json={})
        seconds = time.perf_counter() - began
    print(f"10,000 texts, from the command to the first text: {seconds:.2f} s")


def person(decode: bool, gold: list[Document], folder: Path) -> int:
    """Return how many actions a person needs who corrects the first wrong segment each time."""
    labels = sorted({s.label for d in gold for s in d.segments or ()})
    texts = [Document(d.tokens, d.text, d.offsets) for d in gold]
    name = "decoded" if decode else "free"
    project = Project(texts, folder / f"{name}.jsonl", labels)
    teacher = Teacher(project, every=5)
    actions = 0
    while (i := teacher.next(None)) is not None:
        truth = [(s.start, s.end, s.label) for s in gold[i].segments or ()]
        shown = _shown(teacher.model, texts[i], State())
        fixed: list[tuple[int, int, str]] = []
        while shown != truth:
            wrong = next(one for one in truth if one not in shown)
            fixed.append(wrong)
            actions += 1
            state = State(segments=tuple(caesura.Segment(*one) for one in sorted(fixed)))
            if decode:
                shown = _shown(teacher.model, texts[i], state)
            else:  # the correction replaces only what it overlaps
                kept = [s for s in shown if s[1] <= wrong[0] or wrong[1] <= s[0]]
                shown = sorted([*kept, wrong])
            if len(fixed) >= len(truth) and shown != truth:
                actions += len([one for one in shown if one not in truth])  # one removal each
                break
        actions += 1  # the acceptance
        ops = [{"op": "accept", "segments": [list(one) for one in truth]}]
        project.act(i, ops, project.revision)
        if teacher._due():
            teacher._train()
            teacher._score()
    project.close()
    return actions


def _shown(model: Any, document: Document, state: State) -> list[tuple[int, int, str]]:
    return [(s["start"], s["end"], s["label"]) for s in suggested(model, document, state)]


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--peer")
    parser.add_argument("--page", action="store_true")
    parser.add_argument("--person", action="store_true")
    given = parser.parse_args()
    os.environ["OMP_NUM_THREADS"] = "1"
    if given.peer:
        import uvicorn

        uvicorn.run(peer(given.peer), port=8132, log_level="error")
        return
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        if given.page:
            page(folder)
        elif given.person:
            gold = citations(100, 31)
            segments = sum(len(d.segments or ()) for d in gold)
            print(f"100 references, {segments} segments")
            for decode in (True, False):
                count = person(decode, gold, folder)
                print(f"{'decoding again' if decode else 'without'}: {count} actions")
        else:
            table(folder)


if __name__ == "__main__":
    main()
