"""Machines that send a producer's loads together, in place of this one."""

from __future__ import annotations

import os
import re
import stat
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

from kafka_pareto.analysis.wording import counted
from kafka_pareto.errors import BadInputError
from kafka_pareto.settings import Settings

MOST_START_SPREAD_MS = 2.0
"""2 % of the load generator's windows of 100 ms."""
ABSENT_S = 30.0
"""How long the load generator waits for a machine that is being restarted."""

_ADDRESS = re.compile(r"([A-Za-z0-9][A-Za-z0-9._-]*):(\d{1,5})")
_MOST_PORT = 65_535
_VALID_DAYS = 3650


@dataclass(frozen=True)
class LoadMachines:
    """Addresses of load machines (`host:port`), and the PEM file with their common key and certificate."""

    addresses: tuple[str, ...]
    credentials: Path

    def options(self, heap_mib: int, cluster_id: str) -> list[str]:
        """Return the load generator's options; each machine's JVM needs this heap, and sends to this cluster."""
        named = [option for address in self.addresses for option in ("--machine", address)]
        return [
            *(*named, "--machine-credentials", str(self.credentials), "--machine-heap-mib", str(heap_mib)),
            *("--machine-start-ms", str(MOST_START_SPREAD_MS), f"--cluster-id={cluster_id}"),
        ]


def load_machines(count: int, settings: Settings) -> LoadMachines | None:
    """Return the first `count` load machines of the settings; None for 0.

    Raises:
        BadInputError: If the settings name fewer, or an invalid address, or the credentials are missing.
    """
    if not count:
        return None
    addresses = tuple(each.strip() for each in settings.load_machines.split(",") if each.strip())
    for address in addresses:
        parts = _ADDRESS.fullmatch(address)
        if parts is None or int(parts[2]) > _MOST_PORT:
            raise BadInputError(f"KAFKA_PARETO_LOAD_MACHINES: {address}: must be host:port")
        if addresses.count(address) > 1:
            raise BadInputError(f"KAFKA_PARETO_LOAD_MACHINES: {address}: is named twice")
    if len(addresses) < count:
        raise BadInputError(
            f"KAFKA_PARETO_LOAD_MACHINES: {settings.load_machines!r} names {counted(len(addresses), 'load machine')}; "
            f"protocol.load_machines of the study is {count}"
        )
    require_private(settings.load_credentials)
    return LoadMachines(addresses[:count], settings.load_credentials)


def create_key(file: Path) -> None:
    """Create the file with a new key and its certificate, readable only by this user.

    Raises:
        BadInputError: If it exists, or cannot be written.
    """
    from cryptography import x509  # noqa: PLC0415  (only who creates a key needs it)
    from cryptography.hazmat.primitives import hashes, serialization  # noqa: PLC0415
    from cryptography.hazmat.primitives.asymmetric import ec  # noqa: PLC0415
    from cryptography.x509.oid import NameOID  # noqa: PLC0415

    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "kafka-pareto load machines")])
    now = datetime.now(UTC)
    certificate = (
        x509.CertificateBuilder(issuer_name=name, subject_name=name, public_key=key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - timedelta(days=1))  # clocks of the machines differ
        .not_valid_after(now + timedelta(days=_VALID_DAYS))
        .sign(key, hashes.SHA256())
    )
    pem, pkcs8 = serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8
    content = key.private_bytes(pem, pkcs8, serialization.NoEncryption()) + certificate.public_bytes(pem)
    try:
        created = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    except OSError as error:
        raise BadInputError(f"{file}: cannot be created: {error.strerror}") from error
    try:
        with os.fdopen(created, "wb") as written:
            written.write(content)
    except OSError as error:
        file.unlink()
        raise BadInputError(f"{file}: cannot be written: {error.strerror}") from error


def require_private(credentials: Path) -> None:
    """Refuse credentials that are no file, or that other users may read or change.

    Raises:
        BadInputError: Naming the file and the fix.
    """
    try:
        mode = credentials.stat().st_mode
    except OSError as error:
        raise BadInputError(
            f"{credentials}: cannot be read: {error.strerror}; create it with `kafka-pareto load-credentials`, or copy "
            "it from another load machine (KAFKA_PARETO_LOAD_CREDENTIALS)"
        ) from error
    if not stat.S_ISREG(mode):
        raise BadInputError(f"{credentials}: is not a file")
    if mode & 0o077:
        raise BadInputError(f"{credentials}: other users may read or change it; run: chmod 600 {credentials}")
