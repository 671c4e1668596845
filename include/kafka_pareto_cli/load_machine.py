"""Send loads from this machine for campaigns that run elsewhere."""

from __future__ import annotations

import os
from pathlib import Path
from typing import NoReturn

from kafka_pareto.drivers.common.cluster_access import require_login
from kafka_pareto.drivers.producer.load_machine_process import LoadMachineProcess
from kafka_pareto.drivers.producer.load_machines import create_key
from kafka_pareto.settings import Settings
from kafka_pareto.study.requests import LoadMachineRequest
from kafka_pareto_embedded.bootstrap.preflight import find_java
from kafka_pareto_embedded.terminal.reply import Reply

_HOUR_S = 3600


def create_credentials(file: Path) -> Reply:
    """Create the load machines' key, and say what to do with it.

    Raises:
        BadInputError: If the file exists, or cannot be written.
    """
    create_key(file)
    print(
        f"{file} created. Copy it to each load machine and to the machine that runs campaigns; whoever has it can send "
        "loads through them."
    )
    return Reply({"file": str(file)})


def serve(request: LoadMachineRequest, settings: Settings) -> NoReturn:
    """Serve campaigns until interrupted.

    Raises:
        BadInputError: If the credentials or the client configuration cannot be used.
        ClusterError: If this machine has no setpriv.
        LoadStartError: If the JVM ends, as when the cluster cannot be reached or the address is in use.
    """
    if request.kafka_config is not None:
        require_login(request.kafka_config, request.kafka)
    settings = settings.model_copy(update={"java": find_java(os.environ) or settings.java})
    credentials = request.credentials or settings.load_credentials
    with LoadMachineProcess(
        request.kafka, request.kafka_config, request.listen, credentials, request.heap_mib, settings
    ) as machine:
        print(f"Listening on {machine.address}; loads go to {request.kafka}. Press Ctrl-C to stop.", flush=True)
        while True:
            machine.wait(_HOUR_S)
