"""Measure how long a batch takes to commit, by the number of partitions that the Hive table already has.

    PYTHONPATH=.:include/kafka_pareto/drivers/log_pipeline/parts \
        .state/log-pipeline/venv/bin/python -m benchmarks.hive_commits

Each batch of the log pipeline is a partition. It is committed in two ways: as the pipeline does, whose statement does
not name the partition, and with the partition named. Runs in the log pipeline's environment, for some five minutes, and
writes `benchmarks/data/hive_commits.csv`.
"""

from __future__ import annotations

import csv
import random
import statistics
import tempfile
import time
from pathlib import Path
from typing import Any

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as sql

from warehouse.to_hive import open_session

FILE = Path(__file__).parent / "data" / "hive_commits.csv"
PARTITIONS = (0, 1_000, 2_000, 4_000)
COMMITS, ROWS = 15, 200
_JARS = Path(".state/log-pipeline/spark-jars")
_FILLED_AT_A_TIME = 500


def main() -> None:
    """Measure, write the CSV, and print the medians."""
    found: list[dict[str, Any]] = []
    with tempfile.TemporaryDirectory(prefix="kafka-pareto-", ignore_cleanup_errors=True) as folder:
        spark = open_session(Path(folder), _JARS.absolute())
        used = 0
        for partitions in PARTITIONS:
            while used < partitions:
                _fill(spark, used, min(_FILLED_AT_A_TIME, partitions - used))
                used = min(used + _FILLED_AT_A_TIME, partitions)
            ways = ["unnamed", "named"] * COMMITS
            random.Random(partitions).shuffle(ways)  # noqa: S311 (no secret)
            for place, way in enumerate(ways):
                seconds = _commit(spark, way, 1_000_000 + place)
                found.append({"partitions": partitions, "way": way, "seconds": round(seconds, 4)})
            for place in range(len(ways)):
                spark.sql(f"ALTER TABLE logs DROP PARTITION (batch_id = {1_000_000 + place})")
            print(f"{partitions:,} partitions", flush=True)
        spark.stop()
    with FILE.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, ["partitions", "way", "seconds"], lineterminator="\n")
        writer.writeheader()
        writer.writerows(found)
    for partitions in PARTITIONS:
        medians = [
            statistics.median(
                each["seconds"] for each in found if (each["partitions"], each["way"]) == (partitions, way)
            )
            for way in ("unnamed", "named")
        ]
        print(f"{partitions:6,} partitions: {medians[0]:.2f} s unnamed, {medians[1]:.2f} s named")


def _rows(spark: SparkSession, rows: int) -> DataFrame:
    """Return rows of the table, without their partition."""
    columns = [each for each in spark.table("logs").schema if each.name != "batch_id"]
    return spark.range(rows).select(*(sql.col("id").cast(each.dataType).alias(each.name) for each in columns))


def _fill(spark: SparkSession, first: int, partitions: int) -> None:
    rows = _rows(spark, partitions).withColumn("batch_id", sql.col("t0") + first)
    rows.coalesce(1).write.mode("overwrite").insertInto("logs")


def _commit(spark: SparkSession, way: str, batch_id: int) -> float:
    rows = _rows(spark, ROWS).coalesce(1)
    began = time.monotonic()
    if way == "unnamed":
        rows.withColumn("batch_id", sql.lit(batch_id).cast("bigint")).write.mode("overwrite").insertInto("logs")
    else:
        rows.createOrReplaceTempView("batch")
        spark.sql(f"INSERT OVERWRITE TABLE logs PARTITION (batch_id = {batch_id}) SELECT * FROM batch")  # noqa: S608
    return time.monotonic() - began


if __name__ == "__main__":
    main()
