"""Connect to Airflow's API server: token, timeouts, retries and error messages."""

from __future__ import annotations

import ssl
from collections.abc import Mapping
from http import HTTPStatus
from typing import Any, NamedTuple

import httpx
from tenacity import Retrying, retry_if_exception, stop_after_delay, wait_exponential

from kafka_pareto_embedded.errors import AirflowRefusedError, AirflowUnreachableError

# The embedded Airflow's database may wait 30 s for its single writer (`programs/programs.py`).
_TIMEOUT = httpx.Timeout(60.0, connect=10.0)
_RETRY_FOR_S = 60.0
_LONGEST_DETAIL = 300
# The stack speaks plain HTTP on loopback; loading trusted certificates takes each client 40 ms of CPU time.
PLAIN_HTTP = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)


class Login(NamedTuple):
    """A user of Airflow and the password."""

    username: str
    password: str


class AirflowConnection:
    """Send requests with a token, which is fetched, and renewed after its expiry.

    A request that fails for a transient reason is retried, unless its caller says that it must not arrive twice.
    Transient errors are common on SQLite: a transaction that has read fails immediately if another one writes before
    it.

    Args:
        url: The address of the API server.
        login: The user of the requests; None: anonymous.
        retry_for_s: How long a failing request is retried; 0: never.
    """

    def __init__(self, url: str, login: Login | None, retry_for_s: float = _RETRY_FOR_S) -> None:
        self.url = url
        self._login = login
        self._retry_for_s = retry_for_s
        self._token = ""
        self._client = httpx.Client(base_url=url, timeout=_TIMEOUT, trust_env=False, verify=PLAIN_HTTP)

    def token(self) -> str:
        """Return the login's token, cached until Airflow refuses it.

        Raises:
            StackError: If Airflow does not answer, or refuses the login.
        """
        if not self._token and self._login is not None:
            answer = self._checked(self._sent("POST", "/auth/token", self._login._asdict()))
            self._token = str(answer.json()["access_token"])
        return self._token

    def send(
        self, method: str, path: str, body: object = None, query: Mapping[str, Any] | None = None
    ) -> httpx.Response:
        """Send one request to any path of the server and return the response, whatever its status.

        Raises:
            AirflowUnreachableError: If Airflow does not answer.
            AirflowRefusedError: If it refuses the login.
        """
        answer = self._sent(method, path, body, query, self.token())
        if answer.status_code == HTTPStatus.UNAUTHORIZED and self._token:
            self._token = ""
            answer = self._sent(method, path, body, query, self.token())
        return answer

    def ask(
        self,
        method: str,
        path: str,
        body: object = None,
        query: Mapping[str, Any] | None = None,
        accepted: tuple[HTTPStatus, ...] = (),
    ) -> httpx.Response:
        """Send a request that must succeed or return one of the accepted statuses; retry it if needed.

        Raises:
            AirflowUnreachableError: If Airflow does not answer.
            AirflowRefusedError: If it answers with another status.
        """
        return self.attempts()(lambda: self._checked(self.send(method, path, body, query), accepted))

    def post_once(self, path: str, body: object, accepted: tuple[HTTPStatus, ...] = ()) -> httpx.Response:
        """Post like `ask`, but without retries."""
        return self._checked(self.send("POST", path, body), accepted)

    def attempts(self) -> Retrying:
        """Return the attempts at one request: retries while the error is transient and time is left."""
        return Retrying(
            retry=retry_if_exception(_may_pass),
            wait=wait_exponential(max=5),
            stop=stop_after_delay(self._retry_for_s),
            reraise=True,
        )

    def close(self) -> None:
        """Close the connections."""
        self._client.close()

    def _sent(
        self, method: str, path: str, body: object, query: Mapping[str, Any] | None = None, token: str = ""
    ) -> httpx.Response:
        headers = {"Authorization": f"Bearer {token}"} if token else {}
        try:
            return self._client.request(method, path, json=body, params=query, headers=headers)
        except httpx.HTTPError as error:
            raise AirflowUnreachableError(
                f"Airflow at {self.url} does not answer {method} {path} ({type(error).__name__}); check `make status`"
            ) from error

    def _checked(self, answer: httpx.Response, accepted: tuple[HTTPStatus, ...] = ()) -> httpx.Response:
        if answer.is_success or answer.status_code in accepted:
            return answer
        request, detail = answer.request, _detail(answer)
        said = f"Airflow at {self.url} refused {request.method} {request.url.path}: HTTP {answer.status_code}: "
        raise AirflowRefusedError(said + detail[:_LONGEST_DETAIL], answer.status_code, detail)


def _may_pass(error: BaseException) -> bool:
    """Return whether the error is transient: the same request may succeed later."""
    return isinstance(error, AirflowUnreachableError) or (
        isinstance(error, AirflowRefusedError) and error.status >= HTTPStatus.INTERNAL_SERVER_ERROR
    )


def _detail(answer: httpx.Response) -> str:
    """Return Airflow's message in one line; empty without one."""
    try:
        said = answer.json()
    except ValueError:
        said = answer.text
    detail = said.get("detail", said) if isinstance(said, dict) else said
    if isinstance(detail, list) and all(isinstance(each, dict) and "loc" in each for each in detail):
        detail = "; ".join(f"{each['loc'][-1]}: {each.get('input')!r}: {each.get('msg')}" for each in detail)
    return " ".join(str(detail).split())
