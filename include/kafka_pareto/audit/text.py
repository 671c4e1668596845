"""Format an audit for a terminal."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Mapping

from kafka_pareto.analysis.wording import share
from kafka_pareto.audit.estimates import Estimate, Point, Prediction
from kafka_pareto.audit.reading import Sample, Topic
from kafka_pareto.audit.records import AuditedTopic, AuditReport
from kafka_pareto.kafka.known_properties import PropertyValue

_WIDTH = 100
_LABEL = 12
_UNITS = ("B", "kB", "MB", "GB", "TB", "PB")


def audit_text(report: AuditReport) -> str:
    """Return the topics, those with the largest possible saving first; without a trailing newline."""
    read = sum(each.read.read_bytes for each in report.topics)
    topics = _count(len(report.topics), "topic")
    lines = [f"Audited: {report.kafka}, {topics}; {bytes_text(read)} read in {report.seconds:.1f} s, nothing written"]
    for topic in report.topics:
        lines += ["", *_topic_lines(topic)]
    for unread in report.unread:
        lines += ["", unread.topic, *_row("not read", unread.error)]
    return "\n".join(lines)


def _topic_lines(topic: AuditedTopic) -> Iterator[str]:
    read, sample = topic.read, topic.read.sample
    yield f"{read.topic}: {_count(read.partitions, 'partition')}, {_count(read.replicas, 'replica')} each"
    if sample is None:
        yield from _row("records", "none")
        return
    yield from _row(
        "records", _records_text(sample) + ("; cut at the limit of bytes or seconds" if read.is_cut else "")
    )
    yield from _row("sizes", _sizes_text(sample))
    yield from _row("batches", _batches_text(read, sample))
    yield from _row("producers", _producers_text(sample))
    if text := _order_text(read, sample):
        yield from _row("order", text)
    yield from _trial_lines(sample)
    if topic.prediction is not None:
        yield from _prediction_lines(read, topic.prediction)


def _records_text(sample: Sample) -> str:
    day = "older than a day" if sample.records_day == 0 else f"{sample.records_day:,} in the last 24 hours"
    day = "those of the last 24 hours partly deleted" if sample.records_day is None else day
    seconds = (sample.last_ms - sample.first_ms) / 1000
    rate = f", {sample.records / seconds:,.0f}/s" if seconds > 0 else ""
    keys = f"{share(sample.keyed / sample.records)} with a key"
    return f"{day}; sampled: the last {sample.records:,} of {seconds:,.1f} s{rate}, {keys}"


def _sizes_text(sample: Sample) -> str:
    sizes = {"key": sample.sizes.key_bytes, "value": sample.sizes.value_bytes, "headers": sample.sizes.header_bytes}
    shown = [
        f"{name} {each.p50:,} (p95 {each.p95:,}, largest {each.largest:,})"
        for name, each in sizes.items()
        if each.largest
    ]
    return f"{', '.join(shown)} bytes" if shown else "no key, value or header"


def _batches_text(topic: Topic, sample: Sample) -> str:
    codecs = ", ".join(
        name if len(sample.codecs) == 1 else f"{name} {share(count / sample.batches)}"
        for name, count in sorted(sample.codecs.items(), key=lambda each: -each[1])
    )
    by = {None: "", "producer": ", as sent by the producers"}.get(topic.compression_type, ", by the broker")
    records, size = sample.records / sample.batches, sample.stored_bytes / sample.batches
    return (
        f"{records:,.1f} records and {size:,.0f} bytes on average, "
        f"largest {sample.sizes.batch_bytes.largest:,} bytes; codec {codecs}{by}; "
        f"{sample.stored_bytes / sample.records:,.1f} bytes stored per record"
    )


def _producers_text(sample: Sample) -> str:
    known = [each for each in sample.producers if each.id is not None]
    transactional = sum(each.is_transactional for each in known)
    parts = [f"{sample.producer_count - (len(known) < len(sample.producers)):,} idempotent"]
    parts += [f"{transactional:,} of them transactional"] if transactional else []
    for each in sample.producers:
        if each.id is None:
            parts.append(f"{share(each.records / sample.records)} of the records from others")
    return ", ".join(parts)


def _order_text(topic: Topic, sample: Sample) -> str:
    counts = sample.records_of_partition.values()
    mean = sample.records / topic.partitions
    parts = (
        [f"the fullest partition has {max(counts) / mean:.1f} times the average"] if max(counts) > 1.5 * mean else []
    )
    if sample.late:
        late = share(sample.late / sample.records, 1)
        parts.append(f"{late} of the records are older than one before them, by {sample.late_by_ms:,} ms at most")
    return "; ".join(parts)


def _trial_lines(sample: Sample) -> Iterator[str]:
    """Return a row per batch size: the part of the size that each codec leaves, and its CPU time."""
    if not sample.trials:
        return
    codecs = list(dict.fromkeys(each.codec for each in sample.trials))
    yield from _row("codecs", f"{'batches':<12}{''.join(f'{codec:>14}' for codec in codecs)}")
    for size in dict.fromkeys(each.batch_bytes for each in sample.trials):
        cells = [
            f"{each.bytes / each.uncompressed_bytes:.2f} ({each.cpu_ns_per_byte:.1f})"
            for each in sample.trials
            if each.batch_bytes == size
        ]
        name = f"{size >> 10} KiB" if size else "as stored"
        yield f"  {'':<{_LABEL}} {name:<12}{''.join(f'{cell:>14}' for cell in cells)}"
    yield f"  {'':<{_LABEL}} remaining part of the size (CPU in ns per byte)"


def _prediction_lines(topic: Topic, prediction: Prediction) -> Iterator[str]:
    if prediction.fault:
        yield from _row("predicted", f"no prediction: {prediction.fault}")
        return
    yield from _row("settings", f"inferred from the batches: {settings_text(prediction.present)}")
    yield f"  {'predicted':<{_LABEL}} {'records':>9}{'bytes per':>11}{'stored bytes,':>22}{'saved a day,':>15}"
    yield f"  {'':<{_LABEL}} {'per batch':>9}{'record':>11}{'relative to now':>22}{'all replicas':>15}  with"
    for point in prediction.points:
        yield f"  {'':<{_LABEL}} {_point_text(topic, point)}"


def _point_text(topic: Topic, point: Point) -> str:
    ratio, saved = point.stored_ratio, point.saved_bytes_day
    a_day = "unknown" if saved is None else bytes_text(saved.value * topic.replicas)
    return (
        f"{point.records_per_batch:>9,.1f}{point.bytes_per_record:>11,.1f}{ratio.value:>8.2f}"
        f"{_interval(ratio):>14}{a_day:>15}  {settings_text(point.settings)}"
    )


def settings_text(settings: Mapping[str, PropertyValue]) -> str:
    """Return settings as one writes them."""
    return " ".join(f"{name}={value}" for name, value in settings.items())


def bytes_text(value: float) -> str:
    """Return a size with a decimal unit and about three digits."""
    power = 0
    while abs(value) >= 999.5 and power < len(_UNITS) - 1:
        value, power = value / 1000, power + 1
    return f"{value:.0f} {_UNITS[power]}" if power == 0 or abs(value) >= 99.5 else f"{value:.3g} {_UNITS[power]}"


def _interval(estimate: Estimate) -> str:
    return "" if estimate.low is None else f"({estimate.low:.2f}-{estimate.high:.2f})"


def _count(number: int, noun: str) -> str:
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def _row(label: str, text: str) -> list[str]:
    indent = " " * (_LABEL + 3)
    return textwrap.wrap(f"  {label:<{_LABEL}} {text}", _WIDTH, subsequent_indent=indent, break_long_words=False)
