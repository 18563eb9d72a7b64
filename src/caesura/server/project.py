"""A labelling project: texts, their annotations, and the journal of actions."""

from __future__ import annotations

import hashlib
import threading
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from caesura import corpora
from caesura.documents import Document
from caesura.errors import InvalidInput, message
from caesura.segments import Segment
from caesura.server.edits import State, edited, read_state
from caesura.server.journal import Journal
from caesura.server.limits import Refused

__all__ = ["Project", "beside"]

FORM = "caesura labelling journal 1"
MOST_LABELS = 100


def beside(output: Path, ending: str) -> Path:
    """Return the name of another file of a project.

    Examples
    --------
    >>> beside(Path("labels.jsonl"), "journal").name
    'labels.journal'
    """
    return output.with_name(f"{output.name.removesuffix('.jsonl')}.{ending}")


class Project:
    """The texts and annotations of a labelling project.

    Parameters
    ----------
    documents : sequence of Document
        The texts; those with labels count as labelled, in full or in part.
    output : path
        The file of labels, ``.jsonl``; the journal is next to it.
    labels : sequence of str
        The labels to begin with.
    review : bool
        The segments of the texts are to be reviewed: they are suggestions, and no text counts as
        labelled.

    Attributes
    ----------
    revision : int
        Number of actions; one that was made without knowing the last is refused.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     texts = [Document.from_text("12 High Street")]
    ...     project = Project(texts, Path(folder, "labels.jsonl"), ["number", "street"])
    ...     project.act(0, [{"op": "accept", "segments": [[0, 1, "number"]]}], 0)
    ...     project.export()
    ...     project.close()
    ...     [document] = corpora.read(Path(folder, "labels.jsonl"))
    >>> document.segments
    (Segment(start=0, end=1, label='number'),)
    """

    def __init__(
        self,
        documents: Sequence[Document],
        output: Path,
        labels: Sequence[str],
        review: bool = False,
    ) -> None:
        self.documents = [_with_text(document) for document in documents]
        self.output = output
        self.labels: list[str] = list(dict.fromkeys(labels))
        self.lock = threading.RLock()
        self.keys = _keys(self.documents)
        self.drafts: dict[int, tuple[Segment, ...]] = {}  # suggestions given with the texts
        if review:
            self.drafts = {i: d.segments for i, d in enumerate(self.documents) if d.segments}
        self._given = {} if review else _given_states(self.documents)
        self.states: dict[int, State] = dict(self._given)
        self.revision = 0
        self.lost = 0  # number of actions on texts that no longer exist
        self._past: list[tuple[int, State, State]] = []
        self._future: list[tuple[int, State, State]] = []
        path = beside(output, "journal")
        if output.exists() and not path.exists():
            raise InvalidInput(
                f"exists, but not its journal {path.name}",
                place=output,
                remedy="give the name of a new file, and this one as DATA to continue from it",
            )
        self._journal = Journal(path)
        try:
            self._replay()
        except BaseException:
            self._journal.close()
            raise
        for segments in (
            *(state.segments for state in self.states.values()),
            *self.drafts.values(),
        ):
            self._learn_labels(segment.label for segment in segments)
        self.changed = True  # whether anything changed since the last export

    # -- reading --------------------------------------------------------------------------------

    def state(self, i: int) -> State:
        """Return the annotations of a text."""
        if not 0 <= i < len(self.documents):
            raise Refused(404, "text: no text has this number")
        return self.states.get(i, State())

    def counts(self) -> dict[str, int]:
        """Count the texts of each status."""
        found = Counter(state.status for state in self.states.values())
        found["open"] += len(self.documents) - len(self.states)
        return dict(found)

    def last(self) -> int | None:
        """Return the text of the last action that was not undone, or None."""
        return self._past[-1][0] if self._past else None

    # -- actions --------------------------------------------------------------------------------

    def act(self, i: int, operations: Any, revision: int) -> None:
        """Change the annotations of a text; the journal is on disk before returning."""
        with self.lock:
            self._check(revision)
            before = self.state(i)
            if not isinstance(operations, list) or not 0 < len(operations) <= 100:
                raise InvalidInput(message("ops", operations, "1 to 100 operations", "send a list"))
            after = edited(before, operations, len(self.documents[i]), self.labels)
            self._write({"kind": "act", "text": self.keys[i], **after.plain()})
            self._apply(i, after)
            self._past.append((i, before, after))
            self._future.clear()

    def undo(self, revision: int, again: bool = False) -> int | None:
        """Undo or redo the last action; return its text, or None."""
        with self.lock:
            self._check(revision)
            source, target = self._past, self._future
            if again:
                source, target = target, source
            if not source:
                return None
            i, before, after = source[-1]
            now = after if again else before
            self._write({"kind": "redo" if again else "undo", "text": self.keys[i], **now.plain()})
            target.append(source.pop())
            self._apply(i, now)
            return i

    def add_label(self, name: Any, revision: int) -> None:
        """Add a label."""
        with self.lock:
            self._check(revision)
            good = isinstance(name, str) and name.strip() and len(name) <= 100
            if not good or name in (*self.labels, "O") or not name.isprintable():
                expected = "a new name of at most 100 printable characters, not O"
                raise InvalidInput(message("label", name, expected, "choose another name"))
            if len(self.labels) >= MOST_LABELS:
                raise InvalidInput(
                    f"there are {MOST_LABELS} labels already, the maximum",
                    place="label",
                    remedy="use one of them",
                )
            self._write({"kind": "label", "name": name})
            self.labels.append(name)

    def _check(self, revision: Any) -> None:
        if revision != self.revision:
            reason = "the project has changed since this page last looked; it shows the new state"
            raise Refused(409, reason)

    def _write(self, entry: dict[str, Any]) -> None:
        self._journal.append(entry)
        self.revision += 1
        self.changed = True

    def _apply(self, i: int, state: State) -> None:
        if state == State() and i not in self._given:
            self.states.pop(i, None)
        else:
            self.states[i] = state

    def _learn_labels(self, names: Any) -> None:
        self.labels += [name for name in dict.fromkeys(names) if name not in self.labels]

    def _replay(self) -> None:
        """Replay the journal."""
        places = {key: i for i, key in enumerate(self.keys)}
        entries = self._journal.entries()
        first = next(entries, None)
        if first is None:
            self._journal.append({"form": FORM})
        elif first.get("form") != FORM:
            raise InvalidInput(
                "not a journal of this version",
                file=self._journal.path,
                line=1,
                remedy="restore the file from a copy, or remove it to start again",
            )
        for entry in entries:
            self.revision += 1
            if entry.get("kind") == "label":
                self._learn_labels([entry["name"]])
            elif (i := places.get(entry.get("text", ""))) is None:
                self.lost += 1
            else:
                self._again(i, entry)

    def _again(self, i: int, entry: dict[str, Any]) -> None:
        state = read_state(entry, len(self.documents[i]))
        kind = entry.get("kind")
        if kind == "act":
            self._past.append((i, self.state(i), state))
            self._future.clear()
        elif kind == "undo" and self._past:
            self._future.append(self._past.pop())
        elif kind == "redo" and self._future:
            self._past.append(self._future.pop())
        self._apply(i, state)

    # -- files ----------------------------------------------------------------------------------

    def snapshot(self) -> dict[int, State]:
        """Return the current annotations."""
        with self.lock:
            return dict(self.states)

    def export(self) -> None:
        """Write the fully and partially labelled texts."""
        with self.lock:
            self.changed = False
            states = sorted(self.states.items())
        labelled = (
            self._labelled(i, state) for i, state in states if state.status in ("done", "partial")
        )
        try:
            corpora.write_jsonl(self.output, labelled)
        except BaseException:
            self.changed = True
            raise

    def _labelled(self, i: int, state: State) -> Document:
        """Return a text with its labels; unchanged given labels are kept."""
        document = self.documents[i]
        if self._given.get(i) == state:
            return document
        if state.status == "done":
            return replace(document, segments=state.segments, known=None)
        return replace(document, segments=None, known=state.partial())

    def close(self) -> None:
        """Release the project."""
        self._journal.close()


