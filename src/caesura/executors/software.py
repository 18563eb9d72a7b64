"""The software that all workers must share with the driver."""

from __future__ import annotations

import importlib.metadata
import platform

from caesura import _kernels
from caesura.errors import CaesuraError

__all__ = ["OtherSoftwareError", "check_software", "software"]


class OtherSoftwareError(CaesuraError):
    """A worker has other versions than the driver, so that its results would differ."""


def software() -> tuple[str, ...]:
    """Return what must be the same on all machines: versions, and the kernels' instructions.

    Examples
    --------
    >>> [line.split()[0] for line in software()[:2]]
    ['caesura', 'Python']
    """
    python = ".".join(platform.python_version_tuple()[:2])
    version = importlib.metadata.version("caesura")
    return (f"caesura {version}", f"Python {python}", f"{_kernels.name()} kernels")


def check_software(expected: tuple[str, ...]) -> None:
    """Raise if this process has other software than the driver.

    Examples
    --------
    >>> check_software(software())
    """
    here = software()
    if here != expected:
        raise OtherSoftwareError(
            f"executor: got a worker with {', '.join(here)}, expected {', '.join(expected)}, as on "
            "the driver; install the same versions, and set CAESURA_KERNELS=plain everywhere if "
            "not all machines have AVX2"
        )
