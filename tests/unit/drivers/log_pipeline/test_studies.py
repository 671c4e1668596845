from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import yaml

from kafka_pareto.campaign.campaign import Campaign
from kafka_pareto.drivers.common.systems import OwnBrokersSystem
from kafka_pareto.drivers.log_pipeline.model import predicted_stages
from kafka_pareto.drivers.log_pipeline.runtime import RUNTIME
from kafka_pareto.drivers.log_pipeline.study import LogPipelineStudy, RequestRate, request_rate_of
from kafka_pareto.drivers.log_pipeline.testbed import replayed_log
from kafka_pareto.errors import BadInputError, StudyError
from kafka_pareto.kafka.known_properties import Durability
from kafka_pareto.measurement.cost import plan_comparison
from kafka_pareto.steps import design_comparison
from kafka_pareto.storage.folder_store import FolderStore
from kafka_pareto.study.factors import configuration_id
from kafka_pareto.study.overrides import with_overrides
from kafka_pareto.study.study_file import dump_study, parse_study
from tests.unit.drivers.log_pipeline.light_run import DEFAULTS, LIGHT

pytestmark = pytest.mark.fast

HEAD = {"schema_version": 1, "driver": "log_pipeline", "name": "example", "description": "Of a test."}
COMPARE: dict[str, Any] = {
    **HEAD,
    "kind": "compare",
    "tables": [{"factor": "bulk_max_size", "levels": [2048, 50]}],
}
TUNE: dict[str, Any] = {
    **HEAD,
    "kind": "tune",
    "factors": {
        "bulk_max_size": {"type": "integer", "low": 1, "high": 2048, "scale": "log"},
        "backoff_ms": {"type": "integer", "low": 10, "high": 2000, "scale": "log"},
        "log_lines": {"type": "categorical", "levels": ["multi", "single"]},
    },
    "protocol": {"repetitions": 1, "seconds": 30, "steady_from_s": 10},
    "design": {"configurations": 6},
    "strategy": "rounds",
    "confirmation": {"points": 2, "choice_blocks": 2, "gain_blocks": 3},
}
ACKS: dict[str, Any] = {"factor": "acks", "levels": ["1", "all"]}
LOADS = {"half": "50%", "light": "10%"}
REPLAY: dict[str, Any] = {
    **COMPARE,
    "reference": {"workload": "replay"},
    "replay": {"file": "a.log"},
    "protocol": {"repetitions": 3, "seconds": 10, "steady_from_s": 2},
}


def parsed(content: dict[str, Any]) -> Any:
    return parse_study(yaml.safe_dump(content, sort_keys=False), "example.yaml")


def test_a_load_is_a_rate_or_a_share() -> None:
    assert request_rate_of("200/s") == RequestRate(requests_s=200.0)
    assert request_rate_of("50%") == RequestRate(capacity_fraction=0.5)
    assert request_rate_of("120%") == RequestRate(capacity_fraction=1.2)
    for text in ("", "0/s", "0%", "201%", "fast"):
        with pytest.raises(ValueError, match=r"load: .*must be a rate such as 200/s, or a share"):
            request_rate_of(text)


def test_settings_missing_from_a_level_have_their_default() -> None:
    study = parsed(COMPARE)
    found = study.effective({"bulk_max_size": 50})

    assert (found["bulk_max_size"], found["scan_frequency_ms"], found["log_lines"]) == (50, 10_000, "multi")
    assert study.own_brokers.brokers == 1


def test_a_tuned_pipeline_has_one_case_and_settings_of_its_parts() -> None:
    study = parsed(TUNE)

    assert study.cases == ["pipeline"]
    assert study.baseline_configuration() == {"bulk_max_size": 2048, "backoff_ms": 1000, "log_lines": "multi"}
    told = study.all_settings({"bulk_max_size": 50, "backoff_ms": 20, "log_lines": "single"})
    assert (told["bulk_max_size"], told["log_lines"], told["pipelining"], told["load"]) == (50, "single", 2, "50%")
    assert study.durability_of({}) is Durability.acks_1


