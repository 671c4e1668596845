"""Growth of a broker's counters between two readings."""

from __future__ import annotations

import pytest

from kafka_pareto.bottleneck.broker_metrics import BrokerReading, broker_use

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


def test_idle_shares_are_of_the_busiest_network_thread_and_of_all_handlers_without_the_controllers() -> None:
    use = broker_use(BEFORE, AFTER)
    assert use.network_idle_fraction == pytest.approx(0.2)
    assert use.request_handler_idle_fraction == pytest.approx(0.6)


def test_sums_behind_means_give_what_the_time_between_the_readings_added() -> None:
    use = broker_use(BEFORE, AFTER)
    assert use.request_queue_time_ms == pytest.approx(5.0)  # 1,000 ms for 200 requests
    assert use.request_queue_requests == pytest.approx(0.1)  # 1 s of waiting in 10 s
    assert use.log_flush_s == pytest.approx(0.501)
    assert use.log_flushes_per_s == pytest.approx(100.0)


def test_what_the_agent_does_not_read_is_none() -> None:
    use = broker_use(BrokerReading(0.0, {}), BrokerReading(1.0, {"process_cpu_seconds_total": 3.0}))
    assert set(vars(use).values()) == {None}
