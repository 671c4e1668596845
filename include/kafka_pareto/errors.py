"""Errors that users see. All derive from `KafkaParetoError`; `exit_code` is that of the step's process."""

from __future__ import annotations

import difflib
from collections.abc import Iterable

from kafka_pareto.exit_codes import EXIT_BAD_INPUT, EXIT_NO_CONSENT, EXIT_TEMPORARY


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """Return the end of a message about an unknown name: the closest known name, or nothing."""
    near = difflib.get_close_matches(name, list(known), n=1)
    return f"; did you mean {near[0]}?" if near else ""


class KafkaParetoError(Exception):
    """Base of the project's errors."""

    exit_code = EXIT_TEMPORARY


class BadInputError(KafkaParetoError):
    """Invalid user input; the message names the place, the value, the rule and the fix."""

    exit_code = EXIT_BAD_INPUT


class StudyError(BadInputError):
    """A study file breaks a rule; `problems` has one `key: value: rule` line per defect."""

    def __init__(self, file: str, problems: list[str]) -> None:
        self.file = file
        self.problems = problems
        super().__init__("\n".join(f"{file}: {problem}" for problem in problems))


class PlanError(BadInputError):
    """The campaign as planned does not fit the disk, exceeds a ceiling, or lacks consent."""


class ConsentError(PlanError):
    """The cluster is not ours and nobody has consented to the plan yet."""

    exit_code = EXIT_NO_CONSENT


class PickError(BadInputError):
    """A configuration somebody picked may not become active; the message names the configuration and the rule."""


class ArtifactError(BadInputError):
    """An artifact is missing, damaged or of another schema version."""


class MissingArtifactError(ArtifactError):
    """An artifact is not in the store."""


class GateError(BadInputError):
    """More repetitions were rejected or failed than the study tolerates; stops the campaign."""


class ClusterError(KafkaParetoError):
    """The Kafka cluster is unreachable, unhealthy or refuses; `kafka_error` is Kafka's exception name, if any."""

    def __init__(self, message: str, kafka_error: str = "") -> None:
        self.kafka_error = kafka_error
        super().__init__(message)


class SafetyStop(BadInputError):  # noqa: N818 (a stop, decided on purpose, rather than a defect)
    """Protect a foreign cluster that was harmed, throttles or denies a right, where a retry would not help."""


class DisturbedError(KafkaParetoError):
    """Something else on this machine disturbed one measurement repeatedly."""


class LoadToolError(KafkaParetoError):
    """The load tool did not run, did not end, or printed unreadable output."""


class LoadStartError(LoadToolError):
    """The load tool's process could not be started; no configuration can have caused that."""


class StoreError(KafkaParetoError):
    """The object store is unreachable or refuses."""


class TrackingError(KafkaParetoError):
    """The MLflow server is unreachable or refuses."""


class LeaseHeldError(KafkaParetoError):
    """Another load runs on this cluster and did not end in time."""
