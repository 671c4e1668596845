"""Holds what an ingestion has sent, by whichever tool, and adds up what several processes of it say. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import zip_longest

from kafka_pareto.campaign.records import Timeline
from kafka_pareto.drivers.ingestion.load import IngestionResult
from kafka_pareto.drivers.ingestion.output import IngestionOutput
from kafka_pareto.drivers.ingestion.quantities import IngestionFigures

_MIB = 1 << 20


@dataclass(frozen=True)
class Sent:
    """Holds what one repetition has sent.

    Attributes:
        failure: Why not all was sent; empty where it was.
        process_cpu_s: CPU time of the processes over their lives.
        began_at_s: When sending began, by the wall clock since 1970; None beside where the tool does not say.
        sends_the_files_rows: False of a tool that draws rows of the file by chance.
        warmup_rows: Rows of a warm-up that went to the topic itself.
        timeline: The pace in each slice of time; None of a tool that does not say.
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


def sent_by(results: Sequence[IngestionResult]) -> Sent:
    """Adds up what the processes of one ingestion say: they ran at the same time, each on its part of the file."""
    outputs = [result.output for result in results]
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
    """Returns the time from the first begin to the last end; a single process tells it more exactly than the clock."""
    if len(outputs) == 1:
        return outputs[0].elapsed_s
    return max(output.ended_at_s for output in outputs) - min(output.began_at_s for output in outputs)


def _timeline(outputs: Sequence[IngestionOutput], warmups: Sequence[IngestionOutput]) -> Timeline:
    """Adds up the processes' paces by slice: of the warm-up, from the first row of a new process, and of the file."""
    passes = {"cold_rows_s": warmups, "rows_s": outputs}
    series: dict[str, list[float | None]] = {
        name: [sum(paces) for paces in zip_longest(*(each.rows_s_by_slice for each in of_pass), fillvalue=0.0)]
        for name, of_pass in passes.items()
        if of_pass
    }
    return Timeline(slice_s=outputs[0].slice_s, done=[], latency_p95_ms=[], series=series)


def _late_over_early(paces: Sequence[float | None]) -> float | None:
    """Returns the mean pace of the second half of the slices over that of the first; None of less than two slices."""
    known, half = [pace or 0.0 for pace in paces], len(paces) // 2
    early = sum(known[:half])
    return sum(known[-half:]) / early if early else None


def _mean(values: Sequence[float]) -> float:
    return sum(values) / len(values)
