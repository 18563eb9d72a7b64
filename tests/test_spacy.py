"""The component of spaCy: what it finds, where it writes it, that it survives files, and errors."""

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import spacy
from spacy.tokens import Doc, DocBin, Span
from spacy.training import Example

from caesura import InvalidInput, SemiCRF
from caesura.features import column, lower, shape
from caesura.spacy import CaesuraComponent, from_docs

TEXTS = [
    ("Ada Lund flew to New Zealand.", [(0, 8, "PERSON"), (17, 28, "GPE")]),
    ("Ben Okafor lives in Oslo.", [(0, 10, "PERSON"), (20, 24, "GPE")]),
    ("In Hong Kong, Cy Park sings.", [(3, 12, "GPE"), (14, 21, "PERSON")]),
    ("Rain in Oslo stopped the train.", [(8, 12, "GPE")]),
]
NEW = ["Ann Lund lives in New Zealand.", "Rain in Hong Kong.", "Nothing here", "", "  \n "]


def labelled(nlp: Any, key: str | None = None) -> list[Doc]:
    docs = []
    for text, entities in TEXTS:
        doc = nlp(text)
        spans = [doc.char_span(*entity) for entity in entities]
        if key is None:
            doc.ents = spans
        else:
            doc.spans[key] = spans
        docs.append(doc)
    return docs


@pytest.fixture(scope="module")
def model() -> SemiCRF:
    return SemiCRF("ner", c2=0.1).fit(from_docs(labelled(spacy.blank("en"))))


@pytest.fixture(scope="module")
def path(model: SemiCRF, tmp_path_factory: pytest.TempPathFactory) -> str:
    file = tmp_path_factory.mktemp("spacy") / "names.model"
    model.save(file)
    return str(file)


def pipeline(path: Any, **config: Any) -> Any:
    nlp = spacy.blank("en")
    nlp.add_pipe("caesura", config={"model": path, **config})
    return nlp


def entities(doc: Doc) -> list[tuple[int, int, str]]:
    return [(ent.start, ent.end, ent.label_) for ent in doc.ents]


# -- training data ---------------------------------------------------------------------------------


def test_documents_of_spacy() -> None:
    nlp = spacy.blank("en")
    found = from_docs(labelled(nlp), columns={"low": "lower_"})
    assert [document.text for document in found] == [text for text, _ in TEXTS]
    for document, (text, spans) in zip(found, TEXTS, strict=True):
        offsets = document.offsets or ()
        assert [text[a:b] for a, b in offsets] == list(document.tokens)
        places = [(offsets[s][0], offsets[e - 1][1], y) for s, e, y in document.segments or ()]
        assert places == spans
        assert list(document.columns["low"]) == [token.lower() for token in document.tokens]
    assert from_docs(labelled(nlp), labelled=False)[0].segments is None
    bag = DocBin(docs=labelled(nlp))
    again = from_docs(DocBin().from_bytes(bag.to_bytes()).get_docs(nlp.vocab))
    assert [document.segments for document in again] == [one.segments for one in found]


def test_groups_of_spans_are_training_data_too() -> None:
    nlp = spacy.blank("en")
    plain = [document.segments for document in from_docs(labelled(nlp))]
    assert [d.segments for d in from_docs(labelled(nlp, "sc"), spans_key="sc")] == plain


def test_wrong_training_data() -> None:
    doc = labelled(spacy.blank("en"))[0]
    with pytest.raises(InvalidInput, match=r"docs\[0\]: got 'text', expected a Doc of spaCy"):
        from_docs(["text"])  # type: ignore[list-item]
    with pytest.raises(InvalidInput, match=r"spans_key of docs\[0\]: got 'sc', .* which has none"):
        from_docs([doc], spans_key="sc")
    doc.spans["sc"] = [Span(doc, 0, 2, "A"), Span(doc, 1, 3, "B")]
    with pytest.raises(InvalidInput, match=r"docs\[0\]: .* expected spans that do not overlap"):
        from_docs([doc], spans_key="sc")
    with pytest.raises(InvalidInput, match=r"columns\['pos'\]: got 'tagg', expected an attribute"):
        from_docs([doc], columns={"pos": "tagg"})


# -- predicting ------------------------------------------------------------------------------------


