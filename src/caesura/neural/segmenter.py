"""`NeuralSegmenter`: an estimator based on the layers of this package."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Sequence
from typing import Any, Self

import torch

from caesura.documents import Document
from caesura.encoding import Encoder
from caesura.errors import InvalidInput
from caesura.evaluation import segment_counts
from caesura.learning import Progress
from caesura.learning.progress import ProgressLine
from caesura.models.examples import weights_of
from caesura.models.fit_arguments import checked_run
from caesura.neural import heads
from caesura.neural.diagnostics import Answers
from caesura.neural.embeddings import (
    Sizes,
    TokenEncoder,
    Vocabulary,
    read_vectors,
    shape_of,
)
from caesura.neural.filtered_head import FilteredHead
from caesura.neural.heads import Target
from caesura.neural.network import Network, answers, threads, token_features
from caesura.neural.parameters import check_parameters
from caesura.neural.targets import check_filtered, check_longest, known_segments, read_targets
from caesura.neural.training import Data, Schedule, train
from caesura.neural.transformer import Transformer

__all__ = ["NeuralSegmenter"]


class NeuralSegmenter(Answers):
    """A segmenter whose scores a neural network computes.

    Parameters
    ----------
    model : {"chain", "semi", "overlapping", "filtered"}
        A chain over tags; a semi-CRF with vectors of segments of up to `max_length` tokens; a
        semi-CRF without a bound; or a filtered semi-CRF.
    context : {"lstm", "cnn", "none"}
        The layer that connects the vectors of tokens.
    word_size : int
        Size of the embeddings of words; 0 for none.
    character_size : int
        Size of the embeddings of characters; 0 for none.
    shape_size : int
        Size of the embeddings of shapes; 0 for none.
    characters : {"cnn", "lstm", "none"}
        The layer that makes word vectors of characters.
    hidden : int
        Size of the context, in each direction.
    dropout : float
        Probability of dropping an entry of a vector in training.
    vectors : path, optional
        Text file with static vectors in GloVe's format; they are not trained.
    transformer : str, optional
        Name or folder of a Hugging Face transformer, whose vectors are added.
    frozen : bool
        Whether the weights of the transformer are kept fixed.
    features : list or str, optional
        Features of tokens, or the name of a preset, whose weights are trained with the network.
    order : int
        Number of previous labels that the score of a label depends on.
    max_length : int or "observed"
        Longest segment of the semi-CRF and of the filtered one.
    representation : str
        How vectors of segments are made, see `caesura.neural.spans.SpanRepresentation`.
    hybrid : float
        Weight of the loss of a chain that is trained with the model.
    transitions : bool
        Whether label transitions are learned, in all models.
    null_weight : float
        Weight of spans without a label in the loss of the filter, see `FilteredSemiCRF`.
    global_loss : bool
        Whether the global model of a filtered model is trained, see `FilteredSemiCRF`.
    one_score : bool
        Whether the global score of a span is the same for all labels, see `FilteredSemiCRF`.
    decoder : {"global", "greedy", "mean"}, optional
        How a filtered model chooses among kept spans, see `FilteredSemiCRF.decode`.  It may be set
        between two predictions.
    outside : str
        Label of text outside segments.
    outside_length : {1, None}
        Whether text outside is one segment for each token.  With None, "overlapping" makes each run
        of it one segment, and "semi" cuts it into segments of up to `max_length` tokens.
    epochs : int
        Number of passes over the training data.
    batch_size : int
        Number of sequences in a mini-batch.
    rate : float
        Learning rate of AdamW for all weights but those of the transformer.
    encoder_rate : float
        Learning rate of the transformer.
    warm_up : float
        Share of all steps in which the learning rates rise.
    clip : float
        Maximum norm of gradients; 0 for no limit.
    weight_decay : float
        Weight decay of AdamW.
    patience : int, optional
        Number of epochs without a better development score after which training stops.
    device : str
        The device of torch.
    tokeniser
        The tokeniser of texts.
    n_threads : int, optional
        Number of threads of torch and of the kernels; by default that of torch.
    random_state : int
        Seed of the random number generators.
    verbose : bool, optional
        Whether to show progress; by default only on a terminal.

    Attributes
    ----------
    labels_ : list of str
        Labels of segments.
    history_ : list of Progress
        One entry for each epoch.
    n_features_ : int
        Number of weights.
    graph_sizes_ : list of (float, float)
        Of a filtered model, for each epoch: the mean numbers of kept spans and of arcs between them
        in a training sequence.

    Examples
    --------
    >>> from caesura.neural import NeuralSegmenter
    >>> X = [["see", "Ann", "Lee"], ["Ann", "Lee", "ran"]] * 4
    >>> y = [[(1, 3, "name")], [(0, 2, "name")]] * 4
    >>> model = NeuralSegmenter(epochs=15, rate=0.02, hidden=8).fit(X, y)
    >>> model.predict([["see", "Ann", "Lee"]])
    [[Segment(start=1, end=3, label='name')]]
    """

    kind = "neural"
    model: str
    context: str
    word_size: int
    character_size: int
    shape_size: int
    characters: str
    hidden: int
    dropout: float
    vectors: str | os.PathLike[str] | None
    transformer: str | None
    frozen: bool
    max_length: int | str
    representation: str
    hybrid: float
    transitions: bool
    null_weight: float
    global_loss: bool
    one_score: bool
    decoder: str | None
    outside_length: int | None
    epochs: int
    rate: float
    encoder_rate: float
    warm_up: float
    clip: float
    weight_decay: float
    device: str
    longest_: int

    def __init__(
        self,
        model: str = "chain",
        context: str = "lstm",
        word_size: int = 50,
        character_size: int = 25,
        shape_size: int = 10,
        characters: str = "cnn",
        hidden: int = 100,
        dropout: float = 0.3,
        vectors: str | os.PathLike[str] | None = None,
        transformer: str | None = None,
        frozen: bool = False,
        features: Any = None,
        order: int = 1,
        max_length: int | str = "observed",
        representation: str = "sum_ends",
        hybrid: float = 0.0,
        transitions: bool = True,
        null_weight: float = 0.4,
        global_loss: bool = True,
        one_score: bool = False,
        decoder: str | None = None,
        outside: str = "O",
        outside_length: int | None = 1,
        epochs: int = 20,
        batch_size: int = 8,
        rate: float = 1e-3,
        encoder_rate: float = 2e-5,
        warm_up: float = 0.1,
        clip: float = 5.0,
        weight_decay: float = 0.0,
        patience: int | None = None,
        device: str = "cpu",
        tokeniser: Any = "words",
        n_threads: int | None = None,
        random_state: int = 0,
        verbose: bool | None = False,
    ) -> None:
        self._keep(locals())

    def check_parameters(self) -> None:
        """Raise if a parameter is wrong."""
        check_parameters(self)

    # -- fitting -----------------------------------------------------------------------------

    def fit(
        self,
        X: Iterable[Any],
        y: Iterable[Any] | None = None,
        X_dev: Iterable[Any] | None = None,
        y_dev: Iterable[Any] | None = None,
        sample_weight: Any = None,
        checkpoint: str | os.PathLike[str] | None = None,
        callbacks: Sequence[Callable[[Progress], bool | None]] = (),
    ) -> Self:
        """Fit the network to labelled sequences.

        Parameters
        ----------
        X, y
            As `caesura.SemiCRF.fit` takes them; X must have tokens.  In `Partial` labels for a
            filtered model, tokens that are known to be inside segments need the segment.
        X_dev, y_dev : optional
            Development data: the weights of the epoch with the best segment F1 on it are kept.
        sample_weight : array of shape (n,), optional
            The weight of each sequence in the loss.
        checkpoint : path, optional
            File written after every epoch; if it exists, fitting resumes from it.
        callbacks : sequence of callables
            Functions called with a `Progress` after every epoch; fitting stops if one returns True.

        Returns
        -------
        self
        """
        self.check_parameters()
        callbacks = checked_run(X_dev, y_dev, checkpoint, callbacks)
        documents, gold, labels = read_targets(X, y, self.tokeniser_, self.outside)
        if self.model == "filtered":
            check_filtered(gold, self.outside)
        weights = None
        if sample_weight is not None:
            weights = weights_of(sample_weight, len(documents)).tolist()
        development = None if X_dev is None else self._gold(X_dev, y_dev, ("X_dev", "y_dev"))
        if development is not None and not any(development[1]):
            raise InvalidInput(
                place="y_dev",
                got="no segment at all",
                expected="some to compare with",
                remedy="label some, or leave the development data out",
            )
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(self.random_state)
            network = self._built(documents, gold, labels)
            head: Any = network.head
        if self.model in ("semi", "filtered"):
            check_longest(gold, self.longest_)

        def score() -> float:
            assert development is not None
            found = answers(
                network, development[0], lambda given, _: head.predict(*given, **self._chosen())
            )
            return segment_counts(development[1], found, self.outside).f1

        own = ("verbose", "device", "n_threads", "decoder")  # these do not affect the result
        shown = {k: v for k, v in self.get_params().items() if k not in own}
        settings = repr((shown, None if development is None else development[1]))
        names = ("epochs", "batch_size", "rate", "encoder_rate", "warm_up", "clip")
        schedule = Schedule(
            **{name: getattr(self, name) for name in (*names, "weight_decay", "patience")},
            seed=self.random_state,
        )
        with (
            ProgressLine(self.verbose, max_iterations=self.epochs) as line,
            threads(self.n_threads),
        ):
            asked = None if development is None else score
            shown_by: list[Callable[[Progress], bool | None]] = [*callbacks, line]
            data = Data(documents, gold, weights)
            run, status = train(network, data, schedule, asked, checkpoint, shown_by, settings)
        self.take_network(network, labels)
        self.history_, self.status_, self.calibration_ = run.history, status, None
        self.graph_sizes_ = run.sizes
        self._order = ()  # discards the order of an earlier fit
        self._order = self._first_seen(gold)
        return self

    def take_network(self, network: Network, labels: list[str]) -> None:
        """Set a network and its labels as the fitted state."""
        self._network, self.labels_ = network, labels
        self.n_features_ = sum(p.numel() for p in network.parameters())

    def _built(
        self, documents: Sequence[Document], gold: Sequence[Target], labels: list[str]
    ) -> Network:
        """Return a new network for the training data."""
        words = [word for document in documents for word in document.tokens]
        features = None
        if self.features is not None:
            features = Encoder(token_features(self.features))
            features.encode(documents, True)
        longest = max([1, *(s.end - s.start for one in gold for s in known_segments(one))])
        if self.max_length != "observed":
            longest = int(self.max_length)
        vocabularies = (
            Vocabulary.of(word.lower() for word in words),
            Vocabulary.of(letter for word in words for letter in word),
            Vocabulary.of(map(shape_of, words)),
        )
        vectors = None if self.vectors is None else read_vectors(self.vectors)
        return self.network_of(vocabularies, vectors, features, labels, longest)

    def network_of(
        self, vocabularies: Any, vectors: Any, features: Encoder | None, labels: list[str], L: int
    ) -> Network:
        """Return an initialised network for these words, features and labels."""
        sizes = Sizes(
            *(self.word_size, self.character_size, self.shape_size, self.hidden),
            *(self.characters, self.context, self.dropout),
        )
        inner = None
        if self.transformer is not None:
            inner = Transformer(self.transformer, self.frozen)
        words, characters, shapes = vocabularies
        encoder = TokenEncoder(sizes, words, characters, shapes, vectors, inner)
        common = (encoder.size, labels, self.outside)
        if self.model == "filtered":
            head: heads.Head = FilteredHead(
                *common,
                max_width=L,
                representation=self.representation,
                null_weight=self.null_weight,
                global_loss=self.global_loss,
                one_score=self.one_score,
                transitions=self.transitions,
                dropout=self.dropout,
            )
        elif self.model == "semi":
            head = heads.SemiHead(
                *(*common, self.order, self.transitions),
                max_length=L,
                representation=self.representation,
                dropout=self.dropout,
                outside_length=self.outside_length,
            )
        elif self.model == "overlapping":
            head = heads.OverlappingHead(
                *(*common, self.order, self.transitions), outside_length=self.outside_length
            )
        else:
            head = heads.ChainHead(*common, self.order, self.transitions)
        chain = None
        if self.hybrid > 0.0:
            chain = heads.ChainHead(*common, 1, True)
        network = Network(encoder, head, features, chain, self.hybrid).to(self.device)
        self.longest_ = L
        return network.eval()

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the model to a file, which `caesura.load` reads.

        Parameters
        ----------
        path : path
            The file: safetensors and JSON, no code.  The weights of a frozen transformer are not in
            it; its name or folder is.
        """
        from caesura.neural.files import save

        save(self, path)
