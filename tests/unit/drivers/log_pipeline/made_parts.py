from __future__ import annotations

import json
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

import pandas as pd

from kafka_pareto.drivers.log_pipeline.filebeat_pair import AggregatorSettings, FilebeatPair
from kafka_pareto.drivers.log_pipeline.pipeline import Pipeline
from kafka_pareto.drivers.log_pipeline.programs import Programs
from kafka_pareto.drivers.log_pipeline.warehouse import Warehouse
from kafka_pareto.study.factors import FactorValue
from tests.unit.drivers.log_pipeline.light_run import DEFAULTS


@contextmanager
def made_pipeline(
    folder: Path,
    *,
    settings: Mapping[str, FactorValue] = DEFAULTS,
    aggregator: AggregatorSettings | None = None,
    trigger_ms: int = 0,
    at_the_end: str = "exit 0",
) -> Iterator[Pipeline]:
    """Open a pipeline of shell scripts with the output of the real parts; Spark runs `at_the_end`."""
    ready = folder / "ready"
    programs = Programs(
        python=_script(folder / "spark", at_the_end, """echo '{"ready": true}'"""),
        filebeat=_script(folder / "filebeat", "exit 0", f"touch {ready}"),
        aggregator=folder,
        collector=folder,
        spark_jars=folder,
        java=str(_script(folder / "java", "exit 0", """echo '{"ready": true, "port": 1}'""")),
    )
    asked = aggregator or AggregatorSettings("127.0.0.1:1", "logs")
    parts = folder / "parts"
    parts.mkdir()
    shipping = FilebeatPair(parts, programs, folder / "access.log", settings, asked)
    warehouse = Warehouse(
        parts / "warehouse", programs.python, folder, asked.bootstrap_servers, asked.topic, trigger_ms
    )
    with Pipeline(shipping, warehouse) as opened:
        while not ready.exists():
            opened.require_running()
            time.sleep(0.01)
        yield opened


def commit(folder: Path, rows: Sequence[int], exported: int | None = None) -> None:
    """Record batches as Spark does, and export a table of as many rows, or of `exported` ones."""
    warehouse = folder / "parts" / "warehouse"
    lines = [{"batch_id": number, "rows": each, "t6": 1, "t7": 2} for number, each in enumerate(rows)]
    (warehouse / "batches.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    table = pd.DataFrame({"request_id": [str(each) for each in range(sum(rows) if exported is None else exported)]})
    table.to_parquet(warehouse / "logs.parquet")


def _script(file: Path, at_the_end: str, begins: str) -> Path:
    file.write_text(f"#!/bin/sh\ntrap '{at_the_end}' TERM\n{begins}\nwhile :; do sleep 0.05; done\n")
    file.chmod(0o755)
    return file
