"""Load machines that are tasks of a workflow, as the steps that Airflow runs, with a real broker."""

from __future__ import annotations

import socket
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from kafka_pareto.campaign.records import Fingerprint
from kafka_pareto.drivers.producer.announced_machines import (
    AnnouncedMachine,
    machines_of,
    run_announced_machine,
)
from kafka_pareto.drivers.producer.load_machines import create_key
from kafka_pareto.errors import LoadMachineError
from kafka_pareto.exit_codes import EXIT_BAD_INPUT
from kafka_pareto.settings import Settings
from tests.system.broker_fixtures import RunningBrokers
from tests.system.steps import StepRunner
from tests.system.test_load_machines import write_study

pytestmark = [pytest.mark.brokers, pytest.mark.studies]

CASE = "1024"
SESSION = "20261130T120000-000000"
ENDS_WITHIN_S = 30


@pytest.fixture
def steps(tmp_path: Path, single_broker: RunningBrokers) -> StepRunner:
    create_key(tmp_path / "load.pem")
    made = StepRunner(tmp_path, single_broker)
    made.environment |= {
        "KAFKA_PARETO_LOAD_MACHINES": "airflow",
        "KAFKA_PARETO_LOAD_CREDENTIALS": str(tmp_path / "load.pem"),
    }
    write_study(made)
    made.manifest("design", "together")
    return made


@pytest.fixture
def machines(steps: StepRunner) -> Iterator[list[subprocess.Popen[str]]]:
    """The two machines, which a test stops."""
    started = [run(steps, number) for number in ("1", "2")]
    yield started
    for each in started:
        each.kill()
        each.communicate()


def settings_of(steps: StepRunner) -> Settings:
    prefix = "KAFKA_PARETO_"
    given = {name: value for name, value in steps.environment.items() if name.startswith(prefix)}
    return Settings.model_validate({name.removeprefix(prefix).lower(): value for name, value in given.items()})


def run(steps: StepRunner, number: str) -> subprocess.Popen[str]:
    return steps.start("run_load_machine", "together", "--case", number, "--session", SESSION)


def addresses(steps: StepRunner, within_s: float = 60) -> list[str]:
    """Waits for both machines' addresses, in their order."""
    found = machines_of(steps.campaign("together"), settings_of(steps), within_s)
    assert found is not None
    return list(found.addresses)


def test_machines_that_are_steps_send_the_campaign_and_end_when_stopped(
    steps: StepRunner, machines: list[subprocess.Popen[str]]
) -> None:
    needed = steps.manifest("list_load_machines", "together")
    measured = steps.manifest("measure", "together", "--case", CASE, timeout_s=500)
    campaign = steps.campaign("together")
    announced = campaign.store.keys(campaign.keys.load_machines())
    steps.manifest("stop_load_machines", "together", "--session", SESSION)
    outputs = [each.communicate(timeout=ENDS_WITHIN_S) for each in machines]

    assert needed["cases"] == ["1", "2"]
    assert [each.returncode for each in machines] == [0, 0], outputs
    assert measured["counts"]["repetitions_valid"] == measured["counts"]["repetitions"] > 0
    senders = campaign.read_record(campaign.keys.fingerprint(CASE), Fingerprint).system["load_machines"]
    assert isinstance(senders, list)
    assert len(set(senders)) == len(announced) == 2
    assert campaign.store.keys(campaign.keys.load_machines()) == [campaign.keys.load_machines_stopped(SESSION)]
    for repetition in campaign.read_repetitions(campaign.keys.measurements(CASE)):
        assert repetition.number("records_sent") == repetition.number("end_offset_growth")
        assert repetition.client_cpu_s > 0


def test_a_killed_step_takes_its_machine_with_it_and_its_retry_is_announced_instead(
    steps: StepRunner, machines: list[subprocess.Popen[str]]
) -> None:
    before = addresses(steps)
    machines[1].kill()
    machines[1].communicate()
    host, _, port = before[1].rpartition(":")
    deadline = time.monotonic() + ENDS_WITHIN_S
    while accepts(host, int(port)):
        assert time.monotonic() < deadline
        time.sleep(0.1)
    machines.append(run(steps, "2"))
    deadline = time.monotonic() + 2 * ENDS_WITHIN_S
    while (after := addresses(steps)) == before:
        assert time.monotonic() < deadline
        time.sleep(0.1)

    assert after[0] == before[0]
    assert after[1] != before[1]


def accepts(host: str, port: int) -> bool:
    try:
        socket.create_connection((host, port), timeout=1).close()
    except OSError:
        return False
    return True


def test_the_machines_of_the_latest_session_that_is_not_stopped_are_used(steps: StepRunner) -> None:
    campaign = steps.campaign("together")
    for session, port in (("20261130T1", 1), ("20261130T2", 2), ("manual", 3)):
        for number in ("1", "2"):  # as left by kill -9
            machine = AnnouncedMachine(address=f"10.0.0.{number}:{port}", host="h")
            campaign.write_record(campaign.keys.load_machine(session, number), machine)
    for session, port in (("manual", 2), ("20261130T2", 1)):
        steps.manifest("stop_load_machines", "together", "--session", session)
        assert addresses(steps) == [f"10.0.0.1:{port}", f"10.0.0.2:{port}"]
    steps.manifest("stop_load_machines", "together", "--session", "20261130T1")
    with pytest.raises(LoadMachineError, match="only 0 of 2 load machines announced an address within 0 minutes; see"):
        addresses(steps, within_s=0)


def test_a_machine_gives_up_if_the_others_do_not_come(steps: StepRunner) -> None:
    campaign = steps.campaign("together")
    with pytest.raises(LoadMachineError, match="only 1 of 2 load machines announced an address"):
        run_announced_machine(campaign, SESSION, 1, settings_of(steps), within_s=0)
    assert campaign.store.keys(campaign.keys.load_machines()) == []


def test_a_machine_without_the_key_says_how_to_create_it(steps: StepRunner) -> None:
    Path(steps.environment["KAFKA_PARETO_LOAD_CREDENTIALS"]).unlink()
    refused = steps.run("run_load_machine", "together", "--case", "1", "--session", SESSION)

    assert refused.returncode == EXIT_BAD_INPUT
    assert "load.pem: cannot be read: No such file or directory; create it with" in refused.stderr
