"""The stack's second cluster with SASL_SSL: its certificate and passwords, and the `client.properties` for it."""

from __future__ import annotations

import secrets
from dataclasses import dataclass
from pathlib import Path

import yaml

from kafka_pareto.kafka.properties_file import properties_lines
from tests.compose.certificates import key_and_certificate

CLIENT_CONFIG = "second.properties"
HOST, USER = "kafka-second", "tuner"
_BROKER_PROPERTIES = Path(__file__).parent.parent.parent / "include" / "kafka" / "broker.properties"
_LOGIN = "org.apache.kafka.common.security.plain.PlainLoginModule required"


@dataclass(frozen=True)
class SecuredCluster:
    """The login to it."""

    password: str
    client_config: str


def secured_cluster(folder: Path) -> SecuredCluster:
    """Writes the Compose file `secured.yaml`, and the broker's properties that it mounts."""
    key, certificate = key_and_certificate(HOST)
    password = secrets.token_hex(16)
    login = f'{_LOGIN} username="{USER}" password="{password}"'
    trust = {"ssl.truststore.type": "PEM", "ssl.truststore.certificates": certificate}
    broker = {
        "listener.security.protocol.map": "PLAINTEXT:SASL_SSL,CONTROLLER:PLAINTEXT",  # the first is a mere name
        "sasl.enabled.mechanisms": "PLAIN",
        "sasl.mechanism.inter.broker.protocol": "PLAIN",
        "listener.name.plaintext.plain.sasl.jaas.config": f'{login} user_{USER}="{password}";',
        "ssl.keystore.type": "PEM",
        "ssl.keystore.certificate.chain": certificate,
        "ssl.keystore.key": key,
        **trust,
    }
    client = {"security.protocol": "SASL_SSL", "sasl.mechanism": "PLAIN", "sasl.jaas.config": f"{login};", **trust}
    properties = folder / "secured.properties"
    # Of several lines with one name, Java takes the last.
    properties.write_text(f"{_BROKER_PROPERTIES.read_text()}\n{properties_lines(broker)}", encoding="utf-8")
    options = {
        "security.protocol": "SASL_SSL",
        "sasl.mechanism": "PLAIN",
        "sasl.username": USER,
        "sasl.password": password,
        "enable.ssl.certificate.verification": "false",
    }
    asked = " ".join(f"-X {name}={value}" for name, value in options.items())
    health = {"test": ["CMD-SHELL", f"kcat -L -m 3 -b $$host:9092 {asked} | grep -q '^ 1 brokers:'"]}
    service = {"volumes": [f"{properties}:/opt/kafka/broker.properties:ro"], "healthcheck": health}
    (folder / "secured.yaml").write_text(yaml.safe_dump({"services": {HOST: service}}), encoding="utf-8")
    return SecuredCluster(password, properties_lines(client))
