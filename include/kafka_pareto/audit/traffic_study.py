"""Write a study of a topic's traffic: its own records at their rate, with the present settings as the baseline."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import yaml

from kafka_pareto.audit.reading import Sample
from kafka_pareto.audit.records import AuditedTopic
from kafka_pareto.errors import BadInputError
from kafka_pareto.shipped import INCLUDE
from kafka_pareto.study.identifiers import MOST_PRODUCERS
from kafka_pareto.study.options import plain
from kafka_pareto.study.sampled_records import mean_record_bytes
from kafka_pareto.study.study_file import load_study
from kafka_pareto.study.workload import Topic

_TEMPLATES = {"java": "steady", "librdkafka": "librdkafka"}
_LONGEST_NAME = 50
_PACED_RECORDS = 2_000
_PACED_S = (2.0, 30.0)
_MOST_BUFFER_BYTES = 512 << 20
"""Memory that the producers of a load may fill."""


class TrafficStudy:
    """The files of a study, `<topic>_traffic.yaml` and `.jsonl`, in a folder."""

    def __init__(self, folder: Path, topic: str) -> None:
        self.name = f"{re.sub('[^a-z0-9-]+', '_', topic.lower()).strip('_-')[:_LONGEST_NAME] or 'topic'}_traffic"
        self.file = folder / f"{self.name}.yaml"
        self.sample = folder / f"{self.name}.jsonl"

    @contextmanager
    def files(self) -> Iterator[None]:
        """Create the files, readable only by their owner, to be filled; remove them on an error.

        Raises:
            BadInputError: If one of them exists or cannot be written.
        """
        with ExitStack() as created:
            try:
                self.file.parent.mkdir(parents=True, exist_ok=True)
                for path in (self.sample, self.file):
                    os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
                    created.callback(path.unlink, missing_ok=True)
            except FileExistsError as error:
                raise BadInputError(
                    f"STUDY_FOLDER: {error.filename} exists; remove or rename it, or give another folder"
                ) from error
            except OSError as error:
                raise BadInputError(f"STUDY_FOLDER: {error.filename}: cannot be written: {error.strerror}") from error
            yield
            created.pop_all()

    def write(self, topic: AuditedTopic, kafka: str, at: str) -> None:
        """Write the study of this topic, once the sample is written.

        Raises:
            BadInputError: If the topic has no records that can be sent.
        """
        sample = topic.read.sample
        if sample is None:
            raise BadInputError(f"topic {topic.read.topic}: has no records to sample")
        try:
            record_bytes = mean_record_bytes(self.sample.read_text(encoding="utf-8"))
        except ValueError as error:
            raise BadInputError(f"topic {topic.read.topic}: the sample: {error}") from error
        content = _study(self.name, self.sample.name, topic, sample, record_bytes)
        head = [
            f"Written by kafka-pareto's audit at {at}, from topic {topic.read.topic} of {kafka}.",
            f"{self.sample.name} contains records of this topic: keep it as confidential as the topic.",
        ]
        if sample.replay.fault:
            head.append(f"Rate, arrivals, producers and baseline are not the topic's: {sample.replay.fault}.")
        elif topic.prediction and topic.prediction.fault:
            head.append(f"The baseline is Kafka's defaults: {topic.prediction.fault}.")
        elif topic.read.compression_type != "producer":
            head.append(f"The baseline's codec may not be the producers': {_why_codec_unknown(topic)}.")
        text = "".join(f"# {plain(line)}\n" for line in head) + yaml.safe_dump(content, sort_keys=False)
        self.file.write_text(text, encoding="utf-8")
        load_study(self.file)  # a defect shows now, not when a campaign starts


def _study(name: str, sample_file: str, topic: AuditedTopic, sample: Sample, record_bytes: int) -> dict[str, Any]:
    """Return the shipped study of the client's long-lived producers, changed to this traffic."""
    read = topic.read
    client = topic.prediction.client if topic.prediction and not topic.prediction.fault else "java"
    template = INCLUDE / "studies" / f"{_TEMPLATES[client]}.yaml"
    content: dict[str, Any] = yaml.safe_load(template.read_text(encoding="utf-8"))
    in_sync = read.min_insync_replicas or Topic().min_insync_replicas
    is_known = not sample.replay.fault  # times and producers
    present = topic.prediction.present if topic.prediction and not topic.prediction.fault else {}
    if read.compression_type not in (None, "producer"):  # the codec read is the broker's
        present = {key: value for key, value in present.items() if not key.startswith("compression.")}
    if client == "librdkafka":  # recognized only if all producers are idempotent, which is not its default
        present = {**present, "enable.idempotence": True}
    content.update(
        name=name,
        description=f"Traffic of topic {read.topic}: its own records.",
        record_sizes_bytes=[record_bytes],
        workload={
            "topic_partitions": read.partitions,
            "replication_factor": read.replicas,
            "min_insync_replicas": min(in_sync, read.replicas),
            "payload": {"sample": sample_file},
            "producers": min(sample.producer_count, MOST_PRODUCERS) if is_known else 1,
            "arrival": "recorded" if is_known else "constant",
        },
    )
    if is_known:
        content["protocol"]["paced"] = _paced(sample, content["protocol"]["paced"])
    if buffers := content["factors"].get("buffer.memory"):
        producers = content["workload"]["producers"]
        buffers["levels"] = [each for each in buffers["levels"] if each * producers <= _MOST_BUFFER_BYTES]
        if len(buffers["levels"]) < 2:
            del content["factors"]["buffer.memory"]
    return content | ({"baseline": present} if present else {})


def _why_codec_unknown(topic: AuditedTopic) -> str:
    if topic.read.compression_type is None:
        return "without DescribeConfigs on the topic it is unknown whether the broker recompresses"
    return f"the topic's compression.type, {topic.read.compression_type}, makes the broker recompress"


def _paced(sample: Sample, usual: dict[str, float]) -> dict[str, float]:
    """Return the rate of the sampled period, with seconds enough for percentiles; the usual one if it has no length."""
    period_s = (sample.last_ms - sample.first_ms) / 1000
    if period_s <= 0:
        return usual
    rate = max(round(sample.records / period_s, 1), 1.0)
    shortest_s, longest_s = _PACED_S
    seconds = round(min(max(_PACED_RECORDS / rate, shortest_s), longest_s), 1)
    return {"rate_records_s": rate, "warmup_seconds": usual["warmup_seconds"], "seconds": seconds}