def test_it_is_found_by_its_entry_point(path: str) -> None:
    """In a new process, which has not imported `caesura.spacy`."""
    code = (
        "import spacy; nlp = spacy.blank('en')\n"
        f"nlp.add_pipe('caesura', config={{'model': {path!r}}})\n"
        f"print([ent.label_ for ent in nlp({NEW[0]!r}).ents])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "['PERSON', 'GPE']\n"


def test_entities_are_the_segments_of_the_model(path: str, model: SemiCRF) -> None:
    nlp = pipeline(path)
    docs = [nlp(text) for text in NEW]
    answers = model.predict_confident(from_docs(docs, labelled=False))
    assert entities(docs[0]) == [(0, 2, "PERSON"), (4, 6, "GPE")]
    for doc, found in zip(docs, answers, strict=True):
        assert entities(doc) == [tuple(one.segment) for one in found]
        chances = [ent._.caesura_probability for ent in doc.ents]
        assert chances == pytest.approx([one.probability for one in found])
    assert nlp.pipe_labels["caesura"] == ["GPE", "PERSON"]


def test_batches_are_the_same_as_single_documents(path: str) -> None:
    nlp = pipeline(path)
    one = [entities(nlp(text)) for text in NEW * 9]
    for size in (1, 7, 1000):
        assert [entities(doc) for doc in nlp.pipe(NEW * 9, batch_size=size)] == one


def test_groups_of_spans(path: str) -> None:
    nlp = pipeline(path, spans_key="names")
    doc = nlp(NEW[0])
    group = doc.spans["names"]
    assert doc.ents == ()
    assert [(span.start, span.end, span.label_) for span in group] == entities(
        pipeline(path)(NEW[0])
    )
    assert list(group.attrs["scores"]) == [span._.caesura_probability for span in group]
    assert all(0.5 < score <= 1 for score in group.attrs["scores"])


def test_a_threshold_leaves_out_what_is_less_sure(path: str) -> None:
    sure = [ent._.caesura_probability for ent in pipeline(path)(NEW[0]).ents]
    between = sum(sure) / 2
    kept = pipeline(path, threshold=between)(NEW[0]).ents
    assert [ent._.caesura_probability for ent in kept] == [max(sure)]


def test_entities_that_are_there_stay_and_the_rest_follows(path: str) -> None:
    nlp = spacy.blank("en")
    rules: Any = nlp.add_pipe("entity_ruler")
    rules.add_patterns([{"label": "PERSON", "pattern": "New Zealand", "id": "ship"}])
    nlp.add_pipe("caesura", config={"model": path})
    doc = nlp(NEW[0])
    assert entities(doc) == [(0, 2, "PERSON"), (4, 6, "PERSON")]
    assert doc.ents[1].ent_id_ == "ship"
    assert doc.ents[1]._.caesura_probability is None
    rules.clear()
    rules.add_patterns([{"label": "VERB", "pattern": "Lund lives"}])  # not a label of the model
    assert (1, 3, "VERB") in entities(nlp(NEW[0]))
    nlp.replace_pipe("caesura", "caesura", config={"model": path, "overwrite": True})
    assert entities(nlp(NEW[0])) == [(0, 2, "PERSON"), (4, 6, "GPE")]


def test_a_model_may_cut_the_text_itself(tmp_path: Path) -> None:
    X = ["12a High Street", "7b Park Lane"]
    y = [[(0, 1, "number"), (1, 2, "letter"), (2, 4, "street")]] * 2
    model = SemiCRF(c2=0.1, tokeniser="parts").fit(X, y)
    model.save(tmp_path / "parts.model")
    nlp = pipeline(str(tmp_path / "parts.model"), tokens="model")
    doc = nlp("9c Elm Road")
    assert [ent.label_ for ent in doc.ents][-1] == "street"
    assert len(doc.ents) == 2  # number and letter are one token of spaCy: one of them is kept
    assert doc.ents[-1].text == "Elm Road"


def test_columns_are_attributes_of_tokens(tmp_path: Path) -> None:
    columns = {"low": "lower_"}
    features = [column("low")[0], lower[0], shape[0]]
    docs = from_docs(labelled(spacy.blank("en")), columns=columns)
    SemiCRF(features, c2=0.1).fit(docs).save(tmp_path / "low.model")
    doc = pipeline(str(tmp_path / "low.model"), columns=columns)(NEW[0])
    assert entities(doc)[-1] == (4, 6, "GPE")
    with pytest.raises(InvalidInput, match="low"):
        pipeline(str(tmp_path / "low.model"))(NEW[0])


def test_evaluation(path: str) -> None:
    for key in (None, "names"):
        nlp = pipeline(path, spans_key=key)
        docs = labelled(spacy.blank("en"), key)
        examples = [Example(nlp.make_doc(doc.text), doc) for doc in docs]
        scores = nlp.evaluate(examples)
        assert scores["ents_f" if key is None else "spans_names_f"] == 1.0


# -- files -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("way", ["disk", "bytes"])
def test_round_trips_need_no_model_file(model: SemiCRF, tmp_path: Path, way: str) -> None:
    file = tmp_path / "names.model"
    model.save(file)
    nlp = pipeline(str(file), threshold=0.01, spans_key="names")
    expected = [[*map(str, doc.spans["names"])] for doc in [nlp(text) for text in NEW]]
    if way == "disk":
        nlp.to_disk(tmp_path / "pipeline")
        file.unlink()
        again = spacy.load(tmp_path / "pipeline")
    else:
        data = nlp.to_bytes()
        again = spacy.blank("en")
        again.add_pipe("caesura")
        file.unlink()
        again.from_bytes(data)
    assert [[*map(str, doc.spans["names"])] for doc in [*again.pipe(NEW)]] == expected
    component: Any = again.get_pipe("caesura")
    assert (component.threshold, component.spans_key) == (0.01, "names")
    assert repr(component.model) == repr(nlp.get_pipe("caesura").model)
    nlp.initialize()  # as for other components, and the model stays
    assert len(nlp(NEW[0]).spans["names"]) == 2


# -- errors ----------------------------------------------------------------------------------------


def test_errors_say_what_to_do(path: str, tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match="caesura: got no model, expected the path"):
        spacy.blank("en").add_pipe("caesura")(Doc(spacy.blank("en").vocab, ["a"]))
    missing = str(tmp_path / "none.model")
    with pytest.raises(InvalidInput, match=r"caesura\.model: got '.*', expected the file of a"):
        pipeline(missing)("a")
    damaged = tmp_path / "damaged.model"
    damaged.write_bytes(Path(path).read_bytes()[:-1])
    with pytest.raises(InvalidInput, match="cut off"):
        pipeline(str(damaged))
    with pytest.raises(InvalidInput, match=r"threshold: got 1\.5, expected a probability"):
        pipeline(path, threshold=1.5)
    with pytest.raises(InvalidInput, match="tokens: got 'words', expected 'spacy' or 'model'"):
        pipeline(path, tokens="words")
    with pytest.raises(InvalidInput, match=r"columns: got .* expected none with tokens='model'"):
        pipeline(path, tokens="model", columns={"pos": "tag_"})


def test_spacy_decides_what_becomes_of_errors(path: str) -> None:
    nlp = pipeline(path)
    component: Any = nlp.get_pipe("caesura")
    component.columns = {"pos": "nothing"}
    with pytest.raises(InvalidInput, match="nothing"):
        nlp(NEW[0])
    seen: list[str] = []
    nlp.set_error_handler(lambda name, proc, docs, error: seen.append(f"{name}: {error}"))
    assert list(nlp.pipe(NEW, batch_size=2)) == []
    assert len(seen) == 3
    assert all("nothing" in one for one in seen)


def test_without_spacy_the_error_names_the_extra() -> None:
    code = "import sys; sys.modules['spacy'] = None\nimport caesura.spacy"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert "pip install 'caesura[spacy]'" in done.stderr


def test_a_model_that_is_given_needs_no_file(model: SemiCRF) -> None:
    nlp = spacy.blank("en")
    component = CaesuraComponent("names", model)
    assert entities(component(nlp(NEW[0]))) == [(0, 2, "PERSON"), (4, 6, "GPE")]


def test_a_component_without_its_model_has_no_attribute_model() -> None:
    """spaCy asks components with ``hasattr``, which passes on every error but AttributeError."""
    component = CaesuraComponent("caesura", model="no such file")
    assert not hasattr(component, "model")
    with pytest.raises(InvalidInput, match="expected the file of a model"):
        component.model  # noqa: B018