def test_stages_are_predicted_from_the_reference_at_a_light_load() -> None:
    light = {"load": "10%"}
    parts = [
        {"name": "scenarios", "variants": {"ours": {}, "linger": {"linger_ms": 5}, "burst": {"burst": "once"}}},
        {"name": "light", "fixed": light, "variants": {"ours": {}, "linger": {"linger_ms": 5}}},
    ]
    study = parsed({**COMPARE, "tables": [], "variants": parts})
    light_id = configuration_id(study.baseline_configuration("light"))
    means = {"scenarios": {}, "light": {light_id: LIGHT}}

    ours, linger, burst = (study.predicted(level, means) for level in study.levels_of("scenarios"))

    assert burst == {}
    assert linger["latency_mean_ms"] - ours["latency_mean_ms"] == pytest.approx(5)
    # Five times the events.
    assert ours["filebeat_ms"] == predicted_stages(DEFAULTS, 200.0, DEFAULTS, LIGHT)["filebeat_ms"]
    assert study.predicted(study.levels_of("scenarios")[0], {"scenarios": {}, "light": {}}) == {}
    same_loads = parsed(COMPARE)
    assert same_loads.predicted(same_loads.baseline_configuration(), {same_loads.cases[0]: {}}) == {}


@pytest.mark.parametrize(("reference", "predicts"), [("filebeat", [True, False]), ("otel", [False, False])])
def test_nothing_is_predicted_of_collectors_or_from_their_light_run(reference: str, predicts: list[bool]) -> None:
    parts = [
        {"name": "shippers", "variants": {name: {"shipper": name} for name in ("filebeat", "otel")}},
        {"name": "light", "fixed": {"load": "10%"}, "variants": {"own": {}, "acks": {"acks": "all"}}},
    ]
    study = parsed({**COMPARE, "tables": [], "reference": {"shipper": reference}, "variants": parts})
    means = {"shippers": {}, "light": {configuration_id(study.baseline_configuration("light")): LIGHT}}
    levels = sorted(study.levels_of("shippers"), key=lambda level: str(level["shipper"]))

    assert [bool(study.predicted(level, means)) for level in levels] == predicts


@pytest.mark.parametrize(
    ("level", "requests_s"),
    [({"load": "50/s"}, 600), ({"load": "900/s"}, 900), ({"load": "900/s", "burst": "once"}, 1200)],
)
def test_the_plan_counts_the_requests_of_the_highest_rate_and_its_burst(level: dict[str, Any], requests_s: int) -> None:
    protocol = {"repetitions": 3, "seconds": 90, "burst": {"from_s": 50, "until_s": 80}}
    table = {"factor": "bulk_max_size", "levels": [2048, 50], "fixed": level}
    study = parsed(COMPARE | {"tables": [table], "protocol": protocol})

    plan = plan_comparison(study, RUNTIME)
    assert plan.sent_gib == pytest.approx(plan.repetitions * 90 * requests_s * 3_000 / 2**30)


def soak(**changed: Any) -> dict[str, Any]:
    """Return a study with one level in each of its parts, whose parts keep running."""
    protocol = {"repetitions": 24, "seconds": 300, "keeps_running": True}
    variants = [{"name": name, "fixed": {"load": load}, "variants": {"all": {}}} for name, load in LOADS.items()]
    return {**COMPARE, "tables": [], "variants": variants, "protocol": protocol} | changed


