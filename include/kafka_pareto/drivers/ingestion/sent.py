"""Record a finished send, and send a file with existing tools: Kafka's performance tool and kcat."""

from __future__ import annotations

import os
import resource
import shutil
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import zip_longest
from pathlib import Path

from kafka_pareto.campaign.records import Timeline
from kafka_pareto.drivers.common.child_process import run_to_end
from kafka_pareto.drivers.common.load_tool import LoadRequest
from kafka_pareto.drivers.ingestion.output import IngestionOutput
from kafka_pareto.drivers.ingestion.quantities import IngestionFigures
from kafka_pareto.drivers.ingestion.studies import CompareIngestion
from kafka_pareto.drivers.ingestion.testbed import IngestionTestbed
from kafka_pareto.errors import LoadStartError
from kafka_pareto.kafka.known_properties import DEFAULTS, PropertyValue
from kafka_pareto.study.factors import Configuration

_MIB = 1 << 20
# The tool keeps the file as one text, as a text per line, and as bytes per line; a generous estimate.
HEAP_PER_FILE_BYTE = 10
_KIB = 1 << 10


@dataclass(frozen=True)
class Sent:
    """The data sent by one repetition.

    Attributes:
        failure: Why rows were not sent; empty if all were.
        process_cpu_s: CPU time of the processes over their lives.
        began_at_s: Start of sending, in wall-clock seconds since 1970; None if the tool does not report it.
        sends_the_files_rows: False for a tool that draws random rows of the file.
        warmup_rows: Rows of a warm-up in the same topic.
        timeline: The rate in each slice of time; None if the tool does not report it.
    """

    rows_read: int
    rows_acknowledged: int
    rows_malformed: int
    failure: str
    figures: IngestionFigures | None
    process_cpu_s: float
    began_at_s: float = 0.0
    ended_at_s: float | None = None
    sends_the_files_rows: bool = True
    warmup_rows: int = 0
    timeline: Timeline | None = None


def sent_by(outputs: Sequence[IngestionOutput]) -> Sent:
    """Combine the outputs of one ingestion's processes, which ran in parallel on parts of the file."""
    sinks = [sink for output in outputs for sink in output.sinks]
    rows = sum(output.rows_acknowledged for output in outputs)
    requests = sum(sink.requests for sink in sinks)
    sent_bytes = sum(sink.sent_bytes for sink in sinks)
    values_bytes = sum(output.bytes_acknowledged for output in outputs)
    elapsed_s = _elapsed_s(outputs)
    warmups = [output.warmup for output in outputs if output.warmup]
    allocated = [output.allocated_bytes for output in outputs]
    cpu_s = sum(output.cpu_s for output in outputs)
    timeline = _timeline(outputs, warmups)
    figures = None
    if rows and elapsed_s > 0:
        figures = IngestionFigures(
            elapsed_s=elapsed_s,
            rows_s=rows / elapsed_s,
            cold_rows_s=sum(warmup.rows_acknowledged for warmup in warmups) / _elapsed_s(warmups) if warmups else None,
            late_over_early=_late_over_early(timeline.series["rows_s"]),
            values_mib_s=values_bytes / _MIB / elapsed_s,
            wire_mib_s=sent_bytes / _MIB / elapsed_s,
            wire_bytes_per_row=sent_bytes / rows,
            jvm_start_s=max(first.jvm_start_s for first in warmups or outputs),
            reading_cpu_s=sum(output.reading_cpu_s for output in outputs),
            client_cpu_s_per_million_rows=1e6 * cpu_s / rows,
            allocated_bytes_per_row=None if None in allocated else sum(filter(None, allocated)) / rows,
            collections=sum(output.collections for output in outputs),
            collection_s=sum(output.collection_s for output in outputs),
            compilation_s=sum(output.compilation_s for output in outputs),
            batch_bytes=_mean([sink.batch_bytes for sink in sinks]),
            compression_ratio=_mean([sink.compression_ratio for sink in sinks]),
            records_per_request=rows / requests if requests else None,
            requests=requests,
            send_blocked_s=sum(sink.blocked_s for sink in sinks),
            retries=sum(sink.retries for sink in sinks),
            produce_throttle_max_ms=max(sink.throttle_max_ms for sink in sinks),
        )
    return Sent(
        rows_read=sum(output.rows_read for output in outputs),
        rows_acknowledged=rows,
        rows_malformed=sum(output.rows_malformed for output in outputs),
        failure=next((output.failure for output in outputs if output.failure), ""),
        figures=figures,
        process_cpu_s=cpu_s + sum(warmup.cpu_s for warmup in warmups),
        began_at_s=min(output.began_at_s for output in outputs),
        ended_at_s=max(output.ended_at_s for output in outputs),
        timeline=timeline,
    )


