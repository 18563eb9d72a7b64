"""Model files with a given or a temporary path."""

from __future__ import annotations

import os
import tempfile
import weakref
from pathlib import Path

from caesura.models.chain import ChainCRF

__all__ = ["ModelFile"]


class ModelFile:
    """The file that holds the model of a `CRF`.

    Without a name of its own the file is a temporary one: it is written when `name` is asked for,
    and removed when the `CRF` is fitted again or ceases to exist.

    Parameters
    ----------
    filename : path, optional
        A file that the user has named; it is left where it is.
    keep_tempfiles : bool
        Whether a temporary file stays.
    model : ChainCRF, optional
        What a temporary file holds; without it there is none.

    Attributes
    ----------
    auto : bool
        Whether the file is a temporary one.

    Examples
    --------
    >>> ModelFile().name is None, ModelFile("address.model").name
    (True, 'address.model')
    """

    def __init__(
        self,
        filename: str | os.PathLike[str] | None = None,
        keep_tempfiles: bool = False,
        model: ChainCRF | None = None,
    ) -> None:
        self.auto = not filename
        self.keep_tempfiles = keep_tempfiles
        self._filename, self._model = filename or None, model
        self._temporary: str | None = None
        self._remover: weakref.finalize[[str], ModelFile] | None = None

    @property
    def name(self) -> str | os.PathLike[str] | None:
        """The path of the file; None if it is a temporary one and there is no model."""
        self.ensure_name()
        return self._temporary if self.auto else self._filename

    def ensure_name(self) -> None:
        """Write the temporary file, unless it exists."""
        if not self.auto or self._model is None or self._temporary is not None:
            return
        handle, name = tempfile.mkstemp(".crfsuite", "model")
        os.close(handle)
        self._model.save(name)
        self._temporary = name
        if not self.keep_tempfiles:
            self._remover = weakref.finalize(self, _remove, name)

    def cleanup(self) -> None:
        """Remove the temporary file, unless it is to be kept."""
        if self._remover is not None:
            self._remover()
            self._remover, self._temporary = None, None

    def refresh(self) -> None:
        """Write the temporary file again, under a new name."""
        self.cleanup()
        if not self.keep_tempfiles:
            self.ensure_name()


def _remove(name: str) -> None:
    Path(name).unlink(missing_ok=True)
