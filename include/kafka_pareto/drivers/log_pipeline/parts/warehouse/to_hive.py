"""Load a Kafka topic of log events into a Hive table with Spark Structured Streaming, and export the table.

    python -m warehouse.to_hive --folder … --jars … --bootstrap-servers … --topic … [--trigger-ms 1000]

It prints JSON lines: `{"ready": true}` once it follows the topic, and `{"exported": rows}` at the end. SIGTERM to this
process alone lets the running batch finish; then the table is exported.

The folder holds Hive's `warehouse` and `metastore`, the stream's `checkpoint`, `batches.jsonl` with a line per
committed batch (`{"batch_id": 3, "rows": 120, "t6": …, "t7": …}`; the last line of a repeated batch counts), and
finally `logs.parquet`. After a SIGKILL the stream resumes from its checkpoint. It repeats at most the last batch, which
replaces that batch's rows.
"""

from __future__ import annotations

import fcntl
import json
import os
import shutil
import signal
import sys
import time
from argparse import ArgumentParser, Namespace
from contextlib import suppress
from pathlib import Path
from threading import Event, Lock
from typing import Any

from py4j.protocol import Py4JError
from pyspark.errors import PySparkException
from pyspark.sql import Column, DataFrame, Observation, SparkSession
from pyspark.sql import functions as sql
from pyspark.sql.streaming import StreamingQuery

_LOOK_S = 0.1
_METASTORE_FREE_S = 60.0
_COMMITTED_S = 10.0
_ENDED_S = 30.0
_KEPT_CHARACTERS = 200

_SENT = (
    "request_id STRING, t0 BIGINT, t1 BIGINT, t2 BIGINT, t3 BIGINT, t4 BIGINT, status INT, method STRING, uri STRING, "
    "bytes BIGINT, session STRING, request_ms DOUBLE, malformed STRING"
)
_NEVER_MISSING = ("request_id", "t0", "t1", "t2", "t3", "t4")
_TABLE = """
CREATE TABLE IF NOT EXISTS logs (
  request_id STRING, t0 BIGINT, t1 BIGINT, t2 BIGINT, t3 BIGINT, t4 BIGINT, t5 BIGINT, t6 BIGINT,
  status INT, method STRING, uri STRING, bytes BIGINT, session STRING, request_ms DOUBLE, malformed STRING,
  kafka_partition INT, kafka_offset BIGINT
) PARTITIONED BY (batch_id BIGINT) STORED AS PARQUET
"""


def now_ms() -> int:
    """Return the milliseconds since 1970, rounded down."""
    return time.time_ns() // 1_000_000


def say(line: dict[str, Any]) -> None:
    """Write a JSON line to standard output."""
    sys.stdout.write(json.dumps(line) + "\n")
    sys.stdout.flush()


