"""Run load machines as tasks of a workflow, which announce their addresses in the campaign's folder."""

from __future__ import annotations

import logging
import socket
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Annotated

from pydantic import Field

from kafka_pareto.analysis.wording import counted
from kafka_pareto.campaign.campaign import Campaign
from kafka_pareto.drivers.common.cluster_access import target_of
from kafka_pareto.drivers.producer.cost import largest_memory_mib
from kafka_pareto.drivers.producer.load_machine_process import LoadMachineProcess
from kafka_pareto.drivers.producer.load_machines import LoadMachines, load_machines, require_private
from kafka_pareto.drivers.producer.study import ProducerStudy
from kafka_pareto.errors import LoadMachineError, LoadStartError, StoreError
from kafka_pareto.settings import Settings
from kafka_pareto.storage.record import Record

WITHIN_S = 600.0
"""How long a campaign and its load machines wait for all machines: tasks may wait for slots."""
_POLL_S = 2.0

log = logging.getLogger(__name__)


class AnnouncedMachine(Record):
    """The address of a load machine, `host:port`, and the name of its host."""

    address: Annotated[str, Field(pattern=r"^[0-9.]+:[0-9]{1,5}$")]
    host: str


def run_announced_machine(
    campaign: Campaign, session: str, number: int, settings: Settings, within_s: float = WITHIN_S
) -> None:
    """Send loads for the campaign from this machine until the session is stopped.

    Args:
        campaign: A campaign or check of a producer study.
        session: ID shared by machines that run together; IDs sort by start.
        number: This machine's number, from 1.
        settings: Locate Java, Kafka's jars and the key.
        within_s: How long to wait for the session's other machines; by giving up, this one frees its task slot.

    Raises:
        BadInputError: If the key or the cluster's login cannot be used.
        LoadMachineError: If the other machines do not run in time.
        LoadStartError: If the cluster cannot be reached, or the machine's JVM ends.
    """
    study = ProducerStudy.of(campaign.study)
    count, stopped = study.protocol.load_machines, campaign.keys.load_machines_stopped(session)
    servers, client_config = target_of(study, settings)
    listen, heap_mib = f"{_address_towards(servers)}:0", largest_memory_mib(study)
    deadline = time.monotonic() + within_s
    with (
        LoadMachineProcess(servers, client_config, listen, settings.load_credentials, heap_mib, settings) as machine,
        _announced(campaign, campaign.keys.load_machine(session, str(number)), machine.address),
    ):
        log.info("listening on %s; loads go to %s", machine.address, servers)
        are_all_here = False
        while True:
            with suppress(StoreError):  # it may be restarting; a load must not end for that
                if campaign.store.tag(stopped) is not None:
                    return
                are_all_here = are_all_here or len(_machines_in(campaign, session, count)) == count
            if not are_all_here and time.monotonic() > deadline:
                raise _too_few(len(_machines_in(campaign, session, count)), count, within_s)
            machine.wait(_POLL_S)


def machines_of(campaign: Campaign, settings: Settings, within_s: float = WITHIN_S) -> LoadMachines | None:
    """Return the load machines of the campaign's study; wait for those that Airflow runs. None if it needs none.

    Raises:
        BadInputError: If the settings name too few, or the key cannot be used.
        LoadMachineError: If Airflow's do not run in time.
    """
    count = ProducerStudy.of(campaign.study).protocol.load_machines
    if not (count and settings.airflow_runs_load_machines):
        return load_machines(count, settings)
    require_private(settings.load_credentials)
    deadline = time.monotonic() + within_s
    while len(machines := _machines_of_latest_session(campaign, count)) < count:
        if time.monotonic() > deadline:
            raise _too_few(len(machines), count, within_s)
        time.sleep(_POLL_S)
    hosts = [machine.host for machine in machines]
    for host in sorted({each for each in hosts if hosts.count(each) > 1}):
        log.warning("%d load machines share the cores of %s", hosts.count(host), host)
    return LoadMachines(tuple(machine.address for machine in machines), settings.load_credentials)


@contextmanager
def _announced(campaign: Campaign, key: str, address: str) -> Iterator[None]:
    """Announce a machine until the context ends."""
    campaign.write_record(key, AnnouncedMachine(address=address, host=socket.gethostname()))
    try:
        yield
    finally:
        with suppress(StoreError):
            found = campaign.find_record(key, AnnouncedMachine)
            if found is not None and found.address == address:  # not its retry's
                campaign.store.delete(key)


def _machines_of_latest_session(campaign: Campaign, count: int) -> list[AnnouncedMachine]:
    """Return the machines of the latest session that is not stopped; empty if there is none."""
    for session in reversed(campaign.store.folders(campaign.keys.load_machines())):
        if campaign.store.tag(campaign.keys.load_machines_stopped(session)) is None:
            return _machines_in(campaign, session, count)
    return []


def _machines_in(campaign: Campaign, session: str, count: int) -> list[AnnouncedMachine]:
    keys = [campaign.keys.load_machine(session, str(number)) for number in range(1, count + 1)]
    found = [campaign.find_record(key, AnnouncedMachine) for key in keys]
    return [machine for machine in found if machine is not None]


def _too_few(found: int, count: int, within_s: float) -> LoadMachineError:
    return LoadMachineError(
        f"only {found} of {counted(count, 'load machine')} announced an address within {within_s / 60:.0f} minutes; "
        "see the tasks run_load_machine in Airflow: each needs a task slot, and a worker that listens to its queue"
    )


def _address_towards(servers: str) -> str:
    """Return the IPv4 address of this machine from which the first broker is reached.

    Raises:
        LoadStartError: If there is none.
    """
    host, _, port = servers.split(",", maxsplit=1)[0].strip().rpartition(":")
    try:
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
            probe.connect((host, int(port)))  # sends nothing
            return str(probe.getsockname()[0])
    except (OSError, ValueError) as error:
        raise LoadStartError(f"{servers}: cannot be reached from this machine over IPv4: {error}") from error
