"""Send a user's file to a topic, for `make ingest`."""

from __future__ import annotations

import json
import math
import os
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import replace

from rich.console import Console
from rich.progress import BarColumn, Progress, TaskID, TextColumn, TimeRemainingColumn

from kafka_pareto.analysis.wording import counted
from kafka_pareto.drivers.common.all_topics_watch import AllTopicsWatch
from kafka_pareto.drivers.common.cluster_access import require_login
from kafka_pareto.drivers.common.cluster_mark import exclusive_load
from kafka_pareto.drivers.common.systems import missing_safeguards
from kafka_pareto.drivers.ingestion.file_ingestion import Arrived, FileIngestion
from kafka_pareto.drivers.ingestion.file_to_send import FileToSend
from kafka_pareto.drivers.ingestion.load import IngestionLoad
from kafka_pareto.drivers.ingestion.plain_csv import PlainCsv, plain_csv, size_if_plain
from kafka_pareto.drivers.ingestion.schema_registry import SchemaRegistry, is_on_this_machine
from kafka_pareto.errors import BadInputError, ClusterError, ConsentError, KafkaParetoError, LeaseHeldError
from kafka_pareto.kafka.cluster import Cluster
from kafka_pareto.measurement.own_topics import PREFIX
from kafka_pareto.settings import Settings
from kafka_pareto.storage.lease import Lease
from kafka_pareto.study.requests import IngestRequest
from kafka_pareto_embedded.bootstrap.preflight import find_java, state_folder
from kafka_pareto_embedded.lifecycle import lifecycle
from kafka_pareto_embedded.runs.lease_store import WAIT_S, lease_store
from kafka_pareto_embedded.terminal.display import duration
from kafka_pareto_embedded.terminal.reply import Reply

_MIB = 1 << 20
_GIB = 1 << 30
_ANSWERS_WITHIN_S = 5.0
_CALM_WITHIN_S = 120.0


def ingest(request: IngestRequest, settings: Settings, wait_s: float = WAIT_S) -> Reply:
    """Send the missing part of the file; print the progress; print and return the outcome.

    Args:
        request: The options.
        settings: Where Java and Kafka's jars are.
        wait_s: How long to wait for another load on the cluster to end.

    Raises:
        BadInputError: If file, topic or options cannot be used.
        ConsentError: If another cluster's owner has not agreed.
        ClusterError: If the cluster cannot be reached, or became unhealthy.
        LeaseHeldError: If another run sends to the topic, or another load runs on the cluster.
        LoadToolError: If rows could not be sent.
    """
    require_allowed_topic(request)
    delimiter = delimiter_of(request)
    settings = settings.model_copy(update={"java": find_java(os.environ) or settings.java})
    require_login_of(request)
    registry = registry_of(request)
    require_ceilings(request)
    stack = None if request.kafka else lifecycle.running()
    if stack is not None:
        require_consent_to_registry(request)
    servers = stack.bootstrap_servers if stack else request.kafka or ""
    folder = state_folder(os.environ) / "ingestions"
    with ExitStack() as opened:
        cluster = opened.enter_context(Cluster(servers, request.kafka_config, settings))
        if stack is None:
            require_consent(request, cluster)
        most_bytes = math.inf if request.ceiling_gib is None else request.ceiling_gib * _GIB
        plain = opened.enter_context(
            plain_csv(
                request.file,
                request.encoding,
                delimiter,
                folder,
                most_bytes,
                has_header=not request.no_header,
                as_utf8=request.values != "rows" or bool(request.key),
            )
        )
        opened.enter_context(_named(plain, request))
        if plain.notes:
            print(f"{request.file}: {'; '.join(plain.notes)}")
        wanted = replace(wanted_of(request, plain), registry=registry, most_bytes=most_bytes)
        wanted.value_schema()  # an unreadable one is reported before the file is read
        tool = IngestionLoad(servers, request.kafka_config, settings)
        ingestion = FileIngestion(cluster, tool, folder)
        load = exclusive_load(lease_store(), cluster, cluster.describe(), wait_s)
        with ingestion.alone(request.topic), load as lease, _progress() as shown:
            task = shown.add_task(f"Reading {request.file.name}", said="")
            begun = ingestion.begin(wanted, lambda read, of: shown.update(task, completed=read, total=of))
            watch = _watch(lease, None if stack else watch_of(cluster, request.topic))
            shown.reset(task, description=request.file.name, total=begun.bytes)
            arrived = ingestion.send(begun, wanted, lambda line: _show(shown, task, begun.bytes, line), watch)
            shown.update(task, completed=begun.bytes)
    print(said_of(arrived, request))
    return Reply(counts_of(arrived, request))


