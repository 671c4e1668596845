"""Run the project's own load generator, `io.kafkapareto.LoadGenerator`: latency without coordinated omission."""

from __future__ import annotations

import math
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Literal, Self

from pydantic import Field, FiniteFloat, model_validator

from kafka_pareto.campaign.records import TimedLoad
from kafka_pareto.drivers.common.jvm_process import LoadProcess
from kafka_pareto.drivers.common.load_tool import (
    Amount,
    ClientMetrics,
    Count,
    Execution,
    LoadFigures,
    LoadRequest,
    LoadResult,
    MachineShare,
    Outcomes,
    ToolOutput,
    client_metrics,
    read_last_line,
)
from kafka_pareto.drivers.producer.clients import InstalledClient, installed
from kafka_pareto.drivers.producer.load_machines import ABSENT_S, MOST_START_SPREAD_MS, LoadMachines
from kafka_pareto.drivers.producer.warm_jvm import WarmLoadProcess
from kafka_pareto.drivers.producer.within_run_cv import latency_cv_in_run, throughput_cv_in_run
from kafka_pareto.errors import BadInputError, LoadMachineError, LoadToolError
from kafka_pareto.settings import Settings

MAIN_CLASS = "io.kafkapareto.LoadGenerator"
SERVER_CLASS = "io.kafkapareto.LoadServer"
LONGEST_SETTLING_S = 5.0

_US_PER_MS = 1_000
_THROTTLED = "produce-throttle-time-max"
_COUNTED_IN_ALL_PARTS = ("buffer-exhausted-total", "record-retry-total")


class Part(Outcomes):
    """One part of a load; with several producers, counts and times of the sending threads are summed."""

    part: Literal["unthrottled", "paced"]
    warmup_attempted: Count
    warmup_acknowledged: Count
    sending_cpu_s: Amount
    answer_wait_s: Amount = 0.0
    start_spread_ms: Amount = 0.0
    client_metrics: dict[str, FiniteFloat]

    @model_validator(mode="after")
    def _adds_up(self) -> Self:
        if sum(self.window_records) != self.acknowledged:
            raise ValueError("the windows must contain as many records as were acknowledged")
        measured = self.latency_us is not None and self.latency_from_send_us is not None and self.elapsed_s > 0
        if measured != (self.acknowledged > 0):
            raise ValueError("latencies and a time must be present exactly if records were acknowledged")
        return self


class WriteBack(ToolOutput):
    """Time that the machine had between the parts to write back data of the first, and whether it finished."""

    waited_s: Amount
    settled: bool


class Machine(ToolOutput):
    """One load machine's contribution; its acknowledged records by part."""

    address: str
    cores: Annotated[FiniteFloat, Field(gt=0)]
    process_cpu_s: Amount
    acknowledged: Annotated[list[Count], Field(min_length=1)]


class GeneratorOutput(ToolOutput):
    """The generator's output: its parts in order of sending, the unthrottled one first.

    A JVM that stays adds its CPU time since its last answer; that of one that ends is known to its parent. If a load
    machine was lost or is unfit, there is only its address with the reason.
    """

    parts: Annotated[list[Part], Field(max_length=2)] = Field(default_factory=list)
    write_back: WriteBack | None = None
    process_cpu_s: Amount | None = None
    machines: list[Machine] = Field(default_factory=list)
    lost_machine: str = ""
    unfit_machine: str = ""

    @model_validator(mode="after")
    def _each_part_once(self) -> Self:
        if (self.lost_machine or self.unfit_machine) and not self.parts:
            return self
        if [part.part for part in self.parts] not in (["unthrottled"], ["paced"], ["unthrottled", "paced"]):
            raise ValueError("the parts must be an unthrottled one, a paced one, or both in this order")
        return self


