"""Attempt one repetition of an ingestion: send a file to an empty topic, read it back, and judge."""

from __future__ import annotations

import time
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Literal

import psutil

from kafka_pareto.analysis.wording import counted, share
from kafka_pareto.bottleneck.host_counters import HostCounters
from kafka_pareto.bottleneck.limiting_resource import LoadSetting, verdict_on
from kafka_pareto.bottleneck.load_counters import LoadCounters, LoadWindow
from kafka_pareto.campaign.records import Outcome
from kafka_pareto.drivers.ingestion import page_cache
from kafka_pareto.drivers.ingestion.load import CheckRequest, IngestionRequest
from kafka_pareto.drivers.ingestion.output import RowsFound
from kafka_pareto.drivers.ingestion.quantities import IngestionFigures, IngestionQuantities
from kafka_pareto.drivers.ingestion.sent import Sent, send_by_kafkas_tool, send_by_kcat, sent_by
from kafka_pareto.drivers.ingestion.studies import CompareIngestion
from kafka_pareto.drivers.ingestion.testbed import IngestionTestbed
from kafka_pareto.errors import LoadStartError, LoadToolError
from kafka_pareto.measurement.blocks import PlannedRepetition
from kafka_pareto.measurement.driver_runtime import Attempt
from kafka_pareto.measurement.host_load import cpu_fractions
from kafka_pareto.study.factors import Configuration

_GROWTH_DEADLINE_S = 15.0
_HARDLY_WAITED_FRACTION = 0.2


@dataclass(frozen=True)
class _Ended:
    """The outcome of an attempt: the rows sent, and the topic's content."""

    sent: Sent
    growth: int
    read_back: RowsFound | None
    counters: LoadCounters


def attempt_ingestion(planned: PlannedRepetition, study: CompareIngestion, testbed: IngestionTestbed) -> Attempt:
    """Send the file to the topic, read it back, and judge the outcome.

    Raises:
        ClusterError: If the cluster does not report the topic's content.
        PlanError: If there is no room for the file.
    """
    configuration = planned.candidate.configuration
    file = testbed.files.file_of(configuration)
    in_file = testbed.files.rows_of_level(configuration)
    started_at, cpu_before = datetime.now(UTC).isoformat(), psutil.cpu_times()
    ended: _Ended | None = None
    reason, is_excused = "", False
    began_s = time.monotonic()
    try:
        page_cache.prepare(file, str(study.effective(configuration)["page_cache"]))
        ended = _send_and_read_back(configuration, study, testbed, file, in_file)
    except LoadToolError as error:
        reason, is_excused = str(error), isinstance(error, LoadStartError)
    wall_s = time.monotonic() - began_s
    client_cpu_s = ended.sent.process_cpu_s if ended else 0.0
    steal, other = cpu_fractions(cpu_before, psutil.cpu_times(), client_cpu_s)
    outcome, judged = judge(ended.sent, ended.growth, ended.read_back, in_file) if ended else ("failed", reason)
    quantities = _quantities(ended, in_file, configuration, study) if ended else IngestionQuantities(in_file.rows)
    return Attempt(
        outcome=outcome,
        reason=judged,
        is_excused=is_excused,
        started_at=started_at,
        quantities=quantities.values(),
        wall_s=wall_s,
        client_cpu_s=client_cpu_s,
        cpu_steal_fraction=steal,
        other_cpu_fraction=other,
        client_is_known=ended is not None,
        timeline=ended.sent.timeline if ended else None,
    )


def send(
    configuration: Configuration,
    study: CompareIngestion,
    testbed: IngestionTestbed,
    file: Path,
    rows: int,
    warmup_rows: int,
) -> Sent:
    """Send a file of this many rows with the level's tool, after a warm-up of rows.

    Raises:
        LoadToolError: If the tool does not start, fails, or times out.
    """
    match study.effective(configuration)["path"]:
        case "kafka_tool":
            return send_by_kafkas_tool(testbed, study, configuration, file, rows, warmup_rows)
        case "kcat":
            return send_by_kcat(testbed, study, configuration, file, rows)
        case _:
            warmup = testbed.files.warmup_file(warmup_rows)
            return sent_by(testbed.tool.run(requests_for(configuration, study, testbed, file, warmup)))


def _send_and_read_back(
    configuration: Configuration, study: CompareIngestion, testbed: IngestionTestbed, file: Path, in_file: RowsFound
) -> _Ended:
    watched = HostCounters(None, testbed.brokers, testbed.addresses)
    began_s = time.time()
    with watched:
        sent = send(configuration, study, testbed, file, in_file.rows, study.protocol.warmup_rows)
    window = None if sent.ended_at_s is None else LoadWindow(sent.began_at_s - began_s, sent.ended_at_s - began_s)
    growth = testbed.cluster.wait_for_end_offset_growth(
        testbed.topic, 0, sent.rows_acknowledged + sent.warmup_rows, deadline_s=_GROWTH_DEADLINE_S
    )
    read_back = None
    if not sent.failure and sent.sends_the_files_rows:
        request = CheckRequest(study.protocol.timeout_s, topic=testbed.topic)
        read_back = testbed.tool.check(request).topic
    return _Ended(sent, growth - sent.warmup_rows, read_back, watched.counters(window))