def require_allowed_topic(request: IngestRequest) -> None:
    """Refuse names of topics that campaigns create and delete."""
    if request.topic.startswith(PREFIX):
        raise BadInputError(
            f"TOPIC={request.topic}: names with {PREFIX} are reserved for topics that this tool creates and deletes"
        )


def delimiter_of(request: IngestRequest) -> str | None:
    """Return the delimiter; None to detect it.

    Raises:
        BadInputError: If it is invalid.
    """
    delimiter = "\t" if request.delimiter == "tab" else request.delimiter
    if delimiter is None:
        return None
    if len(delimiter) != 1 or not delimiter.isascii() or delimiter in '"\r\n\0':
        raise BadInputError(f"DELIMITER={request.delimiter}: must be one ASCII character other than a quote, or tab")
    return delimiter


def registry_of(request: IngestRequest) -> SchemaRegistry | None:
    """Return the schema registry; None for values without one.

    Raises:
        BadInputError: If an option is missing, superfluous or invalid.
    """
    if request.values == "rows" and request.value_schema is not None:
        raise BadInputError("SCHEMA: needs VALUES=json or VALUES=avro")
    if request.values != "avro":
        for name, given in (("REGISTRY", request.registry), ("REGISTRY_CONFIG", request.registry_config)):
            if given is not None:
                raise BadInputError(f"{name}: needs VALUES=avro")
        return None
    if request.registry is None:
        raise BadInputError("VALUES=avro: needs REGISTRY=http://host:port, where consumers find the schema")
    return SchemaRegistry.of(request.registry, request.registry_config)


def wanted_of(request: IngestRequest, plain: PlainCsv) -> FileToSend:
    """Return the file, the topic and the limits."""
    return FileToSend(
        file=plain.path,
        topic=request.topic,
        delimiter=plain.delimiter,
        encoding=plain.encoding if request.values == "rows" else request.values,
        key=request.key,
        schema=request.value_schema,
        partitions=request.partitions,
        most_mib_s=request.ceiling_mib_s or 0.0,
        name="" if plain.path == request.file else str(request.file),
        appends=request.append,
    )


@contextmanager
def _named(plain: PlainCsv, request: IngestRequest) -> Iterator[None]:
    """Put the user's name of the file into messages about its converted copy."""
    try:
        yield
    except KafkaParetoError as error:
        error.args = (str(error).replace(str(plain.path), str(request.file)),)
        raise


def require_login_of(request: IngestRequest) -> None:
    """Require that an existing cluster's `client.properties` is for its brokers and tunes no client.

    Raises:
        BadInputError: If it is not, cannot be read, or is given without a cluster.
    """
    if request.kafka_config is None:
        return
    if request.kafka is None:
        raise BadInputError("KAFKA_CONFIG: needs KAFKA=host:port,…, its cluster")
    require_login(request.kafka_config, request.kafka)


def require_ceilings(request: IngestRequest) -> None:
    """Require ceilings for an existing cluster, and print the plan.

    Raises:
        BadInputError: If a ceiling is missing, or the file is above it.
    """
    if request.kafka is None:
        return
    if request.ceiling_mib_s is None or request.ceiling_gib is None:
        raise BadInputError(
            "KAFKA: an existing cluster needs CEILING_MIB_S and CEILING_GIB, its limits on rate and volume"
        )
    size = size_if_plain(request.file, request.encoding)
    if size is None:
        print(
            f"plan: at most {request.ceiling_gib:g} GiB (size unknown before conversion) of {request.file} to topic "
            f"{request.topic} of {request.kafka}, at most {request.ceiling_mib_s:g} MiB/s; compressed in transit, and "
            "read back once"
        )
        return
    if size > request.ceiling_gib * _GIB:
        raise BadInputError(
            f"{request.file}: {size / _GIB:.2f} GiB, above CEILING_GIB={request.ceiling_gib:g}; raise the ceiling"
        )
    print(
        f"plan: {size / _GIB:.2f} GiB of {request.file} to topic {request.topic} of {request.kafka}, at most "
        f"{request.ceiling_mib_s:g} MiB/s, in about {duration(size / _MIB / request.ceiling_mib_s)}; compressed "
        "in transit, and read back once"
    )


def require_consent(request: IngestRequest, cluster: Cluster) -> None:
    """Add the unavailable safeguards to the plan, and require consent.

    Raises:
        ConsentError: If its owner has not agreed.
        ClusterError: If it cannot be reached.
    """
    for line in missing_safeguards(cluster, cluster.describe()):
        print(f"plan: {line}")
    if request.registry:
        print(_registry_plan(request))
    if not request.consent:
        raise ConsentError("an existing cluster needs your consent: read the plan, then add CONSENT=yes")


