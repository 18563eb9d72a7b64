"""Spark's mapInArrow, which needs a JDK; ``make test-all`` runs it, ``make test`` does not."""

import shutil
import sys
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from caesura import SemiCRF, scale
from caesura.demo import addresses


@pytest.mark.filterwarnings("ignore")  # warnings of Spark itself
def test_map_in_arrow(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    if shutil.which("java") is None:
        pytest.skip("there is no java: Spark needs a JDK, version 17 or later")
    spark_sql: Any = pytest.importorskip("pyspark.sql", reason="pyspark is not installed")
    monkeypatch.setenv("PYSPARK_PYTHON", sys.executable)  # for the workers
    model = tmp_path / "addresses.model"
    SemiCRF(max_iterations=8).fit(addresses(40, seed=1)).save(model)
    texts = [document.text for document in addresses(50, seed=5)]
    rows = [(k, text) for k, text in enumerate([*texts, None])]
    add = scale.segment_batches(str(model))
    wanted = add(pa.table({"id": [k for k, _ in rows], "text": [text for _, text in rows]}))
    builder = spark_sql.SparkSession.builder.master("local[2]")
    settings = {"spark.ui.enabled": "false", "spark.driver.host": "127.0.0.1"}
    settings |= {"spark.driver.bindAddress": "127.0.0.1"}
    for name, value in settings.items():
        builder = builder.config(name, value)
    spark = builder.getOrCreate()
    try:
        fields = "label string, text string, start long, end long"
        schema = f"id long, text string, segments array<struct<{fields}>>"
        frame = spark.createDataFrame(rows, "id long, text string").repartition(3)
        found = frame.mapInArrow(add, schema).collect()
    finally:
        spark.stop()
    made = sorted((row.asDict(recursive=True) for row in found), key=lambda row: row["id"])
    assert made == wanted.to_pylist()
