"""Texts for verdicts, rules, reasons and values."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from kafka_pareto.analysis.wording import counted
from kafka_pareto.doctor.guide import CHECKLIST_ITEMS, Group, Plain, Rule
from kafka_pareto.doctor.readings import plain_text, subjects
from kafka_pareto.doctor.records import VERDICTS, DoctorReport, Finding, Verdict
from kafka_pareto.doctor.verdicts import threads_for

GROUPS: Mapping[Group, str] = {
    "infrastructure": "Infrastructure",
    "system": "Operating system",
    "jvm": "Brokers' JVM",
    "broker": "Brokers",
    "topic": "Topic",
    "producer": "Producer",
    "consumer": "Consumer",
}
VERDICT_WORDS: Mapping[Verdict, str] = {
    "met": "met",
    "safer": "safer than the guide",
    "not_met": "not met",
    "not_applicable": "not applicable",
    "not_readable": "not checked",
}
REASONS: Mapping[str, str] = {
    "no_cluster": "no cluster given; pass KAFKA=host:port,…",
    "other_machine": "no broker visible on this machine; run make doctor on a broker's machine, as its user or root",
    "brokers_elsewhere": "some brokers run on other machines; run make doctor there, too",
    "denied": "permission denied; run make doctor as the brokers' user or root",
    "no_such_file": "this kernel does not expose it; in a container, run make doctor on the host",
    "no_device": "the file system has no block device here, as in a container",
    "no_mount": "no mount of the broker's process contains this folder, as in a chroot",
    "unknown_speed": "the interface's driver does not report its speed, as in a virtual machine",
    "loopback": "the brokers use loopback: no record crosses a network",
    "java_decides": "option not set; Java chooses the value",
    "not_told": "a broker does not report this setting",
    "not_allowed": "permission denied; the user needs DescribeConfigs on cluster and topic, and Describe on the group",
    "memory_unknown": "the memory of the brokers' machines is not visible from here",
    "made_for_more_memory": "the guide's value is for brokers with {memory_gb:g} GB of memory; these have less",
    "cores_unknown": "the cores of the brokers' machines are not visible from here",
    "no_topic": "no topic given; pass TOPIC=…",
    "no_group": "no consumer group given; pass GROUP=…",
    "no_producer": "no file given; pass PRODUCER=producer.properties",
    "no_consumer": "no file given; pass CONSUMER=consumer.properties",
    "other_default": "not set in the file, and this client's default differs from Kafka's; set it in the file",
    "not_in_librdkafka": "librdkafka has no such setting",
    "in_code": "this depends on the producer's code, not on a setting",
    "not_measured": "make doctor only reads, so it does not measure disks",
}


def by_group(report: DoctorReport) -> dict[str, list[Finding]]:
    """Return the findings by the name of their group, in the guide's order of groups."""
    groups = {name: [each for each in report.findings if each.check.group == group] for group, name in GROUPS.items()}
    return {name: findings for name, findings in groups.items() if findings}


def expected_text(rule: Rule, cores: int | None) -> str:
    """Describe the values a rule accepts."""
    return _EXPECTED[rule.key](rule.wanted, cores)


def found_text(finding: Finding) -> str:
    """Describe the values found, with their subjects if they differ; empty if there are none."""
    groups = subjects(finding.found)
    if len(groups) == 1:
        return _value(next(iter(groups)))
    return ", ".join(f"{_value(value)} ({_together(whose)})" for value, whose in groups.items())


def advice_text(finding: Finding) -> str:
    """Return the fix for a finding, or why none is needed; empty if it is met."""
    check = finding.check
    if finding.verdict == "safer":
        return f"protects {check.protects}"
    if finding.verdict == "not_met":
        return check.fix or f"no fix suggested, since it affects {check.protects}"
    return reason_text(finding)


def reason_text(finding: Finding) -> str:
    """Explain why a check does not apply or could not be read; empty otherwise."""
    if finding.reason == "guide_is_older" and finding.check.not_applicable is not None:
        return finding.check.not_applicable.why
    if finding.reason == "made_for_more_memory" and finding.check.sized_for is not None:
        return REASONS[finding.reason].format(memory_gb=finding.check.sized_for.memory_gb)
    return REASONS.get(finding.reason, finding.reason)


def subject_text(report: DoctorReport) -> str:
    """Name what was examined."""
    if not report.kafka:
        return "this machine only, treated as a broker's machine"
    release = f"Kafka {report.kafka_version}" if report.kafka_version else "unknown Kafka version"
    here = f"{len(report.brokers_here)} of {counted(len(report.brokers), 'broker')} on this machine"
    return f"{report.kafka} ({release}; {here})"


def client_file_lines(report: DoctorReport) -> list[str]:
    """List the settings read from each client's file."""
    return [f"{client.capitalize()}: {line}" for client, lines in report.client_files.items() for line in lines]


def count_text(report: DoctorReport) -> str:
    """Count the verdicts."""
    counts = ", ".join(f"{report.count(verdict)} {VERDICT_WORDS[verdict]}" for verdict in VERDICTS)
    return f"{counted(len(report.findings), 'check')}: {counts}"


def left_text(report: DoctorReport) -> str:
    """List leftover topics and the command that removes them; empty if there are none."""
    if not report.topics_left:
        return ""
    return (
        f"Topics of campaigns on this cluster: {', '.join(report.topics_left)}. If no campaign is running, remove them "
        f"with make remove-topics KAFKA={report.kafka} (and KAFKA_CONFIG, if the cluster needs one)"
    )


def items_text(report: DoctorReport) -> str:
    """Count the verdicts of the guide's checklist."""
    verdicts = list(report.items().values())
    counts = ", ".join(f"{verdicts.count(each)} {VERDICT_WORDS[each]}" for each in VERDICTS if each in verdicts)
    return f"The guide's checklist ({CHECKLIST_ITEMS} items): {counts}"


def _value(text: str) -> str:
    return f"{int(text):,}" if text.isdigit() and len(text) > 4 else text or "not set"


def _together(whose: list[str]) -> str:
    """Join subjects, as in `broker 1, 2, 3`."""
    first, *others = whose
    kind = first.partition(" ")[0]
    same = all(each.startswith(f"{kind} ") and each.count(" ") == 1 for each in whose)
    return ", ".join([first, *(each.partition(" ")[2] for each in others)] if same else whose)


def _number(value: Plain) -> str:
    return _value(plain_text(value))


def _share_of_cores(share: float, cores: int | None) -> str:
    words = "one per core" if share == 1 else f"{share:g} per core"
    return words if cores is None else f"{threads_for(share, cores)} ({words})"


_EXPECTED: Mapping[str, Callable[[Any, int | None], str]] = {
    "equals": lambda wanted, _: _number(wanted),
    "at_least": lambda wanted, _: f"at least {_number(wanted)}",
    "at_most": lambda wanted, _: f"at most {_number(wanted)}",
    "between": lambda wanted, _: f"{_number(wanted[0])} to {_number(wanted[1])}",
    "one_of": lambda wanted, _: " or ".join(map(_number, wanted)),
    "each_at_least": lambda wanted, _: f"at least {' '.join(map(str, wanted))}",
    "any_word": lambda wanted, _: " or ".join(wanted),
    "prefix": lambda wanted, _: f"{wanted}…",
    "cores_times": _share_of_cores,
    "looked_at": lambda _, __: "",
}