def requests_for(
    configuration: Configuration, study: CompareIngestion, testbed: IngestionTestbed, file: Path, warmup: Path | None
) -> list[IngestionRequest]:
    """Return the ingestion's requests, one per process."""
    found = study.effective(configuration)
    request = IngestionRequest(
        file=file,
        topic=testbed.topic,
        properties=study.properties(configuration),
        timeout_s=study.protocol.timeout_s,
        delimiter=study.workload.delimiter,
        reader=str(found["reader"]),
        encoding=str(found["encoding"]),
        senders=str(found["senders"]),
        path=str(found["path"]),
        producers=int(found["producers"]),
        processes=int(found["processes"]),
        is_resumable=found["resumable"] == "true",
        tolerated_fraction=study.workload.tolerated_malformed_fraction,
        warmup_file=warmup,
        warmup_topic=testbed.warmup_topic,
    )
    return [replace(request, process=number) for number in range(request.processes)]


def judge(sent: Sent, growth: int, read_back: RowsFound | None, in_file: RowsFound) -> tuple[Outcome, str]:
    """Compare the tool's counts with the file and with the topic's content."""
    if sent.failure:
        return "failed", sent.failure
    if sent.rows_read != in_file.rows + sent.rows_malformed:
        return "failed", f"{sent.rows_read} of the file's {in_file.rows + in_file.malformed} rows were read"
    if growth < sent.rows_acknowledged:
        return (
            "records_lost",
            f"{sent.rows_acknowledged - growth} of {sent.rows_acknowledged} rows are not in the topic",
        )
    if growth > sent.rows_acknowledged:
        return (
            "records_duplicated",
            f"the topic has {counted(growth - sent.rows_acknowledged, 'record')} more than were sent",
        )
    if read_back is not None and read_back.hash != in_file.hash:
        return "failed", f"the topic's {read_back.rows} records differ from the file's rows"
    return "valid", ""


def _quantities(
    ended: _Ended, in_file: RowsFound, configuration: Configuration, study: CompareIngestion
) -> IngestionQuantities:
    sent, counters = ended.sent, ended.counters
    figures = sent.figures
    if figures is not None:
        cost_s = _broker_cpu_s_per_million_rows(sent, figures, counters)
        figures = replace(figures, broker_cpu_s_per_million_rows=cost_s)
    setting = load_setting(study, configuration)
    threads = setting.producers
    if figures is not None and figures.reading_cpu_s is not None:
        thread_s = threads * figures.elapsed_s
        blocked = min((figures.send_blocked_s or 0.0) / thread_s, 1.0)
        waited = max(1.0 - figures.reading_cpu_s / thread_s, blocked)
        counters = replace(
            counters,
            sending_cpu_cores=figures.reading_cpu_s / figures.elapsed_s,
            sending_wait_fraction=waited,
            buffer_wait_fraction=blocked,
        )
    read_back: Literal["equal", "different", "not_read"] = "not_read"
    if ended.read_back is not None:
        read_back = "equal" if ended.read_back.hash == in_file.hash else "different"
    found = IngestionQuantities(
        rows_in_file=in_file.rows,
        rows_read=sent.rows_read,
        rows_acknowledged=sent.rows_acknowledged,
        rows_malformed=sent.rows_malformed,
        end_offset_growth=ended.growth,
        rows_read_back=ended.read_back.rows if ended.read_back else None,
        read_back=read_back,
        figures=figures,
        generator_bound=_bound_by_reader(counters, threads),
        counters=counters,
    )
    return replace(found, limited_by=verdict_on(found.values(), setting).code)


def load_setting(study: CompareIngestion, configuration: Configuration) -> LoadSetting:
    """Return the values that decide the verdict on an ingestion."""
    found = study.effective(configuration)
    threads = int(found["producers"]) * int(found["processes"])
    return LoadSetting(1, study.properties(configuration), None, threads)


def _broker_cpu_s_per_million_rows(sent: Sent, figures: IngestionFigures, counters: LoadCounters) -> float | None:
    """Return the brokers' CPU time for the file alone, or for everything sent if the tool reports no times."""
    if sent.ended_at_s is None:
        rows = sent.rows_acknowledged + sent.warmup_rows
        return None if counters.broker_cpu_s is None else 1e6 * counters.broker_cpu_s / rows
    return None if counters.broker_cpu_cores is None else 1e6 * counters.broker_cpu_cores / figures.rows_s


def _bound_by_reader(counters: LoadCounters, threads: int) -> str:
    """Report a bottleneck in the reading threads if they hardly waited: they read, check, encode and compress."""
    waited = counters.sending_wait_fraction
    if waited is None or waited > _HARDLY_WAITED_FRACTION:
        return ""
    who = "the reading thread was" if threads == 1 else f"the {threads} reading threads were"
    return (
        f"{who} the bottleneck (reading, checking, encoding, compressing): {share(waited)} of the time was spent "
        "waiting"
    )
