"""Says in which values a campaign's study differs from its file."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict, JsonValue

from kafka_pareto.study.study import Study

# The cluster and the earlier campaigns are a campaign's own, and are told elsewhere.
_NOT_COMPARED = ("cluster", "warm_start")


class Override(BaseModel):
    """Holds a key of the study with two values: the file's, and this campaign's."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    key: str
    of_file: JsonValue
    of_campaign: JsonValue

    def __str__(self) -> str:
        """Returns both, as in `protocol.cool_down_s 0 (file: 5)`."""
        return f"{self.key} {_shown(self.of_campaign)} (file: {_shown(self.of_file)})"


def overrides_of(file: Study, campaign: Study) -> list[Override]:
    """Lists the values of the campaign that are not its study file's, those of the protocol one by one."""
    before, now = _flat(file), _flat(campaign)
    return [
        Override(key=key, of_file=before.get(key), of_campaign=value)
        for key, value in now.items()
        if value != before.get(key)
    ]


def _flat(study: Study) -> dict[str, JsonValue]:
    values = study.model_dump(mode="json")
    of_protocol = {f"protocol.{key}": value for key, value in values.pop("protocol").items()}
    return {key: value for key, value in values.items() if key not in _NOT_COMPARED} | of_protocol


def _shown(value: JsonValue) -> str:
    if isinstance(value, dict):
        said = {name: each for name, each in value.items() if each not in (None, {}, [])}
        return ", ".join(f"{name}={_shown(each)}" for name, each in said.items()) or "none"
    if isinstance(value, list):
        separator = "; " if any(isinstance(each, dict) for each in value) else ", "
        return separator.join(map(_shown, value)) or "none"
    if isinstance(value, bool):
        return str(value).lower()
    return "none" if value is None else f"{value:g}" if isinstance(value, float) else str(value)
