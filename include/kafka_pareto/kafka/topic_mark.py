"""Make a topic serve as a mark on the cluster: of all who make it at the same time one succeeds, and it has an id.

What its maker says of itself is in its records, so that others can see who that is and whether it is kept up.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol

from pydantic import BaseModel, ConfigDict

_TIMEOUT_S = 10.0


class Ask(Protocol):
    """Put a question to the cluster."""

    def __call__(self, operation: str, timeout_s: float = ..., **arguments: Any) -> Any:
        """Return the answer, or raise a ClusterError."""


class MarkEnd(BaseModel):
    """Holds where the mark's records end, and the last of them; None where there is none or it may not be read."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    end_offset: int
    value: str | None


class TopicMark:
    """Stands for one topic that is used as a mark. Every call raises a ClusterError where the cluster refuses."""

    def __init__(self, ask: Ask, topic: str) -> None:
        self._ask = ask
        self._topic = topic

    def make(self, replication_factor: int, configs: Mapping[str, str], *, only_asks: bool = False) -> str | None:
        """Make the topic and return its id; None where there is one already.

        If it only asks, it makes nothing: an error says why it could not.
        """
        made: str | None = self._ask(
            "make_mark",
            topic=self._topic,
            replication_factor=replication_factor,
            configs=dict(configs),
            only_asks=only_asks,
        )
        return made

    def topic_id(self) -> str | None:
        """Return the id of the topic as it is now; None where there is none."""
        found: str | None = self._ask("id_of_mark", _TIMEOUT_S, topic=self._topic)
        return found

    def delete(self, topic_id: str) -> None:
        """Delete the topic with this id, if it is still there; one that was made since stays."""
        self._ask("delete_mark", topic=self._topic, topic_id=topic_id)

    def append(self, text: str) -> None:
        """Append a record, which all replicas in sync have then."""
        self._ask("append_to_mark", _TIMEOUT_S, topic=self._topic, value=text)

    def end(self) -> MarkEnd:
        """Return where the records end, and the last of them."""
        return MarkEnd.model_validate(self._ask("last_of_mark", _TIMEOUT_S, topic=self._topic))
