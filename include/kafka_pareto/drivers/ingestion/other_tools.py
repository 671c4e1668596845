"""Sends a file's rows by the tools that people have already: Kafka's own load tool, and kcat."""

from __future__ import annotations

import os
import resource
import shutil
import subprocess
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from kafka_pareto.brokers.processes import tied
from kafka_pareto.drivers.common.load_tool import LoadRequest
from kafka_pareto.drivers.ingestion.quantities import IngestionFigures
from kafka_pareto.drivers.ingestion.sent import Sent
from kafka_pareto.drivers.ingestion.studies import CompareIngestion
from kafka_pareto.drivers.ingestion.testbed import IngestionTestbed
from kafka_pareto.errors import LoadStartError, LoadToolError
from kafka_pareto.kafka.known_properties import DEFAULTS, PropertyValue
from kafka_pareto.study.factors import Configuration

_MIB = 1 << 20
# It holds the file as one text, as a text for each line, and as the bytes of each; an estimate with room to spare.
HEAP_PER_FILE_BYTE = 10
_KIB = 1 << 10


@dataclass(frozen=True)
class _WholeFileRequest(LoadRequest):
    """Describes a load of Kafka's tool that keeps a whole file in its heap."""

    @property
    def heap_mib(self) -> int:
        """Returns the heap that it needs, in MiB."""
        file_bytes = self.payload_file.stat().st_size if self.payload_file else 0
        return super().heap_mib + HEAP_PER_FILE_BYTE * file_bytes // _MIB


def send_by_kafkas_tool(
    testbed: IngestionTestbed,
    study: CompareIngestion,
    configuration: Configuration,
    file: Path,
    rows: int,
    warmup_rows: int,
) -> Sent:
    """Sends as many records as the file has rows, each a line of the file that the tool draws by chance.

    It reads the file before it begins, and counts from its first `send()` after the warm-up to its last
    acknowledgement. The records of the warm-up go to the same topic.

    Raises:
        LoadToolError: If the tool does not start, ends with an error, or runs out of time.
    """
    result = testbed.kafkas_tool.run(
        _WholeFileRequest(
            topic=testbed.topic,
            records=rows + warmup_rows,
            warmup_records=warmup_rows,
            record_size_bytes=1,
            properties=study.properties(configuration),
            timeout_s=study.protocol.timeout_s,
            payload_file=file,
        )
    )
    figures = None
    if result.figures is not None and result.records_sent:
        pace = result.figures.throughput_records_s
        figures = IngestionFigures(
            elapsed_s=rows / pace,
            rows_s=pace,
            batch_bytes=result.client.batch_size_avg_bytes,
            compression_ratio=result.client.compression_rate_avg,
            records_per_request=result.client.records_per_request_avg,
            send_blocked_s=result.client.buffer_wait_s,
            retries=result.client.record_retries,
            produce_throttle_max_ms=result.client.produce_throttle_max_ms,
        )
    sent = result.records_sent - warmup_rows
    failure = "" if sent == rows else f"{sent} of {rows} rows were sent: {result.errors}"
    return Sent(
        *(rows, sent, 0, failure, figures, result.client_cpu_s), sends_the_files_rows=False, warmup_rows=warmup_rows
    )


def kcat_properties(properties: Mapping[str, PropertyValue]) -> dict[str, str]:
    """Returns what a producer's properties are called by librdkafka, which kcat is built on."""
    found = {**DEFAULTS, **properties}
    return {
        "acks": str(found["acks"]),
        "enable.idempotence": str(found["enable.idempotence"]).lower(),
        "batch.size": str(max(int(found["batch.size"]), 1)),
        "batch.num.messages": "1000000",
        "linger.ms": str(found["linger.ms"]),
        "compression.codec": str(found["compression.type"]),
        "queue.buffering.max.kbytes": str(max(int(found["buffer.memory"]) // _KIB, 1)),
        "queue.buffering.max.messages": "10000000",
    }


def send_by_kcat(
    testbed: IngestionTestbed, study: CompareIngestion, configuration: Configuration, file: Path, rows: int
) -> Sent:
    """Sends the file's lines, the header left out, by kcat; its time is that of its process.

    Raises:
        LoadStartError: If this machine has no kcat.
        LoadToolError: If it ends with an error, or runs out of time.
    """
    kcat = shutil.which("kcat")
    if kcat is None:
        raise LoadStartError("this machine has no kcat")
    options = [f"-X{name}={value}" for name, value in kcat_properties(study.properties(configuration)).items()]
    argv = tied([kcat, "-q", "-P", "-b", testbed.tool.bootstrap_servers, "-t", testbed.topic, *options])
    environment = {"PATH": os.environ.get("PATH", ""), "LC_ALL": "C"}
    before, began_at_s = resource.getrusage(resource.RUSAGE_CHILDREN), time.time()
    with file.open("rb", buffering=0) as lines:  # kcat goes on where the header was read to, and no buffer is ahead
        lines.readline()
        try:
            ended = subprocess.run(
                argv,
                stdin=lines,
                capture_output=True,
                timeout=study.protocol.timeout_s,
                check=False,
                env=environment,
            )
        except subprocess.TimeoutExpired as error:
            raise LoadToolError(f"kcat did not end within {error.timeout:g} s (protocol.timeout_s)") from error
    ended_at_s, after = time.time(), resource.getrusage(resource.RUSAGE_CHILDREN)
    if ended.returncode:
        raise LoadToolError(
            f"kcat ended with exit code {ended.returncode}: {ended.stderr.decode(errors='replace')[:300]}"
        )
    cpu_s = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    elapsed_s = ended_at_s - began_at_s
    figures = IngestionFigures(
        elapsed_s=elapsed_s, rows_s=rows / elapsed_s, client_cpu_s_per_million_rows=1e6 * cpu_s / rows
    )
    return Sent(rows, rows, 0, "", figures, cpu_s, began_at_s, ended_at_s)
