"""Register Avro schemas in a Confluent-compatible schema registry."""

from __future__ import annotations

import ipaddress
import ssl
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import quote, urlsplit

import httpx

from kafka_pareto.errors import BadInputError, ClusterError
from kafka_pareto.kafka.properties_file import parse_properties
from kafka_pareto.kafka.settings_forms import decoded
from kafka_pareto.study.options import plain

_LOGIN, _SOURCE = "basic.auth.user.info", "basic.auth.credentials.source"
_FILES = _CA, _CERTIFICATE, _KEY = "ssl.ca.location", "ssl.certificate.location", "ssl.key.location"
_MEDIA_TYPE = "application/vnd.schemaregistry.v1+json"
_TIMEOUT_S = 10.0
_MOST_SAID = 300


@dataclass(frozen=True)
class SchemaRegistry:
    """A registry, and the credentials for it.

    Attributes:
        url: Its address.
        properties: The content of the file with the credentials, under the names of Confluent's clients.
    """

    url: str
    properties: dict[str, str] = field(default_factory=dict, repr=False)

    @classmethod
    def of(cls, url: str, config: Path | None) -> SchemaRegistry:
        """Return a registry with the credentials in a file.

        Raises:
            BadInputError: If the address is invalid or contains credentials, or the file is unusable.
        """
        if "@" in url:
            raise BadInputError(
                f"REGISTRY: must not contain credentials; put {_LOGIN}=user:password in REGISTRY_CONFIG"
            )
        if not _is_address(url):
            raise BadInputError(
                f"REGISTRY={url.partition('?')[0]}: must be an address like http://host:8081, without a query"
            )
        try:
            properties = parse_properties(decoded(config.read_bytes())) if config else {}
        except (OSError, ValueError) as error:
            reason = error.strerror if isinstance(error, OSError) else error
            raise BadInputError(f"REGISTRY_CONFIG={config}: cannot be read as properties: {reason}") from error
        place = f"REGISTRY_CONFIG={config}: "
        if properties.pop(_SOURCE, "USER_INFO") != "USER_INFO":
            raise BadInputError(f"{place}{_SOURCE}: must be USER_INFO")
        for name in properties:
            if name not in (_LOGIN, *_FILES):
                raise BadInputError(f"{place}{name}: must be {_LOGIN}, {', '.join(_FILES)} or {_SOURCE}")
        if ":" not in properties.get(_LOGIN, ":"):
            raise BadInputError(f"{place}{_LOGIN}: must be user:password")
        if _KEY in properties and _CERTIFICATE not in properties:
            raise BadInputError(f"{place}{_KEY}: needs {_CERTIFICATE}")
        if _LOGIN in properties and urlsplit(url).scheme == "http" and not is_on_this_machine(url):
            raise BadInputError(f"REGISTRY={url}: {_LOGIN} would cross the network unencrypted; use an https address")
        found = cls(url.rstrip("/"), properties)
        found._verify()  # unusable certificates are reported before anything is sent
        return found

    def register(self, subject: str, schema: str) -> int:
        """Register an Avro schema, unless the subject has it, and return its ID.

        Raises:
            BadInputError: If the registry rejects the schema or the credentials, is not one, or is not trusted.
            ClusterError: If it does not answer, or is unavailable.
        """
        verified, headers = self._verify(), {"Content-Type": _MEDIA_TYPE}
        try:
            # A proxy from the environment must not receive the password.
            with httpx.Client(
                auth=self._auth(), verify=verified, timeout=_TIMEOUT_S, headers=headers, trust_env=False
            ) as client:
                answer = client.post(f"{self.url}/subjects/{quote(subject, safe='')}/versions", json={"schema": schema})
        except (httpx.HTTPError, httpx.InvalidURL) as error:
            if "CERTIFICATE_VERIFY_FAILED" in str(error):
                raise BadInputError(
                    f"schema registry {self.url}: its certificate is not trusted; put {_CA}=… in REGISTRY_CONFIG"
                ) from error
            raise ClusterError(f"schema registry {self.url}: does not answer: {error}") from error
        if answer.is_server_error or answer.status_code == httpx.codes.TOO_MANY_REQUESTS:
            raise ClusterError(
                f"schema registry {self.url}: is unavailable: status {answer.status_code}: {_said(answer)}"
            )
        if answer.status_code == httpx.codes.UNAUTHORIZED:
            raise BadInputError(
                f"schema registry {self.url}: rejected the credentials; put {_LOGIN}=user:password in REGISTRY_CONFIG"
            )
        if answer.status_code == httpx.codes.FORBIDDEN:
            raise BadInputError(
                f"schema registry {self.url}: subject {subject}: these credentials may not register a schema"
            )
        if answer.status_code == httpx.codes.CONFLICT:
            raise BadInputError(
                f"schema registry {self.url}: subject {subject}: incompatible with the registered schema: "
                f"{_said(answer)}; give a compatible SCHEMA, or use another topic"
            )
        found = _json(answer).get("id")
        if not answer.is_success or not isinstance(found, int):
            raise BadInputError(
                f"schema registry {self.url}: subject {subject}: status {answer.status_code}: {_said(answer)}"
            )
        return found

    def _auth(self) -> httpx.BasicAuth | None:
        if _LOGIN not in self.properties:
            return None
        user, _, password = self.properties[_LOGIN].partition(":")
        return httpx.BasicAuth(user, password)

    def _verify(self) -> ssl.SSLContext:
        given = ", ".join(f"{name}={self.properties[name]}" for name in _FILES if name in self.properties)
        try:
            context = ssl.create_default_context(cafile=self.properties.get(_CA))
            if _CERTIFICATE in self.properties:  # an encrypted key fails instead of asking for its password
                context.load_cert_chain(self.properties[_CERTIFICATE], self.properties.get(_KEY), password="")
        except OSError as error:
            raise BadInputError(f"REGISTRY_CONFIG: {given}: cannot be loaded: {error}") from error
        return context


def _is_address(url: str) -> bool:
    try:
        parts = urlsplit(url)
        is_plain = not (parts.query or parts.fragment)
        return parts.scheme in ("http", "https") and bool(parts.hostname) and (parts.port or 1) > 0 and is_plain
    except ValueError:
        return False


def is_on_this_machine(url: str) -> bool:
    """Return whether an address is one of the loopback interface."""
    host = urlsplit(url).hostname or ""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def _json(answer: httpx.Response) -> dict[str, object]:
    try:
        found = answer.json()
    except ValueError:
        return {}
    return found if isinstance(found, dict) else {}


def _said(answer: httpx.Response) -> str:
    """Return the registry's own message, in one line."""
    return plain(str(_json(answer).get("message") or answer.text))[:_MOST_SAID]