def _given_states(documents: Sequence[Document]) -> dict[int, State]:
    """Return the annotations given with the texts."""
    states = {}
    for i, document in enumerate(documents):
        if document.segments is not None:
            states[i] = State("done", document.segments)
        elif (known := document.known) is not None:
            outside = tuple((t, t + 1) for t, labels in known.tokens.items() if labels == ("O",))
            states[i] = State("partial", known.segments, outside)
    return states


def _with_text(document: Document) -> Document:
    """Return a document with a text, by default its tokens joined by spaces."""
    if document.text is not None and document.offsets is not None:
        return document
    offsets, reached = [], 0
    for token in document.tokens:
        offsets.append((reached, reached + len(token)))
        reached += len(token) + 1
    return replace(document, text=" ".join(document.tokens), offsets=tuple(offsets))


def _keys(documents: Sequence[Document]) -> list[str]:
    """Return a stable key for each text: a digest of its tokens."""
    seen: Counter[str] = Counter()
    keys = []
    for document in documents:
        content = "\x1f".join(document.tokens).encode("utf-8", "surrogatepass")
        digest = hashlib.sha256(content).hexdigest()[:16]
        seen[digest] += 1
        keys.append(digest if seen[digest] == 1 else f"{digest}-{seen[digest]}")
    return keys
