"""The options of each command. Imports little, so that a command starts at once."""

from __future__ import annotations

from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal, Self

from pydantic import Field, model_validator

from kafka_pareto.errors import BadInputError
from kafka_pareto.kafka.producer_settings import ProducerClient
from kafka_pareto.study.cases import CASE
from kafka_pareto.study.identifiers import CAMPAIGN_ID, STUDY_NAME
from kafka_pareto.study.options import (
    CAMPAIGN_HELP,
    LIST,
    STUDY_HELP,
    Approval,
    ClusterOptions,
    DesignOptions,
    Move,
    Options,
    Reason,
    RecordSizes,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from kafka_pareto.kafka.client_rules import ClientName
    from kafka_pareto.kafka.user_settings import ClientFile

_Count = Annotated[int, Field(gt=0)]
_Amount = Annotated[float, Field(gt=0, allow_inf_nan=False)]
ResultForm = Literal["answer", "whole", "json", "junit"]
"""The form in which a campaign's result is printed."""

CLIENT_CONFIG = "client.properties"
"""The name of the user's client configuration where one campaign runs, whatever the file is called."""

_Study = Annotated[str, Field(pattern=f"^{STUDY_NAME}$")]


class RunRequest(DesignOptions, Approval):
    """A campaign. Of a baseline's file only the tunable properties travel; the `client.properties` never does."""

    study: str = Field("quick", description=STUDY_HELP)
    campaign: Annotated[str | None, Field(pattern=f"^{CAMPAIGN_ID}$", description=CAMPAIGN_HELP)] = None
    client_config: str | None = Field(None, description=DesignOptions.model_fields["client_config"].description)
    baseline: str | None = Field(None, description=DesignOptions.model_fields["baseline"].description)

    def baseline_file(self, client: Callable[[], ClientName]) -> ClientFile | None:
        """Return the client's settings in the baseline's file; None without one.

        Only a tuned producer has such a file, so call `require_of_kind` first.
        """
        from kafka_pareto.study.overrides import read_baseline  # noqa: PLC0415  (imports every kind of study)

        if self._baseline_text is None:
            return None
        return read_baseline(self._baseline_text, f"BASELINE: {self.baseline}", client())

    @cached_property
    def _baseline_text(self) -> str | None:
        from kafka_pareto.kafka.settings_forms import decoded  # noqa: PLC0415

        if self.baseline is None:
            return None
        place = f"BASELINE: {self.baseline}"
        try:
            return decoded(Path(self.baseline).read_bytes())
        except OSError as error:
            raise BadInputError(f"{place}: cannot be read: {error.strerror}") from error
        except ValueError as error:
            raise BadInputError(f"{place}: {error}") from error

    def design_options(self, client: Callable[[], ClientName]) -> DesignOptions:
        """Return the options as the step `design` takes them: the text of a baseline, a name for the configuration."""
        from kafka_pareto.kafka.properties_file import properties_lines  # noqa: PLC0415

        asked = self.model_dump(include=set(DesignOptions.model_fields), exclude_defaults=True)
        if baseline := self.baseline_file(client):
            asked["baseline"] = properties_lines(baseline.used)
        if self.client_config is not None:
            asked["client_config"] = CLIENT_CONFIG
        return DesignOptions(**asked)

    @model_validator(mode="after")
    def _baseline_can_be_read(self) -> Self:
        _ = self._baseline_text  # an unreadable file is reported before anything starts
        return self


class GateRequest(ClusterOptions):
    """New producer settings, to be checked beside those in use."""

    study: Annotated[str, Field(description="A study that tunes producers; its section `gate` has the conditions.")]
    candidate: Annotated[
        Path, Field(description="The new settings: Java or Spring properties, YAML, or a librdkafka configuration.")
    ]
    reference: Path | None = Field(
        None, description="The settings in use, in the same formats. Empty: the study's active settings in the store."
    )
    record_sizes: RecordSizes = None
    client_config: str | None = Field(None, description=ClusterOptions.model_fields["client_config"].description)
    resume: Annotated[
        str | None, Field(pattern=f"^{CAMPAIGN_ID}$", description="Resume an interrupted gate by its ID.")
    ] = None

    def design_options(self) -> DesignOptions:
        """Return the options that change the study."""
        asked = self.model_dump(include=set(DesignOptions.model_fields), exclude_defaults=True)
        return DesignOptions(**asked | ({"client_config": CLIENT_CONFIG} if self.client_config else {}))


class StudyRequest(Options):
    """A study with active settings."""

    study: Annotated[_Study, Field(description="The study's name.")]


class RollBackRequest(StudyRequest):
    """A rollback to the version before the active one."""

    case: Annotated[str, Field(pattern=f"^{CASE}$", description=Move.model_fields["case"].description)]
    reason: Annotated[Reason, Field(description=Move.model_fields["reason"].description)] = ""


class ActiveRequest(StudyRequest):
    """Active settings, and a folder for their files."""

    folder: Path | None = Field(
        None, description="Copy the files that clients read to this folder, below the study and its cases."
    )


class IngestRequest(Options):
    """A file to send."""

    file: Annotated[
        Path,
        Field(description="A CSV file, a folder or a pattern in quotes (all files as one), or - for standard input."),
    ]
    topic: Annotated[
        str,
        Field(pattern="^[A-Za-z0-9._-]{1,230}$", description="The topic for the rows, created if it does not exist."),
    ]
    delimiter: str | None = Field(
        None, description="Field delimiter, or `tab`; detected if empty. A `sep=` line in the file takes precedence."
    )
    encoding: Literal["utf-8", "latin-1", "cp1252", "utf-16", "utf-32"] = Field(
        "utf-8", description="Encoding of the file. Rows are sent as UTF-8."
    )
    values: Literal["rows", "json", "avro"] = Field(
        "rows",
        description="Record values: rows (unchanged), json (one object per row, with the header's names) or avro "
        "(records, with a schema registry).",
    )
    value_schema: Path | None = Field(
        None,
        description="A file with the JSON or Avro schema of the values. Default: types inferred from the first row.",
    )
    registry: str | None = Field(None, description="The schema registry for Avro values, such as http://host:8081.")
    registry_config: Path | None = Field(
        None,
        description="Login to the schema registry: a file with basic.auth.user.info=user:password, ssl.ca.location=…",
    )
    key: str = Field(
        "",
        description="Columns that form the key, like `id,region`. One column: its text. Several: a JSON object. Rows "
        "with the same key go to the same partition. Default: the row's position in the file.",
    )
    no_header: bool = Field(False, description="The file begins with a row, not with a header.")
    partitions: _Count | None = Field(None, description="Partitions of the topic, if it is created.")
    append: bool = Field(
        False, description="Append to a topic that already has records. No other program may send to it meanwhile."
    )
    kafka: str | None = Field(None, description="A cluster other than the stack's, as host:port,…")
    kafka_config: Path | None = Field(None, description="The cluster's client.properties (SASL, TLS).")
    ceiling_mib_s: Annotated[float | None, Field(gt=0, allow_inf_nan=False)] = Field(
        None, description="Highest rate sent to that cluster, in MiB/s."
    )
    ceiling_gib: Annotated[float | None, Field(gt=0, allow_inf_nan=False)] = Field(
        None, description="Largest total sent to that cluster, in GiB."
    )
    consent: bool = Field(False, description="Consent: send to that cluster, as planned.")


class LoadCredentialsRequest(Options):
    """The file of the load machines' credentials."""

    file: Annotated[Path, Field(description="The file to create.")]


class LoadMachineRequest(Options):
    """A load machine: its cluster, address and credentials."""

    kafka: Annotated[str, Field(description="The cluster to send to, as host:port,…")]
    kafka_config: Path | None = Field(None, description="The cluster's client.properties (SASL, TLS).")
    listen: Annotated[str, Field(pattern=r"^[^\s:]+:\d{1,5}$")] = Field(
        "127.0.0.1:7443", description="Address to listen on, as host:port."
    )
    credentials: Path | None = Field(
        None, description="File that load-credentials created. Default: KAFKA_PARETO_LOAD_CREDENTIALS."
    )
    heap_mib: _Count = Field(1024, description="Heap of the sending JVM, in MiB.")


class RemoveTopicsRequest(Options):
    """Topics that campaigns have left."""

    kafka: str | None = Field(None, description="A cluster other than the stack's, as host:port,…")
    kafka_config: Path | None = Field(None, description="The cluster's client.properties (SASL, TLS).")
    consent: bool = Field(False, description="Consent: delete the listed topics.")


class BackupRequest(Options):
    """A backup of the embedded stack."""

    file: Annotated[Path, Field(description="The backup, such as stack.tar.gz.")]


class DoctorRequest(Options):
    """A cluster, its machine and its clients, to be checked."""

    kafka: str | None = Field(None, description="The cluster, as host:port,…; by default the stack's, if it is up.")
    kafka_config: Path | None = Field(None, description="The cluster's client.properties (SASL, TLS).")
    topic: str | None = Field(None, description="A topic to check.")
    group: str | None = Field(None, description="A consumer group to check.")
    producer: Path | None = Field(
        None,
        description="A producer's settings to check: Java or Spring properties, YAML, or a librdkafka configuration.",
    )
    consumer: Path | None = Field(None, description="A consumer's settings to check, in the same formats.")
    format: Literal["text", "json", "html"] = Field("text", description="text, json or html.")


class ReadRequest(Options):
    """A cluster, and the limits of what is read of each topic."""

    kafka: str | None = Field(None, description="The cluster, as host:port,…; by default the stack's, if it is up.")
    kafka_config: Path | None = Field(None, description="The cluster's client.properties (SASL, TLS).")
    records: _Count = Field(20_000, description="Maximum number of records to read per topic.")
    read_mib: _Amount = Field(8, description="Maximum data to read per topic, in MiB.")
    seconds: _Amount = Field(10, description="Maximum reading time per topic, in seconds.")


class AuditRequest(ReadRequest):
    """Topics whose traffic is described, and other settings for their producers."""

    topics: Annotated[list[str] | None, *LIST, Field(description="Topics to read. Empty: all except Kafka's own.")] = (
        None
    )
    what_if: str = Field(
        "",
        description="Producer settings to evaluate, in all combinations, like `linger.ms=5,60 compression.type=zstd`.",
    )
    storage_price: _Amount | None = Field(None, description="Price per GiB stored for a month, in any currency.")
    transfer_price: _Amount | None = Field(None, description="Price per GiB sent between availability zones.")
    study_folder: Path | None = Field(
        None,
        description="Write a study of a single topic's traffic, with sampled records, to this folder. Needs consent.",
    )
    consent: bool = Field(False, description="Consent: store records of the topic with the study and its campaigns.")


class VerifyRequest(ReadRequest):
    """A topic, and the settings that its producers should use."""

    topic: Annotated[str, Field(description="A topic that the producers send to.")]
    settings: Path | None = Field(
        None, description="The settings to look for: Java or Spring properties, YAML, or a librdkafka configuration."
    )
    previous: Path | None = Field(
        None, description="The settings before the rollout, in the same formats, to recognize producers that keep them."
    )
    client: ProducerClient | None = Field(
        None,
        description="The client of the files. Default: librdkafka if one has a name that only it knows, else java.",
    )
    active: Annotated[
        str | None, Field(pattern=f"^{STUDY_NAME}$", description="Instead of files: a study with active settings.")
    ] = None
    case: Annotated[
        str | None,
        Field(pattern=f"^{CASE}$", description="With --active: the record size, if settings are active for several."),
    ] = None
    history: Annotated[int, Field(ge=1, le=100)] = Field(
        1,
        description="Verify at this many points in time, evenly spread over the topic's records; the limits apply "
        "to each. The exit code is that of the latest.",
    )


class SizingRequest(Options):
    """A load, and the cluster to carry it."""

    records_s: Annotated[_Amount, Field(title="Records (1/s)", description="Records per second.")]
    record_size: Annotated[_Count, Field(description="Bytes per record.")]
    replication: _Count = Field(3, description="Replicas of each partition, including the leader.")
    brokers: _Count = Field(3, description="Brokers.")
    consumers: Annotated[int, Field(ge=0)] = Field(1, description="Consumer groups. Each reads every record.")
    retention_h: _Amount = Field(168, description="Retention of records, in hours.")
    partitions: _Count = Field(100, description="Partitions of the topic, without replicas.")
    segment_gib: _Amount = Field(1, description="Size of a log segment, in GiB.")
    network_threads: _Count = Field(3, description="A broker's num.network.threads.")
    io_threads: _Count = Field(8, description="A broker's num.io.threads.")
    batch_size: _Count = Field(1_048_576, description="Bytes a producer sends to a broker in one request.")
    round_trip_ms: _Amount = Field(10, description="Time from a produce request to its response, in milliseconds.")


class SizingOptions(SizingRequest):
    """The same, and how it is printed."""

    format: Literal["text", "json"] = Field("text", description="text or json.")
