"""The neural segmenter learns, resumes, saves and loads; its encoders read all of a sentence."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from cli_data import bad, good
from oracle import close

import caesura
from caesura import features, persistence
from caesura.cli.model_settings import ALIASES
from caesura.cli.neural_settings import NEURAL
from caesura.cli.settings import Settings
from caesura.errors import Impossible, InvalidInput, NotFitted
from caesura.neural import NeuralSegmenter
from caesura.neural.embeddings import Sizes, TokenEncoder, Vocabulary, read_vectors
from caesura.neural.training import batches
from caesura.neural.transformer import Transformer
from caesura.segments import Segment

MODELS = ["chain", "semi", "overlapping", "filtered"]
SMALL: dict[str, Any] = {
    "word_size": 12,
    "character_size": 4,
    "shape_size": 4,
    "hidden": 12,
    "dropout": 0.0,
    "rate": 0.02,
    "epochs": 12,
}


def data(n: int, seed: int) -> tuple[list[list[str]], list[list[Segment]]]:
    """Names are the words after "mr", towns those after "in"; words are shared."""
    rng = np.random.default_rng(seed)
    X, y = [], []
    for _ in range(n):
        words: list[str] = []
        cut = []
        for _ in range(int(rng.integers(1, 4))):
            words += ["so"] * int(rng.integers(0, 3))
            marker, label = [("mr", "name"), ("in", "town")][int(rng.integers(2))]
            width = int(rng.integers(1, 3))
            words.append(marker)
            cut.append(Segment(len(words), len(words) + width, label))
            words += [str(rng.choice(["Ann", "Lee", "Bath", "York"])) for _ in range(width)]
            words.append("ran")
        X.append(words)
        y.append(cut)
    return X, y


@pytest.fixture(scope="module")
def train() -> Any:
    return data(40, 0)


@pytest.fixture(scope="module")
def test() -> Any:
    return data(20, 1)


@pytest.mark.parametrize("model", MODELS)
def test_it_learns_and_survives_a_file(model: str, train: Any, test: Any, tmp_path: Path) -> None:
    made = NeuralSegmenter(model, hybrid=0.3 if model == "semi" else 0.0, **SMALL).fit(*train)
    assert made.labels_ == ["name", "town"]
    assert made.score(*test) > 0.9
    assert [one.iteration for one in made.history_] == list(range(1, 13))
    assert made.history_[-1].objective < made.history_[0].objective
    made.calibrate(*test)
    made.save(tmp_path / "model")
    again = caesura.load(tmp_path / "model")
    assert again.get_params() == made.get_params()
    assert again.predict(test[0]) == made.predict(test[0])
    assert again.predict_confident(test[0]) == made.predict_confident(test[0])
    assert again.n_features_ == made.n_features_


def test_decoders_of_a_filtered_model(train: Any, test: Any, tmp_path: Path) -> None:
    made = NeuralSegmenter("filtered", one_score=True, decoder="mean", **{**SMALL, "epochs": 3})
    made.fit(*train)
    layer: Any = made.fitted_network().head.layer
    assert layer.path.out_features == 1
    with torch.no_grad():
        states, lengths, _ = made.fitted_network().states([caesura.Document(tuple(test[0][0]))])
    for decoder in ("mean", "greedy", "global"):
        made.set_params(decoder=decoder)
        expected = layer.decode(states, lengths, decoder)[0]
        assert [tuple(s)[:2] for s in made.predict(test[0][:1])[0]] == [s[:2] for s in expected]
    made.save(tmp_path / "model")
    assert caesura.load(tmp_path / "model").get_params() == made.get_params()


@pytest.mark.parametrize("model", MODELS[:3])
def test_probabilities_are_sums_over_all_segmentations(model: str, train: Any) -> None:
    made = NeuralSegmenter(model, **{**SMALL, "epochs": 1}).fit(*train)
    x = ["mr", "Ann", "Lee"]
    (found,) = made.predict_confident([x])
    assert not any(one.calibrated for one in found)
    head: Any = made.fitted_network().head
    with torch.no_grad():
        states, lengths, extra = made.fitted_network().states([caesura.Document(tuple(x))])
        tensor, parts = head.network_scores(states, extra)
        (every,) = head.layer.n_best(tensor, lengths, 10_000, **parts)
        log_z = head.layer.log_partition(tensor, lengths, **parts).item()
        more = [Segment(0, 2, "name"), Segment(2, 3, "town")]
        for segment in [*(one.segment for one in found), *more]:
            (chance,) = head.probabilities(states, lengths, extra, [[segment]])[0]
            total = 0.0
            for path in every:
                cut = [tuple(s) for s in path.segments]
                if model == "chain":
                    tags = [head.states[y] for _, _, y in cut]
                    cut = [tuple(s) for s in caesura.from_tags(tags, "BIOES")]
                else:
                    cut = [(s, e, head.labels[y]) for s, e, y in cut]
                total += math.exp(path.score - log_z) * (tuple(segment) in cut)
            assert close(chance, total, 1e-4)


def test_a_chain_never_predicts_ill_formed_tags(train: Any) -> None:
    made = NeuralSegmenter("chain", **{**SMALL, "epochs": 1, "rate": 0.3}).fit(*train)
    head: Any = made.fitted_network().head
    torch.manual_seed(0)
    cuts = head.layer.sample(torch.randn(1, 6, len(head.states)) * 5, None, 200)[0]
    for cut in cuts:
        caesura.from_tags([head.states[y] for _, _, y in cut], "BIOES")  # raises if ill-formed


@pytest.mark.parametrize("model", ["chain", "semi", "filtered"])
def test_going_on_from_a_checkpoint_equals_an_uninterrupted_run(
    model: str, train: Any, test: Any, tmp_path: Path
) -> None:
    settings = {**SMALL, "epochs": 4, "dropout": 0.3}
    if model == "semi":
        settings["features"] = [features.word]
    whole = NeuralSegmenter(model, **settings).fit(*train, *test)
    place, data_ = tmp_path / "checkpoint", (*train, *test)
    parts = NeuralSegmenter(model, **settings)
    parts.fit(*data_, checkpoint=place, callbacks=[lambda p: p.iteration == 2])  # type: ignore[misc]
    assert parts.status_ == "callback"
    assert len(parts.history_) == 2
    parts.fit(*data_, checkpoint=place)  # type: ignore[misc]
    assert [(p.objective, p.dev_score) for p in parts.history_] == [
        (p.objective, p.dev_score) for p in whole.history_
    ]
    assert parts.graph_sizes_ == whole.graph_sizes_
    assert len(whole.graph_sizes_) == (4 if model == "filtered" else 0)
    state, expected = (m.fitted_network().state_dict() for m in (parts, whole))
    assert all(torch.equal(state[name], expected[name]) for name in expected)
    with pytest.raises(InvalidInput, match=r"checkpoint: got .* other data or settings"):
        NeuralSegmenter(model, **{**settings, "rate": 0.1}).fit(*data_, checkpoint=place)  # type: ignore[misc]


def test_the_best_epoch_is_kept_and_training_stops_early(train: Any, test: Any) -> None:
    made = NeuralSegmenter(**{**SMALL, "epochs": 40, "patience": 3}).fit(*train, *test)
    scores = [p.dev_score for p in made.history_]
    assert made.status_ == "early stopping"
    assert len(scores) < 40
    assert made.score(*test) == max(s for s in scores if s is not None)
    assert scores.index(max(s for s in scores if s is not None)) == len(scores) - 4


def test_a_seed_repeats_a_run_and_leaves_the_generator_alone(train: Any) -> None:
    settings = {**SMALL, "epochs": 2, "dropout": 0.3}
    torch.manual_seed(5)
    before = torch.get_rng_state()
    one, two = (NeuralSegmenter(**settings, random_state=3).fit(*train) for _ in range(2))
    assert torch.equal(torch.get_rng_state(), before)
    other = NeuralSegmenter(**settings, random_state=4).fit(*train)
    first = [m.history_[-1].objective for m in (one, two, other)]
    assert first[0] == first[1] != first[2]


def test_features_are_trained_with_the_network(train: Any, test: Any, tmp_path: Path) -> None:
    """Without vectors that tell words apart, only the features can."""
    blind = {**SMALL, "word_size": 0, "character_size": 0, "context": "none"}
    some = [features.word, features.word[-1], features.word[-2], features.word[1]]
    for model in MODELS:
        made = NeuralSegmenter(model, features=some, **{**blind, "epochs": 8}).fit(*train)
        assert made.score(*test) > 0.9
        made.save(tmp_path / "model")
        assert caesura.load(tmp_path / "model").predict(test[0]) == made.predict(test[0])
    with pytest.raises(InvalidInput, match=r"features: got .*, expected features of tokens"):
        NeuralSegmenter(features=[features.edge(features.word[0])], **blind).fit(*train)


def test_scores_of_features_are_sums_of_their_weights() -> None:
    some = [features.word, features.suffix(2)]
    X = [["Ann", "ran"], ["so", "Ann", "Lee", "ran"], [], ["York"]]
    y = [[(0, 1, "name")], [(1, 3, "name")], [], [(0, 1, "town")]]
    model = NeuralSegmenter("semi", features=some, **{**SMALL, "epochs": 2}).fit(X, y)
    network = model.fitted_network()
    weights, encoder = network.weights.weight, network.features
    assert encoder is not None
    assert weights.shape == (len(encoder), 9)  # tokens, starts and ends, with three labels
    documents = [caesura.Document(tuple(words)) for words in X]
    extra = network.states(documents)[2]
    assert extra is not None
    number = {name: i for i, name in enumerate(encoder.names(range(len(encoder))))}
    for b, words in enumerate(X):
        assert not extra[b, len(words) :].any()
        for t, word in enumerate(words):
            tails = (f"={word}", f"={word[-2:]}")
            fired = [i for name, i in number.items() if name.endswith(tails)]
            assert torch.allclose(extra[b, t], weights[fired].sum(0), atol=1e-6)
            assert len(fired) >= 1 + (len(word) > 2)
    own = network.head.network_scores(torch.zeros(4, 4, network.encoder.size), None)[0]  # type: ignore[operator]
    both = network.head.network_scores(torch.zeros(4, 4, network.encoder.size), extra)[0]  # type: ignore[operator]
    tokens, starts, ends = extra.chunk(3, -1)
    for start, end in ((1, 3), (0, 1), (2, 4)):
        width = end - start
        if width <= own.shape[2]:
            expected = tokens[1, start:end].sum(0) + starts[1, start] + ends[1, end - 1]
            found = (both - own)[1, start, width - 1]
            assert torch.allclose(found, expected, atol=1e-5)


# -- encoders --------------------------------------------------------------------------------------


@pytest.mark.parametrize("context", ["lstm", "cnn", "none"])
@pytest.mark.parametrize("characters", ["cnn", "lstm", "none"])
def test_vectors_do_not_depend_on_the_batch(context: str, characters: str) -> None:
    torch.manual_seed(0)
    vocabularies: Any = [
        Vocabulary.of(["a", "bb"]),
        Vocabulary.of("ab"),
        Vocabulary.of(["x", "xx"]),
    ]
    sizes = Sizes(4, 4, 3, 5, characters, context)
    made = TokenEncoder(sizes, *vocabularies).eval()
    together, lengths = made([["a", "bb", "a"], [], ["bb"]])
    assert lengths == [3, 0, 1]
    assert together.shape == (3, 3, made.size)
    assert not together[1].any()
    assert not together[2, 1:].any()
    alone, _ = made([["bb"]])
    assert torch.allclose(together[2, :1], alone[0], atol=1e-6)


def test_static_vectors(tmp_path: Path, train: Any) -> None:
    file = tmp_path / "vectors.txt"
    file.write_text("2 3\nmr 1 2 3\nyork 4 5 6\n")
    words, table = read_vectors(file)
    assert words == ["mr", "york"]
    none, sizes = Vocabulary([]), Sizes(0, 0, 0, 5, "none", "none", 0.0)
    made = TokenEncoder(sizes, none, none, none, (words, table))
    assert made([["York", "so"]])[0].tolist() == [[[4.0, 5.0, 6.0], [0.0, 0.0, 0.0]]]
    model = NeuralSegmenter(vectors=file, **{**SMALL, "epochs": 1}).fit(*train)
    model.save(tmp_path / "model")
    file.unlink()  # the file has what it needs
    assert caesura.load(tmp_path / "model").predict(train[0]) == model.predict(train[0])
    for text, said in (
        ("", "got no vectors"),
        ("a 1 2\nb 1\n", ":2: got '1 columns"),
        ("a 1 2\nb 1 nan\n", ":2: got"),
        ("a 1 1e30\n", ":1: got"),
    ):
        file.write_text(text)
        with pytest.raises(InvalidInput, match=said):
            read_vectors(file)


@pytest.fixture(scope="module")
def tiny(tmp_path_factory: pytest.TempPathFactory) -> str:
    """A small transformer with random weights, in a folder."""
    import tokenizers
    import transformers

    folder = tmp_path_factory.mktemp("tiny")
    pieces = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "so", "mr", "in", "ran", "an", "##n"]
    pieces += ["le", "##e", "bath", "york"]
    inner = tokenizers.Tokenizer(
        tokenizers.models.WordPiece(
            vocab={piece: i for i, piece in enumerate(pieces)}, unk_token="[UNK]"
        )
    )
    inner.normalizer = tokenizers.normalizers.BertNormalizer(lowercase=True)
    inner.pre_tokenizer = tokenizers.pre_tokenizers.BertPreTokenizer()
    special = {
        f"{name.lower()}_token": f"[{name}]" for name in ("UNK", "PAD", "CLS", "SEP", "MASK")
    }
    wrapped = transformers.PreTrainedTokenizerFast(tokenizer_object=inner, **special)
    wrapped.save_pretrained(folder)
    torch.manual_seed(0)
    config = transformers.BertConfig(
        vocab_size=len(pieces),
        hidden_size=16,
        num_hidden_layers=1,
        num_attention_heads=2,
        intermediate_size=16,
        max_position_embeddings=12,
    )
    transformers.BertModel(config).save_pretrained(folder)
    return str(folder)


def test_a_word_has_the_vector_of_its_first_piece(tiny: str) -> None:
    made = Transformer(tiny).eval()
    ids, firsts = made._pieces(["so", "Ann", "\u200b", "Lee"])
    pieces = made.tokeniser.convert_ids_to_tokens(ids)
    assert pieces == ["so", "an", "##n", "[UNK]", "le", "##e"]
    assert firsts == [0, 1, 3, 4]
    with torch.no_grad():
        found = made([["so", "Ann"], []], 3)
        row = torch.tensor([[2, *ids[:3], 3]])
        hidden = made.model(input_ids=row).last_hidden_state
    assert torch.allclose(found[0, :2], hidden[0, [1, 2]], atol=1e-5)
    assert not found[0, 2:].any()
    assert not found[1].any()


def test_long_sentences_are_windowed_and_nothing_is_cut(tiny: str) -> None:
    made = Transformer(tiny).eval()
    words = ["so", "mr", "Ann", "ran", "in", "York"] * 8
    with torch.no_grad():
        found = made([words], len(words))[0]
    assert (found.abs().sum(-1) > 0).all()
    assert len({tuple(row.tolist()) for row in found}) > 6  # places in windows differ


def test_windows_fit_where_places_are_counted_from_the_padding(tiny: str, tmp_path: Path) -> None:
    import transformers

    config = transformers.RobertaConfig(
        vocab_size=15,
        hidden_size=16,
        num_hidden_layers=1,
        num_attention_heads=2,
        intermediate_size=16,
        max_position_embeddings=12,
        pad_token_id=0,
    )
    transformers.RobertaModel(config).save_pretrained(tmp_path)
    transformers.AutoTokenizer.from_pretrained(tiny).save_pretrained(tmp_path)
    made = Transformer(str(tmp_path)).eval()
    assert made.window == 9
    with torch.no_grad():
        found = made([["so", "mr", "ran"] * 9], 27)[0]
    assert (found.abs().sum(-1) > 0).all()


@pytest.mark.parametrize("frozen", [True, False])
def test_a_transformer_is_used_and_saved(
    tiny: str, frozen: bool, train: Any, tmp_path: Path
) -> None:
    settings = {**SMALL, "epochs": 2, "word_size": 0, "character_size": 0, "encoder_rate": 1e-3}
    made = NeuralSegmenter(transformer=tiny, frozen=frozen, **settings).fit(*train)
    before = Transformer(tiny).state_dict()
    after = made.fitted_network().encoder.transformer.state_dict()
    same = all(torch.equal(before[name], after[name]) for name in before)
    assert same == frozen
    made.save(tmp_path / "model")
    assert caesura.load(tmp_path / "model").predict(train[0]) == made.predict(train[0])


def test_a_transformer_that_is_not_there() -> None:
    with pytest.raises(InvalidInput, match="transformer: got '/no/such/folder'"):
        Transformer("/no/such/folder")


def test_batches_hold_every_sequence_once_and_similar_lengths() -> None:
    rng = np.random.default_rng(0)
    lengths = rng.integers(1, 50, 103).tolist()
    found = list(batches(lengths, 8, np.random.default_rng(1)))
    assert sorted(i for some in found for i in some) == list(range(103))
    spread = [max(lengths[i] for i in some) - min(lengths[i] for i in some) for some in found]
    assert np.mean(spread) < 8


@pytest.mark.parametrize(
    ("settings", "text"),
    [
        ({"model": "tree"}, "model: got 'tree'"),
        ({"context": "gru"}, "context: got 'gru'"),
        ({"epochs": 0}, "epochs: got 0"),
        ({"dropout": 2.0}, "dropout: got 2.0"),
        ({"rate": "fast"}, "rate: got 'fast'"),
        ({"max_length": 0}, "max_length: got 0"),
        ({"max_length": 1, "model": "semi"}, r"y\[0\]: got .* as max_length requires"),
        ({"device": "moon"}, "device: got 'moon'"),
        ({"device": "meta"}, "device: got 'meta'"),
        ({"frozen": "yes"}, "frozen: got 'yes', expected True or False"),
        ({"order": 2, "model": "filtered"}, "order: got 2, expected 1 with 'filtered'"),
        ({"outside_length": 2, "model": "semi"}, "outside_length: got 2, expected 1 or None with"),
        ({"outside_length": None}, "outside_length: got None, expected 1 with 'chain'"),
        ({"outside_length": True, "model": "semi"}, "outside_length: got True, expected 1 or None"),
        ({"outside": 3}, "outside: got 3"),
        ({"transformer": 3}, "transformer: got 3"),
        ({"features": "colours"}, "features: got 'colours'"),
        ({"features": [features.Length(3)]}, "features: got .*, expected features of tokens"),
        ({"rate": 1e30, "epochs": 4}, "rate, encoder_rate: got"),
        ({"word_size": 0, "character_size": 0, "shape_size": 0}, "shape_size: got 0 for all"),
    ],
)
def test_bad_settings(settings: Any, text: str) -> None:
    X, y = [["a", "b", "c"]], [[(0, 2, "x")]]
    with pytest.raises(InvalidInput, match=text):
        NeuralSegmenter(**settings).fit(X, y)


def test_bad_data(train: Any, tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match="y: got no segment at all"):
        NeuralSegmenter().fit([["a"]], [[]])
    with pytest.raises(NotFitted, match="NeuralSegmenter: not fitted yet"):
        NeuralSegmenter().predict([["a"]])
    with pytest.raises(InvalidInput, match="vectors: got '/no/file', expected a text file"):
        NeuralSegmenter(vectors="/no/file").fit(*train)
    with pytest.raises(InvalidInput, match="word_size, character_size, shape_size: got 0 for all"):
        NeuralSegmenter(word_size=0, character_size=0, shape_size=0).fit(*train)
    made = NeuralSegmenter(**{**SMALL, "epochs": 1}).fit(*train)
    with pytest.raises(InvalidInput, match="precision: needs a calibrated model"):
        made.predict_confident([["a"]], precision=0.9)
    assert made.predict([[]]) == [[]]
    with pytest.raises(InvalidInput, match=r"X\[0\]: got numbers without words"):
        made.predict([np.zeros((2, 3))])
    made.save(tmp_path / "model")
    header, arrays = persistence.read(tmp_path / "model", "model")
    arrays["network.head.out.bias"] = arrays["network.head.out.bias"] * np.nan
    persistence.write(tmp_path / "model", "model", header, arrays)
    with pytest.raises(InvalidInput, match="weights: got NaN or infinity in head"):
        caesura.load(tmp_path / "model")
    known = [caesura.Partial(no_boundaries=[1]), [(0, 1, "x")]]
    with pytest.raises(Impossible, match=r"y\[0\]: no segmentation agrees"):
        NeuralSegmenter("semi", max_length=1, **SMALL).fit([["a", "b"]] * 2, known)


# -- answers and the command line ------------------------------------------------------------------


@pytest.mark.parametrize("model", MODELS)
def test_n_best(model: str, train: Any) -> None:
    made = NeuralSegmenter(model, n_threads=1, **{**SMALL, "epochs": 4}).fit(*train)
    x = ["mr", "Ann", "Lee", "ran"]
    (ranked,) = made.predict_n_best([x], 4)
    assert ranked[0][0] == made.predict([x])[0]
    chances = [p for _, p in ranked]
    assert chances == sorted(chances, reverse=True)
    assert 0 < sum(chances) <= 1 + 1e-6
    assert len({tuple(cut) for cut, _ in ranked}) == len(ranked)


def test_the_command_line_trains_and_uses_neural_models(train: Any, tmp_path: Path) -> None:
    file, config, model = (tmp_path / name for name in ("train.jsonl", "neural.toml", "it.model"))
    rows = [{"tokens": x, "segments": cut} for x, cut in zip(*train, strict=True)]
    file.write_text("\n".join(map(json.dumps, rows)))
    config.write_text('model = "neural"\nnetwork = "chain"\nepochs = 8\nrate = 0.02\n')
    options = ("--network", "semi", "--hidden", 12, "--dropout", 0, "--transitions", "no")
    common = (
        file,
        "-c",
        config,
        *options,
        "--outside-length",
        "none",
        "--warm-up",
        0.2,
        "--batch-size",
        4,
    )
    ran = good("train", *common, "--dev", file, "-o", model, "--json")
    assert ran.json["kind"] == "neural"
    assert ran.json["dev"]["micro"]["f1"] > 0.9
    assert not model.with_name("it.model.checkpoint").exists()
    loaded = caesura.load(model)
    assert (loaded.model, loaded.hidden, loaded.epochs) == ("semi", 12, 8)
    assert (loaded.transitions, loaded.warm_up, loaded.batch_size) == (False, 0.2, 4)
    assert loaded.outside_length is None
    out, rules = tmp_path / "out.jsonl", tmp_path / "rules.json"
    good("segment", model, file, "-o", out, "--probabilities")
    first = json.loads(out.read_text().splitlines()[0])
    assert [one[:3] for one in first["segments"]] == [list(s) for s in train[1][0]]
    rules.write_text('{"required": [[0, 1, "town"]]}')
    good("segment", model, file, "-o", out, "--constraints", rules, "--n-best", 2)
    assert json.loads(out.read_text().splitlines()[0])["segments"][0][:3] == [0, 1, "town"]
    assert good("evaluate", file, model, "--json").json["micro"]["f1"] > 0.9
    assert good("compare", file, model, model, "--rounds", 9, "--json").json["difference"] == 0.0
    assert good("explain", model, "so mr Ann ran", "--json").json["segments"]
    shown = good("inspect", model, "--json").json
    assert (shown["network"], shown["labels"]) == ("semi", ["name", "town"])
    assert "transitions = False" in good("inspect", model, "--label", "name").out
    best = tmp_path / "best.toml"
    quick = (*common, "--epochs", 1, "--folds", 2)
    tuned = good("tune", *quick, "--try", "network=overlapping,semi", "-o", best, "--json")
    assert len(tuned.json["candidates"]) == 2
    assert 'model = "neural"' in best.read_text()
    assert "leave it out" in bad("train", file, "--model", "neural", "--c2", 1, "-o", model)
    said = bad("train", file, "--epochs", 3, "-o", model)
    assert "epochs: got 3 for a semi model" in said
    assert "use the model neural" in said


def test_the_command_line_knows_all_choices() -> None:
    names = {"network" if n == "model" else n for n in NeuralSegmenter.parameter_names()}
    assert set(NEURAL) == names - {"verbose"}
    options = {ALIASES.get(name, name) for name in Settings._fields}
    assert set(NEURAL) - options == {"tokeniser"}  # which is an option of reading