def test_a_soak_test_has_one_level_in_each_part_and_starts_its_parts_once() -> None:
    study = parsed(soak())

    assert [len(study.levels_of(case)) for case in study.cases] == [1, 1]
    assert "keeps running for the next window" in study.described_protocol()["end"]
    assert study.conditions()["protocol.keeps_running"] is True
    plan = plan_comparison(study, RUNTIME)
    assert plan.repetitions == 2 * 24
    assert plan.repetition_s == {case: pytest.approx(300, abs=15) for case in study.cases}
    assert plan.peak_disk_gib == plan.sent_gib / 2  # all windows of a part


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (
            soak(variants=[{"name": "both", "variants": {"ours": {}, "acks": {"acks": "all"}}}]),
            "protocol.keeps_running true: part both has 2 levels, but windows on the same running parts need exactly",
        ),
        (soak(tables=[ACKS]), "protocol.keeps_running true: part acks has 2 levels"),
        (
            soak(protocol={"repetitions": 24, "seconds": 300}),
            "part half: number of variants 1: must be at least 2, or there is no comparison",
        ),
        (soak(variants=[{"name": "none", "variants": {}}]), "variants: .* at least 1 item"),
        (
            {**TUNE, "protocol": {**TUNE["protocol"], "keeps_running": True}},
            "protocol.keeps_running true: must be false in a tuning study",
        ),
        (
            {**COMPARE, "tables": [{"factor": "bulk_max", "levels": [1, 2]}]},
            "is not a setting of the driver log_pipeline",
        ),
        ({**COMPARE, "protocol": {"repetitions": 3, "seconds": 30}}, "steady_from_s 40: must be below seconds 30"),
        (
            {**COMPARE, "reference": {"burst": "once"}, "protocol": {"repetitions": 3, "seconds": 90}},
            "burst: protocol.burst from 60 s until 90 s: must end after it begins",
        ),
        ({**COMPARE, "reference": {"load": "lots"}}, "load: 'lots': must be a rate"),
        ({**COMPARE, "reference": {"max_backoff_ms": 10}}, "max_backoff_ms 10: must not be below backoff_ms 1000"),
        ({**TUNE, "factors": {"linger.ms": {"type": "integer", "low": 0, "high": 5}}}, "linger.ms: is not a setting"),
        ({**TUNE, "factors": {"acks": {"type": "integer", "low": 0, "high": 1}}}, "acks must be of type categorical"),
        (
            {**TUNE, "factors": {"backoff_ms": {"type": "integer", "low": 10, "high": 20000}}},
            "factors: max_backoff_ms 10000: must not be below backoff_ms 20000; change one of the ranges",
        ),
        (
            {**TUNE, "factors": {"log_lines": {"type": "categorical", "levels": ["Multi", "single"]}}},
            "log_lines: 'Multi': must be written as multi",
        ),
        ({**COMPARE, "reference": {"workload": "replay"}}, "workload replay: needs replay: {file: my-access.log}"),
        ({**COMPARE, "replay": {"file": "a.log"}}, "replay: no level has workload replay; set it, or omit replay"),
        ({**TUNE, "workload": "replay"}, "workload replay: needs replay"),
        ({**TUNE, "replay": {"file": "a.log"}}, "replay: no level has workload replay"),
        ({**REPLAY, "replay": {"file": "a.log", "times": 0}}, "replay.times: 0: Input should be greater than 0"),
        ({**REPLAY, "replay": {"file": "../a.log"}}, "replay.file: .*: must lie in the study's folder or below"),
        (
            {**REPLAY, "reference": {"workload": "replay", "load": "9/s"}},
            "load 9/s: must be omitted with workload replay; the log sets the request times",
        ),
        (
            {**REPLAY, "reference": {"workload": "replay", "burst": "once"}},
            "burst once: must be omitted with workload replay",
        ),
        ({**TUNE, "baseline": {"pipelining": -1}}, "pipelining: -1: must be at least 0"),
        ({**TUNE, "baseline": {"shipper": "otel"}}, "shipper: cannot be tuned; use it in a comparison"),
        (
            {**COMPARE, "reference": {"shipper": "otel", "backoff_ms": 50}, "tables": [ACKS]},
            "backoff_ms 50: has no effect with shipper otel",
        ),
        (
            {**TUNE, "factors": {"bulk_max_size": {"type": "integer", "low": 0, "high": 5}}},
            "bulk_max_size: 0: must be at least 1",
        ),
    ],
)
def test_a_study_that_breaks_a_rule_is_refused(content: dict[str, Any], message: str) -> None:
    with pytest.raises(BadInputError, match=message.replace("(", r"\(")):
        parsed(content)


def replaying(folder: Path, lines: list[str] | None, **replay: Any) -> Any:
    """Parse a study that replays a log of these lines, or a missing log."""
    if lines is not None:
        (folder / "a.log").write_text("".join(f"{line}\n" for line in lines))
    content = REPLAY | {"replay": {"file": "a.log", **replay}}
    return parse_study(yaml.safe_dump(content, sort_keys=False), "example.yaml", folder)


def entries(seconds: int) -> list[str]:
    return [f'- - - [25/Nov/2026:12:00:{second:02d} +0000] "GET /a HTTP/1.1" 200 1' for second in range(seconds)]


def test_a_study_that_replays_a_log_names_it_and_has_no_rate(tmp_path: Path) -> None:
    study = replaying(tmp_path, entries(20), times=2)

    assert (study.text_file(), study.replay.times) == ("a.log", 2)
    assert study.rate_of({}) == RequestRate()
    assert study.conditions()["replay.times"] == 2
    assert "the requests of a.log, at 2 times the logged speed" in study.described_protocol()["replay"]
    assert parse_study(dump_study(study), "frozen") == study
    tuned = parsed({**TUNE, "workload": "replay", "replay": {"file": "a.log"}})
    assert (tuned.is_replayed({}), tuned.conditions()["replay.file"]) == (True, "a.log")