def require_consent_to_registry(request: IngestRequest) -> None:
    """Require consent to register a schema elsewhere than on this machine, for rows that go to the stack.

    Raises:
        ConsentError: If the registry's owner has not agreed.
    """
    if not request.registry or is_on_this_machine(request.registry):
        return
    print(_registry_plan(request))
    if not request.consent:
        raise ConsentError("a registry on another machine needs your consent: read the plan, then add CONSENT=yes")


def _registry_plan(request: IngestRequest) -> str:
    return f"plan: register the Avro schema {request.topic}-value at {request.registry}"


def _watch(lease: Lease, harm: Callable[[], None] | None) -> Callable[[], None]:
    """Return a check for every second; it ends the load if the lease was lost or harm is detected."""

    def stop_when_lost() -> None:
        if not lease.is_held():
            raise LeaseHeldError("the lease on the cluster was lost; to resume, run the same command again")
        if harm is not None:
            harm()

    return stop_when_lost


def watch_of(cluster: Cluster, topic: str) -> Callable[[], None]:
    """Return a check that ends the load if a topic is unhealthy or the cluster does not answer.

    Raises:
        ClusterError: If a topic was unhealthy before the load and does not recover.
    """
    others = AllTopicsWatch(cluster)
    others.wait_until_calm(_CALM_WITHIN_S)

    def stop_when_harmed() -> None:
        try:
            health = cluster.topic_health(topic, _ANSWERS_WITHIN_S)
            trouble = others.trouble() if health.is_healthy else health.reason
        except ClusterError as error:
            trouble = str(error)
        if trouble:
            raise ClusterError(
                f"ingestion stopped, since its load may be the cause: {trouble}; to resume, run the same command again"
            )

    return stop_when_harmed


def _progress() -> Progress:
    return Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        TextColumn("{task.fields[said]}"),
        TimeRemainingColumn(),
        console=Console(),
    )


def _show(shown: Progress, task: TaskID, file_bytes: int, line: str) -> None:
    """Show a line of the tool's progress; ignore other lines."""
    try:
        said = json.loads(line)
        seconds, rows, read = float(said["elapsed_s"]), int(said["rows_acknowledged"]), int(said["bytes_read"])
        before = file_bytes - int(said["bytes"])
    except (ValueError, KeyError, TypeError):
        return
    text = f"{rows:,} rows, {rows / seconds:,.0f} rows/s, {read / _MIB / seconds:,.1f} MiB/s" if seconds > 0 else ""
    shown.update(task, completed=before + read, said=text)


def counts_of(arrived: Arrived, request: IngestRequest) -> dict[str, str | int | float]:
    """Return the outcome for scripts: the rows sent by this run, and the rows in the topic in total."""
    output, held = arrived.output, arrived.held
    return {
        "file": str(request.file),
        "topic": request.topic,
        "rows_sent": output.rows_acknowledged,
        "elapsed_s": output.elapsed_s,
        "rows_in_topic": held.topic.rows if held.topic else 0,
        "rows_in_file": held.file.rows if held.file else 0,
        "malformed_rows": held.file.malformed if held.file else 0,
        "blank_lines": held.file.blank_lines if held.file else 0,
        "resumptions": output.resumptions,
    }


def said_of(arrived: Arrived, request: IngestRequest) -> str:
    """Describe the delivered rows, of this run and in total."""
    output, held = arrived.output, arrived.held
    rows = held.topic.rows if held.topic else 0
    in_file = held.file.rows if held.file else 0
    pace = output.rows_acknowledged / output.elapsed_s if output.elapsed_s > 0 else 0.0
    lines = [
        f"{output.rows_acknowledged:,} rows sent in {output.elapsed_s:.1f} s, {pace:,.0f} rows/s.",
        f"{rows:,} of {in_file:,} rows are in topic {request.topic}, verified by reading back their hashes.",
    ]
    if output.resumptions:
        times = "once" if output.resumptions == 1 else f"{output.resumptions} times"
        lines.append(f"The cluster lost rows that it had acknowledged, {times}; they were sent again.")
    if held.file and held.file.malformed:
        first = f"; the first: {output.first_malformed}" if output.first_malformed else ""
        lines.append(f"{counted(held.file.malformed, 'malformed row')} in {request.topic}.malformed{first}.")
    if held.file and held.file.blank_lines:
        lines.append(f"{counted(held.file.blank_lines, 'blank line')} skipped.")
    return "\n".join(lines)
