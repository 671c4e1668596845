"""Read the checks of a published guide, as data: what to read, the rule, and the source."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Annotated, Any, Literal, TypeAlias

from pydantic import Field, field_validator, model_serializer, model_validator

from kafka_pareto.shipped import INCLUDE
from kafka_pareto.study.section import Section
from kafka_pareto.study.study_file import read_section

GUIDE = INCLUDE / "doctor" / "guide.yaml"

Group: TypeAlias = Literal["infrastructure", "system", "jvm", "broker", "topic", "producer", "consumer"]
Source: TypeAlias = Literal[
    "cluster", "machine", "network", "mount", "disk", "sysctl", "sys", "limit", "jvm", "broker", "topic", "group",
    "producer", "consumer", "code", "unmeasured",
]  # fmt: skip
Number: TypeAlias = int | float
Plain: TypeAlias = str | int | float | bool
Protected: TypeAlias = Literal[
    "durability", "retention", "delivery", "ordering", "availability", "disk", "memory", "nothing",
]  # fmt: skip

CHECKLIST_ITEMS = 28
"""Items of the guide's section "Checklist pour 1M msg/s"."""


class Reads(Section):
    """The value a check reads.

    Attributes:
        source: Where to read it.
        name: Its name there, like `vm.swappiness` or `batch.size`.
        default: The value if nothing is set: Kafka's client default for a client's file, or Java's.
    """

    source: Source
    name: str
    default: Plain | None = None


class Rule(Section):
    """The accepted values; a rule has exactly one key.

    Attributes:
        equals: The value itself; `8` and `8.0` are equal.
        at_least: A lower bound; `unlimited` meets any.
        at_most: An upper bound.
        between: Both bounds, inclusive.
        one_of: Any of these.
        each_at_least: A row of numbers, each with its own lower bound.
        any_word: At least one of these words, in a text split at commas and spaces.
        prefix: The beginning of the text.
        cores_times: This multiple of the machine's cores.
        looked_at: True for a check without a rule, if the value cannot be read.
    """

    equals: Plain | None = None
    at_least: Number | None = None
    at_most: Number | None = None
    between: Annotated[list[Number], Field(min_length=2, max_length=2)] | None = None
    one_of: Annotated[list[Plain], Field(min_length=1)] | None = None
    each_at_least: Annotated[list[Number], Field(min_length=1)] | None = None
    any_word: Annotated[list[str], Field(min_length=1)] | None = None
    prefix: str | None = None
    cores_times: Annotated[float, Field(gt=0)] | None = None
    looked_at: Literal[True] | None = None

    @model_validator(mode="after")
    def _has_one_key(self) -> Rule:
        if sum(getattr(self, name) is not None for name in type(self).model_fields) != 1:
            raise ValueError(f"set exactly one of {', '.join(type(self).model_fields)}")
        return self

    @model_serializer
    def _with_one_key(self) -> dict[str, Any]:
        return {self.key: self.wanted}

    @property
    def key(self) -> str:
        """Return the rule's key."""
        return next(name for name in type(self).model_fields if getattr(self, name) is not None)

    @property
    def wanted(self) -> Any:
        """Return the value of the rule's key."""
        return getattr(self, self.key)

    def scaled(self, share: float) -> Rule:
        """Return the rule with its lower bound scaled; of several bounds, the last."""
        if self.each_at_least is not None:
            *others, last = self.each_at_least
            return Rule(each_at_least=[*others, math.ceil(share * last)])
        return self if self.at_least is None else Rule(at_least=math.ceil(share * self.at_least))


class NotApplicable(Section):
    """A limit of a check's applicability.

    Attributes:
        kafka_from: The first release of Kafka it does not apply to.
        linux_from: The first release of Linux it does not apply to.
        file_system_is_not: The only file system of `log.dirs` it applies to.
        why: The reason, as shown in the report; alone, the check never applies.
    """

    kafka_from: Annotated[str, Field(pattern=r"^\d+\.\d+$")] | None = None
    linux_from: Annotated[str, Field(pattern=r"^\d+\.\d+$")] | None = None
    file_system_is_not: str | None = None
    why: str


class SizedFor(Section):
    """The machine the guide sized a value for; the value does not apply to other machines.

    Attributes:
        link_mbit_s: The bound shrinks in proportion on a slower link; of several numbers, only the last.
        memory_gb: Per broker; the value does not apply to brokers with less.
    """

    link_mbit_s: Annotated[int, Field(gt=0)] | None = None
    memory_gb: Annotated[float, Field(gt=0)] | None = None


class Check(Section):
    """One check.

    Attributes:
        title: A short name for the report.
        item: The number of its item in the guide's checklist; None if only a section names it.
        section: Its place in the guide.
        protects: What the setting affects besides speed:

            - `durability`: acknowledged records survive a failure;
            - `retention`: records are kept as long as intended;
            - `delivery`: records are neither dropped nor skipped;
            - `ordering`: records of a partition keep their order;
            - `availability`: brokers and clients stay up and in their groups;
            - `disk`, `memory`: enough space is left.
        safer: Values that break the rule but protect better than the guide's and need no fix: single values, `above` or
            `below` for positive numbers beyond the guide's, or `other` for any.
        when_unset: The verdict on a missing Java option: `not_readable` if Java then chooses the value.
        sized_for: The guide's machine, if the value depends on it.
        note: Background for the advice, such as a contradiction in the guide.
        fix: The fix for a value that is neither met nor safer; empty if no change is advised.
    """

    id: Annotated[str, Field(pattern=r"^[a-z0-9_]+$")]
    group: Group
    title: str
    item: Annotated[int, Field(ge=1, le=CHECKLIST_ITEMS)] | None = None
    section: str
    reads: Reads
    rule: Rule
    protects: Protected
    safer: list[Plain] = Field(default_factory=list)
    when_unset: Literal["not_met", "not_readable"] = "not_met"
    not_applicable: NotApplicable | None = None
    sized_for: SizedFor | None = None
    note: str = ""
    fix: str = ""

    @model_validator(mode="after")
    def _protects_what_is_safer(self) -> Check:
        if self.safer and self.protects == "nothing":
            raise ValueError("safer: remove it, or name in `protects` what these values protect")
        return self


class Guide(Section):
    """The checks of one guide, in display order."""

    title: str
    source: str
    read_on: str
    checks: Annotated[list[Check], Field(min_length=1)]

    @field_validator("checks")
    @classmethod
    def _have_unique_ids(cls, checks: list[Check]) -> list[Check]:
        seen: set[str] = set()
        for check in checks:
            if check.id in seen:
                raise ValueError(f"{check.id}: two checks have this id; rename one")
            seen.add(check.id)
        return checks

    def names(self, source: Source) -> list[str]:
        """List what is read from one source."""
        return list(dict.fromkeys(check.reads.name for check in self.checks if check.reads.source == source))


def load_guide(path: Path = GUIDE) -> Guide:
    """Read the checks.

    Raises:
        StudyError: One line per defect, each with file, key, value and rule.
    """
    return read_section(path, Guide)


def words_of(value: Any) -> list[str]:
    """Split a text at commas and spaces."""
    return str(value).replace(",", " ").split()
