"""scikit-learn's estimator protocol by duck typing, without importing scikit-learn."""

from __future__ import annotations

import inspect
from collections.abc import Sequence
from typing import Any, Self

from caesura.errors import InvalidInput, counted, message
from caesura.notebooks import card, facts, label_names, table

__all__ = ["Parameters"]

MOST_VALUE = 200  # characters of a parameter's value in a notebook
MOST_TEXT = 400  # characters of a parameter's value in the text of a fitted model


class Parameters:
    """The arguments of `__init__` as parameters of an estimator."""

    @classmethod
    def parameter_names(cls) -> list[str]:
        """Return the names of the parameters, in the order of `__init__`."""
        return [name for name in inspect.signature(cls.__init__).parameters if name != "self"]

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Return the parameters by name, as in scikit-learn."""
        return {name: getattr(self, name) for name in self.parameter_names()}

    def set_params(self, **params: Any) -> Self:
        """Set parameters by name."""
        known = self.parameter_names()
        for name in params:
            if name not in known:
                expected = f"one of {', '.join(known)}"
                raise InvalidInput(message("parameter", name, expected, "pass one of these names"))
        for name, value in params.items():
            setattr(self, name, value)
        return self

    def __sklearn_tags__(self) -> Any:
        from sklearn.utils import InputTags, Tags, TargetTags

        return Tags(
            estimator_type=None,
            target_tags=TargetTags(required=False),
            input_tags=InputTags(two_d_array=False, string=True),
        )

    def set_fit_request(self, *, sample_weight: bool | str | None = None) -> Self:
        """Set whether scikit-learn's meta-estimators pass sample_weight to `fit`.

        Parameters
        ----------
        sample_weight : bool, str or None
            True: `fit` receives weights. False: it does not. A string: it receives those that are
            passed under this name. None: it is an error if weights are passed.
        """
        from sklearn.utils.metadata_routing import MetadataRequest

        request = MetadataRequest(owner=type(self).__name__)
        request.fit.add_request(param="sample_weight", alias=sample_weight)
        self._metadata_request = request  # `clone` copies this attribute
        return self

    def get_metadata_routing(self) -> Any:
        """Return the metadata request of scikit-learn's metadata routing."""
        if not hasattr(self, "_metadata_request"):
            self.set_fit_request()
        return self._metadata_request

    def __repr__(self) -> str:
        # Before `fit`, the text can be evaluated.
        return self._described(None if self._found_labels() is None else MOST_TEXT)

    def __str__(self) -> str:
        return self._described(MOST_TEXT)

    def _described(self, most: int | None) -> str:
        """Return the settings, and the size of a fitted model, with values of limited length."""
        defaults = inspect.signature(type(self).__init__).parameters
        labels = self._found_labels()
        changed = [
            f"{name}={_short(value, most)}"
            for name, value in self.get_params().items()
            if not _equal(value, defaults[name].default)
        ]
        called = f"{type(self).__name__}({', '.join(changed)})"
        if labels is None:
            return called
        sizes = f"{counted(len(labels), 'label')}, {counted(self._weight_count(), 'weight')}"
        return f"<fitted {called}: {sizes}>"

    def _found_labels(self) -> list[str] | None:
        """Return the labels of a fitted model; None before fitting."""
        return getattr(self, "labels_", None)

    def _weight_count(self) -> int:
        """Return the number of weights of a fitted model."""
        return int(getattr(self, "n_features_", 0))

    def _repr_html_(self) -> str:
        """Show labels, size, training and settings in a notebook."""
        labels, given = self._found_labels(), self.get_params()
        defaults = inspect.signature(type(self).__init__).parameters
        changed = {n for n, value in given.items() if not _equal(value, defaults[n].default)}
        rows = [(name, _short(value)) for name, value in given.items()]
        own = [row for row in rows if row[0] in changed]
        rest = [row for row in rows if row[0] not in changed]
        parts = [table("", [("setting", "value"), *own])] if own else []
        listed = table("", [("setting", "value"), *rest])
        parts.append(f"<details><summary>defaults</summary>{listed}</details>")
        name = type(self).__name__
        if labels is None:
            return card(f"{name}, not fitted", *parts)
        known = {"labels": f"{len(labels):,}", "weights": f"{self._weight_count():,}"}
        known |= _training(getattr(self, "history_", []), getattr(self, "status_", ""))
        return card(f"{name}, fitted", facts(known), label_names(labels), *parts)


def _training(history: Sequence[Any], status: str) -> dict[str, str]:
    """Return a summary of the training of a model."""
    if not history:
        return {"status": status} if status else {}
    last = history[-1]
    known = {"iterations": f"{last.iteration:,} ({status})", "seconds": f"{last.seconds:.1f}"}
    scores = [one.dev_score for one in history if one.dev_score is not None]
    return known | ({"F1 on development data": f"{max(scores):.3f}"} if scores else {})


def _short(value: Any, most: int | None = MOST_VALUE) -> str:
    text = repr(value)
    return text if most is None or len(text) <= most else text[: most - 1] + "…"


def _equal(value: Any, default: Any) -> bool:
    """Return whether a parameter has its default value; arrays never do."""
    return value is default or (type(value) is type(default) and bool(value == default))