class LoadGenerator:
    """Run the generator as a load tool, for `timed` requests; a part of 0 seconds is skipped.

    Every load gets its own JVM or, with `keeps_jvm`, one warm JVM of each client version serves them all until the
    context ends. Loads then need little warm-up, except the first of a JVM.

    If the machine runs brokers too, data they have written stays in memory for half a minute and would be written back
    during a later phase. So the machine is made to write it back before the paced phase begins.
    """

    def __init__(
        self,
        bootstrap_servers: str,
        client_config: Path | None,
        settings: Settings,
        *,
        has_brokers: bool = False,
        keeps_jvm: bool = False,
        machines: LoadMachines | None = None,
        cluster_id: str = "",
    ) -> None:
        # Load machines could only write back their own data.
        self._settle_s = LONGEST_SETTLING_S if has_brokers and machines is None else 0.0
        self._main_class = SERVER_CLASS if keeps_jvm else MAIN_CLASS
        self._kind = WarmLoadProcess if keeps_jvm else LoadProcess
        # Load machines log in by themselves: this machine's login is not sent to them.
        self._cluster = bootstrap_servers, None if machines else client_config
        self._machines, self._cluster_id = machines, cluster_id
        self._settings = settings
        self._processes: dict[InstalledClient, LoadProcess] = {}

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """End the warm JVMs; the next load starts another."""
        with ExitStack() as closing:
            for process in self._processes.values():
                closing.callback(process.close)

    def run(self, request: LoadRequest, watch: Callable[[], None] | None = None) -> LoadResult:
        """Run one timed load."""
        client = installed(request, self._settings)
        process = self._process_of(client)
        # One producer's heap is enough here to merge what load machines report.
        here = request if self._machines is None else replace(request, producers=1)
        jvm_warmup_s = process.jvm_warmup_s(here)
        timed = warmed_up_for(timed_within_limit(request), jvm_warmup_s)
        options = generator_options(request, timed, self._settle_s) + _library_options(client)
        here = replace(here, timeout_s=request.timeout_s + self._settle_s + jvm_warmup_s)
        if self._machines is not None:
            each = replace(request, producers=math.ceil(request.producers / len(self._machines.addresses)))
            options += self._machines.options(each.heap_mib, self._cluster_id)
            here = replace(here, timeout_s=here.timeout_s + ABSENT_S)
        try:
            return process.run(
                self._main_class, options, here, watch, lambda ended: load_result(ended, timed, request.producers)
            )
        except LoadMachineError:
            process.close()  # a machine that comes back has a cold JVM; the first load of our next one warms both
            raise

    def _process_of(self, client: InstalledClient) -> LoadProcess:
        """Return the process of a client version, since a JVM has one version only."""
        if client not in self._processes:
            self._processes[client] = self._kind(*self._cluster, self._settings, client.jars)
        return self._processes[client]


def _library_options(client: InstalledClient) -> list[str]:
    return [] if client.librdkafka is None else ["--librdkafka", str(client.librdkafka)]


def warmed_up_for(timed: TimedLoad, seconds: float) -> TimedLoad:
    """Return the timed load with a warm-up of at least this many seconds before its first part."""
    first = "warmup_s" if timed.seconds > 0 else "paced_warmup_s"
    return timed.model_copy(update={first: max(getattr(timed, first), seconds)})


def generator_options(request: LoadRequest, timed: TimedLoad, settle_s: float = 0.0) -> list[str]:
    """List the generator's own options, without its file of producer properties."""
    options = ["--topic", request.topic, "--record-size", str(request.record_size_bytes), "--keys", str(request.keys)]
    if request.payload_file is not None:
        options += ["--sample" if request.is_sampled else "--payload-file", str(request.payload_file)]
    elif request.made_payload != "random":
        options += ["--payload", request.made_payload]
    if request.producers != 1:
        options += ["--producers", str(request.producers)]
    if request.throughput_records_s is not None:
        options += ["--max-rate", str(request.throughput_records_s)]
    if settle_s:
        options += ["--settle-seconds", str(settle_s)]
    options += ["--warmup-seconds", str(timed.warmup_s), "--seconds", str(timed.seconds)]
    options += ["--paced-warmup-seconds", str(timed.paced_warmup_s), "--paced-seconds", str(timed.paced_seconds)]
    options += ["--paced-rate", str(timed.paced_rate_records_s)]
    options += ["--synchronous"] if request.sends == "synchronous" else []
    return options if request.arrival == "constant" else [*options, "--arrival", request.arrival]


def load_result(ended: Execution, timed: TimedLoad, producers: int = 1) -> LoadResult:
    """Translate the last line of the generator, for this many producers, into the result all load tools share.

    Raises:
        BadInputError: If a load machine is not fit for any load.
        LoadMachineError: If a load machine was lost, or their starts were too far apart.
        LoadToolError: If it is not the generator's JSON, or its numbers do not add up.
    """
    output = read_last_line(ended.output, GeneratorOutput, "the load generator")
    if output.unfit_machine:
        raise BadInputError(f"load machine {output.unfit_machine}")
    if output.lost_machine:
        raise LoadMachineError(f"load machine {output.lost_machine}")
    fastest, paced = output.parts[0], output.parts[-1]
    failures = [each for part in output.parts for each in part.failures.items()]
    failure = next((f"{reason} ({records} record{'s' if records > 1 else ''})" for reason, records in failures), "")
    spread_ms = max(part.start_spread_ms for part in output.parts)
    if not failure and spread_ms > MOST_START_SPREAD_MS:  # a failed record is a failure, whenever sending began
        raise LoadMachineError(
            f"the load machines' starts were up to {spread_ms:.2f} ms apart, more than {MOST_START_SPREAD_MS:g} ms"
        )
    result = LoadResult(
        records_attempted=sum(part.warmup_attempted + part.attempted for part in output.parts),
        records_sent=sum(part.warmup_acknowledged + part.acknowledged for part in output.parts),
        figures=None if failure else _figures(fastest, paced, timed),
        client=_client(output),
        wall_s=ended.wall_s,
        client_cpu_s=sum(each.process_cpu_s for each in output.machines) if output.machines else ended.cpu_s,
        other_cpu_s_here=ended.cpu_s if output.machines else 0.0,
        errors=failure or ended.complaint,
        paced_records_unsent=0 if failure else paced.planned - paced.attempted,
        settling_s=output.write_back.waited_s if output.write_back else 0.0,
        is_settled=output.write_back is None or output.write_back.settled,
        machines=tuple(
            MachineShare(each.address, each.cores, each.process_cpu_s, each.acknowledged[0]) for each in output.machines
        ),
    )
    if fastest.part != "unthrottled":
        return result
    client = replace(client_metrics(fastest.client_metrics), answer_wait_s=fastest.answer_wait_s)
    # Counted from the end, since a JVM starts more slowly on a busy machine.
    paced_s = timed.paced_warmup_s + paced.elapsed_s if paced is not fastest else 0.0
    began_s = ended.wall_s - paced_s - result.settling_s - fastest.elapsed_s
    # Threads wait in `send()` for buffer space, and after the last `send()` for outstanding answers.
    answers_s = producers * max(fastest.elapsed_s - fastest.sending_s, 0.0)
    return replace(
        result,
        unthrottled_s=fastest.sending_s,
        unthrottled_sent_records_s=fastest.acknowledged / fastest.sending_s if fastest.sending_s > 0 else None,
        sending_cpu_s=fastest.sending_cpu_s,
        unthrottled_wait_s=None if client.buffer_wait_s is None else client.kafka_wait_s + answers_s,
        unthrottled_client=client,
        unthrottled_began_s=max(began_s, 0.0),
    )


