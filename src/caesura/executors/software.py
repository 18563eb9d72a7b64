"""The software that all workers must share with the driver."""

from __future__ import annotations

import importlib.metadata
import platform

from caesura import _kernels
from caesura.errors import CaesuraError

__all__ = ["OtherSoftwareError", "check_software", "software"]


class OtherSoftwareError(CaesuraError):
    """Raised if the software versions of a worker and the driver differ."""


def software() -> tuple[str, ...]:
    """Return the versions and the instruction set that must agree on all machines.

    Examples
    --------
    >>> [line.split()[0] for line in software()[:2]]
    ['caesura', 'Python']
    """
    python = ".".join(platform.python_version_tuple()[:2])
    version = importlib.metadata.version("caesura")
    return (f"caesura {version}", f"Python {python}", f"{_kernels.name()} kernels")


def check_software(expected: tuple[str, ...], kernels: bool = True) -> None:
    """Raise if the software of this process differs from the driver's.

    Parameters
    ----------
    expected : tuple of str
        What `software` returns on the driver.
    kernels : bool
        Whether the instruction sets must be the same, too.

    Examples
    --------
    >>> check_software(software())
    """
    here = software()
    if not kernels:
        here, expected = here[:2], expected[:2]
    if here != expected:
        remedy = "install the same versions"
        if kernels:
            remedy += ", and set CAESURA_KERNELS=plain everywhere if not all machines have AVX2"
        raise OtherSoftwareError(
            place="executor",
            got=f"a worker with {', '.join(here)}",
            expected=f"{', '.join(expected)}, as on the driver",
            remedy=remedy,
        )
