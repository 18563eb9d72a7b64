"""scikit-learn's protocol of estimators by duck typing: scikit-learn is never imported first."""

from __future__ import annotations

import html
import inspect
import sys
from typing import Any, Self

from caesura.errors import InvalidInput, message

__all__ = ["Parameters"]


class Parameters:
    """The arguments of `__init__` as parameters of an estimator."""

    @classmethod
    def parameter_names(cls) -> list[str]:
        """Return the names of the parameters, in the order of `__init__`."""
        return [name for name in inspect.signature(cls.__init__).parameters if name != "self"]

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Return the parameters by name, as scikit-learn asks for them."""
        return {name: getattr(self, name) for name in self.parameter_names()}

    def set_params(self, **params: Any) -> Self:
        """Set parameters by name."""
        known = self.parameter_names()
        for name in params:
            if name not in known:
                expected = f"one of {', '.join(known)}"
                raise InvalidInput(message("parameter", name, expected, "correct its name"))
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
        """Say whether a meta-estimator of scikit-learn passes sample_weight on to `fit`.

        Parameters
        ----------
        sample_weight : bool, str or None
            True: it does. False: it does not. A string: it does with what is given to it by this
            name. None: it is an error if weights are given.
        """
        from sklearn.utils.metadata_routing import MetadataRequest

        request = MetadataRequest(owner=type(self).__name__)
        request.fit.add_request(param="sample_weight", alias=sample_weight)
        self._metadata_request = request  # `clone` keeps an attribute of this name
        return self

    def get_metadata_routing(self) -> Any:
        """Return what scikit-learn's routing of metadata asks for."""
        if not hasattr(self, "_metadata_request"):
            self.set_fit_request()
        return self._metadata_request

    def __repr__(self) -> str:
        defaults = inspect.signature(type(self).__init__).parameters
        changed = [
            f"{name}={value!r}"
            for name, value in self.get_params().items()
            if not _equal(value, defaults[name].default)
        ]
        return f"{type(self).__name__}({', '.join(changed)})"

    def _repr_html_(self) -> str:
        """Return what a notebook shows: scikit-learn's diagram where it is loaded, else a text."""
        draw = getattr(sys.modules.get("sklearn.utils"), "estimator_html_repr", None)
        try:
            return str(draw(self)) if draw else _preformatted(self)
        except Exception:  # a version of scikit-learn that asks for more than this protocol
            return _preformatted(self)


def _preformatted(estimator: object) -> str:
    return f"<pre>{html.escape(repr(estimator))}</pre>"


def _equal(value: Any, default: Any) -> bool:
    """Say whether a parameter has its default value; arrays are never defaults."""
    return value is default or (type(value) is type(default) and bool(value == default))
