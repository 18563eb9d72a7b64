"""Default features of a model."""

from __future__ import annotations

from collections.abc import Sequence

from caesura.documents import Document
from caesura.documents.characters import character_class
from caesura.features.columns import bias
from caesura.features.document_columns import attributes, dense
from caesura.features.enclosing import place_in
from caesura.features.presets import LENGTH, Features, ends_of, preset
from caesura.features.templates import Column

__all__ = ["default_for", "default_name"]


def default_for(documents: Sequence[Document], segments: bool = False) -> Features:
    """Return the default features for some documents.

    Parameters
    ----------
    documents : sequence of Document
        All documents, or a sample.
    segments : bool
        Whether a semi-CRF will use them.

    Returns
    -------
    list
        Attributes and dense numbers if the documents carry them; and if they have words, the preset
        chunking for those with a column pos, generic for others.  Documents of single characters
        get the preset words if these are of Chinese or Japanese, or have no text around them, and
        else generic with the words around characters.

    Examples
    --------
    >>> default_for([Document(("", ""), attributes=[["w=a"], ["w=b"]])])
    [attributes[0]]
    >>> default_for([Document(tuple("其中外企6个"))]) == preset("words")
    True
    """
    carried: list[Column] = []
    if any(document.attributes is not None for document in documents):
        carried.append(attributes)
    if any(document.dense is not None for document in documents):
        carried.append(dense)
    features: Features = []
    if carried:
        features = [one[0] for one in carried]
        # Numbers need an intercept, as those of one label may lie between those of two others.
        features += [bias[0]] if dense in carried else []
        features += [*ends_of(carried, near=False), LENGTH] if segments else []
    tokens = [token for document in documents for token in document.tokens]
    if carried and not any(tokens):
        return features
    return list(dict.fromkeys([*features, *_of_words(documents, tokens, segments)]))


def default_name(documents: Sequence[Document]) -> str | None:
    """Return the name of the default preset for some documents.

    Parameters
    ----------
    documents : sequence of Document
        All documents, or a sample.

    Returns
    -------
    str or None
        None if documents carry attributes or dense numbers, which are the features then.

    Examples
    --------
    >>> default_name([Document(("Ann", "came"))]), default_name([Document(tuple("其中外企6个"))])
    ('generic', 'words')
    """
    if any(one.attributes is not None or one.dense is not None for one in documents):
        return None
    tokens = [token for document in documents for token in document.tokens]
    return _preset_of(documents, tokens)[0]


def _of_words(documents: Sequence[Document], tokens: Sequence[str], segments: bool) -> Features:
    """Return the preset that suits the words of documents."""
    name, cut = _preset_of(documents, tokens)
    return preset(name, segments=segments, tokens=cut)


def _preset_of(documents: Sequence[Document], tokens: Sequence[str]) -> tuple[str, str]:
    """Return the name of the preset that suits the words of documents, and its tokens."""
    if tokens and sum(len(token) == 1 for token in tokens) > 0.8 * len(tokens):
        return ("generic", "characters") if _in_words(documents) else ("words", "words")
    if documents and all("pos" in document.columns for document in documents):
        return "chunking", "words"
    return "generic", "words"


def _in_words(documents: Sequence[Document]) -> bool:
    """Return whether character tokens form words of letters and digits."""
    inside = [
        character_class(token[0])
        for document in documents
        for token, (place,) in zip(document.tokens, place_in().of_document(document), strict=True)
        if place != "only"
    ]
    return sum(kind in ("letter", "number") for kind in inside) > 0.5 * len(inside)