@pytest.mark.parametrize(
    ("lines", "replay", "message"),
    [
        (None, {}, r"a\.log: cannot be read: No such file"),
        ([], {}, r"a\.log: contains no request"),
        ([*entries(10), "what?"], {}, r"a\.log: line 11: 'what\?': must be an entry of"),
        (
            entries(9),
            {},
            r"a\.log: is too short for a run of 10 s: with times 1, its last request is due 8 s after the first",
        ),
        (entries(10), {"times": 2}, r"with times 2, its last request is due 4.5 s after the first"),
    ],
)
def test_a_log_that_cannot_be_replayed_is_refused_in_one_line(
    tmp_path: Path, lines: list[str] | None, replay: dict[str, Any], message: str
) -> None:
    with pytest.raises(StudyError, match=rf"^example\.yaml: replay\.file: .*{message}") as refused:
        replaying(tmp_path, lines, **replay)
    assert "\n" not in str(refused.value)
    assert replaying(tmp_path, entries(10)).replay.times == 1.0  # as many seconds as the run has


def test_a_campaign_of_parts_that_replay_nothing_has_no_log() -> None:
    parts = [{"factor": "workload", "levels": ["shop", "replay"]}, {"factor": "pipelining", "levels": [2, 0]}]
    study = parsed({**REPLAY, "reference": {}, "tables": parts})

    assert with_overrides(study, cases=["pipelining"]).replay is None
    assert with_overrides(study, cases=["workload"]).replay == study.replay


def designed(folder: Path, seconds: int) -> Campaign:
    log = "\n".join(json.dumps({"time": second, "uri": f"/{second}"}) for second in range(seconds))
    study = parsed({**REPLAY, "replay": {"file": "a.log", "times": 2}})
    system = OwnBrokersSystem(study.own_brokers, 100)
    manifest = design_comparison.run(FolderStore(folder), study, "c1", system, corpus=log)
    campaign = Campaign.open(FolderStore(folder), study.name, "c1")
    assert campaign.keys.payload() in manifest.artifacts
    return campaign


def test_a_run_sends_its_due_requests_at_the_campaigns_speed_from_the_campaigns_log(tmp_path: Path) -> None:
    campaign = designed(tmp_path, 30)
    found = replayed_log(campaign, LogPipelineStudy.of(campaign.study), tmp_path / "due.json")

    assert found is not None
    assert found.requests_s == 2.0
    assert json.loads(found.file.read_text())[:3] == [[0, "/0"], [0.5, "/1"], [1, "/2"]]
    designed(tmp_path, 30)
    with pytest.raises(BadInputError, match=r"another text in replay\.file"):
        designed(tmp_path, 31)


def of_shippers(**changed: Any) -> dict[str, Any]:
    variants = [{"name": "shippers", "variants": {"filebeat": {}, "otel": {"shipper": "otel"}, **changed}}]
    return {**COMPARE, "tables": [], "reference": {"aggregator_acknowledges": "received"}, "variants": variants}


def test_collectors_are_compared_with_filebeat_whatever_the_reference_says_of_it() -> None:
    study = parsed(of_shippers(soon={"shipper": "otel", "otel_poll_interval_ms": 50}))
    shippers = [study.effective(level)["shipper"] for level in study.levels_of("shippers")]

    assert shippers == ["filebeat", "otel", "otel"]


@pytest.mark.parametrize(
    ("level", "said"),
    [
        ({"shipper": "otel", "bulk_max_size": 50}, "bulk_max_size 50: has no effect with shipper otel; omit it"),
        ({"shipper": "otel", "linger_ms": 5}, "linger_ms 5: has no effect with shipper otel; omit it"),
        ({"otel_batch_size": 50}, "otel_batch_size 50: has no effect with shipper filebeat; omit it"),
        ({"shipper": "logstash"}, "shipper: 'logstash': must be one of filebeat, otel"),
    ],
)
def test_a_level_with_a_setting_of_the_other_shipper_is_refused(level: dict[str, Any], said: str) -> None:
    with pytest.raises(StudyError, match=said):
        parsed(of_shippers(wrong=level))