def timed_within_limit(request: LoadRequest) -> TimedLoad:
    """Return the timed load with its fixed rate lowered to the request's ceiling."""
    timed, limit = request.timed, request.throughput_records_s
    if timed is None or (timed.seconds <= 0 and timed.paced_seconds <= 0):
        raise LoadToolError("the load generator sends for a given time; set seconds, not records")
    if timed.paced_seconds > 0 and timed.paced_rate_records_s <= 0:
        raise LoadToolError(f"the load generator cannot send at a fixed rate of {timed.paced_rate_records_s} records/s")
    if limit is None or timed.paced_rate_records_s <= limit:
        return timed
    return timed.model_copy(update={"paced_rate_records_s": limit})


def _figures(fastest: Part, paced: Part, timed: TimedLoad) -> LoadFigures | None:
    """Take throughput from the first part, and latency and both CVs from the last.

    With both parts, the unthrottled phase's latencies have names of their own.
    """
    latency, from_send = paced.latency_us, paced.latency_from_send_us
    unthrottled = fastest.latency_from_send_us if fastest is not paced else None
    is_paced = paced.part == "paced"
    if not fastest.acknowledged or latency is None or from_send is None:
        return None
    return LoadFigures(
        throughput_records_s=fastest.acknowledged / fastest.elapsed_s,
        latency_avg_ms=latency.mean / _US_PER_MS,
        latency_max_ms=latency.max / _US_PER_MS,
        latency_p50_ms=latency.p50 / _US_PER_MS,
        latency_p95_ms=latency.p95 / _US_PER_MS,
        latency_p99_ms=latency.p99 / _US_PER_MS,
        latency_p999_ms=latency.p999 / _US_PER_MS,
        latency_p9999_ms=latency.p9999 / _US_PER_MS,
        latency_from_send_p95_ms=from_send.p95 / _US_PER_MS,
        latency_cv_in_run=latency_cv_in_run(latency.model_dump()),
        throughput_cv_in_run=throughput_cv_in_run(paced.window_records, paced.window_ms, paced.sending_s),
        paced_rate_asked_records_s=timed.paced_rate_records_s if is_paced else None,
        paced_rate_records_s=paced.acknowledged / paced.elapsed_s if is_paced else None,
        unthrottled_latency_p50_ms=unthrottled.p50 / _US_PER_MS if unthrottled else None,
        unthrottled_latency_p95_ms=unthrottled.p95 / _US_PER_MS if unthrottled else None,
        unthrottled_latency_p99_ms=unthrottled.p99 / _US_PER_MS if unthrottled else None,
        unthrottled_latency_p999_ms=unthrottled.p999 / _US_PER_MS if unthrottled else None,
    )


def _client(output: GeneratorOutput) -> ClientMetrics:
    """Take the client metrics of the last part, but count errors and throttling over all parts."""

    def in_all_parts(name: str) -> list[float]:
        return [part.client_metrics[name] for part in output.parts if name in part.client_metrics]

    found = dict(output.parts[-1].client_metrics)
    found |= {name: sum(in_all_parts(name)) for name in _COUNTED_IN_ALL_PARTS if in_all_parts(name)}
    if throttled_ms := in_all_parts(_THROTTLED):
        found[_THROTTLED] = max(throttled_ms)
    return replace(client_metrics(found), answer_wait_s=output.parts[-1].answer_wait_s)
