"""Run this machine's part of loads that several machines send together."""

from __future__ import annotations

import json
import subprocess
from contextlib import ExitStack, suppress
from pathlib import Path

from kafka_pareto.brokers.processes import Opened, tied
from kafka_pareto.drivers.common.jvm_process import MemoryFile, jvm_environment, jvm_options
from kafka_pareto.drivers.producer.load_machines import require_private
from kafka_pareto.errors import LoadStartError
from kafka_pareto.kafka.client_properties import read_client_config, secrets_in
from kafka_pareto.kafka.properties_file import parse_properties, properties_lines
from kafka_pareto.measurement.fingerprint import usable_cores
from kafka_pareto.settings import Settings

_MAIN_CLASS = "io.kafkapareto.LoadMachine"


class LoadMachineProcess(Opened):
    """A JVM that sends for campaigns from entering the context until it is left; it dies with this process.

    Args:
        bootstrap_servers: The cluster to send to.
        client_config: The login to it, a `client.properties`; None without one.
        listen: The address for campaigns, `host:port`; port 0 for a free one.
        credentials: The load machines' common key.
        heap_mib: The JVM's heap, in MiB.
        settings: Locate Java and Kafka's jars.

    Raises:
        BadInputError: On entering, if a file cannot be used.
        ClusterError: On entering, if this machine has no setpriv.
        LoadStartError: On entering, if it ends, as when the cluster cannot be reached or the address is in use.
    """

    def __init__(
        self,
        bootstrap_servers: str,
        client_config: Path | None,
        listen: str,
        credentials: Path,
        heap_mib: int,
        settings: Settings,
    ) -> None:
        self._bootstrap_servers = bootstrap_servers
        self._client_config = client_config
        self._listen = listen
        self._credentials = credentials
        self._heap_mib = heap_mib
        self._settings = settings
        self.address = ""

    def _open(self, opened: ExitStack) -> None:
        require_private(self._credentials)
        client = read_client_config(self._client_config) if self._client_config else ""
        properties = {**parse_properties(client), "bootstrap.servers": self._bootstrap_servers}
        config = opened.enter_context(MemoryFile(properties_lines(properties).encode("ascii")))
        secrets = opened.enter_context(MemoryFile(json.dumps(secrets_in(client)).encode()))
        host, _, port = self._listen.rpartition(":")
        argv = [self._settings.java, *jvm_options(self._settings, self._heap_mib), _MAIN_CLASS]
        argv += ["--host", host, "--port", port, "--credentials", str(self._credentials)]
        argv += ["--command-config", config.path, "--secrets", secrets.path]
        argv += ["--cores", str(usable_cores()), "--heap-mib", str(self._heap_mib)]
        self._process = subprocess.Popen(
            tied(argv), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, env=jvm_environment(), text=True
        )
        opened.callback(self._end)
        self.address = self._process.stdout.readline().strip() if self._process.stdout else ""
        if not self.address:
            raise _ended(self._process.wait())

    def _end(self) -> None:
        self._process.kill()
        self._process.wait()
        if self._process.stdout is not None:
            self._process.stdout.close()

    def wait(self, seconds: float) -> None:
        """Wait for this time while it runs.

        Raises:
            LoadStartError: If its JVM ends.
        """
        with suppress(subprocess.TimeoutExpired):
            raise _ended(self._process.wait(seconds))


def _ended(exit_code: int) -> LoadStartError:
    return LoadStartError(f"the load machine's JVM ended with exit code {exit_code}; its last lines name the reason")