def _elapsed_s(outputs: Sequence[IngestionOutput]) -> float:
    """Return the time from the first start to the last end; a single process measures it better than the clock."""
    if len(outputs) == 1:
        return outputs[0].elapsed_s
    return max(output.ended_at_s for output in outputs) - min(output.began_at_s for output in outputs)


def _timeline(outputs: Sequence[IngestionOutput], warmups: Sequence[IngestionOutput]) -> Timeline:
    """Add up the processes' rates by slice: of the warm-up, from a new process's first row, and of the file."""
    passes = {"cold_rows_s": warmups, "rows_s": outputs}
    series: dict[str, list[float | None]] = {
        name: [sum(paces) for paces in zip_longest(*(each.rows_s_by_slice for each in of_pass), fillvalue=0.0)]
        for name, of_pass in passes.items()
        if of_pass
    }
    return Timeline(slice_s=outputs[0].slice_s, done=[], latency_p95_ms=[], series=series)


def _late_over_early(paces: Sequence[float | None]) -> float | None:
    """Return the mean rate of the second half of the slices over that of the first; None for fewer than two slices."""
    known, half = [pace or 0.0 for pace in paces], len(paces) // 2
    early = sum(known[:half])
    return sum(known[-half:]) / early if early else None


def _mean(values: Sequence[float]) -> float:
    return sum(values) / len(values)


@dataclass(frozen=True)
class _WholeFileRequest(LoadRequest):
    """A run of Kafka's tool, which keeps a whole file in its heap."""

    @property
    def heap_mib(self) -> int:
        """Return the heap it needs, in MiB."""
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
    """Send as many records as the file has rows, each a random line of the file.

    The tool reads the file before it begins, and counts from its first `send()` after the warm-up to its last
    acknowledgement. Warm-up records go to the same topic.

    Raises:
        LoadToolError: If the tool does not start, fails, or times out.
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
    """Return a producer's properties under the names of librdkafka, kcat's client."""
    found = {**DEFAULTS, **properties}
    return {
        "acks": str(found["acks"]),
        "enable.idempotence": str(found["enable.idempotence"]).lower(),
        "batch.size": str(max(int(found["batch.size"]), 1)),
        "message.max.bytes": str(min(max(int(found["max.request.size"]), 1_000), 1_000_000_000)),
        "batch.num.messages": "1000000",
        "linger.ms": str(found["linger.ms"]),
        "compression.codec": str(found["compression.type"]),
        "queue.buffering.max.kbytes": str(max(int(found["buffer.memory"]) // _KIB, 1)),
        "queue.buffering.max.messages": "10000000",
    }


def send_by_kcat(
    testbed: IngestionTestbed, study: CompareIngestion, configuration: Configuration, file: Path, rows: int
) -> Sent:
    """Send the file's lines without the header by kcat; the time is that of the process.

    Raises:
        LoadStartError: If kcat is not installed.
        LoadToolError: If it fails or times out.
    """
    kcat = shutil.which("kcat")
    if kcat is None:
        raise LoadStartError("kcat is not installed")
    options = [f"-X{name}={value}" for name, value in kcat_properties(study.properties(configuration)).items()]
    argv = [kcat, "-q", "-P", "-b", testbed.tool.bootstrap_servers, "-t", testbed.topic, *options]
    environment = {"PATH": os.environ.get("PATH", ""), "LC_ALL": "C"}
    before, began_at_s = resource.getrusage(resource.RUSAGE_CHILDREN), time.time()
    with file.open("rb", buffering=0) as lines:  # unbuffered, so kcat continues right after the header
        lines.readline()
        run_to_end("kcat", argv, environment, study.protocol.timeout_s, stdin=lines)
    ended_at_s, after = time.time(), resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu_s = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    elapsed_s = ended_at_s - began_at_s
    figures = IngestionFigures(
        elapsed_s=elapsed_s, rows_s=rows / elapsed_s, client_cpu_s_per_million_rows=1e6 * cpu_s / rows
    )
    return Sent(rows, rows, 0, "", figures, cpu_s, began_at_s, ended_at_s)
