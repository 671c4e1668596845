"""Growth of a broker's counters between two readings."""

from __future__ import annotations

from pathlib import Path

import pytest

from kafka_pareto.bottleneck.broker_metrics import BrokerReading, Pause, broker_use, ends_of, pauses_in, pauses_since

pytestmark = pytest.mark.fast

BEFORE = BrokerReading(
    100.0,
    {
        'kafka_network_processor_wait_ns{listener="PLAINTEXT",processor="0"}': 5e9,
        'kafka_network_processor_wait_ns{listener="PLAINTEXT",processor="1"}': 5e9,
        'kafka_network_processor_wait_ns{listener="CONTROLLER",processor="0"}': 5e9,
        "kafka_request_handler_idle_ns": 7e9,
        "kafka_produce_queue_ms_count": 100.0,
        "kafka_produce_queue_ms_mean": 2.0,
        "kafka_log_flush_ms_count": 10.0,
        "kafka_log_flush_ms_mean": 4.0,
    },
)
AFTER = BrokerReading(
    110.0,
    {
        'kafka_network_processor_wait_ns{listener="PLAINTEXT",processor="0"}': 14e9,
        'kafka_network_processor_wait_ns{listener="PLAINTEXT",processor="1"}': 7e9,
        'kafka_network_processor_wait_ns{listener="CONTROLLER",processor="0"}': 5e9,
        "kafka_request_handler_idle_ns": 13e9,
        "kafka_produce_queue_ms_count": 300.0,
        "kafka_produce_queue_ms_mean": 4.0,
        "kafka_log_flush_ms_count": 1010.0,
        "kafka_log_flush_ms_mean": 5.0,
    },
)

# As OpenJDK 17 wrote it with -Xlog:gc*:file=…:time,uptime,level,tags.
LOG = """\
[2026-11-23T18:35:35.806+0000][9.277s][info][gc,start    ] GC(11) Pause Young (Normal) (G1 Evacuation Pause)
[2026-11-23T18:35:35.823+0000][9.294s][info][gc,phases   ] GC(11)   Evacuate Collection Set: 15.9ms
[2026-11-23T18:35:35.823+0000][9.294s][info][gc          ] GC(11) Pause Young (Normal) (G1 Evacuation Pause) 51M->37M(384M) 16.999ms
[2026-11-23T18:35:35.823+0000][9.294s][info][gc,cpu      ] GC(11) User=0.01s Sys=0.00s Real=0.02s
[2026-11-23T18:35:36.000+0000][9.471s][info][gc          ] GC(12) Concurrent Mark Cycle 30.123ms
[2026-11-23T18:35:36.500+0000][9.971s][info][gc          ] GC(13) Pause Full (G1 Compaction Pause) 71M->55M(72M) 131.5ms
"""  # noqa: E501 (lines as they are)


def test_idle_shares_are_of_the_busiest_network_thread_and_of_all_handlers_without_the_controllers() -> None:
    use = broker_use(BEFORE, AFTER)
    assert use.network_idle_fraction == pytest.approx(0.2)
    assert use.request_handler_idle_fraction == pytest.approx(0.6)


def test_sums_behind_means_give_the_growth_between_the_readings() -> None:
    use = broker_use(BEFORE, AFTER)
    assert use.request_queue_time_ms == pytest.approx(5.0)  # 1,000 ms for 200 requests
    assert use.request_queue_requests == pytest.approx(0.1)  # 1 s of waiting in 10 s
    assert use.log_flush_s == pytest.approx(0.501)
    assert use.log_flushes_per_s == pytest.approx(100.0)


def test_values_the_agent_does_not_read_are_none() -> None:
    use = broker_use(BrokerReading(0.0, {}), BrokerReading(1.0, {"process_cpu_seconds_total": 3.0}))
    assert set(vars(use).values()) == {None}


def test_only_full_pauses_are_read_not_phases_or_concurrent_cycles() -> None:
    assert pauses_in(LOG) == [Pause(1795458935.823, 16.999), Pause(1795458936.5, 131.5)]


def test_pauses_since_a_look_are_those_that_were_added_and_all_of_a_new_log(tmp_path: Path) -> None:
    known, new = tmp_path / "gc-0001.log", tmp_path / "gc-0002.log"
    known.write_text(LOG)
    ends = ends_of([known, new])
    with known.open("a") as log:
        log.write(LOG.splitlines(keepends=True)[-1])
    new.write_text(LOG)
    assert [pause.duration_ms for pause in pauses_since(ends, [known])] == [131.5]
    assert [pause.duration_ms for pause in pauses_since(ends, [known, new])] == [131.5, 16.999, 131.5]
