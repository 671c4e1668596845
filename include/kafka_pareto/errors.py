"""Every error that a user may see. All derive from `KafkaParetoError` and read as one clear message.

`exit_code` follows sysexits.h: 65 is the user's to mend (a retry cannot help), 77 is theirs to allow (nor can it), 75
may pass by itself.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable

EXIT_BAD_INPUT = 65
EXIT_TEMPORARY = 75
EXIT_NO_CONSENT = 77


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """Ends a message about an unknown name with the known one that was probably meant; empty where none is near."""
    near = difflib.get_close_matches(name, list(known), n=1)
    return f"; did you mean {near[0]}?" if near else ""


class KafkaParetoError(Exception):
    """Base of the project's errors; `exit_code` is what the step's process ends with."""

    exit_code = EXIT_TEMPORARY


class BadInputError(KafkaParetoError):
    """Something the user gave cannot be used; the message names the place, the value, the rule and the remedy."""

    exit_code = EXIT_BAD_INPUT


class StudyError(BadInputError):
    """A study file breaks a rule.

    Args:
        file: The study file, as the user knows it.
        problems: One `key: value: rule` line for each defect.
    """

    def __init__(self, file: str, problems: list[str]) -> None:
        self.file = file
        self.problems = problems
        super().__init__("\n".join(f"{file}: {problem}" for problem in problems))


class PlanError(BadInputError):
    """The campaign as planned may not run: it does not fit the disk, passes a ceiling, or lacks a consent."""


class ConsentError(PlanError):
    """The cluster is not ours, and nobody has agreed to the plan yet."""

    exit_code = EXIT_NO_CONSENT


class PickError(BadInputError):
    """A configuration that somebody picked may not be put in force; the message names it and the rule it breaks."""


class ArtifactError(BadInputError):
    """An artifact cannot be read: it is missing, damaged or of another schema version."""


class MissingArtifactError(ArtifactError):
    """The artifact is not in the store."""


class GateError(BadInputError):
    """The campaign stops: more of its repetitions were rejected or failed than the study tolerates."""


class ClusterError(KafkaParetoError):
    """The Kafka cluster cannot be reached, refuses, or is in trouble.

    Args:
        message: What the user reads.
        kafka_error: The name of Kafka's exception, like `TopicAuthorizationException`, where there was one.
    """

    def __init__(self, message: str, kafka_error: str = "") -> None:
        self.kafka_error = kafka_error
        super().__init__(message)


class SafetyStop(BadInputError):  # noqa: N818 (a stop, decided on purpose, rather than a defect)
    """The campaign stops on purpose: load harmed a cluster that is not ours, a quota throttles, or a right is missing.

    A retry by itself would not help.
    """


class DisturbedError(KafkaParetoError):
    """Something else on this machine disturbed one measurement again and again."""


class LoadToolError(KafkaParetoError):
    """The load tool did not run, did not end, or printed what cannot be read."""


class StoreError(KafkaParetoError):
    """The object store cannot be reached or refuses."""


class TrackingError(KafkaParetoError):
    """The MLflow server cannot be reached or refuses."""


class LeaseHeldError(KafkaParetoError):
    """Another load runs on this cluster, and did not end within the time allowed."""
