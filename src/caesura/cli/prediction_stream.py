"""A model that answers a stream of sequences batch by batch."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from caesura.cli.constraint_files import Rules
from caesura.cli.gold_and_predicted import confident
from caesura.cli.naming import naming
from caesura.cli.output import warn
from caesura.cli.prediction_formats import Answer
from caesura.documents import Document
from caesura.errors import CaesuraError, Impossible, TooLarge

if TYPE_CHECKING:
    from caesura.cli.segment import Asking

__all__ = ["Run"]


class Run:
    """A model that answers batch by batch, and counts."""

    def __init__(self, model: Any, asking: Asking, name: str, skip: bool) -> None:
        self.model, self.asking, self.name, self.skip = model, asking, name, skip
        self.rules = None if asking.constraints is None else Rules(asking.constraints)
        self.sequences = self.reviewed = self.skipped = 0
        self.lowest = 1.0  # lowest probability of a segment, with a threshold
        self.segments = self.written = 0  # written to the output
        self.carried: list[str] = []  # carried columns of the first sequences

    def batches(
        self, documents: Iterator[Document], aside: Any, progress: Callable[[int], None]
    ) -> Iterator[Sequence[Answer]]:
        """Yield answers, without those that go aside for review."""
        while some := list(itertools.islice(documents, self.asking.batch)):
            self.carried = self.carried or list(some[0].carried)
            rules = None if self.rules is None else self.rules.take(len(some))
            answers = self._answers(some, rules)
            numbers = {id(document): i for i, document in enumerate(some, self.sequences + 1)}
            self.sequences += len(some)
            progress(self.sequences)
            kept = []
            for answer in answers:
                doubtful = self.asking.threshold is not None and self._doubtful(answer)
                self.reviewed += doubtful
                if doubtful and aside is not None:
                    aside.add(answer, numbers[id(answer.document)])
                else:
                    kept.append(answer)
            self.segments += sum(len(answer.segments) for answer in kept)
            yield kept
        if self.rules is not None:
            self.rules.end()

    def _doubtful(self, answer: Answer) -> bool:
        """Say whether a segment of an answer is below the threshold."""
        lowest = min(answer.probabilities or [1.0])
        self.lowest = min(self.lowest, lowest)
        return lowest < (self.asking.threshold or 0.0)

    def _answers(self, documents: list[Document], rules: Any) -> list[Answer]:
        """Return the answers to some documents; one by one if one of them has none."""
        try:
            return self._named(documents, rules)
        except CaesuraError as error:
            if not self.skip:
                raise
            if len(documents) == 1:
                self.skipped += 1
                if self.skipped <= 5:
                    warn(f"left out: {error}")
                return []
        found = []
        before = self.sequences
        for i, document in enumerate(documents):
            self.sequences = before + i
            found += self._answers(
                [document], rules[i : i + 1] if isinstance(rules, list) else rules
            )
        self.sequences = before
        return found

    def _named(self, documents: list[Document], rules: Any) -> list[Answer]:
        """Ask the model; errors name the file and the sequence, and the file of constraints."""
        try:
            with naming(self.name, first=self.sequences):
                return self._asked(documents, rules)
        except MemoryError:
            longest = max(range(len(documents)), key=lambda i: len(documents[i]))
            raise TooLarge(
                f"there is not enough memory for its {len(documents[longest]):,} tokens and the "
                "other sequences of the batch",
                file=self.name,
                line=self.sequences + longest + 1,
                unit="sequence",
                remedy="split it, or take a smaller --batch",
            ) from None
        except CaesuraError as error:
            if self.asking.constraints is None:
                raise
            about_rules = error.argument == "constraints"
            if isinstance(rules, Mapping) and about_rules and error.file is None:
                return self._named(documents, [rules] * len(documents))  # to name the sequence
            if isinstance(error, Impossible):
                remedy = f"{error.remedy} in {self.asking.constraints}"
                raise error.changed(remedy=remedy) from None
            if about_rules and error.file is not None:
                raise error.changed(argument=f"{self.asking.constraints}: constraints") from None
            raise

    def _asked(self, documents: list[Document], rules: Any) -> list[Answer]:
        """Ask the model."""
        asking, model = self.asking, self.model
        if not (asking.probabilities or asking.threshold is not None or asking.n_best):
            found = model.predict(documents, constraints=rules)
            return [Answer(*pair) for pair in zip(documents, found, strict=True)]
        ranked: list[Any] = [None] * len(documents)
        if asking.n_best:
            ranked = model.predict_n_best(documents, asking.n_best, constraints=rules)
        answers = []
        sure = confident(model, documents, constraints=rules)
        for document, some, others in zip(documents, sure, ranked, strict=True):
            answers.append(
                Answer(
                    document,
                    [one.segment for one in some],
                    [one.probability for one in some],
                    any(one.calibrated for one in some),
                    others,
                )
            )
        return answers
