"""Paths and URLs of files and folders: local, or through fsspec.

fsspec is imported for URLs only.  What is written to a URL is written to a temporary file first,
and uploaded whole: object stores replace an object at once, elsewhere a renaming does.
"""

from __future__ import annotations

import contextlib
import errno
import glob
import os
import posixpath
import secrets
import tempfile
from collections.abc import Iterator
from typing import IO, Any
from urllib.parse import unquote

from caesura.corpora.files import writing
from caesura.errors import CaesuraError, InvalidInput, MissingPackage, message

__all__ = ["exists", "is_url", "joined", "listed", "matching", "opened_bytes", "plain", "put_text"]
__all__ += ["read_text", "refreshed", "remove", "state", "written_to"]

# URL schemes of stores where an upload replaces an object atomically; elsewhere files are renamed.
OBJECT_STORES = {"s3", "s3a", "gs", "gcs", "az", "abfs", "abfss", "adl", "oss", "oci", "memory"}


def plain(path: str | os.PathLike[str]) -> str:
    """Return a path or a URL; a file URL becomes its path.

    Examples
    --------
    >>> plain("file:///tmp/a.txt"), plain("s3://bucket/a.txt")
    ('/tmp/a.txt', 's3://bucket/a.txt')
    """
    name = os.fspath(path)
    if not name.startswith("file://"):
        return name
    return unquote(name.removeprefix("file://").removeprefix("localhost"))


def is_url(path: str) -> bool:
    """Return whether a name is a URL.

    Examples
    --------
    >>> is_url("s3://bucket/a.txt"), is_url("C:/a.txt")
    (True, False)
    """
    return "://" in path


def joined(folder: str, name: str) -> str:
    """Return the place of a file in a folder.

    Examples
    --------
    >>> joined("s3://bucket/out/", "a.jsonl")
    's3://bucket/out/a.jsonl'
    """
    return f"{folder.rstrip('/')}/{name}" if is_url(folder) else os.path.join(folder, name)


def _system(url: str) -> tuple[Any, str]:
    """Return the file system of a URL, and the path in it."""
    scheme = url.partition("://")[0]
    try:
        from fsspec.core import url_to_fs
    except ImportError:
        raise MissingPackage("fsspec", "cloud", f"a {scheme}:// URL") from None
    try:
        found: tuple[Any, str] = url_to_fs(url)
    except ImportError as error:
        raise CaesuraError(
            f"{scheme}:// needs another package ({error})",
            place=url,
            remedy="run pip install 'caesura[cloud]' for s3://, or install that package",
        ) from None
    except ValueError as error:
        expected = "a URL of a protocol that fsspec knows, as s3://"
        raise InvalidInput(
            message("paths", url, expected, f"check the protocol ({error})")
        ) from None
    return found


@contextlib.contextmanager
def _naming(url: str) -> Iterator[None]:
    """Name the URL in errors of its file system."""
    try:
        yield
    except CaesuraError:
        raise
    except OSError as error:
        if error.filename is not None:
            raise
        kinds = {FileNotFoundError: errno.ENOENT, PermissionError: errno.EACCES}
        code = next((kinds[kind] for kind in kinds if isinstance(error, kind)), errno.EIO)
        raise OSError(code, str(error) or os.strerror(code), url) from error
    except Exception as error:  # each store has its own exceptions
        raise CaesuraError(
            f"{type(error).__name__}: {error}",
            place=url,
            remedy="check the URL and its permissions",
        ) from error


def refreshed(path: str) -> None:
    """Clear the listing cache of a file system."""
    if is_url(path):
        _system(path)[0].invalidate_cache()


def matching(pattern: str) -> list[str]:
    """Return the files that match a path or URL with wildcards, sorted."""
    pattern = plain(pattern)
    if not glob.has_magic(pattern):
        return [pattern]
    if not is_url(pattern):
        return sorted(glob.glob(pattern))
    with _naming(pattern):
        system, name = _system(pattern)
        system.invalidate_cache()
        found = system.glob(name, detail=True)
        files = sorted(one for one, about in found.items() if about["type"] != "directory")
        return [str(system.unstrip_protocol(one)) for one in files]


def state(path: str) -> dict[str, Any]:
    """Return the size of a file, and a value that changes with its content."""
    if not is_url(path):
        about = os.stat(path)
        return {"size": about.st_size, "time": about.st_mtime_ns}
    with _naming(path):
        system, name = _system(path)
        return {"size": system.info(name)["size"], "key": system.ukey(name)}


def exists(path: str) -> bool:
    """Return whether there is such a file."""
    if not is_url(path):
        return os.path.exists(path)
    with _naming(path):
        system, name = _system(path)
        return bool(system.exists(name))


def listed(folder: str) -> list[str]:
    """Return the names of the files in a folder; none if it does not exist."""
    with _naming(folder), contextlib.suppress(FileNotFoundError):
        if not is_url(folder):
            return sorted(os.listdir(folder))
        system, name = _system(folder)
        return sorted(posixpath.basename(one) for one in system.ls(name, detail=False))
    return []


def opened_bytes(path: str) -> Any:
    """Open a file to read bytes."""
    if not is_url(path):
        return open(path, "rb")
    with _naming(path):
        system, name = _system(path)
        return system.open(name, "rb")


def read_text(path: str) -> str:
    """Return the content of a small file."""
    file: IO[bytes]
    with opened_bytes(path) as file:
        return file.read().decode()


def remove(path: str) -> None:
    """Remove a file, if there is one."""
    with _naming(path), contextlib.suppress(FileNotFoundError):
        if is_url(path):
            system, name = _system(path)
            system.rm_file(name)
        else:
            os.unlink(path)


@contextlib.contextmanager
def written_to(path: str) -> Iterator[str]:
    """Yield a local path, whose file is moved into place once complete.

    A path of this machine is yielded as it is: what writes there does that itself.
    """
    if not is_url(path):
        yield path
        return
    with tempfile.TemporaryDirectory(prefix="caesura-") as folder:
        local = os.path.join(folder, posixpath.basename(path))
        yield local
        with _naming(path):
            _upload(local, path)


def _upload(local: str, url: str) -> None:
    """Upload a file atomically."""
    system, name = _system(url)
    if url.partition("://")[0] in OBJECT_STORES:
        system.put_file(local, name)
        return
    folder, base = posixpath.split(name)
    system.makedirs(folder, exist_ok=True)
    beside = f"{folder}/.{base}.{secrets.token_hex(8)}"
    system.put_file(local, beside)
    system.mv(beside, name)


def put_text(path: str, text: str) -> None:
    """Write a small file atomically."""
    with written_to(path) as local, writing(local) as file:
        file.write(text)
