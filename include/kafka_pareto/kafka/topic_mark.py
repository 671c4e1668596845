"""Use a topic as a mark on the cluster: it has an ID, and only one of several concurrent creators succeeds.

Its records identify the creator and show that the mark is still active.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from pydantic import BaseModel, ConfigDict

_TIMEOUT_S = 10.0


class MarkEnd(BaseModel):
    """End offset of the mark's records, and the last record; None if there is none or reading is not permitted."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    end_offset: int
    value: str | None


class TopicMark:
    """A topic used as a mark; every method raises a ClusterError if the request fails.

    `ask` sends an operation with a time limit and arguments, and returns the response.
    """

    def __init__(self, ask: Callable[..., Any], topic: str) -> None:
        self._ask = ask
        self._topic = topic

    def make(self, replication_factor: int, configs: Mapping[str, str], *, only_asks: bool = False) -> str | None:
        """Create the topic and return its ID; None if it exists.

        With `only_asks`, only check whether it can be created, and raise the error if not.
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
        """Return the topic's current ID; None if it does not exist."""
        found: str | None = self._ask("id_of_mark", _TIMEOUT_S, topic=self._topic)
        return found

    def delete(self, topic_id: str) -> None:
        """Delete the topic if it still has this ID; a newer one is kept."""
        self._ask("delete_mark", topic=self._topic, topic_id=topic_id)

    def append(self, text: str) -> None:
        """Append a record with acks=all."""
        self._ask("append_to_mark", _TIMEOUT_S, topic=self._topic, value=text)

    def end(self) -> MarkEnd:
        """Return the end offset and the last record."""
        return MarkEnd.model_validate(self._ask("last_of_mark", _TIMEOUT_S, topic=self._topic))