def open_session(folder: Path, jars: Path) -> SparkSession:
    """Start Spark with one core, 1 GiB of heap and a Hive metastore in the folder; `jars` has the Kafka connector."""
    temporary = folder / "tmp"
    temporary.mkdir(parents=True, exist_ok=True)
    _wait_for_metastore(folder / "metastore")
    java_options = [f"-Djava.io.tmpdir={temporary}", f"-Dderby.stream.error.file={folder}/derby.log"]
    settings = {
        "spark.driver.memory": "1g",
        "spark.driver.host": "127.0.0.1",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.driver.extraClassPath": f"{jars}/*",
        "spark.driver.extraJavaOptions": " ".join(f'"{each}"' for each in java_options),
        "spark.local.dir": str(temporary),
        "spark.sql.session.timeZone": "UTC",
        "spark.sql.shuffle.partitions": "1",
        # The default one starts several processes per file on a local disk.
        "spark.sql.streaming.checkpointFileManagerClass": (
            "org.apache.spark.sql.execution.streaming.FileSystemBasedCheckpointFileManager"
        ),
        "spark.sql.warehouse.dir": str(folder / "warehouse"),
        # An overwrite replaces only the partitions it writes to.
        "spark.sql.sources.partitionOverwriteMode": "dynamic",
        "spark.hadoop.hive.exec.dynamic.partition.mode": "nonstrict",
        "spark.hadoop.javax.jdo.option.ConnectionURL": f"jdbc:derby:;databaseName={folder}/metastore;create=true",
        "spark.hadoop.hive.exec.scratchdir": str(temporary / "hive"),
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
    }
    builder = SparkSession.builder.master("local[1]").appName("to_hive").enableHiveSupport()
    for name, value in settings.items():
        builder = builder.config(name, value)
    spark = builder.getOrCreate()
    spark.sparkContext.setLogLevel("WARN")
    spark.sql(_TABLE)
    return spark


def _wait_for_metastore(metastore: Path) -> None:
    """Wait until no other JVM has the metastore open: a JVM outlives its killed Python process for a moment.

    Raises:
        TimeoutError: If it does not end in time.
    """
    lock = metastore / "dbex.lck"  # locked by Derby while it runs
    deadline = time.monotonic() + _METASTORE_FREE_S
    while lock.exists():
        with lock.open("r+b") as handle, suppress(OSError):
            fcntl.lockf(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return
        if time.monotonic() > deadline:
            raise TimeoutError(f"{metastore}: another process has had it open for a minute; stop that process")
        time.sleep(_LOOK_S)


class Loader:
    """Loads the topic into the table, batch by batch, until `stopping` is set."""

    def __init__(self, spark: SparkSession, options: Namespace, stopping: Event) -> None:
        self._spark = spark
        self._options = options
        self._stopping = stopping
        self._batches_file: Path = options.folder / "batches.jsonl"
        self._running = Lock()
        self._reporting = Lock()
        self._is_ready = False
        self._last = -1

    def run(self) -> None:
        """Follow the topic until stopped."""
        query = self._start()
        while not self._stopping.wait(_LOOK_S):
            if not query.isActive:
                query.awaitTermination()
            if str(query.status["message"]).startswith("Waiting"):  # for data, or for the next trigger
                self._report_ready()
        with self._running:  # the running batch has ended, and further ones fail
            pass
        self._wait_until_in_checkpoint(query)
        query.stop()

    def _start(self) -> StreamingQuery:
        records = (
            self._spark.readStream.format("kafka")
            .option("kafka.bootstrap.servers", self._options.bootstrap_servers)
            .option("subscribe", self._options.topic)
            .option("startingOffsets", "earliest")
            .load()
        )
        return (
            records.writeStream.foreachBatch(self._load)
            .option("checkpointLocation", str(self._options.folder / "checkpoint"))
            .trigger(processingTime=f"{self._options.trigger_ms} milliseconds")
            .start()
        )

    def _load(self, records: DataFrame, batch_id: int) -> None:
        """Load a batch; Spark calls this from its own thread, and again with the same records after a failure."""
        with self._running:
            if self._stopping.is_set():
                raise RuntimeError("the loader is stopping")
            self._report_ready()
            self._delay_if_planted("batch")
            t6 = now_ms()
            counted = Observation()
            rows = _rows(records, t6, batch_id).coalesce(1).observe(counted, sql.count(sql.lit(1)).alias("rows"))
            # Replaces the batch's partition, so repeating a batch adds no duplicates.
            rows.write.mode("overwrite").insertInto("logs")
            self._delay_if_planted("commit")
            t7 = now_ms()  # before the row count, which may have to wait for Spark
            self._keep({"batch_id": batch_id, "rows": counted.get["rows"], "t6": t6, "t7": t7})
            self._last = batch_id

    def _report_ready(self) -> None:
        with self._reporting:
            if not self._is_ready:
                self._is_ready = True
                say({"ready": True})

    def _keep(self, line: dict[str, Any]) -> None:
        """Append a line to the record of batches, synced to disk."""
        with self._batches_file.open("a") as file:
            file.write(json.dumps(line) + "\n")
            file.flush()
            os.fsync(file.fileno())

    def _delay_if_planted(self, place: str) -> None:
        if self._options.planted_at == place:
            time.sleep(self._options.planted_delay_ms / 1000)

    def _wait_until_in_checkpoint(self, query: StreamingQuery) -> None:
        """Wait until the checkpoint has the last batch, which would otherwise be repeated."""
        deadline = time.monotonic() + _COMMITTED_S
        while query.isActive and self._last >= 0 and time.monotonic() < deadline:
            progress = query.lastProgress
            if progress is not None and progress["batchId"] >= self._last:
                return
            time.sleep(_LOOK_S)


def _rows(records: DataFrame, t6: int, batch_id: int) -> DataFrame:
    """Return records as rows of the table.

    If a value lacks a required field, the column `malformed` gets its first 200 characters, unless an earlier part has
    filled it.
    """
    text = sql.decode("value", "UTF-8")
    sent = records.select("partition", "offset", "timestamp", text.alias("text")).withColumn(
        "sent", sql.from_json("text", _SENT)
    )
    is_event: Column = sql.lit(True)
    for name in _NEVER_MISSING:
        is_event &= sql.col(f"sent.{name}").isNotNull()
    malformed = sql.coalesce("sent.malformed", sql.substring("text", 1, _KEPT_CHARACTERS), sql.lit(""))
    return sent.select(
        *(f"sent.{name}" for name in _NEVER_MISSING),
        sql.expr("unix_millis(timestamp)").alias("t5"),
        sql.lit(t6).cast("bigint").alias("t6"),
        *(f"sent.{name}" for name in ("status", "method", "uri", "bytes", "session", "request_ms")),
        sql.when(is_event, sql.col("sent.malformed")).otherwise(malformed).alias("malformed"),
        sql.col("partition").alias("kafka_partition"),
        sql.col("offset").alias("kafka_offset"),
        sql.lit(batch_id).cast("bigint").alias("batch_id"),
    )


def export(spark: SparkSession, folder: Path) -> int:
    """Write the table to `logs.parquet` in the folder and return its number of rows."""
    parts, file = folder / "export", folder / "logs.parquet"
    spark.sql("SELECT * FROM logs").coalesce(1).write.mode("overwrite").parquet(str(parts))
    (part,) = parts.glob("part-*.parquet")
    part.replace(file)
    shutil.rmtree(parts)
    return int(spark.read.parquet(str(file)).count())


def _end(spark: SparkSession) -> None:
    """Stop Spark and wait for its JVM, which ends once its standard input is closed."""
    jvm = spark.sparkContext._gateway.proc
    spark.stop()
    jvm.stdin.close()
    jvm.wait(_ENDED_S)


def main() -> None:
    """Run the command."""
    parser = ArgumentParser(prog="python -m warehouse.to_hive", description="Loads a Kafka topic into a Hive table.")
    parser.add_argument("--folder", type=Path, required=True, help="folder for all output")
    parser.add_argument("--jars", type=Path, required=True, help="folder with Spark's Kafka connector")
    parser.add_argument("--bootstrap-servers", required=True)
    parser.add_argument("--topic", required=True)
    parser.add_argument(
        "--trigger-ms", type=int, default=0, help="interval between batches; 0 starts the next one immediately"
    )
    parser.add_argument("--planted-delay-ms", type=float, default=0.0, help="delay of each batch, for tests")
    parser.add_argument(
        "--planted-at",
        choices=("batch", "commit"),
        default="batch",
        help="place of the delay: before t6 (batch) or t7 (commit)",
    )
    options = parser.parse_args()
    options.folder = options.folder.absolute()
    stopping = Event()
    signal.signal(signal.SIGTERM, lambda *_: stopping.set())
    try:
        spark = open_session(options.folder, options.jars.absolute())
        Loader(spark, options, stopping).run()
        say({"exported": export(spark, options.folder)})
        _end(spark)
    except (PySparkException, Py4JError, OSError) as error:
        sys.exit(f"error: {str(error).splitlines()[0]}")


if __name__ == "__main__":
    main()
