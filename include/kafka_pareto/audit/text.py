"""Format an audit as text, for the terminal and its page."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Mapping, Sequence

from kafka_pareto.analysis.wording import share
from kafka_pareto.audit.estimates import Estimate, Point, Prediction
from kafka_pareto.audit.reading import Sample, Topic
from kafka_pareto.audit.records import AuditedTopic, AuditReport
from kafka_pareto.kafka.known_properties import PropertyValue

_WIDTH = 100
_LABEL = 12
TRIAL_NOTE = "remaining part of the size (CPU in ns per byte)"
_UNITS = ("B", "kB", "MB", "GB", "TB", "PB")


def audit_text(report: AuditReport) -> str:
    """Return the topics, those with the largest possible saving first; without a trailing newline."""
    lines = [f"Audited: {subject_text(report)}"]
    for topic in report.topics:
        lines += ["", *_topic_lines(topic, has_prices=report.prices is not None)]
    for unread in report.unread:
        lines += ["", unread.topic, *_row("not read", unread.error)]
    return "\n".join(lines)


def subject_text(report: AuditReport) -> str:
    """Return what was audited, and how long it took."""
    read = sum(each.read.read_bytes for each in report.topics)
    topics = _count(len(report.topics), "topic")
    took = f"{bytes_text(read)} read in {report.seconds:.1f} s"
    return f"{report.kafka}, {topics}; {took}, nothing written to the cluster"


def layout_text(topic: Topic) -> str:
    """Return a topic's partitions and replicas."""
    return f"{_count(topic.partitions, 'partition')}, {_count(topic.replicas, 'replica')} each"


def topic_rows(topic: AuditedTopic) -> Iterator[tuple[str, str]]:
    """Return what is known of a topic's records and settings, as labels and texts."""
    read, sample, prediction = topic.read, topic.read.sample, topic.prediction
    if sample is None:
        yield "records", "none"
        return
    yield "records", _records_text(sample) + ("; cut at the limit of bytes or seconds" if read.is_cut else "")
    yield "sizes", _sizes_text(sample)
    yield "batches", _batches_text(read, sample)
    yield "producers", _producers_text(sample)
    if text := _order_text(read, sample):
        yield "order", text
    if prediction is not None and prediction.fault:
        yield "predicted", f"no prediction: {prediction.fault}"
    elif prediction is not None:
        whose = "librdkafka, " if prediction.client == "librdkafka" else ""
        yield "settings", f"inferred from the batches: {whose}{settings_text(prediction.present)}"


def _topic_lines(topic: AuditedTopic, *, has_prices: bool) -> Iterator[str]:
    yield f"{topic.read.topic}: {layout_text(topic.read)}"
    for label, text in topic_rows(topic):
        yield from _row(label, text)
    if topic.read.sample is not None:
        yield from _trial_lines(topic.read.sample)
    if topic.prediction is not None and not topic.prediction.fault:
        yield from _point_lines(topic, topic.prediction, has_prices=has_prices)


def _records_text(sample: Sample) -> str:
    day = f"{sample.records_day:,} in the last 24 hours" if sample.records_day else "none in the last 24 hours"
    day = "number in the last 24 hours unknown (some are already deleted)" if sample.records_day is None else day
    seconds = (sample.last_ms - sample.first_ms) / 1000
    rate = f", {sample.records / seconds:,.0f}/s" if seconds > 0 else ""
    keys = f"{share(sample.keyed / sample.records)} with a key"
    return f"{day}; sample: the latest {sample.records:,}, spanning {seconds:,.1f} s{rate}, {keys}"


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
    header, *rows = trial_table(sample)
    if not rows:
        return
    yield from _row("codecs", _trial_line(header))
    for row in rows:
        yield f"  {'':<{_LABEL}} {_trial_line(row)}"
    yield f"  {'':<{_LABEL}} {TRIAL_NOTE}"


def trial_table(sample: Sample) -> list[list[str]]:
    """Return a row per batch size, below a header: the part of the size that each codec leaves, and its CPU time."""
    rows = [["batches", *dict.fromkeys(each.codec for each in sample.trials)]]
    for size in dict.fromkeys(each.batch_bytes for each in sample.trials):
        cells = [
            f"{each.bytes / each.uncompressed_bytes:.2f} ({each.cpu_ns_per_byte:.1f})"
            for each in sample.trials
            if each.batch_bytes == size
        ]
        rows.append([f"{size >> 10} KiB" if size else "as stored", *cells])
    return rows


def _trial_line(row: Sequence[str]) -> str:
    return f"{row[0]:<12}{''.join(f'{cell:>14}' for cell in row[1:])}"


def _point_lines(topic: AuditedTopic, prediction: Prediction, *, has_prices: bool) -> Iterator[str]:
    above, below = (f"{'saved':>10}", f"{'a month':>10}") if has_prices else ("", "")
    yield f"  {'predicted':<{_LABEL}} {'records':>9}{'bytes per':>11}{'stored bytes,':>22}{'saved a day,':>15}{above}"
    yield f"  {'':<{_LABEL}} {'per batch':>9}{'record':>11}{'relative to now':>22}{'all replicas':>15}{below}  with"
    for point in prediction.points:
        a_month = f"{saved_month_text(topic, point):>10}" if has_prices else ""
        yield f"  {'':<{_LABEL}} {_point_text(topic.read, point, a_month)}"


def _point_text(topic: Topic, point: Point, a_month: str) -> str:
    ratio, saved = point.stored_ratio, point.saved_bytes_day
    a_day = "unknown" if saved is None else bytes_text(saved.value * topic.replicas)
    return (
        f"{point.records_per_batch:>9,.1f}{point.bytes_per_record:>11,.1f}{ratio.value:>8.2f}"
        f"{interval_text(ratio):>14}{a_day:>15}{a_month}  {settings_text(point.settings)}"
    )


def saved_month_text(topic: AuditedTopic, point: Point) -> str:
    """Return the monthly saving at the given prices."""
    saved, cost = point.saved_bytes_day, topic.month_cost_of_daily_byte
    return "unknown" if saved is None or cost is None else f"{saved.value * cost:,.2f}"


def settings_text(settings: Mapping[str, PropertyValue]) -> str:
    """Return settings as one writes them."""
    return " ".join(f"{name}={value}" for name, value in settings.items())


def bytes_text(value: float) -> str:
    """Return a size with a decimal unit and about three digits."""
    power = 0
    while abs(value) >= 999.5 and power < len(_UNITS) - 1:
        value, power = value / 1000, power + 1
    return f"{value:.0f} {_UNITS[power]}" if power == 0 or abs(value) >= 99.5 else f"{value:.3g} {_UNITS[power]}"


def interval_text(estimate: Estimate) -> str:
    """Return the interval in brackets; empty without one."""
    return "" if estimate.low is None else f"({estimate.low:.2f}-{estimate.high:.2f})"


def _count(number: int, noun: str) -> str:
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def _row(label: str, text: str) -> list[str]:
    indent = " " * (_LABEL + 3)
    return textwrap.wrap(f"  {label:<{_LABEL}} {text}", _WIDTH, subsequent_indent=indent, break_long_words=False)
